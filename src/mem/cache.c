// SPDX-License-Identifier: MIT
// The parts of a tag array that are not needed on every look-up.
#include "mem/cache.h"

bool tl_cache_init(tl_cache *cache, tl_arena *arena, uint32_t sets, uint32_t ways, uint32_t set_shift, tl_replacement policy,
                   uint64_t *stamps, uint64_t *clock, uint64_t random) {
    *cache = (tl_cache){
        .tags = tl_arena_alloc(arena, (size_t)sets * ways * sizeof(uint64_t)),
        .stamps = stamps,
        .clock = clock,
        .random = random,
        .ways = ways,
        .set_mask = sets - 1,
        .set_shift = set_shift,
        .n_invalid = sets * ways,
        .policy = policy,
        .sees_hits = tl_replacement_sees_hits(policy),
    };
    if (!cache->tags)
        return false;
    for (uint32_t way = 0; way < sets * ways; way++)
        cache->tags[way] = TL_NO_TAG;
    return true;
}

uint32_t tl_cache_choose(tl_cache *cache, uint64_t line) {
    uint32_t first = tl_cache_first_way(cache, line);
    for (uint32_t way = 0; cache->n_invalid != 0 && way < cache->ways; way++)
        if (cache->tags[first + way] == TL_NO_TAG)
            return first + way;
    return first + tl_replacement_victim(cache->policy, cache->stamps + first, cache->ways, &cache->random);
}
