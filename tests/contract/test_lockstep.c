// SPDX-License-Identifier: MIT
// Every fast front-end against the stepping one on random code. Registers, clock and all tallies
// are equal at every stop. There are random horizons and limits, traps, breakpoints, code changes
// behind FENCE.I, one to four harts, several machines. Untranslated addresses, no operating system:
// a trap sends the hart to a random place.
#include <inttypes.h>
#include <stdlib.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/insn.h"
#include "machine/machine.h"
#ifdef TL_HAS_TRANSLATOR
#include "isa/rv/translate/translator.h"
#include "model/code_log.h"
#endif
#include "random_code.h"

enum { CODE_BYTES = 48 << 10, DATA_BYTES = 256 << 10, DATA_OFFSET = 1 << 20 };

static void fill_code(rng *r, uint8_t *code, uint32_t n_bytes) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc00, 0xc01, 0xc02, 0xc03};
    fill_with(r, code, n_bytes, csrs, TL_COUNT_OF(csrs), 8);
}

static void point(tl_hart *h, rng *r) { // pointers again, and a place to go on
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 2000) * 16;
    tl_rv(h)->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 5000) * 8;
    tl_rv(h)->x[9] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    tl_rv(h)->x[1] = tl_rv(h)->x[9];
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    for (int i = 0; i < 4; i++)
        tl_rv(h)->x[11 + below(r, 20)] = next(r) >> below(r, 64);
    for (int i = 0; i < 4; i++)
        tl_rv(h)->f[below(r, 32)] = below(r, 2) ? next(r) : UINT64_C(0xffffffff00000000) | next(r) >> 32;
}

typedef struct pair {
    tl_machine *fast, *slow;
} pair;

static pair new_pair(const tl_config *config, const fast_engine *engine) {
    pair p;
    tl_error err = {0};
    assert_int_equal(machine_with(engine, config, &p.fast, &err), TL_OK);
    assert_int_equal(tl_machine_new(config, &tl_engine_step, &p.slow, &err), TL_OK);
    return p;
}

static void compare(const pair *p, uint32_t hart, uint64_t step) {
    const tl_hart *a = p->fast->harts[hart], *b = p->slow->harts[hart];
    for (int i = 0; i < 32; i++)
        if (tl_rv(a)->x[i] != tl_rv(b)->x[i])
            fail_msg("stop %" PRIu64 ", hart %u: x%d is %" PRIx64 " by fast, %" PRIx64 " by step", step, hart, i, tl_rv(a)->x[i],
                     tl_rv(b)->x[i]);
    for (int i = 0; i < 32; i++)
        if (tl_rv(a)->f[i] != tl_rv(b)->f[i])
            fail_msg("stop %" PRIu64 ", hart %u: f%d is %" PRIx64 " by fast, %" PRIx64 " by step", step, hart, i, tl_rv(a)->f[i],
                     tl_rv(b)->f[i]);
    assert_int_equal(tl_rv(a)->fflags, tl_rv(b)->fflags);
    assert_int_equal(tl_rv(a)->frm, tl_rv(b)->frm);
    if (a->pc != b->pc || a->now != b->now || a->instret != b->instret || a->run_vline != b->run_vline || a->stamp != b->stamp)
        fail_msg("stop %" PRIu64 ", hart %u: pc %" PRIx64 " %" PRIx64 ", now %" PRIu64 " %" PRIu64 ", instret %" PRIu64 " %" PRIu64
                 ", run %" PRIx64 " %" PRIx64 ", stamp %" PRIu64 " %" PRIu64,
                 step, hart, a->pc, b->pc, a->now, b->now, a->instret, b->instret, a->run_vline, b->run_vline, a->stamp, b->stamp);
    assert_int_equal(a->reservation_paddr, b->reservation_paddr);
}

static void compare_tallies(const pair *p, uint64_t step) {
    tl_machine_sync(p->fast);
    tl_machine_sync(p->slow);
    for (uint32_t cell = 0; cell < p->fast->probe.n_cells; cell++)
        if (p->fast->tally[cell] != p->slow->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(&p->fast->probe, cell);
            fail_msg("stop %" PRIu64 ": %s.%s is %" PRIu64 " by fast, %" PRIu64 " by step", step, unit->path,
                     unit->type->signals[cell - unit->first_cell].name, p->fast->tally[cell], p->slow->tally[cell]);
        }
}

static void run_pair_of(const fast_engine *engine, const tl_config *config, uint64_t seed, uint64_t n_stops, bool with_breaks) {
    pair p = new_pair(config, engine);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    fill_code(&r, p.fast->ram, CODE_BYTES);
    memcpy(p.slow->ram, p.fast->ram, CODE_BYTES);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        uint64_t value = next(&r);
        memcpy(p.fast->ram + DATA_OFFSET + i, &value, 8);
    }
    memcpy(p.slow->ram + DATA_OFFSET, p.fast->ram + DATA_OFFSET, DATA_BYTES);
    for (uint32_t i = 0; i < config->n_harts; i++) {
        rng again = {r.state};
        point(p.fast->harts[i], &r);
        point(p.slow->harts[i], &again);
    }
    uint32_t all = (1u << config->n_harts) - 1;
    for (uint64_t step = 0; step < n_stops; step++) {
        uint64_t ahead = below(&r, 3000);
        tl_turn turn_a = tl_machine_next(p.fast, all), turn_b = tl_machine_next(p.slow, all);
        tl_hart *a = turn_a.hart, *b = turn_b.hart;
        assert_int_equal(a->id, b->id);
        assert_int_equal(turn_a.end, turn_b.end);
        assert_int_equal(turn_a.first_until, turn_b.first_until);
        a->horizon = b->horizon = turn_a.end > a->now + ahead ? a->now + ahead : turn_a.end;
        a->insn_limit = b->insn_limit = below(&r, 4) == 0 ? a->instret + below(&r, 500) : UINT64_MAX;
        if (with_breaks && below(&r, 200) == 0)
            a->break_pc[0] = b->break_pc[0] = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(&r, CODE_BYTES / 2);
        tl_stop stop_a = tl_turn_run(&turn_a), stop_b = tl_turn_run(&turn_b);
        assert_int_equal(turn_a.end, turn_b.end);
        if (stop_a != stop_b)
            fail_msg("stop %" PRIu64 ": fast stopped for %d at %" PRIx64 ", step for %d at %" PRIx64, step, stop_a, a->pc, stop_b, b->pc);
        compare(&p, a->id, step);
        if (step % 64 == 0)
            compare_tallies(&p, step);
        if (stop_a == TL_STOP_TRAP) {
            assert_int_equal(a->trap_cause, b->trap_cause);
            assert_int_equal(a->trap_value, b->trap_value);
            rng again = {r.state};
            point(a, &r);
            point(b, &again);
        } else if (stop_a == TL_STOP_BREAK) {
            a->skip_break = b->skip_break = true;
        }
        // Puts new code, as a program loader would.
        if (a->run_vline == TL_NO_LINE && below(&r, 300) == 0) {
            uint32_t at = below(&r, CODE_BYTES / 64 - 4) * 64;
            fill_code(&r, p.fast->ram + at, 256);
            memcpy(p.slow->ram + at, p.fast->ram + at, 256);
            bool is_between_runs = true;
            for (uint32_t i = 0; i < config->n_harts; i++)
                is_between_runs &= p.fast->harts[i]->run_vline == TL_NO_LINE;
            (void)is_between_runs;
            tl_memory_code_changed(p.fast->memory, TL_RAM_BASE_PADDR + tl_align_down(at, 4096));
            tl_memory_code_changed(p.slow->memory, TL_RAM_BASE_PADDR + tl_align_down(at, 4096));
            if (at / 4096 != (at + 255) / 4096) {
                tl_memory_code_changed(p.fast->memory, TL_RAM_BASE_PADDR + tl_align_down(at + 255, 4096));
                tl_memory_code_changed(p.slow->memory, TL_RAM_BASE_PADDR + tl_align_down(at + 255, 4096));
            }
        }
    }
    compare_tallies(&p, n_stops);
    assert_memory_equal(p.fast->ram + DATA_OFFSET, p.slow->ram + DATA_OFFSET, DATA_BYTES);
    assert_true(p.fast->harts[0]->instret > n_stops / 4);
    tl_machine_free(p.fast);
    tl_machine_free(p.slow);
}

static void run_pair(const tl_config *config, uint64_t seed, uint64_t n_stops, bool with_breaks) {
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        run_pair_of(&fast_engines[e], config, seed, n_stops, with_breaks);
}

static uint64_t n_stops(void) {
    const char *text = getenv("TL_LOCKSTEP_STOPS");
    return text ? strtoull(text, NULL, 10) : 6000;
}

static void test_random_code_agrees_on_one_hart(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint64_t seed = 1; seed <= 3; seed++)
        run_pair(&config, seed, n_stops(), false);
}

static void test_random_code_agrees_with_breakpoints(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint64_t seed = 11; seed <= 13; seed++)
        run_pair(&config, seed, n_stops(), true);
}

static void test_random_code_agrees_on_four_harts(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.n_harts = 4;
    config.l2_slices = 2;
    config.interleave_cycles = 100;
    for (uint64_t seed = 21; seed <= 22; seed++)
        run_pair(&config, seed, 2 * n_stops(), false);
}

static void test_random_code_agrees_on_a_tiny_machine(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
    config.l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
    config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    config.pipeline.fetch_bytes = 8;
    config.pipeline.mul_cycles = 9;
    config.pipeline.fp_fma_cycles = 13;
    config.pipeline.fp_add_cycles = 7;
    config.bp.kind = TL_BP_BTFN;
    for (uint64_t seed = 31; seed <= 33; seed++)
        run_pair(&config, seed, n_stops(), seed == 33);
}

static void test_random_code_agrees_with_long_lines(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i.line_bytes = config.l1d.line_bytes = config.l2.line_bytes = 128;
    config.l1d.replacement = config.l2.replacement = TL_REPLACE_PLRU;
    config.l1d.prefetch = config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
    config.bp.kind = TL_BP_BHT;
    for (uint64_t seed = 41; seed <= 42; seed++)
        run_pair(&config, seed, n_stops(), seed == 42);
}

// Both from one limit to the next.
static void run_to_limits(const pair *p, uint64_t n_stops, uint64_t insns) {
    tl_hart *harts[] = {p->fast->harts[0], p->slow->harts[0]};
    for (uint64_t stop = 1; stop <= n_stops; stop++) {
        for (uint32_t i = 0; i < 2; i++) {
            harts[i]->horizon = UINT64_MAX;
            harts[i]->insn_limit = stop * insns;
            assert_int_equal(harts[i]->engine->run(harts[i]), TL_STOP_LIMIT);
        }
        compare(p, 0, stop);
        compare_tallies(p, stop);
    }
}

// The loads and stores of a loop within one line make the L2 give that line up. The L1I loses it,
// and the next run must ask.
static void test_loop_that_takes_its_own_line_away_agrees(void **state) {
    (void)state;
    static const uint32_t loop[] = {
        0x00053283, // ld t0, 0(a0)
        0x00553423, // sd t0, 8(a0)
        0x04050513, // addi a0, a0, 64
        // The word is bne a0, a1 to the first.
        1u << 31 | 0x3fu << 25 | 11 << 20 | 10 << 15 | 1 << 12 | 0xa << 8 | 1 << 7 | 0x63,
        0x00060513, // mv a0, a2
        // The word jumps to the first.
        1u << 31 | 0x3f6u << 21 | 1 << 20 | 0xff << 12 | 0x6f,
    };
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i = config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 8, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = 8192, .ways = 8, .line_bytes = 64};
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        pair p = new_pair(&config, &fast_engines[e]);
        tl_hart *harts[] = {p.fast->harts[0], p.slow->harts[0]};
        for (uint32_t i = 0; i < 2; i++) {
            tl_machine *machine = i == 0 ? p.fast : p.slow;
            memcpy(machine->ram, loop, sizeof loop);
            harts[i]->pc = TL_RAM_BASE_PADDR;
            tl_rv(harts[i])->x[10] = tl_rv(harts[i])->x[12] = TL_RAM_BASE_PADDR + DATA_OFFSET;
            tl_rv(harts[i])->x[11] = tl_rv(harts[i])->x[12] + 64 * 1000;
        }
        run_to_limits(&p, 20, 4999);
        assert_true(harts[0]->tally[TL_S_L1I_INVALIDATE] > 100);
        tl_machine_free(p.fast);
        tl_machine_free(p.slow);
    }
}

// Loads and stores of all sizes stand side by side, from one base register. They stay in one line
// or cross ends of lines, aligned and not.
static void fill_with_neighbors(rng *r, uint8_t *code) {
    enum { N_ACCESSES = 24 };
    // Registers with a home in the host's registers and without.
    static const uint8_t targets[] = {5, 6, 7, 9, 11, 12, 15, 28};
    uint32_t words[N_ACCESSES + 4], n = 0;
    while (n < N_ACCESSES) {
        uint32_t reg = targets[below(r, TL_COUNT_OF(targets))];
        uint32_t offset = (below(r, 96) - 16u) & (below(r, 3) ? 0xff8 : 0xfff);
        bool is_store = below(r, 2) != 0;
        uint32_t funct3 = is_store ? below(r, 4) : below(r, 7);
        words[n++] = is_store ? offset >> 5 << 25 | reg << 20 | 10 << 15 | funct3 << 12 | (offset & 31) << 7 | 0x23
                              : offset << 20 | 10 << 15 | funct3 << 12 | reg << 7 | 0x03;
    }
    words[n++] = (uint32_t)(below(r, 9) * 8) << 20 | 10 << 15 | 10 << 7 | 0x13; // addi a0, a0, ..
    words[n++] = 0xfff00013 | 16 << 15 | 16 << 7;                               // addi a6, a6, -1
    uint32_t back = (uint32_t) - (4 * (N_ACCESSES + 2));
    words[n++] =
        (back >> 12 & 1) << 31 | (back >> 5 & 63) << 25 | 16 << 15 | 1 << 12 | (back >> 1 & 15) << 8 | (back >> 11 & 1) << 7 | 0x63;
    words[n++] = 0x0000006f; // j .
    memcpy(code, words, sizeof words);
}

static void test_neighbors_in_memory_agree(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 2, .line_bytes = 64, .replacement = TL_REPLACE_LRU};
    config.dtlb.entries = 4;
    config.dtlb.ways = 4;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            pair p = new_pair(&config, &fast_engines[e]);
            tl_hart *harts[] = {p.fast->harts[0], p.slow->harts[0]};
            for (uint32_t i = 0; i < 2; i++) {
                tl_machine *machine = i == 0 ? p.fast : p.slow;
                rng r = {seed * 977};
                fill_with_neighbors(&r, machine->ram);
                harts[i]->pc = TL_RAM_BASE_PADDR;
                tl_rv(harts[i])->x[10] = TL_RAM_BASE_PADDR + DATA_OFFSET + 64;
                tl_rv(harts[i])->x[16] = 600;
            }
            run_to_limits(&p, 15, 997);
            assert_memory_equal(p.fast->ram + DATA_OFFSET, p.slow->ram + DATA_OFFSET, DATA_BYTES);
            tl_machine_free(p.fast);
            tl_machine_free(p.slow);
        }
}

// A line full of instructions that hold issue as long as a description allows, around loads that
// miss and one that is misaligned. One cause takes more cycles in one block than 16 bits hold.
static void test_longest_blocks_agree(void **state) {
    (void)state;
    enum { FENCE = 0x0ff0000f, N_INSNS = 32 };
    uint32_t code[N_INSNS];
    for (uint32_t i = 0; i < N_INSNS; i++)
        code[i] = FENCE;
    code[1] = code[12] = 0x00053283;           // ld t0, 0(a0)
    code[20] = 0x00153303;                     // ld t1, 1(a0)
    code[11] = code[N_INSNS - 2] = 0x04050513; // addi a0, a0, 64
    // The word jumps to the first.
    code[N_INSNS - 1] = 1u << 31 | 1 << 20 | 0xff << 12 | (1024u - (N_INSNS - 1) * 2) << 21 | 0x6f;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i.line_bytes = config.l1d.line_bytes = config.l2.line_bytes = 128;
    config.pipeline.fence_cycles = 10000;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        pair p = new_pair(&config, &fast_engines[e]);
        memcpy(p.fast->ram, code, sizeof code);
        memcpy(p.slow->ram, code, sizeof code);
        p.fast->harts[0]->pc = p.slow->harts[0]->pc = TL_RAM_BASE_PADDR;
        tl_rv(p.fast->harts[0])->x[10] = tl_rv(p.slow->harts[0])->x[10] = TL_RAM_BASE_PADDR + DATA_OFFSET;
        run_to_limits(&p, 10, 499);
        assert_true(p.fast->harts[0]->tally[TL_S_HART_CYC_FENCE] > UINT64_C(10) * 499 / N_INSNS * 26 * 10000);
        tl_machine_free(p.fast);
        tl_machine_free(p.slow);
    }
}

#ifdef TL_HAS_TRANSLATOR
typedef struct code_meter {
    tl_code_log log;
    uint64_t n_bytes;
} code_meter;

static void measure_piece(tl_code_log *log, const tl_hart *h, const tl_code_piece *piece) {
    (void)h;
    ((code_meter *)log)->n_bytes += piece->n_bytes;
}

// Translated code of one loop with loads, stores and a branch that is taken, and the thunks.
static uint64_t code_bytes_with(tl_code_part part, const fast_engine *engine) {
    static const uint32_t code[] = {
        0x00053283, // ld t0, 0(a0)
        0x00553423, // sd t0, 8(a0)
        0x01053283, // ld t0, 16(a0)
        0xfff58593, // addi a1, a1, -1
        0xfe0598e3, // bnez a1, -16
        0x0000006f, // j .
    };
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.repeated_part = part;
    tl_machine *machine;
    tl_error err = {0};
    assert_int_equal(machine_with(engine, &config, &machine, &err), TL_OK);
    tl_hart *h = machine->harts[0];
    code_meter meter = {.log.publish = measure_piece};
    h->code_log = &meter.log;
    memcpy(machine->ram, code, sizeof code);
    h->pc = TL_RAM_BASE_PADDR;
    tl_rv(h)->x[10] = TL_RAM_BASE_PADDR + DATA_OFFSET;
    tl_rv(h)->x[11] = 1000;
    h->insn_limit = 5000;
    h->horizon = UINT64_MAX;
    (void)h->engine->run(h);
    assert_int_equal(h->instret, 5000);
    const tl_translator *t = ((const tl_blocks *)h->engine_state)->translator;
    const uint64_t n_bytes = meter.n_bytes + (uint64_t)(t->first_hot - t->write);
    tl_machine_free(machine);
    return n_bytes;
}

static void test_a_repeated_part_takes_code_and_changes_nothing(void **state) {
    (void)state;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        const fast_engine *engine = &fast_engines[e];
        if (engine->engine != &tl_engine_translate)
            continue;
        const uint64_t n_bytes = code_bytes_with(TL_CODE_PART_NONE, engine);
        for (uint32_t part = TL_CODE_PART_NONE + 1; part < TL_N_CODE_PARTS; part++) {
            assert_in_range(code_bytes_with((tl_code_part)part, engine), n_bytes + 6, 2 * n_bytes);
            tl_config config;
            tl_config_default(&config);
            config.ram_bytes = 16 << 20;
            config.repeated_part = (tl_code_part)part;
            run_pair_of(engine, &config, 50 + part, n_stops() / 3, false);
        }
    }
}
#endif

static const struct CMUnitTest tests[] = {
#ifdef TL_HAS_TRANSLATOR
    cmocka_unit_test(test_a_repeated_part_takes_code_and_changes_nothing),
#endif
    cmocka_unit_test(test_longest_blocks_agree),
    cmocka_unit_test(test_loop_that_takes_its_own_line_away_agrees),
    cmocka_unit_test(test_random_code_agrees_on_one_hart),
    cmocka_unit_test(test_random_code_agrees_with_breakpoints),
    cmocka_unit_test(test_random_code_agrees_on_four_harts),
    cmocka_unit_test(test_random_code_agrees_on_a_tiny_machine),
    cmocka_unit_test(test_random_code_agrees_with_long_lines),
    cmocka_unit_test(test_neighbors_in_memory_agree),
};
TL_TEST_MAIN(tests)
