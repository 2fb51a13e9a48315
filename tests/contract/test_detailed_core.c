// SPDX-License-Identifier: MIT
// The detailed core against the stepping front-end on random code. Registers, memory and traps are
// equal at every stop, with any structure of the core. Structures are random, too. They have
// reorder buffers of a few uops, one port for everything, replay loops, predictors that are always
// wrong. Runs stop at random cycles and instructions, which must change nothing. Clocks differ, so
// random code reads none.
#include <inttypes.h>
#include <stdlib.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "random_code.h"

enum { CODE_BYTES = 48 << 10, DATA_BYTES = 256 << 10, DATA_OFFSET = 1 << 20 };

typedef struct pair {
    tl_machine *detailed, *slow;
    uint64_t n_insns, n_traps;
} pair;

static void point(tl_hart *h, rng *r) {
    tl_rv_hart *rv = tl_rv(h);
    rv->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 2000) * 16;
    rv->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 5000) * 8;
    rv->x[9] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    rv->x[1] = rv->x[9];
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    for (int i = 0; i < 4; i++)
        rv->x[11 + below(r, 20)] = next(r) >> below(r, 64);
    for (int i = 0; i < 4; i++)
        rv->f[below(r, 32)] = below(r, 2) ? next(r) : UINT64_C(0xffffffff00000000) | next(r) >> 32;
}

// Every second program accesses few bytes. Loads meet stores in flight, of all sizes, in part and
// as a whole, on paths that are taken back.
static void fill_code(rng *r, uint8_t *code, uint32_t n_bytes, bool is_dense) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc02, 0xc03};
    fill_with(r, code, n_bytes, csrs, TL_COUNT_OF(csrs), 8);
    for (uint32_t at = 0; is_dense && at < n_bytes; at += 4) {
        const uint32_t is_store = below(r, 2) * 0x20, base = below(r, 4) ? 8 : 2, funct3 = is_store ? below(r, 4) : below(r, 7);
        uint32_t bits = random_word(r, csrs, TL_COUNT_OF(csrs), 8);
        if (below(r, 3) == 0)
            bits = below(r, 32) << 20 | base << 15 | funct3 << 12 | (is_store ? below(r, 16) : 11 + below(r, 20)) << 7 | is_store | 0x03;
        else if ((bits & 0x5b) == 0x03)
            bits &= ~(0x7fu << 25);
        memcpy(code + at, &bits, 4);
    }
}

static void choose_structure(rng *r, tl_config *config) {
    tl_core_config *c = &config->core;
    const uint32_t rename = 2 + below(r, 5), retire = 2 + below(r, 5), most = rename > retire ? rename : retire;
    const uint32_t replay = below(r, 2) ? 1 + below(r, 20) : 0;
    *c = (tl_core_config){.kind = TL_CORE_OUT_OF_ORDER,
                          .fetch_width = 1 + below(r, 8),
                          .fetch_taken = 1 + below(r, 3),
                          .rename_width = rename,
                          .issue_width = 1 + below(r, 8),
                          .retire_width = retire,
                          .front_cycles = 1 + below(r, 25),
                          .rob_uops = most + below(r, below(r, 2) ? 8 : 400),
                          .load_buffers = 1 + below(r, 60),
                          .store_buffers = 1 + below(r, 60),
                          .memory_queue = 1 + below(r, 30),
                          .general_queue = 1 + below(r, 60),
                          .alu_half_cycles = 1 + below(r, 4),
                          .shift_cycles = 1 + below(r, 4),
                          .forward_cycles = 1 + below(r, 6),
                          .replay_miss_cycles = replay,
                          .replay_cycles = replay ? 1 + below(r, 20) : 0,
                          .misses = 1 + below(r, 8),
                          .store_misses = 1 + below(r, 8),
                          .alu_ports = 3,
                          .fast_ports = below(r, 4),
                          .shift_ports = 1 + below(r, 255),
                          .branch_ports = 1 + below(r, 255),
                          .mul_ports = 1 + below(r, 255),
                          .fp_ports = 1 + below(r, 255),
                          .move_ports = 1 + below(r, 255),
                          .load_ports = 1 + below(r, 255),
                          .store_ports = 1 + below(r, 255),
                          .data_ports = 1 + below(r, 255)};
    config->bp.kind = (tl_bp_kind)below(r, 5);
    config->bp.counters = 16u << below(r, 6);
    config->bp.history_bits = below(r, 5);
    config->bp.tables = 1 + below(r, TL_MAX_TAGE_TABLES);
    config->bp.table_entries = 16u << below(r, 7);
    config->bp.max_history = 20 + below(r, 1900);
    config->bp.ras_entries = below(r, 8);
    config->l1d = (tl_cache_config){.size_bytes = 1024u << below(r, 5), .ways = 2, .line_bytes = 64};
    config->ram_bytes = 16 << 20;
}

static void compare(const pair *p, uint64_t seed, uint64_t stop) {
    const tl_hart *a = p->detailed->harts[0], *b = p->slow->harts[0];
    for (int i = 0; i < 32; i++)
        if (tl_rv(a)->x[i] != tl_rv(b)->x[i])
            fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": x%d is %" PRIx64 ", by step %" PRIx64, seed, stop, i, tl_rv(a)->x[i],
                     tl_rv(b)->x[i]);
    for (int i = 0; i < 32; i++)
        if (tl_rv(a)->f[i] != tl_rv(b)->f[i])
            fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": f%d is %" PRIx64 ", by step %" PRIx64, seed, stop, i, tl_rv(a)->f[i],
                     tl_rv(b)->f[i]);
    if (a->pc != b->pc || a->instret != b->instret || tl_rv(a)->fflags != tl_rv(b)->fflags || tl_rv(a)->frm != tl_rv(b)->frm ||
        a->reservation_paddr != b->reservation_paddr)
        fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": pc %" PRIx64 " %" PRIx64 ", instret %" PRIu64 " %" PRIu64
                 ", fflags %x %x, frm %x %x, reservation %" PRIx64 " %" PRIx64,
                 seed, stop, a->pc, b->pc, a->instret, b->instret, tl_rv(a)->fflags, tl_rv(b)->fflags, tl_rv(a)->frm, tl_rv(b)->frm,
                 a->reservation_paddr, b->reservation_paddr);
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

// The detailed core runs to the limit in pieces.
static tl_stop run_detailed(tl_hart *h, rng *r, uint64_t limit) {
    for (;;) {
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
    point(p->detailed->harts[0], r);
    point(p->slow->harts[0], &again);
}

static void run_seed(uint64_t seed, uint64_t n_stops, uint64_t n_breaks[2]) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_config config, plain;
    tl_config_default(&config);
    choose_structure(&r, &config);
    plain = config;
    plain.core.kind = TL_CORE_IN_ORDER;
    plain.bp.kind = TL_BP_GSHARE;
    pair p = {0};
    tl_error err;
    if (tl_machine_new(&config, &tl_engine_ooo, &p.detailed, &err) != TL_OK ||
        tl_machine_new(&plain, &tl_engine_step, &p.slow, &err) != TL_OK)
        fail_msg("%s", err.text);
    fill(&p, &r, seed % 2);
    both_point(&p, &r);
    tl_hart *a = p.detailed->harts[0], *b = p.slow->harts[0];
    for (uint64_t stop = 0; stop < n_stops; stop++) {
        const uint64_t limit = b->instret + 1 + below(&r, below(&r, 4) ? 2000 : 20);
        const uint64_t which = stop % 2; // the other breakpoint is off
        a->break_pc[which] = b->break_pc[which] = below(&r, 8) ? TL_NO_LINE : a->pc + 2 * (uint64_t)below(&r, 60);
        a->break_pc[1 - which] = b->break_pc[1 - which] = TL_NO_LINE;
        const tl_stop stop_a = run_detailed(a, &r, limit);
        b->insn_limit = limit;
        const tl_stop stop_b = b->engine->run(b);
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
        } else if (below(&r, 10) == 0) { // out of a loop, with instructions in flight
            b->run_vline = TL_NO_LINE;
            both_point(&p, &r);
        }
    }
    assert_memory_equal(p.detailed->ram + DATA_OFFSET, p.slow->ram + DATA_OFFSET, DATA_BYTES);
    compare_mix(&p, seed);
    if (a->instret < n_stops || p.n_traps == 0)
        fail_msg("seed %" PRIu64 ": %" PRIu64 " instructions, %" PRIu64 " traps", seed, a->instret, p.n_traps);
    tl_machine_free(p.detailed);
    tl_machine_free(p.slow);
}

static void test_random_code_agrees_on_random_structures(void **state) {
    (void)state;
    const char *first = getenv("TL_LOCKSTEP_SEED"), *stops = getenv("TL_LOCKSTEP_STOPS");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1, n_stops = stops ? strtoull(stops, NULL, 10) : 1000;
    uint64_t n_breaks[2] = {0, 0};
    for (uint64_t seed = from; seed < from + 24; seed++)
        run_seed(seed, n_stops, n_breaks);
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
        tl_machine_sync(p.detailed);
        tl_machine_sync(p.slow);
        for (uint32_t cell = 0; cell < p.detailed->probe.n_cells; cell++)
            if (p.detailed->tally[cell] != p.slow->tally[cell]) {
                const tl_unit *unit = tl_probe_unit_of(&p.slow->probe, cell);
                fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": %s.%s is %" PRIu64 " in one go, %" PRIu64 " in cycles", seed, stop,
                         unit->path, unit->type->signals[cell - unit->first_cell].name, p.detailed->tally[cell], p.slow->tally[cell]);
            }
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
