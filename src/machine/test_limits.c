// SPDX-License-Identifier: MIT
// Limits end a run of turns, bound how far a hart may run before that, and ask somebody outside now
// and then.
#include "machine/limits.h"

#include "base/bits.h"
#include "machine/test_rig.h"

typedef struct outside {
    uint32_t n_asked, wants_at; // the answer is true from that question on; 0: never
} outside;

static bool answer(void *ctx) {
    outside *o = ctx;
    o->n_asked += 1;
    return o->wants_at != 0 && o->n_asked >= o->wants_at;
}

static void test_a_cycle_ends_the_run_when_all_that_run_have_reached_it(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    tl_hart *const *harts = machine->harts;
    tl_run_limits limits = {0};
    tl_run_begin(&limits, 1000, UINT64_MAX);
    harts[0]->now = 1000;
    harts[1]->now = 999;
    harts[2]->now = 5;
    assert_false(tl_run_has_ended(&limits, machine, 3, harts[0])); // hart 1 is behind
    assert_false(tl_run_has_ended(&limits, machine, 3, harts[1]));
    assert_true(tl_run_has_ended(&limits, machine, 1, harts[0]));
    harts[1]->now = 1000;
    assert_true(tl_run_has_ended(&limits, machine, 3, harts[0]));
    assert_true(tl_run_has_ended(&limits, machine, 3, harts[1]));
    assert_false(tl_run_has_ended(&limits, machine, 7, harts[1]));
    tl_run_begin(&limits, UINT64_MAX, UINT64_MAX);
    assert_false(tl_run_has_ended(&limits, machine, 3, harts[0]));
    tl_machine_free(machine);
}

static void test_instructions_of_all_harts_end_the_run(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    tl_run_limits limits = {0};
    tl_run_begin(&limits, UINT64_MAX, 100);
    machine->harts[0]->instret = 60;
    machine->harts[2]->instret = 33; // also of one that waits
    assert_false(tl_run_has_ended(&limits, machine, 1, machine->harts[0]));
    assert_int_equal(limits.n_insns, 7);
    machine->harts[1]->instret = 7;
    assert_true(tl_run_has_ended(&limits, machine, 1, machine->harts[0]));
    assert_int_equal(limits.n_insns, 0);
    machine->harts[1]->instret = 11;
    assert_true(tl_run_has_ended(&limits, machine, 1, machine->harts[0]));
    tl_machine_free(machine);
}

// A hart that is at the limit first runs on until the others are there, too.
static void test_a_hart_runs_up_to_the_limit_or_to_the_next_question(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    tl_hart *const *harts = machine->harts;
    tl_run_limits limits = {0};
    tl_run_begin(&limits, 1000, UINT64_MAX);
    harts[0]->now = 900;
    harts[1]->now = 500;
    assert_int_equal(tl_run_horizon(&limits, machine, 3, harts[0]), 1000);
    harts[0]->now = 1000;
    assert_int_equal(tl_run_horizon(&limits, machine, 3, harts[0]), 401000);
    assert_int_equal(tl_run_horizon(&limits, machine, 1, harts[0]), 1000);
    harts[1]->now = 1000;
    assert_int_equal(tl_run_horizon(&limits, machine, 3, harts[0]), 1000);
    tl_run_begin(&limits, UINT64_MAX, UINT64_MAX);
    assert_int_equal(tl_run_horizon(&limits, machine, 3, harts[0]), 401000);
    tl_machine_free(machine);
}

static void test_rounds_and_instructions_ask_now_and_then(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    tl_hart *h = machine->harts[0];
    outside asked = {.wants_at = 4};
    tl_run_limits limits = {.wants_stop = answer, .ctx = &asked};
    tl_run_begin(&limits, UINT64_MAX, UINT64_MAX);
    for (uint32_t n = 1; n < 192; n++) {
        assert_false(tl_run_notes_round(&limits));
        assert_int_equal(asked.n_asked, n / 64);
    }
    h->instret = 49999;
    assert_false(tl_run_has_ended(&limits, machine, 1, h));
    assert_false(tl_run_notes_insns(&limits));
    assert_int_equal(asked.n_asked, 2);
    h->instret = 50000;
    assert_false(tl_run_has_ended(&limits, machine, 1, h));
    assert_false(tl_run_notes_insns(&limits));
    assert_int_equal(asked.n_asked, 3);
    h->instret = 99999;
    assert_false(tl_run_has_ended(&limits, machine, 1, h));
    assert_false(tl_run_notes_insns(&limits));
    h->instret = 100000;
    assert_false(tl_run_has_ended(&limits, machine, 1, h));
    assert_true(tl_run_notes_insns(&limits));
    assert_int_equal(asked.n_asked, 4);
    assert_true(tl_run_notes_round(&limits)); // nobody is asked again
    assert_true(tl_run_must_stop(&limits));
    assert_int_equal(asked.n_asked, 4);
    tl_run_begin(&limits, UINT64_MAX, UINT64_MAX); // the next run asks anew
    assert_false(tl_run_notes_round(&limits));
    assert_int_equal(asked.n_asked, 4);
    assert_true(tl_run_must_stop(&limits));
    tl_run_limits nobody = {0};
    assert_false(tl_run_must_stop(&nobody));
    tl_machine_free(machine);
}

static void test_harts_that_do_not_run_wait(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    tl_hart *const *harts = machine->harts;
    harts[0]->now = 10;
    harts[1]->now = 20;
    harts[2]->now = 70;
    tl_machine_settle(machine, 1, 50);
    assert_int_equal(harts[0]->now, 10);
    assert_int_equal(harts[1]->now, 50);
    assert_int_equal(harts[1]->idle_cycles, 30);
    assert_int_equal(harts[2]->now, 70);
    assert_int_equal(tl_machine_now_cycles(machine), 70);
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_cycle_ends_the_run_when_all_that_run_have_reached_it),
    cmocka_unit_test(test_instructions_of_all_harts_end_the_run),
    cmocka_unit_test(test_a_hart_runs_up_to_the_limit_or_to_the_next_question),
    cmocka_unit_test(test_rounds_and_instructions_ask_now_and_then),
    cmocka_unit_test(test_harts_that_do_not_run_wait),
};

TL_TEST_MAIN(tests)
