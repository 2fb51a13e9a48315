// SPDX-License-Identifier: MIT
// The counting rule against a second one, written clock by clock from docs/netburst.md, over random
// registers and clocks. Then each rule on its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/netburst/state.h"
#include "pmu/netburst/test_rig.h"

// Register values of section "Worked values" of the specification.
enum { UOPS_T0 = 0x0200020c, CCCR_UOPS = 0x00039000, MSR_CRU_ESCR0 = 0x3b8, MSR_CRU_ESCR2 = 0x3cc };
static const tl_netburst_occurrence three_uops = {TL_NB_UOPS_RETIRED, TL_ESCR_T0_USR, 3, 1};

// ---- The reference: every clock, every counter, from the registers alone.

typedef struct naive {
    uint64_t counter[TL_NETBURST_COUNTERS];
    bool ovf[TL_NETBURST_COUNTERS], prev[TL_NETBURST_COUNTERS], waits[TL_NETBURST_COUNTERS], raised[TL_NETBURST_COUNTERS];
    uint64_t cccr[TL_NETBURST_COUNTERS], escr[TL_N_ESCRS];
    bool any_needs_active, gates;
    bool masked[2];
    uint32_t n_interrupts[2];
} naive;

static const uint32_t naive_msrs[TL_N_ESCRS] = {
#define ESCR(id, msr, block, parity, select) msr,
#include "pmu/netburst/escrs.def"
#undef ESCR
};

// Table 3.2 of the specification, once more: MSR of a pair, first counter of its block, select.
static const struct {
    uint32_t msr, first, select;
} naive_pairs[] = {
    {0x3a0, 0, 7},  {0x3a2, 0, 6},  {0x3aa, 0, 2},  {0x3ac, 0, 4},  {0x3b2, 0, 0},  {0x3b4, 0, 1},  {0x3b6, 0, 3},  {0x3c8, 0, 5},
    {0x3c0, 4, 0},  {0x3c4, 4, 1},  {0x3c2, 4, 2},  {0x3a6, 8, 0},  {0x3a4, 8, 1},  {0x3ae, 8, 2},  {0x3b0, 8, 3},  {0x3a8, 8, 5},
    {0x3ba, 12, 0}, {0x3ca, 12, 1}, {0x3bc, 12, 2}, {0x3be, 12, 3}, {0x3b8, 12, 4}, {0x3cc, 12, 5}, {0x3e0, 12, 6},
};
static const uint8_t naive_parity[TL_NETBURST_COUNTERS] = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1};
static const uint8_t naive_source[TL_NETBURST_COUNTERS] = {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 14, 15};

// MSR of the detector, 0: none. Model 2 without SSU_ESCR1.
static uint32_t naive_route(uint32_t i, uint32_t select) {
    const uint32_t first = i < 4 ? 0 : i < 8 ? 4 : i < 12 ? 8 : 12;
    for (uint32_t k = 0; k < TL_COUNT_OF(naive_pairs); k++)
        if (naive_pairs[k].first == first && naive_pairs[k].select == select && naive_pairs[k].msr + naive_parity[i] != 0x3bf)
            return naive_pairs[k].msr + naive_parity[i];
    return 0;
}

static bool naive_is_ti(uint32_t event) { return event == TL_NB_PAGE_WALK_TYPE || event == TL_NB_SCALAR_SP_UOP; }

// Of an event that the random programs use; 0: the detector has no such event.
static uint32_t naive_event(uint32_t msr, uint64_t code) {
    switch (msr & ~1u) {
    case 0x3b8: return code == 1 ? TL_NB_UOPS_RETIRED : code == 2 ? TL_NB_INSTR_RETIRED : 0;
    case 0x3cc: return code == 6 ? TL_NB_BRANCH_RETIRED : 0;
    case 0x3ac: return code == 1 ? TL_NB_PAGE_WALK_TYPE : 0;
    case 0x3a4: return code == 0xa ? TL_NB_SCALAR_SP_UOP : 0;
    case 0x3c2: return code == 4 ? TL_NB_RETIRED_BRANCH_TYPE : 0;
    default: return 0;
    }
}

static uint32_t naive_output(const naive *m, uint32_t msr, const tl_netburst_clock *clock) {
    uint32_t k = 0, output = 0;
    while (msr != 0 && naive_msrs[k] != msr)
        k++;
    if (msr == 0)
        return 0;
    const uint64_t escr = m->escr[k];
    const uint32_t event = naive_event(msr, escr >> 25);
    for (uint32_t o = 0; o < clock->n_occurrences && event != 0; o++) {
        const tl_netburst_occurrence *what = &clock->occurrences[o];
        if (what->event != event || !(escr >> 9 & 0xffff & what->mask))
            continue;
        bool counts;
        if (naive_is_ti(event) || what->owner == 0) {
            const bool usr = escr & 5, os = escr & 10;
            counts = (usr && os) || (usr && (clock->active & 5)) || (os && (clock->active & 10));
        } else {
            counts = escr & what->owner;
        }
        output += counts ? what->weight : 0;
    }
    return output > 15 ? 15 : output;
}

static bool naive_runs(const naive *m, uint32_t i) {
    static const int8_t extended[TL_NETBURST_COUNTERS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 16, -1, -1, 17, 17, 16};
    const uint64_t cccr = m->cccr[i];
    return (cccr >> 12 & 1) || ((cccr >> 30 & 1) && m->ovf[naive_source[i]]) ||
           ((cccr >> 11 & 1) && extended[i] >= 0 && m->ovf[extended[i]]);
}

static void naive_deliver(naive *m) {
    for (uint32_t t = 0; t < 2; t++) {
        bool line = false;
        for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++)
            line |= m->raised[i] && (m->cccr[i] >> (26 + t) & 1);
        if (line && !m->masked[t]) {
            m->masked[t] = true;
            m->n_interrupts[t] += 1;
        }
    }
}

static void naive_clock(naive *m, const tl_netburst_clock *clock) {
    bool runs[TL_NETBURST_COUNTERS];
    const uint32_t active = (clock->active & 12 ? 1u : 0) + (clock->active & 3 ? 1u : 0);
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++)
        runs[i] = naive_runs(m, i);
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        const uint64_t cccr = m->cccr[i];
        const uint32_t msr = naive_route(i, cccr >> 13 & 7), mode = cccr >> 16 & 3, threshold = cccr >> 20 & 15;
        uint32_t k = 0;
        while (msr != 0 && naive_msrs[k] != msr)
            k++;
        const bool has_power = runs[i] && (!m->gates || (msr != 0 && m->escr[k] >> 25 != 0));
        const uint32_t x = naive_output(m, msr, clock);
        const bool compare = cccr >> 18 & 1, y = cccr >> 19 & 1 ? x <= threshold : x > threshold;
        uint32_t d = !compare ? x : cccr >> 24 & 1 ? y && !m->prev[i] : y;
        m->prev[i] = has_power && compare && y;
        if (!has_power || (mode == 3 ? m->any_needs_active && active == 0 : mode != active))
            d = 0;
        const uint64_t sum = m->counter[i] + d;
        m->counter[i] = sum & TL_NETBURST_VALUE;
        const bool wraps = sum > TL_NETBURST_VALUE, forced = d > 0 && (cccr >> 25 & 1);
        if (wraps || forced)
            m->ovf[i] = true;
        if ((wraps && m->counter[i] > 0) || forced || (d > 0 && m->waits[i] && !wraps)) {
            m->raised[i] = true;
            m->waits[i] = false;
        } else if (wraps) {
            m->waits[i] = true;
        }
    }
    naive_deliver(m);
}

static uint64_t state = 1;

static uint64_t draw_cccr(void) {
    const uint64_t bits = draw(&state, 1 << 30) << 2 ^ draw(&state, 1 << 30);
    return (bits & UINT64_C(0xcffce000)) | (draw(&state, 4) != 0 ? 3 : draw(&state, 4)) << 16 | (uint64_t)(draw(&state, 3) != 0) << 12 |
           (draw(&state, 2) == 0 ? bits & 0xfff & (1 << 11) : 0);
}

static uint64_t draw_escr(uint32_t msr) {
    const uint64_t code = (msr & ~1u) == 0x3b8   ? 1 + draw(&state, 2)
                          : (msr & ~1u) == 0x3cc ? 6
                          : (msr & ~1u) == 0x3ac ? 1
                          : (msr & ~1u) == 0x3a4 ? 0xa
                          : (msr & ~1u) == 0x3c2 ? 4
                                                 : draw(&state, 64);
    return (draw(&state, 8) == 0 ? draw(&state, 128) : code) << 25 | draw(&state, 1 << 16) << 9 | draw(&state, 16);
}

static uint32_t draw_select(uint32_t i) {
    static const uint32_t selects[] = {4, 2, 1, 4};
    const uint32_t block = i < 4 ? 0 : i < 8 ? 1 : i < 12 ? 2 : 3;
    if (block == 3 && draw(&state, 3) == 0)
        return 5;
    return draw(&state, 6) == 0 ? (uint32_t)draw(&state, 8) : selects[block];
}

static void write_both(rig *r, naive *m) {
    const uint32_t i = (uint32_t)draw(&state, TL_NETBURST_COUNTERS);
    switch (draw(&state, 4)) {
    case 0: {
        const uint64_t value = draw(&state, 3) == 0 ? draw(&state, 1 << 30) : TL_NETBURST_VALUE - draw(&state, 200);
        wrmsr(r, TL_MSR_COUNTER + i, value);
        m->counter[i] = value;
        return;
    }
    case 1: {
        const uint32_t k = (uint32_t)draw(&state, TL_N_ESCRS);
        if (k == TL_SSU_ESCR1)
            return;
        m->escr[k] = draw_escr(naive_msrs[k]);
        wrmsr(r, naive_msrs[k], m->escr[k]);
        break;
    }
    default: {
        uint64_t value = (draw_cccr() & ~UINT64_C(0xe000)) | (uint64_t)draw_select(i) << 13;
        if (i < 12 || i == 13 || i == 14)
            value &= ~UINT64_C(0x800);
        wrmsr(r, TL_MSR_CCCR + i, value);
        m->cccr[i] = value;
        m->ovf[i] = value >> 31 & 1;
        if (!m->ovf[i])
            m->raised[i] = m->waits[i] = false;
    }
    }
    for (uint32_t k = 0; k < TL_NETBURST_COUNTERS; k++) { // what loses power loses its filter
        const uint32_t msr = naive_route(k, m->cccr[k] >> 13 & 7);
        uint32_t e = 0;
        while (msr != 0 && naive_msrs[e] != msr)
            e++;
        if (!naive_runs(m, k) || !(m->cccr[k] >> 18 & 1) || (m->gates && (msr == 0 || m->escr[e] >> 25 == 0)))
            m->prev[k] = false;
    }
    naive_deliver(m);
}

static void unmask_both(rig *r, naive *m) {
    const uint32_t t = (uint32_t)draw(&state, 2);
    m->masked[t] = false;
    naive_deliver(m);
    tl_netburst_set_lvt(r->n, t, 0);
}

static void check_equal(rig *r, const naive *m, uint32_t program, uint32_t step) {
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        const uint64_t has = counter(r, i), ovf = rdmsr(r, TL_MSR_CCCR + i) >> 31 & 1;
        if (has != m->counter[i] || ovf != m->ovf[i])
            fail_msg("program %u, step %u, counter %u: %llx %llu, not %llx %u", program, step, i, (unsigned long long)has,
                     (unsigned long long)ovf, (unsigned long long)m->counter[i], m->ovf[i]);
    }
    assert_int_equal(r->n_interrupts[0], m->n_interrupts[0]);
    assert_int_equal(r->n_interrupts[1], m->n_interrupts[1]);
}

static void run_program(uint32_t program) {
    static const uint8_t events[] = {TL_NB_UOPS_RETIRED,   TL_NB_INSTR_RETIRED, TL_NB_BRANCH_RETIRED,
                                     TL_NB_PAGE_WALK_TYPE, TL_NB_SCALAR_SP_UOP, TL_NB_RETIRED_BRANCH_TYPE};
    static const uint8_t actives[] = {0, 4, 8, 1, 2, 5, 6, 9, 10};
    rig r;
    rig_init(&r);
    naive m = {.masked = {true, true}};
    state = program * UINT64_C(0x9e3779b97f4a7c15) + 7;
    r.settings.errata_are_none = 1;
    r.settings.any_needs_active = (uint32_t)draw(&state, 2);
    r.settings.power_gate = (uint32_t)draw(&state, 2);
    m.any_needs_active = r.settings.any_needs_active;
    m.gates = r.settings.power_gate;
    rig_begin(&r, 2);
    // Both forms of the lanes, which stay open for some clocks.
    tl_netburst_lanes_choose(&r.n->lanes, program % 2 != 0);
    const uint64_t between_checks = 1 + draw(&state, 10);
    for (uint32_t k = 0; k < 30; k++)
        write_both(&r, &m);
    for (uint32_t step = 0; step < 60; step++) {
        tl_netburst_occurrence list[6];
        const uint32_t n = (uint32_t)draw(&state, 7);
        for (uint32_t k = 0; k < n; k++)
            list[k] = (tl_netburst_occurrence){events[draw(&state, TL_COUNT_OF(events))],
                                               (uint8_t)(draw(&state, 5) == 0 ? 0 : 1u << draw(&state, 4)), (uint16_t)(1 + draw(&state, 9)),
                                               (uint16_t)draw(&state, 1 << 16)};
        const tl_netburst_clock clock = {.n_clocks = draw(&state, 500) == 0 ? 1 + draw(&state, 5000) : 1 + draw(&state, 12),
                                         .active = actives[draw(&state, TL_COUNT_OF(actives))],
                                         .occurrences = list,
                                         .n_occurrences = n};
        tl_netburst_count(r.n, &clock);
        for (uint64_t c = 0; c < clock.n_clocks; c++)
            naive_clock(&m, &clock);
        if (step % between_checks == 0)
            check_equal(&r, &m, program, step);
        if (draw(&state, 4) == 0)
            write_both(&r, &m);
        if (draw(&state, 4) == 0)
            unmask_both(&r, &m);
    }
    check_equal(&r, &m, program, 60);
    rig_done(&r);
}

static void test_the_rule_equals_one_that_knows_no_short_cuts(void **unused) {
    (void)unused;
    const char *asked = getenv("TALLY_NETBURST_PROGRAMS");
    const uint32_t n = asked ? (uint32_t)atol(asked) : 4000;
    for (uint32_t program = 0; program < n; program++)
        run_program(program);
}

// ---- One rule at a time.

static void test_every_pair_of_counter_and_select_is_routed_as_the_table_says(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++)
        for (uint32_t select = 0; select < 8; select++) {
            const tl_escr escr = tl_netburst_route(r.n, i, select);
            assert_int_equal(escr == TL_N_ESCRS ? 0 : naive_msrs[escr], naive_route(i, select));
        }
    rig_done(&r);
}

static void test_interrupt_comes_at_the_event_after_the_overflow(void **unused) {
    (void)unused;
    static const tl_netburst_occurrence one = {TL_NB_UOPS_RETIRED, TL_ESCR_T0_USR, 1, 1};
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    tl_netburst_set_lvt(r.n, 0, 0);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_COUNTER + 12, (uint64_t)-4); // five events
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0);
    for (uint32_t i = 1; i <= 6; i++) {
        count(&r, 1, TL_ESCR_T0_USR, &one, 1);
        assert_int_equal(counter(&r, 12), ((uint64_t)i - 4) & TL_NETBURST_VALUE);
        assert_int_equal(rdmsr(&r, TL_MSR_CCCR + 12) >> 31, i >= 4);
        assert_int_equal(r.n_interrupts[0], i >= 5);
    }
    assert_int_equal(r.n_interrupts[1], 0);
    rig_done(&r);
}

static void test_interrupt_masks_itself_and_comes_again_while_the_flag_stands(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0 | TL_CCCR_OVF_PMI_T1 | TL_CCCR_FORCE_OVF);
    count(&r, 5, TL_ESCR_T0_USR, &three_uops, 1);
    assert_int_equal(r.n_interrupts[0] + r.n_interrupts[1], 0); // masked since reset
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 1);
    assert_int_equal(tl_netburst_lvt(r.n, 0), TL_LVT_MASKED);
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 2);
    wrmsr(&r, TL_MSR_CCCR + 12, 0);
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 2);
    assert_int_equal(r.n_interrupts[1], 0);
    tl_netburst_set_lvt(r.n, 1, TL_LVT_NMI);
    assert_int_equal(r.n_interrupts[1], 0);
    rig_done(&r);
}

static void test_forced_overflow_interrupts_in_each_clock_that_counts(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0 | TL_CCCR_FORCE_OVF);
    for (uint32_t i = 1; i <= 7; i++) {
        tl_netburst_set_lvt(r.n, 0, 0);
        count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
        count(&r, 3, TL_ESCR_T0_USR, NULL, 0);
        assert_int_equal(r.n_interrupts[0], i);
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0 | TL_CCCR_FORCE_OVF);
    }
    assert_int_equal(counter(&r, 12), 21);
    rig_done(&r);
}

static void test_clocks_are_counted_once_when_an_overflow_parts_them(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_COUNTER + 12, (uint64_t)-10);
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
    const uint64_t before = r.n->n_clocks;
    count(&r, 100, TL_ESCR_T0_USR, &three_uops, 1);
    assert_int_equal(r.n->n_clocks - before, 100);
    assert_int_equal(counter(&r, 12), 290);
    rig_done(&r);
}

static void test_cascade_begins_in_the_clock_after_its_source(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, MSR_CRU_ESCR0 + 1, UOPS_T0);
    wrmsr(&r, TL_MSR_COUNTER + 14, (uint64_t)-6);
    wrmsr(&r, TL_MSR_CCCR + 14, CCCR_UOPS);
    wrmsr(&r, TL_MSR_CCCR + 12, (CCCR_UOPS & ~(uint64_t)TL_CCCR_ENABLE) | TL_CCCR_CASCADE);
    count(&r, 2, TL_ESCR_T0_USR, &three_uops, 1);
    assert_int_equal(counter(&r, 14), 0);
    assert_int_equal(counter(&r, 12), 0);
    count(&r, 5, TL_ESCR_T0_USR, &three_uops, 1);
    assert_int_equal(counter(&r, 14), 15);
    assert_int_equal(counter(&r, 12), 15);
    wrmsr(&r, TL_MSR_CCCR + 14, CCCR_UOPS); // clears the flag of the source
    count(&r, 5, TL_ESCR_T0_USR, &three_uops, 1);
    assert_int_equal(counter(&r, 12), 15);
    rig_done(&r);
}

// Sums of clocks that nobody reads between them wait, and none of them may wrap.
static void test_sums_of_many_clocks_lose_nothing(void **unused) {
    (void)unused;
    enum { CLOCKS = 20000, EQUAL_CLOCKS = 300000 };
    rig r;
    rig_init(&r);
    const tl_netburst_occurrence most = {TL_NB_UOPS_RETIRED, TL_ESCR_T0_USR, TL_NETBURST_MAX_OUTPUT, 1};
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
    for (uint32_t i = 0; i < CLOCKS; i++)
        count(&r, 1, TL_ESCR_T0_USR, &most, 1);
    count(&r, EQUAL_CLOCKS, TL_ESCR_T0_USR, &most, 1);
    assert_int_equal(counter(&r, 12), (uint64_t)TL_NETBURST_MAX_OUTPUT * (CLOCKS + EQUAL_CLOCKS));
    rig_done(&r);
}

static void test_thresholds_part_all_clocks(void **unused) {
    (void)unused;
    for (uint32_t threshold = 0; threshold < 16; threshold++) {
        rig r;
        rig_init(&r);
        rig_begin(&r, 2);
        wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_COMPARE | threshold << TL_CCCR_THRESHOLD_LSB);
        wrmsr(&r, TL_MSR_CCCR + 13, CCCR_UOPS | TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | threshold << TL_CCCR_THRESHOLD_LSB);
        for (uint32_t x = 0; x < 20; x++) {
            const tl_netburst_occurrence uops = {TL_NB_UOPS_RETIRED, TL_ESCR_T0_OS, (uint16_t)x, 1};
            count(&r, x + 1, TL_ESCR_T0_OS, &uops, 1);
        }
        uint32_t above = 0;
        for (uint32_t x = 0; x < 20; x++)
            above += (x < 15 ? x : 15) > threshold ? x + 1 : 0;
        assert_int_equal(counter(&r, 12), above);
        assert_int_equal(counter(&r, 13), 210 - above);
        rig_done(&r);
    }
}

static void test_occurrence_of_no_thread_counts_while_all_are_idle(void **unused) {
    (void)unused;
    static const tl_netburst_occurrence snoop = {TL_NB_IOQ_ALLOCATION, 0, 1, 1 | 1 << 5 | 1 << 11 | 1 << 14};
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, 0x3a2, (uint64_t)3 << 25 | (uint64_t)(1 | 1 << 5 | 1 << 11 | 1 << 14) << 9 | 0xc);
    wrmsr(&r, TL_MSR_CCCR + 0, 0x0000d000); // mode "none"
    wrmsr(&r, TL_MSR_CCCR + 1, 0x0001d000); // mode "single"
    count(&r, 3, 0, &snoop, 1);
    count(&r, 4, TL_ESCR_T0_USR, &snoop, 1);
    assert_int_equal(counter(&r, 0), 3);
    assert_int_equal(counter(&r, 1), 4);
    rig_done(&r);
}

static void test_the_entry_of_the_vector_table_has_mask_and_mode_alone(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    tl_netburst_set_lvt(r.n, 1, UINT32_MAX);
    assert_int_equal(tl_netburst_lvt(r.n, 1), TL_LVT_MASKED | 7 << TL_LVT_MODE_LSB);
    assert_int_equal(tl_netburst_lvt(r.n, 0), TL_LVT_MASKED);
    rig_done(&r);
}

// SDM: delivery mode 4 of the entry is an NMI. The rig counts one as two.
static void test_the_mode_of_the_entry_chooses_the_interrupt(void **unused) {
    (void)unused;
    for (uint32_t mode = 0; mode < 8; mode++) {
        rig r;
        rig_init(&r);
        rig_begin(&r, 2);
        tl_netburst_set_lvt(r.n, 1, mode << TL_LVT_MODE_LSB);
        wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T1 | TL_CCCR_FORCE_OVF);
        count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
        assert_int_equal(r.n_interrupts[0], 0);
        assert_int_equal(r.n_interrupts[1], mode == 4 ? 2 : 1);
        assert_int_equal(tl_netburst_lvt(r.n, 1), TL_LVT_MASKED | mode << TL_LVT_MODE_LSB);
        rig_done(&r);
    }
}

// Clocks that a core may skip: in none of them a counter interrupts, whatever holds in them.
static void test_a_skip_ends_before_an_interrupt(void **unused) {
    (void)unused;
    enum { LEFT = 100, NOT_COMPARED = 0x0003d000, CLOCK = 0x2600020c };
    static const struct {
        uint64_t filter;
        bool runs; // global_power_events counts
    } rows[] = {
        {0, true},
        {TL_CCCR_COMPARE, true},
        {TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB, true},
        {TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB, false},
        {TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT, false},
    };
    static const tl_netburst_occurrence running = {TL_NB_GLOBAL_POWER_EVENTS, TL_ESCR_T0_USR, 1, 1};
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig r;
        rig_init(&r);
        rig_begin(&r, 2);
        tl_netburst_set_lvt(r.n, 0, 0);
        // BPU_fetch_request counts nothing in a clock in which no thread tells anything.
        wrmsr(&r, rows[i].runs ? 0x3a2 : 0x3b2, rows[i].runs ? CLOCK : 0x0600020c);
        wrmsr(&r, TL_MSR_COUNTER + 0, (0 - (uint64_t)LEFT) & TL_NETBURST_VALUE);
        const uint64_t select = rows[i].runs ? 6 : 0;
        wrmsr(&r, TL_MSR_CCCR + 0,
              TL_CCCR_ENABLE | select << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB | TL_CCCR_OVF_PMI_T0 | rows[i].filter);
        const uint64_t quiet = tl_netburst_quiet_clocks(r.n);
        assert_in_range(quiet, 1, LEFT);
        count(&r, quiet, TL_ESCR_T0_USR, &running, rows[i].runs);
        assert_int_equal(r.n_interrupts[0], 0);
        // The overflow is in clock LEFT, the interrupt in the next one.
        for (uint64_t clock = quiet; clock < LEFT; clock++) {
            count(&r, 1, TL_ESCR_T0_USR, &running, rows[i].runs);
            assert_int_equal(r.n_interrupts[0], 0);
        }
        assert_int_equal(tl_netburst_quiet_clocks(r.n), 0);
        count(&r, 1, TL_ESCR_T0_USR, &running, rows[i].runs);
        assert_int_equal(r.n_interrupts[0], 1);
        rig_done(&r);
    }
}

static void test_a_counter_that_detects_nothing_in_quiet_clocks_never_ends_a_skip(void **unused) {
    (void)unused;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, 0x3b2, 0x0600020c);
    wrmsr(&r, TL_MSR_COUNTER + 0, TL_NETBURST_VALUE);
    wrmsr(&r, TL_MSR_CCCR + 0, TL_CCCR_ENABLE | 3 << TL_CCCR_THREAD_LSB | TL_CCCR_OVF_PMI_T0);
    assert_int_equal(tl_netburst_quiet_clocks(r.n), UINT64_MAX);
    wrmsr(&r, TL_MSR_CCCR + 0, TL_CCCR_ENABLE | 3 << TL_CCCR_THREAD_LSB | TL_CCCR_OVF_PMI_T0 | TL_CCCR_COMPARE);
    assert_int_equal(tl_netburst_quiet_clocks(r.n), UINT64_MAX);
    // A counter that may not interrupt ends none either.
    wrmsr(&r, 0x3a2, 0x2600020c);
    wrmsr(&r, TL_MSR_CCCR + 0, 0x0003d000);
    assert_int_equal(tl_netburst_quiet_clocks(r.n), UINT64_MAX);
    rig_done(&r);
}

// No read of an MSR stands between.
static void test_rdpmc_has_all_clocks_before_it(void **unused) {
    (void)unused;
    enum { CLOCKS = 7 };
    rig r;
    uint64_t value = 0;
    rig_init(&r);
    rig_begin(&r, 2);
    wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
    for (uint32_t i = 1; i <= CLOCKS; i++) {
        count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
        assert_int_equal(tl_netburst_rdpmc(r.n, i % 2, 12, &value), TL_OK);
        assert_int_equal(value, 3 * i);
    }
    rig_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_rule_equals_one_that_knows_no_short_cuts),
    cmocka_unit_test(test_every_pair_of_counter_and_select_is_routed_as_the_table_says),
    cmocka_unit_test(test_interrupt_comes_at_the_event_after_the_overflow),
    cmocka_unit_test(test_interrupt_masks_itself_and_comes_again_while_the_flag_stands),
    cmocka_unit_test(test_forced_overflow_interrupts_in_each_clock_that_counts),
    cmocka_unit_test(test_clocks_are_counted_once_when_an_overflow_parts_them),
    cmocka_unit_test(test_cascade_begins_in_the_clock_after_its_source),
    cmocka_unit_test(test_thresholds_part_all_clocks),
    cmocka_unit_test(test_sums_of_many_clocks_lose_nothing),
    cmocka_unit_test(test_occurrence_of_no_thread_counts_while_all_are_idle),
    cmocka_unit_test(test_the_entry_of_the_vector_table_has_mask_and_mode_alone),
    cmocka_unit_test(test_the_mode_of_the_entry_chooses_the_interrupt),
    cmocka_unit_test(test_a_skip_ends_before_an_interrupt),
    cmocka_unit_test(test_a_counter_that_detects_nothing_in_quiet_clocks_never_ends_a_skip),
    cmocka_unit_test(test_rdpmc_has_all_clocks_before_it),
};
TL_TEST_MAIN(tests)
