// SPDX-License-Identifier: MIT
// Slots of a hart's slice of the tally array: h->tally[TL_S_L1D_LOAD_MISS] += 1. Rows and meanings: hart_signals.def.
#ifndef TL_MODEL_HART_SIGNALS_H
#define TL_MODEL_HART_SIGNALS_H

#include "model/unit.h"

enum tl_hart_slot {
#define UNIT(id, unit_name, path, what) TL_S_##id##_FIRST, TL_S_##id##_REWIND_ = TL_S_##id##_FIRST - 1,
#define SIGNAL(id, name, measure, max_step, meaning) TL_S_##id,
#define END_UNIT(id) TL_S_##id##_END, TL_S_##id##_END_REWIND_ = TL_S_##id##_END - 1,
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
    TL_S_N_SLOTS
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
    uint32_t first_slot;     // in the hart's slice
} tl_hart_unit_row;

extern const tl_hart_unit_row tl_hart_units[TL_N_HART_UNITS];

#endif
