// SPDX-License-Identifier: MIT
// Owners of counts of a recording on detailed cores, which book only instructions that execute
// alone: their step does.
#ifndef TL_SESSION_RECORDING_TAP_H
#define TL_SESSION_RECORDING_TAP_H

#include "machine/machine.h"
#include "model/attribution.h"
#include "model/tap.h"

struct tl_callgraph;
struct tl_call_flight;

typedef struct tl_recorded_tap {
    tl_tap tap;
    tl_machine *machine; // NULL: not attached
    struct tl_callgraph *graph;
    struct tl_call_flight *flight; // NULL: there is no call graph
} tl_recorded_tap;

// Before the first run. graph may be NULL. A zeroed tap is detached.
TL_MUST_CHECK tl_status tl_recorded_tap_begin(tl_recorded_tap *tap, tl_machine *machine, struct tl_callgraph *graph, tl_error *err);
// After the last run: all counts are booked. Detaching twice is fine.
void tl_recorded_tap_end(tl_recorded_tap *tap);
void tl_recorded_tap_done(tl_recorded_tap *tap);

#endif
