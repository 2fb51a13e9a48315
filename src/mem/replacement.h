// SPDX-License-Identifier: MIT
// The way of a full set that makes room. All policies work on stamps, one number per way that grows
// with time. A stamp is the time of last use for lru and plru, the time of the fill for fifo;
// random draws. A hit therefore costs one store.
#ifndef TL_MEM_REPLACEMENT_H
#define TL_MEM_REPLACEMENT_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "model/config.h"

// At most 1024 ways. The key leaves 51 bits of a stamp, enough for any run.
enum { TL_WAY_BITS = 10 };

static inline bool tl_replacement_sees_hits(tl_replacement policy) { return policy == TL_REPLACE_LRU || policy == TL_REPLACE_PLRU; }

// Returns the start of one tag array's random sequence. unit_index distinguishes the arrays of a
// machine.
uint64_t tl_replacement_seed(uint64_t machine_seed, uint32_t unit_index);

// Returns stamp and way in one number, so that a minimum finds both. Ties go to the first.
TL_ALWAYS_INLINE uint64_t tl_replacement_key(const uint64_t *stamps, uint32_t way) { return stamps[way] << TL_WAY_BITS | way; }

// Returns the way with the least stamp of `ways`, a multiple of 8.
#ifdef __SSE2__
// Keys become positive normal numbers of double precision, whose order is that of the bits. One
// instruction then finds the lesser of two pairs. No arithmetic uses them, so the host's unit
// raises no exception.
TL_ALWAYS_INLINE __m128d tl_replacement_keys(const uint64_t *stamps, uint32_t way) {
    __m128i both = _mm_slli_epi64(_mm_loadu_si128((const __m128i *)(const void *)(stamps + way)), TL_WAY_BITS);
    const int64_t normal = INT64_C(1) << 62;
    return _mm_castsi128_pd(_mm_or_si128(both, _mm_set_epi64x(normal | (way + 1), normal | way)));
}
TL_ALWAYS_INLINE uint32_t tl_replacement_oldest(const uint64_t *stamps, uint32_t ways) {
    __m128d a = tl_replacement_keys(stamps, 0), b = tl_replacement_keys(stamps, 2);
    for (uint32_t way = 4; way < ways; way += 4) {
        a = _mm_min_pd(a, tl_replacement_keys(stamps, way));
        b = _mm_min_pd(b, tl_replacement_keys(stamps, way + 2));
    }
    a = _mm_min_pd(a, b);
    a = _mm_min_sd(a, _mm_unpackhi_pd(a, a));
    return (uint32_t)_mm_cvtsi128_si32(_mm_castpd_si128(a)) & ((1u << TL_WAY_BITS) - 1);
}
#else
TL_ALWAYS_INLINE uint32_t tl_replacement_oldest(const uint64_t *stamps, uint32_t ways) {
    uint64_t a = UINT64_MAX, b = UINT64_MAX;
    for (uint32_t way = 0; way < ways; way += 2) {
        a = tl_lesser(a, tl_replacement_key(stamps, way));
        b = tl_lesser(b, tl_replacement_key(stamps, way + 1));
    }
    return (uint32_t)tl_lesser(a, b) & ((1u << TL_WAY_BITS) - 1);
}
#endif

// Returns the victim among `ways` valid ways, at most 1 << TL_WAY_BITS. Only TL_REPLACE_RANDOM
// draws from *random.
uint32_t tl_replacement_victim(tl_replacement policy, const uint64_t *stamps, uint32_t ways, uint64_t *random);

#endif
