// SPDX-License-Identifier: MIT
// Registers of the scoreboard, by hand from the manual's pseudocode of each instruction.
#include "isa/a64/insn.h"

#include "base/bits.h"
#include "base/testing.h"
#include "isa/a64/extension.h"

#define X(n) (UINT64_C(1) << (n))
#define V(n) (UINT64_C(1) << (32 + (n)))
#define FLAGS (UINT64_C(1) << 31)

typedef struct row {
    uint32_t bits;
    tl_class cls;
    uint64_t reads, writes;
} row;

static const row rows[] = {
    {0x8b000883, TL_CLASS_ALU, X(4) | X(0), X(3)},                            // add x3, x4, x0, lsl #2
    {0x9b027c20, TL_CLASS_MUL, X(1) | X(2), X(0)},                            // mul x0, x1, x2
    {0x9b0720c5, TL_CLASS_MUL, X(6) | X(7) | X(8), X(5)},                     // madd x5, x6, x7, x8
    {0x910043ff, TL_CLASS_ALU, 0, 0},                                         // add sp, sp, #16
    {0xf94007e0, TL_CLASS_LOAD, 0, X(0)},                                     // ldr x0, [sp, #8]
    {0xf8408441, TL_CLASS_LOAD, X(2), X(1)},                                  // ldr x1, [x2], #8
    {0xa9ff10a3, TL_CLASS_LOAD, X(5), X(3) | X(4)},                           // ldp x3, x4, [x5, #-16]!
    {0xa9001d06, TL_CLASS_STORE, X(6) | X(7) | X(8), 0},                      // stp x6, x7, [x8]
    {0xb82b6949, TL_CLASS_STORE, X(9) | X(10) | X(11), 0},                    // str w9, [x10, x11]
    {0xc87f35cc, TL_CLASS_LR, X(14), X(12) | X(13)},                          // ldxp x12, x13, [x14]
    {0xc80ffe30, TL_CLASS_SC, X(16) | X(17), X(15)},                          // stlxr w15, x16, [x17]
    {0x3dc00041, TL_CLASS_FP_LOAD, X(2), V(1)},                               // ldr q1, [x2]
    {0xad407c1e, TL_CLASS_FP_LOAD, X(0), V(30) | V(31)},                      // ldp q30, q31, [x0]
    {0x4cc4007e, TL_CLASS_FP_LOAD, X(3) | X(4), V(30) | V(31) | V(0) | V(1)}, // ld4 {v30.16b-v1.16b}, [x3], x4
    {0x4c0088e5, TL_CLASS_FP_STORE, X(7) | V(5) | V(6), 0},                   // st2 {v5.4s, v6.4s}, [x7]
    {0x0d409128, TL_CLASS_FP_LOAD, X(9) | V(8), V(8)},                        // ld1 {v8.s}[1], [x9]
    {0x0d40e001, TL_CLASS_FP_LOAD, X(0), V(1) | V(2) | V(3)},                 // ld3r {v1.8b-v3.8b}, [x0]
    {0x4e044020, TL_CLASS_FP_MOVE, V(1) | V(2) | V(3) | V(4), V(0)},          // tbl v0.16b, {v1.16b-v3.16b}, v4.16b
    {0x4e0433e0, TL_CLASS_FP_MOVE, V(31) | V(0) | V(4), V(0)},                // tbx v0.16b, {v31.16b, v0.16b}, v4.16b
    {0x4e25cc83, TL_CLASS_FP_FMA, V(3) | V(4) | V(5), V(3)},                  // fmla v3.4s, v4.4s, v5.4s
    {0x1f420c20, TL_CLASS_FP_FMA, V(1) | V(2) | V(3), V(0)},                  // fmadd d0, d1, d2, d3
    {0x1e6720c0, TL_CLASS_FP_COMPARE, V(6) | V(7), FLAGS},                    // fcmp d6, d7
    {0x54000000, TL_CLASS_BRANCH, FLAGS, 0},                                  // b.eq .
    {0x9a82b020, TL_CLASS_ALU, X(1) | X(2) | FLAGS, X(0)},                    // csel x0, x1, x2, lt
    {0xeb04007f, TL_CLASS_ALU, X(3) | X(4), FLAGS},                           // cmp x3, x4
    {0xfa4610a0, TL_CLASS_ALU, X(5) | X(6) | FLAGS, FLAGS},                   // ccmp x5, x6, #0, ne
    {0x9a1f0020, TL_CLASS_ALU, X(1) | FLAGS, X(0)},                           // adc x0, x1, xzr
    {0xf2800027, TL_CLASS_ALU, X(7), X(7)},                                   // movk x7, #1
    {0x4e141c61, TL_CLASS_FP_MOVE, X(3) | V(1), V(1)},                        // mov v1.s[2], w3
    {0x0e212841, TL_CLASS_FP_MOVE, V(2), V(1)},                               // xtn v1.8b, v2.8h
    {0x4e212841, TL_CLASS_FP_MOVE, V(1) | V(2), V(1)},                        // xtn2 v1.16b, v2.8h
    {0x4f08a441, TL_CLASS_FP_MOVE, V(2), V(1)},                               // sxtl2 v1.8h, v2.16b
    {0x9e6600a0, TL_CLASS_FP_MOVE, V(5), X(0)},                               // fmov x0, d5
    {0x9e620083, TL_CLASS_FP_CONVERT, X(4), V(3)},                            // scvtf d3, x4
    {0xb4000000, TL_CLASS_BRANCH, X(0), 0},                                   // cbz x0, .
    {0xd65f03c0, TL_CLASS_JALR, X(30), 0},                                    // ret
    {0x0f6f3020, TL_CLASS_FP_MUL, V(0) | V(1) | V(15), V(0)},                 // sqdmlal v0.4s, v1.4h, lane 2 of v15
    {0x8b1f03e0, TL_CLASS_ALU, 0, X(0)},                                      // add x0, xzr, xzr
    {0x4c402020, TL_CLASS_FP_LOAD, X(1), V(0) | V(1) | V(2) | V(3)},          // ld1 {v0.16b-v3.16b}, [x1]
    {0x0cc27020, TL_CLASS_FP_LOAD, X(1) | X(2), V(0)},                        // ld1 {v0.8b}, [x1], x2
    {0x4f528020, TL_CLASS_FP_MUL, V(1) | V(2), V(0)},                         // mul v0.8h, v1.8h, lane 1 of v2
    {0x8b226020, TL_CLASS_ALU, X(1) | X(2), X(0)},                            // add x0, x1, x2, uxtx
    {0xd53bd044, TL_CLASS_CSR, 0, X(4)},                                      // mrs x4, tpidr_el0
    {0xd51bd044, TL_CLASS_CSR, X(4), 0},                                      // msr tpidr_el0, x4
};

// Sizes decide between narrow and wide loads, single and double precision.
static void test_sizes_of_accesses_and_arithmetic(void **state) {
    (void)state;
    static const uint32_t sized[][2] = {{0x39400020, 1}, {0xb9400020, 4}, {0xf9400020, 8}, {0xa9400861, 8}, {0x1e622820, 8},
                                        {0x1e222820, 4}, {0x9ac20c20, 8}, {0x1ac20c20, 4}, {0x8b020020, 0}}; // ldrb w0 .. sdiv w0, add x0
    for (size_t i = 0; i < TL_COUNT_OF(sized); i++) {
        tl_a64_decoded insn;
        tl_pipe_insn pipe;
        tl_a64_decode(sized[i][0], &insn);
        tl_a64_pipe(&insn, &pipe);
        assert_int_equal(pipe.size_bytes, sized[i][1]);
    }
}

static uint64_t mask_of(const uint8_t *numbers, uint32_t n) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n; i++)
        mask |= numbers[i] < TL_NO_REG ? UINT64_C(1) << numbers[i] : 0;
    return mask;
}

static void test_scoreboard_sees_every_register(void **state) {
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_a64_decoded insn;
        tl_pipe_insn pipe;
        tl_a64_decode(rows[i].bits, &insn);
        tl_a64_pipe(&insn, &pipe);
        const uint64_t reads = mask_of(pipe.src, 3) | pipe.also_reads, writes = mask_of(&pipe.dest, 1) | pipe.also_writes;
        if (pipe.cls != rows[i].cls || reads != rows[i].reads || writes != rows[i].writes)
            fail_msg("%08x: class %d reads %016llx writes %016llx", rows[i].bits, (int)pipe.cls, (unsigned long long)reads,
                     (unsigned long long)writes);
    }
}

// Every word that objdump calls by an absent extension's mnemonic has that name, and no word of
// rows has one.
static void test_absent_extensions_are_named(void **state) {
    (void)state;
    static const struct {
        uint32_t bits;
        const char *name;
    } absent[] = {
        {0x04a00000, "SVE"},     // add z0.s, z0.s, z0.s
        {0xd65f0bff, "PAuth"},   // retaa
        {0xdac10020, "PAuth"},   // pacia x0, x1
        {0xf8200420, "PAuth"},   // ldraa x0, [x1]
        {0x88a07c41, "LSE"},     // cas w0, w1, [x2]
        {0xf8e10062, "LSE"},     // ldaddal x1, x2, [x3]
        {0xf8bfc020, "LRCPC"},   // ldapr x0, [x1]
        {0x1ee22820, "FP16"},    // fadd h0, h1, h2
        {0x0e421420, "FP16"},    // fadd v0.4h, v1.4h, v2.4h
        {0x0e829420, "DotProd"}, // sdot v0.2s, v1.8b, v2.8b
        {0xce030041, "SHA-512"}, // eor3 v1.16b, v2.16b, v3.16b, v0.16b
        {0xd500401f, "FlagM"},   // cfinv
    };
    for (size_t i = 0; i < TL_COUNT_OF(absent); i++) {
        const char *why = tl_a64_extension_of(absent[i].bits);
        if (!why || !strstr(why, absent[i].name))
            fail_msg("%08x is %s, not of %s", absent[i].bits, why ? why : "nothing known", absent[i].name);
    }
    for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++)
        if (tl_a64_row_has((tl_a64_opc)opc, tl_a64_rows[opc].match) && tl_a64_extension_of(tl_a64_rows[opc].match))
            fail_msg("%s %08x is executed, and named as %s", tl_a64_rows[opc].mnemonic, tl_a64_rows[opc].match,
                     tl_a64_extension_of(tl_a64_rows[opc].match));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scoreboard_sees_every_register),
    cmocka_unit_test(test_sizes_of_accesses_and_arithmetic),
    cmocka_unit_test(test_absent_extensions_are_named),
};
TL_TEST_MAIN(tests)
