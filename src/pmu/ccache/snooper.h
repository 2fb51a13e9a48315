// SPDX-License-Identifier: MIT
// The snooper is a hostile device on the bus. It sees every access of a hart to a device, values
// included. It also masters the bus and reads the block's counters. No privilege mode prevents
// either. It changes nothing and costs the harts nothing. The log holds the number of values seen,
// the number of new ones, and the last value of each counter.
#ifndef TL_PMU_CCACHE_SNOOPER_H
#define TL_PMU_CCACHE_SNOOPER_H

#include "model/bus.h"
#include "model/pmu.h"

enum { TL_SNOOPED_COUNTERS = 64 };

typedef struct tl_snooper_target { // the observed block
    tl_pmu *pmu;                   // with a window at paddr; registers are 8 bytes apart
    uint64_t paddr;
    uint32_t select_offset, counter_offset, n_counters;
    uint64_t *watched_tally, *read_tally; // one more for each access seen, for each register read
} tl_snooper_target;

typedef struct tl_snooper_log {
    // Accesses of harts to any device.
    uint64_t n_beats;
    // Of n_beats: a hart received a counter's value, or half of one.
    uint64_t n_watched;
    // Of the number before: values that differ from the last known one.
    uint64_t n_watched_new;
    // Writes of selectors by harts.
    uint64_t n_configured;
    // Readings of the whole block by the snooper.
    uint64_t n_looks;
    // Values of running counters found by readings.
    uint64_t n_read;
    // Of the number before: values that differ from the last known one.
    uint64_t n_read_new;
    // Bit i: a value of counter i is known.
    uint64_t known;
    // Last known values and selectors.
    uint64_t values[TL_SNOOPED_COUNTERS], selects[TL_SNOOPED_COUNTERS];
} tl_snooper_log;

typedef struct tl_snooper tl_snooper;

// The arena holds everything; the target's pmu and tallies are borrowed. The snooper reads the
// block every `period_cycles`, starting with that cycle.
TL_MUST_CHECK tl_status tl_snooper_new(const tl_snooper_target *target, uint64_t period_cycles, tl_arena *arena, tl_snooper **ret_snooper,
                                       tl_error *err);
// Returns a bus that answers as `below`, which is borrowed.
const tl_bus *tl_snooper_watch(tl_snooper *snooper, const tl_bus *below);
// Performs all readings due by `now`. Returns the cycle of the next one.
uint64_t tl_snooper_look(tl_snooper *snooper, uint64_t now);
const tl_snooper_log *tl_snooper_log_of(const tl_snooper *snooper);

#endif
