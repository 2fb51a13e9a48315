// SPDX-License-Identifier: MIT
// The public library as used by a program: order of calls, two parallel runs, intervals,
// subtraction, reports read back. TALLY_GUEST names a RISC-V program. Without it, only tests
// without a program run.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally/catalogue.h>
#include <tally/compare.h>
#include <tally/diff.h>
#include <tally/report.h>
#include <tally/run.h>

#include "base/testing.h"

static const char *guest(void) {
    const char *path = getenv("TALLY_GUEST");
    if (!path || access(path, X_OK) != 0)
        skip();
    return path;
}

static tl_run *load(const char *machine, const char *argument, tl_interval interval, uint64_t length) {
    static int null_fd = -1;
    if (null_fd < 0)
        null_fd = open("/dev/null", O_RDWR);
    tl_run_options options;
    tl_run *run = NULL;
    tl_error err = {0};
    const char *const argv[] = {"guest", argument, NULL};
    tl_run_options_init(&options);
    options.program = guest();
    options.argv = argv;
    options.machine = machine;
    options.interval = interval;
    options.interval_length = length;
    for (int i = 0; i < 3; i++)
        options.std_fd[i] = null_fd;
    if (tl_run_new(&options, &run, &err) != TL_OK || tl_run_load(run, &err) != TL_OK)
        fail_msg("%s", err.text);
    return run;
}

static tl_run_state advance(tl_run *run, uint64_t n) {
    tl_run_state state;
    tl_error err = {0};
    if (tl_run_advance(run, n, &state, &err) != TL_OK)
        fail_msg("%s", err.text);
    return state;
}

static tl_result *result_of(tl_run *run) {
    tl_result *result = NULL;
    tl_error err = {0};
    if (tl_run_result(run, &result, &err) != TL_OK || tl_result_check(result, &err) != TL_OK)
        fail_msg("%s", err.text);
    return result;
}

static uint64_t count(const tl_result *result, const char *event) {
    uint64_t value = 0;
    if (tl_result_find(result, event, NULL, &value) != TL_OK)
        fail_msg("no %s", event);
    return value;
}

static void assert_same(const tl_result *a, const tl_result *b) {
    tl_error err = {0};
    if (tl_result_equal(a, b, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static void test_calls_out_of_order_are_refused(void **state) {
    (void)state;
    tl_run_options options = {0};
    tl_run *run = NULL;
    tl_run_state after;
    tl_error err = {0};
    assert_int_equal(tl_run_new(&options, &run, &err), TL_EINVAL); // not initialized
    tl_run_options_init(&options);
    assert_int_equal(tl_run_new(&options, &run, &err), TL_EINVAL); // no program
    options.program = "/no/such/program";
    // Errors are optional. tl_run_new does not open the program.
    assert_int_equal(tl_run_new(&options, &run, NULL), TL_OK);
    assert_int_equal(tl_run_advance(run, 1, &after, &err), TL_EINVAL);
    assert_int_equal(tl_run_load(run, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "/no/such/program"));
    tl_run_free(run);
    tl_run_free(NULL);
    options.machine = "no-such-machine";
    assert_int_equal(tl_run_new(&options, &run, &err), TL_ENOENT);
    options.machine = NULL;
    options.events = "cycles,no_such_event";
    assert_int_equal(tl_run_new(&options, &run, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "no_such_event"));
    options.events = NULL;
    options.interval = TL_INTERVAL_CYCLES;
    assert_int_equal(tl_run_new(&options, &run, &err), TL_EINVAL); // of length 0
}

static void test_how_a_run_is_cut_changes_nothing(void **state) {
    (void)state;
    tl_run *whole = load("lowrisc2", "2000", TL_INTERVAL_NONE, 0), *pieces = load("lowrisc2", "2000", TL_INTERVAL_NONE, 0);
    while (advance(whole, UINT64_MAX) != TL_RUN_ENDED)
        ;
    uint64_t step = 1;
    while (advance(pieces, step) != TL_RUN_ENDED)
        step = step * 3 % 9973 + 1;
    tl_result *a = result_of(whole), *b = result_of(pieces);
    assert_same(a, b);
    assert_int_equal(advance(whole, 1), TL_RUN_ENDED); // ended stays ended
    tl_result_free(a);
    tl_result_free(b);
    tl_run_free(whole);
    tl_run_free(pieces);
}

static void test_two_runs_at_once_share_nothing(void **state) {
    (void)state;
    tl_run *alone = load("rocket", "1000", TL_INTERVAL_NONE, 0);
    while (advance(alone, 1000000) != TL_RUN_ENDED)
        ;
    tl_run *one = load("rocket", "1000", TL_INTERVAL_NONE, 0), *other = load("tiny", "3000", TL_INTERVAL_NONE, 0);
    tl_run_state a = TL_RUN_GOING, b = TL_RUN_GOING;
    while (a != TL_RUN_ENDED || b != TL_RUN_ENDED) {
        a = advance(one, 5000);
        b = advance(other, 3000);
    }
    tl_result *want = result_of(alone), *got = result_of(one);
    assert_same(want, got);
    tl_result_free(want);
    tl_result_free(got);
    tl_run_free(alone);
    tl_run_free(one);
    tl_run_free(other);
}

static void test_intervals_are_differences_of_results(void **state) {
    (void)state;
    tl_run *run = load("rocket", "2000", TL_INTERVAL_INSTRUCTIONS, 50000);
    tl_error err = {0};
    tl_result *before = result_of(run);
    uint64_t sum = 0, n = 0;
    for (tl_run_state now = TL_RUN_GOING; now != TL_RUN_ENDED; n++) {
        now = advance(run, UINT64_MAX);
        tl_result *after = result_of(run), *interval = NULL, *difference = NULL;
        assert_int_equal(tl_run_interval(run, &interval, &err), TL_OK);
        assert_int_equal(tl_result_subtract(after, before, &difference, &err), TL_OK);
        if (now == TL_RUN_INTERVAL)
            assert_int_equal(count(interval, "instructions"), 50000);
        if (n > 0) // loading the program is part of the first interval
            assert_same(interval, difference);
        sum += count(interval, "cycles");
        tl_result_free(difference);
        tl_result_free(interval);
        tl_result_free(before);
        before = after;
    }
    assert_true(n > 3);
    assert_int_equal(sum, count(before, "cycles"));
    tl_result *wrong = NULL;
    tl_result *again = result_of(run);
    // Nothing happened in between.
    assert_int_equal(tl_result_subtract(again, before, &wrong, &err), TL_OK);
    assert_int_equal(count(wrong, "cycles"), 0);
    tl_result_free(wrong);
    tl_result_free(again);
    tl_result_free(before);
    tl_run_free(run);
}

static void test_a_report_reads_back(void **state) {
    (void)state;
    tl_run *run = load("lowrisc2", "500", TL_INTERVAL_NONE, 0);
    while (advance(run, UINT64_MAX) != TL_RUN_ENDED)
        ;
    tl_result *result = result_of(run), *read = NULL;
    tl_run_free(run); // a result lives by itself
    char path[] = "/tmp/test_library_XXXXXX";
    int fd = mkstemp(path);
    FILE *stream = fdopen(fd, "w");
    assert_non_null(stream);
    tl_report_options options;
    tl_error err = {0};
    tl_report_options_init(&options);
    options.format = TL_FORMAT_JSON;
    assert_int_equal(tl_report_write(&options, result, stream, &err), TL_OK);
    fclose(stream);
    if (tl_result_read(path, &read, &err) != TL_OK)
        fail_msg("%s", err.text);
    unlink(path);
    assert_int_equal(tl_result_n_counts(read), tl_result_n_counts(result));
    assert_int_equal(tl_result_n_metrics(read), tl_result_n_metrics(result));
    for (uint32_t i = 0; i < tl_result_n_counts(result); i++) {
        tl_count a = {.size = sizeof a}, b = {.size = sizeof b};
        tl_result_count_at(result, i, &a);
        tl_result_count_at(read, i, &b);
        assert_string_equal(a.event, b.event);
        assert_int_equal(a.value, b.value);
    }
    const char *const gates[] = {"*>+0", "*<+0", NULL};
    tl_diff *diff = NULL;
    assert_int_equal(tl_diff_new(result, read, gates, &diff, &err), TL_OK);
    assert_int_equal(tl_diff_n_failed(diff), 0);
    tl_diff_free(diff);
    tl_result_free(read);
    tl_result_free(result);
}

static void test_small_structs_of_older_callers_are_respected(void **state) {
    (void)state;
    tl_list *list = NULL;
    tl_error err = {0};
    assert_int_equal(tl_list_new(TL_LIST_SIGNALS, "hart.cycle", NULL, NULL, &list, &err), TL_OK);
    tl_list_row row = {.size = offsetof(tl_list_row, group)};
    row.group = "untouched";
    assert_int_equal(tl_list_n_rows(list), 1);
    tl_list_row_at(list, 0, &row);
    assert_string_equal(row.name, "hart.cycle");
    assert_string_equal(row.group, "untouched");
    tl_list_free(list);
}

static void test_what_is_for_a_kernel_needs_one(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        tl_run_options options;
        tl_run *run = NULL;
        tl_error err = {0};
        tl_run_options_init(&options);
        options.kind = TL_RUN_BOOT;
        options.bios = "b";
        options.initrd = i == 0 ? "i" : NULL;
        options.append = i == 1 ? "quiet" : NULL;
        assert_int_equal(tl_run_new(&options, &run, &err), TL_EINVAL);
        assert_non_null(strstr(err.text, "for a kernel, and none was named"));
        options.initrd = options.append = NULL;
        assert_int_equal(tl_run_new(&options, &run, &err), TL_OK);
        tl_run_free(run);
    }
}

static void test_wishes_that_contradict_each_other_are_refused(void **state) {
    (void)state;
    static const struct {
        tl_run_kind kind;
        const char *program, *kernel, *pmu, *metrics, *word;
        tl_status status;
    } rows[] = {
        {TL_RUN_USER, NULL, NULL, NULL, NULL, "no program", TL_EINVAL},
        {TL_RUN_BARE, NULL, "k", NULL, NULL, "no program", TL_EINVAL},
        {TL_RUN_BOOT, "p", NULL, NULL, NULL, "neither a kernel nor a firmware", TL_EINVAL},
        {(tl_run_kind)7, "p", "k", NULL, NULL, "no such kind", TL_EINVAL},
        {TL_RUN_BOOT, NULL, "k", "rvhpm", NULL, "belongs to the guest", TL_EINVAL},
        {TL_RUN_BARE, "p", NULL, "rvhpm", NULL, "belongs to the guest", TL_EINVAL},
        {TL_RUN_USER, "p", NULL, "rvhpm", "ipc", "do not go with a pmu", TL_EINVAL},
        {TL_RUN_USER, "p", NULL, "rvhpm:x", NULL, "no preset", TL_ENOENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_run_options options;
        tl_run *run = NULL;
        tl_error err = {0};
        tl_run_options_init(&options);
        options.kind = rows[i].kind;
        options.program = rows[i].program;
        options.kernel = rows[i].kernel;
        options.pmu = rows[i].pmu;
        options.metrics = rows[i].metrics;
        if (tl_run_new(&options, &run, &err) != rows[i].status || !strstr(err.text, rows[i].word))
            fail_msg("row %zu: %s", i, err.text);
    }
    // tl_run_load reports a missing kernel before it needs bios or other files.
    tl_run_options options;
    tl_run *run = NULL;
    tl_error err = {0};
    tl_run_options_init(&options);
    options.kind = TL_RUN_BOOT;
    options.kernel = "/nonexistent/Image";
    assert_int_equal(tl_run_new(&options, &run, &err), TL_OK);
    assert_int_equal(tl_run_load(run, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/Image"));
    tl_run_free(run);
}

static void test_what_a_pmu_reports_comes_with_the_truth(void **state) {
    (void)state;
    tl_run_options options;
    tl_run *run = NULL;
    tl_error err = {0};
    tl_run_options_init(&options);
    options.program = guest();
    options.pmu = "rvhpm:linux";
    options.events = "instructions,branches";
    options.std_fd[0] = options.std_fd[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (tl_run_new(&options, &run, &err) != TL_OK || tl_run_load(run, &err) != TL_OK)
        fail_msg("%s", err.text);
    while (advance(run, 10000000) != TL_RUN_ENDED)
        ;
    tl_result *result = result_of(run);
    tl_times times = {.size = sizeof times};
    tl_result_times(result, &times);
    assert_int_equal(tl_result_n_counts(result), 2);
    for (uint32_t i = 0; i < 2; i++) {
        tl_count count = {.size = sizeof count};
        tl_result_count_at(result, i, &count);
        assert_true(count.is_pmu && count.has_value && count.has_truth && count.has_error);
        assert_true(count.error_vs_truth == 0 && count.truth == count.real);
        assert_int_equal(count.enabled_ns, times.sim_ns);
        assert_int_equal(count.running_ns, times.sim_ns);
        if (i == 0)
            assert_int_equal(count.value, times.instructions);
    }
    tl_result_free(result);
    tl_run_free(run);
    close(options.std_fd[0]);
}

static void test_stopping_from_outside_is_told(void **state) {
    (void)state;
    tl_run *run = load("rocket", "100000", TL_INTERVAL_NONE, 0);
    assert_int_equal(advance(run, 12345), TL_RUN_GOING);
    tl_run_stop(run, TL_END_TIMEOUT, 0);
    assert_int_equal(advance(run, 1), TL_RUN_ENDED);
    tl_result *result = result_of(run);
    tl_end end = {.size = sizeof end};
    tl_times times = {.size = sizeof times};
    tl_result_end(result, &end);
    tl_result_times(result, &times);
    assert_int_equal(end.reason, TL_END_TIMEOUT);
    assert_int_equal(times.instructions, 12345);
    tl_result_free(result);
    tl_run_free(run);
}

static tl_comparison *compared(const char *designs, const char *events) {
    static const char *const argv[] = {"guest", "30000", NULL};
    tl_compare_options options;
    tl_comparison *comparison = NULL;
    tl_error err = {0};
    int null_fd = open("/dev/null", O_RDWR);
    tl_compare_options_init(&options);
    options.run.program = guest();
    options.run.argv = argv;
    for (int i = 0; i < 3; i++)
        options.run.std_fd[i] = null_fd;
    options.run.max_insns = 300000;
    options.designs = designs;
    options.events = events;
    options.interval_cycles = 10000;
    options.n_phases = 2;
    if (tl_compare(&options, &comparison, &err) != TL_OK)
        fail_msg("%s", err.text);
    close(null_fd);
    return comparison;
}

// Capabilities of each PMU design; -P and tl_list_new name equal designs.
static void test_pmu_designs_say_what_they_offer(void **state) {
    (void)state;
    enum { N_DESIGNS = 6 };
    static const struct {
        const char *name, *grant;
        bool has_cost, is_read_at_end;
    } rows[N_DESIGNS] = {{"ccache", "ccache", false, false}, {"dhpc", "hpc", true, true}, {"netburst", "", false, false},
                         {"armv8", "", false, false},        {"rvhpm", "", false, false}, {"smpm", "", true, false}};
    assert_int_equal(tl_pmu_n_designs(), N_DESIGNS);
    for (uint32_t i = 0; i < N_DESIGNS; i++) {
        tl_pmu_design design = {.size = sizeof design};
        tl_error err = {0};
        FILE *nowhere = fopen("/dev/null", "w");
        tl_pmu_design_at(i, &design);
        assert_string_equal(design.name, rows[i].name);
        assert_true(*design.title);
        assert_string_equal(design.grant, rows[i].grant);
        assert_int_equal(*design.grant_meaning != '\0', *design.grant != '\0');
        assert_int_equal(design.has_cost, rows[i].has_cost);
        assert_int_equal(design.is_read_at_end, rows[i].is_read_at_end);
        assert_int_equal(tl_describe_cost(design.name, "tiny", NULL, 1, 1, TL_DESCRIBE_JSON, nowhere, &err),
                         design.has_cost ? TL_OK : TL_EINVAL);
        fclose(nowhere);
    }
    tl_pmu_design none = {.size = sizeof none, .name = "left", .has_cost = true};
    tl_pmu_design_at(N_DESIGNS, &none);
    assert_string_equal(none.name, "");
    assert_false(none.has_cost);
}

static const char *name_of(uint32_t index) {
    tl_compare_design design = {.size = sizeof design};
    tl_compare_design_at(index, &design);
    return design.name;
}

// The order is that of a comparison without options.
static void test_designs_are_told_by_index(void **state) {
    (void)state;
    static const char *const names[] = {"u74", "ccache", "dhpc"};
    assert_int_equal(tl_compare_n_designs(), 3);
    for (uint32_t i = 0; i < 3; i++) {
        tl_compare_design design = {.size = sizeof design};
        tl_compare_design_at(i, &design);
        assert_string_equal(design.name, names[i]);
        assert_true(*design.title && design.meaning[strlen(design.meaning) - 1] == '.');
    }
    assert_string_equal(name_of(3), "");
    uint32_t n_of[4] = {0};
    for (uint32_t i = 0; i < tl_compare_n_events(); i++) {
        tl_compare_event event = {.size = sizeof event};
        tl_compare_event_at(i, &event);
        assert_int_equal(event.designs >> 3, 0);
        for (uint32_t d = 0; d < 3; d++)
            n_of[d] += event.designs >> d & 1;
    }
    assert_int_equal(n_of[0], 37); // 35 selectors, cycle and instret
    assert_int_equal(n_of[1], 8);
    assert_int_equal(n_of[2], 45);
    tl_comparison *comparison = compared("dhpc", "cycle");
    tl_compare_design_row row = {.size = sizeof row};
    tl_comparison_design(comparison, 0, &row);
    assert_int_equal(row.design, 2);
    assert_string_equal(row.name, "dhpc");
    tl_comparison_free(comparison);
}

static void test_the_distributed_counters_are_exact_and_two_events_need_no_turns(void **state) {
    (void)state;
    tl_comparison *comparison = compared("u74,dhpc", "cycle,instret,integer_load,dtlb_miss,l2_read");
    tl_compare_facts facts = {.size = sizeof facts};
    tl_comparison_facts(comparison, &facts);
    assert_int_equal(facts.n_events, 5);
    assert_true(facts.instructions > 0 && facts.instructions <= 300000);
    assert_int_equal(tl_comparison_n_designs(comparison), 2);
    assert_int_equal(tl_comparison_n_values(comparison), 10);
    for (uint32_t i = 0; i < 10; i++) {
        tl_compare_value_row row = {.size = sizeof row};
        tl_comparison_value(comparison, i, &row);
        assert_int_equal(row.has_value, !strcmp(name_of(row.design), "dhpc") || strcmp(row.event, "l2_read") != 0);
        if (row.has_value)
            assert_int_equal(row.value, row.truth);
        else
            assert_true(*row.reason);
    }
    tl_compare_design_row beyond = {.size = sizeof beyond, .n_looks = 7};
    tl_comparison_design(comparison, 2, &beyond);
    assert_int_equal(beyond.n_looks, 0);
    assert_string_equal(beyond.name, "");
    tl_comparison_free(comparison);
    tl_comparison_free(NULL);
}

static void test_a_comparison_is_written_in_each_format(void **state) {
    (void)state;
    static const char *const beginnings[] = {"\n 'demo' on lowrisc2", "{\"type\":\"run\",\"schema\":\"tally.compare/1\"",
                                             "section,design,"};
    tl_comparison *comparison = compared("dhpc", "cycle");
    for (int format = TL_COMPARE_TEXT; format <= TL_COMPARE_CSV; format++) {
        char *text = NULL;
        size_t size = 0;
        tl_error err = {0};
        FILE *stream = open_memstream(&text, &size);
        assert_int_equal(tl_comparison_write(comparison, (tl_compare_format)format, stream, &err), TL_OK);
        fclose(stream);
        assert_memory_equal(text, beginnings[format], strlen(beginnings[format]));
        free(text);
    }
    tl_error err = {0};
    // The comparison has no sweeps.
    assert_int_equal(tl_comparison_write(comparison, TL_COMPARE_SVG, stderr, &err), TL_EINVAL);
    tl_comparison_free(comparison);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_calls_out_of_order_are_refused),
    cmocka_unit_test(test_how_a_run_is_cut_changes_nothing),
    cmocka_unit_test(test_two_runs_at_once_share_nothing),
    cmocka_unit_test(test_intervals_are_differences_of_results),
    cmocka_unit_test(test_a_report_reads_back),
    cmocka_unit_test(test_small_structs_of_older_callers_are_respected),
    cmocka_unit_test(test_what_is_for_a_kernel_needs_one),
    cmocka_unit_test(test_wishes_that_contradict_each_other_are_refused),
    cmocka_unit_test(test_what_a_pmu_reports_comes_with_the_truth),
    cmocka_unit_test(test_stopping_from_outside_is_told),
    cmocka_unit_test(test_pmu_designs_say_what_they_offer),
    cmocka_unit_test(test_designs_are_told_by_index),
    cmocka_unit_test(test_the_distributed_counters_are_exact_and_two_events_need_no_turns),
    cmocka_unit_test(test_a_comparison_is_written_in_each_format),
};

TL_TEST_MAIN(tests)
