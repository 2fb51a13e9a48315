// SPDX-License-Identifier: MIT
// Floating point. Operations that the host does alike have templates; others call the C body.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/fp_soft.h"
#include "isa/rv/translate/translator.h"

// The host rounds as the guest when frm is RNE and the instruction says RNE or dynamic. Other modes
// call the body.
static bool is_plain_rounding(int32_t rm) { return rm == TL_RNE || rm == TL_RM_DYN; }

typedef struct slow { // jumps to the full body
    uint8_t *from[4];
    uint32_t n;
} slow;

static void check_rounding(tl_translator *t, slow *s) {
    x86_cmp8_mi(&t->e, TL_RV_HART(frm), 0);
    s->from[s->n++] = x86_jcc(&t->e, CC_NE);
}

// Jumps to the body unless the single is NaN-boxed. Spends rax.
static void check_boxes(tl_translator *t, slow *s, unsigned a, unsigned b) {
    x86_mem box_a = tl_guest_f(a), box_b = tl_guest_f(b);
    box_a.disp += 4;
    box_b.disp += 4;
    if (a == b) {
        x86_cmp32_mi(&t->e, box_a, -1);
    } else {
        x86_load32(&t->e, RAX, box_a);
        x86_and32_rm(&t->e, RAX, box_b);
        x86_cmp32_ri(&t->e, RAX, -1);
    }
    s->from[s->n++] = x86_jcc(&t->e, CC_NE);
}

// Guest rd = xmm0. Singles are stored in one piece, so that eight bytes can be loaded again without
// a wait.
static void set_from_xmm0(tl_translator *t, unsigned rd, bool is_double) {
    x86 *e = &t->e;
    if (is_double) {
        x86_fp_store(e, true, tl_guest_f(rd), XMM0);
        return;
    }
    x86_movd_rr(e, RAX, XMM0);
    x86_mov_ri(e, RDX, UINT64_C(0xffffffff00000000));
    x86_or_rr(e, RAX, RDX);
    x86_store(e, tl_guest_f(rd), RAX);
}

// Guest rd = xmm0, or the canonical NaN when xmm0 is a NaN.
static void set_result(tl_translator *t, unsigned rd, bool is_double) {
    x86 *e = &t->e;
    x86_ucomis_rr(e, is_double, XMM0, XMM0);
    uint8_t *is_nan = x86_jcc(e, CC_P);
    set_from_xmm0(t, rd, is_double);
    const uint8_t *resume = e->at;
    tl_emit_elsewhere(t);
    x86_patch(is_nan, e->at);
    x86_mov_ri(e, RAX, is_double ? UINT64_C(0x7ff8000000000000) : UINT64_C(0xffffffff7fc00000));
    x86_store(e, tl_guest_f(rd), RAX);
    x86_jmp_to(e, resume);
    tl_emit_elsewhere(t);
}

static bool emit_arithmetic(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, int x_op) {
    slow s = {.n = 0};
    if (!is_plain_rounding(op->imm))
        return false;
    check_rounding(t, &s);
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs2);
    x86_fp_load(&t->e, is_double, XMM0, tl_guest_f(op->rs1));
    x86_fp_op_rm(&t->e, is_double, x_op, XMM0, tl_guest_f(op->rs2));
    set_result(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

static bool emit_sqrt(tl_translator *t, uint32_t k, const tl_op *op, bool is_double) {
    slow s = {.n = 0};
    if (!is_plain_rounding(op->imm))
        return false;
    check_rounding(t, &s);
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs1);
    x86_fp_load(&t->e, is_double, XMM0, tl_guest_f(op->rs1));
    x86_fp_sqrt_rr(&t->e, is_double, XMM0, XMM0);
    set_result(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

typedef enum comparison { EQUAL, LESS, LESS_OR_EQUAL } comparison;

// Equality is quiet, order is not: ucomis and comis. Neither holds when one is not a number: carry
// and parity are set then.
static void emit_compare(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, comparison how) {
    x86 *e = &t->e;
    slow s = {.n = 0};
    if (!is_double)
        check_boxes(t, &s, op->rs1, op->rs2);
    x86_fp_load(e, is_double, XMM0, tl_guest_f(op->rs2));
    if (how == EQUAL) // rs2 against rs1
        x86_ucomis_rm(e, is_double, XMM0, tl_guest_f(op->rs1));
    else
        x86_comis_rm(e, is_double, XMM0, tl_guest_f(op->rs1));
    x86_set_r(e, how == EQUAL ? CC_E : how == LESS ? CC_A : CC_AE, RAX);
    if (how == EQUAL) {
        x86_set_r(e, CC_NP, RDX);
        x86_and8_rr(e, RAX, RDX);
    }
    int to = tl_reg_target(op->rd);
    x86_zext8_rr(e, to, RAX);
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
    x86_load(e, RAX, tl_guest_f(op->rs1));
    if (op->rs1 == op->rs2) { // move, negate, magnitude
        if (how == SIGN_NOT)
            x86_btc_ri(e, RAX, bit);
        else if (how == SIGN_XOR)
            x86_btr_ri(e, RAX, bit);
    } else {
        x86_load(e, RDX, tl_guest_f(op->rs2));
        if (how != SIGN_XOR)
            x86_btr_ri(e, RAX, bit);
        if (how == SIGN_NOT)
            x86_not_r(e, RDX);
        x86_shift_ri(e, is_double, X_SHR, RDX, bit);
        x86_shift_ri(e, is_double, X_SHL, RDX, bit);
        x86_op_rr(e, true, how == SIGN_XOR ? X_XOR : X_OR, RAX, RDX);
    }
    x86_store(e, tl_guest_f(op->rd), RAX);
    tl_emit_slow(t, k, s.from, s.n);
}

// Converts from an integer. An exact result is right in any rounding mode of the host.
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
        x86_zext32_rr(e, RAX, RAX);
    x86_xorps_rr(e, XMM0, XMM0); // the conversion keeps the upper part
    x86_fp_from_int_rr(e, is_double, is_long || is_unsigned, XMM0, RAX);
    set_from_xmm0(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

// Converts to a signed integer. Out of range, the host returns the least integer ("indefinite") and
// raises invalid as the guest does.
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
    x86_fp_to_int_rm(e, is_double, is_long, truncates, RAX, tl_guest_f(op->rs1));
    x86_op_ri(e, is_long, X_CMP, RAX, 1);
    s.from[s.n++] = x86_jcc(e, CC_O);
    int to = tl_reg_target(op->rd);
    if (is_long)
        x86_mov_rr(e, to, RAX);
    else
        x86_sext32_rr(e, to, RAX);
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
    x86_xorps_rr(&t->e, XMM0, XMM0);
    x86_fp_convert_rm(&t->e, !to_double, XMM0, tl_guest_f(op->rs1));
    set_result(t, op->rd, to_double);
    tl_emit_slow(t, k, s.from, s.n);
    return true;
}

static void emit_move(tl_translator *t, uint16_t opc, const tl_op *op) { // between the two files
    x86 *e = &t->e;
    int to = tl_reg_target(op->rd);
    switch (opc) {
    case TL_OPC_fmv_x_d:
        x86_load(e, to, tl_guest_f(op->rs1));
        tl_reg_set(t, op->rd, to);
        return;
    case TL_OPC_fmv_x_w:
        x86_load_s32(e, to, tl_guest_f(op->rs1));
        tl_reg_set(t, op->rd, to);
        return;
    default:
        tl_reg_load(t, RAX, op->rs1);
        if (opc == TL_OPC_fmv_w_x) {
            x86_mov_ri(e, RDX, UINT64_C(0xffffffff00000000));
            x86_zext32_rr(e, RAX, RAX);
            x86_or_rr(e, RAX, RDX);
        }
        x86_store(e, tl_guest_f(op->rd), RAX);
        return;
    }
}

// rs1 * rs2 + rs3 in its four signs, when the host has FMA3. A NaN result calls the body, because
// RISC-V has other rules for inf * 0.
static void emit_fma(tl_translator *t, uint32_t k, const tl_op *op, bool is_double, int x_op) {
    x86 *e = &t->e;
    unsigned rs3 = (unsigned)op->imm & 31;
    slow s = {.n = 0};
    check_rounding(t, &s);
    if (!is_double) {
        check_boxes(t, &s, op->rs1, op->rs2);
        check_boxes(t, &s, rs3, rs3);
    }
    x86_fp_load(e, is_double, XMM0, tl_guest_f(op->rs1));
    x86_fp_load(e, is_double, XMM1, tl_guest_f(op->rs2));
    x86_fma_rm(e, is_double, x_op, XMM0, XMM1, tl_guest_f(rs3));
    x86_ucomis_rr(e, is_double, XMM0, XMM0);
    s.from[s.n++] = x86_jcc(e, CC_P);
    set_from_xmm0(t, op->rd, is_double);
    tl_emit_slow(t, k, s.from, s.n);
}

static bool emit_fma_of(tl_translator *t, uint32_t k, const tl_op *op) {
    if (!t->has_fma || !is_plain_rounding(op->imm >> 8))
        return false;
    switch (t->block->opc[k]) {
    case TL_OPC_fmadd_d: emit_fma(t, k, op, true, X_FMADD); return true;
    case TL_OPC_fmsub_d: emit_fma(t, k, op, true, X_FMSUB); return true;
    // The host's fnmadd is -(a * b) + c.
    case TL_OPC_fnmsub_d: emit_fma(t, k, op, true, X_FNMADD); return true;
    case TL_OPC_fnmadd_d: emit_fma(t, k, op, true, X_FNMSUB); return true;
    case TL_OPC_fmadd_s: emit_fma(t, k, op, false, X_FMADD); return true;
    case TL_OPC_fmsub_s: emit_fma(t, k, op, false, X_FMSUB); return true;
    case TL_OPC_fnmsub_s: emit_fma(t, k, op, false, X_FNMADD); return true;
    case TL_OPC_fnmadd_s: emit_fma(t, k, op, false, X_FNMSUB); return true;
    default: return false;
    }
}

bool tl_emit_fp(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    uint16_t opc = t->block->opc[k];
    switch (opc) {
    case TL_OPC_fadd_d: return emit_arithmetic(t, k, op, true, X_FP_ADD);
    case TL_OPC_fsub_d: return emit_arithmetic(t, k, op, true, X_FP_SUB);
    case TL_OPC_fmul_d: return emit_arithmetic(t, k, op, true, X_FP_MUL);
    case TL_OPC_fdiv_d: return emit_arithmetic(t, k, op, true, X_FP_DIV);
    case TL_OPC_fsqrt_d: return emit_sqrt(t, k, op, true);
    case TL_OPC_fadd_s: return emit_arithmetic(t, k, op, false, X_FP_ADD);
    case TL_OPC_fsub_s: return emit_arithmetic(t, k, op, false, X_FP_SUB);
    case TL_OPC_fmul_s: return emit_arithmetic(t, k, op, false, X_FP_MUL);
    case TL_OPC_fdiv_s: return emit_arithmetic(t, k, op, false, X_FP_DIV);
    case TL_OPC_fsqrt_s: return emit_sqrt(t, k, op, false);
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
