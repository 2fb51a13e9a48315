// SPDX-License-Identifier: MIT
// Bit arithmetic. All functions are total and free of undefined behavior for the stated ranges.
#ifndef TL_BASE_BITS_H
#define TL_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_LIKELY(x) __builtin_expect(!!(x), 1)
#define TL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TL_ALWAYS_INLINE static inline __attribute__((always_inline))
#define TL_NOINLINE __attribute__((noinline))
#define TL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

TL_ALWAYS_INLINE uint64_t tl_lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline bool tl_is_pow2(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// log2 of a power of two; value must not be 0.
static inline unsigned tl_log2(uint64_t value) { return 63u - (unsigned)__builtin_clzll(value); }

// Bits lsb .. lsb+width-1 of `value`; width 1..63.
static inline uint64_t tl_bits(uint64_t value, unsigned lsb, unsigned width) { return (value >> lsb) & ((UINT64_C(1) << width) - 1); }

// Sign-extends the low `width` bits (1..64).
static inline int64_t tl_sext(uint64_t value, unsigned width) { return (int64_t)(value << (64 - width)) >> (64 - width); }

static inline uint64_t tl_align_up(uint64_t value, uint64_t pow2) { return (value + pow2 - 1) & ~(pow2 - 1); }
static inline uint64_t tl_align_down(uint64_t value, uint64_t pow2) { return value & ~(pow2 - 1); }

#endif
