// SPDX-License-Identifier: MIT
// Names against the numbers of SBI and of the U74's manual. The driver runs on a machine whose
// totals the test writes.
#include "readers/pmuv3/source.h"
#include "readers/rvhpm/source.h"
#include "session/machine_names.h"

#include <string.h>

#include "base/testing.h"
#include "session/description.h"
#include "session/run.h"

typedef struct rig {
    tl_config config;
    tl_catalogue *catalogue;
    tl_machine *machine;
    tl_arena arena;
    tl_perf_plan *plan;
    tl_perf *perf;
} rig;

static tl_status rig_init_on(rig *r, const tl_perf_driver *driver, const char *key, const char *preset, const char *events,
                             uint32_t n_harts, tl_error *err) {
    const bool is_arm = driver == &tl_pmuv3_perf;
    *r = (rig){0};
    char setting[32], name[32];
    assert_int_equal(tl_description_open(is_arm ? "a53" : "rocket", &r->config, err), TL_OK);
    snprintf(setting, sizeof setting, "%s=%s", key, preset);
    snprintf(name, sizeof name, "%s:%s", driver->pmu->name, preset);
    assert_int_equal(tl_config_set(&r->config, setting, err), TL_OK);
    r->config.n_harts = n_harts;
    assert_int_equal(tl_machine_names_new(&r->config, &r->catalogue, err), TL_OK);
    return tl_perf_resolve(driver, name, events, &r->config, r->catalogue, &r->arena, &r->plan, err);
}

static tl_status rig_init(rig *r, const char *preset, const char *events, uint32_t n_harts, tl_error *err) {
    return rig_init_on(r, &tl_rvhpm_perf, "pmu", preset, events, n_harts, err);
}

static void rig_start(rig *r) {
    tl_error err = {0};
    const tl_engine_type *engine = tl_session_engine(TL_ENGINE_STEP, r->config.isa);
    assert_int_equal(tl_machine_new(&r->config, engine, &r->machine, &err), TL_OK);
    assert_int_equal(tl_perf_bind(r->plan, &r->machine->probe, &r->arena, &err), TL_OK);
    assert_int_equal(tl_perf_new(r->plan, r->machine, &r->arena, &r->perf, &err), TL_OK);
}

static void rig_done(rig *r) {
    tl_machine_free(r->machine);
    tl_catalogue_free(r->catalogue);
    tl_arena_done(&r->arena);
}

static void test_names_become_selectors_and_counters(void **state) {
    (void)state;
    static const struct {
        const char *preset, *name;
        bool has_selector;
        uint64_t selector;
        uint32_t counters;
    } rows[] = {
        // SBI 2.0, PMU extension: hardware events are 0x0000c, cache events 0x1(cache << 3 |
        // operation << 1 | result)
        {"linux", "cycles", true, 1, 0xfffffff9},
        {"linux", "instructions", true, 2, 0xfffffffc},
        {"linux", "branch-misses", true, 6, 0xfffffff8},
        {"linux", "L1-dcache-load-misses", true, 0x10001, 0xfffffff8},
        {"linux", "L1-dcache-stores", true, 0x10002, 0xfffffff8},
        {"linux", "L1-icache-load-misses", true, 0x10009, 0xfffffff8},
        {"linux", "LLC-load-misses", true, 0x10011, 0xfffffff8},
        {"linux", "dTLB-store-misses", true, 0x1001b, 0xfffffff8},
        {"linux", "iTLB-load-misses", true, 0x10021, 0xfffffff8},
        {"linux", "branch-load-misses", true, 0x10029, 0xfffffff8},
        {"linux", "BRANCH_MISSES", true, 6, 0xfffffff8},
        {"linux", "r6", true, 6, 0xfffffff8},
        // U74: the fixed counters, and selectors of its manual on counters 3 and 4
        {"u74", "cycles", false, 0, 0x1},
        {"u74", "instructions", false, 0, 0x4},
        {"u74", "branches", true, 0x1c000, 0x18},
        {"u74", "branch-misses", true, 0x6001, 0x18},
        {"u74", "r202", true, 0x202, 0x18},
        {"u74", "r4200", true, 0x4200, 0x18},
        {"none", "cycles", false, 0, 0x1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig r;
        tl_error err = {0};
        if (rig_init(&r, rows[i].preset, rows[i].name, 1, &err) != TL_OK)
            fail_msg("%s %s: %s", rows[i].preset, rows[i].name, err.text);
        const tl_perf_event *event = &r.plan->events[0];
        if (event->has_selector != rows[i].has_selector || event->selector != rows[i].selector || event->counters != rows[i].counters)
            fail_msg("%s %s: selector 0x%llx, counters 0x%x", rows[i].preset, rows[i].name, (unsigned long long)event->selector,
                     event->counters);
        rig_done(&r);
    }
}

static void test_what_a_pmu_cannot_count_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *preset, *names;
        tl_status status;
        const char *word;
    } rows[] = {
        {"u74", "cache-references", TL_EINVAL, "cannot count cache-references"},
        {"u74", "page-faults", TL_EINVAL, "cannot count page-faults"},
        {"u74", "cycels", TL_ENOENT, "did you mean cycles"},
        {"u74", "r0", TL_EINVAL, "0x0 means nothing"},
        {"u74", "r203", TL_EINVAL, "0x203 means nothing"}, // there is no class 3
        {"u74", "rffffffffffffff", TL_EINVAL, "means nothing"},
        {"u74", "r123456789abcdef01", TL_ENOENT, "no event"}, // more than 56 bits
        {"linux", "BUS_CYCLES", TL_EINVAL, "not modeled"},
        {"linux", "bus-cycles", TL_EINVAL, "cannot count bus-cycles"},
        {"linux", "cycles:u", TL_EINVAL, "modifiers"},
        {"linux", ",", TL_EINVAL, "empty list"},
        {"none", "branches", TL_EINVAL, "cannot count branches"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig r;
        tl_error err = {0};
        tl_status status = rig_init(&r, rows[i].preset, rows[i].names, 1, &err);
        if (status != rows[i].status || !strstr(err.text, rows[i].word))
            fail_msg("%s %s: status %d, %s", rows[i].preset, rows[i].names, status, err.text);
        rig_done(&r);
    }
}

// Loads, stores and branches happen, and four milliseconds pass.
static void pass(rig *r, uint64_t loads, uint64_t stores, uint64_t branches) {
    tl_hart *h = r->machine->harts[0];
    h->tally[TL_S_HART_INSN_LOAD] += loads;
    h->tally[TL_S_HART_INSN_STORE] += stores;
    h->tally[TL_S_HART_INSN_BRANCH] += branches;
    h->now += 4000000; // of 1 GHz
}

static void expect(rig *r, uint32_t event, uint64_t count, uint64_t enabled, uint64_t running) {
    const tl_perf_count *found = &tl_perf_read(r->perf)[event];
    assert_int_equal(found->count, count);
    assert_int_equal(found->enabled_cycles, enabled * 4000000);
    assert_int_equal(found->running_cycles, running * 4000000);
}

static void test_more_events_than_counters_take_turns(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    assert_int_equal(rig_init(&r, "u74", "r200,r400,r4000", 1, &err), TL_OK);
    rig_start(&r);
    pass(&r, 1, 1, 1); // before the start
    tl_perf_enable(r.perf);
    assert_int_equal(tl_perf_next_turn(r.perf), 8000000);
    pass(&r, 7, 11, 13); // loads and stores are on the two counters
    tl_perf_turn(r.perf);
    assert_int_equal(tl_perf_next_turn(r.perf), 12000000);
    pass(&r, 17, 19, 23); // stores and branches
    tl_perf_turn(r.perf);
    pass(&r, 29, 31, 37); // branches and loads
    expect(&r, 0, 7 + 29, 3, 2);
    expect(&r, 1, 11 + 19, 3, 2);
    expect(&r, 2, 23 + 37, 3, 2);

    const tl_outline outline = {.header = {.pmu = "u74", .n_harts = r.plan->n_harts, .clock_hz = r.plan->clock_hz},
                                .counted = r.plan->counted,
                                .n_counted = r.plan->n_events};
    tl_perf_count counts[3];
    memcpy(counts, tl_perf_read(r.perf), sizeof counts);
    tl_result result = {.totals = r.machine->tally, .n_totals = r.machine->probe.n_cells, .pmu_counts = counts, .n_pmu_counts = 3};
    assert_int_equal(tl_outline_rows(&outline, &result, &err), TL_OK);
    assert_int_equal(result.n_rows, 3);
    // Scaled values are times 3/2. The truth counts everything, the beginning included.
    static const uint64_t scaled[] = {54, 45, 90}, truth[] = {54, 62, 74};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(result.rows[i].value.integer, scaled[i]);
        assert_int_equal(result.rows[i].pmu.truth.integer, truth[i]);
        assert_int_equal(result.rows[i].pmu.enabled_ns, 12000000);
        assert_int_equal(result.rows[i].pmu.running_ns, 8000000);
    }
    double error;
    assert_true(tl_row_error(&result.rows[1], &error));
    assert_float_equal(error, -17.0 / 62, 1e-12);
    tl_arena_done(&result.arena);
    rig_done(&r);
}

// r200 and r400 share a turn; r4000 has one to itself, though the counter beside it is free.
static void test_a_group_has_its_turn_as_a_whole(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    assert_int_equal(rig_init(&r, "u74", "{r200, r400},r4000", 1, &err), TL_OK);
    assert_int_equal(r.plan->n_groups, 2);
    assert_string_equal(r.plan->events[1].counted.name, "r400");
    rig_start(&r);
    tl_perf_enable(r.perf);
    pass(&r, 7, 11, 13); // the group
    tl_perf_turn(r.perf);
    pass(&r, 17, 19, 23); // branches, and the group does not fit beside them
    tl_perf_turn(r.perf);
    pass(&r, 29, 31, 37); // the group again
    expect(&r, 0, 7 + 29, 3, 2);
    expect(&r, 1, 11 + 31, 3, 2);
    expect(&r, 2, 23, 3, 1);
    tl_perf_turn(r.perf);
    pass(&r, 1, 1, 1000); // branches again
    expect(&r, 2, 1023, 4, 2);
    rig_done(&r);

    // All fit, with the fixed counters.
    assert_int_equal(rig_init(&r, "u74", "r4000,{r200,cycles},{instructions}", 1, &err), TL_OK);
    assert_int_equal(r.plan->n_groups, 3);
    rig_start(&r);
    tl_perf_enable(r.perf);
    assert_true(tl_perf_next_turn(r.perf) == UINT64_MAX);
    rig_done(&r);

    // The event r1 does not exist.
    assert_int_equal(rig_init(&r, "u74", "r1,{r200,r400,r4000}", 1, &err), TL_EINVAL);
    rig_done(&r);
    assert_int_equal(rig_init(&r, "u74", "cycles,{r200,r400,r4000}", 1, &err), TL_OK);
    assert_int_equal(tl_machine_new(&r.config, &tl_engine_step, &r.machine, &err), TL_OK);
    assert_int_equal(tl_perf_bind(r.plan, &r.machine->probe, &r.arena, &err), TL_OK);
    assert_int_equal(tl_perf_new(r.plan, r.machine, &r.arena, &r.perf, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "the group of r200"));
    rig_done(&r);
}

static void test_events_that_fit_stay_where_they_are(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    // Two fixed counters come besides.
    assert_int_equal(rig_init(&r, "u74", "r200,r4000,cycles,instructions", 1, &err), TL_OK);
    rig_start(&r);
    tl_perf_enable(r.perf);
    assert_true(tl_perf_next_turn(r.perf) == UINT64_MAX);
    pass(&r, 7, 11, 13);
    expect(&r, 0, 7, 1, 1);
    pass(&r, 17, 19, 23);
    expect(&r, 0, 24, 2, 2);
    expect(&r, 1, 36, 2, 2);
    expect(&r, 2, 8000000, 2, 2);
    rig_done(&r);
}

static void test_nothing_counts_while_disabled(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    assert_int_equal(rig_init(&r, "linux", "r100000,hart.insn_load", 1, &err), TL_OK);
    rig_start(&r);
    pass(&r, 1, 1, 1);
    expect(&r, 1, 0, 0, 0);
    tl_perf_enable(r.perf);
    pass(&r, 7, 1, 1);
    tl_perf_disable(r.perf);
    pass(&r, 100, 1, 1);
    expect(&r, 1, 7, 1, 1);
    tl_perf_enable(r.perf);
    pass(&r, 11, 1, 1);
    expect(&r, 1, 18, 2, 2);
    rig_done(&r);
}

// Without an overflow interrupt nobody notices: a wrap between two reads is lost, as on the
// silicon.
static void test_a_wrap_between_two_looks_is_lost(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    assert_int_equal(rig_init(&r, "u74", "r200", 1, &err), TL_OK);
    rig_start(&r);
    tl_perf_enable(r.perf);
    pass(&r, (UINT64_C(1) << 40) + 5, 0, 0);
    expect(&r, 0, 5, 1, 1);
    rig_done(&r);
}

// Numbers of Linux's driver of the Cortex-A53 (arch/arm64/kernel/perf_event.c of 6.1).
static void test_names_of_the_a53_become_its_events(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t selector;
        uint32_t counters;
    } rows[] = {
        {"cycles", 0x11, 0x8000003f},
        {"instructions", 0x08, 0x3f},
        {"cache-references", 0x04, 0x3f},
        {"cache-misses", 0x03, 0x3f},
        {"branches", 0x0c, 0x3f},
        {"branch-misses", 0x10, 0x3f},
        {"bus-cycles", 0x1d, 0x3f},
        {"L1-dcache-loads", 0x04, 0x3f},
        {"L1-icache-load-misses", 0x01, 0x3f},
        {"dTLB-load-misses", 0x05, 0x3f},
        {"iTLB-load-misses", 0x02, 0x3f},
        {"branch-loads", 0x12, 0x3f},
        {"node-stores", 0x61, 0x3f},
        {"LD_RETIRED", 0x06, 0x3f},
        {"r13", 0x13, 0x3f},
        {"CPU_CYCLES", 0x11, 0x8000003f},
        {"rcc", 0xcc, 0x3f},
    };
    static const struct {
        const char *name, *word;
    } refused[] = {
        {"stalled-cycles-frontend", "cannot count"},
        {"L1-dcache-stores", "cannot count"},
        {"EXC_FIQ", "not modeled"},
        {"r87", "not modeled"},
        {"r7f", "means nothing"},
        {"SW_INCR", "no signal"},
        {"r1e", "no signal"},
        {"cycels", "did you mean cycles"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig r;
        tl_error err = {0};
        if (rig_init_on(&r, &tl_pmuv3_perf, "armv8", "a53", rows[i].name, 1, &err) != TL_OK)
            fail_msg("%s: %s", rows[i].name, err.text);
        const tl_perf_event *event = &r.plan->events[0];
        if (!event->has_selector || event->selector != rows[i].selector || event->counters != rows[i].counters)
            fail_msg("%s: selector 0x%llx, counters 0x%x", rows[i].name, (unsigned long long)event->selector, event->counters);
        rig_done(&r);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        rig r;
        tl_error err = {0};
        if (rig_init_on(&r, &tl_pmuv3_perf, "armv8", "a53", refused[i].name, 1, &err) == TL_OK || !strstr(err.text, refused[i].word))
            fail_msg("%s: %s", refused[i].name, err.text);
        rig_done(&r);
    }
}

// Counters of 32 bits are read in each turn, and their sum has 64 bits.
static void test_counters_of_the_a53_count_and_wrap(void **state) {
    (void)state;
    rig r;
    tl_error err = {0};
    assert_int_equal(rig_init_on(&r, &tl_pmuv3_perf, "armv8", "a53", "LD_RETIRED,ST_RETIRED,BR_IMMED_RETIRED,cycles", 1, &err), TL_OK);
    rig_start(&r);
    pass(&r, 1, 1, 1); // before the start
    tl_perf_enable(r.perf);
    for (uint32_t i = 0; i < 3; i++) {
        pass(&r, UINT64_C(3000000000), 11, 13);
        assert_int_equal(tl_perf_next_turn(r.perf) - r.machine->harts[0]->now < 8000000, 1);
        tl_perf_turn(r.perf);
    }
    const uint64_t wanted[] = {UINT64_C(9000000000), 33, 39, 12000000};
    for (uint32_t e = 0; e < 4; e++) {
        const tl_perf_count *found = &tl_perf_read(r.perf)[e];
        assert_int_equal(found->count, wanted[e]);
        assert_int_equal(found->enabled_cycles, 12000000);
        assert_int_equal(found->running_cycles, 12000000);
    }
    tl_perf_disable(r.perf);
    pass(&r, 7, 7, 7);
    assert_int_equal(tl_perf_read(r.perf)[1].count, 33);
    rig_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_become_selectors_and_counters),  cmocka_unit_test(test_what_a_pmu_cannot_count_is_refused),
    cmocka_unit_test(test_names_of_the_a53_become_its_events),   cmocka_unit_test(test_counters_of_the_a53_count_and_wrap),
    cmocka_unit_test(test_more_events_than_counters_take_turns), cmocka_unit_test(test_events_that_fit_stay_where_they_are),
    cmocka_unit_test(test_a_group_has_its_turn_as_a_whole),      cmocka_unit_test(test_nothing_counts_while_disabled),
    cmocka_unit_test(test_a_wrap_between_two_looks_is_lost),
};

TL_TEST_MAIN(tests)
