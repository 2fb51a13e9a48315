// SPDX-License-Identifier: MIT
// The store of blocks of one hart. A block is found by pc, mode, results in flight and physical
// lines. Memory is bounded. A full store folds its counts and drops all blocks at once.
#ifndef TL_ISA_BLOCK_STORE_H
#define TL_ISA_BLOCK_STORE_H

#include "isa/block/block.h"

static inline uint32_t tl_blocks_bucket(uint64_t vline) {
    return (uint32_t)((vline * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - TL_BLOCK_BUCKETS_LOG2));
}

// Fills h->engine_state.
TL_MUST_CHECK tl_status tl_blocks_attach(tl_hart *h, const tl_blocks_type *type, tl_arena *arena, tl_error *err);
// NULL is fine.
void tl_blocks_detach(tl_blocks *store);
void tl_blocks_flush(tl_blocks *store); // folds, then forgets all blocks
// Takes h->attribution, which has changed; forgets all blocks.
void tl_blocks_take_attribution(tl_blocks *store);
void tl_blocks_flush_soon(tl_blocks *store); // tl_blocks_flush after the block under way

// The block is the one for hart->pend at pc in these physical lines. pline2 concerns blocks that
// straddle.
static inline bool tl_block_is_of(const tl_block *block, const tl_hart *h, uint64_t pc, uint64_t pline, uint64_t pline2) {
    return block->pc == pc && block->in == h->pend && block->view == h->view && block->vline == (pc & h->line_mask) &&
           block->pline == pline && (!block->is_straddling || block->pline2 == pline2);
}

// tl_blocks_find when no block is of this generation: compares the bytes of the one there is, or
// builds one.
tl_block *tl_blocks_renew(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2);

// The valid block for hart->pend at pc in these physical lines, built if need be.
static inline tl_block *tl_blocks_find(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2) {
    const tl_hart *h = store->hart;
    for (tl_block *block = store->buckets[tl_blocks_bucket(pc & h->line_mask)]; block; block = block->next_on_line)
        if (tl_block_is_of(block, h, pc, pline, pline2) && block->generation == h->code_generation)
            return block;
    return tl_blocks_renew(store, pc, pline, pline2);
}

// Compares the bytes of all blocks of the bucket with RAM. Those that differ become stale.
void tl_blocks_compare(tl_blocks *store, uint32_t bucket);

// Compares the blocks of a line that is about to become fetchable, once per change of code. Blocks
// made since then are of this generation.
static inline void tl_blocks_validate(tl_blocks *store, uint64_t vline) {
    uint32_t bucket = tl_blocks_bucket(vline);
    if (TL_UNLIKELY(store->checked[bucket] != store->hart->code_generation))
        tl_blocks_compare(store, bucket);
}

#endif
