// SPDX-License-Identifier: MIT
// Counts of instructions in flight: against a model that keeps each event by itself, and the ways
// in which an instruction ends.
#include "model/callgraph_flight.h"
#include "model/test_callgraph.h"

enum { MAX_IN_FLIGHT = 16 };

typedef struct flight_rig {
    rig base;
    tl_call_flight *flight;
} flight_rig;

static void flight_new(flight_rig *r) {
    tl_error err = {0};
    rig_new(&r->base);
    assert_int_equal(tl_call_flight_new(r->base.graph, 2, MAX_IN_FLIGHT, &r->flight, &err), TL_OK);
}

static void flight_free(flight_rig *r) {
    tl_call_flight_free(r->flight);
    tl_callgraph_free(r->base.graph);
    tl_attribution_free(r->base.attribution);
    free(r->base.h);
}

static void count(const flight_rig *r, uint64_t seq, uint64_t n) { tl_call_flight_counts(r->flight, 0, seq)[0] += n; }
static uint64_t counts_of(const flight_rig *r, uint32_t context) { return tl_callgraph_context(r->base.graph, context)->counts[0]; }
static uint32_t under_way(const flight_rig *r) { return tl_callgraph_under_way(r->base.graph, 0); }

// Each event of the model knows the instruction that has it now.
typedef struct event {
    uint64_t seq, n;
} event;

typedef struct model {
    event events[4096];
    uint32_t n_events;
    uint64_t by_context[64];
} model;

static void give(model *m, uint64_t first, uint64_t last, uint32_t context) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_events; i++) {
        if (m->events[i].seq >= first && m->events[i].seq <= last)
            m->by_context[context] += m->events[i].n;
        else
            m->events[n++] = m->events[i];
    }
    m->n_events = n;
}

static uint64_t random_of(uint64_t *state, uint64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (*state >> 33) % n;
}

static void test_random_paths_have_the_counts_of_single_events(void **state) {
    (void)state;
    flight_rig r;
    flight_new(&r);
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    uint64_t retired = 0, fetched = 0, seed = 3, depth = 0;
    for (uint32_t step = 0; step < 100000; step++) {
        const uint64_t what = random_of(&seed, 100), n_in_flight = fetched - retired;
        if (what < 45) { // an event of an instruction in flight, or of the next one
            const uint64_t seq = retired + random_of(&seed, n_in_flight + (n_in_flight < MAX_IN_FLIGHT)), n = random_of(&seed, 5) - 1;
            count(&r, seq, n);
            m->events[m->n_events++] = (event){.seq = seq, .n = n};
            assert_true(m->n_events < TL_COUNT_OF(m->events));
        } else if (what < 70 && n_in_flight < MAX_IN_FLIGHT) {
            fetched += 1;
        } else if (what < 90 && n_in_flight > 0) {
            const uint32_t context = under_way(&r);
            assert_int_equal(tl_call_flight_retire(r.flight, 0, retired), context);
            give(m, retired, retired, context);
            retired += 1;
            if (random_of(&seed, 2) == 0 && depth < 6) {
                call(&r.base, 0x1008 + 0x1000 * depth, 0x2000 + 0x1000 * depth, SP - depth * FRAME);
                depth += 1;
            } else if (depth > 0 && random_of(&seed, 2) == 0) {
                depth -= 1;
                go_back(&r.base, 0x1008 + 0x1000 * depth, SP - depth * FRAME);
            }
        } else if (what < 96 && n_in_flight > 0) { // a squash; `to` may be taken back, too
            const uint64_t to = retired + random_of(&seed, n_in_flight);
            tl_call_flight_squash(r.flight, 0, to);
            for (uint32_t i = 0; i < m->n_events; i++)
                m->events[i].seq = m->events[i].seq > to ? to : m->events[i].seq;
            fetched = to + random_of(&seed, 2);
        } else if (what == 96 && n_in_flight == 0) { // alone
            give(m, fetched, fetched, tl_call_flight_retire(r.flight, 0, fetched));
        } else if (what == 97) { // a run ends
            tl_call_flight_suspend(r.flight, 0);
        } else if (what == 98) { // an interrupt
            const uint32_t context = under_way(&r);
            tl_call_flight_suspend(r.flight, 0);
            call(&r.base, 0x10, 0x9000, SP - depth * FRAME);
            assert_int_equal(tl_call_flight_drop(r.flight, 0, retired), context);
            go_back(&r.base, 0x10, SP - depth * FRAME);
            give(m, retired, UINT64_MAX, context);
            fetched = retired;
        }
        for (uint32_t i = 0; i < tl_callgraph_n_contexts(r.base.graph); i++)
            assert_int_equal(counts_of(&r, i), m->by_context[i]);
    }
    tl_call_flight_suspend(r.flight, 0);
    tl_call_flight_finish(r.flight);
    give(m, 0, UINT64_MAX, under_way(&r));
    assert_true(tl_callgraph_n_contexts(r.base.graph) >= 8);
    for (uint32_t i = 0; i < tl_callgraph_n_contexts(r.base.graph); i++)
        assert_int_equal(counts_of(&r, i), m->by_context[i]);
    free(m);
    flight_free(&r);
}

static void test_wrong_path_belongs_to_the_context_of_its_branch(void **state) {
    (void)state;
    flight_rig r;
    flight_new(&r);
    count(&r, 0, 1);    // a call in flight,
    count(&r, 1, 10);   // a branch in the function,
    count(&r, 2, 100);  // and what it predicted wrongly
    count(&r, 3, 1000); // up to the next fetch
    tl_call_flight_squash(r.flight, 0, 1);
    count(&r, 2, 10000); // the right path
    assert_int_equal(tl_call_flight_retire(r.flight, 0, 0), 0);
    call(&r.base, 0x1008, 0x2000, SP);
    const uint32_t callee = tl_call_flight_retire(r.flight, 0, 1);
    assert_int_equal(counts_of(&r, 0), 1);
    assert_int_equal(counts_of(&r, callee), 1110);
    go_back(&r.base, 0x1008, SP);
    assert_int_equal(tl_call_flight_retire(r.flight, 0, 2), 0);
    assert_int_equal(counts_of(&r, 0), 10001);
    assert_int_equal(counts_of(&r, callee), 1110);
    flight_free(&r);
}

static void test_harts_hold_their_own_counts(void **state) {
    (void)state;
    flight_rig r;
    flight_new(&r);
    count(&r, 5, 1);
    tl_call_flight_counts(r.flight, 1, 5)[0] += 10;
    tl_call_flight_squash(r.flight, 1, 4);
    tl_call_flight_suspend(r.flight, 0);
    assert_int_equal(tl_call_flight_drop(r.flight, 0, 5), 0);
    assert_int_equal(counts_of(&r, 0), 1);
    flight_free(&r);
}

// A region may end and begin while an instruction is in flight.
static void test_outside_of_a_region_nothing_is_held(void **state) {
    (void)state;
    flight_rig r;
    flight_new(&r);
    count(&r, 0, 1);
    tl_attribution_set_outside(r.base.attribution, true);
    count(&r, 0, 10);
    count(&r, 1, 10);
    call(&r.base, 0x1008, 0x2000, SP);
    const uint32_t callee = tl_call_flight_retire(r.flight, 0, 0);
    assert_int_equal(tl_callgraph_context(r.base.graph, callee)->entry_pc, 0x2000);
    assert_int_equal(counts_of(&r, callee), 1);
    tl_attribution_set_outside(r.base.attribution, false);
    count(&r, 1, 100);
    tl_call_flight_retire(r.flight, 0, 1);
    assert_int_equal(counts_of(&r, callee), 101);
    assert_int_equal(counts_of(&r, 0), 0);
    flight_free(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_paths_have_the_counts_of_single_events),
    cmocka_unit_test(test_wrong_path_belongs_to_the_context_of_its_branch),
    cmocka_unit_test(test_harts_hold_their_own_counts),
    cmocka_unit_test(test_outside_of_a_region_nothing_is_held),
};

TL_TEST_MAIN(tests)
