// SPDX-License-Identifier: MIT
// The tag array of a set-associative cache: which lines are here, and in which way. States, data and neighbors are the owner's.
// A way is named by its index in the whole array, set * ways + way.
#ifndef TL_MEM_CACHE_H
#define TL_MEM_CACHE_H

#include "base/arena.h"
#include "mem/replacement.h"

static const uint32_t TL_NO_WAY = UINT32_MAX;
static const uint64_t TL_NO_TAG = UINT64_MAX; // of an invalid way; no line's address, since low bits are zero

typedef struct tl_cache {
    uint64_t *tags;   // physical line addresses
    uint64_t *stamps; // see replacement.h
    uint64_t *clock;  // where stamps come from
    uint64_t random;
    uint32_t ways, set_mask, set_shift;
    uint32_t n_invalid; // ways that hold no line
    tl_replacement policy;
    bool sees_hits;
} tl_cache;

// Lines whose address bits below set_shift differ share a set. `stamps` and `clock` are the caller's; false: no memory.
bool tl_cache_init(tl_cache *cache, tl_arena *arena, uint32_t sets, uint32_t ways, uint32_t set_shift, tl_replacement policy,
                   uint64_t *stamps, uint64_t *clock, uint64_t random);

static inline uint32_t tl_cache_n_ways(const tl_cache *cache) { return (cache->set_mask + 1) * cache->ways; }

static inline uint32_t tl_cache_first_way(const tl_cache *cache, uint64_t line) {
    return (uint32_t)(line >> cache->set_shift & cache->set_mask) * cache->ways;
}

static inline uint32_t tl_match_four(const uint64_t *tags, uint64_t line) {
    return (uint32_t)(tags[0] == line) | (uint32_t)(tags[1] == line) << 1 | (uint32_t)(tags[2] == line) << 2 |
           (uint32_t)(tags[3] == line) << 3;
}

// The way that holds `line`, or TL_NO_WAY. Does not count as a use. No early exit: which way hits is unpredictable, how many there
// are is not.
static inline uint32_t tl_cache_find(const tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way(cache, line), way = 0;
    const uint64_t *tags = cache->tags + first;
    uint64_t hits = 0;
    if (cache->ways == 8) { // the usual number, unrolled
        hits = tl_match_four(tags, line) | tl_match_four(tags + 4, line) << 4;
    } else {
        for (; way + 4 <= cache->ways; way += 4)
            hits |= (uint64_t)tl_match_four(tags + way, line) << way;
        for (; way < cache->ways; way++)
            hits |= (uint64_t)(tags[way] == line) << way;
    }
    return hits == 0 ? TL_NO_WAY : first + (uint32_t)__builtin_ctzll(hits);
}

static inline void tl_cache_touch(tl_cache *cache, uint32_t way) { // a use
    uint64_t stamp = ++*cache->clock;
    if (cache->sees_hits)
        cache->stamps[way] = stamp;
}

// The way a new line would take: the first invalid one, else the policy's victim.
uint32_t tl_cache_choose(tl_cache *cache, uint64_t line);

static inline void tl_cache_fill(tl_cache *cache, uint32_t way, uint64_t line) {
    cache->n_invalid -= cache->tags[way] == TL_NO_TAG;
    cache->tags[way] = line;
    cache->stamps[way] = ++*cache->clock;
}

static inline void tl_cache_drop(tl_cache *cache, uint32_t way) { // a valid way becomes invalid; its place in the order of use stays
    cache->tags[way] = TL_NO_TAG;
    cache->n_invalid += 1;
}

#endif
