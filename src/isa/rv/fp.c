// SPDX-License-Identifier: MIT
// The host's floating-point environment, and everything that the host's arithmetic lacks. x86-64
// detects tininess after rounding as RISC-V does, so its flags are exact. Hosts that detect it
// before rounding (and all others) compute in integers only.
#include "isa/rv/fp_ops.h"

#if TL_FP_HOST
#include <immintrin.h>

enum { MXCSR_FLAGS = 0x3f, MXCSR_QUIET = 0x1f80, MXCSR_RC_SHIFT = 13 };

// Maps RNE, RTZ, RDN, RUP to RN, RZ, RD, RU. Other modes never reach the host's arithmetic.
static unsigned mxcsr_of(uint8_t frm) {
    static const uint8_t control[8] = {0, 3, 1, 2, 0, 0, 0, 0};
    return MXCSR_QUIET | (unsigned)control[frm & 7] << MXCSR_RC_SHIFT;
}

void tl_fp_harvest(tl_hart *h) {
    const unsigned csr = _mm_getcsr();
    if ((csr & MXCSR_FLAGS) == 0)
        return;
    // IE 0, ZE 2, OE 3, UE 4, PE 5 to NV 4, DZ 3, OF 2, UF 1, NX 0
    tl_rv(h)->fflags |= (uint8_t)((csr & 1) << 4 | (csr & 4) << 1 | (csr & 8) >> 1 | (csr & 16) >> 3 | (csr & 32) >> 5);
    _mm_setcsr(csr & ~(unsigned)MXCSR_FLAGS);
}

void tl_fp_enter(tl_hart *h, tl_fp_saved *ret_saved) {
    *ret_saved = (tl_fp_saved){.opaque = {_mm_getcsr()}};
    _mm_setcsr(mxcsr_of(tl_rv(h)->frm));
}

void tl_fp_leave(tl_hart *h, const tl_fp_saved *saved) {
    tl_fp_harvest(h);
    _mm_setcsr((unsigned)saved->opaque[0]);
}

void tl_fp_set_rounding(tl_hart *h, uint8_t frm) {
    tl_rv(h)->frm = frm;
    _mm_setcsr((_mm_getcsr() & MXCSR_FLAGS) | mxcsr_of(frm));
}

#else

void tl_fp_harvest(tl_hart *h) { (void)h; }
void tl_fp_enter(tl_hart *h, tl_fp_saved *ret_saved) {
    (void)h;
    *ret_saved = (tl_fp_saved){.opaque = {0}};
}
void tl_fp_leave(tl_hart *h, const tl_fp_saved *saved) {
    (void)h;
    (void)saved;
}
void tl_fp_set_rounding(tl_hart *h, uint8_t frm) { h->frm = frm; }

#endif

static uint64_t source(const tl_hart *h, tl_fp_format format, uint8_t reg) {
    return format == TL_FP_SINGLE ? tl_unbox(tl_rv(h)->f[reg]) : tl_rv(h)->f[reg];
}

static bool set(tl_hart *h, tl_fp_format format, uint8_t reg, uint64_t bits) {
    tl_rv(h)->f[reg] = format == TL_FP_SINGLE ? tl_box((uint32_t)bits) : bits;
    return true;
}

static uint64_t negate(tl_fp_format format, uint64_t bits) {
    return bits ^ (format == TL_FP_SINGLE ? UINT64_C(1) << 31 : UINT64_C(1) << 63);
}

// Returns the rounding mode of an instruction; beyond TL_RMM: it is illegal.
static uint32_t rounding_of(const tl_hart *h, const tl_op *op, const tl_insn_row *row) {
    uint32_t rm = TL_RNE;
    switch (row->format) {
    case TL_FORMAT_FMA: rm = (uint32_t)op->imm >> 8; break;
    case TL_FORMAT_FFFM:
    case TL_FORMAT_FFM:
    case TL_FORMAT_FXM:
    case TL_FORMAT_XFM: rm = (uint32_t)op->imm; break;
    default: break;
    }
    return rm == TL_RM_DYN ? tl_rv(h)->frm : rm;
}

bool tl_fp_slow(tl_hart *h, const tl_op *op, tl_opc opc) {
    const tl_insn_row *row = &tl_insn_rows[opc];
    const tl_fp_format format = row->size_bytes == 4 ? TL_FP_SINGLE : TL_FP_DOUBLE;
    const uint32_t rm = rounding_of(h, op, row);
    if (rm > TL_RMM)
        return tl_exec_illegal(h, op, opc);

    const tl_rm mode = (tl_rm)rm;
    uint8_t *flags = &tl_rv(h)->fflags;
    uint64_t a = 0, b = 0;
    if (row->format != TL_FORMAT_FXM) {
        a = source(h, format, op->rs1);
        b = source(h, format, op->rs2);
    }
    switch (opc) {
    case TL_OPC_fadd_s:
    case TL_OPC_fadd_d: return set(h, format, op->rd, tl_soft_add(format, a, b, mode, flags));
    case TL_OPC_fsub_s:
    case TL_OPC_fsub_d: return set(h, format, op->rd, tl_soft_sub(format, a, b, mode, flags));
    case TL_OPC_fmul_s:
    case TL_OPC_fmul_d: return set(h, format, op->rd, tl_soft_mul(format, a, b, mode, flags));
    case TL_OPC_fdiv_s:
    case TL_OPC_fdiv_d: return set(h, format, op->rd, tl_soft_div(format, a, b, mode, flags));
    case TL_OPC_fsqrt_s:
    case TL_OPC_fsqrt_d: return set(h, format, op->rd, tl_soft_sqrt(format, a, mode, flags));
    case TL_OPC_fmadd_s:
    case TL_OPC_fmadd_d:
    case TL_OPC_fmsub_s:
    case TL_OPC_fmsub_d:
    case TL_OPC_fnmsub_s:
    case TL_OPC_fnmsub_d:
    case TL_OPC_fnmadd_s:
    case TL_OPC_fnmadd_d: {
        const bool is_single = format == TL_FP_SINGLE;
        const bool negates_product =
            opc == (is_single ? TL_OPC_fnmsub_s : TL_OPC_fnmsub_d) || opc == (is_single ? TL_OPC_fnmadd_s : TL_OPC_fnmadd_d);
        const bool negates_addend =
            opc == (is_single ? TL_OPC_fmsub_s : TL_OPC_fmsub_d) || opc == (is_single ? TL_OPC_fnmadd_s : TL_OPC_fnmadd_d);
        uint64_t c = source(h, format, (uint8_t)op->imm);
        a = negates_product ? negate(format, a) : a;
        c = negates_addend ? negate(format, c) : c;
        return set(h, format, op->rd, tl_soft_fma(format, a, b, c, mode, flags));
    }
    case TL_OPC_fcvt_s_d:
        return set(h, TL_FP_SINGLE, op->rd, tl_soft_convert(TL_FP_SINGLE, TL_FP_DOUBLE, tl_rv(h)->f[op->rs1], mode, flags));
    case TL_OPC_fcvt_d_s:
        return set(h, TL_FP_DOUBLE, op->rd, tl_soft_convert(TL_FP_DOUBLE, TL_FP_SINGLE, tl_unbox(tl_rv(h)->f[op->rs1]), mode, flags));
    case TL_OPC_fcvt_w_s:
    case TL_OPC_fcvt_w_d: tl_rv(h)->x[op->rd] = tl_soft_to_int(TL_FP_W, format, a, mode, flags); return true;
    case TL_OPC_fcvt_wu_s:
    case TL_OPC_fcvt_wu_d: tl_rv(h)->x[op->rd] = tl_soft_to_int(TL_FP_WU, format, a, mode, flags); return true;
    case TL_OPC_fcvt_l_s:
    case TL_OPC_fcvt_l_d: tl_rv(h)->x[op->rd] = tl_soft_to_int(TL_FP_L, format, a, mode, flags); return true;
    case TL_OPC_fcvt_lu_s:
    case TL_OPC_fcvt_lu_d: tl_rv(h)->x[op->rd] = tl_soft_to_int(TL_FP_LU, format, a, mode, flags); return true;
    case TL_OPC_fcvt_s_w:
    case TL_OPC_fcvt_d_w: return set(h, format, op->rd, tl_soft_from_int(format, TL_FP_W, tl_rv(h)->x[op->rs1], mode, flags));
    case TL_OPC_fcvt_s_wu:
    case TL_OPC_fcvt_d_wu: return set(h, format, op->rd, tl_soft_from_int(format, TL_FP_WU, tl_rv(h)->x[op->rs1], mode, flags));
    case TL_OPC_fcvt_s_l:
    case TL_OPC_fcvt_d_l: return set(h, format, op->rd, tl_soft_from_int(format, TL_FP_L, tl_rv(h)->x[op->rs1], mode, flags));
    case TL_OPC_fcvt_s_lu:
    case TL_OPC_fcvt_d_lu: return set(h, format, op->rd, tl_soft_from_int(format, TL_FP_LU, tl_rv(h)->x[op->rs1], mode, flags));
    case TL_OPC_feq_s:
    case TL_OPC_feq_d: tl_rv(h)->x[op->rd] = tl_soft_eq(format, a, b, flags); return true;
    case TL_OPC_flt_s:
    case TL_OPC_flt_d: tl_rv(h)->x[op->rd] = tl_soft_lt(format, a, b, flags); return true;
    case TL_OPC_fle_s:
    case TL_OPC_fle_d: tl_rv(h)->x[op->rd] = tl_soft_le(format, a, b, flags); return true;
    default: return tl_exec_illegal(h, op, opc);
    }
}
