// SPDX-License-Identifier: MIT
// Debug state: entry, execution of single instructions, restart, halting step (DDI 0487, H2 to H4).
#include "internal.h"

bool xcm_is_halted_status(uint32_t status) { return status != STATUS_RESTARTING && status != STATUS_RUNNING; }

// The last read of EDSCR before an instruction is the poll behind the one before.
xcm_code xcm_wait_ready(xcm *m) {
    const uint64_t since = m->now_ns;
    while (!(m->edscr & SCR_ITE)) {
        m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
        if (!xcm_is_halted_status(m->edscr & SCR_STATUS))
            return XCM_LOST;
        if (m->edscr & SCR_ITE)
            break;
        if (m->now_ns - since > T_ITE_NS)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
    }
    return XCM_DONE;
}

// An exception has left DLR, DSPSR and registers of its level UNKNOWN; restart writes them.
static xcm_code after_error(xcm *m) {
    const bool is_channel = m->edscr & (SCR_TXU | SCR_RXO);
    xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSE);
    m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    m->is_level_lost = (m->edscr >> SCR_EL_LSB & 3) != m->el;
    return is_channel ? XCM_DCC_OVERRUN : XCM_EXCEPTION;
}

xcm_code xcm_execute(xcm *m, uint32_t word) {
    XCM_TRY(xcm_wait_ready(m));
    xcm_wr(m, XCM_DBG, EDITR, word);
    m->edscr = 0;
    XCM_TRY(xcm_wait_ready(m));
    return m->edscr & SCR_ERR ? after_error(m) : XCM_DONE;
}

static xcm_code acknowledge(xcm *m) {
    const uint64_t since = m->now_ns;
    xcm_wr(m, XCM_CTI, CTIINTACK, TRIGGER_HALT);
    while (xcm_rd(m, XCM_CTI, CTITRIGOUTSTATUS) & TRIGGER_HALT) {
        if (m->now_ns - since > T_ACK_NS)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
    }
    return XCM_DONE;
}

static xcm_code wait_halted(xcm *m, uint64_t limit_ns) {
    const uint64_t since = m->now_ns;
    for (;;) {
        XCM_TRY(xcm_poll_target(m));
        if (m->prsr & PRSR_HALTED)
            return XCM_DONE;
        if (m->now_ns - since > limit_ns)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
    }
}

xcm_code xcm_request_halt(xcm *m) {
    xcm_wr(m, XCM_CTI, CTIAPPPULSE, CHANNEL_HALT);
    const xcm_code code = wait_halted(m, T_HALT_NS);
    if (code != XCM_DONE)
        xcm_wr(m, XCM_CTI, CTIINTACK, TRIGGER_HALT);
    return code;
}

static xcm_code save_level1(xcm *m) {
    m->has_saved_el1 = true;
    XCM_TRY(xcm_execute(m, I_MRS_ELR_EL1));
    XCM_TRY(xcm_get_x(m, 0, &m->elr_el1));
    XCM_TRY(xcm_execute(m, I_MRS_SPSR_EL1));
    XCM_TRY(xcm_get_x(m, 0, &m->spsr_el1));
    XCM_TRY(xcm_execute(m, I_MRS_ESR_EL1));
    XCM_TRY(xcm_get_x(m, 0, &m->esr_el1));
    XCM_TRY(xcm_execute(m, I_MRS_FAR_EL1));
    return xcm_get_x(m, 0, &m->far_el1);
}

xcm_code xcm_enter(xcm *m) {
    m->is_owned = m->has_saved_el1 = m->is_level_lost = false;
    m->stop_since_ns = m->now_ns;
    XCM_TRY(xcm_make_accessible(m));
    if (!(m->prsr & PRSR_HALTED))
        return XCM_TIMEOUT;
    xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSE);
    XCM_TRY(acknowledge(m));
    m->edscr = 0;
    XCM_TRY(xcm_wait_ready(m));
    m->status = m->edscr & SCR_STATUS;
    m->el = m->edscr >> SCR_EL_LSB & 3;
    if (!(m->edscr >> (SCR_RW_LSB + m->el) & 1) || (m->el != 0 && !m->config.may_halt_kernel))
        return XCM_WRONG_LEVEL;
    XCM_TRY(xcm_get_x(m, 0, &m->x0));
    XCM_TRY(xcm_get_x(m, 1, &m->x1));
    XCM_TRY(xcm_execute(m, I_DSB));
    XCM_TRY(xcm_execute(m, I_ISB));
    uint64_t dspsr = 0;
    XCM_TRY(xcm_execute(m, I_MRS_DLR));
    XCM_TRY(xcm_get_x(m, 0, &m->dlr));
    XCM_TRY(xcm_execute(m, I_MRS_DSPSR));
    XCM_TRY(xcm_get_x(m, 0, &dspsr));
    m->dspsr = (uint32_t)dspsr;
    m->is_owned = true;
    return m->el == 1 ? save_level1(m) : XCM_DONE;
}

static xcm_code write_back(xcm *m) {
    static const uint32_t restores[] = {I_MSR_ELR_EL1, 0, I_MSR_ESR_EL1, I_MSR_FAR_EL1};
    XCM_TRY(xcm_lower(m));
    if (m->has_saved_el1) {
        const uint64_t values[] = {m->elr_el1, m->spsr_el1, m->esr_el1, m->far_el1};
        for (uint32_t i = 0; i < 4; i++) {
            XCM_TRY(xcm_set_x(m, 0, values[i]));
            XCM_TRY(xcm_execute(m, i == 1 ? I_MSR_SPSR_EL1 : restores[i]));
        }
    }
    XCM_TRY(xcm_set_x(m, 0, m->dspsr));
    XCM_TRY(xcm_execute(m, I_MSR_DSPSR));
    XCM_TRY(xcm_set_x(m, 0, m->dlr));
    XCM_TRY(xcm_execute(m, I_MSR_DLR));
    XCM_TRY(xcm_set_x(m, 1, m->x1));
    return xcm_set_x(m, 0, m->x0);
}

// SDR is the architectural answer. HALTED and PipeAdv serve chips that do not latch it.
static xcm_code wait_restarted(xcm *m) {
    const uint64_t since = m->now_ns;
    for (;;) {
        XCM_TRY(xcm_poll_target(m));
        if ((m->sticky & PRSR_SDR) || !(m->prsr & PRSR_HALTED))
            return XCM_DONE;
        if (m->now_ns - since > T_RESUME_NS)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
    }
}

// Removes words from the debug channel, because a word left there stops every transfer. Ends Memory
// access mode, which a broken transfer leaves on. X0 is scratch.
static xcm_code empty_channel(xcm *m) {
    m->edscr = 0;
    XCM_TRY(xcm_wait_ready(m));
    if (m->edscr & SCR_MA) {
        xcm_wr(m, XCM_DBG, EDSCR, m->edscr & ~SCR_MA);
        m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    }
    if (!(m->edscr & (SCR_ERR | SCR_TXFULL | SCR_RXFULL)))
        return XCM_DONE;
    xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSE);
    if (m->edscr & SCR_TXFULL)
        (void)xcm_rd(m, XCM_DBG, DBGDTRTX);
    return m->edscr & SCR_RXFULL ? xcm_execute(m, I_MRS_DTRRX) : XCM_DONE;
}

xcm_code xcm_restart(xcm *m) {
    xcm_code code = XCM_TIMEOUT;
    if (m->is_owned) {
        XCM_TRY(empty_channel(m));
        XCM_TRY(write_back(m));
    }
    m->edscr = 0;
    XCM_TRY(xcm_wait_ready(m));
    if (m->edscr & SCR_MA) {
        xcm_wr(m, XCM_DBG, EDSCR, m->edscr & ~SCR_MA);
        m->edscr &= ~SCR_MA;
    }
    if (m->is_owned && (m->edscr & (SCR_ERR | SCR_TXFULL | SCR_RXFULL)) != 0)
        return XCM_DCC_OVERRUN; // a word came in between; another try takes it out
    for (uint32_t tries = 0; tries < 2 && code == XCM_TIMEOUT; tries++) {
        XCM_TRY(acknowledge(m));
        (void)xcm_poll_prsr(m);
        m->sticky &= ~(uint32_t)PRSR_SDR;
        xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSPA);
        xcm_wr(m, XCM_CTI, CTIAPPPULSE, CHANNEL_RESTART);
        code = wait_restarted(m);
    }
    if (code != XCM_DONE)
        return code;
    if (m->is_owned) {
        m->last_stop_ns = m->now_ns - m->stop_since_ns;
        if (m->last_stop_ns > m->most_stop_ns)
            m->most_stop_ns = m->last_stop_ns;
    }
    m->is_owned = false;
    m->edscr = 0;
    return XCM_DONE;
}

static void switch_breakpoints(xcm *m, bool is_on) {
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        if (m->breakpoints[i].is_set)
            xcm_wr(m, XCM_DBG, DBGBCR + 16 * i, is_on ? m->breakpoints[i].control : 0);
}

// An exception of the instruction: its handler begins masked anyway, and returns to the program's
// own mask.
static xcm_code leave_handler(xcm *m, uint32_t daif, uint64_t *ret_return) {
    uint64_t spsr = 0;
    XCM_TRY(xcm_execute(m, I_MRS_SPSR_EL1));
    XCM_TRY(xcm_get_x(m, 0, &spsr));
    XCM_TRY(xcm_set_x(m, 0, (spsr & ~(uint64_t)PSTATE_DAIF) | daif));
    XCM_TRY(xcm_execute(m, I_MSR_SPSR_EL1));
    XCM_TRY(xcm_execute(m, I_MRS_ELR_EL1));
    XCM_TRY(xcm_get_x(m, 0, ret_return));
    return XCM_EXCEPTION;
}

// The caller goes on from *m, which is owned at whatever level the step has ended.
xcm_code xcm_halting_step(xcm *m, uint64_t *ret_return) {
    const uint32_t daif = m->dspsr & PSTATE_DAIF, level = m->el;
    const uint64_t since = m->stop_since_ns;
    const bool may_halt_kernel = m->config.may_halt_kernel;
    switch_breakpoints(m, false);
    xcm_wr(m, XCM_DBG, EDECR, EDECR_SS);
    m->dspsr |= PSTATE_DAIF;
    xcm_code code = xcm_restart(m);
    if (code == XCM_DONE)
        code = wait_halted(m, T_HALT_NS);
    if (code == XCM_TIMEOUT) // WFI and its like wait for what is masked
        code = xcm_request_halt(m);
    if (code == XCM_DONE) {
        m->config.may_halt_kernel = true;
        code = xcm_enter(m);
        m->config.may_halt_kernel = may_halt_kernel;
        m->stop_since_ns = since;
    }
    if (m->has_lost)
        return XCM_LOST;
    xcm_wr(m, XCM_DBG, EDECR, 0);
    switch_breakpoints(m, true);
    if (code != XCM_DONE) // a later resume must not run with interrupts masked
        m->dspsr = (m->dspsr & ~(uint32_t)PSTATE_DAIF) | daif;
    XCM_TRY(code);
    m->steps += 1;
    if (m->el > level) {
        m->has_saved_el1 = false; // SPSR_EL1 changes here
        return leave_handler(m, daif, ret_return);
    }
    m->dspsr = (m->dspsr & ~(uint32_t)PSTATE_DAIF) | daif;
    return XCM_DONE;
}
