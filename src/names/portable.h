// SPDX-License-Identifier: MIT
// Portable events: names that mean the same on every machine, because each is a formula over its
// signals. A design of counters maps them to its own events (session/portable.h), with a class that
// programs prove (docs/portable-events.md).
#ifndef TL_NAMES_PORTABLE_H
#define TL_NAMES_PORTABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tl_portable {
#define PORTABLE(id, name, unit, truth, core_truth, meaning) TL_PORTABLE_##id,
#include "names/portable.def"
#undef PORTABLE
    TL_N_PORTABLES
} tl_portable;

typedef struct tl_portable_event {
    const char *name, *unit, *meaning;
    // A formula: without a detailed core, with one. "": the machine has nothing to count.
    const char *truth, *core_truth;
} tl_portable_event;

extern const tl_portable_event tl_portable_events[TL_N_PORTABLES];
const tl_portable_event *tl_portable_find(const char *name); // NULL: no such event
// has_core: the machine has a detailed core.
const char *tl_portable_truth(const tl_portable_event *event, bool has_core);

#endif
