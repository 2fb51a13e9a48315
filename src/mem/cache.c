// SPDX-License-Identifier: MIT
// Functions of a tag array that look-ups do not call.
#include "mem/cache.h"

bool tl_cache_init(tl_cache *cache, tl_arena *arena, uint32_t sets, uint32_t ways, uint32_t line_log2, uint32_t set_shift,
                   tl_replacement policy, uint64_t *uses, uint64_t *clock, uint64_t random) {
    uint32_t n_ways = sets * ways;
    *cache = (tl_cache){
        .tags = tl_arena_alloc(arena, n_ways * sizeof *cache->tags),
        .stamps = tl_replacement_sees_hits(policy) ? uses : tl_arena_alloc(arena, n_ways * sizeof *cache->stamps),
        .uses = uses,
        .clock = clock,
        .random = random,
        .ways = ways,
        .set_mask = sets - 1,
        .line_log2 = line_log2,
        .set_shift = set_shift,
        .n_invalid = n_ways,
        .policy = policy,
    };
    if (!cache->tags || !cache->stamps)
        return false;
    for (uint32_t way = 0; way < n_ways; way++)
        cache->tags[way] = TL_NO_TAG;
    return true;
}

uint32_t tl_cache_choose_any(tl_cache *cache, uint32_t first_way) {
    for (uint32_t way = 0; cache->n_invalid != 0 && way < cache->ways; way++)
        if (cache->tags[first_way + way] == TL_NO_TAG)
            return first_way + way;
    return first_way + tl_replacement_victim(cache->policy, cache->stamps + first_way, cache->ways, &cache->random);
}
