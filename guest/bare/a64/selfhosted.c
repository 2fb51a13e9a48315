/* SPDX-License-Identifier: MIT
 * Self-hosted debug (DDI 0487, D2): breakpoints, watchpoints and software step as an operating
 * system uses them, from EL0 and from EL1 itself, and the registers that stand behind them. */
#include "a64.h"

enum { MDE = 1 << 15, KDE = 1 << 13, SS = 1, SPSR_SS = 1 << 21 };
enum { EL0_AND_EL1 = 3 << 1, WORD = 0xf << 5, ON = 1 };
static u64 words[4] __attribute__((aligned(64)));

/* Code of four instructions and a BRK. */
static const void *code4(u32 a, u32 b, u32 c, u32 d) {
    code_of(a);
    scratch[1] = b;
    scratch[2] = c;
    scratch[3] = d;
    scratch[4] = BRK_END;
    __asm__ volatile("dc cvau, %0\n dsb ish\n ic ivau, %0\n dsb ish\n isb" ::"r"(scratch) : "memory");
    return scratch;
}
enum {
    ADD_X2 = 0x91000442,
    STR_X1 = 0xf9000001,
    LDR_X1 = 0xf9400001,
    STRB_W1 = 0x39000c01,
    LDP = 0xa9400c02,
    SVC = 0xd4000021,
    LDXR = 0xc85f7c01,
    ADD_X3 = 0x91000463
};

static void check_outcome(const outcome *o, u64 el, u64 vector, u64 esr, u64 elr) {
    CHECK(o->el, el);
    CHECK(o->vector, vector);
    CHECK(o->esr, esr);
    CHECK(o->elr, elr);
}

static void test_breakpoints(void) {
    const u64 pc = (u64)code4(ADD_X2, ADD_X2, ADD_X3, ADD_X2);
    msr(dbgbvr2_el1, pc + 8);
    msr(dbgbcr2_el1, EL0_AND_EL1 | WORD | ON);
    outcome o = run(EL0T, (void *)pc, 0, 0);
    check_outcome(&o, 1, 8, 0xf2000777, pc + 16); /* MDE is clear */
    msr(mdscr_el1, MDE);
    o = run(EL0T, (void *)pc, 0, 0);
    check_outcome(&o, 1, 8, 0xc2000022, pc + 8);
    o = run(EL1H, (void *)pc, 0, 0);
    check_outcome(&o, 1, 4, 0xf2000777, pc + 16); /* KDE is clear */
    msr(mdscr_el1, MDE | KDE);
    o = run(EL1H, (void *)pc, 0, 0);
    check_outcome(&o, 1, 4, 0xf2000777, pc + 16); /* PSTATE.D is set */
    o = run(EL1H & ~(u64)SPSR_D, (void *)pc, 0, 0);
    check_outcome(&o, 1, 4, 0xc6000022, pc + 8);
    msr(dbgbcr2_el1, 2 << 1 | WORD | ON); /* EL0 alone */
    o = run(EL1H & ~(u64)SPSR_D, (void *)pc, 0, 0);
    check_outcome(&o, 1, 4, 0xf2000777, pc + 16);
    msr(oslar_el1, 1);
    o = run(EL0T, (void *)pc, 0, 0);
    CHECK_BUT_QEMU(o.esr, 0xf2000777); /* D2.3: the OS lock disables debug exceptions */
    CHECK_BUT_QEMU(o.elr, pc + 16);
    msr(oslar_el1, 0);
    msr(dbgbcr2_el1, 0);
}

/* A breakpoint that is linked to a context. */
static void test_contexts(void) {
    const u64 pc = (u64)code4(ADD_X2, ADD_X2, ADD_X2, ADD_X2);
    msr(contextidr_el1, 55);
    msr(dbgbvr4_el1, 55);
    msr(dbgbcr4_el1, 3 << 20 | EL0_AND_EL1 | WORD | ON);
    msr(dbgbvr0_el1, pc + 4);
    msr(dbgbcr0_el1, 1 << 20 | 4 << 16 | EL0_AND_EL1 | WORD | ON);
    outcome o = run(EL0T, (void *)pc, 0, 0);
    check_outcome(&o, 1, 8, 0xc2000022, pc + 4);
    msr(contextidr_el1, 56);
    o = run(EL0T, (void *)pc, 0, 0);
    check_outcome(&o, 1, 8, 0xf2000777, pc + 16);
    msr(dbgbcr0_el1, 0);
    msr(dbgbcr4_el1, 0);
}

static void watch(u64 address, u32 bytes, u32 uses, u64 mask) {
    msr(dbgwvr1_el1, address);
    msr(dbgwcr1_el1, mask << 24 | bytes << 5 | uses << 3 | EL0_AND_EL1 | ON);
}
static void test_watchpoints(void) {
    enum { LOADS = 1, STORES = 2 };
    const u64 base = (u64)words;
    const struct {
        u64 address, mask, at, esr; /* esr 0: no match */
        u32 bytes, uses, insn;
    } rows[] = {
        {base, 0, base, 0xd2000062, 0xff, STORES, STR_X1}, {base, 0, base, 0, 0xff, LOADS, STR_X1},
        {base, 0, base, 0xd2000022, 0xff, LOADS, LDR_X1},  {base, 0, base, 0, 0xff, STORES, LDR_X1},
        {base, 0, base, 0xd2000062, 0x08, 3, STRB_W1},     {base, 0, base, 0, 0xf7, 3, STRB_W1},
        {base + 8, 0, base, 0, 0xff, 3, LDR_X1},           {base + 4, 0, base, 0xd2000022, 0x0f, 3, LDR_X1},
        {base, 5, base, 0xd2000022, 0xff, 3, LDR_X1},      {base, 5, base + 24, 0xd2000062, 0xff, 3, STR_X1},
        {base, 4, base + 16, 0, 0xff, 3, STR_X1},
    };
    for (u32 i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const u64 pc = (u64)code4(ADD_X2, rows[i].insn, ADD_X3, ADD_X3);
        check_context = i;
        watch(rows[i].address, rows[i].bytes, rows[i].uses, rows[i].mask);
        const outcome o = run(EL0T, (void *)pc, rows[i].at, 0x1122334455667788);
        check_outcome(&o, 1, 8, rows[i].esr ? rows[i].esr : 0xf2000777, rows[i].esr ? pc + 4 : pc + 16);
        if (rows[i].esr)
            CHECK(o.far >= rows[i].at && o.far < rows[i].at + 8, true);
    }
    check_context = 0;
    /* Lines that are watched and accessed elsewhere keep their values. */
    watch(base + 8, 0xff, 3, 0);
    for (u32 i = 0; i < 20; i++) {
        const u64 pc = (u64)code4(STR_X1, LDR_X1, ADD_X2, ADD_X2);
        const outcome o = run(EL0T, (void *)pc, base, i * 3);
        check_outcome(&o, 1, 8, 0xf2000777, pc + 16);
        CHECK(words[0], i * 3);
    }
    msr(dbgwcr1_el1, 0);
}

static void test_steps(void) {
    const u64 pc = (u64)code4(ADD_X2, LDXR, SVC, ADD_X3);
    msr(mdscr_el1, MDE | SS);
    outcome o = run(EL0T | SPSR_SS, (void *)pc, (u64)words, 0);
    check_outcome(&o, 1, 8, 0xcb000022, pc + 4); /* one instruction: ISV */
    CHECK(o.spsr >> 21 & 1, 0);
    o = run(EL0T, (void *)pc, (u64)words, 0);
    check_outcome(&o, 1, 8, 0xca000022, pc); /* none: PSTATE.SS was clear */
    o = run(EL0T | SPSR_SS, (void *)(pc + 8), (u64)words, 0);
    check_outcome(&o, 1, 8, 0x56000001, pc + 12); /* the call is the step */
    CHECK_BUT_QEMU(o.spsr >> 21 & 1, 0);          /* QEMU keeps PSTATE.SS in the saved state */
    o = run(EL1H | SPSR_SS, (void *)pc, (u64)words, 0);
    check_outcome(&o, 1, 4, 0x56000001, pc + 12); /* EL1 does not step itself without KDE */
    msr(mdscr_el1, MDE | SS | KDE);
    o = run((EL1H & ~(u64)SPSR_D) | SPSR_SS, (void *)pc, (u64)words, 0);
    check_outcome(&o, 1, 4, 0xcf000022, pc + 4);
    msr(mdscr_el1, 0);
    o = run(EL0T | SPSR_SS, (void *)pc, (u64)words, 0);
    check_outcome(&o, 1, 8, 0x56000001, pc + 12);
}

/* The exclusive bit of the syndrome: a load-exclusive was stepped. QEMU never sets it. */
static void test_step_of_an_exclusive(void) {
    const u64 pc = (u64)code4(LDXR, ADD_X2, ADD_X2, ADD_X2);
    msr(mdscr_el1, SS);
    const outcome o = run(EL0T | SPSR_SS, (void *)pc, (u64)words, 0);
    CHECK_BUT_QEMU(o.esr, 0xcb000062);
    CHECK(o.elr, pc + 4);
    msr(mdscr_el1, 0);
}

int main(void) {
    msr(scr_el3, 0x431);
    msr(sctlr_el1, 0x30d00980);
    msr(oslar_el1, 0);
    CHECK(mrs(oslsr_el1), 0x8);
    test_breakpoints();
    test_contexts();
    test_watchpoints();
    test_steps();
    test_step_of_an_exclusive();
    return 0;
}
