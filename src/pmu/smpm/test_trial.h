// SPDX-License-Identifier: MIT
// A trial: partitions, VMs and contexts switch at random while units tell random events, and truth
// is kept outside of the model, per counter and tenant. Every invariant that fails is counted, so
// that wrong designs can be shown to fail.
//
// Truth follows the rules of the clock with a small model of its own: in which cycles a ULC counts
// depends on the stamps of a switch, the period and the length of a frame. In LITERAL the enable
// line falls when a drain lets it, so that one edge is taken from the line.
#ifndef TL_PMU_SMPM_TEST_TRIAL_H
#define TL_PMU_SMPM_TEST_TRIAL_H

#include <stdio.h>

#include "pmu/smpm/test_rig.h"

enum {
    TRIAL_VMS = 2,  // of a partition, time-sliced
    TRIAL_CTXS = 3, // of a VM, and one more for "no context"
    TRIAL_TENANTS = TRIAL_VMS * (TRIAL_CTXS + 1),
    TRIAL_MAX_TENANTS = TRIAL_TENANTS * 4,
    TRIAL_N = 5,     // counters: a bit, a bit that counts low, n != 0, pulses of input 1 and 0
    TRIAL_MULTI = 2, // inputs
    TRIAL_K = TRIAL_N + TRIAL_MULTI,
    TRIAL_NOBODY = 63,
};

typedef enum invariant {
    I0_FRAMES,
    I1_DEVICE,
    I2_SUM_OF_VMS,
    I3_SUM_OF_CTXS,
    I4_RESIDUES,
    I6_AT_REST,
    I7_FOREIGN,
    I8_CONSERVED,
    I12_CTX,
    I12_VM,
    R4_COMPLETE,
    PERIODIC,
    ENDS,
    FLAGS,
    N_INVARIANTS
} invariant;
static const char *const invariant_names[N_INVARIANTS] = {
    "I0", "I1", "I2", "I3", "I4", "I6", "I7", "I8", "I12 context", "I12 VM", "R4", "periodic commits", "switch ends", "flags"};

typedef struct truth { // of one ULC's session
    bool is_enabled, has_request;
    uint64_t window_cycles, busy_until, sums[TRIAL_MULTI];
    uint64_t counts[TRIAL_N];
} truth;

typedef struct trial {
    rig r;
    tl_smpm_profile profile;
    // n_shared: filters of the shared unit; 0: no shared unit.
    uint32_t n_partitions, n_units, n_shared;
    uint64_t random;
    uint32_t stall_percent;
    bool is_each_cycle_checked, has_no_provenance;
    truth truths[RIG_MAX_ULCS];
    // Units of partitions: counts, then units of multi-bit inputs.
    uint64_t sums[TRIAL_MAX_TENANTS][TRIAL_K];
    uint64_t fixed[TRIAL_MAX_TENANTS][TRIAL_K];       // shared unit
    uint64_t unassigned[TRIAL_K], switching[TRIAL_K]; // shared unit
    uint64_t device[TRIAL_K];
    uint64_t at_rest[TRIAL_MAX_TENANTS];        // hash of the ctr of a context that does not run
    uint32_t runs[4], comes[4][4], n_coming[4]; // tenant of each partition; those it will switch to
    uint32_t n_done[4];
    uint64_t wake[4], since[4], last_commit[4];
    bool has_left[4];
    uint64_t history[256][TRIAL_MAX_TENANTS]; // count 0 of the shared unit, by cycle
    // Part of it that must be in the outgoing context's block at CS10.
    uint64_t needed[4];
    uint64_t n_switches, fails[N_INVARIANTS], first_fail[N_INVARIANTS];
    bool is_over;
} trial;

static inline void breach(trial *t, invariant what) {
    if (t->fails[what]++ == 0)
        t->first_fail[what] = tl_smpm_now(t->r.model);
}
static inline uint64_t n_fails(const trial *t) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < N_INVARIANTS; i++)
        n += t->fails[i];
    return n;
}

static inline uint32_t tenant_of(uint32_t partition, uint32_t vm, uint32_t ctx) {
    return (partition * TRIAL_VMS + vm) * (TRIAL_CTXS + 1) + ctx;
}
static inline uint32_t vm_id(uint32_t tenant) { return 100 + tenant / (TRIAL_CTXS + 1); }
static inline uint32_t ctx_id(uint32_t tenant) {
    return tenant % (TRIAL_CTXS + 1) == TRIAL_CTXS ? TL_SMPM_NO_CTX : 40 + tenant % (TRIAL_CTXS + 1);
}

//  ---- what units tell

static inline bool is_shared_ulc(const trial *t, uint32_t ulc) { return t->r.layout.ulcs[ulc].partition == TL_SMPM_SHARED; }

// Tag of the shared unit's events in a cycle: a tenant, TRIAL_NOBODY, or TRIAL_NOBODY + 1 for
// traffic of a switch.
static inline uint32_t tag_of(const trial *t, uint64_t cycle) {
    uint64_t x = mix(t->r.seed * 7 ^ cycle >> 3);
    return x % 8 == 0 ? TRIAL_NOBODY : x % 8 == 1 ? TRIAL_NOBODY + 1 : (uint32_t)(x >> 8) % (t->n_partitions * TRIAL_TENANTS);
}

static inline void trial_inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    trial *t = r->user;
    if (t->is_over && is_shared_ulc(t, ulc))
        return;
    // Inputs of the one shared unit.
    random_inputs(r, is_shared_ulc(t, ulc) ? RIG_MAX_ULCS : ulc, cycle, ret_inputs);
    ret_inputs->bits &= 3;
    if (!is_shared_ulc(t, ulc))
        return;
    ret_inputs->bits &= 1; // a filtered input is high only in events, so it is never counted low
    uint32_t tag = tag_of(t, cycle);
    const tl_smpm_filter *f = &t->r.model->filters[ulc];
    if (f->kind == TL_SMPM_FILTER_ALL)
        return;
    uint32_t vm = tag < TRIAL_NOBODY ? vm_id(tag) : 9999, ctx = tag == TRIAL_NOBODY + 1 ? TL_SMPM_CTX_SWITCH
                                                                : tag < TRIAL_NOBODY    ? ctx_id(tag) & 0xffff
                                                                                        : 1;
    if (tl_smpm_filter_of(t->r.model, t->r.layout.ulcs[ulc].unit, vm, ctx, 0) != ulc)
        memset(ret_inputs, 0, sizeof *ret_inputs);
}

static inline uint64_t trial_tenants(void *ctx, uint32_t ulc, uint64_t cycle) {
    trial *t = ctx;
    if (is_shared_ulc(t, ulc))
        return UINT64_C(1) << tl_lesser(tag_of(t, cycle), TRIAL_NOBODY);
    return UINT64_C(1) << (t->truths[ulc].is_enabled ? t->runs[t->r.layout.ulcs[ulc].partition] : TRIAL_NOBODY);
}

static inline uint64_t trial_owners(void *ctx, uint32_t vm, uint32_t ctx_number) {
    trial *t = ctx;
    uint64_t owners = 0;
    for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++)
        if (vm_id(tenant) == vm && (ctx_number == TL_SMPM_NO_CTX || ctx_id(tenant) == ctx_number))
            owners |= UINT64_C(1) << tenant;
    return owners;
}

static inline uint32_t trial_fault(void *ctx, tl_smpm_fault kind, uint32_t index, uint64_t cycle) {
    trial *t = ctx;
    (void)index, (void)cycle;
    if (kind != TL_SMPM_STALL_CHANNEL && kind != TL_SMPM_STALL_MANAGER && kind != TL_SMPM_REFUSE_ADD)
        return 0;
    return below(&t->random, 100) < t->stall_percent;
}

//  ---- truth

static inline void add_truth(trial *t, uint32_t ulc, const tl_smpm_inputs *in) {
    uint64_t *sums = t->sums[t->runs[t->r.layout.ulcs[ulc].partition]];
    sums[0] += in->bits & 1;
    sums[1] += !(in->bits & 2);
    sums[2] += in->multi[0] != 0;
    for (uint32_t i = 0; i < TRIAL_MULTI; i++)
        sums[TRIAL_N + i] += in->multi[i];
}

static inline void add_shared_truth(trial *t, uint64_t cycle) {
    tl_smpm_inputs in = {0};
    if (t->is_over)
        return;
    random_inputs(&t->r, RIG_MAX_ULCS, cycle, &in);
    uint32_t tag = tag_of(t, cycle);
    bool has_filter = tag < t->n_shared; // filters are set for the first tenants
    uint64_t *mine = tag == TRIAL_NOBODY + 1 ? t->switching : has_filter ? t->fixed[tag] : t->unassigned;
    uint64_t *const both[] = {mine, t->device};
    for (uint32_t k = 0; k < 2; k++) {
        both[k][0] += in.bits & 1;
        both[k][2] += in.multi[0] != 0;
        for (uint32_t i = 0; i < TRIAL_MULTI; i++)
            both[k][TRIAL_N + i] += in.multi[i];
    }
}

// The line that its ULCs see in a cycle.
static inline bool line_of(const trial *t, uint32_t p, uint64_t cycle) {
    tl_smpm_switched s;
    tl_smpm_switched_get(t->r.model, p, &s);
    if (s.at[2] == 0 || cycle <= s.at[2])
        return !t->has_left[p];
    if (s.at[12] && cycle > s.at[12])
        return !t->has_left[p] && !(t->n_coming[p] && t->comes[p][0] == UINT32_MAX && s.step != TL_SMPM_SNAPSHOT);
    return t->profile == TL_SMPM_LITERAL && t->r.model->core->ccus[p].line && (s.at[4] == 0 || cycle <= s.at[4] + 1 || s.at[9] == 0);
}

// Shared units are flushed before their tenant's block comes to rest: all that left a ULC before
// CS5b.
static inline void note_needed(trial *t, uint64_t cycle) {
    uint64_t back = t->r.config.ulc_period + tl_smpm_frame_cycles(&t->r.config, false);
    for (uint32_t p = 0; p < t->n_partitions; p++) {
        tl_smpm_switched s;
        tl_smpm_switched_get(t->r.model, p, &s);
        if (s.at[TL_SMPM_CS5B] + 1 != cycle || cycle < 256)
            continue;
        t->needed[p] = t->runs[p] < t->n_shared && ctx_id(t->runs[p]) != TL_SMPM_NO_CTX ? t->history[(cycle - back) % 256][t->runs[p]] : 0;
    }
    for (uint32_t tenant = 0; tenant < t->n_shared; tenant++)
        t->history[cycle % 256][tenant] = t->fixed[tenant][0];
}

// Before the model runs `cycle`: which ULCs count in it.
static inline void advance_truth(trial *t, uint64_t cycle) {
    const tl_smpm *m = t->r.model;
    for (uint32_t ulc = 0; ulc < t->r.layout.n_ulcs; ulc++) {
        if (is_shared_ulc(t, ulc))
            continue;
        truth *its = &t->truths[ulc];
        const tl_smpm_collector *c = &m->core->ccus[t->r.layout.ulcs[ulc].ccu];
        bool line = line_of(t, t->r.layout.ulcs[ulc].partition, cycle);
        if (line && !its->is_enabled) {
            *its =
                (truth){.is_enabled = true, .window_cycles = t->r.layout.ulcs[ulc].line * (t->r.config.ulc_period / t->r.config.ccu_ulcs)};
        } else if (!line && its->is_enabled) {
            its->has_request = true;
        }
        if (!its->is_enabled)
            continue;
        if (cycle >= its->busy_until && its->has_request) {
            its->is_enabled = false;
            continue;
        }
        if (its->window_cycles >= t->r.config.ulc_period && c->transfers && cycle >= its->busy_until) {
            its->window_cycles = 0;
            its->busy_until = cycle + tl_smpm_frame_cycles(&t->r.config, false);
        }
        its->window_cycles += c->transfers;
        tl_smpm_inputs in = {0};
        trial_inputs(&t->r, ulc, cycle, &in);
        add_truth(t, ulc, &in);
    }
    if (t->n_shared) {
        note_needed(t, cycle);
        add_shared_truth(t, cycle);
    }
}

//  ---- checks

static inline uint32_t index_of(const trial *t, uint32_t type, uint32_t k) {
    return k < TRIAL_N ? tl_smpm_ctr_index(&t->r.config, type, k)
                       : tl_smpm_residue_index(&t->r.config, t->r.layout.n_types, type, k - TRIAL_N);
}

// Value k of a tenant in a block: k < 3 a count; TRIAL_N + i all units of multi-bit input i.
static inline uint64_t block_value(const trial *t, uint32_t vm, uint32_t ctx, tl_smpm_part part, uint32_t type, uint32_t k) {
    const tl_smpm *m = t->r.model;
    if (k < TRIAL_N)
        return word_of(m, vm, ctx, part, index_of(t, type, k));
    uint64_t pulses = word_of(m, vm, ctx, part, index_of(t, type, TRIAL_N - 1 - (k - TRIAL_N)));
    return m->scale * pulses + (m->exports ? word_of(m, vm, ctx, part, index_of(t, type, k)) : 0);
}

static inline bool is_right(const trial *t, uint64_t value, uint64_t expected, uint32_t k, uint64_t n_sessions) {
    if (k < TRIAL_N || t->r.model->exports)
        return value == expected;
    uint64_t lost = (t->r.model->scale - 1) * t->n_units * n_sessions; // I4 for `drop`
    return value <= expected && expected - value <= lost;
}

// Pulses count as units.
static inline bool is_checked(uint32_t k) { return k != TRIAL_N - 1 && k != TRIAL_N - 2; }

static inline void check_tenant(trial *t, uint32_t tenant) {
    uint32_t vm = vm_id(tenant), first = tenant / (TRIAL_CTXS + 1) * (TRIAL_CTXS + 1);
    for (uint32_t k = 0; k < TRIAL_K; k++) {
        uint64_t of_vm = 0, of_ctxs = 0;
        if (!is_checked(k))
            continue;
        for (uint32_t i = 0; i <= TRIAL_CTXS; i++) {
            of_vm += t->sums[first + i][k];
            if (i < TRIAL_CTXS)
                of_ctxs += block_value(t, vm, ctx_id(first + i), TL_SMPM_CTR, 0, k);
        }
        if (ctx_id(tenant) != TL_SMPM_NO_CTX &&
            !is_right(t, block_value(t, vm, ctx_id(tenant), TL_SMPM_CTR, 0, k), t->sums[tenant][k], k, t->n_switches + 1))
            breach(t, k < TRIAL_N ? I12_CTX : I4_RESIDUES);
        uint64_t value = block_value(t, vm, TL_SMPM_NO_CTX, TL_SMPM_CTR, 0, k);
        if (!is_right(t, value, of_vm, k, t->n_switches + 1))
            breach(t, k < TRIAL_N ? I12_VM : I4_RESIDUES);
        uint64_t no_ctx = t->profile == TL_SMPM_SAFE ? block_value(t, vm, TL_SMPM_NO_CTX, TL_SMPM_NOCTX, 0, k) : value - of_ctxs;
        if (value != of_ctxs + no_ctx || (t->profile == TL_SMPM_SAFE && k < TRIAL_N && no_ctx != t->sums[first + TRIAL_CTXS][k]))
            breach(t, I3_SUM_OF_CTXS);
    }
}

static inline void check_needed(trial *t, uint32_t p) { // R4
    uint32_t tenant = t->runs[p];
    if (tenant >= t->n_shared || ctx_id(tenant) == TL_SMPM_NO_CTX || t->profile != TL_SMPM_SAFE)
        return;
    uint64_t value = block_value(t, vm_id(tenant), ctx_id(tenant), TL_SMPM_CTR, 1, 0) +
                     block_value(t, vm_id(tenant), ctx_id(tenant), TL_SMPM_LATE, 1, 0);
    if (value < t->needed[p])
        breach(t, R4_COMPLETE);
}

// Hash of all that must not change while a context does not run.
static inline uint64_t hash_of(const trial *t, uint32_t tenant) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < t->r.model->n_metrics; i++)
        hash = mix(hash ^ word_of(t->r.model, vm_id(tenant), ctx_id(tenant), TL_SMPM_CTR, i));
    return hash;
}

static inline void check_conserved(trial *t) { // I8, on the way to channel 0
    const tl_smpm *m = t->r.model;
    for (uint32_t k = 0; k < TRIAL_K; k++) {
        uint64_t expected = 0;
        if (!is_checked(k) || (k >= TRIAL_N && !m->exports))
            continue;
        for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++)
            expected += t->sums[tenant][k];
        uint64_t value = vm0_word(m, TL_SMPM_CTR, index_of(t, 0, k));
        if (k < TRIAL_N) {
            value += tl_smpm_in_flight(m, 0, k);
        } else {
            uint32_t ctr = TRIAL_N - 1 - (k - TRIAL_N);
            value += tl_smpm_in_flight(m, 0, TL_SMPM_MAX_CTRS + k - TRIAL_N) +
                     m->scale * (vm0_word(m, TL_SMPM_CTR, index_of(t, 0, ctr)) + tl_smpm_in_flight(m, 0, ctr));
        }
        if (value != expected)
            breach(t, I8_CONSERVED);
    }
}

static inline void check_end(trial *t) { // everything has come to rest
    const tl_smpm *m = t->r.model;
    tl_smpm_counters counters;
    for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++)
        check_tenant(t, tenant);
    for (uint32_t k = 0; k < TRIAL_K; k++) {
        uint64_t all = 0, of_vms = 0;
        if (!is_checked(k))
            continue;
        for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++) {
            all += t->sums[tenant][k];
            if (ctx_id(tenant) == TL_SMPM_NO_CTX)
                of_vms += block_value(t, vm_id(tenant), TL_SMPM_NO_CTX, TL_SMPM_CTR, 0, k);
        }
        uint64_t value = block_value(t, TL_SMPM_NO_VM, TL_SMPM_NO_CTX, TL_SMPM_CTR, 0, k);
        if (!is_right(t, value, all, k, t->n_switches + 9) || value != block_value(t, TL_SMPM_NO_VM, 0, TL_SMPM_CTR, 0, k))
            breach(t, I1_DEVICE);
        if (value != of_vms)
            breach(t, I2_SUM_OF_VMS);
        if (t->n_shared == 0 || k == 1)
            continue;
        for (uint32_t tenant = 0; tenant < t->n_shared && t->profile == TL_SMPM_SAFE; tenant++) {
            uint32_t vm = vm_id(tenant), ctx = ctx_id(tenant);
            uint64_t got = ctx == TL_SMPM_NO_CTX ? block_value(t, vm, ctx, TL_SMPM_NOCTX, 1, k)
                                                 : block_value(t, vm, ctx, TL_SMPM_CTR, 1, k) + block_value(t, vm, ctx, TL_SMPM_LATE, 1, k);
            if (k < TRIAL_N && got != t->fixed[tenant][k])
                breach(t, I12_CTX);
        }
        uint64_t fixed = 0, vms = 0, late = 0;
        for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++) {
            fixed += t->fixed[tenant][k];
            if (ctx_id(tenant) == TL_SMPM_NO_CTX)
                vms += block_value(t, vm_id(tenant), TL_SMPM_NO_CTX, TL_SMPM_CTR, 1, k);
            if (ctx_id(tenant) == TL_SMPM_NO_CTX)
                late += block_value(t, vm_id(tenant), TL_SMPM_NO_CTX, TL_SMPM_LATE, 1, k);
        }
        if (k >= TRIAL_N)
            continue; // residues of shared units stay in them
        uint64_t total = vm0_word(m, TL_SMPM_CTR, index_of(t, 1, k)), to_u = vm0_word(m, TL_SMPM_UNASSIGNED, index_of(t, 1, k));
        uint64_t to_switch = vm0_word(m, TL_SMPM_SWITCH, index_of(t, 1, k));
        uint64_t expected_u = t->unassigned[k] + (t->profile == TL_SMPM_SAFE ? 0 : fixed);
        if (to_u != expected_u || to_switch != t->switching[k] || total != fixed + t->unassigned[k] + t->switching[k])
            breach(t, I1_DEVICE);
        if (total != vms + late + to_u + to_switch || vm0_word(m, TL_SMPM_CTR, index_of(t, 2, k)) != t->device[k])
            breach(t, I2_SUM_OF_VMS);
        // Section 13: x.device is the sum of x.filtered and of the traffic that no filter matches.
        if (t->device[k] != total)
            breach(t, I2_SUM_OF_VMS);
    }
    tl_smpm_counters_get(m, &counters);
    if (counters.foreign)
        breach(t, I7_FOREIGN);
    if (counters.bad_frames || counters.bad_records || counters.misroutes)
        breach(t, FLAGS);
}

//  ---- the run

// A shared unit: filters of the first tenants, the rest, the traffic of switches; and the whole
// device.
static inline void add_shared_unit(trial *t) {
    tl_smpm_layout *l = &t->r.layout;
    uint32_t n_rows = tl_smpm_ctr_rows(&t->r.config), n_residue_rows = tl_smpm_residue_rows(&t->r.config), n = t->n_shared + 3;
    uint8_t ccu = (uint8_t)l->n_ccus++;
    l->types[1] = l->types[2] = l->types[0];
    l->types[1].ctrs[1] = l->types[2].ctrs[1] = (tl_smpm_ctr){.feed = TL_SMPM_FEED_NONE};
    l->n_types = 3;
    l->ccus[ccu] = (tl_smpm_ccu){.partition = TL_SMPM_SHARED, .n_ulcs = (uint8_t)n, .n_rows = (uint16_t)(n * (n_rows + n_residue_rows))};
    for (uint32_t i = 0; i < n; i++) {
        uint16_t ulc = (uint16_t)l->n_ulcs++;
        tl_smpm_ulc *u = &l->ulcs[ulc];
        *u = (tl_smpm_ulc){.unit = (uint16_t)(l->n_units + (i == n - 1)),
                           .type = i == n - 1 ? 2 : 1,
                           .partition = TL_SMPM_SHARED,
                           .ccu = ccu,
                           .line = (uint8_t)i};
        u->first_row = (uint16_t)(i * n_rows);
        u->first_residue_row = (uint16_t)(n * n_rows + i * n_residue_rows);
        u->filter =
            (tl_smpm_filter){.kind = TL_SMPM_FILTER_MATCH, .vm = (uint16_t)vm_id(i), .ctx = (uint16_t)ctx_id(i), .engine = TL_SMPM_ANY};
        u->route = (tl_smpm_route){
            .target = TL_SMPM_TO_FIXED, .channel = l->partitions[i / TRIAL_TENANTS % t->n_partitions].channel, .to_d = true};
        if (i == t->n_shared)
            u->filter.kind = TL_SMPM_FILTER_REST;
        if (i == t->n_shared + 1)
            u->filter = (tl_smpm_filter){.kind = TL_SMPM_FILTER_MATCH, .vm = TL_SMPM_ANY, .ctx = TL_SMPM_CTX_SWITCH, .engine = TL_SMPM_ANY};
        if (i == t->n_shared + 2)
            u->filter.kind = TL_SMPM_FILTER_ALL;
        if (i >= t->n_shared)
            u->route = (tl_smpm_route){.target = i == t->n_shared + 1 ? TL_SMPM_TO_SWITCH : TL_SMPM_TO_UNASSIGNED, .to_d = true};
        l->ccus[ccu].ulcs[i] = ulc;
    }
    l->n_units += 2;
}

static inline void see_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    trial *t = ctx;
    (void)begin_cycle;
    for (uint32_t p = 0; p < t->n_partitions; p++)
        if (t->r.layout.partitions[p].channel == channel)
            t->last_commit[p] = end_cycle;
}

static inline void trial_open(trial *t, tl_smpm_profile profile, uint64_t seed, uint32_t mutations) {
    rig *r = &t->r;
    t->profile = profile;
    t->random = seed << 32;
    r->seed = seed;
    r->user = t;
    r->inputs = trial_inputs;
    // A test may ask for others.
    const uint32_t depth = r->config.rcb_depth, thr = r->config.ccu_thr;
    r->config = rig_config(profile, TRIAL_N, 6, 40, 1);
    r->config.mb_inputs = TRIAL_MULTI;
    r->config.mb_max = 4;
    r->config.mb_acc_bits = 3;
    r->config.ccu_ulcs = 20;
    r->config.tb_period = t->n_shared ? 8000 : 1500;
    r->config.shared_slot = 0;
    r->config.rcb_depth = depth ? depth : 8;
    r->config.rcb_shared_depth = 120;
    r->config.ccu_thr = thr;
    r->config.manager_cycles = 2;
    r->config.save_cycles = r->config.load_cycles = 3;
    r->config.snapshot_cycles = 500;
    rig_layout(r, t->n_partitions, t->n_units);
    r->layout.types[0].ctrs[1].counts_low = true;
    r->layout.types[0].ctrs[2] = (tl_smpm_ctr){.feed = TL_SMPM_FEED_NONZERO, .input = 0};
    if (t->n_shared)
        add_shared_unit(t);
    MUST(tl_smpm_layout_resolve(&r->config, &r->layout, &err));
    r->plan.is_reference = true;
    r->plan.n_blocks = TRIAL_MAX_TENANTS;
    r->plan.observer = (tl_smpm_observer){.ctx = t, .commit = see_commit};
    r->plan.test = (tl_smpm_test){.ctx = t, .mutations = mutations, .tenants = trial_tenants, .owners = trial_owners};
    if (t->has_no_provenance)
        r->plan.test.tenants = NULL;
    if (t->stall_percent)
        r->plan.test.fault = trial_fault;
    rig_open(r);
    for (uint32_t tenant = 0; tenant < t->n_partitions * TRIAL_TENANTS; tenant++) {
        if (tenant % (TRIAL_CTXS + 1) == 0)
            MUST(tl_smpm_vm_new(r->model, vm_id(tenant), &err));
        if (ctx_id(tenant) != TL_SMPM_NO_CTX) {
            MUST(tl_smpm_ctx_new(r->model, vm_id(tenant), ctx_id(tenant), &err));
            t->at_rest[tenant] = hash_of(t, tenant);
        }
    }
    if (t->n_shared)
        MUST(tl_smpm_start(r->model, TL_SMPM_SHARED, 0, 0, &err));
    for (uint32_t p = 0; p < t->n_partitions; p++) {
        t->runs[p] = tenant_of(p, 0, 0);
        t->wake[p] = 50 + 7 * p;
        MUST(tl_smpm_start(r->model, p, vm_id(t->runs[p]), ctx_id(t->runs[p]), &err));
    }
}

static inline void ask_switch(trial *t, uint32_t p, uint32_t tenant) {
    MUST(tl_smpm_switch_to(t->r.model, p, tenant == UINT32_MAX ? TL_SMPM_NO_VM : vm_id(tenant), tenant == UINT32_MAX ? 0 : ctx_id(tenant),
                           &err));
    t->comes[p][t->n_coming[p]++] = tenant;
    t->since[p] = tl_smpm_now(t->r.model);
}

static inline void trial_commands(trial *t, uint64_t n_switches) {
    tl_smpm *m = t->r.model;
    for (uint32_t p = 0; p < t->n_partitions; p++) {
        if (t->n_coming[p] || t->wake[p] > tl_smpm_now(m) || t->n_switches >= n_switches)
            continue;
        uint32_t dice = below(&t->random, 16);
        if (dice == 0) {
            tl_smpm_trigger(m, p);
            t->wake[p] += below(&t->random, 20);
        } else if (dice == 1) {
            tl_smpm_snapshot(m, p);
            t->wake[p] += below(&t->random, 200);
        } else {
            ask_switch(t, p, tenant_of(p, below(&t->random, TRIAL_VMS), below(&t->random, TRIAL_CTXS + 1)));
            if (dice == 2) // F-09
                ask_switch(t, p, tenant_of(p, below(&t->random, TRIAL_VMS), below(&t->random, TRIAL_CTXS + 1)));
        }
    }
}

// After a cycle: switches that ended.
static inline void trial_settle(trial *t) {
    const tl_smpm *m = t->r.model;
    for (uint32_t p = 0; p < t->n_partitions; p++) {
        tl_smpm_switched s;
        tl_smpm_switched_get(m, p, &s);
        if (t->n_coming[p] && tl_smpm_now(m) - t->since[p] > 60000 + 8 * (uint64_t)t->r.config.shared_slot) {
            breach(t, ENDS);
            t->n_coming[p] = 0;
            continue;
        }
        if (s.n_done == t->n_done[p])
            continue;
        t->n_done[p] = s.n_done;
        t->n_switches++;
        uint32_t came = t->comes[p][0];
        memmove(t->comes[p], &t->comes[p][1], sizeof t->comes[p] - sizeof t->comes[p][0]);
        t->n_coming[p]--;
        t->since[p] = tl_smpm_now(m);
        t->wake[p] = tl_smpm_now(m) + (t->n_switches % 29 == 0 ? 3 * t->r.config.tb_period : below(&t->random, 150));
        t->last_commit[p] = tl_smpm_now(m);
        if (came == UINT32_MAX) {
            check_tenant(t, t->runs[p]);
            t->has_left[p] = true;
        }
    }
}

// Tenants change as the channel does (CS10). Truth between CS10 and CS12 is nobody's.
static inline void trial_run(trial *t, uint64_t n_switches) {
    tl_smpm *m = t->r.model;
    bool has_stopped = false;
    uint64_t rest_until = TL_SMPM_NEVER;
    while (tl_smpm_now(m) < rest_until && t->fails[ENDS] == 0) {
        uint64_t now = tl_smpm_now(m);
        trial_commands(t, n_switches);
        for (uint32_t p = 0; p < t->n_partitions; p++) { // who counts from now on
            tl_smpm_switched s;
            tl_smpm_switched_get(m, p, &s);
            if (t->n_coming[p] && t->comes[p][0] != UINT32_MAX && s.at[12] && s.at[12] + 1 == now) {
                check_tenant(t, t->runs[p]);
                check_needed(t, p);
                if (ctx_id(t->runs[p]) != TL_SMPM_NO_CTX)
                    t->at_rest[t->runs[p]] = hash_of(t, t->runs[p]);
                t->runs[p] = t->comes[p][0];
                if (ctx_id(t->runs[p]) != TL_SMPM_NO_CTX && t->at_rest[t->runs[p]] != hash_of(t, t->runs[p]))
                    breach(t, I6_AT_REST);
            }
            if (t->n_coming[p] == 0 && !has_stopped && now > t->last_commit[p] + 2 * t->r.config.tb_period)
                breach(t, PERIODIC);
        }
        advance_truth(t, now);
        tl_smpm_run(m, now + 1);
        if (t->is_each_cycle_checked)
            check_conserved(t);
        trial_settle(t);
        bool is_idle = t->n_switches >= n_switches;
        for (uint32_t p = 0; p < t->n_partitions; p++)
            is_idle &= t->n_coming[p] == 0;
        if (is_idle && !has_stopped) {
            has_stopped = t->is_over = true;
            for (uint32_t p = 0; p < t->n_partitions; p++)
                ask_switch(t, p, UINT32_MAX);
        } else if (is_idle && rest_until == TL_SMPM_NEVER) {
            rest_until = tl_smpm_now(m) + 4 * t->r.config.tb_period;
        }
    }
    check_end(t);
}

static inline void print_fails(const trial *t) {
    for (uint32_t i = 0; i < N_INVARIANTS; i++)
        if (t->fails[i])
            print_message("%s failed %llu times, first in cycle %llu\n", invariant_names[i], (unsigned long long)t->fails[i],
                          (unsigned long long)t->first_fail[i]);
}

#endif
