// SPDX-License-Identifier: MIT
// Branch prediction by hand: reset contents, counters, history, targets, returns. Mispredict costs
// 3, redirect 1.
#include <string.h>

#include "base/testing.h"
#include "model/bpred_reset.h"
#include "model/engine.h"

typedef struct fixture {
    tl_arena arena;
    tl_bpred bp;
    uint64_t tally[TL_S_N_CELLS];
} fixture;

static const uint64_t PC = 0x1000, BACK = 0xf00, AHEAD = 0x1100;

static void start(fixture *f, tl_bp_kind kind) {
    memset(f, 0, sizeof *f);
    tl_config config;
    tl_config_default(&config);
    config.bp = (tl_bp_config){.kind = kind, .counters = 64, .history_bits = 4, .btb_entries = 16, .ras_entries = 2};
    config.pipeline.mispredict_cycles = 3;
    config.pipeline.redirect_cycles = 1;
    tl_error err;
    assert_int_equal(tl_bpred_init(&f->bp, &config, &f->arena, &err), TL_OK);
}

static uint64_t branch(fixture *f, uint64_t pc, uint64_t target, bool is_taken) {
    return tl_bpred_branch(&f->bp, f->tally, pc, target, is_taken);
}

static void test_counters_start_weakly_not_taken_and_saturate(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT);
    assert_int_equal(branch(&f, PC, BACK, false), 0); // 1 -> 0
    assert_int_equal(branch(&f, PC, BACK, false), 0); // stays 0
    assert_int_equal(branch(&f, PC, BACK, true), 3);  // -> 1
    assert_int_equal(branch(&f, PC, BACK, true), 3);  // -> 2
    // The counter becomes 3. The BTB knows the target since the first taken branch.
    assert_int_equal(branch(&f, PC, BACK, true), 0);
    assert_int_equal(branch(&f, PC, BACK, true), 0);  // stays 3
    assert_int_equal(branch(&f, PC, BACK, false), 3); // -> 2
    assert_int_equal(branch(&f, PC, BACK, true), 0);
    assert_int_equal(f.tally[TL_S_BP_COND_MISS], 3);
    assert_int_equal(f.tally[TL_S_BP_COND_MISS_TAKEN], 2);
    assert_int_equal(f.tally[TL_S_HART_BRANCH_TAKEN], 5);
    assert_int_equal(f.tally[TL_S_HART_CYC_MISPREDICT], 9);
    assert_int_equal(f.tally[TL_S_BP_BTB_FILL], 1);
    tl_arena_done(&f.arena);
}

static void test_table_of_outcomes_says_what_a_branch_does(void **state) {
    (void)state;
    for (uint8_t value = 0; value < 4; value++)
        for (int is_taken = 0; is_taken < 2; is_taken++) {
            fixture f, g;
            start(&f, TL_BP_BHT);
            start(&g, TL_BP_BHT);
            // The BTB knows it, and the table says nothing of that.
            tl_bpred_jump(&f.bp, f.tally, PC, BACK);
            memset(f.tally, 0, sizeof f.tally);
            memset(f.bp.counters, value, 64);
            assert_int_equal(branch(&f, PC, BACK, is_taken), g.bp.outcomes.cycles[is_taken][value]);
            assert_int_equal(f.bp.counters[PC >> 1 & 63], g.bp.outcomes.next[is_taken][value]);
            memcpy(g.bp.counts, g.bp.outcomes.counts[is_taken][value], sizeof g.bp.counts);
            tl_bpred_fold(&g.bp, g.tally);
            assert_memory_equal(f.tally, g.tally, sizeof f.tally);
            tl_bpred_fold(&g.bp, g.tally); // once only
            assert_memory_equal(f.tally, g.tally, sizeof f.tally);
            tl_arena_done(&f.arena);
            tl_arena_done(&g.arena);
        }
}

static void test_first_branch_taken_is_mispredicted(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT);
    assert_int_equal(branch(&f, PC, BACK, true), 3); // 1 -> 2
    assert_int_equal(branch(&f, PC, BACK, true), 0);
    tl_arena_done(&f.arena);
}

static void test_history_tells_alternating_outcomes_apart(void **state) {
    (void)state;
    static const tl_bp_kind kinds[] = {TL_BP_BHT, TL_BP_GSHARE};
    uint64_t misses[2];
    for (int i = 0; i < 2; i++) {
        fixture f;
        start(&f, kinds[i]);
        for (int n = 0; n < 100; n++)
            branch(&f, PC, BACK, n % 2 == 0);
        misses[i] = f.tally[TL_S_BP_COND_MISS];
        tl_arena_done(&f.arena);
    }
    assert_int_equal(misses[0], 100); // 1 -> 2 -> 1 -> 2 .., always wrong
    // Taken at histories 0000, 0010, 1010, then 1010 for good; a counter is right from its second
    // use. Not taken is right at once.
    assert_int_equal(misses[1], 3);
}

static void test_fixed_predictors_look_at_the_direction_only(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BTFN);
    branch(&f, PC, BACK, true); // fills the BTB, costs a redirect
    assert_int_equal(f.tally[TL_S_HART_CYC_REDIRECT], 1);
    assert_int_equal(branch(&f, PC, BACK, true), 0);
    assert_int_equal(branch(&f, PC, BACK, false), 3);
    assert_int_equal(branch(&f, PC, AHEAD, false), 0);
    assert_int_equal(branch(&f, PC, AHEAD, true), 3);
    tl_arena_done(&f.arena);
    start(&f, TL_BP_NOT_TAKEN);
    for (int n = 0; n < 5; n++) {
        assert_int_equal(branch(&f, PC, BACK, true), 3);
        assert_int_equal(branch(&f, PC, BACK, false), 0);
    }
    tl_arena_done(&f.arena);
}

static void test_direct_jump_redirects_until_the_btb_knows_it(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT);
    assert_int_equal(tl_bpred_jump(&f.bp, f.tally, PC, AHEAD), 1);
    assert_int_equal(tl_bpred_jump(&f.bp, f.tally, PC, AHEAD), 0);
    assert_int_equal(tl_bpred_jump(&f.bp, f.tally, PC + 16 * 2, AHEAD), 1); // same entry of sixteen
    assert_int_equal(tl_bpred_jump(&f.bp, f.tally, PC, AHEAD), 1);
    assert_int_equal(f.tally[TL_S_BP_REDIRECT], 3);
    assert_int_equal(f.tally[TL_S_BP_BTB_FILL], 3);
    tl_arena_done(&f.arena);
}

static void test_indirect_jump_predicts_its_last_target(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, AHEAD, PC + 4, false, false), 3);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, AHEAD, PC + 4, false, false), 0);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, BACK, PC + 4, false, false), 3);
    assert_int_equal(f.tally[TL_S_BP_INDIRECT_MISS], 2);
    assert_int_equal(f.tally[TL_S_BP_TARGET_MISS], 2);
    assert_int_equal(f.tally[TL_S_HART_CYC_TARGET], 6);
    tl_arena_done(&f.arena);
}

static void test_returns_come_back_in_order_as_deep_as_the_stack(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT); // two entries
    tl_bpred_push(&f.bp, 0x10);
    tl_bpred_push(&f.bp, 0x20);
    tl_bpred_push(&f.bp, 0x30); // the oldest is lost
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, 0x30, PC + 4, false, true), 0);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, 0x20, PC + 4, false, true), 0);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, 0x10, PC + 4, false, true), 3); // empty
    assert_int_equal(f.tally[TL_S_BP_RETURN_MISS], 1);
    assert_int_equal(f.tally[TL_S_BP_BTB_FILL], 0); // returns leave the BTB alone
    tl_arena_done(&f.arena);
}

static void test_a_jump_may_be_call_and_return(void **state) {
    (void)state;
    fixture f;
    start(&f, TL_BP_BHT);
    tl_bpred_push(&f.bp, 0x10);
    // A coroutine's jump pops, then pushes.
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, 0x10, PC + 4, true, true), 0);
    assert_int_equal(tl_bpred_indirect(&f.bp, f.tally, PC, PC + 4, 0x99, false, true), 0);
    tl_arena_done(&f.arena);
}

static void test_impossible_tables_are_refused_by_name(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_config config;
    tl_bpred bp;
    tl_error err;
    tl_config_default(&config);
    config.bp.counters = 100;
    assert_int_equal(tl_bpred_init(&bp, &config, &arena, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "bp.counters"));
    tl_config_default(&config);
    config.bp.btb_entries = 0;
    assert_int_equal(tl_bpred_init(&bp, &config, &arena, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "bp.btb_entries"));
    tl_config_default(&config);
    config.bp.kind = TL_BP_GSHARE;
    config.bp.history_bits = 64;
    assert_int_equal(tl_bpred_init(&bp, &config, &arena, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "bp.history_bits"));
    config.bp.history_bits = 63;
    assert_int_equal(tl_bpred_init(&bp, &config, &arena, &err), TL_OK);
    tl_config_default(&config);
    config.bp.ras_entries = 0;
    assert_int_equal(tl_bpred_init(&bp, &config, &arena, &err), TL_OK);
    tl_bpred_push(&bp, 0x10);
    assert_int_equal(tl_bpred_pop(&bp), UINT64_MAX);
    tl_arena_done(&arena);
}

// Every entry is written: neither another table nor what is allocated next changes.
static void test_tables_are_as_large_as_the_machine_says(void **state) {
    (void)state;
    // Sizes of counters, BTB, return stack.
    static const uint32_t sizes[][3] = {{1, 1, 0}, {1, 1, 1}, {64, 16, 9}, {4096, 1024, 100}};
    for (size_t i = 0; i < TL_COUNT_OF(sizes); i++) {
        fixture f = {0};
        tl_config config;
        tl_config_default(&config);
        config.bp = (tl_bp_config){.kind = TL_BP_BHT, .counters = sizes[i][0], .btb_entries = sizes[i][1], .ras_entries = sizes[i][2]};
        tl_error err;
        assert_int_equal(tl_bpred_init(&f.bp, &config, &f.arena, &err), TL_OK);
        uint8_t *next = tl_arena_alloc(&f.arena, 4096), same[4096];
        assert_non_null(next);
        memset(next, 0xa5, 4096);
        memset(same, 0xa5, 4096);
        for (uint64_t n = 0; n < sizes[i][2]; n++)
            tl_bpred_push(&f.bp, UINT64_MAX - n);
        for (uint64_t n = 0; n < 8192; n++) // every counter to 3, every entry of the BTB
            for (int k = 0; k < 3; k++)
                branch(&f, 2 * n, BACK, true);
        assert_memory_equal(next, same, sizeof same);
        for (uint64_t n = 0; n < sizes[i][0]; n++)
            assert_int_equal(f.bp.counters[n], 3);
        for (uint64_t n = 0; n < sizes[i][1]; n++)
            assert_int_equal(f.bp.btb[n].target, BACK);
        for (uint64_t n = sizes[i][2]; n-- > 0;)
            assert_true(tl_bpred_pop(&f.bp) == UINT64_MAX - n);
        tl_arena_done(&f.arena);
    }
}

static void test_length_of_history_matters_to_gshare_only(void **state) {
    (void)state;
    static const tl_bp_kind kinds[] = {TL_BP_BHT, TL_BP_BTFN, TL_BP_NOT_TAKEN};
    for (size_t i = 0; i < TL_COUNT_OF(kinds); i++) {
        fixture f = {0};
        tl_config config;
        tl_config_default(&config);
        config.bp.kind = kinds[i];
        config.bp.history_bits = 64;
        tl_error err;
        assert_int_equal(tl_bpred_init(&f.bp, &config, &f.arena, &err), TL_OK);
        assert_int_equal(f.bp.history_mask, 0);
        tl_arena_done(&f.arena);
    }
}

static void test_clock_is_split_without_remainder(void **state) {
    (void)state;
    static tl_hart h;
    uint64_t tally[TL_S_N_CELLS] = {0};
    h.tally = tally;
    h.now = 1000;
    h.idle_cycles = 100;
    h.supervisor_cycles = 30;
    h.instret = 777;
    for (int i = 0; i < 2; i++) { // idempotent
        tl_hart_sync_clock(&h);
        assert_int_equal(tally[TL_S_HART_CYCLE], 900);
        assert_int_equal(tally[TL_S_HART_CYCLE_U], 870);
        assert_int_equal(tally[TL_S_HART_CYCLE_S], 30);
        assert_int_equal(tally[TL_S_HART_CYCLE_M], 0);
        assert_int_equal(tally[TL_S_HART_IDLE_CYCLE], 100);
        assert_int_equal(tally[TL_S_HART_INSTRET], 777);
        assert_int_equal(tally[TL_S_HART_INSTRET_U], 777);
    }
}

// Every kind of look-up costs after a reset what it costs in a new predictor.
static void test_a_reset_predictor_is_a_new_one(void **state) {
    (void)state;
    static const tl_bp_kind kinds[] = {TL_BP_BHT, TL_BP_GSHARE, TL_BP_NOT_TAKEN, TL_BP_BTFN};
    for (size_t k = 0; k < TL_COUNT_OF(kinds); k++) {
        uint64_t cycles[2] = {0, 0};
        for (uint32_t is_used = 0; is_used < 2; is_used++) {
            fixture f;
            start(&f, kinds[k]);
            for (uint64_t i = 0; is_used && i < 500; i++) {
                branch(&f, PC + 2 * (i % 70), i % 3 ? BACK : AHEAD, i % 5 != 0);
                tl_bpred_push(&f.bp, i);
            }
            if (is_used)
                tl_bpred_reset(&f.bp);
            assert_true(tl_bpred_pop(&f.bp) == UINT64_MAX);
            for (uint64_t i = 0; i < 200; i++)
                cycles[is_used] = cycles[is_used] * 5 + branch(&f, PC + 2 * (i % 70), i % 3 ? BACK : AHEAD, i % 5 != 0);
            tl_arena_done(&f.arena);
        }
        assert_true(cycles[0] == cycles[1]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_reset_predictor_is_a_new_one),
    cmocka_unit_test(test_counters_start_weakly_not_taken_and_saturate),
    cmocka_unit_test(test_table_of_outcomes_says_what_a_branch_does),
    cmocka_unit_test(test_first_branch_taken_is_mispredicted),
    cmocka_unit_test(test_history_tells_alternating_outcomes_apart),
    cmocka_unit_test(test_fixed_predictors_look_at_the_direction_only),
    cmocka_unit_test(test_direct_jump_redirects_until_the_btb_knows_it),
    cmocka_unit_test(test_indirect_jump_predicts_its_last_target),
    cmocka_unit_test(test_returns_come_back_in_order_as_deep_as_the_stack),
    cmocka_unit_test(test_a_jump_may_be_call_and_return),
    cmocka_unit_test(test_impossible_tables_are_refused_by_name),
    cmocka_unit_test(test_tables_are_as_large_as_the_machine_says),
    cmocka_unit_test(test_length_of_history_matters_to_gshare_only),
    cmocka_unit_test(test_clock_is_split_without_remainder),
};

TL_TEST_MAIN(tests)
