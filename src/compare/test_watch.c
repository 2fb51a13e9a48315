// SPDX-License-Identifier: MIT
// Watched runs one by one: shares of program and reader, times of readings, events on counters per
// turn, and cost of a reading. Programs run straight at a steady pace, because expected values must
// be computable.
#include <math.h>

#include "base/bits.h"
#include "compare/design.h"
#include "compare/rows.h"
#include "compare/setup.h"
#include "compare/sweep.h"
#include "compare/test_rig.h"
#include "compare/watch.h"

static char path[64];

static int make_program(void **state) {
    (void)state;
    test_write_program(120, path);
    return 0;
}

static int remove_program(void **state) {
    (void)state;
    return unlink(path);
}

static tl_compare_setup prepared(const tl_compare_options *options, uint64_t interval) {
    tl_compare_setup setup;
    tl_error err = {0};
    if (tl_compare_prepare(options, &setup, &err) != TL_OK)
        fail_msg("%s", err.text);
    setup.interval_cycles = setup.wanted_interval_cycles = interval;
    return setup;
}

static tl_watch_result watched(const tl_compare_setup *setup, uint32_t design, uint32_t phase, uint32_t n_phases) {
    tl_watch_result result;
    tl_error err = {0};
    if (tl_watch_run(setup, design, phase, n_phases, &result, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(result.outgrown_by_cycles, 0);
    return result;
}

// Five events share two counters.
static const char turning[] = "integer_load,integer_store,integer_multiply,conditional_branch,integer_arithmetic";

// The program's own counts are equal in every run, whether the program ends by itself or by the
// limit.
static void test_the_reader_s_instructions_are_its_own(void **state) {
    (void)state;
    static const tl_engine engines[] = {TL_ENGINE_STEP, TL_ENGINE_BLOCK, TL_ENGINE_FASTEST};
    static const uint64_t bounds[] = {123457, 0};
    for (size_t e = 0; e < TL_COUNT_OF(engines); e++)
        for (size_t b = 0; b < TL_COUNT_OF(bounds); b++) {
            tl_compare_options options = test_options(path);
            options.run.engine = engines[e];
            options.run.max_insns = bounds[b];
            options.n_phases = 2;
            tl_comparison *c = test_compare(&options);
            assert_true(bounds[b] == 0 || c->facts.instructions == bounds[b]);
            assert_int_equal(c->facts.reason, bounds[b] ? TL_END_MAX_INSNS : TL_END_EXITED);
            assert_int_equal(c->facts.max_insns, bounds[b] ? bounds[b] : 200000000);
            for (uint32_t d = 0; d < 3; d++) {
                const tl_compare_design_row *row = &c->designs[d];
                assert_int_equal(row->run_instructions - row->by_reader.instructions, c->facts.instructions);
                assert_true(row->by_reader.instructions > 40 * row->n_looks && row->by_reader.instructions < 400 * row->n_looks);
                assert_int_equal(row->look_instructions_x1000, row->by_reader.instructions * 1000 / row->n_looks);
                // The rest of the cycles is the program's, but for misses that the reader causes
                // it.
                uint64_t rest = row->run_cycles - row->by_reader.cycles;
                assert_in_range(rest, c->facts.cycles, c->facts.cycles + c->facts.cycles / 20);
                double slowdown = (double)row->run_cycles / (double)c->facts.cycles;
                assert_true(slowdown > 1 && slowdown < 1.2 && fabs(row->slowdown + 1 - slowdown) < 1e-9);
            }
            tl_comparison_release(c);
        }
}

// Readings come at the start, at the end of each interval, and at the bound.
static void test_looks_come_at_the_interval(void **state) {
    (void)state;
    static const uint64_t intervals[] = {10000, 37000}, bounds[] = {100000, 0};
    for (size_t i = 0; i < 2; i++)
        for (size_t b = 0; b < 2; b++) {
            tl_compare_options options = test_options(path);
            options.run.max_insns = bounds[b];
            options.events = turning;
            tl_compare_setup setup = prepared(&options, intervals[i]);
            for (uint32_t design = U74; design < N_DESIGNS; design++) {
                tl_watch_result r = watched(&setup, design, 0, 1);
                // The program's first instruction and its miss.
                uint64_t behind = r.run_cycles - r.first_look_cycles, beginning = 100;
                // Otherwise the number below would not be certain.
                assert_true(behind % intervals[i] > beginning);
                uint64_t at_the_bound = bounds[b] != 0;
                assert_int_equal(r.n_looks, 1 + behind / intervals[i] + at_the_bound);
                // Nothing of it was in the caches.
                assert_true(r.first_look_cycles > r.by_reader.cycles / r.n_looks);
            }
            tl_compare_setup_done(&setup);
        }
}

static void place(const tl_compare_setup *setup, uint32_t n_turns, uint32_t phase, uint32_t n_phases, uint32_t event, uint64_t cycles) {
    uint32_t first_event;
    uint64_t first_cycles;
    tl_watch_place_phase(setup, n_turns, phase, n_phases, &first_event, &first_cycles);
    assert_int_equal(first_event, event);
    assert_int_equal(first_cycles, cycles);
}

static void test_phases_are_spread_over_the_rotation(void **state) {
    (void)state;
    tl_compare_options options = test_options(path);
    // Five events take turns.
    options.events = "cycle,integer_load,integer_store,l2_read,integer_multiply,conditional_branch,integer_arithmetic";
    tl_compare_setup setup = prepared(&options, 20000);
    uint32_t n_turns = tl_compare_designs[U74]->n_turns(&setup);
    assert_int_equal(n_turns, 5);
    for (uint32_t phase = 0; phase < 5; phase++) // as many phases as events: a turn each
        place(&setup, n_turns, phase, 5, phase, 20000);
    place(&setup, n_turns, 0, 2, 0, 20000);
    place(&setup, n_turns, 1, 2, 2, 10000);  // two turns and a half
    place(&setup, n_turns, 1, 4, 1, 15000);  // 1.25
    place(&setup, n_turns, 2, 4, 2, 10000);  // 2.5
    place(&setup, n_turns, 3, 4, 3, 5000);   // 3.75
    place(&setup, n_turns, 63, 64, 4, 1563); // 4.921875: 20,000 less 18,437
    place(&setup, n_turns, 0, 1, 0, 20000);
    tl_compare_setup_done(&setup);
}

// With two readings, only the two events at the front of the rotation were on the counters.
static void test_a_phase_begins_with_its_event(void **state) {
    (void)state;
    tl_compare_options options = test_options(path);
    options.run.max_insns = 15000;
    options.events = turning;
    tl_compare_setup setup = prepared(&options, 1000000000);
    for (uint32_t phase = 0; phase < 5; phase++) {
        tl_watch_result r = watched(&setup, U74, phase, 5);
        assert_int_equal(r.n_looks, 2);
        for (uint32_t i = 0; i < 5; i++) {
            bool is_on = i == phase || i == (phase + 1) % 5;
            assert_int_equal(r.events[i].has_value, is_on);
            assert_true(is_on || strstr(r.events[i].reason, "too short"));
            assert_true(r.events[i].truth > 500);
            if (is_on) { // the counter ran all the time but at its edges
                assert_true(r.events[i].time_counted > 0.95 && r.events[i].time_counted <= 1);
                assert_true(fabs(tl_compare_error(r.events[i].value, r.events[i].truth)) < 0.06);
            }
        }
    }
    tl_compare_setup_done(&setup);
}

// Five events share two counters: each event is counted two fifths of the time. Two fifths of a
// steady program's count, times five halves, equal the whole count.
static void test_an_estimate_is_scaled_by_the_time_on_a_counter(void **state) {
    (void)state;
    char steady[64];
    test_write_steady_program(40000, steady);
    tl_compare_options options = test_options(steady);
    options.events = turning;
    tl_compare_setup setup = prepared(&options, 5000);
    tl_watch_result r = watched(&setup, U74, 0, 1);
    double sum = 0;
    for (uint32_t i = 0; i < 5; i++) {
        sum += r.events[i].time_counted;
        assert_true(r.events[i].time_counted > 0.3 && r.events[i].time_counted < 0.45);
        if (fabs(tl_compare_error(r.events[i].value, r.events[i].truth)) > 0.1)
            fail_msg("%s: %llu of %llu", setup.events[i]->name, (unsigned long long)r.events[i].value,
                     (unsigned long long)r.events[i].truth);
    }
    assert_true(sum > 1.6 && sum < 2); // less than two: no counter runs while the reader rotates
    tl_compare_setup_done(&setup);
    unlink(steady);
}

// The truth covers the time from the start to the last read of a counter: the program's known count
// plus the reader's share.
static void test_the_truth_is_the_program_s_and_the_reader_s(void **state) {
    (void)state;
    char steady[64];
    enum { N_ROUNDS = 40000 };
    test_write_steady_program(N_ROUNDS, steady);
    static const char *const settings[] = {"dhpc", "ccache", "u74"};
    for (int d = 0; d < 3; d++) {
        tl_compare_options options = test_options(steady);
        options.designs = settings[d];
        options.events = d == 1 ? "l2_read,l2_write" : "integer_multiply,integer_load";
        options.run.max_insns = 0;
        options.interval_cycles = 10000;
        options.n_phases = 1;
        tl_comparison *c = test_compare(&options);
        assert_int_equal(c->values[0].value, c->values[0].truth);
        assert_int_equal(c->values[1].value, c->values[1].truth);
        if (d != 1) { // a multiplication a round, up to the last reading; readers multiply nothing
            assert_in_range(c->values[0].truth, N_ROUNDS - 10000, N_ROUNDS);
            assert_int_equal(c->values[0].undisturbed, N_ROUNDS);
            // Of two events of u74 the counters run through; of dhpc they count since reset.
            assert_true(c->values[1].truth >= c->values[0].truth);
        }
        assert_int_equal(c->values[0].time_counted, 1);
        tl_comparison_release(c);
    }
    unlink(steady);
}

// The first event on a counter does not change the reader's instructions. Each truth is therefore
// one number, whether or not front-ends hold the tally back.
static void test_the_truth_does_not_depend_on_who_is_counted_first(void **state) {
    (void)state;
    static const char *const lists[] = {"integer_load,conditional_branch,integer_multiply,instruction_cache_miss,dtlb_miss,itlb_miss",
                                        "instruction_cache_miss,dtlb_miss,itlb_miss,integer_load,conditional_branch,integer_multiply"};
    static const tl_engine engines[] = {TL_ENGINE_STEP, TL_ENGINE_BLOCK, TL_ENGINE_FASTEST};
    for (size_t e = 0; e < TL_COUNT_OF(engines); e++) {
        tl_watch_result results[2];
        for (uint32_t i = 0; i < 2; i++) {
            tl_compare_options options = test_options(path);
            options.run.engine = engines[e];
            options.events = lists[i];
            tl_compare_setup setup = prepared(&options, 20000);
            results[i] = watched(&setup, U74, 0, 1);
            tl_compare_setup_done(&setup);
        }
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(results[0].events[i].truth, results[1].events[(i + 3) % 6].truth);
        assert_int_equal(results[0].run_instructions, results[1].run_instructions);
    }
}

static void write_clock_code(tl_assembler *a, int32_t n_rounds) {
    tl_asm_load_constant(a, TL_S1, (uint64_t)n_rounds);
    uint64_t round = tl_asm_here(a);
    tl_asm_csrr(a, TL_T0, 0xc00); // cycle, which the personality lets a program read
    tl_asm_csrr(a, TL_T1, 0xc02); // instret
    tl_asm_addi(a, TL_S1, TL_S1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_S1, TL_X0, round);
    tl_asm_addi(a, TL_A0, TL_X0, 5);
    tl_asm_addi(a, TL_A7, TL_X0, TEST_SYS_EXIT);
    tl_asm_ecall(a);
}

static void test_a_look_takes_no_right_from_the_program(void **state) {
    (void)state;
    char clock[64];
    enum { N_ROUNDS = 20000 };
    test_write_program_of(write_clock_code, N_ROUNDS, clock);
    tl_compare_options options = test_options(clock);
    options.designs = "ccache,dhpc";
    options.events = "l2_read";
    options.run.max_insns = 0;
    tl_comparison *c = test_compare(&options);
    assert_int_equal(c->facts.reason, TL_END_EXITED);
    assert_int_equal(c->facts.status, 5);
    assert_in_range(c->facts.instructions, 4 * N_ROUNDS + 3, 4 * N_ROUNDS + 10);
    for (uint32_t d = 0; d < 2; d++) {
        assert_true(c->designs[d].n_looks > 5);
        assert_int_equal(c->designs[d].run_instructions - c->designs[d].by_reader.instructions, c->facts.instructions);
    }
    tl_comparison_release(c);
    unlink(clock);
}

// Stores and uncached accesses of a reading, computed on paper. The stub saves t0, pc and sp, and
// t0 again at the call back. The reader saves t0 to t2 and a register per value, then stores the
// values. The first reading of ccache also writes a selector and a counter per event, and a mark.
static void test_a_look_stores_what_it_must(void **state) {
    (void)state;
    static const char *const lists[] = {"l2_read", "l2_read,l2_write", "l2_read,l2_readmiss,l2_write,l2_writeback"};
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t n = UINT64_C(1) << i;
        tl_compare_options options = test_options(path);
        options.events = lists[i];
        tl_compare_setup setup = prepared(&options, 20000);
        tl_watch_result bus = watched(&setup, CCACHE, 0, 1), fabric = watched(&setup, DHPC, 0, 1);
        assert_int_equal(bus.by_reader.uncached, n * bus.n_looks + 2 * n);
        assert_int_equal(bus.by_reader.l1d_writes, (4 + 3 + 2 * n) * bus.n_looks + 1);
        // Two slices: as many values of each, and how each request went in two words.
        assert_int_equal(fabric.by_reader.uncached, 0);
        assert_int_equal(fabric.by_reader.l1d_writes, (4 + 3 + n + 2 * (n + 2)) * fabric.n_looks);
        // Loads: one at entry, three at exit, the reader's registers, and the mark of ccache. Page
        // walks add fewer than fifty per reading.
        assert_in_range(bus.by_reader.l1d_reads, (4 + 3 + n + 1) * bus.n_looks, (4 + 3 + n + 1 + 50) * bus.n_looks);
        assert_in_range(fabric.by_reader.l1d_reads, (4 + 3 + n) * fabric.n_looks, (4 + 3 + n + 50) * fabric.n_looks);
        const tl_watch_result *const both[] = {&bus, &fabric};
        // Every line that a first-level cache requests is a read of the second level.
        for (int k = 0; k < 2; k++) {
            const tl_compare_events_added *a = &both[k]->by_reader;
            assert_int_equal(a->l2_reads, a->l1d_misses + a->l1i_misses);
            // The first reading misses all lines.
            assert_in_range(a->l1i_misses, 3, 20 * both[k]->n_looks);
            assert_in_range(a->l1d_misses, 4, 20 * both[k]->n_looks);
            assert_in_range(a->cycles, a->instructions, 50 * a->instructions);
            assert_in_range(both[k]->first_look_cycles, 500, 5000);
        }
        assert_int_equal(bus.values_watched, n * bus.n_looks);
        assert_int_equal(bus.selects_watched, n);
        assert_int_equal(fabric.values_watched + fabric.values_read + fabric.selects_watched, 0);
        tl_compare_setup_done(&setup);
    }
}

static void test_the_sweep_over_events_is_bounded(void **state) {
    (void)state;
    static const struct {
        uint64_t max_insns, sweep_insns;
        uint32_t n_phases, n_sweep_phases;
    } rows[] = {
        {0, 50000000, 0, 4}, {1000, 1000, 3, 3}, {50000000, 50000000, 4, 4}, {50000001, 50000000, 5, 4}, {49999999, 49999999, 64, 4}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_compare_options options = test_options(path);
        options.run.max_insns = rows[i].max_insns;
        options.n_phases = rows[i].n_phases;
        tl_compare_setup setup = prepared(&options, 5000);
        assert_int_equal(setup.sweep_insns, rows[i].sweep_insns);
        assert_int_equal(setup.n_sweep_phases, rows[i].n_sweep_phases);
        assert_int_equal(setup.max_insns, rows[i].max_insns ? rows[i].max_insns : 200000000);
        assert_int_equal(setup.n_phases, rows[i].n_phases ? rows[i].n_phases : 8);
        tl_compare_setup_done(&setup);
    }
    tl_compare_options options = test_options(path);
    tl_compare_setup setup;
    tl_error err = {0};
    options.n_phases = 65;
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "at most 64"));
    options.n_phases = 1;
    options.interval_cycles = 4999;
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "at least 5000"));
    options.interval_cycles = 5000;
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    assert_int_equal(setup.interval_cycles, 5000);
    tl_compare_setup_done(&setup);
}

static void test_every_design_has_something_among_few_events(void **state) {
    (void)state;
    const tl_watchable *order[TL_COMPARE_MAX_EVENTS];
    uint32_t n = tl_compare_order_events(order);
    assert_int_equal(n, tl_n_watchables);
    static const char *const first[] = {"cycle",        "instret",       "exception", "l2_read",
                                        "integer_load", "integer_store", "atomic",    "l2_readmiss"};
    for (uint32_t i = 0; i < 8; i++)
        assert_string_equal(order[i]->name, first[i]);
    uint32_t n_level2 = 0;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(i >= 32 || order[i]->is_of_level2 == (i % 4 == 3)); // eight of the second level
        n_level2 += order[i]->is_of_level2;
        for (uint32_t k = 0; k < i; k++) {
            assert_ptr_not_equal(order[i], order[k]);
            // Each kind is in its order.
            assert_true(order[i]->is_of_level2 != order[k]->is_of_level2 || order[k] < order[i]);
        }
    }
    assert_int_equal(n_level2, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reader_s_instructions_are_its_own),
        cmocka_unit_test(test_looks_come_at_the_interval),
        cmocka_unit_test(test_phases_are_spread_over_the_rotation),
        cmocka_unit_test(test_a_phase_begins_with_its_event),
        cmocka_unit_test(test_an_estimate_is_scaled_by_the_time_on_a_counter),
        cmocka_unit_test(test_the_truth_is_the_program_s_and_the_reader_s),
        cmocka_unit_test(test_a_look_stores_what_it_must),
        cmocka_unit_test(test_the_truth_does_not_depend_on_who_is_counted_first),
        cmocka_unit_test(test_a_look_takes_no_right_from_the_program),
        cmocka_unit_test(test_the_sweep_over_events_is_bounded),
        cmocka_unit_test(test_every_design_has_something_among_few_events),
    };
    return cmocka_run_group_tests(tests, make_program, remove_program) == 0 ? 0 : 1;
}
