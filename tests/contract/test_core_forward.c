// SPDX-License-Identifier: MIT
// Fast-forward: the fast engine leaves caches, TLBs and counts as an in-order machine of the same
// keys does, and predictors as the detailed core does, which learns when instructions retire.
#include <inttypes.h>
#include <stdlib.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "random_core.h"

static tl_machine *new_machine(const tl_config *config, const tl_engine_type *engine, const tl_engine_type *forwarder) {
    tl_machine *machine;
    tl_error err;
    if (tl_machine_new(config, engine, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    if (forwarder && tl_machine_add_forwarder(machine, forwarder, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void fill(tl_machine *machine, uint64_t seed) {
    rng r = {seed};
    fill_code(&r, machine->ram, CODE_BYTES, seed % 2);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(&r);
        memcpy(machine->ram + DATA_OFFSET + i, &value, 8);
    }
    point(machine->harts[0], &r, 0, 0);
}

// Goes on behind traps at a place that depends on the number of the trap alone. Returns the traps.
static uint64_t run_to(tl_hart *h, uint64_t limit, uint64_t seed) {
    uint64_t n_traps = 0;
    while (h->instret < limit) {
        h->insn_limit = limit;
        const tl_stop stop = h->engine->run(h);
        if (stop == TL_STOP_LIMIT)
            break;
        assert_int_equal(stop, TL_STOP_TRAP);
        rng r = {seed + ++n_traps * UINT64_C(0x9e3779b97f4a7c15)};
        h->run_vline = TL_NO_LINE;
        point(h, &r, 0, 0);
    }
    return n_traps;
}

static tl_config choose(uint64_t seed, tl_bp_kind kind) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_config config;
    tl_config_default(&config);
    choose_structure(&r, &config);
    config.bp.kind = kind;
    config.bp.counters = 1024;
    config.bp.history_bits = 10;
    return config;
}

static void test_forwarding_is_what_an_in_order_machine_does(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 9; seed++) {
        const fast_engine *fast = &fast_engines[seed % TL_COUNT_OF(fast_engines)];
        tl_config config = choose(seed, TL_BP_GSHARE), plain;
        tl_config_default(&plain);
        config.bsq = plain.bsq; // in-order machines have no other
        // Behind a detailed core, a line on its way is waited for and requests queue.
        config.l1i.prefetch = config.l1d.prefetch = config.l2.prefetch = TL_PREFETCH_NONE;
        config.mem.mem_busy_cycles = config.mem.l2_busy_cycles = 0;
        plain = config;
        make_in_order(&plain);
        tl_machine *a = new_machine(&config, &tl_engine_ooo, fast->engine), *b = new_machine(&plain, &tl_engine_step, NULL);
        fill(a, seed);
        fill(b, seed);
        tl_machine_forward(a, true);
        const uint64_t n_traps = run_to(a->harts[0], 30000, seed);
        assert_int_equal(run_to(b->harts[0], 30000, seed), n_traps);
        tl_machine_forward(a, false);
        tl_machine_sync(a);
        tl_machine_sync(b);
        assert_int_equal(a->harts[0]->pc, b->harts[0]->pc);
        assert_int_equal(a->harts[0]->now, b->harts[0]->now);
        for (uint32_t cell = 0; cell < b->probe.n_cells; cell++)
            if (a->tally[cell] != b->tally[cell])
                fail_msg("seed %" PRIu64 ": %s cell %u is %" PRIu64 ", in order %" PRIu64, seed, tl_probe_unit_of(&b->probe, cell)->path,
                         cell, a->tally[cell], b->tally[cell]);
        const tl_bpred *x = &a->harts[0]->bp, *y = &b->harts[0]->bp;
        assert_memory_equal(x->counters, y->counters, x->counter_mask + 1);
        assert_memory_equal(x->btb, y->btb, (x->btb_mask + 1) * sizeof *x->btb);
        tl_error err;
        if (tl_machine_check_identities(a, &err) != TL_OK)
            fail_msg("seed %" PRIu64 ": %s", seed, err.text);
        tl_machine_free(a);
        tl_machine_free(b);
    }
}

// Counters and BTB learn at retirement, so no clock decides what they hold.
static void test_a_forwarded_predictor_is_the_detailed_one(void **state) {
    (void)state;
    static const tl_bp_kind kinds[] = {TL_BP_GSHARE, TL_BP_BHT};
    for (uint64_t seed = 21; seed < 29; seed++) {
        const fast_engine *fast = &fast_engines[seed % TL_COUNT_OF(fast_engines)];
        const tl_config config = choose(seed, kinds[seed % 2]);
        tl_machine *a = new_machine(&config, &tl_engine_ooo, fast->engine), *b = new_machine(&config, &tl_engine_ooo, NULL);
        fill(a, seed);
        fill(b, seed);
        uint64_t n_traps = run_to(a->harts[0], 5000, seed);
        tl_machine_forward(a, true);
        n_traps += run_to(a->harts[0], 17000, seed + n_traps * UINT64_C(0x9e3779b97f4a7c15));
        tl_machine_forward(a, false);
        n_traps += run_to(a->harts[0], 20000, seed + n_traps * UINT64_C(0x9e3779b97f4a7c15));
        assert_int_equal(run_to(b->harts[0], 20000, seed), n_traps);
        assert_int_equal(a->harts[0]->pc, b->harts[0]->pc);
        tl_machine_sync(a);
        tl_machine_sync(b);
        for (uint32_t cell = TL_S_HART_INSTRET; cell <= TL_S_HART_STORE_BYTES; cell++)
            assert_int_equal(a->tally[cell], b->tally[cell]);
        const tl_bpred *x = &a->harts[0]->bp, *y = &b->harts[0]->bp;
        assert_memory_equal(x->counters, y->counters, x->counter_mask + 1);
        assert_memory_equal(x->btb, y->btb, (x->btb_mask + 1) * sizeof *x->btb);
        assert_memory_equal(a->ram + DATA_OFFSET, b->ram + DATA_OFFSET, DATA_BYTES);
        tl_machine_free(a);
        tl_machine_free(b);
    }
}

static tl_config choose_tage(uint64_t seed, const fast_engine *fast) {
    tl_config config = choose(seed, TL_BP_TAGE);
    config.bp.tables = 6;
    config.bp.table_entries = 256;
    config.bp.tag_bits = 8;
    config.bp.min_history = 4;
    config.bp.max_history = 100;
    config.n_cold_runs = fast->n_cold_runs;
    config.sparse_code_bytes = fast->sparse_code_bytes;
    return config;
}

// xori x6, x6, 8; add x7, x5, x6; jalr 16(x7); at 16 and 24: jal to the first. Four instructions
// a round, whose jump goes to 24 and to 16 by turns.
static void test_every_engine_notes_targets(void **state) {
    (void)state;
    static const uint32_t code[] = {0x00834313, 0x006283b3, 0x01038067, 0x00000013, 0xff1ff06f, 0x00000013, 0xfe9ff06f};
    for (uint32_t e = 0; e <= TL_COUNT_OF(fast_engines); e++) {
        const fast_engine *fast = e < TL_COUNT_OF(fast_engines) ? &fast_engines[e] : &step_engine;
        const tl_config config = choose_tage(1, fast);
        tl_machine *machine = new_machine(&config, &tl_engine_ooo, fast->engine);
        tl_hart *h = machine->harts[0];
        memcpy(machine->ram, code, sizeof code);
        h->pc = tl_rv(h)->x[5] = TL_RAM_BASE_PADDR;
        tl_machine_forward(machine, true);
        run_to(h, 5000, 0);
        const tl_branch_log *log = h->bp.log;
        assert_int_equal(log->n, 1250);
        for (uint64_t i = 1; i <= log->n; i++) {
            assert_int_equal((int64_t)log->records[i] >> TL_BRANCH_RECORD_PC, TL_RAM_BASE_PADDR + 8);
            assert_int_equal(log->records[i] & ((1u << TL_BRANCH_RECORD_PC) - 1), TL_BRANCH_RECORD_INDIRECT | (i % 2 ? 24 : 16));
        }
        tl_machine_free(machine);
    }
}

// Every engine notes the same branches, so that TAGE learns the same on every host.
static void test_every_engine_keeps_the_same_log(void **state) {
    (void)state;
    for (uint64_t seed = 41; seed < 45; seed++) {
        tl_branch_log *logs[TL_COUNT_OF(fast_engines) + 1];
        for (uint32_t e = 0; e < TL_COUNT_OF(logs); e++) {
            const fast_engine *fast = e < TL_COUNT_OF(fast_engines) ? &fast_engines[e] : &step_engine;
            const tl_config config = choose_tage(seed, fast);
            tl_machine *machine = new_machine(&config, &tl_engine_ooo, fast->engine);
            fill(machine, seed);
            tl_machine_forward(machine, true);
            const uint64_t n_traps = run_to(machine->harts[0], 9000, seed);
            run_to(machine->harts[0], 120000, seed + n_traps * UINT64_C(0x9e3779b97f4a7c15));
            logs[e] = malloc(sizeof *logs[e]);
            assert_non_null(logs[e]);
            *logs[e] = *machine->harts[0]->bp.log;
            tl_machine_sync(machine);
            assert_int_equal(logs[e]->n, machine->tally[TL_S_BP_COND] + machine->tally[TL_S_BP_INDIRECT]);
            assert_true(logs[e]->n > 1000);
            assert_memory_equal(logs[e], logs[0], sizeof *logs[e]);
            tl_machine_forward(machine, false);
            assert_int_equal(machine->harts[0]->bp.log->n, 0);
            tl_machine_free(machine);
        }
        for (uint32_t e = 0; e < TL_COUNT_OF(logs); e++)
            free(logs[e]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_engine_keeps_the_same_log),
    cmocka_unit_test(test_every_engine_notes_targets),
    cmocka_unit_test(test_forwarding_is_what_an_in_order_machine_does),
    cmocka_unit_test(test_a_forwarded_predictor_is_the_detailed_one),
};
TL_TEST_MAIN(tests)
