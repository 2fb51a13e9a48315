// SPDX-License-Identifier: MIT
// The testbench: pieces lie on lines of their own, run in their mode, cost as much as their
// instructions, and end at a trap.
#include "base/bits.h"
#include "compare/design.h"
#include "compare/test_rig.h"
#include "isa/rv/hart.h"
#include "pmu/ccache/ccache.h"

enum { CSR_MSCRATCH = 0x340, CSR_CYCLE = 0xc00 };

static tl_compare_setup setup;
static tl_testbench testbench;

static int open_testbench_of(uint32_t design) {
    tl_compare_options options = test_options("unused");
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
    assert_int_equal(tl_testbench_open(&setup, tl_compare_designs[design], &testbench, &err), TL_OK);
    return 0;
}

// The design has a window.
static int open_testbench(void **state) { return (void)state, open_testbench_of(CCACHE); }

static int close_testbench(void **state) {
    (void)state;
    tl_testbench_close(&testbench);
    assert_null(testbench.machine);
    tl_compare_setup_done(&setup);
    return 0;
}

static int run(tl_piece *piece, tl_testbench_cost *ret_cost) {
    int cause = 99;
    tl_error err = {0};
    assert_int_equal(tl_testbench_end(&testbench, piece, &err), TL_OK);
    assert_int_equal(tl_testbench_run(&testbench, piece, &cause, ret_cost, &err), TL_OK);
    return cause;
}

static void test_pieces_lie_on_lines_of_their_own(void **state) {
    (void)state;
    uint32_t line = setup.config.l1i.line_bytes, before = testbench.used_bytes;
    assert_int_equal(before % line, 0);
    for (uint32_t n = 1; n <= 40; n++) {
        tl_piece piece = tl_testbench_begin(&testbench, TL_PRIV_U);
        tl_error err = {0};
        assert_int_equal(piece.begin % line, 0);
        for (uint32_t i = 0; i < n; i++)
            tl_asm_addi(&piece.code, TL_T0, TL_T0, 1);
        assert_int_equal(tl_testbench_end(&testbench, &piece, &err), TL_OK);
        assert_int_equal(piece.end, piece.begin + 4 * n);
        // An EBREAK follows.
        assert_int_equal(testbench.used_bytes, before + (4 * (n + 1) + line - 1) / line * line);
        before = testbench.used_bytes;
    }
}

// A piece for another mode has another address and an equal first cost, except for the page walk.
static void test_a_piece_runs_in_its_mode(void **state) {
    (void)state;
    static const tl_priv modes[] = {TL_PRIV_M, TL_PRIV_S, TL_PRIV_U};
    for (size_t m = 0; m < TL_COUNT_OF(modes); m++) {
        tl_piece piece = tl_testbench_begin(&testbench, modes[m]);
        tl_testbench_cost first, next;
        int cause;
        tl_error err = {0};
        for (int i = 0; i < 7; i++)
            tl_asm_addi(&piece.code, TL_TESTBENCH_VALUE, TL_X0, 40 + i);
        assert_int_equal(run(&piece, &first), TL_TESTBENCH_NO_TRAP);
        assert_int_equal(testbench.hart->priv, modes[m]);
        assert_int_equal(tl_rv(testbench.hart)->x[TL_TESTBENCH_VALUE], 46);
        assert_int_equal(testbench.hart->pc, piece.end);
        assert_int_equal(first.instructions, 7);
        assert_int_equal(first.l1i_misses, 1); // it lies on one line, where nothing else does
        assert_int_equal(tl_testbench_run(&testbench, &piece, &cause, &next, &err), TL_OK);
        assert_int_equal(next.instructions, 7);
        assert_int_equal(next.cycles, 7);
        assert_int_equal(next.l1i_misses + next.l1d_misses + next.l1d_accesses + next.dtlb_accesses + next.uncached, 0);
        assert_true(first.cycles > next.cycles + 10);
    }
}

static void test_what_memory_costs_is_counted(void **state) {
    (void)state;
    tl_piece piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_testbench_cost cost;
    int cause;
    tl_error err = {0};
    tl_asm_load_constant(&piece.code, TL_T0, TL_TESTBENCH_DATA_USER);
    tl_asm_load_constant(&piece.code, TL_T1, TL_TESTBENCH_WINDOW_USER + TL_CCACHE_COUNTER);
    for (int i = 0; i < 3; i++)
        tl_asm_sd(&piece.code, TL_T0, TL_T0, 64 * i); // three lines
    for (int i = 0; i < 2; i++)
        tl_asm_ld(&piece.code, TL_T2, TL_T0, 64 * i);
    tl_asm_ld(&piece.code, TL_T2, TL_T1, 0);
    for (int i = 0; i < 2; i++)
        tl_asm_sd(&piece.code, TL_X0, TL_T1, 0);
    assert_int_equal(run(&piece, &cost), TL_TESTBENCH_NO_TRAP);
    assert_true(cost.l1d_misses >= 3);
    assert_int_equal(cost.uncached, 3);
    assert_int_equal(tl_testbench_run(&testbench, &piece, &cause, &cost, &err), TL_OK);
    assert_int_equal(cost.l1d_accesses, 5);
    assert_int_equal(cost.l1d_misses, 0);
    assert_int_equal(cost.dtlb_accesses, 8);
    assert_int_equal(cost.uncached, 3);
}

static void test_a_trap_ends_a_piece(void **state) {
    (void)state;
    tl_piece piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_asm_csrr(&piece.code, TL_T0, CSR_MSCRATCH);
    assert_int_equal(run(&piece, NULL), TL_CAUSE_ILLEGAL);
    piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_asm_csrr(&piece.code, TL_T0, CSR_CYCLE); // counters are off for lower modes
    assert_int_equal(run(&piece, NULL), TL_CAUSE_ILLEGAL);
    piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_asm_ecall(&piece.code); // no firmware takes calls here
    assert_int_equal(run(&piece, NULL), TL_CAUSE_ECALL_U);
    static const uint64_t kept_from_user[] = {TL_TESTBENCH_WINDOW_SUPERVISOR, TL_TESTBENCH_DATA_SUPERVISOR, TL_TESTBENCH_LEAVES_SUPERVISOR,
                                              TL_TESTBENCH_WINDOW_GRANTED, TL_TESTBENCH_NOWHERE};
    for (size_t i = 0; i < TL_COUNT_OF(kept_from_user); i++) {
        piece = tl_testbench_begin(&testbench, TL_PRIV_U);
        tl_asm_load_constant(&piece.code, TL_T0, kept_from_user[i]);
        tl_asm_ld(&piece.code, TL_T1, TL_T0, 0);
        assert_int_equal(run(&piece, NULL), TL_CAUSE_LOAD_PAGE);
    }
    piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    // The code has one page only.
    tl_asm_load_constant(&piece.code, TL_T0, TL_TESTBENCH_DATA_USER + TL_TESTBENCH_PAGE_BYTES);
    tl_asm_ld(&piece.code, TL_T1, TL_T0, 0);
    assert_int_equal(run(&piece, NULL), TL_CAUSE_LOAD_PAGE);
}

static void test_registers_are_written_set_and_cleared(void **state) {
    (void)state;
    tl_error err = {0};
    assert_int_equal(tl_testbench_set_csr(&testbench, CSR_MSCRATCH, TL_REG_WRITE, 0x50, &err), TL_OK);
    assert_int_equal(tl_rv(testbench.hart)->csr.mscratch, 0x50);
    assert_int_equal(tl_testbench_set_csr(&testbench, CSR_MSCRATCH, TL_REG_SET, 0x7, &err), TL_OK);
    assert_int_equal(tl_rv(testbench.hart)->csr.mscratch, 0x57);
    assert_int_equal(tl_testbench_set_csr(&testbench, CSR_MSCRATCH, TL_REG_CLEAR, 0x13, &err), TL_OK);
    assert_int_equal(tl_rv(testbench.hart)->csr.mscratch, 0x44);
    // The page is read-only.
    assert_int_equal(tl_testbench_set_csr(&testbench, CSR_CYCLE, TL_REG_WRITE, 1, &err), TL_EIO);
    assert_non_null(strstr(err.text, "0xc00"));
}

static void test_there_is_an_end_to_room_and_patience(void **state) {
    (void)state;
    tl_error err = {0};
    tl_piece piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_asm_jump_to(&piece.code, piece.begin); // for ever
    int cause;
    assert_int_equal(tl_testbench_end(&testbench, &piece, &err), TL_OK);
    assert_int_equal(tl_testbench_run(&testbench, &piece, &cause, NULL, &err), TL_EIO);
    assert_non_null(strstr(err.text, "a read at the counters of ccache does not end"));
    piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    uint32_t room = (TL_TESTBENCH_CODE_BYTES - testbench.used_bytes) / 4;
    for (uint32_t i = 0; i + 1 < room; i++)
        tl_asm_addi(&piece.code, TL_T0, TL_T0, 1);
    tl_piece full = piece;
    tl_asm_addi(&full.code, TL_T0, TL_T0, 1); // no room for the EBREAK
    assert_int_equal(tl_testbench_end(&testbench, &full, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "fewer counters"));
    assert_int_equal(tl_testbench_end(&testbench, &piece, &err), TL_OK);
    assert_int_equal(testbench.used_bytes, TL_TESTBENCH_CODE_BYTES);
}

// The error names the key that makes a reader wait.
static void test_who_waits_too_long_names_the_key(void **state) {
    (void)state;
    tl_error err = {0};
    close_testbench(state);
    open_testbench_of(DHPC);
    tl_piece piece = tl_testbench_begin(&testbench, TL_PRIV_U);
    tl_asm_jump_to(&piece.code, piece.begin);
    int cause;
    assert_int_equal(tl_testbench_end(&testbench, &piece, &err), TL_OK);
    assert_int_equal(tl_testbench_run(&testbench, &piece, &cause, NULL, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "dhpc."));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_testbench, close_testbench)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_pieces_lie_on_lines_of_their_own),      TEST(test_a_piece_runs_in_its_mode),
        TEST(test_what_memory_costs_is_counted),          TEST(test_a_trap_ends_a_piece),
        TEST(test_registers_are_written_set_and_cleared), TEST(test_there_is_an_end_to_room_and_patience),
        TEST(test_who_waits_too_long_names_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
