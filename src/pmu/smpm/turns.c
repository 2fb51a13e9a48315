// SPDX-License-Identifier: MIT
// Fast model: lumps in a channel that serves several sources in turn. A lump is a run of records,
// one of which arrives in each cycle. Nothing but their number and arrivals decides which source is
// served in a cycle, so whole rounds of all sources pass at once.
#include "pmu/smpm/state.h"

typedef struct walk {
    uint32_t lumps, turn;
    uint64_t at; // the next dequeue comes in this cycle or later
    // Of turns with a lump: records that are left, and the arrival of the first.
    uint32_t n[TL_SMPM_MAX_PARTITIONS + 1];
    uint64_t arrival[TL_SMPM_MAX_PARTITIONS + 1];
} walk;

static void begin(const tl_smpm *m, uint32_t channel, walk *w) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    w->lumps = c->lumps;
    w->turn = c->turn;
    w->at = c->lumps_at;
    for (uint32_t left = c->lumps; left; left &= left - 1) {
        const uint32_t turn = (uint32_t)__builtin_ctz(left);
        const tl_smpm_fifo *fifo = &m->fifos[channel][m->turns[channel][turn]];
        w->n[turn] = fifo->lump_n;
        w->arrival[turn] = fifo->lump_first;
    }
}

static void keep(tl_smpm *m, uint32_t channel, const walk *w) {
    tl_smpm_channel *c = &m->core->channels[channel];
    for (uint32_t left = c->lumps; left; left &= left - 1) {
        const uint32_t turn = (uint32_t)__builtin_ctz(left);
        tl_smpm_fifo *fifo = &m->fifos[channel][m->turns[channel][turn]];
        fifo->lump_n = w->n[turn];
        fifo->lump_first = w->arrival[turn];
    }
    c->lumps = w->lumps;
    c->turn = (uint8_t)w->turn;
    c->lumps_at = w->at;
}

static void take(walk *w, uint32_t turn, uint32_t n) {
    w->n[turn] -= n;
    w->arrival[turn] += n;
    w->lumps &= w->n[turn] ? UINT32_MAX : ~(1u << turn);
}

// Rounds in which each of the ready sources is served once, none is done, and no other is ready.
static void pass_rounds(walk *w, uint32_t ready, uint64_t limit) {
    const uint32_t n_ready = (uint32_t)__builtin_popcount(ready);
    uint64_t n_rounds = (limit - w->at) / n_ready;
    for (uint32_t left = ready; left; left &= left - 1)
        n_rounds = tl_lesser(n_rounds, w->n[__builtin_ctz(left)] - 1);
    if (n_rounds == 0)
        return;
    for (uint32_t left = ready; left; left &= left - 1)
        take(w, (uint32_t)__builtin_ctz(left), (uint32_t)n_rounds);
    for (uint32_t i = 0; i < n_ready; i++)
        w->turn = tl_smpm_next_in_turn(ready, w->turn);
    w->at += n_rounds * n_ready;
}

// Dequeues before `until`, up to the last one of a lump. Returns its turn; UINT32_MAX: none ends.
static uint32_t pass(walk *w, uint64_t until) {
    while (w->lumps && w->at < until) {
        uint32_t ready = 0;
        uint64_t limit = until; // the next source is ready, or the walk is over
        for (uint32_t left = w->lumps; left; left &= left - 1) {
            const uint32_t turn = (uint32_t)__builtin_ctz(left);
            ready |= w->arrival[turn] <= w->at ? 1u << turn : 0;
            limit = w->arrival[turn] <= w->at ? limit : tl_lesser(limit, w->arrival[turn]);
        }
        if (ready == 0) {
            w->at = limit;
            continue;
        }
        pass_rounds(w, ready, limit);
        if (w->at == limit)
            continue;
        w->turn = tl_smpm_next_in_turn(ready, w->turn);
        take(w, w->turn, 1);
        w->at++;
        if (w->n[w->turn] == 0)
            return w->turn;
    }
    w->at = until > w->at ? until : w->at;
    return UINT32_MAX;
}

// The walk goes on from the present state of the channel.
static void plan(tl_smpm *m, uint32_t channel, walk *w) {
    m->core->channels[channel].lump_end = pass(w, TL_SMPM_NEVER) == UINT32_MAX ? TL_SMPM_NEVER : w->at - 1;
}

void tl_smpm_turns_add(tl_smpm *m, uint32_t channel, uint32_t turn, uint32_t n_records, uint64_t arrival) {
    tl_smpm_channel *c = &m->core->channels[channel];
    tl_smpm_fifo *fifo = &m->fifos[channel][m->turns[channel][turn]];
    walk w;
    begin(m, channel, &w);
    (void)pass(&w, m->core->now);
    keep(m, channel, &w);
    c->lumps |= 1u << turn;
    fifo->lump_n = n_records;
    fifo->lump_first = arrival;
    m->core->replan |= 1u << channel;
}

void tl_smpm_turns_plan(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    for (; s->replan; s->replan &= s->replan - 1) {
        const uint32_t channel = (uint32_t)__builtin_ctz(s->replan);
        walk w;
        begin(m, channel, &w);
        plan(m, channel, &w);
        s->lump_due = tl_lesser(s->lump_due, s->channels[channel].lump_end);
    }
}

void tl_smpm_turns_run(tl_smpm *m, uint32_t channel, uint64_t until) {
    walk w;
    begin(m, channel, &w);
    (void)pass(&w, until); // the end of a lump is an event of its own
    keep(m, channel, &w);
}

void tl_smpm_turns_forget(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    for (uint32_t left = c->lumps; left; left &= left - 1)
        m->fifos[channel][m->turns[channel][__builtin_ctz(left)]].lump_n = 0;
    c->lumps = 0;
    c->lump_end = TL_SMPM_NEVER;
}

void tl_smpm_turns_pause(tl_smpm *m, uint32_t channel) {
    m->core->channels[channel].lumps_at = m->core->channels[channel].lump_end = TL_SMPM_NEVER;
}

void tl_smpm_turns_resume(tl_smpm *m, uint32_t channel, uint64_t cycle) {
    tl_smpm_channel *c = &m->core->channels[channel];
    c->lumps_at = cycle;
    if (c->lumps == 0)
        return;
    m->core->replan |= 1u << channel;
    tl_smpm_turns_plan(m);
}

uint32_t tl_smpm_turns_end(tl_smpm *m, uint32_t channel) {
    walk w;
    begin(m, channel, &w);
    const uint32_t turn = pass(&w, m->core->now + 1);
    keep(m, channel, &w);
    plan(m, channel, &w);
    return turn;
}
