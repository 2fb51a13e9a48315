// SPDX-License-Identifier: MIT
// Switch manager [P 71-76]: steps CS2 to CS13, one command every manager_cycles. The host did CS1.
// From CS2 to CS10 the channel commits on command only, so that a switch commits once and not once
// for each of its drains. Repointing comes after all acknowledgements and the commit, because the
// tail of the outgoing context would otherwise reach the incoming one.
#include <string.h>

#include "pmu/smpm/state.h"

enum { ISSUES, POLLS, RETRIES }; // substeps of CS6 and CS7
enum { SNAPSHOT_TRIGGER, SNAPSHOT_FLUSH, SNAPSHOT_POLL, SNAPSHOT_COMMIT, SNAPSHOT_DONE };

// Steps in their order. CS5b is shown by its own number; CS1 is the host's.
static uint32_t next_step(const tl_smpm *m, uint32_t step) {
    bool is_swapped = tl_smpm_mutates(m, TL_SMPM_SWAP_CS7_CS10);
    switch (step) {
    case 5: return TL_SMPM_CS5B;
    case TL_SMPM_CS5B: return 6;
    case 6: return is_swapped ? 10 : 7;
    case 10: return is_swapped ? 7 : 11;
    case 9: return is_swapped ? 11 : 10;
    case TL_SMPM_CS13: return TL_SMPM_IDLE;
    default: return step + 1;
    }
}

static void each_line(tl_smpm *m, uint32_t partition, bool line, bool transfers, bool is_paused, uint64_t cycle) {
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (!(m->ccus_of[partition] >> ccu & 1))
            continue;
        tl_smpm_collector *c = &m->core->ccus[ccu];
        tl_smpm_ccu_line_set(m, ccu, line);
        c->transfers = transfers;
        c->is_paused = is_paused || (m->is_safe && partition == m->layout.n_partitions);
        if (m->windows)
            tl_smpm_fast_line(m, ccu, cycle);
    }
}

static void want(tl_smpm *m, uint32_t partition, bool is_switch) {
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (!(m->ccus_of[partition] >> ccu & 1))
            continue;
        tl_smpm_collector *c = &m->core->ccus[ccu];
        if (is_switch)
            c->wants_switch = true;
        else
            c->wants_plain = true;
        c->pulse_is_unseen = c->pulse_is_unseen && is_switch;
        m->core->draining |= 1u << ccu;
    }
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static tl_smpm_channel *channel_of(tl_smpm *m, uint32_t partition) { return &m->core->channels[m->layout.partitions[partition].channel]; }

static void flush(tl_smpm *m, uint32_t partition) {
    m->core->managers[partition].flush_at = m->core->now;
    tl_smpm_tb_flush(m, partition, TL_SMPM_SHARED);
}

static bool is_flushed(const tl_smpm *m, uint32_t partition, bool with_shared) {
    const tl_smpm_trigger_block *tb = &m->core->tbs[partition];
    return tb->got == tb->expect && (!with_shared || tl_smpm_service_is_done(m, partition));
}

static bool is_timed_out(const tl_smpm *m, uint32_t partition, uint64_t cycle) {
    return m->config.tb_timeout != 0 && cycle - m->core->managers[partition].flush_at > m->config.tb_timeout;
}

static bool is_committed(const tl_smpm *m, uint32_t partition) {
    const tl_smpm_channel *c = &m->core->channels[m->layout.partitions[partition].channel];
    return !c->commit_is_wanted && !c->is_committing;
}

static void raise_min_seq(tl_smpm *m, uint32_t ccu) {
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        m->core->channels[channel].min_seq[ccu] = (uint8_t)(m->core->ccus[ccu].seq + 1);
}

// F-05: CCUs that did not answer lose what they hold. Records of theirs that still come are stale.
static void give_up(tl_smpm *m, uint32_t partition) {
    tl_smpm_trigger_block *tb = &m->core->tbs[partition];
    m->core->managers[partition].missing = tb->expect & ~tb->got;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (!(m->core->managers[partition].missing >> ccu & 1) || m->core->managers[partition].step == TL_SMPM_SNAPSHOT)
            continue; // a snapshot that fails takes nothing away
        tl_smpm_collector *c = &m->core->ccus[ccu];
        tl_smpm_ahead_settle(m, ccu, m->core->now + 1);
        c->wants_plain = c->wants_switch = c->wants_flush = c->is_draining = false;
        tl_smpm_ccu_line_set(m, ccu, false);
        if (m->windows)
            tl_smpm_fast_line(m, ccu, m->core->now + 1);
        tl_smpm_ccu_clear(m, ccu);
        tl_smpm_rcb_drop(m, ccu);
        raise_min_seq(m, ccu);
    }
    tb->got = tb->expect;
    m->core->service.done |= 1u << partition;
    channel_of(m, partition)->flags |= TL_SMPM_LOSSY;
}

// CS6 and the like. true: go on.
static bool poll_flush(tl_smpm *m, uint32_t partition, bool with_shared) {
    tl_smpm_manager *g = &m->core->managers[partition];
    if (is_flushed(m, partition, with_shared))
        return true;
    if (!is_timed_out(m, partition, m->core->now))
        return false;
    if (g->has_retried) {
        give_up(m, partition);
        return true;
    }
    g->has_retried = true;
    if (m->core->tbs[partition].got != m->core->tbs[partition].expect)
        flush(m, partition);
    else
        g->flush_at = m->core->now; // the shared CCUs have not answered yet
    return false;
}

static void clear(tl_smpm *m, uint32_t partition) { // CS9
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        if (!(m->ccus_of[partition] >> ccu & 1))
            continue;
        // Records that are on their way become stale.
        tl_smpm_ahead_settle(m, ccu, m->core->now + 1);
        tl_smpm_ccu_clear(m, ccu);
        raise_min_seq(m, ccu);
        for (uint32_t line = 0; m->ulcs && line < m->layout.ccus[ccu].n_ulcs; line++)
            tl_smpm_ulc_clear(m, m->layout.ccus[ccu].ulcs[line]);
    }
}

// The channel still points to the outgoing VM. Emptied caches take a constant time, because what
// they held would else show to the newcomer.
static uint64_t cycles_of_cs8(const tl_smpm *m, uint32_t partition) {
    const uint32_t to = m->core->managers[partition].incoming.vm, from = m->core->channels[m->layout.partitions[partition].channel].vm;
    return (uint64_t)m->config.save_cycles + m->config.load_cycles + (to != from && to != TL_SMPM_NO_VM ? m->plan.flush_cycles : 0);
}

// Performs a step. false: it polls, and the same step is due again after manager_cycles.
static bool perform(tl_smpm *m, uint32_t partition, uint32_t step) {
    tl_smpm_manager *g = &m->core->managers[partition];
    tl_smpm_channel *c = channel_of(m, partition);
    const uint64_t now = m->core->now;
    bool is_leaving = g->incoming.vm == TL_SMPM_NO_VM;
    // Steps and their mutations have equal numbers.
    bool is_left_out = tl_smpm_mutates(m, (tl_smpm_mutation)step);
    switch (step) {
    case 2:
        c->is_held = true;
        if (!is_left_out)
            each_line(m, partition, !m->gates_at_pause && m->core->ccus[__builtin_ctz(m->ccus_of[partition])].line, false, true, now + 1);
        return true;
    case 3:
        if (!is_left_out)
            m->core->tbs[partition].ext_at = TL_SMPM_NEVER;
        return true;
    case 4:
        if (!is_left_out)
            want(m, partition, true);
        return true;
    case 5:
        g->has_retried = false;
        g->missing = 0;
        if (!is_left_out)
            flush(m, partition);
        return true;
    case TL_SMPM_CS5B:
        if (!is_left_out && m->ccus_of[m->layout.n_partitions])
            tl_smpm_service_request(m, partition);
        return true;
    case 6: return is_left_out || poll_flush(m, partition, !tl_smpm_mutates(m, TL_SMPM_NO_CS5B));
    case 7:
        if (is_left_out)
            return true;
        if (g->substep == ISSUES) {
            c->commit_is_wanted = true;
            g->substep = POLLS;
            return false;
        }
        return is_committed(m, partition) && now >= c->commit_done;
    case 9:
        if (!is_left_out)
            clear(m, partition);
        return true;
    case 10:
        if (!is_left_out)
            tl_smpm_channel_point(m, m->layout.partitions[partition].channel, g->incoming.vm, g->incoming.ctx);
        else
            c->is_held = false;
        return true;
    case 11:
        if (!is_left_out && !is_leaving)
            m->core->tbs[partition].ext_at = now + m->config.tb_period;
        return true;
    case 12:
        if (!is_left_out && !is_leaving)
            each_line(m, partition, true, true, false, now + 1);
        return true;
    default: return true;
    }
}

static void begin(tl_smpm *m, uint32_t partition, tl_smpm_target_pair incoming, uint64_t at) {
    tl_smpm_manager *g = &m->core->managers[partition];
    memset(g->stamps, 0, sizeof g->stamps);
    g->incoming = incoming;
    g->step = TL_SMPM_CS2;
    g->substep = ISSUES;
    g->at = at;
}

static void end(tl_smpm *m, uint32_t partition) { // of a switch or a snapshot
    tl_smpm_manager *g = &m->core->managers[partition];
    g->step = TL_SMPM_IDLE;
    g->at = TL_SMPM_NEVER;
    if (g->n_queued == 0)
        return;
    tl_smpm_target_pair incoming = g->queue[0];
    g->n_queued--;
    memmove(g->queue, &g->queue[1], g->n_queued * sizeof g->queue[0]);
    begin(m, partition, incoming, m->core->now + m->config.manager_cycles);
}

static void step_snapshot(tl_smpm *m, uint32_t partition) {
    tl_smpm_manager *g = &m->core->managers[partition];
    tl_smpm_channel *c = channel_of(m, partition);
    bool is_over = true;
    switch (g->substep) {
    case SNAPSHOT_TRIGGER:
        c->is_held = true;
        want(m, partition, false);
        break;
    case SNAPSHOT_FLUSH:
        g->has_retried = false;
        flush(m, partition);
        break;
    case SNAPSHOT_POLL: is_over = poll_flush(m, partition, false); break;
    case SNAPSHOT_COMMIT: c->commit_is_wanted = true; break;
    default: is_over = is_committed(m, partition) && m->core->now >= c->commit_done; break;
    }
    g->at += m->config.manager_cycles;
    if (!is_over)
        return;
    if (g->substep++ != SNAPSHOT_DONE)
        return;
    c->is_held = false;
    m->core->counters.snapshots++;
    end(m, partition);
    for (uint32_t ccu = 0; m->windows && ccu < m->layout.n_ccus; ccu++)
        if (m->ccus_of[partition] >> ccu & 1)
            tl_smpm_fast_plan(m, ccu);
}

void tl_smpm_manager_step(tl_smpm *m, uint32_t partition) {
    tl_smpm_manager *g = &m->core->managers[partition];
    if (g->step == TL_SMPM_IDLE || g->at > m->core->now || tl_smpm_faulty(m, TL_SMPM_STALL_MANAGER, partition))
        return;
    // A poll that nobody needed to simulate does not move the grid of polls.
    if ((m->core->now - g->at) % m->config.manager_cycles != 0 && !m->plan.test.fault)
        return;
    g->at = m->core->now;
    m->core->due = 0;
    if (g->step == TL_SMPM_SNAPSHOT) {
        step_snapshot(m, partition);
        return;
    }
    uint32_t step = g->step;
    if (g->stamps[step] == 0)
        g->stamps[step] = m->core->now;
    g->at = m->core->now + m->config.manager_cycles;
    if (!perform(m, partition, step))
        return;
    if (step == 8 && !tl_smpm_mutates(m, (tl_smpm_mutation)8))
        g->at = m->core->now + larger(cycles_of_cs8(m, partition), m->config.manager_cycles);
    g->substep = ISSUES;
    g->step = next_step(m, step);
    if (g->step != TL_SMPM_IDLE)
        return;
    g->n_done++;
    end(m, partition);
}

// Returns the least base + k * period >= from.
static uint64_t aligned(uint64_t base, uint64_t period, uint64_t from) {
    return base >= from ? base : base + (from - base + period - 1) / period * period;
}

bool tl_smpm_is_switching(const tl_smpm *m) {
    for (uint32_t p = 0; p < m->layout.n_partitions; p++)
        if (m->core->managers[p].step != TL_SMPM_IDLE && m->core->managers[p].step != TL_SMPM_SNAPSHOT)
            return true;
    return false;
}

uint64_t tl_smpm_manager_next(const tl_smpm *m, uint32_t partition) {
    const tl_smpm_manager *g = &m->core->managers[partition];
    if (g->step == TL_SMPM_IDLE)
        return TL_SMPM_NEVER;
    const tl_smpm_channel *c = &m->core->channels[m->layout.partitions[partition].channel];
    bool polls_flush = g->step == 6 || (g->step == TL_SMPM_SNAPSHOT && g->substep == SNAPSHOT_POLL);
    bool polls_commit = (g->step == 7 && g->substep == POLLS) || (g->step == TL_SMPM_SNAPSHOT && g->substep == SNAPSHOT_DONE);
    uint64_t from = m->core->now;
    // Without a stamp, the manager's first poll is an event.
    bool is_stamped = g->step == TL_SMPM_SNAPSHOT || g->stamps[g->step] != 0;
    if (polls_flush && is_stamped && !is_flushed(m, partition, g->step == 6)) {
        if (m->config.tb_timeout == 0)
            return TL_SMPM_NEVER;
        from = g->flush_at + m->config.tb_timeout + 1 > from ? g->flush_at + m->config.tb_timeout + 1 : from;
    } else if (polls_commit) {
        if (!is_committed(m, partition))
            return TL_SMPM_NEVER;
        from = c->commit_done > from ? c->commit_done : from;
    }
    return aligned(g->at, m->config.manager_cycles, from);
}

// The enable line falls and ULCs read their final totals in the cycle after.
static uint64_t soonest_fall(const tl_smpm *m, uint32_t partition) {
    const tl_smpm_manager *g = &m->core->managers[partition];
    if (g->step == TL_SMPM_SNAPSHOT)
        return g->n_queued ? m->core->now + m->config.manager_cycles + 1 : TL_SMPM_NEVER;
    if (g->step == TL_SMPM_CS2)
        return (g->at > m->core->now ? g->at : m->core->now) + 1;
    return !m->gates_at_pause && !m->plan.stands_still && g->step != TL_SMPM_IDLE && tl_smpm_is_enabled(m, partition) ? m->core->now
                                                                                                                      : TL_SMPM_NEVER;
}

// Lower bound: every step from the present one takes manager_cycles at least.
uint64_t tl_smpm_manager_soonest(const tl_smpm *m, uint32_t partition) {
    const tl_smpm_manager *g = &m->core->managers[partition];
    uint64_t fall = soonest_fall(m, partition);
    if (g->step == TL_SMPM_IDLE || fall != TL_SMPM_NEVER || g->step == TL_SMPM_SNAPSHOT)
        return fall;
    uint64_t at = g->at > m->core->now ? g->at : m->core->now, n_steps = 0, work = 0;
    const tl_smpm_channel *c = &m->core->channels[m->layout.partitions[partition].channel];
    if (g->step == 6 && m->is_safe && m->core->service.wanted >> partition & 1) {
        uint64_t slot = m->core->now / m->config.shared_slot * m->config.shared_slot;
        while (slot < m->core->now || slot / m->config.shared_slot % m->layout.n_partitions != partition)
            slot += m->config.shared_slot;
        at = slot > at ? slot : at;
    }
    if (g->step == 7 && c->is_committing && tl_smpm_batches(m) && m->is_tdm)
        at = c->busy_end > at ? c->busy_end : at;
    for (uint32_t step = g->step; step != 12 && step != TL_SMPM_CS13 && step != TL_SMPM_IDLE; step = next_step(m, step)) {
        n_steps++;
        if (step == 8)
            work = larger(cycles_of_cs8(m, partition), m->config.manager_cycles) - m->config.manager_cycles;
    }
    return at + n_steps * m->config.manager_cycles + work;
}

//  ---- commands

static tl_status check_target(const tl_smpm *m, uint32_t partition, uint32_t vm, uint32_t ctx, tl_error *err) {
    if (partition >= m->layout.n_partitions)
        return tl_fail(err, TL_EINVAL, "partition %u of the monitor: the layout has %u", partition, m->layout.n_partitions);
    if (vm != TL_SMPM_NO_VM && tl_smpm_find_block(m, vm, TL_SMPM_NO_CTX) == TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "VM %u has no block: create it before it runs", vm);
    if (vm != TL_SMPM_NO_VM && ctx != TL_SMPM_NO_CTX && tl_smpm_find_block(m, vm, ctx) == TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "context %u of VM %u has no block: create it before it runs", ctx, vm);
    return TL_OK;
}

tl_status tl_smpm_start(tl_smpm *m, uint32_t partition, uint32_t vm, uint32_t ctx, tl_error *err) {
    uint32_t source = tl_smpm_source_of(m, partition);
    if (partition != TL_SMPM_SHARED) {
        tl_status status = check_target(m, partition, vm, ctx, err);
        if (status != TL_OK)
            return status;
        if (vm == TL_SMPM_NO_VM)
            return tl_fail(err, TL_EINVAL, "partition %u starts without a VM: name one", partition);
        if (m->core->managers[partition].step != TL_SMPM_IDLE)
            return tl_fail(err, TL_EINVAL, "partition %u is within a switch: start it later", partition);
    }
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        if ((m->ccus_of[source] >> ccu & 1) && m->core->ccus[ccu].line)
            return tl_fail(err, TL_EINVAL, "partition %u is enabled already: switch it", partition);
    if (partition != TL_SMPM_SHARED)
        tl_smpm_channel_point(m, m->layout.partitions[partition].channel, vm, ctx);
    m->core->tbs[source].ext_at = m->core->now + m->config.tb_period;
    each_line(m, source, true, true, false, m->core->now);
    m->core->due = 0;
    return TL_OK;
}

tl_status tl_smpm_switch_to(tl_smpm *m, uint32_t partition, uint32_t vm, uint32_t ctx, tl_error *err) {
    tl_status status = check_target(m, partition, vm, ctx, err);
    if (status != TL_OK)
        return status;
    if (m->plan.never_switches)
        return tl_fail(err, TL_EINVAL, "partition %u: the monitor was built for a machine that never switches", partition);
    tl_smpm_manager *g = &m->core->managers[partition];
    tl_smpm_target_pair incoming = {.vm = vm, .ctx = vm == TL_SMPM_NO_VM ? TL_SMPM_NO_CTX : ctx};
    if (g->step == TL_SMPM_IDLE) {
        begin(m, partition, incoming, m->core->now);
        return TL_OK;
    }
    if (g->n_queued == TL_SMPM_QUEUE)
        return tl_fail(err, TL_EINVAL, "partition %u: %d switches wait already; let one end", partition, TL_SMPM_QUEUE);
    g->queue[g->n_queued++] = incoming;
    return TL_OK;
}

bool tl_smpm_snapshot(tl_smpm *m, uint32_t partition) {
    if (partition >= m->layout.n_partitions || !tl_smpm_is_enabled(m, partition))
        return false;
    tl_smpm_manager *g = &m->core->managers[partition];
    bool is_early = g->snapshot_at != TL_SMPM_NEVER && m->core->now - g->snapshot_at < m->config.snapshot_cycles;
    if (g->step != TL_SMPM_IDLE || is_early)
        return false;
    g->snapshot_at = m->core->now;
    g->step = TL_SMPM_SNAPSHOT;
    g->substep = SNAPSHOT_TRIGGER;
    g->at = m->core->now + m->lead_cycles;
    for (uint32_t ccu = 0; m->windows && ccu < m->layout.n_ccus; ccu++)
        if (m->ccus_of[partition] >> ccu & 1)
            tl_smpm_fast_plan(m, ccu);
    m->core->due = 0;
    return true;
}

void tl_smpm_switched_get(const tl_smpm *m, uint32_t partition, tl_smpm_switched *ret_switched) {
    const tl_smpm_manager *g = &m->core->managers[partition];
    *ret_switched = (tl_smpm_switched){.step = g->step, .n_queued = g->n_queued, .n_done = g->n_done, .missing = g->missing};
    memcpy(ret_switched->at, g->stamps, sizeof g->stamps);
}

bool tl_smpm_is_enabled(const tl_smpm *m, uint32_t partition) {
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        if ((m->ccus_of[tl_smpm_source_of(m, partition)] >> ccu & 1) && m->core->ccus[ccu].line)
            return true;
    return false;
}
