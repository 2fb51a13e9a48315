// SPDX-License-Identifier: MIT
// The tables of bodies, full form.
#include "isa/rv/exec_all.h"

static bool exec_illegal(tl_hart *h, const tl_op *op, uint64_t pc) {
    (void)pc;
    return tl_trap(h, TL_CAUSE_ILLEGAL, (uint32_t)op->imm);
}

tl_exec_fn *const tl_exec_full[TL_N_OPCS] = {
    [TL_OPC_ILLEGAL] = exec_illegal,
#define INSN_BRANCH(id, ...) [TL_OPC_##id] = NULL,
#define INSN_JUMP(id, ...) [TL_OPC_##id] = NULL,
#define INSN(id, ...) [TL_OPC_##id] = exec_##id,
#include "isa/rv/insn_all.def"
#undef INSN
};

tl_taken_fn *const tl_taken[TL_N_OPCS] = {
#define INSN_BRANCH(id, ...) [TL_OPC_##id] = taken_##id,
#define INSN_JUMP(id, ...)
#define INSN(id, ...)
#include "isa/rv/insn_all.def"
#undef INSN
};

bool tl_exec_illegal(tl_hart *h, const tl_op *op, tl_opc opc) {
    const tl_insn_row *row = &tl_insn_rows[opc];
    const uint32_t rd = op->rd & 31u, rs1 = op->rs1, rs2 = op->rs2, imm = (uint32_t)op->imm;
    uint32_t raw = row->match;
    switch (row->format) { // only formats of instructions that can be illegal at run time
    case TL_FORMAT_FMA: raw |= rd << 7 | rs1 << 15 | rs2 << 20 | (imm >> 8) << 12 | (imm & 31) << 27; break;
    case TL_FORMAT_FFFM: raw |= rd << 7 | rs1 << 15 | rs2 << 20 | imm << 12; break;
    case TL_FORMAT_FFM:
    case TL_FORMAT_XFM:
    case TL_FORMAT_FXM: raw |= rd << 7 | rs1 << 15 | imm << 12; break;
    case TL_FORMAT_CSR:
    case TL_FORMAT_CSRI: raw |= rd << 7 | rs1 << 15 | imm << 20; break;
    case TL_FORMAT_SFENCE: raw |= rs1 << 15 | rs2 << 20; break;
    default: break;
    }
    return tl_trap(h, TL_CAUSE_ILLEGAL, raw);
}
