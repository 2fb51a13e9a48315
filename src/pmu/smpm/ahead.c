// SPDX-License-Identifier: MIT
// Fast model: a whole drain at the swap that begins it. A CCU sends a row a cycle as long as it has
// credit, and a channel in fixed turns dequeues one of them a turn. The cycles of all sends and
// dequeues are therefore known at the swap. A channel that nothing can interrupt before its last
// dequeue gets all rows as one lump. Any other gets them in its FIFO, with arrivals to come.
//
// The idle bank keeps the rows until the next swap. A change of routes takes back what has not
// happened yet, and the drain goes on row by row.
#include <string.h>

#include "pmu/smpm/state.h"

static uint64_t lump_last(const tl_smpm *m, uint32_t channel, const tl_smpm_fifo *fifo) {
    return fifo->lump_first + (uint64_t)(fifo->lump_n - 1) * m->n_turns[channel];
}

uint32_t tl_smpm_lump_left(const tl_smpm *m, uint32_t channel, uint32_t source, uint64_t cycle) {
    const tl_smpm_fifo *fifo = &m->fifos[channel][source];
    if (fifo->lump_n == 0 || cycle <= fifo->lump_first || tl_smpm_takes_turns(m, channel))
        return fifo->lump_n;
    uint64_t n_gone = (cycle - 1 - fifo->lump_first) / m->n_turns[channel] + 1;
    return n_gone >= fifo->lump_n ? 0 : fifo->lump_n - (uint32_t)n_gone;
}

uint64_t tl_smpm_lump_behind(const tl_smpm *m, uint32_t channel, uint32_t source) {
    const tl_smpm_fifo *fifo = &m->fifos[channel][source];
    return fifo->lump_n ? lump_last(m, channel, fifo) + 1 : 0;
}

static uint32_t turn_of(const tl_smpm *m, uint32_t channel, uint32_t source) {
    uint32_t turn = 0;
    while (m->turns[channel][turn] != source)
        turn++;
    return turn;
}

static uint32_t row_of(const tl_smpm *m, uint32_t ccu, uint32_t at) { return m->sent[m->row_first[ccu] + at]; }

// Channels that get a row. A drain for one partition sends the rows of that partition alone.
static uint32_t dests_of(const tl_smpm *m, uint32_t ccu, uint32_t at) {
    const uint32_t scope = m->core->ccus[ccu].drain_scope;
    const tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row_of(m, ccu, at)];
    return scope == TL_SMPM_SHARED || tl_smpm_row_is_of(m, route, scope) ? route->dests : 0;
}

// OVF of a lump reaches the channel at once, so a commit that comes first would tell it.
static bool has_ovf(const tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    bool any = false;
    for (uint32_t at = 0; c->holds[c->active ^ 1] && at < m->n_sent[ccu]; at++)
        any |= m->row_ovf[tl_smpm_bank_row(m, ccu, c->active ^ 1u, row_of(m, ccu, at))] != 0;
    return any;
}

// Cycle of the first dequeue of a lump, or of its first arrival at a channel that serves sources in
// turn. 0: the rows do not go to the channel as one lump.
static uint64_t first_dequeue(const tl_smpm *m, uint32_t ccu, uint32_t channel) {
    const tl_smpm_core *s = m->core;
    const tl_smpm_channel *c = &s->channels[channel];
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition), n_turns = m->n_turns[channel];
    uint32_t first = s->first_sent[ccu][channel], last = s->last_sent[ccu][channel], n = s->n_rows_to[ccu][channel];
    bool is_device = channel == 0 || channel == m->channel_d;
    if (n == 0 || last - first + 1 != n || m->fifos[channel][source].n)
        return 0;
    if (c->is_committing || c->has_fixed || c->commit_is_wanted || (!is_device && s->has_fixed_rows >> channel & 1))
        return 0;
    uint64_t begin = s->now + 1 + first, arrival = begin + m->config.noc_cycles;
    if (tl_smpm_takes_turns(m, channel))
        return is_device && s->waiting[channel] == 0 && n <= m->fifo_depth[channel][source] && !has_ovf(m, ccu) ? arrival : 0;
    uint64_t dequeue = tl_smpm_next_slot(arrival, n_turns, turn_of(m, channel, source)), last_send = begin + n - 1;
    // Before the last send.
    uint64_t n_gone = dequeue < last_send ? (last_send - 1 - dequeue) / n_turns + 1 : 0;
    if (n - 1 - tl_lesser(n_gone, n - 1) >= m->fifo_depth[channel][source])
        return 0; // it would wait for credit
    return is_device && dequeue + (uint64_t)(n - 1) * n_turns > s->device_at ? 0 : dequeue;
}

static void add_row(tl_smpm *m, uint32_t ccu, uint32_t row, uint32_t lumps) {
    const uint32_t at = tl_smpm_bank_row(m, ccu, m->core->ccus[ccu].active ^ 1u, row);
    const tl_smpm_row *info = &m->rows[m->row_first[ccu] + row];
    const tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row];
    if (!tl_smpm_holds_units(m->lanes[at]) && !m->row_ovf[at])
        return;
    for (uint32_t left = lumps & route->dests; left; left &= left - 1) {
        uint32_t channel = (uint32_t)__builtin_ctz(left);
        if (m->row_ovf[at])
            tl_smpm_channel_see_ovf(m, channel);
        tl_smpm_channel_add_row(m, channel, info, route, m->lanes[at], 1);
    }
}

static tl_smpm_record record_of(const tl_smpm *m, uint32_t ccu, uint32_t row, uint32_t channel) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    uint32_t at = tl_smpm_bank_row(m, ccu, c->active ^ 1u, row);
    tl_smpm_record record = tl_smpm_ccu_record(m, ccu, row, at);
    record.header |= row == m->core->last_row[ccu][channel] ? TL_SMPM_REC_FINAL : 0;
    return record;
}

static void put(tl_smpm *m, uint32_t ccu, uint32_t at, uint32_t lumps) {
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition), row = row_of(m, ccu, at);
    for (uint32_t left = dests_of(m, ccu, at) & ~lumps; left; left &= left - 1) {
        uint32_t channel = (uint32_t)__builtin_ctz(left);
        tl_smpm_record record = record_of(m, ccu, row, channel);
        tl_smpm_rcb_put(m, source, channel, &record, m->core->ccus[ccu].drain_cycle + at);
    }
}

static bool has_room(const tl_smpm *m, uint32_t source, uint32_t channel, uint32_t n_rows) {
    return m->fifos[channel][source].n + n_rows <= m->fifo_depth[channel][source];
}

static void begin_ahead(tl_smpm *m, uint32_t ccu) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    c->is_ahead = c->idle_is_sent = true;
    c->drain_end = m->core->now + m->n_sent[ccu];
    m->core->ahead_due = tl_lesser(m->core->ahead_due, c->drain_end);
}

// A drain of shared units for one partition. All rows go to FIFOs, because a channel of a partition
// takes no lump of them.
static bool begin_for_one(tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    const uint32_t n_sent = m->n_sent[ccu], source = m->layout.n_partitions;
    uint32_t n_rows[TL_SMPM_MAX_CHANNELS] = {0};
    for (uint32_t at = 0; at < n_sent; at++)
        for (uint32_t left = dests_of(m, ccu, at); left; left &= left - 1)
            n_rows[__builtin_ctz(left)]++;
    tl_smpm_ahead_unlump(m, m->core->ccu_dests[ccu], m->core->now);
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        if (n_rows[channel] && !has_room(m, source, channel, n_rows[channel]))
            return false;
    for (uint32_t at = 0; at < n_sent; at++) {
        put(m, ccu, at, 0);
        if (c->holds[c->active ^ 1] && dests_of(m, ccu, at) == 0)
            tl_smpm_ccu_fold_back(m, ccu, row_of(m, ccu, at));
    }
    begin_ahead(m, ccu);
    return true;
}

bool tl_smpm_ahead_begin(tl_smpm *m, uint32_t ccu) {
    tl_smpm_core *s = m->core;
    tl_smpm_collector *c = &s->ccus[ccu];
    uint32_t partition = m->layout.ccus[ccu].partition, source = tl_smpm_source_of(m, partition), n_sent = m->n_sent[ccu];
    if (!m->sends_ahead || c->is_lossy[c->active ^ 1u] || m->ccus_of[source] != 1u << ccu || n_sent == 0)
        return false;
    if (c->drain_scope != TL_SMPM_SHARED)
        return begin_for_one(m, ccu);
    uint64_t dequeues[TL_SMPM_MAX_CHANNELS];
    uint32_t lumps = 0, dests = s->ccu_dests[ccu];
    for (uint32_t left = dests; left; left &= left - 1) {
        uint32_t channel = (uint32_t)__builtin_ctz(left);
        if ((int8_t)(c->seq - s->channels[channel].min_seq[ccu]) < 0)
            return false;
        dequeues[channel] = first_dequeue(m, ccu, channel);
        if (dequeues[channel])
            lumps |= 1u << channel;
        else if (!has_room(m, source, channel, s->n_rows_to[ccu][channel]))
            return false;
    }
    for (uint32_t at = 0; c->holds[c->active ^ 1] && at < n_sent; at++)
        add_row(m, ccu, row_of(m, ccu, at), lumps);
    tl_smpm_ahead_unlump(m, dests & ~lumps, s->now);
    for (uint32_t at = 0; lumps != dests && at < n_sent; at++)
        put(m, ccu, at, lumps);
    for (uint32_t left = lumps; left; left &= left - 1) {
        uint32_t channel = (uint32_t)__builtin_ctz(left);
        tl_smpm_fifo *fifo = &m->fifos[channel][source];
        s->counters.records += s->n_rows_to[ccu][channel];
        s->channels[channel].min_seq[ccu] = c->seq;
        if (tl_smpm_takes_turns(m, channel)) {
            tl_smpm_turns_add(m, channel, turn_of(m, channel, source), s->n_rows_to[ccu][channel], dequeues[channel]);
            continue;
        }
        fifo->lump_first = dequeues[channel];
        fifo->lump_n = s->n_rows_to[ccu][channel];
        s->lump_due = tl_lesser(s->lump_due, lump_last(m, channel, fifo));
    }
    begin_ahead(m, ccu);
    return true;
}

void tl_smpm_ahead_end(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    s->ahead_due = TL_SMPM_NEVER;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        tl_smpm_collector *c = &s->ccus[ccu];
        if (c->is_ahead && c->drain_end <= s->now) {
            c->is_ahead = false;
            c->drain_at = (uint16_t)m->n_sent[ccu];
            c->is_draining = c->drain_is_flush;
            s->draining |= tl_smpm_ccu_is_busy(c) ? 1u << ccu : 0;
        } else if (c->is_ahead) {
            s->ahead_due = tl_lesser(s->ahead_due, c->drain_end);
        }
    }
}

static void end_in_turn(tl_smpm *m, uint32_t channel) {
    tl_smpm_core *s = m->core;
    const uint32_t turn = s->channels[channel].lump_end == s->now ? tl_smpm_turns_end(m, channel) : UINT32_MAX;
    if (turn != UINT32_MAX)
        s->channels[channel].done |= m->ccus_of[m->turns[channel][turn]]; // one CCU
    if (s->channels[channel].lumps)
        s->lump_due = tl_lesser(s->lump_due, s->channels[channel].lump_end);
}

void tl_smpm_lumps_end(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    s->lump_due = TL_SMPM_NEVER;
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        if (tl_smpm_takes_turns(m, channel)) {
            end_in_turn(m, channel);
            continue;
        }
        for (uint32_t turn = 0; turn < m->n_turns[channel]; turn++) {
            uint32_t source = m->turns[channel][turn];
            const tl_smpm_fifo *fifo = &m->fifos[channel][source];
            uint64_t last = fifo->lump_n ? lump_last(m, channel, fifo) : 0;
            if (last > s->now)
                s->lump_due = tl_lesser(s->lump_due, last);
            else if (last == s->now && (channel == 0 || channel == m->channel_d || source == m->channel_source[channel]))
                s->channels[channel].done |= m->ccus_of[source]; // one CCU
        }
    }
}

static uint32_t n_gone(const tl_smpm *m, uint32_t ccu, uint64_t cycle) { // before the cycle
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    return cycle <= c->drain_cycle ? 0 : (uint32_t)tl_lesser(cycle - c->drain_cycle, m->n_sent[ccu]);
}

uint64_t tl_smpm_ahead_unsent(const tl_smpm *m) {
    uint64_t n = 0;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        for (uint32_t at = n_gone(m, ccu, m->core->now); m->core->ccus[ccu].is_ahead && at < m->n_sent[ccu]; at++)
            n += (uint32_t)__builtin_popcount(dests_of(m, ccu, at));
    return n;
}

// Rows of a lump that the channel has not dequeued yet leave its accumulators. Those that were sent
// become records at the head of the FIFO.
static void take_back(tl_smpm *m, uint32_t ccu, uint32_t channel, uint64_t cycle) {
    tl_smpm_core *s = m->core;
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition), first = s->first_sent[ccu][channel];
    tl_smpm_fifo *fifo = &m->fifos[channel][source];
    for (uint32_t n_left = tl_smpm_lump_left(m, channel, source, cycle), i = 0; i < n_left; i++) {
        uint32_t at = first + fifo->lump_n - 1 - i, row = row_of(m, ccu, at);
        const uint32_t *lanes = m->lanes[tl_smpm_bank_row(m, ccu, s->ccus[ccu].active ^ 1u, row)];
        tl_smpm_channel_add_row(m, channel, &m->rows[m->row_first[ccu] + row], &m->row_routes[m->row_first[ccu] + row], lanes, UINT64_MAX);
        tl_smpm_record record = record_of(m, ccu, row, channel);
        if (at < n_gone(m, ccu, cycle))
            tl_smpm_rcb_put_first(m, source, channel, &record, s->ccus[ccu].drain_cycle + at);
        else
            s->counters.records--;
    }
    fifo->lump_n = 0;
}

// Records that are left of a lump, the last one first. Those of the future have an arrival to come.
static void put_left(tl_smpm *m, uint32_t channel, uint32_t source) {
    const uint32_t ccu = (uint32_t)__builtin_ctz(m->ccus_of[source]), last = m->core->last_sent[ccu][channel];
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    for (uint32_t i = 0; i < m->fifos[channel][source].lump_n; i++) {
        const uint32_t row = row_of(m, ccu, last - i), at = m->row_first[ccu] + row;
        tl_smpm_channel_add_row(m, channel, &m->rows[at], &m->row_routes[at], m->lanes[tl_smpm_bank_row(m, ccu, c->active ^ 1u, row)],
                                UINT64_MAX);
        const tl_smpm_record record = record_of(m, ccu, row, channel);
        tl_smpm_rcb_put_first(m, source, channel, &record, c->drain_cycle + last - i);
    }
}

void tl_smpm_ahead_unlump(tl_smpm *m, uint32_t channels, uint64_t cycle) {
    for (uint32_t left = channels; left; left &= left - 1) {
        const uint32_t channel = (uint32_t)__builtin_ctz(left);
        tl_smpm_channel *c = &m->core->channels[channel];
        if (TL_LIKELY(c->lumps == 0))
            continue;
        tl_smpm_turns_run(m, channel, cycle);
        for (uint32_t turns = c->lumps; turns; turns &= turns - 1)
            put_left(m, channel, m->turns[channel][__builtin_ctz(turns)]);
        tl_smpm_turns_forget(m, channel);
    }
}

static bool left_holds_units(const tl_smpm *m, uint32_t channel, uint32_t source) {
    const uint32_t ccu = (uint32_t)__builtin_ctz(m->ccus_of[source]), last = m->core->last_sent[ccu][channel];
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    bool any = false;
    for (uint32_t i = 0; c->holds[c->active ^ 1] && i < m->fifos[channel][source].lump_n; i++)
        any |= tl_smpm_holds_units(m->lanes[tl_smpm_bank_row(m, ccu, c->active ^ 1u, row_of(m, ccu, last - i))]);
    return any;
}

void tl_smpm_ahead_pause(tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    bool holds_units = false;
    if (TL_LIKELY(c->lumps == 0))
        return;
    tl_smpm_turns_run(m, channel, m->core->now + 1);
    for (uint32_t turns = c->lumps; turns; turns &= turns - 1)
        holds_units |= left_holds_units(m, channel, m->turns[channel][__builtin_ctz(turns)]);
    if (holds_units)
        tl_smpm_ahead_unlump(m, 1u << channel, m->core->now + 1);
    else
        tl_smpm_turns_pause(m, channel);
}

void tl_smpm_ahead_settle(tl_smpm *m, uint32_t ccu, uint64_t cycle) {
    tl_smpm_core *s = m->core;
    tl_smpm_collector *c = &s->ccus[ccu];
    if (!c->idle_is_sent)
        return;
    const uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition), n = c->is_ahead ? n_gone(m, ccu, cycle) : m->n_sent[ccu];
    for (uint32_t left = s->ccu_dests[ccu]; left; left &= left - 1) {
        uint32_t channel = (uint32_t)__builtin_ctz(left);
        if (m->fifos[channel][source].lump_n)
            tl_smpm_ahead_unlump(m, 1u << channel, cycle);
        if (m->fifos[channel][source].lump_n) {
            take_back(m, ccu, channel, cycle);
            continue;
        }
        for (uint32_t at = n; at < m->n_sent[ccu]; at++)
            if (dests_of(m, ccu, at) >> channel & 1)
                tl_smpm_rcb_take_last(m, source, channel);
    }
    for (uint32_t at = 0; c->holds[c->active ^ 1] && at < n; at++) {
        uint32_t row = tl_smpm_bank_row(m, ccu, c->active ^ 1u, row_of(m, ccu, at));
        memset(m->lanes[row], 0, sizeof *m->lanes);
        m->row_ovf[row] = 0;
    }
    c->idle_is_sent = false;
    if (!c->is_ahead) {
        c->holds[c->active ^ 1] = false;
        return;
    }
    c->is_ahead = false;
    c->drain_at = (uint16_t)n;
    s->draining |= 1u << ccu;
}
