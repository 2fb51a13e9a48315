// SPDX-License-Identifier: MIT
// The loop of every front-end over blocks. Blocks run while many instructions are left; near a
// limit, single instructions do.
#include "isa/block/run.h"

#include "isa/block/contexts.h"
#include "isa/block/execute.h"
#include "isa/block/fold.h"
#include "isa/block/stops.h"
#include "isa/block/store.h"
#include "model/attribution.h"

// Whether the run that waits may go on with the block as it was decoded, up to its end.
static bool may_resume(const tl_blocks *store) {
    const tl_hart *h = store->hart;
    return h->run_vline != TL_NO_LINE && store->under_way->generation == h->code_generation && !store->must_flush && !store->must_step &&
           !h->skip_break && h->insn_limit - h->instret > TL_MAX_BLOCK_INSNS;
}

uint64_t tl_blocks_overshoot_cycles(const tl_hart *h) {
    const tl_blocks *store = h->engine_state;
    const tl_pipeline_config *pipe = &h->config->pipeline;
    return (uint64_t)store->max_cycles +
           (pipe->mispredict_cycles > pipe->redirect_cycles ? pipe->mispredict_cycles : pipe->redirect_cycles) + 1;
}

void tl_blocks_hand_over(tl_hart *h) {
    tl_blocks *store = h->engine_state;
    if (store->is_waiting)
        tl_blocks_abandon(store);
}

// Steps one instruction. Its fetches made slots valid, so the blocks of both lines are compared:
// blocks prove themselves by slots alone.
static tl_step step(tl_blocks *store) {
    tl_hart *h = store->hart;
    uint64_t pc = h->pc;
    if (TL_UNLIKELY(h->attribution != NULL)) {
        tl_attribution_own(h, pc);
        if (tl_blocks_sink(store)) // it may change the context
            tl_blocks_count_outcomes(store);
    }
    tl_step result = store->isa->step(h, store->pends);
    if (TL_UNLIKELY(h->attribution != NULL)) {
        tl_attribution_book(h); // its prediction, before another transfer
        if (tl_blocks_sink(store))
            tl_blocks_follow_graph(store);
    }
    tl_blocks_validate(store, pc & h->line_mask);
    tl_blocks_validate(store, (pc + 2) & h->line_mask);
    return result;
}

tl_stop tl_blocks_run(tl_hart *h) {
    tl_blocks *store = h->engine_state;
    if (tl_blocks_have_other_breaks(store))
        tl_blocks_take_breaks(store);
    if (TL_UNLIKELY(store->attribution != h->attribution))
        tl_blocks_take_attribution(store);
    if (TL_UNLIKELY(tl_blocks_sink(store) != NULL)) // another hart may have told it jumps
        tl_blocks_follow_graph(store);
    tl_fp_saved saved;
    tl_stop stop;
    store->isa->enter(h, &saved);
    for (;;) {
        if (h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        bool may_stop = h->run_vline == TL_NO_LINE && !store->must_step;
        if (may_stop && (h->now >= h->horizon || (h->now >= h->access_until && !store->isa->is_run_private(h, h->pc)))) {
            stop = TL_STOP_HORIZON;
            break;
        }
        uint64_t left = h->insn_limit - h->instret;
        if (store->is_waiting && !may_resume(store))
            tl_blocks_abandon(store);
        if ((h->run_vline != TL_NO_LINE && !store->is_waiting) || h->skip_break || left <= TL_MAX_BLOCK_INSNS || store->must_step) {
            store->must_step = false;
            h->host_phase = TL_HOST_STEPPING;
            tl_step result = step(store);
            if (result == TL_STEP_RETIRED)
                continue;
            stop = tl_step_stop(result);
            break;
        }
        if (TL_UNLIKELY(store->must_flush)) {
            store->must_flush = false;
            tl_blocks_flush(store);
        }
        // An instruction takes a cycle or more. A bound on the clock bounds instructions, too, and
        // counts of branches.
        tl_blocks_fold_branches(store);
        uint64_t bound = left - TL_MAX_BLOCK_INSNS;
        bound = bound < TL_MAX_UNFOLDED_CYCLES ? bound : TL_MAX_UNFOLDED_CYCLES;
        h->ahead_horizon = h->horizon <= h->now || bound >= h->horizon - h->now ? h->horizon : h->now + bound;
        h->fast_horizon = h->ahead_horizon < h->access_until ? h->ahead_horizon : h->access_until;
        store->run_horizon = h->fast_horizon;
        store->run_ahead_horizon = h->ahead_horizon;
        store->must_recheck = false;
        store->is_folded = false;
        store->is_running = true;
        h->host_phase = TL_HOST_RUNNING;
        store->type->run(store);
        store->is_running = false;
        if (store->why == TL_BLOCK_TRAP && h->takes_traps && tl_blocks_take_trap(store))
            continue;
        if (store->why == TL_BLOCK_LATE && h->instret < h->insn_limit) {
            stop = TL_STOP_HORIZON;
            break;
        }
        if (store->why != TL_BLOCK_GO_ON && store->why != TL_BLOCK_LATE) {
            stop = store->why == TL_BLOCK_TRAP ? TL_STOP_TRAP : store->why == TL_BLOCK_WAIT ? TL_STOP_WAIT : TL_STOP_BREAK;
            break;
        }
    }
    h->host_phase = TL_HOST_ELSEWHERE;
    store->isa->leave(h, &saved);
    return stop;
}
