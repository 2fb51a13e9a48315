// SPDX-License-Identifier: MIT
// Fast model: whole periods at once. While nobody looks and nothing is counted in, a period of
// triggers moves records of zeros. Its effects are numbers of commits, adds, records and
// generations, each known from the layout. The clock moves by whole periods, from a cycle in which
// everything is at rest. Cycles of later events are then those that stepping would give.
#include "pmu/smpm/state.h"

static bool channel_rests(const tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    // SAFE commits these at fixed cycles.
    const bool is_device = channel == 0 || channel == m->channel_d;
    return !c->is_committing && !c->has_fixed && !c->commit_is_wanted && !c->is_held && !c->holds && (is_device || c->done == 0) &&
           c->flags == 0 && m->core->waiting[channel] == 0;
}

static bool collector_rests(const tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    return !c->is_draining && !c->wants_plain && !c->wants_switch && !c->wants_flush && !c->holds[c->active] && !c->is_lossy[0] &&
           !c->is_lossy[1] && c->reg_at == TL_SMPM_NEVER;
}

static bool rests(const tl_smpm *m) {
    const tl_smpm_core *s = m->core;
    bool is_at_rest = s->draining == 0 && s->ahead_due == TL_SMPM_NEVER && s->lump_due == TL_SMPM_NEVER && s->service.wanted == 0 &&
                      s->service.serves == TL_SMPM_SHARED;
    for (uint32_t p = 0; p < m->layout.n_partitions && is_at_rest; p++)
        is_at_rest = s->managers[p].step == TL_SMPM_IDLE;
    for (uint32_t channel = 0; channel < m->n_channels && is_at_rest; channel++)
        is_at_rest = channel_rests(m, channel);
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus && is_at_rest; ccu++)
        is_at_rest = collector_rests(m, ccu);
    return is_at_rest;
}

// The cycle from which on the latest pulses and commits have no effect left.
static uint64_t calm_from(const tl_smpm *m) {
    uint64_t from = m->core->device_at;
    for (uint32_t source = 0; source < m->n_sources; source++)
        if (m->core->tbs[source].ext_at != TL_SMPM_NEVER && m->core->tbs[source].ext_at > from)
            from = m->core->tbs[source].ext_at;
    from += m->calm_cycles;
    return from > m->config.tb_period ? from - m->config.tb_period : 0;
}

// Latest cycle up to which no pulse is seen and no total is read.
static uint64_t unseen_to(const tl_smpm *m, uint64_t until) {
    const tl_smpm_core *s = m->core;
    uint64_t to = s->unseen_until > m->keep_cycles ? tl_lesser(until, s->unseen_until - m->keep_cycles) : 0;
    for (uint32_t source = 0; source < m->n_sources; source++)
        if (s->tbs[source].ext_at != TL_SMPM_NEVER && !tl_smpm_pulse_is_unseen(m, source))
            to = 0;
    for (uint32_t left = m->ccus_of[m->layout.n_partitions]; left; left &= left - 1)
        to = tl_lesser(to, s->ccus[__builtin_ctz(left)].read_cycle + m->unread_cycles[__builtin_ctz(left)]);
    return tl_lesser(to, tl_smpm_fast_next(m));
}

static void pass_gens(tl_smpm *m, uint32_t block, uint64_t n_commits) {
    if (block != TL_SMPM_NO_BLOCK_ID)
        tl_smpm_block_pass(tl_smpm_words_of(m, block), n_commits);
}

static void pass_commits(tl_smpm *m, uint32_t channel, uint64_t n) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    pass_gens(m, c->vm_block, n);
    pass_gens(m, c->ctx_block, n);
    m->core->counters.commits += n;
    m->core->counters.adds += n * m->n_adds[channel];
}

static void pass_fixed_row(tl_smpm *m, const tl_smpm_row *row, uint64_t n) {
    const tl_smpm_filter *filter = &m->filters[row->ulc];
    const uint32_t vm_block = tl_smpm_find_block(m, filter->vm, TL_SMPM_NO_CTX);
    if (vm_block == TL_SMPM_NO_BLOCK_ID) {
        m->core->counters.misroutes += n;
        return;
    }
    pass_gens(m, vm_block, n);
    pass_gens(m, filter->ctx == TL_SMPM_ANY ? TL_SMPM_NO_BLOCK_ID : tl_smpm_find_block(m, filter->vm, filter->ctx), n);
    m->core->counters.adds += n * 2 * (uint32_t)__builtin_popcount(row->lanes);
}

static void pass_drains(tl_smpm *m, uint32_t ccu, uint64_t n) {
    tl_smpm_core *s = m->core;
    tl_smpm_collector *c = &s->ccus[ccu];
    tl_smpm_ahead_settle(m, ccu, s->now); // both banks are clear
    c->active ^= n & 1;
    c->seq = (uint8_t)(c->seq + n);
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        s->counters.records += n * s->n_rows_to[ccu][channel];
        if (s->n_rows_to[ccu][channel])
            s->channels[channel].min_seq[ccu] = c->seq;
    }
    for (uint32_t at = 0; at < m->n_sent[ccu]; at++) {
        const uint32_t row = m->row_first[ccu] + m->sent[m->row_first[ccu] + at];
        const tl_smpm_row_route *route = &m->row_routes[row];
        if (route->target == TL_SMPM_TO_FIXED && route->channel != 0)
            pass_fixed_row(m, &m->rows[row], n);
    }
}

void tl_smpm_leap(tl_smpm *m, uint64_t until) {
    tl_smpm_core *s = m->core;
    if (until - s->now < m->config.tb_period || !rests(m))
        return;
    const uint64_t period = m->config.tb_period, to = unseen_to(m, until), calm = calm_from(m);
    const uint64_t from = calm > s->now ? calm : s->now;
    if (to <= from || to - from < period)
        return;
    uint64_t next = s->device_at;
    for (uint32_t source = 0; source < m->n_sources; source++)
        next = tl_lesser(next, s->tbs[source].ext_at);
    if (from >= next)
        return; // pulses leave no calm between them
    const uint64_t n = (to - from) / period;
    s->now = from + n * period;
    s->device_at += n * period;
    for (uint32_t source = 0; source < m->n_sources; source++) {
        if (s->tbs[source].ext_at == TL_SMPM_NEVER)
            continue;
        s->tbs[source].ext_at += n * period;
        for (uint32_t left = m->ccus_of[source]; left; left &= left - 1)
            pass_drains(m, (uint32_t)__builtin_ctz(left), n);
        if (source < m->layout.n_partitions)
            pass_commits(m, m->layout.partitions[source].channel, n);
    }
    pass_commits(m, 0, n);
    pass_commits(m, m->channel_d, n);
    s->due = s->fast_due = 0;
}
