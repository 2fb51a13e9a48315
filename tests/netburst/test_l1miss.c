// SPDX-License-Identifier: MIT
// The experiment on sampling (tally suite l1miss), shortened: acceptance figures L1 to L16 of the
// design's specification. The program alone decides the contents of each record, so n_exact and
// n_in_step of the library rest on arithmetic. Distances are checked against the table that the
// calibrated profile draws from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/l1miss.h>

#include "base/bits.h"
#include "base/testing.h"

enum { PERIOD = 24, SAMPLES = 800, FEW_SAMPLES = 200 };

static tl_l1miss_options options_for(tl_l1miss_method method, bool is_chained, bool is_nested) {
    tl_l1miss_options options;
    tl_l1miss_options_init(&options, TL_L1MISS_QUICK);
    options.method = method;
    options.is_chained = is_chained;
    options.is_nested = is_nested;
    options.period = PERIOD;
    return options;
}

static tl_l1miss_run measure(const tl_l1miss_options *options) {
    tl_l1miss_run run = {.size = sizeof run};
    tl_error err;
    if (tl_l1miss_measure(options, &run, &err) != TL_OK)
        fail_msg("%s", err.text);
    return run;
}

static void test_l1_the_counter_has_each_miss(void **state) {
    (void)state;
    for (uint32_t form = 0; form < 4; form++) {
        tl_l1miss_options options = options_for(TL_L1MISS_COUNT, form / 2, form % 2);
        options.n_samples = FEW_SAMPLES;
        const tl_l1miss_run run = measure(&options);
        assert_int_equal(run.n_counted, run.n_true);
        assert_int_equal(run.n_passes, FEW_SAMPLES * (PERIOD + 1));
        // Variant B reads one more line, once.
        assert_int_equal(run.n_true, run.n_passes + form / 2);
    }
}

static void test_l2_to_l7_precise_samples_name_the_load_and_the_registers_before_it(void **state) {
    (void)state;
    for (uint32_t is_chained = 0; is_chained < 2; is_chained++) {
        const tl_l1miss_options options = options_for(TL_L1MISS_PRECISE, is_chained, false);
        const tl_l1miss_run run = measure(&options);
        assert_int_equal(run.n_samples, SAMPLES);
        assert_int_equal(run.distances[0], SAMPLES);     // L2
        for (uint32_t j = 0; j < TL_L1MISS_CELLS; j++) { // L3, L4, L5
            assert_int_equal(run.cells[j], 0x080503c0 + 8192 * j);
            assert_int_equal(run.in_cell[j], SAMPLES / TL_L1MISS_CELLS);
        }
        assert_int_equal(run.n_interrupts, 16); // L6: 16 buffers of 48, and 32 at the end
        assert_int_equal(run.n_exact, SAMPLES); // L7
        assert_int_equal(run.n_in_step, SAMPLES);
        assert_int_equal(run.n_lost + run.n_faults, 0);
    }
}

// The loop in a loop: its mispredicted branch may take a miss away, so passes need not be in step.
static void test_precise_samples_of_the_nested_loop_are_right(void **state) {
    (void)state;
    for (uint32_t is_chained = 0; is_chained < 2; is_chained++) {
        tl_l1miss_options options = options_for(TL_L1MISS_PRECISE, is_chained, true);
        options.n_samples = FEW_SAMPLES;
        const tl_l1miss_run run = measure(&options);
        assert_true(run.n_samples > FEW_SAMPLES * 9 / 10);
        assert_int_equal(run.distances[0], run.n_samples);
        assert_int_equal(run.n_exact, run.n_samples);
        assert_true(run.n_in_step > run.n_samples / 2);
    }
}

static void test_l8_to_l10_and_l12_interrupts_come_late(void **state) {
    (void)state;
    static const uint32_t half_percents[] = {16, 12, 18, 29, 93, 16, 8, 4, 4}; // from +65 on
    const tl_l1miss_options options = options_for(TL_L1MISS_INTERRUPT, false, false);
    const tl_l1miss_run run = measure(&options);
    assert_int_equal(run.n_samples, SAMPLES);
    assert_int_equal(run.n_interrupts, SAMPLES); // L12
    assert_int_equal(run.distances[0], 0);       // L8
    assert_int_equal(tl_l1miss_mode(&run), 69);
    assert_int_equal(tl_l1miss_least(&run), 65); // L10
    for (uint32_t i = 0; i < TL_L1MISS_DISTANCES; i++) {
        // L9: 46.5 % at +69.
        const bool is_drawn = i >= 65 && i - 65 < TL_COUNT_OF(half_percents);
        assert_int_equal(run.distances[i], is_drawn ? half_percents[i - 65] * (SAMPLES / 200) : 0);
    }
}

// Passes are counted where the run ended. Each interrupt may cost one miss.
static void test_interrupts_end_a_run_after_as_many_passes(void **state) {
    (void)state;
    for (uint32_t form = 0; form < 4; form++) {
        tl_l1miss_options options = options_for(TL_L1MISS_INTERRUPT, form / 2, form % 2);
        options.n_samples = FEW_SAMPLES;
        const tl_l1miss_run run = measure(&options);
        assert_int_equal(run.n_samples, FEW_SAMPLES);
        assert_in_range(run.n_passes, FEW_SAMPLES * PERIOD - 2, FEW_SAMPLES * (PERIOD + 1));
    }
}

static void test_l11_interrupts_with_the_bus_clock_come_late(void **state) {
    (void)state;
    tl_l1miss_options options = options_for(TL_L1MISS_INTERRUPT, false, false);
    options.skid = TL_L1MISS_MECHANISTIC;
    const tl_l1miss_run run = measure(&options);
    uint64_t n_past = 0;
    for (uint32_t i = 1; i < 128; i++)
        n_past += run.distances[i];
    assert_int_equal(run.n_samples, SAMPLES);
    assert_int_equal(run.distances[0], 0);
    assert_true(n_past * 100 >= run.n_samples * 65);
    assert_true(tl_l1miss_median(&run) >= 30);
    // Delays are 124 to 138 clocks, and a load takes two.
    assert_true(tl_l1miss_mode(&run) >= 62);
}

static void test_l13_and_l16_a_precise_sample_costs_less_than_an_interrupt(void **state) {
    (void)state;
    const tl_l1miss_options counts = options_for(TL_L1MISS_COUNT, true, false);
    const tl_l1miss_run base = measure(&counts);
    tl_l1miss_options precise = options_for(TL_L1MISS_PRECISE, true, false), interrupts = options_for(TL_L1MISS_INTERRUPT, true, false);
    precise.base = interrupts.base = &base;
    const tl_l1miss_run a = measure(&precise), b = measure(&interrupts);
    assert_int_equal(a.n_samples, b.n_samples);
    assert_true(tl_l1miss_slowdown(&a) > 1);
    assert_true(tl_l1miss_slowdown(&a) < tl_l1miss_slowdown(&b));
    // Of one disturbance there are more precise samples.
    assert_true(tl_l1miss_cycles_per_sample(&a) < tl_l1miss_cycles_per_sample(&b));
}

static void test_l14_a_period_in_step_with_the_cells_samples_one_of_them(void **state) {
    (void)state;
    tl_l1miss_options options = options_for(TL_L1MISS_PRECISE, false, false);
    options.is_lockstep = true;
    options.n_samples = FEW_SAMPLES;
    const tl_l1miss_run run = measure(&options);
    assert_int_equal(run.n_samples, FEW_SAMPLES);
    assert_int_equal(run.n_exact, FEW_SAMPLES);
    assert_int_equal(run.n_in_step, FEW_SAMPLES);
    assert_int_equal(run.in_cell[TL_L1MISS_CELLS - 1], FEW_SAMPLES);
}

static void write_all(const tl_l1miss_run *runs, uint32_t n, char **ret_text, size_t *ret_size) {
    static const tl_l1miss_format formats[] = {TL_L1MISS_TEXT, TL_L1MISS_JSON, TL_L1MISS_SVG};
    FILE *stream = open_memstream(ret_text, ret_size);
    tl_error err;
    assert_non_null(stream);
    for (uint32_t i = 0; i < TL_COUNT_OF(formats); i++)
        assert_int_equal(tl_l1miss_write(runs, n, formats[i], stream, &err), TL_OK);
    fclose(stream);
}

static void test_l15_the_same_seed_gives_the_same_files(void **state) {
    (void)state;
    static const char *const seed[] = {"seed=7", NULL};
    char *texts[3];
    size_t sizes[3];
    for (uint32_t i = 0; i < 3; i++) {
        tl_l1miss_run runs[2];
        for (uint32_t k = 0; k < 2; k++) {
            tl_l1miss_options options = options_for(k == 0 ? TL_L1MISS_PRECISE : TL_L1MISS_INTERRUPT, false, false);
            options.n_samples = 50;
            options.overrides = i == 2 ? seed : NULL;
            runs[k] = measure(&options);
        }
        write_all(runs, 2, &texts[i], &sizes[i]);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(texts[0], texts[1], sizes[0]);
    // Another seed draws other delays.
    assert_true(sizes[0] != sizes[2] || memcmp(texts[0], texts[2], sizes[0]) != 0);
    for (uint32_t i = 0; i < 3; i++)
        free(texts[i]);
}

static void test_what_cannot_be_measured_is_refused(void **state) {
    (void)state;
    static const char *const ds64[] = {"netburst.ds64=on", NULL}, *const unknown[] = {"l1d.wyas=4", NULL};
    static const struct {
        const char *machine;
        const char *const *overrides;
        uint32_t period, n_samples;
        const char *says;
    } rows[] = {
        {"rocket", NULL, PERIOD, 10, "machine rocket has no detailed core"},
        {NULL, ds64, PERIOD, 10, "netburst.ds64"},
        {NULL, unknown, PERIOD, 10, "l1d.wyas"},
        {NULL, NULL, 1, 10, "a period of 2 misses or more"},
        {NULL, NULL, PERIOD, 0, "1 to 2048 samples"},
        {NULL, NULL, PERIOD, 4000, "1 to 2048 samples"},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_l1miss_options options = options_for(TL_L1MISS_PRECISE, false, false);
        tl_l1miss_run run = {.size = sizeof run};
        tl_error err = {0};
        options.machine = rows[i].machine;
        options.overrides = rows[i].overrides;
        options.period = rows[i].period;
        options.n_samples = rows[i].n_samples;
        assert_int_not_equal(tl_l1miss_measure(&options, &run, &err), TL_OK);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %u: %s", i, err.text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_l1_the_counter_has_each_miss),
    cmocka_unit_test(test_l2_to_l7_precise_samples_name_the_load_and_the_registers_before_it),
    cmocka_unit_test(test_precise_samples_of_the_nested_loop_are_right),
    cmocka_unit_test(test_l8_to_l10_and_l12_interrupts_come_late),
    cmocka_unit_test(test_interrupts_end_a_run_after_as_many_passes),
    cmocka_unit_test(test_l11_interrupts_with_the_bus_clock_come_late),
    cmocka_unit_test(test_l13_and_l16_a_precise_sample_costs_less_than_an_interrupt),
    cmocka_unit_test(test_l14_a_period_in_step_with_the_cells_samples_one_of_them),
    cmocka_unit_test(test_l15_the_same_seed_gives_the_same_files),
    cmocka_unit_test(test_what_cannot_be_measured_is_refused),
};
TL_TEST_MAIN(tests)
