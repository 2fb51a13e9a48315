// SPDX-License-Identifier: MIT
// The decoder: rows become case labels. Each mask has one switch, whose labels are the `match`
// values of the rows with that mask. A row that exists is therefore a row that decodes. The
// compiler rejects two rows that claim the same bits. The major opcode says which masks to try.
// Reserved encodings are illegal, hints are what they encode.
#include "base/bits.h"
#include "isa/rv/insn.h"

const char *const tl_format_operands[TL_N_FORMATS] = {
#define FORMAT(id, operands) operands,
#include "isa/rv/insn_formats.def"
#undef FORMAT
};

const tl_insn_row tl_insn_rows[TL_N_OPCS] = {
    [TL_OPC_ILLEGAL] = {"unimp", 1, 0, TL_FORMAT_NONE, TL_CLASS_SYSTEM, 0},
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) \
    [TL_OPC_##id] = {mnemonic, match, mask, TL_FORMAT_##format, TL_CLASS_##cls, size_bytes},
#include "isa/rv/insn_all.def"
#undef INSN
};

const tl_rvc_row tl_rvc_rows[TL_N_RVCS] = {
#define INSN_C(id, mnemonic, match, mask, format, expands) [TL_RVC_##id] = {mnemonic, match, mask, TL_OPC_##expands},
#include "isa/rv/insn_c.def"
#undef INSN_C
};

// Rows with another mask than the one at hand get a label that no 32-bit value reaches.
#define FOREIGN (UINT64_C(1) << 32)
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) \
    case (mask) == MASK ? UINT64_C(match):                       \
        FOREIGN + TL_OPC_##id : return TL_OPC_##id;

#define MASK 0x0000007fu // lui, auipc, jal
static uint32_t find_major(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0x0000707fu // immediates, loads, stores, branches
static uint32_t find_funct3(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfc00707fu // shifts of 64 bits
static uint32_t find_funct6(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfe00707fu // register to register
static uint32_t find_funct7(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfff0707fu // one source; rs2 is part of the code
static uint32_t find_unary(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xf800707fu // SC and AMO
static uint32_t find_amo(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xf9f0707fu // LR
static uint32_t find_lr(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0x0600007fu // fused multiply-add
static uint32_t find_fma(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfe00007fu // floating point with two sources and a rounding mode
static uint32_t find_fp_binary(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfff0007fu // floating point with one source and a rounding mode
static uint32_t find_fp_unary(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xfe007fffu // SFENCE.VMA
static uint32_t find_sfence(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#define MASK 0xffffffffu // no operands
static uint32_t find_exact(uint64_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_all.def"
    default: return TL_OPC_ILLEGAL;
    }
}
#undef MASK
#undef INSN

static uint32_t find(uint32_t bits) {
    uint32_t opc;
    switch (bits >> 2 & 31) {
    case 0x05: // AUIPC
    case 0x0d: // LUI
    case 0x1b: // JAL
        return find_major(bits);
    case 0x0c: // OP
    case 0x0e: // OP-32
        opc = find_funct7(bits);
        return opc != TL_OPC_ILLEGAL ? opc : find_unary(bits);
    case 0x04: // OP-IMM
    case 0x06: // OP-IMM-32
        if ((opc = find_funct3(bits)) != TL_OPC_ILLEGAL || (opc = find_funct6(bits)) != TL_OPC_ILLEGAL ||
            (opc = find_funct7(bits)) != TL_OPC_ILLEGAL)
            return opc;
        return find_unary(bits);
    case 0x0b: // AMO
        opc = find_amo(bits);
        return opc != TL_OPC_ILLEGAL ? opc : find_lr(bits);
    case 0x10: // MADD
    case 0x11: // MSUB
    case 0x12: // NMSUB
    case 0x13: // NMADD
        return find_fma(bits);
    case 0x14: // OP-FP
        if ((opc = find_fp_binary(bits)) != TL_OPC_ILLEGAL || (opc = find_funct7(bits)) != TL_OPC_ILLEGAL ||
            (opc = find_fp_unary(bits)) != TL_OPC_ILLEGAL)
            return opc;
        return find_unary(bits);
    case 0x1c: // SYSTEM
        if ((opc = find_funct3(bits)) != TL_OPC_ILLEGAL || (opc = find_exact(bits)) != TL_OPC_ILLEGAL)
            return opc;
        return find_sfence(bits);
    default: return find_funct3(bits);
    }
}

static inline int32_t sext32(uint32_t value, unsigned width) { return (int32_t)(value << (32 - width)) >> (32 - width); }

// Fields but for the immediate, by format: masks of their bits, 0 where the format has none.
// `order`: aq and rl, kept in rm.
typedef struct field_masks {
    uint8_t rd, rs1, rs2, rs3, rm, order;
} field_masks;
static const field_masks fields_of[TL_N_FORMATS] = {
    [TL_FORMAT_R] = {.rd = 31, .rs1 = 31, .rs2 = 31},
    [TL_FORMAT_FFF] = {.rd = 31, .rs1 = 31, .rs2 = 31},
    [TL_FORMAT_XFF] = {.rd = 31, .rs1 = 31, .rs2 = 31},
    [TL_FORMAT_UNARY] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_XF] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_FX] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_I] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_L] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_JALR] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_FLOAD] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_SHIFT] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_S] = {.rs1 = 31, .rs2 = 31},
    [TL_FORMAT_FSTORE] = {.rs1 = 31, .rs2 = 31},
    [TL_FORMAT_U] = {.rd = 31},
    [TL_FORMAT_J] = {.rd = 31},
    [TL_FORMAT_B] = {.rs1 = 31, .rs2 = 31},
    [TL_FORMAT_AMO] = {.rd = 31, .rs1 = 31, .rs2 = 31, .order = 3},
    [TL_FORMAT_LR] = {.rd = 31, .rs1 = 31, .order = 3},
    [TL_FORMAT_CSR] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_CSRI] = {.rd = 31, .rs1 = 31},
    [TL_FORMAT_SFENCE] = {.rs1 = 31, .rs2 = 31},
    [TL_FORMAT_FMA] = {.rd = 31, .rs1 = 31, .rs2 = 31, .rs3 = 31, .rm = 7},
    [TL_FORMAT_FFFM] = {.rd = 31, .rs1 = 31, .rs2 = 31, .rm = 7},
    [TL_FORMAT_FFM] = {.rd = 31, .rs1 = 31, .rm = 7},
    [TL_FORMAT_XFM] = {.rd = 31, .rs1 = 31, .rm = 7},
    [TL_FORMAT_FXM] = {.rd = 31, .rs1 = 31, .rm = 7},
};

static int32_t immediate(uint32_t bits, tl_format format) {
    switch (format) {
    case TL_FORMAT_I:
    case TL_FORMAT_L:
    case TL_FORMAT_JALR:
    case TL_FORMAT_FLOAD: return (int32_t)bits >> 20;
    case TL_FORMAT_SHIFT: return bits >> 20 & 63;
    case TL_FORMAT_S:
    case TL_FORMAT_FSTORE: return (int32_t)(bits & 0xfe000000) >> 20 | (int32_t)(bits >> 7 & 31);
    case TL_FORMAT_U: return (int32_t)(bits & 0xfffff000);
    case TL_FORMAT_J: return sext32((bits >> 31) << 20 | (bits & 0x000ff000) | (bits >> 20 & 1) << 11 | (bits >> 21 & 0x3ff) << 1, 21);
    case TL_FORMAT_B: return sext32((bits >> 31) << 12 | (bits >> 7 & 1) << 11 | (bits >> 25 & 0x3f) << 5 | (bits >> 8 & 15) << 1, 13);
    case TL_FORMAT_CSR:
    case TL_FORMAT_CSRI:
    case TL_FORMAT_FENCE: return (int32_t)(bits >> 20);
    default: return 0;
    }
}

static void decode_full(uint32_t bits, tl_decoded *ret_insn) {
    tl_decoded insn = {.opc = (uint16_t)find(bits), .len = 4, .raw = bits};
    if (insn.opc != TL_OPC_ILLEGAL) {
        tl_format format = (tl_format)tl_insn_rows[insn.opc].format;
        const field_masks *mask = &fields_of[format];
        insn.rd = (uint8_t)(bits >> 7 & mask->rd);
        insn.rs1 = (uint8_t)(bits >> 15 & mask->rs1);
        insn.rs2 = (uint8_t)(bits >> 20 & mask->rs2);
        insn.rs3 = (uint8_t)(bits >> 27 & mask->rs3);
        insn.rm = (uint8_t)((bits >> 12 & mask->rm) | (bits >> 25 & mask->order));
        insn.imm = immediate(bits, format);
    }
    *ret_insn = insn;
}

// -- Compressed. Formats of insn_c.def; false: reserved, or another row's.
typedef enum tl_rvc_format {
    CIW,
    CL_D,
    CL_W,
    CS_D,
    CS_W,
    CI,
    CI_RD,
    CI_X0,
    CI_SP,
    CI_LUI,
    CB_SH,
    CB_IMM,
    CA,
    CJ,
    CB,
    CI_SH,
    CI_LDSP,
    CI_LDSP_RD,
    CI_LWSP_RD,
    CR_JR,
    CR_MV,
    CR_NONE,
    CR_JALR,
    CR_ADD,
    CSS_D,
    CSS_W
} tl_rvc_format;

static const uint8_t rvc_formats[TL_N_RVCS] = {
#define INSN_C(id, mnemonic, match, mask, format, expands) [TL_RVC_##id] = format,
#include "isa/rv/insn_c.def"
#undef INSN_C
};

enum { SP = 2 };

static int32_t immediate_rvc(uint32_t bits, tl_rvc_format format) {
    const int32_t imm6 = sext32((bits >> 12 & 1) << 5 | (bits >> 2 & 31), 6);
    switch (format) {
    case CIW: return (int32_t)((bits >> 7 & 15) << 6 | (bits >> 11 & 3) << 4 | (bits >> 5 & 1) << 3 | (bits >> 6 & 1) << 2);
    case CL_D:
    case CS_D: return (int32_t)((bits >> 10 & 7) << 3 | (bits >> 5 & 3) << 6);
    case CL_W:
    case CS_W: return (int32_t)((bits >> 10 & 7) << 3 | (bits >> 6 & 1) << 2 | (bits >> 5 & 1) << 6);
    case CI:
    case CI_RD:
    case CI_X0:
    case CB_IMM: return imm6;
    case CI_SP:
        return sext32((bits >> 12 & 1) << 9 | (bits >> 3 & 3) << 7 | (bits >> 5 & 1) << 6 | (bits >> 2 & 1) << 5 | (bits >> 6 & 1) << 4,
                      10);
    case CI_LUI: return imm6 * 4096;
    case CB_SH:
    case CI_SH: return imm6 & 63;
    case CJ:
        return sext32((bits >> 12 & 1) << 11 | (bits >> 8 & 1) << 10 | (bits >> 9 & 3) << 8 | (bits >> 6 & 1) << 7 | (bits >> 7 & 1) << 6 |
                          (bits >> 2 & 1) << 5 | (bits >> 11 & 1) << 4 | (bits >> 3 & 7) << 1,
                      12);
    case CB:
        return sext32((bits >> 12 & 1) << 8 | (bits >> 5 & 3) << 6 | (bits >> 2 & 1) << 5 | (bits >> 10 & 3) << 3 | (bits >> 3 & 3) << 1,
                      9);
    case CI_LDSP:
    case CI_LDSP_RD: return (int32_t)((bits >> 12 & 1) << 5 | (bits >> 5 & 3) << 3 | (bits >> 2 & 7) << 6);
    case CI_LWSP_RD: return (int32_t)((bits >> 12 & 1) << 5 | (bits >> 4 & 7) << 2 | (bits >> 2 & 3) << 6);
    case CSS_D: return (int32_t)((bits >> 10 & 7) << 3 | (bits >> 7 & 7) << 6);
    case CSS_W: return (int32_t)((bits >> 9 & 15) << 2 | (bits >> 7 & 3) << 6);
    case CA:
    case CR_JR:
    case CR_MV:
    case CR_NONE:
    case CR_JALR:
    case CR_ADD: break;
    }
    return 0;
}

static void set_registers(tl_decoded *insn, uint8_t rd, uint8_t rs1, uint8_t rs2) {
    insn->rd = rd;
    insn->rs1 = rs1;
    insn->rs2 = rs2;
}

static bool extract_rvc(uint32_t bits, tl_rvc_format format, tl_decoded *insn) {
    const uint8_t rd = bits >> 7 & 31, rs2 = bits >> 2 & 31;
    const uint8_t low = 8 | (bits >> 2 & 7), high = 8 | (bits >> 7 & 7); // registers of three bits
    insn->imm = immediate_rvc(bits, format);
    switch (format) {
    case CIW: set_registers(insn, low, SP, 0); return insn->imm != 0;
    case CL_D:
    case CL_W: set_registers(insn, low, high, 0); return true;
    case CS_D:
    case CS_W: set_registers(insn, 0, high, low); return true;
    case CI:
    case CI_SH: set_registers(insn, rd, rd, 0); return true;
    case CI_RD: set_registers(insn, rd, rd, 0); return rd != 0;
    case CI_X0: set_registers(insn, rd, 0, 0); return true;
    case CI_SP: set_registers(insn, SP, SP, 0); return insn->imm != 0;
    case CI_LUI: set_registers(insn, rd, 0, 0); return rd != SP && insn->imm != 0;
    case CB_SH:
    case CB_IMM: set_registers(insn, high, high, 0); return true;
    case CA: set_registers(insn, high, high, low); return true;
    case CB: set_registers(insn, 0, high, 0); return true;
    case CI_LDSP: set_registers(insn, rd, SP, 0); return true;
    case CI_LDSP_RD:
    case CI_LWSP_RD: set_registers(insn, rd, SP, 0); return rd != 0;
    case CR_JR: set_registers(insn, 0, rd, 0); return rd != 0;
    case CR_JALR: set_registers(insn, 1, rd, 0); return rd != 0;
    case CR_MV: set_registers(insn, rd, 0, rs2); return rs2 != 0;
    case CR_ADD: set_registers(insn, rd, rd, rs2); return rs2 != 0;
    case CSS_D:
    case CSS_W: set_registers(insn, 0, SP, rs2); return true;
    case CJ:
    case CR_NONE: return true;
    }
    return false;
}

#define INSN_C(id, mnemonic, match, mask, format, expands) \
    case (mask) == MASK ? (match):                         \
        0x10000 + TL_RVC_##id : return TL_RVC_##id;
#define MASK 0xe003
static uint32_t find_rvc_common(uint32_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_c.def"
    default: return TL_N_RVCS;
    }
}
#undef MASK
#define MASK 0xec03
static uint32_t find_rvc_cb(uint32_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_c.def"
    default: return TL_N_RVCS;
    }
}
#undef MASK
#define MASK 0xfc63
static uint32_t find_rvc_ca(uint32_t bits) {
    switch (bits & MASK) {
#include "isa/rv/insn_c.def"
    default: return TL_N_RVCS;
    }
}
#undef MASK
#undef INSN_C

static uint32_t find_rvc(uint32_t bits) {
    switch (bits & 0xe003) {
    case 0x6001: return (bits >> 7 & 31) == SP ? TL_RVC_c_addi16sp : TL_RVC_c_lui;
    case 0x8001: return (bits & 0x0c00) == 0x0c00 ? find_rvc_ca(bits) : find_rvc_cb(bits);
    case 0x8002:
        if (bits & 0x7c)
            return bits & 0x1000 ? TL_RVC_c_add : TL_RVC_c_mv;
        return !(bits & 0x1000) ? TL_RVC_c_jr : bits & 0xf80 ? TL_RVC_c_jalr : TL_RVC_c_ebreak;
    default: return find_rvc_common(bits);
    }
}

void tl_decode(uint32_t bits, tl_decoded *ret_insn) {
    if ((bits & 3) == 3) {
        decode_full(bits, ret_insn);
        return;
    }
    bits &= 0xffff;
    tl_decoded insn = {.opc = TL_OPC_ILLEGAL, .len = 2, .raw = bits};
    uint32_t rvc = find_rvc(bits);
    if (rvc != TL_N_RVCS && extract_rvc(bits, (tl_rvc_format)rvc_formats[rvc], &insn)) {
        insn.opc = tl_rvc_rows[rvc].expands;
        insn.rvc = (uint16_t)(rvc + 1);
    } else {
        insn = (tl_decoded){.opc = TL_OPC_ILLEGAL, .len = 2, .raw = bits};
    }
    *ret_insn = insn;
}
