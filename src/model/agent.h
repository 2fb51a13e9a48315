// SPDX-License-Identifier: MIT
// The maker of an access. Every request below the first level carries its agent by pointer, down to
// the memory channel. Counters by requester and divisions by tenant read it there.
#ifndef TL_MODEL_AGENT_H
#define TL_MODEL_AGENT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tl_agent_kind {
    TL_AGENT_HART_DATA,  // loads, stores and atomics of a hart, and the prefetches that follow them
    TL_AGENT_HART_FETCH, // fetches of a hart, likewise
    TL_AGENT_WALKER,     // page walks of a hart
    TL_AGENT_DEVICE,     // a bus master
    TL_AGENT_PMU,        // a PMU that writes records
    TL_AGENT_DEBUGGER,
} tl_agent_kind;

typedef struct tl_agent {
    tl_agent_kind kind;
    uint32_t id; // among those of its kind: the number of the hart, of the device
    // Harts, cache slices and memory channels that belong together; 0: the whole machine.
    uint32_t partition;
    // The address space at work, as the hart's translation register names it now; NULL: none.
    const uint64_t *context;
} tl_agent;

// Both are a hart's and the hart is the same.
static inline bool tl_agent_is_same_hart(const tl_agent *a, const tl_agent *b) {
    return a->kind <= TL_AGENT_WALKER && b->kind <= TL_AGENT_WALKER && a->id == b->id;
}

#endif
