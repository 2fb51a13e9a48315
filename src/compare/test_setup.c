// SPDX-License-Identifier: MIT
// Conversion of options to a setup: defaults, additions to a machine, refusals, and the end of the
// run without a reader.
#include <signal.h>

#include "base/bits.h"
#include "compare/design.h"
#include "compare/test_rig.h"
#include "machine/keys.h"
#include "pmu/dhpc/dhpc.h"
#include "pmu/rvhpm/rvhpm.h"

static tl_status prepare(const tl_compare_options *options, tl_compare_setup *ret_setup, tl_error *err) {
    *err = (tl_error){0};
    return tl_compare_prepare(options, ret_setup, err);
}

static tl_compare_setup prepared(const tl_compare_options *options) {
    tl_compare_setup setup;
    tl_error err;
    if (prepare(options, &setup, &err) != TL_OK)
        fail_msg("%s", err.text);
    return setup;
}

static void test_designs_stand_in_their_order(void **state) {
    (void)state;
    assert_int_equal(tl_compare_count_designs(), N_DESIGNS);
    assert_string_equal(tl_compare_designs[U74]->name, "u74");
    assert_string_equal(tl_compare_designs[CCACHE]->name, "ccache");
    assert_string_equal(tl_compare_designs[DHPC]->name, "dhpc");
}

static void test_nothing_said_is_everything(void **state) {
    (void)state;
    tl_compare_options options;
    tl_compare_init(&options);
    assert_int_equal(options.size, sizeof options);
    assert_int_equal(options.run.std_fd[2], 2);
    options.run.program = "folder/prog";
    tl_compare_setup setup = prepared(&options);
    assert_int_equal(setup.n_designs, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(setup.designs[i], i);
    assert_int_equal(setup.n_events, 16);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        if (tl_watchables[i].is_default)
            assert_ptr_equal(setup.events[n++], &tl_watchables[i]);
    assert_int_equal(n, 16);
    assert_string_equal(setup.config.name, "lowrisc2");
    assert_string_equal(setup.run.argv[0], "./prog");
    assert_null(setup.run.argv[1]);
    assert_null(setup.run.env[0]);
    assert_int_equal(setup.max_insns, 200000000);
    assert_int_equal(setup.n_phases, 8);
    assert_int_equal(setup.interval_cycles, 0);
    assert_false(setup.with_sweeps);
    assert_string_equal(setup.added, "pmu=u74, l2.counters=6, l2.snooper=100000, os.hpc=granted, os.ccache=granted");
    assert_ptr_equal(tl_pmu_chosen(&tl_pmu_rvhpm, &setup.config), &tl_rvhpm_u74.base);
    assert_int_equal(tl_keys_get(&setup.config, "l2.counters"), 6);
    assert_int_equal(tl_keys_get(&setup.config, "l2.snooper"), 100000);
    assert_int_equal(tl_keys_get(&setup.config, "os.hpc"), TL_GRANTED);
    assert_int_equal(tl_keys_get(&setup.config, "os.ccache"), TL_GRANTED);
    tl_compare_setup_done(&setup);
    options.run.program = "prog";
    setup = prepared(&options);
    assert_string_equal(setup.run.argv[0], "prog");
    tl_compare_setup_done(&setup);
}

static void test_what_was_said_stays(void **state) {
    (void)state;
    static const char *const argv[] = {"me", "too", NULL}, *const env[] = {"A=1", NULL};
    static const char *const overrides[] = {"pmu=u74",           "hpc=timed", "l2.counters=9", "l2.snooper=7000", "os.hpc=granted",
                                            "os.ccache=granted", NULL};
    tl_compare_options options = test_options("prog");
    options.run.machine = "rocket";
    options.run.overrides = overrides;
    options.run.argv = argv;
    options.run.env = env;
    options.run.max_insns = 77;
    options.n_phases = 64;
    options.interval_cycles = 5000;
    options.designs = "dhpc,u74";
    options.events = "l2_read,cycle";
    options.with_sweeps = true;
    tl_compare_setup setup = prepared(&options);
    assert_string_equal(setup.added, "");
    assert_string_equal(setup.config.name, "rocket");
    assert_int_equal(tl_keys_get(&setup.config, "l2.counters"), 9);
    assert_int_equal(tl_keys_get(&setup.config, "l2.snooper"), 7000);
    assert_ptr_equal(setup.run.argv, argv);
    assert_ptr_equal(setup.run.env, env);
    assert_int_equal(setup.max_insns, 77);
    assert_int_equal(setup.n_phases, 64);
    assert_int_equal(setup.interval_cycles, 5000);
    assert_true(setup.with_sweeps);
    assert_int_equal(setup.n_designs, 2);
    assert_int_equal(setup.designs[0], DHPC);
    assert_int_equal(setup.designs[1], U74);
    assert_true(tl_compare_has_design(&setup, DHPC) && tl_compare_has_design(&setup, U74));
    assert_false(tl_compare_has_design(&setup, CCACHE));
    assert_int_equal(setup.n_events, 2);
    assert_string_equal(setup.events[0]->name, "l2_read");
    assert_string_equal(setup.events[1]->name, "cycle");
    tl_compare_setup_done(&setup);
    options.run.overrides = NULL;
    setup = prepared(&options);
    assert_string_equal(setup.added, "pmu=u74, hpc=timed, l2.counters=6, l2.snooper=100000, os.hpc=granted, os.ccache=granted");
    assert_int_equal(tl_keys_get(&setup.config, "hpc"), TL_DHPC_KEY_TIMED);
    tl_compare_setup_done(&setup);
    assert_string_equal(tl_compare_design_name(CCACHE), "ccache");
    assert_string_equal(tl_compare_design_name(N_DESIGNS), "");
}

typedef void spoil_fn(tl_compare_options *options);
static void be_bare(tl_compare_options *o) { o->run.kind = TL_RUN_BARE; }
static void name_nothing(tl_compare_options *o) { o->run.program = NULL; }
static void name_empty(tl_compare_options *o) { o->run.program = ""; }
static void ask_a_pmu(tl_compare_options *o) { o->run.pmu = "rvhpm:u74"; }
static void ask_metrics(tl_compare_options *o) { o->run.metrics = "ipc"; }
static void ask_a_region(tl_compare_options *o) { o->run.roi_start = "main"; }
static void ask_intervals(tl_compare_options *o) { o->run.interval = TL_INTERVAL_CYCLES; }
static void be_functional(tl_compare_options *o) {
    static const char *const functional[] = {"hpc=functional", NULL};
    o->run.overrides = functional;
}
static void forget_size(tl_compare_options *o) { o->size = 4; }
static void ask_many_phases(tl_compare_options *o) { o->n_phases = 65; }
static void look_often(tl_compare_options *o) { o->interval_cycles = 4999; }
static void list_nothing(tl_compare_options *o) { o->events = ","; }

static void test_what_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        spoil_fn *spoil;
        const char *word;
    } rows[] = {{be_bare, "only Linux programs"}, {name_nothing, "no program"},      {name_empty, "no program"},
                {ask_a_pmu, "no metrics"},        {ask_metrics, "no metrics"},       {ask_a_region, "region of interest"},
                {ask_intervals, "no intervals"},  {be_functional, "hpc=functional"}, {forget_size, "tl_compare_options_init"},
                {ask_many_phases, "at most 64"},  {look_often, "at least 5000"},     {list_nothing, "list of events is empty"}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_compare_options options = test_options("prog");
        tl_compare_setup setup = {0};
        tl_error err;
        rows[i].spoil(&options);
        if (prepare(&options, &setup, &err) != TL_EINVAL || !strstr(err.text, rows[i].word))
            fail_msg("row %zu: %s", i, err.text);
        assert_null(setup.arena.chunks); // nothing is left to be freed
    }
}

static void write_exit_7(tl_assembler *a, int32_t n_rounds) {
    tl_asm_load_constant(a, TL_S1, (uint64_t)n_rounds);
    uint64_t round = tl_asm_here(a);
    tl_asm_addi(a, TL_S1, TL_S1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_S1, TL_X0, round);
    tl_asm_addi(a, TL_A0, TL_X0, 7);
    tl_asm_addi(a, TL_A7, TL_X0, TEST_SYS_EXIT);
    tl_asm_ecall(a);
}

static void write_nonsense(tl_assembler *a, int32_t n_rounds) {
    tl_asm_load_constant(a, TL_S1, (uint64_t)n_rounds);
    uint64_t round = tl_asm_here(a);
    tl_asm_addi(a, TL_S1, TL_S1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_S1, TL_X0, round);
    tl_asm_word(a, 0);
}

static void test_the_facts_are_those_of_the_run_alone(void **state) {
    (void)state;
    static const struct {
        test_code_fn *write;
        uint64_t max_insns;
        tl_end_reason reason;
        int status, signal;
        uint64_t instructions;
    } rows[] = {
        {write_exit_7, 0, TL_END_EXITED, 7, 0, 0},
        {write_exit_7, 20000, TL_END_MAX_INSNS, 0, 0, 20000},
        {write_nonsense, 0, TL_END_KILLED, 0, SIGILL, 0},
    };
    static const char *const overrides[] = {"harts=3", "l2.slices=4", "clock=123MHz", NULL};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char path[64];
        test_write_program_of(rows[i].write, 40000, path);
        tl_compare_options options = test_options(path);
        options.run.max_insns = rows[i].max_insns;
        options.run.overrides = overrides;
        options.run.engine = TL_ENGINE_STEP;
        options.events = "cycle,integer_arithmetic";
        options.interval_cycles = 0;
        options.n_phases = 5;
        tl_comparison *c = test_compare(&options);
        const tl_compare_facts *f = &c->facts;
        assert_int_equal(f->reason, rows[i].reason);
        assert_int_equal(f->status, rows[i].status);
        assert_int_equal(f->signal, rows[i].signal);
        if (rows[i].instructions)
            assert_int_equal(f->instructions, rows[i].instructions);
        else // two a round, and a few before and behind
            assert_in_range(f->instructions, 80000, 80010);
        assert_string_equal(f->program, strrchr(path, '/') + 1);
        assert_string_equal(f->machine, "lowrisc2");
        assert_string_equal(f->engine, "step");
        assert_int_equal(strncmp(f->digest, "xxh64:", 6), 0);
        assert_int_equal(f->n_harts, 3);
        assert_int_equal(f->n_slices, 4);
        assert_int_equal(f->clock_hz, 123000000);
        assert_int_equal(f->n_phases, 5);
        assert_int_equal(f->n_events, 2);
        assert_int_equal(f->interval_cycles, 5000);
        assert_int_equal(c->n_values, 2 * 3);
        assert_int_equal(c->values[0].n_phases, 5); // only u74 has phases
        assert_int_equal(c->values[2].n_phases, 1);
        // Counts of the whole run: all cycles; additions, one a round and a few more.
        assert_int_equal(c->values[0].undisturbed, f->cycles);
        assert_in_range(c->values[3].undisturbed, f->instructions / 2, f->instructions / 2 + 8);
        assert_int_equal(c->n_fabrics + c->n_spreads, 0); // the options exclude sweeps
        tl_comparison_release(c);
        unlink(path);
    }
}

static bool stop_now(void *ctx) { return (void)ctx, true; }

static void test_who_asks_to_stop_is_heard(void **state) {
    (void)state;
    char path[64];
    test_write_program(100, path);
    tl_compare_options options = test_options(path);
    options.run.wants_stop = stop_now;
    tl_comparison *c = NULL;
    tl_error err = {0};
    assert_int_equal(tl_compare_run(&options, &c, &err), TL_EIO);
    assert_non_null(strstr(err.text, "interrupted"));
    unlink(path);
}

static void test_outcomes_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"value", "nothing", "illegal instruction", "page fault", "access fault", "another's value"};
    for (size_t i = 0; i < TL_COUNT_OF(names); i++)
        assert_string_equal(tl_comparison_outcome_text((tl_compare_outcome)i), names[i]);
    tl_comparison_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_designs_stand_in_their_order),
        cmocka_unit_test(test_nothing_said_is_everything),
        cmocka_unit_test(test_what_was_said_stays),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_the_facts_are_those_of_the_run_alone),
        cmocka_unit_test(test_who_asks_to_stop_is_heard),
        cmocka_unit_test(test_outcomes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
