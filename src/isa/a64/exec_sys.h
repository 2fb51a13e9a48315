// SPDX-License-Identifier: MIT
// Bodies of exceptions, hints, barriers and system registers as EL0 has them: insn_branch.def
// without its branches. Registers of higher exception levels are undefined here.
#ifndef TL_ISA_A64_EXEC_SYS_H
#define TL_ISA_A64_EXEC_SYS_H

#include "isa/a64/exec_mem.h"

// Bodies of rows whose bits are in imm.
static inline bool tl_a64_undefined(tl_hart *h, uint32_t bits) { return tl_trap(h, TL_A64_CAUSE_UNDEFINED, bits); }

EXEC(svc) { return tl_trap(h, TL_A64_CAUSE_SVC, (uint32_t)op->imm); }
EXEC(brk) { return tl_trap(h, TL_A64_CAUSE_BRK, (uint32_t)op->imm); }
#define ABSENT(name) \
    EXEC(name) { return tl_a64_undefined(h, tl_a64_rows[TL_A64_OPC_##name].match | (uint32_t)op->imm << 5); }
ABSENT(hvc)
ABSENT(smc)
ABSENT(hlt)
ABSENT(dcps1)
ABSENT(dcps2)
ABSENT(dcps3)
ABSENT(eret)
ABSENT(drps)
EXEC(msr_spsel) { return tl_a64_undefined(h, (uint32_t)op->imm); }
EXEC(msr_daifset) { return tl_a64_undefined(h, (uint32_t)op->imm); }
EXEC(msr_daifclr) { return tl_a64_undefined(h, (uint32_t)op->imm); }
EXEC(sysl) { return tl_a64_undefined(h, (uint32_t)op->imm); }

EXEC(hint) { return true; } // no other hart runs within a fetch run, and EL0 may always go on
EXEC(dsb) { return true; }
EXEC(dmb) { return true; }
EXEC(isb) { return true; }
EXEC(clrex) {
    h->reservation_paddr = TL_NO_LINE;
    return true;
}

// EL0 has IC IVAU, DC ZVA, CVAU, CVAC and CIVAC (manual: D7.4). Data caches are coherent, so
// cleaning one changes nothing that software sees.
EXEC(sys) {
    const uint32_t raw = (uint32_t)op->imm, number = raw >> 5 & 0x3fff;
    const uint64_t vaddr = tl_a64(h)->x[raw & 31];
    switch (number) {
    case TL_A64_IC_IVAU: h->port->drop_code(h); return true;
    case TL_A64_DC_CVAC:
    case TL_A64_DC_CVAU:
    case TL_A64_DC_CIVAC: return true;
    case TL_A64_DC_ZVA:
        for (uint64_t i = 0; i < TL_A64_ZVA_BYTES; i += 8)
            if (!tl_a64_write_more(h, (vaddr & ~(uint64_t)(TL_A64_ZVA_BYTES - 1)) + i, 8, 0, i / 8))
                return false;
        return true;
    default: return tl_a64_undefined(h, raw);
    }
}

EXEC(mrs) {
    tl_a64_hart *a = tl_a64(h);
    switch (op->imm) {
    case TL_A64_SYS_NZCV: RD = (uint64_t)a->nzcv << TL_A64_NZCV_LSB; return true;
    case TL_A64_SYS_FPCR: RD = a->fpcr; return true;
    case TL_A64_SYS_FPSR: RD = a->fpsr; return true;
    case TL_A64_SYS_TPIDR: RD = a->tpidr; return true;
    case TL_A64_SYS_TPIDRRO: RD = a->tpidrro; return true;
    case TL_A64_SYS_CTR: RD = 0x84448004; return true; // of a Cortex-A53: lines of 64 bytes
    case TL_A64_SYS_DCZID: RD = 4; return true;        // 16 words
    case TL_A64_SYS_CNTFRQ: RD = TL_TIMEBASE_HZ; return true;
    case TL_A64_SYS_CNTVCT: RD = tl_hart_time(h, h->now); return true;
    default: return tl_a64_undefined(h, tl_a64_rows[TL_A64_OPC_mrs].match | (uint32_t)op->imm << 5 | op->ra);
    }
}
EXEC(msr) {
    tl_a64_hart *a = tl_a64(h);
    const uint64_t value = RD;
    switch (op->imm) {
    case TL_A64_SYS_NZCV: a->nzcv = (uint32_t)(value >> TL_A64_NZCV_LSB) & 15; return true;
    case TL_A64_SYS_FPCR: a->fpcr = (uint32_t)value & TL_A64_FPCR_BITS; return true;
    case TL_A64_SYS_FPSR: a->fpsr = (uint32_t)value & TL_A64_FPSR_BITS; return true;
    case TL_A64_SYS_TPIDR: a->tpidr = value; return true;
    default: return tl_a64_undefined(h, tl_a64_rows[TL_A64_OPC_msr].match | (uint32_t)op->imm << 5 | op->ra);
    }
}
#undef ABSENT

#endif
