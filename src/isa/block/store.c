// SPDX-License-Identifier: MIT
// The blocks of one hart: where they lie, how they are found, and when they are forgotten.
#include "isa/block/store.h"

#include <sys/mman.h>

#include "isa/block/build.h"
#include "isa/block/code.h"
#include "isa/block/execute.h"
#include "isa/block/fold.h"
#include "model/attribution.h"

enum { INDEX_BYTES = TL_MAX_BLOCKS * (2 * sizeof(uint64_t) + sizeof(tl_block *)) };

static void forget_all(tl_blocks *store) {
    for (uint32_t i = 0; i < TL_BLOCK_BUCKETS; i++)
        store->buckets[i] = NULL;
    for (uint32_t view = 0; view < TL_N_VIEWS; view++)
        for (uint32_t i = 0; i < TL_JUMP_CACHE; i++)
            store->jump_cache[view][i] = (tl_jump_cell){.pc = TL_NO_LINE, .block = &store->nowhere};
    for (uint32_t i = 0; i < TL_BLOCK_RESTS; i++)
        store->rests[i].block = NULL;
    store->n_blocks = 0;
    store->used_bytes = 0;
    store->hart->block = &store->nowhere;
}

tl_status tl_blocks_attach(tl_hart *h, const tl_blocks_type *type, tl_arena *arena, tl_error *err) {
    tl_blocks *store = tl_arena_alloc(arena, sizeof *store);
    if (!store)
        return tl_fail(err, TL_ENOMEM, "no memory for decoded code");
    store->hart = h;
    store->type = type;
    store->isa = type->isa;
    store->misaligned_pc = type->isa->misaligned_pc;
    store->pends = tl_pend_table_new(arena);
    // Blocks of a 2 MiB program take about 12 MiB.
    store->memory_bytes = h->config->code_cache_bytes;
    void *memory =
        mmap(NULL, store->memory_bytes + INDEX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!store->pends || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, store->memory_bytes + INDEX_BYTES);
        return tl_fail(err, TL_ENOMEM, "no memory for decoded code: %zu KiB are needed for each hart", store->memory_bytes >> 10);
    }
    // A wish, as for RAM: large programs have more blocks than the host's TLB has small pages.
    madvise(memory, store->memory_bytes, MADV_HUGEPAGE);
    store->memory = memory;
    store->counts = (uint64_t *)(void *)(store->memory + store->memory_bytes);
    store->held = store->counts + TL_MAX_BLOCKS;
    store->by_number = (tl_block **)(void *)(store->held + TL_MAX_BLOCKS);
    store->nowhere = (tl_block){.vline = TL_NO_LINE, .enter_key = TL_NEVER_KEY, .pline = TL_NO_LINE, .pc = TL_NO_LINE, .is_stale = true};
    store->break_pc[0] = store->break_pc[1] = TL_NO_LINE;
    forget_all(store);
    h->engine_state = store;
    return TL_OK;
}

void tl_blocks_detach(tl_blocks *store) {
    if (!store)
        return;
    tl_pend_table_done(store->pends);
    munmap(store->memory, store->memory_bytes + INDEX_BYTES);
}

void tl_blocks_flush(tl_blocks *store) {
    if (store->is_waiting)
        tl_blocks_abandon(store);
    tl_blocks_fold(store);
    if (TL_UNLIKELY(store->attribution != NULL))
        tl_blocks_pour(store);
    if (store->type->forget)
        store->type->forget(store);
    forget_all(store);
    store->n_flushes += 1;
}

void tl_blocks_take_attribution(tl_blocks *store) {
    tl_hart *h = store->hart;
    tl_blocks_fold(store);
    store->attribution = h->attribution;
    memcpy(store->counted_outcomes, h->bp.counts, sizeof store->counted_outcomes);
    if (h->attribution)
        tl_attribution_set_source(h, tl_blocks_pour, store);
    tl_blocks_flush(store);
}

void tl_blocks_flush_soon(tl_blocks *store) {
    store->must_flush = store->must_recheck = true;
    store->hart->fast_horizon = store->hart->ahead_horizon = 0;
}

static bool bytes_are_current(const tl_hart *h, const tl_block *block) {
    uint32_t n_first = (uint32_t)(~h->line_mask + 1 - (block->pc & ~h->line_mask));
    if (n_first > block->n_bytes)
        n_first = block->n_bytes;
    return memcmp(block->bytes, tl_code_at(h, block->pline + (block->pc & ~h->line_mask)), n_first) == 0 &&
           (n_first == block->n_bytes || memcmp(block->bytes + n_first, tl_code_at(h, block->pline2), block->n_bytes - n_first) == 0);
}

static void make_stale(tl_blocks *store, tl_block *block) {
    if (store->type->stale)
        store->type->stale(store, block);
    block->is_stale = true;
    block->vline = TL_NO_LINE;
    block->enter_key = TL_NEVER_KEY; // links to it end in the slow path from now on
}

void tl_blocks_compare(tl_blocks *store, uint32_t bucket) {
    tl_hart *h = store->hart;
    store->checked[bucket] = h->code_generation;
    for (tl_block **at = &store->buckets[bucket]; *at;) {
        tl_block *block = *at;
        if (block->generation != h->code_generation && !bytes_are_current(h, block)) {
            *at = block->next_on_line;
            make_stale(store, block);
            continue;
        }
        block->generation = h->code_generation;
        at = &block->next_on_line;
    }
}

tl_block *tl_blocks_renew(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2) {
    tl_hart *h = store->hart;
    for (tl_block **at = &store->buckets[tl_blocks_bucket(pc & h->line_mask)]; *at; at = &(*at)->next_on_line) {
        tl_block *block = *at;
        if (!tl_block_is_of(block, h, pc, pline, pline2))
            continue;
        if (bytes_are_current(h, block)) {
            block->generation = h->code_generation;
            return block;
        }
        *at = block->next_on_line;
        make_stale(store, block);
        break;
    }
    uint8_t phase = h->host_phase; // blocks are run in two ways
    h->host_phase = TL_HOST_BUILDING;
    tl_block *built = tl_blocks_build(store, pc, pline, pline2);
    h->host_phase = phase;
    return built;
}
