// SPDX-License-Identifier: MIT
// One instruction of a block by its full body, and every way to leave a block before its end.
#include "isa/block/execute.h"

#include "isa/block/contexts.h"

#include "isa/block/fold.h"
#include "isa/block/stops.h"
#include "model/attribution.h"
#include "model/isa.h"

void tl_blocks_stop_with_trap(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->pc = pc;
    store->why = TL_BLOCK_TRAP;
}

// The fetch run under way is that of this block.
static void note_run(tl_hart *h, const tl_block *block) {
    h->run_vline = block->is_straddling ? block->vline + (~h->line_mask + 1) : block->vline;
    h->run_pline = block->is_straddling ? block->pline2 : block->pline;
}

// Stops before instruction k. The rest of the run leaves the clock and the tallies.
static void stop_before(tl_blocks *store, tl_block *block, uint32_t k, tl_block_why why) {
    tl_hart *h = store->hart;
    tl_scoreboard board;
    tl_block_walk(store, block, k, &board);
    h->now -= block->cycles - board.time;
    h->instret -= block->n_insns - k;
    tl_block_take_back(store, block, k, false);
    h->pend = tl_scoreboard_pend(&board, store->pends);
    note_run(h, block);
    if (k == block->n_insns)
        h->run_vline = TL_NO_LINE;
    h->pc = block->pc + block->offset[k];
    store->why = why;
}

// Instruction k has not begun and waits for other harts; the clock stands before it. A run that
// begins with it begins anew. Any other run is resumed; its rest stays counted until tallies are
// read or tl_blocks_abandon takes it back.
static void stop_to_wait(tl_blocks *store, tl_block *block, uint32_t k) {
    tl_hart *h = store->hart;
    h->pc = block->pc + block->offset[k];
    store->why = TL_BLOCK_WAIT;
    if (k == 0) {
        *block->count -= 1;
        if (TL_UNLIKELY(tl_blocks_sink(store) != NULL))
            tl_block_count_context(h, block, UINT64_MAX);
        h->pend = block->in;
        h->run_vline = TL_NO_LINE;
        return;
    }
    note_run(h, block);
    store->under_way = block;
    store->under_way_k = k;
    store->is_before = store->is_waiting = true;
}

void tl_blocks_abandon(tl_blocks *store) {
    tl_hart *h = store->hart;
    const tl_block *block = store->under_way;
    if (h->run_vline != TL_NO_LINE) { // else the hart was called away, which drained its pipeline
        tl_scoreboard board;
        tl_block_walk(store, block, store->under_way_k, &board);
        h->pend = tl_scoreboard_pend(&board, store->pends);
    }
    if (!store->is_taken_back)
        tl_block_take_back(store, block, store->under_way_k, false);
    store->is_taken_back = store->is_before = store->is_waiting = false;
    store->under_way = NULL;
}

tl_block *tl_blocks_resume(tl_blocks *store, uint32_t *ret_k) {
    tl_hart *h = store->hart;
    tl_block *block = store->under_way;
    uint32_t k = store->under_way_k;
    if (store->is_taken_back)
        tl_block_put_back(store, block, k, false);
    store->is_taken_back = store->is_before = store->is_waiting = false;
    store->under_way = NULL;
    h->run_vline = TL_NO_LINE;
    h->pend = block->exit_pend;
    h->now += block->cycles - block->before[k];
    h->instret += block->n_insns - k;
    *ret_k = k;
    return block;
}

void tl_block_stop_before(tl_blocks *store, tl_block *block, uint32_t k) {
    bool is_break = tl_blocks_has_break(store, block->pc + block->offset[k]);
    // A marker is stepped, because the run has begun.
    stop_before(store, block, k, is_break ? TL_BLOCK_BREAK : TL_BLOCK_GO_ON);
}

// Instruction k - 1 took a slow path and some counter waits for an overflow. PMUs read the counts
// as they stand before instruction k.
static TL_NOINLINE bool watch(tl_blocks *store, tl_block *block, uint32_t k) {
    tl_hart *h = store->hart;
    uint64_t rest_insns = block->n_insns - k, rest_cycles = block->cycles - block->before[k];
    h->now -= rest_cycles;
    h->instret -= rest_insns;
    store->under_way = block;
    store->under_way_k = k;
    store->is_before = true;
    bool is_noticed = tl_hart_poll(h);
    // An overflow may come before the end of the run. Instructions run one by one from here.
    bool is_late = rest_insns > 0 && h->now >= h->fast_horizon;
    if (store->is_taken_back)
        tl_block_put_back(store, block, k, false);
    store->is_taken_back = store->is_before = false;
    store->under_way = NULL;
    h->now += rest_cycles;
    h->instret += rest_insns;
    if (is_noticed || is_late)
        stop_before(store, block, k, TL_BLOCK_GO_ON);
    return !is_noticed && !is_late;
}

void tl_block_line_lost(tl_blocks *store, const tl_block *block) {
    tl_hart *h = store->hart;
    h->has_lost_fetch = false;
    if (!tl_fetch_slot_shows(tl_fetch_slot_of(h, block->vline), block->vline)) {
        store->must_recheck = true;
        h->fast_horizon = h->ahead_horizon = 0;
    }
}

TL_ALWAYS_INLINE bool execute(tl_blocks *store, tl_block *block, uint32_t k, bool is_booked) {
    tl_hart *h = store->hart;
    const tl_op *op = &block->ops[k];
    uint64_t pc = block->pc + block->offset[k];
    uint64_t rest_cycles = block->cycles - block->before[k];
    uint64_t rest_insns = block->n_insns - k;
    h->now -= rest_cycles;
    h->instret -= rest_insns;
    store->under_way = block;
    store->under_way_k = k;
    if (is_booked)
        tl_attribution_own(h, pc);
    bool is_done = store->isa->execute[block->opc[k]](h, op, pc);
    store->under_way = NULL;
    if (TL_UNLIKELY(!is_done)) {
        if (h->trap_cause == TL_TRAP_NOT_YET) {
            stop_to_wait(store, block, k);
            return false;
        }
        if (!store->is_taken_back)
            tl_block_take_back(store, block, k, true);
        store->is_taken_back = false;
        tl_blocks_stop_with_trap(store, pc);
        return false;
    }
    if (TL_UNLIKELY(store->is_taken_back)) {
        tl_block_put_back(store, block, k, true);
        store->is_taken_back = false;
    }
    tl_block_line_lost(store, block);
    if (TL_UNLIKELY(h->has_slow_watch) && !h->has_after) {
        h->now += rest_cycles;
        h->instret += rest_insns;
        return watch(store, block, k + 1);
    }
    h->now += rest_cycles;
    h->instret += rest_insns;
    if (TL_UNLIKELY(h->has_after)) { // it ended its block
        const bool is_trap_return = h->changes_priv;
        store->isa->retired(h);
        if (is_trap_return && is_booked)
            tl_blocks_tell_trap_return(store);
    }
    return true;
}

// Interrupts come before the handler's first instruction, and an overflow may be one. A trap of a
// handler itself may be one of an endless loop, which the run loop notices.
bool tl_blocks_take_trap(tl_blocks *store) {
    tl_hart *h = store->hart;
    if (h->attribution != NULL || tl_hart_pending(h) != 0 || tl_hart_is_watched(h))
        return false;
    tl_trap_handler handler;
    h->isa->handler(h, &handler);
    if (handler.is_own)
        return false;
    store->why = TL_BLOCK_GO_ON;
    h->isa->take_exception(h);
    return true;
}

bool tl_block_execute(tl_blocks *store, tl_block *block, uint32_t k) { return execute(store, block, k, false); }

bool tl_block_execute_booked(tl_blocks *store, tl_block *block, uint32_t k) { return execute(store, block, k, true); }
