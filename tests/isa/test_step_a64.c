// SPDX-License-Identifier: MIT
// Engine `step` on a machine with caches: where it stops, what a trap leaves behind, and what
// instructions count. Results of instructions are compared with another machine in tests/isa.
#include "base/bits.h"
#include "base/testing.h"
#include "isa/a64/insn.h"
#include "isa/a64/step/step.h"
#include "machine/keys.h"
#include "machine/machine.h"

enum { NOP = 0xd503201f, PC = 0x80001000, DATA = 0x80100000, OUTSIDE = 0x40000000 };

static int setup(void **state) {
    tl_config config;
    tl_machine *machine;
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.n_harts = 1;
    config.ram_bytes = 16 << 20;
    if (tl_machine_new(&config, &tl_engine_a64_step, &machine, NULL) != TL_OK)
        return -1;
    *state = machine;
    return 0;
}
static int teardown(void **state) {
    tl_machine_free(*state);
    return 0;
}

static tl_stop run(tl_machine *machine, const uint32_t *words, size_t n, uint64_t n_insns) {
    tl_hart *h = machine->harts[0];
    memcpy(tl_machine_ram(machine, PC), words, n * sizeof *words);
    h->pc = PC;
    h->horizon = h->access_until = h->first_until = UINT64_MAX;
    h->insn_limit = h->instret + n_insns;
    h->break_pc[0] = h->break_pc[1] = h->break_pc[0] != 0 ? h->break_pc[0] : TL_NO_LINE;
    const tl_stop stop = tl_engine_a64_step.run(h);
    tl_machine_sync(machine);
    tl_error err;
    if (tl_machine_check_identities(machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return stop;
}

static void test_the_limit_is_exact(void **state) {
    tl_machine *machine = *state;
    // The instruction is add x0, x0, #1.
    static const uint32_t words[] = {0x91000400, 0x91000400, 0x91000400, 0x91000400};
    assert_int_equal(run(machine, words, 4, 3), TL_STOP_LIMIT);
    assert_int_equal(tl_a64(machine->harts[0])->x[0], 3);
    assert_int_equal(machine->harts[0]->pc, PC + 12);
    assert_int_equal(machine->harts[0]->instret, 3);
}

static void test_a_breakpoint_stops_before_its_instruction(void **state) {
    tl_machine *machine = *state;
    static const uint32_t words[] = {0x91000400, 0x91000400, 0x91000400};
    machine->harts[0]->break_pc[0] = PC + 8;
    assert_int_equal(run(machine, words, 3, 100), TL_STOP_BREAK);
    assert_int_equal(tl_a64(machine->harts[0])->x[0], 2);
    assert_int_equal(machine->harts[0]->pc, PC + 8);
}

static void test_traps_name_their_cause_and_do_not_retire(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    static const struct {
        int line;
        uint32_t bits;
        uint64_t cause, value;
    } rows[] = {
        {__LINE__, 0xd4001fe1, TL_A64_CAUSE_SVC, 0xff},
        {__LINE__, 0xd4202460, TL_A64_CAUSE_BRK, 0x123},
        {__LINE__, 0x00000000, TL_A64_CAUSE_UNDEFINED, 0},
        {__LINE__, 0xffffffff, TL_A64_CAUSE_UNDEFINED, 0xffffffff},
        {__LINE__, 0xd4000002, TL_A64_CAUSE_UNDEFINED, 0xd4000002}, // hvc #0
        {__LINE__, 0xd69f03e0, TL_A64_CAUSE_UNDEFINED, 0xd69f03e0}, // eret
        {__LINE__, 0xd538001f, TL_A64_CAUSE_UNDEFINED, 0xd538001f}, // mrs xzr, midr_el1
        {__LINE__, 0xd5181005, TL_A64_CAUSE_UNDEFINED, 0xd5181005}, // msr sctlr_el1, x5
        {__LINE__, 0xd51bd063, TL_A64_CAUSE_UNDEFINED, 0xd51bd063}, // msr tpidrro_el0, x3: read-only here
        {__LINE__, 0xd50042bf, TL_A64_CAUSE_UNDEFINED, 0xd50042bf}, // msr spsel, #..
        {__LINE__, 0xd508871f, TL_A64_CAUSE_UNDEFINED, 0xd508871f}, // tlbi vmalle1
        {__LINE__, 0xd503201f, TL_A64_CAUSE_UNDEFINED, 0xf0000000}, // nop, then the word behind it
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const uint64_t instret = h->instret;
        const uint32_t words[2] = {rows[i].bits, 0xf0000000 & 0}; // udf
        const bool is_nop = rows[i].bits == NOP;
        assert_int_equal(run(machine, words, 2, 100), TL_STOP_TRAP);
        if (h->trap_cause != rows[i].cause || (!is_nop && h->trap_value != rows[i].value) || h->pc != PC + (is_nop ? 4 : 0))
            fail_msg("line %d: cause %llu, value %llx", rows[i].line, (unsigned long long)h->trap_cause, (unsigned long long)h->trap_value);
        assert_int_equal(h->instret, instret + is_nop);
    }
}

static void test_a_misaligned_pc_traps_with_its_address(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    static const uint32_t words[] = {0xd61f0000}; // br x0
    tl_a64(h)->x[0] = PC + 2;
    assert_int_equal(run(machine, words, 1, 100), TL_STOP_TRAP);
    assert_int_equal(h->trap_cause, TL_A64_CAUSE_PC_MISALIGNED);
    assert_true(h->trap_value == PC + 2 && h->pc == PC + 2);
    assert_int_equal(h->instret, 1);
}

// A fault leaves every register as it was, the base included.
static void test_faults_write_no_register(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    tl_a64_hart *a = tl_a64(h);
    static const struct {
        int line;
        uint32_t bits; // base x1
        uint64_t base, cause, value;
    } rows[] = {
        {__LINE__, 0xf8408422, OUTSIDE, TL_A64_CAUSE_LOAD_ACCESS, OUTSIDE},           // ldr x2, [x1], #8
        {__LINE__, 0xf8408c22, OUTSIDE - 8, TL_A64_CAUSE_LOAD_ACCESS, OUTSIDE},       // ldr x2, [x1, #8]!
        {__LINE__, 0xf8008422, OUTSIDE, TL_A64_CAUSE_STORE_ACCESS, OUTSIDE},          // str x2, [x1], #8
        {__LINE__, 0xa8c10c22, 0x80fffff8 + 8, TL_A64_CAUSE_LOAD_ACCESS, 0x81000000}, // ldp x2, x3, [x1], #16: all of it
        {__LINE__, 0xa8c10c22, 0x80fffff8, TL_A64_CAUSE_LOAD_ACCESS, 0x81000000},     // the second half
        {__LINE__, 0xa8810c22, 0x80fffff8, TL_A64_CAUSE_STORE_ACCESS, 0x81000000},    // stp
        {__LINE__, 0x4cdf2022, 0x80ffffe0, TL_A64_CAUSE_LOAD_ACCESS, 0x81000000},     // ld1 {v2.16b-v5.16b}, [x1], #64
        {__LINE__, 0xc85f7c22, DATA + 4, TL_A64_CAUSE_LOAD_MISALIGNED, DATA + 4},     // ldxr x2, [x1]
        {__LINE__, 0xc87f0c22, DATA + 8, TL_A64_CAUSE_LOAD_MISALIGNED, DATA + 8},     // ldxp x2, x3, [x1]
        {__LINE__, 0xc8227c23, DATA + 4, TL_A64_CAUSE_STORE_MISALIGNED, DATA + 4},    // stxp w2, x3, x31, [x1]
        {__LINE__, 0xc8dffc22, DATA + 4, TL_A64_CAUSE_LOAD_MISALIGNED, DATA + 4},     // ldar x2, [x1]
        {__LINE__, 0xc89ffc22, DATA + 4, TL_A64_CAUSE_STORE_MISALIGNED, DATA + 4},    // stlr x2, [x1]
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        a->x[1] = rows[i].base;
        a->x[2] = 2;
        a->x[3] = 3;
        a->v[2] = (tl_a64_vector){.d = {5, 6}};
        assert_int_equal(run(machine, &rows[i].bits, 1, 100), TL_STOP_TRAP);
        if (h->trap_cause != rows[i].cause || h->trap_value != rows[i].value || a->x[1] != rows[i].base || a->x[2] != 2 || a->x[3] != 3 ||
            a->v[2].d[0] != 5 || a->v[2].d[1] != 6 || h->pc != PC)
            fail_msg("line %d: cause %llu, value %llx, x1 %llx", rows[i].line, (unsigned long long)h->trap_cause,
                     (unsigned long long)h->trap_value, (unsigned long long)a->x[1]);
    }
}

static void test_tallies_of_a_loop(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    static const uint32_t words[] = {
        0xd2800140, // mov x0, #10
        0xa9400c22, // 1: ldp x2, x3, [x1]
        0xa9010c22, // stp x2, x3, [x1, #16]
        0x4c400020, // ld4 {v0.16b-v3.16b}, [x1]
        0x39000022, // strb w2, [x1]
        0xd50b7421, // dc zva, x1
        0xf1000400, // subs x0, x0, #1
        0x54ffff41, // b.ne 1b
        0x94000002, // bl 2f
        0xd4000001, // svc #0
        0xd65f03c0, // 2: ret
    };
    tl_a64(h)->x[1] = DATA;
    assert_int_equal(run(machine, words, TL_COUNT_OF(words), 1000), TL_STOP_TRAP);
    assert_int_equal(h->trap_cause, TL_A64_CAUSE_SVC);
    const struct {
        int line;
        uint32_t cell;
        uint64_t want;
    } rows[] = {
        {__LINE__, TL_S_HART_INSTRET, 1 + 10 * 7 + 2},
        {__LINE__, TL_S_HART_INSN_ALU, 1 + 10},
        {__LINE__, TL_S_HART_INSN_LOAD, 10},
        {__LINE__, TL_S_HART_INSN_STORE, 20},
        {__LINE__, TL_S_HART_INSN_FP_LOAD, 10},
        {__LINE__, TL_S_HART_INSN_BRANCH, 10},
        {__LINE__, TL_S_BP_COND, 10},
        {__LINE__, TL_S_HART_BRANCH_TAKEN, 9},
        {__LINE__, TL_S_HART_CALL, 1},
        {__LINE__, TL_S_HART_RETURN, 1},
        {__LINE__, TL_S_BP_RETURN_MISS, 0}, // the stack knew where to
        {__LINE__, TL_S_HART_LOAD_BYTES, 10 * (16 + 64)},
        {__LINE__, TL_S_HART_STORE_BYTES, 10 * (16 + 1 + 64)},
        {__LINE__, TL_S_L1D_LOAD, 10 * (2 + 8)},
        {__LINE__, TL_S_L1D_STORE, 10 * (2 + 1 + 8)},
        {__LINE__, TL_S_DTLB_ACCESS, 10 * (10 + 11)},
        // Runs: begin to dc; then subs to b.ne; from 1: to dc nine times; bl; ret; svc.
        {__LINE__, TL_S_HART_FETCH_RUN, 1 + 10 + 9 + 3},
        {__LINE__, TL_S_L1I_ACCESS, 1 + 10 + 9 + 3},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        if (h->tally[rows[i].cell] != rows[i].want)
            fail_msg("line %d: %llu", rows[i].line, (unsigned long long)h->tally[rows[i].cell]);
}

// Each group of fetch_bytes once, however many instructions it holds.
static void test_fetch_groups_of_straight_code(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    enum { N = 24 };
    uint32_t words[N];
    for (uint32_t i = 0; i < N; i++)
        words[i] = NOP;
    assert_int_equal(run(machine, words, N, N), TL_STOP_LIMIT);
    assert_int_equal(h->tally[TL_S_L1I_READ], N * 4 / h->config->pipeline.fetch_bytes);
    assert_int_equal(h->tally[TL_S_HART_FETCH_RUN], 2); // a line and half of the next
}

static void test_conditions(void **state) { // manual: C1.2.4
    tl_machine *machine = *state;
    tl_a64_hart *a = tl_a64(machine->harts[0]);
    for (uint32_t cond = 0; cond < 16; cond++) {
        for (uint32_t nzcv = 0; nzcv < 16; nzcv++) {
            const bool n = nzcv & TL_A64_N, z = nzcv & TL_A64_Z, c = nzcv & TL_A64_C, v = nzcv & TL_A64_V;
            const bool base[8] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
            const bool want = cond == 15 || base[cond >> 1] != (cond & 1);
            const uint32_t word = 0x9a820020 | cond << 12; // csel x0, x1, x2, cond
            a->nzcv = nzcv;
            a->x[1] = 1;
            a->x[2] = 2;
            assert_int_equal(run(machine, &word, 1, 1), TL_STOP_LIMIT);
            if (a->x[0] != (want ? 1 : 2))
                fail_msg("condition %u, flags %u", cond, nzcv);
        }
    }
}

static void test_counters_of_time_and_ids_that_programs_read(void **state) {
    tl_machine *machine = *state;
    tl_hart *h = machine->harts[0];
    tl_a64_hart *a = tl_a64(h);
    static const uint32_t words[] = {
        0xd53be000, // mrs x0, cntfrq_el0
        0xd53b0021, // mrs x1, ctr_el0
        0xd53b00e2, // mrs x2, dczid_el0
        0xd51bd043, // msr tpidr_el0, x3
        0xd53bd044, // mrs x4, tpidr_el0
        0xd53bd065, // mrs x5, tpidrro_el0
        0xd53be046, // mrs x6, cntvct_el0
    };
    a->x[3] = UINT64_C(0x123456789abcdef0);
    a->tpidrro = 77;
    tl_hart_idle_until(h, 1000 * h->config->clock_hz / TL_TIMEBASE_HZ);
    assert_int_equal(run(machine, words, TL_COUNT_OF(words), TL_COUNT_OF(words)), TL_STOP_LIMIT);
    assert_int_equal(a->x[0], TL_TIMEBASE_HZ);
    assert_int_equal(a->x[1] & 0xf000f, 0x40004); // lines of 16 words
    assert_int_equal(a->x[2], 4);
    assert_true(a->x[4] == a->x[3]);
    assert_int_equal(a->x[5], 77);
    assert_in_range(a->x[6], 1000, 1100);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
    ON_A_MACHINE(test_the_limit_is_exact),
    ON_A_MACHINE(test_a_breakpoint_stops_before_its_instruction),
    ON_A_MACHINE(test_traps_name_their_cause_and_do_not_retire),
    ON_A_MACHINE(test_a_misaligned_pc_traps_with_its_address),
    ON_A_MACHINE(test_faults_write_no_register),
    ON_A_MACHINE(test_tallies_of_a_loop),
    ON_A_MACHINE(test_fetch_groups_of_straight_code),
    ON_A_MACHINE(test_conditions),
    ON_A_MACHINE(test_counters_of_time_and_ids_that_programs_read),
};
TL_TEST_MAIN(tests)
