// SPDX-License-Identifier: MIT
// See walk_cache.h.
#include "mem/walk_cache.h"

bool tl_walk_cache_init(tl_walk_cache *cache, tl_arena *arena, const tl_tlb_config *config, uint64_t random) {
    *cache = (tl_walk_cache){.entries = config->entries,
                             .ways = config->ways,
                             .set_mask = config->entries != 0 ? config->entries / config->ways - 1 : 0,
                             .policy = config->replacement,
                             .random = random};
    if (cache->entries == 0)
        return true;
    cache->tables = tl_arena_alloc(arena, cache->entries * sizeof *cache->tables);
    cache->stamps = tl_arena_alloc(arena, cache->entries * sizeof *cache->stamps);
    return cache->tables && cache->stamps;
}

static uint32_t first_of_set(const tl_walk_cache *cache, uint64_t vaddr, uint32_t span_log2) {
    return (uint32_t)(vaddr >> span_log2 & cache->set_mask) * cache->ways;
}

const tl_walk_table *tl_walk_cache_find(tl_walk_cache *cache, uint64_t vaddr, uint32_t span_log2, uint8_t world, uint16_t asid) {
    const uint32_t first = first_of_set(cache, vaddr, span_log2);
    for (uint32_t i = first; i < first + cache->ways; i++) {
        const tl_walk_table *table = &cache->tables[i];
        if (table->span_log2 != span_log2 || table->world != world || table->asid != asid || (vaddr ^ table->vaddr) >> span_log2 != 0)
            continue;
        if (tl_replacement_sees_hits(cache->policy))
            cache->stamps[i] = ++cache->clock;
        return table;
    }
    return NULL;
}

bool tl_walk_cache_fill(tl_walk_cache *cache, const tl_walk_table *table) {
    const uint32_t first = first_of_set(cache, table->vaddr, table->span_log2);
    uint32_t way = 0;
    while (way < cache->ways && cache->tables[first + way].span_log2 != 0)
        way += 1;
    const bool is_full = way == cache->ways;
    if (is_full)
        way = tl_replacement_victim(cache->policy, cache->stamps + first, cache->ways, &cache->random);
    cache->tables[first + way] = *table;
    cache->stamps[first + way] = ++cache->clock;
    return is_full;
}

static bool is_named(const tl_walk_table *table, const tl_tlb_drop_request *request, bool has_tags) {
    if (has_tags && (table->world != request->world || (request->by_asid && table->asid != request->asid)))
        return false;
    return !request->by_address || (request->vaddr ^ table->vaddr) >> table->span_log2 == 0;
}

uint64_t tl_walk_cache_drop(tl_walk_cache *cache, const tl_tlb_drop_request *request, bool has_tags) {
    uint64_t n_dropped = 0;
    for (uint32_t i = 0; i < cache->entries && !request->keeps_tables; i++) {
        tl_walk_table *table = &cache->tables[i];
        if (table->span_log2 == 0 || !is_named(table, request, has_tags))
            continue;
        *table = (tl_walk_table){0};
        n_dropped += 1;
    }
    return n_dropped;
}

uint64_t tl_walk_cache_drop_all(tl_walk_cache *cache) {
    const tl_tlb_drop_request everything = {0};
    return tl_walk_cache_drop(cache, &everything, false);
}
