// SPDX-License-Identifier: MIT
// Integer computation: in the home of rd where it has one, else in rax or in the hart itself.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"

static bool commutes(int x_op) { return x_op != X_SUB; }

static void emit_alu(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    unsigned a = op->rs1, b = op->rs2;
    uint32_t opcode = 0x03 + 8 * (unsigned)x_op;
    if (commutes(x_op) && b == op->rd) {
        b = a;
        a = op->rd;
    }
    int to = tl_reg_target(op->rd);
    if (b == op->rd && a != b) // rd = a - rd
        to = RAX;
    if (!is_word && a == op->rd && to == RAX && tl_reg_home(b) >= 0 && b != 0) { // in the hart
        x86_rm(&t->e, true, 0x01 + 8 * (unsigned)x_op, tl_reg_home(b), tl_guest_x(op->rd));
        return;
    }
    tl_reg_load(t, to, a);
    if (b != 0)
        tl_reg_op(t, !is_word, opcode, to, b);
    else if (x_op == X_AND)
        x86_rr(&t->e, false, 0x33, to, to);
    if (is_word)
        x86_rr(&t->e, true, 0x63, to, to);
    tl_reg_set(t, op->rd, to);
}

static void emit_alu_i(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    if (op->rs1 == 0 && x_op == X_ADD) { // li
        tl_reg_set_i(t, op->rd, (uint64_t)(int64_t)op->imm);
        return;
    }
    int to = tl_reg_target(op->rd), from = tl_reg_home(op->rs1);
    if (!is_word && op->rs1 == op->rd && to == RAX) { // in the hart
        x86_op_mi(&t->e, true, x_op, tl_guest_x(op->rd), op->imm);
        return;
    }
    if (is_word && op->imm == 0) { // sext.w
        tl_reg_op(t, true, 0x63, to, op->rs1);
        tl_reg_set(t, op->rd, to);
        return;
    }
    if (x_op == X_ADD && op->imm == 0 && from >= 0) { // mv
        tl_reg_set(t, op->rd, from);
        return;
    }
    if (x_op == X_ADD && from >= 0 && from != to) {
        x86_rm(&t->e, !is_word, 0x8d, to, at_base(from, op->imm));
    } else {
        tl_reg_load(t, to, op->rs1);
        if (op->imm != 0 || x_op == X_AND)
            x86_op_ri(&t->e, !is_word, x_op, to, op->imm);
    }
    if (is_word)
        x86_rr(&t->e, true, 0x63, to, to);
    tl_reg_set(t, op->rd, to);
}

// In rax, because the home of rd may hold the count.
static void emit_shift(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    tl_reg_load(t, RCX, op->rs2);
    tl_reg_load(t, RAX, op->rs1);
    x86_rr(&t->e, !is_word, 0xd3, x_op, RAX);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    tl_reg_set(t, op->rd, RAX);
}

static void emit_shift_i(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    int to = tl_reg_target(op->rd);
    tl_reg_load(t, to, op->rs1);
    if (op->imm != 0)
        x86_shift_i(&t->e, !is_word, x_op, to, (unsigned)op->imm);
    if (is_word)
        x86_rr(&t->e, true, 0x63, to, to);
    tl_reg_set(t, op->rd, to);
}

static void set_flag(tl_translator *t, const tl_op *op, int cc) {
    x86_head(&t->e, false, 0x0f90 | (unsigned)cc, 0, 0, RAX, true);
    x86_byte(&t->e, 0xc0 | RAX);
    int to = tl_reg_target(op->rd);
    x86_rr(&t->e, false, 0x0fb6, to, RAX);
    tl_reg_set(t, op->rd, to);
}

static void emit_mul(tl_translator *t, const tl_op *op, bool is_word) {
    if (op->rd >= 32)
        return;
    unsigned a = op->rs1, b = op->rs2;
    if (b == op->rd) {
        b = a;
        a = op->rd;
    }
    int to = tl_reg_target(op->rd);
    tl_reg_load(t, to, a);
    if (b == 0)
        x86_rr(&t->e, false, 0x33, to, to);
    else
        tl_reg_op(t, !is_word, 0x0faf, to, b);
    if (is_word)
        x86_rr(&t->e, true, 0x63, to, to);
    tl_reg_set(t, op->rd, to);
}

static void emit_mul_high(tl_translator *t, const tl_op *op, unsigned group) { // 4 mul, 5 imul: rdx:rax = rax * r
    tl_reg_load(t, RAX, op->rs1);
    tl_reg_load(t, RCX, op->rs2);
    x86_rr(&t->e, true, 0xf7, (int)group, RCX);
    tl_reg_set(t, op->rd, RDX);
}

bool tl_emit_int(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    x86 *e = &t->e;
    switch (t->block->opc[k]) {
    case TL_OPC_lui: tl_reg_set_i(t, op->rd, (uint64_t)(int64_t)op->imm); return true;
    case TL_OPC_auipc: tl_reg_set_i(t, op->rd, t->block->pc + op->offset + (uint64_t)(int64_t)op->imm); return true;
    case TL_OPC_addi: emit_alu_i(t, op, false, X_ADD); return true;
    case TL_OPC_addiw: emit_alu_i(t, op, true, X_ADD); return true;
    case TL_OPC_andi: emit_alu_i(t, op, false, X_AND); return true;
    case TL_OPC_ori: emit_alu_i(t, op, false, X_OR); return true;
    case TL_OPC_xori: emit_alu_i(t, op, false, X_XOR); return true;
    case TL_OPC_slti:
    case TL_OPC_sltiu:
        tl_reg_load(t, RAX, op->rs1);
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
