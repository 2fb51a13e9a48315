// SPDX-License-Identifier: MIT
// Marked regions with a known number of instructions in machine mode, and with -DKERNEL in a
// kernel: the header of a RISC-V Linux Image, then supervisor mode with a page table. Built by
// run.py without a C library.
#include <stdint.h>
#include <tally/roi.h>

#ifdef KERNEL
__asm__(".text\n"
        ".option push\n.option norvc\n"
        ".globl _start\n_start: j begin\n .word 0\n"
        ".dword 0x200000, 0x200000, 0\n" // where in RAM, how much of it, flags
        ".word 2, 0\n.dword 0, 0x5643534952\n.word 0x05435352, 0\n"
        ".option pop\n"
        "begin: la sp, stack_end\n call mark_regions\n"
        "li a7, 0x53525354\n li a6, 0\n li a0, 0\n li a1, 0\n ecall\n" // SRST: power off
        "1: wfi\n j 1b\n");
#else
__asm__(".text\n"
        ".globl _start\n_start: csrr t0, mhartid\n bnez t0, 1f\n la sp, stack_end\n call mark_regions\n"
        "li t0, 0x100000\n li t1, 0x5555\n sw t1, (t0)\n" // the board's finisher: success
        "1: wfi\n j 1b\n");
#endif
__asm__(".data\n.balign 16\n.space 4096\nstack_end:\n.text\n");

// A call: one instruction for the argument, one to get there, three for each round, one to return.
__asm__("rounds:\n\tadd a1, a1, a0\n\taddi a0, a0, -1\n\tbnez a0, rounds\n\tret\n");
#define CALL(n) __asm__ volatile("li a0, %0\n\tjal rounds" : : "i"(n) : "a0", "a1", "ra", "memory")

static const char outer[] = "outer";

// Name of the first region. With a page table: an address without RAM when the table is off.
static const char *name_of_outer(void) {
#ifdef KERNEL
    // Sv39, pages of 1 GiB: RAM at its own address, and once more at 1 GiB. V, R, W, X, A, D.
    static uint64_t table[512] __attribute__((aligned(4096)));
    table[1] = table[2] = 0x80000000 >> 12 << 10 | 0xcf;
    uint64_t satp = UINT64_C(8) << 60 | (uint64_t)(uintptr_t)table >> 12;
    __asm__ volatile("csrw satp, %0\n\tsfence.vma" : : "r"(satp) : "memory");
    return outer - 0x40000000;
#else
    return outer;
#endif
}

void mark_regions(void);
void mark_regions(void) {
    const char *name = name_of_outer();
    TALLY_ROI_NAME(1, name);
    for (int i = 0; i < 3; i++) {
        TALLY_ROI_START(1);
        CALL(10);
        TALLY_ROI_START(2);
        CALL(5);
        TALLY_ROI_STOP(2);
        CALL(3);
        TALLY_ROI_STOP(1);
        TALLY_ROI_START(63);
        TALLY_ROI_STOP(63);
    }
}
