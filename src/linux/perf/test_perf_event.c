// SPDX-License-Identifier: MIT
// Perf events on a hart whose totals the test writes. The tests check the counts by thread, mode
// and time, and the overflows.
#include "linux/perf/perf_event.h"

#include <string.h>

#include "linux/test_rig.h"

typedef struct rig {
    tl_os *os;
    tl_hart *h;
    tl_thread thread, child;
    tl_process process;
} rig;

static rig *rig_new(void) {
    rig *r = calloc(1, sizeof *r);
    r->os = tl_test_os_new(UINT64_C(16) << 20);
    r->h = r->os->machine->harts[0];
    r->process = (tl_process){.os = r->os, .pid = 1000};
    r->thread = (tl_thread){.os = r->os, .process = &r->process, .tid = 1000, .hart = r->h};
    r->child = (tl_thread){.os = r->os, .process = &r->process, .tid = 1001};
    r->h->client = &r->thread;
    r->os->hart = r->h;
    return r;
}

static void rig_free(rig *r) {
    r->h->client = NULL;
    tl_pev_done(r->os);
    tl_test_os_free(r->os);
    free(r);
}

// Advances the clock, part of it in the kernel; as many instructions retire as cycles pass in user
// code.
static void pass(const rig *r, uint64_t user, uint64_t kernel) {
    r->h->now += user + kernel;
    r->h->supervisor_cycles += kernel;
    r->h->instret += user;
    r->os->now = r->h->now;
}

static struct perf_event_attr attr_of(uint32_t type, uint64_t config) {
    return (struct perf_event_attr){.type = type, .config = config, .size = sizeof(struct perf_event_attr)};
}

static tl_pev_event *make(rig *r, const struct perf_event_attr *attr, tl_thread *t, int32_t cpu, tl_pev_event *leader) {
    tl_pev_choice choice;
    tl_pev *perf = tl_pev_of(r->os);
    assert_int_equal(tl_pev_choose(perf, attr, &choice), 0);
    if (attr->sample_period)
        assert_true(tl_pev_make_ports(perf));
    tl_pev_event *e = tl_pev_event_new(perf, attr, &choice);
    assert_non_null(e);
    tl_pev_event_attach(e, t, cpu, leader);
    e->next_opened = perf->opened;
    perf->opened = e;
    return e;
}

static tl_pev_event *cycles_of(rig *r, tl_thread *t, bool no_user, bool no_kernel) {
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    attr.exclude_user = no_user;
    attr.exclude_kernel = no_kernel;
    return make(r, &attr, t, -1, NULL);
}

static void test_modes_are_told_apart(void **state) {
    rig *r = rig_new();
    (void)state;
    pass(r, 5000, 300); // before the first read
    tl_pev_event *both = cycles_of(r, &r->thread, false, false), *user = cycles_of(r, &r->thread, false, true),
                 *kernel = cycles_of(r, &r->thread, true, false), *none = cycles_of(r, &r->thread, true, true);
    pass(r, 1000, 70);
    assert_int_equal(tl_pev_read(both).value, 1070);
    assert_int_equal(tl_pev_read(user).value, 1000);
    assert_int_equal(tl_pev_read(kernel).value, 70);
    assert_int_equal(tl_pev_read(none).value, 0);
    tl_hart_idle_until(r->h, r->h->now + 100000); // idle: no thread's time
    assert_int_equal(tl_pev_read(both).value, 1070);
    tl_pev_event *all[] = {both, user, kernel, none};
    for (size_t i = 0; i < 4; i++)
        tl_pev_event_free(all[i]);
    assert_null(r->thread.perf_events);
    rig_free(r);
}

static void test_a_thread_is_counted_where_it_runs(void **state) {
    rig *r = rig_new();
    (void)state;
    tl_pev_event *e = cycles_of(r, &r->thread, false, false);
    pass(r, 100, 0);
    tl_pev_leave(&r->thread);
    r->thread.hart = NULL;
    pass(r, 7777, 0); // another thread's
    assert_int_equal(tl_pev_read(e).value, 100);
    tl_pev_arrive(&r->thread, r->h);
    r->thread.hart = r->h;
    pass(r, 20, 3);
    tl_pev_set_on(e, false);
    pass(r, 1000, 0);
    tl_pev_set_on(e, true);
    pass(r, 4, 0);
    tl_pev_reading reading = tl_pev_read(e);
    assert_int_equal(reading.value, 127);
    assert_int_equal(reading.enabled_ns, tl_os_cycles_to_ns(r->os, 127));
    assert_int_equal(reading.running_ns, reading.enabled_ns);
    tl_pev_reset(e);
    pass(r, 5, 0);
    reading = tl_pev_read(e);
    assert_int_equal(reading.value, 5);
    assert_int_equal(reading.enabled_ns, tl_os_cycles_to_ns(r->os, 132)); // a reset leaves the time
    tl_pev_event_free(e);
    rig_free(r);
}

static void test_a_group_stands_still_with_its_leader(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    attr.disabled = 1;
    tl_pev_event *leader = make(r, &attr, &r->thread, -1, NULL);
    attr.disabled = 0;
    tl_pev_event *sibling = make(r, &attr, &r->thread, -1, leader);
    uint64_t values[5];
    pass(r, 10, 0);
    tl_pev_set_on(leader, true);
    pass(r, 30, 0);
    assert_int_equal(tl_pev_read_bytes(leader), sizeof values);
    // A sibling returns the whole group.
    assert_int_equal(tl_pev_format(sibling, values), sizeof values);
    const uint64_t expected[5] = {2, 30, leader->id, 30, sibling->id};
    assert_memory_equal(values, expected, sizeof values);
    tl_pev_set_on(leader, false);
    pass(r, 50, 0);
    assert_int_equal(tl_pev_read(sibling).value, 30);
    tl_pev_event_free(leader); // the other one goes on alone, and was on
    pass(r, 1, 0);
    assert_int_equal(tl_pev_read(sibling).value, 31);
    assert_ptr_equal(sibling->leader, sibling);
    tl_pev_event_free(sibling);
    rig_free(r);
}

static void test_inherited_counts_are_added_up(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attr.inherit = 1;
    tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL), *sibling = make(r, &attr, &r->thread, -1, e);
    attr.inherit = 0;
    tl_pev_event *own = make(r, &attr, &r->thread, -1, NULL);
    pass(r, 100, 0);
    assert_true(tl_pev_inherit(&r->child, &r->thread, true));
    assert_int_equal(r->os->perf->n_events, 5); // not the third one
    tl_pev_leave(&r->thread);
    r->thread.hart = NULL;
    tl_pev_arrive(&r->child, r->h);
    r->child.hart = r->h;
    pass(r, 23, 0);
    assert_int_equal(tl_pev_read(e).value, 123);
    assert_int_equal(tl_pev_read(sibling).value, 123);
    assert_int_equal(tl_pev_read(own).value, 100);
    tl_pev_leave(&r->child);
    r->child.hart = NULL;
    tl_pev_thread_done(&r->child);
    assert_int_equal(r->os->perf->n_events, 3);
    tl_pev_reading reading = tl_pev_read(e);
    assert_int_equal(reading.value, 123);
    assert_int_equal(reading.enabled_ns, tl_os_cycles_to_ns(r->os, 123));
    tl_pev_thread_done(&r->thread); // can still be read
    assert_null(r->thread.perf_events);
    assert_int_equal(tl_pev_read(e).value, 123);
    assert_true(e->has_ended);
    tl_pev_event_free(e);
    tl_pev_event_free(sibling);
    tl_pev_event_free(own);
    assert_int_equal(r->os->perf->n_events, 0);
    rig_free(r);
}

static void test_events_are_bounded(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.inherit = 1;
    tl_pev_event *first = make(r, &attr, &r->thread, -1, NULL), *second = make(r, &attr, &r->thread, -1, NULL);
    r->os->perf->n_events = TL_PEV_MAX_EVENTS - 1; // as if
    assert_false(tl_pev_inherit(&r->child, &r->thread, true));
    assert_null(r->child.perf_events); // not one of the two
    assert_null(first->first_child);
    assert_int_equal(r->os->perf->n_events, TL_PEV_MAX_EVENTS - 1);
    r->os->perf->n_events = 2;
    tl_pev_event_free(first);
    tl_pev_event_free(second);
    rig_free(r);
}

static void test_overflow_comes_with_the_period(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attr.sample_period = 1000;
    tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL);
    const tl_pmu_port *port = &r->os->perf->ports[0];
    assert_int_equal(port->deadline(port->ctx, r->h), 1000);
    pass(r, 999, 5000);
    assert_int_equal(port->deadline(port->ctx, r->h), 1); // an instruction takes a cycle or more
    assert_false(tl_pev_is_due(r->os, r->h));
    pass(r, 1, 0);
    assert_true(tl_pev_is_due(r->os, r->h));
    tl_pev_overflow(&r->thread);
    assert_false(tl_pev_is_due(r->os, r->h));
    assert_int_equal(e->left, 1000);
    pass(r, 3456, 0); // three at once are one, and the next is where it would have been
    assert_true(tl_pev_is_due(r->os, r->h));
    tl_pev_overflow(&r->thread);
    assert_int_equal(e->left, 544);
    assert_int_equal(tl_pev_read(e).value, 4456);
    pass(r, 600, 0);
    tl_pev_set_on(e, false); // it has overflowed, but it is off before the report
    assert_false(tl_pev_is_due(r->os, r->h));
    assert_int_equal(r->os->perf->n_armed[0], 0);
    assert_int_equal(port->deadline(port->ctx, r->h), UINT64_MAX);
    tl_pev_set_on(e, true);
    assert_false(tl_pev_is_due(r->os, r->h));
    tl_pev_event_free(e);
    rig_free(r);
}

static void test_the_last_of_a_limit_switches_off(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attr.sample_period = 10;
    tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL);
    e->limit = 2;
    for (int i = 0; i < 2; i++) {
        assert_true(e->is_on);
        pass(r, 10, 0);
        assert_true(tl_pev_is_due(r->os, r->h));
        tl_pev_overflow(&r->thread);
    }
    assert_false(e->is_on);
    pass(r, 100, 0);
    assert_int_equal(tl_pev_read(e).value, 20);
    tl_pev_event_free(e);
    rig_free(r);
}

static void test_clocks_are_read_in_ns(void **state) {
    rig *r = rig_new();
    (void)state;
    r->os->clock_hz = 500000000;
    struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attr.sample_period = 50; // too short
    tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL);
    assert_int_equal(e->period_said, TL_PEV_MIN_CLOCK_NS);
    assert_int_equal(e->period, TL_PEV_MIN_CLOCK_NS / 2);
    pass(r, 300, 200);
    assert_int_equal(tl_pev_read(e).value, 1000);
    attr.freq = 1;
    attr.sample_freq = 1000;
    tl_pev_event *often = make(r, &attr, &r->thread, -1, NULL);
    assert_int_equal(often->period_said, 1000000);
    assert_int_equal(often->period, 500000);
    tl_pev_event_free(often);
    tl_pev_event_free(e);
    rig_free(r);
}

static void test_a_rate_adapts_the_period(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attr.freq = 1;
    attr.sample_freq = 1000;
    tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL);
    uint64_t wanted = r->os->clock_hz / 1000;
    assert_int_equal(e->period, wanted);
    pass(r, wanted, 3 * wanted); // a quarter as fast as supposed
    assert_true(tl_pev_is_due(r->os, r->h));
    tl_pev_overflow(&r->thread);
    assert_int_equal(e->period, wanted / 4);
    assert_int_equal(e->left, wanted / 4);
    tl_pev_event_free(e);
    rig_free(r);
}

static void test_faults_of_the_kernel_are_its_own(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    tl_pev_event *e[6];
    for (int i = 0; i < 6; i++) { // all, minor and major faults, by the program and by the kernel
        attr.config = i % 3 == 0 ? PERF_COUNT_SW_PAGE_FAULTS : i % 3 == 1 ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_PAGE_FAULTS_MAJ;
        attr.exclude_kernel = i < 3;
        attr.exclude_user = i >= 3;
        e[i] = make(r, &attr, &r->thread, -1, NULL);
    }
    r->h->tally[TL_S_OS_PAGE_FAULT] += 100;
    r->h->tally[TL_S_OS_PAGE_ZERO] += 40;
    r->h->tally[TL_S_OS_PAGE_COW] += 20;
    r->h->tally[TL_S_OS_PAGE_MAP] += 8;
    r->h->tally[TL_S_OS_PAGE_FILE] += 30;
    r->os->kernel_counts[0].minor_faults += 5;
    r->os->kernel_counts[0].major_faults += 7;
    static const uint64_t expected[6] = {88, 63, 23, 12, 5, 7};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(tl_pev_read(e[i]).value, expected[i]);
        tl_pev_event_free(e[i]);
    }
    rig_free(r);
}

static void test_signals_belong_to_a_mode(void **state) {
    rig *r = rig_new();
    (void)state;
    static const struct {
        uint64_t selector; // of rvhpm:linux
        uint32_t cell;
        uint64_t user, kernel;
    } rows[] = {
        {0x10004d, TL_S_HART_CYC_TRAP, 0, 50},     {0x10004e, TL_S_HART_CYC_SWITCH, 0, 50}, {0x10000d, TL_S_HART_INSN_LOAD, 50, 0},
        {0x100051, TL_S_HART_FLUSH_OTHER, 39, 11}, {0x100031, TL_S_HART_EXCEPTION, 50, 0},  {0x100502, TL_S_DTLB_LOAD_MISS, 50, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned kernel = 0; kernel < 2; kernel++) {
            struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, rows[i].selector);
            attr.exclude_kernel = !kernel;
            attr.exclude_user = kernel & 1;
            tl_pev_event *e = make(r, &attr, &r->thread, -1, NULL);
            r->h->tally[rows[i].cell] += 50;
            r->os->kernel_counts[0].flushes += 11;
            assert_int_equal(tl_pev_read(e).value, kernel ? rows[i].kernel : rows[i].user);
            tl_pev_event_free(e);
        }
    rig_free(r);
}

static void test_a_hart_counts_for_whoever_runs(void **state) {
    rig *r = rig_new();
    (void)state;
    struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    tl_pev_event *clock = make(r, &attr, NULL, 0, NULL);
    attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    tl_pev_event *cycles = make(r, &attr, NULL, 0, NULL);
    pass(r, 100, 0);
    r->h->client = NULL;
    r->os->now = r->h->now + 400; // the hart has nothing to run, and has not been told the time
    assert_int_equal(tl_pev_read(clock).value, tl_os_cycles_to_ns(r->os, 500));
    assert_int_equal(tl_pev_read(cycles).value, 100);
    r->os->now -= 300; // another hart lags behind: time does not go back
    assert_int_equal(tl_pev_read(clock).value, tl_os_cycles_to_ns(r->os, 500));
    tl_pev_event_free(clock);
    tl_pev_event_free(cycles);
    assert_null(r->os->perf->on_hart[0]);
    rig_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes_are_told_apart),
        cmocka_unit_test(test_a_thread_is_counted_where_it_runs),
        cmocka_unit_test(test_a_group_stands_still_with_its_leader),
        cmocka_unit_test(test_inherited_counts_are_added_up),
        cmocka_unit_test(test_events_are_bounded),
        cmocka_unit_test(test_overflow_comes_with_the_period),
        cmocka_unit_test(test_the_last_of_a_limit_switches_off),
        cmocka_unit_test(test_clocks_are_read_in_ns),
        cmocka_unit_test(test_a_rate_adapts_the_period),
        cmocka_unit_test(test_faults_of_the_kernel_are_its_own),
        cmocka_unit_test(test_signals_belong_to_a_mode),
        cmocka_unit_test(test_a_hart_counts_for_whoever_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
