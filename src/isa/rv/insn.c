// SPDX-License-Identifier: MIT
// Facts about one decoded instruction: registers for the scoreboard, ends of fetch runs, the
// executable form, and its static share of the tallies. All of them follow from the row: format,
// class and size.
#include "isa/rv/insn.h"

#include "model/bpred.h"
#include <string.h>

enum { FP_REGS = 32 }; // scoreboard number of f0

static uint8_t x_reg(uint8_t reg) { return reg == 0 ? TL_NO_REG : reg; }

void tl_insn_pipe(const tl_decoded *insn, tl_pipe_insn *ret_pipe) {
    const tl_insn_row *row = &tl_insn_rows[insn->opc];
    tl_pipe_insn pipe = {
        .cls = (tl_class)row->cls, .size_bytes = row->size_bytes, .src = {TL_NO_REG, TL_NO_REG, TL_NO_REG}, .dest = TL_NO_REG};
    for (const char *operand = tl_format_operands[row->format]; *operand != '\0'; operand++) {
        switch (*operand) {
        case 'd': pipe.dest = x_reg(insn->rd); break;
        case 's': pipe.src[0] = x_reg(insn->rs1); break;
        case 't': pipe.src[1] = x_reg(insn->rs2); break;
        case 'D': pipe.dest = (uint8_t)(insn->rd + FP_REGS); break;
        case 'S': pipe.src[0] = (uint8_t)(insn->rs1 + FP_REGS); break;
        case 'T': pipe.src[1] = (uint8_t)(insn->rs2 + FP_REGS); break;
        case 'R': pipe.src[2] = (uint8_t)(insn->rs3 + FP_REGS); break;
        default: break;
        }
    }
    *ret_pipe = pipe;
}

bool tl_insn_ends_run(const tl_decoded *insn) { return tl_class_ends_run((tl_class)tl_insn_rows[insn->opc].cls); }

bool tl_insn_is_private(const tl_decoded *insn) {
    return insn->opc != TL_OPC_ILLEGAL && tl_class_is_private((tl_class)tl_insn_rows[insn->opc].cls);
}

bool tl_insn_is_fp(const tl_decoded *insn) {
    return insn->opc != TL_OPC_ILLEGAL && strpbrk(tl_format_operands[tl_insn_rows[insn->opc].format], "DSTR") != NULL;
}

enum { SINK = 32 };

void tl_op_from_decoded(const tl_decoded *insn, tl_op *ret_op) {
    const uint8_t format = tl_insn_rows[insn->opc].format;
    tl_op op = *ret_op;
    op.imm = insn->imm;
    op.rd = insn->rd;
    op.rs1 = insn->rs1;
    op.rs2 = insn->rs2;
    switch ((tl_format)format) {
    case TL_FORMAT_FMA: op.imm = insn->rs3 | insn->rm << 8; break;
    case TL_FORMAT_FFFM:
    case TL_FORMAT_FFM:
    case TL_FORMAT_FXM:
    case TL_FORMAT_AMO:
    case TL_FORMAT_LR:
    case TL_FORMAT_XFM: op.imm = insn->rm; break;
    default: break;
    }
    if (tl_format_operands[format][0] == 'd' && op.rd == 0)
        op.rd = SINK;
    if (insn->opc == TL_OPC_ILLEGAL)
        op.imm = (int32_t)insn->raw;
    *ret_op = op;
}

uint32_t tl_insn_static(const tl_decoded *insn, tl_static_count ret_counts[TL_MAX_STATIC]) {
    const tl_insn_row *row = &tl_insn_rows[insn->opc];
    tl_static_list list = {.counts = ret_counts, .n = 0};
    if (insn->opc == TL_OPC_ILLEGAL)
        return 0; // never retires
    tl_static_add(&list, TL_S_HART_INSN_ALU + row->cls, 1u);
    tl_static_add(&list, TL_S_HART_CYC_ISSUE, 1);
    if (insn->len == 2)
        tl_static_add(&list, TL_S_HART_INSN_COMPRESSED, 1);
    switch ((tl_class)row->cls) {
    case TL_CLASS_LOAD:
    case TL_CLASS_FP_LOAD:
    case TL_CLASS_LR:
        tl_static_add(&list, TL_S_HART_LOAD_BYTES, row->size_bytes);
        tl_static_add(&list, TL_S_L1D_LOAD, 1);
        tl_static_add(&list, TL_S_DTLB_ACCESS, 1);
        break;
    case TL_CLASS_STORE:
    case TL_CLASS_FP_STORE:
        tl_static_add(&list, TL_S_HART_STORE_BYTES, row->size_bytes);
        tl_static_add(&list, TL_S_L1D_STORE, 1);
        tl_static_add(&list, TL_S_DTLB_ACCESS, 1);
        break;
    case TL_CLASS_AMO:
        tl_static_add(&list, TL_S_HART_LOAD_BYTES, row->size_bytes);
        tl_static_add(&list, TL_S_HART_STORE_BYTES, row->size_bytes);
        tl_static_add(&list, TL_S_L1D_LOAD, 1);
        tl_static_add(&list, TL_S_L1D_STORE, 1);
        tl_static_add(&list, TL_S_DTLB_ACCESS, 1);
        break;
    case TL_CLASS_SC: // whether it stores is known only then: mem/ counts that
        tl_static_add(&list, TL_S_DTLB_ACCESS, 1);
        break;
    case TL_CLASS_BRANCH: tl_static_add(&list, TL_S_BP_COND, 1); break;
    case TL_CLASS_JAL:
        tl_static_add(&list, TL_S_BP_DIRECT, 1);
        if (tl_is_link(insn->rd)) {
            tl_static_add(&list, TL_S_HART_CALL, 1);
            tl_static_add(&list, TL_S_BP_RAS_PUSH, 1);
        }
        break;
    case TL_CLASS_JALR:
        if (tl_jalr_is_return(insn->rd, insn->rs1)) {
            tl_static_add(&list, TL_S_HART_RETURN, 1);
            tl_static_add(&list, TL_S_BP_RETURN, 1);
            tl_static_add(&list, TL_S_BP_RAS_POP, 1);
        } else {
            tl_static_add(&list, TL_S_BP_INDIRECT, 1);
        }
        if (tl_is_link(insn->rd)) {
            tl_static_add(&list, TL_S_HART_CALL, 1);
            tl_static_add(&list, TL_S_BP_RAS_PUSH, 1);
        }
        break;
    case TL_CLASS_CSR: // CSRRS and CSRRC write only when rs1 (or the immediate) is not 0
        if (insn->rs1 != 0 || insn->opc == TL_OPC_csrrw || insn->opc == TL_OPC_csrrwi)
            tl_static_add(&list, TL_S_HART_FLUSH_CSR, 1);
        break;
    case TL_CLASS_FENCE_I: tl_static_add(&list, TL_S_HART_FLUSH_OTHER, 1); break;
    case TL_CLASS_SYSTEM:
        if (insn->opc != TL_OPC_wfi)
            tl_static_add(&list, TL_S_HART_FLUSH_OTHER, 1);
        break;
    default: break;
    }
    return list.n;
}
