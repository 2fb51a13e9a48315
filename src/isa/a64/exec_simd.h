// SPDX-License-Identifier: MIT
// Bodies of Advanced SIMD: insn_simd.def. A vector and its scalar form are one expression over
// lanes. In it a, b and d are the operands and the old destination, sa, sb and sd the same with
// their sign; F is the format of floating-point lanes. imm is the instruction, from which size, Q
// and the rest come.
#ifndef TL_ISA_A64_EXEC_SIMD_H
#define TL_ISA_A64_EXEC_SIMD_H

#include "isa/a64/exec_fp.h"

#define RAW ((uint32_t)op->imm)
#define Q (RAW >> 30 & 1)
#define SIZE (RAW >> 22 & 3)
#define FSIZE (2 + (RAW >> 22 & 1))
#define ONES(size) (~UINT64_C(0) >> (64 - (8u << (size))))

TL_ALWAYS_INLINE uint64_t tl_a64_lane(const tl_a64_vector *v, uint32_t size, uint32_t i) {
    switch (size) {
    case 0: return v->b[i];
    case 1: return v->h[i];
    case 2: return v->s[i];
    default: return v->d[i];
    }
}
TL_ALWAYS_INLINE void tl_a64_put_lane(tl_a64_vector *v, uint32_t size, uint32_t i, uint64_t value) {
    switch (size) {
    case 0: v->b[i] = (uint8_t)value; break;
    case 1: v->h[i] = (uint16_t)value; break;
    case 2: v->s[i] = (uint32_t)value; break;
    default: v->d[i] = value; break;
    }
}
TL_ALWAYS_INLINE int64_t tl_a64_signed(uint64_t value, uint32_t size) { return tl_sext(value, 8u << size); }

// Saturates to a lane of this size; FPSR.QC tells.
static inline uint64_t tl_a64_saturate(tl_hart *h, tl_a64_int128 value, uint32_t size, bool is_signed) {
    const uint32_t bits = 8u << size;
    const tl_a64_int128 most = is_signed ? ((tl_a64_int128)1 << (bits - 1)) - 1 : ((tl_a64_int128)1 << bits) - 1;
    const tl_a64_int128 least = is_signed ? -((tl_a64_int128)1 << (bits - 1)) : 0;
    if (value >= least && value <= most)
        return (uint64_t)value;
    tl_a64(h)->fpsr |= TL_A64_QC;
    return (uint64_t)(value < least ? least : most);
}
#define SATS(value, size) tl_a64_saturate(h, value, size, true)
#define SATU(value, size) tl_a64_saturate(h, value, size, false)
typedef tl_a64_int128 tl_a64_i128;
#define WIDE(value) ((tl_a64_i128)(value))

// n lanes of `lane_size` from `lane_size`; b_lane is an expression for the second operand.
#define LANES(id, lane_size, n_lanes, b_lane, expression)                                                   \
    EXEC(id) {                                                                                              \
        const uint32_t size = (lane_size), n = (n_lanes);                                                   \
        __attribute__((unused)) const uint32_t bits = 8u << size;                                           \
        __attribute__((unused)) const tl_a64_float F = (tl_a64_float)(size - 1);                            \
        const tl_a64_vector vn = VN, vm = tl_a64(h)->v[op->rm & 31], vd = tl_a64(h)->v[op->rd];             \
        (void)vm;                                                                                           \
        tl_a64_vector out = {.d = {0, 0}};                                                                  \
        for (uint32_t i = 0; i < n; i++) {                                                                  \
            const uint64_t a = tl_a64_lane(&vn, size, i), b = (b_lane), d = tl_a64_lane(&vd, size, i);      \
            __attribute__((unused)) const int64_t sa = tl_a64_signed(a, size), sb = tl_a64_signed(b, size); \
            __attribute__((unused)) const int64_t sd = tl_a64_signed(d, size);                              \
            (void)d;                                                                                        \
            tl_a64_put_lane(&out, size, i, (uint64_t)(expression));                                         \
        }                                                                                                   \
        tl_a64(h)->v[op->rd] = out;                                                                         \
        return true;                                                                                        \
    }
#define N_LANES(size) ((8u << Q) >> (size))
#define SAME tl_a64_lane(&vm, size, i)
#define ALL(value) ((value) ? UINT64_MAX : 0)

// -- Three registers of one shape.
#define V3(name, expression) LANES(name##_v, SIZE, N_LANES(size), SAME, expression)
#define V3E(name, expression) V3(name, expression) LANES(name##_e, SIZE, 1, SAME, expression)
V3(shadd, (sa + sb) >> 1)
V3(uhadd, (a + b) >> 1)
V3(srhadd, (sa + sb + 1) >> 1)
V3(urhadd, (a + b + 1) >> 1)
V3(shsub, (sa - sb) >> 1)
V3(uhsub, (int64_t)(a - b) >> 1)
V3E(sqadd, SATS(WIDE(sa) + sb, size))
V3E(uqadd, SATU(WIDE(a) + b, size))
V3E(sqsub, SATS(WIDE(sa) - sb, size))
V3E(uqsub, SATU(WIDE(a) - b, size))
V3E(cmgt, ALL(sa > sb))
V3E(cmge, ALL(sa >= sb))
V3E(cmhi, ALL(a > b))
V3E(cmhs, ALL(a >= b))
V3E(cmeq, ALL(a == b))
V3E(cmtst, ALL((a & b) != 0))
V3E(add, a + b)
V3E(sub, a - b)
V3(smax, sa > sb ? sa : sb)
V3(smin, sa < sb ? sa : sb)
V3(umax, a > b ? a : b)
V3(umin, a < b ? a : b)
V3(sabd, sa > sb ? sa - sb : sb - sa)
V3(uabd, a > b ? a - b : b - a)
V3(saba, d + (uint64_t)(sa > sb ? sa - sb : sb - sa))
V3(uaba, d + (a > b ? a - b : b - a))
V3(mla, d + a * b)
V3(mls, d - a * b)
V3(mul, a *b)
V3E(sqdmulh, SATS((WIDE(sa) * sb * 2) >> bits, size))
V3E(sqrdmulh, SATS((WIDE(sa) * sb * 2 + (WIDE(1) << (bits - 1))) >> bits, size))

// Shifts by a signed amount, the lowest byte of the second operand; infinitely precise.
static inline uint64_t tl_a64_shift(tl_hart *h, tl_a64_int128 value, int8_t amount, uint32_t size, bool is_signed, bool rounds,
                                    bool saturates) {
    const int32_t bits = 8 << size;
    if (amount < 0) {
        const int32_t right = -amount > 66 ? 66 : -amount; // further down nothing changes any more
        value = (value + (rounds ? (tl_a64_int128)1 << (right - 1) : 0)) >> right;
    } else if (value != 0) {
        if (amount >= bits) {
            if (!saturates)
                return 0;
            return tl_a64_saturate(h, value < 0 ? -((tl_a64_int128)1 << 100) : (tl_a64_int128)1 << 100, size, is_signed);
        }
        value *= (tl_a64_int128)1 << amount;
    }
    return saturates ? tl_a64_saturate(h, value, size, is_signed) : (uint64_t)value;
}
V3E(sshl, tl_a64_shift(h, sa, (int8_t)b, size, true, false, false))
V3E(ushl, tl_a64_shift(h, (tl_a64_i128)a, (int8_t)b, size, false, false, false))
V3E(srshl, tl_a64_shift(h, sa, (int8_t)b, size, true, true, false))
V3E(urshl, tl_a64_shift(h, (tl_a64_i128)a, (int8_t)b, size, false, true, false))
V3E(sqshl, tl_a64_shift(h, sa, (int8_t)b, size, true, false, true))
V3E(uqshl, tl_a64_shift(h, (tl_a64_i128)a, (int8_t)b, size, false, false, true))
V3E(sqrshl, tl_a64_shift(h, sa, (int8_t)b, size, true, true, true))
V3E(uqrshl, tl_a64_shift(h, (tl_a64_i128)a, (int8_t)b, size, false, true, true))

// Polynomials over {0, 1}; a of at most 64 bits.
static inline tl_a64_uint128 tl_a64_polynomial(uint64_t a, uint64_t b) {
    tl_a64_uint128 product = 0;
    for (uint32_t i = 0; i < 64; i++)
        product ^= a >> i & 1 ? (tl_a64_uint128)b << i : 0;
    return product;
}
LANES(pmul_v, 0, N_LANES(size), SAME, tl_a64_polynomial(a, b))
#define BITWISE(name, expression) LANES(name##_v, 3, 1 + Q, SAME, expression)
BITWISE(and, a &b)
BITWISE(bic, a & ~b)
BITWISE(orr, a | b)
BITWISE(orn, a | ~b)
BITWISE(eor, a ^ b)
BITWISE(bsl, b ^ ((b ^ a) & d))
BITWISE(bit, d ^ ((d ^ a) & b))
BITWISE(bif, d ^ ((d ^ a) & ~b))

#define F3(name, expression) LANES(name##_v, FSIZE, N_LANES(size), SAME, expression)
#define F3E(name, expression) F3(name, expression) LANES(name##_e, FSIZE, 1, SAME, expression)
F3(fadd, tl_a64_fadd(F, a, b, CR, SR))
F3(fsub, tl_a64_fsub(F, a, b, CR, SR))
F3(fmul, tl_a64_fmul(F, a, b, CR, SR))
F3(fdiv, tl_a64_fdiv(F, a, b, CR, SR))
F3(fmax, tl_a64_fmax(F, a, b, false, CR, SR))
F3(fmin, tl_a64_fmin(F, a, b, false, CR, SR))
F3(fmaxnm, tl_a64_fmax(F, a, b, true, CR, SR))
F3(fminnm, tl_a64_fmin(F, a, b, true, CR, SR))
F3(fmla, tl_a64_fma(F, d, a, b, CR, SR))
F3(fmls, tl_a64_fma(F, d, tl_a64_fneg(F, a), b, CR, SR))
F3E(fmulx, tl_a64_fmulx(F, a, b, CR, SR))
F3E(frecps, tl_a64_frecps(F, a, b, CR, SR))
F3E(frsqrts, tl_a64_frsqrts(F, a, b, CR, SR))
F3E(fabd, tl_a64_fabs(F, tl_a64_fsub(F, a, b, CR, SR)))
#define IS_EQ(x, y) ALL(tl_a64_fcompare(F, x, y, false, CR, SR) & TL_A64_Z)
#define IS_GE(x, y) ALL((tl_a64_fcompare(F, x, y, true, CR, SR) & (TL_A64_C | TL_A64_V)) == TL_A64_C)
#define IS_GT(x, y) ALL(tl_a64_fcompare(F, x, y, true, CR, SR) == TL_A64_C)
F3E(fcmeq, IS_EQ(a, b))
F3E(fcmge, IS_GE(a, b))
F3E(fcmgt, IS_GT(a, b))
F3E(facge, IS_GE(tl_a64_fabs(F, a), tl_a64_fabs(F, b)))
F3E(facgt, IS_GT(tl_a64_fabs(F, a), tl_a64_fabs(F, b)))

// -- Neighbors: lanes of the first operand, then of the second.
#define NEIGHBOR(k) (2 * i + (k) < n ? tl_a64_lane(&vn, size, 2 * i + (k)) : tl_a64_lane(&vm, size, 2 * i + (k)-n))
#define NEIGHBORS(name, lane_size, expression)                                                              \
    EXEC(name) {                                                                                            \
        const uint32_t size = (lane_size), n = N_LANES(size);                                               \
        __attribute__((unused)) const tl_a64_float F = (tl_a64_float)(size - 1);                            \
        const tl_a64_vector vn = VN, vm = VM;                                                               \
        tl_a64_vector out = {.d = {0, 0}};                                                                  \
        for (uint32_t i = 0; i < n; i++) {                                                                  \
            const uint64_t a = NEIGHBOR(0), b = NEIGHBOR(1);                                                \
            __attribute__((unused)) const int64_t sa = tl_a64_signed(a, size), sb = tl_a64_signed(b, size); \
            tl_a64_put_lane(&out, size, i, (uint64_t)(expression));                                         \
        }                                                                                                   \
        tl_a64(h)->v[op->rd] = out;                                                                         \
        return true;                                                                                        \
    }
NEIGHBORS(addp_v, SIZE, a + b)
NEIGHBORS(smaxp_v, SIZE, sa > sb ? sa : sb)
NEIGHBORS(sminp_v, SIZE, sa < sb ? sa : sb)
NEIGHBORS(umaxp_v, SIZE, a > b ? a : b)
NEIGHBORS(uminp_v, SIZE, a < b ? a : b)
NEIGHBORS(faddp_v, FSIZE, tl_a64_fadd(F, a, b, CR, SR))
NEIGHBORS(fmaxp_v, FSIZE, tl_a64_fmax(F, a, b, false, CR, SR))
NEIGHBORS(fminp_v, FSIZE, tl_a64_fmin(F, a, b, false, CR, SR))
NEIGHBORS(fmaxnmp_v, FSIZE, tl_a64_fmax(F, a, b, true, CR, SR))
NEIGHBORS(fminnmp_v, FSIZE, tl_a64_fmin(F, a, b, true, CR, SR))
EXEC(addp_e) { return tl_a64_set_scalar(h, op->rd, VN.d[0] + VN.d[1]); }
#define PAIR_OF(name, function, ...)                                                                       \
    EXEC(name) {                                                                                           \
        const uint32_t size = FSIZE;                                                                       \
        const uint64_t a = tl_a64_lane(&VN, size, 0), b = tl_a64_lane(&VN, size, 1);                       \
        return tl_a64_set_scalar(h, op->rd, function((tl_a64_float)(size - 1), a, b, __VA_ARGS__ CR, SR)); \
    }
PAIR_OF(faddp_e, tl_a64_fadd, )
PAIR_OF(fmaxp_e, tl_a64_fmax, false, )
PAIR_OF(fminp_e, tl_a64_fmin, false, )
PAIR_OF(fmaxnmp_e, tl_a64_fmax, true, )
PAIR_OF(fminnmp_e, tl_a64_fmin, true, )

// -- Results of twice the size, from the lower or the upper half. `size` is that of the narrow
// operands; c is the wide first operand where there is one, d the old wide destination.
#define LONGER(id, n_lanes, from, b_lane, expression)                                                              \
    EXEC(id) {                                                                                                     \
        const uint32_t size = SIZE, n = (n_lanes), first = (from);                                                 \
        __attribute__((unused)) const uint32_t bits = 8u << size;                                                  \
        const tl_a64_vector vn = VN, vm = tl_a64(h)->v[op->rm & 31], vd = tl_a64(h)->v[op->rd];                    \
        (void)vm;                                                                                                  \
        tl_a64_vector out = {.d = {0, 0}};                                                                         \
        for (uint32_t i = 0; i < n; i++) {                                                                         \
            const uint64_t a = tl_a64_lane(&vn, size, first + i), b = (b_lane), d = tl_a64_lane(&vd, size + 1, i); \
            __attribute__((unused)) const uint64_t c = tl_a64_lane(&vn, size + 1, i);                              \
            __attribute__((unused)) const int64_t sa = tl_a64_signed(a, size), sb = tl_a64_signed(b, size);        \
            __attribute__((unused)) const int64_t sd = tl_a64_signed(d, size + 1);                                 \
            (void)a, (void)b, (void)d;                                                                             \
            tl_a64_put_lane(&out, size + 1, i, (uint64_t)(expression));                                            \
        }                                                                                                          \
        tl_a64(h)->v[op->rd] = out;                                                                                \
        return true;                                                                                               \
    }
#define HALF_LANES (8u >> SIZE)
#define UPPER (Q ? HALF_LANES : 0)
#define VL(name, expression) LONGER(name##_v, HALF_LANES, UPPER, tl_a64_lane(&vm, size, first + i), expression)
VL(saddl, sa + sb)
VL(uaddl, a + b)
VL(ssubl, sa - sb)
VL(usubl, a - b)
VL(saddw, c + (uint64_t)sb)
VL(uaddw, c + b)
VL(ssubw, c - (uint64_t)sb)
VL(usubw, c - b)
VL(sabal, d + (uint64_t)(sa > sb ? sa - sb : sb - sa))
VL(uabal, d + (a > b ? a - b : b - a))
VL(sabdl, sa > sb ? sa - sb : sb - sa)
VL(uabdl, a > b ? a - b : b - a)
// Multiplications exist by vector, by lane, and for some as scalars.
#define ELEMENT tl_a64_indexed(h, RAW)
static inline uint64_t tl_a64_indexed(const tl_hart *h, uint32_t raw) {
    const uint32_t high = raw >> 11 & 1, low = raw >> 21 & 1, extra = raw >> 20 & 1;
    if ((raw >> 22 & 3) == 1)
        return tl_a64(h)->v[raw >> 16 & 15].h[high << 2 | low << 1 | extra];
    return tl_a64(h)->v[raw >> 16 & 31].s[high << 1 | low];
}
#define MULTIPLY_LONG(name, expression) \
    VL(name, expression)                \
    LONGER(name##_vx, HALF_LANES, UPPER, ELEMENT, expression)
#define MULTIPLY_LONG_E(name, expression)                         \
    MULTIPLY_LONG(name, expression)                               \
    LONGER(name##_e, 1, 0, tl_a64_lane(&vm, size, 0), expression) \
    LONGER(name##_ex, 1, 0, ELEMENT, expression)
MULTIPLY_LONG(smull, sa *sb)
MULTIPLY_LONG(umull, a *b)
MULTIPLY_LONG(smlal, d + (uint64_t)(sa * sb))
MULTIPLY_LONG(umlal, d + a * b)
MULTIPLY_LONG(smlsl, d - (uint64_t)(sa * sb))
MULTIPLY_LONG(umlsl, d - a * b)
#define DOUBLED ((int64_t)SATS(WIDE(sa) * sb * 2, size + 1))
MULTIPLY_LONG_E(sqdmull, DOUBLED)
MULTIPLY_LONG_E(sqdmlal, SATS(WIDE(sd) + tl_a64_signed((uint64_t)DOUBLED, size + 1), size + 1))
MULTIPLY_LONG_E(sqdmlsl, SATS(WIDE(sd) - tl_a64_signed((uint64_t)DOUBLED, size + 1), size + 1))
EXEC(pmull_v) {
    const tl_a64_vector vn = VN, vm = VM;
    tl_a64_vector out;
    if (SIZE == 3) {
        const tl_a64_uint128 product = tl_a64_polynomial(vn.d[Q], vm.d[Q]);
        out = (tl_a64_vector){.d = {(uint64_t)product, (uint64_t)(product >> 64)}};
    } else {
        for (uint32_t i = 0; i < 8; i++)
            out.h[i] = (uint16_t)tl_a64_polynomial(vn.b[8 * Q + i], vm.b[8 * Q + i]);
    }
    tl_a64(h)->v[op->rd] = out;
    return true;
}
LANES(mul_vx, SIZE, N_LANES(size), ELEMENT, a *b)
LANES(mla_vx, SIZE, N_LANES(size), ELEMENT, d + a * b)
LANES(mls_vx, SIZE, N_LANES(size), ELEMENT, d - a * b)
LANES(sqdmulh_vx, SIZE, N_LANES(size), ELEMENT, SATS((WIDE(sa) * sb * 2) >> bits, size))
LANES(sqrdmulh_vx, SIZE, N_LANES(size), ELEMENT, SATS((WIDE(sa) * sb * 2 + (WIDE(1) << (bits - 1))) >> bits, size))
LANES(sqdmulh_ex, SIZE, 1, ELEMENT, SATS((WIDE(sa) * sb * 2) >> bits, size))
LANES(sqrdmulh_ex, SIZE, 1, ELEMENT, SATS((WIDE(sa) * sb * 2 + (WIDE(1) << (bits - 1))) >> bits, size))
#define FELEMENT (size == 3 ? vm.d[RAW >> 11 & 1] : vm.s[(RAW >> 11 & 1) << 1 | (RAW >> 21 & 1)])
#define FX(name, expression)                                     \
    LANES(name##_vx, FSIZE, N_LANES(size), FELEMENT, expression) \
    LANES(name##_ex, FSIZE, 1, FELEMENT, expression)
FX(fmul, tl_a64_fmul(F, a, b, CR, SR))
FX(fmulx, tl_a64_fmulx(F, a, b, CR, SR))
FX(fmla, tl_a64_fma(F, d, a, b, CR, SR))
FX(fmls, tl_a64_fma(F, d, tl_a64_fneg(F, a), b, CR, SR))

// -- Results of half the size, into the lower half, which clears the upper one, or into the upper
// half. `size` is that of the result; a and b are the wide operands.
#define NARROWER(id, result_size, n_lanes, expression)                                           \
    EXEC(id) {                                                                                   \
        const uint32_t size = (result_size), n = (n_lanes);                                      \
        __attribute__((unused)) const uint32_t bits = 8u << size;                                \
        const tl_a64_vector vn = VN, vm = tl_a64(h)->v[op->rm & 31];                             \
        tl_a64_vector out = {.d = {0, 0}};                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                       \
            const uint64_t a = tl_a64_lane(&vn, size + 1, i), b = tl_a64_lane(&vm, size + 1, i); \
            __attribute__((unused)) const int64_t sa = tl_a64_signed(a, size + 1);               \
            (void)b;                                                                             \
            tl_a64_put_lane(&out, size, i, (uint64_t)(expression));                              \
        }                                                                                        \
        if (n != 1 && Q)                                                                         \
            out = (tl_a64_vector){.d = {tl_a64(h)->v[op->rd].d[0], out.d[0]}};                   \
        tl_a64(h)->v[op->rd] = out;                                                              \
        return true;                                                                             \
    }
NARROWER(addhn_v, SIZE, HALF_LANES, (a + b) >> bits)
NARROWER(raddhn_v, SIZE, HALF_LANES, (WIDE(a) + b + (WIDE(1) << (bits - 1))) >> bits)
NARROWER(subhn_v, SIZE, HALF_LANES, (a - b) >> bits)
NARROWER(rsubhn_v, SIZE, HALF_LANES, (WIDE(a) - b + (WIDE(1) << (bits - 1))) >> bits)
NARROWER(xtn_v, SIZE, HALF_LANES, a)
#define EXTRACT(name, expression)                    \
    NARROWER(name##_v, SIZE, HALF_LANES, expression) \
    NARROWER(name##_e, SIZE, 1, expression)
EXTRACT(sqxtn, SATS(sa, size))
EXTRACT(uqxtn, SATU((tl_a64_i128)a, size))
EXTRACT(sqxtun, SATU(sa, size))
LONGER(shll_v, HALF_LANES, UPPER, 0, a << bits)

// -- Two registers.
#define V2(name, expression) LANES(name##_v, SIZE, N_LANES(size), 0, expression)
#define V2E(name, expression) V2(name, expression) LANES(name##_e, SIZE, 1, 0, expression)
LANES(rev64_v, SIZE, N_LANES(size), 0, tl_a64_lane(&vn, size, i ^ ((8u >> size) - 1)))
LANES(rev32_v, SIZE, N_LANES(size), 0, tl_a64_lane(&vn, size, i ^ ((4u >> size) - 1)))
LANES(rev16_v, 0, N_LANES(size), 0, tl_a64_lane(&vn, size, i ^ 1))
V2(cls, tl_a64_leading_zeros((a ^ (uint64_t)(sa >> 1)) & ONES(size), bits) - 1)
V2(clz, tl_a64_leading_zeros(a, bits))
LANES(cnt_v, 0, N_LANES(size), 0, __builtin_popcountll(a))
LANES(not_v, 0, N_LANES(size), 0, ~a)
LANES(rbit_v, 0, N_LANES(size), 0, tl_a64_reverse_bits(a) >> 56)
V2E(suqadd, SATS(WIDE(sd) + (tl_a64_i128)a, size))
V2E(usqadd, SATU((tl_a64_i128)d + sa, size))
V2E(sqabs, SATS(sa < 0 ? -WIDE(sa) : sa, size))
V2E(sqneg, SATS(-WIDE(sa), size))
V2E(abs, sa < 0 ? 0 - (uint64_t)sa : (uint64_t)sa)
V2E(neg, 0 - a)
V2E(cmgt_zero, ALL(sa > 0))
V2E(cmge_zero, ALL(sa >= 0))
V2E(cmeq_zero, ALL(sa == 0))
V2E(cmle_zero, ALL(sa <= 0))
V2E(cmlt_zero, ALL(sa < 0))
// Sums of neighbors, of twice the size.
#define SUMS(name, accumulated, convert)                                                                                             \
    EXEC(name) {                                                                                                                     \
        const uint32_t size = SIZE;                                                                                                  \
        const tl_a64_vector vn = VN, vd = tl_a64(h)->v[op->rd];                                                                      \
        tl_a64_vector out = {.d = {0, 0}};                                                                                           \
        for (uint32_t i = 0; i < N_LANES(size) / 2; i++) {                                                                           \
            const uint64_t sum =                                                                                                     \
                (uint64_t)convert(tl_a64_lane(&vn, size, 2 * i), size) + (uint64_t)convert(tl_a64_lane(&vn, size, 2 * i + 1), size); \
            tl_a64_put_lane(&out, size + 1, i, sum + ((accumulated) ? tl_a64_lane(&vd, size + 1, i) : 0));                           \
        }                                                                                                                            \
        tl_a64(h)->v[op->rd] = out;                                                                                                  \
        return true;                                                                                                                 \
    }
#define AS_IT_IS(value, size) (value)
SUMS(saddlp_v, false, tl_a64_signed)
SUMS(uaddlp_v, false, AS_IT_IS)
SUMS(sadalp_v, true, tl_a64_signed)
SUMS(uadalp_v, true, AS_IT_IS)

#define F2(name, expression) LANES(name##_v, FSIZE, N_LANES(size), 0, expression)
#define F2E(name, expression) F2(name, expression) LANES(name##_e, FSIZE, 1, 0, expression)
F2(fabs, tl_a64_fabs(F, a))
F2(fneg, tl_a64_fneg(F, a))
F2(fsqrt, tl_a64_fsqrt(F, a, CR, SR))
F2(frintn, tl_a64_frint(F, a, TL_A64_TIEEVEN, false, CR, SR))
F2(frintp, tl_a64_frint(F, a, TL_A64_POSINF, false, CR, SR))
F2(frintm, tl_a64_frint(F, a, TL_A64_NEGINF, false, CR, SR))
F2(frintz, tl_a64_frint(F, a, TL_A64_ZERO_MODE, false, CR, SR))
F2(frinta, tl_a64_frint(F, a, TL_A64_TIEAWAY, false, CR, SR))
F2(frintx, tl_a64_frint(F, a, tl_a64_rmode(CR), true, CR, SR))
F2(frinti, tl_a64_frint(F, a, tl_a64_rmode(CR), false, CR, SR))
#define TO_INTS(letter, rounding)                                              \
    F2E(fcvt##letter##s, tl_a64_to_int(F, a, 0, bits, true, rounding, CR, SR)) \
    F2E(fcvt##letter##u, tl_a64_to_int(F, a, 0, bits, false, rounding, CR, SR))
TO_INTS(n, TL_A64_TIEEVEN)
TO_INTS(a, TL_A64_TIEAWAY)
TO_INTS(p, TL_A64_POSINF)
TO_INTS(m, TL_A64_NEGINF)
TO_INTS(z, TL_A64_ZERO_MODE)
F2E(scvtf, tl_a64_from_int(F, (uint64_t)sa, 0, true, CR, SR))
F2E(ucvtf, tl_a64_from_int(F, a, 0, false, CR, SR))
F2E(fcmgt_zero, IS_GT(a, 0))
F2E(fcmge_zero, IS_GE(a, 0))
F2E(fcmeq_zero, IS_EQ(a, 0))
F2E(fcmle_zero, IS_GE(0, a))
F2E(fcmlt_zero, IS_GT(0, a))
F2E(frecpe, tl_a64_frecpe(F, a, CR, SR))
F2E(frsqrte, tl_a64_frsqrte(F, a, CR, SR))
LANES(frecpx_e, FSIZE, 1, 0, tl_a64_frecpx(F, a, CR, SR))
F2(urecpe, tl_a64_urecpe((uint32_t)a))
F2(ursqrte, tl_a64_ursqrte((uint32_t)a))

#define SZ (RAW >> 22 & 1)
NARROWER(fcvtn_v, 1 + SZ, 4u >> SZ, tl_a64_fconvert((tl_a64_float)(size - 1), (tl_a64_float)size, a, tl_a64_rmode(CR), CR, SR))
NARROWER(fcvtxn_v, 2, 2, tl_a64_fconvert(TL_A64_SINGLE, TL_A64_DOUBLE, a, TL_A64_ODD, CR, SR))
NARROWER(fcvtxn_e, 2, 1, tl_a64_fconvert(TL_A64_SINGLE, TL_A64_DOUBLE, a, TL_A64_ODD, CR, SR))
EXEC(fcvtl_v) {
    const uint32_t size = 1 + SZ, n = 4u >> SZ;
    const tl_a64_vector vn = VN;
    tl_a64_vector out = {.d = {0, 0}};
    for (uint32_t i = 0; i < n; i++)
        tl_a64_put_lane(&out, size + 1, i,
                        tl_a64_fconvert((tl_a64_float)size, (tl_a64_float)(size - 1), tl_a64_lane(&vn, size, (Q ? n : 0) + i),
                                        tl_a64_rmode(CR), CR, SR));
    tl_a64(h)->v[op->rd] = out;
    return true;
}

// -- Across lanes. Floating point reduces halves of halves (manual: Reduce).
#define ACROSS(name, result_size, first, expression)                                            \
    EXEC(name) {                                                                                \
        const uint32_t size = SIZE, n = N_LANES(size);                                          \
        const tl_a64_vector vn = VN;                                                            \
        uint64_t d = (first);                                                                   \
        for (uint32_t i = 0; i < n; i++) {                                                      \
            const uint64_t a = tl_a64_lane(&vn, size, i);                                       \
            __attribute__((unused)) const int64_t sa = tl_a64_signed(a, size), sd = (int64_t)d; \
            d = (uint64_t)(expression);                                                         \
        }                                                                                       \
        return tl_a64_set_scalar(h, op->rd, d & ONES(result_size));                             \
    }
ACROSS(addv, size, 0, d + a)
ACROSS(saddlv, size + 1, 0, sd + sa)
ACROSS(uaddlv, size + 1, 0, d + a)
ACROSS(smaxv, size, (uint64_t)INT64_MIN, sa > sd ? sa : sd)
ACROSS(sminv, size, INT64_MAX, sa < sd ? sa : sd)
ACROSS(umaxv, size, 0, a > d ? a : d)
ACROSS(uminv, size, UINT64_MAX, a < d ? a : d)
#define FACROSS(name, function, is_number)                                                          \
    EXEC(name) {                                                                                    \
        const tl_a64_vector vn = VN;                                                                \
        const uint64_t low = function(TL_A64_SINGLE, vn.s[0], vn.s[1], is_number, CR, SR);          \
        const uint64_t high = function(TL_A64_SINGLE, vn.s[2], vn.s[3], is_number, CR, SR);         \
        return tl_a64_set_scalar(h, op->rd, function(TL_A64_SINGLE, low, high, is_number, CR, SR)); \
    }
FACROSS(fmaxv, tl_a64_fmax, false)
FACROSS(fminv, tl_a64_fmin, false)
FACROSS(fmaxnmv, tl_a64_fmax, true)
FACROSS(fminnmv, tl_a64_fmin, true)

// -- Copies and permutations.
#define IMM5 (RAW >> 16 & 31)
#define SIZE5 ((uint32_t)__builtin_ctz(IMM5))
#define INDEX5 (IMM5 >> (SIZE5 + 1))
LANES(dup_elem, SIZE5, N_LANES(size), 0, tl_a64_lane(&vn, size, INDEX5))
LANES(dup_e, SIZE5, 1, 0, tl_a64_lane(&vn, size, INDEX5))
EXEC(dup_gen) {
    const uint32_t size = SIZE5;
    tl_a64_vector out = {.d = {0, 0}};
    for (uint32_t i = 0; i < N_LANES(size); i++)
        tl_a64_put_lane(&out, size, i, tl_a64(h)->x[op->rn]);
    tl_a64(h)->v[op->rd] = out;
    return true;
}
EXEC(smov_w) {
    RD = (uint32_t)tl_a64_signed(tl_a64_lane(&VN, SIZE5, INDEX5), SIZE5);
    return true;
}
EXEC(smov_x) {
    RD = (uint64_t)tl_a64_signed(tl_a64_lane(&VN, SIZE5, INDEX5), SIZE5);
    return true;
}
EXEC(umov_w) {
    RD = tl_a64_lane(&VN, SIZE5, INDEX5);
    return true;
}
EXEC(umov_x) {
    RD = tl_a64_lane(&VN, SIZE5, INDEX5);
    return true;
}
EXEC(ins_gen) {
    tl_a64_put_lane(&tl_a64(h)->v[op->rd], SIZE5, INDEX5, tl_a64(h)->x[op->rn]);
    return true;
}
EXEC(ins_elem) {
    tl_a64_put_lane(&tl_a64(h)->v[op->rd], SIZE5, INDEX5, tl_a64_lane(&VN, SIZE5, (RAW >> 11 & 15) >> SIZE5));
    return true;
}
#define PAIR_LANE(v, k) tl_a64_lane(&(v), size, k)
LANES(zip1, SIZE, N_LANES(size), 0, PAIR_LANE(*(i & 1 ? &vm : &vn), i / 2))
LANES(zip2, SIZE, N_LANES(size), 0, PAIR_LANE(*(i & 1 ? &vm : &vn), n / 2 + i / 2))
LANES(uzp1, SIZE, N_LANES(size), 0, 2 * i < n ? PAIR_LANE(vn, 2 * i) : PAIR_LANE(vm, 2 * i - n))
LANES(uzp2, SIZE, N_LANES(size), 0, 2 * i < n ? PAIR_LANE(vn, 2 * i + 1) : PAIR_LANE(vm, 2 * i + 1 - n))
LANES(trn1, SIZE, N_LANES(size), 0, PAIR_LANE(*(i & 1 ? &vm : &vn), i & ~1u))
LANES(trn2, SIZE, N_LANES(size), 0, PAIR_LANE(*(i & 1 ? &vm : &vn), i | 1))
LANES(ext, 0, N_LANES(size), 0, i + (RAW >> 11 & 15) < n ? vn.b[i + (RAW >> 11 & 15)] : vm.b[i + (RAW >> 11 & 15) - n])
static inline uint64_t tl_a64_table(const tl_hart *h, uint32_t raw, uint32_t index, uint64_t beyond) {
    if (index >= 16 * ((raw >> 13 & 3) + 1))
        return beyond;
    return tl_a64(h)->v[((raw >> 5 & 31) + index / 16) & 31].b[index % 16];
}
LANES(tbl, 0, N_LANES(size), SAME, tl_a64_table(h, RAW, (uint32_t)b, 0))
LANES(tbx, 0, N_LANES(size), SAME, tl_a64_table(h, RAW, (uint32_t)b, d))

// -- Immediates.
#define EXPANDED tl_a64_simd_imm(RAW)
#define IMMEDIATE(name, expression) LANES(name, 3, 1 + Q, 0, expression)
IMMEDIATE(movi_s, EXPANDED)
IMMEDIATE(movi_h, EXPANDED)
IMMEDIATE(movi_b, EXPANDED)
IMMEDIATE(movi_d, EXPANDED)
IMMEDIATE(movi_e, EXPANDED)
IMMEDIATE(movi_msl, EXPANDED)
IMMEDIATE(fmov_v_s, EXPANDED)
IMMEDIATE(fmov_v_d, EXPANDED)
IMMEDIATE(mvni_s, ~EXPANDED)
IMMEDIATE(mvni_h, ~EXPANDED)
IMMEDIATE(mvni_msl, ~EXPANDED)
IMMEDIATE(orr_imm_s, d | EXPANDED)
IMMEDIATE(orr_imm_h, d | EXPANDED)
IMMEDIATE(bic_imm_s, d & ~EXPANDED)
IMMEDIATE(bic_imm_h, d & ~EXPANDED)

// -- Shifts by an immediate: immh:immb says the size and the amount.
#define IMM7 (RAW >> 16 & 127)
#define SIZE7 (28 - (uint32_t)__builtin_clz(IMM7))
#define RIGHT ((16u << size) - IMM7)
#define LEFT (IMM7 - (8u << size))
#define VI(name, expression) LANES(name##_vi, SIZE7, N_LANES(size), 0, expression)
#define VIE(name, expression) VI(name, expression) LANES(name##_ei, SIZE7, 1, 0, expression)
#define ROUND(amount) (WIDE(1) << ((amount)-1))
VIE(sshr, WIDE(sa) >> RIGHT)
VIE(ushr, WIDE(a) >> RIGHT)
VIE(ssra, WIDE(d) + (WIDE(sa) >> RIGHT))
VIE(usra, WIDE(d) + (WIDE(a) >> RIGHT))
VIE(srshr, (WIDE(sa) + ROUND(RIGHT)) >> RIGHT)
VIE(urshr, (WIDE(a) + ROUND(RIGHT)) >> RIGHT)
VIE(srsra, WIDE(d) + ((WIDE(sa) + ROUND(RIGHT)) >> RIGHT))
VIE(ursra, WIDE(d) + ((WIDE(a) + ROUND(RIGHT)) >> RIGHT))
VIE(shl, a << LEFT)
VIE(sli, (a << LEFT) | (d & ~(ONES(size) << LEFT)))
VIE(sri, (uint64_t)(WIDE(a) >> RIGHT) | (d & ~(uint64_t)(WIDE(ONES(size)) >> RIGHT)))
VIE(sqshl, tl_a64_shift(h, sa, (int8_t)LEFT, size, true, false, true))
VIE(uqshl, tl_a64_shift(h, (tl_a64_i128)a, (int8_t)LEFT, size, false, false, true))
VIE(sqshlu, tl_a64_shift(h, sa, (int8_t)LEFT, size, false, false, true))
VIE(scvtf, tl_a64_from_int(F, (uint64_t)sa, RIGHT, true, CR, SR))
VIE(ucvtf, tl_a64_from_int(F, a, RIGHT, false, CR, SR))
VIE(fcvtzs, tl_a64_to_int(F, a, RIGHT, bits, true, TL_A64_ZERO_MODE, CR, SR))
VIE(fcvtzu, tl_a64_to_int(F, a, RIGHT, bits, false, TL_A64_ZERO_MODE, CR, SR))
#define SHRN(name, expression) NARROWER(name##_vi, SIZE7, 8u >> size, expression)
#define SHRN_E(name, expression) SHRN(name, expression) NARROWER(name##_ei, SIZE7, 1, expression)
SHRN(shrn, a >> RIGHT)
SHRN(rshrn, (WIDE(a) + ROUND(RIGHT)) >> RIGHT)
SHRN_E(sqshrn, SATS(WIDE(sa) >> RIGHT, size))
SHRN_E(sqrshrn, SATS((WIDE(sa) + ROUND(RIGHT)) >> RIGHT, size))
SHRN_E(sqshrun, SATU(WIDE(sa) >> RIGHT, size))
SHRN_E(sqrshrun, SATU((WIDE(sa) + ROUND(RIGHT)) >> RIGHT, size))
SHRN_E(uqshrn, SATU(WIDE(a) >> RIGHT, size))
SHRN_E(uqrshrn, SATU((WIDE(a) + ROUND(RIGHT)) >> RIGHT, size))
#define SHIFT_LONG(name, convert)                                                                                         \
    EXEC(name) {                                                                                                          \
        const uint32_t size = SIZE7, n = 8u >> size;                                                                      \
        const tl_a64_vector vn = VN;                                                                                      \
        tl_a64_vector out = {.d = {0, 0}};                                                                                \
        for (uint32_t i = 0; i < n; i++)                                                                                  \
            tl_a64_put_lane(&out, size + 1, i, (uint64_t)convert(tl_a64_lane(&vn, size, (Q ? n : 0) + i), size) << LEFT); \
        tl_a64(h)->v[op->rd] = out;                                                                                       \
        return true;                                                                                                      \
    }
SHIFT_LONG(sshll_vi, tl_a64_signed)
SHIFT_LONG(ushll_vi, AS_IT_IS)

#endif
