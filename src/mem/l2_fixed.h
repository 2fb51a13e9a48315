// SPDX-License-Identifier: MIT
// The requests of l2.h for an L2 of one slice, of the fixed geometry (cache_fixed.h), without
// prefetching: tl_memory.is_fixed. They are inlined where the first level misses. mem/test_fixed.c
// checks that they act and count as those of l2.h.
#ifndef TL_MEM_L2_FIXED_H
#define TL_MEM_L2_FIXED_H

#include "mem/cache_fixed.h"
#include "mem/l2.h"

typedef struct tl_l2_found {
    uint32_t hits; // 0: it is not here
    uint32_t way;  // an index of tl_l2.lines; undefined without a hit
} tl_l2_found;

TL_ALWAYS_INLINE tl_l2_found tl_l2_find_fixed(const tl_l2 *l2, uint64_t line) {
    const tl_cache *cache = &l2->slices[0].cache;
    uint32_t hits = tl_cache_match_fixed(cache, line);
    return (tl_l2_found){.hits = hits, .way = tl_cache_first_way_fixed(cache, line) + (uint32_t)__builtin_ctz(hits | 1u << 31)};
}

typedef struct tl_l2_filled {
    uint64_t cycles; // until the data is there
    uint32_t l2_way;
} tl_l2_filled;

// Reads the line from memory into a way of its own. The client alone shares it then, or owns it.
tl_l2_filled tl_l2_fill_fixed(tl_l2_client *client, uint64_t line, uint64_t time, bool is_owned);
// Likewise, of tl_memory.is_alone.
tl_l2_filled tl_l2_fill_alone(tl_l2_client *client, uint64_t line, uint64_t time, bool is_owned);

TL_ALWAYS_INLINE uint64_t tl_l2_begin_fixed(tl_l2 *l2, const tl_agent *agent, uint64_t time, enum tl_mem_signal kind) {
    tl_l2_slice *slice = &l2->slices[0];
    tl_l2_count_request(l2, slice, agent, kind);
    l2->noc[TL_NOC_RESPONSE_DATA] += 1;
    return tl_l2_wait(l2, slice, time);
}

TL_ALWAYS_INLINE tl_l2_line *tl_l2_use_fixed(const tl_l2_client *client, uint32_t way, enum tl_mem_signal hit) {
    tl_l2 *l2 = client->l2;
    l2->slices[0].cache.stamps[way] = ++l2->clock;
    tl_l2_count_hit(client->link, &l2->lines[way], hit);
    return &l2->lines[way];
}

// As tl_l2_begin_fixed, of tl_memory.is_alone.
TL_ALWAYS_INLINE uint64_t tl_l2_begin_alone(tl_l2 *l2, uint64_t time, enum tl_mem_signal kind) {
    tl_l2_slice *slice = &l2->slices[0];
    slice->tally[TL_L2_READ] += 1;
    slice->tally[kind] += 1;
    slice->tally[TL_L2_READ_HART0] += 1;
    l2->noc[TL_NOC_REQUEST] += 1;
    l2->noc[TL_NOC_RESPONSE_DATA] += 1;
    uint64_t wait = tl_server_occupy_alone(&slice->server, time, l2->busy_cycles);
    slice->tally[TL_L2_BUSY] += wait;
    return wait + l2->hit_cycles;
}

// A request of the data cache of tl_memory.is_alone, which owns the line afterwards. Nobody else
// could hold it, so every line is free.
TL_ALWAYS_INLINE void tl_l2_acquire_alone(tl_l2_client *client, uint64_t line, tl_l2_found found, uint64_t time, bool is_store,
                                          tl_l2_reply *ret_reply) {
    tl_l2 *l2 = client->l2;
    enum tl_mem_signal hit = is_store ? TL_LINK_ACQUIRE_NT_HIT : TL_LINK_ACQUIRE_NB_HIT;
    uint64_t cycles = tl_l2_begin_alone(l2, time, is_store ? TL_L2_READ_ST : TL_L2_READ_LD);
    uint32_t way = found.way;
    if (TL_LIKELY(found.hits != 0)) {
        tl_l2_use_fixed(client, way, hit)->word |= client->bit | TL_L2_WORD_OWNED;
    } else {
        tl_l2_count_miss(client->link, &l2->slices[0], &client->agent, hit);
        tl_l2_filled filled = tl_l2_fill_alone(client, line, time + cycles, true);
        cycles += filled.cycles;
        way = filled.l2_way;
    }
    *ret_reply = (tl_l2_reply){.cycles = cycles, .l2_way = way, .state = is_store ? TL_LINE_M : TL_LINE_E};
}

// Most lines are free when they are asked for (tl_l2_is_free). The data cache owns the line from
// now on. Returns the cycles waited.
TL_ALWAYS_INLINE uint64_t tl_l2_acquire_free_fixed(tl_l2_client *client, uint32_t way, uint64_t time, bool is_store) {
    uint64_t cycles = tl_l2_begin_fixed(client->l2, &client->agent, time, is_store ? TL_L2_READ_ST : TL_L2_READ_LD);
    tl_l2_use_fixed(client, way, is_store ? TL_LINK_ACQUIRE_NT_HIT : TL_LINK_ACQUIRE_NB_HIT)->word |= client->bit | TL_L2_WORD_OWNED;
    return cycles;
}

TL_ALWAYS_INLINE void tl_l2_acquire_to_write_fixed(tl_l2_client *client, uint64_t line, tl_l2_found found, uint64_t time,
                                                   tl_l2_reply *ret_reply) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = &l2->slices[0];
    uint64_t cycles = tl_l2_begin_fixed(l2, &client->agent, time, TL_L2_READ_ST);
    if (TL_LIKELY(found.hits != 0)) {
        tl_l2_line *entry = tl_l2_use_fixed(client, found.way, TL_LINK_ACQUIRE_NT_HIT);
        *ret_reply = (tl_l2_reply){.cycles = cycles, .l2_way = found.way, .state = TL_LINE_M};
        ret_reply->cycles += tl_l2_grant_write(client, slice, entry, line, time);
        ret_reply->is_contested = entry->is_contested;
        return;
    }
    tl_l2_count_miss(client->link, slice, &client->agent, TL_LINK_ACQUIRE_NT_HIT);
    tl_l2_filled filled = tl_l2_fill_fixed(client, line, time + cycles, true);
    *ret_reply = (tl_l2_reply){.cycles = cycles + filled.cycles, .l2_way = filled.l2_way, .state = TL_LINE_M};
}

TL_ALWAYS_INLINE void tl_l2_acquire_to_read_fixed(tl_l2_client *client, uint64_t line, tl_l2_found found, uint64_t time,
                                                  tl_l2_reply *ret_reply) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = &l2->slices[0];
    uint64_t cycles = tl_l2_begin_fixed(l2, &client->agent, time, TL_L2_READ_LD);
    if (TL_LIKELY(found.hits != 0)) {
        tl_l2_line *entry = tl_l2_use_fixed(client, found.way, TL_LINK_ACQUIRE_NB_HIT);
        *ret_reply = (tl_l2_reply){.cycles = cycles, .l2_way = found.way, .state = TL_LINE_E};
        ret_reply->cycles += tl_l2_grant_read(client, slice, entry, line, time, &ret_reply->state);
        ret_reply->is_contested = entry->is_contested;
        return;
    }
    tl_l2_count_miss(client->link, slice, &client->agent, TL_LINK_ACQUIRE_NB_HIT);
    tl_l2_filled filled = tl_l2_fill_fixed(client, line, time + cycles, true);
    *ret_reply = (tl_l2_reply){.cycles = cycles + filled.cycles, .l2_way = filled.l2_way, .state = TL_LINE_E};
}

// is_alone is tl_memory.is_alone. Even there the data cache may own the line.
TL_ALWAYS_INLINE tl_l2_reply tl_l2_get_fixed(tl_l2_client *client, uint64_t line, tl_l2_found found, uint64_t time, bool is_alone) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = &l2->slices[0];
    uint64_t cycles = is_alone ? tl_l2_begin_alone(l2, time, TL_L2_READ_I) : tl_l2_begin_fixed(l2, &client->agent, time, TL_L2_READ_I);
    if (TL_LIKELY(found.hits != 0)) {
        tl_l2_line *entry = tl_l2_use_fixed(client, found.way, TL_LINK_GET_HIT);
        cycles += tl_l2_grant_fetch(client, slice, entry, line, time);
        return (tl_l2_reply){.cycles = cycles, .l2_way = found.way, .state = TL_LINE_S};
    }
    tl_l2_count_miss(client->link, slice, &client->agent, TL_LINK_GET_HIT);
    tl_l2_filled filled =
        is_alone ? tl_l2_fill_alone(client, line, time + cycles, false) : tl_l2_fill_fixed(client, line, time + cycles, false);
    return (tl_l2_reply){.cycles = cycles + filled.cycles, .l2_way = filled.l2_way, .state = TL_LINE_S};
}

TL_ALWAYS_INLINE void tl_l2_release_data_fixed(tl_l2_client *client, uint32_t l2_way, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_take_release(client, &l2->slices[0], l2_way, time);
    l2->slices[0].cache.stamps[l2_way] = ++l2->clock;
}

// Of tl_memory.is_alone.
TL_ALWAYS_INLINE void tl_l2_release_data_alone(tl_l2_client *client, uint32_t l2_way, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = &l2->slices[0];
    tl_l2_line *entry = &l2->lines[l2_way];
    client->link[TL_LINK_RELEASE_DATA_TN] += 1;
    slice->tally[TL_L2_WRITE] += 1;
    entry->word = (entry->word & ~(client->bit | TL_L2_WORD_OWNED)) | TL_L2_WORD_DIRTY;
    tl_server_occupy_alone(&slice->server, time, l2->busy_cycles);
    l2->noc[TL_NOC_RELEASE_DATA] += 1;
    slice->cache.stamps[l2_way] = ++l2->clock;
}

#endif
