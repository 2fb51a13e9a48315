// SPDX-License-Identifier: MIT
// The events that a comparison can watch, and how each design is told to count them.
#ifndef TL_COMPARE_EVENTS_H
#define TL_COMPARE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_watchable {
    const char *name, *meaning;
    const char *sources;  // the truth: totals of the watched hart or of all slices, as model/pmu.h writes them
    uint64_t u74;         // selector of mhpmevent; 0: none
    uint32_t u74_counter; // CSR of a counter that always counts it: cycle, instret; 0: none
    uint64_t ccache;      // selector of the block on the bus; 0: none
    uint64_t dhpc;        // selector of model/pmu.h: class, extend and bit; of slices all are summed
    bool is_default;
} tl_watchable;

extern const tl_watchable tl_watchables[];
extern const uint32_t tl_n_watchables;
const tl_watchable *tl_watchable_find(const char *name); // NULL: none of that name

#endif
