// SPDX-License-Identifier: MIT
// The rows of hart_signals.def as tables.
#include "model/hart_signals.h"

#define UNIT(id, unit_name, path, what) static const tl_signal id##_signals[] = {
#define SIGNAL(id, name, measure, max_step, meaning) {#name, meaning, TL_MEASURE_##measure, max_step},
#define END_UNIT(id) \
    }                \
    ;
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT

const tl_hart_unit_row tl_hart_units[TL_N_HART_UNITS] = {
#define UNIT(id, unit_name, path, what)                                                                                                    \
    [TL_HART_UNIT_##id] = {                                                                                                                \
        .type = {.name = #unit_name, .meaning = what, .signals = id##_signals, .n_signals = sizeof id##_signals / sizeof id##_signals[0]}, \
        .path_format = path,                                                                                                               \
        .first_slot = TL_S_##id##_FIRST},
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
};
