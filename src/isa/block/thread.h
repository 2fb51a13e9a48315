// SPDX-License-Identifier: MIT
// Threaded code of any instruction set: how operations go on to one another, how a block is entered
// and left. An operation is a small function. It does its work on the hit path and jumps to the
// next operation (a sibling call). An operation that does not hit calls `slow`. `slow` sets the
// clock to the exact cycle and calls the full body. A run costs one fetch-slot compare, one count
// and one add to the clock.
//
// Where the compiler cannot turn the last call into a jump (sanitizers), TL_NO_TAIL_CALLS makes a
// loop of it. Included by the one file of an instruction set that has its operations.
#ifndef TL_ISA_BLOCK_THREAD_H
#define TL_ISA_BLOCK_THREAD_H

#include "isa/block/contexts.h"
#include "isa/block/enter.h"
#include "isa/block/execute.h"
#include "isa/block/stops.h"
#include "isa/block/store.h"

#ifdef TL_NO_TAIL_CALLS
#define GO(op)             \
    do {                   \
        h->next_op = (op); \
        return;            \
    } while (0)
#define STOP()             \
    do {                   \
        h->next_op = NULL; \
        return;            \
    } while (0)
#define RUN_BEGIN() h->next_op = NULL
#define RUN_END()      \
    while (h->next_op) \
    h->next_op->handler(h, h->next_op)
#else
// The empty statement keeps the address in one register, because the compiler computes it twice
// without it.
#define GO(op)                   \
    do {                         \
        const tl_op *go_ = (op); \
        __asm__("" : "+r"(go_)); \
        go_->handler(h, go_);    \
        return;                  \
    } while (0)
#define STOP() return
#define RUN_BEGIN() (void)0
#define RUN_END() (void)0
#endif

#define BLOCK ((tl_block *)h->block)

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc);
static TL_NOINLINE void enter_cell(tl_hart *h, uint64_t pc);

TL_ALWAYS_INLINE void start(tl_hart *h, tl_block *block) {
    h->pend = block->exit_pend;
    *block->count += 1;
    h->now += block->cycles;
    h->instret += block->n_insns;
    h->block = block;
    GO(block->ops);
}

TL_ALWAYS_INLINE bool may_enter(const tl_hart *h, const tl_fetch_slot *slot, const tl_block *block) {
    return TL_LIKELY(slot->key == block->enter_key && h->now < h->fast_horizon);
}

TL_ALWAYS_INLINE void begin(tl_hart *h, const tl_fetch_slot *slot, tl_block *block) {
    tl_fetch_hit(h, slot);
    start(h, block);
}

TL_ALWAYS_INLINE void enter(tl_hart *h, tl_block **link, uint64_t pc) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, pc);
    if (may_enter(h, slot, *link))
        begin(h, slot, *link);
    else
        enter_slow(h, link, pc);
}

// Enters the target of an indirect jump.
TL_ALWAYS_INLINE void enter_target(tl_hart *h, uint64_t target) {
    const tl_jump_cell *cell = tl_blocks_cell(h->engine_state, target);
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, target);
    if (TL_LIKELY(cell->pc == target && cell->in == h->pend) && may_enter(h, slot, cell->block))
        begin(h, slot, cell->block);
    else
        enter_cell(h, target);
}

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc) {
    tl_blocks *store = h->engine_state;
    uint64_t n_flushes = store->n_flushes;
    tl_block *block = tl_blocks_enter(store, pc, *link);
    if (TL_UNLIKELY(!block))
        STOP();
    if (store->n_flushes == n_flushes)
        *link = block; // else the link's own block is gone
    start(h, block);
}

static TL_NOINLINE void enter_cell(tl_hart *h, uint64_t pc) {
    tl_block *block = tl_blocks_enter_cell(h->engine_state, pc);
    if (TL_UNLIKELY(!block))
        STOP();
    start(h, block);
}

TL_ALWAYS_INLINE bool execute(tl_hart *h, const tl_op *op) {
    tl_block *block = h->block;
    const uint32_t k = (uint32_t)(op - block->ops);
    return TL_UNLIKELY(h->attribution != NULL) ? tl_block_execute_booked(h->engine_state, block, k)
                                               : tl_block_execute(h->engine_state, block, k);
}

// Executes an operation that did not hit by its full body, at the exact cycle.
static TL_NOINLINE void slow(tl_hart *h, const tl_op *op) {
    if (TL_UNLIKELY(!execute(h, op)))
        STOP();
    GO(op + 1);
}

// The first operation of a block whose front-end has a `heat` hook.
static void op_warm(tl_hart *h, const tl_op *op) {
    tl_blocks *store = h->engine_state;
    tl_block *block = h->block;
    if (store->type->heat(store, block))
        STOP();
    block->first(h, op);
}

// The first operation of a block while there is a call graph.
static void op_counted(tl_hart *h, const tl_op *op) {
    tl_block *block = h->block;
    tl_block_count_context(h, block, 1);
    block->counted(h, op);
}

static void op_break(tl_hart *h, const tl_op *op) {
    tl_block *block = h->block;
    tl_block_stop_before(h->engine_state, block, (uint32_t)(op - block->ops));
    STOP();
}

static void op_end(tl_hart *h, const tl_op *op) {
    (void)op;
    tl_block *block = BLOCK;
    enter(h, &block->link[0], block->end_pc);
}

// A conditional branch at pc.
TL_ALWAYS_INLINE void branch_at(tl_hart *h, uint64_t pc, uint64_t target, bool is_taken) {
    tl_block *block = BLOCK;
    if (is_taken) { // two copies of the predictor, each half the size
        h->now += tl_bpred_branch(&h->bp, h->tally, pc, target, true);
        enter(h, &block->link[1], target);
    } else {
        h->now += tl_bpred_branch(&h->bp, h->tally, pc, target, false);
        enter(h, &block->link[0], block->end_pc);
    }
}

// The last steps of making a block executable, when its operations have handlers. alone: the
// handler of instruction k, not fused with a neighbor.
static inline void finish(const tl_blocks *store, tl_block *block, tl_op_handler *(*alone)(const tl_block *block, uint32_t k)) {
    for (uint32_t k = block->n_insns; k-- > 1;) // backward: the one before may be a breakpoint, too
        if (tl_blocks_stops_at(store, block, k)) {
            block->ops[k].handler = op_break;
            block->ops[k - 1].handler = alone(block, k - 1);
        }
    if (store->type->heat) {
        block->first = block->ops[0].handler;
        block->ops[0].handler = op_warm;
    }
    if (TL_UNLIKELY(tl_blocks_sink(store) != NULL)) {
        block->counted = block->ops[0].handler;
        block->ops[0].handler = op_counted;
    }
}

static inline void run_block(tl_blocks *store, tl_block *block) { // that has been entered
    tl_hart *h = store->hart;
    RUN_BEGIN();
    start(h, block);
    RUN_END();
}

static inline void resume_run(tl_blocks *store) {
    tl_hart *h = store->hart;
    uint32_t k;
    tl_block *block = tl_blocks_resume(store, &k);
    h->block = block;
    RUN_BEGIN();
    slow(h, &block->ops[k]);
    RUN_END();
}

// Serves as tl_blocks_type.run of a front-end that runs threaded code alone.
static inline void run_threaded(tl_blocks *store) {
    if (store->is_waiting) {
        resume_run(store);
        return;
    }
    tl_block *block = tl_blocks_enter_cell(store, store->hart->pc);
    if (block)
        run_block(store, block);
}

#endif
