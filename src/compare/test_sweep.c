// SPDX-License-Identifier: MIT
// Properties of the sweep over events that hold for any numbers.
#include "compare/setup.h"
#include "compare/sweep.h"
#include "compare/test_rig.h"

static void test_only_turns_make_errors(void **state) {
    (void)state;
    char path[64];
    test_write_program(300, path);
    tl_compare_options options = test_options(path);
    options.run.max_insns = 150000;
    options.n_phases = 2;
    tl_compare_setup setup;
    tl_comparison c = {0};
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    if (tl_compare_spreads(&setup, &c, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c.n_spreads, 6 * 3);
    double largest = 0;
    for (uint32_t i = 0; i < c.n_spreads; i++) {
        static const uint32_t counts[] = {2, 4, 8, 16, 32, 45};
        static const uint32_t counted[][3] = {{2, 0, 2},   {3, 1, 4},   {6, 2, 8},
                                              {12, 4, 16}, {24, 6, 32}, {37, 6, 45}}; // six counters on the bus
        const tl_compare_spread_row *row = &c.spreads[i];
        assert_int_equal(row->size, sizeof *row);
        assert_int_equal(row->n_events, counts[i / 3]);
        assert_int_equal(row->design, i % 3);
        // Otherwise the run is too short.
        assert_true(row->n_counted == counted[i / 3][i % 3] || (row->design == U74 && i >= 12));
        if (row->design == U74) {
            largest = row->mean_error > largest ? row->mean_error : largest;
            // Two of the events are cycle and instret.
            assert_true(row->n_events > 4 || row->mean_error == 0);
        } else {
            assert_true(row->mean_error == 0 && row->largest_error == 0);
        }
        assert_true(row->design != DHPC || row->n_counted == row->n_events);
    }
    assert_true(largest > 0.01);
    tl_arena_done(&c.arena);
    tl_compare_setup_done(&setup);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_turns_make_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
