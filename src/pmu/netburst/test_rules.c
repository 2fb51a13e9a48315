// SPDX-License-Identifier: MIT
// Acceptance rules of the specification, each over all registers that it names: qualification by
// thread and privilege, modes of active threads, edges, cascades, power.
#include <stdlib.h>

#include "pmu/netburst/test_rig.h"

static void open_rig(rig *r) {
    rig_init(r);
    r->settings.model = 3; // has extended cascades
    r->settings.errata_are_none = 1;
    rig_begin(r, 2);
}

// An event of each block, with an ESCR of both parities.
typedef struct detector {
    tl_netburst_event event;
    uint32_t first_counter, msr, select, code, mask;
} detector;
static const detector detectors[] = {
    {TL_NB_GLOBAL_POWER_EVENTS, 0, 0x3a2, 6, 0x13, 1},
    {TL_NB_RETIRED_BRANCH_TYPE, 4, 0x3c2, 2, 0x04, 2},
    {TL_NB_LOAD_PORT_REPLAY, 8, 0x3ae, 2, 0x04, 2},
    {TL_NB_UOPS_RETIRED, 12, 0x3b8, 4, 0x01, 1},
};
static const detector *detector_of(uint32_t i) { return &detectors[i < 4 ? 0 : i < 8 ? 1 : i < 12 ? 2 : 3]; }

enum { ALL_OWNERS = 15, ANY = 3 << TL_CCCR_THREAD_LSB };

// Both ESCRs of the pair detect, for these owners.
static void detect(rig *r, const detector *d, uint32_t flags) {
    for (uint32_t parity = 0; parity < 2; parity++)
        wrmsr(r, d->msr + parity, (uint64_t)d->code << TL_ESCR_EVENT_LSB | d->mask << TL_ESCR_MASK_LSB | flags);
}
static uint64_t cccr_of(const detector *d) { return d->select << TL_CCCR_SELECT_LSB | ANY; }
static tl_netburst_occurrence occurrence(const detector *d, uint8_t owner, uint16_t weight) {
    return (tl_netburst_occurrence){(uint8_t)d->event, owner, weight, (uint16_t)d->mask};
}

// A3: an event of a thread counts if its flag is set; one of no thread, by what runs.
static void test_each_choice_of_threads_and_privileges(void **state) {
    (void)state;
    enum { N_OWNERS = 4 };
    for (uint32_t flags = 0; flags < 16; flags++)
        for (uint32_t owner = 0; owner < N_OWNERS; owner++)
            for (uint32_t active = 0; active < 16; active++) {
                static const detector ti = {TL_NB_PAGE_WALK_TYPE, 0, 0x3ac, 4, 0x01, 1};
                const uint8_t bit = (uint8_t)(1u << owner);
                if ((active & 3) == 3 || (active & 12) == 12) // a thread has one privilege
                    continue;
                rig r;
                open_rig(&r);
                detect(&r, &detectors[3], flags);
                detect(&r, &ti, flags);
                wrmsr(&r, TL_MSR_CCCR + 12, cccr_of(&detectors[3]) | TL_CCCR_ENABLE);
                wrmsr(&r, TL_MSR_CCCR + 0, cccr_of(&ti) | TL_CCCR_ENABLE);
                const tl_netburst_occurrence both[] = {occurrence(&detectors[3], bit, 1), occurrence(&ti, bit, 1)};
                count(&r, 7, (uint8_t)active, both, 2);
                const bool usr = flags & 5, os = flags & 10;
                const bool counts = (usr && os) || (usr && (active & 5)) || (os && (active & 10));
                assert_int_equal(counter(&r, 12), flags >> owner & 1 ? 7 : 0);
                // A walk belongs to no thread, so the privilege of what runs decides.
                assert_int_equal(counter(&r, 0), counts ? 7 : 0);
                rig_done(&r);
            }
}

// A4.
static void test_modes_of_active_threads_part_all_clocks(void **state) {
    (void)state;
    static const uint8_t active[] = {0, TL_ESCR_T0_USR, TL_ESCR_T1_OS, TL_ESCR_T0_OS | TL_ESCR_T1_USR};
    static const uint64_t filters[] = {0, TL_CCCR_COMPARE | 1 << TL_CCCR_THRESHOLD_LSB,
                                       TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 2 << TL_CCCR_THRESHOLD_LSB};
    for (uint32_t f = 0; f < TL_COUNT_OF(filters); f++) {
        uint64_t counts[4];
        for (uint32_t mode = 0; mode < 4; mode++) {
            rig r;
            open_rig(&r);
            detect(&r, &detectors[3], ALL_OWNERS);
            wrmsr(&r, TL_MSR_CCCR + 12,
                  (cccr_of(&detectors[3]) & ~(uint64_t)ANY) | mode << TL_CCCR_THREAD_LSB | TL_CCCR_ENABLE | filters[f]);
            for (uint32_t i = 0; i < 400; i++) {
                const tl_netburst_occurrence uops = occurrence(&detectors[3], TL_ESCR_T0_OS, (uint16_t)(i / 4 % 4));
                count(&r, 1 + i % 5, active[i % 4], &uops, 1);
            }
            counts[mode] = counter(&r, 12);
            rig_done(&r);
        }
        assert_true(counts[0] > 0 && counts[1] > counts[0] && counts[2] > 0);
        assert_int_equal(counts[0] + counts[1] + counts[2], counts[3]);
    }
}

// A6, against a recorded trace.
static void test_edges_are_runs_of_the_filter(void **state) {
    (void)state;
    enum { N = 1000 };
    for (uint32_t threshold = 0; threshold < 4; threshold++)
        for (uint32_t complements = 0; complements < 2; complements++) {
            uint32_t runs = 0;
            bool was = false;
            rig r;
            open_rig(&r);
            detect(&r, &detectors[3], ALL_OWNERS);
            wrmsr(&r, TL_MSR_CCCR + 12,
                  cccr_of(&detectors[3]) | TL_CCCR_ENABLE | TL_CCCR_COMPARE | TL_CCCR_EDGE | threshold << TL_CCCR_THRESHOLD_LSB |
                      (complements ? TL_CCCR_COMPLEMENT : 0));
            for (uint32_t i = 0; i < N; i++) {
                const uint32_t x = (i * i + i / 7) % 5;
                const bool is = complements ? x <= threshold : x > threshold;
                const tl_netburst_occurrence uops = occurrence(&detectors[3], TL_ESCR_T1_USR, (uint16_t)x);
                count(&r, 1 + i % 3, TL_ESCR_T1_USR, &uops, 1);
                runs += is && !was;
                was = is;
            }
            assert_int_equal(counter(&r, 12), runs);
            rig_done(&r);
        }
}

// A9: the sources of section 3.1, once more. Both ways to stop, and twice the range.
static void test_each_cascade_runs_behind_its_source(void **state) {
    (void)state;
    static const struct {
        uint8_t counter, source;
        bool is_extended;
    } routes[] = {
        {0, 2, false},   {1, 3, false},   {2, 0, false},   {3, 1, false},   {4, 6, false},   {5, 7, false},
        {6, 4, false},   {7, 5, false},   {8, 10, false},  {9, 11, false},  {10, 8, false},  {11, 9, false},
        {12, 14, false}, {13, 15, false}, {14, 12, false}, {15, 13, false}, {16, 14, false}, {17, 15, false},
        {12, 16, true},  {15, 17, true},  {16, 17, true},  {17, 16, true},
    };
    for (uint32_t k = 0; k < TL_COUNT_OF(routes); k++)
        for (uint32_t by_source = 0; by_source < 2; by_source++) {
            const uint32_t i = routes[k].counter, source = routes[k].source;
            const detector *d = detector_of(i);
            const tl_netburst_occurrence one = occurrence(d, TL_ESCR_T0_USR, 1);
            const uint64_t cascade = routes[k].is_extended ? TL_CCCR_EXTENDED_CASCADE : TL_CCCR_CASCADE;
            rig r;
            open_rig(&r);
            detect(&r, d, ALL_OWNERS);
            wrmsr(&r, TL_MSR_COUNTER + source, (uint64_t)-5);
            wrmsr(&r, TL_MSR_COUNTER + i, (uint64_t)-3);
            wrmsr(&r, TL_MSR_CCCR + i, cccr_of(d) | cascade);
            wrmsr(&r, TL_MSR_CCCR + source, cccr_of(d) | TL_CCCR_ENABLE);
            count(&r, 5, TL_ESCR_T0_USR, &one, 1);
            assert_int_equal(counter(&r, i), (uint64_t)-3 & TL_NETBURST_VALUE);
            count(&r, 3, TL_ESCR_T0_USR, &one, 1); // 5 + 3 events until both have overflowed
            assert_int_equal(counter(&r, i), 0);
            count(&r, 2, TL_ESCR_T0_USR, &one, 1);
            if (by_source)
                wrmsr(&r, TL_MSR_CCCR + source, cccr_of(d) | TL_CCCR_ENABLE);
            else
                wrmsr(&r, TL_MSR_CCCR + i, cccr_of(d));
            count(&r, 4, TL_ESCR_T0_USR, &one, 1);
            if (counter(&r, i) != 2)
                fail_msg("counter %u behind %u has %llu", i, source, (unsigned long long)counter(&r, i));
            rig_done(&r);
        }
}

// A11: a counter works if its detector selects an event. tests/contract/test_netburst_clocks.c has
// the detectors.
static void test_power_gates_can_be_left_open(void **state) {
    (void)state;
    for (uint32_t gates = 0; gates < 2; gates++) {
        rig r = {.settings = tl_netburst_default_settings};
        tl_error err;
        r.settings.power_gate = gates;
        assert_int_equal(tl_netburst_new(&r.settings, 2, NULL, &r.arena, &r.n, &err), TL_OK);
        // Every clock is a clock of at most 15, also of a detector without an event.
        wrmsr(&r, TL_MSR_CCCR + 12,
              cccr_of(&detectors[3]) | TL_CCCR_ENABLE | TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB);
        count(&r, 10, 0, NULL, 0);
        assert_int_equal(counter(&r, 12), gates ? 0 : 10);
        wrmsr(&r, detectors[3].msr, (uint64_t)detectors[3].code << TL_ESCR_EVENT_LSB);
        count(&r, 10, 0, NULL, 0);
        assert_int_equal(counter(&r, 12), gates ? 10 : 20);
        rig_done(&r);
    }
}

// Correction C6 of the specification: what the columns of BSQ_allocation say of a request.
static bool is_asked_for(uint32_t mask, uint32_t request) {
    if ((mask & 3) != (request & 3) || (mask >> 2 & 3) != (request >> 2 & 3) || (mask >> 11 & 7) != (request >> 11 & 7))
        return false; // type, length, memory type
    if ((mask >> 9 & 1) != (request >> 9 & 1))
        return false; // demand or prefetch
    static const uint8_t wanted[] = {5, 6, 7, 8, 10};
    for (uint32_t i = 0; i < TL_COUNT_OF(wanted); i++)
        if ((mask >> wanted[i] & 1) && !(request >> wanted[i] & 1))
            return false;
    return true;
}

static void test_bus_sequence_requests_match_field_by_field(void **unused) {
    (void)unused;
    enum { BITS = 14, UNUSED_BIT = 1 << 4 };
    uint64_t seed = 5;
    rig r;
    rig_init(&r);
    rig_begin(&r, 2);
    for (uint32_t round = 0; round < 500; round++) {
        const uint32_t mask = (uint32_t)draw(&seed, 1 << BITS) & ~(uint32_t)UNUSED_BIT;
        wrmsr(&r, 0x3a0, UINT64_C(5) << TL_ESCR_EVENT_LSB | (uint64_t)mask << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
        wrmsr(&r, TL_MSR_CCCR + 0, 0x0003f000);
        // Requests: the mask itself, and each that differs from it in one bit.
        for (uint32_t bit = 0; bit <= BITS; bit++) {
            const uint32_t request = (bit < BITS ? mask ^ 1u << bit : mask) & ~(uint32_t)UNUSED_BIT;
            const tl_netburst_occurrence what = {TL_NB_BSQ_ALLOCATION, TL_ESCR_T0_USR, 1, (uint16_t)request};
            wrmsr(&r, TL_MSR_COUNTER + 0, 0);
            count(&r, 1, TL_ESCR_T0_USR, &what, 1);
            assert_int_equal(counter(&r, 0), is_asked_for(mask, request));
        }
    }
    rig_done(&r);
}

// Section 7.1, rows 12 and 15: entries count if the other ESCR has the allocation of the same
// requests. Those of the bus queue ignore the privilege (section 13).
static void test_entries_count_beside_the_allocation_of_the_same_requests(void **state) {
    (void)state;
    enum { BUS_READS = 1 | 1 << 5 | 1 << 11 | 1 << 13, LINES = 2 | 3 << 2 | 6 << 11, ENTRIES = 3 };
    static const struct {
        uint32_t escr0, event0, mask0, event1, mask1, cccr;
        tl_netburst_event event;
        bool ignores_privilege;
    } rows[] = {
        {0x3a2, 0x03, BUS_READS, 0x1a, BUS_READS, 0x0003d000, TL_NB_IOQ_ACTIVE_ENTRIES, true},
        {0x3a0, 0x05, LINES, 0x06, LINES, 0x0003f000, TL_NB_BSQ_ACTIVE_ENTRIES, false},
    };
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++)
        for (uint32_t form = 0; form < 6; form++) {
            // Another mask or event of the allocation, privilege, thread, and too many entries.
            const uint64_t mask0 = rows[k].mask0 ^ (form == 1 ? 1 << 11 : 0), event0 = form == 2 ? 0x13 : rows[k].event0;
            const uint8_t owner = form == 3 ? TL_ESCR_T0_OS : form == 4 ? TL_ESCR_T1_USR : TL_ESCR_T0_USR;
            const tl_netburst_occurrence entries = {(uint8_t)rows[k].event, owner, form == 5 ? 20 : ENTRIES, (uint16_t)rows[k].mask1};
            const uint32_t per_clock = form == 0 ? ENTRIES : form == 3 && rows[k].ignores_privilege ? ENTRIES : form == 5 ? 15 : 0;
            rig r;
            open_rig(&r);
            wrmsr(&r, rows[k].escr0, event0 << TL_ESCR_EVENT_LSB | mask0 << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
            wrmsr(&r, rows[k].escr0 + 1,
                  (uint64_t)rows[k].event1 << TL_ESCR_EVENT_LSB | (uint64_t)rows[k].mask1 << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
            wrmsr(&r, TL_MSR_CCCR + 2, rows[k].cccr);
            count(&r, 4, owner, &entries, 1);
            if (counter(&r, 2) != 4 * per_clock)
                fail_msg("row %u, form %u: %llu", k, form, (unsigned long long)counter(&r, 2));
            rig_done(&r);
        }
}

// Sections 3.3 and 3.4: without HT bits of thread 1 are ignored, and each mode but any counts
// nothing.
static void test_a_core_of_one_thread_ignores_bits_of_another(void **state) {
    (void)state;
    const detector *d = &detectors[3];
    const tl_netburst_occurrence uops = occurrence(d, TL_ESCR_T0_USR, 2);
    for (uint32_t flags = 0; flags < 16; flags++)
        for (uint32_t mode = 0; mode < 4; mode++) {
            rig r;
            rig_init(&r);
            rig_begin(&r, 1);
            detect(&r, d, flags);
            assert_int_equal(rdmsr(&r, d->msr) & 15, flags);
            wrmsr(&r, TL_MSR_CCCR + 12, (cccr_of(d) & ~(uint64_t)ANY) | mode << TL_CCCR_THREAD_LSB | TL_CCCR_ENABLE);
            count(&r, 5, TL_ESCR_T0_USR, &uops, 1);
            count(&r, 5, 0, NULL, 0);
            assert_int_equal(counter(&r, 12), mode == 3 && (flags & TL_ESCR_T0_USR) ? 10 : 0);
            rig_done(&r);
        }
}

// A18.
static void test_uop_type_never_counts(void **state) {
    (void)state;
    static const detector uop_type = {TL_NB_UOP_TYPE, 12, 0x3bc, 2, 0x02, 6};
    rig r;
    open_rig(&r);
    detect(&r, &uop_type, ALL_OWNERS);
    wrmsr(&r, TL_MSR_CCCR + 12, cccr_of(&uop_type) | TL_CCCR_ENABLE);
    const tl_netburst_occurrence load = occurrence(&uop_type, TL_ESCR_T0_USR, 3);
    count(&r, 100, TL_ESCR_T0_USR, &load, 1);
    assert_int_equal(counter(&r, 12), 0);
    rig_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_choice_of_threads_and_privileges),
    cmocka_unit_test(test_modes_of_active_threads_part_all_clocks),
    cmocka_unit_test(test_edges_are_runs_of_the_filter),
    cmocka_unit_test(test_each_cascade_runs_behind_its_source),
    cmocka_unit_test(test_power_gates_can_be_left_open),
    cmocka_unit_test(test_bus_sequence_requests_match_field_by_field),
    cmocka_unit_test(test_entries_count_beside_the_allocation_of_the_same_requests),
    cmocka_unit_test(test_a_core_of_one_thread_ignores_bits_of_another),
    cmocka_unit_test(test_uop_type_never_counts),
};
TL_TEST_MAIN(tests)
