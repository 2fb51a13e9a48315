/* SPDX-License-Identifier: MIT
 *
 * What bare AArch64 programs share. A program is main() on hart 0 at EL3, without translation. Each
 * CHECK site has a number; sites that fail print one line with what was expected, and the run's
 * status is the number of the first of them. The address map is that of QEMU's `virt` with secure=on
 * and 2 GiB of RAM, whose console must say the same. */
#ifndef A64_H
#define A64_H

#include "../check.h"

#define UART_BASE UINT64_C(0x9000000)
#define GICD_BASE UINT64_C(0x8000000)
#define GICC_BASE UINT64_C(0x8010000)
#define POWER_BASE UINT64_C(0x90b0000)
#define RAM_BASE UINT64_C(0x80000000)
#define MMIO32(address) (*(volatile u32 *)(address))
#define MMIO8(address) (*(volatile uint8_t *)(address))

#define STRING_OF(x) #x
#define mrs(reg)                                                              \
    ({                                                                        \
        u64 value_;                                                           \
        __asm__ volatile("mrs %0, " STRING_OF(reg) : "=r"(value_)::"memory"); \
        value_;                                                               \
    })
#define msr(reg, v) ({ __asm__ volatile("msr " STRING_OF(reg) ", %0\n isb" ::"r"((u64)(v)) : "memory"); })
#define isb() __asm__ volatile("isb" ::: "memory")
#define dsb() __asm__ volatile("dsb sy" ::: "memory")
#define tlbi_all() __asm__ volatile("dsb sy\n tlbi alle1\n tlbi vmalle1\n tlbi alle3\n dsb sy\n isb" ::: "memory")

/* What an exception left behind. el: the level that took it; vector: the number of its vector, 0 to
 * 15. */
typedef struct outcome {
    u64 el, vector, esr, elr, spsr, far, x[4];
} outcome;
/* Leaves EL3 by ERET with this SPSR, and returns what the next exception left behind. */
outcome run(u64 spsr, const void *code, u64 x0, u64 x1);
enum { EL0T = 0x3c0, EL1T = 0x3c4, EL1H = 0x3c5, EL3T = 0x3cc, EL3H = 0x3cd };
enum { SPSR_D = 0x200, SPSR_A = 0x100, SPSR_I = 0x80, SPSR_F = 0x40, SPSR_IL = 1 << 20 };

void show(const char *name, u64 value);                        /* "name 0x..." on a line of its own */
void show_outcome(const char *name, const outcome *o, u64 pc); /* elr relative to pc */

/* QEMU 7.2 is wrong here; a comment says where the manual says it. */
#define CHECK_BUT_QEMU(got, want)                                                          \
    ({                                                                                     \
        u64 got_ = (u64)(got);                                                             \
        check(__COUNTER__ + 1, __LINE__, #got, is_qemu ? (u64)(want) : got_, (u64)(want)); \
    })

/* One instruction and a BRK behind it, somewhere that every level may execute. */
const void *code_of(u32 insn);
extern u32 scratch[1024]; /* the page where it stands */
enum { BRK_END = 0xd4200000 | 0x777 << 5 };

/* A sequence of numbers that is the same everywhere. */
u64 random_number(u64 *seed);
#endif
