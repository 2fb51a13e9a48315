// SPDX-License-Identifier: MIT
// The generic timer: timer.h.
#include "isa/a64/timer.h"

#include "base/bits.h"

static const struct {
    uint16_t control, compare, value;
} timers[TL_A64_N_TIMERS] = {
    [TL_A64_TIMER_P] = {TL_A64_R_CNTP_CTL_EL0, TL_A64_R_CNTP_CVAL_EL0, TL_A64_R_CNTP_TVAL_EL0},
    [TL_A64_TIMER_PS] = {TL_A64_R_CNTPS_CTL_EL1, TL_A64_R_CNTPS_CVAL_EL1, TL_A64_R_CNTPS_TVAL_EL1},
    [TL_A64_TIMER_V] = {TL_A64_R_CNTV_CTL_EL0, TL_A64_R_CNTV_CVAL_EL0, TL_A64_R_CNTV_TVAL_EL0},
};
const uint32_t tl_a64_timer_intids[TL_A64_N_TIMERS] = {
    [TL_A64_TIMER_P] = TL_A64_INTID_CNTP, [TL_A64_TIMER_PS] = TL_A64_INTID_CNTPS, [TL_A64_TIMER_V] = TL_A64_INTID_CNTV};

static uint64_t reg_of(const tl_hart *h, uint32_t reg) { return tl_a64(h)->sys.reg[reg]; }

static bool has_expired(const tl_hart *h, uint32_t timer, uint64_t cycle) {
    return tl_hart_time(h, cycle) >= reg_of(h, timers[timer].compare);
}

uint64_t tl_a64_timer_control(const tl_hart *h, uint32_t control_reg) {
    const uint64_t control = reg_of(h, control_reg);
    for (uint32_t i = 0; i < TL_A64_N_TIMERS; i++)
        if (timers[i].control == control_reg && (control & TL_A64_CNT_ENABLE) && has_expired(h, i, h->now))
            return control | TL_A64_CNT_ISTATUS;
    return control;
}

uint32_t tl_a64_timer_compare(uint32_t value_reg) {
    for (uint32_t i = 0; i < TL_A64_N_TIMERS; i++)
        if (timers[i].value == value_reg)
            return timers[i].compare;
    return TL_A64_R_NONE;
}

uint64_t tl_a64_timers_tick(const tl_hart *h, uint64_t cycle, uint32_t *ret_lines) {
    uint64_t next = UINT64_MAX;
    *ret_lines = 0;
    for (uint32_t i = 0; i < TL_A64_N_TIMERS; i++) {
        const uint64_t control = reg_of(h, timers[i].control);
        if ((control & (TL_A64_CNT_ENABLE | TL_A64_CNT_IMASK)) != TL_A64_CNT_ENABLE)
            continue;
        if (has_expired(h, i, cycle))
            *ret_lines |= 1u << i;
        else
            next = tl_lesser(next, tl_hart_cycle_of_time(h, reg_of(h, timers[i].compare)));
    }
    return next;
}

uint64_t tl_a64_event_stream(const tl_hart *h, uint64_t cycle) {
    const uint64_t control = reg_of(h, TL_A64_R_CNTKCTL_EL1);
    if (!(control & 4))
        return UINT64_MAX;
    // An event comes when the bit EVNTI of the counter changes from 0 to 1, or with EVNTDIR from 1
    // to 0.
    const uint32_t bit = (uint32_t)tl_bits(control, 4, 4);
    const uint64_t half = UINT64_C(1) << bit, period = half << 1, offset = control & 8 ? 0 : half;
    const uint64_t time = tl_hart_time(h, cycle);
    return tl_hart_cycle_of_time(h, time + period - ((time - offset) & (period - 1)));
}
