// SPDX-License-Identifier: MIT
// Counts of instructions in flight by calling context; see callgraph_flight.h. A ring has counts by
// number of the instruction, and those that are not in flight have none.
#include "model/callgraph_flight.h"

#include <stdlib.h>
#include <string.h>

typedef struct ring {
    uint64_t *counts;   // n_events for each place
    uint64_t end;       // no number from here on has counts
    uint32_t suspended; // context
} ring;

struct tl_call_flight {
    tl_callgraph *graph;
    uint32_t n_harts, n_events, mask;
    uint64_t *sums;
    ring rings[TL_MAX_HARTS];
};

static uint64_t *place_of(const tl_call_flight *f, uint32_t hart, uint64_t seq) {
    return f->rings[hart].counts + (seq & f->mask) * f->n_events;
}

static void move(const tl_call_flight *f, uint32_t hart, uint64_t first, uint64_t end, uint64_t *to) {
    for (uint64_t seq = first; seq < end; seq++) {
        uint64_t *from = place_of(f, hart, seq);
        for (uint32_t i = 0; i < f->n_events; i++)
            to[i] += from[i];
        memset(from, 0, f->n_events * sizeof *from);
    }
}

static void move_to_context(tl_call_flight *f, uint32_t hart, uint64_t first, uint64_t end, uint32_t context) {
    move(f, hart, first, end, f->sums);
    tl_callgraph_add(f->graph, context, f->sums);
    memset(f->sums, 0, f->n_events * sizeof *f->sums);
}

// Counts outside of the recorded part of the run are not held back.
uint64_t *tl_call_flight_counts(tl_call_flight *f, uint32_t hart, uint64_t seq) {
    uint64_t *outside = tl_callgraph_outside_counts(f->graph);
    ring *r = &f->rings[hart];
    if (TL_UNLIKELY(outside != NULL))
        return outside;
    if (r->end <= seq)
        r->end = seq + 1;
    return place_of(f, hart, seq);
}

uint32_t tl_call_flight_retire(tl_call_flight *f, uint32_t hart, uint64_t seq) {
    const uint32_t context = tl_callgraph_under_way(f->graph, hart);
    if (seq < f->rings[hart].end)
        move_to_context(f, hart, seq, seq + 1, context);
    return context;
}

void tl_call_flight_squash(tl_call_flight *f, uint32_t hart, uint64_t to) {
    ring *r = &f->rings[hart];
    if (r->end <= to)
        return;
    move(f, hart, to + 1, r->end, place_of(f, hart, to));
    r->end = to + 1;
}

void tl_call_flight_suspend(tl_call_flight *f, uint32_t hart) { f->rings[hart].suspended = tl_callgraph_under_way(f->graph, hart); }

uint32_t tl_call_flight_drop(tl_call_flight *f, uint32_t hart, uint64_t first) {
    ring *r = &f->rings[hart];
    if (first < r->end)
        move_to_context(f, hart, first, r->end, r->suspended);
    r->end = first;
    return r->suspended;
}

void tl_call_flight_finish(tl_call_flight *f) {
    for (uint32_t hart = 0; hart < f->n_harts; hart++)
        move_to_context(f, hart, 0, (uint64_t)f->mask + 1, f->rings[hart].suspended);
}

tl_status tl_call_flight_new(tl_callgraph *graph, uint32_t n_harts, uint32_t max_in_flight, tl_call_flight **ret_flight, tl_error *err) {
    tl_call_flight *f = calloc(1, sizeof *f);
    const uint32_t n_events = tl_callgraph_n_events(graph);
    bool is_good = f != NULL;
    if (is_good) {
        f->graph = graph;
        f->n_harts = n_harts;
        f->n_events = n_events;
        f->mask = max_in_flight - 1;
        is_good = (f->sums = calloc((size_t)n_events + 1, sizeof *f->sums)) != NULL;
    }
    for (uint32_t hart = 0; is_good && hart < n_harts; hart++) {
        f->rings[hart].suspended = TL_NO_CONTEXT;
        is_good = (f->rings[hart].counts = calloc((size_t)max_in_flight * n_events + 1, sizeof *f->rings[hart].counts)) != NULL;
    }
    if (!is_good) {
        tl_call_flight_free(f);
        return tl_fail(err, TL_ENOMEM, "no memory for the call graph of instructions in flight");
    }
    *ret_flight = f;
    return TL_OK;
}

void tl_call_flight_free(tl_call_flight *f) {
    if (!f)
        return;
    for (uint32_t hart = 0; hart < f->n_harts; hart++)
        free(f->rings[hart].counts);
    free(f->sums);
    free(f);
}
