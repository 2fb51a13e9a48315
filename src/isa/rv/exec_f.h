// SPDX-License-Identifier: MIT
// Bodies of F. Host arithmetic where the host rounds as asked; otherwise integers (fp_soft.h).
#ifndef TL_ISA_RV_EXEC_F_H
#define TL_ISA_RV_EXEC_F_H

#include "isa/rv/exec_i.h"
#include "isa/rv/fp_ops.h"

EXEC(flw) {
    uint64_t value;
    if (TL_UNLIKELY(!tl_exec_read(h, RS1 + IMM, 4, &value)))
        return false;
    tl_rv(h)->f[op->rd] = tl_box((uint32_t)value);
    return true;
}
EXEC(fsw) { return tl_exec_write(h, RS1 + IMM, 4, tl_rv(h)->f[op->rs2]); }

// rm of FMA shares the immediate with rs3.
#define S_FMA_BODY(name, negates_product, negates_addend)                                                              \
    EXEC(name) {                                                                                                       \
        if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm >> 8) || !tl_host_has_fma()))                             \
            return TL_FP_SLOW(name);                                                                                   \
        const float a = tl_get_float(h, op->rs1), b = tl_get_float(h, op->rs2), c = tl_get_float(h, (uint8_t)op->imm); \
        const float result = tl_host_fmaf(negates_product ? -a : a, b, negates_addend ? -c : c);                       \
        if (TL_UNLIKELY(result != result))                                                                             \
            tl_fma_nan_float(h, a, b);                                                                                 \
        return tl_set_float(h, op->rd, result);                                                                        \
    }
// Infinity times zero is invalid even when the addend is a quiet NaN; hosts keep silent then.
TL_ALWAYS_INLINE void tl_fma_nan_float(tl_hart *h, float a, float b) {
    const uint32_t x = tl_float_bits(a) << 1, y = tl_float_bits(b) << 1, infinity = (uint32_t)0x7f800000 << 1;
    if ((x == infinity && y == 0) || (x == 0 && y == infinity))
        tl_rv(h)->fflags |= TL_FP_NV;
}
S_FMA_BODY(fmadd_s, false, false)
S_FMA_BODY(fmsub_s, false, true)
S_FMA_BODY(fnmsub_s, true, false)
S_FMA_BODY(fnmadd_s, true, true)

#define S_BINARY_BODY(name, operator)                                                               \
    EXEC(name) {                                                                                    \
        if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm)))                                     \
            return TL_FP_SLOW(name);                                                                \
        return tl_set_float(h, op->rd, tl_get_float(h, op->rs1) operator tl_get_float(h, op->rs2)); \
    }
S_BINARY_BODY(fadd_s, +)
S_BINARY_BODY(fsub_s, -)
S_BINARY_BODY(fmul_s, *)
S_BINARY_BODY(fdiv_s, /)

EXEC(fsqrt_s) {
    if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm)))
        return TL_FP_SLOW(fsqrt_s);
    return tl_set_float(h, op->rd, tl_host_sqrt_float(tl_get_float(h, op->rs1)));
}

#define S_SIGN ((uint32_t)1 << (8 * sizeof(uint32_t) - 1))
EXEC(fsgnj_s) {
    const uint32_t a = tl_unbox(tl_rv(h)->f[op->rs1]), b = tl_unbox(tl_rv(h)->f[op->rs2]);
    tl_rv(h)->f[op->rd] = tl_box((a & ~S_SIGN) | (b & S_SIGN));
    return true;
}
EXEC(fsgnjn_s) {
    const uint32_t a = tl_unbox(tl_rv(h)->f[op->rs1]), b = tl_unbox(tl_rv(h)->f[op->rs2]);
    tl_rv(h)->f[op->rd] = tl_box((a & ~S_SIGN) | (~b & S_SIGN));
    return true;
}
EXEC(fsgnjx_s) {
    const uint32_t a = tl_unbox(tl_rv(h)->f[op->rs1]), b = tl_unbox(tl_rv(h)->f[op->rs2]);
    tl_rv(h)->f[op->rd] = tl_box(a ^ (b & S_SIGN));
    return true;
}

// minimumNumber and maximumNumber: a NaN loses, -0 is less than +0.
TL_ALWAYS_INLINE uint32_t tl_pick_float(tl_hart *h, uint32_t a, uint32_t b, bool wants_less) {
    const bool a_is_nan = (uint32_t)(a << 1) > (uint32_t)0x7f800000 << 1, b_is_nan = (uint32_t)(b << 1) > (uint32_t)0x7f800000 << 1;
    if (TL_UNLIKELY(a_is_nan || b_is_nan)) {
        const uint32_t quiet = (uint32_t)1 << 22;
        if ((a_is_nan && !(a & quiet)) || (b_is_nan && !(b & quiet)))
            tl_rv(h)->fflags |= TL_FP_NV;
        return !a_is_nan ? a : !b_is_nan ? b : TL_NAN_SINGLE;
    }
    // Magnitudes below the sign become an order of integers when negative ones are turned over.
    const int32_t x = (int32_t)(a ^ ((a & S_SIGN) ? ~S_SIGN : 0)), y = (int32_t)(b ^ ((b & S_SIGN) ? ~S_SIGN : 0));
    return (x < y) == wants_less ? a : b;
}
EXEC(fmin_s) {
    tl_rv(h)->f[op->rd] = tl_box(tl_pick_float(h, tl_unbox(tl_rv(h)->f[op->rs1]), tl_unbox(tl_rv(h)->f[op->rs2]), true));
    return true;
}
EXEC(fmax_s) {
    tl_rv(h)->f[op->rd] = tl_box(tl_pick_float(h, tl_unbox(tl_rv(h)->f[op->rs1]), tl_unbox(tl_rv(h)->f[op->rs2]), false));
    return true;
}

#define S_COMPARE_BODY(name, operator)                                   \
    EXEC(name) {                                                         \
        if (!TL_FP_HOST)                                                 \
            return TL_FP_SLOW(name);                                     \
        RD = tl_get_float(h, op->rs1) operator tl_get_float(h, op->rs2); \
        return true;                                                     \
    }
S_COMPARE_BODY(feq_s, ==)
S_COMPARE_BODY(flt_s, <)
S_COMPARE_BODY(fle_s, <=)

// Converts to integers on the host when the value is in range after any rounding, else in
// fp_soft.h. `wide` is the range for truncation, which is the most frequent rounding.
#define S_TO_INT_BODY(name, type, truncate, wide, narrow)                                                 \
    EXEC(name) {                                                                                          \
        const uint32_t rm = (uint32_t)op->imm;                                                            \
        const float value = tl_get_float(h, op->rs1);                                                     \
        int64_t result;                                                                                   \
        if (TL_FP_HOST && rm == TL_RTZ && (wide))                                                         \
            result = truncate(value);                                                                     \
        else if (!TL_FP_HOST || rm == TL_RTZ || !(narrow) || !tl_host_round_float(h, rm, value, &result)) \
            return TL_FP_SLOW(name);                                                                      \
        RD = (uint64_t)(int64_t)(type)result;                                                             \
        return true;                                                                                      \
    }
// Quiet range test on the bits: |value| < 2^exponent.
#define S_IS_BELOW(exponent) ((uint32_t)(tl_float_bits(value) << 1) < (uint32_t)(exponent + 127) << (23 + 1))
#define S_IS_POSITIVE (tl_float_bits(value) < S_SIGN)
S_TO_INT_BODY(fcvt_w_s, int32_t, tl_host_float_to_w, S_IS_BELOW(31), S_IS_BELOW(30))
S_TO_INT_BODY(fcvt_wu_s, int32_t, tl_host_float_to_l, S_IS_BELOW(32) && S_IS_POSITIVE, S_IS_BELOW(31) && S_IS_POSITIVE)
S_TO_INT_BODY(fcvt_l_s, int64_t, tl_host_float_to_l, S_IS_BELOW(63), S_IS_BELOW(62))
S_TO_INT_BODY(fcvt_lu_s, int64_t, tl_host_float_to_l, S_IS_BELOW(63) && S_IS_POSITIVE, S_IS_BELOW(62) && S_IS_POSITIVE)

// An exact result does not care how the host rounds.
#define S_FROM_INT_BODY(name, value, is_exact)                                                                                           \
    EXEC(name) {                                                                                                                         \
        const uint64_t a = RS1;                                                                                                          \
        if (TL_UNLIKELY(!TL_FP_HOST || !(tl_host_rounds(h, (uint32_t)op->imm) || ((is_exact) && tl_rm_is_valid(h, (uint32_t)op->imm))))) \
            return TL_FP_SLOW(name);                                                                                                     \
        return tl_set_float(h, op->rd, value);                                                                                           \
    }
S_FROM_INT_BODY(fcvt_s_w, (float)(int32_t)a, (uint32_t)a + (1u << 24) < 1u << 25)
S_FROM_INT_BODY(fcvt_s_wu, (float)(int64_t)(uint32_t)a, (uint32_t)a < 1u << 24)
S_FROM_INT_BODY(fcvt_s_l, (float)(int64_t)a, a + (UINT64_C(1) << 24) < UINT64_C(1) << 25)
// Above 2^63: half of it, with the lost bit kept sticky, doubled without rounding.
S_FROM_INT_BODY(fcvt_s_lu, TL_LIKELY((int64_t)a >= 0) ? (float)(int64_t)a : (float)(int64_t)(a >> 1 | (a & 1)) * 2, a < UINT64_C(1) << 24)

EXEC(fmv_x_w) {
    RD = SEXT32(tl_rv(h)->f[op->rs1]);
    return true;
}
EXEC(fmv_w_x) {
    tl_rv(h)->f[op->rd] = tl_box((uint32_t)RS1);
    return true;
}
EXEC(fclass_s) {
    const uint32_t a = tl_unbox(tl_rv(h)->f[op->rs1]);
    RD = tl_fp_class(a >> (8 * sizeof(a) - 1), tl_bits(a, 23, 8), (1u << 8) - 1, tl_bits(a, 0, 23), a >> 22 & 1);
    return true;
}

#endif
