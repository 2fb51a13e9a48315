// SPDX-License-Identifier: MIT
// Bodies of exceptions, hints, barriers and system registers: insn_branch.def without its branches.
#ifndef TL_ISA_A64_EXEC_SYS_H
#define TL_ISA_A64_EXEC_SYS_H

#include "isa/a64/debug.h"
#include "isa/a64/debug_execute.h"
#include "isa/a64/exec_mem.h"
#include "isa/a64/pstate.h"
#include "isa/a64/sysop.h"
#include "isa/a64/sysreg.h"

EXEC(svc) { return tl_trap(h, TL_A64_CAUSE_SVC, (uint32_t)op->imm); }
EXEC(brk) { return tl_trap(h, TL_A64_CAUSE_BRK, (uint32_t)op->imm); }
#define BITS_OF(name) (tl_a64_rows[TL_A64_OPC_##name].match | (uint32_t)op->imm << 5)
EXEC(hvc) { return tl_a64_undefined(h, BITS_OF(hvc)); } // EL2 is absent
EXEC(hlt) {
    if (!tl_a64_halts_on_hlt(h))
        return tl_a64_undefined(h, BITS_OF(hlt));
    return tl_trap(h, TL_A64_CAUSE_HLT, (uint32_t)op->imm);
}
EXEC(dcps1) { return tl_a64_dcps(h, TL_A64_EL1, BITS_OF(dcps1)); }
EXEC(dcps2) { return tl_a64_dcps(h, TL_A64_EL2, BITS_OF(dcps2)); }
EXEC(dcps3) { return tl_a64_dcps(h, TL_A64_EL3, BITS_OF(dcps3)); }
EXEC(drps) { return tl_a64_drps(h, tl_a64_rows[TL_A64_OPC_drps].match); }
EXEC(smc) {
    const bool is_disabled = tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_SMD;
    if (h->priv == TL_A64_EL0 || is_disabled)
        return tl_a64_undefined(h, tl_a64_rows[TL_A64_OPC_smc].match | (uint32_t)op->imm << 5);
    return tl_trap(h, TL_A64_CAUSE_SMC, (uint32_t)op->imm);
}
EXEC(eret) {
    if (h->priv == TL_A64_EL0)
        return tl_a64_undefined(h, tl_a64_rows[TL_A64_OPC_eret].match);
    tl_a64_return(h);
    return true;
}

// MSR of a field of PSTATE; the value stands in bits 11:8.
#define PSTATE_VALUE ((uint32_t)op->imm >> 8 & 15)
EXEC(msr_spsel) {
    if (h->priv == TL_A64_EL0)
        return tl_a64_undefined(h, (uint32_t)op->imm);
    tl_a64_select_sp(h, h->priv, PSTATE_VALUE & 1);
    return true;
}
static inline bool tl_a64_may_mask(const tl_hart *h) {
    return h->priv != TL_A64_EL0 || (tl_a64(h)->sys.reg[TL_A64_R_SCTLR_EL1] & TL_A64_SCTLR_UMA);
}
EXEC(msr_daifset) {
    if (!tl_a64_may_mask(h))
        return tl_a64_trap_system(h, TL_A64_EL1, (uint32_t)op->imm);
    tl_a64_set_daif(h, tl_a64(h)->sys.daif | PSTATE_VALUE << 6);
    return true;
}
EXEC(msr_daifclr) {
    if (!tl_a64_may_mask(h))
        return tl_a64_trap_system(h, TL_A64_EL1, (uint32_t)op->imm);
    tl_a64_set_daif(h, tl_a64(h)->sys.daif & ~(PSTATE_VALUE << 6));
    return true;
}
#undef PSTATE_VALUE
EXEC(sysl) { return tl_a64_undefined(h, (uint32_t)op->imm); }

EXEC(hint) { return tl_a64_hint(h, (uint32_t)op->imm); }
EXEC(dsb) { return true; } // harts take turns, so memory is always in order
EXEC(dmb) { return true; }
EXEC(isb) { return true; }
EXEC(clrex) {
    h->reservation_paddr = TL_NO_LINE;
    tl_a64(h)->sys.is_exclusive = false;
    return true;
}

EXEC(sys) {
    const uint32_t raw = (uint32_t)op->imm;
    return tl_a64_sys(h, raw, tl_a64(h)->x[raw & 31]);
}

EXEC(mrs) {
    const uint32_t number = (uint32_t)op->imm;
    if (!tl_a64_sysreg_permits(h, number, true, tl_a64_rows[TL_A64_OPC_mrs].match | number << 5 | op->ra))
        return false;
    RD = tl_a64_sysreg_value(h, number);
    return true;
}
EXEC(msr) {
    const uint32_t number = (uint32_t)op->imm;
    if (!tl_a64_sysreg_permits(h, number, false, tl_a64_rows[TL_A64_OPC_msr].match | number << 5 | op->ra))
        return false;
    tl_a64_sysreg_set(h, number, RD);
    return true;
}
#undef BITS_OF

#endif
