// SPDX-License-Identifier: MIT
// Marked regions with a known number of instructions, for the tests of --markers. Built by run.py.
#include <stdio.h>
#include <tally/roi.h>

// A call: one instruction for the argument, one to get there, three for each round, one to return.
__asm__(".text\n.globl rounds\nrounds:\n\tadd a1, a1, a0\n\taddi a0, a0, -1\n\tbnez a0, rounds\n\tret\n");
#define CALL(n) __asm__ volatile("li a0, %0\n\tjal rounds" : : "i"(n) : "a0", "a1", "ra", "memory")

__attribute__((noinline)) static void work(void) { __asm__ volatile(""); }

int main(void) {
    TALLY_ROI_NAME(1, "outer");
    TALLY_ROI_NAME(5, "odd \"name\"\xff");
    for (int i = 0; i < 3; i++) {
        TALLY_ROI_START(1);
        CALL(10);
        TALLY_ROI_START(2);
        TALLY_ROI_START(1);
        CALL(5);
        TALLY_ROI_STOP(1);
        CALL(3);
        TALLY_ROI_STOP(2);
        TALLY_ROI_STOP(2);
        TALLY_ROI_START(5);
        TALLY_ROI_STOP(5);
    }
    for (int i = 0; i < 13; i++)
        work();
    TALLY_ROI_START(63);
    __asm__ volatile("nop");
    TALLY_ROI_STOP(63);
    puts("done");
    return 0;
}
