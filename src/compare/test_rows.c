// SPDX-License-Identifier: MIT
// Conversion of results to rows: errors, their mean and distribution, readings and slowdown. The
// results are invented, and the rows were computed on paper. A naive model also checks the
// distribution.
#include <math.h>

#include "compare/rows.h"
#include "compare/test_rig.h"

enum { N_EVENTS = 4, N_PHASES = 5 };

static tl_compare_setup setup;
static tl_comparison comparison;
static tl_watch_result results[64];

static int forget(void **state) {
    (void)state;
    setup = (tl_compare_setup){.n_events = N_EVENTS, .n_designs = 1, .designs = {U74}};
    for (uint32_t i = 0; i < N_EVENTS; i++)
        setup.events[i] = &tl_watchables[i];
    comparison = (tl_comparison){.facts = {.cycles = 1000}};
    memset(results, 0, sizeof results);
    return 0;
}

static void found(uint32_t phase, uint32_t event, uint64_t value, uint64_t truth, double time_counted) {
    results[phase].events[event] =
        (tl_watched){.has_value = true, .reason = "", .value = value, .truth = truth, .time_counted = time_counted};
}

static bool is_near(double a, double b) { return fabs(a - b) < 1e-12; }

static void test_the_error_is_relative_to_the_truth(void **state) {
    (void)state;
    assert_true(is_near(tl_compare_error(110, 100), 0.1));
    assert_true(is_near(tl_compare_error(90, 100), -0.1));
    assert_true(is_near(tl_compare_error(0, 100), -1));
    assert_true(is_near(tl_compare_error(300, 100), 2));
    assert_true(tl_compare_error(100, 100) == 0);
    assert_false(signbit(tl_compare_error(100, 100))); // not "-0"
    assert_true(tl_compare_error(0, 0) == 0);
    assert_true(tl_compare_error(1, 0) == 1); // however much: there is nothing to compare it with
    assert_true(tl_compare_error(1000, 0) == 1);
    assert_true(tl_compare_error(UINT64_MAX, UINT64_MAX) == 0);
}

static void test_errors_are_over_events_that_happen(void **state) {
    (void)state;
    double mean, largest;
    found(0, 0, 110, 100, 1); // 0.1
    found(0, 1, 60, 100, 1);  // 0.4
    found(0, 2, 7, 0, 1);     // does not happen
    results[0].events[3] = (tl_watched){.reason = "not there", .value = 5, .truth = 1};
    assert_int_equal(tl_compare_errors(&setup, results, 1, &mean, &largest), 3);
    assert_true(is_near(mean, 0.25));
    assert_true(is_near(largest, 0.4));
    // A second phase: 0.2, 0, nothing; event 3 has a value there, but is counted by phase 0.
    found(1, 0, 80, 100, 1);
    found(1, 1, 100, 100, 1);
    found(1, 3, 170, 100, 1); // 0.7
    assert_int_equal(tl_compare_errors(&setup, results, 2, &mean, &largest), 3);
    assert_true(is_near(mean, (0.1 + 0.4 + 0.2 + 0 + 0.7) / 5));
    assert_true(is_near(largest, 0.7));
    setup.n_events = 2;
    assert_int_equal(tl_compare_errors(&setup, results, 1, &mean, &largest), 2);
}

static void test_no_event_no_error(void **state) {
    (void)state;
    double mean = 9, largest = 9;
    assert_int_equal(tl_compare_errors(&setup, results, 1, &mean, &largest), 0);
    assert_true(mean == 0 && largest == 0);
}

static void test_a_design_s_row_adds_up(void **state) {
    (void)state;
    tl_compare_design_row row;
    found(0, 0, 100, 100, 1);
    found(0, 1, 120, 100, 0.5); // shares a counter
    found(0, 2, 3, 0, 1);
    found(1, 0, 150, 100, 1); // phase 1 contributes its error only
    results[0].n_looks = 8;
    results[0].first_look_cycles = 77;
    results[0].by_reader = (tl_compare_events_added){2001, 3001, 3, 5, 7, 11, 13, 17};
    results[0].run_instructions = 4000;
    results[0].run_cycles = 1040;
    results[0].values_watched = 19;
    results[0].values_read = 23;
    results[0].selects_watched = 29;
    results[1].run_cycles = 5000;
    results[1].n_looks = 99;
    tl_compare_fill_design(&setup, &comparison, U74, results, 2, &row);
    assert_int_equal(row.size, sizeof row);
    assert_int_equal(row.design, U74);
    assert_string_equal(row.name, "u74");
    assert_non_null(strstr(row.title, "Two counters"));
    assert_int_equal(row.events_asked, 4);
    assert_int_equal(row.events_counted, 3);
    assert_int_equal(row.events_always, 2);
    assert_int_equal(row.n_with_error, 2); // also the one that does not happen
    assert_int_equal(row.n_looks, 8);
    assert_int_equal(row.look_instructions_x1000, 250125);
    assert_int_equal(row.look_cycles_x1000, 375125);
    assert_int_equal(row.first_look_cycles, 77);
    assert_memory_equal(&row.by_reader, &results[0].by_reader, sizeof row.by_reader);
    assert_int_equal(row.run_instructions, 4000);
    assert_int_equal(row.run_cycles, 1040);
    assert_true(is_near(row.slowdown, 0.04)); // 4 %, not 104 %
    assert_int_equal(row.values_watched, 19);
    assert_int_equal(row.values_read, 23);
    assert_int_equal(row.selects_watched, 29);
    assert_true(is_near(row.mean_error, (0 + 0.2 + 0.5) / 3));
    assert_true(is_near(row.largest_error, 0.5));
    tl_compare_fill_design(&setup, &comparison, CCACHE, results, 1, &row);
    assert_string_equal(row.name, "ccache");
    assert_non_null(strstr(row.title, "on the bus"));
    tl_compare_fill_design(&setup, &comparison, DHPC, results, 1, &row);
    assert_string_equal(row.name, "dhpc");
    assert_non_null(strstr(row.title, "in every unit"));
    results[0].n_looks = 0;
    tl_compare_fill_design(&setup, &comparison, DHPC, results, 1, &row);
    assert_int_equal(row.look_instructions_x1000 + row.look_cycles_x1000, 0);
}

static tl_compare_value_row values[3 * N_EVENTS];

static void fill_values(uint32_t n_phases) {
    static const uint64_t undisturbed[N_EVENTS] = {1, 2, 3, 4};
    memset(values, 0, sizeof values);
    comparison.values = values;
    tl_compare_fill_values(&setup, &comparison, 0, results, n_phases, undisturbed);
}

static void test_quartiles_lie_between_phases(void **state) {
    (void)state;
    // Errors are 0.3, -0.1, 0, 0.8, 0.2. In order they are -0.1, 0, 0.2, 0.3, 0.8.
    static const uint64_t at[N_PHASES] = {130, 90, 100, 180, 120};
    for (uint32_t k = 0; k < N_PHASES; k++) {
        found(k, 0, at[k], 100, 0.25);
        results[k].events[1] = (tl_watched){.reason = "nobody counts it"};
    }
    fill_values(N_PHASES);
    const tl_compare_value_row *row = &values[0];
    assert_int_equal(row->size, sizeof *row);
    assert_string_equal(row->event, tl_watchables[0].name);
    assert_true(row->has_value);
    assert_int_equal(row->value, 130); // of phase 0, like the fields below
    assert_int_equal(row->truth, 100);
    assert_int_equal(row->undisturbed, 1);
    assert_true(is_near(row->error, 0.3) && row->time_counted == 0.25);
    assert_int_equal(row->n_phases, 5);
    assert_true(is_near(row->least, -0.1) && is_near(row->most, 0.8));
    assert_true(is_near(row->lower_quartile, 0) && is_near(row->median, 0.2) && is_near(row->upper_quartile, 0.3));
    assert_true(is_near(row->mean_absolute, (0.3 + 0.1 + 0 + 0.8 + 0.2) / 5));
    row = &values[1];
    assert_false(row->has_value);
    assert_string_equal(row->reason, "nobody counts it");
    assert_int_equal(row->undisturbed, 2);
    assert_int_equal(row->n_phases, 0);
    assert_true(row->error == 0 && row->mean_absolute == 0 && row->most == 0);
    // Two phases: a quarter of the way, half of it, three quarters.
    fill_values(2);
    assert_true(is_near(values[0].least, -0.1) && is_near(values[0].lower_quartile, 0) && is_near(values[0].median, 0.1));
    assert_true(is_near(values[0].upper_quartile, 0.2) && is_near(values[0].most, 0.3));
    // Four: at 0.75, 1.5 and 2.25 of -0.1, 0, 0.3, 0.8.
    fill_values(4);
    assert_true(is_near(values[0].lower_quartile, -0.025) && is_near(values[0].median, 0.15) && is_near(values[0].upper_quartile, 0.425));
    fill_values(1);
    assert_true(is_near(values[0].least, 0.3) && is_near(values[0].median, 0.3) && is_near(values[0].upper_quartile, 0.3) &&
                is_near(values[0].most, 0.3));
}

// A phase without a value is left out of the distribution.
static void test_a_phase_that_saw_nothing_is_left_out(void **state) {
    (void)state;
    found(0, 2, 100, 100, 1);
    results[1].events[2] = (tl_watched){.reason = "never on a counter", .value = 7777, .truth = 1};
    found(2, 2, 140, 100, 1);
    fill_values(3);
    assert_int_equal(values[2].n_phases, 2);
    assert_true(values[2].least == 0 && is_near(values[2].most, 0.4) && is_near(values[2].median, 0.2) &&
                is_near(values[2].mean_absolute, 0.2));
    assert_int_equal(values[2].undisturbed, 3);
}

// All errors are written down and sorted by exchange; a quantile is found by its definition.
static double naive_quantile(const double *errors, uint32_t n, double part) {
    double sorted[64];
    memcpy(sorted, errors, n * sizeof *sorted);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++)
            if (sorted[k] < sorted[i]) {
                double x = sorted[i];
                sorted[i] = sorted[k];
                sorted[k] = x;
            }
    double at = part * (n - 1), below = floor(at), above = ceil(at);
    return sorted[(int)below] * (1 - (at - below)) + sorted[(int)above] * (at - below);
}

static void test_any_number_of_phases_is_distributed(void **state) {
    (void)state;
    uint32_t random = 12345;
    for (uint32_t n = 1; n <= 64; n++) {
        double errors[64], sum = 0;
        for (uint32_t k = 0; k < n; k++) {
            random = random * 1103515245 + 12345;
            found(k, 3, random >> 16 & 0xfff, 1000, 1);
            errors[k] = ((double)(random >> 16 & 0xfff) - 1000) / 1000;
            sum += fabs(errors[k]);
        }
        fill_values(n);
        const tl_compare_value_row *row = &values[3];
        assert_int_equal(row->n_phases, n);
        assert_true(is_near(row->least, naive_quantile(errors, n, 0)) && is_near(row->most, naive_quantile(errors, n, 1)));
        assert_true(is_near(row->lower_quartile, naive_quantile(errors, n, 0.25)));
        assert_true(is_near(row->median, naive_quantile(errors, n, 0.5)));
        assert_true(is_near(row->upper_quartile, naive_quantile(errors, n, 0.75)));
        assert_true(is_near(row->mean_absolute, sum / n));
    }
}

// Rows of one event follow each other, designs in their order.
static void test_rows_stand_by_event_and_design(void **state) {
    (void)state;
    static const uint64_t undisturbed[N_EVENTS] = {1, 2, 3, 4};
    setup.n_designs = 3;
    setup.designs[0] = DHPC;
    setup.designs[1] = U74;
    setup.designs[2] = CCACHE;
    memset(values, 0, sizeof values);
    comparison.values = values;
    for (uint32_t d = 0; d < 3; d++) {
        for (uint32_t i = 0; i < N_EVENTS; i++)
            found(0, i, 100 * d + i, 1000, 1);
        tl_compare_fill_values(&setup, &comparison, d, results, 1, undisturbed);
    }
    for (uint32_t i = 0; i < N_EVENTS; i++)
        for (uint32_t d = 0; d < 3; d++) {
            assert_int_equal(values[3 * i + d].value, 100 * d + i);
            assert_int_equal(values[3 * i + d].design, setup.designs[d]);
            assert_string_equal(values[3 * i + d].event, tl_watchables[i].name);
        }
}

#define TEST(name) cmocka_unit_test_setup(name, forget)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_error_is_relative_to_the_truth),
        TEST(test_errors_are_over_events_that_happen),
        TEST(test_no_event_no_error),
        TEST(test_a_design_s_row_adds_up),
        TEST(test_quartiles_lie_between_phases),
        TEST(test_a_phase_that_saw_nothing_is_left_out),
        TEST(test_any_number_of_phases_is_distributed),
        TEST(test_rows_stand_by_event_and_design),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
