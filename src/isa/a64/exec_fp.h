// SPDX-License-Identifier: MIT
// Bodies of scalar floating point: insn_fp.def. A result clears the rest of its vector register.
#ifndef TL_ISA_A64_EXEC_FP_H
#define TL_ISA_A64_EXEC_FP_H

#include "isa/a64/exec_sys.h"
#include "isa/a64/fp.h"

#define VN tl_a64(h)->v[op->rn]
#define VM tl_a64(h)->v[op->rm]
#define VA tl_a64(h)->v[op->ra]
#define CR tl_a64(h)->fpcr
#define SR &tl_a64(h)->fpsr

TL_ALWAYS_INLINE bool tl_a64_set_scalar(tl_hart *h, uint8_t reg, uint64_t bits) {
    tl_a64(h)->v[reg] = (tl_a64_vector){.d = {bits, 0}};
    return true;
}
// Bodies of single and double precision: F is the format, N, M and A are the operands.
#define FP_SD(name, suffix, ...)                                                                                                    \
    EXEC(name##_s##suffix) {                                                                                                        \
        __attribute__((unused)) const tl_a64_float F = TL_A64_SINGLE;                                                               \
        __attribute__((unused)) const uint64_t N = VN.s[0], M = tl_a64(h)->v[op->rm & 31].s[0], A = tl_a64(h)->v[op->ra & 31].s[0]; \
        __VA_ARGS__                                                                                                                 \
    }                                                                                                                               \
    EXEC(name##_d##suffix) {                                                                                                        \
        __attribute__((unused)) const tl_a64_float F = TL_A64_DOUBLE;                                                               \
        __attribute__((unused)) const uint64_t N = VN.d[0], M = tl_a64(h)->v[op->rm & 31].d[0], A = tl_a64(h)->v[op->ra & 31].d[0]; \
        __VA_ARGS__                                                                                                                 \
    }
#define FP(name, value) FP_SD(name, , return tl_a64_set_scalar(h, op->rd, value);)
FP(fmov, N)
FP(fabs, tl_a64_fabs(F, N))
FP(fneg, tl_a64_fneg(F, N))
FP(fsqrt, tl_a64_fsqrt(F, N, CR, SR))
FP(frintn, tl_a64_frint(F, N, TL_A64_TIEEVEN, false, CR, SR))
FP(frintp, tl_a64_frint(F, N, TL_A64_POSINF, false, CR, SR))
FP(frintm, tl_a64_frint(F, N, TL_A64_NEGINF, false, CR, SR))
FP(frintz, tl_a64_frint(F, N, TL_A64_ZERO_MODE, false, CR, SR))
FP(frinta, tl_a64_frint(F, N, TL_A64_TIEAWAY, false, CR, SR))
FP(frintx, tl_a64_frint(F, N, tl_a64_rmode(CR), true, CR, SR))
FP(frinti, tl_a64_frint(F, N, tl_a64_rmode(CR), false, CR, SR))
FP(fadd, tl_a64_fadd(F, N, M, CR, SR))
FP(fsub, tl_a64_fsub(F, N, M, CR, SR))
FP(fmul, tl_a64_fmul(F, N, M, CR, SR))
FP(fnmul, tl_a64_fneg(F, tl_a64_fmul(F, N, M, CR, SR)))
FP(fdiv, tl_a64_fdiv(F, N, M, CR, SR))
FP(fmax, tl_a64_fmax(F, N, M, false, CR, SR))
FP(fmin, tl_a64_fmin(F, N, M, false, CR, SR))
FP(fmaxnm, tl_a64_fmax(F, N, M, true, CR, SR))
FP(fminnm, tl_a64_fmin(F, N, M, true, CR, SR))
FP(fmadd, tl_a64_fma(F, A, N, M, CR, SR))
FP(fmsub, tl_a64_fma(F, A, tl_a64_fneg(F, N), M, CR, SR))
FP(fnmadd, tl_a64_fma(F, tl_a64_fneg(F, A), tl_a64_fneg(F, N), M, CR, SR))
FP(fnmsub, tl_a64_fma(F, tl_a64_fneg(F, A), N, M, CR, SR))
FP(fcsel, tl_a64_holds(h, (uint32_t)op->imm) ? N : M)
FP_SD(fmov, _imm, return tl_a64_set_scalar(h, op->rd, tl_a64_fp_imm((uint32_t)op->imm, F == TL_A64_DOUBLE));)
#define FP_COMPARE(name, second, is_signaling) FP_SD(name, , FLAGS = tl_a64_fcompare(F, N, second, is_signaling, CR, SR); return true;)
FP_COMPARE(fcmp, M, false)
FP_COMPARE(fcmp_zero, 0, false)
FP_COMPARE(fcmpe, M, true)
FP_COMPARE(fcmpe_zero, 0, true)
#define FP_CCMP(name, is_signaling)                                                                                    \
    FP_SD(name, , if (tl_a64_holds(h, (uint32_t)op->imm >> 4)) FLAGS = tl_a64_fcompare(F, N, M, is_signaling, CR, SR); \
          else FLAGS = (uint32_t)op->imm & 15; return true;)
FP_CCMP(fccmp, false)
FP_CCMP(fccmpe, true)

#define FP_CONVERT(to, from, TO, FROM, element)                                                                                    \
    EXEC(fcvt_##to##_##from) {                                                                                                     \
        return tl_a64_set_scalar(h, op->rd, tl_a64_fconvert(TL_A64_##TO, TL_A64_##FROM, VN.element[0], tl_a64_rmode(CR), CR, SR)); \
    }
FP_CONVERT(d, s, DOUBLE, SINGLE, s)
FP_CONVERT(h, s, HALF, SINGLE, s)
FP_CONVERT(s, d, SINGLE, DOUBLE, d)
FP_CONVERT(h, d, HALF, DOUBLE, d)
FP_CONVERT(s, h, SINGLE, HALF, h)
FP_CONVERT(d, h, DOUBLE, HALF, h)

// -- To and from general registers.
#define TO_INT(name, bits, is_signed, rounding, suffix, fraction_bits)                                \
    EXEC(name##_s##suffix) {                                                                          \
        RD = tl_a64_to_int(TL_A64_SINGLE, VN.s[0], fraction_bits, bits, is_signed, rounding, CR, SR); \
        return true;                                                                                  \
    }                                                                                                 \
    EXEC(name##_d##suffix) {                                                                          \
        RD = tl_a64_to_int(TL_A64_DOUBLE, VN.d[0], fraction_bits, bits, is_signed, rounding, CR, SR); \
        return true;                                                                                  \
    }
#define TO_INTS(letter, rounding)                       \
    TO_INT(fcvt##letter##s_w, 32, true, rounding, , 0)  \
    TO_INT(fcvt##letter##s_x, 64, true, rounding, , 0)  \
    TO_INT(fcvt##letter##u_w, 32, false, rounding, , 0) \
    TO_INT(fcvt##letter##u_x, 64, false, rounding, , 0)
TO_INTS(n, TL_A64_TIEEVEN)
TO_INTS(a, TL_A64_TIEAWAY)
TO_INTS(p, TL_A64_POSINF)
TO_INTS(m, TL_A64_NEGINF)
TO_INTS(z, TL_A64_ZERO_MODE)
TO_INT(fcvtzs_w, 32, true, TL_A64_ZERO_MODE, _fix, (uint32_t)op->imm)
TO_INT(fcvtzs_x, 64, true, TL_A64_ZERO_MODE, _fix, (uint32_t)op->imm)
TO_INT(fcvtzu_w, 32, false, TL_A64_ZERO_MODE, _fix, (uint32_t)op->imm)
TO_INT(fcvtzu_x, 64, false, TL_A64_ZERO_MODE, _fix, (uint32_t)op->imm)
#define FROM_INT(name, suffix, type, is_signed, fraction_bits)                                                                            \
    EXEC(name##_s##suffix) {                                                                                                              \
        return tl_a64_set_scalar(h, op->rd,                                                                                               \
                                 tl_a64_from_int(TL_A64_SINGLE, (uint64_t)(type)tl_a64(h)->x[op->rn], fraction_bits, is_signed, CR, SR)); \
    }                                                                                                                                     \
    EXEC(name##_d##suffix) {                                                                                                              \
        return tl_a64_set_scalar(h, op->rd,                                                                                               \
                                 tl_a64_from_int(TL_A64_DOUBLE, (uint64_t)(type)tl_a64(h)->x[op->rn], fraction_bits, is_signed, CR, SR)); \
    }
FROM_INT(scvtf, _w, int32_t, true, 0)
FROM_INT(scvtf, _x, int64_t, true, 0)
FROM_INT(ucvtf, _w, uint32_t, false, 0)
FROM_INT(ucvtf, _x, uint64_t, false, 0)
FROM_INT(scvtf, _w_fix, int32_t, true, (uint32_t)op->imm)
FROM_INT(scvtf, _x_fix, int64_t, true, (uint32_t)op->imm)
FROM_INT(ucvtf, _w_fix, uint32_t, false, (uint32_t)op->imm)
FROM_INT(ucvtf, _x_fix, uint64_t, false, (uint32_t)op->imm)
EXEC(fmov_w_s) {
    RD = VN.s[0];
    return true;
}
EXEC(fmov_x_d) {
    RD = VN.d[0];
    return true;
}
EXEC(fmov_x_top) {
    RD = VN.d[1];
    return true;
}
EXEC(fmov_s_w) { return tl_a64_set_scalar(h, op->rd, (uint32_t)tl_a64(h)->x[op->rn]); }
EXEC(fmov_d_x) { return tl_a64_set_scalar(h, op->rd, tl_a64(h)->x[op->rn]); }
EXEC(fmov_top_x) {
    tl_a64(h)->v[op->rd].d[1] = tl_a64(h)->x[op->rn];
    return true;
}

#undef FP
#undef FP_SD
#undef FP_COMPARE
#undef FP_CCMP
#undef FP_CONVERT
#undef TO_INT
#undef TO_INTS
#undef FROM_INT
#undef VA

#endif
