// SPDX-License-Identifier: MIT
// Reduction channel buffer [P 63-64]: one FIFO for each channel and source, with credits. A record
// sent in cycle t can be dequeued from t + noc_cycles on. A credit is taken at sending and returned
// at dequeuing, so no record is ever dropped for lack of room. Routes say which channels get a row.
#include <string.h>

#include "pmu/smpm/state.h"

uint32_t tl_smpm_record_parity(const tl_smpm_record *record) {
    uint32_t fold = record->header;
    for (uint32_t i = 0; i < TL_SMPM_REC_CTRS; i++)
        fold ^= record->lanes[i];
    return (uint32_t)__builtin_parity(fold);
}

bool tl_smpm_rcb_has_credit(const tl_smpm *m, uint32_t source, uint32_t dests) {
    for (uint32_t channel = 0; dests >> channel; channel++)
        if ((dests >> channel & 1) &&
            m->fifos[channel][source].n + tl_smpm_lump_left(m, channel, source, m->core->now) >= m->fifo_depth[channel][source])
            return false;
    return true;
}

// Counts from the head. n is at most the depth.
static uint32_t nth_entry(const tl_smpm *m, uint32_t source, uint32_t channel, uint32_t n) {
    uint32_t depth = m->fifo_depth[channel][source], at = m->fifos[channel][source].head + n;
    return m->fifo_first[channel][source] + (at >= depth ? at - depth : at);
}

static void fill(tl_smpm *m, uint32_t at, uint32_t source, uint32_t channel, const tl_smpm_record *record, uint64_t arrival) {
    m->entries[at].arrival = arrival;
    m->entries[at].record = *record;
    if (tl_smpm_record_parity(record))
        m->entries[at].record.header |= TL_SMPM_REC_PARITY;
    m->fifos[channel][source].n++;
    m->core->waiting[channel] |= 1u << source;
}

void tl_smpm_rcb_put(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record, uint64_t sent) {
    uint64_t arrival = sent + m->config.noc_cycles, behind = tl_smpm_lump_behind(m, channel, source);
    fill(m, nth_entry(m, source, channel, m->fifos[channel][source].n), source, channel, record, arrival > behind ? arrival : behind);
    m->core->counters.records++;
}

void tl_smpm_rcb_put_first(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record, uint64_t sent) {
    tl_smpm_fifo *fifo = &m->fifos[channel][source];
    fifo->head = (fifo->head == 0 ? m->fifo_depth[channel][source] : fifo->head) - 1;
    fill(m, nth_entry(m, source, channel, 0), source, channel, record, sent + m->config.noc_cycles);
}

static void forget_empty(tl_smpm *m, uint32_t source, uint32_t channel) {
    if (m->fifos[channel][source].n == 0)
        m->core->waiting[channel] &= ~(1u << source);
}

void tl_smpm_rcb_take_last(tl_smpm *m, uint32_t source, uint32_t channel) {
    m->fifos[channel][source].n--;
    m->core->counters.records--;
    forget_empty(m, source, channel);
}

void tl_smpm_rcb_send(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record, const uint64_t *tenants) {
    uint32_t at = nth_entry(m, source, channel, m->fifos[channel][source].n);
    tl_smpm_rcb_put(m, source, channel, record, m->core->now);
    if (m->entry_tenants && tenants)
        memcpy(m->entry_tenants[at], tenants, sizeof *m->entry_tenants);
}

void tl_smpm_rcb_drop(tl_smpm *m, uint32_t ccu) {
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition);
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        tl_smpm_fifo *fifo = &m->fifos[channel][source];
        uint32_t depth = m->fifo_depth[channel][source], first = m->fifo_first[channel][source], n_kept = 0;
        for (uint32_t i = 0; i < fifo->n; i++) {
            uint32_t from = first + (fifo->head + i) % depth, to = first + (fifo->head + n_kept) % depth;
            bool has_arrived = m->entries[from].arrival <= m->core->now; // others cannot be reached
            if (has_arrived && (m->entries[from].record.header >> 3 & 0xff) == m->layout.ccus[ccu].id)
                continue;
            m->entries[to] = m->entries[from];
            if (m->entry_tenants)
                memcpy(m->entry_tenants[to], m->entry_tenants[from], sizeof *m->entry_tenants);
            n_kept++;
        }
        fifo->n = n_kept;
        forget_empty(m, source, channel);
    }
}

static tl_smpm_row_route route_of(const tl_smpm *m, uint32_t ulc) {
    const tl_smpm_route *route = &m->routes[ulc];
    tl_smpm_row_route taken = {.target = route->target, .channel = route->channel};
    taken.dests = (uint16_t)(1u | (route->to_d ? 1u << m->channel_d : 0u));
    if (route->target == TL_SMPM_TO_FIXED && !m->has_fixed_routing)
        taken.target = TL_SMPM_TO_UNASSIGNED; // K1: the source writes no block that does not run
    if (taken.target == TL_SMPM_TO_CURRENT || taken.target == TL_SMPM_TO_FIXED)
        taken.dests |= (uint16_t)(1u << route->channel);
    if (route->target == TL_SMPM_TO_SWITCH && !tl_smpm_is_on(m->config.count_switch))
        taken.dests = 0;
    return taken;
}

void tl_smpm_routes_derive(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    memset(s->last_row, 0xff, sizeof s->last_row);
    memset(s->n_rows_to, 0, sizeof s->n_rows_to);
    s->has_fixed_rows = 0;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        s->ccu_dests[ccu] = 0;
        for (uint32_t row = 0; row < m->layout.ccus[ccu].n_rows; row++)
            m->row_routes[m->row_first[ccu] + row] = (tl_smpm_row_route){.dests = 0, .target = TL_SMPM_TO_UNASSIGNED};
        for (uint32_t at = 0; at < m->n_sent[ccu]; at++) {
            const uint32_t row = m->sent[m->row_first[ccu] + at];
            const tl_smpm_row *info = &m->rows[m->row_first[ccu] + row];
            tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row];
            *route = route_of(m, info->ulc);
            s->ccu_dests[ccu] |= route->dests;
            if (route->target == TL_SMPM_TO_FIXED)
                s->has_fixed_rows |= route->dests & ~(1u | 1u << m->channel_d);
            for (uint32_t channel = 0; channel < m->n_channels; channel++) {
                if (!(route->dests >> channel & 1))
                    continue;
                if (s->n_rows_to[ccu][channel]++ == 0)
                    s->first_sent[ccu][channel] = (uint16_t)at;
                s->last_sent[ccu][channel] = (uint16_t)at;
                s->last_row[ccu][channel] = (uint16_t)row;
            }
        }
    }
}
