// SPDX-License-Identifier: MIT
// A comparison made by hand in every format, compared byte by byte with the files of reports/.
// After a wanted change: TALLY_UPDATE_GOLDEN=1 meson test -C build --suite golden, and read the
// difference.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "golden.h"
#include "report/comparison.h"

// Numbers are primes where they can be, so that a mix-up shows.
enum { U74, CCACHE, DHPC };

static tl_compare_design_row designs[] = {
    {.design = U74,
     .name = "u74",
     .title = "Two counters in the core, shared out in turns",
     .is_accounted = true,
     .events_at_once = 4,
     .events_asked = 3,
     .events_counted = 2,
     .events_always = 1,
     .n_csrs = 6,
     .csrs_per_event = 2,
     .n_looks = 101,
     .look_instructions_x1000 = 402007,
     .look_cycles_x1000 = 616003,
     .first_look_cycles = 1409,
     .by_reader = {40603, 62219, 1010, 505, 7, 11, 13, 0},
     .run_instructions = 8040603,
     .run_cycles = 10062219,
     .slowdown = 0.0062219,
     .mean_error = 0.0615,
     .largest_error = 0.123,
     .n_with_error = 1},
    {.design = CCACHE,
     .name = "ccache",
     .title = "A block of counters on the bus",
     .is_accounted = true,
     .events_at_once = 6,
     .events_asked = 3,
     .events_counted = 1,
     .events_always = 1,
     .address_bytes = 16384,
     .address_bytes_per_event = 16,
     .n_looks = 103,
     .look_instructions_x1000 = 61000,
     .look_cycles_x1000 = 799500,
     .first_look_cycles = 2003,
     .by_reader = {6283, 82349, 0, 103, 0, 2, 3, 618},
     .run_instructions = 8006283,
     .run_cycles = 10082349,
     .slowdown = 0.0082349,
     .values_watched = 618,
     .values_read = 107,
     .selects_watched = 1},
    {.design = DHPC,
     .name = "dhpc",
     .title = "Counters in every unit, behind three registers",
     .is_accounted = true,
     .events_at_once = 187,
     .events_asked = 3,
     .events_counted = 3,
     .events_always = 3,
     .n_csrs = 3,
     .n_looks = 107,
     .look_instructions_x1000 = 211000,
     .look_cycles_x1000 = 466700,
     .first_look_cycles = 997,
     .by_reader = {22577, 49937, 0, 321, 0, 5, 5, 0},
     .run_instructions = 8022577,
     .run_cycles = 10000000},
};

static tl_compare_value_row values[] = {
    {.design = U74,
     .event = "cycle",
     .has_value = true,
     .reason = "",
     .value = 10062219,
     .truth = 10062219,
     .undisturbed = 10000000,
     .time_counted = 1,
     .n_phases = 8},
    {.design = CCACHE, .event = "cycle", .reason = "the block counts what the second level does", .undisturbed = 10000000},
    {.design = DHPC,
     .event = "cycle",
     .has_value = true,
     .reason = "",
     .value = 10000000,
     .truth = 10000000,
     .undisturbed = 10000000,
     .time_counted = 1,
     .n_phases = 1},
    {.design = U74,
     .event = "branch_direction_misprediction",
     .has_value = true,
     .reason = "",
     .value = 112300,
     .truth = 100000,
     .undisturbed = 99991,
     .error = 0.123,
     .time_counted = 0.25,
     .n_phases = 8,
     .least = -0.402,
     .lower_quartile = -0.071,
     .median = 0.032,
     .upper_quartile = 0.111,
     .most = 1.7,
     .mean_absolute = 0.19},
    {.design = CCACHE,
     .event = "branch_direction_misprediction",
     .reason = "the block counts what the second level does",
     .undisturbed = 99991},
    {.design = DHPC,
     .event = "branch_direction_misprediction",
     .has_value = true,
     .reason = "",
     .value = 100003,
     .truth = 100003,
     .undisturbed = 99991,
     .time_counted = 1,
     .n_phases = 1},
    {.design = U74, .event = "l2_read", .reason = "the core's counters do not see the second level", .undisturbed = 5003},
    {.design = CCACHE,
     .event = "l2_read",
     .has_value = true,
     .reason = "",
     .value = 5009,
     .truth = 5009,
     .undisturbed = 5003,
     .time_counted = 1,
     .n_phases = 1},
    {.design = DHPC,
     .event = "l2_read",
     .has_value = true,
     .reason = "",
     .value = 5011,
     .truth = 5011,
     .undisturbed = 5003,
     .time_counted = 1,
     .n_phases = 1},
};

static tl_compare_access_row accesses[] = {
    {.design = U74,
     .method = "csrr",
     .mode = "user",
     .n_asked = 1,
     .n_counters = 1,
     .first_instructions = 1,
     .first_cycles = 5,
     .next_instructions = 1,
     .next_cycles = 3},
    {.design = U74,
     .method = "csrr",
     .mode = "user",
     .n_asked = 8,
     .n_counters = 4,
     .first_instructions = 4,
     .first_cycles = 20,
     .next_instructions = 4,
     .next_cycles = 12},
    {.design = U74,
     .method = "csrr",
     .mode = "user",
     .n_asked = 64,
     .n_counters = 4,
     .first_instructions = 4,
     .first_cycles = 20,
     .next_instructions = 4,
     .next_cycles = 12},
    {.design = CCACHE,
     .method = "load",
     .mode = "user",
     .n_asked = 1,
     .n_counters = 1,
     .first_instructions = 1213,
     .first_cycles = 7561,
     .next_instructions = 1,
     .next_cycles = 41,
     .dtlb_accesses = 1,
     .uncached = 1,
     .first_setup_cycles = 7001,
     .first_setup_instructions = 1201},
    {.design = DHPC,
     .method = "empty-poll",
     .mode = "user",
     .n_asked = 1,
     .n_counters = 1,
     .first_instructions = 11,
     .first_cycles = 24,
     .next_instructions = 11,
     .next_cycles = 22},
    {.design = DHPC,
     .method = "burst-read",
     .mode = "user",
     .n_asked = 64,
     .n_counters = 64,
     .first_instructions = 79,
     .first_cycles = 179,
     .next_instructions = 79,
     .next_cycles = 83,
     .l1d_accesses = 2,
     .l1d_misses = 1},
};

#define TRY(unit, how, permit, what_with, came_out) \
    { .design = unit, .mode = how, .grant = permit, .what = what_with, .outcome = TL_COMPARE_##came_out }
static tl_compare_privilege_row privileges[] = {
    TRY(U74, "M", "mcounteren=0", "csrr hpmcounter3", VALUE),  TRY(U74, "U", "mcounteren=0", "csrr hpmcounter3", ILLEGAL),
    TRY(CCACHE, "S", "page not mapped", "ld", PAGE_FAULT),     TRY(CCACHE, "U", "PMP denies", "ld", ACCESS_FAULT),
    TRY(DHPC, "U", "useren=0", "csrw hpcc, trigger", ILLEGAL), TRY(DHPC, "another process", "useren=0", "csrr hpcr", OTHERS_VALUE),
    TRY(DHPC, "U", "useren=1", "csrr hpcr", NOTHING),
};

static tl_compare_state_row states[] = {
    {.design = U74, .n_counters = 4, .state_bits = 283, .counter_bits = 208, .wires = 67, .n_csrs = 6, .is_as_built = true},
    {.design = U74, .n_counters = 187, .state_bits = 20011, .counter_bits = 11969, .wires = 12007, .n_csrs = 374},
    {.design = CCACHE, .n_counters = 6, .state_bits = 769, .counter_bits = 384, .wires = 89, .address_bytes = 16384, .is_as_built = true},
    {.design = DHPC, .n_counters = 187, .state_bits = 21001, .counter_bits = 11968, .wires = 941, .n_csrs = 3, .is_as_built = true},
};

static tl_compare_fabric_row fabrics[] = {
    {.beat_cycles = 1,
     .n_harts = 1,
     .n_counters = 8,
     .empty_poll_x1000 = 41000,
     .trigger_poll_x1000 = 31500,
     .burst_read_x1000 = 29000,
     .wait_bound_cycles = 0,
     .winner = "burst-read"},
    {.beat_cycles = 4,
     .n_harts = 1,
     .n_counters = 8,
     .empty_poll_x1000 = 50000,
     .trigger_poll_x1000 = 50300,
     .burst_read_x1000 = 50100,
     .wait_bound_cycles = 0,
     .winner = "even"},
    {.beat_cycles = 16,
     .n_harts = 1,
     .n_counters = 8,
     .empty_poll_x1000 = 141000,
     .trigger_poll_x1000 = 163000,
     .burst_read_x1000 = 142000,
     .wait_bound_cycles = 0,
     .winner = "even"},
    {.beat_cycles = 1,
     .n_harts = 2,
     .n_counters = 8,
     .empty_poll_x1000 = 53000,
     .trigger_poll_x1000 = 47000,
     .burst_read_x1000 = 43000,
     .max_wait_cycles = 61,
     .wait_bound_cycles = 67,
     .winner = "burst-read"},
};

static tl_compare_spread_row spreads[] = {
    {.design = U74, .interval_cycles = 100000, .n_events = 2, .n_counted = 2},
    {.design = CCACHE, .interval_cycles = 100000, .n_events = 2},
    {.design = DHPC, .interval_cycles = 100000, .n_events = 2, .n_counted = 2},
    {.design = U74, .interval_cycles = 100000, .n_events = 16, .n_counted = 12, .mean_error = 0.131, .largest_error = 0.71},
    {.design = CCACHE, .interval_cycles = 100000, .n_events = 16, .n_counted = 4},
    {.design = DHPC, .interval_cycles = 100000, .n_events = 16, .n_counted = 16},
    {.design = U74, .interval_cycles = 200000, .n_events = 45, .n_counted = 37, .mean_error = 0.229, .largest_error = 13.7},
    {.design = CCACHE, .interval_cycles = 200000, .n_events = 45, .n_counted = 8},
    {.design = DHPC, .interval_cycles = 200000, .n_events = 45, .n_counted = 45},
};

#define ROWS(name) .name = name, .n_##name = sizeof name / sizeof name[0]
static tl_comparison sample(void) {
    return (tl_comparison){.facts = {.program = "lu<a>",
                                     .machine = "lowrisc2",
                                     .engine = "block",
                                     .digest = "xxh64:00000000deadbeef",
                                     .added = "l2.counters=6",
                                     .n_harts = 2,
                                     .n_slices = 2,
                                     .clock_hz = 1000000000,
                                     .instructions = 8000000,
                                     .cycles = 10000000,
                                     .reason = TL_END_EXITED,
                                     .status = 3,
                                     .max_insns = 200000000,
                                     .interval_cycles = 100000,
                                     .n_phases = 8,
                                     .n_events = 3,
                                     .wanted_interval_cycles = 50000,
                                     .outgrown_by_design = "dhpc",
                                     .outgrown_by_cycles = 43019},
                           ROWS(designs),
                           ROWS(values),
                           ROWS(accesses),
                           ROWS(privileges),
                           ROWS(states),
                           ROWS(fabrics),
                           ROWS(spreads)};
}

static char *written(const tl_comparison *comparison, tl_compare_format format) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    tl_error err = {0};
    assert_non_null(stream);
    if (tl_report_comparison(comparison, format, stream, &err) != TL_OK)
        fail_msg("%s", err.text);
    fclose(stream);
    return text;
}

static const char *const files[] = {"compare.txt", "compare-json.txt", "compare-csv.txt", "compare-svg.txt"};

static void test_every_format_writes_what_it_always_wrote(void **state) {
    (void)state;
    tl_comparison comparison = sample();
    for (int format = TL_COMPARE_TEXT; format <= TL_COMPARE_SVG; format++) {
        char *text = written(&comparison, (tl_compare_format)format);
        compare(files[format], text);
        free(text);
    }
}

static void test_a_comparison_of_one_design_without_sweeps_reads_well(void **state) {
    (void)state;
    tl_comparison comparison = sample();
    comparison.designs = &designs[2];
    comparison.n_designs = 1;
    comparison.values = &values[2];
    comparison.n_values = 1;
    comparison.n_accesses = comparison.n_privileges = comparison.n_states = comparison.n_fabrics = comparison.n_spreads = 0;
    comparison.facts.reason = TL_END_MAX_INSNS;
    comparison.facts.added = "";
    comparison.facts.outgrown_by_cycles = 0;
    char *text = written(&comparison, TL_COMPARE_TEXT);
    compare("compare-one.txt", text);
    free(text);
}

static void test_lines_do_not_end_in_blanks(void **state) {
    (void)state;
    tl_comparison comparison = sample();
    char *text = written(&comparison, TL_COMPARE_TEXT);
    assert_null(strstr(text, " \n"));
    free(text);
}

static void test_the_locale_changes_nothing(void **state) {
    // Any locale of the host with a decimal comma will do; without one there is nothing to prove.
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        (void)setlocale(LC_ALL, "fr_FR.UTF-8");
    test_every_format_writes_what_it_always_wrote(state);
    setlocale(LC_ALL, "C");
}

static void test_there_is_no_picture_without_sweeps(void **state) {
    (void)state;
    tl_comparison comparison = sample();
    tl_error err = {0};
    comparison.n_spreads = 0;
    assert_int_equal(tl_report_comparison(&comparison, TL_COMPARE_SVG, stderr, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "sweeps"));
    assert_int_equal(tl_report_comparison(&comparison, (tl_compare_format)99, stderr, &err), TL_EINVAL);
}

static void test_a_full_disk_is_an_error(void **state) {
    (void)state;
    tl_comparison comparison = sample();
    for (int format = TL_COMPARE_TEXT; format <= TL_COMPARE_SVG; format++) {
        tl_error err = {0};
        FILE *full = fopen("/dev/full", "w");
        if (!full)
            skip();
        assert_int_equal(tl_report_comparison(&comparison, (tl_compare_format)format, full, &err), TL_EIO);
        fclose(full);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_format_writes_what_it_always_wrote),
    cmocka_unit_test(test_a_comparison_of_one_design_without_sweeps_reads_well),
    cmocka_unit_test(test_lines_do_not_end_in_blanks),
    cmocka_unit_test(test_the_locale_changes_nothing),
    cmocka_unit_test(test_there_is_no_picture_without_sweeps),
    cmocka_unit_test(test_a_full_disk_is_an_error),
};

TL_TEST_MAIN(tests)
