// SPDX-License-Identifier: MIT
// Results of a run that no machine made: two harts with a cache each and one memory, whose totals
// the test writes.
#include "result/outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

enum { LOAD_0, MISS_0, LOAD_1, MISS_1, READ, N_TOTALS };
enum { N_HARTS = 2 };

static const tl_signal cache_signals[] = {{"load", "Counts loads.", TL_MEASURE_EVENTS, 1},
                                          {"miss", "Counts misses.", TL_MEASURE_EVENTS, 1}};
static const tl_signal mem_signals[] = {{"read", "Counts reads.", TL_MEASURE_BYTES, 1}};
static const tl_unit_type cache = {"cache", "A cache.", cache_signals, 2}, mem = {"mem", "A memory.", mem_signals, 1};
static const char ratios[] =
    "SHORT Ratios.\nEVENTSET\nMETRICS\nratio | % | 100 * cache.miss / cache.load | Loads that miss.\nLONG\nNone.\n";
static const uint64_t first[N_TOTALS] = {100, 7, 200, 11, 13}, second[N_TOTALS] = {117, 7 + 17, 219, 11 + 19, 13 + 23};

// Events and metrics may be NULL.
static tl_outline *new_outline(const char *events, const char *metrics) {
    static const tl_unit units[] = {
        {&cache, "hart0.cache", NULL, LOAD_0}, {&cache, "hart1.cache", NULL, LOAD_1}, {&mem, "mem", NULL, READ}};
    static const char *const scopes[] = {"hart0", "hart1"};
    const tl_catalogue_of of = {.units = units, .n_units = 3, .n_cells = N_TOTALS, .n_harts = N_HARTS, .selecting_pmu = "any"};
    tl_outline *outline = NULL;
    tl_error err = {0};
    assert_int_equal(tl_outline_new(&outline, &err), TL_OK);
    assert_int_equal(tl_catalogue_new(&of, &outline->catalogue, &err), TL_OK);
    assert_int_equal(tl_catalogue_add_group(outline->catalogue, "ratios", ratios, strlen(ratios), "ratios.txt", &err), TL_OK);
    outline->header = (tl_header){.interval = "cycles", .n_harts = N_HARTS, .clock_hz = 500000000};
    outline->hart_scopes = tl_arena_alloc(&outline->arena, sizeof scopes);
    memcpy((void *)outline->hart_scopes, scopes, sizeof scopes);
    tl_quantities found = {0};
    if (events)
        assert_int_equal(tl_catalogue_events(outline->catalogue, events, &found, &err), TL_OK);
    outline->events = tl_arena_alloc(&outline->arena, (found.n_items + 1) * sizeof *outline->events);
    for (uint32_t i = 0; i < found.n_items; i++)
        outline->events[outline->n_events++] =
            (tl_outline_event){.quantity = found.items[i], .group = "cache", .metric = "ratio", .detail = 1};
    tl_quantities_done(&found);
    if (metrics)
        assert_int_equal(tl_catalogue_metrics(outline->catalogue, metrics, &outline->metrics, &err), TL_OK);
    return outline;
}

static tl_result *new_result(tl_outline *outline, const uint64_t *totals, uint32_t n_totals) {
    tl_result *result = NULL;
    assert_int_equal(tl_result_new(outline, &result, NULL), TL_OK);
    result->totals = tl_arena_alloc(&result->arena, (n_totals + 1) * sizeof *result->totals);
    memcpy(result->totals, totals, n_totals * sizeof *result->totals);
    result->n_totals = n_totals;
    return result;
}

static void expect_row(const tl_result *result, uint32_t index, const char *name, const char *scope, double value) {
    assert_true(index < result->n_rows);
    const tl_row *row = &result->rows[index];
    if (strcmp(row->name, name) != 0 || strcmp(row->scope, scope) != 0 || row->value.kind == TL_VALUE_MISSING || row->value.real != value)
        fail_msg("row %u is %s of %s, %g, not %s of %s, %g", index, row->name, row->scope, row->value.real, name, scope, value);
}

static void test_rows_are_events_then_metrics_by_hart_and_unit(void **state) {
    (void)state;
    tl_outline *outline = new_outline("cache.miss,mem.read", "ratio");
    outline->per_hart = outline->per_unit = true;
    tl_result *result = new_result(outline, first, N_TOTALS);
    assert_int_equal(tl_outline_rows(outline, result, NULL), TL_OK);
    assert_int_equal(result->n_rows, 10);
    expect_row(result, 0, "cache.miss", "machine", 18);
    expect_row(result, 1, "cache.miss", "hart0", 7);
    expect_row(result, 2, "cache.miss", "hart1", 11);
    expect_row(result, 3, "cache.miss", "hart0.cache", 7);
    expect_row(result, 4, "cache.miss", "hart1.cache", 11);
    expect_row(result, 5, "mem.read", "machine", 13); // no hart answers for it
    expect_row(result, 6, "mem.read", "mem", 13);
    expect_row(result, 7, "ratio", "machine", 6);
    expect_row(result, 8, "ratio", "hart0", 7);
    expect_row(result, 9, "ratio", "hart1", 5.5);
    assert_string_equal(result->rows[0].group, "cache");
    assert_string_equal(result->rows[0].metric, "ratio");
    assert_int_equal(result->rows[0].detail, 1);
    assert_string_equal(result->rows[5].unit, "bytes");
    assert_true(result->rows[9].is_metric && !result->rows[6].is_metric);
    tl_result_release(result);
    tl_outline_free(outline);
}

static void test_a_difference_has_rows_of_its_own(void **state) {
    (void)state;
    tl_outline *outline = new_outline("cache.load,cache.miss", "ratio");
    tl_result *earlier = new_result(outline, first, N_TOTALS), *later = new_result(outline, second, N_TOTALS), *difference = NULL;
    earlier->instructions = 1000;
    earlier->cycles = 2000;
    earlier->sim_ns = 4000;
    later->instructions = 1029;
    later->cycles = 2031;
    later->sim_ns = 4037;
    assert_int_equal(tl_result_difference(later, earlier, &difference, NULL), TL_OK);
    assert_int_equal(difference->n_rows, 3);
    expect_row(difference, 0, "cache.load", "machine", 17 + 19);
    expect_row(difference, 1, "cache.miss", "machine", 17 + 19);
    expect_row(difference, 2, "ratio", "machine", 100);
    assert_string_equal(difference->interval_kind, "cycles");
    assert_int_equal(difference->instructions, 29);
    assert_int_equal(difference->cycles, 31);
    assert_int_equal(difference->sim_ns, 37);
    assert_int_equal(difference->begin_instructions, 1000);
    assert_int_equal(difference->begin_cycles, 2000);
    assert_int_equal(difference->begin_ns, 4000);
    tl_result_release(difference);
    tl_error err = {0};
    assert_int_equal(tl_result_difference(earlier, later, &difference, &err), TL_EINVAL);
    assert_string_equal(err.text, "the result to subtract is the later one");
    tl_result_release(earlier);
    tl_result_release(later);
    tl_outline_free(outline);
}

// A marker that comes up after the earlier result had no totals then.
static void test_a_difference_pairs_regions_by_key(void **state) {
    (void)state;
    enum { NEW_KEY = 4, OLD_KEY = 9 };
    tl_outline *outline = new_outline("mem.read", NULL);
    uint64_t both[2 * N_TOTALS];
    memcpy(both, first, sizeof first);
    memcpy(both + N_TOTALS, second, sizeof second);
    tl_result *earlier = new_result(outline, first, N_TOTALS), *later = new_result(outline, both, 2 * N_TOTALS), *difference = NULL;
    tl_result_region old = {.name = "old", .key = OLD_KEY}, now[] = {{.name = "new", .key = NEW_KEY}, {.name = "old", .key = OLD_KEY}};
    earlier->regions = &old;
    earlier->n_regions = 1;
    earlier->is_by_region = true;
    later->regions = now;
    later->n_regions = 2;
    later->is_by_region = true;
    assert_int_equal(tl_result_difference(later, earlier, &difference, NULL), TL_OK);
    assert_int_equal(difference->n_rows, 2);
    expect_row(difference, 0, "mem.read", "machine", 13);
    expect_row(difference, 1, "mem.read", "machine", 23);
    assert_string_equal(difference->rows[0].region, "new");
    assert_string_equal(difference->rows[1].region, "old");
    assert_int_equal(difference->regions[1].first_row, 1);
    assert_int_equal(difference->regions[1].n_rows, 1);
    tl_result_release(difference);
    tl_result_release(earlier);
    tl_result_release(later);
    tl_outline_free(outline);
}

static void test_results_of_different_runs_have_no_difference(void **state) {
    (void)state;
    tl_outline *outlines[] = {new_outline("mem.read", NULL), new_outline("mem.read", NULL)};
    tl_result *a = new_result(outlines[0], first, N_TOTALS), *b = new_result(outlines[1], second, N_TOTALS), *difference = NULL;
    tl_error err = {0};
    assert_int_equal(tl_result_difference(b, a, &difference, &err), TL_EINVAL);
    assert_string_equal(err.text, "the results to subtract come from different runs");
    assert_null(difference);
    tl_result_release(a);
    tl_result_release(b);
    tl_outline_free(outlines[0]);
    tl_outline_free(outlines[1]);
}

static void test_results_outlive_whoever_made_their_outline(void **state) {
    (void)state;
    tl_outline *outline = new_outline("cache.miss", "ratio");
    tl_result *earlier = new_result(outline, first, N_TOTALS), *later = new_result(outline, second, N_TOTALS), *difference = NULL;
    tl_outline_free(outline);
    assert_int_equal(tl_result_difference(later, earlier, &difference, NULL), TL_OK);
    tl_result_release(earlier);
    tl_result_release(later);
    expect_row(difference, 0, "cache.miss", "machine", 36);
    assert_string_equal(difference->rows[1].meaning, "Loads that miss.");
    assert_string_equal(difference->header->interval, "cycles");
    tl_result_release(difference);
}

// Two events of a PMU: one means a formula, the other the totals that the test lists for each hart.
// 2 ns are a cycle.
static void test_counts_of_a_pmu_are_scaled_beside_the_truth(void **state) {
    (void)state;
    static const tl_cell of_hart_0[] = {LOAD_0, MISS_0}, of_hart_1[] = {LOAD_1};
    static const tl_cell *const cells[] = {of_hart_0, of_hart_1};
    static const uint32_t n_cells[] = {2, 1};
    tl_outline *outline = new_outline(NULL, NULL);
    tl_counted miss = {.name = "miss", .unit = "", .meaning = "Misses."},
               raw = {.name = "r1", .unit = "", .cells = cells, .n_cells = n_cells};
    const tl_counted *const counted[] = {&miss, &raw};
    assert_int_equal(tl_catalogue_formula(outline->catalogue, "cache.miss", &miss.truth, NULL), TL_OK);
    outline->header.pmu = "any";
    outline->per_hart = true;
    outline->counted = counted;
    outline->n_counted = 2;
    tl_perf_count then[] = {{1, 10, 10}, {2, 10, 5}, {3, 10, 10}, {4, 10, 5}};
    // The order is by hart, then by event.
    tl_perf_count now[] = {{6, 50, 30}, {2 + 70, 50, 45}, {3 + 11, 30, 30}, {4, 30, 5}};
    tl_result *earlier = new_result(outline, first, N_TOTALS), *later = new_result(outline, second, N_TOTALS), *difference = NULL;
    earlier->pmu_counts = then;
    earlier->n_pmu_counts = 4;
    later->pmu_counts = now;
    later->n_pmu_counts = 4;
    assert_int_equal(tl_result_difference(later, earlier, &difference, NULL), TL_OK);
    assert_int_equal(difference->n_rows, 6);
    expect_row(difference, 0, "miss", "machine", 24); // (5 + 11) * (40 + 20) / (20 + 20)
    expect_row(difference, 1, "miss", "hart0", 10);
    expect_row(difference, 2, "miss", "hart1", 11);
    expect_row(difference, 3, "r1", "machine", 105); // 70 * 60 / 40
    expect_row(difference, 4, "r1", "hart0", 70);
    assert_int_equal(difference->rows[5].value.kind, TL_VALUE_MISSING); // never on a counter
    assert_int_equal(difference->rows[0].pmu.enabled_ns, 120);
    assert_int_equal(difference->rows[0].pmu.running_ns, 80);
    assert_int_equal(difference->rows[0].pmu.truth.integer, 36);
    assert_int_equal(difference->rows[2].pmu.truth.integer, 19);
    assert_int_equal(difference->rows[3].pmu.truth.integer, 17 + 17 + 19);
    assert_int_equal(difference->rows[5].pmu.truth.integer, 19);
    tl_result_release(difference);
    tl_result_release(earlier);
    tl_result_release(later);
    tl_outline_free(outline);
}

static void test_a_pmu_that_was_not_read_has_rows_that_say_so(void **state) {
    (void)state;
    static const tl_row unread[] = {{.name = "reads", .scope = "machine", .is_pmu = true, .value = {.reason = "not read"}}};
    tl_outline *outline = new_outline(NULL, NULL);
    outline->header.pmu = "any";
    outline->unread = unread;
    outline->n_unread = 1;
    tl_result *result = new_result(outline, first, N_TOTALS);
    assert_int_equal(tl_outline_rows(outline, result, NULL), TL_OK);
    assert_int_equal(result->n_rows, 1);
    assert_string_equal(result->rows[0].name, "reads");
    assert_string_equal(result->rows[0].value.reason, "not read");
    tl_result_release(result);
    tl_outline_free(outline);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_are_events_then_metrics_by_hart_and_unit),
    cmocka_unit_test(test_a_difference_has_rows_of_its_own),
    cmocka_unit_test(test_a_difference_pairs_regions_by_key),
    cmocka_unit_test(test_results_of_different_runs_have_no_difference),
    cmocka_unit_test(test_results_outlive_whoever_made_their_outline),
    cmocka_unit_test(test_counts_of_a_pmu_are_scaled_beside_the_truth),
    cmocka_unit_test(test_a_pmu_that_was_not_read_has_rows_that_say_so),
};
TL_TEST_MAIN(tests)
