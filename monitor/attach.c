// SPDX-License-Identifier: MIT
// Attach and detach. A refused attach leaves every register as it was. Detach undoes attach, and
// leaves the target running.
#include "internal.h"

static bool is_component(xcm *m, xcm_block block, uint32_t type) {
    static const uint8_t cidr[] = {0x0d, 0x90, 0x05, 0xb1};
    for (uint32_t i = 0; i < 4; i++)
        if ((xcm_rd(m, block, CIDR0 + 4 * i) & 0xff) != cidr[i])
            return false;
    return (xcm_rd(m, block, DEVTYPE) & 0xff) == type && xcm_rd(m, block, DEVAFF0) == (uint32_t)m->config.mpidr &&
           xcm_rd(m, block, DEVAFF1) == (uint32_t)(m->config.mpidr >> 32);
}

static bool unlock(xcm *m, xcm_block block) {
    xcm_wr(m, block, LAR, LOCK_KEY);
    const uint32_t lsr = xcm_rd(m, block, LSR);
    return !(lsr & LSR_SLI) || !(lsr & LSR_SLK);
}
static void lock_blocks(xcm *m) {
    for (uint32_t block = XCM_N_BLOCKS; block-- > 0;)
        xcm_wr(m, (xcm_block)block, LAR, 0);
}

void xcm_write_breakpoint(xcm *m, uint32_t index, uint64_t address, uint32_t control) {
    const uint32_t at = 16 * index;
    xcm_wr(m, XCM_DBG, DBGBCR + at, 0);
    xcm_wr(m, XCM_DBG, DBGBVR + at, (uint32_t)address);
    xcm_wr(m, XCM_DBG, DBGBVR + at + 4, (uint32_t)(address >> 32));
    xcm_wr(m, XCM_DBG, DBGBCR + at, control);
    m->breakpoints[index] = (xcm_breakpoint){control & BCR_E, address, control};
}
void xcm_clear_breakpoint(xcm *m, uint32_t index) {
    if (!m->breakpoints[index].is_set)
        return;
    xcm_wr(m, XCM_DBG, DBGBCR + 16 * index, 0);
    m->breakpoints[index].is_set = false;
}

static void save(xcm *m) {
    m->saved_edscr = xcm_rd(m, XCM_DBG, EDSCR);
    m->saved_edecr = xcm_rd(m, XCM_DBG, EDECR);
    m->saved_edeccr = xcm_rd(m, XCM_DBG, EDECCR);
    m->saved_cti_control = xcm_rd(m, XCM_CTI, CTICONTROL);
    m->saved_gate = xcm_rd(m, XCM_CTI, CTIGATE);
    for (uint32_t n = 0; n < CTI_TRIGGERS; n++) {
        m->saved_inen[n] = xcm_rd(m, XCM_CTI, CTIINEN + 4 * n);
        m->saved_outen[n] = xcm_rd(m, XCM_CTI, CTIOUTEN + 4 * n);
    }
    for (uint32_t i = 0; i < m->n_breakpoints; i++) {
        m->saved_bvr[i][0] = xcm_rd(m, XCM_DBG, DBGBVR + 16 * i);
        m->saved_bvr[i][1] = xcm_rd(m, XCM_DBG, DBGBVR + 16 * i + 4);
        m->saved_bcr[i] = xcm_rd(m, XCM_DBG, DBGBCR + 16 * i);
    }
}

static void set_up_triggers(xcm *m) {
    xcm_wr(m, XCM_CTI, CTICONTROL, 1);
    xcm_wr(m, XCM_CTI, CTIGATE, m->saved_gate & ~(uint32_t)CHANNELS_OURS);
    for (uint32_t n = 0; n < CTI_TRIGGERS; n++) {
        const uint32_t ours = n == 0 ? CHANNEL_HALT : n == 1 ? CHANNEL_RESTART : 0;
        xcm_wr(m, XCM_CTI, CTIINEN + 4 * n, m->saved_inen[n] & ~(uint32_t)CHANNELS_OURS);
        xcm_wr(m, XCM_CTI, CTIOUTEN + 4 * n, (m->saved_outen[n] & ~(uint32_t)CHANNELS_OURS) | ours);
    }
}

// The lock registers were opened, and the OS lock perhaps: refused targets get them back.
static xcm_code give_up(xcm *m, bool has_opened, bool was_os_locked, bool has_claimed, xcm_code why) {
    if (has_claimed)
        xcm_wr(m, XCM_DBG, CLAIMCLR, CLAIM_MONITOR);
    if (has_opened) {
        xcm_wr(m, XCM_DBG, EDPRCR, 0);
        if (was_os_locked)
            xcm_wr(m, XCM_DBG, OSLAR, 1);
    }
    lock_blocks(m);
    return why;
}

static xcm_code wait_for_power(xcm *m) {
    const uint64_t since = m->now_ns;
    while (!(xcm_poll_prsr(m) & PRSR_PU)) {
        if (m->now_ns - since > T_HALT_NS)
            return XCM_LOST;
        m->host->relax(m->host->ctx);
    }
    return XCM_DONE;
}

// Somebody else debugs the target. With HDE, breakpoints of others would halt instead of trap.
static bool is_taken(xcm *m) {
    if ((m->prsr & PRSR_HALTED) || (xcm_rd(m, XCM_DBG, CLAIMCLR) & CLAIMS_TAKEN) != 0 || (xcm_rd(m, XCM_DBG, EDECR) & EDECR_SS))
        return true;
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        if (xcm_rd(m, XCM_DBG, DBGBCR + 16 * i) & BCR_E)
            return true;
    return false;
}

static void count_breakpoints(xcm *m) {
    const uint32_t dfr = xcm_rd(m, XCM_DBG, EDDFR);
    m->n_breakpoints = (dfr >> 12 & 15) + 1;
    m->n_context = (dfr >> 28 & 15) + 1;
    if (m->n_breakpoints > XCM_BREAKPOINTS)
        m->n_breakpoints = XCM_BREAKPOINTS;
}

// Reads alone, before the first write: a core that has power and no OS lock shows its debugger.
static bool is_visibly_taken(xcm *m) {
    (void)xcm_poll_prsr(m);
    if (!(m->prsr & PRSR_PU) || (m->prsr & (PRSR_DLK | PRSR_R | PRSR_EDAD)) != 0)
        return false;
    if (m->prsr & PRSR_OSLK)
        return m->prsr & PRSR_HALTED;
    count_breakpoints(m);
    return is_taken(m);
}

xcm_code xcm_attach(xcm *m) {
    if (!is_component(m, XCM_DBG, 0x15) || !is_component(m, XCM_CTI, 0x14) || !is_component(m, XCM_PMU, 0x16))
        return XCM_ABSENT;
    if ((xcm_rd(m, XCM_DBG, AUTHSTATUS) & AUTH_NSID) != AUTH_NSID)
        return XCM_NO_AUTHORITY;
    m->has_secure_debug = (xcm_rd(m, XCM_DBG, AUTHSTATUS) & AUTH_SID) == AUTH_SID;
    if (is_visibly_taken(m))
        return XCM_OTHER_DEBUGGER;
    if (!unlock(m, XCM_DBG) || !unlock(m, XCM_CTI) || !unlock(m, XCM_PMU))
        return give_up(m, false, false, false, XCM_LOST);
    xcm_wr(m, XCM_DBG, EDPRCR, EDPRCR_COREPURQ);
    if (wait_for_power(m) != XCM_DONE)
        return give_up(m, true, false, false, XCM_LOST);
    const bool was_os_locked = m->prsr & PRSR_OSLK;
    m->sticky = 0; // power and resets before this do not matter
    if (m->prsr & (PRSR_DLK | PRSR_R))
        return give_up(m, true, false, false, XCM_LOST);
    if (m->prsr & (PRSR_EDAD | PRSR_EPMAD))
        return give_up(m, true, false, false, XCM_NO_AUTHORITY);
    if (was_os_locked)
        xcm_wr(m, XCM_DBG, OSLAR, 0);
    xcm_wr(m, XCM_DBG, EDPRCR, EDPRCR_COREPURQ | EDPRCR_CORENPDRQ);
    count_breakpoints(m);
    if (is_taken(m))
        return give_up(m, true, was_os_locked, false, XCM_OTHER_DEBUGGER);
    save(m);
    xcm_wr(m, XCM_DBG, CLAIMSET, CLAIM_MONITOR);
    if (!(xcm_rd(m, XCM_DBG, CLAIMCLR) & CLAIM_MONITOR))
        return give_up(m, true, was_os_locked, true, XCM_OTHER_DEBUGGER);
    xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSE);
    xcm_wr(m, XCM_DBG, EDECR, 0);
    xcm_wr(m, XCM_DBG, EDECCR, 0);
    set_up_triggers(m);
    xcm_wr(m, XCM_DBG, EDSCR, (m->saved_edscr & SCR_SAVED) | SCR_HDE);
    m->pmceid0 = xcm_rd(m, XCM_PMU, PMCEID0);
    m->is_attached = true;
    m->has_lost = m->has_over_budget = false;
    m->n_foreign_row = 0;
    return XCM_DONE;
}

// A breakpoint that hit before it was cleared has left the target halted.
static void release(xcm *m) {
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        xcm_clear_breakpoint(m, i);
    for (uint32_t tries = 0; tries < MOST_HALT_TRIES && (xcm_poll_prsr(m) & PRSR_HALTED) != 0; tries++) {
        if (!m->is_owned)
            (void)xcm_enter(m);
        (void)xcm_restart(m);
    }
}

// The monitor has withdrawn its halt request. If the request was pending at a reset, the target
// halted again, and this restarts it. EDPRSR tells, because the OS lock may hide EDSCR.
static void let_go(xcm *m) {
    const uint64_t since = m->now_ns;
    if (!(xcm_poll_prsr(m) & PRSR_PU) || !(m->prsr & PRSR_HALTED))
        return;
    xcm_wr(m, XCM_CTI, CTIAPPPULSE, CHANNEL_RESTART);
    while ((xcm_poll_prsr(m) & (PRSR_PU | PRSR_HALTED)) == (PRSR_PU | PRSR_HALTED) && m->now_ns - since < T_RESUME_NS)
        m->host->relax(m->host->ctx);
}

// A lost target has nothing of ours left in its core; the blocks of the debug domain do.
void xcm_detach(xcm *m) {
    if (!m->is_attached)
        return;
    const bool is_there = xcm_make_accessible(m) == XCM_DONE;
    m->is_attached = false;
    if (is_there) {
        release(m);
        for (uint32_t i = 0; i < m->n_breakpoints; i++) {
            xcm_wr(m, XCM_DBG, DBGBVR + 16 * i, m->saved_bvr[i][0]);
            xcm_wr(m, XCM_DBG, DBGBVR + 16 * i + 4, m->saved_bvr[i][1]);
            xcm_wr(m, XCM_DBG, DBGBCR + 16 * i, m->saved_bcr[i]);
        }
        xcm_give_pmu_back(m);
        xcm_wr(m, XCM_DBG, EDECCR, m->saved_edeccr);
        const uint32_t scr = xcm_rd(m, XCM_DBG, EDSCR);
        xcm_wr(m, XCM_DBG, EDSCR, (scr & ~SCR_SAVED & ~SCR_MA) | (m->saved_edscr & SCR_SAVED));
        xcm_wr(m, XCM_DBG, CLAIMCLR, CLAIM_MONITOR);
        (void)xcm_poll_target(m); // it may have been lost in the meantime
    }
    xcm_wr(m, XCM_DBG, EDECR, m->saved_edecr);
    xcm_wr(m, XCM_CTI, CTIINTACK, TRIGGER_HALT);
    if (m->has_lost)
        let_go(m);
    for (uint32_t n = 0; n < CTI_TRIGGERS; n++) {
        xcm_wr(m, XCM_CTI, CTIINEN + 4 * n, m->saved_inen[n]);
        xcm_wr(m, XCM_CTI, CTIOUTEN + 4 * n, m->saved_outen[n]);
    }
    xcm_wr(m, XCM_CTI, CTIGATE, m->saved_gate);
    xcm_wr(m, XCM_CTI, CTICONTROL, m->saved_cti_control);
    xcm_wr(m, XCM_DBG, EDPRCR, 0);
    lock_blocks(m);
    m->uses_pmu = false;
    for (uint32_t i = 0; i < XCM_BREAKPOINTS; i++)
        m->breakpoints[i].is_set = false;
}
