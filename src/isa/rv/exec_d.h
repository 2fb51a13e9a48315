// SPDX-License-Identifier: MIT
// Bodies of D. Host arithmetic where the host rounds as asked; otherwise integers (fp_soft.h).
#ifndef TL_ISA_RV_EXEC_D_H
#define TL_ISA_RV_EXEC_D_H

#include "isa/rv/exec_i.h"
#include "isa/rv/fp_ops.h"

EXEC(fld) {
    uint64_t value;
    if (TL_UNLIKELY(!tl_exec_read(h, RS1 + IMM, 8, &value)))
        return false;
    tl_rv(h)->f[op->rd] = value;
    return true;
}
EXEC(fsd) { return tl_exec_write(h, RS1 + IMM, 8, tl_rv(h)->f[op->rs2]); }

// rm of FMA shares the immediate with rs3.
#define D_FMA_BODY(name, negates_product, negates_addend)                                                                  \
    EXEC(name) {                                                                                                           \
        if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm >> 8) || !tl_host_has_fma()))                                 \
            return TL_FP_SLOW(name);                                                                                       \
        const double a = tl_get_double(h, op->rs1), b = tl_get_double(h, op->rs2), c = tl_get_double(h, (uint8_t)op->imm); \
        const double result = tl_host_fma(negates_product ? -a : a, b, negates_addend ? -c : c);                           \
        if (TL_UNLIKELY(result != result))                                                                                 \
            tl_fma_nan_double(h, a, b);                                                                                    \
        return tl_set_double(h, op->rd, result);                                                                           \
    }
// Infinity times zero is invalid even when the addend is a quiet NaN; hosts keep silent then.
TL_ALWAYS_INLINE void tl_fma_nan_double(tl_hart *h, double a, double b) {
    const uint64_t x = tl_double_bits(a) << 1, y = tl_double_bits(b) << 1, infinity = (uint64_t)UINT64_C(0x7ff0000000000000) << 1;
    if ((x == infinity && y == 0) || (x == 0 && y == infinity))
        tl_rv(h)->fflags |= TL_FP_NV;
}
D_FMA_BODY(fmadd_d, false, false)
D_FMA_BODY(fmsub_d, false, true)
D_FMA_BODY(fnmsub_d, true, false)
D_FMA_BODY(fnmadd_d, true, true)

#define D_BINARY_BODY(name, operator)                                                                  \
    EXEC(name) {                                                                                       \
        if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm)))                                        \
            return TL_FP_SLOW(name);                                                                   \
        return tl_set_double(h, op->rd, tl_get_double(h, op->rs1) operator tl_get_double(h, op->rs2)); \
    }
D_BINARY_BODY(fadd_d, +)
D_BINARY_BODY(fsub_d, -)
D_BINARY_BODY(fmul_d, *)
D_BINARY_BODY(fdiv_d, /)

EXEC(fsqrt_d) {
    if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm)))
        return TL_FP_SLOW(fsqrt_d);
    return tl_set_double(h, op->rd, tl_host_sqrt_double(tl_get_double(h, op->rs1)));
}

#define D_SIGN ((uint64_t)1 << (8 * sizeof(uint64_t) - 1))
EXEC(fsgnj_d) {
    const uint64_t a = tl_rv(h)->f[op->rs1], b = tl_rv(h)->f[op->rs2];
    tl_rv(h)->f[op->rd] = (a & ~D_SIGN) | (b & D_SIGN);
    return true;
}
EXEC(fsgnjn_d) {
    const uint64_t a = tl_rv(h)->f[op->rs1], b = tl_rv(h)->f[op->rs2];
    tl_rv(h)->f[op->rd] = (a & ~D_SIGN) | (~b & D_SIGN);
    return true;
}
EXEC(fsgnjx_d) {
    const uint64_t a = tl_rv(h)->f[op->rs1], b = tl_rv(h)->f[op->rs2];
    tl_rv(h)->f[op->rd] = a ^ (b & D_SIGN);
    return true;
}

// minimumNumber and maximumNumber: a NaN loses, -0 is less than +0.
TL_ALWAYS_INLINE uint64_t tl_pick_double(tl_hart *h, uint64_t a, uint64_t b, bool wants_less) {
    const bool a_is_nan = (uint64_t)(a << 1) > (uint64_t)UINT64_C(0x7ff0000000000000) << 1,
               b_is_nan = (uint64_t)(b << 1) > (uint64_t)UINT64_C(0x7ff0000000000000) << 1;
    if (TL_UNLIKELY(a_is_nan || b_is_nan)) {
        const uint64_t quiet = (uint64_t)1 << 51;
        if ((a_is_nan && !(a & quiet)) || (b_is_nan && !(b & quiet)))
            tl_rv(h)->fflags |= TL_FP_NV;
        return !a_is_nan ? a : !b_is_nan ? b : TL_NAN_DOUBLE;
    }
    // Magnitudes below the sign become an order of integers when negative ones are turned over.
    const int64_t x = (int64_t)(a ^ ((a & D_SIGN) ? ~D_SIGN : 0)), y = (int64_t)(b ^ ((b & D_SIGN) ? ~D_SIGN : 0));
    return (x < y) == wants_less ? a : b;
}
EXEC(fmin_d) {
    tl_rv(h)->f[op->rd] = tl_pick_double(h, tl_rv(h)->f[op->rs1], tl_rv(h)->f[op->rs2], true);
    return true;
}
EXEC(fmax_d) {
    tl_rv(h)->f[op->rd] = tl_pick_double(h, tl_rv(h)->f[op->rs1], tl_rv(h)->f[op->rs2], false);
    return true;
}

#define D_COMPARE_BODY(name, operator)                                     \
    EXEC(name) {                                                           \
        if (!TL_FP_HOST)                                                   \
            return TL_FP_SLOW(name);                                       \
        RD = tl_get_double(h, op->rs1) operator tl_get_double(h, op->rs2); \
        return true;                                                       \
    }
D_COMPARE_BODY(feq_d, ==)
D_COMPARE_BODY(flt_d, <)
D_COMPARE_BODY(fle_d, <=)

// Converts to integers on the host when the value is in range after any rounding, else in
// fp_soft.h. `wide` is the range for truncation, which is the most frequent rounding.
#define D_TO_INT_BODY(name, type, truncate, wide, narrow)                                                  \
    EXEC(name) {                                                                                           \
        const uint32_t rm = (uint32_t)op->imm;                                                             \
        const double value = tl_get_double(h, op->rs1);                                                    \
        int64_t result;                                                                                    \
        if (TL_FP_HOST && rm == TL_RTZ && (wide))                                                          \
            result = truncate(value);                                                                      \
        else if (!TL_FP_HOST || rm == TL_RTZ || !(narrow) || !tl_host_round_double(h, rm, value, &result)) \
            return TL_FP_SLOW(name);                                                                       \
        RD = (uint64_t)(int64_t)(type)result;                                                              \
        return true;                                                                                       \
    }
// Quiet range test on the bits: |value| < 2^exponent.
#define D_IS_BELOW(exponent) ((uint64_t)(tl_double_bits(value) << 1) < (uint64_t)(exponent + 1023) << (52 + 1))
#define D_IS_POSITIVE (tl_double_bits(value) < D_SIGN)
D_TO_INT_BODY(fcvt_w_d, int32_t, tl_host_double_to_w, D_IS_BELOW(31), D_IS_BELOW(30))
D_TO_INT_BODY(fcvt_wu_d, int32_t, tl_host_double_to_l, D_IS_BELOW(32) && D_IS_POSITIVE, D_IS_BELOW(31) && D_IS_POSITIVE)
D_TO_INT_BODY(fcvt_l_d, int64_t, tl_host_double_to_l, D_IS_BELOW(63), D_IS_BELOW(62))
D_TO_INT_BODY(fcvt_lu_d, int64_t, tl_host_double_to_l, D_IS_BELOW(63) && D_IS_POSITIVE, D_IS_BELOW(62) && D_IS_POSITIVE)

// An exact result does not care how the host rounds.
#define D_FROM_INT_BODY(name, value, is_exact)                                                                                           \
    EXEC(name) {                                                                                                                         \
        const uint64_t a = RS1;                                                                                                          \
        if (TL_UNLIKELY(!TL_FP_HOST || !(tl_host_rounds(h, (uint32_t)op->imm) || ((is_exact) && tl_rm_is_valid(h, (uint32_t)op->imm))))) \
            return TL_FP_SLOW(name);                                                                                                     \
        return tl_set_double(h, op->rd, value);                                                                                          \
    }
D_FROM_INT_BODY(fcvt_d_w, (double)(int32_t)a, true)
D_FROM_INT_BODY(fcvt_d_wu, (double)(int64_t)(uint32_t)a, true)
D_FROM_INT_BODY(fcvt_d_l, (double)(int64_t)a, a + (UINT64_C(1) << 53) < UINT64_C(1) << 54)
// Above 2^63: half of it, with the lost bit kept sticky, doubled without rounding.
D_FROM_INT_BODY(fcvt_d_lu, TL_LIKELY((int64_t)a >= 0) ? (double)(int64_t)a : (double)(int64_t)(a >> 1 | (a & 1)) * 2, a < UINT64_C(1) << 53)

EXEC(fcvt_s_d) {
    if (TL_UNLIKELY(!tl_host_rounds(h, (uint32_t)op->imm)))
        return TL_FP_SLOW(fcvt_s_d);
    return tl_set_float(h, op->rd, (float)tl_get_double(h, op->rs1));
}
EXEC(fcvt_d_s) {
    if (TL_UNLIKELY(!TL_FP_HOST || !tl_rm_is_valid(h, (uint32_t)op->imm)))
        return TL_FP_SLOW(fcvt_d_s);
    return tl_set_double(h, op->rd, (double)tl_get_float(h, op->rs1));
}
EXEC(fmv_x_d) {
    RD = tl_rv(h)->f[op->rs1];
    return true;
}
EXEC(fmv_d_x) {
    tl_rv(h)->f[op->rd] = RS1;
    return true;
}
EXEC(fclass_d) {
    const uint64_t a = tl_rv(h)->f[op->rs1];
    RD = tl_fp_class(a >> (8 * sizeof(a) - 1), tl_bits(a, 52, 11), (1u << 11) - 1, tl_bits(a, 0, 52), a >> 51 & 1);
    return true;
}

#endif
