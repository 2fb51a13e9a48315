// SPDX-License-Identifier: MIT
// Linux's driver for the Pentium 4 drives our MSRs: each generic, cache and raw event counts the
// truth, or deviates exactly as docs/netburst.md says. linux.sh compiles the driver.
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "feed.h"

static const p4_driver *linux_driver;
static feed f;
static int cpu;

enum { CRU_ESCR2 = 0x3cc, MOB_ESCR0 = 0x3aa };

static int read_msr(void *ctx, uint32_t msr, uint64_t *ret_value) {
    return tl_netburst_rdmsr(((feed *)ctx)->n, (uint32_t)cpu, msr, ret_value) == TL_OK ? 0 : -EIO;
}
static int write_msr(void *ctx, uint32_t msr, uint64_t value) {
    return tl_netburst_wrmsr(((feed *)ctx)->n, (uint32_t)cpu, msr, value) == TL_OK ? 0 : -EIO;
}
static void unmask(void *ctx) { tl_netburst_set_lvt(((feed *)ctx)->n, (uint32_t)cpu, TL_LVT_NMI); }

// Processors 0 and 1 are the threads of a core with HT; place 2 is a core without.
enum { N_PLACES = 3 };
static void begin_with(int place, uint32_t model, bool gates) {
    const int n_threads = place == 2 ? 1 : 2;
    cpu = place == 1;
    feed_begin(&f, (uint32_t)n_threads, model, gates);
    const p4_host host = {
        .ctx = &f, .read_msr = read_msr, .write_msr = write_msr, .unmask = unmask, .cpu = cpu, .n_siblings = n_threads, .model = model};
    assert_int_equal(linux_driver->start(&host), 0);
}
static void begin(int place, uint32_t model) { begin_with(place, model, true); }
static void end(void) { feed_end(&f); }

static uint64_t rdmsr(uint32_t msr) {
    uint64_t value = 0;
    assert_int_equal(read_msr(&f, msr, &value), 0);
    return value;
}

static uint32_t flags_of(bool excludes_kernel, bool excludes_user) {
    const uint32_t flags = (excludes_kernel ? 0u : 2u) | (excludes_user ? 0u : 1u);
    return cpu == 0 ? flags << 2 : flags;
}

// Linux numbers the events as rows of the manual stand, without x87_SIMD_moves_uop.
static uint64_t raw(tl_netburst_event e, uint32_t mask, uint32_t metric) {
    const uint64_t number = (uint64_t)e - 1 - (e > TL_NB_X87_SIMD_MOVES_UOP);
    return (number << 25 | (uint64_t)mask << 9) << 32 | metric;
}

// The driver begins a period with the length of the one before it in this counter. The second time
// is right.
static void enable(uint32_t n_events) {
    assert_int_equal(linux_driver->enable(n_events), 0);
    linux_driver->disable();
    assert_int_equal(linux_driver->enable(n_events), 0);
}

// Counts one event over all occurrences.
static uint64_t counted(uint32_t n_events) {
    enable(n_events);
    feed_all(&f, TL_NB_NO_EVENT);
    linux_driver->disable();
    return linux_driver->read(0);
}

// ---- Raw events, one mask bit at a time.

typedef enum outcome { TRUTH, REFUSED, NOTHING } outcome;

// With HT, p4_validate_raw_event checks masks of events that threads share against those of the
// first event, because the permission check overwrites the number of the event.
static bool is_checked_as_first(tl_netburst_event e) {
    return f.n_threads == 2 && tl_netburst_event_rows[e].is_ti && (e < TL_NB_B2B_CYCLES || e > TL_NB_RESPONSE);
}

static outcome outcome_of(tl_netburst_event e, uint32_t bit) {
    static const struct {
        uint8_t event;
        uint16_t refused;
    } unknown[] = {
        {TL_NB_TC_DELIVER_MODE, 1 << 7},
        {TL_NB_MEMORY_COMPLETE, 1 << 2 | 1 << 3},
        {TL_NB_BSQ_CACHE_REFERENCE, 1 << 6 | 1 << 7 | 1 << 11},
        {TL_NB_IOQ_ALLOCATION, 0x1e},
        {TL_NB_IOQ_ACTIVE_ENTRIES, 0x1e},
        {TL_NB_RETIRED_MISPRED_BRANCH_TYPE, 1 << 0},
        {TL_NB_RETIRED_BRANCH_TYPE, 1 << 0},
        {TL_NB_WC_BUFFER, 1 << 2},
        {TL_NB_B2B_CYCLES, 0xffff},
        {TL_NB_BNR, 0xffff},
        {TL_NB_SNOOP, 0xffff},
        {TL_NB_RESPONSE, 0xffff},
        {TL_NB_MACHINE_CLEAR, 1 << 6},
        {TL_NB_INSTR_COMPLETED, 0xffff}, // of other models
    };
    if (is_checked_as_first(e))
        return bit < 7 ? TRUTH : REFUSED;
    for (uint32_t i = 0; i < TL_COUNT_OF(unknown); i++)
        if (unknown[i].event == e && (unknown[i].refused >> bit & 1))
            return REFUSED;
    // The driver writes the first ESCR and takes counters of the second one.
    if (e == TL_NB_RETIRED_MISPRED_BRANCH_TYPE && cpu == 1)
        return NOTHING;
    // The allocation is not in the other ESCR.
    return e == TL_NB_IOQ_ACTIVE_ENTRIES || e == TL_NB_BSQ_ACTIVE_ENTRIES ? NOTHING : TRUTH;
}

static void check_raw(int place, tl_netburst_event e, uint32_t bit, bool excludes_kernel, bool excludes_user) {
    begin(place, 2);
    const int status = linux_driver->open(0, PERF_TYPE_RAW, raw(e, 1u << bit, 0) | 3 << 16, excludes_kernel, excludes_user, 0);
    const outcome wanted = outcome_of(e, bit);
    const char *name = tl_netburst_event_rows[e].name;
    if ((status == -EINVAL) != (wanted == REFUSED) || (status != 0 && status != -EINVAL))
        fail_msg("%s bit %u on processor %d: status %d", name, bit, place, status);
    if (status == 0) {
        const uint64_t truth = wanted == NOTHING ? 0 : feed_truth(&f, e, (uint16_t)(1u << bit), flags_of(excludes_kernel, excludes_user)),
                       seen = counted(1);
        if (seen != truth)
            fail_msg("%s bit %u on processor %d: %llu, but %llu happened", name, bit, place, (unsigned long long)seen,
                     (unsigned long long)truth);
    }
    end();
}

static void test_each_mask_of_each_raw_event_counts_the_truth_or_deviates_as_known(void **state) {
    (void)state;
    for (int place = 0; place < N_PLACES; place++)
        for (tl_netburst_event e = 1; e < TL_NB_N_EVENTS; e++)
            for (uint32_t bit = 0; bit < 16; bit++) {
                if (e == TL_NB_X87_SIMD_MOVES_UOP || !(tl_netburst_known_mask(e) >> bit & 1))
                    continue; // the driver does not know the first
                check_raw(place, e, bit, false, false);
                check_raw(place, e, bit, true, false);
                check_raw(place, e, bit, false, true);
            }
}

static void test_requests_of_the_bus_are_chosen_by_all_their_attributes(void **state) {
    (void)state;
    static const struct {
        tl_netburst_event e;
        uint16_t mask;
    } rows[] = {
        {TL_NB_IOQ_ALLOCATION, 1 | 1 << 5 | 1 << 11 | 1 << 13},
        {TL_NB_IOQ_ALLOCATION, 1 | 1 << 5 | 1 << 11 | 1 << 13 | 1 << 15},
        {TL_NB_IOQ_ALLOCATION, 1 | 3 << 5 | 31 << 7 | 3 << 13},
        {TL_NB_BSQ_ALLOCATION, 3 << 2 | 1 << 7 | 1 << 9 | 6 << 11},
        {TL_NB_BSQ_ALLOCATION, 3 << 2 | 6 << 11},
    };
    for (int place = 0; place < N_PLACES; place++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
            begin(place, 2);
            assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(rows[i].e, rows[i].mask, 0) | 3 << 16, false, false, 0), 0);
            const uint64_t truth = feed_truth(&f, rows[i].e, rows[i].mask, flags_of(false, false));
            assert_true(truth > 0);
            assert_int_equal(counted(1), truth);
            end();
        }
}

// Entries count once a second event puts the allocation of the same requests into the other ESCR.
static void test_entries_count_beside_their_allocation(void **state) {
    (void)state;
    static const struct {
        tl_netburst_event entries, allocation;
        uint16_t mask;
    } rows[] = {{TL_NB_IOQ_ACTIVE_ENTRIES, TL_NB_IOQ_ALLOCATION, 1 | 1 << 5 | 1 << 11 | 1 << 13},
                {TL_NB_BSQ_ACTIVE_ENTRIES, TL_NB_BSQ_ALLOCATION, 3 << 2 | 1 << 7 | 1 << 9 | 6 << 11}};
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        begin(0, 2);
        assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(rows[i].entries, rows[i].mask, 0) | 3 << 16, false, false, 0), 0);
        assert_int_equal(linux_driver->open(1, PERF_TYPE_RAW, raw(rows[i].allocation, rows[i].mask, 0) | 3 << 16, false, false, 0), 0);
        assert_int_equal(counted(2), feed_truth(&f, rows[i].entries, rows[i].mask, flags_of(false, false)));
        assert_int_equal(linux_driver->read(1), feed_truth(&f, rows[i].allocation, rows[i].mask, flags_of(false, false)));
        end();
    }
}

static void test_undocumented_events_are_accepted_empty_and_count_nothing(void **state) {
    (void)state;
    static const tl_netburst_event events[] = {TL_NB_B2B_CYCLES, TL_NB_BNR, TL_NB_SNOOP, TL_NB_RESPONSE};
    for (uint32_t i = 0; i < TL_COUNT_OF(events); i++) {
        begin(0, 2);
        assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(events[i], 0, 0) | 3 << 16, false, false, 0), 0);
        assert_int_equal(counted(1), 0);
        end();
    }
}

static void test_machine_clear_has_its_masks_elsewhere(void **state) {
    (void)state;
    begin(0, 2);
    assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(TL_NB_MACHINE_CLEAR, 1 << 1, 0) | 3 << 16, false, false, 0), 0);
    assert_int_equal(counted(1), 0); // MOCLEAR, as the driver has it
    end();
    begin(0, 2);
    assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(TL_NB_MACHINE_CLEAR, 1 << 2, 0) | 3 << 16, false, false, 0), 0);
    // SMCLEAR, as the driver has it, is MOCLEAR.
    assert_int_equal(counted(1), feed_truth(&f, TL_NB_MACHINE_CLEAR, 1 << 2, 12));
    end();
}

static void test_late_models_complete_instructions(void **state) {
    (void)state;
    for (uint32_t model = 3; model <= 6; model++) {
        begin(0, model);
        const int status = linux_driver->open(0, PERF_TYPE_RAW, raw(TL_NB_INSTR_COMPLETED, 1, 0) | 3 << 16, false, false, 0);
        assert_int_equal(status, model == 5 ? -EINVAL : 0);
        if (status == 0)
            assert_int_equal(counted(1), feed_truth(&f, TL_NB_INSTR_COMPLETED, 1, 12));
        end();
    }
}

// ---- Generic events.

static void test_generic_events(void **state) {
    (void)state;
    static const struct {
        uint64_t config;
        tl_netburst_event e;
        uint16_t mask;
    } rows[] = {
        {PERF_COUNT_HW_CPU_CYCLES, TL_NB_GLOBAL_POWER_EVENTS, 1},
        {PERF_COUNT_HW_INSTRUCTIONS, TL_NB_INSTR_RETIRED, 1 | 1 << 2}, // BOGUSNTAG, too
        {PERF_COUNT_HW_CACHE_REFERENCES, TL_NB_BSQ_CACHE_REFERENCE, 0x3f},
        {PERF_COUNT_HW_CACHE_MISSES, TL_NB_BSQ_CACHE_REFERENCE, 0x700},
        {PERF_COUNT_HW_BRANCH_INSTRUCTIONS, TL_NB_RETIRED_BRANCH_TYPE, 0x1e},
        {PERF_COUNT_HW_BRANCH_MISSES, TL_NB_MISPRED_BRANCH_RETIRED, 1},
        {PERF_COUNT_HW_BUS_CYCLES, TL_NB_FSB_DATA_ACTIVITY, 3}, // edges: each clock stands alone
        // The driver has none, and takes the first of its events without a mask.
        {PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, TL_NB_TC_DELIVER_MODE, 0},
        {PERF_COUNT_HW_STALLED_CYCLES_BACKEND, TL_NB_TC_DELIVER_MODE, 0},
        {PERF_COUNT_HW_REF_CPU_CYCLES, TL_NB_TC_DELIVER_MODE, 0},
    };
    assert_int_equal(TL_COUNT_OF(rows), PERF_COUNT_HW_MAX);
    for (int place = 0; place < N_PLACES; place++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
            for (uint32_t excludes = 0; excludes < 3; excludes++) {
                begin(place, 2);
                assert_int_equal(linux_driver->open(0, PERF_TYPE_HARDWARE, rows[i].config, excludes & 1, excludes & 2, 0), 0);
                const uint64_t truth = feed_truth(&f, rows[i].e, rows[i].mask, flags_of(excludes & 1, excludes & 2)), seen = counted(1);
                if (seen != truth)
                    fail_msg("generic event %u on processor %d: %llu, but %llu happened", i, place, (unsigned long long)seen,
                             (unsigned long long)truth);
                end();
            }
}

// The second event of cycles takes another detector, to count all clocks of the core. Its CCCR
// loses the number of that detector, and selects one without an event: it has no power.
static void test_cycles_twice_count_clocks_of_the_core_without_power_gates(void **state) {
    (void)state;
    for (uint32_t gates = 0; gates < 2; gates++) {
        begin_with(0, 2, gates);
        assert_int_equal(linux_driver->open(0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, 0), 0);
        assert_int_equal(linux_driver->open(1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, 0), 0);
        enable(2);
        const uint64_t n_clocks = feed_all(&f, TL_NB_NO_EVENT);
        linux_driver->disable();
        assert_int_equal(linux_driver->read(0), feed_truth(&f, TL_NB_GLOBAL_POWER_EVENTS, 1, 12));
        assert_int_equal(linux_driver->read(1), gates ? 0 : n_clocks);
        assert_int_equal(rdmsr(TL_MSR_CCCR + (uint32_t)linux_driver->counter(1)) >> TL_CCCR_SELECT_LSB & 7, 0);
        end();
    }
}

// ---- Cache events.

#define CACHE(cache, op, result) \
    (PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static void test_cache_events(void **state) {
    (void)state;
    static const struct {
        uint64_t config;
        tl_netburst_event e;
        uint16_t mask;
        uint64_t pebs_enable, matrix_vert;
    } rows[] = {
        {CACHE(L1D, READ, MISS), TL_NB_REPLAY_EVENT, 1, 0x01000001, 1},  {CACHE(LL, READ, MISS), TL_NB_REPLAY_EVENT, 1, 0x01000002, 1},
        {CACHE(DTLB, READ, MISS), TL_NB_REPLAY_EVENT, 1, 0x01000004, 1}, {CACHE(DTLB, WRITE, MISS), TL_NB_REPLAY_EVENT, 1, 0x01000004, 2},
        {CACHE(ITLB, READ, ACCESS), TL_NB_ITLB_REFERENCE, 1, 0, 0},      {CACHE(ITLB, READ, MISS), TL_NB_ITLB_REFERENCE, 2, 0, 0},
    };
    for (int place = 0; place < N_PLACES; place++)
        for (uint64_t config = 0; config < CACHE(NODE, PREFETCH, MISS) + 1; config++) {
            if ((config & 255) >= PERF_COUNT_HW_CACHE_MAX || (config >> 8 & 255) >= PERF_COUNT_HW_CACHE_OP_MAX)
                continue;
            uint32_t row = 0;
            while (row < TL_COUNT_OF(rows) && rows[row].config != config)
                row++;
            begin(place, 2);
            const int status = linux_driver->open(0, PERF_TYPE_HW_CACHE, config, false, false, 0);
            assert_int_equal(status == 0, row < TL_COUNT_OF(rows));
            if (status == 0) {
                assert_int_equal(counted(1), feed_truth(&f, rows[row].e, rows[row].mask, flags_of(false, false)));
                assert_int_equal(rdmsr(TL_MSR_PEBS_ENABLE), rows[row].pebs_enable);
                assert_int_equal(rdmsr(TL_MSR_PEBS_MATRIX_VERT), rows[row].matrix_vert);
            }
            end();
        }
}

// Both take a replay tag, and the tag is what the second one wants.
static void test_of_two_metrics_the_last_decides_what_is_tagged(void **state) {
    (void)state;
    begin(0, 2);
    assert_int_equal(linux_driver->open(0, PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), false, false, 0), 0);
    assert_int_equal(linux_driver->open(1, PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS), false, false, 0), 0);
    // One detector for both: they cannot count in one run, and perf takes turns.
    assert_int_equal(linux_driver->enable(2), -EINVAL);
    assert_int_equal(linux_driver->enable(1), 0);
    assert_int_equal(rdmsr(TL_MSR_PEBS_ENABLE), 0x01000001);
    linux_driver->disable();
    assert_int_equal(rdmsr(TL_MSR_PEBS_ENABLE), 0x01000001); // it stays
    assert_int_equal(linux_driver->open(0, PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS), false, false, 0), 0);
    assert_int_equal(linux_driver->enable(1), 0);
    assert_int_equal(rdmsr(TL_MSR_PEBS_ENABLE), 0x01000004);
    assert_int_equal(rdmsr(TL_MSR_PEBS_MATRIX_VERT), 2);
    end();
}

// Metrics 7 to 9 tag in the MOB and in SAAT, whose ESCRs the driver does not write.
static void test_metrics_of_other_detectors_need_a_second_event(void **state) {
    (void)state;
    static const struct {
        uint32_t metric;
        tl_netburst_event upstream;
        uint32_t mask, msr;
        uint64_t escr;
    } rows[] = {
        {7, TL_NB_MOB_LOAD_REPLAY, 3 << 4, 0x3aa, 0x0600600c},
        {8, TL_NB_LOAD_PORT_REPLAY, 1 << 1, 0x3ae, 0x0800040c}, // on thread 0 the first ESCR of SAAT
        {9, TL_NB_STORE_PORT_REPLAY, 1 << 1, 0x3ae, 0x0a00040c},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        begin(0, 2);
        assert_int_equal(linux_driver->open(0, PERF_TYPE_RAW, raw(TL_NB_REPLAY_EVENT, 1, rows[i].metric) | 3 << 16, false, false, 0), 0);
        assert_int_equal(linux_driver->enable(1), 0);
        assert_int_equal(rdmsr(rows[i].msr), 0);
        assert_int_equal(rdmsr(rows[i].msr + 1), 0);
        linux_driver->disable();
        assert_int_equal(linux_driver->open(1, PERF_TYPE_RAW, raw(rows[i].upstream, rows[i].mask, 0) | 3 << 16, false, false, 0), 0);
        assert_int_equal(linux_driver->enable(2), 0);
        assert_int_equal(rdmsr(rows[i].msr), rows[i].escr);
        assert_int_equal(rdmsr(CRU_ESCR2), 0x1200020c);
        end();
    }
}

// ---- Sampling.

// The interrupt comes with the count behind the overflow, so the handler sees one more event.
static void test_a_period_overflows_with_one_event_more(void **state) {
    (void)state;
    for (int place = 0; place < N_PLACES; place++) {
        begin(place, 2);
        assert_int_equal(linux_driver->open(0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false, 10), 0);
        unmask(&f);
        enable(1);
        const tl_netburst_occurrence miss = {TL_NB_MISPRED_BRANCH_RETIRED, (uint8_t)(cpu == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR), 1, 1};
        const tl_netburst_clock clock = {.n_clocks = 1, .active = (uint8_t)miss.owner, .n_occurrences = 1, .occurrences = &miss};
        uint32_t n_interrupts = 0;
        for (uint32_t i = 0; i < 95; i++) {
            tl_netburst_count(f.n, &clock);
            if (f.n_interrupts == n_interrupts)
                continue;
            n_interrupts = f.n_interrupts;
            assert_int_equal(linux_driver->interrupt(), 1);
        }
        assert_int_equal(n_interrupts, 95 / 11);
        assert_int_equal(linux_driver->n_overflows(0), 95 / 11);
        assert_int_equal(linux_driver->read(0), 95);
        end();
    }
}

// p4_pmu_set_period reads the length of the last period before the new one is known, and writes it.
static void test_the_first_period_of_a_counter_has_the_length_of_another(void **state) {
    (void)state;
    begin(0, 2);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint64_t periods[] = {10, 1000, 77},
                              first_values[] = {0, (uint64_t)-10 & TL_NETBURST_VALUE, (uint64_t)-1000 & TL_NETBURST_VALUE};
        assert_int_equal(linux_driver->open(0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false, periods[i]), 0);
        assert_int_equal(linux_driver->enable(1), 0);
        assert_int_equal(rdmsr(TL_MSR_COUNTER + (uint32_t)linux_driver->counter(0)), first_values[i]);
        linux_driver->disable();
    }
    end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_mask_of_each_raw_event_counts_the_truth_or_deviates_as_known),
    cmocka_unit_test(test_requests_of_the_bus_are_chosen_by_all_their_attributes),
    cmocka_unit_test(test_entries_count_beside_their_allocation),
    cmocka_unit_test(test_undocumented_events_are_accepted_empty_and_count_nothing),
    cmocka_unit_test(test_machine_clear_has_its_masks_elsewhere),
    cmocka_unit_test(test_late_models_complete_instructions),
    cmocka_unit_test(test_generic_events),
    cmocka_unit_test(test_cycles_twice_count_clocks_of_the_core_without_power_gates),
    cmocka_unit_test(test_cache_events),
    cmocka_unit_test(test_of_two_metrics_the_last_decides_what_is_tagged),
    cmocka_unit_test(test_metrics_of_other_detectors_need_a_second_event),
    cmocka_unit_test(test_the_first_period_of_a_counter_has_the_length_of_another),
    cmocka_unit_test(test_a_period_overflows_with_one_event_more),
};

int main(int argc, char **argv) {
    void *object = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    linux_driver = object ? dlsym(object, "driver_of_linux") : NULL;
    if (!linux_driver) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "test_linux DRIVER.so: linux.sh makes the driver");
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
