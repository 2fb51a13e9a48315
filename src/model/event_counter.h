// SPDX-License-Identifier: MIT
// A counter of a PMU that sums events of one hart and may overflow. The counter costs nothing
// between two looks (model/counter.h). A counter that waits for its overflow knows for how many
// cycles no overflow can come, because each signal declares its largest step.
#ifndef TL_MODEL_EVENT_COUNTER_H
#define TL_MODEL_EVENT_COUNTER_H

#include "model/pmu.h"

// The totals of one hart during one call of a port.
typedef struct tl_totals {
    const tl_pmu_host *host;
    uint32_t hart;
    tl_cell cycle_cell, instret_cell;
    bool is_synced; // cleared at the start of each call
} tl_totals;

enum { TL_EVENT_MAX_PARTS = 24 }; // events that one counter sums
typedef struct tl_event_counter {
    tl_counter counter;
    const tl_sources *parts[TL_EVENT_MAX_PARTS];
    uint32_t n_parts, max_step;
    uint8_t divider_log2;                           // of the sum
    bool needs_sync, is_slow, is_jumpy, is_retired; // of all parts
    bool is_watched;                                // polled after slow paths
    // No overflow comes before that cycle of the hart. `span` is the distance when computed.
    uint64_t safe_until, span;
    // With is_retired: no overflow before so many instructions have retired.
    uint64_t safe_instret;
} tl_event_counter;

// TL_ENOENT: the machine lacks hart.cycle or hart.instret. `ret_clock`: the sources of the two, in
// this order.
TL_MUST_CHECK tl_status tl_totals_init(tl_totals *totals, const tl_pmu *pmu, tl_arena *arena, tl_sources ret_clock[static 2],
                                       tl_error *err);
uint64_t tl_totals_cycle(const tl_totals *totals);

// parts and n_parts were written.
void tl_event_counter_combine(tl_event_counter *c);
uint64_t tl_event_counter_total(const tl_event_counter *c, tl_totals *totals);

// The counter waits for an overflow that comes after `headroom` more steps.
void tl_event_counter_aim(tl_event_counter *c, const tl_totals *totals, uint64_t headroom);
// It must be brought up to date and aimed again, because the overflow may be near.
bool tl_event_counter_is_stale(const tl_event_counter *c, const tl_totals *totals);
// It grows only in slow paths, after which it is polled: it needs no deadline.
static inline bool tl_event_counter_is_quiet(const tl_event_counter *c) { return c->is_watched && c->is_slow; }
// Returns cycles without a possible overflow. Precondition: it is not stale. May set is_watched.
uint64_t tl_event_counter_deadline(tl_event_counter *c, const tl_totals *totals);
// An overflow may have happened: tl_pmu_port.poll.
bool tl_event_counter_is_due(const tl_event_counter *c, const tl_totals *totals);

#endif
