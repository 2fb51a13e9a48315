// SPDX-License-Identifier: MIT
// Names of events and the register values that they become: the worked values of the manuals, the
// allocation of detectors and counters against the PMU's own routing, and texts of all kinds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/state.h"

static tl_netburst_request parsed(const char *text) {
    tl_netburst_request request;
    tl_error err = {0};
    if (tl_netburst_parse(text, 2, &request, &err) != TL_OK)
        fail_msg("%s", err.text);
    return request;
}

static void refused(const char *text, const char *sentence) {
    tl_netburst_request request;
    tl_error err = {0};
    if (tl_netburst_parse(text, 2, &request, &err) == TL_OK)
        fail_msg("'%s' is accepted", text);
    assert_string_equal(err.text, sentence);
}

// ---- Tables.

static void test_every_event_has_the_row_that_detects_it(void **state) {
    (void)state;
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++) {
        const tl_netburst_event_row *row = &tl_netburst_event_rows[e];
        assert_non_null(row->name);
        assert_int_not_equal(tl_netburst_known_mask((tl_netburst_event)e), 0);
    }
}

static void test_a_mask_says_its_sources_or_why_it_has_none(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++) {
        const tl_netburst_mask *mask = &tl_netburst_masks[i], *before = i == 0 ? NULL : mask - 1;
        if (before && (before->event > mask->event || (before->event == mask->event && before->bit >= mask->bit)))
            fail_msg("%s of event %u stands behind a later row", mask->name, mask->event);
        if (tl_netburst_mask_of((tl_netburst_event)mask->event, mask->bit) != mask)
            fail_msg("%s is not found", mask->name);
        if ((mask->sources == NULL) != (mask->fidelity == TL_NOT_MODELED) || (mask->note == NULL) != (mask->fidelity == TL_EXACT))
            fail_msg("%s of event %u: fidelity, sources and note disagree", mask->name, mask->event);
        assert_int_equal(mask->meaning[strlen(mask->meaning) - 1], '.');
    }
}

// Lists print the names that texts are read with, spelled as the manuals do.
static void test_events_are_listed_as_the_manuals_spell_them(void **state) {
    (void)state;
    const tl_pmu_preset *preset = tl_netburst_presets[0];
    assert_int_equal(preset->n_events, tl_netburst_n_masks);
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++) {
        const tl_netburst_mask *mask = &tl_netburst_masks[i];
        char name[64];
        snprintf(name, sizeof name, "%s:%s", tl_netburst_event_rows[mask->event].name, mask->name);
        assert_string_equal(preset->events[i].name, name);
    }
}

// Totals of the tables of section "Event catalogue" of docs/netburst.md, counted by hand.
static void test_the_tables_are_complete(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint16_t mask;
    } rows[] = {
        {"TC_deliver_mode", 0x00ff},
        {"BPU_fetch_request", 0x0001},
        {"ITLB_reference", 0x0007},
        {"memory_cancel", 0x000c},
        {"memory_complete", 0x000f},
        {"load_port_replay", 0x0002},
        {"store_port_replay", 0x0002},
        {"MOB_load_replay", 0x003a},
        {"page_walk_type", 0x0003},
        {"BSQ_cache_reference", 0x0fff},
        {"IOQ_allocation", 0xefff},
        {"IOQ_active_entries", 0xefff},
        {"FSB_data_activity", 0x003f},
        {"BSQ_allocation", 0x3fef},
        {"bsq_active_entries", 0x3fef},
        {"SSE_input_assist", 0x8000},
        {"packed_SP_uop", 0x8000},
        {"packed_DP_uop", 0x8000},
        {"scalar_SP_uop", 0x8000},
        {"scalar_DP_uop", 0x8000},
        {"64bit_MMX_uop", 0x8000},
        {"128bit_MMX_uop", 0x8000},
        {"x87_FP_uop", 0x8000},
        {"x87_SIMD_moves_uop", 0x0018},
        {"TC_misc", 0x0010},
        {"global_power_events", 0x0001},
        {"tc_ms_xfer", 0x0001},
        {"uop_queue_writes", 0x0007},
        {"retired_mispred_branch_type", 0x001f},
        {"retired_branch_type", 0x001f},
        {"resource_stall", 0x0020},
        {"WC_Buffer", 0x0007},
        {"b2b_cycles", 0x007e},
        {"bnr", 0x0007},
        {"snoop", 0x00c4},
        {"response", 0x0306},
        {"front_end_event", 0x0003},
        {"execution_event", 0x00ff},
        {"replay_event", 0x0003},
        {"instr_retired", 0x000f},
        {"uops_retired", 0x0003},
        {"uop_type", 0x0006},
        {"branch_retired", 0x000f},
        {"mispred_branch_retired", 0x0001},
        {"x87_assist", 0x001f},
        {"machine_clear", 0x0045},
        {"instr_completed", 0x0003},
    };
    assert_int_equal(TL_COUNT_OF(rows), TL_NB_N_EVENTS - 1);
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        assert_string_equal(tl_netburst_event_rows[i + 1].name, rows[i].name);
        assert_int_equal(tl_netburst_known_mask((tl_netburst_event)(i + 1)), rows[i].mask);
    }
}

// ---- Register values.

static tl_netburst_settings settings_of(bool is_cccr1_broken) {
    tl_netburst_settings settings = tl_netburst_default_settings;
    settings.errata[TL_ERRATUM_CCCR1_ENABLE_BROKEN] = is_cccr1_broken ? TL_NETBURST_ON : TL_NETBURST_AUTO;
    return settings;
}

static tl_status planned(const char *const *texts, uint32_t n, tl_netburst_plan *ret_plan, tl_error *err) {
    tl_netburst_request requests[TL_NETBURST_MAX_REQUESTS];
    const tl_netburst_settings settings = settings_of(false);
    for (uint32_t i = 0; i < n; i++)
        requests[i] = parsed(texts[i]);
    return tl_netburst_allocate(&settings, 15, requests, n, ret_plan, err);
}

static uint64_t written(const tl_netburst_plan *plan, uint32_t msr) {
    for (uint32_t i = 0; i < plan->n_writes; i++)
        if (plan->writes[i].msr == msr)
            return plan->writes[i].value;
    fail_msg("MSR 0x%x is not written", msr);
    return 0;
}

// Section "Worked values" of docs/netburst.md.
static void test_worked_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        tl_netburst_write writes[6];
    } rows[] = {
        {"replay_event:l1_load_miss:t0:u:precise", {{0x3cc, 0x12000204}, {0x3f2, 1}, {0x3f1, 0x03000001}, {0x370, 0x0403b000}}},
        {"1stL_cache_load_miss_retired:t0:u", {{0x3cc, 0x12000204}, {0x3f2, 1}, {0x3f1, 0x01000001}, {0x36c, 0x0003b000}}},
        {"branch_retired:MMNM+MMTM:t0", {{0x3cc, 0x0c00140c}, {0x36c, 0x0003b000}}},
        {"branch_retired:MMNP+MMNM+MMTP+MMTM:t0u:t1k", {{0x3cc, 0x0c001e06}}},
        {"uops_retired:NBOGUS:thr=1", {{0x3b8, 0x0200020f}, {0x36c, 0x00179000}}},
        {"uops_retired:NBOGUS:thr=15:inv", {{0x36c, 0x00ff9000}}},
        {"global_power_events:RUNNING:t0", {{0x3a2, 0x2600020c}, {0x360, 0x0003d000}}},
        {"packed_SP_retired:t0:u", {{0x3a4, 0x11000034}, {0x368, 0x00033000}, {0x3cc, 0x18000204}, {0x36c, 0x0003b000}}},
        {"memory_loads:t0:u", {{0x3bc, 0x04000404}, {0x3cc, 0x10000204}, {0x36c, 0x0003b000}}},
        {"instr_retired:nbogusntag+nbogustag:t0", {{0x3b8, 0x0400060c}, {0x36c, 0x00039000}}},
        {"machine_clear:CLEAR:t0:edge", {{0x3cc, 0x0400020c}, {0x36c, 0x0107b000}}},
        {"IOQ_allocation:DEFAULT+ALL_READ+MEM_WB+OWN+PREFETCH:t0:edge", {{0x3a2, 0x0750420c}, {0x360, 0x0107d000}}},
        {"DTLB_all_miss_retired:t1:k", {{0x3cc, 0x12000202}, {0x3f1, 0x01000004}, {0x3f2, 3}}},
        {"memory_stores:bogus", {{0x3bc, 0x0400080f}, {0x3cc, 0x1000040f}}},
        {"replay_event:l1_load_miss+bogus", {{0x3cc, 0x1200040f}}},
        {"split_load_retired:t0", {{0x3af, 0x0800040c}, {0x36a, 0x00035000}, {0x3f1, 0x01000400}, {0x3f2, 1}}},
        {"split_store_retired:t0", {{0x3ae, 0x0a00040c}, {0x368, 0x00035000}, {0x3f1, 0x01000400}, {0x3f2, 2}}},
        {"MOB_load_replay_retired:t0", {{0x3aa, 0x0600600c}, {0x360, 0x00035000}, {0x3f1, 0x01000200}, {0x3f2, 1}}},
        {"Tagged_mispred_branch:t0", {{0x3f1, 0x01018000}, {0x3f2, 0x10}}},
        {"IOQ_active_entries:DEFAULT+ALL_READ+MEM_WB+OWN:t0", {{0x3a2, 0x0650420c}, {0x3a3, 0x3450420c}, {0x362, 0x0003d000}}},
        {"bsq_active_entries:REQ_CACHE_TYPE+MEM_TYPE1:t0", {{0x3a0, 0x0a21000c}, {0x3a1, 0x0c21000c}, {0x362, 0x0003f000}}},
        {"raw:0x3cd:0x0c001e06:cccr=0x01140000", {{0x3cd, 0x0c001e06}, {0x36e, 0x0114b000}}},
        {"raw:0x3cd:0x0c001e06:cccr=0x03fd0000", {{0x36e, 0x03fdb000}}},
        {"raw:0x3a4:0x11000034", {{0x3a4, 0x11000034}, {0x368, 0x00033000}}},
        {"memory_loads:t1:u:precise", {{0x3cd, 0x10000201}, {0x371, 0x0803b000}, {0x3f1, 0x04000000}}},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_netburst_plan plan;
        tl_error err = {0};
        tl_netburst_request request;
        const tl_netburst_settings settings = settings_of(false);
        if (tl_netburst_parse(rows[i].text, 2, &request, &err) != TL_OK ||
            tl_netburst_allocate(&settings, 15, &request, 1, &plan, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t k = 0; k < TL_COUNT_OF(rows[i].writes) && rows[i].writes[k].msr != 0; k++)
            if (written(&plan, rows[i].writes[k].msr) != rows[i].writes[k].value)
                fail_msg("%s: MSR 0x%x is 0x%llx", rows[i].text, rows[i].writes[k].msr,
                         (unsigned long long)written(&plan, rows[i].writes[k].msr));
    }
}

// A reader that wants interrupts gets that of the thread whose counts it asks for.
static void test_a_request_for_interrupts_names_the_thread(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool interrupts;
        uint64_t cccr;
    } rows[] = {
        {"uops_retired:NBOGUS:t0", false, 0x00039000},
        {"uops_retired:NBOGUS:t0", true, 0x04039000},
        {"uops_retired:NBOGUS:t1", true, 0x08039000},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_netburst_request request = parsed(rows[i].text);
        const tl_netburst_settings settings = settings_of(false);
        tl_netburst_plan plan;
        tl_error err = {0};
        request.interrupts = rows[i].interrupts;
        assert_int_equal(tl_netburst_allocate(&settings, 15, &request, 1, &plan, &err), TL_OK);
        assert_int_equal(written(&plan, TL_MSR_CCCR + plan.places[0].counter), rows[i].cccr);
    }
}

// A filter belongs to the counter that counts, and to none of the detector that tags.
static void test_a_filter_is_written_for_the_counter_alone(void **state) {
    (void)state;
    static const char *const texts[] = {"memory_loads:t0:ctx=5"};
    tl_netburst_plan plan;
    tl_error err = {0};
    uint32_t n_filters = 0;
    if (planned(texts, 1, &plan, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(written(&plan, TL_MSR_NBX_FILTER + plan.places[0].counter), 5);
    for (uint32_t i = 0; i < plan.n_writes; i++)
        n_filters += plan.writes[i].value == 5;
    assert_int_equal(n_filters, 1);
}

// Two classes of floating-point uops have a detector of FIRM and a tag each.
static void test_two_execution_tags_differ(void **state) {
    (void)state;
    static const char *const texts[] = {"scalar_SP_retired:t0", "scalar_DP_retired:t0"};
    tl_netburst_plan plan;
    tl_error err = {0};
    if (planned(texts, 2, &plan, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(written(&plan, 0x3a4), 0x0aull << 25 | 1ull << 24 | 1 << 5 | 1 << 4 | 12);
    assert_int_equal(written(&plan, 0x3a5), 0x0eull << 25 | 1ull << 24 | 2 << 5 | 1 << 4 | 12);
    assert_int_equal(written(&plan, 0x3cc), 0x0cull << 25 | 1 << 9 | 12);
    assert_int_equal(written(&plan, 0x3cd), 0x0cull << 25 | 2 << 9 | 12);
}

static void test_a_text_that_means_nothing_is_refused_with_the_remedy(void **state) {
    (void)state;
    refused("", "'': pmu netburst has no event ''; tally list events -P netburst has all");
    refused("uops_retired:zebra",
            "'uops_retired:zebra': uops_retired has no mask 'zebra', and there is no such option; tally list events -P "
            "netburst has all");
    refused("uops_retired:NBOGUS:active=3..1", "'uops_retired:NBOGUS:active=3..1': active threads are none, single, both, any or, with "
                                               "extension NBX, LEAST..MOST, not '3..1'");
    refused("uops_retired:NBOGUS:active=1..255", "'uops_retired:NBOGUS:active=1..255': active threads are none, single, both, any or, with "
                                                 "extension NBX, LEAST..MOST, not '1..255'");
    refused("uops_retire:NBOGUS", "'uops_retire:NBOGUS': pmu netburst has no event 'uops_retire'; did you mean uops_retired?");
    refused("uops_retired:NBOGU",
            "'uops_retired:NBOGU': uops_retired has no mask 'NBOGU', and there is no such option; did you mean NBOGUS?");
    // Short names of metrics are offered for their own event.
    refused("replay_event:l1_lod_miss",
            "'replay_event:l1_lod_miss': replay_event has no mask 'l1_lod_miss', and there is no such option; did you mean l1_load_miss, "
            "l2_load_miss or dtlb_load_miss?");
    refused("front_end_event:l1_lod_miss", "'front_end_event:l1_lod_miss': front_end_event has no mask 'l1_lod_miss', and there is no such "
                                           "option; tally list events -P netburst has all");
    refused("uops_retired", "'uops_retired': name at least one mask of uops_retired, as in uops_retired:NBOGUS");
    refused(
        "uops_retired:NBOGUS:precise",
        "'uops_retired:NBOGUS:precise': precise samples come from front_end_event, execution_event and replay_event alone; option assist "
        "of extension NBX samples other events");
    refused("uops_retired:NBOGUS:ctx=1/0", "'uops_retired:NBOGUS:ctx=1/0': a mask of 0 compares no bit of a context; leave ctx out");
    refused("uops_retired:NBOGUS:t0:usr=1",
            "'uops_retired:NBOGUS:t0:usr=1': name threads by masks (usr=, os=) or by t0, t1, u and k, not by both");
    refused("uops_retired:NBOGUS:vary=33:assist",
            "'uops_retired:NBOGUS:vary=33:assist': 33 is larger than 0x20, the most that its field holds");
    refused("memory_loads:precise:edge", "'memory_loads:precise:edge': precise samples go with no threshold and no edge");
    refused("uops_retired:NBOGUS:thr=16", "'uops_retired:NBOGUS:thr=16': 16 is larger than 0xf, the most that its field holds");
    refused("uops_retired:NBOGUS:active=two",
            "'uops_retired:NBOGUS:active=two': active threads are none, single, both, any or, with extension NBX, LEAST..MOST, not 'two'");
    refused("replay_event:NBOGUS", "'replay_event:NBOGUS': nothing gives replay tags: name the cause, as in replay_event:l1_load_miss");
    refused("front_end_event:NBOGUS", "'front_end_event:NBOGUS': nothing gives front-end tags: use memory_loads or memory_stores");
    refused("execution_event:NBOGUS0", "'execution_event:NBOGUS0': nothing gives execution tags: use a metric, as scalar_DP_retired");
    refused("replay_event:l1_load_miss+split_load",
            "'replay_event:l1_load_miss+split_load': uops have one replay tag: name one cause, and count others in other runs");
    refused("instr_completed:NBOGUS", "'instr_completed:NBOGUS': models 3, 4 and 6 have this event, and netburst.model is 2");
    refused("raw:0x3b8", "'raw:0x3b8': write raw:MSR:VALUE, where the value of an ESCR has 32 bits");
    refused("raw", "'raw': write raw:MSR:VALUE, the number of an ESCR and its value, as raw:0x3b8:0x0400060c");
    refused("raw:0x3b8:0x7e00060c",
            "'raw:0x3b8:0x7e00060c': the ESCR at MSR 0x3b8 has no event 0x3f: see tally list events --pmu netburst");
    refused("raw:0x3a2:0x3400420c",
            "'raw:0x3a2:0x3400420c': the ESCR at MSR 0x3a2 has no event 0x1a: see tally list events --pmu netburst");
    refused("raw:0x3b8:0x0400060c:edge", "'raw:0x3b8:0x0400060c:edge': behind a raw value stands cccr=BITS alone, not 'edge'");
}

// ---- Allocation.

static void conflicts(const char *const *texts, uint32_t n, const char *sentence) {
    tl_netburst_plan plan;
    tl_error err = {0};
    if (planned(texts, n, &plan, &err) == TL_OK)
        fail_msg("%s and %s fit", texts[0], texts[1]);
    assert_string_equal(err.text, sentence);
}

static void test_events_that_need_one_thing_are_named_with_what_fits(void **state) {
    (void)state;
    conflicts(
        (const char *const[]){"memory_loads", "uops_retired:NBOGUS", "memory_stores"}, 3,
        "memory_loads and memory_stores need the one front-end tag of a uop for different causes; these fit together: memory_loads, uops_retired:NBOGUS");
    conflicts(
        (const char *const[]){"replay_event:l1_load_miss", "DTLB_load_miss_retired"}, 2,
        "replay_event:l1_load_miss and DTLB_load_miss_retired need the one replay tag of a uop for different causes; these fit together: replay_event:l1_load_miss");
    conflicts(
        (const char *const[]){"IOQ_active_entries:DEFAULT+OWN", "global_power_events:RUNNING", "uops_retired:BOGUS"}, 3,
        "IOQ_active_entries:DEFAULT+OWN and global_power_events:RUNNING need the same detector or counter of block BPU; these fit together: IOQ_active_entries:DEFAULT+OWN, uops_retired:BOGUS");
    conflicts(
        (const char *const[]){"memory_loads:t0:precise", "memory_loads:t0:precise"}, 2,
        "memory_loads:t0:precise and memory_loads:t0:precise need the same detector or counter of block IQ; these fit together: memory_loads:t0:precise");
    conflicts(
        (const char *const[]){"retired_branch_type:CONDITIONAL", "retired_branch_type:CALL", "retired_branch_type:RETURN"}, 3,
        "retired_branch_type:CALL and retired_branch_type:RETURN need detectors and counters of block MS, and all of them are taken; these fit together: retired_branch_type:CONDITIONAL, retired_branch_type:CALL");
    conflicts((const char *const[]){"memory_loads:precise"}, 1,
              "memory_loads:precise: precise samples belong to one thread: add :t0 or :t1");
    tl_netburst_plan plan;
    tl_error err = {0};
    const tl_netburst_settings settings = settings_of(false);
    const tl_netburst_request request = parsed("uops_retired:BOGUS");
    assert_int_equal(tl_netburst_allocate(&settings, 0, &request, 1, &plan, &err), TL_EINVAL);
    assert_string_equal(err.text, "uops_retired:BOGUS: no thread is chosen, so it would count nothing");
}

// The PMU itself routes, powers and counts what plans of random events write.
static void check_plan(tl_netburst *n, const tl_netburst_request *requests, uint32_t n_requests, const tl_netburst_plan *plan) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->n_writes; i++)
        assert_int_equal(tl_netburst_wrmsr(n, 0, plan->writes[i].msr, plan->writes[i].value), TL_OK);
    for (uint32_t i = 0; i < n_requests; i++) {
        const tl_netburst_place *place = &plan->places[i];
        const tl_netburst_event_row *row = &tl_netburst_event_rows[requests[i].event];
        const uint64_t cccr = written(plan, TL_MSR_CCCR + place->counter), escr = written(plan, tl_netburst_escr_msr((tl_escr)place->escr));
        if (used >> place->counter & 1)
            fail_msg("%s: counter %u is taken", requests[i].name, place->counter);
        used |= UINT32_C(1) << place->counter;
        assert_int_equal(tl_netburst_route(n, place->counter, cccr >> TL_CCCR_SELECT_LSB & 7), place->escr);
        assert_int_equal(escr >> TL_ESCR_EVENT_LSB, row->code);
        assert_true(place->escr == row->pair || place->escr == row->pair + 1);
        assert_true(row->escrs >> (place->escr - row->pair) & 1);
        assert_int_equal((place->upstream != TL_N_ESCRS), requests[i].upstream != TL_NB_NO_EVENT ||
                                                              requests[i].event == TL_NB_IOQ_ACTIVE_ENTRIES ||
                                                              requests[i].event == TL_NB_BSQ_ACTIVE_ENTRIES);
        if (place->upstream != TL_N_ESCRS)
            assert_true(tl_netburst_has_power(n, (tl_escr)place->upstream));
    }
}

static tl_netburst *new_pmu(tl_arena *arena) {
    tl_netburst *n;
    tl_error err;
    assert_int_equal(tl_netburst_new(&tl_netburst_default_settings, 2, NULL, arena, &n, &err), TL_OK);
    return n;
}

static void random_request(uint64_t *seed, tl_netburst_request *ret_request) {
    char text[128];
    tl_error err = {0};
    do {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint32_t draw = (uint32_t)(*seed >> 33);
        if (draw % 4 == 0) {
            snprintf(text, sizeof text, "%s%s", tl_netburst_metrics[draw / 4 % tl_netburst_n_metrics].name, draw >> 20 & 1 ? ":t0" : "");
        } else {
            const tl_netburst_mask *mask = &tl_netburst_masks[draw / 4 % tl_netburst_n_masks];
            snprintf(text, sizeof text, "%s:%s%s", tl_netburst_event_rows[mask->event].name, mask->name, draw >> 20 & 1 ? ":t1:u" : "");
        }
    } while (tl_netburst_parse(text, 2, ret_request, &err) != TL_OK);
}

static void test_a_plan_connects_each_counter_to_its_detector(void **state) {
    (void)state;
    uint64_t seed = 1;
    uint32_t n_plans = 0, n_conflicts = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        tl_arena arena = {0};
        tl_netburst *n = new_pmu(&arena);
        tl_netburst_request requests[TL_NETBURST_MAX_REQUESTS];
        tl_netburst_plan plan;
        tl_error err = {0};
        const uint32_t n_requests = 1 + round % 9;
        const tl_netburst_settings settings = settings_of(round & 1);
        for (uint32_t i = 0; i < n_requests; i++)
            random_request(&seed, &requests[i]);
        if (tl_netburst_allocate(&settings, 15, requests, n_requests, &plan, &err) == TL_OK) {
            check_plan(n, requests, n_requests, &plan);
            for (uint32_t i = 0; (round & 1) && i < plan.n_writes; i++)
                assert_int_not_equal(plan.writes[i].msr, TL_MSR_CCCR + 1);
            n_plans += 1;
        } else {
            assert_non_null(strstr(err.text, "these fit together: "));
            assert_true(n_requests > 1);
            n_conflicts += 1;
        }
        tl_arena_done(&arena);
    }
    assert_true(n_plans > 500 && n_conflicts > 500);
}

// Threads 1 and 5: another detector than that of thread 1 alone. Banks follow thread 1.
static void test_options_of_the_extension_are_registers(void **state) {
    static const char *const texts[] = {"uops_retired:NBOGUS:usr=0x22:os=2:ctx=0x77/0xff", "uops_retired:NBOGUS:usr=2:os=2:banks",
                                        "branch_retired:MMNM:t1:assist"};
    tl_netburst_plan plan;
    tl_error err = {0};
    (void)state;
    assert_int_equal(planned(texts, TL_COUNT_OF(texts), &plan, &err), TL_OK);
    const tl_netburst_place *places = plan.places;
    assert_int_not_equal(places[0].escr, places[1].escr);
    assert_int_equal(written(&plan, TL_MSR_NBX_XESCR + places[0].escr), UINT64_C(0x200000022));
    assert_int_equal(written(&plan, TL_MSR_NBX_XESCR + places[1].escr), UINT64_C(0x200000002));
    assert_int_equal(written(&plan, tl_netburst_escr_msr((tl_escr)places[0].escr)) & 15, TL_ESCR_T1_USR | TL_ESCR_T1_OS);
    assert_int_equal(written(&plan, TL_MSR_NBX_FILTER + places[0].counter), 0x77);
    assert_int_equal(written(&plan, TL_MSR_NBX_FILTER_MASK + places[0].counter), 0xff);
    for (uint32_t i = 0; i < plan.n_writes; i++)
        assert_int_not_equal(plan.writes[i].msr, TL_MSR_NBX_FILTER_MASK + places[1].counter);
    assert_int_equal(written(&plan, TL_MSR_NBX_BANKED), UINT64_C(0x100000001) << places[1].counter);
    assert_int_equal(written(&plan, TL_MSR_NBX_SAMPLE), 1 << places[2].counter);
    assert_int_equal(written(&plan, TL_MSR_NBX_CONTROL), TL_NBX_BY_ROOT | TL_NBX_EXTENDED);
    assert_int_equal(written(&plan, TL_MSR_PEBS_ENABLE), TL_PEBS_OTHER_THREAD);
    assert_true(written(&plan, TL_MSR_CCCR + places[2].counter) & TL_CCCR_OVF_PMI_T1);
}

// As the PMU has them once all is written: a CCCR of another mode would set other bounds.
static void test_bounds_of_active_threads_are_registers(void **state) {
    static const struct {
        const char *text;
        uint64_t xcccr, idle;
        uint32_t mode;
    } rows[] = {
        {"uops_retired:NBOGUS:active=1..2", 0x201, 0, 3},
        {"uops_retired:NBOGUS:active=1", 0x101, 0, 1},
        {"uops_retired:NBOGUS:active=3..7:without=2", 0x703, 2, 3},
        {"uops_retired:NBOGUS:with=5", UINT64_C(0x50000ff00), 0, 3},
        {"uops_retired:NBOGUS:with=4:active=2..2", UINT64_C(0x400000202), 0, 2},
        {"uops_retired:NBOGUS:with=1:active=single", UINT64_C(0x100000101), 0, 1},
        {"uops_retired:NBOGUS:without=0x80000000", 0xff00, 0x80000000, 3},
    };
    (void)state;
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_arena arena = {0};
        tl_netburst_settings settings = tl_netburst_default_settings;
        tl_netburst *n;
        tl_netburst_plan plan;
        uint64_t value = 0;
        tl_error err = {0};
        settings.nbx = 1;
        assert_int_equal(tl_netburst_new(&settings, 2, NULL, &arena, &n, &err), TL_OK);
        assert_int_equal(planned(&rows[i].text, 1, &plan, &err), TL_OK);
        for (uint32_t k = 0; k < plan.n_writes; k++)
            assert_int_equal(tl_netburst_wrmsr(n, 0, plan.writes[k].msr, plan.writes[k].value), TL_OK);
        assert_int_equal(tl_netburst_rdmsr(n, 0, TL_MSR_NBX_XCCCR + plan.places[0].counter, &value), TL_OK);
        assert_int_equal(value, rows[i].xcccr);
        assert_int_equal(tl_netburst_rdmsr(n, 0, TL_MSR_NBX_IDLE + plan.places[0].counter, &value), TL_OK);
        assert_int_equal(value, rows[i].idle);
        assert_int_equal(written(&plan, TL_MSR_CCCR + plan.places[0].counter) >> TL_CCCR_THREAD_LSB & 3, rows[i].mode);
        tl_arena_done(&arena);
    }
}

static void test_eighteen_events_count_at_once(void **state) {
    (void)state;
    static const char *const texts[] = {
        "global_power_events:RUNNING:t0",
        "global_power_events:RUNNING:t1",
        "BPU_fetch_request:TCMISS:t0",
        "BPU_fetch_request:TCMISS:t1",
        "uop_queue_writes:FROM_TC_BUILD:t0",
        "uop_queue_writes:FROM_TC_BUILD:t1",
        "retired_branch_type:CALL:t0",
        "retired_branch_type:CALL:t1",
        "memory_cancel:64K_CONF:t0",
        "memory_cancel:64K_CONF:t1",
        "memory_complete:LSC:t0",
        "memory_complete:LSC:t1",
        "instr_retired:NBOGUSNTAG:t0",
        "instr_retired:NBOGUSNTAG:t1",
        "branch_retired:MMTP:t0",
        "branch_retired:MMTP:t1",
        "resource_stall:SBFULL:t0",
        "resource_stall:SBFULL:t1",
    };
    tl_arena arena = {0};
    tl_netburst *n = new_pmu(&arena);
    tl_netburst_request requests[TL_COUNT_OF(texts)];
    tl_netburst_plan plan;
    tl_error err = {0};
    for (uint32_t i = 0; i < TL_COUNT_OF(texts); i++)
        requests[i] = parsed(texts[i]);
    if (planned(texts, TL_COUNT_OF(texts), &plan, &err) != TL_OK)
        fail_msg("%s", err.text);
    check_plan(n, requests, TL_COUNT_OF(texts), &plan);
    tl_arena_done(&arena);
    const char *too_many[TL_NETBURST_COUNTERS + 1];
    tl_netburst_request many[TL_COUNT_OF(too_many)];
    for (uint32_t i = 0; i < TL_COUNT_OF(many); i++)
        many[i] = parsed("uops_retired:NBOGUS");
    const tl_netburst_settings settings = settings_of(false);
    assert_int_equal(tl_netburst_allocate(&settings, 15, many, TL_COUNT_OF(many), &plan, &err), TL_EINVAL);
    assert_string_equal(err.text, "19 events: the PMU has 18 counters");
}

// ---- Texts of all kinds: pieces of right texts in any order, and bytes.
static void test_any_text_is_read_or_refused(void **state) {
    (void)state;
    static const char *const pieces[] = {"replay_event",
                                         "uops_retired",
                                         ":",
                                         "+",
                                         "NBOGUS",
                                         "l1_load_miss",
                                         "precise",
                                         "thr=",
                                         "15",
                                         "inv",
                                         "edge",
                                         "t0",
                                         "u",
                                         "raw",
                                         "0x3b8",
                                         "0x0400060c",
                                         "cccr=",
                                         "active=",
                                         "both",
                                         "memory_loads",
                                         "=",
                                         " ",
                                         "\xff",
                                         "99999999999999999999",
                                         "split_load",
                                         "0x"};
    uint64_t seed = 7;
    uint32_t n_read = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        char text[400] = "";
        const uint32_t n = 1 + round % 11;
        for (uint32_t i = 0; i < n; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            strcat(text, pieces[(seed >> 33) % TL_COUNT_OF(pieces)]);
        }
        tl_netburst_request request;
        tl_netburst_plan plan;
        tl_error err = {0};
        if (tl_netburst_parse(text, 2, &request, &err) == TL_OK) {
            const tl_netburst_settings settings = settings_of(false);
            n_read += 1;
            if (tl_netburst_allocate(&settings, 15, &request, 1, &plan, &err) != TL_OK)
                assert_true(request.is_precise);
        } else {
            assert_true(err.text[0] != 0);
        }
    }
    assert_true(n_read > 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_event_has_the_row_that_detects_it),
    cmocka_unit_test(test_a_mask_says_its_sources_or_why_it_has_none),
    cmocka_unit_test(test_events_are_listed_as_the_manuals_spell_them),
    cmocka_unit_test(test_the_tables_are_complete),
    cmocka_unit_test(test_worked_values),
    cmocka_unit_test(test_a_request_for_interrupts_names_the_thread),
    cmocka_unit_test(test_a_filter_is_written_for_the_counter_alone),
    cmocka_unit_test(test_two_execution_tags_differ),
    cmocka_unit_test(test_a_text_that_means_nothing_is_refused_with_the_remedy),
    cmocka_unit_test(test_events_that_need_one_thing_are_named_with_what_fits),
    cmocka_unit_test(test_a_plan_connects_each_counter_to_its_detector),
    cmocka_unit_test(test_options_of_the_extension_are_registers),
    cmocka_unit_test(test_bounds_of_active_threads_are_registers),
    cmocka_unit_test(test_eighteen_events_count_at_once),
    cmocka_unit_test(test_any_text_is_read_or_refused),
};
TL_TEST_MAIN(tests)
