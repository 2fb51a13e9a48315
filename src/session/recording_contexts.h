// SPDX-License-Identifier: MIT
// Calling contexts of a recording: which counts a call graph keeps, and its contexts as rows of a
// profile.
#ifndef TL_SESSION_RECORDING_CONTEXTS_H
#define TL_SESSION_RECORDING_CONTEXTS_H

#include "model/code_map.h"
#include "profile/profile.h"

struct tl_callgraph;

typedef struct tl_recorded_contexts {
    struct tl_callgraph *graph;
    uint32_t event_of[TL_NO_EVENT]; // of the profile; TL_PROFILE_NONE: the other cycles by cause
    bool is_cycle_cause[TL_NO_EVENT];
    uint32_t n_events, cycle; // cycle: its event, or TL_PROFILE_NONE: it is not kept
    bool is_of_machine;       // of system software
} tl_recorded_contexts;

// Before the first run. The profile has its events; those that its shown columns need are kept. The
// arrays are those of tl_recorded_events. TL_EINVAL: the columns need too many. A zeroed one is
// empty.
TL_MUST_CHECK tl_status tl_recorded_contexts_begin(const tl_profile *p, tl_attribution *attribution, const tl_probe *probe,
                                                   const uint32_t *event_of_cell, const bool *is_cycle_cause,
                                                   tl_recorded_contexts *ret_contexts, tl_error *err);
// After the last run. The profile has all but contexts. insn_of_row: its instruction for each row
// of the attribution. TL_EINVAL: contexts do not sum up to the totals; this is a defect.
TL_MUST_CHECK tl_status tl_recorded_contexts_end(const tl_recorded_contexts *contexts, tl_profile *p, const tl_code_map *map,
                                                 const uint32_t *insn_of_row, tl_error *err);
// Before the first run of system software.
TL_MUST_CHECK tl_status tl_recorded_contexts_follow_machine(tl_recorded_contexts *contexts, const tl_code_map *map, tl_error *err);
void tl_recorded_contexts_done(tl_recorded_contexts *contexts);

#endif
