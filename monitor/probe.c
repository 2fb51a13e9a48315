// SPDX-License-Identifier: MIT
// Probe windows: the target runs from v to a breakpoint while its counters count EL0 alone. They
// stand still in Debug state, so what is read belongs to the window and nothing else.
#include "internal.h"

#include <string.h>

// Events of quantities. Branch mispredictions of a core without INST_SPEC, the Cortex-A53, are
// those of addresses.
static const uint16_t events[XCM_N_QUANTITIES] = {
    [XCM_Q_RETIRED] = 0x08,  [XCM_Q_MIS] = 0x10, [XCM_Q_PRED] = 0x12, [XCM_Q_IMMED] = 0x0d, [XCM_Q_RETURN] = 0x0e, [XCM_Q_SPEC] = 0x1b,
    [XCM_Q_PC_WRITE] = 0x0c, [XCM_Q_EXC] = 0x09, [XCM_Q_MEM] = 0x13,  [XCM_Q_L2] = 0x16,    [XCM_Q_BUS] = 0x19,    [XCM_Q_BUS_READ] = 0x60,
};
enum { EVENT_SPEC = 0x1b, EVENT_ADDRESS_MIS = 0xcb };
enum { N_NULL_WINDOWS = 16, N_KNOWN = 64, PAGE_BYTES = 4096, TAIL_BYTES = 64, LINE_BYTES = 64, MOST_TRIES = 8 };
static const uint64_t SENTINEL = UINT64_C(0x00005e47e1e10000);
#define I_TLBI_VAAE1 UINT32_C(0xd5088760)

typedef struct plan {
    xcm_algorithm algorithm;
    uint64_t v, stop;     // the window
    uint32_t reg, target; // set before it; overwritten in it
    uint64_t value;       // of reg
    bool is_warmed;       // the same window runs before, with
    uint64_t warm;        // this value of reg
    uint8_t quantities[XCM_COUNTERS];
    uint32_t n_quantities;
} plan;

static uint32_t event_of(const xcm *m, const plan *p, xcm_quantity q) {
    const bool is_fetch = p->algorithm == XCM_ITLB;
    if (q == XCM_Q_TLB_REFILL)
        return is_fetch ? 0x02 : 0x05;
    if (q == XCM_Q_L1_REFILL)
        return is_fetch ? 0x01 : 0x03;
    return q == XCM_Q_MIS && !xcm_has_event(m, EVENT_SPEC) ? EVENT_ADDRESS_MIS : events[q];
}

// The first six events that the core has, in this order.
static void choose_quantities(const xcm *m, plan *p) {
    static const uint8_t of_branches[] = {XCM_Q_RETIRED, XCM_Q_MIS,  XCM_Q_PRED,     XCM_Q_IMMED,
                                          XCM_Q_RETURN,  XCM_Q_SPEC, XCM_Q_PC_WRITE, XCM_Q_EXC};
    static const uint8_t of_tlbs[] = {XCM_Q_RETIRED, XCM_Q_TLB_REFILL, XCM_Q_L1_REFILL, XCM_Q_MEM, XCM_Q_EXC};
    static const uint8_t of_l2[] = {XCM_Q_RETIRED, XCM_Q_MEM, XCM_Q_L2, XCM_Q_BUS, XCM_Q_TLB_REFILL, XCM_Q_BUS_READ};
    const bool is_branch = p->algorithm <= XCM_RSB, is_l2 = p->algorithm == XCM_L2;
    const uint8_t *list = is_branch ? of_branches : is_l2 ? of_l2 : of_tlbs;
    const uint32_t n = is_branch ? sizeof of_branches : is_l2 ? sizeof of_l2 : sizeof of_tlbs;
    p->n_quantities = 0;
    for (uint32_t i = 0; i < n && p->n_quantities < XCM_COUNTERS; i++)
        if (xcm_has_event(m, event_of(m, p, (xcm_quantity)list[i])))
            p->quantities[p->n_quantities++] = list[i];
}

static void set_up_counters(xcm *m, const plan *p) {
    xcm_switch_pmu(m, true, 0); // nothing counts before the events are right
    xcm_switch_pmu(m, false, 0);
    for (uint32_t i = 0; i < p->n_quantities; i++)
        xcm_program_counter(m, i, PM_USER_ONLY | event_of(m, p, (xcm_quantity)p->quantities[i]));
    xcm_wr(m, XCM_PMU, PMCCFILTR, PM_USER_ONLY);
    xcm_zero_counters(m);
    xcm_switch_pmu(m, true, PM_CYCLES | ((1u << p->n_quantities) - 1));
}

static void read_window(xcm *m, const plan *p, xcm_window *w) {
    w->present = 0;
    for (uint32_t i = 0; i < p->n_quantities; i++) {
        w->present |= 1u << p->quantities[i];
        w->delta[p->quantities[i]] = (uint32_t)xcm_read_counter(m, i);
    }
    w->cycles = xcm_read_counter(m, XCM_COUNTERS);
}

// At a level above EL0, where X0 holds *value, or gives it.
static xcm_code above(xcm *m, uint32_t el, uint32_t word, bool is_read, uint64_t *value) {
    xcm_code code = xcm_raise(m, el);
    if (code == XCM_DONE && !is_read)
        code = xcm_set_x(m, 0, *value);
    if (code == XCM_DONE)
        code = xcm_execute(m, word);
    if (code == XCM_DONE && is_read)
        code = xcm_get_x(m, 0, value);
    const xcm_code lowered = xcm_lower(m);
    return code != XCM_DONE ? code : lowered;
}

// ELR_EL1 is dead at EL0. An exception in the window overwrites it. DCPS1 would, too, so that only
// EL3 can tell; without it an event has to.
static xcm_code sentinel(xcm *m, bool is_read, uint64_t *value) {
    return m->has_secure_debug ? above(m, 3, is_read ? I_MRS_ELR_EL1 : I_MSR_ELR_EL1, is_read, value) : XCM_DONE;
}

static xcm_code run_to(xcm *m, uint64_t stop, xcm_window *w) {
    const bool may_halt_kernel = m->config.may_halt_kernel;
    const uint64_t since = m->stop_since_ns;
    xcm_breakpoint others[XCM_BREAKPOINTS];
    memcpy(others, m->breakpoints, sizeof others);
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        if (i != XCM_STEP_BREAKPOINT)
            xcm_clear_breakpoint(m, i);
    xcm_write_breakpoint(m, XCM_STEP_BREAKPOINT, stop, BCR_USER);
    xcm_code code = xcm_restart(m);
    const uint64_t from = m->now_ns;
    while (code == XCM_DONE && !(xcm_poll_prsr(m) & PRSR_HALTED)) {
        if (xcm_is_target_lost(m)) {
            m->has_lost = true;
            code = XCM_LOST;
        } else if (m->now_ns - from > T_WINDOW_NS) {
            code = xcm_request_halt(m);
            break;
        }
        m->host->relax(m->host->ctx);
    }
    XCM_TRY(code);
    m->config.may_halt_kernel = true;
    code = xcm_enter(m);
    m->config.may_halt_kernel = may_halt_kernel;
    m->stop_since_ns = since;
    XCM_TRY(code);
    for (uint32_t i = 0; i < m->n_breakpoints; i++)
        if (others[i].is_set)
            xcm_write_breakpoint(m, i, others[i].address, others[i].control);
        else
            xcm_clear_breakpoint(m, i);
    w->is_ok = m->status == STATUS_BREAKPOINT && m->dlr == stop && m->el == 0;
    return XCM_DONE;
}

static xcm_code run_once(xcm *m, const plan *p, uint64_t value, xcm_window *w) {
    XCM_TRY(xcm_write_register(m, p->reg, value));
    m->dlr = p->v;
    m->dspsr |= PSTATE_DAIF;
    return run_to(m, p->stop, w);
}

// The target is where it was afterwards, but for what the window did to caches and predictors.
static xcm_code run_window(xcm *m, const plan *p, xcm_window *w) {
    enum { LINK = 30 };
    const uint64_t dlr = m->dlr, since = m->stop_since_ns;
    const uint32_t dspsr = m->dspsr, touched[] = {p->reg, p->target, LINK};
    uint64_t saved[3], elr = SENTINEL;
    memset(w, 0, sizeof *w);
    if (xcm_is_over_budget(m))
        return XCM_OVER_BUDGET;
    for (uint32_t i = 0; i < 3; i++)
        XCM_TRY(xcm_read_register(m, touched[i], &saved[i]));
    XCM_TRY(sentinel(m, false, &elr));
    w->has_intruder = !xcm_is_pmu_ours(m);
    set_up_counters(m, p);
    if (p->is_warmed) {
        XCM_TRY(run_once(m, p, p->warm, w));
        xcm_zero_counters(m);
    }
    if (!p->is_warmed || w->is_ok)
        XCM_TRY(run_once(m, p, p->value, w));
    xcm_switch_pmu(m, false, 0);
    read_window(m, p, w);
    XCM_TRY(sentinel(m, true, &elr));
    w->has_excepted = elr != SENTINEL;
    w->is_ok = w->is_ok && !w->has_intruder;
    if (m->el != 0) { // an exception: back to the program by its own level
        m->el = 0;
        m->is_level_lost = true;
        m->has_saved_el1 = false;
    }
    m->dlr = dlr;
    m->dspsr = dspsr;
    m->stop_since_ns = since;
    XCM_TRY(xcm_lower(m));
    for (uint32_t i = 3; i-- > 0;)
        XCM_TRY(xcm_write_register(m, touched[i], saved[i]));
    return XCM_DONE;
}

// -- Probes.

static bool is_indirect_branch(uint32_t word) { return (word & 0xffdffc1f) == 0xd61f0000; } // BR, BLR
static bool is_return(uint32_t word) { return (word & 0xfffffc1f) == 0xd65f0000; }
// A load of a general register with 12 bits of offset 0, or unscaled by 0.
static bool is_plain_load(uint32_t word) { return (word & 0x3ffffc00) == 0x39400000 || (word & 0x3ffffc00) == 0x38400000; }

// The word of code comes from the request or an image. A load of the target would disturb what is
// probed.
static xcm_code word_at(xcm *m, uint64_t address, const uint64_t *args, uint32_t n, uint32_t *ret_word) {
    if (n == 4 && args[3] != 0) {
        *ret_word = (uint32_t)args[3];
        return args[3] <= UINT32_MAX ? XCM_DONE : XCM_BAD_ARGUMENT;
    }
    return xcm_image_word(m, address, ret_word) ? XCM_DONE : XCM_BAD_ARGUMENT;
}

static bool is_in_page(uint64_t v, uint64_t stop) {
    return v / PAGE_BYTES == stop / PAGE_BYTES && v % PAGE_BYTES < PAGE_BYTES - TAIL_BYTES;
}

static xcm_code make_plan(xcm *m, const uint64_t *args, uint32_t n, plan *ret) {
    const uint64_t v = args[1], other = args[2];
    uint32_t word = 0;
    *ret = (plan){.algorithm = (xcm_algorithm)args[0], .reg = 30, .target = 30};
    switch (args[0]) {
    case XCM_BTB:
    case XCM_RSB:
        XCM_TRY(word_at(m, v, args, n, &word));
        if (v % 4 != 0 || other % 4 != 0 || !(args[0] == XCM_BTB ? is_indirect_branch(word) : is_return(word)))
            return XCM_BAD_ARGUMENT;
        ret->v = v;
        ret->stop = other;
        ret->reg = word >> 5 & 31;
        ret->value = other;
        break;
    case XCM_ITLB:
        if (v % 4 != 0 || !is_in_page(v, v + 4))
            return XCM_BAD_ARGUMENT;
        ret->v = v;
        ret->stop = v + 4;
        ret->reg = 30;
        break;
    case XCM_DTLB:
    case XCM_L2:
        XCM_TRY(word_at(m, other, args, n, &word));
        if (other % 4 != 0 || !is_in_page(other, other + 4) || !is_plain_load(word) || (word & 31) == 31)
            return XCM_BAD_ARGUMENT;
        ret->v = other;
        ret->stop = other + 4;
        ret->reg = word >> 5 & 31;
        ret->target = word & 31;
        ret->value = v;
        break;
    default: return XCM_BAD_ARGUMENT;
    }
    if (ret->reg == 31)
        return XCM_BAD_ARGUMENT;
    choose_quantities(m, ret);
    return XCM_DONE;
}

// Another line of the page: the next one, so that a prefetcher of next lines finds nothing to do in
// the window. The last line has no next one.
static uint64_t line_beside(uint64_t v) { return v % PAGE_BYTES < PAGE_BYTES - LINE_BYTES ? v + LINE_BYTES : v ^ (PAGE_BYTES / 2); }

// For L2 the load first reads another line of the page of v. It makes the page walk and fetches the
// code, so the window does neither. XCM_BAD_ARGUMENT: v is not mapped.
static xcm_code probe(xcm *m, plan *p, xcm_window *w) {
    uint64_t paddr = 0;
    XCM_TRY(xcm_take_pmu(m));
    p->is_warmed = p->algorithm == XCM_L2;
    p->warm = line_beside(p->value);
    if (p->is_warmed) {
        bool is_mapped = false;
        XCM_TRY(xcm_translate(m, p->value, &paddr, &is_mapped));
        if (!is_mapped)
            return XCM_BAD_ARGUMENT;
    }
    return run_window(m, p, w);
}

xcm_code xcm_probe(xcm *m, const uint64_t *args, uint32_t n) {
    plan p;
    xcm_window w;
    XCM_TRY(make_plan(m, args, n, &p));
    if (m->el != 0)
        return XCM_WRONG_LEVEL;
    if (p.algorithm == XCM_ITLB) {
        uint64_t lr = 0; // set to what it is
        XCM_TRY(xcm_read_register(m, 30, &lr));
        p.value = lr;
    }
    if (m->host->snapshot)
        (void)m->host->snapshot(m->host->ctx);
    const xcm_code code = probe(m, &p, &w);
    m->ledger |= LEDGER_PROBE;
    m->has_probed = true;
    if (code != XCM_DONE)
        return code;
    const xcm_answer answer = xcm_judge(p.algorithm, &w, &m->calibration);
    const xcm_answer published = xcm_judge_published(p.algorithm, &w, &m->calibration);
    xcm_answer_with(m, answer.verdict);
    xcm_answer_with(m, answer.why);
    for (uint32_t i = 0; i < XCM_COUNTERS; i++)
        xcm_answer_with(m, i < p.n_quantities ? w.delta[p.quantities[i]] : 0);
    xcm_answer_with(m, w.cycles);
    xcm_answer_with(m, m->calibration.residue_cycles);
    xcm_answer_with(m, published.verdict);
    if (!xcm_ring_add(m, XCM_RECORD_VERDICT, 0, m->results, m->n_results))
        return XCM_RING_FULL;
    return answer.verdict == XCM_UNKNOWN ? XCM_UNKNOWN_VERDICT : XCM_DONE;
}

// -- Calibration.

static xcm_code null_windows(xcm *m, const plan *load) {
    uint64_t cycles[N_NULL_WINDOWS];
    for (uint32_t algorithm = XCM_BTB; algorithm <= XCM_L2; algorithm++) {
        plan p = *load;
        p.algorithm = (xcm_algorithm)algorithm;
        p.stop = p.v;
        choose_quantities(m, &p);
        for (uint32_t k = 0; k < N_NULL_WINDOWS; k++) {
            xcm_window w;
            XCM_TRY(run_window(m, &p, &w));
            if (!w.is_ok)
                return XCM_UNKNOWN_VERDICT;
            for (uint32_t q = 0; q < XCM_N_QUANTITIES; q++)
                if ((w.present >> q & 1) && w.delta[q] != 0 && q != XCM_Q_SPEC)
                    m->calibration.unusable |= 1u << q;
            if (w.delta[XCM_Q_SPEC] > m->calibration.spec_slack)
                m->calibration.spec_slack = w.delta[XCM_Q_SPEC];
            cycles[k] = w.cycles;
        }
    }
    for (uint32_t i = 1; i < N_NULL_WINDOWS; i++) // a few: sorted by insertion
        for (uint32_t k = i; k > 0 && cycles[k - 1] > cycles[k]; k--) {
            const uint64_t swapped = cycles[k];
            cycles[k] = cycles[k - 1];
            cycles[k - 1] = swapped;
        }
    m->calibration.residue_cycles = cycles[N_NULL_WINDOWS / 2];
    return XCM_DONE;
}

// TLBI by address empties the micro-TLBs and takes one page from the main TLB. A page that the
// program does not use leaves the main TLB as it is.
static xcm_code drop_page(xcm *m, uint64_t vaddr) {
    uint64_t operand = vaddr / PAGE_BYTES & UINT64_C(0xfffffffffff);
    XCM_TRY(above(m, 1, I_TLBI_VAAE1, false, &operand));
    XCM_TRY(xcm_execute(m, I_DSB));
    return xcm_execute(m, I_ISB);
}

// Another core may drop the page or the line in between. Then the next window is the known hit.
static xcm_code known_hit(xcm *m, const plan *p, xcm_window *w) {
    for (uint32_t tries = 0; tries < MOST_TRIES; tries++) {
        XCM_TRY(run_window(m, p, w));
        if (w->is_ok && w->delta[XCM_Q_TLB_REFILL] == 0 && w->delta[XCM_Q_L1_REFILL] == 0)
            return XCM_DONE;
    }
    return XCM_UNKNOWN_VERDICT;
}

xcm_code xcm_calibrate(xcm *m, const uint64_t *args, uint32_t n) {
    const uint64_t request[] = {XCM_DTLB, args[2], args[0], args[1]};
    uint64_t most_hit = 0, least_miss = UINT64_MAX;
    bool counts_micro = true;
    plan p;
    xcm_window w;
    (void)n;
    XCM_TRY(make_plan(m, request, 4, &p));
    if (m->el != 0)
        return XCM_WRONG_LEVEL;
    XCM_TRY(xcm_take_pmu(m));
    m->ledger |= LEDGER_PROBE;
    m->calibration = (xcm_calibration){0};
    XCM_TRY(null_windows(m, &p));
    XCM_TRY(run_window(m, &p, &w)); // warm
    for (uint32_t k = 0; k < N_KNOWN; k++) {
        XCM_TRY(known_hit(m, &p, &w));
        most_hit = w.cycles > most_hit ? w.cycles : most_hit;
    }
    for (uint32_t k = 0; k < N_KNOWN; k++) {
        XCM_TRY(drop_page(m, p.value ^ (UINT64_C(1) << 40)));
        XCM_TRY(run_window(m, &p, &w));
        counts_micro &= w.is_ok && w.delta[XCM_Q_TLB_REFILL] > 0;
        XCM_TRY(drop_page(m, p.value));
        XCM_TRY(run_window(m, &p, &w));
        least_miss = w.cycles < least_miss ? w.cycles : least_miss;
    }
    const uint64_t residue = m->calibration.residue_cycles;
    m->calibration.counts_micro = counts_micro;
    m->calibration.is_calibrated = most_hit < least_miss;
    m->calibration.tm = (most_hit + least_miss) / 2 - residue;
    xcm_answer_with(m, residue);
    xcm_answer_with(m, most_hit - residue);
    xcm_answer_with(m, least_miss - residue);
    xcm_answer_with(m, m->calibration.tm);
    xcm_answer_with(m, counts_micro);
    xcm_answer_with(m, m->calibration.unusable);
    return XCM_DONE;
}
