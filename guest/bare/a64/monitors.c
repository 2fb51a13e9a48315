/* SPDX-License-Identifier: MIT
 * The performance monitors: registers, rights of EL0, software increments, the cycle counter, filters,
 * overflow and its interrupt. Values that depend on time are compared with bounds. */
#include "a64.h"

enum { NOP = 0xd503201f, MSR_PMSWINC_X0 = 0xd51b9c80, MRS_X0_PMCCNTR = 0xd53b9d00, MRS_X0_PMUSERENR = 0xd53b9e00 };
enum { MRS_X0_PMXEVCNTR = 0xd53b9d40, MSR_PMSELR_X0 = 0xd51b9ca0, MRS_X0_PMCR = 0xd53b9c00, MSR_PMINTENSET_X0 = 0xd5189e20 };
enum { MRS_X0_PMEVCNTR0 = 0xd53be800, MSR_PMUSERENR_X0 = 0xd51b9e00, MSR_PMCEID0_X0 = 0xd51b9cc0, MRS_X0_PMEVTYPER0 = 0xd53bec00 };
enum { E = 1, P = 2, C = 4, D = 8, LC = 0x40, CYCLES = 0x11, SW_INCR = 0, CYCLE = 1u << 31 };
enum { EC_UNKNOWN = 0, EC_SYSTEM = 0x18, EC_BRK = 0x3c, INTID = 23, NS = 1, SPME = 1 << 17, TPM = 1 << 6 };
#define FILTER_P (UINT64_C(1) << 31)
#define FILTER_U (UINT64_C(1) << 30)
#define FILTER_NSK (UINT64_C(1) << 29)
#define FILTER_NSU (UINT64_C(1) << 28)
#define FILTER_M (UINT64_C(1) << 26)

static void start_over(void) {
    msr(mdcr_el3, SPME);
    msr(pmcr_el0, LC | C | P);
    msr(pmcntenclr_el0, 0xffffffff);
    msr(pmintenclr_el1, 0xffffffff);
    msr(pmovsclr_el0, 0xffffffff);
    msr(pmuserenr_el0, 0);
    msr(pmccfiltr_el0, 0);
    for (u32 n = 0; n < 6; n++) {
        msr(pmselr_el0, n);
        msr(pmxevtyper_el0, 0);
    }
    msr(pmselr_el0, 0);
}

/* D12.4: which bits stay, which are write-only, and the pairs that set and clear one register. */
static void test_registers(void) {
    start_over();
    CHECK(mrs(id_aa64dfr0_el1) >> 8 & 15, 1); /* PMUv3 */
    CHECK(mrs(pmcr_el0) & 0xfffff801, 0x41033000);
    msr(pmcr_el0, LC | D | P | C);
    CHECK(mrs(pmcr_el0) & 0xff, LC | D);
    msr(pmcntenset_el0, 0xffffffff);
    CHECK(mrs(pmcntenset_el0), 0x8000003f);
    CHECK(mrs(pmcntenclr_el0), 0x8000003f);
    msr(pmcntenclr_el0, CYCLE | 5);
    CHECK(mrs(pmcntenset_el0), 0x3a);
    msr(pmintenset_el1, 0xffffffff);
    CHECK(mrs(pmintenclr_el1), 0x8000003f);
    msr(pmintenclr_el1, 0x31);
    CHECK(mrs(pmintenset_el1), 0x8000000e);
    msr(pmovsset_el0, 0xffffffff);
    CHECK(mrs(pmovsclr_el0), 0x8000003f);
    msr(pmovsclr_el0, CYCLE | 1);
    CHECK(mrs(pmovsset_el0), 0x3e);
    msr(pmuserenr_el0, 0xf);
    CHECK(mrs(pmuserenr_el0), 0xf);
    msr(pmselr_el0, 3);
    msr(pmxevtyper_el0, FILTER_P | FILTER_NSU | CYCLES);
    CHECK(mrs(pmevtyper3_el0), FILTER_P | FILTER_NSU | CYCLES);
    msr(pmevcntr3_el0, 0x123456789abcdef0);
    CHECK(mrs(pmxevcntr_el0), 0x9abcdef0);
    msr(pmxevcntr_el0, 77);
    CHECK(mrs(pmevcntr3_el0), 77);
    msr(pmselr_el0, 31);
    msr(pmxevtyper_el0, FILTER_U);
    CHECK(mrs(pmccfiltr_el0), FILTER_U);
    msr(pmselr_el0, 6); /* none */
    CHECK(mrs(pmxevtyper_el0), 0);
    CHECK_BUT_QEMU(mrs(pmceid0_el0), 0x67ffbfff); /* Cortex-A53 manual; QEMU has few events */
    CHECK(mrs(pmceid0_el0) & 1, 1);
    CHECK(mrs(pmceid0_el0) >> 14 & 1, 0);
}

/* What EL0 does with each bit of PMUSERENR_EL0: value of a register, trap to EL1, or UNDEFINED. */
static void try(const char *name, u32 insn, u64 user, u64 level) {
    const void *code = code_of(insn);
    msr(pmuserenr_el0, user);
    const outcome o = run(level, code, 0, 0);
    const u32 ec = (u32)(o.esr >> 26);
    CHECK(o.el == 0, 0);
    print(name);
    print(" user ");
    print_number(user);
    show_outcome("", &o, (u64)code);
    if (ec == EC_BRK)
        CHECK(o.elr - (u64)code, 4);
}

static void test_rights(void) {
    static const struct {
        const char *name;
        u32 insn;
    } rows[] = {
        {"msr pmswinc", MSR_PMSWINC_X0},       {"mrs pmccntr", MRS_X0_PMCCNTR},       {"mrs pmuserenr", MRS_X0_PMUSERENR},
        {"mrs pmxevcntr", MRS_X0_PMXEVCNTR},   {"msr pmselr", MSR_PMSELR_X0},         {"mrs pmcr", MRS_X0_PMCR},
        {"msr pmintenset", MSR_PMINTENSET_X0}, {"mrs pmevcntr0", MRS_X0_PMEVCNTR0},   {"msr pmuserenr", MSR_PMUSERENR_X0},
        {"msr pmceid0", MSR_PMCEID0_X0},       {"mrs pmevtyper0", MRS_X0_PMEVTYPER0},
    };
    start_over();
    for (u32 i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (u64 user = 0; user < 16; user = user == 0 ? 1 : 2 * user)
            try(rows[i].name, rows[i].insn, user, EL0T);
    for (u32 i = 0; i < sizeof rows / sizeof rows[0]; i++)
        try(rows[i].name, rows[i].insn, 0, EL1H);
    msr(mdcr_el3, SPME | TPM); /* to EL3, from below */
    for (u32 i = 0; i < sizeof rows / sizeof rows[0]; i++)
        try(rows[i].name, rows[i].insn, 1, i % 2 ? EL0T : EL1H);
    CHECK(mrs(pmcr_el0) >> 24 & 0xff, 0x41); /* EL3 itself is not trapped */
    start_over();
}

/* D5.4: increments of counters that are on and count event 0; 32 bits, a flag, and no interrupt without PMINTEN. */
static void test_software_increments(void) {
    start_over();
    msr(pmevcntr0_el0, 0xfffffffe);
    msr(pmevcntr1_el0, 10);
    msr(pmevtyper1_el0, CYCLES);
    msr(pmevcntr2_el0, 20);
    msr(pmcntenset_el0, 1 | 4);
    msr(pmswinc_el0, 7); /* all off */
    CHECK(mrs(pmevcntr0_el0), 0xfffffffe);
    msr(pmcr_el0, LC | E);
    msr(pmswinc_el0, 7);
    CHECK(mrs(pmevcntr0_el0), 0xffffffff);
    CHECK(mrs(pmovsclr_el0), 0);
    msr(pmswinc_el0, 1);
    CHECK(mrs(pmevcntr0_el0), 0);
    CHECK(mrs(pmovsclr_el0), 1);
    CHECK(mrs(pmevcntr1_el0), 10); /* other event */
    CHECK(mrs(pmevcntr2_el0), 21);
    msr(pmswinc_el0, 8); /* not enabled */
    CHECK(mrs(pmevcntr3_el0), 0);
    msr(pmcr_el0, LC | E | P);
    CHECK(mrs(pmevcntr0_el0), 0);
    CHECK(mrs(pmevcntr2_el0), 0);
    CHECK(mrs(pmovsclr_el0), 1);
    msr(pmcr_el0, LC);
}

/* D5.4.5: where SW_INCR counts. The table is the manual's: P, U, NSK, NSU and M by level and security state. */
static void test_filters(void) {
    static const u64 filters[] = {0,
                                  FILTER_P,
                                  FILTER_U,
                                  FILTER_NSK,
                                  FILTER_NSU,
                                  FILTER_M,
                                  FILTER_P | FILTER_NSK,
                                  FILTER_U | FILTER_NSU,
                                  FILTER_P | FILTER_M,
                                  FILTER_P | FILTER_NSK | FILTER_M,
                                  FILTER_P | FILTER_U};
    const void *code = code_of(MSR_PMSWINC_X0);
    start_over();
    msr(pmuserenr_el0, 1);
    msr(pmcntenset_el0, 1);
    msr(pmcr_el0, LC | E);
    for (u32 i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        const u64 f = filters[i], p = f >> 31 & 1, u = f >> 30 & 1, nsk = f >> 29 & 1, nsu = f >> 28 & 1, m = f >> 26 & 1;
        for (u32 is_ns = 0; is_ns < 2; is_ns++) {
            msr(scr_el3, 0x430 | is_ns);
            msr(pmevtyper0_el0, f);
            msr(pmevcntr0_el0, 0);
            run(EL0T, code, 1, 0);
            CHECK(mrs(pmevcntr0_el0), is_ns ? u == nsu : !u);
            msr(pmevcntr0_el0, 0);
            run(EL1H, code, 1, 0);
            CHECK(mrs(pmevcntr0_el0), is_ns ? p == nsk : !p);
            msr(pmevcntr0_el0, 0);
            msr(pmswinc_el0, 1);
            CHECK(mrs(pmevcntr0_el0), m == p);
        }
    }
    msr(scr_el3, 0x431);
    msr(pmcr_el0, LC);
}

/* Counter 1 counts the wraps of counter 0. QEMU 7.2 does not know the event. */
static void test_chain(void) {
    enum { CHAIN = 0x1e };
    start_over();
    msr(pmevtyper1_el0, CHAIN);
    msr(pmevcntr0_el0, 0xfffffffe);
    msr(pmevcntr1_el0, 0xffffffff);
    msr(pmcntenset_el0, 3);
    msr(pmcr_el0, LC | E);
    msr(pmswinc_el0, 1);
    CHECK_BUT_QEMU(mrs(pmevcntr1_el0), 0xffffffff);
    msr(pmswinc_el0, 1);
    CHECK(mrs(pmevcntr0_el0), 0);
    CHECK_BUT_QEMU(mrs(pmevcntr1_el0), 0);
    CHECK_BUT_QEMU(mrs(pmovsclr_el0), 3);
    msr(pmcntenclr_el0, 2); /* off: nothing is carried */
    msr(pmevcntr0_el0, 0xffffffff);
    msr(pmswinc_el0, 1);
    CHECK_BUT_QEMU(mrs(pmevcntr1_el0), 0);
    msr(pmcr_el0, LC);
}

/* Events whose number is known on paper. QEMU counts instructions with -icount alone. */
#define COUNTED(event, text)                                                                     \
    ({                                                                                           \
        u64 n_[2];                                                                               \
        msr(pmevtyper0_el0, event);                                                              \
        for (u32 i_ = 0; i_ < 2; i_++) { /* twice: the first pass fills caches and predictors */ \
            u64 from_, to_, t_;                                                                  \
            __asm__ volatile("mrs %0, pmevcntr0_el0\n" text "\n1: mrs %1, pmevcntr0_el0"         \
                             : "=&r"(from_), "=&r"(to_), "=&r"(t_)                               \
                             : "r"(scratch)                                                      \
                             : "memory", "cc", "x30");                                           \
            n_[i_] = (u32)(to_ - from_);                                                         \
        }                                                                                        \
        n_[1];                                                                                   \
    })

static void test_counts(void) {
    start_over();
    msr(pmcntenset_el0, 1);
    msr(pmcr_el0, LC | E);
    CHECK_BUT_QEMU(COUNTED(0x08, "nop\n nop\n nop"), 4);                                       /* INST_RETIRED: the first MRS, too */
    CHECK_BUT_QEMU(COUNTED(0x06, "ldr %2, [%3]\n ldp %2, xzr, [%3]\n nop"), 2);                /* LD_RETIRED */
    CHECK_BUT_QEMU(COUNTED(0x07, "str xzr, [%3]\n stp xzr, xzr, [%3]\n str xzr, [%3, 8]"), 3); /* ST_RETIRED */
    CHECK_BUT_QEMU(COUNTED(0x0d, "b 2f\n nop\n 2: cbnz xzr, 1f\n cbz xzr, 1f\n nop"), 3);      /* BR_IMMED_RETIRED */
    CHECK_BUT_QEMU(COUNTED(0x0c, "b 2f\n nop\n 2: cbnz xzr, 1f\n cbz xzr, 1f\n nop"), 2);      /* PC_WRITE_RETIRED */
    CHECK_BUT_QEMU(COUNTED(0x0b, "msr contextidr_el1, xzr\n msr contextidr_el1, xzr"), 2);     /* CID_WRITE_RETIRED */
    CHECK_BUT_QEMU(COUNTED(0x1b, "nop\n nop"), 0);                                             /* INST_SPEC: the core lacks it */
    /* Returns from exceptions and exceptions: run() enters EL0 once and comes back by one BRK, whose handler
     * leaves to EL3. */
    const void *code = code_of(NOP);
    msr(pmevtyper0_el0, 0x0a);
    msr(pmevtyper1_el0, 0x09);
    msr(pmcntenset_el0, 3);
    const u64 returns = mrs(pmevcntr0_el0), taken = mrs(pmevcntr1_el0);
    run(EL0T, code, 0, 0);
    const u64 n_returns = mrs(pmevcntr0_el0) - returns, n_taken = mrs(pmevcntr1_el0) - taken;
    run(EL0T, code, 0, 0);
    run(EL0T, code, 0, 0);
    CHECK_BUT_QEMU(mrs(pmevcntr0_el0) - returns, 3 * n_returns);
    CHECK_BUT_QEMU(mrs(pmevcntr1_el0) - taken, 3 * n_taken);
    CHECK_BUT_QEMU(n_returns, 1);
    CHECK_BUT_QEMU(n_taken, 2);
    msr(pmcr_el0, LC);
}

static void spin(u32 n) {
    for (volatile u32 i = 0; i < n; i++)
        ;
}

/* The cycle counter: it stands, goes, is reset, and wraps at bit 31 or 63. */
static void test_cycles(void) {
    start_over();
    msr(pmccntr_el0, 1000);
    spin(100);
    CHECK(mrs(pmccntr_el0), 1000);
    msr(pmcr_el0, LC | E);
    spin(100);
    CHECK(mrs(pmccntr_el0), 1000); /* enabled as a whole, not the counter */
    msr(pmcntenset_el0, CYCLE);
    spin(1000);
    const u64 first = mrs(pmccntr_el0);
    CHECK(first > 1000, 1);
    spin(1000);
    CHECK(mrs(pmccntr_el0) > first, 1);
    /* QEMU counts the host's time, so the value before the reset is one that no pause reaches. */
    msr(pmccntr_el0, UINT64_C(1) << 40);
    msr(pmcr_el0, LC | E | C);
    CHECK(mrs(pmccntr_el0) < UINT64_C(1) << 40, 1);
    CHECK(mrs(pmovsclr_el0), 0);
    msr(pmccntr_el0, 0xfffffffe); /* LC: no overflow at bit 31 */
    spin(1000);
    CHECK(mrs(pmccntr_el0) > 0xffffffff, 1);
    CHECK(mrs(pmovsclr_el0), 0);
    msr(pmccntr_el0, ~UINT64_C(0));
    spin(1000);
    CHECK(mrs(pmccntr_el0) < UINT64_C(1) << 40, 1);
    CHECK(mrs(pmovsclr_el0), CYCLE);
    msr(pmovsclr_el0, CYCLE);
    msr(pmcr_el0, E);
    msr(pmccntr_el0, 0xfffffffe);
    spin(1000);
    (void)mrs(pmccntr_el0); /* QEMU looks for overflows when the counter is read */
    CHECK(mrs(pmovsclr_el0), CYCLE);
    msr(pmovsclr_el0, CYCLE);
    msr(pmcr_el0, 0);
    /* An event counter counts the same cycles, in 32 bits. */
    msr(pmevtyper5_el0, CYCLES);
    msr(pmevcntr5_el0, 0xfffffff0);
    msr(pmcntenset_el0, 1 << 5);
    msr(pmcr_el0, LC | E);
    spin(1000);
    CHECK(mrs(pmevcntr5_el0) < 0xfffffff0, 1);
    CHECK(mrs(pmovsclr_el0) >> 5 & 1, 1);
    msr(pmcr_el0, LC);
    /* EL0 only: the counter stands at EL3. */
    start_over();
    msr(pmccfiltr_el0, FILTER_P);
    msr(pmcntenset_el0, CYCLE);
    msr(pmcr_el0, LC | E);
    spin(1000);
    CHECK(mrs(pmccntr_el0), 0);
    msr(pmcr_el0, LC);
}

/* The overflow is interrupt 23 of the hart, a level, masked by PMINTEN and PMCR.E. */
static void test_interrupt(void) {
    start_over();
    MMIO32(GICD_BASE) = 3;
    MMIO32(GICC_BASE) = 7;
    MMIO32(GICC_BASE + 4) = 0xf0;
    MMIO8(GICD_BASE + 0x400 + INTID) = 0xa0;
    MMIO32(GICD_BASE + 0x80) = 0;
    MMIO32(GICD_BASE + 0x100) = 1u << INTID;
    msr(pmevcntr0_el0, 0xffffffff);
    msr(pmcntenset_el0, 1);
    msr(pmcr_el0, LC | E);
    msr(pmswinc_el0, 1);
    CHECK(mrs(pmovsclr_el0), 1);
    CHECK(MMIO32(GICD_BASE + 0x200) >> INTID & 1, 0);
    msr(pmintenset_el1, 1);
    CHECK(MMIO32(GICD_BASE + 0x200) >> INTID & 1, 1);
    CHECK(MMIO32(GICC_BASE + 0x18), INTID);
    CHECK(mrs(isr_el1) != 0, 1);
    msr(pmcr_el0, LC);
    CHECK_BUT_QEMU(MMIO32(GICD_BASE + 0x200) >> INTID & 1, 0); /* D5.5: PMCR_EL0.E gates the interrupt */
    msr(pmcr_el0, LC | E);
    CHECK(MMIO32(GICC_BASE + 0xc), INTID);
    msr(pmovsclr_el0, 1);
    MMIO32(GICC_BASE + 0x10) = INTID;
    CHECK(MMIO32(GICC_BASE + 0xc), 1023);
    msr(pmovsset_el0, 1); /* as software sets it */
    CHECK(MMIO32(GICC_BASE + 0xc), INTID);
    msr(pmovsclr_el0, 1);
    MMIO32(GICC_BASE + 0x10) = INTID;
    /* Cycles, which overflow by themselves. */
    msr(pmccntr_el0, UINT64_C(0) - 20000);
    msr(pmintenset_el1, CYCLE);
    msr(pmcntenset_el0, CYCLE);
    u32 n = 0;
    while (!(MMIO32(GICD_BASE + 0x200) >> INTID & 1) && n < 100000000)
        n++;
    CHECK(n < 100000000, 1);
    CHECK(mrs(pmovsclr_el0), CYCLE);
    start_over();
    MMIO32(GICD_BASE + 0x180) = 1u << INTID;
    MMIO32(GICD_BASE) = MMIO32(GICC_BASE) = 0;
}

int main(void) {
    test_registers();
    test_rights();
    test_software_increments();
    test_chain();
    test_counts();
    test_filters();
    test_cycles();
    test_interrupt();
    return 0;
}
