// SPDX-License-Identifier: MIT
// The tallies of a hart without an engine: clock, modes, machine time, interrupt lines,
// deadlines and breakpoints.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "model/engine.h"
#include "model/isa.h"

// An ISA of the test's own: levels 0 to 2, and interrupt lines of which one is wired.
enum { PROGRAM, SUPERVISOR, MACHINE };
enum { SOFTWARE = 1, TIMER = 7, WIRED = 9 };
static uint32_t n_searches; // for registers of PMUs
static void pmus_changed(tl_hart *h) { (void)h, n_searches += 1; }
static const tl_isa isa = {.name = "test", .pmus_changed = pmus_changed, .views = {TL_VIEW_U, TL_VIEW_S, TL_VIEW_M}};

static tl_hart *new_hart(uint64_t *tally, const tl_config *config) {
    tl_hart *h = aligned_alloc(_Alignof(tl_hart), sizeof *h);
    assert_non_null(h);
    memset(h, 0, sizeof *h);
    h->tally = tally;
    h->config = config;
    h->isa = &isa;
    h->irqs_wired = 1 << WIRED;
    return h;
}

static void expect_clock(tl_hart *h, const uint64_t cycles[5], const uint64_t insns[4]) {
    static const enum tl_hart_cell cycle_slots[] = {TL_S_HART_CYCLE, TL_S_HART_CYCLE_U, TL_S_HART_CYCLE_S, TL_S_HART_CYCLE_M,
                                                    TL_S_HART_IDLE_CYCLE};
    static const enum tl_hart_cell insn_slots[] = {TL_S_HART_INSTRET, TL_S_HART_INSTRET_U, TL_S_HART_INSTRET_S, TL_S_HART_INSTRET_M};
    for (int n = 0; n < 2; n++) { // once more changes nothing
        tl_hart_sync_clock(h);
        for (size_t i = 0; i < TL_COUNT_OF(cycle_slots); i++)
            assert_int_equal(h->tally[cycle_slots[i]], cycles[i]);
        for (size_t i = 0; i < TL_COUNT_OF(insn_slots); i++)
            assert_int_equal(h->tally[insn_slots[i]], insns[i]);
    }
}

static void test_cycles_and_instructions_belong_to_the_mode_they_were_spent_in(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    h->now = 100;
    h->instret = 40;
    expect_clock(h, (const uint64_t[]){100, 100, 0, 0, 0}, (const uint64_t[]){40, 40, 0, 0});
    tl_hart_set_priv(h, MACHINE);
    assert_int_equal(h->view, 2);
    h->now += 7;
    h->instret += 3;
    expect_clock(h, (const uint64_t[]){107, 100, 0, 7, 0}, (const uint64_t[]){43, 40, 0, 3});
    tl_hart_idle_until(h, h->now + 1000); // belongs to no mode
    expect_clock(h, (const uint64_t[]){107, 100, 0, 7, 1000}, (const uint64_t[]){43, 40, 0, 3});
    tl_hart_set_priv(h, SUPERVISOR);
    assert_int_equal(h->view, 1);
    h->now += 13;
    h->instret += 11;
    expect_clock(h, (const uint64_t[]){120, 100, 13, 7, 1000}, (const uint64_t[]){54, 40, 11, 3});
    tl_hart_set_priv(h, PROGRAM);
    assert_int_equal(h->view, 0);
    h->now += 50;
    h->instret += 1;
    h->supervisor_cycles = 17; // a modeled system call
    expect_clock(h, (const uint64_t[]){170, 133, 30, 7, 1000}, (const uint64_t[]){55, 41, 11, 3});
    free(h);
}

static void test_idle_time_is_one_stretch_while_nothing_runs_between(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    h->now = 100;
    tl_hart_idle_until(h, 130);
    tl_hart_idle_until(h, 150);
    assert_int_equal(h->idle_begin, 100);
    assert_int_equal(h->idle_end, 150);
    tl_hart_idle_until(h, 150);
    tl_hart_idle_until(h, 149);
    assert_int_equal(h->now, 150);
    assert_int_equal(h->idle_cycles, 50);
    h->now += 5;
    tl_hart_idle_until(h, 160);
    assert_int_equal(h->idle_begin, 155);
    assert_int_equal(h->idle_end, 160);
    assert_int_equal(h->idle_cycles, 55);
    free(h);
}

static void test_machine_time_has_ten_million_ticks_a_second(void **state) {
    (void)state;
    static const struct {
        uint64_t clock_hz, cycle, time, first_cycle; // of that time
    } rows[] = {
        {1000000000, 0, 0, 0},
        {1000000000, 99, 0, 0},
        {1000000000, 100, 1, 100},
        {1000000000, 12345, 123, 12300},
        {3000000, 1, 3, 1},
        {3000000, 3, 10, 3},
        {3000000, 4, 13, 4},
        {10000000, 77, 77, 77},
        {UINT64_C(100000000000), UINT64_C(1) << 62, UINT64_C(461168601842738), UINT64_C(4611686018427380000)},
    };
    uint64_t tally[TL_S_N_CELLS] = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_config config = {.clock_hz = rows[i].clock_hz};
        tl_hart *h = new_hart(tally, &config);
        assert_int_equal(tl_hart_time(h, rows[i].cycle), rows[i].time);
        assert_int_equal(tl_hart_cycle_of_time(h, rows[i].time), rows[i].first_cycle);
        h->time_offset = 1000;
        assert_int_equal(tl_hart_time(h, rows[i].cycle), rows[i].time + 1000);
        assert_int_equal(tl_hart_cycle_of_time(h, rows[i].time + 1000), rows[i].first_cycle);
        free(h);
    }
    tl_config slow = {.clock_hz = 3000000};
    tl_hart *h = new_hart(tally, &slow);
    // 1.2 cycles: no cycle shows 4, and cycle 2 is the first behind it.
    assert_int_equal(tl_hart_cycle_of_time(h, 4), 2);
    // The value is 0.3 * (2^64 - 1), rounded up.
    assert_int_equal(tl_hart_cycle_of_time(h, UINT64_MAX), UINT64_C(5534023222112865485));
    slow.clock_hz = 20000000;
    assert_true(tl_hart_cycle_of_time(h, UINT64_MAX) == UINT64_MAX); // beyond all cycles
    assert_true(tl_hart_cycle_of_time(h, UINT64_C(1) << 62) == UINT64_C(1) << 63);
    free(h);
}

static void test_breakpoints_are_where_they_were_set_and_not_where_their_bit_is(void **state) {
    (void)state;
    tl_breaks breaks = {.n = 2, .pc = {0x1000, 0x2006}};
    assert_int_equal(tl_break_bit(0x1000), 1);
    assert_int_equal(tl_break_bit(0x2006), 8);
    breaks.filter = tl_break_bit(0x1000) | tl_break_bit(0x2006);
    assert_true(tl_breaks_have(&breaks, 0x1000));
    assert_true(tl_breaks_have(&breaks, 0x2006));
    assert_false(tl_breaks_have(&breaks, 0x1002));
    assert_false(tl_breaks_have(&breaks, 0x1080)); // the bit of 0x1000
    assert_false(tl_breaks_have(&breaks, 0x2086));
    assert_int_equal(tl_break_bit(0x1080), 1);
}

// ---- PMUs and interrupts ----

typedef struct fake {
    tl_pmu_port port;
    uint64_t deadline;
    uint32_t n_polls, n_retired, n_left;
    tl_priv left_to;
    uint64_t raises; // bits of mip that a poll sets
} fake;

static uint64_t fake_deadline(void *ctx, tl_hart *h) { return (void)h, ((fake *)ctx)->deadline; }
static void fake_retired(void *ctx, tl_hart *h) { (void)h, ((fake *)ctx)->n_retired += 1; }
static void fake_poll(void *ctx, tl_hart *h) {
    fake *f = ctx;
    f->n_polls += 1;
    h->irqs_pending |= f->raises;
}
static void fake_leave_mode(void *ctx, tl_hart *h, tl_priv to) {
    fake *f = ctx;
    f->n_left += 1;
    f->left_to = to;
    assert_int_equal(h->priv, PROGRAM); // still the mode that is left
}

static void add(tl_hart *h, fake *f, uint64_t deadline, bool needs_modes) {
    *f = (fake){.deadline = deadline};
    f->port = (tl_pmu_port){.ctx = f, .deadline = fake_deadline, .poll = fake_poll, .retired = fake_retired, .leave_mode = fake_leave_mode};
    f->port.needs_modes = needs_modes;
    assert_true(tl_hart_hang_pmu(h, &f->port, false));
}

static uint64_t overshoot_of_nine(const tl_hart *h) { return (void)h, 9; }
static const tl_engine_type core = {.name = "fake", .overshoot_cycles = overshoot_of_nine};

static void test_deadline_of_a_pmu_bounds_the_run(void **state) {
    (void)state;
    static const struct {
        uint64_t a, b, horizon, limit;         // both deadlines, what was asked for
        uint64_t wanted_horizon, wanted_limit; // the hart stands at cycle 1000 and has retired 50
        bool has_deadline;
    } rows[] = {
        {UINT64_MAX, UINT64_MAX, 5000, 900, 5000, 900, false},
        {500, UINT64_MAX, 5000, 900, 1491, 900, true}, // 9 cycles before
        {UINT64_MAX, 500, 5000, 900, 1491, 900, true},
        {700, 500, 5000, 900, 1491, 900, true},
        {500, 700, 5000, 900, 1491, 900, true},
        {500, 700, 1200, 900, 1200, 900, true}, // the horizon comes first
        {10, 700, 5000, 900, 1001, 900, true},
        {9, 700, 5000, 900, 5000, 51, true}, // too close: one instruction
        {0, 700, 5000, 900, 5000, 51, true},
        {0, 700, 5000, 50, 5000, 50, true}, // which was not even asked for
        {0, 700, 5000, 51, 5000, 51, true},
        {UINT64_MAX - 1, UINT64_MAX, 5000, 900, 5000, 900, true},
        {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 900, UINT64_MAX, 900, true},
        {500, UINT64_MAX, 900, 900, 900, 900, true}, // the horizon is past already
    };
    uint64_t tally[TL_S_N_CELLS] = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_hart *h = new_hart(tally, NULL);
        fake a, b;
        add(h, &a, rows[i].a, false);
        add(h, &b, rows[i].b, false);
        h->engine = &core;
        h->now = 1000;
        h->instret = 50;
        h->horizon = rows[i].horizon;
        uint64_t limit = rows[i].limit;
        tl_hart_limit_to_deadline(h, &limit);
        if (h->horizon != rows[i].wanted_horizon || limit != rows[i].wanted_limit || h->has_deadline != rows[i].has_deadline)
            fail_msg("row %zu: horizon %llu, limit %llu", i, (unsigned long long)h->horizon, (unsigned long long)limit);
        free(h);
    }
}

static void fake_arrival(void *ctx, tl_hart *h, uint64_t *insn_limit) {
    (void)ctx;
    h->horizon = tl_lesser(h->horizon, 1138);
    *insn_limit = tl_lesser(*insn_limit, 115);
}

static void test_a_quiet_pmu_is_not_asked(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    fake a, b;
    assert_false(tl_hart_is_watched(h));
    add(h, &a, 0, false);
    add(h, &b, 500, false);
    h->engine = &core;
    h->now = 1000;
    h->horizon = 5000;
    uint64_t limit = 900;
    a.port.is_quiet = true;
    assert_true(tl_hart_is_watched(h));
    tl_hart_limit_to_deadline(h, &limit);
    assert_int_equal(h->horizon, 1491); // that of b
    assert_false(tl_hart_poll(h));
    assert_int_equal(a.n_polls, 0);
    assert_int_equal(b.n_polls, 1);
    b.port.is_quiet = true;
    assert_false(tl_hart_is_watched(h));
    tl_hart_limit_to_deadline(h, &limit);
    assert_false(h->has_deadline);
    free(h);
}

// Without the overshoot of the engine, and without a deadline.
static void test_an_interrupt_on_its_way_bounds_the_run_exactly(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    fake a;
    add(h, &a, UINT64_MAX, false);
    a.port.arrival = fake_arrival;
    h->engine = &core;
    h->now = 1000;
    h->horizon = 5000;
    uint64_t limit = 900;
    tl_hart_limit_to_deadline(h, &limit);
    assert_int_equal(h->horizon, 1138);
    assert_int_equal(limit, 115);
    assert_false(h->has_deadline);
    free(h);
}

static void test_poll_stops_the_run_when_an_enabled_interrupt_comes_up(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    fake a, b;
    add(h, &a, 0, false);
    add(h, &b, 0, false);
    h->insn_limit = 77;
    assert_false(tl_hart_poll(h));
    assert_int_equal(a.n_polls + b.n_polls, 2);
    b.raises = UINT64_C(1) << 13;
    assert_false(tl_hart_poll(h)); // not enabled
    assert_int_equal(h->insn_limit, 77);
    assert_false(h->is_interrupted);
    h->irqs_pending = 0;
    h->irqs_enabled = UINT64_C(1) << 13;
    assert_true(tl_hart_poll(h));
    assert_true(h->is_interrupted);
    assert_int_equal(h->insn_limit, 0);
    h->is_interrupted = false;
    assert_false(tl_hart_poll(h)); // pending before
    assert_false(h->is_interrupted);
    free(h);
}

static void test_interrupt_lines_set_and_clear_their_bit_and_end_the_run(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    h->horizon = h->fast_horizon = 5000;
    tl_hart_set_irq(h, TIMER, true);
    assert_int_equal(h->irqs_pending, 1 << TIMER);
    assert_int_equal(h->horizon, 5000); // not enabled
    h->irqs_enabled = 1 << TIMER | 1 << WIRED;
    assert_int_equal(tl_hart_pending(h), 1 << TIMER);
    tl_hart_set_irq(h, SOFTWARE, true);
    assert_int_equal(h->horizon, 0); // one that is enabled is pending
    assert_int_equal(h->fast_horizon, 0);
    tl_hart_set_irq(h, TIMER, false);
    assert_int_equal(h->irqs_pending, 1 << SOFTWARE);
    tl_hart_set_irq(h, WIRED, true); // the controller's line is apart from what software wrote
    assert_int_equal(h->irqs_pending, 1 << SOFTWARE);
    assert_int_equal(h->irq_lines, 1 << WIRED);
    assert_int_equal(tl_hart_pending(h), 1 << WIRED);
    tl_hart_set_irq(h, WIRED, false);
    assert_int_equal(tl_hart_pending(h), 0);
    free(h);
}

static uint32_t n_notices;
static void count_notice(void *ctx, const tl_hart *h, tl_notice notice) {
    (void)ctx, (void)h;
    assert_int_equal(notice, TL_NOTICE_TRAP_RETURN);
    n_notices += 1;
}

static void test_what_an_instruction_left_to_do_is_done_once(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    fake a, b;
    add(h, &a, 0, true);
    add(h, &b, 0, false);
    h->notice = count_notice;
    h->horizon = h->fast_horizon = 5000;
    h->has_after = h->wrote_pmu = true;
    tl_hart_retired(h);
    assert_false(h->has_after || h->wrote_pmu);
    assert_int_equal(a.n_retired, 1);
    assert_int_equal(b.n_retired, 1);
    assert_int_equal(h->priv, PROGRAM);
    assert_int_equal(a.n_left + n_notices, 0);
    h->has_after = h->changes_priv = true;
    h->new_priv = SUPERVISOR;
    tl_hart_retired(h);
    assert_false(h->has_after || h->changes_priv);
    assert_int_equal(a.n_retired, 1);
    assert_int_equal(h->priv, SUPERVISOR);
    assert_int_equal(a.n_left, 1);
    assert_int_equal(a.left_to, SUPERVISOR);
    assert_int_equal(b.n_left, 0); // needs no modes
    assert_int_equal(n_notices, 1);
    assert_int_equal(h->horizon, 5000);
    tl_hart_retired(h);
    assert_int_equal(a.n_retired + a.n_left + n_notices, 3);
    h->irqs_pending = h->irqs_enabled = 1 << SOFTWARE; // the new mode may let it through
    h->priv = PROGRAM;
    h->has_after = h->changes_priv = true;
    tl_hart_retired(h);
    assert_int_equal(h->horizon, 0);
    free(h);
}

static bool finds_nothing(const void *ctx, uint32_t number, struct tl_reg_at *ret_at) {
    return (void)ctx, (void)number, (void)ret_at, false;
}

static void test_only_ports_with_registers_have_them_searched(void **state) {
    (void)state;
    uint64_t tally[TL_S_N_CELLS] = {0};
    tl_hart *h = new_hart(tally, NULL);
    const tl_pmu_port with = {.find = finds_nothing}, without = {0}, first = {.find = finds_nothing};
    n_searches = 0;
    assert_true(tl_hart_hang_pmu(h, &with, false));
    assert_int_equal(n_searches, 1);
    assert_true(tl_hart_hang_pmu(h, &without, false));
    assert_int_equal(n_searches, 1);
    assert_true(tl_hart_hang_pmu(h, &first, true));
    assert_int_equal(n_searches, 2);
    assert_int_equal(h->n_pmus, 3);
    assert_ptr_equal(h->pmus[0], &first);
    assert_ptr_equal(h->pmus[1], &with);
    assert_ptr_equal(h->pmus[2], &without);
    tl_hart_drop_pmu(h, &without);
    assert_int_equal(n_searches, 2);
    tl_hart_drop_pmu(h, &first);
    assert_int_equal(n_searches, 3);
    assert_int_equal(h->n_pmus, 1);
    assert_ptr_equal(h->pmus[0], &with);
    for (uint32_t n = 1; n < TL_MAX_PMU_PORTS; n++)
        assert_true(tl_hart_hang_pmu(h, &without, false));
    assert_false(tl_hart_hang_pmu(h, &first, true)); // no room
    assert_int_equal(n_searches, 3);
    assert_int_equal(h->n_pmus, TL_MAX_PMU_PORTS);
    assert_ptr_equal(h->pmus[0], &with);
    free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cycles_and_instructions_belong_to_the_mode_they_were_spent_in),
    cmocka_unit_test(test_idle_time_is_one_stretch_while_nothing_runs_between),
    cmocka_unit_test(test_machine_time_has_ten_million_ticks_a_second),
    cmocka_unit_test(test_breakpoints_are_where_they_were_set_and_not_where_their_bit_is),
    cmocka_unit_test(test_deadline_of_a_pmu_bounds_the_run),
    cmocka_unit_test(test_a_quiet_pmu_is_not_asked),
    cmocka_unit_test(test_an_interrupt_on_its_way_bounds_the_run_exactly),
    cmocka_unit_test(test_poll_stops_the_run_when_an_enabled_interrupt_comes_up),
    cmocka_unit_test(test_interrupt_lines_set_and_clear_their_bit_and_end_the_run),
    cmocka_unit_test(test_what_an_instruction_left_to_do_is_done_once),
    cmocka_unit_test(test_only_ports_with_registers_have_them_searched),
};

TL_TEST_MAIN(tests)
