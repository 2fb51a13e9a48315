// SPDX-License-Identifier: MIT
// A call graph without a machine, for its tests. Its event is executed instructions.
#ifndef TL_MODEL_TEST_CALLGRAPH_H
#define TL_MODEL_TEST_CALLGRAPH_H

#include <stdlib.h>

#include "base/testing.h"
#include "model/callgraph.h"

enum { N_EVENTS = 1, SP = 1 << 20, FRAME = 32, SITE = 4 };

typedef struct rig {
    uint64_t tally[TL_S_N_CELLS];
    tl_probe probe;
    tl_attribution *attribution;
    tl_callgraph *graph;
    tl_hart *h;
} rig;

static inline void rig_new(rig *r) {
    tl_error err = {0};
    uint8_t event_of[TL_S_N_CELLS];
    memset(event_of, TL_NO_EVENT, sizeof event_of);
    *r = (rig){.h = calloc(1, sizeof *r->h)};
    assert_non_null(r->h);
    r->probe = (tl_probe){.tally = r->tally, .n_cells = TL_S_N_CELLS};
    r->h->tally = r->tally;
    assert_int_equal(tl_attribution_new(&r->probe, 1, &r->attribution, &err), TL_OK);
    assert_int_equal(tl_callgraph_new(r->attribution, &r->probe, event_of, N_EVENTS, 0, &r->graph, &err), TL_OK);
    r->h->attribution = r->attribution;
    r->h->pc = 0x1000;
    tl_attribution_begin(r->h);
}

static inline void rig_free(rig *r) {
    tl_error err = {0};
    assert_int_equal(tl_callgraph_check(r->graph, &err), TL_OK);
    tl_callgraph_free(r->graph);
    tl_attribution_free(r->attribution);
    free(r->h);
}

static inline void execute(rig *r, uint64_t n) { tl_attribution_execute(r->h, 0x5000, (int64_t)n); }

static inline void call(rig *r, uint64_t pc, uint64_t target, uint64_t sp) { tl_callgraph_call(r->graph, 0, pc, target, pc + SITE, sp); }

static inline void go_back(rig *r, uint64_t pc, uint64_t sp) { tl_callgraph_return(r->graph, 0, pc + SITE, sp); }

// The context that counted the last instruction.
static inline uint32_t current(rig *r) {
    const uint32_t n = tl_callgraph_n_contexts(r->graph);
    uint64_t *before = malloc(n * sizeof *before);
    assert_non_null(before);
    for (uint32_t i = 0; i < n; i++)
        before[i] = tl_callgraph_context(r->graph, i)->counts[0];
    execute(r, 1);
    uint32_t found = TL_NO_CONTEXT;
    for (uint32_t i = 0; i < n; i++)
        if (tl_callgraph_context(r->graph, i)->counts[0] != before[i])
            found = i;
    free(before);
    return found;
}

static inline uint64_t current_entry(rig *r) { return tl_callgraph_context(r->graph, current(r))->entry_pc; }

#endif
