// SPDX-License-Identifier: MIT
// A counter is about to overflow while new code comes, in blocks longer than any before. The blocks
// known before told how far a front-end may run. The interrupt must come where the stepping
// front-end has it, in the middle of the new block.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"
#include "random_code.h"

// The ways to the new block.
typedef enum way { FALL_THROUGH, JUMP, INDIRECT, BRANCH, RETURN, N_WAYS } way;
static const char *const way_names[] = {"without a jump", "by a jump", "by an indirect jump", "by a branch", "by a return"};

enum { N_BLOCKS = 12, PLACE_BYTES = 64, LONG_OFFSET = 12, DIV = 0x02c5c533 /* div a0, a1, a2 */ };
static const uint64_t CODE_PADDR = TL_RAM_BASE_PADDR + 0x10000;

// All of a place is in one line. A line that was never fetched would be stepped anyway, because a
// cycle counter polls after each miss.
static uint64_t start_of(uint32_t number) { return CODE_PADDR + (uint64_t)number * PLACE_BYTES; }

static void put32(const pair *p, uint64_t *at, uint32_t bits) {
    pair_put(p, *at, &bits, sizeof bits);
    *at += 4;
}

// Place `number`: a short loop, a way on, and a block of number + 1 divisions.
static void put_place(const pair *p, uint32_t number, way w) {
    uint64_t at = start_of(number);
    put32(p, &at, 0xffff8f93); // addi x31, x31, -1
    put32(p, &at, 0xfe0f9ee3); // bnez x31, .-4
    switch (w) {
    case FALL_THROUGH:
    case N_WAYS: put32(p, &at, 0x00000013); break;   // nop
    case JUMP: put32(p, &at, 0x0040006f); break;     // j .+4
    case INDIRECT: put32(p, &at, 0x00028067); break; // jr t0
    case BRANCH: put32(p, &at, 0x00000263); break;   // beqz zero, .+4
    case RETURN: put32(p, &at, 0x30200073); break;   // mret
    }
    for (uint32_t i = 0; i <= number; i++)
        put32(p, &at, DIV);
    put32(p, &at, 0x00000073); // ecall
}

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) {
    if (!tl_csr_write(h, csr, value))
        fail_msg("csr %x cannot be written", csr);
    if (h->has_after)
        tl_hart_retired(h);
}

static void begin(tl_hart *h, uint32_t number, uint64_t event, uint64_t left, uint64_t n_rounds) {
    tl_hart_set_priv(h, TL_PRIV_M);
    set_csr(h, 0x300, TL_MSTATUS_MIE | UINT64_C(3) << 11 | 0x80); // MPP: M, MPIE
    set_csr(h, 0x344, 0);
    set_csr(h, 0x304, UINT64_C(1) << TL_IRQ_LCOFI);
    set_csr(h, 0x341, start_of(number) + LONG_OFFSET);
    tl_rv(h)->x[5] = start_of(number) + LONG_OFFSET;
    tl_rv(h)->x[11] = UINT64_MAX / 3;
    tl_rv(h)->x[12] = 7;
    tl_rv(h)->x[31] = n_rounds;
    h->pc = start_of(number);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->is_interrupted = false;
    set_csr(h, 0x323, event);
    set_csr(h, 0xb03, -left);
}

static void run_places(const tl_config *config, const fast_engine *engine, way w, uint64_t seed, uint32_t *n_within) {
    pair p = pair_new(config, engine);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_hart *const harts[] = {p.slow->harts[0], p.fast->harts[0]};
    for (uint32_t number = 0; number < N_BLOCKS; number++)
        put_place(&p, number, w);
    for (int i = 0; i < 2; i++)
        tl_privileged_reset(harts[i]);
    for (uint32_t number = 0; number < N_BLOCKS; number++) {
        uint64_t event = below(&r, 4) == 0 ? 2 : 1; // instructions, or cycles
        uint64_t n_rounds = 1 + below(&r, 8), n_insns = 2 * n_rounds + 1 + number;
        uint64_t left = event == 2 ? 1 + below(&r, (uint32_t)n_insns) : 1 + below(&r, 200 + (number + 1) * config->pipeline.div_cycles);
        snprintf(p.where, sizeof p.where, "seed %" PRIu64 ", %u divisions entered %s, event %" PRIu64 " overflows after %" PRIu64, seed,
                 number + 1, way_names[w], event, left);
        bool is_taken[2];
        for (int i = 0; i < 2; i++) {
            begin(harts[i], number, event, left, n_rounds);
            is_taken[i] = run_to_overflow(harts[i]);
        }
        if (is_taken[0] != is_taken[1])
            fail_msg("%s: %s has %s interrupt", p.where, engine->name, is_taken[1] ? "an" : "no");
        pair_same(&p, false);
        *n_within += is_taken[0] && tl_rv(harts[0])->csr.mepc > start_of(number) + LONG_OFFSET;
        for (int i = 0; i < 2; i++) {
            set_csr(harts[i], 0x323, 0);
            if (!is_taken[0])
                continue;
            // The handler's MRET would do so, and the MRET is yet to come.
            harts[i]->pc = tl_rv(harts[i])->csr.mepc;
            harts[i]->is_interrupted = false;
            set_csr(harts[i], 0x344, 0);
            set_csr(harts[i], 0x341, start_of(number) + LONG_OFFSET);
            assert_false(run_to_overflow(harts[i]));
        }
        pair_same(&p, false);
    }
    pair_free(&p);
}

static void test_overflows_in_blocks_longer_than_any_before(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (way w = 0; w < N_WAYS; w++) {
            uint32_t n_within = 0, n_seeds = lockstep_rounds(25);
            for (uint64_t seed = 1; seed <= n_seeds; seed++)
                run_places(&config, &fast_engines[e], w, seed, &n_within);
            assert_true(n_within > 3 * n_seeds);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overflows_in_blocks_longer_than_any_before),
};
TL_TEST_MAIN(tests)
