// SPDX-License-Identifier: MIT
// Random counters of a NetBurst PMU, written by MSRs, and two PMUs that must count the same.
#ifndef TL_TESTS_RANDOM_COUNTERS_H
#define TL_TESTS_RANDOM_COUNTERS_H

#include <inttypes.h>

#include "netburst_registers.h"
#include "pmu/netburst/catalogue.h"
#include "random_code.h"

// Some detectors have no event.
static inline tl_netburst_event random_event_of(rng *r, tl_escr escr) {
    const uint32_t first = below(r, TL_NB_N_EVENTS);
    for (uint32_t k = 0; k < TL_NB_N_EVENTS; k++) {
        const tl_netburst_event e = (tl_netburst_event)((first + k) % TL_NB_N_EVENTS);
        if (e != TL_NB_NO_EVENT && tl_netburst_event_rows[e].pair == (escr & ~1u))
            return e;
    }
    return TL_NB_NO_EVENT;
}

// Mask bits of the event that rows of many clocks take: no fields, and no bogus uops.
static inline uint32_t bits_of_rows(tl_netburst_event event) {
    switch (event) {
    case TL_NB_UOP_TYPE:
    case TL_NB_IOQ_ALLOCATION:
    case TL_NB_IOQ_ACTIVE_ENTRIES:
    case TL_NB_BSQ_ALLOCATION:
    case TL_NB_BSQ_ACTIVE_ENTRIES:
    case TL_NB_BSQ_CACHE_REFERENCE:
    case TL_NB_FRONT_END_EVENT:
    case TL_NB_REPLAY_EVENT:
    case TL_NB_EXECUTION_EVENT: return 0;
    case TL_NB_UOPS_RETIRED:
    case TL_NB_INSTR_COMPLETED: return 1;
    case TL_NB_INSTR_RETIRED: return 3;
    default: return 0xffff;
    }
}

// Events that hold for many clocks, or end rows.
static const tl_netburst_event events_of_states[] = {TL_NB_TC_MISC, TL_NB_MACHINE_CLEAR, TL_NB_RESOURCE_STALL};

// Any counter of any event, with any filter. Some overflow soon, some run behind others. for_rows:
// of what rows take, and often of states.
static inline void write_random_counter(rng *r, tl_netburst *n, bool for_rows) {
    uint32_t i = below(r, TL_NETBURST_COUNTERS), select = below(r, 8);
    tl_escr escr = tl_netburst_route(n, i, select);
    if (escr == TL_N_ESCRS)
        return;
    tl_netburst_event chosen = random_event_of(r, escr);
    if (for_rows && below(r, 3) == 0) {
        chosen = events_of_states[below(r, TL_COUNT_OF(events_of_states))];
        do {
            i = below(r, TL_NETBURST_COUNTERS);
            select = below(r, 8);
            escr = tl_netburst_route(n, i, select);
        } while (escr == TL_N_ESCRS || (escr & ~1u) != tl_netburst_event_rows[chosen].pair);
    }
    const uint64_t event = tl_netburst_event_rows[chosen].code, bits = for_rows ? bits_of_rows(chosen) : 0xffff;
    const uint64_t mask = (below(r, 3) == 0 ? below(r, 1 << 16) : 0xffff) & bits;
    if (bits == 0)
        return;
    const uint64_t filter = TL_CCCR_COMPARE | below(r, 4) << TL_CCCR_THRESHOLD_LSB | (below(r, 3) == 0 ? (uint64_t)TL_CCCR_COMPLEMENT : 0) |
                            (below(r, 3) == 0 ? (uint64_t)TL_CCCR_EDGE : 0);
    const uint64_t runs = below(r, 8) == 0 ? (uint64_t)TL_CCCR_CASCADE : (uint64_t)TL_CCCR_ENABLE;
    const uint64_t threads = below(r, 4) == 0 ? below(r, 4) : 3;
    wrmsr(n, tl_netburst_escr_msr(escr), event << TL_ESCR_EVENT_LSB | mask << TL_ESCR_MASK_LSB | (below(r, 2) ? 15 : 1 + below(r, 15)));
    wrmsr(n, TL_MSR_COUNTER + i, below(r, 4) == 0 ? TL_NETBURST_VALUE - below(r, 4000) : 0);
    wrmsr(n, TL_MSR_CCCR + i, runs | select << TL_CCCR_SELECT_LSB | threads << TL_CCCR_THREAD_LSB | (below(r, 2) ? filter : 0));
}

static inline void check_same(tl_netburst *n, tl_netburst *eager, uint32_t program, uint32_t phase) {
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        const uint64_t has = rdmsr(n, TL_MSR_COUNTER + i), want = rdmsr(eager, TL_MSR_COUNTER + i);
        if (has != want || rdmsr(n, TL_MSR_CCCR + i) != rdmsr(eager, TL_MSR_CCCR + i) || n->last_step[i] != eager->last_step[i])
            fail_msg("program %u, phase %u, counter %u: %" PRIu64 ", clock by clock %" PRIu64, program, phase, i, has, want);
    }
    assert_int_equal(n->filtered, eager->filtered);
    assert_int_equal(n->n_clocks, eager->n_clocks);
}

#endif
