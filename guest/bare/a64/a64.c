/* SPDX-License-Identifier: MIT
 * Checks and output of bare AArch64 programs; see a64.h. */
#include "a64.h"

outcome outcome_el1, outcome_el3;
extern volatile u64 tohost;
void run_at(u64 spsr, u64 pc, u64 x0, u64 x1);
void prepare(void);

void *memcpy(void *to, const void *from, u64 n);
void *memcpy(void *to, const void *from, u64 n) {
    for (u64 i = 0; i < n; i++)
        ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}
void *memset(void *to, int byte, u64 n);
void *memset(void *to, int byte, u64 n) {
    for (u64 i = 0; i < n; i++)
        ((volatile char *)to)[i] = (char)byte;
    return to;
}

outcome run(u64 spsr, const void *code, u64 x0, u64 x1) {
    outcome_el3.el = 0;
    run_at(spsr, (u64)code, x0, x1);
    return outcome_el3.el != 0 ? outcome_el3 : outcome_el1;
}

static void put(char c) { MMIO32(UART_BASE) = (u32)(uint8_t)c; }
void finish(u64 code) {
    tohost = code << 1 | 1;
    dsb();
    for (volatile int i = 0; i < 100000; i++)
        ;
    MMIO32(POWER_BASE + 0x400) = 1;
    MMIO32(POWER_BASE + (1 << 2)) = 1;
    for (;;)
        __asm__ volatile("wfi");
}
#include "../check.inc"

void unexpected(u64 esr, u64 elr);
void unexpected(u64 esr, u64 elr) {
    print("FAILED by an exception at EL3, syndrome ");
    print_hex(esr);
    print(", at ");
    print_hex(elr);
    print("\n");
    finish(99);
}

void prepare(void) {
    is_qemu = MMIO32(RAM_BASE + 0x1ff000) == 0x756d6571;
    MMIO32(UART_BASE + 0x30) = 0x301; /* UARTEN, TXE, RXE */
    msr(scr_el3, 0x431);              /* NS, RW */
    msr(cptr_el3, 0);
    msr(cpacr_el1, 3 << 20);
    msr(sp_el0, RAM_BASE + 0x180000);
    msr(sp_el1, RAM_BASE + 0x190000);
}

void show(const char *name, u64 value) {
    print(name);
    print(" ");
    print_hex(value);
    print("\n");
}
void show_outcome(const char *name, const outcome *o, u64 pc) {
    print(name);
    print(": el");
    print_number(o->el);
    print(" vector ");
    print_number(o->vector);
    print(" esr ");
    print_hex(o->esr);
    print(" elr +");
    print_hex(o->elr - pc);
    print(" spsr ");
    print_hex(o->spsr);
    print("\n");
}

u32 scratch[1024] __attribute__((aligned(4096))); /* a page of its own */
const void *code_of(u32 insn) {
    scratch[0] = insn;
    scratch[1] = BRK_END;
    __asm__ volatile("dc cvau, %0\n dsb ish\n ic ivau, %0\n dsb ish\n isb" ::"r"(scratch) : "memory");
    return scratch;
}

u64 random_number(u64 *seed) { /* xorshift64* */
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(0x2545f4914f6cdd1d);
}
