// SPDX-License-Identifier: MIT
// Compares the counters with a model that counts each event. The model adds one to each register
// per event and applies every rule at once. The test makes random writes, reads, modes, states of
// the hart, exception returns and software increments, by system registers and by the window.
#include "base/bits.h"
#include "isa/a64/arch.h"
#include "model/test_pmu_rig.h"
#include "pmu/pmuv3/pmuv3.h"

enum { HART = 1, N_STEPS = 400000 };

static uint64_t next(uint64_t *r) {
    *r ^= *r << 13;
    *r ^= *r >> 7;
    *r ^= *r << 17;
    return *r * UINT64_C(0x2545f4914f6cdd1d);
}
static uint32_t below(uint64_t *r, uint32_t n) { return (uint32_t)((next(r) >> 32) * n >> 32); }

#define MINE(cell) (HART * TL_S_N_CELLS + TL_S_##cell)
#define L2_READMISS(slice, hart) (RIG_HARTS * TL_S_N_CELLS + (slice)*RIG_L2_SIGNALS + 8 + (hart))

// Events by hand: number and counted cells.
static const struct {
    uint32_t event, n_cells, cells[4];
} naive_events[] = {
    {0x01, 1, {MINE(L1I_MISS)}},
    {0x03, 2, {MINE(L1D_LOAD_MISS), MINE(L1D_STORE_MISS)}},
    {0x06, 3, {MINE(HART_INSN_LOAD), MINE(HART_INSN_FP_LOAD), MINE(HART_INSN_LR)}},
    {0x08, 1, {MINE(HART_INSTRET)}},
    {0x09, 2, {MINE(HART_EXCEPTION), MINE(HART_INTERRUPT)}},
    {0x0d, 2, {MINE(HART_INSN_BRANCH), MINE(HART_INSN_JAL)}},
    {0x11, 1, {MINE(HART_CYCLE)}},
    {0x12, 4, {MINE(BP_COND), MINE(BP_DIRECT), MINE(BP_INDIRECT), MINE(BP_RETURN)}},
    {0x17, 2, {L2_READMISS(0, HART), L2_READMISS(1, HART)}},
    {0x00, 0, {0}}, // SW_INCR
    {0x0a, 0, {0}}, // EXC_RETURN
    {0x0b, 0, {0}}, // CID_WRITE_RETIRED
    {0x1e, 0, {0}}, // CHAIN
    {0x0e, 0, {0}}, // a number that the core lacks
    {0x3ff, 0, {0}},
};
static const uint32_t signals[] = {
    MINE(L1I_MISS),       MINE(L1D_LOAD_MISS), MINE(L1D_STORE_MISS), MINE(HART_INSN_LOAD), MINE(HART_INSN_LR),   MINE(HART_INSTRET),
    MINE(HART_INSTRET),   MINE(HART_CYCLE),    MINE(HART_CYCLE),     MINE(HART_EXCEPTION), MINE(HART_INTERRUPT), MINE(HART_INSN_BRANCH),
    MINE(HART_INSN_JAL),  MINE(BP_COND),       MINE(BP_DIRECT),      MINE(BP_INDIRECT),    MINE(BP_RETURN),      L2_READMISS(0, HART),
    L2_READMISS(1, HART), L2_READMISS(1, 0),   TL_S_HART_INSTRET,    MINE(L1D_STORE),
};

typedef struct naive {
    uint32_t control, enabled, interrupt, overflowed, selected, type[7];
    uint64_t value[7], cycles; // [6]: the cycle counter
    uint32_t state;
    tl_priv level;
} naive;

static uint32_t flag_of(uint32_t n) { return n == 6 ? 1u << 31 : 1u << n; }

// The table of D5.4.5: filter bits by level and security state.
static bool counts(const naive *m, uint32_t n) {
    const bool p = m->type[n] >> 31, u = m->type[n] >> 30 & 1, nsk = m->type[n] >> 29 & 1, nsu = m->type[n] >> 28 & 1,
               el3 = m->type[n] >> 26 & 1;
    const bool is_secure = m->state & TL_PMU_SECURE;
    if (!(m->control & 1) || !(m->enabled & flag_of(n)) || (m->state & TL_PMU_HALTED))
        return false;
    if ((m->state & TL_PMU_PROHIBITED) && (n < 6 || (m->control & 0x20)))
        return false;
    if (m->level == 0)
        return is_secure ? !u : u == nsu;
    if (m->level == 1)
        return is_secure ? !p : p == nsk;
    return el3 == p;
}

static void count(naive *m, uint32_t n) {
    const bool is_long = n == 6 && (m->control & 0x40);
    m->value[n] += 1;
    if (n < 6)
        m->value[n] &= UINT32_MAX;
    if (is_long ? m->value[n] != 0 : (uint32_t)m->value[n] != 0)
        return;
    m->overflowed |= flag_of(n);
    if (n < 5 && n % 2 == 0 && (m->type[n + 1] & 0x3ff) == 0x1e && counts(m, n + 1))
        count(m, n + 1);
}

static void count_own(naive *m, uint32_t event, uint32_t counters) {
    for (uint32_t n = 0; n < 6; n++)
        if ((counters >> n & 1) && (m->type[n] & 0x3ff) == event && counts(m, n))
            count(m, n);
}

static void count_cell(naive *m, uint32_t cell) {
    const bool is_divided = (m->control & 0x48) == 8;
    m->cycles += cell == MINE(HART_CYCLE);
    for (uint32_t n = 0; n < 6; n++)
        for (uint32_t e = 0; e < TL_COUNT_OF(naive_events); e++)
            for (uint32_t i = 0; i < naive_events[e].n_cells; i++)
                if (naive_events[e].event == (m->type[n] & 0x3ff) && naive_events[e].cells[i] == cell && counts(m, n))
                    count(m, n);
    if (cell == MINE(HART_CYCLE) && counts(m, 6) && (!is_divided || m->cycles % 64 == 0))
        count(m, 6);
}

static void advance(pmu_rig *rig, naive *m, uint64_t *r) {
    const uint32_t cell = signals[below(r, TL_COUNT_OF(signals))], steps = 1 + below(r, below(r, 8) == 0 ? 200 : 6);
    rig_advance(rig, cell, steps);
    for (uint32_t i = 0; i < steps; i++)
        count_cell(m, cell);
}

static uint32_t some_type(uint64_t *r) {
    const uint32_t filter = below(r, 2) ? (uint32_t)next(r) & 0xfc000000 : 0;
    return filter | naive_events[below(r, TL_COUNT_OF(naive_events))].event;
}
static uint64_t near_the_end(uint64_t *r) { return below(r, 3) == 0 ? next(r) : UINT64_C(0) - 1 - below(r, 80); }

typedef struct write_step {
    uint32_t number, offset; // offset UINT32_MAX: the window lacks the register
    uint64_t value;
} write_step;

// One write: its two addresses, its value, and what it does to the model.
static write_step some_write(uint64_t *r) {
    const uint32_t n = below(r, 6);
    switch (below(r, 15)) {
    case 0: return (write_step){0xdce0, 0xe04, (next(r) & 0x79) | 1 | (below(r, 8) == 0 ? 6 : 0)};
    case 1: return (write_step){0xdce1, 0xc00, next(r)};
    case 2: return (write_step){0xdce2, 0xc20, next(r) & next(r)};
    case 3: return (write_step){0xdce3, 0xc80, next(r)};
    case 4: return (write_step){0xdcf3, 0xcc0, next(r) & next(r) & next(r)};
    case 5: return (write_step){0xc4f1, 0xc40, next(r)};
    case 6: return (write_step){0xc4f2, 0xc60, next(r)};
    case 7: return (write_step){0xdce4, 0xca0, next(r)};
    case 8: return (write_step){0xdce5, UINT32_MAX, below(r, 6) == 0 ? 31 : below(r, 8)};
    case 9: return (write_step){0xdce9, UINT32_MAX, some_type(r)};
    case 10: return (write_step){0xdcea, UINT32_MAX, near_the_end(r)};
    case 11: return (write_step){0xdce8, UINT32_MAX, near_the_end(r)};
    case 12: return (write_step){0xdf7f, 0x47c, (uint32_t)next(r) & 0xfc000000};
    case 13: return (write_step){0xdf40 + n, 8 * n, near_the_end(r)};
    default: return (write_step){0xdf60 + n, 0x400 + 4 * n, some_type(r)};
    }
}

static void apply(naive *m, uint32_t number, uint64_t value) {
    const uint32_t mask = 0x8000003f, bits = (uint32_t)value & mask;
    switch (number) {
    case 0xdce0:
        m->control = (uint32_t)value & 0x79;
        for (uint32_t n = 0; n < 7; n++)
            if (value & (n == 6 ? 4 : 2))
                m->value[n] = 0;
        break;
    case 0xdce1: m->enabled |= bits; break;
    case 0xdce2: m->enabled &= ~bits; break;
    case 0xdce3: m->overflowed &= ~bits; break;
    case 0xdcf3: m->overflowed |= bits; break;
    case 0xc4f1: m->interrupt |= bits; break;
    case 0xc4f2: m->interrupt &= ~bits; break;
    case 0xdce4: count_own(m, 0, bits); break;
    case 0xdce5: m->selected = value & 31; break;
    case 0xdce8: m->value[6] = value; break;
    case 0xdf7f: m->type[6] = (uint32_t)value; break;
    case 0xdce9:
        if (m->selected == 31)
            m->type[6] = (uint32_t)value & 0xfc000000;
        else if (m->selected < 6)
            m->type[m->selected] = (uint32_t)value;
        break;
    case 0xdcea:
        if (m->selected < 6)
            m->value[m->selected] = value & UINT32_MAX;
        break;
    default:
        if (number >= 0xdf60)
            m->type[number - 0xdf60] = (uint32_t)value;
        else
            m->value[number - 0xdf40] = value & UINT32_MAX;
    }
}

static void write(pmu_rig *rig, naive *m, uint64_t *r) {
    const write_step step = some_write(r);
    const bool is_el1s = step.number < 0xd000; // EL0 has no such register
    if (step.offset != UINT32_MAX && (below(r, 3) == 0 || (is_el1s && m->level == TL_A64_EL0))) {
        assert_true(tl_pmu_store(rig->pmu, step.offset, 4, step.value));
        apply(m, step.number, step.value & UINT32_MAX);
        return;
    }
    assert_true(rig_begin_write(rig, step.number, step.value));
    for (uint32_t i = below(r, 3); i > 0; i--)
        advance(rig, m, r);
    rig_retire(rig);
    apply(m, step.number, step.value);
}

static uint64_t naive_value(const naive *m, uint32_t number) {
    switch (number) {
    case 0xdce0: return 0x41033000 | m->control;
    case 0xdce1: return m->enabled;
    case 0xdce3: return m->overflowed;
    case 0xc4f2: return m->interrupt;
    case 0xdce8: return m->value[6];
    case 0xdf7f: return m->type[6];
    case 0xdce9: return m->selected == 31 ? m->type[6] : m->selected < 6 ? m->type[m->selected] : 0;
    case 0xdcea: return m->selected < 6 ? m->value[m->selected] : 0;
    default: return number >= 0xdf60 ? m->type[number - 0xdf60] : m->value[number - 0xdf40];
    }
}

static void compare(pmu_rig *rig, const naive *m, uint64_t *r, uint32_t step) {
    static const uint32_t numbers[] = {0xdce0, 0xdce1, 0xdce3, 0xc4f2, 0xdce8, 0xdf7f, 0xdce9, 0xdcea};
    const uint32_t pick = below(r, 20), n = below(r, 6);
    const uint32_t number = pick < 8 ? numbers[pick] : (pick < 16 ? 0xdf40 : 0xdf60) + n;
    if (number < 0xd000 && m->level == TL_A64_EL0)
        return;
    const uint64_t value = rig_value(rig, number), want = naive_value(m, number);
    if (value != want)
        fail_msg("step %u: register 0x%x reads 0x%llx, not 0x%llx", step, number, (unsigned long long)value, (unsigned long long)want);
    if (number == 0xdce3) // every counter has been looked at
        assert_int_equal(rig->line, (m->control & 1) && (m->overflowed & m->interrupt));
}

static void change_state(pmu_rig *rig, naive *m, uint64_t *r) {
    static const uint32_t states[] = {TL_PMU_MAY_PROHIBIT, TL_PMU_SECURE | TL_PMU_MAY_PROHIBIT,
                                      TL_PMU_SECURE | TL_PMU_PROHIBITED | TL_PMU_MAY_PROHIBIT, TL_PMU_HALTED | TL_PMU_MAY_PROHIBIT};
    rig->state = m->state = states[below(r, TL_COUNT_OF(states))];
    rig->pmu->port.state_changed(rig->pmu->port.ctx, rig_hart(rig));
}

static void change_mode(pmu_rig *rig, naive *m, uint64_t *r) {
    static const tl_priv levels[] = {TL_A64_EL0, TL_A64_EL1, TL_A64_EL3};
    const bool is_return = below(r, 2);
    if (is_return)
        count_own(m, 0x0a, 0x3f);
    m->level = levels[below(r, 3)];
    rig_set_mode(rig, m->level);
    if (is_return)
        rig->pmu->type->notice(rig->pmu, rig_hart(rig), TL_NOTICE_TRAP_RETURN);
}

static void run(const tl_pmu_preset *preset, uint64_t seed) {
    static pmu_rig rig;
    naive m = {.level = TL_A64_EL3, .state = TL_PMU_MAY_PROHIBIT};
    rig_init(&rig);
    rig.state = m.state;
    rig_attach(&rig, &tl_pmu_pmuv3, preset, 64, HART);
    assert_true(tl_pmu_store(rig.pmu, TL_PMUV3_PMLAR, 4, TL_PMUV3_KEY));
    rig_write(&rig, 0xdcf0, 1); // EL0 may do what EL1 may
    for (uint32_t step = 0; step < N_STEPS; step++)
        switch (below(&seed, 16)) {
        case 0:
        case 1:
        case 2: write(&rig, &m, &seed); break;
        case 3: change_mode(&rig, &m, &seed); break;
        case 4: change_state(&rig, &m, &seed); break;
        case 5: (void)rig_deadline(&rig); break;
        case 6: rig_poll(&rig); break;
        case 7:
            count_own(&m, 0x0b, 0x3f);
            rig.pmu->type->notice(rig.pmu, rig_hart(&rig), TL_NOTICE_CONTEXT_NAME);
            break;
        case 8:
        case 9:
        case 10: compare(&rig, &m, &seed, step); break;
        default: advance(&rig, &m, &seed);
        }
    rig_done(&rig);
}

static void test_counters_equal_a_model_that_counts(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        run(&tl_pmuv3_a53, seed * 7919);
}

// A host that asks for the deadline before each stretch, and polls where it is told to, sees the
// line rise in the very step in which the model overflows.
static void test_the_line_rises_with_the_overflow(void **state) {
    static pmu_rig rig;
    static const uint32_t cells[] = {MINE(HART_CYCLE), MINE(HART_INSTRET), MINE(L1D_LOAD_MISS), MINE(BP_COND)};
    static const uint32_t events[] = {0x11, 0x08, 0x03, 0x12};
    uint64_t r = 99;
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        const uint32_t k = below(&r, TL_COUNT_OF(cells)), distance = 1 + below(&r, 3000);
        const bool is_chained = below(&r, 2);
        rig_init(&rig);
        rig_attach(&rig, &tl_pmu_pmuv3, &tl_pmuv3_a53, 64, HART);
        rig_write(&rig, 0xdf60, events[k]);
        rig_write(&rig, 0xdf61, 0x1e);
        rig_write(&rig, 0xdf40, UINT64_C(0x100000000) - distance);
        rig_write(&rig, 0xdf41, UINT32_MAX);
        rig_write(&rig, 0xdce1, 3);
        rig_write(&rig, 0xc4f1, is_chained ? 2 : 1);
        rig_write(&rig, 0xdce0, 1);
        for (uint32_t i = 0; i < distance; i++) {
            assert_false(rig.line);
            const uint64_t left = rig_deadline(&rig);
            // A step of a cycle is within the deadline, or the port asks to be polled after it.
            const bool is_polled = rig.pmu->port.needs_slow_watch || left <= 1;
            if (cells[k] != MINE(HART_CYCLE))
                rig_advance(&rig, MINE(HART_CYCLE), 1);
            if (cells[k] != MINE(HART_INSTRET) && cells[k] == MINE(BP_COND))
                rig_advance(&rig, MINE(HART_INSTRET), 1);
            rig_advance(&rig, cells[k], 1);
            if (is_polled)
                rig_poll(&rig);
        }
        assert_true(rig.line);
        assert_int_equal(rig_value(&rig, 0xdce3), 3);
        assert_int_equal(rig_value(&rig, 0xdf41), 0);
        rig_write(&rig, 0xdce3, is_chained ? 2 : 1);
        assert_false(rig.line);
        rig_done(&rig);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counters_equal_a_model_that_counts),
    cmocka_unit_test(test_the_line_rises_with_the_overflow),
};
TL_TEST_MAIN(tests)
