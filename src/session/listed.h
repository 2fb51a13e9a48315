// SPDX-License-Identifier: MIT
// A source whose events are rows of a preset and can all be counted at once. The host reads the
// registers while nothing runs, so the reading costs the machine no cycle. A design brings two
// hooks: how its counters are started, and what one of them holds.
#ifndef TL_SESSION_LISTED_H
#define TL_SESSION_LISTED_H

#include "session/source.h"

enum { TL_LISTED_MAX = 256 };

typedef struct tl_listed tl_listed;

typedef struct tl_listed_hooks {
    bool (*is_of_hart)(const tl_event *event); // each hart has one; else the machine has one
    // Called once. TL_EINVAL: the machine lacks a counter.
    TL_MUST_CHECK tl_status (*start)(tl_machine *machine, const tl_listed *listed, tl_error *err);
    // Returns what the counter of this event holds now.
    uint64_t (*value)(tl_machine *machine, const tl_listed *listed, uint32_t event, uint32_t hart);
} tl_listed_hooks;

struct tl_listed {
    tl_source base; // first
    const tl_listed_hooks *hooks;
    const tl_event *events[TL_LISTED_MAX];
    tl_counted counted[TL_LISTED_MAX]; // the truth of an event is the sum of its sources
    const tl_counted *list[TL_LISTED_MAX];
    uint32_t n_events;
};

// Resolves a list of names and patterns of modeled events, `defaults` if the user named none.
TL_MUST_CHECK tl_status tl_listed_resolve(const tl_listed_hooks *hooks, const tl_pmu_type *pmu, const tl_pmu_preset *preset,
                                          const char *defaults, const tl_run_options *options, tl_arena *arena, tl_source **ret_source,
                                          tl_error *err);

TL_MUST_CHECK tl_status tl_listed_attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader,
                                         tl_error *err);
void tl_listed_enable(void *reader);
void tl_listed_disable(void *reader);
uint64_t tl_listed_next_turn(const void *reader);
void tl_listed_turn(void *reader);
const tl_perf_count *tl_listed_read(void *reader, uint32_t *ret_n);

// Members of a design's tl_source_type.
#define TL_LISTED_READER                                                                                                    \
    .attach = tl_listed_attach, .enable = tl_listed_enable, .disable = tl_listed_disable, .next_turn = tl_listed_next_turn, \
    .turn = tl_listed_turn, .read = tl_listed_read

#endif
