// SPDX-License-Identifier: MIT
// Operations on columns against one row at a time, in both forms, and clocks that become rows.
#include <string.h>

#include "base/testing.h"
#include "pmu/netburst/rows.h"

enum { TRIES = 2000, MOST = TL_NETBURST_MAX_OUTPUT, MOST_LEVEL = 3 };

static uint32_t below(uint64_t *state, uint32_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

static uint32_t lesser_output(uint32_t sum) { return sum < MOST ? sum : MOST; }

static void fill(uint64_t *state, uint8_t ret_outputs[TL_CLOCK_ROWS]) {
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        ret_outputs[r] = (uint8_t)below(state, MOST + 1);
}

// Totals rise past 2^32, and some by more than a detector gives. fall: the row in which they fall;
// TL_CLOCK_ROWS: none.
static void check_growths(const tl_netburst_column_ops *ops, uint64_t *state, uint32_t fall) {
    uint32_t totals[TL_CLOCK_TOTALS] = {UINT32_MAX - 100};
    uint8_t found[TL_CLOCK_ROWS];
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        totals[r + 1] = totals[r] + (r == fall ? UINT32_MAX : below(state, 2 * MOST));
    assert_int_equal(ops->growths(totals, found), fall == TL_CLOCK_ROWS);
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) {
        if (r != fall)
            assert_int_equal(found[r], lesser_output(totals[r + 1] - totals[r]));
    }
}

static void check_sums(const tl_netburst_column_ops *ops, uint64_t *state) {
    uint8_t outputs[TL_CLOCK_ROWS], growths[TL_CLOCK_ROWS], sums[TL_CLOCK_ROWS], passes[TL_CLOCK_ROWS];
    const uint8_t level = (uint8_t)below(state, MOST_LEVEL + 1), threshold = (uint8_t)below(state, 16);
    const bool complements = below(state, 2);
    uint32_t sum = 0, n_passes = 0;
    fill(state, outputs);
    fill(state, growths);
    memcpy(sums, outputs, sizeof sums);
    ops->add(sums, growths);
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) {
        assert_int_equal(sums[r], lesser_output(outputs[r] + growths[r]));
        sum += lesser_output(outputs[r] + level);
        n_passes += (lesser_output(outputs[r] + level) > threshold) != complements;
    }
    assert_int_equal(ops->sum(outputs, level), sum);
    assert_int_equal(ops->passes(outputs, level, threshold, complements, passes), n_passes);
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        assert_int_equal(passes[r], (lesser_output(outputs[r] + level) > threshold) != complements);
}

static void check_totals(const tl_netburst_column_ops *ops, uint64_t *state) {
    uint32_t totals[TL_CLOCK_TOTALS], cells[TL_CLOCK_TOTALS], sums[TL_CLOCK_TOTALS];
    const uint32_t factor = below(state, 2) ? 1 : UINT32_MAX;
    for (uint32_t r = 0; r < TL_CLOCK_TOTALS; r++) {
        sums[r] = totals[r] = below(state, INT32_MAX) * 2;
        cells[r] = below(state, INT32_MAX) * 2;
    }
    ops->add_totals(sums, cells, factor);
    for (uint32_t r = 0; r < TL_CLOCK_TOTALS; r++)
        assert_int_equal(sums[r], factor == 1 ? totals[r] + cells[r] : totals[r] - cells[r]);
}

static void test_columns_are_rows_one_by_one(void **unused) {
    (void)unused;
    uint64_t state = 1;
    for (uint32_t form = 0; form < 2; form++) {
        const tl_netburst_column_ops *ops = tl_netburst_column_ops_choose(form == 0);
        for (uint32_t i = 0; i < TRIES; i++) {
            check_growths(ops, &state, i % (TL_CLOCK_ROWS + 1));
            check_sums(ops, &state);
            check_totals(ops, &state);
        }
    }
}

// Clocks 11 to 13 have told nothing. For edges, one of them is a row.
static void test_idle_clocks_are_a_row_for_edges(void **unused) {
    (void)unused;
    for (uint32_t keeps = 0; keeps < 2; keeps++) {
        tl_clock_rows rows = {.is_open = true, .keeps_idle = keeps != 0, .most = TL_CLOCK_ROWS, .n = 5, .clock = 10, .until = 14};
        assert_true(tl_clock_rows_have_room(&rows, 14));
        assert_false(tl_clock_rows_have_room(&rows, 15));
        tl_clock_rows_begin(&rows, 14);
        assert_int_equal(rows.n, keeps ? 7 : 6);
        assert_int_equal(rows.n_idle, keeps ? 2 : 3);
        assert_int_equal(rows.n_behind, 3);
        assert_int_equal(rows.clock, 14);
        tl_clock_rows_begin(&rows, 15);
        assert_int_equal(rows.n, keeps ? 8 : 7);
        assert_int_equal(rows.n_idle, keeps ? 2 : 3);
        assert_int_equal(rows.n_behind, 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_columns_are_rows_one_by_one),
    cmocka_unit_test(test_idle_clocks_are_a_row_for_edges),
};
TL_TEST_MAIN(tests)
