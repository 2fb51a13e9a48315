// SPDX-License-Identifier: MIT
// The tap of a recording; see recording_tap.h.
#include "session/recording_tap.h"

#include "model/callgraph_flight.h"
#include "model/flow.h"

static tl_recorded_tap *recorded(tl_tap *tap) { return (tl_recorded_tap *)(void *)tap; }

static void take_record(tl_tap *tap, const tl_cycle_record *record) {
    (void)tap;
    (void)record;
}

static void begin(tl_tap *tap, tl_hart *h) {
    (void)tap;
    tl_attribution_begin(h);
}

static void end(tl_tap *tap, tl_hart *h) {
    const tl_recorded_tap *r = recorded(tap);
    if (r->flight)
        tl_call_flight_suspend(r->flight, h->id);
}

static uint64_t *counts_of(const tl_recorded_tap *r, const tl_hart *h, const tl_tap_owner *owner) {
    if (!r->flight)
        return NULL;
    return owner->seq == TL_TAP_RETIRED ? tl_callgraph_counts(r->graph, owner->place) : tl_call_flight_counts(r->flight, h->id, owner->seq);
}

static void own(tl_tap *tap, tl_hart *h, const tl_tap_owner *owner) {
    tl_attribution_own_running(h, owner->pc, counts_of(recorded(tap), h, owner));
}

static void own_as_before(tl_tap *tap, tl_hart *h) {
    (void)tap;
    tl_attribution_own_as_before(h);
}

// Counts from now on belong to the instruction, in the context under way.
static uint32_t commit(tl_recorded_tap *r, tl_hart *h, uint64_t seq, uint64_t pc) {
    if (!r->flight) {
        tl_attribution_own_running(h, pc, NULL);
        return TL_NO_CONTEXT;
    }
    tl_attribution_own_running(h, pc, tl_callgraph_counts(r->graph, tl_callgraph_under_way(r->graph, h->id)));
    return tl_call_flight_retire(r->flight, h->id, seq);
}

static uint32_t retired(tl_tap *tap, tl_hart *h, const tl_tap_retirement *of) {
    tl_recorded_tap *r = recorded(tap);
    const uint32_t context = commit(r, h, of->seq, of->pc);
    tl_attribution_execute(h, of->pc, 1);
    if (!r->flight || (of->cls != TL_CLASS_JAL && of->cls != TL_CLASS_JALR))
        return context;
    const tl_call_jump jump = {.pc = of->pc,
                               .target = of->next_pc,
                               .return_pc = of->return_pc,
                               .sp = of->sp,
                               .is_call = of->is_call,
                               .is_return = of->is_return,
                               .is_indirect = of->cls == TL_CLASS_JALR};
    tl_callgraph_tell_jump(r->graph, h->id, &jump);
    return context;
}

static uint32_t alone(tl_tap *tap, tl_hart *h, uint64_t seq, uint64_t pc) { return commit(recorded(tap), h, seq, pc); }

static void squash(tl_tap *tap, tl_hart *h, uint64_t to) {
    const tl_recorded_tap *r = recorded(tap);
    if (r->flight)
        tl_call_flight_squash(r->flight, h->id, to);
}

// The owner may be one of them, and counts until the next owner are those of their end.
static void drop(tl_tap *tap, tl_hart *h, uint64_t first) {
    const tl_recorded_tap *r = recorded(tap);
    if (!r->flight)
        return;
    tl_attribution_book(h);
    const uint32_t context = tl_call_flight_drop(r->flight, h->id, first);
    tl_attribution_own_in(h->attribution, tl_callgraph_counts(r->graph, context));
}

static const tl_tap_owners owners = {.begin = begin,
                                     .end = end,
                                     .own = own,
                                     .own_as_before = own_as_before,
                                     .retired = retired,
                                     .alone = alone,
                                     .squash = squash,
                                     .drop = drop};

tl_status tl_recorded_tap_begin(tl_recorded_tap *r, tl_machine *machine, tl_callgraph *graph, tl_error *err) {
    *r = (tl_recorded_tap){.tap = {.record = take_record, .owners = &owners}, .machine = machine, .graph = graph};
    tl_status status = TL_OK;
    if (graph)
        status = tl_call_flight_new(graph, machine->n_harts, TL_MAX_IN_FLIGHT, &r->flight, err);
    return status == TL_OK ? tl_machine_tap(machine, &r->tap, err) : status;
}

void tl_recorded_tap_end(tl_recorded_tap *r) {
    if (!r->machine)
        return;
    (void)!tl_machine_tap(r->machine, NULL, NULL);
    tl_hart *h = r->machine->harts[0];
    if (r->flight) {
        // The owner may be in flight.
        tl_attribution_book(h);
        tl_attribution_own_in(h->attribution, tl_callgraph_counts(r->graph, tl_callgraph_under_way(r->graph, h->id)));
        tl_call_flight_finish(r->flight);
    }
    r->machine = NULL;
}

void tl_recorded_tap_done(tl_recorded_tap *r) {
    tl_recorded_tap_end(r);
    tl_call_flight_free(r->flight);
    r->flight = NULL;
}
