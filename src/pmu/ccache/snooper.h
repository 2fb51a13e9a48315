// SPDX-License-Identifier: MIT
// A hostile device on the bus. It sees every access of a hart to a device, values included, and it
// masters the bus to read the counters of a block there by itself; no privilege mode has a say in
// either. It changes nothing and costs the harts nothing. What it has learned stands in its log:
// how many values, how many of them it did not know yet, and the last one of each counter.
#ifndef TL_PMU_CCACHE_SNOOPER_H
#define TL_PMU_CCACHE_SNOOPER_H

#include "model/bus.h"
#include "model/pmu.h"

enum { TL_SNOOPED_COUNTERS = 64 };

typedef struct tl_snooper_target { // the block it is after
    tl_pmu *pmu;                   // with a window at paddr; registers are 8 bytes apart
    uint64_t paddr;
    uint32_t select_offset, counter_offset, n_counters;
    uint64_t *watched_tally, *read_tally; // one more for each beat watched, for each register read
} tl_snooper_target;

typedef struct tl_snooper_log {
    uint64_t n_beats;                                                   // accesses of harts that it saw, to whatever device
    uint64_t n_watched;                                                 // of them: a hart got the value of a counter, or half of one
    uint64_t n_watched_new;                                             // of these: not what the snooper last knew of it
    uint64_t n_configured;                                              // a hart told the block what to count
    uint64_t n_looks;                                                   // times it read the whole block itself
    uint64_t n_read;                                                    // values of counters that count something, got so
    uint64_t n_read_new;                                                // of these: not what it last knew
    uint64_t known;                                                     // bit i: it knows a value of counter i
    uint64_t values[TL_SNOOPED_COUNTERS], selects[TL_SNOOPED_COUNTERS]; // what it last knew
} tl_snooper_log;

typedef struct tl_snooper tl_snooper;

// Everything is in the arena; the target's pmu and tallies are borrowed. It looks every
// `period_cycles` from that cycle on.
TL_MUST_CHECK tl_status tl_snooper_new(const tl_snooper_target *target, uint64_t period_cycles, tl_arena *arena, tl_snooper **ret_snooper,
                                       tl_error *err);
const tl_bus *tl_snooper_watch(tl_snooper *snooper, const tl_bus *below); // a bus that answers as `below`, which is borrowed
// Everything it wants to do up to `now`; returns the next cycle in which it wants to look.
uint64_t tl_snooper_look(tl_snooper *snooper, uint64_t now);
const tl_snooper_log *tl_snooper_log_of(const tl_snooper *snooper);

#endif
