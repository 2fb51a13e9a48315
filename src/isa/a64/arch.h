// SPDX-License-Identifier: MIT
// Names and numbers of the Arm Architecture Reference Manual for Armv8-A: exception levels, bits of
// registers, numbers of system registers. Causes are our own numbers.
#ifndef TL_ISA_A64_ARCH_H
#define TL_ISA_A64_ARCH_H

#include <stdint.h>

enum { TL_A64_EL0 = 0, TL_A64_EL1 = 1, TL_A64_EL2 = 2, TL_A64_EL3 = 3 }; // tl_priv

// tl_hart.trap_cause. The syndrome of ESR_ELx follows from it and from tl_hart.trap_value.
// trap_value of UNDEFINED is the instruction, and that of SVC, SMC and BRK the immediate. TRAPPED
// has TL_A64_TRAPPED. All other causes have an address.
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
    TL_A64_CAUSE_SMC,
    TL_A64_CAUSE_TRAPPED, // an instruction that a control register traps, or an illegal state
    TL_A64_CAUSE_SP_MISALIGNED,
    // Cache maintenance by address, without a page or the right to it: to read it, or to write it.
    TL_A64_CAUSE_CACHE_PAGE,
    TL_A64_CAUSE_CACHE_STORE_PAGE,
    // Debug events. trap_value: the address of a watchpoint.
    TL_A64_CAUSE_BREAKPOINT,
    TL_A64_CAUSE_WATCH_LOAD,
    TL_A64_CAUSE_WATCH_STORE,
    TL_A64_CAUSE_SOFTWARE_STEP, // trap_value: TL_A64_STEP_* of the syndrome
    TL_A64_CAUSE_HLT,
    TL_A64_CAUSE_SOFTWARE_ACCESS, // of a debug register, while EDSCR.TDA is set
} tl_a64_cause;

// trap_value of TL_A64_CAUSE_TRAPPED: the syndrome, and the least exception level that takes it.
static const uint64_t TL_A64_TRAPPED_SYNDROME = 0xffffffff;
enum { TL_A64_TRAPPED_EL_LSB = 32 };
static inline uint64_t tl_a64_trapped(uint32_t el, uint32_t syndrome) { return (uint64_t)el << TL_A64_TRAPPED_EL_LSB | syndrome; }

// ESR_ELx, D12.2.36: classes of exceptions, and the bits beside them.
enum {
    TL_A64_EC_UNKNOWN = 0x00,
    TL_A64_EC_WFX = 0x01,
    TL_A64_EC_FP = 0x07,
    TL_A64_EC_ILLEGAL_STATE = 0x0e,
    TL_A64_EC_SVC = 0x15,
    TL_A64_EC_SMC = 0x17,
    TL_A64_EC_SYSTEM_REGISTER = 0x18,
    TL_A64_EC_FETCH_ABORT = 0x20, // from a lower level; +1: from the level that takes it
    TL_A64_EC_PC_ALIGNMENT = 0x22,
    TL_A64_EC_DATA_ABORT = 0x24, // +1 as above
    TL_A64_EC_SP_ALIGNMENT = 0x26,
    TL_A64_EC_SERROR = 0x2f,
    TL_A64_EC_BREAKPOINT = 0x30, // from a lower level; +1: from the level that takes it
    TL_A64_EC_SOFTWARE_STEP = 0x32,
    TL_A64_EC_WATCHPOINT = 0x34,
    TL_A64_EC_BRK = 0x3c,
    TL_A64_EC_LSB = 26,
    TL_A64_ESR_IL = 1 << 25,
    TL_A64_ISS_WNR = 1 << 6,
    TL_A64_ISS_CM = 1 << 8,
};
static inline uint32_t tl_a64_syndrome(uint32_t ec, uint32_t iss) { return ec << TL_A64_EC_LSB | TL_A64_ESR_IL | iss; }

// DFSC and IFSC of aborts; the level of the walk in bits 1:0 where it says "level".
enum {
    TL_A64_FSC_ADDRESS_SIZE = 0x00, // level
    TL_A64_FSC_TRANSLATION = 0x04,  // level
    TL_A64_FSC_ACCESS_FLAG = 0x08,  // level
    TL_A64_FSC_PERMISSION = 0x0c,   // level
    TL_A64_FSC_EXTERNAL = 0x10,
    TL_A64_FSC_EXTERNAL_WALK = 0x14, // level
    TL_A64_FSC_ALIGNMENT = 0x21,
    TL_A64_FSC_DEBUG = 0x22,
};

// PSTATE as SPSR_ELx has it, C5.2.18.
enum {
    TL_A64_SPSR_SP = 1 << 0,
    TL_A64_SPSR_EL_LSB = 2,
    TL_A64_SPSR_AARCH32 = 1 << 4,
    TL_A64_SPSR_F = 1 << 6,
    TL_A64_SPSR_I = 1 << 7,
    TL_A64_SPSR_A = 1 << 8,
    TL_A64_SPSR_D = 1 << 9,
    TL_A64_SPSR_IL = 1 << 20,
    TL_A64_SPSR_SS = 1 << 21,
    TL_A64_DAIF = 0xf << 6,
};

// Interrupt lines of a hart (tl_irq).
enum { TL_A64_IRQ = 0, TL_A64_FIQ = 1, TL_A64_SERROR = 2, TL_A64_HALT = 3 }; // HALT: debug.h
// Interrupts of the performance monitors and of the generic timer at the interrupt controller, as
// QEMU's virt board wires them.
enum { TL_A64_INTID_PMU = 23 };
enum { TL_A64_INTID_CNTV = 27, TL_A64_INTID_CNTPS = 29, TL_A64_INTID_CNTP = 30 };

// SCTLR_EL1, D12.2.100; SCTLR_EL3 has M, A, C, SA, I and WXN of them.
enum {
    TL_A64_SCTLR_M = 1 << 0,
    TL_A64_SCTLR_A = 1 << 1,
    TL_A64_SCTLR_C = 1 << 2,
    TL_A64_SCTLR_SA = 1 << 3,
    TL_A64_SCTLR_SA0 = 1 << 4,
    TL_A64_SCTLR_UMA = 1 << 9,
    TL_A64_SCTLR_I = 1 << 12,
    TL_A64_SCTLR_DZE = 1 << 14,
    TL_A64_SCTLR_UCT = 1 << 15,
    TL_A64_SCTLR_NTWI = 1 << 16,
    TL_A64_SCTLR_NTWE = 1 << 18,
    TL_A64_SCTLR_WXN = 1 << 19,
    TL_A64_SCTLR_UCI = 1 << 26,
};
// SCR_EL3, D12.2.98.
enum {
    TL_A64_SCR_NS = 1 << 0,
    TL_A64_SCR_IRQ = 1 << 1,
    TL_A64_SCR_FIQ = 1 << 2,
    TL_A64_SCR_EA = 1 << 3,
    TL_A64_SCR_SMD = 1 << 7,
    TL_A64_SCR_ST = 1 << 11,
    TL_A64_SCR_TWI = 1 << 12,
    TL_A64_SCR_TWE = 1 << 13,
};
static const uint64_t TL_A64_CPTR_TCPAC = UINT64_C(1) << 31, TL_A64_CPTR_TFP = 1 << 10;
enum { TL_A64_CPACR_FPEN_LSB = 20 };
// MDCR_EL3, D12.3.
enum {
    TL_A64_MDCR_TPM = 1 << 6,
    TL_A64_MDCR_TDA = 1 << 9,
    TL_A64_MDCR_TDOSA = 1 << 10,
    TL_A64_MDCR_SDD = 1 << 16,
    TL_A64_MDCR_SPME = 1 << 17,
    TL_A64_MDCR_EDAD = 1 << 20,
    TL_A64_MDCR_EPMAD = 1 << 21,
};
// MDSCR_EL1, D12.3; EDSCR has RXfull to TDA, HDE and ERR, too.
enum {
    TL_A64_MDSCR_SS = 1 << 0,
    TL_A64_MDSCR_ERR = 1 << 6,
    TL_A64_MDSCR_TDCC = 1 << 12,
    TL_A64_MDSCR_KDE = 1 << 13,
    TL_A64_MDSCR_HDE = 1 << 14,
    TL_A64_MDSCR_MDE = 1 << 15,
};
enum { TL_A64_OSLSR_OSLK = 1 << 1, TL_A64_STEP_ISV = 1 << 24, TL_A64_STEP_EX = 1 << 6 };
enum { TL_A64_DBGAUTHSTATUS_NSNID_LSB = 2, TL_A64_DBGAUTHSTATUS_SNID_LSB = 6 };
// TCR_EL1 and TCR_EL3, D12.2.105.
enum { TL_A64_TCR_T0SZ_LSB = 0, TL_A64_TCR_EPD0 = 1 << 7, TL_A64_TCR_TG0_LSB = 14, TL_A64_TCR_T1SZ_LSB = 16, TL_A64_TCR_A1 = 1 << 22 };
enum { TL_A64_TCR_EPD1 = 1 << 23, TL_A64_TCR_TG1_LSB = 30, TL_A64_TCR_IPS_LSB = 32, TL_A64_TCR_TBI0_LSB = 37, TL_A64_TCR_TBI1_LSB = 38 };
enum { TL_A64_TCR_IRGN0_LSB = 8, TL_A64_TCR_IRGN1_LSB = 24, TL_A64_TCR_AS_LSB = 36 };
enum { TL_A64_TCR3_PS_LSB = 16, TL_A64_TCR3_TBI_LSB = 20 };
// CNTKCTL_EL1 and CNTx_CTL, D12.8.
enum { TL_A64_CNTKCTL_EL0PCTEN = 1, TL_A64_CNTKCTL_EL0VCTEN = 2, TL_A64_CNTKCTL_EL0VTEN = 1 << 8, TL_A64_CNTKCTL_EL0PTEN = 1 << 9 };
enum { TL_A64_CNT_ENABLE = 1, TL_A64_CNT_IMASK = 2, TL_A64_CNT_ISTATUS = 4 };

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

// Numbers of system registers, op0:op1:CRn:CRm:op2, that code names without the table.
enum { TL_A64_SYS_NZCV = 0xda10, TL_A64_SYS_FPCR = 0xda20, TL_A64_SYS_FPSR = 0xda21 };
enum { TL_A64_DC_ZVA = 3 << 11 | 7 << 7 | 4 << 3 | 1 }; // op1:CRn:CRm:op2 of SYS
// Bytes of DC ZVA and widths of addresses are those of a Cortex-A53.
enum { TL_A64_ZVA_BYTES = 64, TL_A64_PA_BITS = 40, TL_A64_VA_BITS = 48 };

#endif
