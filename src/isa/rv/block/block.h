// SPDX-License-Identifier: MIT
// Decoded fetch runs. A block is one fetch run (model/core.h) decoded from one entry point: its operations in executable form,
// everything about it that is static summed once, and links to the blocks that followed it.
//
// A block proves itself through the fetch slot of its line: the slot names the virtual and physical line that ITLB and L1I hold, and
// whenever the memory system clears slots because code or mappings changed, the first fetch of the line afterwards compares the
// bytes of every block on that line (tl_blocks_validate). Stale blocks never match a slot again. Memory is bounded: when the
// store is full, counts are folded and all blocks are dropped at once.
#ifndef TL_ISA_RV_BLOCK_BLOCK_H
#define TL_ISA_RV_BLOCK_BLOCK_H

#include "isa/rv/insn.h"
#include "model/core.h"

typedef struct tl_block tl_block;

typedef struct tl_block_memo { // entering with results in flight: what it costs, found once per kind of `in`
    const tl_pend *in, *out;
    uint32_t cycles;                 // on top of the block's own
    int16_t lost[TL_N_PIPE_CAUSES]; // the same by cause; a wait can hide another inside the block: negative
} tl_block_memo;

struct tl_block {
    uint64_t vline, enter_pline; // what the fetch slot must say; enter_pline TL_NO_LINE: never entered through the fast path
    uint64_t pc;
    uint64_t count; // executions not folded yet
    tl_op *ops;     // n_insns operations, then one that ends the block
    uint32_t cycles;
    uint16_t n_insns;
    bool is_straddling; // the first instruction reaches into a second line, pline2
    bool is_stale;
    const tl_pend *exit_pend;
    tl_block *link[2]; // fall-through or jump, taken; never NULL (tl_blocks.nowhere)
    uint64_t end_pc;
    uint64_t pline, pline2;
    tl_block_memo memo;
    tl_block *next_on_line; // chain of the line's bucket
    tl_block *next_made;    // in order of creation
    tl_static_count *statics;
    uint16_t n_statics;
    uint16_t n_bytes;
    uint32_t generation; // code_generation at which the bytes were last compared
    uint16_t *opc;       // per instruction
    uint16_t *before;    // per instruction: pipe time before it, entered with nothing in flight; [n_insns] = cycles
    uint8_t *bytes;      // n_bytes of code, as decoded
};

enum { TL_BLOCK_BUCKETS = 1 << 14, TL_JUMP_CACHE = 1 << 10 };

typedef struct tl_blocks { // the store of one hart; h->engine
    tl_block *jump_cache[TL_JUMP_CACHE]; // by target of indirect jumps; never NULL
    tl_block nowhere;                    // matches no fetch slot
    tl_hart *hart;
    tl_pend_table *pends;
    enum { TL_BLOCK_GO_ON, TL_BLOCK_TRAP, TL_BLOCK_BREAK } why; // the threaded code returned
    uint64_t pend_mark;      // instret at the end of the last block that was entered with results in flight
    const tl_pend *pend_in;  // what was in flight then
    uint64_t break_pc[2];    // the blocks were decoded for these
    tl_block *first_made, **last_made;
    uint8_t *memory;
    size_t memory_bytes, used_bytes;
    uint64_t n_flushes;
    tl_block *buckets[TL_BLOCK_BUCKETS];
} tl_blocks;

TL_MUST_CHECK tl_status tl_blocks_init(tl_blocks *store, tl_hart *h, tl_arena *arena, tl_error *err);
void tl_blocks_done(tl_blocks *store);
// The valid block at pc whose first line is at pline (and second at pline2 when straddling), decoded if need be.
tl_block *tl_blocks_get(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2);
// Compares the bytes of all blocks of a line that is about to become fetchable.
void tl_blocks_validate(tl_blocks *store, uint64_t vline, uint64_t pline);
void tl_blocks_fold(tl_blocks *store);  // adds counts to the tallies
void tl_blocks_flush(tl_blocks *store); // folds, then forgets all blocks
// True when the instruction at pc (in the line at host address `line`) reaches into the next line.
bool tl_straddles(const tl_hart *h, uint64_t pc, uint64_t pline);
// Pipe time before instruction k when the block was entered with `pend` (may be NULL); k = n_insns: the whole. ret_board may be NULL.
uint64_t tl_block_time_before(const tl_blocks *store, const tl_block *block, uint32_t k, const tl_pend *pend, tl_scoreboard *ret_board);
// Takes instructions k.. of an execution back out of the tallies; the one at k was fetched when `is_fetched`.
void tl_block_take_back(tl_blocks *store, tl_block *block, uint32_t k, const tl_pend *pend, bool is_fetched);

uint32_t tl_fetch_groups(const tl_hart *h, uint64_t from, uint64_t end); // groups touched by bytes from .. end-1

extern tl_op_handler tl_block_end_handler;
// Chooses handlers, fusing neighbors where a fused body exists.
void tl_block_choose_handlers(tl_blocks *store, tl_block *block);

#endif
