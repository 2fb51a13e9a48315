// SPDX-License-Identifier: MIT
// Which way of a full set makes room. All policies work on stamps, one number per way that grows with time: the time of last use for
// lru and plru, the time of the fill for fifo; random draws. So a hit costs one store, whoever makes it.
#ifndef TL_MEM_REPLACEMENT_H
#define TL_MEM_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "model/config.h"

enum { TL_WAY_BITS = 10 }; // at most 1024 ways; the other 54 bits of a stamp last longer than any run

static inline bool tl_replacement_sees_hits(tl_replacement policy) { return policy == TL_REPLACE_LRU || policy == TL_REPLACE_PLRU; }

// Start of the random sequence of one tag array; unit_index tells the arrays of a machine apart.
uint64_t tl_replacement_seed(uint64_t machine_seed, uint32_t unit_index);

// Stamp and way in one number, so that a minimum finds both. Ties go to the first.
TL_ALWAYS_INLINE uint64_t tl_replacement_key(const uint64_t *stamps, uint32_t way) { return stamps[way] << TL_WAY_BITS | way; }
TL_ALWAYS_INLINE uint64_t tl_lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }
TL_ALWAYS_INLINE uint64_t tl_least_of_four(const uint64_t *stamps, uint32_t way) {
    return tl_lesser(tl_lesser(tl_replacement_key(stamps, way), tl_replacement_key(stamps, way + 1)),
                     tl_lesser(tl_replacement_key(stamps, way + 2), tl_replacement_key(stamps, way + 3)));
}
TL_ALWAYS_INLINE uint32_t tl_replacement_oldest_of_eight(const uint64_t *stamps) {
    return (uint32_t)tl_lesser(tl_least_of_four(stamps, 0), tl_least_of_four(stamps, 4)) & ((1u << TL_WAY_BITS) - 1);
}

// The victim among `ways` valid ways, at most 1 << TL_WAY_BITS. *random is drawn from by TL_REPLACE_RANDOM only.
uint32_t tl_replacement_victim(tl_replacement policy, const uint64_t *stamps, uint32_t ways, uint64_t *random);

#endif
