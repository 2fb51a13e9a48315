// SPDX-License-Identifier: MIT
// List of addresses with their programs, and step mode. In step mode one hardware breakpoint serves
// any number of addresses: at every stop the monitor computes the address of the next instruction.
#include "internal.h"

enum { SCAN_WORDS = 16, FLAG_STEP = 1, FLAG_APPEND = 2 };

// -- The list: a hash table of places, open-addressed. 0: free.

static uint32_t slot_of(const xcm *m, uint64_t address) {
    const uint64_t mixed = address * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (m->config.hash_capacity - 1);
}
bool xcm_list_has(const xcm *m, uint64_t address) {
    if (m->n_list == 0)
        return false;
    for (uint32_t slot = slot_of(m, address); m->config.hash[slot] != 0; slot = (slot + 1) & (m->config.hash_capacity - 1))
        if (m->config.list[m->config.hash[slot] - 1] == address)
            return true;
    return false;
}
static void add_address(xcm *m, uint64_t address) {
    const bool is_known = xcm_list_has(m, address);
    m->config.list[m->n_list++] = address;
    if (is_known)
        return;
    uint32_t slot = slot_of(m, address);
    while (m->config.hash[slot] != 0)
        slot = (slot + 1) & (m->config.hash_capacity - 1);
    m->config.hash[slot] = m->n_list;
}

void xcm_reset_round(xcm *m) {
    for (uint32_t i = 0; i < m->config.hash_capacity; i++)
        m->config.hash[i] = 0;
    m->n_list = m->n_programs = m->n_program_words = 0;
    m->is_step_mode = m->is_at_tail = m->has_probed = m->has_told_skipped = false;
    m->temporary = 0;
    m->hits = m->steps = m->n_foreign = 0;
    m->ledger = 0;
    m->shadow_programmed = m->shadow_mask = 0;
    m->shadow_on = false;
    for (uint32_t i = 0; i < XCM_BREAKPOINTS; i++)
        m->breakpoints[i].is_set = false;
}

static bool is_branch_by_condition(uint32_t word) { return (word & 0xff000010) == 0x54000000 || (word & 0x7c000000) == 0x34000000; }
static bool falls_through(uint64_t pc, uint32_t word) {
    const xcm_next next = xcm_next_of(pc, word, 0);
    return is_branch_by_condition(word) || (next.kind == XCM_NEXT_KNOWN && next.address == pc + 4);
}

// Between a load-exclusive and its store-exclusive, or at the store, as the images show them.
static bool is_in_exclusive(const xcm *m, uint64_t address) {
    uint32_t word = 0, n_before = 1;
    for (; n_before <= SCAN_WORDS; n_before++) {
        const uint64_t at = address - 4 * n_before;
        if (!xcm_image_word(m, at, &word) || xcm_is_store_exclusive(word))
            return false;
        if (xcm_is_load_exclusive(word))
            break;
        if (!falls_through(at, word))
            return false;
    }
    for (uint64_t at = address; at < address + 4 * (SCAN_WORDS + 1 - n_before); at += 4) {
        if (!xcm_image_word(m, at, &word))
            return false;
        if (xcm_is_store_exclusive(word))
            return true;
        if (!falls_through(at, word))
            return false;
    }
    return false;
}

xcm_code xcm_load_list(xcm *m, const uint64_t *args, uint32_t n) {
    const uint64_t flags = args[0];
    const uint32_t n_new = n - 2, n_before = flags & FLAG_APPEND ? m->n_list : 0;
    if ((flags & ~(uint64_t)(FLAG_STEP | FLAG_APPEND)) != 0 || n_new > m->config.list_capacity - n_before)
        return XCM_BAD_ARGUMENT;
    for (uint32_t i = 1; i < n; i++)
        if (args[i] % 4 != 0 || (i > 1 && is_in_exclusive(m, args[i])))
            return XCM_BAD_ARGUMENT;
    if (!(flags & FLAG_STEP) && n_before + n_new > XCM_STEP_BREAKPOINT + 1)
        return XCM_BAD_ARGUMENT;
    if (!(flags & FLAG_APPEND)) {
        for (uint32_t i = 0; i < m->config.hash_capacity; i++)
            m->config.hash[i] = 0;
        m->n_list = 0;
    }
    m->is_step_mode = flags & FLAG_STEP;
    m->entry = args[1];
    for (uint32_t i = 2; i < n; i++)
        add_address(m, args[i]);
    return XCM_DONE;
}

// Words of a program: address, number of words behind it, then op, n, arguments of each command.
xcm_code xcm_load_program(xcm *m, const uint64_t *args, uint32_t n) {
    uint32_t at = 2;
    const uint64_t n_commands = args[1];
    if (n_commands > XCM_PROGRAM_COMMANDS)
        return XCM_BAD_ARGUMENT;
    for (uint64_t i = 0; i < n_commands; i++) {
        if (at + 2 > n || args[at] > 0xffff || !xcm_op_of((uint8_t)args[at]) || args[at] != xcm_op_code((uint8_t)args[at]) ||
            args[at + 1] > n - at - 2)
            return XCM_BAD_ARGUMENT;
        at += 2 + (uint32_t)args[at + 1];
    }
    if (at != n || m->config.program_words - m->n_program_words < n)
        return XCM_BAD_ARGUMENT;
    uint64_t *to = m->config.programs + m->n_program_words;
    to[0] = args[0];
    to[1] = n - 2;
    for (uint32_t i = 2; i < n; i++)
        to[i] = args[i];
    m->n_program_words += n;
    m->n_programs += 1;
    return XCM_DONE;
}

// The last program of an address counts.
static const uint64_t *program_of(const xcm *m, uint64_t address) {
    const uint64_t *found = NULL;
    for (uint32_t at = 0; at < m->n_program_words; at += 2 + (uint32_t)m->config.programs[at + 1])
        if (m->config.programs[at] == address)
            found = &m->config.programs[at];
    return found;
}

static void run_program(xcm *m, const uint64_t *program) {
    const uint32_t end = 2 + (uint32_t)program[1];
    for (uint32_t at = 2; at < end; at += 2 + (uint32_t)program[at + 1]) {
        const uint8_t function = (uint8_t)program[at];
        const uint32_t n = (uint32_t)program[at + 1];
        const xcm_op *op = xcm_op_of(function);
        const bool would_leave = function == XCM_RESUME || function == XCM_LISTEN_STOP;
        m->n_results = 2;
        const xcm_code code = !(op->states & XCM_HALTED) || would_leave ? XCM_WRONG_STATE
                              : n < op->least || n > op->most           ? XCM_BAD_ARGUMENT
                                                                        : xcm_run_command(m, function, program + at + 2, n);
        m->results[0] = program[at];
        m->results[1] = code;
        (void)xcm_ring_add(m, XCM_RECORD_REG, XCM_FLAG_PROGRAM, m->results, m->n_results);
    }
    m->n_results = 0;
}

// -- Breakpoints of a round.

void xcm_arm(xcm *m) {
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        if (m->breakpoints[i].is_set)
            xcm_write_breakpoint(m, i, m->breakpoints[i].address, m->breakpoints[i].control);
    if (m->is_step_mode) {
        xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT, m->entry, BCR_USER);
        m->step_since_ns = m->now_ns;
        return;
    }
    for (uint32_t i = 0; i < m->n_list && i <= XCM_STEP_BREAKPOINT; i++)
        xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT - i, m->config.list[i], BCR_USER);
}

static bool has_breakpoint_at(const xcm *m, uint64_t address) {
    for (uint32_t i = 0; i < XCM_BREAKPOINTS; i++)
        if (m->breakpoints[i].is_set && m->breakpoints[i].address == address)
            return true;
    return false;
}

// -- The next stop.

static uint64_t branch_target(uint64_t pc, uint32_t word) {
    enum { ALWAYS = 14 };
    if ((word & 0xff000010) == 0x54000000)
        return xcm_next_of(pc, (word & ~15u) | ALWAYS, 0).address;
    return xcm_next_of(pc, word, 0).address;
}

static void tell_skipped(xcm *m, uint64_t store) {
    for (uint64_t at = m->dlr + 4; at <= store && !m->has_told_skipped; at += 4) {
        if (!xcm_list_has(m, at))
            continue;
        m->has_told_skipped = true;
        xcm_tell(m, XCM_EVENT_SKIPPED, at, XCM_BAD_ARGUMENT);
    }
}

// A halt between a load-exclusive and its store-exclusive would lose the reservation each time. The
// next stop stands behind the store, and at the branches out of the sequence. false: there is none.
static bool place_behind_exclusive(xcm *m) {
    uint64_t helpers[N_HELPERS];
    uint32_t n_helpers = 0, word = 0;
    for (uint32_t i = 1; i <= SCAN_WORDS; i++) {
        const uint64_t at = m->dlr + 4 * i;
        if (xcm_read_code(m, at, &word) != XCM_DONE)
            return false;
        if (xcm_is_store_exclusive(word)) {
            xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT, at + 4, BCR_USER);
            for (uint32_t k = 0; k < n_helpers; k++)
                xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT - 1 - k, helpers[k], BCR_USER);
            tell_skipped(m, at);
            return true;
        }
        if (is_branch_by_condition(word)) {
            if (n_helpers == N_HELPERS)
                return false;
            helpers[n_helpers++] = branch_target(at, word);
        } else if (xcm_next_of(at, word, 0).kind != XCM_NEXT_KNOWN || xcm_next_of(at, word, 0).address != at + 4) {
            return false;
        }
    }
    return false;
}

static xcm_code next_address(xcm *m, uint64_t *ret, bool *ret_must_step) {
    uint32_t word = 0;
    uint64_t value = 0;
    *ret_must_step = false;
    XCM_TRY(xcm_read_code(m, m->dlr, &word));
    const xcm_next next = xcm_next_of(m->dlr, word, m->dspsr);
    if (next.kind == XCM_NEXT_EXCLUSIVE && place_behind_exclusive(m)) {
        *ret = 0;
        return XCM_DONE;
    }
    if (next.kind == XCM_NEXT_REGISTER || next.kind == XCM_NEXT_TEST) {
        if (next.reg != 31)
            XCM_TRY(xcm_read_register(m, next.reg, &value));
        *ret = xcm_next_taken(&next, m->dlr, value);
    } else {
        *ret = next.address;
    }
    *ret_must_step = next.kind == XCM_NEXT_STEP || *ret == m->dlr;
    return XCM_DONE;
}

// After a halting step the breakpoint stands on the target's own address, so that it halts again at
// once, and the step is counted like all others.
static xcm_code go_on_stepping(xcm *m) {
    uint64_t next = 0;
    bool must_step = false;
    for (uint32_t k = 0; k < N_HELPERS; k++)
        xcm_clear_breakpoint(m, XCM_STEP_BREAKPOINT - 1 - k);
    xcm_code code = next_address(m, &next, &must_step);
    if (code == XCM_EXCEPTION) { // the code is not mapped: let the target find out
        next = m->dlr;
        must_step = true;
        code = XCM_DONE;
    }
    XCM_TRY(code);
    if (must_step) {
        const uint64_t steps = m->steps;
        code = xcm_halting_step(m, &next);
        m->steps = steps;
        if (code == XCM_DONE)
            next = m->dlr;
        else if (code != XCM_EXCEPTION)
            return code;
    }
    if (next != 0)
        xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT, next, BCR_USER);
    m->step_since_ns = m->now_ns;
    m->has_told_no_halt = false;
    return xcm_restart(m);
}

// A breakpoint on the target's own address would halt it again before it moves.
xcm_code xcm_go_on(xcm *m) {
    uint64_t next = 0;
    if (m->is_step_mode)
        return go_on_stepping(m);
    if (has_breakpoint_at(m, m->dlr)) {
        const uint64_t from = m->dlr;
        const xcm_code code = xcm_halting_step(m, &next);
        if (code == XCM_EXCEPTION && next == from)
            m->step_end = from; // a fault: the instruction comes again, and is no new hit
        else if (code != XCM_DONE && code != XCM_EXCEPTION)
            return code;
    }
    return xcm_restart(m);
}

void xcm_end_round(xcm *m) {
    xcm_detach(m);
    xcm_enter_state(m, XCM_ENDED);
}

// A halt that no breakpoint of ours explains. HLT would halt again, so it is skipped. Other causes
// get one step without them. After three in a row the monitor withdraws.
static void leave_foreign_halt(xcm *m) {
    uint64_t next = 0;
    m->n_foreign += 1;
    m->n_foreign_row += 1;
    xcm_tell(m, XCM_EVENT_HALTED, m->dlr, m->status);
    if (m->n_foreign_row > MOST_FOREIGN_HALTS) {
        xcm_end_round(m);
        return;
    }
    xcm_code code = XCM_DONE;
    if (m->status == STATUS_HLT)
        m->dlr += 4;
    else if (m->status != STATUS_REQUEST)
        code = xcm_halting_step(m, &next);
    if (code == XCM_DONE || code == XCM_EXCEPTION)
        code = xcm_restart(m);
    if (code != XCM_DONE)
        xcm_end_round(m);
}

static void serve_hit(xcm *m, bool is_listed) {
    m->is_at_tail = is_listed && m->dlr == m->config.list[m->n_list - 1];
    m->hits += 1;
    const uint64_t *program = is_listed ? program_of(m, m->dlr) : NULL;
    xcm_enter_state(m, XCM_HALTED);
    if (!program && !m->host->on_hit) {
        xcm_tell(m, XCM_EVENT_HIT, m->dlr, m->hits);
        return; // the user acts, within the budget
    }
    if (program)
        run_program(m, program);
    else
        m->host->on_hit(m->host->ctx, m->dlr);
    if (m->is_at_tail) {
        const uint64_t pc = m->dlr;
        xcm_end_round(m);
        xcm_tell(m, XCM_EVENT_ENDED, pc, m->hits);
    } else if (xcm_go_on(m) == XCM_DONE) {
        xcm_enter_state(m, XCM_LISTENING);
    } else {
        xcm_end_round(m);
    }
}

void xcm_on_halt(xcm *m) {
    if (m->status != STATUS_BREAKPOINT || !has_breakpoint_at(m, m->dlr)) {
        leave_foreign_halt(m);
        return;
    }
    m->n_foreign_row = 0;
    if (m->temporary != 0)
        xcm_clear_breakpoint(m, m->temporary - 1);
    m->temporary = 0;
    const bool is_again = m->step_end != 0 && m->step_end == m->dlr, is_listed = xcm_list_has(m, m->dlr);
    m->step_end = 0;
    m->steps += m->is_step_mode;
    if ((is_listed || !m->is_step_mode) && !is_again) {
        serve_hit(m, is_listed);
        return;
    }
    if (xcm_go_on(m) != XCM_DONE)
        xcm_end_round(m);
}
