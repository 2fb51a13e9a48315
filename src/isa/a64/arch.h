// SPDX-License-Identifier: MIT
// Names and numbers that the Arm Architecture Reference Manual for Armv8-A defines: exception
// levels, bits of FPCR and FPSR, numbers of system registers. Causes are our own numbers.
#ifndef TL_ISA_A64_ARCH_H
#define TL_ISA_A64_ARCH_H

#include <stdint.h>

enum { TL_A64_EL0 = 0, TL_A64_EL1 = 1, TL_A64_EL2 = 2, TL_A64_EL3 = 3 }; // tl_priv

// tl_hart.trap_cause. The syndrome of ESR_ELx follows from it and from tl_hart.trap_value: the
// instruction of UNDEFINED, the immediate of SVC and BRK, the address of all others.
typedef enum tl_a64_cause {
    TL_A64_CAUSE_UNDEFINED,
    TL_A64_CAUSE_SVC,
    TL_A64_CAUSE_BRK,
    TL_A64_CAUSE_PC_MISALIGNED,
    TL_A64_CAUSE_FETCH_PAGE,
    TL_A64_CAUSE_FETCH_ACCESS,
    TL_A64_CAUSE_LOAD_PAGE,
    TL_A64_CAUSE_LOAD_ACCESS,
    TL_A64_CAUSE_LOAD_MISALIGNED,
    TL_A64_CAUSE_STORE_PAGE,
    TL_A64_CAUSE_STORE_ACCESS,
    TL_A64_CAUSE_STORE_MISALIGNED,
} tl_a64_cause;

// Condition flags as they stand in tl_a64_hart.nzcv; four bits up in register NZCV.
enum { TL_A64_N = 8, TL_A64_Z = 4, TL_A64_C = 2, TL_A64_V = 1, TL_A64_NZCV_LSB = 28 };

// FPSR, D12.2: cumulative exceptions.
enum {
    TL_A64_IOC = 1 << 0, // invalid operation
    TL_A64_DZC = 1 << 1, // division by zero
    TL_A64_OFC = 1 << 2, // overflow
    TL_A64_UFC = 1 << 3, // underflow
    TL_A64_IXC = 1 << 4, // inexact
    TL_A64_IDC = 1 << 7, // a subnormal operand was flushed
    TL_A64_QC = 1 << 27, // an integer result was saturated
};
static const uint32_t TL_A64_FPSR_BITS = 0xf800009f; // 31:28 belong to AArch32 and are kept

// FPCR, D12.2. Trapping of exceptions is absent: its enables read as 0.
enum { TL_A64_RMODE_LSB = 22, TL_A64_FZ = 1 << 24, TL_A64_DN = 1 << 25, TL_A64_AHP = 1 << 26 };
// Len and Stride belong to AArch32 and are kept.
static const uint32_t TL_A64_FPCR_BITS = 0x07f70000;

// System registers that EL0 can name: op0:op1:CRn:CRm:op2.
enum {
    TL_A64_SYS_CTR = 0xd801,
    TL_A64_SYS_DCZID = 0xd807,
    TL_A64_SYS_NZCV = 0xda10,
    TL_A64_SYS_FPCR = 0xda20,
    TL_A64_SYS_FPSR = 0xda21,
    TL_A64_SYS_TPIDR = 0xde82,
    TL_A64_SYS_TPIDRRO = 0xde83,
    TL_A64_SYS_CNTFRQ = 0xdf00,
    TL_A64_SYS_CNTVCT = 0xdf02,
};

// Operations of SYS that EL0 has: op1:CRn:CRm:op2.
enum {
    TL_A64_IC_IVAU = 3 << 11 | 7 << 7 | 5 << 3 | 1,
    TL_A64_DC_ZVA = 3 << 11 | 7 << 7 | 4 << 3 | 1,
    TL_A64_DC_CVAC = 3 << 11 | 7 << 7 | 10 << 3 | 1,
    TL_A64_DC_CVAU = 3 << 11 | 7 << 7 | 11 << 3 | 1,
    TL_A64_DC_CIVAC = 3 << 11 | 7 << 7 | 14 << 3 | 1,
};
enum { TL_A64_ZVA_BYTES = 64 }; // of DC ZVA on a Cortex-A53

#endif
