// SPDX-License-Identifier: MIT
// Fast front end: windows and frames from running totals. A frame's value is the difference of two
// totals. Frames that reach the same bank may be added as one, so only the last snapshot before a
// swap of banks has to be read. Every swap is known one window and one frame ahead: EXT by its
// period, requests by their lead, flushes of the shared CCUs by their slots, final frames because a
// switch waits for them. Where that fails (observers of frames, THR within reach, windows that may
// overflow, zero frames, faults) every snapshot is read.
#include <assert.h>

#include "pmu/smpm/state.h"

static uint32_t frame_cycles(const tl_smpm *m) { return m->n_data + TL_SMPM_MARK_CYCLES; }

// Latest periodic snapshot at or before a cycle. TL_SMPM_NEVER: none.
static uint64_t snap_before(const tl_smpm *m, const tl_smpm_window *w, uint64_t cycle) {
    if (w->end_snaps != TL_SMPM_NEVER && cycle >= w->end_snaps)
        cycle = w->end_snaps - 1;
    return cycle < w->first_snap ? TL_SMPM_NEVER : cycle - (cycle - w->first_snap) % m->config.ulc_period;
}

// Returns the first periodic snapshot after `cycle`.
static uint64_t snap_after(const tl_smpm *m, const tl_smpm_window *w, uint64_t cycle) {
    uint64_t snap = cycle < w->first_snap ? w->first_snap : cycle + m->config.ulc_period - (cycle - w->first_snap) % m->config.ulc_period;
    return snap < w->end_snaps ? snap : TL_SMPM_NEVER;
}

static bool reads_all(const tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    uint32_t partition = m->layout.ccus[ccu].partition;
    return !m->is_lazy || m->visits_all >> ccu & 1 || c->reg_at != TL_SMPM_NEVER ||
           (c->is_draining && (c->wants_plain || (c->wants_flush && c->flush_scope == TL_SMPM_SHARED))) ||
           (partition != TL_SMPM_SHARED && m->core->managers[partition].step == TL_SMPM_SNAPSHOT);
}

// Next snapshot to read for a swap that comes at `point` or a drain of rows later.
static uint64_t read_for(const tl_smpm *m, const tl_smpm_window *w, uint64_t point, bool may_wait) {
    uint64_t snap = point < frame_cycles(m) ? TL_SMPM_NEVER : snap_before(m, w, point - frame_cycles(m) + 1);
    if (snap != TL_SMPM_NEVER && snap > w->visited)
        return snap;
    if (!may_wait)
        return TL_SMPM_NEVER;
    snap = snap_after(m, w, snap == TL_SMPM_NEVER ? w->visited : snap);
    return snap > w->visited ? snap : TL_SMPM_NEVER;
}

static uint64_t next_snap(const tl_smpm *m, uint32_t ccu, const tl_smpm_window *w) {
    // The first cycle that can still be read.
    uint64_t first = m->core->front > m->core->now ? m->core->front : m->core->now;
    uint64_t after = w->visited + 1 > first ? w->visited : first - 1;
    if (reads_all(m, ccu))
        return snap_after(m, w, after);
    bool is_shared = m->layout.ccus[ccu].partition == TL_SMPM_SHARED;
    uint64_t ext_at = m->core->tbs[tl_smpm_source_of(m, m->layout.ccus[ccu].partition)].ext_at;
    uint64_t next = ext_at == TL_SMPM_NEVER ? TL_SMPM_NEVER : read_for(m, w, ext_at, is_shared);
    // The slot that may be served now, and two more.
    for (uint32_t i = 0; is_shared && m->is_safe && i < 3; i++) {
        uint64_t slot = (m->core->now / m->config.shared_slot + i) * m->config.shared_slot;
        uint64_t snap = slot == 0 ? TL_SMPM_NEVER : read_for(m, w, slot, true);
        next = snap < first ? next : tl_lesser(next, snap);
    }
    return next < first ? TL_SMPM_NEVER : next;
}

static void plan(tl_smpm *m, uint32_t ccu, uint32_t ulc) {
    tl_smpm_window *w = &m->windows[ulc];
    m->core->fast_due = 0;
    if (!w->is_enabled || w->is_rising)
        return;
    if (w->is_capturing) {
        m->read_at[ulc] = w->frame_start + (uint64_t)w->n_captured * m->config.ulc_bits / m->config.ulc_lanes;
        return;
    }
    m->read_at[ulc] = tl_lesser(next_snap(m, ccu, w), w->final_snap);
}

void tl_smpm_fast_plan(tl_smpm *m, uint32_t ccu) {
    for (uint32_t line = 0; line < m->layout.ccus[ccu].n_ulcs; line++)
        plan(m, ccu, m->layout.ccus[ccu].ulcs[line]);
}

static void rise(tl_smpm *m, uint32_t ulc, uint64_t cycle) {
    tl_smpm_window *w = &m->windows[ulc];
    w->is_enabled = w->is_rising = true;
    w->is_capturing = false;
    w->first_snap = cycle + m->config.ulc_period - tl_smpm_ulc_phase(m, ulc);
    w->end_snaps = w->final_snap = TL_SMPM_NEVER;
    w->visited = m->read_at[ulc] = cycle;
    w->busy_end = 0;
}

static void fall(tl_smpm *m, uint32_t ulc, uint64_t cycle) {
    tl_smpm_window *w = &m->windows[ulc];
    w->end_snaps = tl_lesser(w->end_snaps, cycle);
    w->final_snap = cycle;
    uint64_t last = snap_before(m, w, cycle);
    uint64_t busy_end = last == TL_SMPM_NEVER ? 0 : tl_smpm_is_on(m->config.zero_frames) ? w->busy_end : last + frame_cycles(m) - 1;
    if (last != TL_SMPM_NEVER && busy_end >= cycle)
        w->final_snap = busy_end + 1;
}

void tl_smpm_fast_line(tl_smpm *m, uint32_t ccu, uint64_t cycle) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    for (uint32_t line = 0; line < m->layout.ccus[ccu].n_ulcs; line++) {
        uint32_t ulc = m->layout.ccus[ccu].ulcs[line];
        tl_smpm_window *w = &m->windows[ulc];
        if (c->line && !w->is_enabled)
            rise(m, ulc, cycle);
        if (!c->transfers && w->is_enabled)
            w->end_snaps = tl_lesser(w->end_snaps, cycle);
        if (!c->line && w->is_enabled && w->final_snap == TL_SMPM_NEVER)
            fall(m, ulc, cycle);
        plan(m, ccu, ulc);
    }
    m->core->fast_due = 0;
}

bool tl_smpm_fast_has_read(const tl_smpm *m, uint32_t ccu) {
    for (uint32_t line = 0; line < m->layout.ccus[ccu].n_ulcs; line++) {
        const tl_smpm_window *w = &m->windows[m->layout.ccus[ccu].ulcs[line]];
        if (!w->is_enabled || w->is_rising || m->core->now < frame_cycles(m))
            continue;
        uint64_t snap = snap_before(m, w, m->core->now - frame_cycles(m) + 1);
        if (snap != TL_SMPM_NEVER && snap > w->visited)
            return false;
    }
    return true;
}

static uint64_t count_of(const tl_smpm *m, const tl_smpm_window *w, const tl_smpm_ctr *ctr, const tl_smpm_totals *totals) {
    switch (ctr->feed) {
    case TL_SMPM_FEED_BIT: return ctr->counts_low ? m->core->now - totals->bits[ctr->input] : totals->bits[ctr->input];
    case TL_SMPM_FEED_PULSE: return (totals->sums[ctr->input] - w->cleared_sums[ctr->input]) >> m->scale_log2;
    case TL_SMPM_FEED_NONZERO: return ctr->counts_low ? m->core->now - totals->nonzero[ctr->input] : totals->nonzero[ctr->input];
    default: return 0;
    }
}

static inline void capture(const tl_smpm *m, tl_smpm_window *w, const tl_smpm_unit_type *type, uint32_t i, const tl_smpm_totals *totals) {
    const tl_smpm_ctr *ctr = &type->ctrs[i];
    bool is_plain = ctr->feed == TL_SMPM_FEED_BIT && !ctr->counts_low;
    uint64_t count = TL_LIKELY(is_plain) ? totals->bits[ctr->input] : count_of(m, w, ctr, totals), value = count - w->base[i];
    w->base[i] = count;
    if (!m->is_lazy && TL_UNLIKELY(value > m->ulc_max)) {
        w->has_ovf = m->has_flags;
        value = m->config.ovf_policy == TL_SMPM_WRAP ? value & m->ulc_max : m->ulc_max;
    }
    w->frame[i] = (uint32_t)value;
}

static bool is_zero(const tl_smpm *m, const tl_smpm_window *w) {
    uint64_t any = w->has_ovf;
    for (uint32_t i = 0; i < m->config.ulc_ctrs; i++)
        any |= w->frame[i];
    return any == 0;
}

static void close_frame(tl_smpm *m, uint32_t ulc, const tl_smpm_totals *totals) {
    tl_smpm_window *w = &m->windows[ulc];
    w->busy_end = w->frame_start + (w->is_final ? m->n_final_data : m->n_data) + 1;
    if (!w->is_final && tl_smpm_is_on(m->config.zero_frames) && is_zero(m, w))
        w->busy_end = w->frame_start + 1;
    m->end_at[ulc] = w->busy_end;
    w->is_capturing = false;
    if (!w->is_final)
        return;
    const tl_smpm_unit_type *type = &m->layout.types[m->layout.ulcs[ulc].type];
    for (uint32_t i = 0; i < m->config.mb_inputs && i < type->n_multi; i++)
        w->frame_residues[i] = (uint16_t)((totals->sums[i] - w->cleared_sums[i]) & (m->scale - 1));
    w->is_enabled = false;
    m->read_at[ulc] = TL_SMPM_NEVER;
}

static void read(tl_smpm *m, uint32_t ulc) {
    tl_smpm_window *w = &m->windows[ulc];
    const tl_smpm_ulc *place = &m->layout.ulcs[ulc];
    const tl_smpm_unit_type *type = &m->layout.types[place->type];
    tl_smpm_totals totals; // the host writes all of it
    m->plan.host.totals(m->plan.host.ctx, ulc, m->core->now, &totals);
    if (w->is_rising) {
        w->is_rising = false;
        for (uint32_t i = 0; i < m->config.mb_inputs; i++)
            w->cleared_sums[i] = totals.sums[i];
        for (uint32_t i = 0; i < m->config.ulc_ctrs; i++)
            w->base[i] = count_of(m, w, &type->ctrs[i], &totals);
        plan(m, place->ccu, ulc);
        return;
    }
    if (!w->is_capturing) {
        assert(m->end_at[ulc] == TL_SMPM_NEVER);
        w->is_final = m->core->now == w->final_snap;
        w->has_ovf = false;
        w->frame_start = w->visited = m->core->now;
        w->n_captured = 0;
        w->is_capturing = true;
    }
    bool is_atomic = !m->is_rolling || w->is_final;
    if (is_atomic && w->n_captured == 0) {
        for (uint64_t left = m->fed[place->type]; left; left &= left - 1)
            capture(m, w, type, (uint32_t)__builtin_ctzll(left), &totals);
        w->n_captured = m->config.ulc_ctrs;
    }
    while (w->n_captured < m->config.ulc_ctrs &&
           (is_atomic || m->core->now - w->frame_start >= w->n_captured * m->config.ulc_bits / m->config.ulc_lanes))
        capture(m, w, type, w->n_captured++, &totals);
    if (w->n_captured == m->config.ulc_ctrs)
        close_frame(m, ulc, &totals);
    plan(m, place->ccu, ulc);
}

static void deliver(tl_smpm *m, uint32_t ulc) {
    tl_smpm_window *w = &m->windows[ulc];
    tl_smpm_frame frame = {.ulc = ulc, .start = w->frame_start, .end = m->end_at[ulc], .is_final = w->is_final, .has_ovf = w->has_ovf};
    for (uint32_t i = 0; m->plan.observer.frame && i < m->config.ulc_ctrs; i++)
        frame.values[i] = (uint16_t)w->frame[i];
    for (uint32_t i = 0; w->is_final && m->exports && i < m->config.mb_inputs; i++)
        frame.residues[i] = w->frame_residues[i];
    m->end_at[ulc] = TL_SMPM_NEVER;
    tl_smpm_ccu_add(m, &frame, w->frame);
}

void tl_smpm_fast_step(tl_smpm *m) {
    m->core->front = m->core->now + 1;
    if (m->core->now < m->core->fast_due)
        return;
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++) {
        if (m->end_at[ulc] == m->core->now)
            deliver(m, ulc);
        if (m->read_at[ulc] == m->core->now)
            read(m, ulc);
        next = tl_lesser(next, tl_lesser(m->end_at[ulc], m->read_at[ulc]));
    }
    m->core->fast_due = next;
}

uint64_t tl_smpm_fast_next_read(const tl_smpm *m) {
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        next = tl_lesser(next, m->read_at[ulc]);
    return next;
}

uint64_t tl_smpm_fast_next(const tl_smpm *m) {
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        next = tl_lesser(next, tl_lesser(m->end_at[ulc], m->read_at[ulc]));
    return next;
}
