// SPDX-License-Identifier: MIT
// Verdicts on a probe window. A verdict is yes, no or unknown; unknown has a reason. The published
// forms beside them take a disturbed measurement for an absent entry.
#include "xcm.h"

static bool has(const xcm_window *w, xcm_quantity q) { return w->present >> q & 1; }
static xcm_answer unknown(uint32_t why) { return (xcm_answer){XCM_UNKNOWN, why}; }
static xcm_answer is_yes(bool yes) { return (xcm_answer){yes ? XCM_YES : XCM_NO, 0}; }

// A quantity that an algorithm rests on moves in windows in which nothing runs.
static bool rests_on_unusable(xcm_algorithm algorithm, const xcm_window *w, const xcm_calibration *c) {
    static const uint32_t needed[] = {
        [XCM_BTB] = 1 << XCM_Q_RETIRED | 1 << XCM_Q_MIS | 1 << XCM_Q_PRED,
        [XCM_RSB] = 1 << XCM_Q_RETIRED | 1 << XCM_Q_MIS | 1 << XCM_Q_PRED,
        [XCM_ITLB] = 1 << XCM_Q_RETIRED | 1 << XCM_Q_TLB_REFILL,
        [XCM_DTLB] = 1 << XCM_Q_RETIRED | 1 << XCM_Q_TLB_REFILL,
        [XCM_L2] = 1 << XCM_Q_RETIRED | 1 << XCM_Q_MEM | 1 << XCM_Q_L2 | 1 << XCM_Q_BUS_READ,
    };
    return (needed[algorithm] & c->unusable) != 0 || (needed[algorithm] & w->present) != needed[algorithm];
}

static xcm_answer judge_branch(bool is_return, const xcm_window *w, const xcm_calibration *c) {
    if (w->delta[XCM_Q_IMMED] > 0 && has(w, XCM_Q_IMMED))
        return unknown(XCM_WHY_CLASS);
    if (has(w, XCM_Q_RETURN)) {
        if ((w->delta[XCM_Q_RETURN] > 0) != is_return)
            return unknown(XCM_WHY_CLASS);
    } else if (has(w, XCM_Q_PC_WRITE) && w->delta[XCM_Q_PC_WRITE] != 1) {
        return unknown(XCM_WHY_CLASS);
    }
    const uint32_t mis = w->delta[XCM_Q_MIS], pred = w->delta[XCM_Q_PRED];
    if (has(w, XCM_Q_SPEC)) {
        if (w->delta[XCM_Q_SPEC] == 0)
            return unknown(XCM_WHY_CONFLICT);
        if (mis == 0 && w->delta[XCM_Q_SPEC] > w->delta[XCM_Q_RETIRED] + c->spec_slack)
            return unknown(XCM_WHY_SPECULATION);
    }
    if (pred == 1 && mis == 0)
        return is_yes(true);
    if (pred == 1 && mis == 1)
        return is_yes(false);
    if (pred == 0 && mis == 1)
        return (xcm_answer){XCM_NO, XCM_WHY_UNPREDICTED};
    return unknown(XCM_WHY_CONFLICT);
}

static xcm_answer judge_tlb(bool is_load, const xcm_window *w, const xcm_calibration *c) {
    const uint64_t cycles = w->cycles > c->residue_cycles ? w->cycles - c->residue_cycles : 0;
    if (is_load && has(w, XCM_Q_MEM) && w->delta[XCM_Q_TLB_REFILL] == 0 && w->delta[XCM_Q_MEM] != 1)
        return unknown(XCM_WHY_CONFLICT);
    if (w->delta[XCM_Q_TLB_REFILL] > 0)
        return is_yes(false);
    if (c->counts_micro)
        return is_yes(true);
    if (!c->is_calibrated)
        return unknown(XCM_WHY_UNCALIBRATED);
    if (w->delta[XCM_Q_L1_REFILL] > 0)
        return c->has_tm_miss ? is_yes(cycles <= c->tm_miss) : unknown(XCM_WHY_CYCLES);
    return is_yes(cycles <= c->tm);
}

static xcm_answer judge_l2(const xcm_window *w) {
    if (w->delta[XCM_Q_MEM] == 0)
        return unknown(XCM_WHY_NOT_RETIRED);
    if (w->delta[XCM_Q_TLB_REFILL] > 0)
        return unknown(XCM_WHY_WALK);
    if (w->delta[XCM_Q_MEM] > 1)
        return unknown(XCM_WHY_EXTRA);
    if (w->delta[XCM_Q_L2] != 1)
        return unknown(XCM_WHY_CONFLICT);
    // BUS_ACCESS also moves when the line that the load displaces is written back.
    return is_yes(w->delta[XCM_Q_BUS_READ] == 0);
}

xcm_answer xcm_judge(xcm_algorithm algorithm, const xcm_window *w, const xcm_calibration *c) {
    if (!w->is_ok)
        return unknown(w->has_intruder ? XCM_WHY_CONFLICT : XCM_WHY_WINDOW);
    if (rests_on_unusable(algorithm, w, c))
        return unknown(XCM_WHY_ABSENT);
    if (w->delta[XCM_Q_RETIRED] == 0)
        return unknown(XCM_WHY_NOT_RETIRED);
    if (w->delta[XCM_Q_RETIRED] > 1)
        return unknown(XCM_WHY_EXTRA);
    if (w->has_excepted || (has(w, XCM_Q_EXC) && w->delta[XCM_Q_EXC] > 0))
        return unknown(XCM_WHY_EXCEPTION);
    switch (algorithm) {
    case XCM_BTB: return judge_branch(false, w, c);
    case XCM_RSB: return judge_branch(true, w, c);
    case XCM_ITLB: return judge_tlb(false, w, c);
    case XCM_DTLB: return judge_tlb(true, w, c);
    default: return judge_l2(w);
    }
}

// An absent event has moved by 0. Indices out of range in the published listings are mended here.
xcm_answer xcm_judge_published(xcm_algorithm algorithm, const xcm_window *w, const xcm_calibration *c) {
    const uint32_t retired = w->delta[XCM_Q_RETIRED], spec = has(w, XCM_Q_SPEC) ? w->delta[XCM_Q_SPEC] : 0;
    const uint32_t returns = has(w, XCM_Q_RETURN) ? w->delta[XCM_Q_RETURN] : 0, mem = w->delta[XCM_Q_MEM];
    const bool is_predicted = w->delta[XCM_Q_MIS] == 0 && w->delta[XCM_Q_PRED] == 1;
    switch (algorithm) {
    case XCM_BTB: return is_yes(w->delta[XCM_Q_IMMED] == 0 && returns == 0 && retired > 0 && spec > 0 && retired >= spec && is_predicted);
    case XCM_RSB: return is_yes(returns > 0 && retired > 0 && spec > 0 && retired >= spec && is_predicted);
    case XCM_ITLB:
    case XCM_DTLB: return is_yes(retired > 0 && w->cycles <= c->tm + c->residue_cycles && w->delta[XCM_Q_TLB_REFILL] == 0);
    default:
        return is_yes(retired > 0 && mem > 0 && mem >= w->delta[XCM_Q_L2] && retired >= mem && w->delta[XCM_Q_L2] == 1 &&
                      w->delta[XCM_Q_BUS] == 0);
    }
}
