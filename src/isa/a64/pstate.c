// SPDX-License-Identifier: MIT
// PSTATE, stack pointers, and the return from an exception.
#include "isa/a64/pstate.h"

#include "isa/a64/debug.h"
#include "isa/a64/regime.h"

static uint32_t sp_in_use(const tl_hart *h) { return tl_a64(h)->sys.has_own_sp ? h->priv : TL_A64_EL0; }

uint64_t tl_a64_sp(const tl_hart *h, uint32_t el) { return sp_in_use(h) == el ? tl_a64(h)->x[TL_A64_SP] : tl_a64(h)->sys.sp[el]; }

void tl_a64_set_sp(tl_hart *h, uint32_t el, uint64_t value) {
    if (sp_in_use(h) == el)
        tl_a64(h)->x[TL_A64_SP] = value;
    else
        tl_a64(h)->sys.sp[el] = value;
}

void tl_a64_select_sp(tl_hart *h, uint32_t el, bool has_own_sp) {
    tl_a64_hart *a = tl_a64(h);
    a->sys.sp[sp_in_use(h)] = a->x[TL_A64_SP];
    a->sys.has_own_sp = has_own_sp;
    a->x[TL_A64_SP] = a->sys.sp[has_own_sp ? el : TL_A64_EL0];
}

void tl_a64_set_daif(tl_hart *h, uint32_t daif) {
    tl_a64(h)->sys.daif = daif;
    if (tl_hart_pending(h) != 0)
        tl_hart_stop_soon(h);
}

uint64_t tl_a64_pstate(const tl_hart *h) {
    const tl_a64_hart *a = tl_a64(h);
    return (uint64_t)a->nzcv << TL_A64_NZCV_LSB | (a->sys.is_illegal ? (uint64_t)TL_A64_SPSR_IL : 0) | a->sys.daif |
           (a->sys.is_stepped ? (uint64_t)TL_A64_SPSR_SS : 0) | (uint64_t)h->priv << TL_A64_SPSR_EL_LSB | a->sys.has_own_sp;
}

bool tl_a64_trap_fp(tl_hart *h) {
    enum { COND_AL = 1 << 24 | 14 << 20 }; // ISS of an instruction of A64: CV, COND
    return tl_trap(h, TL_A64_CAUSE_TRAPPED, tl_a64_trapped(tl_a64(h)->sys.fp_trap_el, tl_a64_syndrome(TL_A64_EC_FP, COND_AL)));
}

// D1.11.4: whether the level and the stack pointer that SPSR_ELx names can be returned to. AArch32
// and EL2 are absent.
static bool is_legal_return(const tl_hart *h, uint64_t spsr) {
    const uint32_t el = (uint32_t)(spsr >> TL_A64_SPSR_EL_LSB) & 3;
    if ((spsr & TL_A64_SPSR_AARCH32) || (spsr & 2) || el == TL_A64_EL2 || el > h->priv)
        return false;
    return el != TL_A64_EL0 || !(spsr & TL_A64_SPSR_SP);
}

uint32_t tl_a64_set_pstate(tl_hart *h, uint64_t spsr) {
    tl_a64_hart *a = tl_a64(h);
    const bool is_legal = is_legal_return(h, spsr);
    const uint32_t el = is_legal ? (uint32_t)(spsr >> TL_A64_SPSR_EL_LSB) & 3 : h->priv;
    a->sys.is_stepped = tl_a64_step_of_return(h, el, spsr);
    a->nzcv = (uint32_t)(spsr >> TL_A64_NZCV_LSB) & 15;
    a->sys.daif = (uint32_t)spsr & TL_A64_DAIF;
    a->sys.is_illegal = !is_legal || (spsr & TL_A64_SPSR_IL);
    if (is_legal) {
        tl_a64_select_sp(h, el, spsr & TL_A64_SPSR_SP);
        h->pc = tl_a64_untag_for(h, el, h->pc);
    }
    return el;
}

void tl_a64_return(tl_hart *h) {
    tl_a64_hart *a = tl_a64(h);
    const bool is_el3 = h->priv == TL_A64_EL3;
    h->pc = a->sys.reg[is_el3 ? TL_A64_R_ELR_EL3 : TL_A64_R_ELR_EL1];
    h->new_priv = tl_a64_set_pstate(h, a->sys.reg[is_el3 ? TL_A64_R_SPSR_EL3 : TL_A64_R_SPSR_EL1]);
    a->sys.has_event = true;
    h->reservation_paddr = TL_NO_LINE;
    h->changes_priv = h->has_after = true;
}
