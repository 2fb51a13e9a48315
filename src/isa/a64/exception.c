// SPDX-License-Identifier: MIT
// Exceptions: exception.h. The status of an abort follows from a walk that takes no time, because
// memory says only that an access faulted.
#include "isa/a64/exception.h"

#include "base/bits.h"
#include "isa/a64/debug.h"
#include "isa/a64/pstate.h"
#include "isa/a64/regime.h"
#include "isa/a64/sysreg.h"
#include "model/callgraph.h"

// Offsets of vectors from VBAR_ELx, D1.10.2.
enum { VECTOR_OWN_SP = 0x200, VECTOR_LOWER_EL = 0x400 };
enum { VECTOR_SYNCHRONOUS = 0, VECTOR_IRQ = 0x80, VECTOR_FIQ = 0x100, VECTOR_SERROR = 0x180 };
enum { INSN_BYTES = 4 };

static uint64_t *reg(tl_hart *h, tl_a64_sysreg el1, tl_a64_sysreg el3, uint32_t el) {
    return &tl_a64(h)->sys.reg[el == TL_A64_EL3 ? el3 : el1];
}

// Breakpoints, watchpoints, claim tags and the OS lock outlive a Warm reset (H9.2, H6).
static void keep_debug(tl_a64_system *sys, const tl_a64_system *before) {
    static const uint16_t kept[] = {TL_A64_R_OSLSR_EL1, TL_A64_R_DBGPRCR_EL1};
    for (uint32_t i = 0; i < 2 * TL_A64_N_BREAKPOINTS; i++)
        sys->reg[TL_A64_R_DBGBVR0_EL1 + i] = before->reg[TL_A64_R_DBGBVR0_EL1 + i];
    for (uint32_t i = 0; i < 2 * TL_A64_N_WATCHPOINTS; i++)
        sys->reg[TL_A64_R_DBGWVR0_EL1 + i] = before->reg[TL_A64_R_DBGWVR0_EL1 + i];
    for (uint32_t i = 0; i < TL_COUNT_OF(kept); i++)
        sys->reg[kept[i]] = before->reg[kept[i]];
    sys->debug_claim = before->debug_claim;
}

static void reset(tl_hart *h, bool is_cold) {
    tl_a64_hart *a = tl_a64(h);
    const tl_a64_host *host = a->sys.host;
    const tl_a64_system before = a->sys;
    h->is_privileged = true;
    h->is_waiting = false;
    a->sys = (tl_a64_system){.host = host, .daif = TL_A64_DAIF, .has_own_sp = true};
    a->nzcv = a->fpcr = a->fpsr = 0;
    tl_a64_sysregs_reset(h);
    if (!is_cold)
        keep_debug(&a->sys, &before);
    tl_a64_route_sysregs(h);
    h->reservation_paddr = TL_NO_LINE;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->irqs_pending = h->irq_lines = 0;
    h->context = 0;
    tl_hart_set_priv(h, TL_A64_EL3);
    tl_a64_regime_changed(h);
    tl_a64_debug_reset(h, is_cold);
    h->port->context_changed(h);
    if (h->config->asid_bits != 0) // entries with tags outlive a change of address space
        h->port->flush_translation(h, 0, true);
    h->port->protection_changed(h);
}

void tl_a64_power_on(tl_hart *h) { reset(h, true); }
void tl_a64_warm_reset(tl_hart *h) { reset(h, false); }

static void count_exception(tl_hart *h) {
    static const uint16_t cells[] = {
        [TL_TRAP_ILLEGAL] = TL_S_HART_EXC_ILLEGAL,        [TL_TRAP_SYSTEM_CALL] = TL_S_HART_EXC_ECALL,
        [TL_TRAP_BREAKPOINT] = TL_S_HART_EXC_BREAKPOINT,  [TL_TRAP_FETCH] = TL_S_HART_EXC_FETCH_FAULT,
        [TL_TRAP_LOAD_PAGE] = TL_S_HART_EXC_LOAD_FAULT,   [TL_TRAP_LOAD_ACCESS] = TL_S_HART_EXC_LOAD_FAULT,
        [TL_TRAP_STORE_PAGE] = TL_S_HART_EXC_STORE_FAULT, [TL_TRAP_STORE_ACCESS] = TL_S_HART_EXC_STORE_FAULT,
        [TL_TRAP_MISALIGNED] = TL_S_HART_EXC_MISALIGNED,
    };
    h->tally[TL_S_HART_EXCEPTION] += 1;
    h->tally[cells[h->isa->trap_kinds[h->trap_cause]]] += 1;
}

// The cycles of the entry are those of the level that takes it. FAR is the caller's.
static void enter(tl_hart *h, uint32_t el, uint32_t vector, uint64_t return_pc) {
    tl_a64_hart *a = tl_a64(h);
    const bool is_from_lower = el > h->priv, had_own_sp = a->sys.has_own_sp;
    tl_call_trap trap = {.pc = h->pc, .sp = a->x[TL_A64_SP], .old_priv = h->priv, .is_interrupt = vector != VECTOR_SYNCHRONOUS};
    *reg(h, TL_A64_R_SPSR_EL1, TL_A64_R_SPSR_EL3, el) = tl_a64_pstate(h);
    *reg(h, TL_A64_R_ELR_EL1, TL_A64_R_ELR_EL3, el) = return_pc;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    tl_a64_select_sp(h, el, true);
    a->sys.daif = TL_A64_DAIF;
    a->sys.is_illegal = a->sys.is_stepped = false;
    const uint32_t old_el = h->priv;
    tl_hart_set_priv(h, el);
    tl_a64_el_changed(h, old_el);
    tl_hart_notice(h, TL_NOTICE_TRAP_ENTRY);
    h->pc = *reg(h, TL_A64_R_VBAR_EL1, TL_A64_R_VBAR_EL3, el) + (is_from_lower ? VECTOR_LOWER_EL : had_own_sp ? VECTOR_OWN_SP : 0) + vector;
    h->now += h->config->pipeline.trap_cycles;
    h->tally[TL_S_HART_CYC_TRAP] += h->config->pipeline.trap_cycles;
    h->tally[TL_S_HART_FLUSH_OTHER] += 1;
    if (TL_UNLIKELY(h->attribution != NULL)) {
        trap.handler_pc = h->pc;
        trap.priv = h->priv;
        tl_callgraph_tell_trap(h, &trap);
    }
    tl_a64_debug_taken(h);
}

// -- Synchronous exceptions.

typedef struct abort_kind {
    tl_access access;
    bool is_cache;
} abort_kind;

static abort_kind abort_of(uint64_t cause) {
    switch (cause) {
    case TL_A64_CAUSE_FETCH_PAGE:
    case TL_A64_CAUSE_FETCH_ACCESS: return (abort_kind){TL_ACCESS_FETCH, false};
    case TL_A64_CAUSE_STORE_PAGE:
    case TL_A64_CAUSE_STORE_ACCESS:
    case TL_A64_CAUSE_STORE_MISALIGNED: return (abort_kind){TL_ACCESS_STORE, false};
    case TL_A64_CAUSE_CACHE_PAGE: return (abort_kind){TL_ACCESS_LOAD, true};
    case TL_A64_CAUSE_CACHE_STORE_PAGE: return (abort_kind){TL_ACCESS_STORE, true};
    default: return (abort_kind){TL_ACCESS_LOAD, false};
    }
}

static bool is_misaligned(uint64_t cause) { return cause == TL_A64_CAUSE_LOAD_MISALIGNED || cause == TL_A64_CAUSE_STORE_MISALIGNED; }
static bool is_abort(uint64_t cause) {
    return (cause >= TL_A64_CAUSE_FETCH_PAGE && cause <= TL_A64_CAUSE_STORE_MISALIGNED) || cause == TL_A64_CAUSE_CACHE_PAGE ||
           cause == TL_A64_CAUSE_CACHE_STORE_PAGE;
}

// The status of an abort. If the walk finds nothing wrong, a device did not answer. Or software has
// changed a table since a TLB has had the entry, whose permission was the fault.
static uint32_t fault_status(const tl_hart *h) {
    if (is_misaligned(h->trap_cause))
        return TL_A64_FSC_ALIGNMENT;
    const abort_kind kind = abort_of(h->trap_cause);
    const bool is_external = h->trap_cause == TL_A64_CAUSE_FETCH_ACCESS || h->trap_cause == TL_A64_CAUSE_LOAD_ACCESS ||
                             h->trap_cause == TL_A64_CAUSE_STORE_ACCESS;
    // An unprivileged access of EL1 has the rights of EL0.
    const uint32_t el = tl_a64(h)->sys.is_unprivileged ? TL_A64_EL0 : h->priv;
    tl_a64_translation at;
    const bool is_translated = tl_a64_translate(h, el, h->trap_value, kind.access, &at);
    return is_external && (is_translated || at.status == TL_A64_NO_FAULT) ? TL_A64_FSC_EXTERNAL : at.status;
}

uint32_t tl_a64_syndrome_of(const tl_hart *h, uint32_t el) {
    const uint32_t is_same = el == h->priv;
    switch (h->trap_cause) {
    case TL_A64_CAUSE_UNDEFINED: return tl_a64_syndrome(TL_A64_EC_UNKNOWN, 0);
    case TL_A64_CAUSE_SVC: return tl_a64_syndrome(TL_A64_EC_SVC, (uint32_t)h->trap_value);
    case TL_A64_CAUSE_SMC: return tl_a64_syndrome(TL_A64_EC_SMC, (uint32_t)h->trap_value);
    case TL_A64_CAUSE_BRK: return tl_a64_syndrome(TL_A64_EC_BRK, (uint32_t)h->trap_value);
    case TL_A64_CAUSE_TRAPPED: return (uint32_t)(h->trap_value & TL_A64_TRAPPED_SYNDROME);
    case TL_A64_CAUSE_PC_MISALIGNED: return tl_a64_syndrome(TL_A64_EC_PC_ALIGNMENT, 0);
    case TL_A64_CAUSE_SP_MISALIGNED: return tl_a64_syndrome(TL_A64_EC_SP_ALIGNMENT, 0);
    case TL_A64_CAUSE_BREAKPOINT: return tl_a64_syndrome(TL_A64_EC_BREAKPOINT + is_same, TL_A64_FSC_DEBUG);
    case TL_A64_CAUSE_SOFTWARE_STEP: return tl_a64_syndrome(TL_A64_EC_SOFTWARE_STEP + is_same, (uint32_t)h->trap_value | TL_A64_FSC_DEBUG);
    case TL_A64_CAUSE_WATCH_LOAD: return tl_a64_syndrome(TL_A64_EC_WATCHPOINT + is_same, TL_A64_FSC_DEBUG);
    case TL_A64_CAUSE_WATCH_STORE: return tl_a64_syndrome(TL_A64_EC_WATCHPOINT + is_same, TL_A64_FSC_DEBUG | TL_A64_ISS_WNR);
    default: break;
    }
    const abort_kind kind = abort_of(h->trap_cause);
    const uint32_t status = fault_status(h);
    if (kind.access == TL_ACCESS_FETCH)
        return tl_a64_syndrome(TL_A64_EC_FETCH_ABORT + is_same, status);
    const uint32_t is_write = kind.access == TL_ACCESS_STORE || kind.is_cache;
    return tl_a64_syndrome(TL_A64_EC_DATA_ABORT + is_same, status | (is_write ? TL_A64_ISS_WNR : 0) | (kind.is_cache ? TL_A64_ISS_CM : 0));
}

// D1.13.2: a level takes its own exceptions, and EL1 those of EL0.
static uint32_t level_of(const tl_hart *h) {
    const uint32_t own = h->priv > TL_A64_EL1 ? h->priv : TL_A64_EL1;
    if (h->trap_cause == TL_A64_CAUSE_SMC)
        return TL_A64_EL3;
    if (h->trap_cause == TL_A64_CAUSE_TRAPPED) {
        const uint32_t least = (uint32_t)(h->trap_value >> TL_A64_TRAPPED_EL_LSB);
        return least > own ? least : own;
    }
    const bool is_external = is_abort(h->trap_cause) && !is_misaligned(h->trap_cause) &&
                             (tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_EA) && (fault_status(h) & 0x30) == TL_A64_FSC_EXTERNAL;
    return is_external ? TL_A64_EL3 : own;
}

static bool has_address(uint64_t cause) {
    return is_abort(cause) || cause == TL_A64_CAUSE_PC_MISALIGNED || cause == TL_A64_CAUSE_WATCH_LOAD || cause == TL_A64_CAUSE_WATCH_STORE;
}

static void describe(tl_hart *h, uint32_t el) {
    *reg(h, TL_A64_R_ESR_EL1, TL_A64_R_ESR_EL3, el) = tl_a64_syndrome_of(h, el);
    if (has_address(h->trap_cause))
        *reg(h, TL_A64_R_FAR_EL1, TL_A64_R_FAR_EL3, el) = h->trap_value;
    tl_a64(h)->sys.is_unprivileged = false;
}

uint32_t tl_a64_describe_trap(tl_hart *h, bool may_reach_el3) {
    uint32_t el = level_of(h);
    if (el == TL_A64_EL3 && h->priv != TL_A64_EL3 && !may_reach_el3) {
        el = TL_A64_EL1;
        h->trap_cause = TL_A64_CAUSE_UNDEFINED;
    }
    describe(h, el);
    return el;
}

void tl_a64_take_exception(tl_hart *h) {
    if (tl_a64_halt_for_trap(h))
        return;
    const uint32_t el = level_of(h);
    const uint64_t cause = h->trap_cause;
    const bool is_call = cause == TL_A64_CAUSE_SVC || cause == TL_A64_CAUSE_SMC;
    describe(h, el);
    count_exception(h);
    if (is_call && tl_a64_is_software_step(h)) // the call is the step
        tl_a64(h)->sys.is_stepped = false;
    if (cause == TL_A64_CAUSE_SVC)
        tl_hart_notice(h, TL_NOTICE_ECALL);
    enter(h, el, VECTOR_SYNCHRONOUS, h->pc + (is_call ? INSN_BYTES : 0));
}

// -- Interrupts.

// ExternalDebugInterruptsDisabled() of the manual, for EDSCR.INTdis (H9.2.41). Any value masks
// interrupts that Non-secure EL1 takes. Where Secure debug is enabled, 2 and 3 mask those of Secure
// EL1, and 3 those of EL3.
static bool is_disabled(const tl_hart *h, bool is_el3s) {
    const tl_a64_debug *d = &tl_a64(h)->debug;
    const uint32_t disabled = (uint32_t)tl_bits(d->edscr, TL_A64_EDSCR_INTDIS_LSB, 2);
    const bool is_non_secure = !is_el3s && (tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_NS);
    if (TL_LIKELY(disabled == 0) || !d->dbgen)
        return false;
    return is_non_secure || (disabled >= (is_el3s ? 3 : 2) && d->spiden);
}

// D1.13.3: SCR_EL3 routes each kind to EL3; otherwise EL1 takes it. PSTATE masks a kind at the
// level that takes it, and at EL0 if EL1 takes it.
bool tl_a64_next_interrupt(const tl_hart *h, tl_irq *ret_irq) {
    static const struct {
        uint32_t irq, route, mask;
    } kinds[] = {{TL_A64_SERROR, TL_A64_SCR_EA, TL_A64_SPSR_A},
                 {TL_A64_FIQ, TL_A64_SCR_FIQ, TL_A64_SPSR_F},
                 {TL_A64_IRQ, TL_A64_SCR_IRQ, TL_A64_SPSR_I}};
    const uint64_t pending = tl_hart_pending(h);
    const tl_a64_system *sys = &tl_a64(h)->sys;
    if (TL_LIKELY(pending == 0))
        return false;
    if ((pending >> TL_A64_HALT & 1) && (tl_a64_may_halt(h) || tl_a64(h)->debug.wants_reset)) {
        *ret_irq = TL_A64_HALT;
        return true;
    }
    for (uint32_t i = 0; i < TL_COUNT_OF(kinds); i++) {
        const bool is_el3s = sys->reg[TL_A64_R_SCR_EL3] & kinds[i].route, is_el3 = h->priv == TL_A64_EL3;
        const bool is_masked = is_el3s == is_el3 ? sys->daif & kinds[i].mask : is_el3;
        if ((pending >> kinds[i].irq & 1) && !is_masked && !is_disabled(h, is_el3s)) {
            *ret_irq = kinds[i].irq;
            return true;
        }
    }
    return false;
}

void tl_a64_take_interrupt(tl_hart *h, tl_irq irq) {
    if (irq == TL_A64_HALT) {
        tl_a64_halt_for_line(h);
        return;
    }
    static const uint32_t routes[] = {[TL_A64_IRQ] = TL_A64_SCR_IRQ, [TL_A64_FIQ] = TL_A64_SCR_FIQ, [TL_A64_SERROR] = TL_A64_SCR_EA};
    static const uint32_t vectors[] = {[TL_A64_IRQ] = VECTOR_IRQ, [TL_A64_FIQ] = VECTOR_FIQ, [TL_A64_SERROR] = VECTOR_SERROR};
    const uint32_t el = tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] & routes[irq] ? TL_A64_EL3 : TL_A64_EL1;
    if (irq == TL_A64_SERROR)
        *reg(h, TL_A64_R_ESR_EL1, TL_A64_R_ESR_EL3, el) = tl_a64_syndrome(TL_A64_EC_SERROR, 0);
    h->tally[TL_S_HART_INTERRUPT] += 1;
    enter(h, el, vectors[irq], h->pc);
}

// -- Diagnosis.

void tl_a64_handler(const tl_hart *h, tl_trap_handler *ret) {
    const bool is_el3 = level_of(h) == TL_A64_EL3, is_same = level_of(h) == h->priv;
    const tl_a64_system *sys = &tl_a64(h)->sys;
    *ret = (tl_trap_handler){
        .is_own = is_same,
        .pc = sys->reg[is_el3 ? TL_A64_R_VBAR_EL3 : TL_A64_R_VBAR_EL1] + (sys->has_own_sp ? VECTOR_OWN_SP : 0),
        .return_pc = sys->reg[is_el3 ? TL_A64_R_ELR_EL3 : TL_A64_R_ELR_EL1],
        .vector = sys->reg[is_el3 ? TL_A64_R_VBAR_EL3 : TL_A64_R_VBAR_EL1],
        .vector_name = is_el3 ? "VBAR_EL3" : "VBAR_EL1",
        .cause_name = "exception class",
        .cause = tl_a64_syndrome_of(h, is_el3 ? TL_A64_EL3 : TL_A64_EL1) >> TL_A64_EC_LSB,
        .is_physical = !h->regime.is_paged[h->view],
    };
}
