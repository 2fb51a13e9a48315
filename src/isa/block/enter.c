// SPDX-License-Identifier: MIT
// The way into a block; see enter.h.
#include "isa/block/enter.h"

#include "isa/block/code.h"
#include "isa/block/execute.h"
#include "isa/block/stops.h"
#include "isa/block/store.h"
#include "model/attribution.h"

// One line look-up at the start of a run.
static bool look_up(tl_blocks *store, uint64_t pc, uint64_t vaddr, uint64_t *ret_pline) {
    tl_hart *h = store->hart;
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    uint64_t vline = vaddr & h->line_mask;
    if (tl_fetch_slot_shows(slot, vaddr)) {
        tl_fetch_hit(h, slot);
    } else {
        if (TL_UNLIKELY(h->attribution != NULL))
            tl_attribution_own(h, pc);
        if (!h->port->fetch(h, vaddr))
            return false;
        tl_blocks_validate(store, vline);
        if (TL_UNLIKELY(h->has_slow_watch))
            store->must_step = true; // the instruction that missed is the last before an interrupt
    }
    *ret_pline = tl_fetch_slot_paddr(slot, vline);
    return true;
}

// Whether a run at pc may access data, once fast_horizon is reached.
static bool may_access(const tl_blocks *store, uint64_t pc, const tl_block *guess) {
    tl_hart *h = store->hart;
    if (tl_fetch_slot_of(h, pc)->key == guess->enter_key && guess->pc == pc && guess->generation == h->code_generation)
        return !guess->is_private;
    return !store->isa->is_run_private(h, pc);
}

// Whether a run may begin at pc now. false: the store says why.
TL_ALWAYS_INLINE bool may_begin(tl_blocks *store, uint64_t pc, const tl_block *guess) {
    tl_hart *h = store->hart;
    if (TL_UNLIKELY(store->must_recheck)) {
        store->must_recheck = false;
        if (h->horizon != 0 && !store->must_flush) { // else to stop soon
            h->fast_horizon = store->run_horizon;
            h->ahead_horizon = store->run_ahead_horizon;
        }
    }
    bool is_late = h->now >= h->ahead_horizon || (h->now >= h->fast_horizon && may_access(store, pc, guess));
    if (is_late || TL_UNLIKELY(tl_blocks_has_break(store, pc))) {
        store->why = !is_late ? TL_BLOCK_BREAK : h->now >= h->ahead_horizon ? TL_BLOCK_GO_ON : TL_BLOCK_LATE;
        h->pc = pc;
        return false;
    }
    return true;
}

tl_block *tl_blocks_enter(tl_blocks *store, uint64_t pc, tl_block *guess) {
    tl_hart *h = store->hart;
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, pc);
    // As threaded code enters a block. A hart that comes back from a trap does so here.
    if (slot->key == guess->enter_key && guess->pc == pc && guess->in == h->pend && guess->view == h->view && h->now < h->fast_horizon &&
        !store->must_step) {
        tl_fetch_hit(h, slot);
        return guess;
    }
    if (!may_begin(store, pc, guess))
        return NULL;
    uint64_t pline;
    return look_up(store, pc, pc, &pline) ? tl_blocks_enter_line(store, pc, pline, guess) : tl_blocks_refuse(store, pc);
}

tl_block *tl_blocks_enter_line(tl_blocks *store, uint64_t pc, uint64_t pline, tl_block *guess) {
    uint64_t pline2 = TL_NO_LINE;
    if (tl_code_straddles(store->hart, pc, pline) && !look_up(store, pc, pc + 2, &pline2))
        return tl_blocks_refuse_second(store, pc);
    return tl_blocks_enter_found(store, pc, pline, pline2, guess);
}

tl_block *tl_blocks_refuse(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    if (h->trap_cause == TL_TRAP_NOT_YET) {
        h->run_vline = TL_NO_LINE;
        h->pc = pc;
        store->why = TL_BLOCK_WAIT;
    } else {
        tl_blocks_stop_with_trap(store, pc);
    }
    return NULL;
}

tl_block *tl_blocks_refuse_second(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    if (h->trap_cause != TL_TRAP_NOT_YET) {
        if (TL_UNLIKELY(h->attribution != NULL))
            tl_attribution_own(h, pc);
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->tally[TL_S_L1I_ACCESS] += 1;
        h->tally[TL_S_ITLB_ACCESS] += 1;
        h->tally[TL_S_L1I_READ] += tl_fetch_groups(h, pc, pc + 2);
    }
    return tl_blocks_refuse(store, pc);
}

tl_block *tl_blocks_enter_found(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2, tl_block *guess) {
    tl_hart *h = store->hart;
    if (TL_UNLIKELY(store->must_step)) {
        store->why = TL_BLOCK_GO_ON;
        h->pc = pc;
        return NULL;
    }
    tl_block *block = guess;
    uint32_t max_cycles = store->max_cycles;
    if (guess->pc != pc || guess->in != h->pend || guess->view != h->view || guess->pline != pline || guess->pline2 != pline2 ||
        guess->is_stale || guess->generation != h->code_generation)
        block = tl_blocks_find(store, pc, pline, pline2);
    if (TL_UNLIKELY(h->has_deadline && store->max_cycles != max_cycles)) {
        // The block is longer than any before. The engine must compute anew what may run before the
        // deadline.
        store->why = TL_BLOCK_GO_ON;
        h->insn_limit = 0;
        h->pc = pc;
        return NULL;
    }
    if (TL_UNLIKELY((block->has_fp && h->is_fp_off) || block->begins_with_marker)) {
        store->why = TL_BLOCK_GO_ON;
        store->must_step = true;
        h->pc = pc;
        return NULL;
    }
    return block;
}

tl_jump_cell *tl_blocks_cell(tl_blocks *store, uint64_t pc) {
    return &store->jump_cache[store->hart->view][(pc >> 1) & (TL_JUMP_CACHE - 1)];
}

// A misaligned pc has no block. Its instruction is stepped, and traps.
static TL_NOINLINE tl_block *step_misaligned(tl_blocks *store, uint64_t pc) {
    if (may_begin(store, pc, &store->nowhere)) {
        store->why = TL_BLOCK_GO_ON;
        store->must_step = true;
        store->hart->pc = pc;
    }
    return NULL;
}

tl_block *tl_blocks_enter_cell(tl_blocks *store, uint64_t pc) {
    // Only indirect jumps, returns from exceptions and new runs come to a misaligned pc.
    if (TL_UNLIKELY((pc & store->misaligned_pc) != 0))
        return step_misaligned(store, pc);
    tl_jump_cell *cell = tl_blocks_cell(store, pc);
    tl_block *block = tl_blocks_enter(store, pc, cell->block);
    if (block)
        *cell = (tl_jump_cell){.pc = pc, .in = block->in, .code = block->code, .block = block};
    return block;
}

bool tl_block_is_near(const tl_blocks *store, const tl_block *block, uint64_t pc) {
    return !block->is_straddling && (pc & store->hart->line_mask) == block->vline;
}
