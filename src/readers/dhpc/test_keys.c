// SPDX-License-Identifier: MIT
// The keys dhpc.* of a machine. Counters show the truth for any value of a key. Every table uses
// the machine's own numbers, latencies and depth. An error for an unreadable fabric names key,
// value and remedy.
#include "compare/setup.h"
#include "compare/test_rig.h"
#include "machine/keys.h"
#include "machine/test_rig.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/on.h"
#include "readers/dhpc/sweep.h"

static char path[64];

static int make_program(void **state) {
    (void)state;
    test_write_program(150, path);
    return 0;
}

static int remove_program(void **state) {
    (void)state;
    return unlink(path);
}

static tl_comparison *compare_with(const char *setting, const char *another) {
    const char *const overrides[] = {setting, another, NULL};
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.designs = "dhpc";
    options.interval_cycles = 50000;
    return test_compare(&options);
}

static const tl_compare_privilege_row *privilege_of(const tl_comparison *c, const char *mode, const char *grant) {
    for (uint32_t i = 0; i < c->n_privileges; i++)
        if (!strcmp(c->privileges[i].mode, mode) && !strcmp(c->privileges[i].grant, grant))
            return &c->privileges[i];
    fail_msg("no row of %s, %s", mode, grant);
    return NULL;
}

static void test_values_are_the_truth_whatever_the_fabric_is(void **state) {
    (void)state;
    static const char *const settings[][2] = {
        {"dhpc.csr_base=2288", "dhpc.csr_read_base=3300"}, // 0x8f0, 0xce4
        {"dhpc.sampling=snapshot", "dhpc.t_lookup=300"},
        {"dhpc.sampling=snapshot", "dhpc.beat=40"},
        {"dhpc.beat=6", "dhpc.t_grant=9"}, // slower than instructions: burst-read finds the FIFO empty
        {"dhpc.beat=100", NULL},
        {"dhpc.fifo_depth=16", NULL},
        {"dhpc.fifo_depth=4", NULL},
        {"dhpc.fifo_depth=1", "dhpc.beat=6"},
        {"dhpc.t_resp=90", "dhpc.t_req=200"},
        {"dhpc.user_classes=3", "dhpc.strict_user=on"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        tl_comparison *c = compare_with(settings[i][0], settings[i][1]);
        assert_int_equal(c->n_values, 16);
        for (uint32_t k = 0; k < c->n_values; k++)
            if (!c->values[k].has_value || c->values[k].value != c->values[k].truth)
                fail_msg("%s: %s is %llu instead of %llu", settings[i][0], c->values[k].event, (unsigned long long)c->values[k].value,
                         (unsigned long long)c->values[k].truth);
        assert_true(c->values[1].truth > 50000); // instructions
        // Machine mode and modes with useren read, others do not. Register numbers are the
        // machine's own.
        assert_int_equal(privilege_of(c, "M", "useren=0")->outcome, TL_COMPARE_VALUE);
        assert_int_equal(privilege_of(c, "S", "useren=0")->outcome, TL_COMPARE_VALUE);
        assert_int_equal(privilege_of(c, "U", "useren=1")->outcome, TL_COMPARE_VALUE);
        assert_int_equal(privilege_of(c, "U", "useren=0")->outcome, TL_COMPARE_ILLEGAL);
        for (uint32_t k = 0; k < c->n_accesses; k++)
            assert_int_equal(c->accesses[k].n_counters, c->accesses[k].n_asked);
        tl_comparison_release(c);
    }
}

static void test_registers_elsewhere_take_as_long(void **state) {
    (void)state;
    tl_comparison *usual = compare_with("dhpc.csr_base=2272", NULL), *moved = compare_with("dhpc.csr_base=2288", "dhpc.csr_read_base=3300");
    assert_int_equal(usual->n_accesses, 9);
    for (uint32_t i = 0; i < usual->n_accesses; i++) {
        assert_int_equal(usual->accesses[i].first_cycles, moved->accesses[i].first_cycles);
        assert_int_equal(usual->accesses[i].next_cycles, moved->accesses[i].next_cycles);
    }
    for (uint32_t i = 0; i < usual->n_privileges; i++)
        assert_int_equal(usual->privileges[i].outcome, moved->privileges[i].outcome);
    assert_int_equal(usual->designs[0].run_cycles, moved->designs[0].run_cycles);
    tl_comparison_release(usual);
    tl_comparison_release(moved);
}

// A read of 16 in pieces of 4: three times more requests, each of which waits for t_req and t_resp.
static void test_a_shallow_fifo_takes_more_requests(void **state) {
    (void)state;
    tl_comparison *deep = compare_with("dhpc.t_req=100", NULL), *shallow = compare_with("dhpc.t_req=100", "dhpc.fifo_depth=4");
    for (uint32_t i = 0; i < deep->n_accesses; i++) {
        const tl_compare_access_row *one = &deep->accesses[i], *many = &shallow->accesses[i];
        if (one->n_asked == 1)
            assert_int_equal(one->next_cycles, many->next_cycles);
        if (one->n_asked == 8)
            assert_in_range(many->next_cycles, one->next_cycles + 100, one->next_cycles + 150);
        if (one->n_asked == 64) { // 4 requests of 20, 20, 20, 4; or 16 of 4
            assert_in_range(many->next_cycles, one->next_cycles + 12 * 100, one->next_cycles + 12 * 150);
            assert_int_equal(one->l1d_accesses, 60);
            assert_int_equal(many->l1d_accesses, 60);
        }
    }
    tl_comparison_release(deep);
    tl_comparison_release(shallow);
}

static void test_counters_that_are_not_built_have_no_value(void **state) {
    (void)state;
    // Slices count reads only (bit 0); of the pages of the U74's events there is none.
    tl_comparison *c = compare_with("dhpc.slice_events=1", "dhpc.u74_events=0");
    for (uint32_t i = 0; i < c->n_values; i++) {
        const char *name = c->values[i].event;
        bool is_built = !strcmp(name, "cycle") || !strcmp(name, "instret") || !strcmp(name, "l2_read");
        assert_int_equal(c->values[i].has_value, is_built);
        assert_true(is_built || strstr(c->values[i].reason, "not built"));
        assert_true(!is_built || c->values[i].value == c->values[i].truth);
    }
    assert_int_equal(c->designs[0].events_counted, 3);
    tl_comparison_release(c);
}

static void test_what_cannot_be_read_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *setting, *events;
        bool with_sweeps;
        const char *words[3];
    } rows[] = {
        {"dhpc.user_classes=0", NULL, false, {"dhpc.user_classes = 0", "cores", "set it to 3"}},
        {"dhpc.user_classes=1", NULL, false, {"dhpc.user_classes = 1", "slices", "set it to 3"}},
        {"dhpc.user_classes=1", "cycle", true, {"dhpc.user_classes = 1", "slices", "set it to 3"}},
        {"dhpc.user_classes=4", "cycle", false, {"dhpc.user_classes = 4", "cores", "set it to 5"}},
        {"dhpc.t_req=1000000", NULL, false, {"dhpc.t_req = 1000000", "a look", "fewer cycles"}},
        {"dhpc.beat=900000", NULL, false, {"dhpc.beat = 900000", "a look", "fewer cycles"}},
        {"dhpc.core_events=1", "cycle", false, {"dhpc.core_events", "instret", "leave out dhpc"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const overrides[] = {rows[i].setting, NULL};
        tl_compare_options options = test_options(path);
        tl_comparison *c = NULL;
        tl_error err = {0};
        options.run.overrides = overrides;
        options.events = rows[i].events;
        options.designs = "dhpc";
        options.run.max_insns = 50000;
        options.n_phases = 1;
        options.with_sweeps = rows[i].with_sweeps;
        tl_status status = tl_compare_run(&options, &c, &err);
        for (int k = 0; k < 3; k++)
            if (status != TL_EINVAL || !strstr(err.text, rows[i].words[k]))
                fail_msg("%s: status %d, %s", rows[i].setting, status, err.text);
        options.designs = "u74"; // no design needs the fabric: any fabric is valid
        options.with_sweeps = false;
        c = test_compare(&options);
        tl_comparison_release(c);
    }
    const char *const overrides[] = {"dhpc.user_classes=1", NULL}; // no event needs the slices
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.events = "cycle,dtlb_miss";
    options.designs = "dhpc";
    tl_comparison *c = test_compare(&options);
    assert_int_equal(c->designs[0].events_counted, 2);
    tl_comparison_release(c);
}

static tl_compare_fabric_row sweep_with(const char *setting, uint32_t beat, uint32_t n_harts) {
    const char *const overrides[] = {setting, NULL};
    tl_compare_options options = test_options(path);
    tl_compare_setup setup;
    tl_compare_fabric_row row;
    tl_error err = {0};
    options.run.overrides = overrides;
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    if (tl_dhpc_sweep_fabric(&setup, beat, n_harts, &row, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_compare_setup_done(&setup);
    assert_int_equal(row.beat_cycles, beat);
    assert_int_equal(row.n_harts, n_harts);
    return row;
}

// t_req and t_resp stand before the first value of a read, t_grant and t_lookup in the bound on
// waits as well.
static void test_the_sweep_is_of_this_machine_s_fabric(void **state) {
    (void)state;
    // The sweep has a beat of its own.
    tl_compare_fabric_row usual = sweep_with("dhpc.beat=9", 2, 1), other;
    assert_int_equal(usual.n_counters, 16);
    assert_int_equal(usual.wait_bound_cycles, 0);
    other = sweep_with("dhpc.csr_base=2288", 2, 1);
    assert_int_equal(other.empty_poll_x1000, usual.empty_poll_x1000);
    assert_int_equal(other.trigger_poll_x1000, usual.trigger_poll_x1000);
    assert_int_equal(other.burst_read_x1000, usual.burst_read_x1000);
    static const char *const later[] = {"dhpc.t_req=401", "dhpc.t_resp=401", "dhpc.t_grant=401", "dhpc.t_lookup=401"};
    for (int i = 0; i < 4; i++) { // 400 cycles more, to within a poll
        other = sweep_with(later[i], 2, 1);
        assert_in_range(other.trigger_poll_x1000, usual.trigger_poll_x1000 + 390000, usual.trigger_poll_x1000 + 410000);
        assert_in_range(other.empty_poll_x1000, usual.empty_poll_x1000 + 390000, usual.empty_poll_x1000 + 410000);
        assert_in_range(other.burst_read_x1000, usual.burst_read_x1000 + 390000, usual.burst_read_x1000 + 410000);
    }
    other = sweep_with("dhpc.fifo_depth=4", 2, 1);
    assert_int_equal(other.n_counters, 4);
    assert_true(other.trigger_poll_x1000 < usual.trigger_poll_x1000);
    other = sweep_with("dhpc.slice_events=7", 2, 1);
    assert_int_equal(other.n_counters, 3);
    // Grant, lookup, 63 beats after the first and a cycle until the port is free, of each other
    // hart.
    assert_int_equal(sweep_with("dhpc.beat=9", 3, 4).wait_bound_cycles, 3 * (1 + 1 + 63 * 3 + 1));
    assert_int_equal(sweep_with("dhpc.t_grant=20", 3, 2).wait_bound_cycles, 20 + 1 + 63 * 3 + 1);
}

static void test_a_sweep_that_cannot_be_made_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *setting, *word;
    } rows[] = {{"dhpc.slice_events=0", "dhpc.slice_events"}, {"dhpc.t_grant=1000000", "dhpc.t_grant = 1000000: a reader of the sweep"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const overrides[] = {rows[i].setting, NULL};
        tl_compare_options options = test_options(path);
        tl_compare_setup setup;
        tl_comparison c = {0};
        tl_error err = {0};
        options.run.overrides = overrides;
        options.events = "cycle";
        assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
        assert_int_equal(tl_dhpc_sweep_fabrics(&setup, &c, &err), TL_EINVAL);
        assert_int_equal(c.n_fabrics, 1);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s", err.text);
        tl_arena_done(&c.arena);
        tl_compare_setup_done(&setup);
    }
}

// Each key of dhpc.*_events leaves counters of its own page unbuilt, and the other keys reach the
// unit as they stand.
static void test_keys_of_dhpc_reach_the_counters(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t id;
    } pages[] = {
        {"dhpc.core_events", TL_DHPC_ID(TL_DHPC_CORE, 1, 0)},      {"dhpc.u74_events", TL_DHPC_ID(TL_DHPC_CORE, 1, 1)},
        {"dhpc.stack_events", TL_DHPC_ID(TL_DHPC_CORE, 1, 2)},     {"dhpc.slice_events", TL_DHPC_ID(TL_DHPC_LLC, 0, 0)},
        {"dhpc.slice_core_events", TL_DHPC_ID(TL_DHPC_LLC, 0, 1)}, {"dhpc.memory_events", TL_DHPC_ID(TL_DHPC_MEM, 0, 0)},
        {"dhpc.fabric_events", TL_DHPC_ID(TL_DHPC_FABRIC, 0, 0)},
    };
    for (size_t out = 0; out < TL_COUNT_OF(pages); out++) {
        tl_config config = tl_test_config(2);
        uint32_t n_managers, n_seen = 0;
        tl_keys_set(&config, "hpc", TL_DHPC_KEY_TIMED);
        tl_keys_set(&config, pages[out].key, 2);
        tl_keys_set(&config, "dhpc.fifo_depth", 1024);
        tl_keys_set(&config, "dhpc.t_resp", 9);
        tl_machine *machine = tl_test_machine_of(&config);
        assert_int_equal(tl_dhpc_config_of(tl_dhpc_on(machine))->fifo_depth, 1024);
        assert_int_equal(tl_dhpc_config_of(tl_dhpc_on(machine))->t_resp, 9);
        const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n_managers);
        for (uint32_t m = 0; m < n_managers; m++)
            for (size_t i = 0; i < TL_COUNT_OF(pages); i++)
                if (managers[m].id == pages[i].id) {
                    n_seen++;
                    if (i == out)
                        assert_int_equal(managers[m].implemented, 2);
                    else
                        assert_true((managers[m].implemented & ~UINT64_C(2)) != 0);
                }
        assert_int_equal(n_seen, TL_COUNT_OF(pages));
        tl_machine_free(machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_dhpc_reach_the_counters),
        cmocka_unit_test(test_values_are_the_truth_whatever_the_fabric_is),
        cmocka_unit_test(test_registers_elsewhere_take_as_long),
        cmocka_unit_test(test_a_shallow_fifo_takes_more_requests),
        cmocka_unit_test(test_counters_that_are_not_built_have_no_value),
        cmocka_unit_test(test_what_cannot_be_read_is_refused),
        cmocka_unit_test(test_the_sweep_is_of_this_machine_s_fabric),
        cmocka_unit_test(test_a_sweep_that_cannot_be_made_is_refused),
    };
    return cmocka_run_group_tests(tests, make_program, remove_program) == 0 ? 0 : 1;
}
