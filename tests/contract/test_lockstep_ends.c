// SPDX-License-Identifier: MIT
// Cases at the end of a line. One instruction reaches into the next line, and one ends its block.
// Fast front-ends must agree with the stepping one in registers, clock, tallies, and in the fetch
// run under way.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"

enum {
    LINE_BYTES = 64,
    MANY_INSNS = 1000, // blocks run while many are left; the last ones are stepped
    EVENT_LOAD_MISS = 0x10001,
    NOP = 0x00000013,
    ECALL = 0x00000073,
    ADD_1 = 0x00150513,   // addi a0, a0, 1
    ADD_2 = 0x00250513,   // addi a0, a0, 2
    LOAD_A1 = 0x0005b603, // ld a2, 0(a1)
};
static const uint64_t CODE = TL_RAM_BASE_PADDR + 0x10000, DATA = TL_RAM_BASE_PADDR + 0x100000;

static pair start(const fast_engine *engine, const char *what) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    assert_int_equal(config.l1i.line_bytes, LINE_BYTES);
    pair p = pair_new(&config, engine);
    snprintf(p.where, sizeof p.where, "%s, %s", engine->name, what);
    tl_privileged_reset(p.fast->harts[0]);
    tl_privileged_reset(p.slow->harts[0]);
    return p;
}

static void put32(const pair *p, uint64_t at, uint32_t bits) { pair_put(p, at, &bits, sizeof bits); }

static void put_jump(const pair *p, uint64_t at, uint64_t target) { // jal x0
    uint32_t i = (uint32_t)(target - at);
    put32(p, at, 0x6f | (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12);
}

// Both go on from pc until so many have retired, or stop before.
static tl_stop go(const pair *p, uint64_t pc, uint64_t n_insns) {
    tl_hart *fast = p->fast->harts[0], *slow = p->slow->harts[0];
    fast->pc = slow->pc = pc;
    fast->is_interrupted = slow->is_interrupted = false;
    fast->horizon = slow->horizon = UINT64_MAX;
    fast->insn_limit = slow->insn_limit = slow->instret + n_insns;
    tl_stop stop = slow->engine->run(slow);
    assert_int_equal(fast->engine->run(fast), stop);
    pair_same(p, true);
    return stop;
}

// A jump that straddles is stepped after code in its second line changed. A linked block there,
// entered from elsewhere, is new code.
static void test_stepped_straddling_jump_leaves_no_stale_block(void **state) {
    (void)state;
    const uint64_t first = CODE, jump = CODE + 2 * LINE_BYTES - 2, second = CODE + 2 * LINE_BYTES + 8;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        pair p = start(&fast_engines[e], "a straddling jump is stepped");
        tl_hart *h = p.slow->harts[0];
        put_jump(&p, first, second);
        put_jump(&p, jump, first);
        put32(&p, second, ADD_1);
        put_jump(&p, second + 4, first);
        assert_int_equal(go(&p, first, MANY_INSNS), TL_STOP_LIMIT);
        uint64_t sum = tl_rv(h)->x[10];
        put32(&p, second, ADD_2);
        pair_code_changed(&p, second);
        assert_int_equal(go(&p, jump, 1), TL_STOP_LIMIT);
        assert_int_equal(h->pc, first);
        assert_int_equal(go(&p, first, 3 * MANY_INSNS), TL_STOP_LIMIT);
        assert_int_equal(tl_rv(h)->x[10], sum + 2 * MANY_INSNS);
        pair_free(&p);
    }
}

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) {
    assert_true(tl_csr_write(h, csr, value));
    if (h->has_after)
        tl_hart_retired(h);
}

// A load, the last instruction of its line, misses and lets a counter overflow. The interrupt is
// pending, but machine mode has interrupts off. The hart goes on in the next line, by a fetch run
// of its own.
static void test_overflow_at_the_end_of_a_block_ends_the_run(void **state) {
    (void)state;
    const uint64_t load = CODE + LINE_BYTES - 4;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        pair p = start(&fast_engines[e], "an overflow ends a block");
        tl_hart *const harts[] = {p.fast->harts[0], p.slow->harts[0]};
        put32(&p, load, LOAD_A1);
        put32(&p, load + 4, ADD_1);
        put32(&p, load + 8, ECALL);
        // In the first round fetches miss and nothing overflows.
        for (uint32_t round = 0; round < 4; round++) {
            for (int i = 0; i < 2; i++) {
                tl_hart *h = harts[i];
                tl_rv(h)->x[11] = DATA + round * 4096;
                h->pend = NULL;
                set_csr(h, 0x344, 0);
                set_csr(h, 0x304, UINT64_C(1) << TL_IRQ_LCOFI);
                set_csr(h, 0x323, round == 0 ? 0 : EVENT_LOAD_MISS);
                set_csr(h, 0xb03, UINT64_MAX);
            }
            tl_stop stop = go(&p, load, MANY_INSNS);
            if (round != 0) {
                assert_int_equal(stop, TL_STOP_LIMIT);
                assert_true(harts[1]->is_interrupted);
                assert_int_equal(harts[1]->pc, load + 4);
                assert_int_equal(harts[1]->run_vline, TL_NO_LINE);
                stop = go(&p, load + 4, MANY_INSNS);
            }
            assert_int_equal(stop, TL_STOP_TRAP);
            assert_int_equal(harts[1]->pc, load + 8);
            assert_int_equal(tl_rv(harts[1])->x[10], round + 1);
        }
        pair_free(&p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stepped_straddling_jump_leaves_no_stale_block),
    cmocka_unit_test(test_overflow_at_the_end_of_a_block_ends_the_run),
};
TL_TEST_MAIN(tests)
