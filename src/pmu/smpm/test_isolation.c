// SPDX-License-Identifier: MIT
// Non-interference in SAFE: whatever other partitions run, tell, switch or ask for, everything that
// partition 0 can see stays the same, bit for bit: its records, its commits and their cycles, the
// cycles of its switches, its blocks. In LITERAL it does not stay the same, and the test says so.
#include "pmu/smpm/test_trial.h"

typedef struct view {
    uint64_t hash, n;
    uint32_t channel;
    trial *t;
    uint64_t other_seed;
    rig other;
} view;

static void view_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    view *v = ctx;
    if (channel != v->channel)
        return;
    // The shared CCU's sequence number counts flushes for others, too. It stays in the channel.
    uint32_t header = source == v->t->n_partitions ? record->header & 0xffffff & ~(uint32_t)TL_SMPM_REC_PARITY : record->header;
    // Lane 0 is that number.
    bool is_hidden = source == v->t->n_partitions && (header & 7) == TL_SMPM_EMPTY;
    v->hash = mix(v->hash ^ cycle ^ (uint64_t)source << 40 ^ (uint64_t)fate << 50);
    for (uint32_t i = 0; i < TL_SMPM_REC_CTRS && !is_hidden; i++)
        v->hash = mix(v->hash ^ record->lanes[i] ^ (uint64_t)header << 32);
    v->n++;
}
static void view_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    view *v = ctx;
    if (channel == v->channel)
        v->hash = mix(v->hash ^ begin_cycle ^ end_cycle << 20);
}

// Partition 0 hears the same in every run; the others hear `other_seed`. Traffic of the shared unit
// is partition 0's in one cycle of four, and anything in the others.
static void inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    trial *t = r->user;
    view *v = r->plan.observer.ctx;
    const tl_smpm_ulc *its = &r->layout.ulcs[ulc];
    if (its->partition == 0) {
        random_inputs(r, ulc, cycle, ret_inputs);
        return;
    }
    const rig *other = &v->other;
    if (its->partition != TL_SMPM_SHARED) {
        random_inputs(other, ulc, cycle, ret_inputs);
        return;
    }
    bool is_own = mix(cycle >> 4) % 4 == 0;
    uint32_t tenant = is_own ? 0 : TRIAL_TENANTS + (uint32_t)(mix(v->other_seed ^ cycle >> 5) % TRIAL_TENANTS);
    if (!is_own && mix(v->other_seed + cycle) % 3)
        return;
    uint32_t first = r->layout.n_ulcs - t->n_shared - 3, its_ulc = first + (tenant < t->n_shared ? tenant : t->n_shared);
    if (its->filter.kind == TL_SMPM_FILTER_ALL || its_ulc == ulc)
        random_inputs(is_own ? r : other, RIG_MAX_ULCS, cycle, ret_inputs);
}

static uint64_t seen_by_partition_0(tl_smpm_profile profile, uint32_t thr, uint64_t other_seed, uint64_t n_cycles) {
    trial *t = calloc(1, sizeof *t);
    view v = {.t = t, .other_seed = other_seed, .other.seed = other_seed};
    t->n_partitions = 2;
    t->n_units = 2;
    t->n_shared = 10; // filters of both partitions
    t->has_no_provenance = true;
    t->r.config.ccu_thr = thr;
    trial_open(t, profile, 77, 0);
    tl_smpm *m = t->r.model;
    v.other.config = t->r.config;
    t->r.inputs = inputs;
    v.channel = t->r.layout.partitions[0].channel;
    m->plan.observer = (tl_smpm_observer){.ctx = &v, .record = view_record, .commit = view_commit};
    t->r.plan.observer.ctx = &v;
    uint64_t mine = 1, others = other_seed;
    for (uint64_t next[2] = {500, 700}; tl_smpm_now(m) < n_cycles;) {
        for (uint32_t p = 0; p < 2; p++) {
            uint64_t *random = p == 0 ? &mine : &others;
            if (tl_smpm_now(m) != next[p])
                continue;
            uint32_t dice = below(random, 4), tenant = tenant_of(p, below(random, TRIAL_VMS), below(random, TRIAL_CTXS + 1));
            if (p == 1 && other_seed == 0)
                dice = 9; // an idle neighbor
            if (dice == 0)
                tl_smpm_snapshot(m, p);
            else if (dice < 4)
                (void)!tl_smpm_switch_to(m, p, vm_id(tenant), ctx_id(tenant), NULL);
            next[p] += 1 + below(random, p == 0 ? 9000 : 1 + (uint32_t)(other_seed * 3000));
        }
        tl_smpm_run(m, tl_smpm_now(m) + 1);
        tl_smpm_switched s;
        tl_smpm_switched_get(m, 0, &s);
        for (uint32_t i = 0; i < 15; i++)
            v.hash = mix(v.hash ^ s.at[i]);
    }
    for (uint32_t tenant = 0; tenant < TRIAL_TENANTS; tenant++) {
        uint32_t n_words;
        const uint64_t *words = tl_smpm_block_words(m, tl_smpm_block_of(m, vm_id(tenant), ctx_id(tenant)), &n_words);
        for (uint32_t i = 0; i < n_words; i++)
            v.hash = mix(v.hash ^ words[i]);
    }
    assert_true(v.n > 100);
    rig_close(&t->r);
    free(t);
    return v.hash;
}

static void test_safe_shows_nothing_of_other_tenants(void **state) {
    (void)state;
    uint64_t idle = seen_by_partition_0(TL_SMPM_SAFE, 0, 0, 40000);
    for (uint64_t other = 1; other < 3; other++)
        assert_true(seen_by_partition_0(TL_SMPM_SAFE, 0, other, 40000) == idle);
}

static void test_literal_shows_other_tenants(void **state) {
    (void)state;
    assert_true(seen_by_partition_0(TL_SMPM_LITERAL, 0, 0, 150000) != seen_by_partition_0(TL_SMPM_LITERAL, 0, 2, 150000));
}

// Counters of tenants reach the threshold many times. Those of shared units would reach it sooner
// with a busy neighbor.
static void test_a_threshold_shows_nothing_of_other_tenants(void **state) {
    (void)state;
    enum { THR = 60 };
    const uint64_t idle = seen_by_partition_0(TL_SMPM_SAFE, THR, 0, 40000);
    // One's own counters trigger.
    assert_true(idle != seen_by_partition_0(TL_SMPM_SAFE, 0, 0, 40000));
    for (uint64_t other = 1; other < 3; other++)
        assert_true(seen_by_partition_0(TL_SMPM_SAFE, THR, other, 40000) == idle);
}

// ---- Flushes of shared units around a periodic pulse.

enum { VM_A = 1, VM_B, PERIOD = 70000, N_LOOKS = 1200 };

// Hashes of all that partition 0 sees.
typedef struct sight {
    uint64_t looks, records, n_records;
    const tl_smpm_layout *layout;
} sight;

static void sight_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    sight *s = ctx;
    (void)fate;
    if (channel != s->layout->partitions[0].channel || (record->header & 7) == TL_SMPM_EMPTY)
        return;
    s->records = mix(s->records ^ cycle ^ (uint64_t)source << 40);
    for (uint32_t i = 0; i < TL_SMPM_REC_CTRS; i++)
        s->records = mix(s->records ^ record->lanes[i]);
    s->n_records++;
}

static void sight_totals(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals) {
    (void)ctx;
    memset(ret_totals, 0, sizeof *ret_totals);
    for (uint32_t i = 0; i < TL_SMPM_MAX_CTRS; i++)
        ret_totals->bits[i] = cycle / (ulc % 7 + 2);
}

// The first ULC of each shared unit without a filter counts for a VM.
static void take_filters(tl_smpm_layout *l, uint32_t vm) {
    for (uint32_t i = 0, last = UINT32_MAX; i < l->n_ulcs; i++) {
        tl_smpm_ulc *ulc = &l->ulcs[i];
        if (ulc->partition != TL_SMPM_SHARED || ulc->filter.kind != TL_SMPM_FILTER_FREE || ulc->unit == last)
            continue;
        last = ulc->unit;
        ulc->filter = (tl_smpm_filter){.kind = TL_SMPM_FILTER_MATCH, .vm = (uint16_t)vm, .ctx = 1, .engine = TL_SMPM_ANY};
        ulc->route.channel = l->partitions[vm - 1].channel;
    }
}

static void look(tl_smpm *m, sight *s) {
    tl_smpm_switched done;
    for (uint32_t ctx = 1; ctx <= 2; ctx++) {
        uint32_t n_words;
        const uint64_t *words = tl_smpm_block_words(m, tl_smpm_block_of(m, VM_A, ctx), &n_words);
        for (uint32_t i = 0; i < n_words; i++)
            s->looks = mix(s->looks ^ words[i]);
    }
    tl_smpm_switched_get(m, 0, &done);
    for (uint32_t i = 0; i < 15; i++)
        s->looks = mix(s->looks ^ done.at[i]);
}

// Partition 1 has its slot `ahead` cycles before the first periodic pulse. It uses the slot if
// `switches`.
static sight see_pulse(uint32_t ahead, bool switches, bool with_records) {
    static const tl_smpm_chip chip = {.n_partitions = 2, .n_harts = 1, .n_slices = 1, .n_mem_channels = 1, .has_shared = true};
    static tl_smpm_layout layout;
    tl_arena arena = {0};
    tl_smpm *m;
    sight s = {.layout = &layout};
    tl_smpm_plan plan = {.config = tl_smpm_config_default(TL_SMPM_SAFE),
                         .layout = &layout,
                         .n_blocks = 8,
                         .host = {.ctx = &s, .totals = sight_totals},
                         .observer = {.ctx = &s, .record = with_records ? sight_record : NULL}};
    plan.config.filters = 2;
    plan.config.tb_period = PERIOD;
    plan.config.shared_slot = PERIOD - ahead;
    MUST(tl_smpm_layout_new(&plan.config, &chip, &layout, &err));
    take_filters(&layout, VM_A);
    take_filters(&layout, VM_B);
    MUST(tl_smpm_layout_resolve(&plan.config, &layout, &err));
    MUST(tl_smpm_new(&plan, &arena, &m, &err));
    start_two_vms(m);
    MUST(tl_smpm_start(m, TL_SMPM_SHARED, 0, 0, &err));
    tl_smpm_run(m, PERIOD / 2);
    if (switches)
        MUST(tl_smpm_switch_to(m, 1, VM_B, 2, &err));
    for (uint32_t i = 0; i < N_LOOKS; i++) {
        tl_smpm_run(m, PERIOD - 2000 + 7 * i);
        look(m, &s);
    }
    MUST(tl_smpm_switch_to(m, 0, VM_A, 2, &err));
    tl_smpm_run(m, 4 * PERIOD);
    look(m, &s);
    if (switches) {
        tl_smpm_switched done;
        tl_smpm_switched_get(m, 1, &done);
        assert_int_equal(done.n_done, 1);
    }
    tl_arena_done(&arena);
    return s;
}

// A drain of this chip has 45 rows of fed lanes.
static void test_a_flush_before_a_pulse_delays_no_other_tenant(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t ahead = 0; ahead < 60; ahead++) {
            const sight alone = see_pulse(ahead, false, i), beside = see_pulse(ahead, true, i);
            if (alone.looks != beside.looks || alone.records != beside.records)
                fail_msg("a slot %u cycles before the pulse shows in %s", ahead, alone.looks != beside.looks ? "blocks" : "records");
            assert_true(!i || alone.n_records > 30);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_flush_before_a_pulse_delays_no_other_tenant),
    cmocka_unit_test(test_safe_shows_nothing_of_other_tenants),
    cmocka_unit_test(test_literal_shows_other_tenants),
    cmocka_unit_test(test_a_threshold_shows_nothing_of_other_tenants),
};
TL_TEST_MAIN(tests)
