/* SPDX-License-Identifier: MIT
 * System registers from EL3 and EL1: what identification says, which bits of random writes stay, and
 * which random numbers name nothing. The console is compared with another machine's. */
#include "a64.h"

static u64 seed = UINT64_C(0x9e3779b97f4a7c15);

/* Bits that both machines have; QEMU keeps reserved bits, too. */
#define ROUND(reg, mask)                             \
    ({                                               \
        const u64 old_ = mrs(reg);                   \
        for (u32 i_ = 0; i_ < 6; i_++) {             \
            msr(reg, random_number(&seed) & (mask)); \
            show(#reg, mrs(reg) & (mask));           \
        }                                            \
        msr(reg, old_);                              \
    })

static void test_identification(void) {
    show("midr", mrs(midr_el1));
    show("mpidr", mrs(mpidr_el1));
    show("pfr0 EL0 and EL1 of A64, FP, SIMD", mrs(id_aa64pfr0_el1) & 0xff0000 & 0xff0f00);
    show("isar0", mrs(id_aa64isar0_el1));
    show("isar1", mrs(id_aa64isar1_el1));
    show("mmfr0", mrs(id_aa64mmfr0_el1) & 0xfff000ff);
    show("mmfr1", mrs(id_aa64mmfr1_el1));
    show("dfr0", mrs(id_aa64dfr0_el1) & 0xf0f0f00f);
    show("pfr1", mrs(id_aa64pfr1_el1));
    show("ctr", mrs(ctr_el0));
    show("dczid", mrs(dczid_el0));
    show("clidr", mrs(clidr_el1));
    show("aidr", mrs(aidr_el1));
    msr(csselr_el1, 0);
    show("l1d", mrs(ccsidr_el1) & 0xfffffff);
    msr(csselr_el1, 1);
    show("l1i", mrs(ccsidr_el1) & 0xfffffff);
    CHECK(mrs(id_aa64pfr0_el1) & 0xf0ff, is_qemu ? 0x2022 : 0x1011); /* EL2 is absent; QEMU has AArch32, too */
}

static void test_storage(void) {
    ROUND(ttbr0_el1, UINT64_C(0xfffffffffffffffe));
    ROUND(ttbr1_el1, UINT64_C(0xfffffffffffffffe));
    ROUND(tcr_el1, UINT64_C(0x77ffffffbf));
    ROUND(mair_el1, ~UINT64_C(0));
    ROUND(vbar_el1, ~UINT64_C(0x7ff));
    ROUND(esr_el1, UINT64_C(0xffffffff));
    ROUND(far_el1, ~UINT64_C(0));
    ROUND(elr_el1, ~UINT64_C(0));
    ROUND(spsr_el1, UINT64_C(0xf03003cf));
    ROUND(contextidr_el1, UINT64_C(0xffffffff));
    ROUND(tpidr_el0, ~UINT64_C(0));
    ROUND(tpidrro_el0, ~UINT64_C(0));
    ROUND(tpidr_el1, ~UINT64_C(0));
    ROUND(tpidr_el3, ~UINT64_C(0));
    ROUND(cntkctl_el1, UINT64_C(0x3ff));
    ROUND(cpacr_el1, UINT64_C(0x300000));
    ROUND(sp_el0, ~UINT64_C(0));
    ROUND(sp_el1, ~UINT64_C(0));
    ROUND(cntp_cval_el0, ~UINT64_C(0));
    ROUND(cntv_cval_el0, ~UINT64_C(0));
    ROUND(cntps_cval_el1, ~UINT64_C(0));
    ROUND(afsr0_el1, ~UINT64_C(0));
    ROUND(amair_el1, ~UINT64_C(0));
    ROUND(esr_el3, UINT64_C(0xffffffff));
    ROUND(far_el3, ~UINT64_C(0));
    ROUND(elr_el3, ~UINT64_C(0));
    ROUND(spsr_el3, UINT64_C(0xf03003cf));
    ROUND(mair_el3, ~UINT64_C(0));
    ROUND(ttbr0_el3, UINT64_C(0xfffffffffffe));
    ROUND(sctlr_el1, UINT64_C(0x040dd21f) & ~UINT64_C(1));
    ROUND(scr_el3, UINT64_C(0x3a8e));
    ROUND(cptr_el3, UINT64_C(0x80000400));
    ROUND(mdscr_el1, UINT64_C(0x9000));
    ROUND(csselr_el1, UINT64_C(3));
    ROUND(par_el1, ~UINT64_C(0));
    ROUND(fpcr, UINT64_C(0x07c00000));
    ROUND(fpsr, UINT64_C(0x0800009f));
    ROUND(nzcv, UINT64_C(0xf0000000));
    ROUND(cntfrq_el0, UINT64_C(0xffffffff));
    ROUND(s3_4_c1_c1_0, ~UINT64_C(0)); /* HCR_EL2 and others of EL2, which is absent */
    ROUND(s3_4_c2_c0_2, ~UINT64_C(0));
    ROUND(s3_4_c12_c0_0, ~UINT64_C(0));
    show("vpidr", mrs(s3_4_c0_c0_0));
    show("daif", mrs(daif));
    for (u64 i = 0; i < 16; i++) {
        msr(daif, i << 6);
        CHECK(mrs(daif), i << 6);
    }
    msr(daif, 0x3c0);
    __asm__ volatile("msr daifclr, #9");
    CHECK(mrs(daif), 0x180);
    __asm__ volatile("msr daifset, #8");
    CHECK(mrs(daif), 0x380);
    msr(daif, 0x3c0);
}

/* What EL1 and EL0 may name: reads of every number with these coordinates. */
static void test_access(u64 spsr) {
    static const struct {
        u32 op1, crn, crm;
    } groups[] = {{0, 0, 0}, {0, 0, 4}, {0, 0, 7}, {0, 1, 0},  {0, 2, 0},  {0, 4, 0},  {0, 4, 1},  {0, 4, 2},  {0, 5, 1},
                  {0, 5, 2}, {0, 6, 0}, {0, 7, 4}, {0, 10, 2}, {0, 10, 3}, {0, 12, 1}, {0, 13, 0}, {0, 14, 1}, {1, 0, 0},
                  {2, 0, 0}, {3, 0, 0}, {3, 4, 2}, {3, 4, 4},  {3, 13, 0}, {3, 14, 0}, {3, 14, 2}, {3, 14, 3}, {4, 1, 0},
                  {4, 1, 1}, {6, 1, 0}, {6, 2, 0}, {6, 4, 0},  {6, 12, 0}, {7, 14, 2}};
    for (u32 i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        u32 present = 0;
        for (u32 op2 = 0; op2 < 8; op2++) {
            const u32 insn = 0xd5380001 | groups[i].op1 << 16 | groups[i].crn << 12 | groups[i].crm << 8 | op2 << 5; /* mrs x1 */
            if (run(spsr, code_of(insn), 0, 0).esr == 0xf2000777)
                present |= 1u << op2;
        }
        print("access ");
        print_hex(spsr & 0xf);
        print(" ");
        print_hex(groups[i].op1 << 8 | groups[i].crn << 4 | groups[i].crm);
        show("", present);
    }
}

int main(void) {
    test_identification();
    test_storage();
    msr(sctlr_el1, 0x30d00980 | 1 << 9 | 1 << 15);
    msr(cntkctl_el1, 0x303);
    msr(scr_el3, 0x431);
    test_access(EL3H);
    test_access(EL1H);
    test_access(EL0T);
    return 0;
}
