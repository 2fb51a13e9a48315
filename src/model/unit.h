// SPDX-License-Identifier: MIT
// Units, their signals, and the places of the running totals (tallies), before any PMU exists.
//
// A signal belongs to a unit type; its tally is one 64-bit cell in the machine's flat array,
// free-running since reset, never cleared, never sampled. Emitting is an add. A front-end may hold
// counts back (per-block execution counts, the cycle register); tl_machine_sync folds them in, and
// whoever reads tallies calls it first.
#ifndef TL_MODEL_UNIT_H
#define TL_MODEL_UNIT_H

#include <stdint.h>

typedef enum tl_measure { TL_MEASURE_EVENTS, TL_MEASURE_CYCLES, TL_MEASURE_BYTES } tl_measure;

typedef struct tl_signal {
    const char *name;    // "load_miss": unique in its unit type, never renamed
    const char *meaning; // one sentence; docs, CLI and page print this very string
    tl_measure measure;
    // The most it can grow in a cycle of a scalar core; bounds overflow deadlines. tl_probe.width
    // has more.
    uint32_t max_step;
} tl_signal;

typedef struct tl_unit_type {
    const char *name;    // "l1d"
    const char *meaning; // one sentence: what the unit is
    const tl_signal *signals;
    uint32_t n_signals;
} tl_unit_type;

typedef struct tl_unit { // one instance; emitting is unit->tally[L2_READ_MISS] += 1
    const tl_unit_type *type;
    const char *path;    // "hart0.l1d", owned by the machine
    uint64_t *tally;     // [type->n_signals]
    uint32_t first_cell; // index of tally[0] in the machine's flat array
} tl_unit;

#endif
