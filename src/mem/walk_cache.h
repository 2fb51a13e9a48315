// SPDX-License-Identifier: MIT
// The walk cache of a hart: tables of the last level that walks have reached. A walk that finds its
// table there reads one entry. A set-associative array, indexed by the lowest address bits that
// name the table's span. Entries have the tags of TLB entries.
#ifndef TL_MEM_WALK_CACHE_H
#define TL_MEM_WALK_CACHE_H

#include "base/arena.h"
#include "mem/replacement.h"
#include "model/isa.h"

typedef struct tl_walk_cache {
    tl_walk_table *tables; // [set * ways + way]; span_log2 0: invalid
    uint64_t *stamps;      // as in tl_cache
    uint64_t clock, random;
    uint32_t entries, ways, set_mask; // entries 0: there is none
    tl_replacement policy;
} tl_walk_cache;

bool tl_walk_cache_init(tl_walk_cache *cache, tl_arena *arena, const tl_tlb_config *config, uint64_t random);
// Returns the table of vaddr with this span, world and asid, and counts as a use; NULL: none.
const tl_walk_table *tl_walk_cache_find(tl_walk_cache *cache, uint64_t vaddr, uint32_t span_log2, uint8_t world, uint16_t asid);
// Precondition: the table is not there. Returns whether a valid entry made room.
bool tl_walk_cache_fill(tl_walk_cache *cache, const tl_walk_table *table);
// Drops what the request names; without tags, its conditions on world and asid do not hold. Returns
// the number of entries.
uint64_t tl_walk_cache_drop(tl_walk_cache *cache, const tl_tlb_drop_request *request, bool has_tags);
uint64_t tl_walk_cache_drop_all(tl_walk_cache *cache);

#endif
