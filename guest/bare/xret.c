/* SPDX-License-Identifier: MIT
 * MRET, SRET, WFI, SFENCE.VMA: stack of modes and enables, legal modes, and TSR, TW and TVM. */
#include "bare.h"

enum { MRET = 0x30200073, SRET = 0x10200073, WFI = 0x10500073, SFENCE = 0x12000073, SFENCE_A0 = 0x12050073, SFENCE_A0_A1 = 0x12b50073 };
enum { READ_SATP = 0x18002573, WRITE_SATP = 0x18051073 };
SNIPPET(ecalls, "ecall");
SNIPPET(sret_to_next, "la t0, 1f\n csrw sepc, t0\n sret\n .balign 4\n 1: ecall");
SNIPPET(sret_and_look, "la t0, 1f\n csrw sepc, t0\n sret\n .balign 4\n 1: csrr a0, sstatus\n ecall");

static void test_mret_restores_mode_and_enable(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 m = 0; m < 3; m++)
        for (u32 i = 0; i < 8; i++) {
            u64 mpie = i & 1 ? MSTATUS_MPIE : 0, mie = i & 2 ? MSTATUS_MIE : 0, mprv = i & 4 ? MSTATUS_MPRV : 0;
            check_context = modes[m] << 8 | i;
            csr_write(mie, 0);
            csr_clear(mstatus, MSTATUS_MPIE | MSTATUS_MIE | MSTATUS_MPRV);
            csr_set(mstatus, mpie | mie | mprv); /* run_in's MRET does the rest */
            outcome *o = run(modes[m], ecalls, 0, 0);
            csr_clear(mstatus, MSTATUS_MPRV);
            CHECK(o->cause, CAUSE_ECALL_U + modes[m]);
            CHECK(o->status & MSTATUS_MPIE, mpie); /* MIE was MPIE's, and the trap moved it back */
            CHECK(o->status & MSTATUS_MIE, 0);
            CHECK(o->status >> 11 & 3, modes[m]);
            if (modes[m] == MODE_M)
                CHECK(o->status & MSTATUS_MPRV, mprv);
            else
                CHECK_BUT_QEMU("QEMU's MRET knows nothing of MPRV", o->status & MSTATUS_MPRV, 0);
        }
    check_context = 0;
    for (u32 i = 0; i < 4; i++) { /* seen from M itself: MPP is the least mode, MPIE is set */
        csr_clear(mstatus, MSTATUS_MPIE | MSTATUS_MIE);
        csr_set(mstatus, (i & 1 ? MSTATUS_MPIE : 0) | (i & 2 ? MSTATUS_MIE : 0));
        u64 seen;
        __asm__ volatile("li t0, 3 << 11\n csrs mstatus, t0\n la t0, 1f\n csrw mepc, t0\n mret\n 1: csrr %0, mstatus\n csrci mstatus, 8"
                         : "=r"(seen)::"t0", "memory");
        CHECK(seen & MSTATUS_MPP, MODE_U << 11);
        CHECK(seen & MSTATUS_MPIE, MSTATUS_MPIE);
        CHECK(seen & MSTATUS_MIE, i & 1 ? MSTATUS_MIE : 0);
    }
}

static void test_sret_restores_mode_and_enable(void) {
    static const u64 from[] = {MODE_S, MODE_M};
    for (u32 f = 0; f < 2; f++)
        for (u32 i = 0; i < 8; i++) {
            u64 spp = i & 1 ? MSTATUS_SPP : 0, spie = i & 2 ? MSTATUS_SPIE : 0, sie = i & 4 ? MSTATUS_SIE : 0;
            check_context = from[f] << 8 | i;
            csr_clear(mstatus, MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE);
            csr_set(mstatus, spp | spie | sie);
            outcome *o = run(from[f], sret_to_next, 0, 0);
            CHECK(o->cause, spp ? CAUSE_ECALL_S : CAUSE_ECALL_U);
            CHECK(o->status >> 11 & 3, spp ? MODE_S : MODE_U);
            CHECK(o->status & MSTATUS_SPP, 0);
            CHECK(o->status & MSTATUS_SPIE, MSTATUS_SPIE);
            CHECK(o->status & MSTATUS_SIE, spie ? MSTATUS_SIE : 0);
            if (spp) {
                csr_set(mstatus, spp);
                csr_clear(mstatus, MSTATUS_SPIE);
                csr_set(mstatus, spie);
                o = run(from[f], sret_and_look, 0, 0);
                CHECK(o->x[10] & (MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE), MSTATUS_SPIE | (spie ? MSTATUS_SIE : 0));
            }
        }
    csr_clear(mstatus, MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE);
    /* SRET in M leaves M: MPRV goes (1.12) */
    csr_set(mstatus, MSTATUS_MPRV | MSTATUS_SPP);
    outcome *o = run(MODE_M, sret_to_next, 0, 0);
    csr_clear(mstatus, MSTATUS_MPRV);
    CHECK(o->cause, CAUSE_ECALL_S);
    CHECK_BUT_QEMU("QEMU's SRET knows nothing of MPRV", o->status & MSTATUS_MPRV, 0);
    check_context = 0;
}

/* One instruction, in a mode, with bits of mstatus: illegal or not. */
static bool is_illegal(u64 mode, u32 insn, u64 bits) {
    csr_clear(mstatus, MSTATUS_TSR | MSTATUS_TW | MSTATUS_TVM);
    csr_set(mstatus, bits);
    outcome *o = run_insn(mode, insn, 0, 0);
    csr_clear(mstatus, MSTATUS_TSR | MSTATUS_TW | MSTATUS_TVM);
    if (!o->trapped)
        return false;
    check(250, __LINE__, "cause", o->cause, CAUSE_ILLEGAL);
    check(251, __LINE__, "tval", o->tval, insn);
    check(252, __LINE__, "epc", o->epc, one_instruction(insn));
    return true;
}

static void test_who_may_execute_what(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    csr_write(mie, BIT(IRQ_SSI));
    csr_write(mideleg, BIT(IRQ_SSI));
    csr_clear(mstatus, MSTATUS_MPIE | MSTATUS_SIE | MSTATUS_SPIE);
    for (u32 m = 0; m < 3; m++) {
        if (modes[m] != MODE_U) /* something is pending and enabled by itself, so that WFI need not wait; MIE and SIE are clear */
            csr_set(mip, BIT(IRQ_SSI));
        for (u32 i = 0; i < 8; i++) {
            u64 mode = modes[m], tsr = i & 1 ? MSTATUS_TSR : 0, tw = i & 2 ? MSTATUS_TW : 0, tvm = i & 4 ? MSTATUS_TVM : 0,
                all = tsr | tw | tvm;
            check_context = mode << 8 | i;
            if (mode != MODE_M)
                CHECK(is_illegal(mode, MRET, all), true);
            if (mode == MODE_U || (mode == MODE_S && tsr))
                CHECK(is_illegal(mode, SRET, all), true);
            CHECK(is_illegal(mode, SFENCE, all), mode == MODE_U || (mode == MODE_S && tvm));
            CHECK(is_illegal(mode, SFENCE_A0, all), mode == MODE_U || (mode == MODE_S && tvm));
            CHECK(is_illegal(mode, SFENCE_A0_A1, all), mode == MODE_U || (mode == MODE_S && tvm));
            CHECK(is_illegal(mode, READ_SATP, all), mode == MODE_U || (mode == MODE_S && tvm));
            CHECK(is_illegal(mode, WRITE_SATP, all), mode == MODE_U || (mode == MODE_S && tvm));
            if (mode == MODE_M || (mode == MODE_S && !tw))
                CHECK(is_illegal(mode, WFI, all), false);
        }
    }
    /* WFI with TW below M, and in U. Without a pending interrupt TW must trap; U may trap. */
    csr_clear(mip, BIT(IRQ_SSI));
    CHECK(is_illegal(MODE_S, WFI, MSTATUS_TW), true);
    CHECK(is_illegal(MODE_U, WFI, MSTATUS_TW), true);
    csr_write(mie, 0);
    csr_write(mideleg, 0);
    check_context = 0;
}

/* xRET to odd and to compressed addresses; sepc and mepc with bit 1 are fine. */
SNIPPET(lands, ".option push\n .option rvc\n c.nop\n .globl lands_at\n lands_at: c.nop\n c.nop\n .option pop");
extern char lands_at[];
static void test_return_to_a_half_word(void) {
    outcome *o = run_at(MODE_U, (u64)lands + 2, 0, 0);
    CHECK(o->trapped, 0);
    o = run_at(MODE_S, (u64)lands + 2, 0, 0);
    CHECK(o->trapped, 0);
    o = run_at(MODE_M, (u64)lands + 4, 0, 0);
    CHECK(o->trapped, 0);
}

/* One mode's return does not change the other mode's fields. */
static void test_levels_do_not_touch_each_other(void) {
    csr_clear(mstatus, MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE);
    csr_set(mstatus, MSTATUS_SPP | MSTATUS_SIE);
    outcome *o = run(MODE_U, ecalls, 0, 0);
    CHECK(o->status & (MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE), MSTATUS_SPP | MSTATUS_SIE);
    csr_clear(mstatus, MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE);
    csr_set(mstatus, MSTATUS_MPIE);
    csr_write(mie, 0);
    o = run(MODE_S, sret_to_next, 0, 0); /* MIE is 1 in there */
    CHECK(o->status & MSTATUS_MPIE, MSTATUS_MPIE);
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    test_mret_restores_mode_and_enable();
    test_sret_restores_mode_and_enable();
    test_who_may_execute_what();
    test_return_to_a_half_word();
    test_levels_do_not_touch_each_other();
    return 0;
}
