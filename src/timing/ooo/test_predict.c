// SPDX-License-Identifier: MIT
// A predictor that is given the log of another engine predicts as one that saw the same path
// itself, with branches in flight, wrong paths and late training.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "model/flow.h"
#include "timing/ooo/ooo.h"

enum { N_BTB = 64, N_RAS = 8, N_IN_FLIGHT = 24, N_LEARNED = 20000, N_COMPARED = 4000 };

typedef struct rig {
    tl_config config;
    tl_arena arena;
    tl_bpred bp;
    predictor p;
    uint64_t tally[TL_S_N_CELLS];
} rig;

static void open_rig(rig *r, tl_bp_kind kind) {
    memset(r, 0, sizeof *r);
    tl_config_default(&r->config);
    r->config.core.kind = TL_CORE_OUT_OF_ORDER;
    r->config.bp.kind = kind;
    r->config.bp.counters = 512;
    r->config.bp.history_bits = 9;
    r->config.bp.tables = 6;
    r->config.bp.table_entries = 128;
    r->config.bp.min_history = 3;
    r->config.bp.max_history = 90;
    r->config.bp.btb_entries = N_BTB;
    r->config.bp.ras_entries = N_RAS;
    r->bp = (tl_bpred){.counter_mask = 511, .history_mask = 511, .btb_mask = N_BTB - 1, .ras_entries = N_RAS};
    r->bp.btb = tl_arena_alloc(&r->arena, N_BTB * sizeof *r->bp.btb);
    r->bp.ras = tl_arena_alloc(&r->arena, N_RAS * sizeof *r->bp.ras);
    if (kind == TL_BP_TAGE) {
        r->bp.fixed = TL_BPRED_LOGGED;
        r->bp.log = tl_arena_alloc(&r->arena, sizeof *r->bp.log);
    } else {
        r->bp.counters = tl_arena_alloc(&r->arena, 512);
    }
    tl_error err;
    assert_int_equal(predictor_init(&r->p, &r->bp, &r->config, &r->arena, &err), TL_OK);
}

// A program of loops, correlated branches, calls and a jump through a table.
static tl_flow_insn nth(uint64_t n) {
    const uint64_t mixed = n * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    tl_flow_insn insn = {.pc = UINT64_C(0xffff800000001000) + n % 37 * 6, .len = 4};
    switch (n % 37) {
    case 5:
        insn.pipe.cls = TL_CLASS_JALR;
        insn.next_pc = insn.pc + 64 + n / 37 % 3 * 38;
        break;
    case 11:
        insn.pipe.cls = TL_CLASS_JAL;
        insn.is_call = true;
        insn.target = insn.next_pc = insn.pc + 200;
        break;
    case 12:
        insn.pipe.cls = TL_CLASS_JALR;
        insn.is_return = true;
        insn.next_pc = insn.pc - 6 + 4;
        break;
    default:
        insn.pipe.cls = TL_CLASS_BRANCH;
        insn.target = insn.pc + 32;
        insn.is_taken = n % 37 % 3 == 0 ? n / 37 % 5 != 0 : n % 37 % 3 == 1 ? n / 37 % 3 == n % 3 : mixed % 8 == 0;
        insn.next_pc = insn.is_taken ? insn.target : insn.pc + 4;
        break;
    }
    return insn;
}

// Along the true path, with some wrong paths behind mispredictions. Training is late.
static void learn_in_flight(rig *r) {
    checkpoint before[N_IN_FLIGHT];
    bool was_right[N_IN_FLIGHT];
    for (uint64_t n = 0; n < N_LEARNED + N_IN_FLIGHT; n++) {
        if (n >= N_IN_FLIGHT) {
            const tl_flow_insn done = nth(n - N_IN_FLIGHT);
            predictor_train(&r->p, &done, &before[n % N_IN_FLIGHT], was_right[n % N_IN_FLIGHT], r->tally);
        }
        if (n >= N_LEARNED)
            continue;
        const tl_flow_insn insn = nth(n);
        const prediction is = predictor_predict(&r->p, &insn, &before[n % N_IN_FLIGHT]);
        was_right[n % N_IN_FLIGHT] = is.next_pc == insn.next_pc;
        if (is.next_pc == insn.next_pc)
            continue;
        for (uint64_t k = 0; k < n % 7; k++) {
            const tl_flow_insn wrong = {.pc = insn.pc + 100 + 2 * k, .len = 2, .pipe.cls = TL_CLASS_BRANCH, .target = insn.pc};
            checkpoint unused;
            (void)predictor_predict(&r->p, &wrong, &unused);
        }
        predictor_restore(&r->p, &before[n % N_IN_FLIGHT]);
        predictor_replay(&r->p, &insn);
    }
}

// As the engines do (model/bpred.h).
static void learn_elsewhere(rig *r, uint64_t first, uint64_t end) {
    predictor_give(&r->p, &r->bp);
    for (uint64_t n = first; n < end; n++) {
        const tl_flow_insn insn = nth(n);
        const uint64_t after = insn.pc + insn.len;
        switch (insn.pipe.cls) {
        case TL_CLASS_BRANCH:
            if (r->bp.fixed == TL_BPRED_LOGGED)
                tl_branch_note_outcome(r->bp.log, insn.pc, insn.is_taken);
            (void)tl_bpred_branch(&r->bp, r->tally, insn.pc, insn.target, insn.is_taken);
            break;
        case TL_CLASS_JAL:
            (void)tl_bpred_jump(&r->bp, r->tally, insn.pc, insn.target);
            tl_bpred_push(&r->bp, after);
            break;
        default:
            if (r->bp.fixed == TL_BPRED_LOGGED && !insn.is_return)
                tl_branch_note_target(r->bp.log, insn.pc, insn.next_pc);
            (void)tl_bpred_indirect(&r->bp, r->tally, insn.pc, insn.next_pc, after, insn.is_call, insn.is_return);
            break;
        }
    }
    predictor_take(&r->p, &r->bp);
}

static void predict_alike(rig *a, rig *b) {
    uint32_t n_wrong = 0;
    for (uint64_t n = N_LEARNED; n < N_LEARNED + N_COMPARED; n++) {
        const tl_flow_insn insn = nth(n);
        checkpoint x, y;
        const prediction one = predictor_predict(&a->p, &insn, &x), other = predictor_predict(&b->p, &insn, &y);
        assert_int_equal(one.next_pc, other.next_pc);
        assert_int_equal(one.is_taken, other.is_taken);
        assert_int_equal(one.misses_btb, other.misses_btb);
        const bool is_right = one.next_pc == insn.next_pc;
        n_wrong += !is_right;
        if (!is_right) {
            predictor_restore(&a->p, &x);
            predictor_restore(&b->p, &y);
            predictor_replay(&a->p, &insn);
            predictor_replay(&b->p, &insn);
        }
        predictor_train(&a->p, &insn, &x, is_right, a->tally);
        predictor_train(&b->p, &insn, &y, is_right, b->tally);
    }
    assert_true(n_wrong > N_COMPARED / 100 && n_wrong < N_COMPARED / 2);
}

static void agree(tl_bp_kind kind, uint64_t part) {
    rig a, b;
    open_rig(&a, kind);
    open_rig(&b, kind);
    learn_in_flight(&a);
    for (uint64_t n = 0; n < N_LEARNED; n += part)
        learn_elsewhere(&b, n, n + part);
    predict_alike(&a, &b);
    tl_arena_done(&a.arena);
    tl_arena_done(&b.arena);
}

static void test_tage_learns_from_a_log_as_from_its_own_path(void **state) {
    (void)state;
    agree(TL_BP_TAGE, N_LEARNED);
    agree(TL_BP_TAGE, 500);
}

static void test_gshare_goes_on_where_the_other_engine_stood(void **state) {
    (void)state;
    agree(TL_BP_GSHARE, N_LEARNED);
    agree(TL_BP_GSHARE, 500);
}

// A branch, a return and a branch are in flight, and a call behind them. The second branch is taken
// back first, then the first one. The address that the call overwrote is on the stack again.
static void test_nested_wrong_paths_leave_the_return_stack_whole(void **state) {
    (void)state;
    rig r;
    open_rig(&r, TL_BP_GSHARE);
    const tl_flow_insn call = {.pc = 0x1000, .len = 4, .pipe.cls = TL_CLASS_JAL, .is_call = true, .target = 0x2000, .next_pc = 0x2000};
    const tl_flow_insn wrong = {.pc = 0x5000, .len = 4, .pipe.cls = TL_CLASS_JAL, .is_call = true, .target = 0x6000, .next_pc = 0x6000};
    const tl_flow_insn branch = {.pc = 0x2000, .len = 4, .pipe.cls = TL_CLASS_BRANCH, .target = 0x2100, .next_pc = 0x2004};
    const tl_flow_insn ret = {.pc = 0x2004, .len = 4, .pipe.cls = TL_CLASS_JALR, .is_return = true, .next_pc = 0x1004};
    checkpoint older, younger, unused;
    (void)predictor_predict(&r.p, &call, &unused);
    (void)predictor_predict(&r.p, &branch, &older);
    assert_int_equal(predictor_predict(&r.p, &ret, &unused).next_pc, 0x1004);
    (void)predictor_predict(&r.p, &branch, &younger);
    (void)predictor_predict(&r.p, &wrong, &unused);
    predictor_restore(&r.p, &younger);
    predictor_restore(&r.p, &older);
    assert_int_equal(predictor_predict(&r.p, &ret, &unused).next_pc, 0x1004);
    tl_arena_done(&r.arena);
}

static void test_a_log_that_wraps_keeps_the_latest_branches(void **state) {
    (void)state;
    tl_branch_log *log = calloc(1, sizeof *log);
    assert_non_null(log);
    for (uint64_t n = 1; n <= TL_BRANCH_RECORDS + 3; n++)
        tl_branch_note(log, tl_branch_record(n << 1, n & 1));
    assert_int_equal(log->n, TL_BRANCH_RECORDS + 3);
    assert_int_equal(log->records[(TL_BRANCH_RECORDS + 3) % TL_BRANCH_RECORDS] >> TL_BRANCH_RECORD_PC, (TL_BRANCH_RECORDS + 3) << 1);
    assert_int_equal(log->records[4] >> TL_BRANCH_RECORD_PC, 8);
    assert_int_equal(log->records[3] >> TL_BRANCH_RECORD_PC, (TL_BRANCH_RECORDS + 3) << 1);
    free(log);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tage_learns_from_a_log_as_from_its_own_path),
    cmocka_unit_test(test_gshare_goes_on_where_the_other_engine_stood),
    cmocka_unit_test(test_nested_wrong_paths_leave_the_return_stack_whole),
    cmocka_unit_test(test_a_log_that_wraps_keeps_the_latest_branches),
};
TL_TEST_MAIN(tests)
