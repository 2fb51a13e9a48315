// SPDX-License-Identifier: MIT
// The scoreboard by hand. Latencies are numbers of their own, so that a wait has one explanation.
#include <malloc.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "model/hart_signals.h"
#include "model/pipeline.h"

static const tl_pipeline_config CONFIG = {
    .load_use_cycles = 3,
    .load_use_narrow_cycles = 4,
    .fp_load_use_cycles = 6,
    .mul_cycles = 5,
    .div_cycles = 34,
    .div_word_cycles = 18,
    .fp_add_cycles = 7,
    .fp_mul_cycles = 8,
    .fp_fma_cycles = 9,
    .fp_convert_cycles = 10,
    .fp_compare_cycles = 11,
    .fp_move_cycles = 2,
    .fp_div_single_cycles = 20,
    .fp_div_double_cycles = 33,
    .fp_sqrt_single_cycles = 21,
    .fp_sqrt_double_cycles = 35,
    .csr_cycles = 12,
    .fence_cycles = 13,
    .fence_i_cycles = 14,
    .amo_cycles = 15,
};

static tl_pipe_insn insn(tl_class cls, uint8_t size_bytes, uint8_t dest, uint8_t src0, uint8_t src1) {
    return (tl_pipe_insn){.cls = cls, .size_bytes = size_bytes, .dest = dest, .src = {src0, src1, TL_NO_REG}};
}

static uint32_t issue(tl_scoreboard *board, tl_class cls, uint8_t size_bytes, uint8_t dest, uint8_t src0, uint8_t src1) {
    tl_pipe_insn i = insn(cls, size_bytes, dest, src0, src1);
    return tl_scoreboard_issue(board, &i);
}

static uint32_t alu(tl_scoreboard *board, uint8_t dest, uint8_t src0, uint8_t src1) {
    return issue(board, TL_CLASS_ALU, 0, dest, src0, src1);
}

static void test_each_latency_is_waited_for_and_charged(void **state) {
    (void)state;
    static const struct {
        tl_class cls;
        uint8_t size_bytes;
        uint32_t latency;
        tl_pipe_cause cause;
    } rows[] = {
        {TL_CLASS_ALU, 0, 1, 0},
        {TL_CLASS_BITMANIP, 0, 1, 0},
        {TL_CLASS_JAL, 0, 1, 0},
        {TL_CLASS_JALR, 0, 1, 0},
        {TL_CLASS_LOAD, 8, 3, TL_PIPE_LOAD_USE},
        {TL_CLASS_LOAD, 4, 3, TL_PIPE_LOAD_USE},
        {TL_CLASS_LOAD, 2, 4, TL_PIPE_LOAD_USE},
        {TL_CLASS_LOAD, 1, 4, TL_PIPE_LOAD_USE},
        {TL_CLASS_FP_LOAD, 4, 6, TL_PIPE_LOAD_USE},
        {TL_CLASS_FP_LOAD, 8, 6, TL_PIPE_LOAD_USE},
        {TL_CLASS_MUL, 8, 5, TL_PIPE_MUL},
        {TL_CLASS_FP_ADD, 8, 7, TL_PIPE_FP},
        {TL_CLASS_FP_MUL, 4, 8, TL_PIPE_FP},
        {TL_CLASS_FP_FMA, 8, 9, TL_PIPE_FP},
        {TL_CLASS_FP_CONVERT, 8, 10, TL_PIPE_FP},
        {TL_CLASS_FP_COMPARE, 8, 11, TL_PIPE_FP},
        {TL_CLASS_FP_MOVE, 8, 2, TL_PIPE_FP},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        // Slots between producer and consumer.
        for (uint32_t distance = 1; distance <= 12; distance++) {
            tl_scoreboard board;
            tl_scoreboard_start(&board, &CONFIG, NULL);
            assert_int_equal(issue(&board, rows[i].cls, rows[i].size_bytes, 5, 6, 7), 1);
            for (uint32_t between = 1; between < distance; between++)
                assert_int_equal(alu(&board, 8, 9, 10), 1);
            uint32_t wait = rows[i].latency > distance ? rows[i].latency - distance : 0;
            assert_int_equal(alu(&board, 8, 9, 5), 1 + wait);
            assert_int_equal(board.time, distance + 1 + wait);
            for (uint32_t cause = 0; cause < TL_N_PIPE_CAUSES; cause++)
                assert_int_equal(board.lost[cause], cause == rows[i].cause ? wait : 0);
        }
    }
}

static void test_a_latency_beyond_a_byte_counts_as_255(void **state) {
    (void)state;
    tl_pipeline_config config = CONFIG;
    tl_scoreboard board;
    config.mul_cycles = 300; // more than a description may say
    tl_scoreboard_start(&board, &config, NULL);
    assert_int_equal(issue(&board, TL_CLASS_MUL, 8, 5, 6, 7), 1);
    assert_int_equal(alu(&board, 8, 9, 5), 1 + 254);
}

static void test_iterative_units_hold_issue_and_their_result_is_ready(void **state) {
    (void)state;
    static const struct {
        tl_class cls;
        uint8_t size_bytes;
        uint32_t cycles;
        tl_pipe_cause cause;
    } rows[] = {
        {TL_CLASS_DIV, 8, 34, TL_PIPE_DIV},           {TL_CLASS_DIV, 4, 18, TL_PIPE_DIV},
        {TL_CLASS_FP_DIV, 4, 20, TL_PIPE_FP_DIV},     {TL_CLASS_FP_DIV, 8, 33, TL_PIPE_FP_DIV},
        {TL_CLASS_FP_SQRT, 4, 21, TL_PIPE_FP_DIV},    {TL_CLASS_FP_SQRT, 8, 35, TL_PIPE_FP_DIV},
        {TL_CLASS_CSR, 8, 1 + 12, TL_PIPE_CSR},       {TL_CLASS_FENCE, 8, 1 + 13, TL_PIPE_FENCE},
        {TL_CLASS_FENCE_I, 8, 1 + 14, TL_PIPE_FLUSH}, {TL_CLASS_SYSTEM, 8, 1 + 12, TL_PIPE_FLUSH},
        {TL_CLASS_AMO, 8, 1 + 15, TL_PIPE_AMO},       {TL_CLASS_LR, 4, 1 + 15, TL_PIPE_AMO},
        {TL_CLASS_SC, 8, 1 + 15, TL_PIPE_AMO},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_scoreboard board;
        tl_scoreboard_start(&board, &CONFIG, NULL);
        assert_int_equal(issue(&board, rows[i].cls, rows[i].size_bytes, 5, 6, 7), rows[i].cycles);
        assert_int_equal(alu(&board, 8, 5, 5), 1);
        for (uint32_t cause = 0; cause < TL_N_PIPE_CAUSES; cause++)
            assert_int_equal(board.lost[cause], cause == rows[i].cause ? rows[i].cycles - 1 : 0);
    }
}

static void test_a_unit_of_no_or_one_cycle_holds_nothing(void **state) {
    (void)state;
    tl_pipeline_config config = CONFIG;
    for (config.div_cycles = 0; config.div_cycles < 3; config.div_cycles++) {
        tl_scoreboard board;
        tl_scoreboard_start(&board, &config, NULL);
        assert_int_equal(issue(&board, TL_CLASS_DIV, 8, 5, 6, 7), config.div_cycles == 2 ? 2 : 1);
        assert_int_equal(board.lost[TL_PIPE_DIV], config.div_cycles == 2);
    }
}

static void test_blocking_time_lets_other_results_arrive(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_FP_COMPARE, 8, 5, 40, 41); // ready at 11
    issue(&board, TL_CLASS_DIV, 4, 6, 7, 8);          // from 1 to 19
    assert_int_equal(alu(&board, 9, 5, 6), 1);
    assert_int_equal(board.lost[TL_PIPE_FP], 0);
}

static void test_wait_is_charged_to_what_arrives_last(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_LOAD, 8, 5, 10, TL_NO_REG); // ready at 3
    issue(&board, TL_CLASS_MUL, 8, 6, 11, 12);         // ready at 6
    assert_int_equal(alu(&board, 7, 5, 6), 1 + 4);     // issued at 2 + 4
    assert_int_equal(board.lost[TL_PIPE_MUL], 4);
    assert_int_equal(board.lost[TL_PIPE_LOAD_USE], 0);

    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_MUL, 8, 6, 11, 12); // ready at 5
    alu(&board, 1, 2, 3);
    // Ready at 5: a tie goes to the first operand.
    issue(&board, TL_CLASS_LOAD, 8, 5, 10, TL_NO_REG);
    assert_int_equal(alu(&board, 7, 5, 6), 1 + 2);
    assert_int_equal(board.lost[TL_PIPE_LOAD_USE], 2);
}

static void test_third_operand_is_waited_for(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_FP_ADD, 8, 35, 36, 37);
    tl_pipe_insn fma = {.cls = TL_CLASS_FP_FMA, .size_bytes = 8, .dest = 38, .src = {39, 40, 35}};
    assert_int_equal(tl_scoreboard_issue(&board, &fma), 1 + 6);
}

// A load of two registers, and an instruction with more sources than three, as AArch64 has them.
static void test_every_destination_is_awaited_and_every_source_waits(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    tl_pipe_insn pair = insn(TL_CLASS_LOAD, 8, 3, 10, TL_NO_REG);
    pair.also_writes = UINT64_C(1) << 0 | UINT64_C(1) << 4;
    assert_int_equal(tl_scoreboard_issue(&board, &pair), 1);
    assert_int_equal(alu(&board, 6, 4, TL_NO_REG), CONFIG.load_use_cycles);
    // Register 0 is ready by now, and is one like any other.
    assert_int_equal(alu(&board, 6, 0, TL_NO_REG), 1);
    assert_int_equal(board.lost[TL_PIPE_LOAD_USE], CONFIG.load_use_cycles - 1);
    issue(&board, TL_CLASS_FP_LOAD, 8, 40, 10, TL_NO_REG);
    tl_pipe_insn table = {.cls = TL_CLASS_FP_MOVE, .dest = 50, .src = {51, 52, 53}, .also_reads = UINT64_C(1) << 40};
    assert_int_equal(tl_scoreboard_issue(&board, &table), CONFIG.fp_load_use_cycles);
    tl_pipe_insn both = {.cls = TL_CLASS_ALU, .dest = 6, .src = {7, TL_NO_REG, TL_NO_REG}, .also_writes = UINT64_C(1) << 50};
    assert_int_equal(tl_scoreboard_issue(&board, &both), 1); // replaces a result in flight
    assert_int_equal(alu(&board, 6, 50, TL_NO_REG), 1);
}

static void test_younger_write_replaces_the_older(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_MUL, 8, 5, 6, 7);
    assert_int_equal(alu(&board, 5, 1, 2), 1); // no wait to write
    assert_int_equal(alu(&board, 8, 5, 5), 1); // the younger result is ready
    issue(&board, TL_CLASS_MUL, 8, 5, 6, 7);
    issue(&board, TL_CLASS_LOAD, 8, 5, 6, TL_NO_REG);
    assert_int_equal(alu(&board, 8, 5, 5), 1 + 2);
    assert_int_equal(board.lost[TL_PIPE_MUL], 0);
}

static void test_no_register_is_never_waited_for(void **state) {
    (void)state;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &CONFIG, NULL);
    issue(&board, TL_CLASS_LOAD, 8, TL_NO_REG, 5, TL_NO_REG);
    assert_int_equal(alu(&board, 5, TL_NO_REG, TL_NO_REG), 1);
    assert_int_equal(board.mask, 0);
    issue(&board, TL_CLASS_FP_LOAD, 8, 32, 5, TL_NO_REG); // f0 is a register like any other
    assert_int_equal(issue(&board, TL_CLASS_FP_STORE, 8, TL_NO_REG, 5, 32), 1 + 5);
}

static void test_walk_continues_where_the_last_one_ended(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_pend_table *table = tl_pend_table_new(&arena);
    assert_non_null(table);
    tl_scoreboard whole, first, second;
    static const tl_pipe_insn program[] = {
        {.cls = TL_CLASS_FP_FMA, .size_bytes = 8, .dest = 40, .src = {41, 42, 43}},
        {.cls = TL_CLASS_LOAD, .size_bytes = 1, .dest = 5, .src = {6, TL_NO_REG, TL_NO_REG}},
        {.cls = TL_CLASS_MUL, .size_bytes = 8, .dest = 7, .src = {8, 9, TL_NO_REG}},
        {.cls = TL_CLASS_BRANCH, .dest = TL_NO_REG, .src = {10, 11, TL_NO_REG}},
        {.cls = TL_CLASS_ALU, .dest = 12, .src = {5, 7, TL_NO_REG}},
        {.cls = TL_CLASS_FP_STORE, .size_bytes = 8, .dest = TL_NO_REG, .src = {13, 40, TL_NO_REG}},
    };
    for (size_t cut = 0; cut <= TL_COUNT_OF(program); cut++) {
        tl_scoreboard_start(&whole, &CONFIG, NULL);
        tl_scoreboard_start(&first, &CONFIG, NULL);
        for (size_t i = 0; i < TL_COUNT_OF(program); i++)
            tl_scoreboard_issue(&whole, &program[i]);
        for (size_t i = 0; i < cut; i++)
            tl_scoreboard_issue(&first, &program[i]);
        tl_scoreboard_start(&second, &CONFIG, tl_scoreboard_pend(&first, table));
        for (size_t i = cut; i < TL_COUNT_OF(program); i++)
            tl_scoreboard_issue(&second, &program[i]);
        assert_int_equal(first.time + second.time, whole.time);
        for (uint32_t cause = 0; cause < TL_N_PIPE_CAUSES; cause++)
            assert_int_equal(first.lost[cause] + second.lost[cause], whole.lost[cause]);
    }
    tl_pend_table_done(table);
    tl_arena_done(&arena);
}

static void test_results_in_flight_are_interned(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_pend_table *table = tl_pend_table_new(&arena);
    assert_non_null(table);
    tl_scoreboard a, b;
    tl_scoreboard_start(&a, &CONFIG, NULL);
    assert_null(tl_scoreboard_pend(&a, table)); // nothing in flight
    issue(&a, TL_CLASS_MUL, 8, 5, 6, 7);
    tl_scoreboard_start(&b, &CONFIG, NULL);
    for (int i = 0; i < 9; i++)
        alu(&b, 1, 2, 3);
    issue(&b, TL_CLASS_MUL, 8, 5, 8, 9); // at another time, the same in flight
    const tl_pend *pend = tl_scoreboard_pend(&a, table);
    assert_non_null(pend);
    assert_ptr_equal(pend, tl_scoreboard_pend(&b, table));
    assert_int_equal(pend->mask, 1 << 5);
    assert_int_equal(pend->remaining[5], 4);
    assert_int_equal(pend->cause[5], TL_PIPE_MUL);
    for (int i = 0; i < 4; i++)
        alu(&a, 1, 2, 3);
    assert_null(tl_scoreboard_pend(&a, table)); // it has arrived
    tl_pend_table_done(table);
    tl_pend_table_done(NULL);
    tl_arena_done(&arena);
}

static void test_interned_records_never_move(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_pend_table *table = tl_pend_table_new(&arena);
    assert_non_null(table);
    enum { N = 3000 };
    static const tl_pend *seen[N];
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 0; n < N; n++) {
            tl_scoreboard board;
            tl_scoreboard_start(&board, &CONFIG, NULL);
            issue(&board, TL_CLASS_FP_COMPARE, 8, (uint8_t)(1 + n % 31), TL_NO_REG, TL_NO_REG);
            issue(&board, TL_CLASS_FP_CONVERT, 8, (uint8_t)(32 + n / 31 % 32), TL_NO_REG, TL_NO_REG);
            issue(&board, TL_CLASS_FP_FMA, 8, (uint8_t)(32 + n / 31 / 32), TL_NO_REG, TL_NO_REG);
            const tl_pend *pend = tl_scoreboard_pend(&board, table);
            if (round == 0)
                seen[n] = pend;
            assert_ptr_equal(pend, seen[n]);
            assert_true(pend->mask >> (1 + n % 31) & 1);
        }
    }
    tl_pend_table_done(table);
    tl_arena_done(&arena);
}

// As malloc tells it; a sanitizer's malloc tells nothing.
static void test_table_that_is_done_has_given_back_what_it_took(void **state) {
    (void)state;
    size_t first = 0;
    for (int round = 0; round < 3; round++) {
        tl_arena arena = {0};
        tl_pend_table *table = tl_pend_table_new(&arena);
        assert_non_null(table);
        for (uint32_t n = 0; n < 3000; n++) {
            tl_scoreboard board;
            tl_scoreboard_start(&board, &CONFIG, NULL);
            issue(&board, TL_CLASS_FP_COMPARE, 8, (uint8_t)(1 + n % 31), TL_NO_REG, TL_NO_REG);
            issue(&board, TL_CLASS_FP_CONVERT, 8, (uint8_t)(32 + n / 31 % 32), TL_NO_REG, TL_NO_REG);
            issue(&board, TL_CLASS_FP_FMA, 8, (uint8_t)(32 + n / 31 / 32), TL_NO_REG, TL_NO_REG);
            (void)tl_scoreboard_pend(&board, table);
        }
        // 3000 records of 136 bytes in chunks of 256, a table of 8192 addresses, and the arena.
        if (round == 0)
            assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, 3072 * 136 + 8192 * 8 + (1 << 20));
        tl_pend_table_done(table);
        tl_pend_table_done(table); // once more is harmless
        tl_arena_done(&arena);
        size_t taken = mallinfo2().uordblks + mallinfo2().hblkhd;
        if (round == 0)
            first = taken;
        assert_in_range(taken, 0, first + 4096); // malloc keeps some for itself
    }
}

static void test_causes_name_the_tallies_of_the_cpi_stack(void **state) {
    (void)state;
    static const char *const names[] = {"cyc_load_use", "cyc_mul",   "cyc_div",   "cyc_fp", "cyc_fp_div",
                                        "cyc_csr",      "cyc_fence", "cyc_flush", "cyc_amo"};
    assert_int_equal(TL_COUNT_OF(names), TL_N_PIPE_CAUSES);
    for (uint32_t cause = 0; cause < TL_N_PIPE_CAUSES; cause++)
        assert_string_equal(tl_hart_units[TL_HART_UNIT_HART].type.signals[tl_pipe_cause_cell[cause]].name, names[cause]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_destination_is_awaited_and_every_source_waits),
    cmocka_unit_test(test_each_latency_is_waited_for_and_charged),
    cmocka_unit_test(test_a_latency_beyond_a_byte_counts_as_255),
    cmocka_unit_test(test_iterative_units_hold_issue_and_their_result_is_ready),
    cmocka_unit_test(test_a_unit_of_no_or_one_cycle_holds_nothing),
    cmocka_unit_test(test_blocking_time_lets_other_results_arrive),
    cmocka_unit_test(test_wait_is_charged_to_what_arrives_last),
    cmocka_unit_test(test_third_operand_is_waited_for),
    cmocka_unit_test(test_younger_write_replaces_the_older),
    cmocka_unit_test(test_no_register_is_never_waited_for),
    cmocka_unit_test(test_walk_continues_where_the_last_one_ended),
    cmocka_unit_test(test_results_in_flight_are_interned),
    cmocka_unit_test(test_interned_records_never_move),
    cmocka_unit_test(test_table_that_is_done_has_given_back_what_it_took),
    cmocka_unit_test(test_causes_name_the_tallies_of_the_cpi_stack),
};

TL_TEST_MAIN(tests)
