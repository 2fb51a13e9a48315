// SPDX-License-Identifier: MIT
#include "session/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"
#include "session/run.h"

static char program[] = "/tmp/tally-sweep-test-XXXXXX";

static tl_run_options options_of(const char *text) {
    tl_run_options options;
    FILE *stream = fopen(program, "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
    tl_session_options_init(&options);
    options.program = program;
    options.machine = "rocket";
    return options;
}

static tl_sweep *planned(const tl_run_options *options, const char *a, const char *b) {
    const char *const varies[] = {a, b, NULL};
    tl_sweep *sweep = NULL;
    tl_error err = {0};
    if (tl_sweep_plan(options, varies, &sweep, &err) != TL_OK)
        fail_msg("%s", err.text);
    return sweep;
}

static void assert_refused(const char *a, const char *b, tl_status status, const char *part) {
    const tl_run_options options = options_of("x");
    const char *const varies[] = {a, b, NULL};
    tl_sweep *sweep = NULL;
    tl_error err = {0};
    assert_int_equal(tl_sweep_plan(&options, varies, &sweep, &err), status);
    assert_non_null(strstr(err.text, part));
    assert_null(sweep);
}

static void test_the_last_key_varies_fastest(void **state) {
    (void)state;
    static const char *const titles[] = {"l1d.size=8KiB l2.ways=2",  "l1d.size=8KiB l2.ways=4",  "l1d.size=8KiB l2.ways=8",
                                         "l1d.size=16KiB l2.ways=2", "l1d.size=16KiB l2.ways=4", "l1d.size=16KiB l2.ways=8"};
    tl_run_options options = options_of("x");
    const char *const overrides[] = {"l1i.size=8KiB", NULL};
    options.overrides = overrides;
    tl_sweep *sweep = planned(&options, "l1d.size=8KiB,16KiB", "l2.ways=2,4,8");
    assert_int_equal(sweep->n_cells, 6);
    for (uint32_t i = 0; i < 6; i++) {
        tl_run_options cell;
        tl_sweep_fill_options(sweep, i, &cell);
        assert_string_equal(sweep->cells[i].title, titles[i]);
        assert_string_equal(cell.machine, "rocket");
        assert_string_equal(cell.overrides[0], "l1i.size=8KiB");
        assert_int_equal(strncmp(titles[i], cell.overrides[1], strlen(cell.overrides[1])), 0);
        assert_string_equal(cell.overrides[2], strchr(titles[i], ' ') + 1);
        assert_null(cell.overrides[3]);
        assert_int_equal(sweep->cells[i].state, TL_SWEEP_OPEN);
    }
    tl_sweep_release(sweep);
}

static void test_semicolons_separate_values_that_have_commas(void **state) {
    (void)state;
    const tl_run_options options = options_of("x");
    tl_sweep *sweep = planned(&options, "l1d=32K,8,64;16K,4,64", NULL);
    assert_int_equal(sweep->n_cells, 2);
    assert_string_equal(sweep->keys[0].values[0], "32K,8,64");
    assert_string_equal(sweep->keys[0].values[1], "16K,4,64");
    tl_sweep_release(sweep);
}

static void test_a_machine_can_vary(void **state) {
    (void)state;
    tl_run_options options = options_of("x");
    options.machine = "tiny";
    tl_sweep *sweep = planned(&options, "machine=rocket,u74", "seed=1,2");
    tl_run_options cell;
    tl_sweep_fill_options(sweep, 2, &cell);
    assert_null(sweep->machine);
    assert_string_equal(cell.machine, "u74");
    assert_string_equal(cell.overrides[0], "seed=1");
    assert_null(cell.overrides[1]);
    tl_sweep_release(sweep);
}

static void test_a_pmu_can_vary(void **state) {
    (void)state;
    tl_run_options options = options_of("x"), cell;
    options.pmu = "rvhpm";
    tl_sweep *sweep = planned(&options, "pmu=linux,u74", NULL); // presets: of the machine
    tl_sweep_fill_options(sweep, 1, &cell);
    assert_string_equal(sweep->pmu, "rvhpm");
    assert_string_equal(cell.pmu, "rvhpm");
    assert_string_equal(cell.overrides[0], "pmu=u74");
    assert_null(sweep->options.metrics);
    tl_sweep_release(sweep);
    options.pmu = NULL;
    sweep = planned(&options, "pmu=rvhpm:linux,rvhpm:u74", NULL); // designs: option pmu
    tl_sweep_fill_options(sweep, 1, &cell);
    assert_null(sweep->pmu);
    assert_string_equal(cell.pmu, "rvhpm:u74");
    assert_null(cell.overrides[0]);
    assert_string_not_equal(sweep->cells[0].name, sweep->cells[1].name);
    tl_sweep_release(sweep);
}

static void test_a_name_tells_all_that_counts_depend_on(void **state) {
    (void)state;
    tl_run_options base = options_of("x");
    const char *const words[] = {"./p", "a", NULL}, *const other_words[] = {"./p", "b", NULL}, *const env[] = {"A=1", NULL};
    const char *const override[] = {"l2.ways=4", NULL}, *const as_it_is[] = {"l2.ways=8", NULL};
    base.argv = words;
    tl_sweep *first = planned(&base, "l1d.size=8KiB,16KiB", NULL);
    const struct {
        bool is_same;
        tl_run_options options;
        const char *contents;
    } rows[] = {
#define WITH(...)                \
    ({                           \
        tl_run_options o = base; \
        __VA_ARGS__;             \
        o;                       \
    })
        {true, WITH((void)0), "x"},
        {true, WITH(o.overrides = as_it_is), "x"},
        {true, WITH(o.engine = TL_ENGINE_STEP), "x"},
        {false, WITH((void)0), "y"},
        {false, WITH(o.overrides = override), "x"},
        {false, WITH(o.argv = other_words), "x"},
        {false, WITH(o.env = env), "x"},
        {false, WITH(o.machine = "u74"), "x"},
        {false, WITH(o.max_insns = 5), "x"},
        {false, WITH(o.events = "cycles"), "x"},
        {false, WITH(o.metrics = "ipc"), "x"},
        {false, WITH(o.pmu = "rvhpm"), "x"},
        {false, WITH(o.host_paths = true), "x"},
        {false, WITH(o.sysroot = "/x"), "x"},
#undef WITH
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)options_of(rows[i].contents);
        tl_sweep *second = planned(&rows[i].options, "l1d.size=8KiB,16KiB", NULL);
        if ((strcmp(first->cells[0].name, second->cells[0].name) == 0) != rows[i].is_same)
            fail_msg("row %zu: %s and %s", i, first->cells[0].name, second->cells[0].name);
        tl_sweep_release(second);
    }
    assert_string_not_equal(first->cells[0].name, first->cells[1].name);
    tl_sweep_release(first);
}

static void test_an_impossible_cell_fails_alone(void **state) {
    (void)state;
    const tl_run_options options = options_of("x");
    tl_sweep *sweep = planned(&options, "l1d.ways=4,3,8", NULL);
    assert_int_equal(sweep->cells[0].state, TL_SWEEP_OPEN);
    assert_int_equal(sweep->cells[1].state, TL_SWEEP_FAILED);
    assert_non_null(strstr(sweep->cells[1].reason, "l1d.size"));
    assert_int_equal(sweep->cells[2].state, TL_SWEEP_OPEN);
    tl_sweep_release(sweep);
}

static void test_wrong_texts_are_refused(void **state) {
    (void)state;
    assert_refused("l1d.size", NULL, TL_EINVAL, "--vary l1d.size: write KEY=VALUE");
    assert_refused("=8KiB", NULL, TL_EINVAL, "write KEY=VALUE");
    assert_refused("l1d.size=", NULL, TL_EINVAL, "write KEY=VALUE");
    assert_refused("l1d.size=8KiB,", NULL, TL_EINVAL, "one of the values is empty");
    assert_refused("l1d.size=8KiB,8KiB", NULL, TL_EINVAL, "8KiB stands there twice");
    assert_refused("l1d.ways=2", "l1d.ways=4", TL_EINVAL, "this key varies already");
    assert_refused("l1d.wyas=2,4", NULL, TL_ENOENT, "l1d.ways");
    assert_refused(NULL, NULL, TL_EINVAL, "nothing varies");
    assert_refused("l1d.size=8KiB,16KiB", "l1d=32K,8,64;16K,4,64", TL_EINVAL, "are the same machine");
    char many[2][1200] = {"seed=0", "harts=0"};
    for (int i = 1; i < 101; i++) {
        for (int k = 0; k < 2; k++)
            snprintf(many[k] + strlen(many[k]), 8, ",%d", i);
    }
    assert_refused(many[0], many[1], TL_EINVAL, "more than 10000 cells");
    tl_run_options options = options_of("x");
    const char *const varies[] = {"l1d.ways=2,4", NULL};
    tl_sweep *sweep = NULL;
    options.interval = TL_INTERVAL_CYCLES;
    assert_int_equal(tl_sweep_plan(&options, varies, &sweep, NULL), TL_EINVAL);
    options.interval = TL_INTERVAL_NONE;
    options.program = "/nonexistent";
    assert_int_equal(tl_sweep_plan(&options, varies, &sweep, NULL), TL_ENOENT);
    assert_null(sweep);
    tl_sweep_release(NULL);
}

static int make_program(void **state) {
    (void)state;
    const int fd = mkstemp(program);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int remove_program(void **state) {
    (void)state;
    return unlink(program);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_last_key_varies_fastest),
    cmocka_unit_test(test_semicolons_separate_values_that_have_commas),
    cmocka_unit_test(test_a_machine_can_vary),
    cmocka_unit_test(test_a_pmu_can_vary),
    cmocka_unit_test(test_a_name_tells_all_that_counts_depend_on),
    cmocka_unit_test(test_an_impossible_cell_fails_alone),
    cmocka_unit_test(test_wrong_texts_are_refused),
};
int main(void) { return cmocka_run_group_tests(tests, make_program, remove_program) == 0 ? 0 : 1; }
