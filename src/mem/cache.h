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

// The way that holds `line`, or TL_NO_WAY. Does not count as a use.
static inline uint32_t tl_cache_find(const tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way(cache, line), found = TL_NO_WAY;
    const uint64_t *tags = cache->tags + first;
    for (uint32_t way = 0; way < cache->ways; way++) // no early exit: which way hits is unpredictable, how many there are is not
        found = tags[way] == line ? first + way : found;
    return found;
}

static inline void tl_cache_touch(tl_cache *cache, uint32_t way) { // a use
    uint64_t stamp = ++*cache->clock;
    if (cache->sees_hits)
        cache->stamps[way] = stamp;
}

// The way a new line would take: the first invalid one, else the policy's victim.
uint32_t tl_cache_choose(tl_cache *cache, uint64_t line);

static inline void tl_cache_fill(tl_cache *cache, uint32_t way, uint64_t line) {
    cache->tags[way] = line;
    cache->stamps[way] = ++*cache->clock;
}

#endif
