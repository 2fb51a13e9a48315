/* SPDX-License-Identifier: MIT
 * System calls as a kernel answers them: a program in U calls CALLS times, and a handler in S saves registers, adds to a sum by LR and SC,
 * and returns. docs/engine.md says what a call costs the host. */
#include "bare.h"

#ifndef CALLS
#define CALLS 2000
#endif

u64 n_answered, last_cause, saved[4];
/* Lines of its own, so that no line is in use by both modes. a0 += n_answered. */
__asm__(" .balign 64\n"
        "answer:\n"
        " csrrw tp, sscratch, tp\n"
        " la t3, saved\n"
        " sd a1, 0(t3)\n"
        " sd a2, 8(t3)\n"
        " csrr a1, sstatus\n"
        " sd a1, 16(t3)\n"
        " csrr a1, scause\n"
        " la a2, last_cause\n"
        " sd a1, 0(a2)\n"
        " csrr a1, sepc\n"
        " addi a1, a1, 4\n"
        " la t4, n_answered\n"
        "1: lr.d a2, (t4)\n"
        " addi t5, a2, 1\n"
        " sc.d t6, t5, (t4)\n"
        " bnez t6, 1b\n"
        " add a0, a0, a2\n"
        " csrw sepc, a1\n"
        " ld a1, 0(t3)\n"
        " ld a2, 8(t3)\n"
        " csrrw tp, sscratch, tp\n"
        " sret\n"
        " .balign 64\n");
extern char answer[];

static u64 call(u64 argument) {
    register u64 a0 __asm__("a0") = argument;
    __asm__ volatile("ecall" : "+r"(a0)::"memory", "t3", "t4", "t5", "t6");
    return a0;
}

static u64 program(u64 n) {
    u64 wrong = 0;
    for (u64 i = 0; i < n; i++)
        wrong += call(5) != 5 + i;
    __asm__ volatile("mv a0, %0\n ebreak" ::"r"(wrong) : "a0"); /* to M */
    return wrong;
}

int main(void) {
    csr_write(satp, satp_of(standard_map(), SATP_SV39));
    sfence();
    alias = USER_ALIAS;
    csr_write(stvec, (u64)answer);
    csr_write(medeleg, BIT(CAUSE_ECALL_U));
    outcome *o = run_at(MODE_U, (u64)program, CALLS, 0);
    CHECK(o->cause, CAUSE_BREAKPOINT);
    CHECK(o->x[10], 0);
    CHECK(n_answered, CALLS);
    CHECK(last_cause, CAUSE_ECALL_U);
    return 0;
}
