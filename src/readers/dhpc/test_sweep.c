// SPDX-License-Identifier: MIT
// Properties of the sweep over fabrics that hold for any numbers (docs/dhpc.md, section 8): the
// best fabric of each method, and the bound on waits.
#include "compare/setup.h"
#include "compare/test_rig.h"
#include "readers/dhpc/sweep.h"

static const tl_compare_fabric_row *row_of(const tl_comparison *c, uint32_t beat, uint32_t n_harts) {
    for (uint32_t i = 0; i < c->n_fabrics; i++)
        if (c->fabrics[i].beat_cycles == beat && c->fabrics[i].n_harts == n_harts)
            return &c->fabrics[i];
    fail_msg("no row for beat %u and %u harts", beat, n_harts);
    return NULL;
}

// The best of a row: the least, unless another comes within one percent of it.
static const char *winner_by(const tl_compare_fabric_row *row) {
    static const char *const names[] = {"empty-poll", "trigger-poll", "burst-read"};
    const uint64_t times[] = {row->empty_poll_x1000, row->trigger_poll_x1000, row->burst_read_x1000};
    int n_near = 0, best = 0;
    for (int i = 0; i < 3; i++)
        if (times[i] < times[best])
            best = i;
    for (int i = 0; i < 3; i++)
        n_near += (double)times[i] < 1.01 * (double)times[best];
    return n_near > 1 ? "even" : names[best];
}

// Where values come seldom, a read takes as long as 15 beats after the first value, and harts wait
// for all the others' services.
static void test_a_slow_fabric_sets_the_pace(void **state) {
    (void)state;
    tl_compare_options options = test_options("unused");
    tl_compare_setup setup;
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    for (uint32_t n = 1; n <= 4; n++) {
        // Grant, lookup, beats, and the cycle in which the port is free again.
        enum { BEAT = 500, SERVICE = 1 + 1 + 15 * BEAT + 1 };
        tl_compare_fabric_row row;
        assert_int_equal(tl_dhpc_sweep_fabric(&setup, BEAT, n, &row, &err), TL_OK);
        // The last of a hart's 40 reads is served with the others' before it: the first hart waits
        // for 39 rounds, the last for 40.
        uint64_t mean_x1000 = SERVICE * UINT64_C(1000) * (2 * 39 * n + n + 1) / 80;
        assert_in_range(row.empty_poll_x1000, mean_x1000, mean_x1000 + (n == 1 ? 60000 : 5000));
        assert_in_range(row.trigger_poll_x1000, mean_x1000, mean_x1000 + (n == 1 ? 150000 : 5000));
        assert_true(row.burst_read_x1000 > row.empty_poll_x1000);
        assert_in_range(row.max_wait_cycles, n == 1 ? 0 : (n - 1) * SERVICE - 150, (n - 1) * SERVICE);
        assert_int_equal(row.wait_bound_cycles, (n - 1) * (SERVICE + 48 * BEAT));
    }
    tl_compare_setup_done(&setup);
}

static void test_each_way_to_read_has_its_fabric(void **state) {
    (void)state;
    tl_compare_options options = test_options("unused");
    tl_compare_setup setup;
    tl_comparison c = {0};
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    assert_int_equal(tl_dhpc_sweep_fabrics(&setup, &c, &err), TL_OK);
    assert_int_equal(c.n_fabrics, 8 * 4);
    const tl_compare_fabric_row *quick = row_of(&c, 1, 1), *slow = row_of(&c, 12, 1);
    assert_string_equal(quick->winner, "burst-read");
    // A reading costs more than a beat.
    assert_true(quick->trigger_poll_x1000 < quick->empty_poll_x1000);
    assert_string_equal(slow->winner, "empty-poll"); // and less than twelve
    assert_true(slow->empty_poll_x1000 < slow->trigger_poll_x1000);
    assert_int_equal(quick->n_counters, 16);
    for (uint32_t i = 0; i < c.n_fabrics; i++) {
        static const uint32_t beats[] = {1, 2, 3, 4, 6, 8, 12, 16}, harts[] = {1, 2, 4, 8};
        const tl_compare_fabric_row *row = &c.fabrics[i];
        assert_int_equal(row->size, sizeof *row);
        assert_int_equal(row->beat_cycles, beats[i % 8]);
        assert_int_equal(row->n_harts, harts[i / 8]);
        assert_int_equal(row->n_counters, 16);
        assert_string_equal(row->winner, winner_by(row));
        assert_true(row->max_wait_cycles <= row->wait_bound_cycles);
        assert_true((row->n_harts == 1) == (row->max_wait_cycles == 0));
        // The pace is the port's.
        assert_true(row->trigger_poll_x1000 >= UINT64_C(1000) * row->n_counters * row->beat_cycles * row->n_harts * 9 / 10);
    }
    // Everybody waits for the port, whatever he does meanwhile.
    assert_string_equal(row_of(&c, 16, 8)->winner, "even");
    tl_arena_done(&c.arena);
    tl_compare_setup_done(&setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_fabric_sets_the_pace),
        cmocka_unit_test(test_each_way_to_read_has_its_fabric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
