// SPDX-License-Identifier: MIT
// Instructions of EDITR: debug_execute.h. They are not fetched and do not retire. Their loads and
// stores go through the caches of the core, as do their walks.
#include "isa/a64/debug_execute.h"

#include "isa/a64/debug.h"
#include "isa/a64/exception.h"
#include "isa/a64/insn.h"
#include "isa/a64/pstate.h"
#include "isa/a64/regime.h"
#include "isa/a64/sysop.h"
#include "isa/a64/sysreg.h"

// -- Instructions by what Debug state makes of them (H2.4.3).

typedef enum verdict { UNCHANGED, UNPREDICTABLE, NEVER } verdict;

static bool is_in(uint16_t opc, uint16_t first, uint16_t last) { return opc >= first && opc <= last; }

// Loads and stores of one register with a 9-bit offset, unprivileged ones, and ordered and
// exclusive ones.
static bool is_plain_access(uint16_t opc) {
    if (is_in(opc, TL_A64_OPC_stxr_b, TL_A64_OPC_ldaxp_x))
        return true;
    const uint16_t format = tl_a64_rows[opc].format;
    switch (format) {
    case TL_A64_FORMAT_M_S9_W:
    case TL_A64_FORMAT_M_S9_X:
    case TL_A64_FORMAT_M_S9_B:
    case TL_A64_FORMAT_M_S9_H:
    case TL_A64_FORMAT_M_S9_S:
    case TL_A64_FORMAT_M_S9_D:
    case TL_A64_FORMAT_M_S9_Q:
    case TL_A64_FORMAT_M_POST_W:
    case TL_A64_FORMAT_M_POST_X:
    case TL_A64_FORMAT_M_POST_B:
    case TL_A64_FORMAT_M_POST_H:
    case TL_A64_FORMAT_M_POST_S:
    case TL_A64_FORMAT_M_POST_D:
    case TL_A64_FORMAT_M_POST_Q:
    case TL_A64_FORMAT_M_PRE_W:
    case TL_A64_FORMAT_M_PRE_X:
    case TL_A64_FORMAT_M_PRE_B:
    case TL_A64_FORMAT_M_PRE_H:
    case TL_A64_FORMAT_M_PRE_S:
    case TL_A64_FORMAT_M_PRE_D:
    case TL_A64_FORMAT_M_PRE_Q: return true;
    default: return false;
    }
}

// MRS and MSR of PSTATE are not among those that Debug state keeps.
static bool is_pstate_register(uint32_t number) {
    return number == TL_A64_SYSREG_NUMBER(3, 3, 4, 2, 0) || number == TL_A64_SYSREG_NUMBER(3, 3, 4, 2, 1) ||
           number == TL_A64_SYSREG_NUMBER(3, 0, 4, 2, 0) || number == TL_A64_SYSREG_NUMBER(3, 0, 4, 2, 2);
}

static verdict verdict_of_hint(uint32_t bits) {
    if (tl_a64_is_wait(bits))
        return NEVER;
    return UNCHANGED;
}

static verdict verdict_of(const tl_a64_decoded *insn) {
    const uint16_t opc = insn->opc;
    enum { SP = 31 };
    switch (opc) {
    case TL_A64_OPC_UNDEFINED:
    case TL_A64_OPC_dcps1:
    case TL_A64_OPC_dcps2:
    case TL_A64_OPC_dcps3:
    case TL_A64_OPC_drps:
    case TL_A64_OPC_movn_w:
    case TL_A64_OPC_movz_w:
    case TL_A64_OPC_movk_w:
    case TL_A64_OPC_movn_x:
    case TL_A64_OPC_movz_x:
    case TL_A64_OPC_movk_x:
    case TL_A64_OPC_clrex:
    case TL_A64_OPC_dsb:
    case TL_A64_OPC_dmb:
    case TL_A64_OPC_isb:
    case TL_A64_OPC_sys:
    case TL_A64_OPC_sysl:
    case TL_A64_OPC_fmov_w_s:
    case TL_A64_OPC_fmov_s_w:
    case TL_A64_OPC_fmov_x_d:
    case TL_A64_OPC_fmov_d_x:
    case TL_A64_OPC_fmov_x_top:
    case TL_A64_OPC_fmov_top_x:
    case TL_A64_OPC_umov_w:
    case TL_A64_OPC_umov_x:
    case TL_A64_OPC_ins_gen: return UNCHANGED;
    // MOV to and from the stack pointer.
    case TL_A64_OPC_add_imm_w:
    case TL_A64_OPC_add_imm_x: return insn->imm == 0 && (insn->rd == SP || insn->rn == SP) ? UNCHANGED : UNPREDICTABLE;
    case TL_A64_OPC_mrs:
    case TL_A64_OPC_msr: return is_pstate_register((uint32_t)insn->imm) ? UNPREDICTABLE : UNCHANGED;
    case TL_A64_OPC_hint: return verdict_of_hint((uint32_t)insn->imm);
    // An exception or a wait would leave Debug state, or never end it.
    case TL_A64_OPC_svc:
    case TL_A64_OPC_hvc:
    case TL_A64_OPC_smc:
    case TL_A64_OPC_brk:
    case TL_A64_OPC_hlt:
    case TL_A64_OPC_eret: return NEVER;
    default: break;
    }
    if (is_plain_access(opc))
        return UNCHANGED;
    return tl_a64_exec_full[opc] ? UNPREDICTABLE : NEVER; // NEVER: branches
}

// -- Execution.

static void lose(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    d->dlr = TL_A64_UNKNOWN;
    d->dspsr = (uint32_t)TL_A64_UNKNOWN;
}

static void go_to(tl_hart *h, uint32_t el) {
    const uint32_t old_el = h->priv;
    tl_a64_select_sp(h, el, true);
    tl_hart_set_priv(h, el);
    tl_a64_el_changed(h, old_el);
}

static void lose_return(tl_hart *h) {
    uint64_t *reg = tl_a64(h)->sys.reg;
    const bool is_el3 = h->priv == TL_A64_EL3;
    reg[is_el3 ? TL_A64_R_ELR_EL3 : TL_A64_R_ELR_EL1] = TL_A64_UNKNOWN;
    reg[is_el3 ? TL_A64_R_SPSR_EL3 : TL_A64_R_SPSR_EL1] = (uint32_t)TL_A64_UNKNOWN;
}

// H2.4.6: no vector is entered.
static void take_exception(tl_hart *h) {
    const uint32_t el = tl_a64_describe_trap(h, !tl_a64_secure_debug_disabled(h));
    go_to(h, el);
    lose_return(h);
    lose(h);
    tl_a64(h)->debug.edscr |= TL_A64_EDSCR_ERR;
}

bool tl_a64_dcps(tl_hart *h, uint32_t el, uint32_t bits) {
    if (!h->is_halted || el == TL_A64_EL2 || (el == TL_A64_EL3 && tl_a64_secure_debug_disabled(h)))
        return tl_a64_undefined(h, bits);
    go_to(h, h->priv > el ? h->priv : el);
    lose_return(h);
    tl_a64(h)->sys.reg[h->priv == TL_A64_EL3 ? TL_A64_R_ESR_EL3 : TL_A64_R_ESR_EL1] = (uint32_t)TL_A64_UNKNOWN;
    lose(h);
    return true;
}

bool tl_a64_drps(tl_hart *h, uint32_t bits) {
    if (!h->is_halted || h->priv == TL_A64_EL0)
        return tl_a64_undefined(h, bits);
    const uint64_t spsr = tl_a64(h)->sys.reg[h->priv == TL_A64_EL3 ? TL_A64_R_SPSR_EL3 : TL_A64_R_SPSR_EL1];
    const uint32_t old_el = h->priv, el = tl_a64_set_pstate(h, spsr);
    tl_hart_set_priv(h, el);
    tl_a64_el_changed(h, old_el);
    lose(h);
    return true;
}

// One look-up of DTLB and L1D for each access, which memory leaves to who executes.
static void count_accesses(tl_hart *h, const tl_a64_decoded *insn) {
    tl_static_count counts[TL_MAX_STATIC];
    const uint32_t n = tl_a64_static_counts(insn, counts);
    for (uint32_t i = 0; i < n; i++)
        if (counts[i].cell == TL_S_L1D_LOAD || counts[i].cell == TL_S_L1D_STORE || counts[i].cell == TL_S_DTLB_ACCESS)
            h->tally[counts[i].cell] += counts[i].amount;
}

static bool run(tl_hart *h, const tl_a64_decoded *insn) {
    tl_op op = {0};
    tl_a64_op_from_decoded(insn, &op);
    if (tl_a64(h)->sys.fp_trap_el != 0 && tl_a64_is_fp(insn))
        return tl_a64_trap_fp(h);
    const bool is_done = tl_a64_exec_full[insn->opc](h, &op, h->pc);
    if (is_done)
        count_accesses(h, insn);
    return is_done;
}

bool tl_a64_debug_execute(tl_hart *h, uint32_t bits) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    tl_a64_decoded insn;
    tl_a64_decode(bits, &insn);
    const verdict what = verdict_of(&insn);
    const tl_unpredictable policy = h->config->debug.unpredictable;
    const bool is_run = what == UNCHANGED || (what == UNPREDICTABLE && policy == TL_AS_EXECUTED);
    tl_hart_idle_until(h, h->now + 1); // cycles of Debug state are idle, but for stalls of memory
    if (!is_run && policy != TL_AS_UNDEFINED)
        return true;
    d->is_executing = true;
    const uint64_t pc = h->pc;
    const bool is_done = is_run ? run(h, &insn) : tl_a64_undefined(h, bits);
    if (!is_done)
        take_exception(h);
    if (h->has_after) // a write of a PMU register; ERET is not executed
        tl_hart_retired(h);
    h->pc = pc;
    d->is_executing = false;
    return is_done;
}
