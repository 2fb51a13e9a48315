// SPDX-License-Identifier: MIT
// A RISC-V hart: the state that an instruction can name, behind what every hart has (model/hart.h).
#ifndef TL_ISA_RV_HART_H
#define TL_ISA_RV_HART_H

#include "isa/rv/arch.h"
#include "model/hart.h"
#include "model/isa.h"
#include "model/regmap.h"

enum { TL_N_PMP = 16, TL_PMP_GRAIN = 10 }; // entries; G of sec. 3.7.1: ranges are whole pages

// Machine- and supervisor-level registers of the core itself. isa/rv/csr.c says what may stand in
// them and is the only writer. Pending and enabled interrupts are tl_hart's, satp is
// tl_hart.context. Counters and what gates them belong to a PMU.
typedef struct tl_privileged {
    uint64_t mstatus;
    uint64_t medeleg, mideleg;
    uint64_t mtvec, mscratch, mepc, mcause, mtval, menvcfg;
    uint64_t stvec, sscratch, sepc, scause, stval, senvcfg;
    uint64_t pmpaddr[TL_N_PMP];
    uint8_t pmpcfg[TL_N_PMP];
    uint32_t pmp_generation; // grows with every change of a pmp register
} tl_privileged;

enum { TL_N_CSRS = 4096, TL_MAX_CSR_ROUTES = 255 };
typedef struct tl_csr_route { // a register that a PMU answers for
    const tl_pmu_port *port;
    tl_reg_at at;
} tl_csr_route;

typedef struct tl_rv_hart {
    tl_hart hart;
    uint64_t x[33]; // x[0] is always 0; instructions that write x0 are decoded to write x[32]
    uint64_t f[32]; // single precision is NaN-boxed
    tl_privileged csr;
    uint8_t frm; // rounding mode
    // Accrued exceptions. While a front-end runs, part of them may be in the host's FP unit
    // (isa/rv/fp.h).
    uint8_t fflags;
    uint8_t asid_bits;            // of satp, 0 to 16; the board sets it
    uint8_t csr_route[TL_N_CSRS]; // by number: 1 + index in csr_routes; 0: none
    tl_csr_route csr_routes[TL_MAX_CSR_ROUTES];
} tl_rv_hart;

TL_ALWAYS_INLINE tl_rv_hart *tl_rv_of(tl_hart *h) { return (tl_rv_hart *)(void *)h; }
TL_ALWAYS_INLINE const tl_rv_hart *tl_rv_of_const(const tl_hart *h) { return (const tl_rv_hart *)(const void *)h; }
// The RISC-V hart that `h` is the beginning of, const as `h` is.
#define tl_rv(h) _Generic((h), const tl_hart * : tl_rv_of_const, default : tl_rv_of)(h)

extern const tl_isa tl_isa_rv64;

#endif
