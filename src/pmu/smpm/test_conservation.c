// SPDX-License-Identifier: MIT
// Nothing is lost, nothing counts twice, nothing reaches a stranger: V10 and invariants I0 to I8
// and I12 at random switches, in both profiles, with and without shared units, with a network, a
// memory and a manager that stall.
#include "pmu/smpm/test_trial.h"

static void check(tl_smpm_profile profile, uint32_t n_shared, uint32_t stall_percent, uint64_t n_switches, uint64_t seed, bool each_cycle) {
    trial *t = calloc(1, sizeof *t);
    t->n_partitions = 4;
    t->n_units = 2;
    t->n_shared = n_shared;
    t->stall_percent = stall_percent;
    t->is_each_cycle_checked = each_cycle;
    trial_open(t, profile, seed, 0);
    trial_run(t, n_switches);
    print_fails(t);
    assert_int_equal(n_fails(t), 0);
    assert_true(t->n_switches >= n_switches);
    rig_close(&t->r);
    free(t);
}

static void test_safe_conserves_in_every_cycle(void **state) {
    (void)state;
    check(TL_SMPM_SAFE, 0, 0, 150, 1, true);
}
static void test_literal_conserves_in_every_cycle(void **state) {
    (void)state;
    check(TL_SMPM_LITERAL, 0, 0, 150, 2, true);
}
static void test_safe_attributes_every_event(void **state) {
    (void)state;
    check(TL_SMPM_SAFE, 0, 0, 1000, 3, false);
}
static void test_literal_attributes_every_event(void **state) {
    (void)state;
    check(TL_SMPM_LITERAL, 0, 0, 1000, 4, false);
}
static void test_safe_attributes_late_events_of_shared_units(void **state) {
    (void)state;
    check(TL_SMPM_SAFE, 10, 0, 150, 5, false);
}
static void test_literal_leaves_events_of_shared_units_unassigned(void **state) {
    (void)state;
    check(TL_SMPM_LITERAL, 10, 0, 500, 6, false);
}
static void test_stalls_and_refused_adds_lose_nothing(void **state) {
    (void)state;
    check(TL_SMPM_SAFE, 0, 20, 600, 7, false);
    check(TL_SMPM_LITERAL, 0, 20, 600, 8, false);
}

static void test_v10_random_switches_of_four_partitions(void **state) {
    (void)state;
    const char *asked = getenv("TL_SMPM_SWITCHES"); // the slow suite asks for a million
    uint64_t n = asked ? strtoull(asked, NULL, 10) : 4000;
    check(TL_SMPM_SAFE, 0, 0, n / 2, 9, false);
    check(TL_SMPM_LITERAL, 0, 0, n / 2, 10, false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_safe_conserves_in_every_cycle),
    cmocka_unit_test(test_literal_conserves_in_every_cycle),
    cmocka_unit_test(test_safe_attributes_every_event),
    cmocka_unit_test(test_literal_attributes_every_event),
    cmocka_unit_test(test_safe_attributes_late_events_of_shared_units),
    cmocka_unit_test(test_literal_leaves_events_of_shared_units_unassigned),
    cmocka_unit_test(test_stalls_and_refused_adds_lose_nothing),
    cmocka_unit_test(test_v10_random_switches_of_four_partitions),
};
TL_TEST_MAIN(tests)
