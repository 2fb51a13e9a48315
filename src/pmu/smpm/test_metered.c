// SPDX-License-Identifier: MIT
// The meter of a running model against what blocks, their generations and the model's own counters
// say, and against numbers made by hand.
#include "pmu/smpm/metered.h"
#include "pmu/smpm/test_rig.h"

enum { N_UNITS = 2, N_CTRS = 3, PERIOD = 500, EPOCH = 100000, N_EPOCHS = 2 };

typedef struct metered_rig {
    rig r;
    tl_smpm_metered *metered;
} metered_rig;

// Counter 0 counts each cycle, counter 1 each fourth one, counter 2 never.
static void steady(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r, (void)ulc;
    *ret_inputs = (tl_smpm_inputs){.bits = cycle % 4 == 0 ? 3 : 1};
}

// Two partitions run for two periods of the trigger; then both go to nobody, one after the other.
static void run_two(metered_rig *x, tl_smpm_profile profile, bool is_metered) {
    rig *r = &x->r;
    memset(x, 0, sizeof *x);
    r->config = rig_config(profile, N_CTRS, 9, PERIOD, 1);
    r->config.tb_period = EPOCH;
    r->inputs = steady;
    rig_layout(r, 2, N_UNITS);
    if (is_metered) {
        x->metered = tl_smpm_metered_new(&r->config, &r->layout, &r->arena);
        assert_non_null(x->metered);
        r->plan.observer = tl_smpm_metered_observer(x->metered);
    }
    rig_open(r);
    if (is_metered)
        tl_smpm_metered_attach(x->metered, r->model);
    start_two_vms(r->model);
    tl_smpm_run(r->model, N_EPOCHS * EPOCH + EPOCH / 2);
    for (uint32_t p = 0; p < 2; p++) {
        MUST(tl_smpm_switch_to(r->model, p, TL_SMPM_NO_VM, TL_SMPM_NO_CTX, &err));
        run_switch(r->model, p, 50000);
        if (is_metered)
            tl_smpm_metered_switched(x->metered, p);
    }
    tl_smpm_run(r->model, 4 * EPOCH);
}

static uint64_t n_headers(const tl_smpm *m) {
    uint64_t n = 0;
    const uint64_t *words;
    uint32_t n_words;
    for (uint32_t block = 0; (words = tl_smpm_block_words(m, block, &n_words)); block++)
        n += words[2] / 2 - 1; // gen: 2 of a new block, two more with each commit
    return n;
}

static void check_account(tl_smpm_profile profile) {
    metered_rig *x = malloc(sizeof *x);
    assert_non_null(x);
    run_two(x, profile, true);
    const tl_smpm_meter *meter = tl_smpm_metered_now(x->metered);
    const tl_smpm_activity *in_switches = meter->in_switches;
    tl_smpm_activity all[TL_SMPM_N_WAYS];
    tl_smpm_counters counters;
    tl_smpm_counters_get(x->r.model, &counters);
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        all[way] = tl_smpm_activity_sum(&meter->all[way], &in_switches[way]);
    uint64_t n_counted = 0;
    for (uint32_t i = 0; i < N_CTRS; i++)
        n_counted += vm0_word(x->r.model, TL_SMPM_CTR, i);
    assert_true(n_counted > 4 * UINT64_C(249000) * 5 / 4); // four units, 250,000 cycles
    assert_int_equal(meter->n_events, n_counted);
    assert_int_equal(meter->n_cycles, 4 * EPOCH);
    assert_int_equal(meter->n_switches, 2);
    assert_int_equal(meter->n_frames, counters.frames);
    assert_int_equal(meter->n_commits, counters.commits);
    // A record goes to three channels: one hop, two and two.
    assert_int_equal(meter->n_records * 3, counters.records);
    assert_int_equal(all[0].noc, meter->n_records * 256 * 5);
    assert_int_equal(all[0].mem, 64 * (counters.adds + 4 * n_headers(x->r.model)));
    assert_int_equal(all[0].host, 0);
    assert_true(in_switches[0].noc > 0 && in_switches[0].noc < all[0].noc);
    // Two triggers of two partitions with 6 counters, then a switch of each.
    const uint64_t n_triggered = 2 * N_EPOCHS * N_UNITS * N_CTRS, n_switched = 2 * N_UNITS * N_CTRS;
    assert_int_equal(all[TL_SMPM_WAY_FLAT64].mem, (n_triggered + n_switched) * 192);
    assert_int_equal(in_switches[TL_SMPM_WAY_FLAT64].mem, n_switched * 192);
    assert_int_equal(all[TL_SMPM_WAY_FLAT64_SR].mem, n_switched * 128);
    assert_int_equal(all[TL_SMPM_WAY_FLAT64_SR].host, n_triggered * 8);
    assert_int_equal(all[TL_SMPM_WAY_POLL].host, (n_triggered + n_switched) * 8);
    assert_int_equal(all[TL_SMPM_WAY_POLL].gated, 64 * n_counted);
    assert_int_equal(all[TL_SMPM_WAY_POLL].clk, UINT64_C(64) * 12 * 4 * EPOCH);
    rig_close(&x->r);
    free(x);
}

static void test_an_account_of_safe_is_what_blocks_and_hands_say(void **state) {
    (void)state;
    check_account(TL_SMPM_SAFE);
}

static void test_an_account_of_literal_is_what_blocks_and_hands_say(void **state) {
    (void)state;
    check_account(TL_SMPM_LITERAL);
}

static void test_metering_changes_no_block(void **state) {
    (void)state;
    metered_rig *with = malloc(sizeof *with), *without = malloc(sizeof *without);
    assert_true(with && without);
    for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
        run_two(with, profile, true);
        run_two(without, profile, false);
        const uint64_t *a, *b;
        uint32_t n, n_other, block = 0;
        for (; (a = tl_smpm_block_words(with->r.model, block, &n)); block++) {
            b = tl_smpm_block_words(without->r.model, block, &n_other);
            assert_non_null(b);
            assert_int_equal(n, n_other);
            assert_memory_equal(a, b, n * sizeof *a);
        }
        assert_true(block >= 8);
        rig_close(&with->r);
        rig_close(&without->r);
    }
    free(with);
    free(without);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_account_of_safe_is_what_blocks_and_hands_say),
    cmocka_unit_test(test_an_account_of_literal_is_what_blocks_and_hands_say),
    cmocka_unit_test(test_metering_changes_no_block),
};
TL_TEST_MAIN(tests)
