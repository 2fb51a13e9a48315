// SPDX-License-Identifier: MIT
// The events that a comparison can watch. A design says by name which of them it counts.
#ifndef TL_COMPARE_EVENTS_H
#define TL_COMPARE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_watchable {
    const char *name, *meaning;
    // The truth: totals of the watched hart or of all slices, as model/pmu.h writes them.
    const char *sources;
    bool is_of_level2; // of the second level, all slices together; else of the watched hart
    bool is_default;
} tl_watchable;

extern const tl_watchable tl_watchables[];
extern const uint32_t tl_n_watchables;
const tl_watchable *tl_watchable_find(const char *name); // NULL: none of that name

// An event's name and selector.
typedef struct tl_selector_row {
    const char *event;
    uint64_t selector;
} tl_selector_row;

// NULL: none has that name.
const tl_selector_row *tl_selector_find(const tl_selector_row *rows, uint32_t n, const tl_watchable *event);

#endif
