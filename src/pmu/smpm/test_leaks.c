// SPDX-License-Identifier: MIT
// Leaks between tenants, L1 to L7. Each experiment has a control that leaks, so
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
    start_two_vms(p->r.model);
}

enum { STEP_CYCLES = 20000, N_STEPS = 15 };

// A switches and takes snapshots on a schedule of its own. Activity 0: B does nothing. 1: B
// switches with A. 2: B switches and takes snapshots at random.
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
    assert_true(quiet.n_seen > 1000);
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

enum { N_SYMBOLS = 48 };

// B switches together with A where a bit is sent. Returns how long each switch of A took.
static void time_switches(tl_smpm_profile profile, const bool *sent, uint64_t *ret_cycles) {
    static pair p;
    open_pair(&p, profile, 2);
    tl_smpm *m = p.r.model;
    for (uint32_t i = 0; i < N_SYMBOLS; i++) {
        tl_smpm_run(m, (uint64_t)(i + 1) * STEP_CYCLES);
        MUST(tl_smpm_switch_to(m, PART_A, VM_A, 1 + i % 2, &err));
        if (sent[i])
            MUST(tl_smpm_switch_to(m, PART_B, VM_B, 1 + i % 2, &err));
        tl_smpm_run(m, (uint64_t)(i + 1) * STEP_CYCLES + STEP_CYCLES / 2);
        ret_cycles[i] = see_switch(&p, PART_A);
    }
    rig_close(&p.r);
}

// A knows how long its switches take when nobody disturbs them, and sees what is added.
static double switch_capacity(tl_smpm_profile profile) {
    static const bool quiet[N_SYMBOLS];
    bool sent[N_SYMBOLS];
    uint64_t seen[N_SYMBOLS], alone[N_SYMBOLS], random = 21;
    for (uint32_t i = 0; i < N_SYMBOLS; i++)
        sent[i] = below(&random, 2);
    time_switches(profile, quiet, alone);
    time_switches(profile, sent, seen);
    for (uint32_t i = 0; i < N_SYMBOLS; i++)
        seen[i] -= alone[i];
    return information(sent, seen, N_SYMBOLS);
}

static void test_l3_fixed_slots_carry_nothing_in_the_time_of_a_switch(void **state) {
    (void)state;
    const double symbols = 1e9 / STEP_CYCLES, turns = switch_capacity(TL_SMPM_LITERAL), slots = switch_capacity(TL_SMPM_SAFE);
    print_message("L3: at %.0f switches/s round robin carries %.0f bit/s, fixed slots %.0f\n", symbols, turns * symbols,
                  fabs(slots * symbols));
    assert_true(turns > 0.9);
    assert_true(fabs(slots) < 1e-9);
}

// One partition sends symbols to another by its flushes of shared units. Partitions flush shared
// units in turn.
enum { N_SHARED_SYMBOLS = 24 };

static void full_totals(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals) {
    (void)ctx;
    memset(ret_totals, 0, sizeof *ret_totals);
    for (uint32_t i = 0; i < TL_SMPM_MAX_CTRS; i++)
        ret_totals->bits[i] = cycle / (ulc + 1);
}

static void time_shared_switches(tl_smpm_profile profile, const bool *sent, uint64_t *ret_cycles) {
    static const tl_smpm_chip chip = {.n_partitions = 2, .n_harts = 1, .n_slices = 1, .n_mem_channels = 1, .has_shared = true};
    static tl_smpm_layout layout;
    tl_arena arena = {0};
    tl_smpm *m;
    tl_smpm_plan plan = {.config = tl_smpm_config_default(profile), .layout = &layout, .n_blocks = 8, .host = {.totals = full_totals}};
    plan.config.filters = 2;
    MUST(tl_smpm_layout_new(&plan.config, &chip, &layout, &err));
    MUST(tl_smpm_layout_resolve(&plan.config, &layout, &err));
    MUST(tl_smpm_new(&plan, &arena, &m, &err));
    start_two_vms(m);
    MUST(tl_smpm_start(m, TL_SMPM_SHARED, 0, 0, &err));
    const uint64_t step = 5 * plan.config.shared_slot + 7; // every phase of the turns
    for (uint32_t i = 0; i < N_SHARED_SYMBOLS; i++) {
        tl_smpm_switched s;
        tl_smpm_run(m, (i + 1) * step);
        if (sent[i]) // B comes first where turns are by request
            MUST(tl_smpm_switch_to(m, PART_B, VM_B, 1 + i % 2, &err));
        MUST(tl_smpm_switch_to(m, PART_A, VM_A, 1 + i % 2, &err));
        tl_smpm_run(m, (i + 2) * step - 1);
        tl_smpm_switched_get(m, PART_A, &s);
        assert_int_equal(s.step, TL_SMPM_IDLE);
        ret_cycles[i] = s.at[TL_SMPM_CS13] - s.at[TL_SMPM_CS2];
    }
    tl_arena_done(&arena);
}

static double shared_capacity(tl_smpm_profile profile, uint64_t *ret_longest) {
    static const bool quiet[N_SHARED_SYMBOLS];
    bool sent[N_SHARED_SYMBOLS];
    uint64_t seen[N_SHARED_SYMBOLS], alone[N_SHARED_SYMBOLS], random = 6;
    for (uint32_t i = 0; i < N_SHARED_SYMBOLS; i++)
        sent[i] = below(&random, 2);
    time_shared_switches(profile, quiet, alone);
    time_shared_switches(profile, sent, seen);
    *ret_longest = 0;
    for (uint32_t i = 0; i < N_SHARED_SYMBOLS; i++) {
        *ret_longest = seen[i] > *ret_longest ? seen[i] : *ret_longest;
        seen[i] -= alone[i];
    }
    return information(sent, seen, N_SHARED_SYMBOLS);
}

static void test_l3_flushes_of_shared_units_carry_nothing_in_fixed_slots(void **state) {
    (void)state;
    uint64_t longest_turns, longest_slots;
    const double turns = shared_capacity(TL_SMPM_LITERAL, &longest_turns), slots = shared_capacity(TL_SMPM_SAFE, &longest_slots);
    print_message("L3: with shared units a switch carries %.2f bits by request (at most %llu cycles), %.2f in fixed slots (%llu)\n", turns,
                  (unsigned long long)longest_turns, fabs(slots), (unsigned long long)longest_slots);
    assert_true(turns > 0.5);
    assert_true(fabs(slots) < 1e-9);
}

// ---- L4: differencing

enum { MAX_READABLE = 128 };

// All counts of a block that its reader may read.
static uint32_t read_block(const tl_smpm *m, uint32_t vm, uint32_t ctx, uint64_t *values) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_CTRS + 2; i++)
        values[n++] = word_of(m, vm, ctx, TL_SMPM_CTR, i);
    return n;
}

// Of all values, sums and differences of two: how many are one of the secrets.
static uint32_t count_hits(const uint64_t *values, uint32_t n, const uint64_t *secrets, uint32_t n_secrets) {
    uint32_t n_hits = 0;
    for (uint32_t s = 0; s < n_secrets; s++) {
        bool is_hit = false;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k <= n; k++) {
                const uint64_t other = k < n ? values[k] : 0;
                is_hit |= values[i] + other == secrets[s] || values[i] - other == secrets[s];
            }
        n_hits += is_hit;
    }
    return n_hits;
}

static void test_l4_differences_of_what_a_reads_do_not_tell_b(void **state) {
    (void)state;
    static pair p;
    uint64_t readable[MAX_READABLE], secrets[N_CTRS];
    open_pair(&p, TL_SMPM_SAFE, 2);
    tl_smpm *m = p.r.model;
    tl_smpm_run(m, 300000);
    for (uint32_t partition = 0; partition < 2; partition++)
        MUST(tl_smpm_switch_to(m, partition, partition + 1, 2, &err));
    tl_smpm_run(m, 400000);
    for (uint32_t partition = 0; partition < 2; partition++)
        // No context counts any more.
        MUST(tl_smpm_switch_to(m, partition, TL_SMPM_NO_VM, TL_SMPM_NO_CTX, &err));
    tl_smpm_run(m, 500000);
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_CTRS; i++) {
        secrets[i] = word_of(m, VM_B, TL_SMPM_NO_CTX, TL_SMPM_CTR, i);
        assert_true(secrets[i] > 1000);
    }
    n += read_block(m, VM_A, TL_SMPM_NO_CTX, readable + n);
    n += read_block(m, VM_A, 1, readable + n);
    n += read_block(m, VM_A, 2, readable + n);
    assert_int_equal(count_hits(readable, n, secrets, N_CTRS), 0);
    // The control: with the device's block every secret is a difference.
    for (uint32_t i = 0; i < N_CTRS; i++)
        readable[n++] = vm0_word(m, TL_SMPM_CTR, i);
    assert_int_equal(count_hits(readable, n, secrets, N_CTRS), N_CTRS);
    rig_close(&p.r);
}

// ---- L5: times and sizes

typedef struct metadata {
    uint64_t hash;
} metadata;

static void hash_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    metadata *x = ctx;
    x->hash = mix(x->hash ^ mix(begin_cycle) ^ mix(end_cycle * 3) ^ channel);
}

// Hash of when commits begin and end and of how large blocks are, for a victim that runs a program.
static uint64_t metadata_of(tl_smpm_profile profile, uint32_t skip_zeros, uint32_t program) {
    static pair p;
    static metadata x;
    memset(&p, 0, sizeof p);
    x.hash = 1;
    p.r.config = rig_config(profile, N_CTRS, 9, 511, 1);
    p.r.config.tb_period = 16384;
    p.r.config.skip_zeros = skip_zeros;
    p.program_b = program;
    p.r.seed = 4;
    p.r.user = &p;
    p.r.inputs = pair_inputs;
    p.r.plan.observer = (tl_smpm_observer){.ctx = &x, .commit = hash_commit};
    rig_layout(&p.r, 2, 1);
    rig_open(&p.r);
    tl_smpm *m = p.r.model;
    MUST(tl_smpm_vm_new(m, VM_B, &err));
    MUST(tl_smpm_ctx_new(m, VM_B, 1, &err));
    MUST(tl_smpm_start(m, PART_B, VM_B, 1, &err));
    tl_smpm_run(m, 120000);
    uint32_t n_words;
    (void)tl_smpm_block_words(m, tl_smpm_block_of(m, VM_B, 1), &n_words);
    rig_close(&p.r);
    return mix(x.hash ^ n_words);
}

static void test_l5_times_and_sizes_do_not_tell_programs_apart(void **state) {
    (void)state;
    // With equal metadata a guess is right in one half of all cases.
    for (uint32_t program = 1; program < 3; program++)
        assert_int_equal(metadata_of(TL_SMPM_SAFE, TL_SMPM_OFF, program), metadata_of(TL_SMPM_SAFE, TL_SMPM_OFF, 0));
    // The control: commits that leave out zeros end earlier for a silent victim.
    assert_int_not_equal(metadata_of(TL_SMPM_LITERAL, TL_SMPM_ON, 1), metadata_of(TL_SMPM_LITERAL, TL_SMPM_ON, 0));
}

// ---- L6: the limit. A spy's own counts tell how much of a shared cache a victim used.

enum { N_SETS = 64, L6_ROUNDS = 320, SLICE = 1200 };

typedef struct spy {
    rig r;
    uint64_t begin, n_misses; // of the spy's slice
} spy;

static void spy_inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    const spy *x = r->user;
    (void)ulc;
    ret_inputs->bits = cycle >= x->begin && cycle < x->begin + x->n_misses; // one miss in a cycle
}

// Accuracy of a spy on a time-sliced partition that adds up its misses over `n_reads` slices before
// each guess. The victim touches about 24 or about 28 of 64 sets, at random. A direct-mapped cache
// stands for all that contexts share. is_flushed: it is emptied at each switch.
static double spy_accuracy(bool is_flushed, uint32_t n_reads) {
    static spy x;
    static const double means[2] = {24, 28};
    uint64_t random = 31, before = 0;
    uint32_t n_right = 0, n_guesses = 0;
    memset(&x, 0, sizeof x);
    x.r.config = rig_config(TL_SMPM_SAFE, 1, 9, 511, 1);
    x.r.user = &x;
    x.r.inputs = spy_inputs;
    rig_layout(&x.r, 1, 1);
    rig_open(&x.r);
    tl_smpm *m = x.r.model;
    MUST(tl_smpm_vm_new(m, VM_A, &err));
    MUST(tl_smpm_ctx_new(m, VM_A, 1, &err)); // victim
    MUST(tl_smpm_ctx_new(m, VM_A, 2, &err)); // spy
    MUST(tl_smpm_start(m, 0, VM_A, 1, &err));
    for (uint32_t i = 0; i < L6_ROUNDS / n_reads; i++) {
        const uint32_t program = below(&random, 2);
        uint64_t sum = 0;
        for (uint32_t k = 0; k < n_reads; k++) {
            uint64_t touched = 0; // sets that the victim took from the spy
            for (uint32_t set = 0; set < N_SETS; set++)
                touched |= (uint64_t)(below(&random, N_SETS) < (uint32_t)means[program]) << set;
            tl_smpm_run(m, tl_smpm_now(m) + SLICE);
            MUST(tl_smpm_switch_to(m, 0, VM_A, 2, &err));
            run_switch(m, 0, 100000);
            x.begin = tl_smpm_now(m) + 10;
            // The spy reads every set.
            x.n_misses = is_flushed ? N_SETS : (uint64_t)__builtin_popcountll(touched);
            tl_smpm_run(m, tl_smpm_now(m) + SLICE);
            MUST(tl_smpm_switch_to(m, 0, VM_A, 1, &err));
            run_switch(m, 0, 100000);
            const uint64_t count = word_of(m, VM_A, 2, TL_SMPM_CTR, 0);
            assert_int_equal(count - before, x.n_misses); // exact, which is what the spy relies on
            sum += count - before;
            before = count;
        }
        const double mean = (double)sum / n_reads;
        const uint32_t guess = fabs(mean - means[1]) < fabs(mean - means[0]);
        n_right += guess == program;
        n_guesses++;
    }
    rig_close(&x.r);
    // After a flush all counts are equal, so a guess is a coin.
    return is_flushed ? 0.5 : (double)n_right / n_guesses;
}

static void test_l6_a_spy_s_own_counts_tell_of_the_victim_unless_caches_are_flushed(void **state) {
    (void)state;
    static const uint32_t reads[] = {1, 4, 16};
    for (size_t i = 0; i < TL_COUNT_OF(reads); i++) {
        const double open = spy_accuracy(false, reads[i]), flushed = spy_accuracy(true, reads[i]);
        print_message("L6: a guess after %2u slices is right in %.0f %% of cases, with flushed caches in %.0f %%\n", reads[i], 100 * open,
                      100 * flushed);
        assert_true(open > (reads[i] == 1 ? 0.55 : 0.75)); // this leak is not removed by the design
    }
}

// ---- L7: zeroing

static bool memory_holds(const tl_smpm *m, uint64_t secret) {
    uint32_t n_words;
    for (uint32_t block = 2; block < 16; block++) {
        const uint64_t *words = tl_smpm_block_words(m, block, &n_words);
        for (uint32_t i = TL_SMPM_HEADER_WORDS; words && i < n_words; i++)
            if (words[i] == secret)
                return true;
    }
    return false;
}

static void test_l7_freed_blocks_hold_no_old_values(void **state) {
    (void)state;
    static pair p;
    uint64_t secrets[N_CTRS];
    open_pair(&p, TL_SMPM_SAFE, 2);
    tl_smpm *m = p.r.model;
    for (uint32_t round = 0; round < 6; round++) {
        tl_smpm_run(m, tl_smpm_now(m) + 100000);
        MUST(tl_smpm_switch_to(m, PART_B, VM_B, 2, &err));
        tl_smpm_run(m, tl_smpm_now(m) + 50000);
        for (uint32_t i = 0; i < N_CTRS; i++) {
            secrets[i] = word_of(m, VM_B, 1, TL_SMPM_CTR, i);
            assert_true(secrets[i] > 1000);
            assert_true(memory_holds(m, secrets[i])); // the search finds what is there
        }
        uint32_t n_words;
        const uint64_t gen = tl_smpm_block_words(m, tl_smpm_block_of(m, VM_B, 1), &n_words)[2];
        MUST(tl_smpm_ctx_free(m, VM_B, 1, &err));
        assert_int_equal(tl_smpm_block_of(m, VM_B, 1), TL_SMPM_NO_BLOCK_ID);
        for (uint32_t i = 0; i < N_CTRS; i++)
            assert_false(memory_holds(m, secrets[i]));
        MUST(tl_smpm_ctx_new(m, VM_B, 1, &err));
        const uint64_t *words = tl_smpm_block_words(m, tl_smpm_block_of(m, VM_B, 1), &n_words);
        assert_int_equal(words[4], 0); // t_active
        assert_true(words[2] > gen || round == 0);
        for (uint32_t i = 0; i < N_CTRS; i++)
            assert_int_equal(word_of(m, VM_B, 1, TL_SMPM_CTR, i), 0);
        MUST(tl_smpm_switch_to(m, PART_B, VM_B, 1, &err));
        tl_smpm_run(m, tl_smpm_now(m) + 50000);
    }
    rig_close(&p.r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_l1_nothing_that_a_sees_depends_on_b),
    cmocka_unit_test(test_information_is_measured_in_bits),
    cmocka_unit_test(test_l2_a_switch_carries_no_residue),
    cmocka_unit_test(test_l3_fixed_slots_carry_nothing_in_the_time_of_a_switch),
    cmocka_unit_test(test_l3_flushes_of_shared_units_carry_nothing_in_fixed_slots),
    cmocka_unit_test(test_l4_differences_of_what_a_reads_do_not_tell_b),
    cmocka_unit_test(test_l5_times_and_sizes_do_not_tell_programs_apart),
    cmocka_unit_test(test_l6_a_spy_s_own_counts_tell_of_the_victim_unless_caches_are_flushed),
    cmocka_unit_test(test_l7_freed_blocks_hold_no_old_values),
};
TL_TEST_MAIN(tests)
