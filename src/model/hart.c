// SPDX-License-Identifier: MIT
// A hart's clock and its accounts: tallies that are views of the clock (front-ends keep time in
// h->now and h->instret and call this before a read), cycles and instructions by privilege
// mode, machine time, and interrupt lines.
#include <string.h>

#include "base/bits.h"
#include "model/engine.h"
#include "model/isa.h"

__extension__ typedef unsigned __int128 uint128;

void tl_hart_sync_clock(tl_hart *h) {
    uint64_t cycle = h->now - h->idle_cycles, cycles[TL_N_VIEWS], insns[TL_N_VIEWS];
    for (uint32_t i = 0; i < TL_N_VIEWS; i++) {
        cycles[i] = h->mode_cycles[i];
        insns[i] = h->mode_insns[i];
    }
    cycles[h->view] += cycle - h->mode_start_cycle;
    insns[h->view] += h->instret - h->mode_start_insn;
    h->tally[TL_S_HART_CYCLE] = cycle;
    h->tally[TL_S_HART_CYCLE_U] = cycles[TL_VIEW_U] - h->supervisor_cycles;
    h->tally[TL_S_HART_CYCLE_S] = cycles[TL_VIEW_S] + h->supervisor_cycles;
    h->tally[TL_S_HART_CYCLE_M] = cycles[TL_VIEW_M];
    h->tally[TL_S_HART_IDLE_CYCLE] = h->idle_cycles;
    h->tally[TL_S_HART_INSTRET] = h->instret;
    h->tally[TL_S_HART_INSTRET_U] = insns[TL_VIEW_U];
    h->tally[TL_S_HART_INSTRET_S] = insns[TL_VIEW_S];
    h->tally[TL_S_HART_INSTRET_M] = insns[TL_VIEW_M];
}

void tl_hart_set_priv(tl_hart *h, tl_priv priv) {
    for (uint32_t i = 0; i < h->n_pmus; i++)
        if (h->pmus[i]->needs_modes)
            h->pmus[i]->leave_mode(h->pmus[i]->ctx, h, priv);
    uint64_t cycle = h->now - h->idle_cycles;
    h->mode_cycles[h->view] += cycle - h->mode_start_cycle;
    h->mode_insns[h->view] += h->instret - h->mode_start_insn;
    h->mode_start_cycle = cycle;
    h->mode_start_insn = h->instret;
    h->priv = priv;
    h->view = h->isa->views[priv];
}

bool tl_hart_hang_pmu(tl_hart *h, const tl_pmu_port *port, bool is_first) {
    if (h->n_pmus == TL_MAX_PMU_PORTS)
        return false;
    if (is_first)
        memmove(&h->pmus[1], &h->pmus[0], h->n_pmus * sizeof h->pmus[0]);
    h->pmus[is_first ? 0 : h->n_pmus] = port;
    h->n_pmus += 1;
    if (port->find)
        h->isa->pmus_changed(h);
    return true;
}

void tl_hart_drop_pmu(tl_hart *h, const tl_pmu_port *port) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_pmus; i++)
        if (h->pmus[i] != port)
            h->pmus[n++] = h->pmus[i];
    h->n_pmus = n;
    if (port->find)
        h->isa->pmus_changed(h);
}

void tl_hart_retired(tl_hart *h) {
    h->has_after = false;
    if (h->wrote_pmu) {
        h->wrote_pmu = false;
        for (uint32_t i = 0; i < h->n_pmus; i++)
            h->pmus[i]->retired(h->pmus[i]->ctx, h);
    }
    if (h->changes_priv) {
        h->changes_priv = false;
        tl_hart_set_priv(h, h->new_priv);
        tl_hart_notice(h, TL_NOTICE_TRAP_RETURN);
        if (tl_hart_pending(h) != 0)
            tl_hart_stop_soon(h);
    }
}

void tl_hart_limit_to_deadline(tl_hart *h, uint64_t *insn_limit) {
    uint64_t left = UINT64_MAX;
    for (uint32_t i = 0; i < h->n_pmus; i++) {
        if (h->pmus[i]->is_quiet)
            continue;
        uint64_t own = h->pmus[i]->deadline(h->pmus[i]->ctx, h);
        left = own < left ? own : left;
        if (h->pmus[i]->arrival)
            h->pmus[i]->arrival(h->pmus[i]->ctx, h, insn_limit);
    }
    h->has_deadline = left != UINT64_MAX;
    if (left == UINT64_MAX)
        return;
    uint64_t guard = h->engine->overshoot_cycles(h);
    if (left <= guard)
        *insn_limit = h->instret + 1 < *insn_limit ? h->instret + 1 : *insn_limit;
    // No sum, because a counter near 0 is 2^64 cycles away.
    else if (h->horizon > h->now && left - guard < h->horizon - h->now)
        h->horizon = h->now + (left - guard);
}

bool tl_hart_poll(tl_hart *h) {
    uint64_t before = tl_hart_pending(h);
    for (uint32_t i = 0; i < h->n_pmus; i++)
        if (!h->pmus[i]->is_quiet)
            h->pmus[i]->poll(h->pmus[i]->ctx, h);
    if ((tl_hart_pending(h) & ~before) == 0)
        return false;
    h->is_interrupted = true;
    h->insn_limit = 0;
    return true;
}

void tl_hart_pmu_state_changed(tl_hart *h) {
    for (uint32_t i = 0; i < h->n_pmus; i++)
        if (h->pmus[i]->state_changed)
            h->pmus[i]->state_changed(h->pmus[i]->ctx, h);
}

void tl_hart_set_irq(tl_hart *h, tl_irq irq, bool level) {
    uint64_t bit = UINT64_C(1) << irq;
    uint64_t *lines = h->irqs_wired & bit ? &h->irq_lines : &h->irqs_pending;
    *lines = level ? *lines | bit : *lines & ~bit;
    if (tl_hart_pending(h) != 0)
        tl_hart_stop_soon(h);
}

static uint64_t clock_hz(const tl_hart *h) { return h->config->clock_hz != 0 ? h->config->clock_hz : 1; }

uint64_t tl_hart_time(const tl_hart *h, uint64_t cycle) {
    return (uint64_t)((uint128)cycle * TL_TIMEBASE_HZ / clock_hz(h)) + h->time_offset;
}

uint64_t tl_hart_cycle_of_time(const tl_hart *h, uint64_t time) {
    uint128 cycle = ((uint128)(time - h->time_offset) * clock_hz(h) + TL_TIMEBASE_HZ - 1) / TL_TIMEBASE_HZ;
    return cycle >= UINT64_MAX ? UINT64_MAX : (uint64_t)cycle;
}
