// SPDX-License-Identifier: MIT
// Every operation splits its operands into sign, exponent and a 64-bit significand whose top bit is
// set. It computes enough bits of the exact result in 128 and folds the rest into one sticky bit.
// round_pack() rounds once.
#include "isa/rv/fp_soft.h"

#include "base/bits.h"
#include "base/wide_float.h"

typedef struct layout {
    uint32_t fraction_bits; // stored ones
    int32_t bias;
    uint64_t exponent_max;
    uint64_t nan; // the canonical one
} layout;
static const layout layouts[] = {
    [TL_FP_SINGLE] = {.fraction_bits = 23, .bias = 127, .exponent_max = 0xff, .nan = UINT64_C(0x7fc00000)},
    [TL_FP_DOUBLE] = {.fraction_bits = 52, .bias = 1023, .exponent_max = 0x7ff, .nan = UINT64_C(0x7ff8000000000000)},
};

typedef enum kind { ZERO, FINITE, INFINITE, NOT_A_NUMBER } kind;
typedef struct number {
    kind kind;
    bool is_negative, is_signaling;
    int32_t exponent; // value = significand * 2^(exponent - 63)
    uint64_t significand;
} number;

static uint32_t sign_bit(const layout *f) { return f->fraction_bits == 52 ? 63 : 31; }
static uint64_t sign_of(const layout *f, bool is_negative) { return (uint64_t)is_negative << sign_bit(f); }
static uint64_t infinity(const layout *f, bool is_negative) { return sign_of(f, is_negative) | f->exponent_max << f->fraction_bits; }
static uint64_t zero(const layout *f, bool is_negative) { return sign_of(f, is_negative); }

static number unpack(const layout *f, uint64_t bits) {
    const uint64_t fraction = tl_bits(bits, 0, f->fraction_bits);
    const uint64_t field = bits >> f->fraction_bits & f->exponent_max;
    number n = {.is_negative = bits >> sign_bit(f) & 1};
    if (field == f->exponent_max) {
        n.kind = fraction == 0 ? INFINITE : NOT_A_NUMBER;
        n.is_signaling = fraction != 0 && !(fraction >> (f->fraction_bits - 1));
        return n;
    }
    if (field == 0) {
        if (fraction == 0)
            return n;
        const int shift = __builtin_clzll(fraction);
        n.kind = FINITE;
        n.significand = fraction << shift;
        n.exponent = 1 - f->bias + (63 - shift) - (int32_t)f->fraction_bits;
        return n;
    }
    n.kind = FINITE;
    n.significand = (fraction | UINT64_C(1) << f->fraction_bits) << (63 - f->fraction_bits);
    n.exponent = (int32_t)field - f->bias;
    return n;
}

// Returns whether the magnitude goes up. `half` is the bit below the last one kept. `rest` tells
// whether any bit below `half` is set. `is_odd` is the last bit kept.
static bool rounds_up(tl_rm rm, bool is_negative, bool half, bool rest, bool is_odd) {
    switch (rm) {
    case TL_RNE: return half && (rest || is_odd);
    case TL_RDN: return is_negative && (half || rest);
    case TL_RUP: return !is_negative && (half || rest);
    case TL_RMM: return half;
    default: return false;
    }
}

typedef struct rounded {
    uint64_t kept;
    bool is_inexact;
} rounded;

// Drops the low `drop` (>= 1) bits of significand.rest, where `rest` stands for anything below.
static rounded round_off(tl_rm rm, bool is_negative, uint64_t significand, bool rest, uint32_t drop) {
    bool half;
    uint64_t kept = 0;
    if (drop > 64) {
        half = false;
        rest = true;
    } else {
        half = significand >> (drop - 1) & 1;
        rest = rest || (significand & ((UINT64_C(1) << (drop - 1)) - 1)) != 0;
        kept = drop == 64 ? 0 : significand >> drop;
    }
    return (rounded){kept + rounds_up(rm, is_negative, half, rest, kept & 1), half || rest};
}

static uint64_t round_pack(const layout *f, bool is_negative, int32_t exponent, uint64_t significand, bool rest, tl_rm rm, uint8_t *flags) {
    const int32_t exponent_min = 1 - f->bias;
    const uint32_t drop = 63 - f->fraction_bits;
    bool is_subnormal = exponent < exponent_min;
    rounded r;
    if (is_subnormal) {
        // The result is tiny unless rounding with unbounded exponent would carry into the normal
        // range.
        const rounded unbounded = round_off(rm, is_negative, significand, rest, drop);
        const bool is_tiny = exponent < exponent_min - 1 || unbounded.kept >> (f->fraction_bits + 1) == 0;
        const uint32_t extra = (uint32_t)(exponent_min - exponent);
        r = round_off(rm, is_negative, significand, rest, extra > 64 ? 65 : drop + extra);
        if (is_tiny && r.is_inexact)
            *flags |= TL_FP_UF;
    } else {
        r = round_off(rm, is_negative, significand, rest, drop);
    }
    if (r.is_inexact)
        *flags |= TL_FP_NX;
    // A kept hidden bit, and a carry out of the fraction, each add one to the exponent field.
    uint64_t magnitude = r.kept;
    if (!is_subnormal) {
        const uint64_t below = (uint64_t)(exponent + f->bias - 1);
        if (below + (r.kept >> f->fraction_bits) >= f->exponent_max) {
            *flags |= TL_FP_OF | TL_FP_NX;
            const bool to_infinity = rm == TL_RNE || rm == TL_RMM || (rm == TL_RUP && !is_negative) || (rm == TL_RDN && is_negative);
            return infinity(f, is_negative) - !to_infinity;
        }
        magnitude += below << f->fraction_bits;
    }
    return sign_of(f, is_negative) | magnitude;
}

static uint64_t invalid(const layout *f, uint8_t *flags) {
    *flags |= TL_FP_NV;
    return f->nan;
}

static uint64_t nan_result(const layout *f, bool is_signaling, uint8_t *flags) { return is_signaling ? invalid(f, flags) : f->nan; }

static uint64_t round_wide(const layout *f, tl_wide w, tl_rm rm, uint8_t *flags) {
    w = tl_wide_normalize(w);
    return round_pack(f, w.is_negative, w.exponent, (uint64_t)(w.bits >> 64), (uint64_t)w.bits != 0, rm, flags);
}

static tl_wide widen(number n) { return tl_wide_of(n.is_negative, n.exponent, n.significand); }
static tl_wide product_of(number a, number b) {
    return tl_wide_product(a.is_negative != b.is_negative, a.exponent + b.exponent, a.significand, b.significand);
}

static uint64_t add_wide(const layout *f, tl_wide a, tl_wide b, tl_rm rm, uint8_t *flags) {
    const tl_wide sum = tl_wide_sum(a, b);
    return sum.bits == 0 ? zero(f, rm == TL_RDN) : round_wide(f, sum, rm, flags);
}

uint64_t tl_soft_add(tl_fp_format format, uint64_t a_bits, uint64_t b_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits), b = unpack(f, b_bits);
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
        return nan_result(f, a.is_signaling || b.is_signaling, flags);
    if (a.kind == INFINITE && b.kind == INFINITE && a.is_negative != b.is_negative)
        return invalid(f, flags);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return infinity(f, a.kind == INFINITE ? a.is_negative : b.is_negative);
    if (a.kind == ZERO && b.kind == ZERO)
        return zero(f, a.is_negative == b.is_negative ? a.is_negative : rm == TL_RDN);
    if (a.kind == ZERO || b.kind == ZERO)
        return a.kind == ZERO ? b_bits : a_bits;
    return add_wide(f, widen(a), widen(b), rm, flags);
}

uint64_t tl_soft_sub(tl_fp_format format, uint64_t a, uint64_t b, tl_rm rm, uint8_t *flags) {
    return tl_soft_add(format, a, b ^ UINT64_C(1) << sign_bit(&layouts[format]), rm, flags);
}

uint64_t tl_soft_mul(tl_fp_format format, uint64_t a_bits, uint64_t b_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits), b = unpack(f, b_bits);
    const bool is_negative = a.is_negative != b.is_negative;
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
        return nan_result(f, a.is_signaling || b.is_signaling, flags);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return a.kind == ZERO || b.kind == ZERO ? invalid(f, flags) : infinity(f, is_negative);
    if (a.kind == ZERO || b.kind == ZERO)
        return zero(f, is_negative);
    return round_wide(f, product_of(a, b), rm, flags);
}

uint64_t tl_soft_fma(tl_fp_format format, uint64_t a_bits, uint64_t b_bits, uint64_t c_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits), b = unpack(f, b_bits), c = unpack(f, c_bits);
    const bool is_negative = a.is_negative != b.is_negative;
    if ((a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE))
        return invalid(f, flags); // even when c is a quiet NaN
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER || c.kind == NOT_A_NUMBER)
        return nan_result(f, a.is_signaling || b.is_signaling || c.is_signaling, flags);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return c.kind == INFINITE && c.is_negative != is_negative ? invalid(f, flags) : infinity(f, is_negative);
    if (c.kind == INFINITE)
        return infinity(f, c.is_negative);
    if (a.kind == ZERO || b.kind == ZERO) {
        if (c.kind != ZERO)
            return c_bits;
        return zero(f, c.is_negative == is_negative ? is_negative : rm == TL_RDN);
    }
    const tl_wide product = product_of(a, b);
    if (c.kind == ZERO)
        return round_wide(f, product, rm, flags);
    return add_wide(f, product, widen(c), rm, flags);
}

uint64_t tl_soft_div(tl_fp_format format, uint64_t a_bits, uint64_t b_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits), b = unpack(f, b_bits);
    const bool is_negative = a.is_negative != b.is_negative;
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
        return nan_result(f, a.is_signaling || b.is_signaling, flags);
    if (a.kind == b.kind && a.kind != FINITE)
        return invalid(f, flags); // 0/0, inf/inf
    if (a.kind == INFINITE || b.kind == ZERO) {
        if (a.kind != INFINITE)
            *flags |= TL_FP_DZ;
        return infinity(f, is_negative);
    }
    if (a.kind == ZERO || b.kind == INFINITE)
        return zero(f, is_negative);
    const bool is_less = a.significand < b.significand;
    const tl_wide_bits dividend = (tl_wide_bits)a.significand << (is_less ? 64 : 63);
    const uint64_t quotient = (uint64_t)(dividend / b.significand);
    return round_pack(f, is_negative, a.exponent - b.exponent - is_less, quotient, dividend % b.significand != 0, rm, flags);
}

uint64_t tl_soft_sqrt(tl_fp_format format, uint64_t a_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits);
    if (a.kind == NOT_A_NUMBER)
        return nan_result(f, a.is_signaling, flags);
    if (a.kind == ZERO)
        return a_bits;
    if (a.is_negative)
        return invalid(f, flags);
    if (a.kind == INFINITE)
        return a_bits;
    const uint32_t is_odd = (uint32_t)a.exponent & 1;
    const tl_wide_bits radicand = (tl_wide_bits)a.significand << (63 + is_odd);
    const uint64_t root = tl_wide_root(radicand);
    return round_pack(f, false, (a.exponent - (int32_t)is_odd) / 2, root, (tl_wide_bits)root * root != radicand, rm, flags);
}

uint64_t tl_soft_convert(tl_fp_format to, tl_fp_format from, uint64_t a_bits, tl_rm rm, uint8_t *flags) {
    const layout *f = &layouts[to];
    const number a = unpack(&layouts[from], a_bits);
    switch (a.kind) {
    case NOT_A_NUMBER: return nan_result(f, a.is_signaling, flags);
    case INFINITE: return infinity(f, a.is_negative);
    case ZERO: return zero(f, a.is_negative);
    case FINITE: break;
    }
    return round_pack(f, a.is_negative, a.exponent, a.significand, false, rm, flags);
}

uint64_t tl_soft_to_int(tl_fp_int to, tl_fp_format from, uint64_t a_bits, tl_rm rm, uint8_t *flags) {
    static const struct {
        uint64_t most, most_negative; // magnitudes
        uint64_t high, low;           // what saturation gives
    } ranges[] = {
        [TL_FP_W] = {INT32_MAX, UINT64_C(1) << 31, INT32_MAX, UINT64_C(0xffffffff80000000)},
        [TL_FP_WU] = {UINT32_MAX, 0, UINT64_MAX, 0}, // sign-extended like every word
        [TL_FP_L] = {INT64_MAX, UINT64_C(1) << 63, INT64_MAX, UINT64_C(1) << 63},
        [TL_FP_LU] = {UINT64_MAX, 0, UINT64_MAX, 0},
    };
    const number a = unpack(&layouts[from], a_bits);
    const bool is_negative = a.is_negative && a.kind != NOT_A_NUMBER;
    rounded r = {0, false};
    bool is_in_range = a.kind == ZERO;
    if (a.kind == FINITE && a.exponent < 64) {
        if (a.exponent == 63)
            r.kept = a.significand;
        else
            r = round_off(rm, is_negative, a.significand, false, a.exponent < -1 ? 65 : (uint32_t)(63 - a.exponent));
        is_in_range = r.kept <= (is_negative ? ranges[to].most_negative : ranges[to].most);
    }
    if (!is_in_range) {
        *flags |= TL_FP_NV;
        return is_negative ? ranges[to].low : ranges[to].high;
    }
    if (r.is_inexact)
        *flags |= TL_FP_NX;
    const uint64_t value = is_negative ? 0 - r.kept : r.kept;
    return to == TL_FP_WU ? (uint64_t)tl_sext(value, 32) : value;
}

uint64_t tl_soft_from_int(tl_fp_format to, tl_fp_int from, uint64_t a, tl_rm rm, uint8_t *flags) {
    if (from == TL_FP_W)
        a = (uint64_t)tl_sext(a, 32);
    else if (from == TL_FP_WU)
        a = (uint32_t)a;
    const bool is_negative = (from == TL_FP_W || from == TL_FP_L) && (int64_t)a < 0;
    const uint64_t magnitude = is_negative ? 0 - a : a;
    if (magnitude == 0)
        return 0;
    const int shift = __builtin_clzll(magnitude);
    return round_pack(&layouts[to], is_negative, 63 - shift, magnitude << shift, false, rm, flags);
}

typedef enum order { LESS, EQUAL, GREATER, UNORDERED } order;

static order compare(const layout *f, uint64_t a_bits, uint64_t b_bits, bool is_signaling, uint8_t *flags) {
    const number a = unpack(f, a_bits), b = unpack(f, b_bits);
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER) {
        if (is_signaling || a.is_signaling || b.is_signaling)
            *flags |= TL_FP_NV;
        return UNORDERED;
    }
    if (a_bits == b_bits || (a.kind == ZERO && b.kind == ZERO))
        return EQUAL;
    if (a.is_negative != b.is_negative)
        return a.is_negative ? LESS : GREATER;
    return (a_bits < b_bits) != a.is_negative ? LESS : GREATER;
}

bool tl_soft_eq(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags) {
    return compare(&layouts[format], a, b, false, flags) == EQUAL;
}
bool tl_soft_lt(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags) {
    return compare(&layouts[format], a, b, true, flags) == LESS;
}
bool tl_soft_le(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags) {
    const order result = compare(&layouts[format], a, b, true, flags);
    return result == LESS || result == EQUAL;
}
