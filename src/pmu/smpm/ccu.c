// SPDX-License-Identifier: MIT
// Counter collection unit: adds frames to the active bank, swaps banks at a trigger, and drains
// the idle one, a row a cycle [P 58-62]. A flush ends with an EMPTY record behind the data, on the
// same way.
//
// A flush of the shared CCUs serves one partition in SAFE. Its drain sends the rows of that
// partition only and adds all other rows back to the active bank. Other tenants and the device
// therefore see nothing of it, neither as records nor as time.
#include <assert.h>
#include <string.h>

#include "pmu/smpm/state.h"

static uint64_t all_lines(const tl_smpm *m, uint32_t ccu) {
    return (UINT64_C(1) << m->layout.ccus[ccu].n_ulcs) - 1; // at most 48
}

void tl_smpm_ccu_line_set(tl_smpm *m, uint32_t ccu, bool line) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (c->line && !line) {
        c->enabled = all_lines(m, ccu);
        c->seen = 0;
    }
    c->line = line;
}

void tl_smpm_ccu_clear(tl_smpm *m, uint32_t ccu) {
    uint32_t first = tl_smpm_bank_row(m, ccu, 0, 0), n = TL_SMPM_BANKS * m->layout.ccus[ccu].n_rows;
    memset(m->lanes[first], 0, n * sizeof *m->lanes);
    memset(&m->row_ovf[first], 0, n);
    memset(m->core->ccus[ccu].is_lossy, 0, sizeof m->core->ccus[ccu].is_lossy);
    memset(m->core->ccus[ccu].holds, 0, sizeof m->core->ccus[ccu].holds);
    if (m->lane_tenants)
        memset(m->lane_tenants[first], 0, n * sizeof *m->lane_tenants);
}

static void add_lane(tl_smpm *m, tl_smpm_collector *c, uint32_t at, uint32_t lane, uint64_t value) {
    uint64_t sum = m->lanes[at][lane] + value;
    if (sum > m->ccu_max) {
        sum = m->ccu_max;
        m->row_ovf[at] = 1;
    }
    m->lanes[at][lane] = (uint32_t)sum;
    c->holds[c->active] = true;
    if (TL_UNLIKELY(sum >= m->thr) && !c->is_paused) {
        c->wants_plain = true;
        c->pulse_is_unseen = false;
    }
}

void tl_smpm_ccu_add(tl_smpm *m, const tl_smpm_frame *frame, const uint32_t *values) {
    const tl_smpm_ulc *ulc = &m->layout.ulcs[frame->ulc];
    tl_smpm_collector *c = &m->core->ccus[ulc->ccu];
    uint64_t mask = m->masks[frame->ulc];
    m->core->counters.frames++;
    if (m->plan.observer.frame)
        m->plan.observer.frame(m->plan.observer.ctx, frame);
    if (frame->is_dropped) {
        m->core->counters.bad_frames++;
        c->is_lossy[c->active] = true;
    }
    bool is_last = frame->is_final || (frame->is_dropped && m->ulcs && m->ulcs[frame->ulc].receiver.began_after_fall && !c->line);
    if (is_last) {
        c->seen |= UINT64_C(1) << ulc->line;
        m->core->draining |= 1u << ulc->ccu;
    }
    if (frame->is_dropped)
        return;
    uint32_t row = tl_smpm_bank_row(m, ulc->ccu, c->active, ulc->first_row);
    for (uint64_t left = m->fed[ulc->type] & ~mask; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        uint64_t value = values ? values[i] : frame->values[i];
        if (value == 0)
            continue;
        add_lane(m, c, row + i / TL_SMPM_REC_CTRS, i % TL_SMPM_REC_CTRS, value);
        if (m->lane_tenants)
            m->lane_tenants[row + i / TL_SMPM_REC_CTRS][i % TL_SMPM_REC_CTRS] |= m->frame_tenants[frame->ulc][i];
    }
    for (uint32_t i = 0; frame->has_ovf && i < tl_smpm_ctr_rows(&m->config); i++)
        m->row_ovf[row + i] = 1;
    c->holds[c->active] |= frame->has_ovf;
    row = tl_smpm_bank_row(m, ulc->ccu, c->active, ulc->first_residue_row);
    const uint32_t n_residues =
        frame->is_final && m->exports ? (uint32_t)tl_lesser(m->config.mb_inputs, m->layout.types[ulc->type].n_multi) : 0;
    for (uint32_t i = 0; i < n_residues; i++) {
        if (frame->residues[i] == 0)
            continue;
        add_lane(m, c, row + i / TL_SMPM_REC_CTRS, i % TL_SMPM_REC_CTRS, frame->residues[i]);
        if (m->lane_tenants)
            m->lane_tenants[row + i / TL_SMPM_REC_CTRS][i % TL_SMPM_REC_CTRS] |= m->frame_tenants[frame->ulc][TL_SMPM_MAX_CTRS + i];
    }
    if (c->wants_plain)
        m->core->draining |= 1u << ulc->ccu;
}

static void swap(tl_smpm *m, uint32_t ccu, uint32_t scope, bool is_flush) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (m->windows)
        tl_smpm_fast_swap(m, ccu, scope);
    assert(!m->windows || c->pulse_is_unseen || scope != TL_SMPM_SHARED || tl_smpm_fast_has_read(m, ccu));
    c->pulse_is_unseen = false;
    tl_smpm_ahead_settle(m, ccu, m->core->now); // the bank that becomes active is clear
    c->active ^= 1;
    c->seq++;
    c->is_draining = true;
    c->drain_is_flush = is_flush;
    c->drain_scope = (uint8_t)scope;
    c->drain_at = 0;
    c->drain_cycle = m->core->now + 1;
    if (is_flush)
        c->flush_id = c->wanted_flush_id;
    tl_smpm_ahead_begin(m, ccu);
    if (m->plan.observer.drain)
        m->plan.observer.drain(m->plan.observer.ctx, ccu, scope);
}

// A flush for one partition whose drain would not be over at the next periodic pulse. It waits for
// the drain of that pulse, because the pulse would otherwise come late for every other tenant.
static bool must_wait(const tl_smpm *m, uint32_t ccu) {
    const uint64_t ext_at = m->core->tbs[tl_smpm_source_of(m, m->layout.ccus[ccu].partition)].ext_at;
    return m->core->ccus[ccu].flush_scope != TL_SMPM_SHARED && ext_at < m->core->now + m->n_sent[ccu] + 2;
}

static bool waits_for_frames(const tl_smpm_collector *c) {
    return !c->is_draining && !c->wants_plain && c->wants_switch && !c->line && c->seen != c->enabled;
}

// One pending bit for each kind, served in this order when no drain runs.
static void serve(tl_smpm *m, uint32_t ccu) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (!c->wants_plain)
        c->pulse_is_unseen = false;
    if (c->wants_plain) {
        c->wants_plain = false;
        swap(m, ccu, TL_SMPM_SHARED, false);
    } else if (c->wants_switch) {
        if (c->line) {
            tl_smpm_ccu_line_set(m, ccu, false);
            if (m->windows)
                tl_smpm_fast_line(m, ccu, m->core->now + 1);
        }
        if (c->seen == c->enabled) {
            c->wants_switch = false;
            swap(m, ccu, TL_SMPM_SHARED, false);
        }
    } else if (c->wants_flush && !must_wait(m, ccu)) {
        c->wants_flush = false;
        swap(m, ccu, c->flush_scope, true);
    }
}

static uint32_t scope_dests(const tl_smpm *m, uint32_t ccu, uint32_t scope) {
    uint32_t dests = m->core->ccu_dests[ccu];
    if (scope != TL_SMPM_SHARED)
        dests &= 1u | 1u << m->channel_d | 1u << m->layout.partitions[scope].channel;
    return dests;
}

static void send_empty(tl_smpm *m, uint32_t ccu) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition), dests = scope_dests(m, ccu, c->drain_scope);
    tl_smpm_ahead_unlump(m, dests, m->core->now);
    if (!tl_smpm_rcb_has_credit(m, source, dests))
        return;
    tl_smpm_record record = {
        .header = TL_SMPM_EMPTY | (uint32_t)m->layout.ccus[ccu].id << 3 | (uint32_t)c->flush_id << 24,
        .lanes = {c->seq},
    };
    c->is_draining = false;
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        if (!(dests >> channel & 1))
            continue;
        tl_smpm_rcb_send(m, source, channel, &record, NULL);
        if (tl_smpm_mutates(m, TL_SMPM_M_ACK))
            tl_smpm_tb_ack(m, ccu, channel, c->flush_id);
    }
}

static void clear_row(tl_smpm *m, uint32_t at) {
    memset(m->lanes[at], 0, sizeof *m->lanes);
    m->row_ovf[at] = 0;
    if (m->lane_tenants)
        memset(m->lane_tenants[at], 0, sizeof *m->lane_tenants);
}

void tl_smpm_ccu_fold_back(tl_smpm *m, uint32_t ccu, uint32_t row) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    const uint32_t from = tl_smpm_bank_row(m, ccu, c->active ^ 1u, row), to = tl_smpm_bank_row(m, ccu, c->active, row);
    for (uint32_t lane = 0; lane < TL_SMPM_REC_CTRS; lane++) {
        if (m->lanes[from][lane] == 0)
            continue;
        add_lane(m, c, to, lane, m->lanes[from][lane]);
        if (m->lane_tenants)
            m->lane_tenants[to][lane] |= m->lane_tenants[from][lane];
    }
    m->row_ovf[to] |= m->row_ovf[from];
    c->holds[c->active] |= m->row_ovf[to] != 0;
    clear_row(m, from);
}

tl_smpm_record tl_smpm_ccu_record(const tl_smpm *m, uint32_t ccu, uint32_t row, uint32_t at) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    tl_smpm_record record = {
        .header = (m->rows[m->row_first[ccu] + row].is_residue ? TL_SMPM_RESIDUE : TL_SMPM_DATA) | (uint32_t)m->layout.ccus[ccu].id << 3 |
                  row << 11 | (m->row_ovf[at] ? TL_SMPM_REC_OVF : 0) | (c->is_lossy[c->active ^ 1u] ? TL_SMPM_REC_LOSSY : 0) |
                  (uint32_t)c->seq << 24,
    };
    memcpy(record.lanes, m->lanes[at], sizeof record.lanes);
    return record;
}

// true: the row has left and is clear.
static bool send_row(tl_smpm *m, uint32_t ccu, uint32_t row) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    uint32_t idle = c->active ^ 1u, at = tl_smpm_bank_row(m, ccu, idle, row);
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition);
    const tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row];
    const uint32_t dests = route->dests;
    if (c->drain_scope != TL_SMPM_SHARED && !tl_smpm_row_is_of(m, route, c->drain_scope)) {
        tl_smpm_ccu_fold_back(m, ccu, row);
        c->is_lossy[c->active] |= c->is_lossy[idle];
        return true;
    }
    tl_smpm_ahead_unlump(m, dests, m->core->now);
    if (!tl_smpm_rcb_has_credit(m, source, dests))
        return false;
    tl_smpm_record record = tl_smpm_ccu_record(m, ccu, row, at);
    for (uint32_t channel = 0; dests >> channel; channel++) {
        if (!(dests >> channel & 1))
            continue;
        tl_smpm_record copy = record;
        if (row == m->core->last_row[ccu][channel])
            copy.header |= TL_SMPM_REC_FINAL;
        tl_smpm_rcb_send(m, source, channel, &copy, m->lane_tenants ? m->lane_tenants[at] : NULL);
    }
    clear_row(m, at);
    return true;
}

static void drain(tl_smpm *m, uint32_t ccu) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (m->core->now < c->drain_cycle)
        return;
    if (c->drain_at == m->n_sent[ccu]) {
        send_empty(m, ccu);
        return;
    }
    if (!send_row(m, ccu, m->sent[m->row_first[ccu] + c->drain_at]))
        return;
    c->drain_at++;
    if (c->drain_at < m->n_sent[ccu])
        return;
    uint32_t idle = c->active ^ 1u;
    m->core->counters.lossy_epochs += c->is_lossy[idle];
    c->is_lossy[idle] = c->holds[idle] = false;
    c->is_draining = c->drain_is_flush;
}

void tl_smpm_ccu_step(tl_smpm *m, uint32_t ccu) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (tl_smpm_faulty(m, TL_SMPM_MUTE_CCU, ccu))
        return;
    bool was_draining = c->is_draining;
    if (!was_draining || tl_smpm_mutates(m, TL_SMPM_M_BANK))
        serve(m, ccu);
    if (c->is_draining && !c->is_ahead)
        drain(m, ccu);
    // tl_smpm_ahead_end or the last final frame wakes it.
    if (!tl_smpm_ccu_is_busy(c) || c->is_ahead || waits_for_frames(c))
        m->core->draining &= ~(1u << ccu);
}
