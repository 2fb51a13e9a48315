// SPDX-License-Identifier: MIT
// The tables against themselves, and fields against the manual's examples. tests/isa compares text
// and decodability with binutils.
#include <stdio.h>

#include "base/bits.h"
#include "base/testing.h"
#include "isa/a64/insn.h"

static uint64_t random_state = UINT64_C(88172645463325252);
static uint32_t random_word(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(random_state * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

static tl_a64_decoded decode(uint32_t bits) {
    tl_a64_decoded insn;
    tl_a64_decode(bits, &insn);
    return insn;
}

static void test_match_lies_in_mask(void **state) {
    (void)state;
    for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++) {
        const tl_a64_row *row = &tl_a64_rows[opc];
        if ((row->match & ~row->mask) != 0)
            fail_msg("%s: match %08x, mask %08x", row->mnemonic, row->match, row->mask);
    }
}

// Words of the intersection of two masks; the rules of the formats must tell them apart.
static void test_no_word_has_two_rows(void **state) {
    (void)state;
    for (uint32_t a = 1; a < TL_A64_N_OPCS; a++) {
        for (uint32_t b = a + 1; b < TL_A64_N_OPCS; b++) {
            const tl_a64_row *x = &tl_a64_rows[a], *y = &tl_a64_rows[b];
            if (((x->match ^ y->match) & x->mask & y->mask) != 0)
                continue;
            for (int i = 0; i < 4096; i++) {
                const uint32_t word = x->match | y->match | (random_word() & ~(x->mask | y->mask));
                if (tl_a64_row_has((tl_a64_opc)a, word) && tl_a64_row_has((tl_a64_opc)b, word))
                    fail_msg("%08x is of rows %u (%s) and %u (%s)", word, a, x->mnemonic, b, y->mnemonic);
            }
        }
    }
}

static void test_every_row_is_found_by_its_words(void **state) {
    (void)state;
    for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++) {
        const tl_a64_row *row = &tl_a64_rows[opc];
        uint32_t n_found = 0;
        for (int i = 0; i < 4096; i++) {
            const uint32_t word = row->match | (random_word() & ~row->mask);
            const tl_a64_decoded insn = decode(word);
            if (tl_a64_row_has((tl_a64_opc)opc, word) != (insn.opc == opc))
                fail_msg("%08x: row %u (%s), decoded as %u", word, opc, row->mnemonic, insn.opc);
            n_found += insn.opc == opc;
        }
        if (n_found == 0)
            fail_msg("row %u (%s) has no word", opc, row->mnemonic);
    }
}

static void test_a_row_has_all_words_that_it_decodes(void **state) {
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint32_t word = random_word();
        uint32_t found = TL_A64_OPC_UNDEFINED;
        for (uint32_t opc = 1; opc < TL_A64_N_OPCS && found == TL_A64_OPC_UNDEFINED; opc++)
            found = tl_a64_row_has((tl_a64_opc)opc, word) ? opc : found;
        if (decode(word).opc != found)
            fail_msg("%08x: decoded as %u, row %u has it", word, decode(word).opc, found);
    }
}

static void test_fields(void **state) {
    (void)state;
    static const struct {
        int line;
        uint32_t bits, opc;
        uint8_t rd, rn, rm, ra;
        int32_t imm;
    } rows[] = {
        {__LINE__, 0x9145b841, TL_A64_OPC_add_imm_x, 1, 2, 5, 14, 0x16e000},    // add x1, x2, #0x16e, lsl #12
        {__LINE__, 0xf2ffffe3, TL_A64_OPC_movk_x, 3, 31, 31, 31, 0x3ffff},      // movk x3, #0xffff, lsl #48
        {__LINE__, 0xd3481c41, TL_A64_OPC_ubfm_x, 1, 2, 8, 7, 8 | 7 << 6},      // ubfm x1, x2, #8, #7
        {__LINE__, 0x17ffffff, TL_A64_OPC_b, 31, 31, 31, 31, -4},               // b .-4
        {__LINE__, 0x54ffffe1, TL_A64_OPC_b_cond, 1, 31, 31, 31, -4},           // b.ne .-4
        {__LINE__, 0xb7f80002, TL_A64_OPC_tbnz, 2, 0, 24, 0, -0},               // tbnz x2, #63, .
        {__LINE__, 0x3607ffe2, TL_A64_OPC_tbz, 2, 31, 7, 31, -4},               // tbz w2, #0, .-4
        {__LINE__, 0x90000041, TL_A64_OPC_adrp, 1, 2, 0, 0, 8},                 // adrp x1, .+8 pages
        {__LINE__, 0x70ffffe1, TL_A64_OPC_adr, 1, 31, 31, 31, -1},              // adr x1, .-1
        {__LINE__, 0xa9bf7bfd, TL_A64_OPC_stp_x_pre, 29, 31, 31, 30, -16},      // stp x29, x30, [sp, #-16]!
        {__LINE__, 0xadbf0400, TL_A64_OPC_stp_q_pre, 0, 0, 31, 1, -32},         // stp q0, q1, [x0, #-32]!
        {__LINE__, 0xf85ff041, TL_A64_OPC_ldur_x, 1, 2, 31, 28, -1},            // ldur x1, [x2, #-1]
        {__LINE__, 0x7dbffc41, TL_A64_OPC_UNDEFINED, 0, 0, 0, 0, 0},            // size 01, opc 10
        {__LINE__, 0x3dffffe1, TL_A64_OPC_ldr_q_uimm, 1, 31, 31, 31, 65520},    // ldr q1, [sp, #65520]
        {__LINE__, 0xf8637841, TL_A64_OPC_ldr_x_reg, 1, 2, 3, 30, 3 | 3 << 3},  // ldr x1, [x2, x3, lsl #3]
        {__LINE__, 0x3863d841, TL_A64_OPC_ldrb_reg, 1, 2, 3, 22, 6},            // ldrb w1, [x2, w3, sxtw #0]
        {__LINE__, 0x8b830c41, TL_A64_OPC_add_x, 1, 2, 3, 3, 3 | 2 << 6},       // add x1, x2, x3, asr #3
        {__LINE__, 0x8b23cc41, TL_A64_OPC_add_ext_x, 1, 2, 3, 19, 3 | 6 << 3},  // add x1, x2, w3, sxtw #3
        {__LINE__, 0xfa435844, TL_A64_OPC_ccmp_imm_x, 4, 2, 3, 22, 4 | 5 << 4}, // ccmp x2, #3, #4, pl
        {__LINE__, 0x9e58fc41, TL_A64_OPC_fcvtzs_x_d_fix, 1, 2, 24, 31, 1},     // fcvtzs x1, d2, #1
        {__LINE__, 0x1e6e1001, TL_A64_OPC_fmov_d_imm, 1, 0, 14, 4, 0x70},       // fmov d1, #1.0
        {__LINE__, 0xd53bd041, TL_A64_OPC_mrs, 1, 2, 27, 20, 0xde82},           // mrs x1, tpidr_el0
        {__LINE__, 0x00000000, TL_A64_OPC_UNDEFINED, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_a64_decoded insn = decode(rows[i].bits);
        if (insn.opc != rows[i].opc || insn.rd != rows[i].rd || insn.rn != rows[i].rn || insn.rm != rows[i].rm || insn.ra != rows[i].ra ||
            insn.imm != rows[i].imm || insn.raw != rows[i].bits)
            fail_msg("line %d: row %u, rd %u rn %u rm %u ra %u imm %d", rows[i].line, insn.opc, insn.rd, insn.rn, insn.rm, insn.ra,
                     insn.imm);
    }
}

// All 5334 logical immediates of 64 bits: a run of ones, repeated and rotated.
static void test_bit_masks_are_rotated_runs(void **state) {
    (void)state;
    uint32_t n_valid = 0;
    for (uint32_t n_immr_imms = 0; n_immr_imms < 1 << 13; n_immr_imms++) {
        const uint32_t n = n_immr_imms >> 12, immr = n_immr_imms >> 6 & 63, imms = n_immr_imms & 63;
        const uint64_t mask = tl_a64_bit_mask(n_immr_imms << 10, true);
        uint32_t size = 64; // spelled out: the highest 0 of N:NOT(imms) from the top says the size
        while (size > 1 && !(size == 64 ? n == 1 : n == 0 && !(imms & size) && (imms | (size * 2 - 1)) == 63))
            size /= 2;
        const uint32_t ones = (imms & (size - 1)) + 1;
        if (size < 2 || ones == size) {
            assert_int_equal(mask, 0);
            continue;
        }
        n_valid += immr < size;
        for (uint32_t bit = 0; bit < 64; bit++) {
            if ((mask >> bit & 1) != ((bit + immr) % size < ones))
                fail_msg("%04x: %016llx", n_immr_imms, (unsigned long long)mask);
        }
        assert_int_equal(tl_a64_bit_mask(n_immr_imms << 10, false), n ? 0 : (uint32_t)mask);
    }
    assert_int_equal(n_valid, 5334);
}

static void test_expanded_immediates(void **state) {
    (void)state;
    assert_true(tl_a64_fp_imm(0x70, true) == UINT64_C(0x3ff0000000000000)); // 1.0
    assert_true(tl_a64_fp_imm(0x80, true) == UINT64_C(0xc000000000000000)); // -2.0
    assert_true(tl_a64_fp_imm(0x3f, true) == UINT64_C(0x403f000000000000)); // 31.0
    assert_true(tl_a64_fp_imm(0x40, false) == 0x3e000000);                  // 0.125
    assert_true(tl_a64_fp_imm(0x00, false) == 0x40000000);                  // 2.0
    static const struct {
        uint32_t cmode, op;
        uint64_t want; // of 0xa5
    } rows[] = {
        {0, 0, UINT64_C(0x000000a5000000a5)},  {2, 0, UINT64_C(0x0000a5000000a500)},  {4, 0, UINT64_C(0x00a5000000a50000)},
        {6, 0, UINT64_C(0xa5000000a5000000)},  {8, 0, UINT64_C(0x00a500a500a500a5)},  {10, 0, UINT64_C(0xa500a500a500a500)},
        {12, 0, UINT64_C(0x0000a5ff0000a5ff)}, {13, 0, UINT64_C(0x00a5ffff00a5ffff)}, {14, 0, UINT64_C(0xa5a5a5a5a5a5a5a5)},
        {14, 1, UINT64_C(0xff00ff0000ff00ff)}, {15, 0, UINT64_C(0xc1280000c1280000)}, {15, 1, UINT64_C(0xc025000000000000)},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const uint64_t got = tl_a64_simd_imm(5u << 16 | 5u << 5 | rows[i].cmode << 12 | rows[i].op << 29);
        if (rows[i].cmode == 15 && rows[i].op == 0)
            assert_true(got == tl_a64_fp_imm(0xa5, false) * UINT64_C(0x100000001));
        else if (got != rows[i].want)
            fail_msg("row %zu: %016llx", i, (unsigned long long)got);
    }
}

static void symbol_at(void *ctx, uint64_t address, char *buffer, size_t size) {
    if (address == 0x1010)
        snprintf(buffer, size, "<%s+0x10>", (const char *)ctx);
}

static void test_disassembly_names_targets_and_is_cut_where_the_buffer_ends(void **state) {
    (void)state;
    char text[64], function[] = "main";
    const tl_a64_decoded insn = decode(0x54000041); // b.ne .+8
    assert_int_equal(tl_a64_disassemble(&insn, 0x1008, NULL, NULL, text, sizeof(text)), 9);
    assert_string_equal(text, "b.ne\t1010");
    tl_a64_disassemble(&insn, 0x1008, symbol_at, function, text, sizeof(text));
    assert_string_equal(text, "b.ne\t1010 <main+0x10>");
    assert_int_equal(tl_a64_disassemble(&insn, 0x1008, NULL, NULL, text, 8), 9);
    assert_string_equal(text, "b.ne\t10");
    assert_int_equal(tl_a64_disassemble(&insn, 0x1008, NULL, NULL, NULL, 0), 9);
    const tl_a64_decoded isb = decode(0xd5033fdf);
    assert_int_equal(tl_a64_disassemble(&isb, 0, NULL, NULL, text, sizeof(text)), 3);
    assert_string_equal(text, "isb");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_match_lies_in_mask),
    cmocka_unit_test(test_no_word_has_two_rows),
    cmocka_unit_test(test_every_row_is_found_by_its_words),
    cmocka_unit_test(test_a_row_has_all_words_that_it_decodes),
    cmocka_unit_test(test_fields),
    cmocka_unit_test(test_bit_masks_are_rotated_runs),
    cmocka_unit_test(test_expanded_immediates),
    cmocka_unit_test(test_disassembly_names_targets_and_is_cut_where_the_buffer_ends),
};
TL_TEST_MAIN(tests)
