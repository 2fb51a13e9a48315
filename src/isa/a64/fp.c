// SPDX-License-Identifier: MIT
// Floating point in integers. A number is unpacked to a significand whose top bit is set. Results
// have 128 bits and a sticky bit for all below, and are rounded once. Tininess is detected before
// rounding, as A64 does.
#include "isa/a64/fp.h"

#include "base/bits.h"
#include "base/wide_float.h"

typedef struct layout {
    uint32_t fraction_bits, exponent_max; // exponent field of infinities and NaNs
    int32_t bias;
} layout;
static const layout layouts[] = {
    [TL_A64_HALF] = {10, 31, 15},
    [TL_A64_SINGLE] = {23, 255, 127},
    [TL_A64_DOUBLE] = {52, 2047, 1023},
};

static uint32_t sign_bit(const layout *f) { return f->fraction_bits + (f->exponent_max == 31 ? 5 : f->exponent_max == 255 ? 8 : 11); }
static uint64_t sign_of(const layout *f, bool is_negative) { return (uint64_t)is_negative << sign_bit(f); }
static uint64_t infinity(const layout *f, bool is_negative) {
    return sign_of(f, is_negative) | (uint64_t)f->exponent_max << f->fraction_bits;
}
static uint64_t zero(const layout *f, bool is_negative) { return sign_of(f, is_negative); }
static uint64_t default_nan(const layout *f) { return infinity(f, false) | UINT64_C(1) << (f->fraction_bits - 1); }
static uint64_t quiet_bit(const layout *f) { return UINT64_C(1) << (f->fraction_bits - 1); }
static uint64_t power_of_2(const layout *f, bool is_negative, int32_t exponent) {
    return sign_of(f, is_negative) | (uint64_t)(exponent + f->bias) << f->fraction_bits;
}

typedef enum kind { ZERO, FINITE, INFINITE, QUIET, SIGNALING } kind;
typedef struct number { // value = significand * 2^(exponent - 63), top bit of the significand set
    kind kind;
    bool is_negative;
    int32_t exponent;
    uint64_t significand;
} number;

static bool is_nan(number n) { return n.kind >= QUIET; }

// Manual: FPUnpackBase. Half precision is never flushed; with FPCR.AHP it has no infinities and no
// NaNs.
static number unpack(const layout *f, uint64_t bits, uint32_t fpcr, uint32_t *fpsr) {
    const uint64_t fraction = bits & ((UINT64_C(1) << f->fraction_bits) - 1);
    const uint32_t field = (uint32_t)(bits >> f->fraction_bits) & f->exponent_max;
    number n = {.kind = ZERO, .is_negative = bits >> sign_bit(f) & 1};
    const bool is_half = f->exponent_max == 31;
    if (field == f->exponent_max && !(is_half && (fpcr & TL_A64_AHP))) {
        n.kind = fraction == 0 ? INFINITE : fraction & quiet_bit(f) ? QUIET : SIGNALING;
        return n;
    }
    if (field == 0) {
        if (fraction == 0)
            return n;
        if (!is_half && (fpcr & TL_A64_FZ)) {
            *fpsr |= TL_A64_IDC;
            return n;
        }
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

// Returns whether the magnitude goes up. half: the bit below the last one kept. rest: anything is
// below that. is_odd: the last bit kept.
static bool rounds_up(tl_a64_rounding rounding, bool is_negative, bool half, bool rest, bool is_odd) {
    switch (rounding) {
    case TL_A64_TIEEVEN: return half && (rest || is_odd);
    case TL_A64_POSINF: return !is_negative && (half || rest);
    case TL_A64_NEGINF: return is_negative && (half || rest);
    case TL_A64_TIEAWAY: return half;
    default: return false;
    }
}

typedef struct rounded {
    uint64_t kept;
    bool is_inexact;
} rounded;

// Drops the low `drop` (>= 1) bits of significand.rest, where `rest` stands for anything below.
static rounded round_off(tl_a64_rounding rounding, bool is_negative, uint64_t significand, bool rest, uint32_t drop) {
    bool half = false;
    uint64_t kept = 0;
    if (drop > 64) {
        rest = true;
    } else {
        half = significand >> (drop - 1) & 1;
        rest = rest || (significand & ((UINT64_C(1) << (drop - 1)) - 1)) != 0;
        kept = drop == 64 ? 0 : significand >> drop;
    }
    const bool is_inexact = half || rest;
    if (rounding == TL_A64_ODD)
        return (rounded){kept | is_inexact, is_inexact};
    return (rounded){kept + rounds_up(rounding, is_negative, half, rest, kept & 1), is_inexact};
}

// Manual: FPRoundBase.
static uint64_t round_pack(const layout *f, bool is_negative, int32_t exponent, uint64_t significand, bool rest, tl_a64_rounding rounding,
                           uint32_t fpcr, uint32_t *fpsr) {
    const int32_t exponent_min = 1 - f->bias;
    const uint32_t drop = 63 - f->fraction_bits;
    const bool is_half = f->exponent_max == 31, is_tiny = exponent < exponent_min;
    if (is_tiny && !is_half && (fpcr & TL_A64_FZ)) {
        *fpsr |= TL_A64_UFC; // flushed before it is rounded, so it is not inexact
        return zero(f, is_negative);
    }
    rounded r;
    if (is_tiny) {
        const uint32_t extra = (uint32_t)(exponent_min - exponent);
        r = round_off(rounding, is_negative, significand, rest, extra > 64 ? 65 : drop + extra);
        if (r.is_inexact)
            *fpsr |= TL_A64_UFC;
    } else {
        r = round_off(rounding, is_negative, significand, rest, drop);
    }
    // A kept hidden bit, and a carry out of the fraction, add one to the exponent field by
    // themselves.
    uint64_t magnitude = r.kept;
    if (!is_tiny) {
        const uint64_t below = (uint64_t)(exponent + f->bias - 1), field = below + (r.kept >> f->fraction_bits);
        if (is_half && (fpcr & TL_A64_AHP)) {
            if (field >= 32) { // the format has no infinity
                *fpsr |= TL_A64_IOC;
                return sign_of(f, is_negative) | 0x7fff;
            }
        } else if (field >= f->exponent_max) {
            *fpsr |= TL_A64_OFC | TL_A64_IXC;
            const bool to_infinity = rounding == TL_A64_TIEEVEN || rounding == TL_A64_TIEAWAY ||
                                     (rounding == TL_A64_POSINF && !is_negative) || (rounding == TL_A64_NEGINF && is_negative);
            return infinity(f, is_negative) - !to_infinity;
        }
        magnitude += below << f->fraction_bits;
    }
    if (r.is_inexact)
        *fpsr |= TL_A64_IXC;
    return sign_of(f, is_negative) | magnitude;
}

static uint64_t invalid(const layout *f, uint32_t *fpsr) {
    *fpsr |= TL_A64_IOC;
    return default_nan(f);
}

// Manual: FPProcessNaN. A NaN is the result, made quiet.
static uint64_t process_nan(const layout *f, uint64_t bits, bool is_signaling, uint32_t fpcr, uint32_t *fpsr) {
    if (is_signaling)
        *fpsr |= TL_A64_IOC;
    return fpcr & TL_A64_DN ? default_nan(f) : bits | quiet_bit(f);
}

// Manual: FPProcessNaNs. The first signaling NaN is the result, else the first quiet one.
static uint64_t process_nans(const layout *f, number a, uint64_t a_bits, number b, uint64_t b_bits, uint32_t fpcr, uint32_t *fpsr) {
    if (a.kind == SIGNALING)
        return process_nan(f, a_bits, true, fpcr, fpsr);
    if (b.kind == SIGNALING)
        return process_nan(f, b_bits, true, fpcr, fpsr);
    return a.kind == QUIET ? process_nan(f, a_bits, false, fpcr, fpsr) : process_nan(f, b_bits, false, fpcr, fpsr);
}

static uint64_t round_wide(const layout *f, tl_wide w, tl_a64_rounding rounding, uint32_t fpcr, uint32_t *fpsr) {
    w = tl_wide_normalize(w);
    return round_pack(f, w.is_negative, w.exponent, (uint64_t)(w.bits >> 64), (uint64_t)w.bits != 0, rounding, fpcr, fpsr);
}

static tl_wide widen(number n) { return tl_wide_of(n.is_negative, n.exponent, n.significand); }
static tl_wide product_of(number a, number b) {
    return tl_wide_product(a.is_negative != b.is_negative, a.exponent + b.exponent, a.significand, b.significand);
}

// The sum is scaled by 2^scale before it is rounded.
static uint64_t add_wide(const layout *f, tl_wide a, tl_wide b, int32_t scale, uint32_t fpcr, uint32_t *fpsr) {
    tl_wide sum = tl_wide_sum(a, b);
    if (sum.bits == 0)
        return zero(f, tl_a64_rmode(fpcr) == TL_A64_NEGINF);
    sum.exponent += scale;
    return round_wide(f, sum, tl_a64_rmode(fpcr), fpcr, fpsr);
}

// Back to bits, exactly. The operands are subnormal numbers that were not flushed.
static uint64_t pack_exact(const layout *f, number n) {
    uint32_t ignored = 0;
    return round_pack(f, n.is_negative, n.exponent, n.significand, false, TL_A64_TIEEVEN, 0, &ignored);
}

uint64_t tl_a64_fneg(tl_a64_float format, uint64_t a) { return a ^ UINT64_C(1) << sign_bit(&layouts[format]); }
uint64_t tl_a64_fabs(tl_a64_float format, uint64_t a) { return a & ~(UINT64_C(1) << sign_bit(&layouts[format])); }

static uint64_t add(const layout *f, number a, uint64_t a_bits, number b, uint64_t b_bits, uint32_t fpcr, uint32_t *fpsr) {
    if (is_nan(a) || is_nan(b))
        return process_nans(f, a, a_bits, b, b_bits, fpcr, fpsr);
    if (a.kind == INFINITE && b.kind == INFINITE && a.is_negative != b.is_negative)
        return invalid(f, fpsr);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return infinity(f, a.kind == INFINITE ? a.is_negative : b.is_negative);
    if (a.kind == ZERO && b.kind == ZERO)
        return zero(f, a.is_negative == b.is_negative ? a.is_negative : tl_a64_rmode(fpcr) == TL_A64_NEGINF);
    if (a.kind == ZERO || b.kind == ZERO)
        return pack_exact(f, a.kind == ZERO ? b : a);
    return add_wide(f, widen(a), widen(b), 0, fpcr, fpsr);
}

uint64_t tl_a64_fadd(tl_a64_float format, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number x = unpack(f, a, fpcr, fpsr), y = unpack(f, b, fpcr, fpsr);
    return add(f, x, a, y, b, fpcr, fpsr);
}

uint64_t tl_a64_fsub(tl_a64_float format, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number x = unpack(f, a, fpcr, fpsr);
    number y = unpack(f, b, fpcr, fpsr);
    y.is_negative = !y.is_negative; // of a number; a NaN keeps its sign
    return add(f, x, a, y, b, fpcr, fpsr);
}

static uint64_t multiply(tl_a64_float format, uint64_t a_bits, uint64_t b_bits, bool is_extended, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr), b = unpack(f, b_bits, fpcr, fpsr);
    const bool is_negative = a.is_negative != b.is_negative;
    if (is_nan(a) || is_nan(b))
        return process_nans(f, a, a_bits, b, b_bits, fpcr, fpsr);
    if ((a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE))
        return is_extended ? power_of_2(f, is_negative, 1) : invalid(f, fpsr);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return infinity(f, is_negative);
    if (a.kind == ZERO || b.kind == ZERO)
        return zero(f, is_negative);
    return round_wide(f, product_of(a, b), tl_a64_rmode(fpcr), fpcr, fpsr);
}
uint64_t tl_a64_fmul(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) { return multiply(f, a, b, false, fpcr, fpsr); }
uint64_t tl_a64_fmulx(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) { return multiply(f, a, b, true, fpcr, fpsr); }

uint64_t tl_a64_fdiv(tl_a64_float format, uint64_t a_bits, uint64_t b_bits, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr), b = unpack(f, b_bits, fpcr, fpsr);
    const bool is_negative = a.is_negative != b.is_negative;
    if (is_nan(a) || is_nan(b))
        return process_nans(f, a, a_bits, b, b_bits, fpcr, fpsr);
    if (a.kind == b.kind && a.kind != FINITE)
        return invalid(f, fpsr); // 0/0, inf/inf
    if (a.kind == INFINITE || b.kind == ZERO) {
        if (a.kind != INFINITE)
            *fpsr |= TL_A64_DZC;
        return infinity(f, is_negative);
    }
    if (a.kind == ZERO || b.kind == INFINITE)
        return zero(f, is_negative);
    const bool is_less = a.significand < b.significand;
    const tl_wide_bits dividend = (tl_wide_bits)a.significand << (is_less ? 64 : 63);
    const uint64_t quotient = (uint64_t)(dividend / b.significand);
    return round_pack(f, is_negative, a.exponent - b.exponent - is_less, quotient, dividend % b.significand != 0, tl_a64_rmode(fpcr), fpcr,
                      fpsr);
}

// Manual: FPMulAdd. The result is scaled by 2^scale before it is rounded, for FRSQRTS.
static uint64_t fused(const layout *f, number c, uint64_t c_bits, number a, uint64_t a_bits, number b, uint64_t b_bits, int32_t scale,
                      uint32_t fpcr, uint32_t *fpsr) {
    const bool is_negative = a.is_negative != b.is_negative;
    const bool is_inf_times_0 = (a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE);
    if (c.kind == QUIET && is_inf_times_0)
        return invalid(f, fpsr);
    if (is_nan(c) || is_nan(a) || is_nan(b)) { // signaling before quiet; addend, first, second
        if (c.kind == SIGNALING)
            return process_nan(f, c_bits, true, fpcr, fpsr);
        if (a.kind == SIGNALING)
            return process_nan(f, a_bits, true, fpcr, fpsr);
        if (b.kind == SIGNALING)
            return process_nan(f, b_bits, true, fpcr, fpsr);
        return process_nan(f, c.kind == QUIET ? c_bits : a.kind == QUIET ? a_bits : b_bits, false, fpcr, fpsr);
    }
    const bool is_product_infinite = a.kind == INFINITE || b.kind == INFINITE, is_product_zero = a.kind == ZERO || b.kind == ZERO;
    if (is_inf_times_0 || (c.kind == INFINITE && is_product_infinite && c.is_negative != is_negative))
        return invalid(f, fpsr);
    if (c.kind == INFINITE || is_product_infinite)
        return infinity(f, c.kind == INFINITE ? c.is_negative : is_negative);
    if (c.kind == ZERO && is_product_zero)
        return zero(f, c.is_negative == is_negative ? is_negative : tl_a64_rmode(fpcr) == TL_A64_NEGINF);
    if (is_product_zero) {
        c.exponent += scale;
        return round_pack(f, c.is_negative, c.exponent, c.significand, false, tl_a64_rmode(fpcr), fpcr, fpsr);
    }
    tl_wide product = product_of(a, b);
    if (c.kind == ZERO) {
        product.exponent += scale;
        return round_wide(f, product, tl_a64_rmode(fpcr), fpcr, fpsr);
    }
    return add_wide(f, product, widen(c), scale, fpcr, fpsr);
}

uint64_t tl_a64_fma(tl_a64_float format, uint64_t addend, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number z = unpack(f, addend, fpcr, fpsr), x = unpack(f, a, fpcr, fpsr), y = unpack(f, b, fpcr, fpsr);
    return fused(f, z, addend, x, a, y, b, 0, fpcr, fpsr);
}

// Manual: FPRecipStepFused, FPRSqrtStepFused: the first operand is negated before all else.
static uint64_t step(tl_a64_float format, uint64_t a, uint64_t b, bool is_root, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    a = tl_a64_fneg(format, a);
    const number x = unpack(f, a, fpcr, fpsr), y = unpack(f, b, fpcr, fpsr);
    if (is_nan(x) || is_nan(y))
        return process_nans(f, x, a, y, b, fpcr, fpsr);
    if ((x.kind == INFINITE && y.kind == ZERO) || (x.kind == ZERO && y.kind == INFINITE))
        // The result is 1.5 or 2.
        return is_root ? power_of_2(f, false, 0) | UINT64_C(1) << (f->fraction_bits - 1) : power_of_2(f, false, 1);
    // The constant is 3 or 2.
    const number constant = {FINITE, false, 1, is_root ? UINT64_C(3) << 62 : UINT64_C(1) << 63};
    return fused(f, constant, 0, x, a, y, b, is_root ? -1 : 0, fpcr, fpsr);
}
uint64_t tl_a64_frecps(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) { return step(f, a, b, false, fpcr, fpsr); }
uint64_t tl_a64_frsqrts(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr) { return step(f, a, b, true, fpcr, fpsr); }

uint64_t tl_a64_fsqrt(tl_a64_float format, uint64_t a_bits, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr);
    if (is_nan(a))
        return process_nan(f, a_bits, a.kind == SIGNALING, fpcr, fpsr);
    if (a.kind == ZERO)
        return zero(f, a.is_negative);
    if (a.is_negative)
        return invalid(f, fpsr);
    if (a.kind == INFINITE)
        return infinity(f, false);
    const uint32_t is_odd = (uint32_t)a.exponent & 1;
    const tl_wide_bits radicand = (tl_wide_bits)a.significand << (63 + is_odd);
    const uint64_t root = tl_wide_root(radicand);
    return round_pack(f, false, (a.exponent - (int32_t)is_odd) / 2, root, (tl_wide_bits)root * root != radicand, tl_a64_rmode(fpcr), fpcr,
                      fpsr);
}

// Below zero, zero, above: of numbers.
static int order_of(number a, number b) {
    if (a.kind == ZERO && b.kind == ZERO)
        return 0;
    const bool a_below = a.kind != ZERO && a.is_negative, b_below = b.kind != ZERO && b.is_negative;
    if (a.kind == ZERO || b.kind == ZERO)
        return a.kind == ZERO ? (b_below ? 1 : -1) : a_below ? -1 : 1;
    if (a_below != b_below)
        return a_below ? -1 : 1;
    int magnitude;
    if (a.kind != b.kind)
        magnitude = a.kind == INFINITE ? 1 : -1;
    else if (a.kind == INFINITE)
        magnitude = 0;
    else if (a.exponent != b.exponent)
        magnitude = a.exponent > b.exponent ? 1 : -1;
    else
        magnitude = a.significand > b.significand ? 1 : a.significand < b.significand ? -1 : 0;
    return a_below ? -magnitude : magnitude;
}

static uint64_t value_of(const layout *f, number n) { // not of NaNs
    return n.kind == ZERO ? zero(f, n.is_negative) : n.kind == INFINITE ? infinity(f, n.is_negative) : pack_exact(f, n);
}

static uint64_t pick(tl_a64_float format, uint64_t a, uint64_t b, bool is_number, bool wants_greater, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    uint32_t ignored = 0;
    const number p = unpack(f, a, fpcr, &ignored), q = unpack(f, b, fpcr, &ignored);
    if (is_number && p.kind == QUIET && q.kind != QUIET) // the NaN becomes the infinity that loses
        a = infinity(f, wants_greater);
    else if (is_number && q.kind == QUIET && p.kind != QUIET)
        b = infinity(f, wants_greater);
    const number x = unpack(f, a, fpcr, fpsr), y = unpack(f, b, fpcr, fpsr);
    if (is_nan(x) || is_nan(y))
        return process_nans(f, x, a, y, b, fpcr, fpsr);
    const int order = order_of(x, y);
    if (x.kind == ZERO && y.kind == ZERO)
        return zero(f, wants_greater ? x.is_negative && y.is_negative : x.is_negative || y.is_negative);
    return value_of(f, (order > 0) == wants_greater ? x : y);
}
uint64_t tl_a64_fmax(tl_a64_float f, uint64_t a, uint64_t b, bool is_number, uint32_t fpcr, uint32_t *fpsr) {
    return pick(f, a, b, is_number, true, fpcr, fpsr);
}
uint64_t tl_a64_fmin(tl_a64_float f, uint64_t a, uint64_t b, bool is_number, uint32_t fpcr, uint32_t *fpsr) {
    return pick(f, a, b, is_number, false, fpcr, fpsr);
}

uint32_t tl_a64_fcompare(tl_a64_float format, uint64_t a, uint64_t b, bool is_signaling, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number x = unpack(f, a, fpcr, fpsr), y = unpack(f, b, fpcr, fpsr);
    if (is_nan(x) || is_nan(y)) {
        if (is_signaling || x.kind == SIGNALING || y.kind == SIGNALING)
            *fpsr |= TL_A64_IOC;
        return TL_A64_C | TL_A64_V;
    }
    const int order = order_of(x, y);
    return order == 0 ? TL_A64_Z | TL_A64_C : order < 0 ? TL_A64_N : TL_A64_C;
}

uint64_t tl_a64_frint(tl_a64_float format, uint64_t a_bits, tl_a64_rounding rounding, bool is_exact, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr);
    if (is_nan(a))
        return process_nan(f, a_bits, a.kind == SIGNALING, fpcr, fpsr);
    if (a.kind != FINITE || a.exponent >= (int32_t)f->fraction_bits)
        return value_of(f, a);
    const rounded r = round_off(rounding, a.is_negative, a.significand, false, a.exponent < -1 ? 65 : (uint32_t)(63 - a.exponent));
    if (is_exact && r.is_inexact)
        *fpsr |= TL_A64_IXC;
    if (r.kept == 0)
        return zero(f, a.is_negative);
    const int shift = __builtin_clzll(r.kept);
    return pack_exact(f, (number){FINITE, a.is_negative, 63 - shift, r.kept << shift});
}

// Manual: FPConvert. A NaN keeps its top bits; the alternative half precision has none.
uint64_t tl_a64_fconvert(tl_a64_float to, tl_a64_float from, uint64_t a_bits, tl_a64_rounding rounding, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[to], *g = &layouts[from];
    const number a = unpack(g, a_bits, fpcr, fpsr);
    const bool is_alternative = to == TL_A64_HALF && (fpcr & TL_A64_AHP);
    switch (a.kind) {
    case SIGNALING:
    case QUIET:
        if (a.kind == SIGNALING || is_alternative)
            *fpsr |= TL_A64_IOC;
        if (is_alternative)
            return zero(f, a.is_negative);
        if (fpcr & TL_A64_DN)
            return default_nan(f);
        {
            const uint64_t fraction = (a_bits & (quiet_bit(g) - 1)) << (63 - g->fraction_bits) >> (63 - f->fraction_bits);
            return infinity(f, a.is_negative) | quiet_bit(f) | fraction;
        }
    case INFINITE:
        if (is_alternative) {
            *fpsr |= TL_A64_IOC;
            return sign_of(f, a.is_negative) | 0x7fff;
        }
        return infinity(f, a.is_negative);
    case ZERO: return zero(f, a.is_negative);
    default: return round_pack(f, a.is_negative, a.exponent, a.significand, false, rounding, fpcr, fpsr);
    }
}

// Manual: FPToFixed. NaNs become 0.
uint64_t tl_a64_to_int(tl_a64_float format, uint64_t a_bits, uint32_t fraction_bits, uint32_t bits, bool is_signed,
                       tl_a64_rounding rounding, uint32_t fpcr, uint32_t *fpsr) {
    number a = unpack(&layouts[format], a_bits, fpcr, fpsr);
    const uint64_t mask = ~UINT64_C(0) >> (64 - bits);
    if (is_nan(a)) {
        *fpsr |= TL_A64_IOC;
        return 0;
    }
    if (a.kind == ZERO)
        return 0;
    // The most of the result, as a magnitude.
    const uint64_t most = a.is_negative ? (is_signed ? UINT64_C(1) << (bits - 1) : 0) : is_signed ? mask >> 1 : mask;
    rounded r = {0, false};
    bool is_in_range = false;
    a.exponent += (int32_t)fraction_bits;
    if (a.kind == FINITE && a.exponent < 64) {
        if (a.exponent == 63)
            r.kept = a.significand;
        else
            r = round_off(rounding, a.is_negative, a.significand, false, a.exponent < -1 ? 65 : (uint32_t)(63 - a.exponent));
        is_in_range = r.kept <= most;
    }
    if (!is_in_range) {
        *fpsr |= TL_A64_IOC;
        r.kept = most;
    } else if (r.is_inexact) {
        *fpsr |= TL_A64_IXC;
    }
    return (a.is_negative ? 0 - r.kept : r.kept) & mask;
}

uint64_t tl_a64_from_int(tl_a64_float to, uint64_t a, uint32_t fraction_bits, bool is_signed, uint32_t fpcr, uint32_t *fpsr) {
    const bool is_negative = is_signed && (int64_t)a < 0;
    const uint64_t magnitude = is_negative ? 0 - a : a;
    if (magnitude == 0)
        return 0;
    const int shift = __builtin_clzll(magnitude);
    return round_pack(&layouts[to], is_negative, 63 - shift - (int32_t)fraction_bits, magnitude << shift, false, tl_a64_rmode(fpcr), fpcr,
                      fpsr);
}

// -- Estimates of 8 bits. Manual: RecipEstimate, RecipSqrtEstimate, on integers.
// Operands of 256 to 511 mean 0.5 to 1. Results of 256 to 511 mean 1 to 2.
static uint32_t reciprocal_estimate(uint32_t a) {
    a = a * 2 + 1;
    return ((1u << 19) / a + 1) / 2;
}
static uint32_t root_estimate(uint32_t a) { // 128 <= a < 512 means 0.25 to 1
    a = a < 256 ? a * 2 + 1 : (a >> 1 << 1) * 2 + 2;
    uint32_t b = 512;
    while ((uint64_t)a * (b + 1) * (b + 1) < UINT64_C(1) << 28)
        b += 1;
    return (b + 1) / 2;
}
uint32_t tl_a64_urecpe(uint32_t a) { return a >> 31 ? reciprocal_estimate(a >> 23) << 23 : UINT32_MAX; }
uint32_t tl_a64_ursqrte(uint32_t a) { return a >> 30 ? root_estimate(a >> 23) << 23 : UINT32_MAX; }

uint64_t tl_a64_frecpe(tl_a64_float format, uint64_t a_bits, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr);
    if (is_nan(a))
        return process_nan(f, a_bits, a.kind == SIGNALING, fpcr, fpsr);
    if (a.kind == INFINITE)
        return zero(f, a.is_negative);
    if (a.kind == ZERO) {
        *fpsr |= TL_A64_DZC;
        return infinity(f, a.is_negative);
    }
    if (a.exponent < -f->bias - 1) { // 1 / a is too large
        const tl_a64_rounding rounding = tl_a64_rmode(fpcr);
        const bool to_infinity =
            rounding == TL_A64_TIEEVEN || (rounding == TL_A64_POSINF && !a.is_negative) || (rounding == TL_A64_NEGINF && a.is_negative);
        *fpsr |= TL_A64_OFC | TL_A64_IXC;
        return infinity(f, a.is_negative) - !to_infinity;
    }
    if ((fpcr & TL_A64_FZ) && a.exponent >= f->bias - 1) { // 1 / a is subnormal
        *fpsr |= TL_A64_UFC;
        return zero(f, a.is_negative);
    }
    // Values of 256 to 511 mean 1.xxxxxxxx.
    const uint64_t estimate = reciprocal_estimate((uint32_t)(a.significand >> 55));
    // a in 0.5 .. 1 has the exponent -1: 1 / a is estimate / 256 * 2^-(exponent + 1).
    int32_t exponent = -1 - a.exponent;
    uint64_t significand = estimate << 55;
    const int32_t exponent_min = 1 - f->bias;
    if (exponent < exponent_min) { // subnormal, cut off
        significand >>= exponent_min - exponent;
        return sign_of(f, a.is_negative) | significand >> (63 - f->fraction_bits);
    }
    return sign_of(f, a.is_negative) | ((uint64_t)(exponent + f->bias) << f->fraction_bits) |
           (significand << 1 >> 1) >> (63 - f->fraction_bits);
}

uint64_t tl_a64_frsqrte(tl_a64_float format, uint64_t a_bits, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr);
    if (is_nan(a))
        return process_nan(f, a_bits, a.kind == SIGNALING, fpcr, fpsr);
    if (a.kind == ZERO) {
        *fpsr |= TL_A64_DZC;
        return infinity(f, a.is_negative);
    }
    if (a.is_negative)
        return invalid(f, fpsr);
    if (a.kind == INFINITE)
        return zero(f, false);
    // In 0.25 .. 1: with an even exponent -2, with an odd one -1.
    const bool is_even = (a.exponent & 1) == 0;
    const uint64_t estimate = root_estimate((uint32_t)(a.significand >> (is_even ? 56 : 55)));
    const int32_t exponent = is_even ? -(a.exponent + 2) / 2 : -(a.exponent + 1) / 2;
    return ((uint64_t)(exponent + f->bias) << f->fraction_bits) | (estimate & 255) << (f->fraction_bits - 8);
}

uint64_t tl_a64_frecpx(tl_a64_float format, uint64_t a_bits, uint32_t fpcr, uint32_t *fpsr) {
    const layout *f = &layouts[format];
    const number a = unpack(f, a_bits, fpcr, fpsr);
    if (is_nan(a))
        return process_nan(f, a_bits, a.kind == SIGNALING, fpcr, fpsr);
    const uint32_t field = (uint32_t)(a_bits >> f->fraction_bits) & f->exponent_max;
    const uint32_t mirrored = field == 0 ? f->exponent_max - 1 : ~field & f->exponent_max;
    return sign_of(f, a.is_negative) | (uint64_t)mirrored << f->fraction_bits;
}
