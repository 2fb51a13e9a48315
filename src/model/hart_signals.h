// SPDX-License-Identifier: MIT
// Slots of a hart's slice of the tally array: h->tally[TL_S_L1D_LOAD_MISS] += 1. Rows and meanings:
// hart_signals.def.
#ifndef TL_MODEL_HART_SIGNALS_H
#define TL_MODEL_HART_SIGNALS_H

#include <stdbool.h>

#include "model/unit.h"

enum tl_hart_cell {
#define UNIT(id, unit_name, path, what) TL_S_##id##_FIRST, TL_S_##id##_REWIND_ = TL_S_##id##_FIRST - 1,
#define SIGNAL(id, name, measure, max_step, meaning) TL_S_##id,
#define END_UNIT(id) TL_S_##id##_END, TL_S_##id##_END_REWIND_ = TL_S_##id##_END - 1,
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
    TL_S_N_CELLS
};

enum tl_hart_unit {
#define UNIT(id, unit_name, path, what) TL_HART_UNIT_##id,
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
    TL_N_HART_UNITS
};

typedef struct tl_hart_unit_row {
    tl_unit_type type;
    const char *path_format; // "hart%u.l1d"
    uint32_t first_cell;     // in the hart's slice
} tl_hart_unit_row;

extern const tl_hart_unit_row tl_hart_units[TL_N_HART_UNITS];

// How a hart's total comes about: what must be done before it is read, and where it can grow.
typedef enum tl_signal_kind {
    TL_SIGNAL_SLOW,  // at once; only in a slow path of an access, or where a trap is taken
    TL_SIGNAL_FAST,  // at once; anywhere
    TL_SIGNAL_HELD,  // held back by front-ends (tl_engine_type.sync); anywhere
    TL_SIGNAL_CLOCK, // kept in the hart's clock (tl_hart_sync_clock); anywhere
} tl_signal_kind;
tl_signal_kind tl_hart_signal_kind(enum tl_hart_cell cell);
// Grows in slow paths, too: by the time they take, and by the walker's accesses.
bool tl_hart_signal_is_jumpy(enum tl_hart_cell cell);
// Grows only as an instruction retires, by its step at most.
bool tl_hart_signal_is_retired(enum tl_hart_cell cell);

#endif
