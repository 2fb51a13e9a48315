/* SPDX-License-Identifier: MIT */
/*
 * Marks regions of interest in a program: `tally stat --markers` counts each on its own.
 *
 *     #include <tally/roi.h>
 *
 *     TALLY_ROI_NAME(1, "parse");   once, if a name is wanted
 *     TALLY_ROI_START(1);
 *     parse();
 *     TALLY_ROI_STOP(1);
 *
 * Regions have numbers from 0 to 63, constants of the compiler. They may nest and overlap. A region
 * begins when START has executed and ends before STOP does. START within a begun region and STOP
 * outside of one do nothing. A region is a stretch of time: whatever runs meanwhile is in it.
 *
 * Each marker is one instruction, a hint that does nothing on hardware, in QEMU, and in tally
 * without --markers. On other machines than RISC-V, and with TALLY_NO_ROI defined, there are none.
 * The markers keep memory accesses of the program on their side.
 *
 * Works in C and C++, in programs, kernels and firmware. In other languages: slti x0, x0, 0x500 + N
 * starts region N, slti x0, x0, 0x540 + N stops it, slti x0, REGISTER, 0x580 + N names it by at most
 * 63 characters at the address in REGISTER, whose pages must have been touched.
 */
#ifndef TALLY_ROI_H
#define TALLY_ROI_H

#if defined(__riscv) && !defined(TALLY_NO_ROI)

#define TALLY_ROI_START(number) __asm__ volatile("slti zero, zero, %0" : : "i"(0x500 + ((number)&63)) : "memory")
#define TALLY_ROI_STOP(number) __asm__ volatile("slti zero, zero, %0" : : "i"(0x540 + ((number)&63)) : "memory")
#define TALLY_ROI_NAME(number, text)                                                                                 \
    do {                                                                                                             \
        const char *tally_text_ = (text);                                                                            \
        for (const volatile char *tally_at_ = tally_text_; *tally_at_; tally_at_++) { /* the pages are there then */ \
        }                                                                                                            \
        __asm__ volatile("slti zero, %1, %0" : : "i"(0x580 + ((number)&63)), "r"(tally_text_) : "memory");           \
    } while (0)

#else

#define TALLY_ROI_START(number) ((void)(number))
#define TALLY_ROI_STOP(number) ((void)(number))
#define TALLY_ROI_NAME(number, text) ((void)(number), (void)(text))

#endif

#endif
