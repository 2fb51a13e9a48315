// SPDX-License-Identifier: MIT
// Debug state: entry, exit and conditions (debug.h). Power and reset of the core, because external
// debug shows them. debug_match.c has breakpoints, watchpoints and steps.
#include "isa/a64/debug.h"

#include "base/bits.h"
#include "isa/a64/pstate.h"
#include "isa/a64/regime.h"

static uint64_t reg_of(const tl_hart *h, uint32_t reg) { return tl_a64(h)->sys.reg[reg]; }

// -- Conditions. Names in comments are those of the manual's pseudocode.

bool tl_a64_is_secure(const tl_hart *h) { return h->priv == TL_A64_EL3 || !(reg_of(h, TL_A64_R_SCR_EL3) & TL_A64_SCR_NS); }

bool tl_a64_os_locked(const tl_hart *h) { return reg_of(h, TL_A64_R_OSLSR_EL1) & TL_A64_OSLSR_OSLK; }

// DoubleLockStatus().
bool tl_a64_double_locked(const tl_hart *h) {
    return (reg_of(h, TL_A64_R_OSDLR_EL1) & 1) && !(reg_of(h, TL_A64_R_DBGPRCR_EL1) & 1) && !h->is_halted;
}

// ExternalInvasiveDebugEnabled() and its three sisters.
static bool invasive(const tl_hart *h) { return tl_a64(h)->debug.dbgen; }
static bool secure_invasive(const tl_hart *h) { return invasive(h) && tl_a64(h)->debug.spiden; }
static bool noninvasive(const tl_hart *h) { return invasive(h) || tl_a64(h)->debug.niden; }
static bool secure_noninvasive(const tl_hart *h) { return noninvasive(h) && (tl_a64(h)->debug.spiden || tl_a64(h)->debug.spniden); }

bool tl_a64_may_halt(const tl_hart *h) {
    if (!h->is_privileged || h->is_halted || tl_a64_double_locked(h))
        return false;
    return tl_a64_is_secure(h) ? secure_invasive(h) : invasive(h);
}

bool tl_a64_halts_on_hlt(const tl_hart *h) { return (tl_a64(h)->debug.edscr & TL_A64_EDSCR_HDE) && tl_a64_may_halt(h); }

bool tl_a64_halts_on_match(const tl_hart *h) { return !tl_a64_os_locked(h) && tl_a64_halts_on_hlt(h); }

bool tl_a64_debug_access(const tl_hart *h) {
    return invasive(h) && (secure_invasive(h) || !(reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_EDAD));
}

bool tl_a64_pmu_access(const tl_hart *h) {
    return noninvasive(h) && (secure_noninvasive(h) || !(reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_EPMAD));
}

// H9.2.4: each field is implemented, bit 1, and enabled, bit 0.
uint32_t tl_a64_authentication(const tl_hart *h) {
    const uint32_t implemented = 0xaa;
    return implemented | (uint32_t)invasive(h) | (uint32_t)noninvasive(h) << 2 | (uint32_t)secure_invasive(h) << 4 |
           (uint32_t)secure_noninvasive(h) << 6;
}

bool tl_a64_secure_debug_disabled(const tl_hart *h) { return !(h->is_halted && tl_a64_is_secure(h)) && !secure_invasive(h); }

// -- Debug state.

static void attend(tl_hart *h) {
    const tl_a64_host *host = tl_a64(h)->sys.host;
    if (host && host->attend)
        host->attend(host->ctx, h);
}

void tl_a64_update_line(tl_hart *h) {
    const tl_a64_debug *d = &tl_a64(h)->debug;
    const bool level = d->wants_reset || d->is_requested || d->has_catch || (d->edesr & (TL_A64_EDESR_OSUC | TL_A64_EDESR_RC));
    tl_hart_set_irq(h, TL_A64_HALT, level && !h->is_halted);
}

void tl_a64_halt(tl_hart *h, uint32_t status) {
    tl_a64_hart *a = tl_a64(h);
    tl_a64_debug *d = &a->debug;
    d->dlr = h->pc;
    d->dspsr = (uint32_t)tl_a64_pstate(h);
    d->status = status;
    d->edscr &= ~(uint32_t)(TL_A64_EDSCR_MA | TL_A64_EDSCR_ITO);
    d->has_catch = false;
    d->step = TL_A64_STEP_INACTIVE;
    d->is_software_step = false;
    a->sys.is_illegal = a->sys.is_stepped = false;
    a->sys.is_exclusive = a->sys.waits_for_event = false;
    h->reservation_paddr = TL_NO_LINE;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->skip_break = false;
    h->is_halted = h->is_waiting = true;
    tl_hart_pmu_state_changed(h);
    h->irqs_enabled = 0; // no interrupt ends the wait
    tl_a64_update_line(h);
    tl_hart_stop_soon(h);
    if (a->sys.host && a->sys.host->halted)
        a->sys.host->halted(a->sys.host->ctx, h);
}

void tl_a64_restart(tl_hart *h, uint64_t now) {
    tl_a64_hart *a = tl_a64(h);
    tl_a64_debug *d = &a->debug;
    if (!h->is_halted || d->is_executing)
        return;
    tl_hart_idle_until(h, now);
    d->status = TL_A64_STATUS_RUNNING;
    d->edesr = 0;
    d->sticky |= TL_A64_EDPRSR_SDR;
    d->advanced_from = h->instret;
    h->pc = d->dlr;
    const uint32_t old_el = h->priv, el = tl_a64_set_pstate(h, d->dspsr);
    tl_hart_set_priv(h, el);
    tl_a64_el_changed(h, old_el);
    a->sys.has_event = true;
    h->reservation_paddr = TL_NO_LINE;
    h->is_halted = h->is_waiting = false;
    // DebugExceptionReturnSS(): debug exceptions were not enabled here, and may be from now on.
    a->sys.is_stepped = (d->dspsr & TL_A64_SPSR_SS) && tl_a64_is_software_step(h);
    tl_hart_pmu_state_changed(h);
    h->irqs_enabled = h->irqs_present;
    d->step = d->edecr & TL_A64_EDECR_SS ? TL_A64_STEP_NOT_PENDING : TL_A64_STEP_INACTIVE;
    d->step_instret = h->instret;
    d->has_taken = false;
    tl_a64_update_line(h);
    attend(h);
}

void tl_a64_request_halt(tl_hart *h, bool level) {
    tl_a64(h)->debug.is_requested = level;
    tl_a64_update_line(h);
}

bool tl_a64_halt_for_trap(tl_hart *h) {
    switch (h->trap_cause) {
    case TL_A64_CAUSE_HLT: tl_a64_halt(h, TL_A64_STATUS_HLT); return true;
    case TL_A64_CAUSE_SOFTWARE_ACCESS: tl_a64_halt(h, TL_A64_STATUS_SOFTWARE_ACCESS); return true;
    case TL_A64_CAUSE_WATCH_LOAD:
    case TL_A64_CAUSE_WATCH_STORE:
        if (!tl_a64_halts_on_match(h))
            return false;
        tl_a64(h)->debug.edwar = h->trap_value;
        tl_a64(h)->sys.is_unprivileged = false;
        tl_a64_halt(h, TL_A64_STATUS_WATCHPOINT);
        return true;
    default: return false;
    }
}

void tl_a64_halt_for_line(tl_hart *h) {
    const tl_a64_debug *d = &tl_a64(h)->debug;
    const tl_a64_host *host = tl_a64(h)->sys.host;
    if (d->wants_reset && host && host->reset) {
        host->reset(host->ctx, h);
        return;
    }
    tl_a64_halt(h, d->edesr & TL_A64_EDESR_RC     ? TL_A64_STATUS_RESET
                   : d->has_catch                 ? TL_A64_STATUS_EXCEPTION
                   : d->edesr & TL_A64_EDESR_OSUC ? TL_A64_STATUS_OS_UNLOCK
                                                  : TL_A64_STATUS_REQUEST);
}

// -- Power and reset.

void tl_a64_debug_reset(tl_hart *h, bool is_cold) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    if (!d->has_power_domain) {
        const tl_debug_config *inputs = &h->config->debug;
        *d = (tl_a64_debug){
            .has_power_domain = true, .dbgen = inputs->dbgen, .niden = inputs->niden, .spiden = inputs->spiden, .spniden = inputs->spniden};
        d->component = (tl_coresight){.kind = &tl_coresight_a53_debug, .affinity = UINT64_C(0x80000000) | h->id, .is_locked = true};
    }
    if (d->inner)
        h->port = d->inner;
    d->inner = NULL;
    d->is_off = d->wants_reset = false;
    d->leaves = TL_A64_STAYS;
    d->status = TL_A64_STATUS_RUNNING;
    if (is_cold) {
        d->edscr = d->edeccr = d->dtrrx = d->dtrtx = 0;
        d->edwar = 0;
        d->sticky = TL_A64_EDPRSR_SPD;
        tl_a64(h)->sys.reg[TL_A64_R_DBGPRCR_EL1] = d->wants_power;
    }
    d->sticky |= TL_A64_EDPRSR_SR;
    d->edesr = d->edecr & TL_A64_EDECR_RCE ? TL_A64_EDESR_RC : 0;
    d->dspsr = 0;
    d->dlr = 0;
    d->advanced_from = h->instret;
    d->has_catch = d->is_executing = d->is_software_step = d->checks_each = false;
    d->step = TL_A64_STEP_INACTIVE;
    h->is_halted = false;
    h->irqs_enabled = h->irqs_present;
    tl_a64_debug_changed(h);
    tl_a64_update_line(h);
}

// The timers of the core are in its power domain. Its interrupt controller is not.
void tl_a64_power_off(tl_hart *h, bool wakes) {
    static const uint16_t timers[] = {TL_A64_R_CNTP_CTL_EL0, TL_A64_R_CNTV_CTL_EL0, TL_A64_R_CNTPS_CTL_EL1};
    tl_a64_hart *a = tl_a64(h);
    a->debug.is_off = true;
    for (uint32_t i = 0; i < TL_COUNT_OF(timers); i++)
        a->sys.reg[timers[i]] = 0;
    a->sys.waits_for_event = false;
    h->reservation_paddr = TL_NO_LINE;
    h->run_vline = TL_NO_LINE;
    h->is_halted = false;
    h->is_waiting = true;
    h->irqs_enabled = wakes ? 1 << TL_A64_IRQ | 1 << TL_A64_FIQ : 0;
    tl_hart_pmu_state_changed(h);
}

// EDPRCR.COREPURQ and CORENPDRQ, H9.2.36.
bool tl_a64_keeps_power(const tl_hart *h) { return tl_a64(h)->debug.wants_power || (reg_of(h, TL_A64_R_DBGPRCR_EL1) & 1); }

// -- Events.

void tl_a64_set_os_lock(tl_hart *h, bool is_locked) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    uint64_t *status = &tl_a64(h)->sys.reg[TL_A64_R_OSLSR_EL1];
    if (tl_a64_os_locked(h) && !is_locked && (d->edecr & TL_A64_EDECR_OSUCE))
        d->edesr |= TL_A64_EDESR_OSUC;
    *status = (*status & ~(uint64_t)TL_A64_OSLSR_OSLK) | (is_locked ? TL_A64_OSLSR_OSLK : 0);
    tl_a64_debug_changed(h);
    tl_a64_update_line(h);
}

// H3.6: bits 3:0 catch Secure levels, 7:4 Non-secure ones.
static void look_for_catch(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    if (!(d->edeccr >> (h->priv + (tl_a64_is_secure(h) ? 0 : 4)) & 1) || !tl_a64_may_halt(h))
        return;
    d->has_catch = true;
    tl_a64_update_line(h);
}

void tl_a64_debug_taken(tl_hart *h) {
    tl_a64(h)->debug.has_taken = true;
    look_for_catch(h);
}

void tl_a64_debug_returned(tl_hart *h) { look_for_catch(h); }

// -- The Debug Communications Channel. A transfer that does not fit is UNKNOWN, and moves the word.

enum { WORD_BITS = 32 };

uint64_t tl_a64_dtr_read(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    d->edscr &= ~(uint32_t)TL_A64_EDSCR_RXFULL;
    return (uint64_t)d->dtrtx << WORD_BITS | d->dtrrx;
}

void tl_a64_dtr_write(tl_hart *h, uint64_t value) {
    tl_a64(h)->debug.dtrrx = (uint32_t)(value >> WORD_BITS);
    tl_a64_dtrtx_put(h, (uint32_t)value);
}

uint32_t tl_a64_dtrrx_take(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    d->edscr &= ~(uint32_t)TL_A64_EDSCR_RXFULL;
    return d->dtrrx;
}

void tl_a64_dtrtx_put(tl_hart *h, uint32_t value) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    d->dtrtx = value;
    d->edscr |= TL_A64_EDSCR_TXFULL;
}
