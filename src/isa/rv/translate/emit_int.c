// SPDX-License-Identifier: MIT
// Integer computation: into rax, then to rd.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"

static void emit_alu(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    tl_copy_load(t, RAX, op->rs1);
    if (op->rs2 != 0)
        x86_op_rr(&t->e, !is_word, x_op, RAX, tl_copy_source(t, op->rs2, -1));
    else if (x_op == X_AND)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void emit_alu_i(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    if (op->rs1 == 0 && x_op == X_ADD) { // li
        int to = tl_copy_destination(t, op->rd);
        x86_mov_ri(&t->e, to, (uint64_t)(int64_t)op->imm);
        x86_rm(&t->e, true, 0x89, to, tl_guest_x(op->rd));
        return;
    }
    if (!is_word && x_op == X_ADD) {
        int from = tl_copy_source(t, op->rs1, -1), to = tl_copy_destination(t, op->rd);
        if (op->imm == 0)
            x86_mov_rr(&t->e, to, from);
        else if (to == from)
            x86_op_ri(&t->e, true, X_ADD, to, op->imm);
        else
            x86_rm(&t->e, true, 0x8d, to, at_base(from, op->imm));
        x86_rm(&t->e, true, 0x89, to, tl_guest_x(op->rd));
        return;
    }
    tl_copy_load(t, RAX, op->rs1);
    if (!(is_word && op->imm == 0))
        x86_op_ri(&t->e, !is_word, x_op, RAX, op->imm);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void emit_shift(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    tl_copy_load(t, RCX, op->rs2);
    tl_copy_load(t, RAX, op->rs1);
    x86_rr(&t->e, !is_word, 0xd3, x_op, RAX);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void emit_shift_i(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    tl_copy_load(t, RAX, op->rs1);
    if (op->imm != 0)
        x86_shift_i(&t->e, !is_word, x_op, RAX, (unsigned)op->imm);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void set_flag(tl_translator *t, const tl_op *op, int cc) {
    x86_head(&t->e, false, 0x0f90 | (unsigned)cc, 0, 0, RAX, true);
    x86_byte(&t->e, 0xc0 | RAX);
    x86_rr(&t->e, false, 0x0fb6, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void emit_mul(tl_translator *t, const tl_op *op, bool is_word) {
    tl_copy_load(t, RAX, op->rs1);
    if (op->rs2 == 0)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    else
        x86_rr(&t->e, !is_word, 0x0faf, RAX, tl_copy_source(t, op->rs2, -1));
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_copy_set(t, op->rd, RAX);
}

static void emit_mul_high(tl_translator *t, const tl_op *op, unsigned group) { // 4 mul, 5 imul: rdx:rax = rax * r
    tl_copy_load(t, RAX, op->rs1);
    tl_copy_load(t, RCX, op->rs2);
    x86_rr(&t->e, true, 0xf7, (int)group, RCX);
    tl_copy_set(t, op->rd, RDX);
}

bool tl_emit_int(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    x86 *e = &t->e;
    switch (t->block->opc[k]) {
    case TL_OPC_lui:
        if (op->rd < 32) {
            int to = tl_copy_destination(t, op->rd);
            x86_mov_ri(e, to, (uint64_t)(int64_t)op->imm);
            x86_rm(e, true, 0x89, to, tl_guest_x(op->rd));
        }
        return true;
    case TL_OPC_auipc:
        if (op->rd < 32) {
            int to = tl_copy_destination(t, op->rd);
            x86_mov_ri(e, to, t->block->pc + op->offset + (uint64_t)(int64_t)op->imm);
            x86_rm(e, true, 0x89, to, tl_guest_x(op->rd));
        }
        return true;
    case TL_OPC_addi: emit_alu_i(t, op, false, X_ADD); return true;
    case TL_OPC_addiw: emit_alu_i(t, op, true, X_ADD); return true;
    case TL_OPC_andi: emit_alu_i(t, op, false, X_AND); return true;
    case TL_OPC_ori: emit_alu_i(t, op, false, X_OR); return true;
    case TL_OPC_xori: emit_alu_i(t, op, false, X_XOR); return true;
    case TL_OPC_slti:
    case TL_OPC_sltiu:
        tl_copy_load(t, RAX, op->rs1);
        x86_op_ri(e, true, X_CMP, RAX, op->imm);
        set_flag(t, op, t->block->opc[k] == TL_OPC_slti ? CC_L : CC_B);
        return true;
    case TL_OPC_add: emit_alu(t, op, false, X_ADD); return true;
    case TL_OPC_sub: emit_alu(t, op, false, X_SUB); return true;
    case TL_OPC_and: emit_alu(t, op, false, X_AND); return true;
    case TL_OPC_or: emit_alu(t, op, false, X_OR); return true;
    case TL_OPC_xor: emit_alu(t, op, false, X_XOR); return true;
    case TL_OPC_addw: emit_alu(t, op, true, X_ADD); return true;
    case TL_OPC_subw: emit_alu(t, op, true, X_SUB); return true;
    case TL_OPC_slt:
        tl_emit_compare(t, op);
        set_flag(t, op, CC_L);
        return true;
    case TL_OPC_sltu:
        tl_emit_compare(t, op);
        set_flag(t, op, CC_B);
        return true;
    case TL_OPC_sll: emit_shift(t, op, false, X_SHL); return true;
    case TL_OPC_srl: emit_shift(t, op, false, X_SHR); return true;
    case TL_OPC_sra: emit_shift(t, op, false, X_SAR); return true;
    case TL_OPC_sllw: emit_shift(t, op, true, X_SHL); return true;
    case TL_OPC_srlw: emit_shift(t, op, true, X_SHR); return true;
    case TL_OPC_sraw: emit_shift(t, op, true, X_SAR); return true;
    case TL_OPC_slli: emit_shift_i(t, op, false, X_SHL); return true;
    case TL_OPC_srli: emit_shift_i(t, op, false, X_SHR); return true;
    case TL_OPC_srai: emit_shift_i(t, op, false, X_SAR); return true;
    case TL_OPC_slliw: emit_shift_i(t, op, true, X_SHL); return true;
    case TL_OPC_srliw: emit_shift_i(t, op, true, X_SHR); return true;
    case TL_OPC_sraiw: emit_shift_i(t, op, true, X_SAR); return true;
    case TL_OPC_mul: emit_mul(t, op, false); return true;
    case TL_OPC_mulw: emit_mul(t, op, true); return true;
    case TL_OPC_mulhu: emit_mul_high(t, op, 4); return true;
    case TL_OPC_mulh: emit_mul_high(t, op, 5); return true;
    default: return false;
    }
}

#endif
