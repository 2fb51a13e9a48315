// SPDX-License-Identifier: MIT
// Steps of a miss of the fixed geometry that are too long to be inlined; see l2_fixed.h.
#include "mem/l2_fixed.h"

TL_ALWAYS_INLINE void write_back(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time, bool is_alone) {
    if (is_alone)
        tl_dram_write_alone(&l2->dram, line, time);
    else
        tl_dram_write(&l2->dram, agent, line, time);
}

TL_ALWAYS_INLINE tl_l2_filled fill(tl_l2_client *client, uint64_t line, uint64_t time, bool is_owned, bool is_alone) {
    tl_l2 *l2 = client->l2;
    const tl_agent *agent = &client->agent;
    tl_l2_slice *slice = &l2->slices[0];
    tl_cache *cache = &slice->cache;
    uint64_t cycles = is_alone ? tl_dram_read_alone(&l2->dram, line, time) : tl_dram_read(&l2->dram, agent, line, time);
    bool is_full = cache->n_invalid == 0;
    uint32_t way = TL_LIKELY(is_full) ? tl_cache_choose_fixed(cache, line) : tl_cache_choose(cache, line);
    tl_l2_line *entry = &l2->lines[way];
    if (TL_LIKELY(cache->tags[way] != TL_NO_TAG)) {
        uint64_t old_line = (uint64_t)cache->tags[way] << TL_FIXED_LINE_LOG2;
        if (tl_l2_drop(l2, slice, entry, old_line))
            write_back(l2, agent, old_line, time, is_alone);
    }
    if (TL_LIKELY(is_full)) {
        cache->tags[way] = (uint32_t)(line >> TL_FIXED_LINE_LOG2);
        cache->stamps[way] = ++l2->clock;
    } else {
        tl_cache_fill(cache, way, line);
    }
    *entry = (tl_l2_line){.sharers = client->bit & TL_L2_ALL_CLIENTS, .is_owned = is_owned};
    return (tl_l2_filled){.cycles = cycles, .l2_way = way};
}

tl_l2_filled tl_l2_fill_fixed(tl_l2_client *client, uint64_t line, uint64_t time, bool is_owned) {
    return fill(client, line, time, is_owned, false);
}
tl_l2_filled tl_l2_fill_alone(tl_l2_client *client, uint64_t line, uint64_t time, bool is_owned) {
    return fill(client, line, time, is_owned, true);
}
