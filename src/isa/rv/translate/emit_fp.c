// SPDX-License-Identifier: MIT
// Floating point: what the host does alike; the rest calls the C body.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/fp_soft.h"
#include "isa/rv/translate/translator.h"

// Host rounding is the guest's when frm is RNE and the instruction says RNE or dynamic; other modes take the body.
static bool is_plain_rounding(int32_t rm) { return rm == TL_RNE || rm == TL_RM_DYN; }

typedef struct slow { // jumps to the full body
    uint8_t *from[4];
    uint32_t n;
} slow;

static void check_rounding(tl_translator *t, slow *s) {
    x86_rm(&t->e, false, 0x80, 7, TL_RV_HART(frm)); // cmp byte frm, 0
    x86_byte(&t->e, 0);
    s->from[s->n++] = x86_jcc(&t->e, CC_NE);
}

// Singles must be boxed, else the body knows what they are. Spends rax.
static void check_boxes(tl_translator *t, slow *s, unsigned a, unsigned b) {
    x86_mem box_a = tl_guest_f(a), box_b = tl_guest_f(b);
    box_a.disp += 4;
    box_b.disp += 4;
    if (a == b) {
        x86_op_mi(&t->e, false, X_CMP, box_a, -1);
    } else {
        x86_rm(&t->e, false, 0x8b, RAX, box_a);
        x86_rm(&t->e, false, 0x23, RAX, box_b);
        x86_op_ri(&t->e, false, X_CMP, RAX, -1);
    }
    s->from[s->n++] = x86_jcc(&t->e, CC_NE);
}

static uint32_t scalar(bool is_double) { return is_double ? 0xf20f00 : 0xf30f00; }

// Guest rd = xmm0. Singles are stored in one piece, so that eight bytes can be loaded again without a wait.
static void set_from_xmm0(tl_translator *t, unsigned rd, bool is_double) {
    x86 *e = &t->e;
    if (is_double) {
        x86_rm(e, false, 0xf20f11, 0, tl_guest_f(rd));
        return;
    }
    x86_rr(e, false, 0x660f7e, 0, RAX); // movd eax, xmm0
    x86_mov_ri(e, RDX, UINT64_C(0xffffffff00000000));
    x86_rr(e, true, 0x0b, RAX, RDX);
    x86_rm(e, true, 0x89, RAX, tl_guest_f(rd));
}

// The same for a result that may be not a number: the canonical one then.
static void set_result(tl_translator *t, unsigned rd, bool is_double) {
    x86 *e = &t->e;
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0); // ucomis
    uint8_t *is_nan = x86_jcc(e, CC_P);
    set_from_xmm0(t, rd, is_double);
    const uint8_t *resume = e->at;
    tl_emit_elsewhere(t);
    x86_patch(is_nan, e->at);
    x86_mov_ri(e, RAX, is_double ? UINT64_C(0x7ff8000000000000) : UINT64_C(0xffffffff7fc00000));
    x86_rm(e, true, 0x89, RAX, tl_guest_f(rd));
    x86_jmp_to(e, resume);
    tl_emit_elsewhere(t);
}

static void emit_arithmetic(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, uint32_t opcode) {
    slow s = {.n = 0};
    check_rounding(t, &s);
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs2);
    x86_rm(&t->e, false, scalar(is_double) | 0x10, 0, tl_guest_f(op->rs1));
    x86_rm(&t->e, false, scalar(is_double) | opcode, 0, tl_guest_f(op->rs2));
    set_result(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
}

static void emit_sqrt(tl_translator *t, uint32_t k, const tl_op *op, bool is_double) {
    slow s = {.n = 0};
    check_rounding(t, &s);
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs1);
    x86_rm(&t->e, false, scalar(is_double) | 0x10, 0, tl_guest_f(op->rs1));
    x86_rr(&t->e, false, scalar(is_double) | 0x51, 0, 0);
    set_result(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
}

typedef enum comparison { EQUAL, LESS, LESS_OR_EQUAL } comparison;

// Equality is quiet, order is not: ucomis and comis. Neither holds when one is not a number: carry and parity are set then.
static void emit_compare(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, comparison how) {
    x86 *e = &t->e;
    slow s = {.n = 0};
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs2);
    x86_rm(e, false, scalar(is_double) | 0x10, 0, tl_guest_f(op->rs2));
    x86_rm(e, false, (is_double ? 0x660f00u : 0x0f00u) | (how == EQUAL ? 0x2eu : 0x2fu), 0, tl_guest_f(op->rs1)); // rs2 against rs1
    x86_set(e, how == EQUAL ? CC_E : how == LESS ? CC_A : CC_AE, RAX);
    if (how == EQUAL) {
        x86_set(e, CC_NP, RDX);
        x86_rr_byte(e, false, 0x22, RAX, RDX, true); // and al, dl
    }
    int to = tl_reg_target(op->rd);
    x86_rr(e, false, 0x0fb6, to, RAX);
    tl_reg_set(t, op->rd, to);
    tl_emit_slow(t, k, s.from, s.n);
}

// fsgnj, fsgnjn, fsgnjx: the sign of rs2, its opposite, or both signs against each other.
typedef enum sign { SIGN_OF, SIGN_NOT, SIGN_XOR } sign;
static void emit_sign(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, sign how) {
    x86 *e = &t->e;
    slow s = {.n = 0};
    unsigned bit = is_double ? 63 : 31;
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs2);
    x86_rm(e, true, 0x8b, RAX, tl_guest_f(op->rs1));
    if (op->rs1 == op->rs2) { // move, negate, magnitude
        if (how != SIGN_OF) {
            x86_rr(e, true, 0x0fba, how == SIGN_NOT ? 7 : 6, RAX); // btc, btr
            x86_byte(e, bit);
        }
    } else {
        x86_rm(e, true, 0x8b, RDX, tl_guest_f(op->rs2));
        if (how != SIGN_XOR) {
            x86_rr(e, true, 0x0fba, 6, RAX);
            x86_byte(e, bit);
        }
        if (how == SIGN_NOT)
            x86_rr(e, true, 0xf7, 2, RDX); // not
        x86_shift_i(e, is_double, X_SHR, RDX, bit);
        x86_shift_i(e, is_double, X_SHL, RDX, bit);
        x86_op_rr(e, true, how == SIGN_XOR ? X_XOR : X_OR, RAX, RDX);
    }
    x86_rm(e, true, 0x89, RAX, tl_guest_f(op->rd));
    tl_emit_slow(t, k, s.from, s.n);
}

// From an integer. An exact result does not care how the host rounds.
static bool emit_from_int(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, bool is_long, bool is_unsigned) {
    x86 *e = &t->e;
    slow s = {.n = 0};
    bool is_exact = is_double && !is_long;
    if (!is_plain_rounding(op->imm) && !(is_exact && op->imm <= TL_RMM))
        return false;
    if (!is_exact || op->imm == TL_RM_DYN)
        check_rounding(t, &s);
    tl_reg_load(t, RAX, op->rs1);
    if (is_unsigned)
        x86_rr(e, false, 0x8b, RAX, RAX);
    x86_rr(e, false, 0x0f57, 0, 0); // xorps: the conversion keeps the upper part
    x86_rr(e, is_long || is_unsigned, scalar(is_double) | 0x2a, 0, RAX);
    set_from_xmm0(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

// To a signed integer. The host says "indefinite", the least integer, where it cannot, and raises invalid as the guest would.
static bool emit_to_int(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, bool is_long) {
    x86 *e = &t->e;
    slow s = {.n = 0};
    bool truncates = op->imm == TL_RTZ;
    if (!truncates && !is_plain_rounding(op->imm))
        return false;
    if (!truncates)
        check_rounding(t, &s);
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs1);
    x86_rm(e, is_long, scalar(is_double) | (truncates ? 0x2cu : 0x2du), RAX, tl_guest_f(op->rs1));
    x86_op_ri(e, is_long, X_CMP, RAX, 1);
    s.from[s.n++] = x86_jcc(e, CC_O);
    int to = tl_reg_target(op->rd);
    x86_rr(e, true, is_long ? 0x8b : 0x63, to, RAX);
    tl_reg_set(t, op->rd, to);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

static bool emit_between(tl_translator *t, uint32_t k, const tl_op *op, bool to_double) {
    slow s = {.n = 0};
    if (!is_plain_rounding(op->imm) && !(to_double && op->imm <= TL_RMM)) // widening is exact
        return false;
    if (!to_double || op->imm == TL_RM_DYN)
        check_rounding(t, &s);
    if (to_double)
        check_boxes(t, &s, op->rs1, op->rs1);
    x86_rr(&t->e, false, 0x0f57, 0, 0);
    x86_rm(&t->e, false, scalar(!to_double) | 0x5a, 0, tl_guest_f(op->rs1));
    set_result(t, op->rd, to_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

static void emit_move(tl_translator *t, uint16_t opc, const tl_op *op) { // between the two files
    x86 *e = &t->e;
    int to = tl_reg_target(op->rd);
    switch (opc) {
    case TL_OPC_fmv_x_d:
    case TL_OPC_fmv_x_w:
        x86_rm(e, true, opc == TL_OPC_fmv_x_d ? 0x8b : 0x63, to, tl_guest_f(op->rs1));
        tl_reg_set(t, op->rd, to);
        return;
    default:
        tl_reg_load(t, RAX, op->rs1);
        if (opc == TL_OPC_fmv_w_x) {
            x86_mov_ri(e, RDX, UINT64_C(0xffffffff00000000));
            x86_rr(e, false, 0x8b, RAX, RAX);
            x86_rr(e, true, 0x0b, RAX, RDX);
        }
        x86_rm(e, true, 0x89, RAX, tl_guest_f(op->rd));
        return;
    }
}

// rs1 * rs2 + rs3 in its four signs, when the host has FMA3. Not-a-number results take the body, whose rules for inf * 0 differ.
static void emit_fma(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, unsigned opcode) {
    x86 *e = &t->e;
    unsigned rs3 = (unsigned)op->imm & 31;
    slow s = {.n = 0};
    check_rounding(t, &s);
    if (!is_double) {
        check_boxes(t, &s, op->rs1, op->rs2);
        check_boxes(t, &s, rs3, rs3);
    }
    x86_rm(e, false, scalar(is_double) | 0x10, 0, tl_guest_f(op->rs1));
    x86_rm(e, false, scalar(is_double) | 0x10, 1, tl_guest_f(op->rs2));
    x86_byte(e, 0xc4); // VEX, 0f38 map, prefix 66, first source xmm1
    x86_byte(e, 0xe2);
    x86_byte(e, is_double ? 0xf1 : 0x71);
    x86_byte(e, opcode);
    x86_byte(e, 0x80 | RBX); // xmm0, [rbx + disp32]
    x86_u32(e, (uint32_t)tl_guest_f(rs3).disp);
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0);
    s.from[s.n++] = x86_jcc(e, CC_P);
    set_from_xmm0(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
}

static bool emit_fma_of(tl_translator *t, uint32_t k, const tl_op *op) {
    if (!t->has_fma || !is_plain_rounding(op->imm >> 8))
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

// The arithmetic of one width; opcodes are the host's.
static bool emit_rounded(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, uint32_t opcode) {
    if (!is_plain_rounding(op->imm))
        return false;
    if (opcode == 0x51)
        emit_sqrt(t, k, op, is_double);
    else
        emit_arithmetic(t, k, op, is_double, opcode);
    return true;
}

bool tl_emit_fp(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    uint16_t opc = t->block->opc[k];
    switch (opc) {
    case TL_OPC_fadd_d: return emit_rounded(t, k, op, true, 0x58);
    case TL_OPC_fsub_d: return emit_rounded(t, k, op, true, 0x5c);
    case TL_OPC_fmul_d: return emit_rounded(t, k, op, true, 0x59);
    case TL_OPC_fdiv_d: return emit_rounded(t, k, op, true, 0x5e);
    case TL_OPC_fsqrt_d: return emit_rounded(t, k, op, true, 0x51);
    case TL_OPC_fadd_s: return emit_rounded(t, k, op, false, 0x58);
    case TL_OPC_fsub_s: return emit_rounded(t, k, op, false, 0x5c);
    case TL_OPC_fmul_s: return emit_rounded(t, k, op, false, 0x59);
    case TL_OPC_fdiv_s: return emit_rounded(t, k, op, false, 0x5e);
    case TL_OPC_fsqrt_s: return emit_rounded(t, k, op, false, 0x51);
    case TL_OPC_feq_d: emit_compare(t, k, op, true, EQUAL); return true;
    case TL_OPC_flt_d: emit_compare(t, k, op, true, LESS); return true;
    case TL_OPC_fle_d: emit_compare(t, k, op, true, LESS_OR_EQUAL); return true;
    case TL_OPC_feq_s: emit_compare(t, k, op, false, EQUAL); return true;
    case TL_OPC_flt_s: emit_compare(t, k, op, false, LESS); return true;
    case TL_OPC_fle_s: emit_compare(t, k, op, false, LESS_OR_EQUAL); return true;
    case TL_OPC_fsgnj_d: emit_sign(t, k, op, true, SIGN_OF); return true;
    case TL_OPC_fsgnjn_d: emit_sign(t, k, op, true, SIGN_NOT); return true;
    case TL_OPC_fsgnjx_d: emit_sign(t, k, op, true, SIGN_XOR); return true;
    case TL_OPC_fsgnj_s: emit_sign(t, k, op, false, SIGN_OF); return true;
    case TL_OPC_fsgnjn_s: emit_sign(t, k, op, false, SIGN_NOT); return true;
    case TL_OPC_fsgnjx_s: emit_sign(t, k, op, false, SIGN_XOR); return true;
    case TL_OPC_fcvt_d_w: return emit_from_int(t, k, op, true, false, false);
    case TL_OPC_fcvt_d_wu: return emit_from_int(t, k, op, true, false, true);
    case TL_OPC_fcvt_d_l: return emit_from_int(t, k, op, true, true, false);
    case TL_OPC_fcvt_s_w: return emit_from_int(t, k, op, false, false, false);
    case TL_OPC_fcvt_s_wu: return emit_from_int(t, k, op, false, false, true);
    case TL_OPC_fcvt_s_l: return emit_from_int(t, k, op, false, true, false);
    case TL_OPC_fcvt_w_d: return emit_to_int(t, k, op, true, false);
    case TL_OPC_fcvt_l_d: return emit_to_int(t, k, op, true, true);
    case TL_OPC_fcvt_w_s: return emit_to_int(t, k, op, false, false);
    case TL_OPC_fcvt_l_s: return emit_to_int(t, k, op, false, true);
    case TL_OPC_fcvt_d_s: return emit_between(t, k, op, true);
    case TL_OPC_fcvt_s_d: return emit_between(t, k, op, false);
    case TL_OPC_fmv_x_d:
    case TL_OPC_fmv_x_w:
    case TL_OPC_fmv_d_x:
    case TL_OPC_fmv_w_x: emit_move(t, opc, op); return true;
    case TL_OPC_fmadd_d:
    case TL_OPC_fmsub_d:
    case TL_OPC_fnmsub_d:
    case TL_OPC_fnmadd_d:
    case TL_OPC_fmadd_s:
    case TL_OPC_fmsub_s:
    case TL_OPC_fnmsub_s:
    case TL_OPC_fnmadd_s: return emit_fma_of(t, k, op);
    default: return false;
    }
}

#endif
