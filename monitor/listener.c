// SPDX-License-Identifier: MIT
// The listener: one tick after the other it watches the target, runs the command that waits, and
// keeps the stop budget. It polls EDPRSR, which answers whatever the target does; EDSCR is an error
// while software on the target holds the OS lock.
#include "internal.h"

#include <string.h>

size_t xcm_bytes(void) { return sizeof(struct xcm); }

static bool is_power_of_2(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

bool xcm_init(xcm *m, const xcm_config *config) {
    const bool has_ring = config->ring != NULL, has_list = config->list != NULL && config->hash != NULL;
    if (!config->host || (has_ring && !is_power_of_2(config->ring_bytes)) || config->list_capacity > 1u << 20 ||
        (config->list_capacity > 0 &&
         (!has_list || !is_power_of_2(config->hash_capacity) || config->hash_capacity < 2 * config->list_capacity)))
        return false;
    memset(m, 0, sizeof *m);
    m->config = *config;
    m->host = config->host;
    m->budget_ns = config->budget_ns == 0 ? DEFAULT_BUDGET_NS : config->budget_ns;
    if (m->budget_ns > MOST_BUDGET_NS)
        m->budget_ns = MOST_BUDGET_NS;
    m->state = XCM_IDLE;
    xcm_reset_round(m);
    xcm_ring_init(m);
    return true;
}

xcm_state xcm_state_of(const xcm *m) { return m->state; }
bool xcm_is_busy(const xcm *m) { return m->has_request; }

static void run_request(xcm *m) {
    if (!m->has_request)
        return;
    const xcm_code code = xcm_run_command(m, (uint8_t)m->op, m->args, m->n_args);
    if (!m->awaits_flush)
        xcm_finish_request(m, code);
}

static void lose_target(xcm *m) {
    m->is_owned = false;
    xcm_detach(m);
    m->sticky = 0;
    xcm_enter_state(m, XCM_ENDED);
    xcm_finish_request(m, XCM_LOST);
    xcm_tell(m, XCM_EVENT_LOST, m->dlr, 0);
}

// An unexpected halt: the kernel's, or one that did not let itself be read.
static void leave_alone(xcm *m, xcm_code code) {
    m->n_foreign += 1;
    m->n_foreign_row += 1;
    xcm_tell(m, XCM_EVENT_FOREIGN, m->status, code);
    if (xcm_restart(m) == XCM_DONE && m->n_foreign_row <= MOST_FOREIGN_HALTS)
        return;
    if (xcm_poll_target(m) == XCM_DONE)
        xcm_end_round(m);
    else
        lose_target(m); // a reset looks like a halt that cannot be read
}

static void listen(xcm *m) {
    (void)xcm_poll_prsr(m);
    if (xcm_is_target_lost(m)) {
        lose_target(m);
        return;
    }
    if (m->prsr & PRSR_OSLK) // software of the target has taken it again
        xcm_wr(m, XCM_DBG, OSLAR, 0);
    if (m->prsr & PRSR_HALTED) {
        const xcm_code code = xcm_enter(m);
        if (m->has_lost)
            lose_target(m);
        else if (code == XCM_DONE)
            xcm_on_halt(m);
        else
            leave_alone(m, code);
        return;
    }
    if (m->is_step_mode && !m->has_told_no_halt && m->now_ns - m->step_since_ns > T_LOST_NS) {
        m->has_told_no_halt = true;
        xcm_tell(m, XCM_EVENT_NO_HALT, m->breakpoints[XCM_STEP_BREAKPOINT].address, 0);
    }
    run_request(m);
}

// The target goes on, whatever waits.
static void end_stop(xcm *m) {
    const uint64_t pc = m->dlr, stop_ns = m->now_ns - m->stop_since_ns;
    m->has_over_budget = false;
    if (m->is_at_tail || xcm_go_on(m) != XCM_DONE)
        xcm_end_round(m);
    else
        xcm_enter_state(m, XCM_LISTENING);
    xcm_finish_request(m, XCM_OVER_BUDGET);
    xcm_tell(m, XCM_EVENT_BUDGET, pc, stop_ns);
}

static void attend(xcm *m) {
    (void)xcm_poll_prsr(m);
    if (xcm_is_target_lost(m)) {
        lose_target(m);
        return;
    }
    if (xcm_is_over_budget(m)) {
        end_stop(m);
        return;
    }
    run_request(m);
    if (m->state == XCM_HALTED && xcm_is_over_budget(m))
        end_stop(m);
}

void xcm_tick(xcm *m) {
    m->n_ticks += 1;
    switch (m->state) {
    case XCM_LISTENING: listen(m); break;
    case XCM_HALTED: attend(m); break;
    default: run_request(m); break;
    }
    if (m->has_lost && (m->state == XCM_LISTENING || m->state == XCM_HALTED))
        lose_target(m);
}

void xcm_expire(xcm *m) {
    if (m->state != XCM_HALTED)
        return;
    m->now_ns = m->host->now_ns(m->host->ctx);
    if (xcm_is_over_budget(m))
        end_stop(m);
}

void xcm_owner_died(xcm *m) {
    m->has_request = m->awaits_flush = m->has_owner = false;
    m->n_results = 0;
    if (m->state == XCM_LISTENING || m->state == XCM_HALTED)
        xcm_end_round(m);
    else if (m->state == XCM_IDLE)
        xcm_reset_round(m);
}

void xcm_set_owner(xcm *m, uint64_t owner) {
    m->owner = owner;
    m->has_owner = true;
}
