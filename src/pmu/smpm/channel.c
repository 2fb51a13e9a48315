// SPDX-License-Identifier: MIT
// Reduction channels [P 63-68]: 64-bit accumulators by unit type and counter, one record a cycle.
// Channel 0 is the device's, channel D that of the secure controller, every other belongs to one
// partition. A commit moves all accumulators to memory; meanwhile the channel dequeues nothing.
//
// SAFE serves sources in fixed turns, empty or not. It commits channels 0 and D at fixed cycles,
// because a commit that waited for all tenants would delay each tenant's flush by what others do.
#include <string.h>

#include "pmu/smpm/state.h"

static bool is_device(const tl_smpm *m, uint32_t channel) { return channel == 0 || channel == m->channel_d; }
static bool is_busy(const tl_smpm_channel *c) { return c->is_committing || c->has_fixed; }

void tl_smpm_channel_point(tl_smpm *m, uint32_t channel, uint32_t vm, uint32_t ctx) {
    tl_smpm_channel *c = &m->core->channels[channel];
    c->vm = vm;
    c->ctx = ctx;
    c->vm_block = vm == TL_SMPM_NO_VM ? TL_SMPM_NO_BLOCK_ID : tl_smpm_find_block(m, vm, TL_SMPM_NO_CTX);
    c->ctx_block = vm == TL_SMPM_NO_VM || ctx == TL_SMPM_NO_CTX ? TL_SMPM_NO_BLOCK_ID : tl_smpm_find_block(m, vm, ctx);
    c->active_since = m->core->now;
    c->is_held = false;
    c->done = 0;
    tl_smpm_make_available(m, channel);
}

static bool commit_is_due(const tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    if (c->commit_is_wanted)
        return true;
    if (!is_device(m, channel))
        return !c->is_held && c->done != 0 && c->done == m->ccus_of[m->channel_source[channel]];
    if (m->is_safe)
        return false;
    bool is_due = c->done != 0;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus && is_due; ccu++)
        is_due = c->done >> ccu & 1 || !m->core->ccus[ccu].line || m->core->last_row[ccu][channel] == 0xffff;
    return is_due;
}

static void begin_blocks(tl_smpm *m, uint32_t first, uint32_t second) {
    if (first != TL_SMPM_NO_BLOCK_ID)
        tl_smpm_block_open(m, first);
    if (second != TL_SMPM_NO_BLOCK_ID)
        tl_smpm_block_open(m, second);
}

static void begin_commit(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    tl_smpm_ahead_pause(m, channel);
    begin_blocks(m, c->vm_block, c->ctx_block);
    c->is_committing = true;
    c->commit_is_wanted = false;
    c->adds_done = 0;
    c->busy_begin = m->core->now;
    c->done = 0;
    if (tl_smpm_batches(m))
        tl_smpm_arbiter_plan(m, channel);
}

static void begin_fixed(tl_smpm *m, uint32_t channel, uint32_t ccu, uint32_t row, const tl_smpm_record *record) {
    tl_smpm_channel *c = &m->core->channels[channel];
    const tl_smpm_filter *filter = &m->filters[m->rows[m->row_first[ccu] + row].ulc];
    c->fixed_vm_block = tl_smpm_find_block(m, filter->vm, TL_SMPM_NO_CTX);
    c->fixed_ctx_block = filter->ctx == TL_SMPM_ANY ? TL_SMPM_NO_BLOCK_ID : tl_smpm_find_block(m, filter->vm, filter->ctx);
    if (c->fixed_vm_block == TL_SMPM_NO_BLOCK_ID) {
        m->core->counters.misroutes++;
        return;
    }
    c->fixed_lanes = m->rows[m->row_first[ccu] + row].lanes;
    c->fixed_vm_runs = c->vm == filter->vm;
    c->fixed_ctx_runs = c->fixed_vm_runs && c->ctx == filter->ctx;
    c->fixed = *record;
    c->fixed_ccu = (uint8_t)ccu;
    c->has_fixed = true;
    c->adds_done = 0;
    c->busy_begin = m->core->now;
    begin_blocks(m, c->fixed_vm_block, c->fixed_ctx_block);
    if (tl_smpm_batches(m))
        tl_smpm_arbiter_plan(m, channel);
}

static void check_tenants(tl_smpm *m, const uint64_t *tenants, const tl_smpm_record *record, uint32_t vm) {
    uint64_t owners = m->plan.test.owners(m->plan.test.ctx, vm, TL_SMPM_NO_CTX);
    for (uint32_t lane = 0; lane < TL_SMPM_REC_CTRS; lane++)
        m->core->counters.foreign += record->lanes[lane] != 0 && (tenants[lane] & ~owners) != 0;
}

void tl_smpm_channel_see_ovf(tl_smpm *m, uint32_t channel) {
    m->core->channels[channel].flags |= TL_SMPM_OVF | (m->config.ovf_policy == TL_SMPM_SATURATE ? TL_SMPM_SATURATED : 0);
}

// Returns where the part of the block that the route names begins. Channels other than 0 have one
// part.
static uint32_t part_of(const tl_smpm *m, uint32_t channel, const tl_smpm_row_route *route) {
    if (channel != 0)
        return 0;
    return route->target == TL_SMPM_TO_UNASSIGNED ? m->n_metrics : route->target == TL_SMPM_TO_SWITCH ? 2 * m->n_metrics : 0;
}

void tl_smpm_channel_add_row(tl_smpm *m, uint32_t channel, const tl_smpm_row *info, const tl_smpm_row_route *route, const uint32_t *lanes,
                             uint64_t sign) {
    uint64_t *accs = &m->accs[m->acc_first[channel] + tl_smpm_row_index(m, info)];
    const uint32_t part = part_of(m, channel, route);
    for (uint32_t lane = 0; lane < info->n; lane++)
        m->core->channels[channel].holds |= lanes[lane] != 0;
    for (uint32_t lane = 0; lane < info->n; lane++)
        accs[lane] += sign * lanes[lane];
    for (uint32_t lane = 0; part && lane < info->n; lane++)
        accs[part + lane] += sign * lanes[lane];
}

static void take(tl_smpm *m, uint32_t channel, uint32_t ccu, uint32_t row, const tl_smpm_record *record, bool is_unassigned,
                 const uint64_t *tenants) {
    tl_smpm_channel *c = &m->core->channels[channel];
    const tl_smpm_row *info = &m->rows[m->row_first[ccu] + row];
    const tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row];
    c->flags |= record->header & TL_SMPM_REC_LOSSY ? TL_SMPM_LOSSY : 0;
    if (record->header & TL_SMPM_REC_OVF)
        tl_smpm_channel_see_ovf(m, channel);
    if (!is_device(m, channel) && route->target == TL_SMPM_TO_FIXED) {
        if (tenants) {
            memcpy(m->fixed_tenants[channel], tenants, sizeof *m->fixed_tenants);
            check_tenants(m, tenants, record, m->filters[info->ulc].vm);
        }
        begin_fixed(m, channel, ccu, row, record);
        return;
    }
    if (tenants && !is_device(m, channel))
        check_tenants(m, tenants, record, c->vm);
    const tl_smpm_row_route unassigned = {.target = TL_SMPM_TO_UNASSIGNED};
    tl_smpm_channel_add_row(m, channel, info, is_unassigned ? &unassigned : route, record->lanes, 1);
    for (uint32_t lane = 0; tenants && lane < info->n; lane++)
        m->acc_tenants[m->acc_first[channel] + tl_smpm_row_index(m, info) + lane] |= tenants[lane];
}

static bool is_stale(const tl_smpm *m, const tl_smpm_channel *c, uint32_t ccu, uint8_t seq) {
    return (int8_t)(seq - c->min_seq[ccu]) < 0 && !tl_smpm_mutates(m, TL_SMPM_M_STALE);
}

static tl_smpm_fate receive(tl_smpm *m, uint32_t channel, uint32_t source, const tl_smpm_record *record, const uint64_t *tenants) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint32_t type = record->header & 7, ccu = m->ccu_of_id[source][record->header >> 3 & 0xff], row = record->header >> 11 & 0x1ff;
    bool is_known =
        ccu != 0xff && (type == TL_SMPM_EMPTY || ((type == TL_SMPM_DATA || type == TL_SMPM_RESIDUE) && row < m->layout.ccus[ccu].n_rows));
    if (m->is_safe && tl_smpm_record_parity(record)) {
        m->core->counters.bad_records++;
        c->flags |= TL_SMPM_LOSSY;
        return TL_SMPM_BROKEN;
    }
    if (!is_known) {
        m->core->counters.misroutes++;
        c->flags |= TL_SMPM_LOSSY;
        return TL_SMPM_MISROUTED;
    }
    uint8_t seq = (uint8_t)(type == TL_SMPM_EMPTY ? record->lanes[0] : record->header >> 24);
    if (is_stale(m, c, ccu, seq)) {
        m->core->counters.stale++;
        return TL_SMPM_STALE;
    }
    c->min_seq[ccu] = seq;
    if (type == TL_SMPM_EMPTY) {
        if (!tl_smpm_mutates(m, TL_SMPM_M_ACK))
            tl_smpm_tb_ack(m, ccu, channel, (uint8_t)(record->header >> 24));
        return TL_SMPM_TAKEN;
    }
    bool is_routed = m->row_routes[m->row_first[ccu] + row].dests >> channel & 1;
    if (!is_routed) {
        m->core->counters.misroutes++;
        if (channel != 0)
            return TL_SMPM_MISROUTED;
    }
    take(m, channel, ccu, row, record, !is_routed, tenants);
    if (record->header & TL_SMPM_REC_FINAL && (is_device(m, channel) || source == m->channel_source[channel]))
        c->done |= 1u << ccu;
    return is_routed ? TL_SMPM_TAKEN : TL_SMPM_MISROUTED;
}

static bool has_arrived(const tl_smpm *m, uint32_t channel, uint32_t source) {
    const tl_smpm_fifo *fifo = &m->fifos[channel][source];
    return fifo->n > 0 && m->entries[m->fifo_first[channel][source] + fifo->head].arrival <= m->core->now;
}

// UINT32_MAX: no source has a record for this cycle.
static uint32_t source_in_turn(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint32_t n = m->n_turns[channel];
    if (m->is_tdm) {
        uint32_t source = m->turns[channel][m->core->now % n];
        return has_arrived(m, channel, source) ? source : UINT32_MAX;
    }
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t turn = (c->turn + i) % n;
        if (!has_arrived(m, channel, m->turns[channel][turn]))
            continue;
        c->turn = (uint8_t)turn;
        return m->turns[channel][turn];
    }
    return UINT32_MAX;
}

static void dequeue(tl_smpm *m, uint32_t channel) {
    uint32_t source = source_in_turn(m, channel);
    if (source == UINT32_MAX)
        return;
    tl_smpm_fifo *fifo = &m->fifos[channel][source];
    uint32_t at = m->fifo_first[channel][source] + fifo->head;
    tl_smpm_record record = m->entries[at].record;
    uint64_t tenants[TL_SMPM_REC_CTRS];
    if (m->entry_tenants)
        memcpy(tenants, m->entry_tenants[at], sizeof tenants);
    fifo->head = fifo->head + 1 == m->fifo_depth[channel][source] ? 0 : fifo->head + 1;
    if (--fifo->n == 0)
        m->core->waiting[channel] &= ~(1u << source);
    uint32_t flipped = tl_smpm_faulty(m, TL_SMPM_FLIP_RECORD, channel);
    if (flipped && flipped <= 32)
        record.header ^= 1u << (flipped - 1);
    else if (flipped) // a lane has 28 bits
        record.lanes[(flipped - 33) / TL_SMPM_REC_VALUE_BITS % TL_SMPM_REC_CTRS] ^= 1u << (flipped - 33) % TL_SMPM_REC_VALUE_BITS;
    tl_smpm_fate fate = receive(m, channel, source, &record, m->entry_tenants ? tenants : NULL);
    if (m->plan.observer.record)
        m->plan.observer.record(m->plan.observer.ctx, m->core->now, channel, source, &record, fate);
}

void tl_smpm_channel_step(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (is_busy(c))
        return;
    if (m->core->waiting[channel] && !tl_smpm_faulty(m, TL_SMPM_STALL_CHANNEL, channel))
        dequeue(m, channel);
    if (!is_busy(c) && commit_is_due(m, channel))
        begin_commit(m, channel);
}

uint64_t tl_smpm_channel_next(const tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    uint64_t next = TL_SMPM_NEVER;
    if (!is_busy(c) && !m->core->waiting[channel] && !c->commit_is_wanted && !c->done)
        return next;
    if (is_busy(c)) {
        if (tl_smpm_batches(m))
            return m->is_tdm ? c->busy_end : tl_smpm_arbiter_next(m);
        return m->is_tdm ? tl_smpm_next_slot(m->core->now, m->n_channels, channel) : m->core->now;
    }
    if (commit_is_due(m, channel))
        return m->core->now;
    for (uint32_t turn = 0; m->core->waiting[channel] && turn < m->n_turns[channel]; turn++) {
        uint32_t source = m->turns[channel][turn];
        const tl_smpm_fifo *fifo = &m->fifos[channel][source];
        if (fifo->n == 0)
            continue;
        uint64_t arrival = m->entries[m->fifo_first[channel][source] + fifo->head].arrival;
        arrival = arrival > m->core->now ? arrival : m->core->now;
        next = tl_lesser(next, m->is_tdm ? tl_smpm_next_slot(arrival, m->n_turns[channel], turn) : arrival);
    }
    return next;
}
