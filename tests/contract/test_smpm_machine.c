// SPDX-License-Identifier: MIT
// The hierarchical counters on a machine. The blocks of device, VM and context hold the machine's
// numbers after a snapshot, however its totals move. Nothing that the machine counts changes.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "machine/keys.h"
#include "machine/machine.h"
#include "smpm_views.h"

static uint64_t seed;
static uint64_t draw(uint64_t n) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (seed >> 33) % n;
}

static tl_machine *machine_with(tl_smpm_profile profile, const char *key, uint64_t value) {
    tl_config config;
    tl_error err;
    tl_machine *machine = NULL;
    tl_config_default(&config);
    config.n_harts = 2;
    config.l2_slices = 2;
    config.mem_channels = 2;
    config.ram_bytes = 16 << 20;
    tl_keys_set(&config, "smpm.profile", profile);
    if (key)
        tl_keys_set(&config, key, value);
    if (tl_keys_check(&config, &err) != TL_OK || tl_machine_new(&config, &tl_engine_step, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void stand_at(tl_machine *machine, uint64_t now) {
    for (uint32_t i = 0; i < machine->n_harts; i++)
        machine->harts[i]->now = now;
    (void)tl_machine_tick(machine, now);
}

// Triggers, flushes and commits; returns the cycle in which all is done.
static uint64_t take_snapshot(tl_machine *machine, uint64_t now) {
    tl_regfile *file = &smpm_on(machine)->pmu.file;
    uint64_t status = SMPM_BUSY;
    assert_true(tl_regfile_write(file, SMPM_TB_FLUSH, 1));
    for (uint32_t i = 0; i < 1000 && (status & SMPM_BUSY); i++) {
        stand_at(machine, now += 1000);
        assert_true(tl_regfile_read(file, SMPM_TB_STATUS, &status));
    }
    assert_int_equal(status, 0);
    return now;
}

static uint64_t value_in(tl_machine *machine, uint32_t index) { // of the VM
    const tl_smpm *model = smpm_on(machine)->model;
    uint64_t count = 0;
    assert_true(smpm_count(model, smpm_vm_block(model), index, &count));
    return count;
}

// The harts of this test have nothing to do, but their clocks go on.
static bool is_clock(const tl_event *event) {
    static const char *const names[] = {"hart.cycle", "hart.idle_cycle", "hart.instret", "hart.cycle_u", "hart.instret_u"};
    bool is_one = false;
    for (size_t i = 0; i < TL_COUNT_OF(names); i++)
        is_one |= strcmp(event->name, names[i]) == 0;
    return is_one;
}

static void run_random(tl_machine *machine, uint32_t n_steps, uint64_t *now) {
    for (uint32_t i = 0; i < n_steps; i++) {
        for (uint32_t k = 0; k < 40; k++)
            machine->tally[draw(machine->probe.n_cells)] += draw(draw(50) ? 20 : 5000);
        *now += 1 + draw(draw(20) ? 500 : 60000);
        stand_at(machine, *now);
    }
}

// Commits of channels 0 and D follow the clock alone. Returns a cycle without a commit.
static uint64_t let_device_commit(tl_machine *machine, uint64_t now) {
    stand_at(machine, now += 200000);
    while (smpm_is_committing(machine))
        stand_at(machine, now += 500);
    return now;
}

static void check_views(tl_smpm_profile profile, const char *key, uint64_t value) {
    tl_machine *machine = machine_with(profile, key, value);
    uint64_t now = 0;
    seed = 4711 + profile;
    for (uint32_t round = 0; round < 3; round++) {
        run_random(machine, 150, &now);
        stand_at(machine, now += 500000);  // the taps tell the rest of what came at once
        now = take_snapshot(machine, now); // of VM and context
        now = let_device_commit(machine, now);
        assert_true(smpm_compare(machine, is_clock) > 40);
    }
    tl_machine_free(machine);
}

static void test_views_hold_what_the_machine_counted(void **state) {
    (void)state;
    check_views(TL_SMPM_SAFE, NULL, 0);
    check_views(TL_SMPM_LITERAL, NULL, 0);
    check_views(TL_SMPM_SAFE, "smpm.snap_mode", TL_SMPM_ROLLING);
    check_views(TL_SMPM_SAFE, "smpm.mb_inputs", 16);
    check_views(TL_SMPM_SAFE, "smpm.fanin", 8);
    check_views(TL_SMPM_SAFE, "smpm.tb_period", 4096);
}

static void test_a_step_beyond_an_input_is_told_over_the_cycles_that_follow(void **state) {
    (void)state;
    tl_machine *machine = machine_with(TL_SMPM_SAFE, NULL, 0);
    tl_smpm_attached *a = smpm_on(machine);
    stand_at(machine, 10);
    machine->tally[TL_S_HART_CYC_TRAP] += 300000; // of hart 0, at once
    uint64_t now = 200000, index = UINT64_MAX;
    for (uint32_t c = 0; c < a->layout.types[0].n_bits; c++)
        if (strcmp(tl_smpm_events[a->layout.types[0].bits[c]].name, "hart.cyc_trap") == 0)
            index = c;
    assert_true(index != UINT64_MAX);
    stand_at(machine, now);
    now = take_snapshot(machine, now);
    const uint64_t told = value_in(machine, (uint32_t)index);
    assert_in_range(told, 199000, now); // one in each cycle
    stand_at(machine, now += 400000);
    (void)take_snapshot(machine, now);
    assert_int_equal(value_in(machine, (uint32_t)index), 300000);
    tl_machine_free(machine);
}

static void test_a_multi_bit_input_tells_32_in_a_cycle(void **state) {
    (void)state;
    tl_machine *machine = machine_with(TL_SMPM_SAFE, NULL, 0);
    stand_at(machine, 10);
    for (uint32_t u = 0; u < machine->probe.n_units; u++)
        if (strcmp(machine->probe.units[u].path, "l2.1") == 0)
            machine->probe.units[u].tally[0] += 3200000; // 100,000 cycles at 32
    uint64_t now = 200000;
    stand_at(machine, now);
    (void)take_snapshot(machine, now);
    assert_int_equal(value_in(machine, 45 + 44), 100000); // input 0 of slices: l2.read
    tl_machine_free(machine);
}

static void test_clocks_of_harts_add_up_to_their_cycles(void **state) {
    (void)state;
    tl_machine *machine = machine_with(TL_SMPM_SAFE, NULL, 0);
    for (uint64_t now = 1000; now <= 300000; now += 1000)
        stand_at(machine, now);
    const uint64_t end = take_snapshot(machine, 300000), cycles = value_in(machine, 0);
    assert_in_range(cycles, 2 * 300000, 2 * end); // both harts
    assert_int_equal(value_in(machine, 1), 0);    // neither was idle before
    tl_machine_free(machine);
}

static void test_a_reset_begins_anew(void **state) {
    (void)state;
    tl_machine *machine = machine_with(TL_SMPM_SAFE, NULL, 0);
    uint64_t now = 0;
    seed = 3;
    run_random(machine, 100, &now);
    tl_machine_reset_pmus(machine);
    uint64_t before[4096];
    assert_true(machine->probe.n_cells <= TL_COUNT_OF(before));
    memcpy(before, machine->tally, machine->probe.n_cells * sizeof *before);
    const uint64_t reset_cycle = now;
    run_random(machine, 100, &now);
    now = let_device_commit(machine, now + 500000);
    uint32_t n_words;
    const uint64_t t_commit = tl_smpm_block_words(smpm_on(machine)->model, 0, &n_words)[3];
    // The model's clock begins anew, too.
    assert_in_range(t_commit, now - reset_cycle - 100000, now - reset_cycle);
    for (uint32_t i = 0; i < machine->probe.n_cells; i++)
        machine->tally[i] -= before[i];
    assert_true(smpm_compare(machine, is_clock) > 20);
    tl_machine_free(machine);
}

static void test_a_machine_without_the_design_has_no_instance(void **state) {
    (void)state;
    tl_machine *machine = machine_with(TL_SMPM_NONE, NULL, 0);
    assert_null(tl_machine_pmu_of(machine, &tl_pmu_smpm, 0));
    tl_machine_free(machine);
}

static void test_a_channel_for_each_hart_needs_a_chip(void **state) {
    (void)state;
    tl_config config;
    tl_error err;
    tl_config_default(&config);
    tl_keys_set(&config, "smpm.profile", TL_SMPM_SAFE);
    tl_keys_set(&config, "smpm.channels", TL_SMPM_PER_HART);
    assert_int_equal(tl_keys_check(&config, &err), TL_EINVAL);
    assert_string_equal(err.text, "smpm.channels = per_hart: caches of this machine do not tell for which hart they work; set it to "
                                  "per_partition");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_views_hold_what_the_machine_counted),
    cmocka_unit_test(test_a_step_beyond_an_input_is_told_over_the_cycles_that_follow),
    cmocka_unit_test(test_a_multi_bit_input_tells_32_in_a_cycle),
    cmocka_unit_test(test_clocks_of_harts_add_up_to_their_cycles),
    cmocka_unit_test(test_a_reset_begins_anew),
    cmocka_unit_test(test_a_machine_without_the_design_has_no_instance),
    cmocka_unit_test(test_a_channel_for_each_hart_needs_a_chip),
};
TL_TEST_MAIN(tests)
