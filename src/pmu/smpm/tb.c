// SPDX-License-Identifier: MIT
// Trigger blocks [P 61, 71-74]: the periodic pulse, flushes and their acknowledgements, and the
// flushes of the shared CCUs that partitions ask for at a switch. SAFE serves partition p only at
// cycles t with t mod shared_slot == 0 and (t / shared_slot) mod n == p. A switch then takes as
// long whatever others do.
#include "pmu/smpm/state.h"

static void pulse(tl_smpm *m, uint32_t ccu, bool is_unseen) {
    tl_smpm_collector *c = &m->core->ccus[ccu];
    m->core->counters.coalesced += c->wants_plain;
    c->pulse_is_unseen = is_unseen && (c->pulse_is_unseen || !c->wants_plain);
    c->wants_plain = true;
    m->core->draining |= 1u << ccu;
}

void tl_smpm_tb_flush(tl_smpm *m, uint32_t source, uint32_t scope) {
    tl_smpm_trigger_block *tb = &m->core->tbs[source];
    tb->flush_id++;
    tb->expect = m->ccus_of[source];
    tb->got = 0;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (!(tb->expect >> ccu & 1))
            continue;
        tl_smpm_collector *c = &m->core->ccus[ccu];
        c->wants_flush = true;
        c->wanted_flush_id = tb->flush_id;
        c->flush_scope = (uint8_t)scope;
        c->acked = 0;
        m->core->draining |= 1u << ccu;
    }
}

static uint32_t expected_acks(const tl_smpm *m, uint32_t ccu) {
    const tl_smpm_collector *c = &m->core->ccus[ccu];
    uint32_t dests = m->core->ccu_dests[ccu];
    if (c->flush_scope != TL_SMPM_SHARED)
        dests &= 1u | 1u << m->channel_d | 1u << m->layout.partitions[c->flush_scope].channel;
    return dests;
}

void tl_smpm_tb_ack(tl_smpm *m, uint32_t ccu, uint32_t channel, uint8_t flush_id) {
    uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition);
    tl_smpm_trigger_block *tb = &m->core->tbs[source];
    tl_smpm_collector *c = &m->core->ccus[ccu];
    if (flush_id != tb->flush_id)
        return; // of a flush that was given up
    c->acked |= (uint16_t)(1u << channel);
    if (c->acked != expected_acks(m, ccu))
        return;
    tb->got |= 1u << ccu;
    tl_smpm_service *s = &m->core->service;
    if (tb->got != tb->expect || source != m->layout.n_partitions || s->serves == TL_SMPM_SHARED)
        return;
    m->core->due = 0;
    s->done |= 1u << s->serves;
    s->serves = TL_SMPM_SHARED;
}

void tl_smpm_service_request(tl_smpm *m, uint32_t partition) {
    tl_smpm_service *s = &m->core->service;
    s->done &= ~(1u << partition);
    m->core->due = 0;
    if (s->wanted >> partition & 1)
        return;
    s->wanted |= 1u << partition;
    s->order[s->n_waiting++] = (uint8_t)partition;
}

bool tl_smpm_service_is_done(const tl_smpm *m, uint32_t partition) {
    return m->ccus_of[m->layout.n_partitions] == 0 || m->core->service.done >> partition & 1;
}

static uint32_t slot_owner(const tl_smpm *m, uint64_t cycle) { return (uint32_t)(cycle / m->config.shared_slot % m->layout.n_partitions); }

uint64_t tl_smpm_service_next(const tl_smpm *m) {
    const tl_smpm_service *s = &m->core->service;
    if (s->wanted == 0 || s->serves != TL_SMPM_SHARED || m->ccus_of[m->layout.n_partitions] == 0)
        return TL_SMPM_NEVER;
    if (!m->is_safe)
        return m->core->now;
    uint64_t cycle = (m->core->now + m->config.shared_slot - 1) / m->config.shared_slot * m->config.shared_slot;
    while (!(s->wanted >> slot_owner(m, cycle) & 1))
        cycle += m->config.shared_slot;
    return cycle;
}

static void serve(tl_smpm *m) {
    tl_smpm_service *s = &m->core->service;
    if (tl_smpm_service_next(m) != m->core->now)
        return;
    uint32_t at = 0;
    while (m->is_safe && s->order[at] != slot_owner(m, m->core->now))
        at++;
    s->serves = s->order[at];
    s->wanted &= ~(1u << s->serves);
    s->n_waiting--;
    for (; at < s->n_waiting; at++)
        s->order[at] = s->order[at + 1];
    tl_smpm_tb_flush(m, m->layout.n_partitions, m->is_safe ? s->serves : TL_SMPM_SHARED);
}

uint64_t tl_smpm_tb_next(const tl_smpm *m) {
    uint64_t next = tl_smpm_service_next(m);
    for (uint32_t source = 0; source < m->n_sources; source++)
        next = tl_lesser(next, m->core->tbs[source].ext_at);
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        next = tl_lesser(next, m->core->ccus[ccu].reg_at);
    return next;
}

void tl_smpm_tb_step(tl_smpm *m) {
    for (uint32_t source = 0; source < m->n_sources; source++) {
        tl_smpm_trigger_block *tb = &m->core->tbs[source];
        if (tb->ext_at != m->core->now)
            continue;
        const bool is_unseen = m->windows && tl_smpm_pulse_is_unseen(m, source);
        tb->ext_at += m->config.tb_period;
        m->core->due = 0;
        bool is_lost = tl_smpm_faulty(m, TL_SMPM_LOSE_EXT, source);
        for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
            if (!(m->ccus_of[source] >> ccu & 1))
                continue;
            if (!is_lost)
                pulse(m, ccu, is_unseen);
            if (m->windows)
                tl_smpm_fast_plan(m, ccu);
        }
    }
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (m->core->ccus[ccu].reg_at != m->core->now)
            continue;
        m->core->ccus[ccu].reg_at = TL_SMPM_NEVER;
        pulse(m, ccu, false);
        if (m->windows)
            tl_smpm_fast_plan(m, ccu);
    }
    if (m->core->service.wanted)
        serve(m);
}
