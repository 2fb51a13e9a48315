// SPDX-License-Identifier: MIT
// Call graphs: random calls and returns against a plain stack, and the ways of going back up that
// are no returns.
#include "model/test_callgraph.h"

static uint64_t random_of(uint64_t *state, uint64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (*state >> 33) % n;
}

// Functions call only later ones, so no context is entered by recursion. The reference is the path
// of entries and call sites, compared from the context up to the root.
static void test_random_calls_have_the_contexts_of_a_plain_stack(void **state) {
    (void)state;
    enum { DEPTH = 12 };
    rig r;
    rig_new(&r);
    uint64_t entries[DEPTH + 1] = {0x1000}, sites[DEPTH + 1] = {0}, sps[DEPTH + 1] = {SP}, n_calls = 0, seed = 7;
    uint32_t depth = 0;
    for (uint32_t step = 0; step < 20000; step++) {
        const uint64_t what = random_of(&seed, 10);
        if (what < 5 && depth < DEPTH) {
            const uint64_t site = entries[depth] + 8 * random_of(&seed, 3), target = 0x1000 * (depth + 2) + 0x100 * random_of(&seed, 3);
            call(&r, site, target, sps[depth]);
            n_calls += 1;
            entries[++depth] = target;
            sites[depth] = site;
            sps[depth] = sps[depth - 1] - FRAME;
        } else if (what < 9 && depth > 0) {
            go_back(&r, sites[depth], sps[depth - 1]);
            depth -= 1;
        } else if (depth > 2) { // longjmp into an outer function, past its own calls
            depth = (uint32_t)random_of(&seed, depth - 1) + 1;
            tl_callgraph_return(r.graph, 0, entries[depth] + 100, sps[depth]);
        }
        uint32_t at = current(&r);
        for (uint32_t k = depth + 1; k-- > 0; at = tl_callgraph_context(r.graph, at)->parent) {
            const tl_call_context *context = tl_callgraph_context(r.graph, at);
            assert_int_equal(context->entry_pc, entries[k]);
            assert_int_equal(context->call_pc, sites[k]);
        }
        assert_int_equal(at, TL_NO_CONTEXT);
    }
    uint64_t n_entered = 0;
    for (uint32_t i = 1; i < tl_callgraph_n_contexts(r.graph); i++)
        n_entered += tl_callgraph_context(r.graph, i)->n_calls;
    assert_int_equal(n_entered, n_calls);
    rig_free(&r);
}

static void test_deep_recursion_has_few_contexts(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    rig r;
    rig_new(&r);
    const uint64_t top = UINT64_C(1) << 40;
    for (uint64_t k = 0; k < DEPTH; k++)
        call(&r, k == 0 ? 0x1008 : 0x2008, 0x2000, top - k * FRAME);
    assert_int_equal(tl_callgraph_n_contexts(r.graph), 3);
    assert_int_equal(tl_callgraph_context(r.graph, 2)->n_calls, DEPTH - 1);
    for (uint64_t k = DEPTH; k-- > 0;)
        go_back(&r, k == 0 ? 0x1008 : 0x2008, top - k * FRAME);
    assert_int_equal(current(&r), 0);
    rig_free(&r);
}

static void test_coroutines_keep_their_stacks(void **state) {
    (void)state;
    enum { OTHER = SP / 2 };
    rig r;
    rig_new(&r);
    call(&r, 0x1008, 0x2000, SP);                   // main calls switch,
    tl_callgraph_return(r.graph, 0, 0x3000, OTHER); // which begins a coroutine
    assert_int_equal(current_entry(&r), 0x3000);    // on a stack of its own
    call(&r, 0x3008, 0x4000, OTHER);                // that calls f,
    call(&r, 0x4008, 0x2000, OTHER - FRAME);        // which calls switch
    go_back(&r, 0x1008, SP);                        // back to main
    assert_int_equal(current(&r), 0);
    call(&r, 0x1010, 0x2000, SP);
    go_back(&r, 0x4008, OTHER - FRAME); // on in f
    assert_int_equal(current_entry(&r), 0x4000);
    go_back(&r, 0x3008, OTHER);
    assert_int_equal(tl_callgraph_context(r.graph, current(&r))->parent, TL_NO_CONTEXT);
    rig_free(&r);
}

static void test_tail_calls_replace_their_context(void **state) {
    (void)state;
    rig r;
    rig_new(&r);
    call(&r, 0x1008, 0x3000, SP); // g is known from now on
    go_back(&r, 0x1008, SP);
    call(&r, 0x1010, 0x2000, SP);
    assert_false(tl_callgraph_wants_jump(r.graph, 0x2010));
    assert_true(tl_callgraph_wants_jump(r.graph, 0x3000));
    tl_callgraph_jump(r.graph, 0, 0x2010, SP); // within f
    assert_int_equal(current_entry(&r), 0x2000);
    tl_callgraph_jump(r.graph, 0, 0x3000, SP); // f ends with g
    assert_int_equal(current_entry(&r), 0x3000);
    assert_int_equal(tl_callgraph_context(r.graph, current(&r))->call_pc, 0x1010);
    go_back(&r, 0x1010, SP);
    assert_int_equal(current(&r), 0);
    const uint32_t generation = tl_callgraph_generation(r.graph);
    call(&r, 0x1018, 0x2010, SP); // what was asked for before is an entry now
    assert_int_not_equal(tl_callgraph_generation(r.graph), generation);
    rig_free(&r);
}

// Millicode is called with t0 and lowers the stack pointer for its caller.
static void test_millicode_returns_with_another_stack_pointer(void **state) {
    (void)state;
    rig r;
    rig_new(&r);
    call(&r, 0x1008, 0x2000, SP);
    call(&r, 0x2000, 0x6000, SP);
    go_back(&r, 0x2000, SP - FRAME);
    assert_int_equal(current_entry(&r), 0x2000);
    go_back(&r, 0x1008, SP);
    assert_int_equal(current(&r), 0);
    rig_free(&r);
}

static void test_spaces_have_stacks_of_their_own(void **state) {
    (void)state;
    rig r;
    rig_new(&r);
    call(&r, 0x1008, 0x2000, SP);
    tl_attribution_set_space(r.attribution, 0, 9);
    r.h->pc = 0x7000;
    tl_attribution_begin(r.h);
    assert_int_equal(current_entry(&r), 0x7000);
    assert_int_equal(tl_callgraph_context(r.graph, current(&r))->space, 9);
    tl_attribution_set_space(r.attribution, 0, 0);
    tl_attribution_begin(r.h);
    assert_int_equal(current_entry(&r), 0x2000);
    rig_free(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_calls_have_the_contexts_of_a_plain_stack),
    cmocka_unit_test(test_deep_recursion_has_few_contexts),
    cmocka_unit_test(test_coroutines_keep_their_stacks),
    cmocka_unit_test(test_tail_calls_replace_their_context),
    cmocka_unit_test(test_millicode_returns_with_another_stack_pointer),
    cmocka_unit_test(test_spaces_have_stacks_of_their_own),
};

TL_TEST_MAIN(tests)
