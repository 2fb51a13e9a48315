// SPDX-License-Identifier: MIT
// Cells of the tally arrays of the shared units: slice->tally[TL_L2_READ] += 1. Rows and meanings:
// mem_signals.def.
#ifndef TL_MEM_MEM_SIGNALS_H
#define TL_MEM_MEM_SIGNALS_H

#include "model/unit.h"

// Each unit's enumerators start from 0: TL_L2_READ .. TL_L2_N_SIGNALS, TL_NOC_REQUEST ..
enum tl_mem_signal {
#define UNIT(id, unit_name, path, what) TL_##id##_REWIND_ = -1,
#define SIGNAL(id, name, measure, max_step, meaning) TL_##id,
#define END_UNIT(id) TL_##id##_N_SIGNALS,
#include "mem/mem_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
};

enum tl_mem_unit_kind {
#define UNIT(id, unit_name, path, what) TL_MEM_UNIT_##id,
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "mem/mem_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
    TL_N_MEM_UNIT_KINDS
};

extern const tl_unit_type tl_mem_unit_types[TL_N_MEM_UNIT_KINDS];

#endif
