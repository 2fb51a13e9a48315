// SPDX-License-Identifier: MIT
// Compares the counters with a model that counts each event. The model follows the manuals: it adds
// one to each register per event and applies every rule at once. The test makes more than a million
// random writes, reads, inhibits, selectors, filters, modes, polls and overflows. Every read and
// the number of interrupts must be equal.
#include "base/bits.h"
#include "isa/rv/arch.h"
#include "model/test_pmu_rig.h"
#include "pmu/rvhpm/rvhpm.h"

enum { HART = 1, N_STEPS = 250000 };

typedef struct rng {
    uint64_t state;
} rng;

static uint64_t next(rng *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}
static uint32_t below(rng *r, uint32_t n) { return (uint32_t)((next(r) >> 32) * n >> 32); }

#define MINE(cell) (HART * TL_S_N_CELLS + TL_S_##cell)
#define L2_READ(slice, hart) (RIG_HARTS * TL_S_N_CELLS + (slice)*RIG_L2_SIGNALS + (hart))

// Events by hand: selector and counted cells.
static const struct {
    uint64_t selector;
    uint32_t cells[4], n_cells;
} naive_events[] = {
    {1, {MINE(HART_CYCLE)}, 1},
    {2, {MINE(HART_INSTRET)}, 1},
    {3, {L2_READ(0, HART), L2_READ(1, HART)}, 2},
    {5, {MINE(HART_INSN_BRANCH), MINE(HART_INSN_JAL), MINE(HART_INSN_JALR)}, 3},
    {6, {MINE(BP_COND_MISS), MINE(BP_TARGET_MISS)}, 2},
    {0x10000, {MINE(L1D_LOAD)}, 1},
    {0x10019, {MINE(DTLB_LOAD_MISS)}, 1},
    {0x100001, {MINE(HART_CYCLE_U)}, 1},
    {0x100009, {MINE(HART_INSN_ALU)}, 1},
};
static const uint32_t
    signals
        [] =
            {
                MINE(HART_CYCLE),    MINE(HART_INSTRET),   MINE(HART_INSN_BRANCH), MINE(HART_INSN_JAL),  MINE(HART_INSN_JALR),
                MINE(BP_COND_MISS),  MINE(BP_TARGET_MISS), MINE(L1D_LOAD),         MINE(DTLB_LOAD_MISS), MINE(HART_CYCLE_U),
                MINE(HART_INSN_ALU), MINE(L1D_STORE),      L2_READ(0, HART),       L2_READ(1, HART),     L2_READ(0, 0),
                TL_S_HART_INSTRET,   TL_S_DTLB_LOAD_MISS, // the last three are another hart's
};

typedef struct naive {
    uint32_t width_bits, mcounteren, inhibit;
    uint64_t value[32], event[32], config[3];
    uint32_t n_irqs;
} naive;

static uint64_t top_of(const naive *m, uint32_t n) {
    return n < 3 || m->width_bits == 64 ? UINT64_MAX : (UINT64_C(1) << m->width_bits) - 1;
}

static bool is_counted(const naive *m, uint32_t n, uint32_t cell) {
    if (n == 0)
        return cell == MINE(HART_CYCLE);
    if (n == 2)
        return cell == MINE(HART_INSTRET);
    for (uint32_t e = 0; e < TL_COUNT_OF(naive_events); e++)
        for (uint32_t i = 0; i < naive_events[e].n_cells; i++)
            if ((m->event[n] & TL_HPM_SELECTOR) == naive_events[e].selector && naive_events[e].cells[i] == cell)
                return true;
    return false;
}

static void naive_count(naive *m, uint32_t cell, tl_priv priv, uint32_t spared) {
    for (uint32_t n = 0; n < 32; n++) {
        if (n == 1 || m->inhibit >> n & 1 || spared >> n & 1)
            continue;
        uint64_t filters = n < 3 ? m->config[n] : m->event[n];
        uint64_t filter = priv == TL_PRIV_M ? UINT64_C(1) << 62 : priv == TL_PRIV_S ? UINT64_C(1) << 61 : UINT64_C(1) << 60;
        if ((filters & filter) || !is_counted(m, n, cell))
            continue;
        m->value[n] = (m->value[n] + 1) & top_of(m, n);
        if (m->value[n] == 0 && n >= 3 && !(m->event[n] >> 63)) {
            m->event[n] |= UINT64_C(1) << 63;
            m->n_irqs += 1;
        }
    }
}

static void advance(pmu_rig *rig, naive *m, rng *r, uint32_t spared) {
    uint32_t cell = signals[below(r, TL_COUNT_OF(signals))], steps = 1 + below(r, 6);
    rig_advance(rig, cell, steps);
    for (uint32_t i = 0; i < steps; i++)
        naive_count(m, cell, rig->priv, spared);
}

static uint64_t some_event(rng *r) {
    uint64_t flags = next(r) & (UINT64_C(0xff) << 56);
    if (below(r, 2) == 0)
        flags &= ~(UINT64_C(7) << 60);
    if (below(r, 2) == 0)
        flags &= ~(UINT64_C(1) << 63);
    uint32_t pick = below(r, 12);
    uint64_t selector = pick < TL_COUNT_OF(naive_events) ? naive_events[pick].selector : pick == 9 ? 0 : next(r) >> (8 + below(r, 50));
    for (uint32_t e = 0; e < TL_COUNT_OF(naive_events) && pick > 9; e++)
        if (selector == naive_events[e].selector)
            return flags;
    return flags | (pick > 9 ? selector | UINT64_C(1) << 40 : selector); // selectors without a row
}

// One CSR instruction that writes. Its own events come between the write and its retirement.
static void write(pmu_rig *rig, naive *m, rng *r) {
    uint32_t n = 3 + below(r, below(r, 4) == 0 ? 29 : 6), csr;
    uint64_t value;
    naive after;
    uint32_t spared = 0;
    switch (below(r, 5)) {
    case 0:
    case 1: // a counter
        n = below(r, 6) == 0 ? below(r, 2) * 2 : n;
        csr = 0xb00 + n;
        value = below(r, 3) == 0 ? next(r) : UINT64_C(0) - 1 - below(r, 40);
        assert_true(rig_begin_write(rig, csr, value));
        m->value[n] = value & top_of(m, n);
        spared = 1u << n;
        for (uint32_t i = below(r, 4); i > 0; i--)
            advance(rig, m, r, spared);
        rig_retire(rig);
        return;
    case 2: // a selector
        csr = 0x320 + n;
        value = some_event(r);
        break;
    case 3: // inhibit
        csr = 0x320;
        value = below(r, 3) == 0 ? 0 : next(r);
        break;
    default: // filters of the fixed counters
        csr = 0x321 + below(r, 2);
        value = next(r);
        break;
    }
    assert_true(rig_begin_write(rig, csr, value));
    for (uint32_t i = below(r, 4); i > 0; i--)
        advance(rig, m, r, 0);
    rig_retire(rig);
    after = *m;
    if (csr == 0x320)
        after.inhibit = (uint32_t)value & ~2u;
    else if (csr <= 0x322)
        after.config[(csr - 0x321) * 2] = value & UINT64_C(7) << 60;
    else {
        after.event[n] = value & (UINT64_C(0xf) << 60 | TL_HPM_SELECTOR);
        after.event[n] &= value >> 40 & 0xffff ? ~TL_HPM_SELECTOR : UINT64_MAX;
        after.event[n] &= ~(UINT64_C(1) << 58 | UINT64_C(1) << 59);
    }
    *m = after;
}

static void compare(pmu_rig *rig, const naive *m, rng *r, uint32_t step) {
    uint32_t n = below(r, 32), kind = below(r, 4);
    uint64_t got, want;
    if (n == 1)
        n = 2;
    if (kind == 0 && n >= 3) {
        got = rig_value(rig, 0x320 + n);
        want = m->event[n];
    } else if (kind == 1 && rig->priv != TL_PRIV_U) {
        got = rig_value(rig, 0xda0);
        want = 0;
        for (uint32_t i = 3; i < 32; i++)
            want |= (m->event[i] >> 63) << i;
        if (rig->priv == TL_PRIV_S)
            want &= m->mcounteren;
        if (rig->priv == TL_PRIV_M && rig->n_irqs != m->n_irqs)
            fail_msg("step %u: %u interrupts, the naive model has %u", step, rig->n_irqs, m->n_irqs);
    } else {
        got = rig_value(rig, 0xb00 + n);
        want = m->value[n];
    }
    if (got != want)
        fail_msg("step %u, counter %u, kind %u: 0x%llx, the naive model has 0x%llx", step, n, kind, (unsigned long long)got,
                 (unsigned long long)want);
}

static void run(uint32_t width_bits, uint64_t seed) {
    static pmu_rig rig;
    tl_rvhpm_preset preset = tl_rvhpm_linux;
    preset.width_bits = width_bits;
    rig_init(&rig);
    rig_attach(&rig, &tl_pmu_rvhpm, &preset.base, 64, HART);
    naive m = {.width_bits = width_bits, .mcounteren = 0x5555aaa8};
    rng r = {seed};
    rig_write(&rig, 0x306, m.mcounteren);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        switch (below(&r, 16)) {
        case 0:
        case 1: write(&rig, &m, &r); break;
        case 2: rig_set_mode(&rig, (tl_priv[]){TL_PRIV_U, TL_PRIV_S, TL_PRIV_M}[below(&r, 3)]); break;
        case 3: rig_poll(&rig); break;
        case 4: (void)rig_deadline(&rig); break;
        case 5:
        case 6:
        case 7: compare(&rig, &m, &r, step); break;
        default: advance(&rig, &m, &r, 0); break;
        }
    }
    if (m.n_irqs < 300) // else it proves little
        fail_msg("%u interrupts only", m.n_irqs);
    rig_set_mode(&rig, TL_PRIV_M);
    for (uint32_t n = 0; n < 32; n++)
        if (n != 1)
            assert_int_equal(rig_value(&rig, 0xb00 + n), m.value[n]);
    assert_int_equal(rig.n_irqs, m.n_irqs);
    rig_done(&rig);
}

static void test_lazy_counters_show_what_naive_ones_count(void **state) {
    (void)state;
    static const uint8_t widths[] = {32, 33, 40, 63, 64};
    for (uint32_t i = 0; i < TL_COUNT_OF(widths); i++)
        run(widths[i], 0x1234567 + i);
}

// A hart that runs to `deadline` with the most events per cycle does not overflow sooner. The poll
// then misses no overflow: the interrupt comes in that cycle.
static void test_no_overflow_comes_before_the_deadline_and_none_after_it(void **state) {
    (void)state;
    static pmu_rig rig;
    static const struct {
        uint64_t selector;
        uint32_t cell, max_step;
    } rows[] = {{1, TL_S_HART_CYCLE, 1}, {2, TL_S_HART_INSTRET, 1}, {0x10000, TL_S_L1D_LOAD, 2}, {0x100026, TL_S_HART_BRANCH_TAKEN, 1}};
    rng r = {99};
    for (uint32_t round = 0; round < 400; round++) {
        uint32_t row = below(&r, TL_COUNT_OF(rows));
        uint64_t period = 1 + (next(&r) >> (64 - 1 - below(&r, 30))), counted = 0, n_calls = 0;
        rig_init(&rig);
        rig_attach(&rig, &tl_pmu_rvhpm, &tl_rvhpm_linux.base, 64, 0);
        rig_advance(&rig, TL_S_HART_CYCLE, next(&r) >> 30);
        rig_write(&rig, 0xb05, UINT64_C(0) - period);
        rig_write(&rig, 0x325, rows[row].selector);
        while (rig.n_irqs == 0) {
            uint64_t left = rig_deadline(&rig);
            assert_true(left != UINT64_MAX);
            assert_true(counted + left * rows[row].max_step <= period || left == 0);
            uint64_t cycles = left == 0 ? 1 : left, events = 0;
            uint64_t most = cycles * rows[row].max_step;
            if (rows[row].cell == TL_S_HART_CYCLE)
                events = cycles;
            else
                events = below(&r, 3) == 0 ? most : most / (1 + below(&r, 3));
            if (rows[row].cell != TL_S_HART_CYCLE)
                rig_advance(&rig, TL_S_HART_CYCLE, cycles);
            rig_advance(&rig, rows[row].cell, events);
            // A branch is an instruction, and others retire between branches.
            if (rows[row].cell == TL_S_HART_BRANCH_TAKEN)
                rig_advance(&rig, TL_S_HART_INSTRET, events + below(&r, (uint32_t)(cycles - events < 1000 ? cycles - events : 1000) + 1));
            counted += events;
            rig_poll(&rig);
            assert_int_equal(rig.n_irqs, counted >= period ? 1 : 0);
            assert_true(++n_calls < 10000);
        }
        assert_true(counted < period + rows[row].max_step);
        assert_int_equal(rig_deadline(&rig), UINT64_MAX);
        rig_done(&rig);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lazy_counters_show_what_naive_ones_count),
    cmocka_unit_test(test_no_overflow_comes_before_the_deadline_and_none_after_it),
};
TL_TEST_MAIN(tests)
