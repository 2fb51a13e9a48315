// SPDX-License-Identifier: MIT
// Floating-point operands for instruction bodies: boxes, canonical NaNs, and the test whether the
// host's arithmetic suffices. Files that use the host's arithmetic are compiled with
// -frounding-math -ftrapping-math -ffp-contract=off.
#ifndef TL_ISA_RV_FP_OPS_H
#define TL_ISA_RV_FP_OPS_H

#include "isa/rv/exec.h"
#include "isa/rv/fp_soft.h"

static const uint64_t TL_NAN_DOUBLE = UINT64_C(0x7ff8000000000000);
static const uint32_t TL_NAN_SINGLE = UINT32_C(0x7fc00000);

// Executes the instruction in integers, in any rounding mode. false: reserved rounding mode,
// trapped as illegal.
bool tl_fp_slow(tl_hart *h, const tl_op *op, tl_opc opc);
#ifdef TL_EXEC_FAST
#define TL_FP_SLOW(name) false
#else
#define TL_FP_SLOW(name) tl_fp_slow(h, op, TL_OPC_##name)
#endif

// A single in a 64-bit register has all upper bits set; any other value reads as the canonical NaN.
// The compiler must not see a NaN, because gcc 12 folds `x < NaN` to false and loses the invalid
// flag.
TL_ALWAYS_INLINE uint32_t tl_unbox(uint64_t reg) {
    if (TL_LIKELY(reg >= UINT64_C(0xffffffff00000000)))
        return (uint32_t)reg;
    uint32_t nan = TL_NAN_SINGLE;
    __asm__("" : "+r"(nan));
    return nan;
}
TL_ALWAYS_INLINE uint64_t tl_box(uint32_t bits) { return UINT64_C(0xffffffff00000000) | bits; }

TL_ALWAYS_INLINE float tl_float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
TL_ALWAYS_INLINE double tl_double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
TL_ALWAYS_INLINE uint32_t tl_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
TL_ALWAYS_INLINE uint64_t tl_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
TL_ALWAYS_INLINE float tl_get_float(const tl_hart *h, uint8_t reg) { return tl_float_of(tl_unbox(tl_rv(h)->f[reg])); }
TL_ALWAYS_INLINE double tl_get_double(const tl_hart *h, uint8_t reg) { return tl_double_of(tl_rv(h)->f[reg]); }

TL_ALWAYS_INLINE bool tl_set_float(tl_hart *h, uint8_t reg, float value) {
    tl_rv(h)->f[reg] = tl_box(TL_LIKELY(value == value) ? tl_float_bits(value) : TL_NAN_SINGLE);
    return true;
}
TL_ALWAYS_INLINE bool tl_set_double(tl_hart *h, uint8_t reg, double value) {
    tl_rv(h)->f[reg] = TL_LIKELY(value == value) ? tl_double_bits(value) : TL_NAN_DOUBLE;
    return true;
}

// The host rounds as h->frm says, if that is one of the first four. One test covers nearly every
// case: frm RNE and rm RNE or dynamic.
TL_ALWAYS_INLINE bool tl_host_rounds(const tl_hart *h, uint32_t rm) {
    if (!TL_FP_HOST)
        return false;
    if (TL_LIKELY((((rm + 1) & 6) | tl_rv(h)->frm) == 0))
        return true;
    return tl_rv(h)->frm <= TL_RUP && (rm == tl_rv(h)->frm || rm == TL_RM_DYN);
}

// Exact results are the same in every rounding mode.
TL_ALWAYS_INLINE bool tl_rm_is_valid(const tl_hart *h, uint32_t rm) { return rm <= TL_RMM || (rm == TL_RM_DYN && tl_rv(h)->frm <= TL_RMM); }

// Instructions of the host that raise its flags are volatile, because a fast form must raise none
// before it gives up. Compilers take the intrinsics for functions without effects: gcc -O1 executes
// conversions before the test of their range.

// Computes a * b + c with one rounding, by the host's instruction where it has one.
TL_ALWAYS_INLINE bool tl_host_has_fma(void) {
#if TL_FP_HOST
    return __builtin_cpu_supports("fma");
#else
    return false;
#endif
}
#if TL_FP_HOST
TL_ALWAYS_INLINE double tl_host_fma(double a, double b, double c) {
    __asm__ volatile("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
}
TL_ALWAYS_INLINE float tl_host_fmaf(float a, float b, float c) {
    __asm__ volatile("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
}
TL_ALWAYS_INLINE double tl_host_sqrt_double(double a) {
    __asm__ volatile("sqrtsd %0, %0" : "+x"(a));
    return a;
}
TL_ALWAYS_INLINE float tl_host_sqrt_float(float a) {
    __asm__ volatile("sqrtss %0, %0" : "+x"(a));
    return a;
}
#define TL_HOST_TO_INT(name, instruction, from, to)                          \
    TL_ALWAYS_INLINE to name(from value) {                                   \
        to result;                                                           \
        __asm__ volatile(instruction " %1, %0" : "=r"(result) : "x"(value)); \
        return result;                                                       \
    }
// Rounds values in range toward zero.
TL_HOST_TO_INT(tl_host_double_to_w, "cvttsd2si", double, int32_t)
TL_HOST_TO_INT(tl_host_double_to_l, "cvttsd2si", double, int64_t)
TL_HOST_TO_INT(tl_host_float_to_w, "cvttss2si", float, int32_t)
TL_HOST_TO_INT(tl_host_float_to_l, "cvttss2si", float, int64_t)
// Rounds values whose magnitude is below 2^62 to an integer in another mode. false: the host
// cannot, and nothing happened. Down and up correct the result of toward zero, which is exact as a
// double.
#define TL_HOST_ROUND(type, round, truncate)                                                                    \
    TL_ALWAYS_INLINE bool tl_host_round_##type(const tl_hart *h, uint32_t rm, type value, int64_t *ret_value) { \
        if (rm == TL_RM_DYN || rm == tl_rv(h)->frm) {                                                           \
            if (tl_rv(h)->frm > TL_RUP)                                                                         \
                return false;                                                                                   \
            *ret_value = round(value);                                                                          \
            return true;                                                                                        \
        }                                                                                                       \
        if (rm != TL_RDN && rm != TL_RUP)                                                                       \
            return false;                                                                                       \
        const int64_t whole = truncate(value);                                                                  \
        *ret_value = rm == TL_RDN ? whole - ((type)whole > value) : whole + ((type)whole < value);              \
        return true;                                                                                            \
    }
TL_HOST_TO_INT(tl_host_double_by_frm, "cvtsd2si", double, int64_t)
TL_HOST_TO_INT(tl_host_float_by_frm, "cvtss2si", float, int64_t)
TL_HOST_ROUND(double, tl_host_double_by_frm, tl_host_double_to_l)
TL_HOST_ROUND(float, tl_host_float_by_frm, tl_host_float_to_l)
#undef TL_HOST_ROUND
#undef TL_HOST_TO_INT
#else
// Never reached: tl_host_rounds() is false.
TL_ALWAYS_INLINE bool tl_host_round_double(const tl_hart *h, uint32_t rm, double value, int64_t *ret_value) {
    (void)h, (void)rm, (void)value, (void)ret_value;
    return false;
}
TL_ALWAYS_INLINE bool tl_host_round_float(const tl_hart *h, uint32_t rm, float value, int64_t *ret_value) {
    (void)h, (void)rm, (void)value, (void)ret_value;
    return false;
}
TL_ALWAYS_INLINE double tl_host_sqrt_double(double a) { return a; }
TL_ALWAYS_INLINE float tl_host_sqrt_float(float a) { return a; }
TL_ALWAYS_INLINE double tl_host_fma(double a, double b, double c) { return a * b + c; }
TL_ALWAYS_INLINE float tl_host_fmaf(float a, float b, float c) { return a * b + c; }
TL_ALWAYS_INLINE int32_t tl_host_double_to_w(double value) { return (int32_t)value; }
TL_ALWAYS_INLINE int64_t tl_host_double_to_l(double value) { return (int64_t)value; }
TL_ALWAYS_INLINE int32_t tl_host_float_to_w(float value) { return (int32_t)value; }
TL_ALWAYS_INLINE int64_t tl_host_float_to_l(float value) { return (int64_t)value; }
#endif

// Returns one of ten bits (unprivileged manual, table "Format of result of FCLASS").
TL_ALWAYS_INLINE uint64_t tl_fp_class(bool is_negative, uint64_t exponent, uint64_t exponent_max, uint64_t fraction, bool is_quiet) {
    if (exponent == exponent_max) {
        if (fraction != 0)
            return is_quiet ? 1 << 9 : 1 << 8;
        return is_negative ? 1 << 0 : 1 << 7;
    }
    if (exponent != 0)
        return is_negative ? 1 << 1 : 1 << 6;
    if (fraction != 0)
        return is_negative ? 1 << 2 : 1 << 5;
    return is_negative ? 1 << 3 : 1 << 4;
}

#endif
