/* SPDX-License-Identifier: MIT
 * Exceptions by level, stack pointer and kind: vector, syndrome, return address, saved state. */
#include "a64.h"

/* EC 31:26, IL 25. */
static u64 syndrome(u64 ec, u64 iss) { return ec << 26 | 1 << 25 | iss; }

static const struct {
    const char *name;
    u32 insn;
    u64 ec, iss, elr;
    bool is_el3s; /* taken by EL3 whatever the level */
} rows[] = {
    {"svc", 0xd4000001 | 0x1234 << 5, 0x15, 0x1234, 4, false},
    {"brk", 0xd4200000 | 0xabc << 5, 0x3c, 0xabc, 0, false},
    {"udf", 0x00000000, 0, 0, 0, false},
    {"hvc", 0xd4000002, 0, 0, 0, false},
    {"hlt", 0xd4400000, 0, 0, 0, false},
    {"drps", 0xd6bf03e0, 0, 0, 0, false},
};

static void test_instructions(u64 spsr, u64 el, u64 vector) {
    for (u32 i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const void *code = code_of(rows[i].insn);
        const outcome o = run(spsr | UINT64_C(0x60000000), code, 0, 0);
        check_context = spsr << 8 | i;
        CHECK(o.el, el);
        CHECK(o.vector, vector);
        CHECK(o.esr, syndrome(rows[i].ec, rows[i].iss));
        CHECK(o.elr - (u64)code, rows[i].elr);
        CHECK(o.spsr, spsr | UINT64_C(0x60000000));
        show_outcome(rows[i].name, &o, (u64)code);
    }
}

static void test_smc(void) {
    outcome o = run(EL1H, code_of(0xd4000003 | 0x55 << 5), 0, 0);
    CHECK(o.el, 3);
    CHECK(o.vector, 8);
    CHECK(o.esr, syndrome(0x17, 0x55));
    o = run(EL0T, code_of(0xd4000003), 0, 0); /* UNDEFINED at EL0 */
    CHECK(o.el, 1);
    CHECK(o.esr, syndrome(0, 0));
    const void *code = code_of(0xd4000003);
    o = run(EL3H, code, 0, 0);
    CHECK(o.el, 3);
    CHECK(o.vector, 4);
    CHECK(o.elr - (u64)code, 4);
    msr(scr_el3, 0x431 | 0x80); /* SMD; the vectors of EL1 need SMC */
    o = run(EL3H, code, 0, 0);
    CHECK(o.esr, syndrome(0, 0));
    show_outcome("smc disabled", &o, (u64)code);
    msr(scr_el3, 0x431);
}

/* Illegal returns: PSTATE.IL, then the exception of the next instruction. */
static void test_illegal_returns(void) {
    static const u64 spsrs[] = {0x3c1, 0x3c8, 0x3c9, 0x3c2, 0x3c6, 0x3cf};
    for (u32 i = 0; i < sizeof spsrs / sizeof spsrs[0]; i++) {
        const void *code = code_of(0xd503201f);
        const outcome o = run(spsrs[i] | UINT64_C(0x90000000), code, 0, 0);
        check_context = spsrs[i];
        CHECK(o.el, 3);
        CHECK(o.vector, 4);
        CHECK(o.esr, syndrome(0x0e, 0));
        CHECK(o.elr, (u64)code);
        CHECK(o.spsr & ~UINT64_C(0x3c0), UINT64_C(0x9010000d));
        show("illegal return", o.spsr);
    }
    const void *code = code_of(0xd503201f);
    const outcome o = run(EL1H | SPSR_IL, code, 0, 0); /* a legal return with IL set */
    CHECK(o.el, 1);
    CHECK(o.esr, syndrome(0x0e, 0));
    show_outcome("IL", &o, (u64)code);
}

static void test_alignment(void) {
    const void *code = code_of(0xd503201f);
    outcome o = run(EL1H, (const char *)code + 2, 0, 0);
    CHECK(o.el, 1);
    CHECK(o.esr, syndrome(0x22, 0));
    CHECK(o.far, (u64)code + 2);
    CHECK(o.elr, (u64)code + 2);
    msr(sctlr_el1, 0x30d00980 | 0x18); /* SA, SA0 */
    msr(sp_el1, RAM_BASE + 0x190008);
    o = run(EL1H, code_of(0xf94003e0), 0, 0); /* ldr x0, [sp] */
    CHECK_BUT_QEMU(o.esr, syndrome(0x26, 0)); /* D1.8.2 */
    o = run(EL1H, code_of(0x910003e0), 0, 0); /* mov x0, sp: no access */
    CHECK(o.esr, syndrome(0x3c, 0x777));
    o = run(EL1H, code_of(0xd10083ff), 0, 0); /* sub sp, sp, #32 */
    CHECK(o.esr, syndrome(0x3c, 0x777));
    o = run(EL1H, code_of(0xf98003e0), 0, 0); /* prfm pldl1keep, [sp] */
    CHECK(o.esr, syndrome(0x3c, 0x777));
    msr(sp_el1, RAM_BASE + 0x190000);
    o = run(EL1H, code_of(0xf94003e0), 0, 0);
    CHECK(o.esr, syndrome(0x3c, 0x777));
    msr(sp_el0, RAM_BASE + 0x180008);
    o = run(EL0T, code_of(0xf94003e0), 0, 0);
    CHECK_BUT_QEMU(o.esr, syndrome(0x26, 0)); /* D1.8.2 */
    CHECK(o.vector, 8);
    o = run(EL1T, code_of(0xf94003e0), 0, 0); /* SP_EL0 at EL1 */
    CHECK_BUT_QEMU(o.esr, syndrome(0x26, 0)); /* D1.8.2 */
    CHECK(o.vector, 0);
    msr(sctlr_el1, 0x30d00980);
    o = run(EL0T, code_of(0xf94003e0), 0, 0);
    CHECK(o.esr, syndrome(0x3c, 0x777));
    msr(sp_el0, RAM_BASE + 0x180000);
    msr(sctlr_el1, 0x30d00980 | 2);                             /* A */
    o = run(EL1H, code_of(0xf9400001), RAM_BASE + 0x100004, 0); /* ldr x1, [x0] */
    CHECK(o.esr, syndrome(0x25, 0x21));
    CHECK(o.far, RAM_BASE + 0x100004);
    o = run(EL1H, code_of(0xb9000001), RAM_BASE + 0x100002, 0); /* str w1, [x0] */
    CHECK(o.esr, syndrome(0x25, 0x21 | 1 << 6));
    o = run(EL0T, code_of(0x78000001), RAM_BASE + 0x100001, 0); /* sturh w1, [x0] */
    CHECK(o.esr, syndrome(0x24, 0x21 | 1 << 6));
    CHECK(o.el, 1);
    show_outcome("alignment", &o, (u64)code);
    msr(sctlr_el1, 0x30d00980);
}

/* Traps by SCTLR_EL1, CPACR_EL1, CPTR_EL3, SCR_EL3: instruction, level, registers set. */
static void test_traps(void) {
    static const struct {
        const char *name;
        u32 insn;
        u64 spsr, sctlr, cpacr, cptr, scr, el, ec, iss;
    } traps[] = {
        {"mrs daif at el0", 0xd53b4220, EL0T, 0, 3, 0, 0, 1, 0x18, 0x32d005},
        {"msr daifset at el0", 0xd50342df, EL0T, 0, 3, 0, 0, 1, 0x18, 0x0cd3e4},
        {"msr daifclr at el0", 0xd50342ff, EL0T, 0, 3, 0, 0, 1, 0x18, 0x0ed3e4},
        {"mrs daif at el0, UMA", 0xd53b4220, EL0T, 1 << 9, 3, 0, 0, 1, 0x3c, 0x777},
        {"mrs ctr at el0", 0xd53b0021, EL0T, 0, 3, 0, 0, 1, 0x18, 0x32c021},
        {"mrs ctr at el0, UCT", 0xd53b0021, EL0T, 1 << 15, 3, 0, 0, 1, 0x3c, 0x777},
        {"dc zva at el0", 0xd50b7420, EL0T, 0, 3, 0, 0, 1, 0x18, 0x12dc08},
        {"dc cvau at el0", 0xd50b7b20, EL0T, 0, 3, 0, 0, 1, 0x18, 0x12dc16},
        {"ic ivau at el0", 0xd50b7520, EL0T, 0, 3, 0, 0, 1, 0x18, 0x12dc0a},
        {"dc ivac at el0", 0xd5087620, EL0T, 0, 3, 0, 0, 1, 0, 0},
        {"tlbi at el0", 0xd508871f, EL0T, 0, 3, 0, 0, 1, 0, 0},
        {"mrs sctlr at el0", 0xd5381000, EL0T, 0, 3, 0, 0, 1, 0, 0},
        {"mrs scr_el3 at el1", 0xd53e1100, EL1H, 0, 3, 0, 0, 1, 0, 0},
        {"eret at el0", 0xd69f03e0, EL0T, 0, 3, 0, 0, 1, 0, 0},
        {"msr spsel at el0", 0xd50041bf, EL0T, 0, 3, 0, 0, 1, 0, 0},
        {"wfi at el0", 0xd503207f, EL0T, 0, 3, 0, 0, 1, 0x01, 0x1e00000},
        {"wfi at el1, TWI", 0xd503207f, EL1H, 0, 3, 0, 1 << 12, 3, 0x01, 0x1e00000},
        {"fmov at el0", 0x1e604000, EL0T, 0, 0, 0, 0, 1, 0x07, 0x1e00000},
        {"fmov at el0, FPEN 1", 0x1e604000, EL0T, 0, 1, 0, 0, 1, 0x07, 0x1e00000},
        {"fmov at el1, FPEN 1", 0x1e604000, EL1H, 0, 1, 0, 0, 1, 0x3c, 0x777},
        {"fmov at el1, FPEN 2", 0x1e604000, EL1H, 0, 2, 0, 0, 1, 0x07, 0x1e00000},
        {"ldr q at el1", 0x3dc003e0, EL1H, 0, 0, 0, 0, 1, 0x07, 0x1e00000},
        {"mrs fpcr at el0", 0xd53b4400, EL0T, 0, 0, 0, 0, 1, 0x07, 0x1e00000},
        {"fmov at el1, TFP", 0x1e604000, EL1H, 0, 3, 1 << 10, 0, 3, 0x07, 0x1e00000},
        {"fmov at el0, TFP", 0x1e604000, EL0T, 0, 3, 1 << 10, 0, 3, 0x07, 0x1e00000},
        {"cpacr at el1, TCPAC", 0xd5381040, EL1H, 0, 3, UINT64_C(1) << 31, 0, 3, 0x18, 0x340401},
        {"mrs cntpct at el0", 0xd53be020, EL0T, 0, 3, 0, 0, 1, 0x18, 0x32f801},
        {"mrs cntv_ctl at el0", 0xd53be320, EL0T, 0, 3, 0, 0, 1, 0x18, 0x32f807},
        {"mrs cntfrq at el0", 0xd53be000, EL0T, 0, 3, 0, 0, 1, 0x18, 0x30f801},
        {"cntps at el1, not secure", 0xd53fe220, EL1H, 0, 3, 0, 0, 1, 0, 0},
        {"mrs sp_el0 with SPSel 0", 0xd5384100, EL1T, 0, 3, 0, 0, 1, 0, 0},
        {"unallocated register", 0xd538fff0, EL1H, 0, 3, 0, 0, 1, 0, 0},
        {"write of midr", 0xd5180000, EL1H, 0, 3, 0, 0, 1, 0, 0},
    };
    for (u32 i = 0; i < sizeof traps / sizeof traps[0]; i++) {
        msr(sctlr_el1, 0x30d00980 | traps[i].sctlr);
        msr(cpacr_el1, traps[i].cpacr << 20);
        msr(cntkctl_el1, 0);
        const void *code = code_of(traps[i].insn);
        msr(scr_el3, 0x431 | traps[i].scr);
        msr(cptr_el3, traps[i].cptr);
        const outcome o = run(traps[i].spsr, code, RAM_BASE + 0x100000, 0);
        msr(cptr_el3, 0);
        msr(scr_el3, 0x431);
        check_context = i;
        CHECK(o.el, traps[i].el);
        if ((traps[i].insn & 0xfffff0df) == 0xd50340df) { /* D12.2.36: QEMU exchanges op1 and op2 of MSR (immediate) */
            CHECK_BUT_QEMU(o.esr, syndrome(traps[i].ec, traps[i].iss));
            continue;
        }
        CHECK(o.esr, syndrome(traps[i].ec, traps[i].iss));
        show_outcome(traps[i].name, &o, (u64)code);
    }
    msr(cpacr_el1, 3 << 20);
    msr(sctlr_el1, 0x30d00980);
}

/* PSTATE after an exception: all masks, the stack pointer of the level. */
static void test_pstate(void) {
    const outcome o = run(EL1H & ~UINT64_C(0x3c0), code_of(0xd53b4220), 0, 0); /* mrs x0, daif */
    CHECK(o.x[0], 0);
    CHECK(o.spsr, 5);
    CHECK(run(EL1H, code_of(0xd53b4220), 0, 0).x[0], 0x3c0);
    CHECK(run(EL1T, code_of(0xd5384240), 0, 0).x[0], 4); /* CurrentEL */
    CHECK(run(EL1H, code_of(0xd5384200), 0, 0).x[0], 1); /* SPSel */
    CHECK(run(EL1T, code_of(0xd5384200), 0, 0).x[0], 0);
    CHECK(run(EL1H, code_of(0x910003e0), 0, 0).x[0], RAM_BASE + 0x190000); /* mov x0, sp */
    CHECK(run(EL1T, code_of(0x910003e0), 0, 0).x[0], RAM_BASE + 0x180000);
    CHECK(run(EL0T, code_of(0x910003e0), 0, 0).x[0], RAM_BASE + 0x180000);
    CHECK(run(EL1H, code_of(0xd5384100), 0, 0).x[0], RAM_BASE + 0x180000); /* mrs x0, sp_el0 */
    CHECK(mrs(daif), 0x3c0);
    CHECK(mrs(CurrentEL), 12);
}

int main(void) {
    msr(sctlr_el1, 0x30d00980);
    test_instructions(EL0T, 1, 8);
    test_instructions(EL1T, 1, 0);
    test_instructions(EL1H, 1, 4);
    test_instructions(EL3T, 3, 0);
    test_instructions(EL3H, 3, 4);
    test_smc();
    test_illegal_returns();
    test_alignment();
    test_traps();
    test_pstate();
    return 0;
}
