// SPDX-License-Identifier: MIT
#include "base/testing.h"
#include "isa/rv/insn.h"

static uint64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void test_no_two_rows_claim_the_same_bits(void **state) {
    (void)state;
    for (uint32_t i = 1; i < TL_N_OPCS; i++) {
        const tl_insn_row *a = &tl_insn_rows[i];
        assert_int_equal(a->match & ~a->mask, 0);
        assert_int_equal(a->match & 3, 3);
        for (uint32_t j = i + 1; j < TL_N_OPCS; j++) {
            const tl_insn_row *b = &tl_insn_rows[j];
            if (((a->match ^ b->match) & a->mask & b->mask) == 0)
                fail_msg("%s and %s overlap", a->mnemonic, b->mnemonic);
        }
    }
}

static void test_every_row_decodes_to_itself_with_any_operands(void **state) {
    (void)state;
    uint64_t random = 1;
    for (uint32_t opc = 1; opc < TL_N_OPCS; opc++) {
        for (int i = 0; i < 2000; i++) {
            const tl_insn_row *row = &tl_insn_rows[opc];
            const uint32_t bits = row->match | ((uint32_t)random_bits(&random) & ~row->mask);
            tl_decoded insn;
            tl_decode(bits, &insn);
            if (insn.opc != opc)
                fail_msg("%08x is %s, decoded as %s", bits, row->mnemonic, tl_insn_rows[insn.opc].mnemonic);
            assert_int_equal(insn.len, 4);
            assert_int_equal(insn.raw, bits);
            assert_int_equal(insn.rvc, 0);
        }
    }
}

static void test_any_bits_decode_to_a_row_they_match_or_to_illegal(void **state) {
    (void)state;
    uint64_t random = 2;
    for (int i = 0; i < 2000000; i++) {
        const uint32_t bits = (uint32_t)random_bits(&random) | 3;
        tl_decoded insn;
        tl_decode(bits, &insn);
        assert_true(insn.opc < TL_N_OPCS);
        assert_true(insn.rd < 32 && insn.rs1 < 32 && insn.rs2 < 32 && insn.rs3 < 32 && insn.rm < 8);
        if (insn.opc != TL_OPC_ILLEGAL) {
            assert_int_equal(bits & tl_insn_rows[insn.opc].mask, tl_insn_rows[insn.opc].match);
            continue;
        }
        for (uint32_t opc = 1; i % 100 == 0 && opc < TL_N_OPCS; opc++)
            assert_int_not_equal(bits & tl_insn_rows[opc].mask, tl_insn_rows[opc].match);
    }
}

static void test_every_compressed_word_is_of_its_row(void **state) {
    (void)state;
    uint32_t n_legal = 0, n_of_row[TL_N_RVCS] = {0};
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if ((bits & 3) == 3)
            continue;
        tl_decoded insn;
        tl_decode(bits | 0xabcd0000, &insn); // the upper half is the next instruction's
        assert_int_equal(insn.len, 2);
        assert_int_equal(insn.raw, bits);
        if (insn.opc == TL_OPC_ILLEGAL) {
            assert_int_equal(insn.rvc, 0);
            continue;
        }
        const tl_rvc_row *row = &tl_rvc_rows[insn.rvc - 1];
        assert_int_equal(bits & row->mask, row->match);
        assert_int_equal(insn.opc, row->expands);
        n_of_row[insn.rvc - 1] += 1;
        n_legal += 1;
    }
    for (uint32_t rvc = 0; rvc < TL_N_RVCS; rvc++)
        assert_int_not_equal(n_of_row[rvc], 0);
    // 48 Ki words minus: quadrant 0: 8 x 1 (c.addi4spn 0) + 2048 (funct3 4); quadrant 1: 64 c.addiw
    // x0, 1 c.addi16sp 0, 31 c.lui 0, 2 x 64 x 2 reserved in CA; quadrant 2: 64 c.lwsp x0, 64
    // c.ldsp x0, 1 c.jr x0.
    assert_int_equal(n_legal, 3 * 0x4000 - (8 + 2048) - (64 + 1 + 31 + 128) - (64 + 64 + 1));
}

static void test_operands_of_each_format(void **state) {
    (void)state;
    static const struct {
        int line;
        uint32_t bits;
        tl_opc opc;
        uint8_t rd, rs1, rs2, rs3, rm;
        int32_t imm;
    } rows[] = {
        // words from the assembler
        {__LINE__, 0x00c58533, TL_OPC_add, 10, 11, 12, 0, 0, 0},
        {__LINE__, 0x80058513, TL_OPC_addi, 10, 11, 0, 0, 0, -2048},
        {__LINE__, 0x7ff5c513, TL_OPC_xori, 10, 11, 0, 0, 0, 2047},
        {__LINE__, 0x43f5d513, TL_OPC_srai, 10, 11, 0, 0, 0, 63},
        {__LINE__, 0xfff53583, TL_OPC_ld, 11, 10, 0, 0, 0, -1},
        {__LINE__, 0x80b53023, TL_OPC_sd, 0, 10, 11, 0, 0, -2048},
        {__LINE__, 0x7eb53fa3, TL_OPC_sd, 0, 10, 11, 0, 0, 2047},
        {__LINE__, 0xfffff537, TL_OPC_lui, 10, 0, 0, 0, 0, -4096},
        {__LINE__, 0x80000517, TL_OPC_auipc, 10, 0, 0, 0, 0, INT32_MIN},
        {__LINE__, 0x800000ef, TL_OPC_jal, 1, 0, 0, 0, 0, -1048576},
        {__LINE__, 0x7ffff06f, TL_OPC_jal, 0, 0, 0, 0, 0, 1048574},
        {__LINE__, 0x80b50063, TL_OPC_beq, 0, 10, 11, 0, 0, -4096},
        {__LINE__, 0x7eb51fe3, TL_OPC_bne, 0, 10, 11, 0, 0, 4094},
        {__LINE__, 0xc0002573, TL_OPC_csrrs, 10, 0, 0, 0, 0, 0xc00},
        {__LINE__, 0x001fd073, TL_OPC_csrrwi, 0, 31, 0, 0, 0, 1},
        {__LINE__, 0x0ec5a52f, TL_OPC_amoswap_w, 10, 11, 12, 0, 3, 0},
        {__LINE__, 0x1405a52f, TL_OPC_lr_w, 10, 11, 0, 0, 2, 0},
        {__LINE__, 0x6ac5f543, TL_OPC_fmadd_d, 10, 11, 12, 13, 7, 0},
        {__LINE__, 0x00c58553, TL_OPC_fadd_s, 10, 11, 12, 0, 0, 0},
        {__LINE__, 0xc2259553, TL_OPC_fcvt_l_d, 10, 11, 0, 0, 1, 0},
        {__LINE__, 0x0ff0000f, TL_OPC_fence, 0, 0, 0, 0, 0, 0x0ff},
        {__LINE__, 0x12b50073, TL_OPC_sfence_vma, 0, 10, 11, 0, 0, 0},
        {__LINE__, 0x1141, TL_OPC_addi, 2, 2, 0, 0, 0, -16},
        {__LINE__, 0x715d, TL_OPC_addi, 2, 2, 0, 0, 0, -80},
        {__LINE__, 0x0808, TL_OPC_addi, 10, 2, 0, 0, 0, 16},
        {__LINE__, 0x8082, TL_OPC_jalr, 0, 1, 0, 0, 0, 0},
        {__LINE__, 0x9502, TL_OPC_jalr, 1, 10, 0, 0, 0, 0},
        {__LINE__, 0x852e, TL_OPC_add, 10, 0, 11, 0, 0, 0},
        {__LINE__, 0x757d, TL_OPC_lui, 10, 0, 0, 0, 0, -4096},
        {__LINE__, 0xbffd, TL_OPC_jal, 0, 0, 0, 0, 0, -2},
        {__LINE__, 0xdd7d, TL_OPC_beq, 0, 10, 0, 0, 0, -2},
        {__LINE__, 0x70a2, TL_OPC_ld, 1, 2, 0, 0, 0, 40},
        {__LINE__, 0xfc06, TL_OPC_sd, 0, 2, 1, 0, 0, 56},
        {__LINE__, 0x9002, TL_OPC_ebreak, 0, 0, 0, 0, 0, 0},
        {__LINE__, 0x0000, TL_OPC_ILLEGAL, 0, 0, 0, 0, 0, 0},
        {__LINE__, 0xffffffff, TL_OPC_ILLEGAL, 0, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_decoded insn;
        tl_decode(rows[i].bits, &insn);
        if (insn.opc != rows[i].opc || insn.rd != rows[i].rd || insn.rs1 != rows[i].rs1 || insn.rs2 != rows[i].rs2 ||
            insn.rs3 != rows[i].rs3 || insn.rm != rows[i].rm || insn.imm != rows[i].imm)
            fail_msg("line %d: %s rd %u rs1 %u rs2 %u rs3 %u rm %u imm %d", rows[i].line, tl_insn_rows[insn.opc].mnemonic, insn.rd,
                     insn.rs1, insn.rs2, insn.rs3, insn.rm, insn.imm);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_two_rows_claim_the_same_bits),
    cmocka_unit_test(test_every_row_decodes_to_itself_with_any_operands),
    cmocka_unit_test(test_any_bits_decode_to_a_row_they_match_or_to_illegal),
    cmocka_unit_test(test_every_compressed_word_is_of_its_row),
    cmocka_unit_test(test_operands_of_each_format),
};
TL_TEST_MAIN(tests)
