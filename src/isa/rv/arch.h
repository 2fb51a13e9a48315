// SPDX-License-Identifier: MIT
// Names and numbers that the RISC-V manuals define: privilege modes, causes, interrupts, bits of
// registers and of page-table entries. Constants only, so that parts made for RISC-V (devices, PMU
// designs, readers, the board) may include it.
#ifndef TL_ISA_RV_ARCH_H
#define TL_ISA_RV_ARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_PRIV_U = 0, TL_PRIV_S = 1, TL_PRIV_M = 3 }; // tl_priv

// Exception causes: privileged manual, table of mcause.
enum {
    TL_CAUSE_FETCH_MISALIGNED = 0,
    TL_CAUSE_FETCH_ACCESS = 1,
    TL_CAUSE_ILLEGAL = 2,
    TL_CAUSE_BREAKPOINT = 3,
    TL_CAUSE_LOAD_MISALIGNED = 4,
    TL_CAUSE_LOAD_ACCESS = 5,
    TL_CAUSE_STORE_MISALIGNED = 6,
    TL_CAUSE_STORE_ACCESS = 7,
    TL_CAUSE_ECALL_U = 8,
    TL_CAUSE_ECALL_S = 9,
    TL_CAUSE_ECALL_M = 11,
    TL_CAUSE_FETCH_PAGE = 12,
    TL_CAUSE_LOAD_PAGE = 13,
    TL_CAUSE_STORE_PAGE = 15,
};

// Interrupt lines (tl_irq), bits of mip and mie: privileged manual, table of mcause, and Sscofpmf.
enum {
    TL_IRQ_SSI = 1,
    TL_IRQ_MSI = 3,
    TL_IRQ_STI = 5,
    TL_IRQ_MTI = 7,
    TL_IRQ_SEI = 9,
    TL_IRQ_MEI = 11,
    TL_IRQ_LCOFI = 13,
};

// mstatus, RV64: privileged manual, machine status registers.
#define TL_MSTATUS_SIE (UINT64_C(1) << 1)
#define TL_MSTATUS_MIE (UINT64_C(1) << 3)
#define TL_MSTATUS_SPIE (UINT64_C(1) << 5)
#define TL_MSTATUS_MPIE (UINT64_C(1) << 7)
#define TL_MSTATUS_SPP (UINT64_C(1) << 8)
#define TL_MSTATUS_MPP (UINT64_C(3) << 11)
enum { TL_MSTATUS_FS_LSB = 13 };
#define TL_MSTATUS_FS (UINT64_C(3) << TL_MSTATUS_FS_LSB)
#define TL_MSTATUS_MPRV (UINT64_C(1) << 17)
#define TL_MSTATUS_SUM (UINT64_C(1) << 18)
#define TL_MSTATUS_MXR (UINT64_C(1) << 19)
#define TL_MSTATUS_TVM (UINT64_C(1) << 20)
#define TL_MSTATUS_TW (UINT64_C(1) << 21)
#define TL_MSTATUS_TSR (UINT64_C(1) << 22)
#define TL_MSTATUS_UXL (UINT64_C(3) << 32)
#define TL_MSTATUS_SXL (UINT64_C(3) << 34)
#define TL_MSTATUS_SD (UINT64_C(1) << 63)
// Bits of mstatus that sstatus shows (sec. 4.1.1); it shows UXL, too, which has one value.
#define TL_SSTATUS_WRITABLE (TL_MSTATUS_SIE | TL_MSTATUS_SPIE | TL_MSTATUS_SPP | TL_MSTATUS_FS | TL_MSTATUS_SUM | TL_MSTATUS_MXR)

// Entries of page tables: privileged manual, sec. 4.3.1, 4.4.1.
enum {
    TL_PTE_V = 1 << 0,
    TL_PTE_R = 1 << 1,
    TL_PTE_W = 1 << 2,
    TL_PTE_X = 1 << 3,
    TL_PTE_U = 1 << 4,
    TL_PTE_G = 1 << 5,
    TL_PTE_A = 1 << 6,
    TL_PTE_D = 1 << 7,
    TL_PTE_PPN_LSB = 10,
};
// Bytes of pmpcfg, and what their field A says: privileged manual, sec. 3.7.1.
enum {
    TL_PMP_R = 1 << 0,
    TL_PMP_W = 1 << 1,
    TL_PMP_X = 1 << 2,
    TL_PMP_A_LSB = 3,
    TL_PMP_A_MASK = 3,
    TL_PMP_L = 1 << 7,
};
enum { TL_PMP_OFF = 0, TL_PMP_TOR = 1, TL_PMP_NA4 = 2, TL_PMP_NAPOT = 3 };
enum { TL_PMPADDR_LSB = 2 }; // pmpaddr holds bits 55:2 of an address

enum { TL_SATP_ASID_LSB = 44, TL_SATP_MODE_LSB = 60, TL_SATP_BARE = 0, TL_SATP_SV39 = 8, TL_SATP_SV48 = 9 };

// A CSR's number says who may access it: privileged manual, sec. 2.1.
static inline bool tl_csr_is_read_only(uint32_t csr) { return csr >> 10 == 3; }
static inline uint32_t tl_csr_lowest_priv(uint32_t csr) { return csr >> 8 & 3; }

#endif
