// SPDX-License-Identifier: MIT
// Every function of translate/x86.h over all registers, bases, indices and the displacements and constants at which encodings change. Writes the code to
// the file named, and prints where each instruction begins and what it must say in objdump's Intel syntax; check_encoder.py compares.
// An operand relative to rip is printed as [rip # ADDRESS].
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
static const char *const operations[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
static const int64_t displacements[] = {0, 1, 127, 128, -1, -128, -129, INT32_MAX, INT32_MIN};
static const int32_t constants[] = {0, 1, 127, 128, 0x12345678, INT32_MAX, -1, -128, -129, INT32_MIN};

// The forms that the templates use. `size` is that of the memory operand; NULL: there is none. is_reversed: r/m comes first.
static const struct form {
    const char *text;
    uint32_t opcode;
    bool is_wide, is_reversed, is_mem_only;
    kind reg, rm;
    const char *size;
} forms[] = {
    {"mov", 0x8b, true, false, false, Q, Q, "QWORD PTR "},
    {"mov", 0x8b, false, false, false, D, D, "DWORD PTR "},
    {"mov", 0x89, true, true, false, Q, Q, "QWORD PTR "},
    {"mov", 0x89, false, true, false, D, D, "DWORD PTR "},
    {"mov", 0x6689, false, true, false, W, W, "WORD PTR "},
    {"mov", 0x88, false, true, false, B, B, "BYTE PTR "},
    {"movsxd", 0x63, true, false, false, Q, D, "DWORD PTR "},
    {"movsx", 0x0fbe, true, false, false, Q, B, "BYTE PTR "},
    {"movzx", 0x0fb6, false, false, false, D, B, "BYTE PTR "},
    {"movsx", 0x0fbf, true, false, false, Q, W, "WORD PTR "},
    {"movzx", 0x0fb7, false, false, false, D, W, "WORD PTR "},
    {"lea", 0x8d, true, false, true, Q, Q, ""},
    {"lea", 0x8d, false, false, true, D, D, ""},
    {"cmp", 0x3b, true, false, false, Q, Q, "QWORD PTR "},
    {"test", 0x85, true, true, false, Q, Q, "QWORD PTR "},
    {"test", 0x85, false, true, false, D, D, "DWORD PTR "},
    {"imul", 0x0faf, true, false, false, Q, Q, "QWORD PTR "},
    {"add", 0x01, true, true, false, Q, Q, "QWORD PTR "},
    {"and", 0x22, false, false, false, B, B, "BYTE PTR "},
    {"movsd", 0xf20f10, false, false, false, X, X, "QWORD PTR "},
    {"movss", 0xf30f10, false, false, false, X, X, "DWORD PTR "},
    {"movsd", 0xf20f11, false, true, false, X, X, "QWORD PTR "},
    {"addsd", 0xf20f58, false, false, false, X, X, "QWORD PTR "},
    {"sqrtss", 0xf30f51, false, false, false, X, X, "DWORD PTR "},
    {"ucomisd", 0x660f2e, false, false, false, X, X, "QWORD PTR "},
    {"comiss", 0x0f2f, false, false, false, X, X, "DWORD PTR "},
    {"xorps", 0x0f57, false, false, false, X, X, "XMMWORD PTR "},
    {"paddq", 0x660fd4, false, false, false, X, X, "XMMWORD PTR "},
    {"movq", 0xf30f7e, false, false, false, X, X, "QWORD PTR "},
    {"movq", 0x660fd6, false, true, false, X, X, "QWORD PTR "},
    {"movd", 0x660f7e, false, true, false, X, D, "DWORD PTR "},
    {"cvtsi2sd", 0xf20f2a, true, false, false, X, Q, "QWORD PTR "},
    {"cvtsi2ss", 0xf30f2a, false, false, false, X, D, "DWORD PTR "},
    {"cvttsd2si", 0xf20f2c, true, false, false, Q, X, "QWORD PTR "},
    {"cvtss2si", 0xf30f2d, false, false, false, D, X, "DWORD PTR "},
};
static const struct one_form { // one operand; the other field is part of the opcode
    const char *text;
    uint32_t opcode;
    int digit;
    bool is_wide;
    kind rm;
    const char *size;
} one_forms[] = {
    {"not", 0xf7, 2, true, Q, "QWORD PTR "},  {"mul", 0xf7, 4, true, Q, "QWORD PTR "},  {"imul", 0xf7, 5, true, Q, "QWORD PTR "},
    {"div", 0xf7, 6, false, D, "DWORD PTR "}, {"idiv", 0xf7, 7, true, Q, "QWORD PTR "}, {"call", 0xff, 2, false, Q, "QWORD PTR "},
    {"jmp", 0xff, 4, false, Q, "QWORD PTR "},
};

static uint8_t room[ROOM_BYTES];
static x86 e = {.at = room};

static uint64_t address_of(const uint8_t *written) { return (uint64_t)((int64_t)(intptr_t)written + e.exec_minus_write); }

// Before the instruction is emitted.
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
    snprintf(text + n, 64 - (size_t)n, "%c0x%" PRIx64 "]", disp < 0 ? '-' : '+', (uint64_t)(disp < 0 ? -disp : disp));
    return text;
}

static void expect_two(const struct form *f, int reg, const char *size, const char *other) {
    if (f->is_reversed)
        expect("%s %s%s,%s", f->text, size, other, names[f->reg][reg]);
    else
        expect("%s %s,%s%s", f->text, names[f->reg][reg], size, other);
}

static void try_form(const struct form *f) {
    char text[64];
    bool is_byte = f->reg == B || f->rm == B;
    for (int reg = 0; reg < 16; reg++) {
        for (int rm = 0; rm < 16 && !f->is_mem_only; rm++) {
            expect_two(f, reg, "", names[f->rm][rm]);
            x86_rr_byte(&e, f->is_wide, f->opcode, reg, rm, is_byte);
        }
        for (int base = 0; base < 16; base++)
            for (uint32_t d = 0; d < TL_COUNT_OF(displacements); d++) {
                x86_mem m = at_base(base, displacements[d]);
                expect_two(f, reg, f->size, mem_text(m, text));
                x86_rm_byte(&e, f->is_wide, f->opcode, reg, m, f->reg == B);
            }
    }
    for (int base = 0; base < 16; base++)
        for (int index = 0; index < 16; index++) {
            if (index == RSP)
                continue;
            int reg = (base * 5 + index * 3) & 15;
            x86_mem m = at_index(base, index, (base + index) & 3, displacements[(base + 3 * index) % (int)TL_COUNT_OF(displacements)]);
            expect_two(f, reg, f->size, mem_text(m, text));
            x86_rm_byte(&e, f->is_wide, f->opcode, reg, m, f->reg == B);
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
                    x86_rm(&e, true, 0x8b, R9, m);
                }
}

static uint64_t shown(bool is_wide, int32_t imm) { return is_wide ? (uint64_t)(int64_t)imm : (uint32_t)imm; }

static void try_operations(void) {
    char text[64];
    for (int wide = 0; wide < 2; wide++)
        for (int op = X_ADD; op <= X_CMP; op++)
            for (int reg = 0; reg < 16; reg++) {
                kind k = wide ? Q : D;
                for (int rm = 0; rm < 16; rm++) {
                    expect("%s %s,%s", operations[op], names[k][reg], names[k][rm]);
                    x86_op_rr(&e, wide, op, reg, rm);
                }
                for (uint32_t i = 0; i < TL_COUNT_OF(constants); i++) {
                    uint64_t value = shown(wide, constants[i]);
                    expect("%s %s,0x%" PRIx64, operations[op], names[k][reg], value);
                    x86_op_ri(&e, wide, op, reg, constants[i]);
                    x86_mem m = at_base(reg, displacements[i % TL_COUNT_OF(displacements)]);
                    expect("%s %s PTR %s,0x%" PRIx64, operations[op], wide ? "QWORD" : "DWORD", mem_text(m, text), value);
                    x86_op_mi(&e, wide, op, m, constants[i]);
                }
            }
}

static void try_constants_and_shifts(void) {
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
    for (int reg = 0; reg < 16; reg++) {
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
        for (unsigned count = 0; count < 64; count++) {
            static const struct {
                int op;
                const char *name;
            } shifts[] = {{X_SHL, "shl"}, {X_SHR, "shr"}, {X_SAR, "sar"}};
            for (uint32_t s = 0; s < TL_COUNT_OF(shifts); s++) {
                bool is_wide = (count ^ s) & 1;
                expect("%s %s,0x%x", shifts[s].name, names[is_wide ? Q : D][reg], count);
                x86_shift_i(&e, is_wide, shifts[s].op, reg, count);
            }
        }
        for (int from = 0; from < 16; from++) {
            if (from != reg)
                expect("mov %s,%s", names[Q][reg], names[Q][from]);
            x86_mov_rr(&e, reg, from);
        }
        expect("push %s", names[Q][reg]);
        x86_push(&e, reg);
        expect("pop %s", names[Q][reg]);
        x86_pop(&e, reg);
        for (uint32_t c = 0; c < TL_COUNT_OF(conditions); c++) {
            expect("set%s %s", conditions[c].name, names[B][reg]);
            x86_set(&e, conditions[c].cc, reg);
            for (int rm = 0; rm < 16; rm++) {
                expect("cmov%s %s,%s", conditions[c].name, names[Q][reg], names[Q][rm]);
                x86_rr(&e, true, 0x0f40 | (unsigned)conditions[c].cc, reg, rm);
            }
        }
    }
}

static void try_one_operand(void) {
    char text[64];
    for (uint32_t i = 0; i < TL_COUNT_OF(one_forms); i++) {
        const struct one_form *f = &one_forms[i];
        for (int rm = 0; rm < 16; rm++) {
            expect("%s %s", f->text, names[f->rm][rm]);
            x86_rr(&e, f->is_wide, f->opcode, f->digit, rm);
            for (uint32_t d = 0; d < TL_COUNT_OF(displacements); d++) {
                x86_mem m = at_base(rm, displacements[d]);
                expect("%s %s%s", f->text, f->size, mem_text(m, text));
                x86_rm(&e, f->is_wide, f->opcode, f->digit, m);
            }
        }
    }
}

static void try_jumps(void) {
    static const int64_t distances[] = {0, 1, 5, 127, 128, 4096, -1, -6, -128, -129, -4096};
    for (uint32_t i = 0; i < TL_COUNT_OF(distances); i++) {
        for (uint32_t c = 0; c < TL_COUNT_OF(conditions); c++) {
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
    static const struct {
        const char *text;
        uint32_t opcode;
        bool is_wide;
        kind reg;
        const char *size;
    } rows[] = {{"mov", 0x8b, true, Q, "QWORD"},
                {"mov", 0x89, true, Q, "QWORD"},
                {"mov", 0x8b, false, D, "DWORD"},
                {"paddq", 0x660fd4, false, X, "XMMWORD"}};
    static const int64_t distances[] = {0, 1, 64, -64, -1, 0x3fffffff, -0x40000000};
    for (uint32_t i = 0; i < TL_COUNT_OF(distances); i++) {
        for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++)
            for (int reg = 0; reg < 16; reg++) {
                uint64_t target = address_of(e.at) + (uint64_t)distances[i];
                const void *pointer;
                memcpy(&pointer, &target, sizeof pointer);
                if (!x86_reaches(&e, pointer))
                    abort();
                if (rows[k].opcode == 0x89)
                    expect("%s %s PTR [rip # 0x%" PRIx64 "],%s", rows[k].text, rows[k].size, target, names[rows[k].reg][reg]);
                else
                    expect("%s %s,%s PTR [rip # 0x%" PRIx64 "]", rows[k].text, names[rows[k].reg][reg], rows[k].size, target);
                x86_ra(&e, rows[k].is_wide, rows[k].opcode, reg, pointer);
            }
        for (int op = X_ADD; op <= X_CMP; op++)
            for (uint32_t c = 0; c < TL_COUNT_OF(constants); c++) {
                if (!fits_s8(constants[c]))
                    continue;
                uint64_t target = address_of(e.at) + (uint64_t)distances[i];
                const void *pointer;
                memcpy(&pointer, &target, sizeof pointer);
                expect("%s QWORD PTR [rip # 0x%" PRIx64 "],0x%" PRIx64, operations[op], target, shown(true, constants[c]));
                x86_op_ai(&e, op, pointer, (int8_t)constants[c]);
            }
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
    try_constants_and_shifts();
    try_one_operand();
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
