// SPDX-License-Identifier: MIT
// Look-ups in a tag array of the fixed geometry: 8 ways, lines of 64 bytes, neighbors in
// neighboring sets, lru. They do what those of cache.h do; constants in place of fields make the
// look-ups of a miss short.
#ifndef TL_MEM_CACHE_FIXED_H
#define TL_MEM_CACHE_FIXED_H

#include "mem/cache.h"

enum { TL_FIXED_WAYS = 8, TL_FIXED_LINE_LOG2 = 6 };
static inline bool tl_cache_is_fixed(const tl_cache *cache) {
    return cache->ways == TL_FIXED_WAYS && cache->line_log2 == TL_FIXED_LINE_LOG2 && cache->set_shift == TL_FIXED_LINE_LOG2 &&
           cache->policy == TL_REPLACE_LRU;
}
TL_ALWAYS_INLINE uint32_t tl_cache_first_way_fixed(const tl_cache *cache, uint64_t line) {
    return ((uint32_t)(line >> TL_FIXED_LINE_LOG2) & cache->set_mask) * TL_FIXED_WAYS;
}
// Returns a bit for the way of the set that holds the line.
TL_ALWAYS_INLINE uint32_t tl_cache_match_fixed(const tl_cache *cache, uint64_t line) {
    return tl_match_eight(cache->tags + tl_cache_first_way_fixed(cache, line), (uint32_t)(line >> TL_FIXED_LINE_LOG2));
}
TL_ALWAYS_INLINE uint32_t tl_cache_find_fixed(const tl_cache *cache, uint64_t line) {
    uint32_t hits = tl_cache_match_fixed(cache, line);
    return hits == 0 ? TL_NO_WAY : tl_cache_first_way_fixed(cache, line) + (uint32_t)__builtin_ctz(hits);
}
// Precondition: no way is invalid.
TL_ALWAYS_INLINE uint32_t tl_cache_choose_fixed(const tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way_fixed(cache, line);
    return first + tl_replacement_oldest(cache->stamps + first, TL_FIXED_WAYS);
}

#endif
