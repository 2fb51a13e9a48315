// SPDX-License-Identifier: MIT
// A machine tells its PMUs about the clocks of its harts.
#include "base/bits.h"
#include "machine/keys.h"
#include "machine/test_rig.h"

static uint64_t cycle_in(const tl_machine *machine, uint32_t hart, uint64_t now) {
    return machine->pmu_host.cycle_in(machine->pmu_host.ctx, hart, now);
}

static void test_a_clock_stands_still_while_its_hart_has_nothing_to_run(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(2);
    tl_hart *h = machine->harts[1];
    h->now = 300; // ran so far, and sleeps
    assert_int_equal(cycle_in(machine, 1, 100), 100);
    assert_int_equal(cycle_in(machine, 1, 300), 300);
    assert_int_equal(cycle_in(machine, 1, 10000), 300);
    tl_hart_idle_until(h, 500);
    assert_int_equal(cycle_in(machine, 1, 10000), 300);
    tl_hart_idle_until(h, 700); // the same stretch goes on
    h->client = machine;        // and ends: there is a thread
    assert_int_equal(cycle_in(machine, 1, 10000), 9600);
    h->now = 1000;
    const uint64_t want[][2] = {{299, 299}, {300, 300}, {301, 300},  {500, 300}, {699, 300},
                                {700, 300}, {701, 301}, {1000, 600}, {1001, 601}};
    for (size_t i = 0; i < TL_COUNT_OF(want); i++)
        assert_int_equal(cycle_in(machine, 1, want[i][0]), want[i][1]);
    tl_machine_free(machine);
}

static void test_a_hart_in_wfi_has_nothing_to_run(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(2);
    tl_hart *h = machine->harts[0];
    h->is_privileged = true;
    h->now = 50;
    assert_int_equal(cycle_in(machine, 0, 80), 80);
    h->is_waiting = true;
    assert_int_equal(cycle_in(machine, 0, 80), 50);
    tl_machine_free(machine);
}

// A machine without such a PMU does not pay for the calls.
static void test_only_a_pmu_that_wants_notices_gets_them(void **state) {
    (void)state;
    for (uint64_t mode = 0; mode < 2; mode++) { // none, timed
        tl_config config = tl_test_config(2);
        tl_keys_set(&config, "hpc", mode);
        tl_machine *machine = tl_test_machine_of(&config);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(machine->harts[i]->notice != NULL, mode);
            assert_ptr_equal(machine->harts[i]->notice_ctx, mode ? machine : NULL);
        }
        tl_machine_free(machine);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_clock_stands_still_while_its_hart_has_nothing_to_run),
    cmocka_unit_test(test_a_hart_in_wfi_has_nothing_to_run),
    cmocka_unit_test(test_only_a_pmu_that_wants_notices_gets_them),
};

TL_TEST_MAIN(tests)
