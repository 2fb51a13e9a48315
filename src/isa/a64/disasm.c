// SPDX-License-Identifier: MIT
// The disassembler. The row gives mnemonic and operands; a row of disasm_aliases.def that matches
// has precedence. insn_formats.def explains the strings.
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "isa/a64/insn.h"

typedef struct print { // one disassembly
    const tl_a64_decoded *insn;
    uint32_t raw;
    uint64_t pc;
    tl_a64_symbol_fn *symbol;
    void *ctx;
} print;

static uint32_t field(uint32_t bits, unsigned lsb, unsigned width) { return bits >> lsb & ((1u << width) - 1); }

static const char conds[16][3] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};
static const char sizes[] = "bhsdq";

static unsigned lowest_set(uint32_t bits) { return bits != 0 ? (unsigned)__builtin_ctz(bits) : 0; }

// -- Registers.
static void put_general(tl_text *t, bool is_64, uint32_t reg, bool is_sp) {
    if (reg == 31)
        tl_text_addf(t, "%s", is_sp ? (is_64 ? "sp" : "wsp") : is_64 ? "xzr" : "wzr");
    else
        tl_text_addf(t, "%c%u", is_64 ? 'x' : 'w', reg);
}

static void put_shape(tl_text *t, unsigned size, bool is_full) { tl_text_addf(t, "%u%c", (is_full ? 16u : 8u) >> size, sizes[size]); }

static unsigned size_of_immh(uint32_t raw) { // 31 - clz
    const uint32_t immh = field(raw, 19, 4);
    return immh >= 8 ? 3 : immh >= 4 ? 2 : immh >= 2 ? 1 : 0;
}

static void put_vector_shape(tl_text *t, uint32_t raw, char shape) {
    const unsigned size = field(raw, 22, 2), sz = field(raw, 22, 1);
    const bool q = field(raw, 30, 1);
    switch (shape) {
    case 'T': put_shape(t, size, q); break;
    case 'L': put_shape(t, size + 1, true); break;
    case 'P': put_shape(t, size + 1, q); break;
    case 'F': put_shape(t, 2 + sz, q); break;
    case 'N': put_shape(t, 1 + sz, q); break;
    case 'W': put_shape(t, 2 + sz, true); break;
    case 'G': put_shape(t, 2 + sz, sz); break;
    case 'B': put_shape(t, 0, q); break;
    case 'H': put_shape(t, 1, q); break;
    case 'S': put_shape(t, 2, q); break;
    case 'D': put_shape(t, 3, q); break;
    case 'I': put_shape(t, size_of_immh(raw), q); break;
    case 'J': put_shape(t, size_of_immh(raw) + 1, true); break;
    case '5': put_shape(t, lowest_set(field(raw, 16, 5)), q); break;
    default: tl_text_addf(t, "%c", shape); break; // as it stands
    }
}

// Returns the length of the operand in the string.
static size_t put_register(tl_text *t, const print *p, const char *operand) {
    const uint32_t raw = p->raw;
    uint32_t reg = field(raw, 0, 5);
    switch (operand[1]) {
    case 'n': reg = field(raw, 5, 5); break;
    case 'm':
    case 's': reg = field(raw, 16, 5); break;
    case 'a': reg = field(raw, 10, 5); break;
    default: break;
    }
    const bool is_sp = operand[2] == 'S';
    unsigned size;
    switch (operand[0]) {
    case 'R': put_general(t, raw >> 31, reg, is_sp); return 2 + is_sp;
    case 'W': put_general(t, false, reg, is_sp); return 2 + is_sp;
    case 'X': put_general(t, true, reg, is_sp); return 2 + is_sp;
    case 'V':
        tl_text_addf(t, "v%u.", reg);
        put_vector_shape(t, raw, operand[3]);
        return 4;
    case 'E': size = field(raw, 22, 2); break;
    case 'L': size = field(raw, 22, 2) + 1; break;
    case 'F': size = 2 + field(raw, 22, 1); break;
    case 'I': size = size_of_immh(raw); break;
    case 'J': size = size_of_immh(raw) + 1; break;
    case 'B': size = 0; break;
    case 'H': size = 1; break;
    case 'S': size = 2; break;
    case 'D': size = 3; break;
    default: size = 4; break;
    }
    tl_text_addf(t, "%c%u", sizes[size], reg);
    return 2;
}

// -- Operands of their own.
static void put_address(tl_text *t, const print *p, uint64_t address) {
    tl_text_addf(t, "%llx", (unsigned long long)address);
    char name[256] = "";
    if (p->symbol != NULL)
        p->symbol(p->ctx, address, name, sizeof(name));
    if (name[0] != '\0')
        tl_text_addf(t, " %s", name);
}

static void put_hex(tl_text *t, uint64_t value) { tl_text_addf(t, "#0x%llx", (unsigned long long)value); }

static void put_label(tl_text *t, const print *p) { put_address(t, p, p->pc + (uint64_t)(int64_t)p->insn->imm); }
static void put_adr(tl_text *t, const print *p) { put_address(t, p, p->pc + (uint64_t)(int64_t)p->insn->imm); }
static void put_adrp(tl_text *t, const print *p) {
    put_address(t, p, (p->pc & ~UINT64_C(0xfff)) + ((uint64_t)(int64_t)p->insn->imm << 12));
}
static void put_imm12(tl_text *t, const print *p) {
    put_hex(t, field(p->raw, 10, 12));
    tl_text_addf(t, "%s", field(p->raw, 22, 1) ? ", lsl #12" : "");
}
static void put_bits(tl_text *t, const print *p) { put_hex(t, tl_a64_bit_mask(p->raw, p->raw >> 31)); }
static void put_imm16(tl_text *t, const print *p) {
    put_hex(t, field(p->raw, 5, 16));
    if (field(p->raw, 21, 2) != 0)
        tl_text_addf(t, ", lsl #%u", 16 * field(p->raw, 21, 2));
}
static void put_moved(tl_text *t, const print *p) {
    uint64_t value = (uint64_t)field(p->raw, 5, 16) << 16 * field(p->raw, 21, 2);
    value = field(p->raw, 30, 1) ? value : ~value; // MOVZ or MOVN
    put_hex(t, p->raw >> 31 ? value : (uint32_t)value);
}
static uint32_t width_of(const print *p) { return p->raw >> 31 ? 64 : 32; }
static void put_immr(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 16, 6)); }
static void put_imms(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 10, 6)); }
static void put_lsb(tl_text *t, const print *p) { tl_text_addf(t, "#%u", width_of(p) - field(p->raw, 16, 6)); }
static void put_count(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 10, 6) + 1); }
static void put_width(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 10, 6) - field(p->raw, 16, 6) + 1); }
static void put_left(tl_text *t, const print *p) { tl_text_addf(t, "#%u", width_of(p) - 1 - field(p->raw, 10, 6)); }
static void put_bit(tl_text *t, const print *p) { tl_text_addf(t, "#%u", p->raw >> 31 << 5 | field(p->raw, 19, 5)); }
static void put_imm16x(tl_text *t, const print *p) { put_hex(t, field(p->raw, 5, 16)); }
static void put_dcps(tl_text *t, const print *p) {
    if (p->insn->imm != 0)
        put_hex(t, (uint32_t)p->insn->imm);
}
static void put_pstate(tl_text *t, const print *p) {
    static const char names[8][8] = {[5] = "spsel", [6] = "daifset", [7] = "daifclr"};
    if (field(p->raw, 5, 3) == 5 && field(p->raw, 8, 4) > 1) // SPSel has one bit
        tl_text_addf(t, "s0_0_c4_c%u_5, xzr", field(p->raw, 8, 4));
    else
        tl_text_addf(t, "%s, #0x%x", names[field(p->raw, 5, 3)], field(p->raw, 8, 4));
}

// Names of the hint space of later architectures are printed, too: there they are NOPs.
static void put_hint(tl_text *t, const print *p) {
    static const struct {
        uint8_t number;
        const char *name;
    } names[] = {{0, "nop"},         {1, "yield"},       {2, "wfe"},        {3, "wfi"},        {4, "sev"},        {5, "sevl"},
                 {7, "xpaclri"},     {8, "pacia1716"},   {10, "pacib1716"}, {12, "autia1716"}, {14, "autib1716"}, {16, "esb"},
                 {17, "psb\tcsync"}, {18, "tsb\tcsync"}, {20, "csdb"},      {22, "clearbhb"},  {24, "paciaz"},    {25, "paciasp"},
                 {26, "pacibz"},     {27, "pacibsp"},    {28, "autiaz"},    {29, "autiasp"},   {30, "autibz"},    {31, "autibsp"},
                 {32, "bti"},        {34, "bti\tc"},     {36, "bti\tj"},    {38, "bti\tjc"}};
    const uint32_t number = field(p->raw, 5, 7);
    for (size_t i = 0; i < TL_COUNT_OF(names); i++) {
        if (names[i].number == number) {
            tl_text_addf(t, "%s", names[i].name);
            return;
        }
    }
    tl_text_addf(t, "hint\t#0x%x", number);
}
static void put_clrex(tl_text *t, const print *p) {
    if (field(p->raw, 8, 4) != 15)
        put_hex(t, field(p->raw, 8, 4));
}
static void put_barrier(tl_text *t, const print *p) {
    static const char names[16][6] = {[1] = "oshld", [2] = "oshst",  [3] = "osh",  [5] = "nshld", [6] = "nshst", [7] = "nsh",
                                      [9] = "ishld", [10] = "ishst", [11] = "ish", [13] = "ld",   [14] = "st",   [15] = "sy"};
    const uint32_t option = field(p->raw, 8, 4);
    if (names[option][0] != '\0')
        tl_text_addf(t, "%s", names[option]);
    else
        tl_text_addf(t, "#0x%02x", option);
}

// AT, DC, IC, TLBI by op1:CRn:CRm:op2 (manual: C5.3, C5.4, C5.5).
typedef struct operation {
    uint16_t number;
    bool has_register;
    const char *name;
} operation;
static const operation operations[] = {
#define OPERATION(op1, crn, crm, op2, has_register, name) {op1 << 11 | crn << 7 | crm << 3 | op2, has_register, name},
#include "isa/a64/sys_names.def"
#undef OPERATION
};

static const operation *find_operation(uint32_t raw) {
    for (size_t i = 0; i < TL_COUNT_OF(operations); i++) {
        if (operations[i].number == field(raw, 5, 14))
            return &operations[i];
    }
    return NULL;
}
// The mnemonic, too.
static void put_sys(tl_text *t, const print *p) {
    const operation *known = find_operation(p->raw);
    const uint32_t rt = field(p->raw, 0, 5);
    if (known != NULL && (known->has_register || rt == 31)) {
        tl_text_addf(t, "%s", known->name);
        if (known->has_register) {
            tl_text_addf(t, ", ");
            put_general(t, true, rt, false);
        }
        return;
    }
    tl_text_addf(t, "sys\t#%u, C%u, C%u, #%u", field(p->raw, 16, 3), field(p->raw, 12, 4), field(p->raw, 8, 4), field(p->raw, 5, 3));
    if (rt != 31)
        tl_text_addf(t, ", x%u", rt);
}
static void put_sysl(tl_text *t, const print *p) {
    tl_text_addf(t, "#%u, C%u, C%u, #%u", field(p->raw, 16, 3), field(p->raw, 12, 4), field(p->raw, 8, 4), field(p->raw, 5, 3));
}

typedef struct sysreg_name {
    uint16_t first, count, stride;
    const char *format; // for the index
} sysreg_name;
static const sysreg_name sysreg_names[] = {
#define SYSREG(number, name) {number, 1, 1, name},
#define SYSREGS(first, count, stride, format) {first, count, stride, format},
#include "isa/a64/sysreg_names.def"
#undef SYSREG
#undef SYSREGS
};

enum { DBGDTR = 0x9828 }; // receives when read, transmits when written

static void put_sysreg(tl_text *t, const print *p) {
    const uint32_t number = field(p->raw, 5, 16);
    if (number == DBGDTR && !field(p->raw, 21, 1)) { // one number, two registers
        tl_text_addf(t, "dbgdtrtx_el0");
        return;
    }
    for (size_t i = 0; i < TL_COUNT_OF(sysreg_names); i++) {
        const sysreg_name *name = &sysreg_names[i];
        const uint32_t distance = number - name->first;
        if (number < name->first || distance % name->stride != 0 || distance / name->stride >= name->count)
            continue;
        const char *index = strstr(name->format, "%u");
        if (index == NULL)
            tl_text_addf(t, "%s", name->format);
        else
            tl_text_addf(t, "%.*s%u%s", (int)(index - name->format), name->format, distance / name->stride, index + 2);
        return;
    }
    tl_text_addf(t, "s%u_%u_c%u_c%u_%u", field(p->raw, 19, 2), field(p->raw, 16, 3), field(p->raw, 12, 4), field(p->raw, 8, 4),
                 field(p->raw, 5, 3));
}

static void put_prf(tl_text *t, const print *p) {
    static const char kinds[3][4] = {"pld", "pli", "pst"};
    const uint32_t prfop = field(p->raw, 0, 5);
    if (prfop >> 3 < 3 && (prfop >> 1 & 3) < 3)
        tl_text_addf(t, "%sl%u%s", kinds[prfop >> 3], (prfop >> 1 & 3) + 1, prfop & 1 ? "strm" : "keep");
    else
        tl_text_addf(t, "#0x%02x", prfop);
}
static void put_offset(tl_text *t, const print *p) {
    if (p->insn->imm != 0)
        tl_text_addf(t, ", #%d", p->insn->imm);
}
static void put_offset_always(tl_text *t, const print *p) { tl_text_addf(t, ", #%d", p->insn->imm); }
static void put_step(tl_text *t, const print *p) { tl_text_addf(t, "#%d", p->insn->imm); }

static const char extends[8][5] = {"uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"};

static void put_index(tl_text *t, const print *p) {
    const uint32_t option = field(p->raw, 13, 3), is_scaled = field(p->raw, 12, 1);
    put_general(t, option & 1, p->insn->rm, false);
    if (option == 3 && !is_scaled)
        return;
    tl_text_addf(t, ", %s", option == 3 ? "lsl" : extends[option]);
    if (is_scaled)
        tl_text_addf(t, " #%u", (uint32_t)p->insn->imm >> 3);
}
static void put_extend(tl_text *t, const print *p) {
    const uint32_t option = field(p->raw, 13, 3), amount = field(p->raw, 10, 3), is_64 = p->raw >> 31;
    // With the S bit rd is no stack pointer.
    const bool has_sp = p->insn->rn == 31 || (p->insn->rd == 31 && !field(p->raw, 29, 1));
    put_general(t, is_64 && (option & 3) == 3, p->insn->rm, false);
    if (has_sp && option == 2 + is_64) {
        if (amount != 0)
            tl_text_addf(t, ", lsl #%u", amount);
        return;
    }
    tl_text_addf(t, ", %s", extends[option]);
    if (amount != 0)
        tl_text_addf(t, " #%u", amount);
}
static void put_shift(tl_text *t, const print *p) {
    static const char names[4][4] = {"lsl", "lsr", "asr", "ror"};
    if (p->insn->imm != 0)
        tl_text_addf(t, ", %s #%u", names[field(p->raw, 22, 2)], field(p->raw, 10, 6));
}
static void put_cond(tl_text *t, const print *p) { tl_text_addf(t, "%s", conds[field(p->raw, 12, 4)]); }
static void put_ncond(tl_text *t, const print *p) { tl_text_addf(t, "%s", conds[field(p->raw, 12, 4) ^ 1]); }
static void put_nzcv(tl_text *t, const print *p) { put_hex(t, field(p->raw, 0, 4)); }
static void put_imm5(tl_text *t, const print *p) { put_hex(t, field(p->raw, 16, 5)); }
static void put_fbits(tl_text *t, const print *p) { tl_text_addf(t, "#%d", p->insn->imm); }

static void put_fimm(tl_text *t, const print *p) {
    const bool is_vector = field(p->raw, 28, 1) == 0;
    const uint32_t imm8 = is_vector ? field(p->raw, 16, 3) << 5 | field(p->raw, 5, 5) : field(p->raw, 13, 8);
    const uint64_t bits = tl_a64_fp_imm(imm8, true);
    double value;
    memcpy(&value, &bits, sizeof(value));
    tl_text_addf(t, "#%.18e", value);
}

// -- Vectors.
// v0.8b, or v0.b for one lane: `shape` has the text behind the dot.
static void put_list(tl_text *t, uint32_t first, uint32_t count, const char *shape) {
    tl_text_addf(t, "{");
    if (count > 2 && first + count <= 32) {
        tl_text_addf(t, "v%u.%s-v%u.%s", first, shape, first + count - 1, shape);
    } else {
        for (uint32_t i = 0; i < count; i++)
            tl_text_addf(t, "%sv%u.%s", i == 0 ? "" : ", ", (first + i) % 32, shape);
    }
    tl_text_addf(t, "}");
}
static uint32_t registers_of_list(uint32_t raw) { // of LD1 to LD4 of whole structures or replicated
    static const uint8_t counts[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    if (field(raw, 24, 1))
        return 1 + field(raw, 21, 1) + 2 * field(raw, 13, 1);
    return counts[field(raw, 12, 4)];
}
static void put_structures(tl_text *t, const print *p) {
    char shape[8];
    tl_text s = {shape, sizeof(shape), 0};
    put_shape(&s, field(p->raw, 10, 2), field(p->raw, 30, 1));
    put_list(t, p->insn->rd, registers_of_list(p->raw), shape);
}
typedef struct lane {
    unsigned size, index;
} lane;
static lane lane_of(uint32_t raw) {
    const uint32_t all = field(raw, 30, 1) << 3 | field(raw, 12, 1) << 2 | field(raw, 10, 2);
    switch (field(raw, 14, 2)) {
    case 0: return (lane){0, all};
    case 1: return (lane){1, all >> 1};
    default: return field(raw, 10, 1) ? (lane){3, all >> 3} : (lane){2, all >> 2};
    }
}
static void put_lane(tl_text *t, const print *p) {
    const lane at = lane_of(p->raw);
    const char shape[2] = {sizes[at.size], '\0'};
    put_list(t, p->insn->rd, 1 + field(p->raw, 21, 1) + 2 * field(p->raw, 13, 1), shape);
    tl_text_addf(t, "[%u]", at.index);
}
static void put_after(tl_text *t, const print *p) {
    const uint32_t raw = p->raw, n = 1 + field(raw, 21, 1) + 2 * field(raw, 13, 1);
    if (p->insn->rm != 31)
        tl_text_addf(t, "x%u", p->insn->rm);
    else if (!field(raw, 24, 1))
        tl_text_addf(t, "#%u", registers_of_list(raw) * (field(raw, 30, 1) ? 16 : 8));
    else if (field(raw, 14, 2) == 3)
        tl_text_addf(t, "#%u", n << field(raw, 10, 2));
    else
        tl_text_addf(t, "#%u", n << lane_of(raw).size);
}
static void put_table(tl_text *t, const print *p) { put_list(t, p->insn->rn, field(p->raw, 13, 2) + 1, "16b"); }
static void put_shll(tl_text *t, const print *p) { tl_text_addf(t, "#%u", 8u << field(p->raw, 22, 2)); }
static void put_lane_of_register(tl_text *t, uint32_t reg, unsigned size, uint32_t index) {
    tl_text_addf(t, "v%u.%c[%u]", reg, sizes[size], index);
}
static void put_elem5(tl_text *t, const print *p) {
    const unsigned size = lowest_set(field(p->raw, 16, 5));
    put_lane_of_register(t, p->insn->rn, size, field(p->raw, 16, 5) >> (size + 1));
}
static void put_dest5(tl_text *t, const print *p) {
    const unsigned size = lowest_set(field(p->raw, 16, 5));
    put_lane_of_register(t, p->insn->rd, size, field(p->raw, 16, 5) >> (size + 1));
}
static void put_elem4(tl_text *t, const print *p) {
    const unsigned size = lowest_set(field(p->raw, 16, 5));
    put_lane_of_register(t, p->insn->rn, size, field(p->raw, 11, 4) >> size);
}
static void put_gen5(tl_text *t, const print *p) { put_general(t, lowest_set(field(p->raw, 16, 5)) == 3, p->insn->rn, false); }
static void put_scalar5(tl_text *t, const print *p) { tl_text_addf(t, "%c%u", sizes[lowest_set(field(p->raw, 16, 5))], p->insn->rd); }
static void put_imm4(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 11, 4)); }
static void put_elem(tl_text *t, const print *p) {
    const uint32_t raw = p->raw, h = field(raw, 11, 1), l = field(raw, 21, 1), m = field(raw, 20, 1);
    if (field(raw, 22, 2) == 1)
        put_lane_of_register(t, field(raw, 16, 4), 1, h << 2 | l << 1 | m);
    else
        put_lane_of_register(t, field(raw, 16, 5), 2, h << 1 | l);
}
static void put_elemf(tl_text *t, const print *p) {
    const uint32_t raw = p->raw, h = field(raw, 11, 1), l = field(raw, 21, 1);
    if (field(raw, 22, 1))
        put_lane_of_register(t, field(raw, 16, 5), 3, h);
    else
        put_lane_of_register(t, field(raw, 16, 5), 2, h << 1 | l);
}
static void put_imm8(tl_text *t, const print *p) {
    const uint32_t cmode = field(p->raw, 12, 4);
    put_hex(t, field(p->raw, 16, 3) << 5 | field(p->raw, 5, 5));
    if (cmode >= 12 && cmode < 14)
        tl_text_addf(t, ", msl #%u", 8 * (1 + (cmode & 1)));
    else if (cmode < 8 && (cmode >> 1) != 0)
        tl_text_addf(t, ", lsl #%u", 8 * (cmode >> 1));
    else if (cmode >= 8 && cmode < 12 && (cmode & 2) != 0)
        tl_text_addf(t, ", lsl #8");
}
static void put_imm64(tl_text *t, const print *p) { put_hex(t, tl_a64_simd_imm(p->raw)); }
static void put_shr(tl_text *t, const print *p) { tl_text_addf(t, "#%u", (16u << size_of_immh(p->raw)) - field(p->raw, 16, 7)); }
static void put_shl(tl_text *t, const print *p) { tl_text_addf(t, "#%u", field(p->raw, 16, 7) - (8u << size_of_immh(p->raw))); }

static const struct {
    const char *word;
    void (*put)(tl_text *t, const print *p);
} words[] = {{"imm12", put_imm12},
             {"bits", put_bits},
             {"imm16", put_imm16},
             {"moved", put_moved},
             {"immr", put_immr},
             {"imms", put_imms},
             {"lsb", put_lsb},
             {"count", put_count},
             {"width", put_width},
             {"left", put_left},
             {"adr", put_adr},
             {"adrp", put_adrp},
             {"label", put_label},
             {"bit", put_bit},
             {"imm16x", put_imm16x},
             {"dcps", put_dcps},
             {"pstate", put_pstate},
             {"hint", put_hint},
             {"clrex", put_clrex},
             {"barrier", put_barrier},
             {"isb", put_clrex},
             {"sys", put_sys},
             {"sysl", put_sysl},
             {"sysreg", put_sysreg},
             {"prf", put_prf},
             {"s7", put_offset},
             {"s7x", put_step},
             {"s7pre", put_offset_always},
             {"s9", put_offset},
             {"s9x", put_step},
             {"s9pre", put_offset_always},
             {"u12", put_offset},
             {"index", put_index},
             {"extend", put_extend},
             {"shift", put_shift},
             {"cond", put_cond},
             {"ncond", put_ncond},
             {"nzcv", put_nzcv},
             {"imm5", put_imm5},
             {"fbits", put_fbits},
             {"fimm", put_fimm},
             {"list", put_structures},
             {"lane", put_lane},
             {"after", put_after},
             {"table", put_table},
             {"shll", put_shll},
             {"elem5", put_elem5},
             {"dest5", put_dest5},
             {"elem4", put_elem4},
             {"gen5", put_gen5},
             {"scalar5", put_scalar5},
             {"imm4", put_imm4},
             {"elem", put_elem},
             {"elemf", put_elemf},
             {"imm8", put_imm8},
             {"imm64", put_imm64},
             {"shr", put_shr},
             {"shl", put_shl}};

static size_t put_word(tl_text *t, const print *p, const char *word) {
    const size_t length = strcspn(word, "}");
    for (size_t i = 0; i < TL_COUNT_OF(words); i++) {
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0)
            words[i].put(t, p);
    }
    return length;
}

static void put_operands(tl_text *t, const print *p, const char *operands) {
    for (const char *at = operands; *at != '\0';) {
        if (*at >= 'A' && *at <= 'Z') {
            at += put_register(t, p, at);
        } else if (*at == '{') {
            at += 1 + put_word(t, p, at + 1) + 1;
        } else {
            tl_text_addf(t, "%c", *at);
            at += 1;
        }
    }
}

static void put_mnemonic(tl_text *t, const print *p, const char *mnemonic) {
    const char *brace = strchr(mnemonic, '{');
    if (brace == NULL) {
        tl_text_addf(t, "%s", mnemonic);
        return;
    }
    tl_text_addf(t, "%.*s", (int)(brace - mnemonic), mnemonic);
    if (brace[1] == 'c')
        tl_text_addf(t, "%s", conds[field(p->raw, 0, 4)]);
    else if (field(p->raw, 30, 1))
        tl_text_addf(t, "2");
}

// -- Aliases.
typedef struct alias {
    const char *mnemonic, *operands; // mnemonic NULL: none
} alias;

// Whether one MOVZ or MOVN makes the pattern of a logical immediate (manual: MoveWidePreferred).
static bool is_wide_move(uint32_t raw) {
    const bool is_64 = raw >> 31;
    const uint64_t value = tl_a64_bit_mask(raw, is_64), all = is_64 ? ~UINT64_C(0) : UINT32_MAX;
    for (unsigned shift = 0; shift < (is_64 ? 64 : 32); shift += 16) {
        const uint64_t rest = all & ~(UINT64_C(0xffff) << shift);
        if ((value & rest) == 0 || (~value & rest) == 0)
            return true;
    }
    return false;
}
static bool is_lowest_of_immh(uint32_t raw) { return field(raw, 16, 7) == 8u << size_of_immh(raw); }

static alias find_alias(const tl_a64_decoded *insn) {
    const uint32_t rd = insn->rd, rn = insn->rn, rm = insn->rm, ra = insn->ra, raw = insn->raw, imm = (uint32_t)insn->imm;
    const uint32_t immr = field(raw, 16, 6), imms = field(raw, 10, 6), last = raw >> 31 ? 63 : 31;
#define ALIAS(id, mnemonic, operands, condition)     \
    if (insn->opc == TL_A64_OPC_##id && (condition)) \
        return (alias){mnemonic, operands};
#define ALIAS_WX(id, mnemonic, operands, condition)                                            \
    if ((insn->opc == TL_A64_OPC_##id##_w || insn->opc == TL_A64_OPC_##id##_x) && (condition)) \
        return (alias){mnemonic, operands};
#include "isa/a64/disasm_aliases.def"
#undef ALIAS
#undef ALIAS_WX
    return (alias){NULL, NULL};
}

int tl_a64_disassemble(const tl_a64_decoded *insn, uint64_t pc, tl_a64_symbol_fn *symbol, void *ctx, char *buffer, size_t size) {
    const print p = {.insn = insn, .raw = insn->raw, .pc = pc, .symbol = symbol, .ctx = ctx};
    tl_text t = {buffer, size, 0};
    if (insn->opc == TL_A64_OPC_UNDEFINED && insn->raw >> 16 == 0) {
        tl_text_addf(&t, "udf\t#%u", insn->raw);
        return (int)t.n_bytes;
    }
    if (insn->opc == TL_A64_OPC_UNDEFINED) {
        tl_text_addf(&t, ".inst\t0x%08x", insn->raw);
        return (int)t.n_bytes;
    }
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    const char *operands = tl_a64_format_operands[row->format];
    if (insn->opc == TL_A64_OPC_hint || insn->opc == TL_A64_OPC_sys) { // one word says all
        put_operands(&t, &p, operands);
        return (int)t.n_bytes;
    }
    if (insn->opc == TL_A64_OPC_dsb && (field(insn->raw, 8, 4) & 11) == 0) {
        tl_text_addf(&t, "%s", field(insn->raw, 8, 4) == 0 ? "ssbb" : "pssbb");
        return (int)t.n_bytes;
    }
    const alias found = find_alias(insn);
    put_mnemonic(&t, &p, found.mnemonic != NULL ? found.mnemonic : row->mnemonic);
    operands = found.mnemonic != NULL ? found.operands : operands;
    const size_t before = t.n_bytes;
    if (operands[0] != '\0') {
        tl_text_addf(&t, "\t");
        put_operands(&t, &p, operands);
        if (t.n_bytes == before + 1) // an optional operand that is not there
            tl_text_cut(&t, before);
    }
    return (int)t.n_bytes;
}
