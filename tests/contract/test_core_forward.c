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
        const tl_config config = choose(seed, TL_BP_GSHARE);
        tl_config plain = config;
        plain.core.kind = TL_CORE_IN_ORDER;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_forwarding_is_what_an_in_order_machine_does),
    cmocka_unit_test(test_a_forwarded_predictor_is_the_detailed_one),
};
TL_TEST_MAIN(tests)
