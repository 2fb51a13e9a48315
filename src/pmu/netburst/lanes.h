// SPDX-License-Identifier: MIT
// The counting rule for all counters at once: lane i is counter i. A plan holds what registers say,
// as masks over lanes. Sums of clocks stay in lanes while no counter can overflow.
#ifndef TL_PMU_NETBURST_LANES_H
#define TL_PMU_NETBURST_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "pmu/netburst/netburst.h"

enum { TL_NB_LANES = 32, TL_NB_STATES = 16 }; // states: owners of a clock, bits 3:0 of an ESCR

// Masks have 0xff in the lanes that they name.
typedef struct tl_netburst_lanes {
    bool is_plain; // the plan says all that registers say
    bool is_open;  // was, step and sums hold what belongs to the counters
    // Clocks that may be counted before a counter can overflow, critical lanes aside.
    uint32_t n_clocks;
    // Some row of `hit` is not empty.
    bool is_used[TL_NB_N_EVENTS];
    // Rows by event and bit of its mask.
    uint8_t hit[TL_NB_N_EVENTS][16][TL_NB_LANES];
    // Qualified by the owner of an occurrence, without events of no thread; by what is active, for
    // all events, and only for events of no thread.
    uint8_t owned[TL_NB_STATES][TL_NB_LANES], shared[TL_NB_STATES][TL_NB_LANES], unowned[TL_NB_STATES][TL_NB_LANES];
    uint8_t times[TL_NB_STATES][TL_NB_LANES]; // counts while these are active
    uint8_t threshold[TL_NB_LANES], complements[TL_NB_LANES], compares[TL_NB_LANES], edges[TL_NB_LANES];
    uint8_t critical[TL_NB_LANES];               // the next count of the lane does more than add
    uint8_t was[TL_NB_LANES], step[TL_NB_LANES]; // filter and count of the last clock
    uint16_t sums[TL_NB_LANES];
    bool (*count)(struct tl_netburst_lanes *lanes, const tl_netburst_clock *clock);
} tl_netburst_lanes;

// The portable form, or the best one of this host.
void tl_netburst_lanes_choose(tl_netburst_lanes *lanes, bool is_portable);
// Counts the clocks if the lanes can. false: nothing has happened.
static inline bool tl_netburst_lanes_count(tl_netburst_lanes *lanes, const tl_netburst_clock *clock) {
    return clock->n_clocks <= lanes->n_clocks && lanes->count(lanes, clock);
}

#endif
