// SPDX-License-Identifier: MIT
// The detailed core against the stepping front-end on random code. Registers, memory and traps are
// equal at every stop, with any structure of the core. Structures are random, too. They have
// reorder buffers of a few uops, one port for everything, replay loops, predictors that are always
// wrong. Runs stop at random cycles and instructions, which must change nothing. Clocks differ, so
// random code reads none. At some stops a fast engine takes over, or gives the hart back.
#include <inttypes.h>
#include <stdlib.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "random_core.h"
#include "same_state.h"

typedef struct pair {
    tl_machine *detailed, *slow;
    uint64_t n_insns, n_traps;
} pair;

static void compare(const pair *p, uint64_t seed, uint64_t stop) {
    const tl_hart *a = p->detailed->harts[0], *b = p->slow->harts[0];
    assert_same_state(a, b, seed, stop);
    assert_int_equal(a->reservation_paddr, b->reservation_paddr);
}

// Counts of retirement agree: the mix, bytes, branches. Counts of the clock or of wrong paths do
// not.
static void compare_mix(const pair *p, uint64_t seed) {
    tl_machine_sync(p->detailed);
    tl_machine_sync(p->slow);
    for (uint32_t cell = TL_S_HART_INSTRET; cell <= TL_S_HART_STORE_BYTES; cell++)
        if (p->detailed->tally[cell] != p->slow->tally[cell])
            fail_msg("seed %" PRIu64 ": signal %u is %" PRIu64 ", by step %" PRIu64, seed, cell, p->detailed->tally[cell],
                     p->slow->tally[cell]);
    static const enum tl_hart_cell cells[] = {TL_S_BP_COND, TL_S_BP_DIRECT, TL_S_BP_INDIRECT, TL_S_BP_RETURN, TL_S_BP_RAS_PUSH};
    for (uint32_t i = 0; i < TL_COUNT_OF(cells); i++)
        assert_int_equal(p->detailed->tally[cells[i]], p->slow->tally[cells[i]]);
    tl_error err;
    if (tl_machine_check_identities(p->detailed, &err) != TL_OK)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
}

// The detailed core, or the fast engine, runs to the limit in pieces.
static tl_stop run_detailed(tl_machine *machine, rng *r, uint64_t limit) {
    tl_hart *h = machine->harts[0];
    for (;;) {
        if (below(r, 6) == 0)
            tl_machine_forward(machine, below(r, 3) == 0);
        h->insn_limit = limit;
        h->horizon = below(r, 3) ? UINT64_MAX : h->now + below(r, 200);
        const tl_stop stop = h->engine->run(h);
        if (stop != TL_STOP_HORIZON)
            return stop;
        assert_true(h->now >= h->horizon);
        if (below(r, 8) == 0) { // as a kernel that did nothing to the program
            const uint64_t cycles = below(r, 3000);
            h->now += cycles;
            h->tally[TL_S_HART_CYC_SWITCH] += cycles;
        }
    }
}

static void fill(pair *p, rng *r, bool is_dense) {
    fill_code(r, p->slow->ram, CODE_BYTES, is_dense);
    memcpy(p->detailed->ram, p->slow->ram, CODE_BYTES);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(r);
        memcpy(p->slow->ram + DATA_OFFSET + i, &value, 8);
    }
    memcpy(p->detailed->ram + DATA_OFFSET, p->slow->ram + DATA_OFFSET, DATA_BYTES);
}

static void both_point(const pair *p, rng *r) {
    rng again = {r->state};
    point(p->detailed->harts[0], r, 0, 0);
    point(p->slow->harts[0], &again, 0, 0);
}

// Runs to *limit, or to the first instruction outside of the code, where *limit is then.
static tl_stop run_within_code(tl_hart *h, uint64_t *limit) {
    for (;;) {
        h->insn_limit = h->instret + 1;
        const tl_stop stop = h->engine->run(h);
        if (stop != TL_STOP_LIMIT || h->instret == *limit)
            return stop;
        if (h->pc - TL_RAM_BASE_PADDR >= CODE_BYTES) {
            *limit = h->instret;
            return stop;
        }
    }
}

// Without FENCE.I, a fetch may or may not see an older store (unprivileged manual, Zifencei). No
// program executes data. One that has just written code may end in another state.
static void run_seed(uint64_t seed, uint64_t n_stops, uint64_t n_breaks[2], uint64_t *n_done) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_config config, plain;
    tl_config_default(&config);
    choose_structure(&r, &config);
    plain = config;
    make_in_order(&plain);
    pair p = {0};
    tl_error err;
    if (tl_machine_new(&config, &tl_engine_ooo, &p.detailed, &err) != TL_OK ||
        tl_machine_new(&plain, &tl_engine_step, &p.slow, &err) != TL_OK)
        fail_msg("%s", err.text);
    if (tl_machine_add_forwarder(p.detailed, fast_engines[seed % TL_COUNT_OF(fast_engines)].engine, &err) != TL_OK)
        fail_msg("%s", err.text);
    fill(&p, &r, seed % 2);
    static uint8_t code[CODE_BYTES];
    bool has_written_code = false, is_whole = true;
    memcpy(code, p.slow->ram, CODE_BYTES);
    both_point(&p, &r);
    tl_hart *a = p.detailed->harts[0], *b = p.slow->harts[0];
    for (uint64_t stop = 0; stop < n_stops; stop++) {
        uint64_t limit = b->instret + 1 + below(&r, below(&r, 4) ? 2000 : 20);
        const uint64_t which = stop % 2; // the other breakpoint is off
        a->break_pc[which] = b->break_pc[which] = below(&r, 8) ? TL_NO_LINE : a->pc + 2 * (uint64_t)below(&r, 60);
        a->break_pc[1 - which] = b->break_pc[1 - which] = TL_NO_LINE;
        const tl_stop stop_b = run_within_code(b, &limit), stop_a = run_detailed(p.detailed, &r, limit);
        const bool writes_code = memcmp(code, p.slow->ram, CODE_BYTES) != 0;
        if ((writes_code || has_written_code) && !has_same_state(a, b)) {
            is_whole = false;
            break;
        }
        has_written_code = writes_code;
        a->code_generation += writes_code; // as FENCE.I: the fast engine keeps what it decoded
        memcpy(code, p.slow->ram, CODE_BYTES);
        if (stop_a != stop_b)
            fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": stopped for %d at %" PRIx64 ", step for %d at %" PRIx64, seed, stop, stop_a,
                     a->pc, stop_b, b->pc);
        compare(&p, seed, stop);
        if (stop_a == TL_STOP_TRAP) {
            assert_int_equal(a->trap_cause, b->trap_cause);
            assert_int_equal(a->trap_value, b->trap_value);
            a->run_vline = b->run_vline = TL_NO_LINE;
            p.n_traps += 1;
            both_point(&p, &r);
        } else if (stop_a == TL_STOP_BREAK) {
            a->skip_break = b->skip_break = true;
            n_breaks[which]++;
        } else if (b->pc - TL_RAM_BASE_PADDR >= CODE_BYTES || below(&r, 10) == 0) {
            // Instructions are in flight.
            a->run_vline = b->run_vline = TL_NO_LINE;
            both_point(&p, &r);
        }
        *n_done += 1;
    }
    if (is_whole) {
        assert_memory_equal(p.detailed->ram + DATA_OFFSET, p.slow->ram + DATA_OFFSET, DATA_BYTES);
        tl_machine_forward(p.detailed, false);
        compare_mix(&p, seed);
        if (a->instret < n_stops || p.n_traps == 0)
            fail_msg("seed %" PRIu64 ": %" PRIu64 " instructions, %" PRIu64 " traps", seed, a->instret, p.n_traps);
    }
    tl_machine_free(p.detailed);
    tl_machine_free(p.slow);
}

static void test_random_code_agrees_on_random_structures(void **state) {
    (void)state;
    const char *first = getenv("TL_LOCKSTEP_SEED"), *stops = getenv("TL_LOCKSTEP_STOPS");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1, n_stops = stops ? strtoull(stops, NULL, 10) : 1000;
    uint64_t n_breaks[2] = {0, 0}, n_done = 0;
    for (uint64_t seed = from; seed < from + 24; seed++)
        run_seed(seed, n_stops, n_breaks, &n_done);
    assert_true(n_done >= 24 * n_stops * 9 / 10);
    assert_true(first || stops || (n_breaks[0] >= 100 && n_breaks[1] >= 100));
}

// A core that stops after each cycle skips none. Clock and counts are those of a core that runs
// freely. Neither stops nor skipped cycles leave a trace.
static void run_in_cycles(uint64_t seed) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_config config;
    tl_config_default(&config);
    choose_structure(&r, &config);
    config.mem.mem_row_hit_cycles = 300;
    pair p = {0};
    tl_error err;
    if (tl_machine_new(&config, &tl_engine_ooo, &p.detailed, &err) != TL_OK ||
        tl_machine_new(&config, &tl_engine_ooo, &p.slow, &err) != TL_OK)
        fail_msg("%s", err.text);
    fill(&p, &r, seed % 2);
    both_point(&p, &r);
    tl_hart *a = p.detailed->harts[0], *b = p.slow->harts[0];
    for (uint64_t stop = 0; stop < 60; stop++) {
        const uint64_t limit = b->instret + 1 + below(&r, 2000);
        a->insn_limit = b->insn_limit = limit;
        a->horizon = UINT64_MAX;
        const tl_stop stop_a = a->engine->run(a);
        tl_stop stop_b;
        do {
            b->horizon = b->now + 1 + below(&r, 3) / 2;
            stop_b = b->engine->run(b);
        } while (stop_b == TL_STOP_HORIZON);
        assert_int_equal(stop_a, stop_b);
        compare(&p, seed, stop);
        assert_same_tallies(p.detailed, p.slow, seed, stop);
        if (stop_a == TL_STOP_TRAP)
            both_point(&p, &r);
    }
    tl_machine_free(p.detailed);
    tl_machine_free(p.slow);
}

static void test_stops_and_skipped_cycles_leave_no_trace(void **state) {
    (void)state;
    for (uint64_t seed = 201; seed < 217; seed++)
        run_in_cycles(seed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stops_and_skipped_cycles_leave_no_trace),
    cmocka_unit_test(test_random_code_agrees_on_random_structures),
};
TL_TEST_MAIN(tests)
