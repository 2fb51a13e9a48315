// SPDX-License-Identifier: MIT
// Assembled instructions read back the same through decoder and disassembler. The instructions' own
// bodies run the code of constants.
#include "isa/rv/assemble.h"

#include <string.h>

#include "base/testing.h"
#include "isa/rv/insn.h"

static const uint64_t BASE = 0x80000000;

static void assert_text(const tl_assembler *a, uint32_t index, const char *expected) {
    char text[64];
    tl_decoded insn;
    tl_decode(a->words[index], &insn);
    tl_disassemble(&insn, a->base + 4 * index, NULL, NULL, text, sizeof text);
    if (strcmp(text, expected) != 0)
        fail_msg("word %u, 0x%08x, is \"%s\" instead of \"%s\"", index, a->words[index], text, expected);
}

static void test_every_form_reads_back(void **state) {
    (void)state;
    uint32_t words[64];
    tl_assembler a;
    tl_asm_init(&a, words, sizeof words, BASE);
    tl_asm_op(&a, TL_ASM_ADD, TL_A0, TL_A1, TL_A2);
    tl_asm_op(&a, TL_ASM_SUB, TL_T0, TL_T1, TL_T6);
    tl_asm_op(&a, TL_ASM_AND, TL_S0, TL_S1, TL_S11);
    tl_asm_op(&a, TL_ASM_OR, TL_GP, TL_TP, TL_RA);
    tl_asm_op(&a, TL_ASM_MUL, TL_A0, TL_A0, TL_A1);
    tl_asm_addi(&a, TL_SP, TL_SP, -2048);
    tl_asm_andi(&a, TL_T1, TL_T0, 4);
    tl_asm_slli(&a, TL_A0, TL_A0, 63);
    tl_asm_srli(&a, TL_A0, TL_A0, 12);
    tl_asm_ld(&a, TL_A7, TL_SP, 2040);
    tl_asm_sd(&a, TL_A7, TL_SP, -8);
    tl_asm_csrr(&a, TL_T0, 0xc00);
    tl_asm_csrw(&a, 0x140, TL_T0);
    tl_asm_csrrw(&a, TL_SP, 0x140, TL_SP);
    tl_asm_csrs(&a, 0x320, TL_T0);
    tl_asm_csrc(&a, 0x320, TL_T0);
    tl_asm_csrsi(&a, 0x320, 24);
    tl_asm_csrci(&a, 0x320, 31);
    tl_asm_ecall(&a);
    tl_asm_ebreak(&a);
    tl_asm_sret(&a);
    tl_asm_mret(&a);
    static const char *const texts[] = {"add\ta0,a1,a2",
                                        "sub\tt0,t1,t6",
                                        "and\ts0,s1,s11",
                                        "or\tgp,tp,ra",
                                        "mul\ta0,a0,a1",
                                        "add\tsp,sp,-2048",
                                        "and\tt1,t0,4",
                                        "sll\ta0,a0,0x3f",
                                        "srl\ta0,a0,0xc",
                                        "ld\ta7,2040(sp)",
                                        "sd\ta7,-8(sp)",
                                        "rdcycle\tt0",
                                        "csrw\tsscratch,t0",
                                        "csrrw\tsp,sscratch,sp",
                                        "csrs\tmcountinhibit,t0",
                                        "csrc\tmcountinhibit,t0",
                                        "csrs\tmcountinhibit,24",
                                        "csrc\tmcountinhibit,31",
                                        "ecall",
                                        "ebreak",
                                        "sret",
                                        "mret"};
    assert_int_equal(a.n_words, sizeof texts / sizeof texts[0]);
    for (uint32_t i = 0; i < a.n_words; i++)
        assert_text(&a, i, texts[i]);
}

static void test_branches_reach_their_targets(void **state) {
    (void)state;
    uint32_t words[700];
    tl_assembler a;
    tl_asm_init(&a, words, sizeof words, BASE);
    uint32_t forward = tl_asm_branch(&a, TL_ASM_EQ, TL_T0, TL_X0), jump = tl_asm_jump(&a);
    tl_asm_branch_to(&a, TL_ASM_NE, TL_T1, TL_T2, BASE);
    tl_asm_branch_to(&a, TL_ASM_LTU, TL_A0, TL_A1, BASE + 4);
    tl_asm_jump_to(&a, BASE + 8);
    while (a.n_words < 600)
        tl_asm_addi(&a, TL_X0, TL_X0, 0);
    tl_asm_bind(&a, forward);
    tl_asm_bind(&a, jump);
    assert_text(&a, forward, "beqz\tt0,80000960");
    assert_text(&a, jump, "j\t80000960");
    assert_text(&a, 2, "bne\tt1,t2,80000000");
    assert_text(&a, 3, "bltu\ta0,a1,80000004");
    assert_text(&a, 4, "j\t80000008");
}

static uint64_t value_of(const tl_assembler *a, uint32_t first) {
    static tl_rv_hart h;
    memset(&h, 0, sizeof h);
    for (uint32_t i = first; i < a->n_words; i++) {
        tl_decoded insn;
        tl_op op;
        tl_decode(a->words[i], &insn);
        tl_op_from_decoded(&insn, &op);
        assert_true(tl_exec_full[insn.opc](&h.hart, &op, 0));
    }
    return h.x[TL_T3];
}

static void test_constants_are_what_was_asked_for(void **state) {
    (void)state;
    uint32_t words[32];
    uint64_t pattern = 1;
    for (int i = 0; i < 2000; i++) {
        uint64_t value = i < 64    ? UINT64_C(1) << i
                         : i < 128 ? -(UINT64_C(1) << (i - 64))
                         : i < 192 ? (UINT64_C(1) << (i - 128)) - 1
                                   : pattern;
        tl_assembler a;
        tl_asm_init(&a, words, sizeof words, BASE);
        tl_asm_load_constant(&a, TL_T3, value);
        assert_false(a.is_full);
        assert_int_equal(value_of(&a, 0), value);
        pattern = pattern * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
}

static void test_what_does_not_fit_is_noticed(void **state) {
    (void)state;
    uint32_t words[3] = {0, 0, 0xdeadbeef};
    tl_assembler a;
    tl_asm_init(&a, words, 8, BASE);
    tl_asm_ecall(&a);
    uint32_t jump = tl_asm_jump(&a);
    assert_false(a.is_full);
    tl_asm_ecall(&a);
    assert_true(a.is_full);
    tl_asm_bind(&a, jump);
    assert_int_equal(words[2], 0xdeadbeef);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_reads_back),
        cmocka_unit_test(test_branches_reach_their_targets),
        cmocka_unit_test(test_constants_are_what_was_asked_for),
        cmocka_unit_test(test_what_does_not_fit_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
