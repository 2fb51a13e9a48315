// SPDX-License-Identifier: MIT
// Grants. Before the system calls a process gets the trap of the manual; afterwards it reads. The
// cost of the calls equals the cost of their instructions, counted on paper.
#include "base/bits.h"
#include "compare/design.h"
#include "compare/grant.h"
#include "compare/test_rig.h"
#include "isa/rv/hart.h"
#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"

enum { CSR_HPMCOUNTER3 = 0xc03, CSR_CYCLE = 0xc00, CSR_SCOUNTEREN = 0x106, CSR_MCOUNTEREN = 0x306 };

// A machine for one design, and the cost of a grant on it.
typedef struct opened {
    tl_compare_setup setup;
    tl_testbench testbench;
    tl_testbench_cost cost;
} opened;

static void open_testbench(uint32_t design, opened *ret_opened) {
    tl_compare_options options = test_options("unused");
    tl_error err = {0};
    assert_int_equal(tl_compare_prepare(&options, &ret_opened->setup, &err), TL_OK);
    assert_int_equal(tl_testbench_open(&ret_opened->setup, tl_compare_designs[design], &ret_opened->testbench, &err), TL_OK);
}

static void let_in(opened *o) {
    tl_error err = {0};
    if (tl_grant_run(&o->testbench, &o->cost, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static void close_testbench(opened *o) {
    tl_testbench_close(&o->testbench);
    tl_compare_setup_done(&o->setup);
}

static int run(tl_testbench *s, tl_piece *piece, tl_testbench_cost *ret_cost) {
    int cause = 99;
    tl_error err = {0};
    assert_int_equal(tl_testbench_end(s, piece, &err), TL_OK);
    assert_int_equal(tl_testbench_run(s, piece, &cause, ret_cost, &err), TL_OK);
    return cause;
}

// The cause of the trap when a process reads, with a window of the block at `window`.
static int try_to_read(tl_testbench *s, uint32_t design, uint64_t window) {
    const tl_dhpc_config *c = tl_dhpc_config_of(tl_dhpc_of(tl_machine_pmu_of(s->machine, &tl_pmu_dhpc, 0)));
    tl_piece piece = tl_testbench_begin(s, TL_PRIV_U);
    if (design == U74) {
        tl_asm_csrr(&piece.code, TL_TESTBENCH_VALUE, CSR_CYCLE);
        tl_asm_csrr(&piece.code, TL_TESTBENCH_VALUE, CSR_HPMCOUNTER3);
    } else if (design == CCACHE) {
        tl_asm_load_constant(&piece.code, TL_T0, window + TL_CCACHE_COUNTER);
        tl_asm_ld(&piece.code, TL_TESTBENCH_VALUE, TL_T0, 0);
    } else {
        tl_asm_addi(&piece.code, TL_T0, TL_X0, TL_DHPC_TRIGGER);
        tl_asm_csrw(&piece.code, c->hpcc, TL_T0);
    }
    return run(s, &piece, NULL);
}

static void test_a_process_is_kept_out_until_it_asks(void **state) {
    (void)state;
    static const int before[] = {[U74] = TL_CAUSE_ILLEGAL, [CCACHE] = TL_CAUSE_LOAD_PAGE, [DHPC] = TL_CAUSE_ILLEGAL};
    for (uint32_t design = U74; design < N_DESIGNS; design++) {
        opened o;
        open_testbench(design, &o);
        assert_int_equal(try_to_read(&o.testbench, design, TL_TESTBENCH_WINDOW_GRANTED), before[design]);
        let_in(&o);
        assert_int_equal(try_to_read(&o.testbench, design, TL_TESTBENCH_WINDOW_GRANTED), TL_TESTBENCH_NO_TRAP);
        // The last page of the window, too: its filter registers.
        if (design == CCACHE)
            assert_int_equal(
                try_to_read(&o.testbench, design, TL_TESTBENCH_WINDOW_GRANTED + TL_CCACHE_WINDOW_BYTES - 0x1000 - TL_CCACHE_COUNTER),
                TL_TESTBENCH_NO_TRAP);
        // The others are no more open than they were.
        for (uint32_t other = U74; other < N_DESIGNS; other++)
            if (other != design)
                assert_int_equal(try_to_read(&o.testbench, other, TL_TESTBENCH_WINDOW_GRANTED), before[other]);
        close_testbench(&o);
    }
}

static void test_the_window_shows_the_block(void **state) {
    (void)state;
    opened o;
    open_testbench(CCACHE, &o);
    let_in(&o);
    // Counter 2 keeps the written value.
    tl_piece piece = tl_testbench_begin(&o.testbench, TL_PRIV_U);
    tl_asm_load_constant(&piece.code, TL_T0, 0x1234567);
    tl_asm_load_constant(&piece.code, TL_T1, TL_TESTBENCH_WINDOW_GRANTED + TL_CCACHE_COUNTER);
    tl_asm_sd(&piece.code, TL_T0, TL_T1, 16);
    assert_int_equal(run(&o.testbench, &piece, NULL), TL_TESTBENCH_NO_TRAP);
    piece = tl_testbench_begin(&o.testbench, TL_PRIV_M);
    tl_asm_load_constant(&piece.code, TL_T1, TL_CCACHE_PADDR + TL_CCACHE_COUNTER);
    tl_asm_ld(&piece.code, TL_TESTBENCH_VALUE, TL_T1, 16);
    assert_int_equal(run(&o.testbench, &piece, NULL), TL_TESTBENCH_NO_TRAP);
    assert_int_equal(tl_rv(o.testbench.hart)->x[TL_TESTBENCH_VALUE], 0x1234567);
    close_testbench(&o);
}

// mmap without open: nothing is mapped.
static void test_who_has_not_opened_maps_nothing(void **state) {
    (void)state;
    opened o;
    open_testbench(CCACHE, &o);
    let_in(&o);
    uint64_t *leaf = (uint64_t *)(void *)tl_machine_ram(o.testbench.machine,
                                                        TL_RAM_BASE_PADDR + 0x2000 + tl_testbench_leaf_of(TL_TESTBENCH_WINDOW_GRANTED));
    for (int i = 0; i < 4; i++) {
        // The bits are V, R, W, U, A, D.
        assert_int_equal(leaf[i], (TL_CCACHE_PADDR / 4096 + (uint64_t)i) << 10 | 0xd7);
        leaf[i] = 0;
    }
    // The kernel forgets that it is open.
    *(uint64_t *)(void *)tl_machine_ram(o.testbench.machine, TL_RAM_BASE_PADDR + 0x9000 + 0x100) = 0;
    tl_piece piece = tl_testbench_begin(&o.testbench, TL_PRIV_U);
    tl_asm_addi(&piece.code, TL_A7, TL_X0, 1);
    tl_asm_ecall(&piece.code);
    assert_int_equal(run(&o.testbench, &piece, NULL), TL_TESTBENCH_NO_TRAP);
    for (int i = 0; i < 4; i++)
        assert_int_equal(leaf[i], 0);
    close_testbench(&o);
}

// A call preserves the process's registers, except a7 and the answer in a1.
static void test_a_call_leaves_registers_alone(void **state) {
    (void)state;
    for (uint32_t design = U74; design < N_DESIGNS; design++) {
        opened o;
        open_testbench(design, &o);
        for (uint32_t i = 1; i < 32; i++)
            tl_rv(o.testbench.hart)->x[i] = 1000 + i;
        let_in(&o);
        for (uint32_t i = 1; i < 32; i++)
            if (i != TL_A7 && i != TL_A1)
                assert_int_equal(tl_rv(o.testbench.hart)->x[i], 1000 + i);
        assert_int_equal(o.testbench.hart->priv, TL_PRIV_U);
        assert_int_equal(tl_rv(o.testbench.hart)->csr.sscratch, TL_TESTBENCH_DATA_SUPERVISOR);
        assert_int_equal(tl_rv(o.testbench.hart)->csr.mscratch, TL_RAM_BASE_PADDR + 0xa000);
        close_testbench(&o);
    }
}

static uint32_t n_words_of(uint64_t constant) {
    uint32_t words[8];
    tl_assembler a;
    tl_asm_init(&a, words, sizeof words, 0);
    tl_asm_load_constant(&a, TL_T0, constant);
    return a.n_words;
}

// An ECALL traps and does not retire. Entering swaps sp and saves two registers; leaving moves the
// return address on, restores two registers, swaps sp and returns.
static void test_what_the_calls_cost(void **state) {
    (void)state;
    enum { ENTER = 3, LEAVE = 3 + 2 + 1 + 1, CALL = 1, TRAP_CYCLES = 5, CSR_CYCLES = 4 };
    const struct {
        uint32_t design;
        uint64_t constant;
        uint32_t instructions, traps, csrs;
    } rows[] = {
        {U74, UINT32_MAX, CALL + ENTER + 1 + LEAVE + ENTER + 1 + LEAVE, 2, 2 * (1 + 3) + 2},
        {DHPC, TL_DHPC_USEREN, CALL + ENTER + 1 + LEAVE, 1, 1 + 3 + 1},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        opened o;
        open_testbench(rows[i].design, &o);
        let_in(&o);
        assert_int_equal(o.cost.instructions, rows[i].instructions + n_words_of(rows[i].constant));
        assert_true(o.cost.cycles >= rows[i].instructions + rows[i].traps * TRAP_CYCLES + rows[i].csrs * CSR_CYCLES);
        assert_true(o.cost.l1i_misses >= 2);
        assert_int_equal(o.cost.uncached, 0);
        close_testbench(&o);
    }
    opened o;
    open_testbench(CCACHE, &o);
    let_in(&o);
    // One call notes the grant; the other reads the note, writes four entries and fences.
    uint32_t n_words = n_words_of(TL_TESTBENCH_LEAVES_SUPERVISOR + tl_testbench_leaf_of(TL_TESTBENCH_WINDOW_GRANTED));
    for (uint64_t page = 0; page < 4; page++)
        n_words += n_words_of((TL_CCACHE_PADDR / 4096 + page) << 10 | 0xd7) + 1;
    assert_int_equal(o.cost.instructions, 2 * (CALL + ENTER + LEAVE) + 4 + 3 + n_words + 1);
    assert_true(o.cost.l1d_accesses >= 2 * (2 + 2) + 1 + 1 + 4); // and those of page walks
    assert_int_equal(o.cost.uncached, 0);
    close_testbench(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_is_kept_out_until_it_asks),
        cmocka_unit_test(test_the_window_shows_the_block),
        cmocka_unit_test(test_who_has_not_opened_maps_nothing),
        cmocka_unit_test(test_a_call_leaves_registers_alone),
        cmocka_unit_test(test_what_the_calls_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
