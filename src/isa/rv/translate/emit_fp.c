// SPDX-License-Identifier: MIT
// Floating point: what the host does alike; the rest calls the C body.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"

// Host rounding is the guest's when frm is RNE and the instruction says RNE or dynamic; other modes take the body.
static bool is_plain_rounding(const tl_op *op) { return op->imm == 0 || op->imm == 7; }

static void emit_fp_arithmetic(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, uint32_t opcode) {
    x86 *e = &t->e;
    uint32_t prefix = is_double ? 0xf20f00 : 0xf30f00;
    x86_rm(e, false, 0x80, 7, TL_HART(frm)); // cmp byte frm, 0
    x86_byte(e, 0);
    uint8_t *slow[3] = {x86_jcc(e, CC_NE)};
    uint32_t n_slow = 1;
    if (!is_double) { // both boxed, else the body
        x86_mem box1 = tl_guest_f(op->rs1), box2 = tl_guest_f(op->rs2);
        box1.disp += 4;
        box2.disp += 4;
        x86_rm(e, false, 0x8b, RAX, box1);
        x86_rm(e, false, 0x23, RAX, box2);
        x86_op_ri(e, false, X_CMP, RAX, -1);
        slow[n_slow++] = x86_jcc(e, CC_NE);
    }
    x86_rm(e, false, prefix | 0x10, 0, tl_guest_f(op->rs1));
    x86_rm(e, false, prefix | opcode, 0, tl_guest_f(op->rs2));
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0); // ucomis: not a number?
    if (is_double) {
        x86_rr(e, true, 0x660f7e, 0, RAX); // movq rax, xmm0
        x86_mov_ri(e, RDX, UINT64_C(0x7ff8000000000000));
        x86_rr(e, true, 0x0f40 | CC_P, RAX, RDX);
        x86_rm(e, true, 0x89, RAX, tl_guest_f(op->rd));
    } else {
        x86_rr(e, false, 0x660f7e, 0, RAX); // movd eax, xmm0
        x86_mov_ri(e, RDX, 0x7fc00000);
        x86_rr(e, false, 0x0f40 | CC_P, RAX, RDX);
        x86_mem to = tl_guest_f(op->rd);
        x86_rm(e, false, 0x89, RAX, to);
        to.disp += 4;
        x86_rm(e, false, 0xc7, 0, to);
        x86_u32(e, UINT32_MAX);
    }
    tl_emit_slow(t, k, slow, n_slow);
}

// rs1 * rs2 + rs3 in its four signs, when the host has FMA3. Not-a-number results take the body, whose rules for inf * 0 differ.
static void emit_fma(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, unsigned opcode) {
    x86 *e = &t->e;
    uint32_t prefix = is_double ? 0xf20f00 : 0xf30f00;
    unsigned rs3 = (unsigned)op->imm & 31;
    x86_rm(e, false, 0x80, 7, TL_HART(frm)); // cmp byte frm, 0
    x86_byte(e, 0);
    uint8_t *slow[3] = {x86_jcc(e, CC_NE)};
    uint32_t n_slow = 1;
    if (!is_double) {
        x86_mem box[3] = {tl_guest_f(op->rs1), tl_guest_f(op->rs2), tl_guest_f(rs3)};
        for (int i = 0; i < 3; i++) {
            box[i].disp += 4;
            x86_rm(e, false, i == 0 ? 0x8b : 0x23, RAX, box[i]);
        }
        x86_op_ri(e, false, X_CMP, RAX, -1);
        slow[n_slow++] = x86_jcc(e, CC_NE);
    }
    x86_rm(e, false, prefix | 0x10, 0, tl_guest_f(op->rs1));
    x86_rm(e, false, prefix | 0x10, 1, tl_guest_f(op->rs2));
    x86_mem m = tl_guest_f(rs3);
    x86_byte(e, 0xc4); // VEX, 0f38 map, prefix 66, first tl_copy_source xmm1
    x86_byte(e, 0xe2);
    x86_byte(e, is_double ? 0xf1 : 0x71);
    x86_byte(e, opcode);
    x86_byte(e, 0x80 | RBX); // xmm0, [rbx + disp32]
    x86_u32(e, (uint32_t)m.disp);
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0);
    slow[n_slow++] = x86_jcc(e, CC_P);
    x86_mem to = tl_guest_f(op->rd);
    x86_rm(e, false, prefix | 0x11, 0, to);
    if (!is_double) {
        to.disp += 4;
        x86_rm(e, false, 0xc7, 0, to);
        x86_u32(e, UINT32_MAX);
    }
    tl_emit_slow(t, k, slow, n_slow);
}

static bool emit_fma_of(tl_translator *t, uint32_t k, const tl_op *op) {
    int32_t rm = op->imm >> 8;
    if (!t->has_fma || (rm != 0 && rm != 7))
        return false;
    switch (t->block->opc[k]) {
    case TL_OPC_fmadd_d: emit_fma(t, k, op, true, 0xa9); return true;
    case TL_OPC_fmsub_d: emit_fma(t, k, op, true, 0xab); return true;
    case TL_OPC_fnmsub_d: emit_fma(t, k, op, true, 0xad); return true; // -(a * b) + c is the host's fnmadd
    case TL_OPC_fnmadd_d: emit_fma(t, k, op, true, 0xaf); return true;
    case TL_OPC_fmadd_s: emit_fma(t, k, op, false, 0xa9); return true;
    case TL_OPC_fmsub_s: emit_fma(t, k, op, false, 0xab); return true;
    case TL_OPC_fnmsub_s: emit_fma(t, k, op, false, 0xad); return true;
    case TL_OPC_fnmadd_s: emit_fma(t, k, op, false, 0xaf); return true;
    default: return false;
    }
}

static void emit_fp_move_double(tl_translator *t, const tl_op *op) { // fsgnj.d f, a, a
    x86_rm(&t->e, true, 0x8b, RAX, tl_guest_f(op->rs1));
    x86_rm(&t->e, true, 0x89, RAX, tl_guest_f(op->rd));
}

bool tl_emit_fp(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    switch (t->block->opc[k]) {
    case TL_OPC_fadd_d:
    case TL_OPC_fsub_d:
    case TL_OPC_fmul_d:
    case TL_OPC_fdiv_d:
    case TL_OPC_fadd_s:
    case TL_OPC_fsub_s:
    case TL_OPC_fmul_s:
    case TL_OPC_fdiv_s:
        if (is_plain_rounding(op)) {
            uint16_t opc = t->block->opc[k];
            bool is_double = opc == TL_OPC_fadd_d || opc == TL_OPC_fsub_d || opc == TL_OPC_fmul_d || opc == TL_OPC_fdiv_d;
            bool is_add = opc == TL_OPC_fadd_d || opc == TL_OPC_fadd_s, is_sub = opc == TL_OPC_fsub_d || opc == TL_OPC_fsub_s;
            bool is_mul = opc == TL_OPC_fmul_d || opc == TL_OPC_fmul_s;
            emit_fp_arithmetic(t, k, op, is_double, is_add ? 0x58 : is_sub ? 0x5c : is_mul ? 0x59 : 0x5e);
            return true;
        }
        return false;
    case TL_OPC_fsgnj_d:
        if (op->rs1 == op->rs2) {
            emit_fp_move_double(t, op);
            return true;
        }
        return false;
    case TL_OPC_fmadd_d:
    case TL_OPC_fmsub_d:
    case TL_OPC_fnmsub_d:
    case TL_OPC_fnmadd_d:
    case TL_OPC_fmadd_s:
    case TL_OPC_fmsub_s:
    case TL_OPC_fnmsub_s:
    case TL_OPC_fnmadd_s:
        if (emit_fma_of(t, k, op))
            return true;
        return false;
    default: return false;
    }
}

#endif
