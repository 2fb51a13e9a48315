// SPDX-License-Identifier: MIT
// Accesses of control and status registers in code that runs often, with instructions close behind
// them that show each effect: loads from a user's page and from a page that is only executed,
// floating point, interrupts that wait. The same code runs in machine, supervisor and user mode.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"
#include "random_system.h"

enum {
    CODE_AT = 0x10000, // of RAM, each a page; virtual addresses are physical
    USER_AT = 0x20000,
    EXECUTED_AT = 0x30000,
    TABLES_AT = 0x100000,
    N_PIECES = 120,
    N_STOPS = 600,
    PTE_SUPERVISOR_CODE = 0xcb, // V R X A D
    PTE_USER_CODE = 0xdb,
    PTE_USER_DATA = 0xd7,
    PTE_EXECUTED = 0xc9,
};

static const uint16_t csrs[] = {
    0x100, 0x100, 0x100, 0x100, 0x105, 0x10a, 0x140, 0x141, 0x142, 0x143, 0x302, 0x305, 0x30a, 0x340, 0x341, 0x342, 0x343,
};
// Registers whose values are bits of the status.
enum { FIRST_VALUE = 18, N_VALUES = 8 };

static void put_pte(const pair *p, uint64_t offset, uint64_t flags) {
    pair_put64(p, TL_RAM_BASE_PADDR + TABLES_AT + 0x2000 + (offset >> 12) * 8, (TL_RAM_BASE_PADDR + offset) >> 12 << 10 | flags);
}

static void put_tables(const pair *p) {
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_AT;
    pair_put64(p, root + (TL_RAM_BASE_PADDR >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(p, root + 0x1000 + (TL_RAM_BASE_PADDR >> 21 & 511) * 8, (root + 0x2000) >> 12 << 10 | 1);
    put_pte(p, USER_AT, PTE_USER_DATA);
    put_pte(p, EXECUTED_AT, PTE_EXECUTED);
}

static uint32_t random_access(rng *r) {
    static const uint32_t kinds[] = {1, 2, 3, 5, 6, 7}; // funct3 of csrrw .. csrrci
    const uint32_t kind = kinds[below(r, TL_COUNT_OF(kinds))], rd = below(r, 3) ? 10 + below(r, 6) : 0;
    const uint32_t rs1 = below(r, 4) == 0 ? 0 : kind >= 5 ? below(r, 32) : FIRST_VALUE + below(r, N_VALUES);
    return (uint32_t)csrs[below(r, TL_COUNT_OF(csrs))] << 20 | rs1 << 15 | kind << 12 | (below(r, 20) ? rd : rs1) << 7 | 0x73;
}

// A loop without end.
static void put_code(const pair *p, rng *r) {
    static const uint32_t others[] = {
        0x0001b503, // ld a0, 0(gp): the user's page
        0x00023583, // ld a1, 0(tp): the page that is executed
        0x023170d3, // fadd.d ft1, ft2, ft3, rounding by frm
        0x0040006f, // j .+4
    };
    uint32_t words[N_PIECES + 1];
    for (uint32_t i = 0; i < N_PIECES; i++)
        words[i] = below(r, 4) ? random_access(r) : others[below(r, TL_COUNT_OF(others))];
    const uint32_t back = (uint32_t)(-4 * N_PIECES);
    words[N_PIECES] = 0x6f | (back >> 20 & 1) << 31 | (back >> 1 & 0x3ff) << 21 | (back >> 11 & 1) << 20 | (back >> 12 & 0xff) << 12;
    pair_put(p, TL_RAM_BASE_PADDR + CODE_AT, words, sizeof words);
}

// Another mode, other values and other interrupts that wait.
static void change(tl_hart *h, rng *r, tl_priv priv) {
    static const uint64_t values[] = {
        TL_MSTATUS_SIE, TL_MSTATUS_SPIE | TL_MSTATUS_SPP, TL_MSTATUS_FS, UINT64_C(1) << 13, TL_MSTATUS_SUM, TL_MSTATUS_MXR,
    };
    for (uint32_t i = 0; i < N_VALUES; i++)
        tl_rv(h)->x[FIRST_VALUE + i] =
            below(r, 8) == 0 ? next(r) : values[below(r, TL_COUNT_OF(values))] | values[below(r, TL_COUNT_OF(values))];
    tl_rv(h)->x[3] = TL_RAM_BASE_PADDR + USER_AT;
    tl_rv(h)->x[4] = TL_RAM_BASE_PADDR + EXECUTED_AT;
    h->irqs_enabled = below(r, 3) == 0 ? UINT64_C(1) << TL_IRQ_SSI | UINT64_C(1) << TL_IRQ_SEI : 0;
    h->irqs_pending = below(r, 2) ? UINT64_C(1) << TL_IRQ_SSI : 0;
    h->irq_lines = below(r, 2) ? UINT64_C(1) << TL_IRQ_SEI : 0;
    tl_hart_set_priv(h, priv);
    h->port->flush_translation(h, TL_RAM_BASE_PADDR + CODE_AT, false);
    h->run_vline = TL_NO_LINE;
    h->pend = NULL;
}

static void begin(tl_hart *h) {
    tl_privileged_reset(h);
    set_csr(h, 0x3b0, UINT64_MAX);
    set_csr(h, 0x3a0, 0x1f);
    set_csr(h, 0x180, UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + TABLES_AT) >> 12);
    h->pc = TL_RAM_BASE_PADDR + CODE_AT;
}

static tl_stop go_on(tl_hart *h, uint64_t n_insns) {
    h->horizon = UINT64_MAX;
    h->insn_limit = h->instret + n_insns;
    tl_stop stop = h->engine->run(h);
    if (stop == TL_STOP_TRAP)
        h->pc += 4;
    return stop;
}

// n_stops: by reason, a sum.
static void run_seed(const fast_engine *engine, uint64_t seed, uint32_t *n_stops) {
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_S, TL_PRIV_M};
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    pair p = pair_new(&config, engine);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_hart *a = p.fast->harts[0], *b = p.slow->harts[0];
    put_tables(&p);
    put_code(&p, &r);
    begin(a);
    begin(b);
    for (uint32_t i = 0; i < N_STOPS; i++) {
        snprintf(p.where, sizeof p.where, "%s, seed %" PRIu64 ", stop %u", engine->name, seed, i);
        if (i % 10 == 0) {
            const tl_priv priv = privs[below(&r, TL_COUNT_OF(privs))];
            put_pte(&p, CODE_AT, priv == TL_PRIV_U ? PTE_USER_CODE : PTE_SUPERVISOR_CODE);
            rng again = r;
            change(a, &r, priv);
            change(b, &again, priv);
        }
        const uint64_t n_insns = 1 + below(&r, 2000);
        const tl_stop stop = go_on(a, n_insns);
        assert_int_equal(stop, go_on(b, n_insns));
        n_stops[stop] += 1;
        if (stop == TL_STOP_TRAP)
            assert_int_equal(a->trap_cause, b->trap_cause);
        assert_int_equal(a->is_fp_off, b->is_fp_off);
        pair_same(&p, false);
    }
    pair_free(&p);
}

static void test_accesses_and_what_they_change_agree(void **state) {
    (void)state;
    for (uint32_t i = 0; i < TL_COUNT_OF(fast_engines); i++) {
        uint32_t n_stops[8] = {0};
        for (uint32_t seed = 1; seed <= lockstep_rounds(100); seed++)
            run_seed(&fast_engines[i], seed, n_stops);
        assert_true(n_stops[TL_STOP_TRAP] > 1000 && n_stops[TL_STOP_HORIZON] > 100 && n_stops[TL_STOP_LIMIT] > 100);
    }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_accesses_and_what_they_change_agree)};
TL_TEST_MAIN(tests)
