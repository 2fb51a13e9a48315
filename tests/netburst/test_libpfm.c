// SPDX-License-Identifier: MIT
// libpfm4 encodes every event and mask of its two tables of the Pentium 4, and our PMU counts what
// the registers say: the truth, or what is listed here.
#include <ctype.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <string.h>

#include "feed.h"

enum { ALL_OWNERS = 15, CCCR_ENABLED = TL_CCCR_ENABLE | 3 << TL_CCCR_THREAD_LSB };

static bool is_named(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
        a++, b++;
    return !*a && !*b;
}

static tl_netburst_event event_of(const char *name) {
    if (is_named(name, "uops_type")) // uop_type
        return TL_NB_UOP_TYPE;
    for (tl_netburst_event e = 1; e < TL_NB_N_EVENTS; e++)
        if (is_named(tl_netburst_event_rows[e].name, name))
            return e;
    fail_msg("libpfm4 has an event %s", name);
    return TL_NB_NO_EVENT;
}

typedef struct encoded {
    uint64_t escr, cccr;
} encoded;

static encoded encode(const char *text) {
    pfm_pmu_encode_arg_t arg;
    encoded result;
    memset(&arg, 0, sizeof arg);
    arg.size = sizeof arg;
    const int status = pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg);
    if (status != PFM_SUCCESS || arg.count != 2)
        fail_msg("%s: %s", text, pfm_strerror(status));
    result = (encoded){arg.codes[0], arg.codes[1]};
    free(arg.codes);
    return result;
}

// Counts by the first counter whose CCCR reaches a detector of the event. UINT64_MAX: there is
// none.
static uint64_t count(uint32_t model, tl_netburst_event e, encoded what) {
    feed f;
    uint64_t value = UINT64_MAX;
    feed_begin(&f, 2, model, true);
    const tl_netburst_event_row *row = &tl_netburst_event_rows[e];
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS && value == UINT64_MAX; i++) {
        const tl_escr escr = tl_netburst_route(f.n, i, what.cccr >> TL_CCCR_SELECT_LSB & 7);
        if ((escr != row->pair && escr != row->pair + 1) || !(row->escrs >> (escr - row->pair) & 1))
            continue;
        assert_int_equal(tl_netburst_wrmsr(f.n, 0, tl_netburst_escr_msr(escr), what.escr), TL_OK);
        assert_int_equal(tl_netburst_wrmsr(f.n, 0, TL_MSR_CCCR + i, what.cccr), TL_OK);
        feed_all(&f, TL_NB_NO_EVENT);
        assert_int_equal(tl_netburst_rdmsr(f.n, 0, TL_MSR_COUNTER + i, &value), TL_OK);
    }
    feed_end(&f);
    return value;
}

// Differences from "its mask is the bit that it is called, and counts the truth".
static const struct {
    const char *event, *mask;
    int mask_bit; // the bit that it sets; -1: none
    bool is_lost; // no counter reaches the detector by its CCCR
    const char *why;
} known[] = {
    {"b2b_cycles", "BIT5", 4, true, "Two masks repeat a third one."},
    {"b2b_cycles", "BIT6", 4, true, "Two masks repeat a third one."},
    {"b2b_cycles", NULL, 0, true, "ESCR select 3 is printed in the manual, and reaches the ITLB."},
    {"bnr", NULL, 0, true, "ESCR select 3 is printed in the manual, and reaches the ITLB."},
    {"snoop", NULL, 0, true, "ESCR select 3 is printed in the manual, and reaches the ITLB."},
    {"response", NULL, 0, true, "ESCR select 3 is printed in the manual, and reaches the ITLB."},
    {"replay_event", "L1_LD_MISS", -1, false, "A metric, for PEBS registers that the library does not write."},
    {"replay_event", "L2_LD_MISS", -1, false, "A metric."},
    {"replay_event", "DTLB_LD_MISS", -1, false, "A metric."},
    {"replay_event", "DTLB_ST_MISS", -1, false, "A metric."},
    {"replay_event", "DTLB_ALL_MISS", -1, false, "A metric."},
    {"replay_event", "BR_MSP", -1, false, "A metric."},
    {"replay_event", "MOB_LD_REPLAY", -1, false, "A metric."},
    {"replay_event", "SP_LD_RET", -1, false, "A metric."},
    {"replay_event", "SP_ST_RET", -1, false, "A metric."},
    {NULL, "TAG0", -1, false, "A tag, which counts with mask ALL beside it."},
    {NULL, "TAG1", -1, false, "A tag."},
    {NULL, "TAG2", -1, false, "A tag."},
    {NULL, "TAG3", -1, false, "A tag."},
    {"mispred_branch_retired", "BOGUS", 0, false, "The mask is NBOGUS."},
};

static const char *name_of_bit(tl_netburst_event e, uint32_t bit) {
    const tl_netburst_mask *mask = tl_netburst_mask_of(e, bit);
    return mask ? mask->name : "";
}

// Returns the bit of the mask that its name means; -1: none.
static int bit_of(const char *event, tl_netburst_event e, const char *mask, bool *ret_is_lost) {
    int bit = -2;
    *ret_is_lost = false;
    for (uint32_t bit_number = 0; bit_number < 16; bit_number++)
        if (is_named(name_of_bit(e, bit_number), mask))
            bit = (int)bit_number;
    if (feed_is_ioq(e) && is_named(mask, "TYPE_BIT0"))
        bit = 0;
    for (uint32_t i = TL_COUNT_OF(known); i-- > 0;)
        if ((!known[i].event || is_named(known[i].event, event)) && (!known[i].mask || is_named(known[i].mask, mask))) {
            bit = known[i].mask ? known[i].mask_bit : bit;
            *ret_is_lost = known[i].is_lost;
        }
    if (bit == -2)
        fail_msg("libpfm4 has a mask %s:%s", event, mask);
    return bit;
}

// Returns the number of masks.
static uint32_t check_event(const char *pmu, uint32_t model, int index) {
    uint32_t n_masks = 0;
    pfm_event_info_t info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    assert_int_equal(pfm_get_event_info(index, PFM_OS_NONE, &info), PFM_SUCCESS);
    const tl_netburst_event e = event_of(info.name);
    for (int a = 0; a < info.nattrs; a++) {
        char text[256];
        bool is_lost;
        pfm_event_attr_info_t attr;
        memset(&attr, 0, sizeof attr);
        attr.size = sizeof attr;
        assert_int_equal(pfm_get_event_attr_info(index, a, PFM_OS_NONE, &attr), PFM_SUCCESS);
        if (attr.type != PFM_ATTR_UMASK)
            continue;
        snprintf(text, sizeof text, "%s::%s:%s", pmu, info.name, attr.name);
        const encoded what = encode(text);
        const int bit = bit_of(info.name, e, attr.name, &is_lost);
        const uint16_t mask = bit < 0 ? 0 : (uint16_t)(1u << bit);
        if ((what.escr >> TL_ESCR_EVENT_LSB) != tl_netburst_event_rows[e].code || (uint16_t)(what.escr >> TL_ESCR_MASK_LSB) != mask ||
            (what.escr & 15) != ALL_OWNERS || (what.cccr & ~(uint64_t)(7 << TL_CCCR_SELECT_LSB)) != CCCR_ENABLED)
            fail_msg("%s: ESCR 0x%llx, CCCR 0x%llx", text, (unsigned long long)what.escr, (unsigned long long)what.cccr);
        // Entries count nothing without their allocation.
        const bool is_alone = e == TL_NB_IOQ_ACTIVE_ENTRIES || e == TL_NB_BSQ_ACTIVE_ENTRIES;
        feed both = {.n_threads = 2};
        const uint64_t seen = count(model, e, what), truth = is_lost ? UINT64_MAX : is_alone ? 0 : feed_truth(&both, e, mask, ALL_OWNERS);
        if (seen != truth)
            fail_msg("%s: %llu, but %llu happened", text, (unsigned long long)seen, (unsigned long long)truth);
        n_masks += 1;
    }
    return n_masks;
}

static void check_tables(pfm_pmu_t pmu, uint32_t model, uint32_t n_events, uint32_t n_masks) {
    pfm_pmu_info_t info;
    uint32_t seen_events = 0, seen_masks = 0;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    assert_int_equal(pfm_get_pmu_info(pmu, &info), PFM_SUCCESS);
    for (int i = info.first_event; i != -1; i = pfm_get_event_next(i)) {
        seen_masks += check_event(info.name, model, i);
        seen_events += 1;
    }
    assert_int_equal(seen_events, n_events);
    assert_int_equal(seen_masks, n_masks);
}

static void test_every_event_of_the_library_counts_the_truth_or_is_listed(void **state) {
    (void)state;
    check_tables(PFM_PMU_INTEL_NETBURST, 2, 45, 206);
    check_tables(PFM_PMU_INTEL_NETBURST_P, 3, 46, 208);
}

// Modifiers of the library: u, k, thr, e, cmpl.
static void test_modifiers_become_our_options(void **state) {
    (void)state;
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"netburst::uops_retired:NBOGUS:u", "uops_retired:NBOGUS:u"},
        {"netburst::uops_retired:NBOGUS:k", "uops_retired:NBOGUS:k"},
        {"netburst::uops_retired:NBOGUS:BOGUS:thr=2", "uops_retired:NBOGUS+BOGUS:thr=2"},
        {"netburst::uops_retired:NBOGUS:thr=2:cmpl=1", "uops_retired:NBOGUS:thr=2:inv"},
        {"netburst::machine_clear:CLEAR:thr=1:e=1", "machine_clear:CLEAR:thr=1:edge"},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_netburst_request request;
        tl_netburst_plan plan;
        tl_error err;
        if (tl_netburst_parse(rows[i].ours, 2, &request, &err) != TL_OK ||
            tl_netburst_allocate(&tl_netburst_default_settings, ALL_OWNERS, &request, 1, &plan, &err) != TL_OK)
            fail_msg("%s", err.text);
        const encoded theirs = encode(rows[i].theirs);
        uint32_t n_found = 0;
        for (uint32_t k = 0; k < plan.n_writes; k++)
            n_found += plan.writes[k].value == theirs.escr || plan.writes[k].value == theirs.cccr;
        if (n_found != 2)
            fail_msg("%s: ESCR 0x%llx, CCCR 0x%llx are not ours", rows[i].theirs, (unsigned long long)theirs.escr,
                     (unsigned long long)theirs.cccr);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_event_of_the_library_counts_the_truth_or_is_listed),
    cmocka_unit_test(test_modifiers_become_our_options),
};

int main(void) {
    if (setenv("LIBPFM_ENCODE_INACTIVE", "1", 1) != 0 || pfm_initialize() != PFM_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
