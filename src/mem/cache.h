// SPDX-License-Identifier: MIT
// The tag array of a set-associative cache: which lines are here, and in which way. States, data
// and neighbors are the owner's. A way is named by its index in the whole array, set * ways + way.
#ifndef TL_MEM_CACHE_H
#define TL_MEM_CACHE_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/arena.h"
#include "mem/replacement.h"

static const uint32_t TL_NO_WAY = UINT32_MAX;
// Tag of an invalid way. No line has this number, because memory.c refuses RAM that large.
static const uint32_t TL_NO_TAG = UINT32_MAX;

typedef struct tl_cache {
    uint32_t *tags;   // [way] line numbers: physical addresses without the bits within the line
    uint64_t *stamps; // [way] what the policy goes by, see replacement.h
    // [way] A use stamps this cell: stamps, or a cell without a reader if the policy ignores hits.
    uint64_t *uses;
    uint64_t *clock; // where stamps come from
    uint64_t random;
    uint32_t ways, set_mask, line_log2, set_shift;
    uint32_t n_invalid; // ways that hold no line
    tl_replacement policy;
} tl_cache;

// Lines of 1 << line_log2 bytes; those whose address bits below set_shift differ share a set.
// `uses` and `clock` are the caller's; false: no memory.
bool tl_cache_init(tl_cache *cache, tl_arena *arena, uint32_t sets, uint32_t ways, uint32_t line_log2, uint32_t set_shift,
                   tl_replacement policy, uint64_t *uses, uint64_t *clock, uint64_t random);

static inline uint32_t tl_cache_n_ways(const tl_cache *cache) { return (cache->set_mask + 1) * cache->ways; }

static inline uint32_t tl_cache_first_way(const tl_cache *cache, uint64_t line) {
    return (uint32_t)(line >> cache->set_shift & cache->set_mask) * cache->ways;
}

static inline uint64_t tl_cache_line(const tl_cache *cache, uint32_t way) { // of a valid way
    return (uint64_t)cache->tags[way] << cache->line_log2;
}

// A bit for each of four, and of eight, neighboring tags that equal `tag`.
#ifdef __SSE2__
TL_ALWAYS_INLINE __m128i tl_equal_four(const uint32_t *tags, __m128i tag) {
    return _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)tags), tag);
}
TL_ALWAYS_INLINE uint32_t tl_match_four(const uint32_t *tags, uint32_t tag) {
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(tl_equal_four(tags, _mm_set1_epi32((int32_t)tag))));
}
TL_ALWAYS_INLINE uint32_t tl_match_eight(const uint32_t *tags, uint32_t tag) {
    __m128i all = _mm_set1_epi32((int32_t)tag), halves = _mm_packs_epi32(tl_equal_four(tags, all), tl_equal_four(tags + 4, all));
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(halves, _mm_setzero_si128()));
}
#else
TL_ALWAYS_INLINE uint32_t tl_match_four(const uint32_t *tags, uint32_t tag) {
    return (uint32_t)(tags[0] == tag) | (uint32_t)(tags[1] == tag) << 1 | (uint32_t)(tags[2] == tag) << 2 | (uint32_t)(tags[3] == tag) << 3;
}
TL_ALWAYS_INLINE uint32_t tl_match_eight(const uint32_t *tags, uint32_t tag) {
    return tl_match_four(tags, tag) | tl_match_four(tags + 4, tag) << 4;
}
#endif

// The way that holds `line`, or TL_NO_WAY. Does not count as a use. No early exit: which way hits
// is unpredictable, how many there are is not.
static inline uint32_t tl_cache_find(const tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way(cache, line), way = 0, tag = (uint32_t)(line >> cache->line_log2);
    const uint32_t *tags = cache->tags + first;
    uint64_t hits = 0;
    if (TL_LIKELY(cache->ways == 8)) { // most caches have eight, unrolled
        hits = tl_match_eight(tags, tag);
    } else {
        for (; way + 4 <= cache->ways; way += 4)
            hits |= (uint64_t)tl_match_four(tags + way, tag) << way;
        for (; way < cache->ways; way++)
            hits |= (uint64_t)(tags[way] == tag) << way;
    }
    return hits == 0 ? TL_NO_WAY : first + (uint32_t)__builtin_ctzll(hits);
}

static inline void tl_cache_touch(tl_cache *cache, uint32_t way) { // a use
    cache->uses[way] = ++*cache->clock;
}

// The way a new line would take: the first invalid one, else the policy's victim.
uint32_t tl_cache_choose_any(tl_cache *cache, uint32_t first_way);
static inline uint32_t tl_cache_choose(tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way(cache, line);
    // Most caches are of this kind.
    if (TL_LIKELY(cache->n_invalid == 0 && cache->ways == 8 && cache->policy == TL_REPLACE_LRU))
        return first + tl_replacement_oldest(cache->stamps + first, 8);
    return tl_cache_choose_any(cache, first);
}

static inline void tl_cache_fill(tl_cache *cache, uint32_t way, uint64_t line) {
    cache->n_invalid -= cache->tags[way] == TL_NO_TAG;
    cache->tags[way] = (uint32_t)(line >> cache->line_log2);
    cache->stamps[way] = ++*cache->clock;
}

// A valid way becomes invalid. Its place in the order of use stays.
static inline void tl_cache_drop(tl_cache *cache, uint32_t way) {
    cache->tags[way] = TL_NO_TAG;
    cache->n_invalid += 1;
}

#endif
