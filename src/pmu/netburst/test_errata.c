// SPDX-License-Identifier: MIT
// Each erratum on its own: what its key changes, beside the same program without it. The key of
// branches needs a core, and stands in tests/contract/test_netburst.c.
#include "pmu/netburst/state.h"
#include "pmu/netburst/test_rig.h"

enum { UOPS_T0 = 0x0200020c, CCCR_UOPS = 0x00039000, MSR_CRU_ESCR0 = 0x3b8, MSR_FSB_ESCR0 = 0x3a2, MSR_BSU_ESCR0 = 0x3a0 };
static const tl_netburst_occurrence three_uops = {TL_NB_UOPS_RETIRED, TL_ESCR_T0_USR, 3, 1};

// ---- Which there are.

// The column "automatic" of section 13 of the specification.
static void test_models_have_the_errata_of_the_table(void **unused) {
    (void)unused;
    for (uint32_t model = 0; model <= 6; model++)
        for (uint32_t stepping = 0; stepping <= 15; stepping++)
            for (uint32_t is_none = 0; is_none < 2; is_none++) {
                // CPUID signatures below F27H.
                const bool is_early = model < 2 || (model == 2 && stepping < 7);
                const bool want[TL_N_ERRATA] = {
                    [TL_ERRATUM_IOQ_OLD_LOGIC] = model < 2,
                    [TL_ERRATUM_IOQ_IGNORES_CPL] = is_early,
                    [TL_ERRATUM_IOQ_ESCR0_ONLY] = is_early,
                    [TL_ERRATUM_BSQ_ACTIVE_ALTERNATE] = model == 3 || model == 4,
                    [TL_ERRATUM_CASCADE_NO_PMI] = model == 2 || (model < 2 && stepping > 9),
                };
                rig r;
                rig_init(&r);
                r.settings.model = model;
                r.settings.stepping = stepping;
                r.settings.errata_are_none = is_none;
                rig_begin(&r, 2);
                for (uint32_t e = 0; e < TL_N_ERRATA; e++)
                    assert_int_equal(r.n->errata[e], want[e] && !is_none);
                rig_done(&r);
            }
}

// ---- What they do.

static void begin_erratum(rig *r, tl_netburst_erratum erratum, bool is_on) {
    rig_init(r);
    r->settings.errata[erratum] = is_on ? TL_NETBURST_ON : TL_NETBURST_OFF;
    rig_begin(r, 2);
}

static void test_cascaded_counter_of_model_2_raises_no_interrupt(void **unused) {
    (void)unused;
    for (uint32_t is_mended = 0; is_mended < 2; is_mended++) {
        rig r;
        rig_init(&r);
        r.settings.errata_are_none = is_mended;
        rig_begin(&r, 2);
        tl_netburst_set_lvt(r.n, 0, 0);
        wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
        wrmsr(&r, TL_MSR_CCCR + 14, TL_CCCR_OVF);
        wrmsr(&r, TL_MSR_COUNTER + 12, (uint64_t)-1);
        wrmsr(&r, TL_MSR_CCCR + 12, (CCCR_UOPS & ~(uint64_t)TL_CCCR_ENABLE) | TL_CCCR_CASCADE | TL_CCCR_OVF_PMI_T0);
        count(&r, 4, TL_ESCR_T0_USR, &three_uops, 1);
        assert_int_equal(counter(&r, 12), 11);
        assert_int_equal(rdmsr(&r, TL_MSR_CCCR + 12) >> 31, 1);
        assert_int_equal(r.n_interrupts[0], is_mended);
        rig_done(&r);
    }
}

static void test_erratum_of_the_cache_reference_counts_up_to_twice_and_half(void **unused) {
    (void)unused;
    static const tl_netburst_occurrence hit = {TL_NB_BSQ_CACHE_REFERENCE, TL_ESCR_T0_USR, 1, 1 << 1},
                                        miss = {TL_NB_BSQ_CACHE_REFERENCE, TL_ESCR_T0_USR, 1, 1 << 8};
    static const uint64_t want[2][2] = {{100, 100}, {200, 50}}; // of 100 hits, and of 100 misses
    for (uint32_t is_on = 0; is_on < 2; is_on++)
        for (uint32_t in_bulk = 0; in_bulk < 2; in_bulk++) {
            rig r;
            begin_erratum(&r, TL_ERRATUM_BSQ_REF_FACTOR2, is_on);
            wrmsr(&r, 0x3a0, 0x0c << 25 | 1 << 10 | 4);
            wrmsr(&r, 0x3a1, 0x0c << 25 | 1 << 17 | 4);
            wrmsr(&r, TL_MSR_CCCR + 0, 0x0003f000);
            wrmsr(&r, TL_MSR_CCCR + 2, 0x0003f000);
            for (uint32_t i = 0; i < (in_bulk ? 1 : 100); i++)
                count(&r, in_bulk ? 100 : 1, TL_ESCR_T0_USR, &hit, 1);
            for (uint32_t i = 0; i < (in_bulk ? 1 : 100); i++)
                count(&r, in_bulk ? 100 : 1, TL_ESCR_T0_USR, &miss, 1);
            assert_int_equal(counter(&r, 0), want[is_on][0]);
            assert_int_equal(counter(&r, 2), want[is_on][1]);
            rig_done(&r);
        }
}

// Also beside a counter of an event without the erratum.
static void test_erratum_of_the_active_entries_updates_every_second_clock(void **unused) {
    (void)unused;
    enum { WRITES = 2 | 3 << 2 | 6 << 11 };
    const tl_netburst_occurrence entries = {TL_NB_BSQ_ACTIVE_ENTRIES, TL_ESCR_T0_USR, 3, WRITES};
    for (uint32_t form = 0; form < 4; form++) {
        const bool is_on = form / 2;
        rig r;
        begin_erratum(&r, TL_ERRATUM_BSQ_ACTIVE_ALTERNATE, is_on);
        wrmsr(&r, 0x3a0, 0x05 << 25 | WRITES << 9 | 4);
        wrmsr(&r, 0x3a1, 0x06 << 25 | (uint64_t)WRITES << 9 | 4);
        if (form % 2)
            wrmsr(&r, TL_MSR_CCCR + 0, 0x0003f000);
        wrmsr(&r, TL_MSR_CCCR + 2, 0x0003f000);
        // Three entries in clocks 0 and 1, none in 2, three in 3 and 4, none in 5 and later.
        count(&r, 2, TL_ESCR_T0_USR, &entries, 1);
        count(&r, 1, TL_ESCR_T0_USR, NULL, 0);
        count(&r, 2, TL_ESCR_T0_USR, &entries, 1);
        count(&r, 1000, TL_ESCR_T0_USR, NULL, 0);
        // Held: 0 and 1 as 0, 2 and 3 as 2, 4 and 5 as 4.
        assert_int_equal(counter(&r, 2), 3 * 4);
        count(&r, 1, TL_ESCR_T0_USR, NULL, 0); // to an even clock
        count(&r, 1, TL_ESCR_T0_USR, &entries, 1);
        count(&r, 1000, TL_ESCR_T0_USR, NULL, 0);
        assert_int_equal(counter(&r, 2), 3 * 4 + (is_on ? 6 : 3));
        rig_done(&r);
    }
}

static void test_erratum_of_writes_adds_what_counts_in_the_clock(void **unused) {
    (void)unused;
    for (uint32_t is_on = 0; is_on < 2; is_on++) {
        rig r;
        begin_erratum(&r, TL_ERRATUM_CTR_WRITE_CARRY, is_on);
        wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
        wrmsr(&r, TL_MSR_COUNTER + 12, 7);
        assert_int_equal(counter(&r, 12), 7);
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
        count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
        assert_int_equal(counter(&r, 12), 10);
        wrmsr(&r, TL_MSR_COUNTER + 12, TL_NETBURST_VALUE);
        assert_int_equal(counter(&r, 12), is_on ? 2 : TL_NETBURST_VALUE);
        wrmsr(&r, TL_MSR_CCCR + 12, 0);
        wrmsr(&r, TL_MSR_COUNTER + 12, 100);
        assert_int_equal(counter(&r, 12), 100);
        // After a reset nothing has counted in the clock.
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
        count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
        tl_netburst_reset(r.n);
        wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
        wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
        wrmsr(&r, TL_MSR_COUNTER + 12, 100);
        assert_int_equal(counter(&r, 12), 100);
        rig_done(&r);
    }
}

static void test_erratum_of_forced_overflow_interrupts_before_anything_counts(void **unused) {
    (void)unused;
    static const struct {
        uint64_t value;
        uint32_t cccr;
        bool is_near;
    } rows[] = {{0, TL_CCCR_FORCE_OVF, true}, {TL_NETBURST_VALUE - 7, 0, true}, {TL_NETBURST_VALUE - 8, 0, false}, {0, 0, false}};
    for (uint32_t is_on = 0; is_on < 2; is_on++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
            rig r;
            begin_erratum(&r, TL_ERRATUM_FORCE_OVF_LIVELOCK, is_on);
            wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
            wrmsr(&r, TL_MSR_COUNTER + 12, TL_NETBURST_VALUE - 1);
            tl_netburst_set_lvt(r.n, 0, 0);
            wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0);
            count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
            assert_int_equal(r.n_interrupts[0], 1);
            // The handler: a new preset, OVF cleared, unmasked.
            wrmsr(&r, TL_MSR_COUNTER + 12, rows[i].value);
            wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0 | rows[i].cccr);
            tl_netburst_set_lvt(r.n, 0, 0);
            assert_int_equal(r.n_interrupts[0], is_on && rows[i].is_near ? 2 : 1);
            tl_netburst_set_lvt(r.n, 0, 0);
            assert_int_equal(r.n_interrupts[0], is_on && rows[i].is_near ? 3 : 1);
            rig_done(&r);
        }
}

static void test_bus_queue_requests_match_by_the_logic_of_the_model(void **unused) {
    (void)unused;
    // A demand read of write-back memory, a prefetch of it, an uncached write of another agent.
    static const tl_netburst_occurrence requests[] = {
        {TL_NB_IOQ_ALLOCATION, TL_ESCR_T0_USR, 1, 2 | 1 << 5 | 1 << 11 | 1 << 13},
        {TL_NB_IOQ_ALLOCATION, TL_ESCR_T0_USR, 1, 2 | 1 << 5 | 1 << 11 | 1 << 13 | 1 << 15},
        {TL_NB_IOQ_ALLOCATION, TL_ESCR_T0_USR, 1, 3 | 1 << 6 | 1 << 7 | 1 << 14},
    };
    static const struct {
        uint16_t mask;
        uint32_t late, early; // counts of models 2 and 0
    } rows[] = {
        {1 | 1 << 5 | 1 << 11 | 1 << 13, 1, 1}, {1 | 1 << 5 | 1 << 11 | 1 << 13 | 1 << 15, 2, 2},
        {1 | 1 << 6 | 1 << 7 | 1 << 13, 0, 1},  {1 | 1 << 6 | 1 << 7 | 1 << 14, 1, 1},
        {3 | 1 << 5 | 1 << 11 | 3 << 13, 0, 2}, {2 | 1 << 5 | 1 << 11 | 3 << 13 | 1 << 15, 2, 2},
        {2 | 1 << 11 | 1 << 13, 0, 1},          {1 | 3 << 5 | 0x1f << 7 | 3 << 13 | 1 << 15, 3, 3},
        {1 | 3 << 5 | 0x1f << 7, 0, 0},
    };
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++)
        for (uint32_t is_late = 0; is_late < 2; is_late++) {
            rig r;
            rig_init(&r);
            r.settings.model = is_late ? 2 : 0;
            rig_begin(&r, 2);
            wrmsr(&r, 0x3a2, (uint64_t)3 << 25 | (uint64_t)rows[k].mask << 9 | 0xc);
            wrmsr(&r, TL_MSR_CCCR + 0, 0x0003d000);
            count(&r, 1, TL_ESCR_T0_USR, requests, 3);
            assert_int_equal(counter(&r, 0), is_late ? rows[k].late : rows[k].early);
            rig_done(&r);
        }
}

// A write of the CCCR stops the counter in the clock in which bit 31 has carried.
static void test_erratum_of_stops_loses_the_carry(void **unused) {
    (void)unused;
    static const struct {
        uint64_t before, after, lost;
    } rows[] = {
        {UINT32_MAX - 1, UINT64_C(0x100000001), 1},                            // it carries in this clock
        {UINT64_C(0x2fffffffd), UINT64_C(0x300000000), 0x200000000},           // to 0
        {UINT32_MAX - 4, UINT32_MAX - 1, UINT32_MAX - 1},                      // not yet
        {UINT64_C(0x100000000), UINT64_C(0x100000003), UINT64_C(0x100000003)}, // in the clock before
    };
    for (uint32_t is_on = 0; is_on < 2; is_on++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
            rig r;
            begin_erratum(&r, TL_ERRATUM_CTR_STOP_LOST_CARRY, is_on);
            wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
            wrmsr(&r, TL_MSR_COUNTER + 12, rows[i].before);
            wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS);
            count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
            wrmsr(&r, TL_MSR_CCCR + 13, 0);         // another counter
            wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS); // goes on
            assert_int_equal(counter(&r, 12), rows[i].after);
            wrmsr(&r, TL_MSR_CCCR + 12, 0);
            assert_int_equal(counter(&r, 12), is_on ? rows[i].lost : rows[i].after);
            wrmsr(&r, TL_MSR_CCCR + 12, 0); // has stopped before
            assert_int_equal(counter(&r, 12), is_on ? rows[i].lost : rows[i].after);
            rig_done(&r);
        }
}

// The handler must look at the sign of the counter, which wraps and goes on.
static void test_erratum_of_flags_interrupts_without_one(void **unused) {
    (void)unused;
    for (uint32_t is_on = 0; is_on < 2; is_on++)
        for (uint32_t is_forced = 0; is_forced < 2; is_forced++) {
            rig r;
            begin_erratum(&r, TL_ERRATUM_UNFLAGGED_OVERFLOW, is_on);
            tl_netburst_set_lvt(r.n, 0, 0);
            wrmsr(&r, MSR_CRU_ESCR0, UOPS_T0);
            wrmsr(&r, TL_MSR_COUNTER + 12, is_forced ? 0 : TL_NETBURST_VALUE - 1);
            wrmsr(&r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_OVF_PMI_T0 | (is_forced ? TL_CCCR_FORCE_OVF : 0));
            count(&r, 1, TL_ESCR_T0_USR, &three_uops, 1);
            assert_int_equal(r.n_interrupts[0], 1);
            assert_int_equal(rdmsr(&r, TL_MSR_CCCR + 12) >> 31, !is_on);
            assert_int_equal(counter(&r, 12), is_forced ? 3 : 1);
            rig_done(&r);
        }
}

// A cascade runs counter 1 all the same.
static void test_erratum_of_counter_1_ignores_its_enable(void **unused) {
    (void)unused;
    const tl_netburst_occurrence running = {TL_NB_GLOBAL_POWER_EVENTS, TL_ESCR_T0_USR, 1, 1};
    for (uint32_t is_on = 0; is_on < 2; is_on++) {
        rig r;
        begin_erratum(&r, TL_ERRATUM_CCCR1_ENABLE_BROKEN, is_on);
        wrmsr(&r, MSR_FSB_ESCR0, 0x2600020c);
        for (uint32_t i = 0; i < 2; i++)
            wrmsr(&r, TL_MSR_CCCR + i, 0x0003d000);
        count(&r, 5, TL_ESCR_T0_USR, &running, 1);
        assert_int_equal(counter(&r, 0), 5);
        assert_int_equal(counter(&r, 1), is_on ? 0 : 5);
        wrmsr(&r, TL_MSR_CCCR + 3, TL_CCCR_OVF); // the source of counter 1
        wrmsr(&r, TL_MSR_CCCR + 1, 0x0003d000 | TL_CCCR_CASCADE);
        count(&r, 7, TL_ESCR_T0_USR, &running, 1);
        assert_int_equal(counter(&r, 1), is_on ? 7 : 12);
        rig_done(&r);
    }
}

// A demand read of write-back memory, or a write of another agent, by user mode.
enum { IOQ_READS = 1 | 1 << 5 | 1 << 11 | 1 << 13, IOQ_CODE = 3 << TL_ESCR_EVENT_LSB };
static const tl_netburst_occurrence bus_read = {TL_NB_IOQ_ALLOCATION, TL_ESCR_T0_USR, 1, 2 | 1 << 5 | 1 << 11 | 1 << 13};

static uint64_t count_bus(rig *r, uint32_t escr, uint64_t mask, uint64_t owners) {
    wrmsr(r, MSR_FSB_ESCR0 + escr, (uint64_t)IOQ_CODE | mask << TL_ESCR_MASK_LSB | owners);
    wrmsr(r, TL_MSR_CCCR + 2 * escr, 0x0003d000);
    count(r, 4, TL_ESCR_T0_USR, &bus_read, 1);
    return counter(r, 2 * escr);
}

static void test_errata_of_the_bus_queue_change_one_thing_each(void **unused) {
    (void)unused;
    static const struct {
        tl_netburst_erratum erratum;
        uint64_t other_memory, other_privilege, second_escr, right; // counts of four requests
    } rows[] = {
        {TL_ERRATUM_BSQ_REF_FACTOR2, 0, 0, 4, 4}, // of another unit
        {TL_ERRATUM_IOQ_OLD_LOGIC, 4, 0, 4, 4},
        {TL_ERRATUM_IOQ_IGNORES_CPL, 0, 4, 4, 4},
        {TL_ERRATUM_IOQ_ESCR0_ONLY, 0, 0, 0, 4},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (uint32_t k = 0; k < 4; k++) {
            const uint64_t want[] = {rows[i].other_memory, rows[i].other_privilege, rows[i].second_escr, rows[i].right};
            const uint64_t mask = k == 0 ? IOQ_READS ^ 1 << 11 ^ 1 << 7 : IOQ_READS; // uncached
            rig r;
            begin_erratum(&r, rows[i].erratum, true);
            assert_int_equal(count_bus(&r, k == 2, mask, k == 1 ? TL_ESCR_T0_OS : TL_ESCR_T0_USR), want[k]);
            rig_done(&r);
        }
}

// Requests of BSQ_allocation that are split, of uncached or of write-combined memory.
static void test_erratum_of_the_bus_sequence_queue_misses_requests(void **unused) {
    (void)unused;
    enum { SPLIT = 1 << 8, WRITE_BACK = 6 << 11, WRITE_COMBINED = 1 << 11, UNCACHED = 0 };
    static const struct {
        uint16_t mask;
        bool is_missed;
    } rows[] = {
        {WRITE_BACK | 1 << 5, false}, {WRITE_BACK | 1 << 5 | SPLIT, true}, {WRITE_COMBINED | 1 << 5, true}, {UNCACHED | 1 << 5, true}};
    for (uint32_t is_on = 0; is_on < 2; is_on++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
            const tl_netburst_occurrence request = {TL_NB_BSQ_ALLOCATION, TL_ESCR_T0_USR, 1, rows[i].mask};
            rig r;
            begin_erratum(&r, TL_ERRATUM_BSQ_ALLOC_UNDERCOUNT, is_on);
            wrmsr(&r, MSR_BSU_ESCR0, UINT64_C(5) << TL_ESCR_EVENT_LSB | (uint64_t)rows[i].mask << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
            wrmsr(&r, TL_MSR_CCCR + 0, 0x0003f000);
            count(&r, 3, TL_ESCR_T0_USR, &request, 1);
            assert_int_equal(counter(&r, 0), is_on && rows[i].is_missed ? 0 : 3);
            rig_done(&r);
        }
}

// ---- And nothing else: A21. Each number is of one program, which the erratum beside it changes.

static uint64_t of_bus_memory(rig *r) { return count_bus(r, 0, IOQ_READS ^ 1 << 11 ^ 1 << 7, TL_ESCR_T0_USR); }
static uint64_t of_bus_privilege(rig *r) { return count_bus(r, 0, IOQ_READS, TL_ESCR_T0_OS); }
static uint64_t of_second_bus_escr(rig *r) { return count_bus(r, 1, IOQ_READS, TL_ESCR_T0_USR); }

static uint64_t of_cache_references(rig *r) {
    const tl_netburst_occurrence hit = {TL_NB_BSQ_CACHE_REFERENCE, TL_ESCR_T0_USR, 1, 1 << 1};
    wrmsr(r, MSR_BSU_ESCR0, 0x0c << 25 | 1 << 10 | 4);
    wrmsr(r, TL_MSR_CCCR + 0, 0x0003f000);
    count(r, 7, TL_ESCR_T0_USR, &hit, 1);
    return counter(r, 0);
}

// An odd clock with one write of eight chunks.
enum { WRITE_OF_LINE = 2 | 3 << 2 | 6 << 11 };
static uint64_t of_active_entries(rig *r) {
    const tl_netburst_occurrence entry = {TL_NB_BSQ_ACTIVE_ENTRIES, TL_ESCR_T0_USR, 1, WRITE_OF_LINE};
    wrmsr(r, MSR_BSU_ESCR0, 0x05 << 25 | WRITE_OF_LINE << 9 | 4);
    wrmsr(r, MSR_BSU_ESCR0 + 1, 0x06 << 25 | (uint64_t)WRITE_OF_LINE << 9 | 4);
    wrmsr(r, TL_MSR_CCCR + 2, 0x0003f000);
    count(r, 1, TL_ESCR_T0_USR, NULL, 0);
    count(r, 1, TL_ESCR_T0_USR, &entry, 1);
    count(r, 2, TL_ESCR_T0_USR, NULL, 0);
    return counter(r, 2);
}

static uint64_t of_split_requests(rig *r) {
    const tl_netburst_occurrence request = {TL_NB_BSQ_ALLOCATION, TL_ESCR_T0_USR, 1, WRITE_OF_LINE | 1 << 8};
    wrmsr(r, MSR_BSU_ESCR0, UINT64_C(5) << TL_ESCR_EVENT_LSB | (uint64_t)request.mask << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
    wrmsr(r, TL_MSR_CCCR + 0, 0x0003f000);
    count(r, 3, TL_ESCR_T0_USR, &request, 1);
    return counter(r, 0);
}

// Interrupts of a cascaded counter.
static uint64_t of_cascade(rig *r) {
    tl_netburst_set_lvt(r->n, 0, 0);
    wrmsr(r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(r, TL_MSR_CCCR + 14, TL_CCCR_OVF);
    wrmsr(r, TL_MSR_COUNTER + 12, TL_NETBURST_VALUE);
    wrmsr(r, TL_MSR_CCCR + 12, (CCCR_UOPS & ~(uint64_t)TL_CCCR_ENABLE) | TL_CCCR_CASCADE | TL_CCCR_OVF_PMI_T0);
    count(r, 4, TL_ESCR_T0_USR, &three_uops, 1);
    return r->n_interrupts[0];
}

static uint64_t of_counter_1(rig *r) {
    const tl_netburst_occurrence running = {TL_NB_GLOBAL_POWER_EVENTS, TL_ESCR_T0_USR, 1, 1};
    wrmsr(r, MSR_FSB_ESCR0, 0x2600020c);
    wrmsr(r, TL_MSR_CCCR + 1, 0x0003d000);
    count(r, 5, TL_ESCR_T0_USR, &running, 1);
    return counter(r, 1);
}

static void count_uops(rig *r, uint64_t from, uint64_t cccr) {
    wrmsr(r, MSR_CRU_ESCR0, UOPS_T0);
    wrmsr(r, TL_MSR_COUNTER + 12, from);
    wrmsr(r, TL_MSR_CCCR + 12, CCCR_UOPS | cccr);
    count(r, 1, TL_ESCR_T0_USR, &three_uops, 1);
}

static uint64_t of_write(rig *r) {
    count_uops(r, 0, 0);
    wrmsr(r, TL_MSR_COUNTER + 12, 100);
    return counter(r, 12);
}

static uint64_t of_stop(rig *r) {
    count_uops(r, UINT32_MAX - 1, 0);
    wrmsr(r, TL_MSR_CCCR + 12, 0);
    return counter(r, 12);
}

static uint64_t of_flag(rig *r) {
    count_uops(r, TL_NETBURST_VALUE - 1, 0);
    return rdmsr(r, TL_MSR_CCCR + 12) >> 31;
}

// Interrupts until the handler is done.
static uint64_t of_forced_overflow(rig *r) {
    tl_netburst_set_lvt(r->n, 0, 0);
    count_uops(r, 0, TL_CCCR_FORCE_OVF | TL_CCCR_OVF_PMI_T0);
    wrmsr(r, TL_MSR_CCCR + 12, CCCR_UOPS | TL_CCCR_FORCE_OVF | TL_CCCR_OVF_PMI_T0);
    tl_netburst_set_lvt(r->n, 0, 0);
    return r->n_interrupts[0];
}

static void test_each_erratum_changes_what_it_names_and_nothing_else(void **unused) {
    (void)unused;
    static const struct {
        uint64_t (*measure)(rig *r);
        uint64_t without, with;
    } programs[TL_N_ERRATA] = {
        [TL_ERRATUM_IOQ_OLD_LOGIC] = {of_bus_memory, 0, 4},
        [TL_ERRATUM_IOQ_IGNORES_CPL] = {of_bus_privilege, 0, 4},
        [TL_ERRATUM_IOQ_ESCR0_ONLY] = {of_second_bus_escr, 4, 0},
        [TL_ERRATUM_BSQ_REF_FACTOR2] = {of_cache_references, 7, 14},
        [TL_ERRATUM_BSQ_ACTIVE_ALTERNATE] = {of_active_entries, 1, 0},
        [TL_ERRATUM_CASCADE_NO_PMI] = {of_cascade, 1, 0},
        [TL_ERRATUM_CCCR1_ENABLE_BROKEN] = {of_counter_1, 5, 0},
        [TL_ERRATUM_CTR_WRITE_CARRY] = {of_write, 100, 103},
        [TL_ERRATUM_CTR_STOP_LOST_CARRY] = {of_stop, UINT64_C(0x100000001), 1},
        [TL_ERRATUM_UNFLAGGED_OVERFLOW] = {of_flag, 1, 0},
        [TL_ERRATUM_FORCE_OVF_LIVELOCK] = {of_forced_overflow, 1, 2},
        [TL_ERRATUM_BSQ_ALLOC_UNDERCOUNT] = {of_split_requests, 3, 0},
    };
    for (uint32_t e = 0; e < TL_N_ERRATA; e++)
        for (uint32_t k = 0; k < TL_N_ERRATA; k++) {
            rig r;
            if (!programs[k].measure) // that of branch types needs a core
                continue;
            rig_init(&r);
            for (uint32_t i = 0; i < TL_N_ERRATA; i++)
                r.settings.errata[i] = i == e ? TL_NETBURST_ON : TL_NETBURST_OFF;
            rig_begin(&r, 2);
            const uint64_t has = programs[k].measure(&r), want = e == k ? programs[k].with : programs[k].without;
            if (has != want)
                fail_msg("erratum %u, program %u: %llu, not %llu", e, k, (unsigned long long)has, (unsigned long long)want);
            rig_done(&r);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_models_have_the_errata_of_the_table),
    cmocka_unit_test(test_cascaded_counter_of_model_2_raises_no_interrupt),
    cmocka_unit_test(test_erratum_of_the_cache_reference_counts_up_to_twice_and_half),
    cmocka_unit_test(test_erratum_of_the_active_entries_updates_every_second_clock),
    cmocka_unit_test(test_erratum_of_writes_adds_what_counts_in_the_clock),
    cmocka_unit_test(test_erratum_of_forced_overflow_interrupts_before_anything_counts),
    cmocka_unit_test(test_bus_queue_requests_match_by_the_logic_of_the_model),
    cmocka_unit_test(test_erratum_of_stops_loses_the_carry),
    cmocka_unit_test(test_erratum_of_flags_interrupts_without_one),
    cmocka_unit_test(test_erratum_of_counter_1_ignores_its_enable),
    cmocka_unit_test(test_errata_of_the_bus_queue_change_one_thing_each),
    cmocka_unit_test(test_erratum_of_the_bus_sequence_queue_misses_requests),
    cmocka_unit_test(test_each_erratum_changes_what_it_names_and_nothing_else),
};
TL_TEST_MAIN(tests)
