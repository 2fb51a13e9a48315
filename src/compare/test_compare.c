// SPDX-License-Identifier: MIT
// Exactness of each design. Readers run on the machine, and tests compare their values with the
// machine's own totals.
#include "compare/test_rig.h"

static char path[64];

static int make_program(void **state) {
    (void)state;
    test_write_program(500, path);
    return 0;
}

static int remove_program(void **state) {
    (void)state;
    return unlink(path);
}

static const char core_events[] =
    "cycle,instret,exception,integer_load,integer_store,atomic,system,integer_arithmetic,conditional_branch,jal,jalr,integer_multiply,"
    "address_generation_interlock,csr_read_interlock,instruction_cache_busy,data_cache_busy,branch_direction_misprediction,"
    "target_misprediction,flush_csr_write,flush_other,integer_multiply_interlock,instruction_cache_miss,data_cache_miss_or_mmio,"
    "data_cache_writeback,itlb_miss,dtlb_miss,utlb_miss,l2_read,l2_readmiss,l2_write,l2_writeback,l2_read_i,l2_read_ld,l2_read_st,"
    "l2_evict_clean";

static void test_distributed_counters_are_exact(void **state) {
    (void)state;
    static const char *const machines[] = {"lowrisc2", "rocket", "u74"};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        tl_compare_options options = test_options(path);
        options.run.machine = machines[m];
        options.designs = "dhpc";
        options.events = core_events;
        tl_comparison *c = test_compare(&options);
        assert_int_equal(c->n_values, 35);
        for (uint32_t i = 0; i < c->n_values; i++) {
            const tl_compare_value_row *row = &c->values[i];
            assert_true(row->has_value);
            if (row->value != row->truth)
                fail_msg("%s on %s: %llu instead of %llu", row->event, machines[m], (unsigned long long)row->value,
                         (unsigned long long)row->truth);
        }
        assert_true(c->designs[0].n_looks > 20);
        assert_int_equal(c->designs[0].n_with_error, 0);
        assert_int_equal(c->designs[0].by_reader.uncached, 0);
        tl_comparison_release(c);
    }
}

static void note_step(void *ctx, const char *step) {
    char *told = ctx;
    assert_true(strlen(told) + strlen(step) + 2 < 200);
    strcat(strcat(told, step), "; ");
}

static void test_each_step_is_told(void **state) {
    (void)state;
    static const char *const wanted[] = {
        "the program alone; the program, watched; ",
        "the program alone; the program, watched; sweep over fabrics; sweep over the number of events; ",
    };
    for (int with_sweeps = 0; with_sweeps < 2; with_sweeps++) {
        tl_compare_options options = test_options(path);
        char told[200] = "";
        options.run.ctx = told;
        options.run.max_insns = 60000;
        options.progress = note_step;
        options.events = "cycle,l2_read";
        options.with_sweeps = with_sweeps != 0;
        tl_comparison *c = test_compare(&options);
        assert_string_equal(told, wanted[with_sweeps]);
        assert_int_equal(c->n_fabrics != 0, with_sweeps);
        assert_int_equal(c->n_spreads != 0, with_sweeps);
        tl_comparison_release(c);
    }
}

static void test_the_block_on_the_bus_is_exact_as_far_as_it_goes(void **state) {
    (void)state;
    tl_compare_options options = test_options(path);
    options.designs = "ccache";
    options.events = "integer_load,l2_read,l2_readmiss,l2_write,l2_writeback,l2_read_i,l2_read_ld,l2_read_st";
    tl_comparison *c = test_compare(&options);
    assert_false(c->values[0].has_value); // not the second level's
    for (uint32_t i = 1; i < 7; i++) {
        assert_true(c->values[i].has_value);
        assert_int_equal(c->values[i].value, c->values[i].truth);
    }
    assert_true(c->values[1].truth > 1000);
    assert_false(c->values[7].has_value); // six counters, seven events
    assert_int_equal(c->designs[0].events_counted, 6);
    assert_int_equal(c->designs[0].by_reader.uncached, 6 * 2 + 6 * c->designs[0].n_looks);
    tl_comparison_release(c);
}

static void test_two_events_of_the_core_are_exact_in_every_phase(void **state) {
    (void)state;
    tl_compare_options options = test_options(path);
    options.designs = "u74";
    options.events = "cycle,data_cache_miss_or_mmio,csr_read_interlock,instret";
    tl_comparison *c = test_compare(&options);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(c->values[i].value, c->values[i].truth);
        assert_true(c->values[i].least == 0 && c->values[i].most == 0 && c->values[i].n_phases == 3);
    }
    // Each row is of its own event: cycles of the run, and instructions, which are fewer.
    assert_in_range(c->values[0].truth, c->values[0].undisturbed * 95 / 100, c->designs[0].run_cycles);
    assert_in_range(c->values[3].truth, c->values[3].undisturbed * 95 / 100, c->designs[0].run_instructions);
    assert_true(c->values[0].undisturbed > c->values[3].undisturbed * 110 / 100);
    // The reader itself causes it, in value and truth alike.
    assert_true(c->values[2].truth > c->values[2].undisturbed);
    tl_comparison_release(c);
}

static void test_more_events_than_counters_take_turns(void **state) {
    (void)state;
    tl_compare_options options = test_options(path);
    options.designs = "u74";
    options.events = "cycle,integer_load,integer_store,integer_multiply,conditional_branch,data_cache_miss_or_mmio,l2_read";
    tl_comparison *c = test_compare(&options);
    assert_int_equal(c->values[0].value, c->values[0].truth);
    assert_int_equal(c->designs[0].events_always, 1);
    for (uint32_t i = 1; i < 6; i++) { // two of five at a time
        assert_true(c->values[i].has_value);
        assert_true(c->values[i].time_counted > 0.3 && c->values[i].time_counted < 0.5);
        assert_true(c->values[i].least < c->values[i].most);
    }
    assert_true(c->designs[0].mean_error > 0.001 && c->designs[0].mean_error < 0.5);
    assert_false(c->values[6].has_value);
    tl_comparison_release(c);
}

// Sums of products, so that no two fields can make up for each other.
static uint64_t digest_of(const tl_comparison *c) {
    uint64_t sum = c->facts.cycles;
    for (uint32_t i = 0; i < c->n_values; i++)
        sum = sum * 31 + c->values[i].value * 7 + c->values[i].truth * 3 + c->values[i].undisturbed +
              (uint64_t)(int64_t)(c->values[i].most * 1e9);
    for (uint32_t i = 0; i < c->n_designs; i++) {
        const tl_compare_design_row *d = &c->designs[i];
        sum = sum * 31 + d->run_cycles + d->by_reader.instructions * 5 + d->by_reader.l1d_misses * 11 + d->by_reader.l2_reads * 13 +
              d->values_read;
    }
    return sum;
}

static void test_the_same_on_every_engine_and_every_time(void **state) {
    (void)state;
    static const tl_engine engines[] = {TL_ENGINE_STEP, TL_ENGINE_BLOCK, TL_ENGINE_FASTEST, TL_ENGINE_FASTEST};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        tl_compare_options options = test_options(path);
        options.run.engine = engines[i];
        tl_comparison *c = test_compare(&options);
        assert_int_equal(c->n_designs, 3);
        assert_int_equal(c->n_values, 3 * c->facts.n_events);
        if (i == 0)
            first = digest_of(c);
        assert_int_equal(digest_of(c), first);
        tl_comparison_release(c);
    }
}

static void test_the_hostile_device_learns_from_the_bus_only(void **state) {
    (void)state;
    static const char *const overrides[] = {"l2.counters=6", "l2.snooper=30000", NULL};
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    tl_comparison *c = test_compare(&options);
    for (uint32_t i = 0; i < 3; i++) {
        const tl_compare_design_row *d = &c->designs[i];
        if (d->design == CCACHE) {
            assert_int_equal(d->values_watched, 4 * d->n_looks);
            assert_int_equal(d->selects_watched, 4);
            assert_true(d->values_read > 10);
        } else {
            assert_int_equal(d->values_watched + d->values_read + d->selects_watched, 0);
        }
    }
    tl_comparison_release(c);
}

static void test_wrong_requests_are_refused_with_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *designs, *events, *machine;
        uint64_t interval;
        tl_status status;
        const char *word;
    } rows[] = {
        {"u74,dhcp", NULL, NULL, 0, TL_ENOENT, "did you mean dhpc"},
        {"u74,u74", NULL, NULL, 0, TL_EINVAL, "twice"},
        {"", NULL, NULL, 0, TL_EINVAL, "empty"},
        {NULL, "l2_raed", NULL, 0, TL_ENOENT, "did you mean l2_read"},
        {NULL, "cycle,cycle", NULL, 0, TL_EINVAL, "twice"},
        {NULL, NULL, "lowrisc3", 0, TL_ENOENT, "lowrisc2"},
        {NULL, NULL, NULL, 10, TL_EINVAL, "at least"},
        {NULL, NULL, NULL, UINT64_C(1) << 40, TL_EINVAL, "shorter interval"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_compare_options options = test_options(path);
        tl_comparison *c = NULL;
        tl_error err = {0};
        options.designs = rows[i].designs;
        options.events = rows[i].events;
        options.run.machine = rows[i].machine;
        options.run.max_insns = 0;
        options.interval_cycles = rows[i].interval;
        tl_status status = tl_compare_run(&options, &c, &err);
        if (status != rows[i].status || !strstr(err.text, rows[i].word))
            fail_msg("row %zu: status %d, %s", i, status, err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributed_counters_are_exact),
        cmocka_unit_test(test_each_step_is_told),
        cmocka_unit_test(test_the_block_on_the_bus_is_exact_as_far_as_it_goes),
        cmocka_unit_test(test_two_events_of_the_core_are_exact_in_every_phase),
        cmocka_unit_test(test_more_events_than_counters_take_turns),
        cmocka_unit_test(test_the_same_on_every_engine_and_every_time),
        cmocka_unit_test(test_the_hostile_device_learns_from_the_bus_only),
        cmocka_unit_test(test_wrong_requests_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_program, remove_program) == 0 ? 0 : 1;
}
