// SPDX-License-Identifier: MIT
// What tenants can learn from each other, L1 to L7. Each experiment has a control that leaks, so
// that a result of nothing means something. Rates assume a clock of 1 GHz.
#include <math.h>
#include <stdio.h>

#include "pmu/smpm/test_rig.h"

enum {
    VM_A = 1,
    VM_B = 2,
    PART_A = 0,
    PART_B = 1,
    CHANNEL_A = 2, // rig_layout numbers channels backwards
    N_CTRS = 8,
};

// ---- two tenants, one on each of two partitions

typedef struct pair {
    rig r;
    uint32_t program_b; // what B runs: 0 nothing, 1 everything, 2 random
    uint64_t hash;      // of all that A can see
    uint64_t n_seen;
} pair;

static void note(pair *p, uint64_t what) {
    p->hash = mix(p->hash ^ what);
    p->n_seen++;
}

static void pair_inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    const pair *p = r->user;
    if (r->layout.ulcs[ulc].partition == PART_A || p->program_b == 2) {
        random_inputs(r, ulc, cycle, ret_inputs);
    } else if (p->program_b == 1) {
        ret_inputs->bits = UINT64_MAX;
        ret_inputs->multi[0] = ret_inputs->multi[1] = (uint8_t)r->config.mb_max;
    }
}

static void see_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    pair *p = ctx;
    if (channel != CHANNEL_A)
        return;
    note(p, cycle);
    note(p, source << 8 | fate);
    note(p, record->header);
    for (uint32_t i = 0; i < TL_SMPM_REC_CTRS; i++)
        note(p, record->lanes[i]);
}

static void see_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    pair *p = ctx;
    if (channel != CHANNEL_A)
        return;
    note(p, begin_cycle);
    note(p, end_cycle);
}

static void see_block(pair *p, uint32_t vm, uint32_t ctx) {
    uint32_t n_words = 0;
    const uint64_t *words = tl_smpm_block_words(p->r.model, tl_smpm_block_of(p->r.model, vm, ctx), &n_words);
    note(p, n_words);
    for (uint32_t i = 0; i < n_words; i++)
        note(p, words[i]);
}

static uint64_t see_switch(pair *p, uint32_t partition) {
    tl_smpm_switched s;
    tl_smpm_switched_get(p->r.model, partition, &s);
    assert_int_equal(s.step, TL_SMPM_IDLE);
    for (uint32_t i = 0; i < 15; i++)
        note(p, s.at[i]);
    return s.at[TL_SMPM_CS13] - s.at[TL_SMPM_CS2];
}

static void open_pair(pair *p, tl_smpm_profile profile, uint32_t program_b) {
    memset(p, 0, sizeof *p);
    p->r.config = rig_config(profile, N_CTRS, 9, 511, 1);
    p->r.config.mb_inputs = 2;
    p->r.config.tb_period = 16384;
    p->r.config.snapshot_cycles = 1000;
    p->program_b = program_b;
    p->r.seed = 77;
    p->r.user = p;
    p->r.inputs = pair_inputs;
    p->r.plan.observer = (tl_smpm_observer){.ctx = p, .record = see_record, .commit = see_commit};
    rig_layout(&p->r, 2, 3);
    rig_open(&p->r);
    for (uint32_t vm = VM_A; vm <= VM_B; vm++) {
        MUST(tl_smpm_vm_new(p->r.model, vm, &err));
        for (uint32_t ctx = 1; ctx <= 2; ctx++)
            MUST(tl_smpm_ctx_new(p->r.model, vm, ctx, &err));
        MUST(tl_smpm_start(p->r.model, vm - 1, vm, 1, &err));
    }
}

enum { STEP_CYCLES = 20000, N_STEPS = 24 };

// A switches and takes snapshots on a schedule of its own. Activity 0: B does nothing. 1: B switches
// with A. 2: B switches and takes snapshots at random.
static void run_pair(pair *p, tl_smpm_profile profile, uint32_t program_b, uint32_t activity_b) {
    uint64_t random = 5;
    open_pair(p, profile, program_b);
    for (uint32_t i = 1; i <= N_STEPS; i++) {
        const uint64_t t = (uint64_t)i * STEP_CYCLES;
        for (uint32_t k = 0; activity_b == 2 && k < 3; k++) {
            tl_smpm_run(p->r.model, t - STEP_CYCLES + 3000 + k * 5000 + below(&random, 4000));
            if (below(&random, 2))
                (void)tl_smpm_snapshot(p->r.model, PART_B);
            else
                MUST(tl_smpm_switch_to(p->r.model, PART_B, VM_B, 1 + below(&random, 2), &err));
        }
        tl_smpm_run(p->r.model, t);
        if (i > 1)
            (void)see_switch(p, PART_A);
        if (i % 3 == 0)
            note(p, tl_smpm_snapshot(p->r.model, PART_A));
        else
            MUST(tl_smpm_switch_to(p->r.model, PART_A, VM_A, 1 + i % 2, &err));
        if (activity_b == 1)
            MUST(tl_smpm_switch_to(p->r.model, PART_B, VM_B, 1 + i % 2, &err));
    }
    tl_smpm_run(p->r.model, (uint64_t)(N_STEPS + 1) * STEP_CYCLES);
    see_block(p, VM_A, TL_SMPM_NO_CTX);
    see_block(p, VM_A, 1);
    see_block(p, VM_A, 2);
    rig_close(&p->r);
}

// L1. Records, commits, steps of switches, and blocks of A, all with their cycles.
static void test_l1_nothing_that_a_sees_depends_on_b(void **state) {
    (void)state;
    static pair quiet, other;
    run_pair(&quiet, TL_SMPM_SAFE, 0, 0);
    assert_true(quiet.n_seen > 10000);
    for (uint32_t program = 0; program < 3; program++)
        for (uint32_t activity = 0; activity < 3; activity++) {
            run_pair(&other, TL_SMPM_SAFE, program, activity);
            assert_int_equal(other.n_seen, quiet.n_seen);
            assert_int_equal(other.hash, quiet.hash);
        }
    run_pair(&quiet, TL_SMPM_LITERAL, 0, 0); // the control: B's switches are visible
    run_pair(&other, TL_SMPM_LITERAL, 0, 1);
    assert_int_not_equal(other.hash, quiet.hash);
}

// ---- capacity

static double plogp(double p) { return p > 0 ? p * log2(p) : 0; }

// Mutual information of a bit and an observation, in bits, over n trials.
static double information(const bool *sent, const uint64_t *seen, uint32_t n) {
    double h = 0, h_joint = 0, ones = 0;
    for (uint32_t i = 0; i < n; i++)
        ones += sent[i];
    const double h_sent = -plogp(ones / n) - plogp(1 - ones / n);
    for (uint32_t i = 0; i < n; i++) {
        bool is_first = true;
        double count = 0, with[2] = {0, 0};
        for (uint32_t k = 0; k < n; k++) {
            is_first &= !(k < i && seen[k] == seen[i]);
            count += seen[k] == seen[i];
            with[sent[k]] += seen[k] == seen[i];
        }
        if (!is_first)
            continue;
        h -= plogp(count / n);
        h_joint -= plogp(with[0] / n) + plogp(with[1] / n);
    }
    return h_sent + h - h_joint;
}

static void test_information_is_measured_in_bits(void **state) {
    (void)state;
    const bool sent[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    const uint64_t same[8] = {7, 7, 7, 7, 7, 7, 7, 7}, all[8] = {3, 9, 3, 9, 3, 9, 3, 9}, half[8] = {1, 2, 1, 2, 5, 5, 5, 5};
    assert_true(fabs(information(sent, same, 8)) < 1e-9);
    assert_true(fabs(information(sent, all, 8) - 1) < 1e-9);
    assert_true(fabs(information(sent, half, 8) - 0.5) < 1e-9);
}

// ---- L2: residues

typedef struct residue_rig {
    rig r;
    uint64_t events[2]; // cycles in which the multi-bit input tells `units`
    uint8_t units[2];
} residue_rig;

static void residue_inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    const residue_rig *x = r->user;
    (void)ulc;
    for (uint32_t i = 0; i < 2; i++)
        if (cycle == x->events[i])
            ret_inputs->multi[0] = x->units[i];
}

// Context 1 leaves 31 units in the accumulator or none. Context 2 adds 16 units and sees a pulse or
// none. Context 1 reckons what context 2 left from what it sent before. Returns the bits that a
// pair of switches carries.
static double residue_capacity(bool is_kept) {
    enum { N = 32 };
    bool sent[N];
    uint64_t seen[N], random = 9;
    static residue_rig x;
    memset(&x, 0, sizeof x);
    x.r.config = rig_config(is_kept ? TL_SMPM_LITERAL : TL_SMPM_SAFE, 2, 9, 511, 1);
    x.r.config.mb_inputs = 1;
    x.r.config.residue_policy = is_kept ? TL_SMPM_DROP : TL_SMPM_EXPORT;
    x.r.plan.is_reference = true;
    x.r.plan.test.mutations = is_kept ? 1u << TL_SMPM_M_RES : 0;
    x.r.user = &x;
    x.r.inputs = residue_inputs;
    rig_layout(&x.r, 1, 1);
    rig_open(&x.r);
    tl_smpm *m = x.r.model;
    MUST(tl_smpm_vm_new(m, VM_A, &err));
    MUST(tl_smpm_ctx_new(m, VM_A, 1, &err));
    MUST(tl_smpm_ctx_new(m, VM_A, 2, &err));
    MUST(tl_smpm_start(m, 0, VM_A, 1, &err));
    uint64_t before = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < N; i++) {
        sent[i] = below(&random, 2);
        x.events[0] = tl_smpm_now(m) + 20;
        x.units[0] = (uint8_t)(((sent[i] ? 31 : 0) - left) & 31);
        left = ((sent[i] ? 31 : 0) + 16) & 31;
        tl_smpm_run(m, tl_smpm_now(m) + 100);
        MUST(tl_smpm_switch_to(m, 0, VM_A, 2, &err));
        run_switch(m, 0, 100000);
        x.events[1] = tl_smpm_now(m) + 20;
        x.units[1] = 16;
        tl_smpm_run(m, tl_smpm_now(m) + 100);
        MUST(tl_smpm_switch_to(m, 0, VM_A, 1, &err));
        run_switch(m, 0, 100000);
        const uint64_t pulses = word_of(m, VM_A, 2, TL_SMPM_CTR, 1);
        seen[i] = pulses - before;
        before = pulses;
    }
    rig_close(&x.r);
    return information(sent, seen, N);
}

static void test_l2_a_switch_carries_no_residue(void **state) {
    (void)state;
    const double kept = residue_capacity(true), cleared = residue_capacity(false);
    print_message("L2: residues carry %.2f bits in two switches if they stay, %.2f in SAFE\n", kept, cleared);
    assert_true(kept > 0.9);
    assert_true(cleared == 0);
}

// ---- L3: time of a switch

// B switches together with A or not. Returns the bits that A learns from the time of its own switch.
static double switch_capacity(tl_smpm_profile profile, tl_smpm_arb arb, uint64_t *ret_fast, uint64_t *ret_slow) {
    enum { N = 48 };
    bool sent[N];
    uint64_t seen[N], random = 21;
    static pair p;
    open_pair(&p, profile, 2);
    rig_close(&p.r);
    p.r.config.arb = arb;
    memset(p.r.totals, 0, sizeof p.r.totals);
    p.r.arena = (tl_arena){0};
    rig_open(&p.r);
    tl_smpm *m = p.r.model;
    for (uint32_t vm = VM_A; vm <= VM_B; vm++) {
        MUST(tl_smpm_vm_new(m, vm, &err));
        for (uint32_t ctx = 1; ctx <= 2; ctx++)
            MUST(tl_smpm_ctx_new(m, vm, ctx, &err));
        MUST(tl_smpm_start(m, vm - 1, vm, 1, &err));
    }
    *ret_fast = UINT64_MAX;
    *ret_slow = 0;
    for (uint32_t i = 0; i < N; i++) {
        tl_smpm_run(m, (uint64_t)(i + 1) * STEP_CYCLES);
        sent[i] = below(&random, 2);
        MUST(tl_smpm_switch_to(m, PART_A, VM_A, 1 + i % 2, &err));
        if (sent[i])
            MUST(tl_smpm_switch_to(m, PART_B, VM_B, 1 + i % 2, &err));
        tl_smpm_run(m, (uint64_t)(i + 1) * STEP_CYCLES + STEP_CYCLES / 2);
        seen[i] = see_switch(&p, PART_A);
        *ret_fast = seen[i] < *ret_fast ? seen[i] : *ret_fast;
        *ret_slow = seen[i] > *ret_slow ? seen[i] : *ret_slow;
    }
    rig_close(&p.r);
    return information(sent, seen, N);
}

static void test_l3_fixed_slots_carry_nothing_in_the_time_of_a_switch(void **state) {
    (void)state;
    uint64_t fast, slow;
    const double symbols = 1e9 / STEP_CYCLES, turns = switch_capacity(TL_SMPM_LITERAL, TL_SMPM_ROUND_ROBIN, &fast, &slow);
    print_message("L3: round robin, %llu to %llu cycles: %.0f bit/s at %.0f switches/s\n", (unsigned long long)fast,
                  (unsigned long long)slow, turns * symbols, symbols);
    assert_true(turns > 0.5);
    const double slots = switch_capacity(TL_SMPM_SAFE, TL_SMPM_TDM, &fast, &slow);
    print_message("L3: fixed slots, %llu to %llu cycles: %.0f bit/s\n", (unsigned long long)fast, (unsigned long long)slow,
                  slots * symbols);
    // What is left is the estimate of a finite sample: the times are the same whatever B does.
    uint64_t with[2][2];
    for (uint32_t program = 0; program < 2; program++) {
        static pair p;
        run_pair(&p, TL_SMPM_SAFE, 2, program);
        with[program][0] = p.hash;
        with[program][1] = p.n_seen;
    }
    assert_memory_equal(with[0], with[1], sizeof with[0]);
}
static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_l1_nothing_that_a_sees_depends_on_b),
    cmocka_unit_test(test_information_is_measured_in_bits),
    cmocka_unit_test(test_l2_a_switch_carries_no_residue),
    cmocka_unit_test(test_l3_fixed_slots_carry_nothing_in_the_time_of_a_switch),
};
TL_TEST_MAIN(tests)
