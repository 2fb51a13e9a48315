// SPDX-License-Identifier: MIT
// Packets become commands: the table of functions, the checker, and what each function does. A
// refused command changes nothing and reaches no register.
#include "internal.h"

#include <string.h>

enum { I = XCM_IDLE, L = XCM_LISTENING, H = XCM_HALTED, E = XCM_ENDED, MANY = 255 };
static const xcm_op ops[XCM_N_FUNCTIONS] = {
    [XCM_DRV_LOAD] = {"DRV_LOAD", XCM_NONE, 0, 0},
    [XCM_DRV_UNLOAD] = {"DRV_UNLOAD", E, 0, 0},
    [XCM_LISTEN_START] = {"LISTEN_START", I, 0, 0},
    [XCM_LISTEN_STOP] = {"LISTEN_STOP", L | H, 0, 0},
    [XCM_ROUND_RESET] = {"ROUND_RESET", E, 0, 0},
    [XCM_LIST_LOAD] = {"LIST_LOAD", I, 3, MANY},
    [XCM_BP_CTL] = {"BP_CTL", I | L | H, 2, 4},
    [XCM_HALT_REQ] = {"HALT_REQ", L, 0, 0},
    [XCM_RESUME] = {"RESUME", H, 0, 2},
    [XCM_EXEC] = {"EXEC", H, 1, 1},
    [XCM_REG_XFER] = {"REG_XFER", H, 3, 3},
    [XCM_MEM_XFER] = {"MEM_XFER", H, 4, MANY},
    [XCM_UARCH_READ] = {"UARCH_READ", H, 4, 4},
    [XCM_PMU_CTL] = {"PMU_CTL", I | L | H, 1, 3},
    [XCM_PMU_READ] = {"PMU_READ", L | H | E, 1, 1},
    [XCM_CACHE_FLUSH] = {"CACHE_FLUSH", L, 1, 1},
    [XCM_PROBE] = {"PROBE", H, 3, 4},
    [XCM_STATUS] = {"STATUS", I | L | H | E, 0, 0},
    [XCM_PROGRAM_LOAD] = {"PROGRAM_LOAD", I, 2, MANY},
    [XCM_UARCH_DUMP] = {"UARCH_DUMP", H, 2, 3},
    [XCM_CALIBRATE] = {"CALIBRATE", H, 3, 3},
    [XCM_ROLLBACK] = {"ROLLBACK", H, 0, 0},
};

const xcm_op *xcm_op_of(uint8_t function) { return function < XCM_N_FUNCTIONS ? &ops[function] : NULL; }
uint16_t xcm_op_code(uint8_t function) { return function < XCM_N_FUNCTIONS ? (uint16_t)(ops[function].states << 8 | function) : function; }

// -- Replies and events.

void xcm_answer_with(xcm *m, uint64_t value) {
    if (m->n_results < XCM_ELEMENTS)
        m->results[m->n_results++] = value;
}

void xcm_finish_request(xcm *m, xcm_code code) {
    if (!m->has_request)
        return;
    const uint32_t n = code == XCM_DONE || code == XCM_UNKNOWN_VERDICT || code == XCM_RING_FULL ? m->n_results : 0;
    m->has_request = m->awaits_flush = false;
    for (uint32_t i = 0; i < n; i++)
        xcm_put_element(m->reply, i, m->results[i]);
    m->n_results = 0;
    m->host->notify(m->host->ctx, m->reply, xcm_seal(m->reply, XCM_REPLY, m->op, (uint8_t)code, (uint8_t)m->state, n));
}

void xcm_tell(xcm *m, xcm_event event, uint64_t first, uint64_t second) {
    xcm_put_element(m->event, 0, event);
    xcm_put_element(m->event, 1, first);
    xcm_put_element(m->event, 2, second);
    m->host->notify(m->host->ctx, m->event, xcm_seal(m->event, XCM_REPLY, XCM_EVENT_OP, XCM_DONE, (uint8_t)m->state, 3));
}

void xcm_enter_state(xcm *m, xcm_state state) {
    m->state = state;
    xcm_ring_note_state(m);
}

// -- Functions.

static xcm_code listen_start(xcm *m) {
    const xcm_code code = xcm_attach(m);
    if (code == XCM_DONE) {
        xcm_apply_pmu_shadow(m);
        xcm_arm(m);
        xcm_enter_state(m, XCM_LISTENING);
    } else {
        xcm_enter_state(m, XCM_ENDED); // so that a driver can be unloaded
    }
    return code;
}

static xcm_code breakpoint_control(xcm *m, const uint64_t *args, uint32_t n) {
    enum { CLEAR, SET, READ };
    const uint32_t index = (uint32_t)args[1];
    if (args[0] > READ || args[1] >= XCM_BREAKPOINTS || (args[0] == SET) != (n == 4) || (args[0] != SET && n != 2))
        return XCM_BAD_ARGUMENT;
    if (args[0] == SET && (args[2] % 4 != 0 || args[3] > UINT32_MAX))
        return XCM_BAD_ARGUMENT;
    if (m->is_step_mode && args[0] != READ && index > 0 && index <= XCM_STEP_BREAKPOINT)
        return XCM_BAD_ARGUMENT; // step mode moves these
    const bool is_shadow = m->state == XCM_IDLE;
    if (!is_shadow)
        XCM_TRY(xcm_make_accessible(m));
    if (!is_shadow && index >= m->n_breakpoints)
        return XCM_ABSENT;
    if (args[0] == SET) {
        const uint32_t control = args[3] == 0 ? BCR_USER : (uint32_t)args[3];
        if (is_shadow)
            m->breakpoints[index] = (xcm_breakpoint){control & BCR_E, args[2], control};
        else
            xcm_write_breakpoint(m, index, args[2], control);
    } else if (args[0] == CLEAR) {
        if (!is_shadow)
            xcm_clear_breakpoint(m, index);
        m->breakpoints[index].is_set = false;
    }
    if (is_shadow) {
        xcm_answer_with(m, m->breakpoints[index].address);
        xcm_answer_with(m, m->breakpoints[index].is_set ? m->breakpoints[index].control : 0);
    } else {
        const uint64_t low = xcm_rd(m, XCM_DBG, DBGBVR + 16 * index), high = xcm_rd(m, XCM_DBG, DBGBVR + 16 * index + 4);
        xcm_answer_with(m, high << 32 | low);
        xcm_answer_with(m, xcm_rd(m, XCM_DBG, DBGBCR + 16 * index));
    }
    return XCM_DONE;
}

// A halt inside the kernel, which may hold a lock that this core needs, is given up at once.
static xcm_code halt(xcm *m) {
    xcm_code code = XCM_WRONG_LEVEL;
    XCM_TRY(xcm_make_accessible(m));
    for (uint32_t tries = 0; tries < MOST_HALT_TRIES && code == XCM_WRONG_LEVEL; tries++) {
        if (tries > 0)
            m->host->relax(m->host->ctx);
        XCM_TRY(xcm_request_halt(m));
        code = xcm_enter(m);
        if (code != XCM_DONE)
            (void)xcm_restart(m);
    }
    if (code != XCM_DONE)
        return code;
    xcm_enter_state(m, XCM_HALTED);
    xcm_answer_with(m, m->status);
    xcm_answer_with(m, m->dlr);
    return XCM_DONE;
}

// An exception of the stepped instruction runs, up to the place where it returns to.
static xcm_code step_one(xcm *m) {
    uint64_t next = 0;
    const xcm_code code = xcm_halting_step(m, &next);
    if (code == XCM_DONE)
        xcm_answer_with(m, m->dlr);
    if (code != XCM_EXCEPTION)
        return code;
    for (uint32_t i = 0; i < m->n_breakpoints - m->n_context && m->temporary == 0; i++)
        if (!m->breakpoints[i].is_set) {
            xcm_write_breakpoint(m, i, next, BCR_USER);
            m->temporary = i + 1;
        }
    XCM_TRY(xcm_restart(m));
    xcm_enter_state(m, XCM_LISTENING);
    return XCM_DONE;
}

static xcm_code resume(xcm *m, const uint64_t *args, uint32_t n) {
    if ((n >= 1 && args[0] % 4 != 0) || (n == 2 && (args[1] != 1 || m->is_step_mode)))
        return XCM_BAD_ARGUMENT;
    if (m->is_at_tail) {
        const uint64_t pc = m->dlr;
        xcm_end_round(m);
        xcm_tell(m, XCM_EVENT_ENDED, pc, m->hits);
        return XCM_DONE;
    }
    if (n >= 1 && args[0] != 0)
        m->dlr = args[0];
    if (n == 2)
        return step_one(m);
    XCM_TRY(xcm_go_on(m));
    xcm_enter_state(m, XCM_LISTENING);
    return XCM_DONE;
}

// The program's own X0 and X1 are there while the instruction runs.
static xcm_code execute_one(xcm *m, const uint64_t *args) {
    if (args[0] > UINT32_MAX || !xcm_may_execute((uint32_t)args[0]))
        return XCM_BAD_ARGUMENT;
    m->ledger |= LEDGER_EXEC;
    XCM_TRY(xcm_set_x(m, 1, m->x1));
    XCM_TRY(xcm_set_x(m, 0, m->x0));
    const xcm_code code = xcm_execute(m, (uint32_t)args[0]);
    if (code == XCM_DONE)
        m->is_level_lost = (m->edscr >> SCR_EL_LSB & 3) != m->el;
    const uint32_t scr = m->edscr;
    uint64_t x0 = m->x0, x1 = m->x1;
    XCM_TRY(xcm_get_x(m, 0, &x0));
    XCM_TRY(xcm_get_x(m, 1, &x1));
    m->x0 = x0;
    m->x1 = x1;
    XCM_TRY(xcm_lower(m));
    xcm_answer_with(m, scr);
    return code;
}

static bool is_register(uint64_t n) { return n <= 33 || (n >= 0x10000 && n < 0x20000); }

static xcm_code transfer_registers(xcm *m, const uint64_t *args) {
    uint64_t value = 0;
    if (args[0] > 1 || !is_register(args[1]))
        return XCM_BAD_ARGUMENT;
    if (args[0] == 1)
        return xcm_write_register(m, (uint32_t)args[1], args[2]);
    if (args[2] == 0 || args[2] > 34 || !is_register(args[1] + args[2] - 1))
        return XCM_BAD_ARGUMENT;
    for (uint64_t i = 0; i < args[2]; i++) {
        XCM_TRY(xcm_read_register(m, (uint32_t)(args[1] + i), &value));
        xcm_answer_with(m, value);
    }
    return XCM_DONE;
}

static xcm_code transfer_memory(xcm *m, const uint64_t *args, uint32_t n) {
    enum { FAST = 1, ALL_INLINE = 2 };
    const uint64_t address = args[1], bytes = args[2], flags = args[3];
    const uint32_t n_words = (uint32_t)((bytes + 7) / 8);
    if (args[0] > 1 || bytes == 0 || bytes > XCM_MEMORY_BYTES || flags > (FAST | ALL_INLINE) || address + bytes < address)
        return XCM_BAD_ARGUMENT;
    if ((flags & FAST) && (address % 4 != 0 || bytes % 4 != 0))
        return XCM_BAD_ARGUMENT;
    if (n != (args[0] == 1 ? 4 + n_words : 4))
        return XCM_BAD_ARGUMENT;
    if (args[0] == 1) {
        memcpy(m->memory, args + 4, (size_t)n_words * 8);
        return xcm_write_memory(m, address, (const uint8_t *)m->memory, (uint32_t)bytes, flags & FAST);
    }
    m->memory[n_words - 1] = 0;
    XCM_TRY(xcm_read_memory(m, address, (uint8_t *)m->memory, (uint32_t)bytes, flags & FAST));
    for (uint32_t i = 0; i < n_words && (bytes <= XCM_INLINE_BYTES || (flags & ALL_INLINE)); i++)
        xcm_answer_with(m, m->memory[i]);
    return xcm_ring_add(m, XCM_RECORD_MEM, 0, m->memory, n_words) ? XCM_DONE : XCM_RING_FULL;
}

static xcm_code read_uarch(xcm *m, const uint64_t *args) {
    uint32_t dr[4] = {0, 0, 0, 0};
    if (args[0] < XCM_L1D_TAG || args[0] > XCM_TLB || args[1] > 15 || args[2] > 0xffff || args[3] > 0xff)
        return XCM_BAD_ARGUMENT;
    const xcm_ram ram = (xcm_ram)args[0];
    XCM_TRY(xcm_find_geometry(m));
    if (!xcm_has_place(m, ram, (uint32_t)args[1], (uint32_t)args[2], (uint32_t)args[3]))
        return XCM_BAD_ARGUMENT;
    xcm_code code = xcm_raise(m, 3);
    if (code == XCM_DONE)
        code = xcm_read_ram(m, ram, (uint32_t)args[1], (uint32_t)args[2], (uint32_t)args[3], dr);
    const xcm_code lowered = xcm_lower(m);
    for (uint32_t k = 0; k < 4; k++)
        xcm_answer_with(m, dr[k]);
    return code != XCM_DONE ? code : lowered;
}

static xcm_code dump(xcm *m, const uint64_t *args, uint32_t n) {
    const uint64_t ms = n == 3 ? args[2] : 0, before = m->budget_ns;
    if (args[0] == 0 || args[0] > 7 || args[1] > 1 || ms > 1000)
        return XCM_BAD_ARGUMENT;
    if (ms > 0)
        m->budget_ns = ms * 1000000;
    const xcm_code code = xcm_dump(m, (uint32_t)args[0], args[1]);
    m->has_over_budget = code == XCM_OVER_BUDGET;
    if (code != XCM_OVER_BUDGET && ms * 1000000 > before)
        m->stop_since_ns = m->now_ns; // the dump's own budget paid for it
    m->budget_ns = before;
    return code;
}

enum { PMU_OFF, PMU_ON, PMU_PROGRAM, PMU_ZERO, PMU_USER };
static bool is_pmu_request(const xcm *m, const uint64_t *args, uint32_t n) {
    const uint32_t all = PM_CYCLES | ((1u << XCM_COUNTERS) - 1);
    switch (args[0]) {
    case PMU_OFF:
    case PMU_ZERO: return n == 1;
    case PMU_ON: return n == 2 && (args[1] & ~(uint64_t)all) == 0;
    case PMU_PROGRAM: return n == 3 && args[1] < XCM_COUNTERS && args[2] <= UINT32_MAX;
    case PMU_USER: return n == 2 && args[1] <= 15 && m->state == XCM_HALTED;
    default: return false;
    }
}

static xcm_code shadow_pmu(xcm *m, const uint64_t *args) {
    if (args[0] == PMU_PROGRAM) {
        m->shadow_typer[args[1]] = (uint32_t)args[2];
        m->shadow_programmed |= 1u << args[1];
    } else if (args[0] != PMU_ZERO) {
        m->shadow_on = args[0] == PMU_ON;
        m->shadow_mask = m->shadow_on ? (uint32_t)args[1] : 0;
    }
    return XCM_DONE;
}

// PMUSERENR_EL0 has no external address.
static xcm_code set_user_access(xcm *m, uint64_t value) {
    xcm_code code = xcm_raise(m, 1);
    if (code == XCM_DONE)
        code = xcm_set_x(m, 0, value);
    if (code == XCM_DONE)
        code = xcm_execute(m, I_MSR_PMUSERENR);
    const xcm_code lowered = xcm_lower(m);
    return code != XCM_DONE ? code : lowered;
}

static xcm_code control_pmu(xcm *m, const uint64_t *args, uint32_t n) {
    if (!is_pmu_request(m, args, n))
        return XCM_BAD_ARGUMENT;
    if (m->state == XCM_IDLE)
        return shadow_pmu(m, args);
    XCM_TRY(xcm_make_accessible(m));
    XCM_TRY(xcm_take_pmu(m));
    switch (args[0]) {
    case PMU_ON: xcm_switch_pmu(m, true, (uint32_t)args[1]); break;
    case PMU_PROGRAM: xcm_program_counter(m, (uint32_t)args[1], (uint32_t)args[2]); break;
    case PMU_ZERO: xcm_zero_counters(m); break;
    case PMU_USER: return set_user_access(m, args[1]);
    default: xcm_switch_pmu(m, false, 0); break;
    }
    return XCM_DONE;
}

static xcm_code read_pmu(xcm *m, const uint64_t *args) {
    const uint32_t all = PM_CYCLES | ((1u << XCM_COUNTERS) - 1);
    if ((args[0] & ~(uint64_t)all) != 0)
        return XCM_BAD_ARGUMENT;
    const bool is_last = m->state == XCM_ENDED;
    if (!is_last)
        XCM_TRY(xcm_make_accessible(m));
    for (uint32_t i = 0; i <= XCM_COUNTERS; i++) {
        const uint32_t n = i == 0 ? XCM_COUNTERS : i - 1, bit = i == 0 ? PM_CYCLES : 1u << n;
        if (!is_last)
            m->last_counts[n] = args[0] & bit ? xcm_read_counter(m, n) : m->last_counts[n];
        if (args[0] & bit)
            xcm_answer_with(m, m->last_counts[n]);
    }
    return is_last || xcm_ring_add(m, XCM_RECORD_PMU, 0, m->results, m->n_results) ? XCM_DONE : XCM_RING_FULL;
}

enum { CAN_READ_RAM = 1, HAS_RETURN_EVENT = 2, HAS_SPEC_EVENT = 4, HAS_SNAPSHOTS = 8, CAN_FLUSH = 16 };
static uint64_t capabilities(const xcm *m) {
    return (m->has_secure_debug ? CAN_READ_RAM : 0) | (xcm_has_event(m, 0x0e) ? HAS_RETURN_EVENT : 0) |
           (xcm_has_event(m, 0x1b) ? HAS_SPEC_EVENT : 0) | (m->host->snapshot ? HAS_SNAPSHOTS : 0) |
           (m->host->run_on_target ? CAN_FLUSH : 0);
}

// Copies that the monitor has: no register is reached.
static xcm_code answer_status(xcm *m) {
    const uint64_t values[] = {m->edscr, m->sticky, (uint64_t)m->state, m->dlr,    m->last_stop_ns, m->most_stop_ns,
                               m->hits,  m->steps,  m->n_dropped,       m->ledger, capabilities(m)};
    for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++)
        xcm_answer_with(m, values[i]);
    return XCM_DONE;
}

// The target itself runs the routine while the listener goes on polling.
static xcm_code flush(xcm *m, const uint64_t *args) {
    if (args[0] < XCM_FLUSH_L1D || args[0] > XCM_FLUSH_BOTH)
        return XCM_BAD_ARGUMENT;
    if (!m->host->run_on_target)
        return XCM_ABSENT;
    const xcm_progress progress = m->host->run_on_target(m->host->ctx, (xcm_routine)args[0], !m->awaits_flush);
    m->awaits_flush = progress == XCM_RUNS;
    if (progress == XCM_HAS_RUN)
        m->ledger |= LEDGER_FLUSH;
    return progress == XCM_CANNOT ? XCM_ABSENT : XCM_DONE;
}

static xcm_code roll_back(xcm *m) {
    if (!m->host->rollback || !m->host->rollback(m->host->ctx))
        return XCM_ABSENT;
    m->has_probed = false;
    m->programmed = 0; // the board's PMU is that of before
    return XCM_DONE;
}

xcm_code xcm_run_command(xcm *m, uint8_t function, const uint64_t *args, uint32_t n) {
    switch (function) {
    case XCM_DRV_UNLOAD: xcm_enter_state(m, XCM_NONE); return XCM_DONE;
    case XCM_LISTEN_START: return listen_start(m);
    case XCM_LISTEN_STOP: xcm_end_round(m); return m->has_lost ? XCM_LOST : XCM_DONE;
    case XCM_ROUND_RESET:
        xcm_reset_round(m);
        m->round += 1;
        xcm_enter_state(m, XCM_IDLE);
        return XCM_DONE;
    case XCM_LIST_LOAD: return xcm_load_list(m, args, n);
    case XCM_BP_CTL: return breakpoint_control(m, args, n);
    case XCM_HALT_REQ: return halt(m);
    case XCM_RESUME: return resume(m, args, n);
    case XCM_EXEC: return execute_one(m, args);
    case XCM_REG_XFER: return transfer_registers(m, args);
    case XCM_MEM_XFER: return transfer_memory(m, args, n);
    case XCM_UARCH_READ: return read_uarch(m, args);
    case XCM_PMU_CTL: return control_pmu(m, args, n);
    case XCM_PMU_READ: return read_pmu(m, args);
    case XCM_CACHE_FLUSH: return flush(m, args);
    case XCM_PROBE: return xcm_probe(m, args, n);
    case XCM_STATUS: return answer_status(m);
    case XCM_PROGRAM_LOAD: return xcm_load_program(m, args, n);
    case XCM_UARCH_DUMP: return dump(m, args, n);
    case XCM_CALIBRATE: return xcm_calibrate(m, args, n);
    case XCM_ROLLBACK: return roll_back(m);
    default: return XCM_UNKNOWN_OP;
    }
}

// -- Checks of a packet, in the order that the protocol fixes.

static xcm_code check(const xcm *m, const xcm_packet *p, uint64_t owner, bool is_privileged) {
    const uint8_t function = (uint8_t)p->op;
    const xcm_op *op = xcm_op_of(function);
    if (!op)
        return XCM_UNKNOWN_OP;
    if (p->op != xcm_op_code(function))
        return XCM_WRONG_BITMAP;
    if (!(op->states & m->state) || (function == XCM_PROBE && m->has_probed))
        return XCM_WRONG_STATE;
    if (!is_privileged)
        return XCM_NO_PRIVILEGE;
    if (m->has_owner && m->owner != owner)
        return XCM_NOT_OWNER;
    if (m->has_request)
        return XCM_BUSY;
    if (p->list != (p->n_elements > 0 ? XCM_HEADER_BYTES : 0) || p->n_elements < op->least ||
        (op->most != MANY && p->n_elements > op->most))
        return XCM_BAD_ARGUMENT;
    return XCM_DONE;
}

static void refuse(xcm *m, uint16_t op, xcm_code code) {
    m->host->notify(m->host->ctx, m->event, xcm_seal(m->event, XCM_REPLY, op, (uint8_t)code, (uint8_t)m->state, 0));
}

void xcm_submit(xcm *m, const uint8_t *packet, uint32_t n_bytes, uint64_t owner, bool is_privileged) {
    xcm_packet header;
    xcm_code code = xcm_check_packet(packet, n_bytes, XCM_GET, &header);
    if (code == XCM_DONE)
        code = check(m, &header, owner, is_privileged);
    if (code != XCM_DONE) {
        refuse(m, header.op, code);
        return;
    }
    for (uint32_t i = 0; i < header.n_elements; i++)
        m->args[i] = xcm_element(packet, i);
    m->op = header.op;
    m->n_args = header.n_elements;
    m->n_results = 0;
    m->has_request = true;
    m->owner = owner;
    m->has_owner = true;
}
