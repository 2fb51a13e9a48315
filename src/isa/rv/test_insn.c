// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "base/testing.h"
#include "isa/rv/insn.h"

static tl_decoded decode(uint32_t bits) {
    tl_decoded insn;
    tl_decode(bits, &insn);
    return insn;
}

static void test_scoreboard_sees_each_register_file(void **state) {
    (void)state;
    enum { F = 32, NONE = TL_NO_REG };
    static const struct {
        int line;
        uint32_t bits;
        tl_pipe_insn pipe;
    } rows[] = {
        {__LINE__, 0x00c58533, {TL_CLASS_ALU, 0, {11, 12, NONE}, 10, 0, 0}},                  // add a0,a1,a2
        {__LINE__, 0x00000013, {TL_CLASS_ALU, 0, {NONE, NONE, NONE}, NONE, 0, 0}},            // nop: x0 is no register
        {__LINE__, 0xfff53583, {TL_CLASS_LOAD, 8, {10, NONE, NONE}, 11, 0, 0}},               // ld a1,-1(a0)
        {__LINE__, 0x80b53023, {TL_CLASS_STORE, 8, {10, 11, NONE}, NONE, 0, 0}},              // sd a1,-2048(a0)
        {__LINE__, 0x00052507, {TL_CLASS_FP_LOAD, 4, {10, NONE, NONE}, F + 10, 0, 0}},        // flw fa0,0(a0)
        {__LINE__, 0x00a52027, {TL_CLASS_FP_STORE, 4, {10, F + 10, NONE}, NONE, 0, 0}},       // fsw fa0,0(a0)
        {__LINE__, 0x6ac5f543, {TL_CLASS_FP_FMA, 8, {F + 11, F + 12, F + 13}, F + 10, 0, 0}}, // fmadd.d fa0,fa1,fa2,fa3
        {__LINE__, 0x58007053, {TL_CLASS_FP_SQRT, 4, {F + 0, NONE, NONE}, F + 0, 0, 0}},      // fsqrt.s ft0,ft0: f0 is a register
        {__LINE__, 0xc2259553, {TL_CLASS_FP_CONVERT, 8, {F + 11, NONE, NONE}, 10, 0, 0}},     // fcvt.l.d a0,fa1,rtz
        {__LINE__, 0xd2257553, {TL_CLASS_FP_CONVERT, 8, {10, NONE, NONE}, F + 10, 0, 0}},     // fcvt.d.l fa0,a0
        {__LINE__, 0xa2b52553, {TL_CLASS_FP_COMPARE, 8, {F + 10, F + 11, NONE}, 10, 0, 0}},   // feq.d a0,fa0,fa1
        {__LINE__, 0x0ec5a52f, {TL_CLASS_AMO, 4, {11, 12, NONE}, 10, 0, 0}},                  // amoswap.w.aqrl a0,a2,(a1)
        {__LINE__, 0x02c5d53b, {TL_CLASS_DIV, 4, {11, 12, NONE}, 10, 0, 0}},                  // divuw a0,a1,a2
        {__LINE__, 0x00b50463, {TL_CLASS_BRANCH, 0, {10, 11, NONE}, NONE, 0, 0}},             // beq a0,a1,.+8
        {__LINE__, 0x000500e7, {TL_CLASS_JALR, 0, {10, NONE, NONE}, 1, 0, 0}},                // jalr a0
        {__LINE__, 0x008000ef, {TL_CLASS_JAL, 0, {NONE, NONE, NONE}, 1, 0, 0}},               // jal .+8
        {__LINE__, 0x00151573, {TL_CLASS_CSR, 0, {10, NONE, NONE}, 10, 0, 0}},                // fsflags a0,a0
        {__LINE__, 0x001fd073, {TL_CLASS_CSR, 0, {NONE, NONE, NONE}, NONE, 0, 0}},            // fsflagsi 31: 31 is no register
        {__LINE__, 0x852e, {TL_CLASS_ALU, 0, {NONE, 11, NONE}, 10, 0, 0}},                    // c.mv a0,a1
        {__LINE__, 0x00000073, {TL_CLASS_SYSTEM, 0, {NONE, NONE, NONE}, NONE, 0, 0}},         // ecall
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_decoded insn = decode(rows[i].bits);
        tl_pipe_insn pipe;
        tl_insn_pipe(&insn, &pipe);
        const tl_pipe_insn *want = &rows[i].pipe;
        if (pipe.cls != want->cls || pipe.size_bytes != want->size_bytes || memcmp(pipe.src, want->src, 3) != 0 || pipe.dest != want->dest)
            fail_msg("line %d: class %d size %u src %u %u %u dest %u", rows[i].line, (int)pipe.cls, pipe.size_bytes, pipe.src[0],
                     pipe.src[1], pipe.src[2], pipe.dest);
    }
}

static void test_runs_end_at_transfers_and_serializing_instructions(void **state) {
    (void)state;
    static const uint32_t ends[] = {0x00b50463, 0x008000ef, 0x000500e7, 0x8082, 0xbffd,     0xdd7d,     0xc0002573, 0x001fd073, 0x0000100f,
                                    0x12b50073, 0x00000073, 0x00100073, 0x9002, 0x30200073, 0x10200073, 0x10500073, 0x0000,     0xffffffff};
    static const uint32_t goes_on[] = {0x00c58533, 0x0ff0000f, 0x0100000f, 0x0ec5a52f, 0x1405a52f, 0x18c5a52f, 0xfff53583, 0x02c5d53b};
    for (size_t i = 0; i < TL_COUNT_OF(ends); i++) {
        const tl_decoded insn = decode(ends[i]);
        assert_true(tl_insn_ends_run(&insn));
    }
    for (size_t i = 0; i < TL_COUNT_OF(goes_on); i++) {
        const tl_decoded insn = decode(goes_on[i]);
        assert_false(tl_insn_ends_run(&insn));
    }
}

static void test_static_shares(void **state) {
    (void)state;
    static const struct {
        int line;
        uint32_t bits;
        tl_static_count counts[TL_MAX_STATIC]; // without cyc_issue, which all have; in any order
    } rows[] = {
        {__LINE__, 0x00c58533, {{TL_S_HART_INSN_ALU, 1}}},
        {__LINE__, 0x852e, {{TL_S_HART_INSN_ALU, 1}, {TL_S_HART_INSN_COMPRESSED, 1}}},
        {__LINE__, 0x60059513, {{TL_S_HART_INSN_BITMANIP, 1}}}, // clz
        {__LINE__, 0x0005c503, {{TL_S_HART_INSN_LOAD, 1}, {TL_S_HART_LOAD_BYTES, 1}, {TL_S_L1D_LOAD, 1}, {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__, 0x00052507, {{TL_S_HART_INSN_FP_LOAD, 1}, {TL_S_HART_LOAD_BYTES, 4}, {TL_S_L1D_LOAD, 1}, {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__,
         0xfc06,
         {{TL_S_HART_INSN_STORE, 1},
          {TL_S_HART_INSN_COMPRESSED, 1},
          {TL_S_HART_STORE_BYTES, 8},
          {TL_S_L1D_STORE, 1},
          {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__,
         0x0ec5a52f,
         {{TL_S_HART_INSN_AMO, 1},
          {TL_S_HART_LOAD_BYTES, 4},
          {TL_S_HART_STORE_BYTES, 4},
          {TL_S_L1D_LOAD, 1},
          {TL_S_L1D_STORE, 1},
          {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__, 0x1405b52f, {{TL_S_HART_INSN_LR, 1}, {TL_S_HART_LOAD_BYTES, 8}, {TL_S_L1D_LOAD, 1}, {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__, 0x18c5a52f, {{TL_S_HART_INSN_SC, 1}, {TL_S_DTLB_ACCESS, 1}}},
        {__LINE__, 0x00b50463, {{TL_S_HART_INSN_BRANCH, 1}, {TL_S_BP_COND, 1}}},
        {__LINE__, 0x008000ef, {{TL_S_HART_INSN_JAL, 1}, {TL_S_BP_DIRECT, 1}, {TL_S_HART_CALL, 1}, {TL_S_BP_RAS_PUSH, 1}}},
        {__LINE__, 0x0080006f, {{TL_S_HART_INSN_JAL, 1}, {TL_S_BP_DIRECT, 1}}},
        {__LINE__,
         0x8082,
         {{TL_S_HART_INSN_JALR, 1}, {TL_S_HART_INSN_COMPRESSED, 1}, {TL_S_HART_RETURN, 1}, {TL_S_BP_RETURN, 1}, {TL_S_BP_RAS_POP, 1}}},
        {__LINE__, 0x000500e7, {{TL_S_HART_INSN_JALR, 1}, {TL_S_BP_INDIRECT, 1}, {TL_S_HART_CALL, 1}, {TL_S_BP_RAS_PUSH, 1}}},
        {__LINE__, 0x00050067, {{TL_S_HART_INSN_JALR, 1}, {TL_S_BP_INDIRECT, 1}}},
        // jalr t0,ra: a coroutine swap pops and pushes; jalr ra,ra only pushes
        {__LINE__,
         0x000082e7,
         {{TL_S_HART_INSN_JALR, 1},
          {TL_S_HART_RETURN, 1},
          {TL_S_BP_RETURN, 1},
          {TL_S_BP_RAS_POP, 1},
          {TL_S_HART_CALL, 1},
          {TL_S_BP_RAS_PUSH, 1}}},
        {__LINE__, 0x000080e7, {{TL_S_HART_INSN_JALR, 1}, {TL_S_BP_INDIRECT, 1}, {TL_S_HART_CALL, 1}, {TL_S_BP_RAS_PUSH, 1}}},
        {__LINE__, 0xc0002573, {{TL_S_HART_INSN_CSR, 1}}}, // rdcycle writes nothing
        {__LINE__, 0x00151573, {{TL_S_HART_INSN_CSR, 1}, {TL_S_HART_FLUSH_CSR, 1}}},
        {__LINE__, 0x00101073, {{TL_S_HART_INSN_CSR, 1}, {TL_S_HART_FLUSH_CSR, 1}}}, // csrrw with x0 writes 0
        {__LINE__, 0x00105073, {{TL_S_HART_INSN_CSR, 1}, {TL_S_HART_FLUSH_CSR, 1}}},
        {__LINE__, 0x00106073, {{TL_S_HART_INSN_CSR, 1}}}, // csrrsi with 0 does not write
        {__LINE__, 0x0ff0000f, {{TL_S_HART_INSN_FENCE, 1}}},
        {__LINE__, 0x0000100f, {{TL_S_HART_INSN_FENCE_I, 1}, {TL_S_HART_FLUSH_OTHER, 1}}},
        {__LINE__, 0x6ac5f543, {{TL_S_HART_INSN_FP_FMA, 1}}},
        {__LINE__, 0x22b50553, {{TL_S_HART_INSN_FP_MOVE, 1}}},    // fsgnj.d
        {__LINE__, 0x2ab50553, {{TL_S_HART_INSN_FP_COMPARE, 1}}}, // fmin.d
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint64_t got[TL_S_N_CELLS] = {0}, want[TL_S_N_CELLS] = {0};
        const tl_decoded insn = decode(rows[i].bits);
        tl_static_count counts[TL_MAX_STATIC];
        const uint32_t n = tl_insn_static(&insn, counts);
        assert_true(n <= TL_MAX_STATIC);
        for (uint32_t k = 0; k < n; k++)
            got[counts[k].cell] += counts[k].amount;
        want[TL_S_HART_CYC_ISSUE] = 1;
        for (uint32_t k = 0; k < TL_MAX_STATIC && rows[i].counts[k].amount != 0; k++)
            want[rows[i].counts[k].cell] += rows[i].counts[k].amount;
        for (uint32_t cell = 0; cell < TL_S_N_CELLS; cell++)
            if (got[cell] != want[cell])
                fail_msg("line %d: cell %u: %llu, not %llu", rows[i].line, cell, (unsigned long long)got[cell],
                         (unsigned long long)want[cell]);
    }
    tl_static_count counts[TL_MAX_STATIC];
    const tl_decoded illegal = decode(0);
    assert_int_equal(tl_insn_static(&illegal, counts), 0); // it never retires
}

static void test_every_row_has_one_class_and_fits(void **state) {
    (void)state;
    for (uint32_t opc = 1; opc < TL_N_OPCS; opc++) {
        const tl_decoded insn = decode(tl_insn_rows[opc].match);
        tl_static_count counts[TL_MAX_STATIC];
        const uint32_t n = tl_insn_static(&insn, counts);
        uint32_t n_classes = 0;
        for (uint32_t k = 0; k < n; k++)
            n_classes += counts[k].cell >= TL_S_HART_INSN_ALU && counts[k].cell < TL_S_HART_INSN_ALU + TL_N_CLASSES;
        assert_int_equal(n_classes, 1);
        assert_int_equal(counts[0].cell, TL_S_HART_INSN_ALU + tl_insn_rows[opc].cls);
    }
}

static void test_ops_are_ready_to_index(void **state) {
    (void)state;
    static const struct {
        int line;
        uint32_t bits;
        uint8_t rd, rs1, rs2;
        int32_t imm;
    } rows[] = {
        {__LINE__, 0x00000013, 32, 0, 0, 0},             // nop writes the sink
        {__LINE__, 0x6ac5f543, 10, 11, 12, 13 | 7 << 8}, // fmadd.d: rs3 and rm
        {__LINE__, 0x6ac58043, 0, 11, 12, 13},           // to ft0, which is a register
        {__LINE__, 0x00c59553, 10, 11, 12, 1},           // fadd.s with rtz
        {__LINE__, 0xc2259053, 32, 11, 0, 1},            // fcvt.l.d zero,fa1,rtz
        {__LINE__, 0x0ec5a52f, 10, 11, 12, 3},           // amoswap.w.aqrl
        {__LINE__, 0xc0002073, 32, 0, 0, 0xc00},         // rdcycle zero
        {__LINE__, 0xffffffff, 0, 0, 0, -1},             // illegal: the bits
        {__LINE__, 0x0000, 0, 0, 0, 0},
        {__LINE__, 0x9c41, 0, 0, 0, 0x9c41},
        {__LINE__, 0x80b53023, 0, 10, 11, -2048}, // sd
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_decoded insn = decode(rows[i].bits);
        tl_op op = {.offset = 5};
        tl_op_from_decoded(&insn, &op);
        if (op.rd != rows[i].rd || op.rs1 != rows[i].rs1 || op.rs2 != rows[i].rs2 || op.imm != rows[i].imm || op.offset != 5)
            fail_msg("line %d: rd %u rs1 %u rs2 %u imm %d", rows[i].line, op.rd, op.rs1, op.rs2, op.imm);
    }
}

static void symbol_at(void *ctx, uint64_t address, char *buffer, size_t size) {
    if (address == 0x1010)
        snprintf(buffer, size, "<%s+0x10>", (const char *)ctx);
}

static void test_disassembly_names_targets(void **state) {
    (void)state;
    char text[64];
    tl_decoded insn = decode(0x00b50463);
    assert_int_equal(tl_disassemble(&insn, 0x1008, NULL, NULL, text, sizeof(text)), 14);
    assert_string_equal(text, "beq\ta0,a1,1010");
    char function[] = "main";
    tl_disassemble(&insn, 0x1008, symbol_at, function, text, sizeof(text));
    assert_string_equal(text, "beq\ta0,a1,1010 <main+0x10>");
    tl_disassemble(&insn, 0x100a, symbol_at, function, text, sizeof(text));
    assert_string_equal(text, "beq\ta0,a1,1012");
}

static void test_disassembly_is_cut_where_the_buffer_ends(void **state) {
    (void)state;
    char text[8] = "1234567";
    const tl_decoded insn = decode(0x00c58533);
    assert_int_equal(tl_disassemble(&insn, 0, NULL, NULL, text, sizeof(text)), 12);
    assert_string_equal(text, "add\ta0,");
    assert_int_equal(tl_disassemble(&insn, 0, NULL, NULL, NULL, 0), 12);
}

static void test_hints_follow_the_table_of_the_manual(void **state) {
    (void)state;
    // rd, rs1 link and equal: push only. rd, rs1 link and different: pop, then push. Only rs1: pop.
    // Only rd: push.
    assert_false(tl_jalr_is_return(1, 1));
    assert_true(tl_jalr_is_return(1, 5));
    assert_true(tl_jalr_is_return(5, 1));
    assert_true(tl_jalr_is_return(0, 1));
    assert_true(tl_jalr_is_return(0, 5));
    assert_false(tl_jalr_is_return(1, 10));
    assert_false(tl_jalr_is_return(0, 10));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hints_follow_the_table_of_the_manual),
    cmocka_unit_test(test_scoreboard_sees_each_register_file),
    cmocka_unit_test(test_runs_end_at_transfers_and_serializing_instructions),
    cmocka_unit_test(test_static_shares),
    cmocka_unit_test(test_every_row_has_one_class_and_fits),
    cmocka_unit_test(test_ops_are_ready_to_index),
    cmocka_unit_test(test_disassembly_names_targets),
    cmocka_unit_test(test_disassembly_is_cut_where_the_buffer_ends),
};
TL_TEST_MAIN(tests)
