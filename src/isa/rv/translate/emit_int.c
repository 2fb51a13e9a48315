// SPDX-License-Identifier: MIT
// Integer computation: in the home of rd where it has one, else in rax or in the hart itself.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"

static bool commutes(int x_op) { return x_op != X_SUB; }

static void emit_alu(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    unsigned a = op->rs1, b = op->rs2;
    if (commutes(x_op) && b == op->rd) {
        b = a;
        a = op->rd;
    }
    int to = tl_reg_target(op->rd);
    if (b == op->rd && a != b) // rd = a - rd
        to = RAX;
    if (!is_word && a == op->rd && to == RAX && tl_reg_home(b) >= 0 && b != 0) { // in the hart
        x86_op_mr(&t->e, true, x_op, tl_guest_x(op->rd), tl_reg_home(b));
        return;
    }
    tl_reg_load(t, to, a);
    if (b != 0)
        tl_reg_op(t, !is_word, x_op, to, b);
    else if (x_op == X_AND)
        x86_zero_r(&t->e, to);
    if (is_word)
        x86_sext32_rr(&t->e, to, to);
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
        tl_reg_sext32(t, to, op->rs1);
        tl_reg_set(t, op->rd, to);
        return;
    }
    if (x_op == X_ADD && op->imm == 0 && from >= 0) { // mv
        tl_reg_set(t, op->rd, from);
        return;
    }
    if (x_op == X_ADD && from >= 0 && from != to && is_word) {
        x86_lea32(&t->e, to, at_base(from, op->imm));
    } else if (x_op == X_ADD && from >= 0 && from != to) {
        x86_lea(&t->e, to, at_base(from, op->imm));
    } else {
        tl_reg_load(t, to, op->rs1);
        if (op->imm != 0 || x_op == X_AND)
            x86_op_ri(&t->e, !is_word, x_op, to, op->imm);
    }
    if (is_word)
        x86_sext32_rr(&t->e, to, to);
    tl_reg_set(t, op->rd, to);
}

// Computes in rax, because the home of rd may hold the count.
static void emit_shift(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    tl_reg_load(t, RCX, op->rs2);
    tl_reg_load(t, RAX, op->rs1);
    x86_shift_by_cl(&t->e, !is_word, x_op, RAX);
    if (is_word)
        x86_sext32_rr(&t->e, RAX, RAX);
    tl_reg_set(t, op->rd, RAX);
}

static void emit_shift_i(tl_translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    int to = tl_reg_target(op->rd);
    tl_reg_load(t, to, op->rs1);
    if (op->imm != 0)
        x86_shift_ri(&t->e, !is_word, x_op, to, (unsigned)op->imm);
    if (is_word)
        x86_sext32_rr(&t->e, to, to);
    tl_reg_set(t, op->rd, to);
}

static void set_flag(tl_translator *t, const tl_op *op, int cc) {
    x86_set_r(&t->e, cc, RAX);
    int to = tl_reg_target(op->rd);
    x86_zext8_rr(&t->e, to, RAX);
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
        x86_zero_r(&t->e, to);
    else
        tl_reg_imul(t, !is_word, to, b);
    if (is_word)
        x86_sext32_rr(&t->e, to, to);
    tl_reg_set(t, op->rd, to);
}

static void emit_mul_high(tl_translator *t, const tl_op *op, bool is_signed) {
    tl_reg_load(t, RAX, op->rs1);
    tl_reg_load(t, RCX, op->rs2);
    x86_mul_high_r(&t->e, is_signed, RCX);
    tl_reg_set(t, op->rd, RDX);
}

// Division by 0 and by -1, which overflows, take the full body. Dividends and divisors below 2^32
// take the host's short division: it is several times as fast on many hosts.
static void emit_div(tl_translator *t, uint32_t k, const tl_op *op, bool is_word, bool is_signed, bool wants_rest) {
    x86 *e = &t->e;
    uint8_t *slow[2];
    uint32_t n = 0;
    tl_reg_load(t, RCX, op->rs2);
    tl_reg_load(t, RAX, op->rs1);
    x86_test_rr(e, !is_word, RCX, RCX);
    slow[n++] = x86_jcc(e, CC_E);
    if (is_signed) {
        x86_op_ri(e, !is_word, X_CMP, RCX, -1);
        slow[n++] = x86_jcc(e, CC_E);
    }
    uint8_t *done = NULL;
    if (!is_word) {
        x86_mov_rr(e, RDX, RAX);
        x86_or_rr(e, RDX, RCX);
        x86_shr_ri(e, RDX, 32);
        uint8_t *is_long = x86_jcc(e, CC_NE);
        x86_div_r(e, false, false, RCX); // edx is 0
        done = x86_jmp(e);
        x86_patch(is_long, e->at);
    }
    if (is_signed)
        x86_sign_of_rax(e, !is_word);
    else
        x86_zero_r(e, RDX);
    x86_div_r(e, !is_word, is_signed, RCX);
    if (done)
        x86_patch(done, e->at);
    int result = wants_rest ? RDX : RAX;
    if (is_word)
        x86_sext32_rr(e, result, result);
    tl_reg_set(t, op->rd, result);
    tl_emit_slow(t, k, slow, n);
}

// rd = rs2 + (rs1 << by), rs1 taken as a word or not.
static void emit_shift_add(tl_translator *t, const tl_op *op, int by, bool is_word) {
    tl_reg_load(t, RCX, op->rs1);
    if (is_word)
        x86_zext32_rr(&t->e, RCX, RCX);
    tl_reg_load(t, RAX, op->rs2);
    int to = tl_reg_target(op->rd);
    x86_lea(&t->e, to, at_index(RAX, RCX, by, 0));
    tl_reg_set(t, op->rd, to);
}

// Takes rs2 instead of rs1 when `rs1 cc rs2` holds.
static void emit_extremum(tl_translator *t, const tl_op *op, int cc) {
    tl_reg_load(t, RAX, op->rs1);
    tl_reg_load(t, RCX, op->rs2);
    x86_cmp_rr(&t->e, RAX, RCX);
    x86_cmov_rr(&t->e, cc, RAX, RCX);
    tl_reg_set(t, op->rd, RAX);
}

static void emit_complement(tl_translator *t, const tl_op *op, int x_op) { // andn, orn, xnor
    tl_reg_load(t, RAX, op->rs2);
    x86_not_r(&t->e, RAX);
    tl_reg_load(t, RCX, op->rs1);
    x86_op_rr(&t->e, true, x_op, RAX, RCX);
    tl_reg_set(t, op->rd, RAX);
}

static void emit_extend(tl_translator *t, const tl_op *op, void (*extend)(x86 *, int, int)) {
    tl_reg_load(t, RAX, op->rs1);
    extend(&t->e, RAX, RAX);
    tl_reg_set(t, op->rd, RAX);
}

// Templates for the Zba and Zbb instructions that compilers emit. Others call the C body.
static bool emit_bitmanip(tl_translator *t, const tl_op *op, uint16_t opc) {
    switch (opc) {
    case TL_OPC_sh1add: emit_shift_add(t, op, 1, false); return true;
    case TL_OPC_sh2add: emit_shift_add(t, op, 2, false); return true;
    case TL_OPC_sh3add: emit_shift_add(t, op, 3, false); return true;
    case TL_OPC_add_uw: emit_shift_add(t, op, 0, true); return true;
    case TL_OPC_sh1add_uw: emit_shift_add(t, op, 1, true); return true;
    case TL_OPC_sh2add_uw: emit_shift_add(t, op, 2, true); return true;
    case TL_OPC_sh3add_uw: emit_shift_add(t, op, 3, true); return true;
    case TL_OPC_andn: emit_complement(t, op, X_AND); return true;
    case TL_OPC_orn: emit_complement(t, op, X_OR); return true;
    case TL_OPC_xnor: emit_complement(t, op, X_XOR); return true;
    case TL_OPC_max: emit_extremum(t, op, CC_L); return true;
    case TL_OPC_maxu: emit_extremum(t, op, CC_B); return true;
    case TL_OPC_min: emit_extremum(t, op, CC_GE); return true;
    case TL_OPC_minu: emit_extremum(t, op, CC_AE); return true;
    case TL_OPC_sext_b: emit_extend(t, op, x86_sext8_rr); return true;
    case TL_OPC_sext_h: emit_extend(t, op, x86_sext16_rr); return true;
    case TL_OPC_zext_h: emit_extend(t, op, x86_zext16_rr); return true;
    default: return false;
    }
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
        x86_cmp_ri(e, RAX, op->imm);
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
    case TL_OPC_mulhu: emit_mul_high(t, op, false); return true;
    case TL_OPC_mulh: emit_mul_high(t, op, true); return true;
    case TL_OPC_div: emit_div(t, k, op, false, true, false); return true;
    case TL_OPC_divu: emit_div(t, k, op, false, false, false); return true;
    case TL_OPC_rem: emit_div(t, k, op, false, true, true); return true;
    case TL_OPC_remu: emit_div(t, k, op, false, false, true); return true;
    case TL_OPC_divw: emit_div(t, k, op, true, true, false); return true;
    case TL_OPC_divuw: emit_div(t, k, op, true, false, false); return true;
    case TL_OPC_remw: emit_div(t, k, op, true, true, true); return true;
    case TL_OPC_remuw: emit_div(t, k, op, true, false, true); return true;
    default: return emit_bitmanip(t, op, t->block->opc[k]);
    }
}

#endif
