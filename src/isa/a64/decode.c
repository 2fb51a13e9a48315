// SPDX-License-Identifier: MIT
// The decoder: bits 28:25 select a group of rows (manual: C4.1), the first row that has the word is
// the instruction. Rows do not overlap, so their order does not matter; test_decode.c proves it.
#include "base/bits.h"
#include "isa/a64/insn.h"

const char *const tl_a64_format_operands[TL_A64_N_FORMATS] = {
#define FORMAT(id, operands, imm, rule) operands,
#include "isa/a64/insn_formats.def"
#undef FORMAT
};

const tl_a64_row tl_a64_rows[TL_A64_N_OPCS] = {
    [TL_A64_OPC_UNDEFINED] = {"udf", 1, 0, TL_A64_FORMAT_NONE, TL_CLASS_SYSTEM, 0},
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) \
    [TL_A64_OPC_##id] = {mnemonic, match, mask, TL_A64_FORMAT_##format, TL_CLASS_##cls, size_bytes},
#include "isa/a64/insn_all.def"
#undef INSN
};

typedef enum rule { // which words of a row are instructions
    RULE_ANY,
    RULE_BITS,   // a logical immediate that is not reserved
    RULE_EXTEND, // shift of an extended register is at most 4
    RULE_NO_ROR,
    RULE_NOT_1D, // size and Q: one lane of 64 bits is reserved
    RULE_BHS,    // size
    RULE_HS,
    RULE_BH,
    RULE_BD,
    RULE_F,      // sz and Q: one lane of 64 bits is reserved
    RULE_ACROSS, // size and Q: four lanes at least
    RULE_LIST,   // of structures: one lane of 64 bits is reserved
    RULE_LANE,   // opcode, S and size name a lane
    RULE_IMM5,   // names a lane
    RULE_DUP,    // imm5 names a lane; one lane of 64 bits is reserved
    RULE_SMOV_W,
    RULE_SMOV_X,
    RULE_UMOV_W,
    RULE_UMOV_X,
    RULE_EXT,
    RULE_ELEM_F,
    RULE_ELEM_E,
    RULE_SHIFT,  // immh and Q: one lane of 64 bits is reserved
    RULE_IMMH,   // immh is not 0
    RULE_NARROW, // immh: lanes of up to 32 bits
    RULE_FIX,    // immh: lanes of 32 bits at least; one lane of 64 bits is reserved
    RULE_FIX_E,
} rule;

typedef enum imm_kind { // what tl_a64_decoded.imm holds
    IMM_NONE,           // 0
    IMM_RAW,            // the instruction
    IMM_IMM12,          // shifted as sh says
    IMM_IMM16,
    IMM_MOVW,    // imm16 | hw << 16
    IMM_BITF,    // immr | imms << 6
    IMM_IMMS,    // imms
    IMM_ADR,     // 21 bits, signed
    IMM_LABEL14, // bytes, signed
    IMM_LABEL19,
    IMM_LABEL26,
    IMM_SYSREG, // op0:op1:CRn:CRm:op2, 16 bits
    IMM_S7,     // bytes, signed
    IMM_S9,
    IMM_U12,    // bytes
    IMM_INDEX,  // option | amount << 3
    IMM_SHIFT,  // amount | type << 6
    IMM_EXTEND, // imm3 | option << 3
    IMM_COND,
    IMM_CCMP,  // nzcv | cond << 4
    IMM_FBITS, // fraction bits
    IMM_FIMM,  // imm8
} imm_kind;

static const uint8_t rules[TL_A64_N_FORMATS] = {
#define FORMAT(id, operands, imm, rule) RULE_##rule,
#include "isa/a64/insn_formats.def"
#undef FORMAT
};
static const uint8_t imm_kinds[TL_A64_N_FORMATS] = {
#define FORMAT(id, operands, imm, rule) IMM_##imm,
#include "isa/a64/insn_formats.def"
#undef FORMAT
};

static uint32_t field(uint32_t bits, unsigned lsb, unsigned width) { return bits >> lsb & ((1u << width) - 1); }

// immr and imms are read modulo the size of an element; imms of all ones is reserved.
uint64_t tl_a64_bit_mask(uint32_t bits, bool is_64) {
    const uint32_t n = field(bits, 22, 1), immr = field(bits, 16, 6), imms = field(bits, 10, 6);
    const uint32_t sizes = n << 6 | (~imms & 63);
    if (sizes < 2 || (n != 0 && !is_64))
        return 0;
    const unsigned size_bits = 1u << (31 - __builtin_clz(sizes)), ones = (imms & (size_bits - 1)) + 1, rotation = immr & (size_bits - 1);
    if (ones == size_bits)
        return 0;
    uint64_t element = ~UINT64_C(0) >> (64 - ones);
    if (rotation != 0)
        element = element >> rotation | element << (size_bits - rotation);
    if (size_bits < 64)
        element &= (UINT64_C(1) << size_bits) - 1;
    for (unsigned at = size_bits; at < 64; at *= 2)
        element |= element << at;
    return is_64 ? element : (uint32_t)element;
}

uint64_t tl_a64_fp_imm(uint32_t imm8, bool is_double) {
    const uint64_t sign = imm8 >> 7 & 1, b = imm8 >> 6 & 1, low = imm8 & 63;
    if (is_double)
        return sign << 63 | (b ? UINT64_C(0x3fc) << 52 : UINT64_C(0x400) << 52) | low << 48;
    return sign << 31 | (b ? UINT64_C(0x7c) << 23 : UINT64_C(0x80) << 23) | low << 19;
}

uint64_t tl_a64_simd_imm(uint32_t bits) {
    const uint32_t cmode = field(bits, 12, 4), op = field(bits, 29, 1), imm8 = field(bits, 16, 3) << 5 | field(bits, 5, 5);
    const uint64_t one_of_32 = UINT64_C(0x0000000100000001), one_of_16 = UINT64_C(0x0001000100010001);
    if (cmode < 8)
        return (one_of_32 * imm8) << 8 * (cmode >> 1);
    if (cmode < 12)
        return (one_of_16 * imm8) << 8 * (cmode >> 1 & 1);
    if (cmode < 14) // ones are shifted in
        return one_of_32 * ((uint64_t)imm8 << 8 * (1 + (cmode & 1)) | (cmode & 1 ? 0xffff : 0xff));
    if (cmode == 14 && op == 0)
        return UINT64_C(0x0101010101010101) * imm8;
    if (cmode == 14) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < 8; i++)
            mask |= imm8 >> i & 1 ? UINT64_C(0xff) << 8 * i : 0;
        return mask;
    }
    return op != 0 ? tl_a64_fp_imm(imm8, true) : one_of_32 * tl_a64_fp_imm(imm8, false);
}

static bool obeys(rule which, uint32_t bits) {
    const uint32_t size = field(bits, 22, 2), q = field(bits, 30, 1), sz = field(bits, 22, 1), imm5 = field(bits, 16, 5),
                   immh = field(bits, 19, 4);
    switch (which) {
    case RULE_ANY: return true;
    case RULE_BITS: return tl_a64_bit_mask(bits, bits >> 31) != 0;
    case RULE_EXTEND: return field(bits, 10, 3) <= 4;
    case RULE_NO_ROR: return size != 3;
    case RULE_NOT_1D: return size != 3 || q != 0;
    case RULE_BHS: return size != 3;
    case RULE_HS: return size == 1 || size == 2;
    case RULE_BH: return size < 2;
    case RULE_BD: return size == 0 || size == 3;
    case RULE_F: return sz == 0 || q != 0;
    case RULE_ACROSS: return size < 2 || (size == 2 && q != 0);
    case RULE_LIST: return field(bits, 10, 2) != 3 || q != 0;
    case RULE_LANE:
        switch (field(bits, 14, 2)) {
        case 0: return true;
        case 1: return (bits & 1 << 10) == 0;
        case 2: return field(bits, 10, 2) == 0 || field(bits, 10, 3) == 1;
        default: return false;
        }
    case RULE_IMM5: return (imm5 & 15) != 0;
    case RULE_DUP: return (imm5 & 15) != 0 && ((imm5 & 7) != 0 || q != 0);
    case RULE_SMOV_W: return (imm5 & 3) != 0;
    case RULE_SMOV_X: return (imm5 & 7) != 0;
    case RULE_UMOV_W: return (imm5 & 7) != 0;
    case RULE_UMOV_X: return (imm5 & 15) == 8;
    case RULE_EXT: return q != 0 || field(bits, 14, 1) == 0;
    case RULE_ELEM_F: return sz == 0 || (q != 0 && field(bits, 21, 1) == 0);
    case RULE_ELEM_E: return sz == 0 || field(bits, 21, 1) == 0;
    case RULE_SHIFT: return immh != 0 && (immh < 8 || q != 0);
    case RULE_IMMH: return immh != 0;
    case RULE_NARROW: return immh != 0 && immh < 8;
    case RULE_FIX: return immh >= 4 && (immh < 8 || q != 0);
    case RULE_FIX_E: return immh >= 4;
    }
    return false;
}

bool tl_a64_row_has(tl_a64_opc opc, uint32_t bits) {
    const tl_a64_row *row = &tl_a64_rows[opc];
    return (bits & row->mask) == row->match && obeys((rule)rules[row->format], bits);
}

typedef struct group {
    uint16_t first, end; // of rows
} group;

static group group_of(uint32_t bits) {
    switch (field(bits, 25, 4)) {
    case 8:
    case 9: return (group){TL_A64_FIRST_imm, TL_A64_FIRST_branch};
    case 10:
    case 11: return (group){TL_A64_FIRST_branch, TL_A64_FIRST_mem};
    case 4:
    case 6:
    case 12:
    case 14: return (group){TL_A64_FIRST_mem, TL_A64_FIRST_reg};
    case 5:
    case 13: return (group){TL_A64_FIRST_reg, TL_A64_FIRST_fp};
    case 7:
    case 15:
        if (field(bits, 28, 1) != 0 && field(bits, 30, 1) == 0)
            return (group){TL_A64_FIRST_fp, TL_A64_FIRST_simd};
        return (group){TL_A64_FIRST_simd, TL_A64_FIRST_end};
    default: return (group){0, 0};
    }
}

static int32_t immediate(uint32_t bits, const tl_a64_row *row) {
    switch ((imm_kind)imm_kinds[row->format]) {
    case IMM_NONE: return 0;
    case IMM_RAW: return (int32_t)bits;
    case IMM_IMM12: return (int32_t)(field(bits, 10, 12) << (field(bits, 22, 1) ? 12 : 0));
    case IMM_IMM16: return (int32_t)field(bits, 5, 16);
    case IMM_MOVW: return (int32_t)field(bits, 5, 18);
    case IMM_BITF: return (int32_t)(field(bits, 16, 6) | field(bits, 10, 6) << 6);
    case IMM_IMMS: return (int32_t)field(bits, 10, 6);
    case IMM_ADR: return (int32_t)tl_sext(field(bits, 5, 19) << 2 | field(bits, 29, 2), 21);
    case IMM_LABEL14: return (int32_t)tl_sext(field(bits, 5, 14), 14) * 4;
    case IMM_LABEL19: return (int32_t)tl_sext(field(bits, 5, 19), 19) * 4;
    case IMM_LABEL26: return (int32_t)tl_sext(field(bits, 0, 26), 26) * 4;
    case IMM_SYSREG: return (int32_t)field(bits, 5, 16);
    case IMM_S7: return (int32_t)tl_sext(field(bits, 15, 7), 7) * row->size_bytes;
    case IMM_S9: return (int32_t)tl_sext(field(bits, 12, 9), 9);
    // PRFM counts in 8.
    case IMM_U12: return (int32_t)(field(bits, 10, 12) * (row->size_bytes ? row->size_bytes : 8u));
    case IMM_INDEX: {
        const uint32_t size_bytes = row->size_bytes ? row->size_bytes : 8u;
        return (int32_t)(field(bits, 13, 3) | (field(bits, 12, 1) ? (uint32_t)__builtin_ctz(size_bytes) : 0) << 3);
    }
    case IMM_SHIFT: return (int32_t)(field(bits, 10, 6) | field(bits, 22, 2) << 6);
    case IMM_EXTEND: return (int32_t)field(bits, 10, 6);
    case IMM_COND: return (int32_t)field(bits, 12, 4);
    case IMM_CCMP: return (int32_t)(field(bits, 0, 4) | field(bits, 12, 4) << 4);
    case IMM_FBITS: return (int32_t)(64 - field(bits, 10, 6));
    case IMM_FIMM: return (int32_t)field(bits, 13, 8);
    }
    return 0;
}

void tl_a64_decode(uint32_t bits, tl_a64_decoded *ret_insn) {
    const group rows = group_of(bits);
    tl_a64_decoded insn = {.opc = TL_A64_OPC_UNDEFINED, .raw = bits};
    for (uint32_t opc = rows.first; opc < rows.end; opc++) {
        if (!tl_a64_row_has((tl_a64_opc)opc, bits))
            continue;
        insn.opc = (uint16_t)opc;
        insn.rd = bits & 31;
        insn.rn = bits >> 5 & 31;
        insn.rm = bits >> 16 & 31;
        insn.ra = bits >> 10 & 31;
        insn.imm = immediate(bits, &tl_a64_rows[opc]);
        break;
    }
    *ret_insn = insn;
}
