// SPDX-License-Identifier: MIT
// Entering and leaving traps; see privileged.h. Sections are those of the privileged manual,
// version 1.12.
#include "isa/rv/privileged.h"

#include "base/bits.h"
#include "isa/rv/regime.h"
#include "model/callgraph.h"

static const uint64_t CAUSE_IS_INTERRUPT = UINT64_C(1) << 63;
enum { SP = 2 };

void tl_privileged_reset(tl_hart *h) {
    h->is_privileged = true;
    h->is_fp_off = true;
    h->is_waiting = false;
    tl_rv(h)->frm = tl_rv(h)->fflags = 0;
    tl_rv(h)->csr = (tl_privileged){
        .mstatus = UINT64_C(2) << 32 | UINT64_C(2) << 34, // UXL, SXL
        .pmp_generation = tl_rv(h)->csr.pmp_generation + 1,
    };
    h->reservation_paddr = TL_NO_LINE;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->irqs_pending = h->irq_lines = h->irqs_enabled = 0;
    tl_isa_rv64.set_context(h, 0);
    tl_hart_set_priv(h, TL_PRIV_M);
    h->port->protection_changed(h);
}

static void count_exception(tl_hart *h) {
    static const uint16_t slots[] = {
        [TL_CAUSE_FETCH_MISALIGNED] = TL_S_HART_EXC_MISALIGNED,
        [TL_CAUSE_FETCH_ACCESS] = TL_S_HART_EXC_FETCH_FAULT,
        [TL_CAUSE_ILLEGAL] = TL_S_HART_EXC_ILLEGAL,
        [TL_CAUSE_BREAKPOINT] = TL_S_HART_EXC_BREAKPOINT,
        [TL_CAUSE_LOAD_MISALIGNED] = TL_S_HART_EXC_MISALIGNED,
        [TL_CAUSE_LOAD_ACCESS] = TL_S_HART_EXC_LOAD_FAULT,
        [TL_CAUSE_STORE_MISALIGNED] = TL_S_HART_EXC_MISALIGNED,
        [TL_CAUSE_STORE_ACCESS] = TL_S_HART_EXC_STORE_FAULT,
        [TL_CAUSE_ECALL_U] = TL_S_HART_EXC_ECALL,
        [TL_CAUSE_ECALL_S] = TL_S_HART_EXC_ECALL,
        [TL_CAUSE_ECALL_M] = TL_S_HART_EXC_ECALL,
        [TL_CAUSE_FETCH_PAGE] = TL_S_HART_EXC_FETCH_FAULT,
        [TL_CAUSE_LOAD_PAGE] = TL_S_HART_EXC_LOAD_FAULT,
        [TL_CAUSE_STORE_PAGE] = TL_S_HART_EXC_STORE_FAULT,
    };
    uint16_t slot = h->trap_cause < TL_COUNT_OF(slots) ? slots[h->trap_cause] : 0;
    h->tally[TL_S_HART_EXCEPTION] += 1;
    h->tally[slot != 0 ? slot : TL_S_HART_EXC_ILLEGAL] += 1;
}

// Sec. 3.1.6.1, 3.1.7, 3.1.14-16 and their supervisor counterparts. The mode changes first: the
// cycles of entry are the handler's.
static void enter(tl_hart *h, uint64_t cause, uint64_t value, bool is_to_supervisor) {
    tl_privileged *csr = &tl_rv(h)->csr;
    bool is_interrupt = (cause & CAUSE_IS_INTERRUPT) != 0;
    uint64_t old = csr->mstatus, status = old, vector;
    tl_call_trap trap = {.pc = h->pc, .sp = tl_rv(h)->x[SP], .old_priv = h->priv, .is_interrupt = is_interrupt};
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->reservation_paddr = TL_NO_LINE;
    if (is_to_supervisor) {
        csr->scause = cause;
        csr->sepc = h->pc;
        csr->stval = value;
        status &= ~(TL_MSTATUS_SPIE | TL_MSTATUS_SIE | TL_MSTATUS_SPP);
        status |= (old & TL_MSTATUS_SIE ? TL_MSTATUS_SPIE : 0) | (h->priv == TL_PRIV_S ? TL_MSTATUS_SPP : 0);
        vector = csr->stvec;
    } else {
        csr->mcause = cause;
        csr->mepc = h->pc;
        csr->mtval = value;
        status &= ~(TL_MSTATUS_MPIE | TL_MSTATUS_MIE | TL_MSTATUS_MPP);
        status |= (old & TL_MSTATUS_MIE ? TL_MSTATUS_MPIE : 0) | (uint64_t)h->priv << 11;
        vector = csr->mtvec;
    }
    csr->mstatus = status;
    tl_hart_set_priv(h, is_to_supervisor ? TL_PRIV_S : TL_PRIV_M);
    tl_rv_status_changed(h, old);
    tl_hart_notice(h, TL_NOTICE_TRAP_ENTRY);
    h->pc = (vector & ~UINT64_C(3)) + (is_interrupt && (vector & 1) ? (cause & ~CAUSE_IS_INTERRUPT) * 4 : 0);
    h->now += h->config->pipeline.trap_cycles;
    h->tally[TL_S_HART_CYC_TRAP] += h->config->pipeline.trap_cycles;
    h->tally[TL_S_HART_FLUSH_OTHER] += 1;
    if (TL_UNLIKELY(h->attribution != NULL)) {
        trap.handler_pc = h->pc;
        trap.priv = h->priv;
        tl_callgraph_tell_trap(h, &trap);
    }
}

void tl_take_exception(tl_hart *h) {
    uint64_t cause = h->trap_cause;
    count_exception(h);
    if (cause >= TL_CAUSE_ECALL_U && cause <= TL_CAUSE_ECALL_M)
        tl_hart_notice(h, TL_NOTICE_ECALL);
    enter(h, cause, h->trap_value, h->priv != TL_PRIV_M && (tl_rv(h)->csr.medeleg >> cause & 1));
}

// Sec. 3.1.9: machine-level interrupts before supervisor-level ones; external, software, timer,
// then counter overflow.
bool tl_next_interrupt(const tl_hart *h, tl_irq *ret_irq) {
    static const tl_irq order[] = {TL_IRQ_MEI, TL_IRQ_MSI, TL_IRQ_MTI, TL_IRQ_SEI, TL_IRQ_SSI, TL_IRQ_STI, TL_IRQ_LCOFI};
    uint64_t pending = tl_hart_pending(h);
    if (TL_LIKELY(pending == 0))
        return false;
    bool is_machine_on = h->priv != TL_PRIV_M || (tl_rv(h)->csr.mstatus & TL_MSTATUS_MIE);
    bool is_supervisor_on = h->priv == TL_PRIV_U || (h->priv == TL_PRIV_S && (tl_rv(h)->csr.mstatus & TL_MSTATUS_SIE));
    uint64_t taken = is_machine_on ? pending & ~tl_rv(h)->csr.mideleg : 0;
    if (taken == 0)
        taken = is_supervisor_on ? pending & tl_rv(h)->csr.mideleg : 0;
    for (uint32_t i = 0; i < TL_COUNT_OF(order); i++)
        if (taken >> order[i] & 1) {
            *ret_irq = order[i];
            return true;
        }
    return false;
}

void tl_take_interrupt(tl_hart *h, tl_irq irq) {
    h->tally[TL_S_HART_INTERRUPT] += 1;
    enter(h, CAUSE_IS_INTERRUPT | irq, 0, tl_rv(h)->csr.mideleg >> irq & 1);
}

void tl_rv_handler(const tl_hart *h, tl_trap_handler *ret) {
    const tl_privileged *csr = &tl_rv(h)->csr;
    const bool is_machine = h->priv == TL_PRIV_M, is_delegated = !is_machine && csr->medeleg >> (h->trap_cause & 63) & 1;
    const uint64_t vector = (is_machine ? csr->mtvec : csr->stvec) & ~UINT64_C(3);
    *ret = (tl_trap_handler){
        .is_own = is_machine || (h->priv == TL_PRIV_S && is_delegated),
        .pc = vector,
        .vector = vector,
        .return_pc = is_machine ? csr->mepc : csr->sepc,
        .vector_name = is_machine ? "mtvec" : "stvec",
        .cause_name = is_machine ? "mcause" : "scause",
        .cause = h->trap_cause,
        .is_physical = is_machine || !h->regime.is_paged[TL_VIEW_S],
    };
}
