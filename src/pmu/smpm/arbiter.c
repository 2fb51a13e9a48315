// SPDX-License-Identifier: MIT
// Arbiter [P 67]: one 64-bit add to memory a cycle. TDM gives channel c the cycles t with t mod (n
// + 2) == c; round robin serves channels that have work. A commit adds each index to the VM block,
// then to the context block; the accumulator is reset when memory has taken the second add.
//
// Under TDM the cycle of every add is known when a commit begins. The fast model therefore adds
// many at once, at the end of the commit or when somebody wants to look. Under round robin it adds
// whole rounds, because the same channels share them until one ends or another begins.
#include <endian.h>

#include "pmu/smpm/state.h"

static void add_word(uint64_t *word, uint64_t units) { *word = htole64(le64toh(*word) + units); }

static void add_to(tl_smpm *m, uint32_t block, tl_smpm_part part, uint32_t index, uint64_t units) {
    if (block == TL_SMPM_NO_BLOCK_ID || units == 0)
        return;
    uint64_t *words = tl_smpm_words_of(m, block);
    if (part == TL_SMPM_CTR)
        add_word(&words[TL_SMPM_HEADER_WORDS + index], units);
    else
        tl_smpm_block_add(words, part, index, units);
}

static void check_tenants(tl_smpm *m, uint64_t tenants, uint64_t units, uint32_t vm, uint32_t ctx) {
    if (units != 0 && (tenants & ~m->plan.test.owners(m->plan.test.ctx, vm, ctx)) != 0)
        m->core->counters.foreign++;
}

static void add_of_commit(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint64_t *accs = &m->accs[m->acc_first[channel]];
    uint32_t n = m->n_live, k = c->adds_done;
    if (channel == 0) {
        static const tl_smpm_part parts[TL_SMPM_N_CH0_PARTS] = {TL_SMPM_CTR, TL_SMPM_UNASSIGNED, TL_SMPM_SWITCH};
        uint64_t *acc = &accs[k / n * m->n_metrics + m->live[k % n]];
        add_to(m, c->vm_block, parts[k / n], m->live[k % n], *acc);
        *acc = 0;
        return;
    }
    if (channel == m->channel_d) {
        add_to(m, c->vm_block, TL_SMPM_CTR, m->live[k], accs[m->live[k]]);
        accs[m->live[k]] = 0;
        return;
    }
    const uint32_t index = m->live[k / 2];
    uint64_t *tenants = m->acc_tenants ? &m->acc_tenants[m->acc_first[channel] + index] : NULL;
    if (k % 2 == 0) {
        add_to(m, c->vm_block, TL_SMPM_CTR, index, accs[index]);
        if (tenants && c->vm_block != TL_SMPM_NO_BLOCK_ID)
            check_tenants(m, *tenants, accs[index], c->vm, TL_SMPM_NO_CTX);
        return;
    }
    if (c->ctx_block != TL_SMPM_NO_BLOCK_ID)
        add_to(m, c->ctx_block, TL_SMPM_CTR, index, accs[index]);
    else if (m->is_safe)
        add_to(m, c->vm_block, TL_SMPM_NOCTX, index, accs[index]);
    if (tenants && c->ctx_block != TL_SMPM_NO_BLOCK_ID)
        check_tenants(m, *tenants, accs[index], c->vm, c->ctx);
    accs[index] = 0;
    if (tenants)
        *tenants = 0;
}

static uint32_t nth_bit(uint32_t set, uint32_t n) {
    for (; n > 0; n--)
        set &= set - 1;
    return (uint32_t)__builtin_ctz(set);
}

// Adds 2 i and 2 i + 1 are for the i-th lane that counts something: VM block, context block.
static void add_of_fixed(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint32_t row = c->fixed.header >> 11 & 0x1ff, lane = nth_bit(c->fixed_lanes, c->adds_done / 2);
    const tl_smpm_row *info = &m->rows[m->row_first[c->fixed_ccu] + row];
    uint32_t index = tl_smpm_row_index(m, info) + lane;
    uint64_t units = c->fixed.lanes[lane];
    if (c->adds_done % 2 == 0)
        add_to(m, c->fixed_vm_block, c->fixed_vm_runs ? TL_SMPM_CTR : TL_SMPM_LATE, index, units);
    else if (c->fixed_ctx_block == TL_SMPM_NO_BLOCK_ID)
        add_to(m, c->fixed_vm_block, TL_SMPM_NOCTX, index, units);
    else
        add_to(m, c->fixed_ctx_block, c->fixed_ctx_runs ? TL_SMPM_CTR : TL_SMPM_LATE, index, units);
    if (m->fixed_tenants && c->fixed_ctx_block != TL_SMPM_NO_BLOCK_ID && c->adds_done % 2) {
        const tl_smpm_filter *filter = &m->filters[info->ulc];
        check_tenants(m, m->fixed_tenants[channel][lane], units, filter->vm, filter->ctx);
    }
}

static void end_block(tl_smpm *m, uint32_t block, uint64_t cycle, uint32_t flags) {
    if (block == TL_SMPM_NO_BLOCK_ID)
        return;
    tl_smpm_block_set_flags(tl_smpm_words_of(m, block), flags);
    tl_smpm_block_close(m, block, cycle);
}

static void end_fixed(tl_smpm *m, uint32_t channel, uint64_t cycle) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint32_t flags = (c->fixed.header & TL_SMPM_REC_OVF ? TL_SMPM_OVF : 0) | (c->fixed.header & TL_SMPM_REC_LOSSY ? TL_SMPM_LOSSY : 0);
    end_block(m, c->fixed_vm_block, cycle, flags);
    end_block(m, c->fixed_ctx_block, cycle, flags);
    c->has_fixed = false;
}

static void end_commit(tl_smpm *m, uint32_t channel, uint64_t cycle) {
    tl_smpm_channel *c = &m->core->channels[channel];
    const uint32_t blocks[] = {c->vm_block, c->ctx_block};
    for (uint32_t i = 0; i < 2; i++) {
        if (blocks[i] != TL_SMPM_NO_BLOCK_ID)
            tl_smpm_block_add_active(tl_smpm_words_of(m, blocks[i]), cycle - c->active_since);
        end_block(m, blocks[i], cycle, c->flags);
    }
    c->flags = 0;
    c->active_since = cycle;
    c->is_committing = c->holds = false;
    c->commit_done = cycle + m->config.mem_cycles;
    tl_smpm_turns_resume(m, channel, cycle + 1);
    m->core->counters.commits++;
    if (m->plan.observer.commit)
        m->plan.observer.commit(m->plan.observer.ctx, c->busy_begin, cycle, channel);
}

static uint32_t n_adds(const tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    return c->has_fixed ? 2 * (uint32_t)__builtin_popcount(c->fixed_lanes) : m->n_adds[channel];
}

static void add(tl_smpm *m, uint32_t channel, uint64_t cycle) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (c->has_fixed)
        add_of_fixed(m, channel);
    else if (c->adds_done < m->n_adds[channel])
        add_of_commit(m, channel);
    m->core->counters.adds++;
    c->adds_done++;
    if (c->adds_done < n_adds(m, channel))
        return;
    if (c->has_fixed)
        end_fixed(m, channel, cycle);
    else
        end_commit(m, channel, cycle);
}

static uint64_t *acc_of_add(const tl_smpm *m, uint32_t channel, uint32_t k) { // of a commit
    const uint32_t n = m->n_live, part = channel == 0 ? k / n * m->n_metrics : 0;
    const bool is_pair = channel != 0 && channel != m->channel_d;
    return &m->accs[m->acc_first[channel] + part + m->live[(is_pair ? k / 2 : k) % n]];
}

static void skip_zeros(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    bool is_pair = channel != 0 && channel != m->channel_d;
    if (!tl_smpm_is_on(m->config.skip_zeros) || c->has_fixed || (is_pair && c->adds_done % 2))
        return;
    while (c->adds_done < m->n_adds[channel] && *acc_of_add(m, channel, c->adds_done) == 0)
        c->adds_done += is_pair ? 2 : 1;
}

static void serve(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (tl_smpm_faulty(m, TL_SMPM_REFUSE_ADD, channel)) {
        m->core->counters.refused_adds++;
        if (tl_smpm_mutates(m, TL_SMPM_M_RESET) && c->is_committing && channel != 0 && channel != m->channel_d && c->adds_done % 2)
            *acc_of_add(m, channel, c->adds_done) = 0;
        return; // tried again in the next slot
    }
    skip_zeros(m, channel);
    add(m, channel, m->core->now);
}

static bool has_work(const tl_smpm *m, uint32_t channel) {
    return m->core->channels[channel].is_committing || m->core->channels[channel].has_fixed;
}

void tl_smpm_arbiter_step(tl_smpm *m) {
    if (m->is_tdm) {
        uint32_t channel = (uint32_t)(m->core->now % m->n_channels);
        if (has_work(m, channel))
            serve(m, channel);
        return;
    }
    for (uint32_t i = 1; i <= m->n_channels; i++) {
        uint32_t channel = (m->core->arb_turn + i) % m->n_channels;
        if (!has_work(m, channel))
            continue;
        m->core->arb_turn = channel;
        serve(m, channel);
        return;
    }
}

static uint64_t first_slot(const tl_smpm *m, uint32_t channel, uint64_t from) {
    uint64_t at = from % m->n_channels;
    return from + (at <= channel ? channel - at : m->n_channels - at + channel);
}

void tl_smpm_arbiter_plan(tl_smpm *m, uint32_t channel) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (!m->is_tdm)
        return;
    c->busy_end = first_slot(m, channel, c->busy_begin) + (uint64_t)(n_adds(m, channel) - 1) * m->n_channels;
}

// NULL: no such part.
static uint64_t *part_of(const tl_smpm *m, uint32_t block, tl_smpm_part part) {
    if (block == TL_SMPM_NO_BLOCK_ID)
        return NULL;
    uint64_t *words = tl_smpm_words_of(m, block);
    uint32_t at = tl_smpm_block_part_at(m->n_metrics, (uint32_t)le64toh(words[TL_SMPM_HEADER_WORDS - 1]), part);
    return at ? &words[at] : NULL;
}

// Adds adds_done to end - 1 of a tenant's commit. The same as add_of_commit, one after the other.
static void add_pairs(tl_smpm *m, uint32_t channel, uint32_t end) {
    tl_smpm_channel *c = &m->core->channels[channel];
    uint64_t *accs = &m->accs[m->acc_first[channel]], *vm = part_of(m, c->vm_block, TL_SMPM_CTR);
    uint64_t *ctx = c->ctx_block != TL_SMPM_NO_BLOCK_ID ? part_of(m, c->ctx_block, TL_SMPM_CTR) : part_of(m, c->vm_block, TL_SMPM_NOCTX);
    for (uint32_t k = c->adds_done; k < end; k++) {
        uint64_t *acc = &accs[m->live[k / 2]], *block = k % 2 ? ctx : vm;
        if (*acc == 0)
            continue;
        if (block)
            add_word(&block[m->live[k / 2]], *acc);
        *acc = k % 2 ? 0 : *acc;
    }
}

static void add_parts(tl_smpm *m, uint32_t channel, uint32_t end) { // of channel 0 or D
    static const tl_smpm_part parts[TL_SMPM_N_CH0_PARTS] = {TL_SMPM_CTR, TL_SMPM_UNASSIGNED, TL_SMPM_SWITCH};
    tl_smpm_channel *c = &m->core->channels[channel];
    for (uint32_t k = c->adds_done, part = k / m->n_live; k < end; part++) {
        uint64_t *accs = &m->accs[m->acc_first[channel] + part * m->n_metrics], *words = part_of(m, c->vm_block, parts[part]);
        for (; k < end && k < (part + 1) * m->n_live; k++) {
            uint64_t *acc = &accs[m->live[k - part * m->n_live]];
            if (*acc == 0)
                continue;
            add_word(&words[m->live[k - part * m->n_live]], *acc);
            *acc = 0;
        }
    }
}

// Adds adds_done to end - 1 of a channel, of which the last is not one.
static void add_many(tl_smpm *m, uint32_t channel, uint32_t end) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (c->has_fixed && tl_smpm_holds_units(c->fixed.lanes)) {
        while (c->adds_done < end)
            add(m, channel, TL_SMPM_NEVER); // no cycle is seen before the last
        return;
    }
    const bool holds = c->holds && !c->has_fixed;
    if (holds && (channel == 0 || channel == m->channel_d))
        add_parts(m, channel, end);
    else if (holds)
        add_pairs(m, channel, end);
    m->core->counters.adds += end - c->adds_done;
    c->adds_done = end;
}

void tl_smpm_arbiter_catch_up(tl_smpm *m, uint32_t channel, uint64_t until) {
    tl_smpm_channel *c = &m->core->channels[channel];
    if (!has_work(m, channel))
        return;
    uint64_t first = first_slot(m, channel, c->busy_begin), n = n_adds(m, channel);
    if (until <= first)
        return;
    uint32_t end = (uint32_t)tl_lesser(n, (until - first - 1) / m->n_channels + 1);
    if (c->adds_done < tl_lesser(end, n - 1))
        add_many(m, channel, (uint32_t)tl_lesser(end, n - 1));
    if (end == n)
        add(m, channel, first + (n - 1) * m->n_channels);
}

static uint32_t busy_channels(const tl_smpm *m) {
    uint32_t busy = 0;
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        busy |= (uint32_t)has_work(m, channel) << channel;
    return busy;
}

void tl_smpm_arbiter_run(tl_smpm *m, uint64_t until) {
    tl_smpm_core *s = m->core;
    for (uint32_t busy; s->arb_at < until && (busy = busy_channels(m)) != 0;) {
        const uint32_t n = (uint32_t)__builtin_popcount(busy);
        uint64_t rounds = (until - s->arb_at) / n; // in which nobody ends
        for (uint32_t left = busy; left; left &= left - 1) {
            uint32_t channel = (uint32_t)__builtin_ctz(left);
            rounds = tl_lesser(rounds, n_adds(m, channel) - s->channels[channel].adds_done - 1);
        }
        for (uint32_t left = busy; rounds && left; left &= left - 1)
            add_many(m, (uint32_t)__builtin_ctz(left), s->channels[__builtin_ctz(left)].adds_done + (uint32_t)rounds);
        s->arb_at += rounds * n;
        for (uint32_t i = 0; rounds && i < n; i++)
            s->arb_turn = tl_smpm_next_in_turn(busy, s->arb_turn);
        if (rounds)
            continue;
        s->arb_turn = tl_smpm_next_in_turn(busy, s->arb_turn);
        add(m, s->arb_turn, s->arb_at++);
    }
    s->arb_at = until > s->arb_at ? until : s->arb_at;
}

uint64_t tl_smpm_arbiter_next(const tl_smpm *m) {
    const tl_smpm_core *s = m->core;
    const uint32_t busy = busy_channels(m), n = (uint32_t)__builtin_popcount(busy);
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t i = 0, turn = s->arb_turn; i < n; i++) {
        turn = tl_smpm_next_in_turn(busy, turn);
        next = tl_lesser(next, s->arb_at + (uint64_t)(n_adds(m, turn) - s->channels[turn].adds_done - 1) * n + i);
    }
    return next;
}
