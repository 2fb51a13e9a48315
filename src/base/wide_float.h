// SPDX-License-Identifier: MIT
// Arithmetic of software floating point that no format and no rounding mode changes: magnitudes of
// 128 bits, with one sticky bit for everything below. An instruction set unpacks its formats into
// these magnitudes, rounds them once, and raises its exceptions.
#ifndef TL_BASE_WIDE_FLOAT_H
#define TL_BASE_WIDE_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 tl_wide_bits;

// value = bits * 2^(exponent - 127); the top bit is not necessarily set.
typedef struct tl_wide {
    bool is_negative;
    int32_t exponent;
    tl_wide_bits bits;
} tl_wide;

// significand * 2^(exponent - 63).
static inline tl_wide tl_wide_of(bool is_negative, int32_t exponent, uint64_t significand) {
    return (tl_wide){is_negative, exponent, (tl_wide_bits)significand << 64};
}

// The product of two significands whose top bits are set. `exponent` is the sum of their exponents.
static inline tl_wide tl_wide_product(bool is_negative, int32_t exponent, uint64_t a, uint64_t b) {
    return (tl_wide){is_negative, exponent + 1, (tl_wide_bits)a * b};
}

// Both operands have their top bits at 127 or 126 and at least 20 zero bits at the bottom. Bits are
// therefore lost only where a sticky bit suffices. An exact cancellation has no bits.
static inline tl_wide tl_wide_sum(tl_wide a, tl_wide b) {
    a.bits >>= 1; // room for the carry
    a.exponent += 1;
    b.bits >>= 1;
    b.exponent += 1;
    if (a.exponent < b.exponent) {
        const tl_wide swapped = a;
        a = b;
        b = swapped;
    }
    const uint32_t distance = (uint32_t)(a.exponent - b.exponent);
    if (distance > 127)
        b.bits = b.bits != 0;
    else if (distance > 0)
        b.bits = b.bits >> distance | ((b.bits & (((tl_wide_bits)1 << distance) - 1)) != 0);
    if (a.is_negative == b.is_negative) {
        a.bits += b.bits;
    } else if (a.bits >= b.bits) {
        a.bits -= b.bits;
    } else {
        a.bits = b.bits - a.bits;
        a.is_negative = b.is_negative;
    }
    return a;
}

// The top bit set. `w` is not 0.
static inline tl_wide tl_wide_normalize(tl_wide w) {
    const uint64_t high = (uint64_t)(w.bits >> 64);
    const int shift = high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)w.bits);
    return (tl_wide){w.is_negative, w.exponent - shift, w.bits << shift};
}

// The largest integer whose square is at most `radicand`, digit by digit.
static inline uint64_t tl_wide_root(tl_wide_bits radicand) {
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t trial = root | UINT64_C(1) << bit;
        if ((tl_wide_bits)trial * trial <= radicand)
            root = trial;
    }
    return root;
}

#endif
