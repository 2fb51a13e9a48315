// SPDX-License-Identifier: MIT
// Every function of translate/x86.h over all registers, bases, indices and the displacements and
// constants at which encodings change. Writes the code to the file named. Prints the beginning of
// each instruction and its text in objdump's Intel syntax, which check_encoder.py compares. An
// operand relative to rip is printed as [rip # ADDRESS].
#if defined(__x86_64__) && defined(__linux__)

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "isa/rv/translate/x86.h"

enum { ROOM_BYTES = 4 << 20, NO_SIZE = 0 };
static const int64_t BASE = INT64_C(0x123456780000); // where the code is said to be executed

typedef enum kind { Q, D, W, B, X } kind;
static const char *const names[][16] = {
    [Q] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"},
    [D] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"},
    [W] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"},
    [B] = {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"},
    [X] = {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
           "xmm15"},
};
static const struct {
    int cc;
    const char *name;
} conditions[] = {{CC_O, "o"}, {CC_B, "b"}, {CC_AE, "ae"}, {CC_E, "e"}, {CC_NE, "ne"},
                  {CC_A, "a"}, {CC_P, "p"}, {CC_NP, "np"}, {CC_L, "l"}, {CC_GE, "ge"}};
static const int64_t displacements[] = {0, 1, 127, 128, -1, -128, -129, INT32_MAX, INT32_MIN};
static const int32_t constants[] = {0, 1, 127, 128, 0x12345678, INT32_MAX, -1, -128, -129, INT32_MIN};

// Encoders of two operands. is_reversed: objdump names the second register first.
typedef void rr_fn(x86 *, int, int);
typedef void rm_fn(x86 *, int, x86_mem);
typedef void mr_fn(x86 *, x86_mem, int);
#define RR(name, call) \
    static void name(x86 *at, int to, int from) { call; }
#define RM(name, call) \
    static void name(x86 *at, int to, x86_mem m) { call; }
#define MR(name, call) \
    static void name(x86 *at, x86_mem m, int from) { call; }
RR(test64_rr, x86_test_rr(at, true, to, from))
RR(test32_rr, x86_test_rr(at, false, to, from))
RR(imul64_rr, x86_imul_rr(at, true, to, from))
RM(imul64_rm, x86_imul_rm(at, true, to, m))
RR(imul32_rr, x86_imul_rr(at, false, to, from))
RM(imul32_rm, x86_imul_rm(at, false, to, m))
RM(movsd_rm, x86_fp_load(at, true, to, m))
MR(movsd_mr, x86_fp_store(at, true, m, from))
RM(movss_rm, x86_fp_load(at, false, to, m))
MR(movss_mr, x86_fp_store(at, false, m, from))
RM(addsd_rm, x86_fp_op_rm(at, true, X_FP_ADD, to, m))
RM(subsd_rm, x86_fp_op_rm(at, true, X_FP_SUB, to, m))
RM(mulsd_rm, x86_fp_op_rm(at, true, X_FP_MUL, to, m))
RM(divsd_rm, x86_fp_op_rm(at, true, X_FP_DIV, to, m))
RM(addss_rm, x86_fp_op_rm(at, false, X_FP_ADD, to, m))
RM(subss_rm, x86_fp_op_rm(at, false, X_FP_SUB, to, m))
RM(mulss_rm, x86_fp_op_rm(at, false, X_FP_MUL, to, m))
RM(divss_rm, x86_fp_op_rm(at, false, X_FP_DIV, to, m))
RR(sqrtsd_rr, x86_fp_sqrt_rr(at, true, to, from))
RR(sqrtss_rr, x86_fp_sqrt_rr(at, false, to, from))
RR(ucomisd_rr, x86_ucomis_rr(at, true, to, from))
RM(ucomisd_rm, x86_ucomis_rm(at, true, to, m))
RR(ucomiss_rr, x86_ucomis_rr(at, false, to, from))
RM(ucomiss_rm, x86_ucomis_rm(at, false, to, m))
RM(comisd_rm, x86_comis_rm(at, true, to, m))
RM(comiss_rm, x86_comis_rm(at, false, to, m))
RR(cvtsi2sd64_rr, x86_fp_from_int_rr(at, true, true, to, from))
RR(cvtsi2sd32_rr, x86_fp_from_int_rr(at, true, false, to, from))
RR(cvtsi2ss64_rr, x86_fp_from_int_rr(at, false, true, to, from))
RR(cvtsi2ss32_rr, x86_fp_from_int_rr(at, false, false, to, from))
RM(cvttsd2si64_rm, x86_fp_to_int_rm(at, true, true, true, to, m))
RM(cvttsd2si32_rm, x86_fp_to_int_rm(at, true, false, true, to, m))
RM(cvttss2si64_rm, x86_fp_to_int_rm(at, false, true, true, to, m))
RM(cvttss2si32_rm, x86_fp_to_int_rm(at, false, false, true, to, m))
RM(cvtsd2si64_rm, x86_fp_to_int_rm(at, true, true, false, to, m))
RM(cvtsd2si32_rm, x86_fp_to_int_rm(at, true, false, false, to, m))
RM(cvtss2si64_rm, x86_fp_to_int_rm(at, false, true, false, to, m))
RM(cvtss2si32_rm, x86_fp_to_int_rm(at, false, false, false, to, m))
RM(cvtsd2ss_rm, x86_fp_convert_rm(at, true, to, m))
RM(cvtss2sd_rm, x86_fp_convert_rm(at, false, to, m))

static const struct form {
    const char *text;
    rr_fn *rr;
    rm_fn *rm;
    mr_fn *mr;
    kind to, from;
    const char *size; // of the memory operand
    bool is_reversed;
} forms[] = {
    {"mov", NULL, x86_load, x86_store, Q, Q, "QWORD PTR ", false},
    {"mov", x86_zext32_rr, x86_load32, x86_store32, D, D, "DWORD PTR ", false},
    {"mov", NULL, NULL, x86_store16, W, W, "WORD PTR ", false},
    {"mov", NULL, NULL, x86_store8, B, B, "BYTE PTR ", false},
    {"movsxd", x86_sext32_rr, x86_load_s32, NULL, Q, D, "DWORD PTR ", false},
    {"movsx", x86_sext16_rr, x86_load_s16, NULL, Q, W, "WORD PTR ", false},
    {"movsx", x86_sext8_rr, x86_load_s8, NULL, Q, B, "BYTE PTR ", false},
    {"movzx", x86_zext16_rr, x86_load_u16, NULL, D, W, "WORD PTR ", false},
    {"movzx", x86_zext8_rr, x86_load_u8, NULL, D, B, "BYTE PTR ", false},
    {"lea", NULL, x86_lea, NULL, Q, Q, "", false},
    {"lea", NULL, x86_lea32, NULL, D, D, "", false},
    {"test", test64_rr, NULL, NULL, Q, Q, NULL, true},
    {"test", test32_rr, NULL, NULL, D, D, NULL, true},
    {"test", x86_test8_rr, NULL, NULL, B, B, NULL, true},
    {"and", x86_and8_rr, NULL, NULL, B, B, NULL, false},
    {"imul", imul64_rr, imul64_rm, NULL, Q, Q, "QWORD PTR ", false},
    {"imul", imul32_rr, imul32_rm, NULL, D, D, "DWORD PTR ", false},
    {"movsd", NULL, movsd_rm, movsd_mr, X, X, "QWORD PTR ", false},
    {"movss", NULL, movss_rm, movss_mr, X, X, "DWORD PTR ", false},
    {"addsd", NULL, addsd_rm, NULL, X, X, "QWORD PTR ", false},
    {"subsd", NULL, subsd_rm, NULL, X, X, "QWORD PTR ", false},
    {"mulsd", NULL, mulsd_rm, NULL, X, X, "QWORD PTR ", false},
    {"divsd", NULL, divsd_rm, NULL, X, X, "QWORD PTR ", false},
    {"addss", NULL, addss_rm, NULL, X, X, "DWORD PTR ", false},
    {"subss", NULL, subss_rm, NULL, X, X, "DWORD PTR ", false},
    {"mulss", NULL, mulss_rm, NULL, X, X, "DWORD PTR ", false},
    {"divss", NULL, divss_rm, NULL, X, X, "DWORD PTR ", false},
    {"sqrtsd", sqrtsd_rr, NULL, NULL, X, X, NULL, false},
    {"sqrtss", sqrtss_rr, NULL, NULL, X, X, NULL, false},
    {"ucomisd", ucomisd_rr, ucomisd_rm, NULL, X, X, "QWORD PTR ", false},
    {"ucomiss", ucomiss_rr, ucomiss_rm, NULL, X, X, "DWORD PTR ", false},
    {"comisd", NULL, comisd_rm, NULL, X, X, "QWORD PTR ", false},
    {"comiss", NULL, comiss_rm, NULL, X, X, "DWORD PTR ", false},
    {"cvtsi2sd", cvtsi2sd64_rr, NULL, NULL, X, Q, NULL, false},
    {"cvtsi2sd", cvtsi2sd32_rr, NULL, NULL, X, D, NULL, false},
    {"cvtsi2ss", cvtsi2ss64_rr, NULL, NULL, X, Q, NULL, false},
    {"cvtsi2ss", cvtsi2ss32_rr, NULL, NULL, X, D, NULL, false},
    {"cvttsd2si", NULL, cvttsd2si64_rm, NULL, Q, X, "QWORD PTR ", false},
    {"cvttsd2si", NULL, cvttsd2si32_rm, NULL, D, X, "QWORD PTR ", false},
    {"cvttss2si", NULL, cvttss2si64_rm, NULL, Q, X, "DWORD PTR ", false},
    {"cvttss2si", NULL, cvttss2si32_rm, NULL, D, X, "DWORD PTR ", false},
    {"cvtsd2si", NULL, cvtsd2si64_rm, NULL, Q, X, "QWORD PTR ", false},
    {"cvtsd2si", NULL, cvtsd2si32_rm, NULL, D, X, "QWORD PTR ", false},
    {"cvtss2si", NULL, cvtss2si64_rm, NULL, Q, X, "DWORD PTR ", false},
    {"cvtss2si", NULL, cvtss2si32_rm, NULL, D, X, "DWORD PTR ", false},
    {"cvtsd2ss", NULL, cvtsd2ss_rm, NULL, X, X, "QWORD PTR ", false},
    {"cvtss2sd", NULL, cvtss2sd_rm, NULL, X, X, "DWORD PTR ", false},
    {"xorps", x86_xorps_rr, NULL, NULL, X, X, NULL, false},
    {"movd", x86_movd_rr, NULL, NULL, D, X, NULL, false},
    {"movq", NULL, x86_movq_load, x86_movq_store, X, X, "QWORD PTR ", false},
    {"movaps", NULL, x86_movaps_load, x86_movaps_store, X, X, "XMMWORD PTR ", false},
    {"paddd", NULL, x86_paddd_rm, NULL, X, X, "XMMWORD PTR ", false},
};

// Encoders of one operand.
typedef void r_fn(x86 *, int);
typedef void m_fn(x86 *, x86_mem);
#define R(name, call) \
    static void name(x86 *at, int reg) { call; }
R(mul_r, x86_mul_high_r(at, false, reg))
R(imul_r, x86_mul_high_r(at, true, reg))
R(div64_r, x86_div_r(at, true, false, reg))
R(div32_r, x86_div_r(at, false, false, reg))
R(idiv64_r, x86_div_r(at, true, true, reg))
R(idiv32_r, x86_div_r(at, false, true, reg))

static const struct one_form {
    const char *text;
    r_fn *r;
    m_fn *m;
    kind reg;
} one_forms[] = {
    {"inc", x86_inc_r, x86_inc_m, Q}, {"dec", x86_dec_r, NULL, Q},         {"not", x86_not_r, NULL, Q},      {"mul", mul_r, NULL, Q},
    {"imul", imul_r, NULL, Q},        {"div", div64_r, NULL, Q},           {"div", div32_r, NULL, D},        {"idiv", idiv64_r, NULL, Q},
    {"idiv", idiv32_r, NULL, D},      {"call", x86_call_r, x86_call_m, Q}, {"jmp", x86_jmp_r, x86_jmp_m, Q}, {"push", x86_push_r, NULL, Q},
    {"pop", x86_pop_r, NULL, Q},
};

static uint8_t room[ROOM_BYTES];
static x86 e = {.at = room};

static uint64_t address_of(const uint8_t *written) { return (uint64_t)((int64_t)(intptr_t)written + e.exec_minus_write); }

// Called before the instruction is emitted.
__attribute__((format(printf, 1, 2))) static void expect(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%" PRIx64 "\t", address_of(e.at));
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static const char *mem_text(x86_mem m, char text[64]) {
    int n = snprintf(text, 64, "[%s", names[Q][m.base]);
    if (m.index >= 0)
        n += snprintf(text + n, 64 - (size_t)n, "+%s*%d", names[Q][m.index], 1 << m.scale);
    int64_t disp = m.disp;
    if (disp == 0 && (m.base & 7) != RBP)
        snprintf(text + n, 64 - (size_t)n, "]");
    else
        snprintf(text + n, 64 - (size_t)n, "%c0x%" PRIx64 "]", disp < 0 ? '-' : '+', (uint64_t)(disp < 0 ? -disp : disp));
    return text;
}

static void expect_pair(const struct form *f, int to, int from) {
    const char *first = names[f->to][to], *second = names[f->from][from];
    expect("%s %s,%s", f->text, f->is_reversed ? second : first, f->is_reversed ? first : second);
}

static void try_memory(const struct form *f, int reg, x86_mem m) {
    char text[64];
    if (f->rm) {
        expect("%s %s,%s%s", f->text, names[f->to][reg], f->size, mem_text(m, text));
        f->rm(&e, reg, m);
    }
    if (f->mr) {
        expect("%s %s%s,%s", f->text, f->size, mem_text(m, text), names[f->from][reg]);
        f->mr(&e, m, reg);
    }
}

static void try_form(const struct form *f) {
    for (int reg = 0; reg < 16; reg++) {
        for (int from = 0; from < 16 && f->rr; from++) {
            expect_pair(f, reg, from);
            f->rr(&e, reg, from);
        }
        for (int base = 0; base < 16; base++)
            for (uint32_t d = 0; d < TL_COUNT_OF(displacements); d++)
                try_memory(f, reg, at_base(base, displacements[d]));
    }
    for (int base = 0; base < 16; base++)
        for (int index = 0; index < 16; index++) {
            if (index == RSP)
                continue;
            int reg = (base * 5 + index * 3) & 15;
            try_memory(f, reg,
                       at_index(base, index, (base + index) & 3, displacements[(base + 3 * index) % (int)TL_COUNT_OF(displacements)]));
        }
}

static void try_all_indices(void) {
    char text[64];
    for (int base = 0; base < 16; base++)
        for (int index = 0; index < 16; index++)
            for (int scale = 0; scale < 4 && index != RSP; scale++)
                for (uint32_t d = 0; d < TL_COUNT_OF(displacements); d++) {
                    x86_mem m = at_index(base, index, scale, displacements[d]);
                    expect("mov r9,QWORD PTR %s", mem_text(m, text));
                    x86_load(&e, R9, m);
                }
}

static uint64_t shown(bool is_wide, int32_t imm) { return is_wide ? (uint64_t)(int64_t)imm : (uint32_t)imm; }

// Each named operation in its four forms beside the one that is told which.
static const struct operation {
    const char *text;
    int op;
    bool is_wide;
    rr_fn *rr;
    rm_fn *rm;
    void (*ri)(x86 *, int, int32_t);
    void (*mi)(x86 *, x86_mem, int32_t);
} operations[] = {
#define OPERATION(name, op)                                                                          \
    {#name, op, true, x86_##name##_rr, x86_##name##_rm, x86_##name##_ri, x86_##name##_mi}, {         \
#name, op, false, x86_##name##32_rr, x86_##name##32_rm, x86_##name##32_ri, x86_##name##32_mi \
    }
    OPERATION(add, X_ADD), OPERATION(or, X_OR),   OPERATION(adc, X_ADC), OPERATION(sbb, X_SBB),
    OPERATION(and, X_AND), OPERATION(sub, X_SUB), OPERATION(xor, X_XOR), OPERATION(cmp, X_CMP),
};

static void try_operation(const struct operation *o, int reg) {
    char text[64];
    const char *const *reg_names = names[o->is_wide ? Q : D], *size = o->is_wide ? "QWORD" : "DWORD";
    for (int rm = 0; rm < 16; rm++) {
        x86_mem m = at_base(rm, displacements[(reg + rm) % (int)TL_COUNT_OF(displacements)]);
        for (int way = 0; way < 2; way++) {
            expect("%s %s,%s", o->text, reg_names[reg], reg_names[rm]);
            way ? o->rr(&e, reg, rm) : x86_op_rr(&e, o->is_wide, o->op, reg, rm);
            expect("%s %s,%s PTR %s", o->text, reg_names[reg], size, mem_text(m, text));
            way ? o->rm(&e, reg, m) : x86_op_rm(&e, o->is_wide, o->op, reg, m);
        }
        expect("%s %s PTR %s,%s", o->text, size, mem_text(m, text), reg_names[reg]);
        x86_op_mr(&e, o->is_wide, o->op, m, reg);
    }
    for (uint32_t i = 0; i < TL_COUNT_OF(constants); i++) {
        uint64_t value = shown(o->is_wide, constants[i]);
        x86_mem m = at_base(reg, displacements[i % TL_COUNT_OF(displacements)]);
        for (int way = 0; way < 2; way++) {
            expect("%s %s,0x%" PRIx64, o->text, reg_names[reg], value);
            way ? o->ri(&e, reg, constants[i]) : x86_op_ri(&e, o->is_wide, o->op, reg, constants[i]);
            expect("%s %s PTR %s,0x%" PRIx64, o->text, size, mem_text(m, text), value);
            way ? o->mi(&e, m, constants[i]) : x86_op_mi(&e, o->is_wide, o->op, m, constants[i]);
        }
    }
}

static void try_operations(void) {
    for (uint32_t i = 0; i < TL_COUNT_OF(operations); i++)
        for (int reg = 0; reg < 16; reg++)
            try_operation(&operations[i], reg);
}

static void try_constants(int reg) {
    static const uint64_t values[] = {0,
                                      1,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      UINT64_MAX,
                                      0x100000000,
                                      0xfffffffff,
                                      UINT64_MAX << 31,
                                      UINT64_MAX << 31 ^ 1,
                                      UINT64_MAX << 31 | 5,
                                      UINT64_C(0x123456789abcdef0),
                                      INT64_MAX,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX << 31 ^ UINT64_C(1) << 31,
                                      UINT64_C(0x7fffffffffff)};
    char text[64];
    for (uint32_t i = 0; i < TL_COUNT_OF(values); i++) {
        uint64_t v = values[i];
        if (v <= UINT32_MAX)
            expect("mov %s,0x%" PRIx64, names[D][reg], v);
        else if (v >= (uint64_t)(int64_t)INT32_MIN)
            expect("mov %s,0x%" PRIx64, names[Q][reg], v);
        else
            expect("movabs %s,0x%" PRIx64, names[Q][reg], v);
        x86_mov_ri(&e, reg, v);
    }
    for (uint32_t i = 0; i < TL_COUNT_OF(constants); i++) {
        x86_mem m = at_base(reg, displacements[i % TL_COUNT_OF(displacements)]);
        expect("mov QWORD PTR %s,0x%" PRIx64, mem_text(m, text), shown(true, constants[i]));
        x86_store_i(&e, m, constants[i]);
        if (!fits_s8(constants[i]))
            continue;
        expect("cmp BYTE PTR %s,0x%x", mem_text(m, text), (unsigned)(uint8_t)constants[i]);
        x86_cmp8_mi(&e, m, (int8_t)constants[i]);
    }
}

static void try_shifts_and_bits(int reg) {
    static const struct {
        int op;
        const char *name;
    } shifts[] = {{X_SHL, "shl"}, {X_SHR, "shr"}, {X_SAR, "sar"}};
    for (uint32_t s = 0; s < TL_COUNT_OF(shifts); s++)
        for (int wide = 0; wide < 2; wide++) {
            expect("%s %s,cl", shifts[s].name, names[wide ? Q : D][reg]);
            x86_shift_by_cl(&e, wide, shifts[s].op, reg);
        }
    for (unsigned count = 0; count < 64; count++) {
        char by[8]; // the form for 1 has no constant
        snprintf(by, sizeof by, count == 1 ? "%u" : "0x%x", count);
        for (uint32_t s = 0; s < TL_COUNT_OF(shifts); s++) {
            bool is_wide = (count ^ s) & 1;
            expect("%s %s,%s", shifts[s].name, names[is_wide ? Q : D][reg], by);
            x86_shift_ri(&e, is_wide, shifts[s].op, reg, count);
        }
        expect("shr %s,%s", names[Q][reg], by);
        x86_shr_ri(&e, reg, count);
        expect("shr %s,%s", names[D][reg], by);
        x86_shr32_ri(&e, reg, count);
        expect("shl %s,%s", names[D][reg], by);
        x86_shl32_ri(&e, reg, count);
        expect("btr %s,0x%x", names[Q][reg], count);
        x86_btr_ri(&e, reg, count);
        expect("btc %s,0x%x", names[Q][reg], count);
        x86_btc_ri(&e, reg, count);
    }
}

static void try_moves(int reg) {
    for (int from = 0; from < 16; from++) {
        if (from != reg)
            expect("mov %s,%s", names[Q][reg], names[Q][from]);
        x86_mov_rr(&e, reg, from);
    }
    expect("xor %s,%s", names[D][reg], names[D][reg]);
    x86_zero_r(&e, reg);
    for (uint32_t c = 0; c < TL_COUNT_OF(conditions); c++) {
        expect("set%s %s", conditions[c].name, names[B][reg]);
        x86_set_r(&e, conditions[c].cc, reg);
        for (int from = 0; from < 16; from++) {
            expect("cmov%s %s,%s", conditions[c].name, names[Q][reg], names[Q][from]);
            x86_cmov_rr(&e, conditions[c].cc, reg, from);
            expect("cmov%s %s,%s", conditions[c].name, names[D][reg], names[D][from]);
            x86_cmov32_rr(&e, conditions[c].cc, reg, from);
        }
    }
}

static void try_fma(int reg) {
    static const struct {
        int op;
        const char *name;
    } ops[] = {{X_FMADD, "vfmadd213"}, {X_FMSUB, "vfmsub213"}, {X_FNMADD, "vfnmadd213"}, {X_FNMSUB, "vfnmsub213"}};
    char text[64];
    for (uint32_t i = 0; i < TL_COUNT_OF(ops); i++)
        for (int is_double = 0; is_double < 2; is_double++)
            for (int other = 0; other < 16; other++) {
                int64_t disp = displacements[(reg + other) % (int)TL_COUNT_OF(displacements)];
                x86_mem m = other & 1 || reg == RSP ? at_base(other, disp) : at_index(other, reg, other >> 1 & 3, disp);
                expect("%s%s %s,%s,%s PTR %s", ops[i].name, is_double ? "sd" : "ss", names[X][reg], names[X][other ^ 5],
                       is_double ? "QWORD" : "DWORD", mem_text(m, text));
                x86_fma_rm(&e, is_double, ops[i].op, reg, other ^ 5, m);
            }
}

static void try_one_operand(const struct one_form *f, int reg) {
    char text[64];
    expect("%s %s", f->text, names[f->reg][reg]);
    f->r(&e, reg);
    for (uint32_t d = 0; d < TL_COUNT_OF(displacements) && f->m; d++) {
        x86_mem m = at_base(reg, displacements[d]);
        expect("%s QWORD PTR %s", f->text, mem_text(m, text));
        f->m(&e, m);
    }
}

static void try_no_operand(void) {
    expect("cqo");
    x86_sign_of_rax(&e, true);
    expect("cdq");
    x86_sign_of_rax(&e, false);
    expect("ret");
    x86_ret(&e);
}

// The example of x86.h.
static void try_example(void) {
    x86_mem m = at_base(RBX, 8);
    expect("mov rax,QWORD PTR [rbx+0x8]");
    x86_load(&e, RAX, m);
    expect("cmp rax,0x64");
    x86_cmp_ri(&e, RAX, 100);
    expect("jb 0x%" PRIx64, address_of(e.at + 6 + 8));
    uint8_t *is_small = x86_jcc(&e, CC_B);
    expect("sub rax,0x64");
    x86_sub_ri(&e, RAX, 100);
    expect("mov QWORD PTR [rbx+0x8],rax");
    x86_store(&e, m, RAX);
    x86_patch(is_small, e.at);
    expect("ret");
    x86_ret(&e);
}

static void try_jumps(void) {
    static const int64_t distances[] = {0, 1, 5, 127, 128, 4096, -1, -6, -128, -129, -4096};
    for (uint32_t i = 0; i < TL_COUNT_OF(distances); i++) {
        for (uint32_t c = 0; c < TL_COUNT_OF(conditions); c++) {
            const uint8_t *near = e.at + 2 + (int8_t)distances[i];
            expect("j%s 0x%" PRIx64, conditions[c].name, address_of(near));
            x86_patch_short(x86_jcc_short(&e, conditions[c].cc), near);
            const uint8_t *target = e.at + distances[i];
            expect("j%s 0x%" PRIx64, conditions[c].name, address_of(target));
            x86_patch(x86_jcc(&e, conditions[c].cc), target);
        }
        const uint8_t *target = e.at + distances[i];
        expect("jmp 0x%" PRIx64, address_of(target));
        x86_jmp_to(&e, target);
        expect("call 0x%" PRIx64, address_of(target));
        x86_call_to(&e, target);
    }
    expect("movabs rax,0x123456789abc");
    uint8_t *at = e.at;
    x86_call_c(&e, 0x123456789abc);
    x86 next = {.at = e.at, .exec_minus_write = e.exec_minus_write};
    e.at = at + 10;
    expect("call rax");
    e.at = next.at;
}

// Operands that are relative to the next instruction, as far away as x86_reaches permits.
static void try_absolute(void) {
    static const int64_t distances[] = {0, 1, 64, -64, -1, 0x3fffffff, -0x40000000};
    for (uint32_t i = 0; i < TL_COUNT_OF(distances); i++) {
        for (int reg = 0; reg < 16; reg++) {
            uint64_t target = address_of(e.at) + (uint64_t)distances[i];
            const void *pointer;
            memcpy(&pointer, &target, sizeof pointer);
            if (!x86_reaches(&e, pointer))
                abort();
            expect("paddq %s,XMMWORD PTR [rip # 0x%" PRIx64 "]", names[X][reg], target);
            x86_paddq_ra(&e, reg, pointer);
        }
        uint64_t target = address_of(e.at) + (uint64_t)distances[i];
        const void *pointer;
        memcpy(&pointer, &target, sizeof pointer);
        expect("inc QWORD PTR [rip # 0x%" PRIx64 "]", target);
        x86_inc_a(&e, pointer);
    }
    static const int64_t too_far[] = {0x40000000, -0x40000001, INT32_MAX, INT32_MIN, INT64_C(1) << 40, -(INT64_C(1) << 40)};
    for (uint32_t i = 0; i < TL_COUNT_OF(too_far); i++) {
        uint64_t target = address_of(e.at) + (uint64_t)too_far[i];
        const void *pointer;
        memcpy(&pointer, &target, sizeof pointer);
        if (x86_reaches(&e, pointer))
            abort();
    }
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    e.exec_minus_write = (intptr_t)(BASE - (int64_t)(intptr_t)room);
    for (uint32_t i = 0; i < TL_COUNT_OF(forms); i++)
        try_form(&forms[i]);
    try_all_indices();
    try_operations();
    for (int reg = 0; reg < 16; reg++) {
        try_constants(reg);
        try_shifts_and_bits(reg);
        try_moves(reg);
        try_fma(reg);
        for (uint32_t i = 0; i < TL_COUNT_OF(one_forms); i++)
            try_one_operand(&one_forms[i], reg);
    }
    try_no_operand();
    try_example();
    try_jumps();
    try_absolute();
    printf("%" PRIx64 "\tend\n", address_of(e.at));
    FILE *file = fopen(argv[1], "wb");
    size_t n = (size_t)(e.at - room);
    if (!file || n > sizeof room - 64 || fwrite(room, 1, n, file) != n || fclose(file) != 0)
        return 1;
    return 0;
}

#else

int main(void) { return 77; } // the emitter is for x86-64 hosts

#endif
