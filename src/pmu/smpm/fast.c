// SPDX-License-Identifier: MIT
// Fast front end: windows and frames from running totals. A frame's value is the difference of two
// totals. Frames that reach the same bank may be added as one, so only the last snapshot before a
// swap of banks has to be read. Every swap is known one window and one frame ahead: EXT by its
// period, requests by their lead, flushes of the shared CCUs by their slots, final frames because a
// switch waits for them. Where that fails (observers of frames, THR within reach, windows that may
// overflow, zero frames, faults) every snapshot is read.
//
// Commits add up likewise. While nobody looks at blocks, no total is read for a periodic trigger,
// and the next read covers it.
//
// A host tells past totals of shared units. Their ULCs are therefore read at the swap itself, and a
// flush for one partition reads its ULCs alone, because the rows of others stay where they are.
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

// Next snapshot to read for a swap that comes at `point`.
static uint64_t read_for(const tl_smpm *m, const tl_smpm_window *w, uint64_t point) {
    const uint64_t snap = point < frame_cycles(m) ? TL_SMPM_NEVER : snap_before(m, w, point - frame_cycles(m) + 1);
    return snap != TL_SMPM_NEVER && snap > w->visited ? snap : TL_SMPM_NEVER;
}

// Triggers before it are unseen.
static uint64_t seen_from(const tl_smpm *m) { return m->core->unseen_until > m->keep_cycles ? m->core->unseen_until - m->keep_cycles : 0; }

bool tl_smpm_pulse_is_unseen(const tl_smpm *m, uint32_t source) {
    const uint64_t ext_at = m->core->tbs[source].ext_at;
    bool has_room = true; // for what is not read
    for (uint32_t left = m->ccus_of[source]; left; left &= left - 1)
        has_room = has_room && m->unread_cycles[__builtin_ctz(left)] != 0;
    return has_room && ext_at < seen_from(m) && !(source == m->layout.n_partitions && tl_smpm_is_switching(m));
}

static bool is_shared(const tl_smpm *m, uint32_t ccu) { return m->layout.ccus[ccu].partition == TL_SMPM_SHARED; }

static bool reads_all(const tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    const uint32_t partition = m->layout.ccus[ccu].partition;
    return !m->is_lazy || c->reg_at != TL_SMPM_NEVER || (c->is_draining && (c->wants_plain || c->wants_flush)) ||
           (partition != TL_SMPM_SHARED && m->core->managers[partition].step == TL_SMPM_SNAPSHOT);
}

// The next pulse of a source for which a ULC is read.
static uint64_t pulse_to_read(const tl_smpm *m, uint32_t ccu, const tl_smpm_window *w, bool is_unseen) {
    const uint64_t ext_at = m->core->tbs[tl_smpm_source_of(m, m->layout.ccus[ccu].partition)].ext_at;
    const uint64_t period = m->config.tb_period, limit = w->visited + m->unread_cycles[ccu];
    if (ext_at == TL_SMPM_NEVER || !is_unseen || limit <= ext_at)
        return ext_at;
    const uint64_t n_unseen = (seen_from(m) - ext_at - 1) / period + 1;
    return ext_at + tl_lesser(n_unseen, (limit - ext_at) / period) * period;
}

static bool next_is_unseen(const tl_smpm *m, uint32_t ccu) {
    return tl_smpm_pulse_is_unseen(m, tl_smpm_source_of(m, m->layout.ccus[ccu].partition));
}

static uint64_t next_snap(const tl_smpm *m, uint32_t ccu, const tl_smpm_window *w) {
    // The first cycle that can still be read.
    const uint64_t first = m->core->front > m->core->now ? m->core->front : m->core->now;
    if (is_shared(m, ccu) && m->is_lazy)
        return TL_SMPM_NEVER;
    const uint64_t each = reads_all(m, ccu) ? snap_after(m, w, w->visited + 1 > first ? w->visited : first - 1) : TL_SMPM_NEVER;
    if (each != TL_SMPM_NEVER)
        return each;
    const uint64_t pulse = pulse_to_read(m, ccu, w, next_is_unseen(m, ccu)), next = pulse == TL_SMPM_NEVER ? pulse : read_for(m, w, pulse);
    return next < first ? TL_SMPM_NEVER : next;
}

static void read(tl_smpm *m, uint32_t ulc, uint64_t cycle);
static void deliver(tl_smpm *m, uint32_t ulc);

static void plan(tl_smpm *m, uint32_t ccu, uint32_t ulc) {
    tl_smpm_window *w = &m->windows[ulc];
    const uint64_t front = m->core->front > m->core->now ? m->core->front : m->core->now;
    m->core->fast_due = 0;
    if (!w->is_enabled || w->is_rising)
        return;
    m->read_at[ulc] = w->is_capturing ? w->frame_start + (uint64_t)w->n_captured * m->config.ulc_bits / m->config.ulc_lanes
                                      : tl_lesser(next_snap(m, ccu, w), w->final_snap);
    if (m->read_at[ulc] < front)
        read(m, ulc, m->read_at[ulc]);
}

void tl_smpm_unseen(tl_smpm *m, uint64_t until) {
    tl_smpm_core *s = m->core;
    if (!m->windows)
        return;
    // Units of partitions cannot be read late.
    const uint64_t ends = s->now + m->lead_cycles + m->keep_cycles;
    s->unseen_until = until >= s->unseen_until || s->unseen_until < ends ? until : until > ends ? until : ends;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        tl_smpm_fast_plan(m, ccu);
}

bool tl_smpm_reads_windows(const tl_smpm *m) { return !m->is_lazy; }
uint64_t tl_smpm_lag(const tl_smpm *m) { return m->windows ? m->lead_cycles + m->keep_cycles : 0; }

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

// A flush for one partition sends the rows of its ULCs alone.
static bool is_sent(const tl_smpm *m, uint32_t ulc, uint32_t scope) {
    const tl_smpm_route *route = &m->routes[ulc];
    return scope == TL_SMPM_SHARED || (route->target == TL_SMPM_TO_FIXED && route->channel == m->layout.partitions[scope].channel);
}

void tl_smpm_fast_swap(tl_smpm *m, uint32_t ccu, uint32_t scope) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    const uint64_t now = m->core->now;
    const bool may_wait = c->pulse_is_unseen && now + m->config.tb_period <= c->read_cycle + m->unread_cycles[ccu];
    if (!m->is_lazy || !is_shared(m, ccu) || may_wait)
        return;
    for (uint32_t line = 0; line < m->layout.ccus[ccu].n_ulcs; line++) {
        const uint32_t ulc = m->layout.ccus[ccu].ulcs[line];
        const tl_smpm_window *w = &m->windows[ulc];
        const uint64_t snap = w->is_enabled && !w->is_rising && is_sent(m, ulc, scope) ? read_for(m, w, now) : TL_SMPM_NEVER;
        if (snap != TL_SMPM_NEVER)
            read(m, ulc, snap);
    }
    c->read_cycle = scope == TL_SMPM_SHARED ? now : c->read_cycle;
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

static uint64_t count_of(const tl_smpm *m, const tl_smpm_window *w, const tl_smpm_ctr *ctr, uint64_t cycle, const tl_smpm_totals *totals) {
    switch (ctr->feed) {
    case TL_SMPM_FEED_BIT: return ctr->counts_low ? cycle - totals->bits[ctr->input] : totals->bits[ctr->input];
    case TL_SMPM_FEED_PULSE: return (totals->sums[ctr->input] - w->cleared_sums[ctr->input]) >> m->scale_log2;
    case TL_SMPM_FEED_NONZERO: return ctr->counts_low ? cycle - totals->nonzero[ctr->input] : totals->nonzero[ctr->input];
    default: return 0;
    }
}

static inline void capture(const tl_smpm *m, tl_smpm_window *w, const tl_smpm_unit_type *type, uint32_t i, uint64_t cycle,
                           const tl_smpm_totals *totals) {
    const tl_smpm_ctr *ctr = &type->ctrs[i];
    bool is_plain = ctr->feed == TL_SMPM_FEED_BIT && !ctr->counts_low;
    uint64_t count = TL_LIKELY(is_plain) ? totals->bits[ctr->input] : count_of(m, w, ctr, cycle, totals), value = count - w->base[i];
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

// `cycle`: the present one, or for a shared ULC also one that is over.
static void read(tl_smpm *m, uint32_t ulc, uint64_t cycle) {
    tl_smpm_window *w = &m->windows[ulc];
    const tl_smpm_ulc *place = &m->layout.ulcs[ulc];
    const tl_smpm_unit_type *type = &m->layout.types[place->type];
    tl_smpm_totals totals; // the host writes all of it
    m->plan.host.totals(m->plan.host.ctx, ulc, cycle, &totals);
    if (w->is_rising) {
        w->is_rising = false;
        for (uint32_t i = 0; i < m->config.mb_inputs; i++)
            w->cleared_sums[i] = totals.sums[i];
        for (uint32_t i = 0; i < m->config.ulc_ctrs; i++)
            w->base[i] = count_of(m, w, &type->ctrs[i], cycle, &totals);
        plan(m, place->ccu, ulc);
        return;
    }
    if (!w->is_capturing) {
        assert(m->end_at[ulc] == TL_SMPM_NEVER);
        w->is_final = cycle == w->final_snap;
        w->has_ovf = false;
        w->frame_start = w->visited = cycle;
        w->n_captured = 0;
        w->is_capturing = true;
    }
    bool is_atomic = !m->is_rolling || w->is_final;
    if (is_atomic && w->n_captured == 0) {
        for (uint64_t left = m->fed[place->type]; left; left &= left - 1)
            capture(m, w, type, (uint32_t)__builtin_ctzll(left), cycle, &totals);
        w->n_captured = m->config.ulc_ctrs;
    }
    while (w->n_captured < m->config.ulc_ctrs &&
           (is_atomic || cycle - w->frame_start >= w->n_captured * m->config.ulc_bits / m->config.ulc_lanes))
        capture(m, w, type, w->n_captured++, cycle, &totals);
    if (w->n_captured == m->config.ulc_ctrs)
        close_frame(m, ulc, &totals);
    if (m->end_at[ulc] < (m->core->front > m->core->now ? m->core->front : m->core->now))
        deliver(m, ulc);
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
            read(m, ulc, m->core->now);
        next = tl_lesser(next, tl_lesser(m->end_at[ulc], m->read_at[ulc]));
    }
    m->core->fast_due = next;
}

uint64_t tl_smpm_fast_next_read(const tl_smpm *m, uint32_t ccu) {
    uint64_t next = TL_SMPM_NEVER;
    const tl_smpm_ccu *its = &m->layout.ccus[ccu];
    const bool has_pulses = m->core->tbs[tl_smpm_source_of(m, its->partition)].ext_at != TL_SMPM_NEVER;
    const bool is_unseen = has_pulses && next_is_unseen(m, ccu);
    for (uint32_t line = 0; line < its->n_ulcs; line++) {
        next = tl_lesser(next, m->read_at[its->ulcs[line]]);
        if (has_pulses) // a pulse makes plans for the next one
            next = tl_lesser(next, pulse_to_read(m, ccu, &m->windows[its->ulcs[line]], is_unseen) + 1);
    }
    return next;
}

uint64_t tl_smpm_fast_next(const tl_smpm *m) {
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        next = tl_lesser(next, tl_lesser(m->end_at[ulc], m->read_at[ulc]));
    return next;
}
