// SPDX-License-Identifier: MIT
// The course of a recorded run: counts by interval, threads on harts, visits of regions. It is kept
// when the options ask for intervals, because it grows with the length of the run.
#ifndef TL_SESSION_RECORDING_TIMELINE_H
#define TL_SESSION_RECORDING_TIMELINE_H

#include "machine/machine.h"
#include "model/code_map.h"
#include "profile/profile.h"

typedef struct tl_recorded_timeline {
    const tl_machine *machine;
    tl_code_map *map;
    uint64_t clock_hz;
    uint32_t *event_of_cell; // or TL_PROFILE_NONE
    uint64_t *before, *now;  // totals by event
    uint32_t n_events;
    // As in a profile.
    tl_profile_interval *intervals;
    tl_profile_tally *counts;
    tl_profile_region *regions;
    tl_profile_visit *visits;
    uint32_t n_intervals, n_counts, n_regions, n_visits;
    uint32_t *region_numbers; // of the session, for each of regions
    uint32_t *open_visits;    // number + 1 of the visit, for each of regions; 0: none
    bool lacks_memory;
} tl_recorded_timeline;

// event_of_cell has n_cells of the machine and is copied. The machine stands at its beginning.
TL_MUST_CHECK tl_status tl_recorded_timeline_begin(tl_recorded_timeline *timeline, tl_machine *machine, tl_code_map *map,
                                                   const uint32_t *event_of_cell, uint32_t n_events, tl_error *err);
// An interval ends. The tallies are synced.
void tl_recorded_timeline_step(tl_recorded_timeline *timeline, uint64_t now_cycles);
// tl_region_visit_fn; ctx is a timeline.
void tl_recorded_timeline_visit(void *ctx, uint32_t region, const char *name, bool is_begin, uint64_t cycle);
// The last interval ends, and the profile gets all of it, in its own numbers of threads. Names of
// regions are those of now.
TL_MUST_CHECK tl_status tl_recorded_timeline_end(tl_recorded_timeline *timeline, uint64_t now_cycles, tl_profile *p, tl_error *err);
void tl_recorded_timeline_done(tl_recorded_timeline *timeline); // a zeroed one is fine

#endif
