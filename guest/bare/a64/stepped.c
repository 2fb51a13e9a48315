/* SPDX-License-Identifier: MIT
 * Code at EL0 of hart 1 that is awkward to step: an instruction that is trapped and comes again,
 * loops of exclusives, a branch to itself, system calls that return, and a branch to an odd address
 * that never comes back. Without translation. A monitor that sets `spins` must clear x4 at the label `spin`, where the program would stay. */
#include "a64.h"

enum { ROUNDS = 5, SCTLR = 0x30d00980 };
void start_second(void (*code)(void));
void stepped(u64 rounds, u64 *counter);
extern char step_vectors[], odd[];

volatile u64 spins, lingers; /* set by a test before the start; lingers: turns of a loop before the end */
u64 counter;
volatile u64 n_calls; /* that EL1 has answered */
volatile u64 n_traps; /* of floating point, which EL1 then permits */
volatile outcome last;
volatile u64 is_done;

__asm__("    .text\n"
        "    .balign 64\n"
        "    .global stepped, lazy, spin, odd, take, put_back, leave, call\n"
        "stepped: mov x19, x0\n"
        "lazy: fmov d0, xzr\n"
        "take: ldxr x2, [x1]\n" /* counts up; a loop of exclusives alone */
        "    add x2, x2, #1\n"
        "    stxr w3, x2, [x1]\n"
        "    cbnz w3, take\n"
        "    subs x19, x19, #1\n"
        "    b.ne take\n"
        "put_back: ldaxr x2, [x1]\n" /* counts down, and leaves in the middle of the sequence */
        "    cbz x2, leave\n"
        "    sub x2, x2, #1\n"
        "    stlxr w3, x2, [x1]\n"
        "    cbnz w3, put_back\n"
        "    b put_back\n"
        "leave: clrex\n"
        "    ldr x4, =spins\n"
        "    ldr x4, [x4]\n"
        "spin: cbnz x4, spin\n"
        "    mov x5, #3\n"
        "call: svc #2\n"
        "    sub x5, x5, #1\n"
        "    cbnz x5, call\n"
        "    adr x6, odd + 2\n"
        "    br x6\n"
        "    .balign 64\n"
        "odd: nop\n"
        "    b odd\n"
        "    .ltorg\n"
        "    .balign 2048\n"
        "step_vectors:\n"
        "    .irp number, 0, 1, 2, 3, 4, 5, 6, 7\n"
        "    .balign 128\n"
        "    b vectors_el1 + 128 * \\number\n"
        "    .endr\n"
        "    .balign 128\n"
        "    stp x0, x1, [sp, #-16]!\n"
        "    mrs x0, esr_el1\n"
        "    ldr w1, =0x1fe00000\n"
        "    cmp w0, w1\n"
        "    b.ne 2f\n"
        "    mov x0, #3 << 20\n"
        "    msr cpacr_el1, x0\n"
        "    ldr x0, =n_traps\n"
        "    b 3f\n"
        "2:  ldr w1, =0x56000002\n"
        "    cmp w0, w1\n"
        "    b.ne 1f\n"
        "    ldr x0, =n_calls\n"
        "3:\n"
        "    ldr x1, [x0]\n"
        "    add x1, x1, #1\n"
        "    str x1, [x0]\n"
        "    ldp x0, x1, [sp], #16\n"
        "    eret\n"
        "1:  ldp x0, x1, [sp], #16\n"
        "    b vectors_el1 + 128 * 8\n"
        "    .irp number, 9, 10, 11, 12, 13, 14, 15\n"
        "    .balign 128\n"
        "    b vectors_el1 + 128 * \\number\n"
        "    .endr\n"
        "    .ltorg\n");

static void second(void) {
    msr(scr_el3, 0x431);
    msr(cptr_el3, 0);
    msr(mdcr_el3, 0);
    msr(cpacr_el1, 0);
    extern char vectors_el3[];
    msr(vbar_el3, vectors_el3);
    msr(vbar_el1, step_vectors);
    msr(sctlr_el1, SCTLR);
    msr(sp_el1, RAM_BASE + 0x190000);
    const outcome o = run(0x3c0 & ~0x3c0, (const void *)stepped, ROUNDS, (u64)&counter);
    last.esr = o.esr;
    last.elr = o.elr;
    dsb();
    is_done = 1;
    for (;;)
        __asm__ volatile("wfi");
}

int main(void);
int main(void) {
    for (volatile u32 i = 0; i < 100000; i++) /* a monitor has the time to attach */
        ;
    start_second(second);
    while (!is_done)
        for (volatile u32 i = 0; i < 100; i++)
            ;
    for (volatile u64 i = 0; i < lingers; i++)
        ;
    CHECK(last.esr, 0x8a000000); /* PC alignment */
    CHECK(last.elr, odd + 2);
    CHECK(counter, 0);
    CHECK(n_calls, 3);
    CHECK(n_traps, 1);
    return 0;
}
