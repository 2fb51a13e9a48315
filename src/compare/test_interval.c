// SPDX-License-Identifier: MIT
// Which interval is chosen and what it grows to, by hand; then that a comparison on a slow fabric
// ends, with an interval that leaves the program half of the time.
#include "compare/interval.h"
#include "compare/setup.h"
#include "compare/sweep.h"
#include "compare/test_rig.h"

static void test_short_programs_are_looked_at_two_hundred_times(void **state) {
    (void)state;
    static const struct {
        uint64_t cycles, interval;
    } rows[] = {
        {0, 5000},          {1000000, 5000},   // 5,000 and one cycle, rounded down
        {1999799, 5000},                       // 9,999.995
        {1999800, 10000},                      // 9,999 and one more
        {3999799, 10000},                      // below 20,000
        {3999800, 20000},   {9999799, 20000},  // below 50,000
        {9999800, 50000},   {19999799, 50000}, // below 100,000
        {19999800, 100000}, {UINT64_C(1) << 60, 100000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(tl_compare_choose_interval(rows[i].cycles), rows[i].interval);
}

static void test_a_look_may_take_half_of_the_interval(void **state) {
    (void)state;
    assert_false(tl_compare_is_outgrown(5000, 2500));
    assert_true(tl_compare_is_outgrown(5000, 2501));
    static const struct {
        uint64_t look, interval;
    } rows[] = {{1, 2},     {2, 5},      {5, 10},       {6, 20},       {50, 100},     {51, 200},     {100, 200},     {101, 500},
                {250, 500}, {251, 1000}, {2501, 10000}, {5000, 10000}, {5001, 20000}, {6085, 20000}, {25001, 100000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(tl_compare_grown_interval(rows[i].look), rows[i].interval);
        assert_false(tl_compare_is_outgrown(rows[i].interval, rows[i].look));
    }
}

static void test_a_slow_fabric_makes_the_interval_grow(void **state) {
    (void)state;
    static const char *const overrides[] = {"dhpc.t_req=500", "dhpc.t_resp=700", NULL};
    char path[64];
    test_write_program(600, path);
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.interval_cycles = 5000; // four requests take 1,200 cycles each: 4,800 at least
    options.n_phases = 1;
    tl_comparison *c = test_compare(&options);
    assert_int_equal(c->facts.wanted_interval_cycles, 5000);
    assert_string_equal(c->facts.outgrown_by_design, "dhpc");
    assert_true(c->facts.outgrown_by_cycles > 4 * (500 + 700) && c->facts.outgrown_by_cycles < 10000);
    assert_int_equal(c->facts.interval_cycles, tl_compare_grown_interval(c->facts.outgrown_by_cycles));
    for (uint32_t d = 0; d < 3; d++) { // all use the grown interval
        const tl_compare_design_row *row = &c->designs[d];
        uint64_t looks = row->run_cycles / c->facts.interval_cycles;
        if (row->n_looks < looks || row->n_looks > looks + 2)
            fail_msg("%s: %llu looks in %llu cycles", row->name, (unsigned long long)row->n_looks, (unsigned long long)row->run_cycles);
        assert_true(row->look_cycles_x1000 <= 1000 * c->facts.interval_cycles / 2);
        assert_true(row->design == U74 || row->n_with_error == 0);
    }
    tl_comparison_release(c);

    options.interval_cycles = 20000; // long enough: unchanged
    c = test_compare(&options);
    assert_int_equal(c->facts.interval_cycles, 20000);
    assert_int_equal(c->facts.wanted_interval_cycles, 20000);
    assert_int_equal(c->facts.outgrown_by_cycles, 0);
    assert_string_equal(c->facts.outgrown_by_design, "");
    tl_comparison_release(c);
    unlink(path);
}

static void test_a_program_that_is_too_short_for_the_grown_interval(void **state) {
    (void)state;
    static const char *const overrides[] = {"dhpc.t_req=200000", NULL};
    char path[64];
    test_write_program(100, path);
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.interval_cycles = 0;
    options.n_phases = 1;
    tl_comparison *c = NULL;
    tl_error err = {0};
    assert_int_equal(tl_compare_run(&options, &c, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "looks take so long"));
    unlink(path);
}

static void test_rows_of_the_sweep_grow_by_themselves(void **state) {
    (void)state;
    static const char *const overrides[] = {"dhpc.t_req=500", NULL};
    char path[64];
    test_write_program(600, path);
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.n_phases = 1;
    tl_compare_setup setup;
    tl_comparison c = {0};
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    setup.interval_cycles = setup.wanted_interval_cycles = 5000;
    if (tl_compare_spreads(&setup, &c, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c.n_spreads, 6 * 3);                 // 2, 4, 8, 16, 32 and all 45 events
    assert_int_equal(c.spreads[0].interval_cycles, 5000); // one request
    assert_true(c.spreads[15].interval_cycles >= 10000);  // six and more
    for (uint32_t i = 0; i < c.n_spreads; i++) {
        // All designs of a row have one interval.
        assert_int_equal(c.spreads[i].interval_cycles, c.spreads[i / 3 * 3].interval_cycles);
        assert_true(i < 3 || c.spreads[i].interval_cycles >= c.spreads[i - 3].interval_cycles);
        assert_true(c.spreads[i].design == U74 || c.spreads[i].largest_error == 0);
    }
    tl_arena_done(&c.arena);
    tl_compare_setup_done(&setup);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_programs_are_looked_at_two_hundred_times),
        cmocka_unit_test(test_a_look_may_take_half_of_the_interval),
        cmocka_unit_test(test_a_slow_fabric_makes_the_interval_grow),
        cmocka_unit_test(test_a_program_that_is_too_short_for_the_grown_interval),
        cmocka_unit_test(test_rows_of_the_sweep_grow_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
