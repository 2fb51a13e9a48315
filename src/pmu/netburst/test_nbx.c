// SPDX-License-Identifier: MIT
// Extension NBX: its registers and their views in ESCRs and CCCRs, then its counts against the
// legacy registers and against a rule written from docs/netburst.md.
#include <stdlib.h>

#include "pmu/netburst/test_rig.h"

enum { MSR_CRU_ESCR0 = 0x3b8, ESCR_UOPS = 1 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB, COUNTER = 12, MAX_THREADS = TL_NBX_MAX_THREADS };
enum { MSR_PMH_ESCR0 = 0x3ac, ESCR_WALKS = 1 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB, WALK_COUNTER = 0 };
static const uint64_t CCCR_UOPS = TL_CCCR_ENABLE | 4 << TL_CCCR_SELECT_LSB, CCCR_WALKS = TL_CCCR_ENABLE | 4 << TL_CCCR_SELECT_LSB;

static uint64_t seed;

static void open_rig(rig *r, uint32_t n_threads, bool has_nbx) {
    rig_init(r);
    r->settings.nbx = has_nbx;
    rig_begin(r, n_threads);
}

// ---- Registers.

static void test_registers_fault_without_the_key(void **state) {
    static const uint32_t msrs[] = {TL_MSR_NBX_CAP, TL_MSR_NBX_XESCR, TL_MSR_NBX_XCCCR + 17, TL_MSR_NBX_IDLE};
    rig r;
    open_rig(&r, 2, false);
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(msrs); i++) {
        assert_int_equal(tl_netburst_rdmsr(r.n, 0, msrs[i], &value), TL_EINVAL);
        assert_int_equal(tl_netburst_wrmsr(r.n, 0, msrs[i], 0), TL_EINVAL);
    }
    rig_done(&r);
}

static void test_registers_are_those_of_escrs_and_counters(void **state) {
    rig r;
    open_rig(&r, 32, true);
    uint64_t value;
    (void)state;
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_CAP), 2 | 32 << 8 | TL_NBX_BANKS << 16);
    wrmsr(&r, TL_MSR_NBX_CAP, 0);
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_CAP), 2 | 32 << 8 | TL_NBX_BANKS << 16);
    for (uint32_t i = 0; i < TL_N_ESCRS; i++) { // model 2 lacks MSR_SSU_ESCR1
        const tl_status wanted = i == TL_SSU_ESCR1 ? TL_EINVAL : TL_OK;
        assert_int_equal(tl_netburst_rdmsr(r.n, 0, TL_MSR_NBX_XESCR + i, &value), wanted);
    }
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        wrmsr(&r, TL_MSR_NBX_XCCCR + i, UINT64_MAX);
        assert_int_equal(rdmsr(&r, TL_MSR_NBX_XCCCR + i), UINT64_C(0xffffffff0000ffff));
        wrmsr(&r, TL_MSR_NBX_IDLE + i, UINT64_MAX);
        assert_int_equal(rdmsr(&r, TL_MSR_NBX_IDLE + i), UINT32_MAX);
    }
    assert_int_equal(tl_netburst_rdmsr(r.n, 0, TL_MSR_NBX_XESCR + TL_N_ESCRS, &value), TL_EINVAL);
    assert_int_equal(tl_netburst_rdmsr(r.n, 0, TL_MSR_NBX_IDLE + TL_NETBURST_COUNTERS, &value), TL_EINVAL);
    rig_done(&r);
}

static void test_flags_of_an_escr_are_a_view(void **state) {
    static const uint8_t bit_of[4] = {1, 33, 0, 32}; // T1_USR, T1_OS, T0_USR, T0_OS
    rig r;
    open_rig(&r, 2, true);
    (void)state;
    for (uint32_t flags = 0; flags < 16; flags++) {
        uint64_t wanted = UINT64_C(0xf0f0fff0abcdef00);
        for (uint32_t i = 0; i < 4; i++)
            wanted |= (uint64_t)(flags >> i & 1) << bit_of[i];
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, UINT64_C(0xf0f0fff0abcdef00));
        wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS | flags);
        assert_int_equal(rdmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0), wanted);
        wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS);
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, wanted);
        assert_int_equal(rdmsr(&r, MSR_CRU_ESCR0), ESCR_UOPS | flags);
    }
    rig_done(&r);
}

static void test_mode_of_a_cccr_is_a_view(void **state) {
    static const uint32_t bounds[4] = {0, 0x101, 0x202, 0xff00};
    rig r;
    open_rig(&r, 2, true);
    (void)state;
    for (uint32_t mode = 0; mode < 4; mode++) {
        wrmsr(&r, TL_MSR_CCCR + COUNTER, CCCR_UOPS | (mode ^ 3) << TL_CCCR_THREAD_LSB);
        wrmsr(&r, TL_MSR_CCCR + COUNTER, CCCR_UOPS | mode << TL_CCCR_THREAD_LSB);
        assert_int_equal(rdmsr(&r, TL_MSR_NBX_XCCCR + COUNTER), bounds[mode]);
        wrmsr(&r, TL_MSR_NBX_XCCCR + COUNTER, bounds[mode ^ 1]);
        assert_int_equal(rdmsr(&r, TL_MSR_CCCR + COUNTER), CCCR_UOPS | (mode ^ 1) << TL_CCCR_THREAD_LSB);
    }
    // Bounds without a mode show as any, and a write that keeps the mode keeps them.
    wrmsr(&r, TL_MSR_NBX_XCCCR + COUNTER, 0x0503);
    const uint64_t cccr = rdmsr(&r, TL_MSR_CCCR + COUNTER);
    assert_int_equal(cccr, CCCR_UOPS | 3 << TL_CCCR_THREAD_LSB);
    wrmsr(&r, TL_MSR_CCCR + COUNTER, cccr & ~(uint64_t)TL_CCCR_ENABLE);
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_XCCCR + COUNTER), 0x0503);
    rig_done(&r);
}

// ---- Counts.

// A clock of up to MAX_THREADS threads: class of each, 0: idle; uops that it retires.
typedef struct clocks {
    uint32_t n_threads;
    uint8_t class[MAX_THREADS]; // 1: USR, 2: OS
    uint8_t n_uops[MAX_THREADS];
    bool walks; // an event of no thread
} clocks;

static void draw_clock(clocks *c) {
    for (uint32_t t = 0; t < c->n_threads; t++) {
        c->class[t] = (uint8_t)draw(&seed, 3);
        c->n_uops[t] = (uint8_t)(c->class[t] ? draw(&seed, 4) : 0);
    }
    c->walks = draw(&seed, 2);
}

static void tell(rig *r, const clocks *c) {
    static const uint8_t owners[2][3] = {{0, TL_ESCR_T0_USR, TL_ESCR_T0_OS}, {0, TL_ESCR_T1_USR, TL_ESCR_T1_OS}};
    tl_netburst_occurrence list[MAX_THREADS + 1];
    tl_netburst_clock clock = {.n_clocks = 1, .occurrences = list};
    for (uint32_t t = 0; t < c->n_threads; t++) {
        if (c->class[t] == 0)
            continue;
        const uint16_t owner = t < 2 ? owners[t][c->class[t]] : (uint16_t)(owners[0][c->class[t]] | t << TL_NBX_THREAD_LSB);
        if (t < 2)
            clock.active |= owners[t][c->class[t]];
        else
            clock.others |= UINT64_C(1) << (c->class[t] == 1 ? t : t + TL_NBX_OS_LSB);
        if (c->n_uops[t] > 0)
            list[clock.n_occurrences++] = (tl_netburst_occurrence){TL_NB_UOPS_RETIRED, owner, c->n_uops[t], 1};
    }
    if (c->walks)
        list[clock.n_occurrences++] = (tl_netburst_occurrence){TL_NB_PAGE_WALK_TYPE, 0, 1, 1};
    tl_netburst_count(r->n, &clock);
}

static void test_legacy_settings_count_the_same_through_both_views(void **state) {
    static const uint32_t bounds[4] = {0, 0x101, 0x202, 0xff00};
    (void)state;
    for (uint32_t setting = 0; setting < 16 * 4; setting++) {
        const uint32_t flags = setting / 4, mode = setting % 4;
        rig legacy, view, extended;
        open_rig(&legacy, 2, false);
        open_rig(&view, 2, true);
        open_rig(&extended, 2, true);
        rig *const by_escr[] = {&legacy, &view};
        const uint64_t threads = (flags >> 2 & 1) | (flags & 1) << 1 | (uint64_t)(flags >> 3 & 1) << 32 | (uint64_t)(flags >> 1 & 1) << 33;
        clocks c = {.n_threads = 2};
        seed = setting;
        for (size_t i = 0; i < TL_COUNT_OF(by_escr); i++) {
            wrmsr(by_escr[i], MSR_CRU_ESCR0, ESCR_UOPS | flags);
            wrmsr(by_escr[i], MSR_PMH_ESCR0, ESCR_WALKS | flags);
            wrmsr(by_escr[i], TL_MSR_CCCR + COUNTER, CCCR_UOPS | mode << TL_CCCR_THREAD_LSB);
            wrmsr(by_escr[i], TL_MSR_CCCR + WALK_COUNTER, CCCR_WALKS | mode << TL_CCCR_THREAD_LSB);
        }
        wrmsr(&extended, MSR_CRU_ESCR0, ESCR_UOPS);
        wrmsr(&extended, MSR_PMH_ESCR0, ESCR_WALKS);
        wrmsr(&extended, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, threads);
        wrmsr(&extended, TL_MSR_NBX_XESCR + TL_PMH_ESCR0, threads);
        wrmsr(&extended, TL_MSR_CCCR + COUNTER, CCCR_UOPS);
        wrmsr(&extended, TL_MSR_CCCR + WALK_COUNTER, CCCR_WALKS);
        wrmsr(&extended, TL_MSR_NBX_XCCCR + COUNTER, bounds[mode]);
        wrmsr(&extended, TL_MSR_NBX_XCCCR + WALK_COUNTER, bounds[mode]);
        for (uint32_t i = 0; i < 300; i++) {
            draw_clock(&c);
            tell(&legacy, &c);
            tell(&view, &c);
            tell(&extended, &c);
        }
        for (uint32_t counter = WALK_COUNTER; counter <= COUNTER; counter += COUNTER - WALK_COUNTER) {
            const uint64_t value = rdmsr(&legacy, TL_MSR_COUNTER + counter);
            assert_true(flags == 0 || counter == COUNTER || mode == 0 || value > 0);
            assert_int_equal(rdmsr(&view, TL_MSR_COUNTER + counter), value);
            assert_int_equal(rdmsr(&extended, TL_MSR_COUNTER + counter), value);
        }
        tl_arena_done(&legacy.arena);
        tl_arena_done(&view.arena);
        tl_arena_done(&extended.arena);
    }
}

// Random masks and ranges of up to 32 threads. Both counters of uops see the same detector.
static void test_masks_and_ranges_count_what_the_rule_says(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        clocks c = {.n_threads = 2 + round % (MAX_THREADS - 1)};
        rig r;
        open_rig(&r, c.n_threads, true);
        seed = round;
        const uint32_t all = c.n_threads == 32 ? UINT32_MAX : (UINT32_C(1) << c.n_threads) - 1;
        const uint32_t usr = (uint32_t)(draw(&seed, 4) ? draw(&seed, UINT32_MAX) : UINT32_MAX),
                       os = (uint32_t)(draw(&seed, 4) ? draw(&seed, UINT32_MAX) : 0);
        const uint32_t least = (uint32_t)draw(&seed, c.n_threads + 1), most = least + (uint32_t)draw(&seed, c.n_threads + 1);
        const uint32_t must_run = draw(&seed, 2) ? UINT32_C(1) << draw(&seed, c.n_threads) : 0,
                       must_idle = draw(&seed, 2) ? UINT32_C(1) << draw(&seed, 32) : 0;
        uint64_t uops = 0, walks = 0;
        wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS);
        wrmsr(&r, MSR_PMH_ESCR0, ESCR_WALKS);
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, usr | (uint64_t)os << 32);
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_PMH_ESCR0, usr | (uint64_t)os << 32);
        for (uint32_t counter = WALK_COUNTER; counter <= COUNTER; counter += COUNTER - WALK_COUNTER) {
            wrmsr(&r, TL_MSR_NBX_XCCCR + counter, least | most << 8 | (uint64_t)must_run << 32);
            wrmsr(&r, TL_MSR_NBX_IDLE + counter, must_idle);
            wrmsr(&r, TL_MSR_CCCR + counter, rdmsr(&r, TL_MSR_CCCR + counter) | CCCR_UOPS);
        }
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t n_active = 0, output = 0, runs[3] = {0};
            draw_clock(&c);
            tell(&r, &c);
            for (uint32_t t = 0; t < c.n_threads; t++) {
                n_active += c.class[t] != 0;
                runs[c.class[t]] |= UINT32_C(1) << t;
                output += (c.class[t] == 1 ? usr : os) >> t & 1 ? c.n_uops[t] : 0u;
            }
            const uint32_t active = all & (runs[1] | runs[2]);
            if (n_active < least || n_active > most || (must_run & ~active) || (must_idle & active))
                continue;
            uops += output > TL_NETBURST_MAX_OUTPUT ? TL_NETBURST_MAX_OUTPUT : output;
            walks += c.walks && (((usr & all) && (os & all)) || ((usr & all) && runs[1]) || ((os & all) && runs[2]));
        }
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + COUNTER), uops);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + WALK_COUNTER), walks);
        rig_done(&r);
    }
}

// One clock for each thread of four that runs alone, in USR and in OS.
static void tell_each_alone(rig *r) {
    for (uint8_t class = 1; class <= 2; class ++)
        for (uint32_t t = 0; t < 4; t++) {
            clocks c = {.n_threads = 4, .walks = true};
            c.class[t] = class;
            c.n_uops[t] = 1;
            tell(r, &c);
        }
}

static void test_a_mask_of_idle_threads_bounds_alone(void **state) {
    rig r;
    open_rig(&r, 4, true);
    (void)state;
    wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS);
    wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, UINT64_MAX);
    wrmsr(&r, TL_MSR_CCCR + COUNTER, CCCR_UOPS | 3 << TL_CCCR_THREAD_LSB);
    wrmsr(&r, TL_MSR_NBX_IDLE + COUNTER, 1 << 3 | 1 << 0);
    tell_each_alone(&r);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + COUNTER), 4); // threads 1 and 2
    rig_done(&r);
}

static void test_an_event_of_no_thread_counts_while_any_thread_runs_in_the_class(void **state) {
    (void)state;
    for (uint32_t class = 0; class < 2; class ++) {
        rig r;
        open_rig(&r, 4, true);
        wrmsr(&r, MSR_PMH_ESCR0, ESCR_WALKS);
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_PMH_ESCR0, UINT64_C(1) << (class ? 2 + TL_NBX_OS_LSB : 2));
        wrmsr(&r, TL_MSR_CCCR + WALK_COUNTER, CCCR_WALKS | 3 << TL_CCCR_THREAD_LSB);
        tell_each_alone(&r);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + WALK_COUNTER), 4);
        rig_done(&r);
    }
}

static void test_modes_count_threads_beyond_two(void **state) {
    rig r;
    open_rig(&r, 4, true);
    (void)state;
    wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS);
    wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, UINT64_MAX);
    wrmsr(&r, TL_MSR_CCCR + COUNTER, CCCR_UOPS | 1 << TL_CCCR_THREAD_LSB); // single
    tell_each_alone(&r);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + COUNTER), 8);
    rig_done(&r);
}

static void test_masks_of_single_threads_sum_up_to_all(void **state) {
    enum { N = 8 };
    uint64_t sum = 0, count[N + 1];
    (void)state;
    for (uint32_t k = 0; k <= N; k++) { // k == N: all threads
        rig r;
        open_rig(&r, N, true);
        clocks c = {.n_threads = N};
        const uint64_t threads = k == N ? 0xff : 1 << k;
        seed = 7;
        wrmsr(&r, MSR_CRU_ESCR0, ESCR_UOPS);
        wrmsr(&r, TL_MSR_NBX_XESCR + TL_CRU_ESCR0, threads | threads << 32);
        wrmsr(&r, TL_MSR_CCCR + COUNTER, CCCR_UOPS | 3 << TL_CCCR_THREAD_LSB);
        for (uint32_t i = 0; i < 500; i++) {
            draw_clock(&c);
            for (uint32_t t = 0; t < N; t++)
                c.n_uops[t] &= 1; // a detector counts at most 15 in a clock
            tell(&r, &c);
        }
        count[k] = rdmsr(&r, TL_MSR_COUNTER + COUNTER);
        sum += k < N ? count[k] : 0;
        rig_done(&r);
    }
    assert_true(count[0] > 0 && count[N - 1] > 0);
    assert_int_equal(sum, count[N]);
}

static void test_more_threads_need_the_key(void **state) {
    tl_netburst_settings settings = tl_netburst_default_settings;
    tl_arena arena = {0};
    tl_netburst *n;
    tl_error err;
    (void)state;
    assert_int_equal(tl_netburst_new(&settings, 3, NULL, &arena, &n, &err), TL_EINVAL);
    settings.nbx = 1;
    assert_int_equal(tl_netburst_new(&settings, 33, NULL, &arena, &n, &err), TL_EINVAL);
    tl_arena_done(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_fault_without_the_key),
        cmocka_unit_test(test_registers_are_those_of_escrs_and_counters),
        cmocka_unit_test(test_flags_of_an_escr_are_a_view),
        cmocka_unit_test(test_mode_of_a_cccr_is_a_view),
        cmocka_unit_test(test_legacy_settings_count_the_same_through_both_views),
        cmocka_unit_test(test_masks_and_ranges_count_what_the_rule_says),
        cmocka_unit_test(test_a_mask_of_idle_threads_bounds_alone),
        cmocka_unit_test(test_an_event_of_no_thread_counts_while_any_thread_runs_in_the_class),
        cmocka_unit_test(test_modes_count_threads_beyond_two),
        cmocka_unit_test(test_masks_of_single_threads_sum_up_to_all),
        cmocka_unit_test(test_more_threads_need_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
