// SPDX-License-Identifier: MIT
// The state machine of precise samples on a memory of our own: what a record holds, which uop is
// captured, areas that are full, hostile, not there or read-only, both threads at once, and random
// registers and areas.
#include <stdio.h>
#include <stdlib.h>

#include "pmu/netburst/test_rig.h"

static void open_rig(rig *r, bool ds64) {
    rig_init(r);
    r->settings.ds64 = ds64;
    rig_begin(r, 2);
}

static void put(rig *r, uint64_t vaddr, uint64_t value, uint32_t n_bytes) { memcpy(&r->memory[vaddr - PAGE_AT], &value, n_bytes); }
static uint64_t get(const rig *r, uint64_t vaddr, uint32_t n_bytes) {
    uint64_t value = 0;
    memcpy(&value, &r->memory[vaddr - PAGE_AT], n_bytes);
    return value;
}

typedef struct area {
    uint64_t base, index, maximum, threshold, reset;
} area;

// The tables 9.3 and 9.4 of the specification, once more.
static void put_area(rig *r, uint64_t at, const area *a) {
    const uint32_t size = r->settings.ds64 ? 8 : 4, first = r->settings.ds64 ? 0x20 : 0x10;
    const uint64_t pointers[] = {a->base, a->index, a->maximum, a->threshold};
    for (uint32_t i = 0; i < 4; i++)
        put(r, at + first + i * size, pointers[i], size);
    put(r, at + (r->settings.ds64 ? 0x40 : 0x20), a->reset, 8);
}
static uint64_t index_of(const rig *r, uint64_t at) { return r->settings.ds64 ? get(r, at + 0x28, 8) : get(r, at + 0x14, 4); }

static uint64_t preset(uint64_t n) { return -n & TL_NETBURST_VALUE; }

// Loads by their front-end tag on thread t, sampled into the area, one of n.
static void sample(rig *r, uint32_t thread, uint64_t at, uint64_t n) {
    const uint32_t flags = thread == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR;
    wrmsr_by(r, thread, TL_MSR_DS_AREA, at);
    wrmsr_by(r, thread, 0x3cc + thread, 0x10000200 | flags); // front_end_event, NBOGUS
    wrmsr_by(r, thread, TL_MSR_PEBS_ENABLE, rdmsr(r, TL_MSR_PEBS_ENABLE) | TL_PEBS_UOP_TAG | TL_PEBS_MY_THREAD);
    if (thread == 1) // as thread 0 sees it
        wrmsr_by(r, 0, TL_MSR_PEBS_ENABLE, TL_PEBS_UOP_TAG | TL_PEBS_MY_THREAD | TL_PEBS_OTHER_THREAD);
    wrmsr_by(r, thread, TL_MSR_COUNTER + 16 + thread, preset(n));
    wrmsr_by(r, thread, TL_MSR_CCCR + 16 + thread,
             TL_CCCR_ENABLE | 5 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB | (thread == 0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1));
}

static void fill_values(uint64_t values[TL_NETBURST_RECORD_VALUES], uint64_t seed) {
    for (uint32_t i = 0; i < TL_NETBURST_RECORD_VALUES; i++)
        values[i] = UINT64_C(0x1122334400000000) * (seed + 1) + 100 * seed + i;
}

// A load of the thread retires; its sample is taken if it is captured, and it begins again. Returns
// whether it was captured.
static bool load_retires(rig *r, uint32_t thread, uint64_t seed, bool happens_again) {
    const uint8_t owner = thread == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR;
    const tl_netburst_occurrence uop = {TL_NB_FRONT_END_EVENT, owner, 1, 1};
    uint64_t values[TL_NETBURST_RECORD_VALUES];
    if (tl_netburst_retires(r->n, thread, &uop, 1, owner))
        return false;
    fill_values(values, seed);
    tl_netburst_assist(r->n, thread, values);
    if (happens_again)
        assert_true(tl_netburst_retires(r->n, thread, &uop, 1, owner));
    return true;
}

static void test_record_holds_the_values_in_the_order_of_the_format(void **state) {
    (void)state;
    for (uint32_t ds64 = 0; ds64 < 2; ds64++) {
        const uint32_t size = ds64 ? 8 : 4, n_values = ds64 ? 18 : 10;
        uint64_t values[TL_NETBURST_RECORD_VALUES];
        rig r;
        open_rig(&r, ds64);
        const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(1)};
        put_area(&r, PAGE_AT, &a);
        sample(&r, 0, PAGE_AT, 1);
        assert_false(load_retires(&r, 0, 3, true));
        assert_true(load_retires(&r, 0, 4, true));
        fill_values(values, 4);
        for (uint32_t i = 0; i < n_values; i++)
            assert_int_equal(get(&r, a.base + i * size, size), ds64 ? values[i] : (uint32_t)values[i]);
        assert_int_equal(index_of(&r, PAGE_AT), a.base + n_values * size);
        assert_int_equal(get(&r, a.base + n_values * size, 8), 0);
        assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 1);
        rig_done(&r);
    }
}

// A15: the period is N if the event comes again, and N + 1 if it does not.
static void test_period_depends_on_whether_the_event_comes_again(void **state) {
    (void)state;
    for (uint32_t comes_again = 0; comes_again < 2; comes_again++) {
        enum { N = 7, SAMPLES = 10 };
        rig r;
        open_rig(&r, false);
        const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(N)};
        put_area(&r, PAGE_AT, &a);
        sample(&r, 0, PAGE_AT, N);
        uint64_t n_samples = 0, n_events = 0, last = 0;
        while (n_samples < SAMPLES) {
            n_events += 1;
            if (!load_retires(&r, 0, 0, comes_again))
                continue;
            n_samples += 1;
            if (last != 0)
                assert_int_equal(n_events - last, N + 1 - comes_again);
            last = n_events;
        }
        rig_done(&r);
    }
}

// A15: each group of tags samples.
static void test_each_group_of_tags_samples(void **state) {
    (void)state;
    static const struct {
        tl_netburst_event event;
        uint64_t escr;
    } groups[] = {{TL_NB_FRONT_END_EVENT, 0x10000204}, {TL_NB_EXECUTION_EVENT, 0x18000204}, {TL_NB_REPLAY_EVENT, 0x12000204}};
    for (uint32_t g = 0; g < TL_COUNT_OF(groups); g++) {
        rig r;
        open_rig(&r, false);
        const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(3)};
        put_area(&r, PAGE_AT, &a);
        sample(&r, 0, PAGE_AT, 3);
        wrmsr_by(&r, 0, 0x3cc, groups[g].escr);
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t other = 0; other < TL_COUNT_OF(groups); other++) {
                const tl_netburst_occurrence uop = {(uint8_t)groups[(g + other) % 3].event, TL_ESCR_T0_USR, 1, 1};
                const bool retires = tl_netburst_retires(r.n, 0, &uop, 1, TL_ESCR_T0_USR);
                const uint64_t values[TL_NETBURST_RECORD_VALUES] = {0};
                assert_int_equal(retires, other != 0 || i % 4 != 3); // the fourth of its own group
                if (!retires)
                    tl_netburst_assist(r.n, 0, values);
            }
        assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 2);
        rig_done(&r);
    }
}

// A16.
static void test_full_area_drops_samples_and_is_left_alone(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + PAGE + 3 * RECORD_32 + 1, PAGE_AT + PAGE + 2 * RECORD_32, preset(1)};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    tl_netburst_set_lvt(r.n, 0, 0);
    for (uint32_t i = 0; i < 20; i++)
        (void)load_retires(&r, 0, i, false);
    assert_int_equal(index_of(&r, PAGE_AT), a.base + 3 * RECORD_32);
    assert_int_equal(r.most_written, a.base + 3 * RECORD_32);
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 3);
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_lost, 7); // ten of twenty were captured
    assert_int_equal(r.n_interrupts[0], 1);                     // at the threshold; then masked
    // It is full still, so the interrupt comes again; then it is emptied.
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 2);
    put(&r, PAGE_AT + 0x14, a.base, 4);
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 2);
    assert_int_equal(tl_netburst_lvt(r.n, 0), 0);
    rig_done(&r);
}

// Section 9.5 of the specification: the interrupt comes with the record that takes the index to the
// threshold. It comes again when software unmasks it, until the index is below.
static void test_interrupt_comes_with_the_record_that_reaches_the_threshold(void **state) {
    (void)state;
    enum { AT_RECORD = 3 };
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + PAGE + AT_RECORD * RECORD_32, preset(1)};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    tl_netburst_set_lvt(r.n, 0, 0);
    for (uint32_t n_records = 0; n_records < AT_RECORD; n_records++) {
        assert_int_equal(r.n_interrupts[0], 0);
        while (!load_retires(&r, 0, n_records, false))
            ;
    }
    assert_int_equal(r.n_interrupts[0], 1);
    tl_netburst_set_lvt(r.n, 0, 0); // the index is at the threshold
    assert_int_equal(r.n_interrupts[0], 2);
    put(&r, PAGE_AT + 0x14, a.threshold - 1, 4);
    tl_netburst_set_lvt(r.n, 0, 0);
    assert_int_equal(r.n_interrupts[0], 2);
    rig_done(&r);
}

static void test_reset_forgets_lost_samples(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area full = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + PAGE, preset(1)};
    put_area(&r, PAGE_AT, &full);
    sample(&r, 0, PAGE_AT, 1);
    for (uint32_t i = 0; i < 6; i++)
        (void)load_retires(&r, 0, i, false);
    assert_int_equal(tl_netburst_lost_by(r.n, 16), 3);
    tl_netburst_reset(r.n);
    assert_int_equal(tl_netburst_lost_by(r.n, 16), 0);
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_lost, 0);
    rig_done(&r);
}

// A17.
static void test_threads_have_areas_of_their_own(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(1)},
               b = {PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 3 * PAGE, PAGE_AT + 3 * PAGE, preset(2)};
    put_area(&r, PAGE_AT, &a);
    put_area(&r, PAGE_AT + 0x100, &b);
    sample(&r, 0, PAGE_AT, 1);
    sample(&r, 1, PAGE_AT + 0x100, 2);
    for (uint32_t i = 0; i < 12; i++) {
        (void)load_retires(&r, 0, 2 * i, false);
        (void)load_retires(&r, 1, 2 * i + 1, false);
    }
    assert_int_equal(index_of(&r, PAGE_AT), a.base + 6 * RECORD_32);
    assert_int_equal(index_of(&r, PAGE_AT + 0x100), b.base + 4 * RECORD_32);
    for (uint32_t i = 0; i < 6; i++) // fill_values: the last decimal of 100 * seed + 1 is 1
        assert_int_equal(get(&r, a.base + i * RECORD_32 + 4, 4) / 100 % 2, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(get(&r, b.base + i * RECORD_32 + 4, 4) / 100 % 2, 1);
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 6);
    assert_int_equal(tl_netburst_samples_of(r.n, 1).n_stored, 4);
    rig_done(&r);
}

static void test_an_area_that_is_not_there_drops_the_sample_and_stops_the_period(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(1)};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    r.missing = 1 << 0;
    assert_false(load_retires(&r, 0, 0, false));
    assert_true(load_retires(&r, 0, 0, false));
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_faults, 1);
    // No reset value: the counter goes on from 0, without OVF.
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + 16), 0);
    assert_int_equal(rdmsr(&r, TL_MSR_CCCR + 16) & TL_CCCR_OVF, 0);
    for (uint32_t i = 0; i < 100; i++)
        assert_false(load_retires(&r, 0, 0, false));
    // Software brings the page back and writes the counter.
    r.missing = 0;
    wrmsr_by(&r, 0, TL_MSR_COUNTER + 16, preset(1));
    assert_false(load_retires(&r, 0, 0, false));
    assert_true(load_retires(&r, 0, 0, false));
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 1);
    assert_int_equal(r.least_written, PAGE_AT + 0x14);
    rig_done(&r);
}

// A read-only page of records, and of the area: the period goes on, the index stays.
static void test_read_only_pages_drop_samples_and_keep_the_period(void **state) {
    (void)state;
    for (uint32_t page = 0; page < 2; page++) {
        rig r;
        open_rig(&r, false);
        const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + PAGE + RECORD_32, preset(1)};
        put_area(&r, PAGE_AT, &a);
        sample(&r, 0, PAGE_AT, 1);
        tl_netburst_set_lvt(r.n, 0, 0);
        r.read_only = 1u << page;
        for (uint32_t i = 0; i < 10; i++)
            (void)load_retires(&r, 0, i, false);
        assert_int_equal(tl_netburst_samples_of(r.n, 0).n_faults, 5);
        assert_int_equal(index_of(&r, PAGE_AT), a.base);
        assert_int_equal(r.n_interrupts[0], 0); // nothing is in the area
        rig_done(&r);
    }
}

static void test_hostile_pointers_write_nothing_outside(void **state) {
    (void)state;
    static const struct {
        area a;
        uint64_t n_stored, n_lost, n_faults;
    } rows[] = {
        {{0, 0, 0, 0, 1}, 0, 1, 0},                                                // no room
        {{0, 0, UINT32_MAX, 0, 1}, 0, 0, 1},                                       // page 0 is not there
        {{0, UINT32_MAX, UINT32_MAX, 0, 1}, 0, 1, 0},                              // the record would wrap
        {{0, UINT32_MAX - 38, UINT32_MAX, 0, 1}, 0, 1, 0},                         // by a byte
        {{0, UINT32_MAX - 40, UINT32_MAX, 0, 1}, 0, 0, 1},                         // ends at 4 GiB
        {{0, PAGE_AT + PAGE + 100, PAGE_AT + PAGE, 0, 1}, 0, 1, 0},                // index behind the maximum
        {{0, PAGE_AT + MEMORY - 20, UINT32_MAX, 0, 1}, 0, 0, 1},                   // half of the record
        {{0, PAGE_AT + PAGE + 1, PAGE_AT + 2 * PAGE, UINT32_MAX, 1}, 1, 0, 0},     // odd, and below the base
        {{UINT32_MAX, PAGE_AT + PAGE, PAGE_AT + PAGE + RECORD_32, 0, 1}, 1, 0, 0}, // exactly one
        {{0, PAGE_AT + PAGE, PAGE_AT + PAGE + RECORD_32 - 1, 0, 1}, 0, 1, 0},      // nearly one
        {{0, PAGE_AT + 0x14, PAGE_AT + PAGE, 0, TL_NETBURST_VALUE}, 1, 0, 0},      // over the area itself
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig r;
        open_rig(&r, false);
        put_area(&r, PAGE_AT, &rows[i].a);
        sample(&r, 0, PAGE_AT, 1);
        assert_false(load_retires(&r, 0, 0, false));
        assert_true(load_retires(&r, 0, 0, false));
        const tl_netburst_samples_stored s = tl_netburst_samples_of(r.n, 0);
        if (s.n_stored != rows[i].n_stored || s.n_lost != rows[i].n_lost || s.n_faults != rows[i].n_faults)
            fail_msg("row %u: %llu stored, %llu lost, %llu faults", i, (unsigned long long)s.n_stored, (unsigned long long)s.n_lost,
                     (unsigned long long)s.n_faults);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + 16), rows[i].a.reset & TL_NETBURST_VALUE);
        rig_done(&r);
    }
    // Areas that lie across the end of the address space, or nowhere.
    static const uint64_t places[] = {UINT32_MAX - 2, UINT32_MAX - 0x12, UINT64_MAX, UINT64_MAX - 0x20, PAGE_AT + MEMORY - 0x20, 1};
    for (uint32_t i = 0; i < 2 * TL_COUNT_OF(places); i++) {
        rig r;
        open_rig(&r, i % 2);
        sample(&r, 0, places[i / 2], 1);
        (void)load_retires(&r, 0, 0, false);
        (void)load_retires(&r, 0, 0, false);
        assert_int_equal(tl_netburst_samples_of(r.n, 0).n_faults, 1);
        assert_int_equal(r.most_written, 0);
        rig_done(&r);
    }
}

// 9.2, one condition after the other: without it nothing is written, and the counter counts on.
static void test_every_condition_is_needed(void **state) {
    (void)state;
    static const struct {
        uint32_t msr;
        uint64_t value;
    } rows[] = {
        {TL_MSR_CCCR + 16, 5 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB | TL_CCCR_OVF_PMI_T0}, // not enabled
        {TL_MSR_CCCR + 16, 0x0003b000},                                                             // no OVF_PMI
        {TL_MSR_CCCR + 16, 0x0803b000},                                                             // of the other thread
        {TL_MSR_CCCR + 16, 0x0407b000},                                                             // COMPARE
        {TL_MSR_CCCR + 16, 0x04039000},                                                             // another ESCR
        {TL_MSR_PEBS_ENABLE, TL_PEBS_UOP_TAG},                                                      // off
        {TL_MSR_PEBS_ENABLE, TL_PEBS_UOP_TAG | TL_PEBS_OTHER_THREAD},                               // the other thread
        {TL_MSR_DS_AREA, 0},                                                                        // no area
        {0x3cc, 0x0c00020c},                                                                        // branch_retired
        {0x3cc, 0x10000400 | TL_ESCR_T0_USR},                                                       // bogus loads
        {0x3cc, 0x10000200 | TL_ESCR_T1_USR | TL_ESCR_T0_OS},                                       // another owner
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig r;
        open_rig(&r, false);
        const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(1)};
        put_area(&r, PAGE_AT, &a);
        sample(&r, 0, PAGE_AT, 1);
        wrmsr_by(&r, 0, rows[i].msr, rows[i].value);
        for (uint32_t k = 0; k < 10; k++)
            if (load_retires(&r, 0, 0, false))
                fail_msg("row %u samples", i);
        assert_int_equal(r.most_written, 0);
        rig_done(&r);
    }
}

static void test_forced_overflow_samples_every_second_event(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, 0};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1000);
    wrmsr_by(&r, 0, TL_MSR_CCCR + 16, rdmsr(&r, TL_MSR_CCCR + 16) | TL_CCCR_FORCE_OVF);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(load_retires(&r, 0, 0, false), i % 2);
    rig_done(&r);
}

static void test_a_counter_that_samples_asks_which_threads_are_active(void **state) {
    (void)state;
    static const tl_netburst_occurrence load = {TL_NB_FRONT_END_EVENT, TL_ESCR_T0_USR, 1, 1};
    rig r;
    open_rig(&r, false);
    sample(&r, 0, PAGE_AT, 1000);
    const uint64_t cccr = rdmsr(&r, TL_MSR_CCCR + 16) & ~(UINT64_C(3) << TL_CCCR_THREAD_LSB);
    wrmsr_by(&r, 0, TL_MSR_CCCR + 16, cccr | 1 << TL_CCCR_THREAD_LSB); // single
    assert_true(tl_netburst_retires(r.n, 0, &load, 1, TL_ESCR_T0_USR | TL_ESCR_T1_OS));
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + 16), preset(1000));
    assert_true(tl_netburst_retires(r.n, 0, &load, 1, TL_ESCR_T0_USR));
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + 16), preset(999));
    rig_done(&r);
}

static void test_addresses_of_the_32_bit_format_have_32_bits(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, preset(1)};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    wrmsr_by(&r, 0, TL_MSR_DS_AREA, UINT64_C(0x500000000) + PAGE_AT);
    assert_false(load_retires(&r, 0, 0, false));
    assert_true(load_retires(&r, 0, 0, false));
    assert_int_equal(index_of(&r, PAGE_AT), PAGE_AT + PAGE + RECORD_32);
    rig_done(&r);
}

static void test_the_reset_value_has_40_bits(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + 2 * PAGE, UINT64_MAX};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(load_retires(&r, 0, i, false), i % 2);
    rig_done(&r);
}

static void test_the_record_up_to_the_threshold_interrupts(void **state) {
    (void)state;
    rig r;
    open_rig(&r, false);
    const area a = {PAGE_AT + PAGE, PAGE_AT + PAGE, PAGE_AT + 2 * PAGE, PAGE_AT + PAGE + 2 * RECORD_32, preset(1)};
    put_area(&r, PAGE_AT, &a);
    sample(&r, 0, PAGE_AT, 1);
    tl_netburst_set_lvt(r.n, 0, 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(load_retires(&r, 0, i, false), i % 2);
        assert_int_equal(r.n_interrupts[0], i == 3);
    }
    rig_done(&r);
}

static void test_each_tagged_uop_of_an_instruction_counts(void **state) {
    (void)state;
    static const tl_netburst_occurrence uops[] = {{TL_NB_FRONT_END_EVENT, TL_ESCR_T0_USR, 1, 1},
                                                  {TL_NB_REPLAY_EVENT, TL_ESCR_T0_USR, 1, 1},
                                                  {TL_NB_FRONT_END_EVENT, TL_ESCR_T0_USR, 1, 1}};
    rig r;
    open_rig(&r, false);
    sample(&r, 0, PAGE_AT, 1000);
    assert_true(tl_netburst_retires(r.n, 0, uops, TL_COUNT_OF(uops), TL_ESCR_T0_USR));
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + 16), preset(998));
    rig_done(&r);
}

static uint64_t draw_wide(uint64_t *x, uint64_t n) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (*x >> 11) % n;
}

// Random registers, areas, pages and retirements. Memory outside the pages cannot be written at
// all; here, records stay below the maximum that the area had, and every register keeps its width.
static void test_random_registers_and_areas_do_no_harm(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    static const uint32_t msrs[] = {0x1a0, 0x300, 0x310, 0x311, 0x360, 0x36c, 0x370, 0x371, 0x3a2, 0x3b8,
                                    0x3bc, 0x3cc, 0x3cd, 0x3e0, 0x3f0, 0x3f1, 0x3f2, 0x600, 0x3bf, 0x3d0};
    rig r;
    for (uint32_t trial = 0; trial < 200; trial++) {
        open_rig(&r, trial % 2);
        for (uint32_t step = 0; step < 500; step++) {
            const uint32_t thread = (uint32_t)draw_wide(&x, 2), msr = msrs[draw_wide(&x, TL_COUNT_OF(msrs))];
            uint64_t value = draw_wide(&x, 4) == 0 ? draw_wide(&x, UINT64_MAX) : draw_wide(&x, UINT32_MAX);
            switch (draw_wide(&x, 8)) {
            case 0: {
                const uint64_t near = PAGE_AT + draw_wide(&x, MEMORY),
                               far = draw_wide(&x, 2) ? draw_wide(&x, UINT64_MAX) : near + draw_wide(&x, 3 * RECORD_64);
                const area a = {near, draw_wide(&x, 8) ? near : far, far, draw_wide(&x, 2) ? near : far, preset(draw_wide(&x, 4))};
                put_area(&r, PAGE_AT + draw_wide(&x, 8) * 0x80, &a);
                break;
            }
            case 1: sample(&r, thread, PAGE_AT + draw_wide(&x, 8) * 0x80, 1 + draw_wide(&x, 3)); break;
            case 2:
                r.missing = draw_wide(&x, 4) ? 0 : 1u << draw_wide(&x, 3);
                r.read_only = draw_wide(&x, 4) ? 0 : 1u << draw_wide(&x, 3);
                break;
            case 3: tl_netburst_set_lvt(r.n, thread, (uint32_t)value); break;
            case 4:
                value = msr == 0x600 ? PAGE_AT + draw_wide(&x, 2 * MEMORY) : value;
                (void)!tl_netburst_wrmsr(r.n, thread, msr, value);
                break;
            default: (void)load_retires(&r, thread, step, false); break;
            }
            assert_true(rdmsr(&r, 0x310) <= TL_NETBURST_VALUE && rdmsr(&r, 0x311) <= TL_NETBURST_VALUE);
        }
        rig_done(&r);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_record_holds_the_values_in_the_order_of_the_format),
    cmocka_unit_test(test_period_depends_on_whether_the_event_comes_again),
    cmocka_unit_test(test_each_group_of_tags_samples),
    cmocka_unit_test(test_full_area_drops_samples_and_is_left_alone),
    cmocka_unit_test(test_interrupt_comes_with_the_record_that_reaches_the_threshold),
    cmocka_unit_test(test_reset_forgets_lost_samples),
    cmocka_unit_test(test_threads_have_areas_of_their_own),
    cmocka_unit_test(test_an_area_that_is_not_there_drops_the_sample_and_stops_the_period),
    cmocka_unit_test(test_read_only_pages_drop_samples_and_keep_the_period),
    cmocka_unit_test(test_hostile_pointers_write_nothing_outside),
    cmocka_unit_test(test_every_condition_is_needed),
    cmocka_unit_test(test_forced_overflow_samples_every_second_event),
    cmocka_unit_test(test_a_counter_that_samples_asks_which_threads_are_active),
    cmocka_unit_test(test_addresses_of_the_32_bit_format_have_32_bits),
    cmocka_unit_test(test_the_reset_value_has_40_bits),
    cmocka_unit_test(test_the_record_up_to_the_threshold_interrupts),
    cmocka_unit_test(test_each_tagged_uop_of_an_instruction_counts),
    cmocka_unit_test(test_random_registers_and_areas_do_no_harm),
};
TL_TEST_MAIN(tests)
