// SPDX-License-Identifier: MIT
// The second level for every machine; see l2.h.
#include "mem/bsq.h"

#include <assert.h>

void tl_l2_add_client(tl_l2 *l2, tl_l2_client *client, tl_l2_client_kind kind) {
    bool is_data = kind == TL_L2_DATA_CACHE;
    assert(l2->n_clients[kind] < (is_data ? TL_L2_MAX_DATA_CACHES : TL_L2_MAX_CLIENTS - TL_L2_MAX_DATA_CACHES));
    uint32_t number = (is_data ? 0 : TL_L2_MAX_DATA_CACHES) + l2->n_clients[kind]++;
    client->l2 = l2;
    client->bit = 1u << number;
    l2->clients[number] = client;
}

// ---- probes

static bool probe(tl_l2 *l2, tl_l2_slice *slice, tl_l2_client *client, uint64_t line, uint8_t keep, enum tl_mem_signal why) {
    bool has_data = client->type->probe(client, line, keep);
    slice->tally[TL_L2_PROBE_OUT] += 1;
    l2->noc[TL_NOC_PROBE] += 1;
    l2->noc[has_data ? TL_NOC_PROBE_ACK_DATA : TL_NOC_PROBE_ACK] += 1;
    client->link[why] += 1;
    return has_data;
}

// `why`: TL_LINK_PROBE_*. Returns whether the data cache sent data.
static bool probe_data_cache(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, tl_l2_client *client, uint64_t line, uint8_t keep,
                             enum tl_mem_signal why) {
    bool has_data = probe(l2, slice, client, line, keep, why);
    client->link[tl_l2_release_signal(has_data, entry->is_owned, keep != TL_LINE_I)] += 1;
    if (has_data)
        tl_l2_take_data(slice, entry);
    if (TL_UNLIKELY(tl_l2_is_outside(l2, (uint32_t)(entry - l2->lines))))
        entry->is_dirty = false; // a first-level cache has the data
    if (keep == TL_LINE_I)
        tl_l2_remove_sharer(entry, client);
    return has_data;
}

static tl_l2_client *owner_of(const tl_l2 *l2, const tl_l2_line *entry) {
    return l2->clients[__builtin_ctz(entry->sharers & TL_L2_DATA_CACHES)];
}

void tl_l2_share_owner(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, enum tl_mem_signal why) {
    const uint8_t keep = tl_l2_is_outside(l2, (uint32_t)(entry - l2->lines)) ? TL_LINE_O : TL_LINE_S;
    (void)probe_data_cache(l2, slice, entry, owner_of(l2, entry), line, keep, why);
    entry->is_owned = false;
}

// Takes every copy above. Data caches come first, because their numbers are lower.
static void probe_all(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line) {
    for (uint32_t left = entry->sharers; left != 0; left &= left - 1) {
        tl_l2_client *client = l2->clients[__builtin_ctz(left)];
        if (client->bit & TL_L2_DATA_CACHES)
            (void)probe_data_cache(l2, slice, entry, client, line, TL_LINE_I, TL_LINK_PROBE_TAKE);
        else
            (void)probe(l2, slice, client, line, TL_LINE_I, TL_LINK_PROBE_I);
    }
    entry->sharers = 0;
    entry->is_owned = false;
}

void tl_l2_take_back(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line) {
    slice->tally[TL_L2_BACK_INVALIDATE] += (uint32_t)__builtin_popcount(entry->sharers);
    probe_all(l2, slice, entry, line);
}

// Whether one of the data caches used the line lately. Where this client loads, only a changed line
// counts.
static bool is_close(const tl_l2 *l2, uint32_t caches, uint64_t line, bool is_store) {
    bool result = false;
    for (uint32_t left = caches; left != 0; left &= left - 1) {
        const tl_l2_client *other = l2->clients[__builtin_ctz(left)];
        result |= other->type->used_lately(other, line, !is_store);
    }
    return result;
}

// The data caches in `others` are about to be probed for the sake of this client. A close contact
// makes the line contested, and any contact keeps it so.
static void contest(tl_l2_client *client, tl_l2_line *entry, uint64_t line, uint32_t others, bool is_store, uint64_t time) {
    tl_l2 *l2 = client->l2;
    const bool is_close_contact = is_close(l2, others, line, is_store);
    if (!tl_l2_contest_lasts(l2, entry, time) && !is_close_contact)
        return;
    entry->is_contested = true;
    l2->contested_at[entry - l2->lines] = time;
    if (!is_close_contact)
        return;
    client->type->note_sharing(client, time);
    for (uint32_t left = others; left != 0; left &= left - 1) {
        tl_l2_client *other = l2->clients[__builtin_ctz(left)];
        other->type->note_sharing(other, time);
    }
}

void tl_l2_take_from_owner(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, enum tl_mem_signal why,
                           uint64_t time) {
    const tl_l2_client *owner = owner_of(client->l2, entry);
    if (!tl_agent_is_same_hart(&owner->agent, &client->agent))
        contest(client, entry, line, owner->bit, false, time);
    tl_l2_share_owner(client->l2, slice, entry, line, why);
}

void tl_l2_probe_others(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time) {
    tl_l2 *l2 = client->l2;
    uint32_t others = tl_l2_others(entry, client);
    contest(client, entry, line, others, true, time);
    for (uint32_t left = others; left != 0; left &= left - 1)
        (void)probe_data_cache(l2, slice, entry, l2->clients[__builtin_ctz(left)], line, TL_LINE_I, TL_LINK_PROBE_STORE);
}

// ---- requests

enum { PAGE_BYTES = 4096 }; // the smallest page

static void evict_tag(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint32_t way, uint64_t time) {
    const uint64_t first_line = tl_cache_line(&slice->cache, way);
    l2->bsq->tally[TL_BSQ_TAG_EVICT] += 1;
    for (uint32_t i = 0; i < 1u << l2->sector_log2; i++) {
        tl_l2_line *entry = &l2->lines[((slice->first_way + way) << l2->sector_log2) + i];
        const uint64_t line = first_line + ((uint64_t)i << l2->line_log2);
        if (!entry->is_present)
            continue;
        l2->bsq->tally[TL_BSQ_PREFETCH_UNUSED] += entry->is_prefetched;
        if (tl_l2_drop(l2, slice, entry, line))
            tl_bsq_write(l2, agent, line, time);
        *entry = (tl_l2_line){0};
    }
}

// `fill` where a tag may cover several lines. kept: an index of tl_l2.lines that must stay, or
// TL_NO_WAY. Returns TL_NO_WAY if it would not.
static uint32_t fill_sector(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t kept, uint64_t time) {
    tl_cache *cache = &slice->cache;
    uint32_t way = tl_cache_find(cache, line);
    const bool has_tag = way != TL_NO_WAY;
    if (!has_tag) {
        way = tl_cache_choose(cache, line);
        if (kept != TL_NO_WAY && slice->first_way + way == kept >> l2->sector_log2)
            return TL_NO_WAY;
        if (cache->tags[way] != TL_NO_TAG)
            evict_tag(l2, slice, agent, way, time);
        tl_cache_fill(cache, way, line);
    }
    l2->bsq->tally[has_tag ? TL_BSQ_SECTOR_MISS : TL_BSQ_LINE_MISS] += 1;
    const uint32_t sector = (uint32_t)(line >> l2->line_log2) & ((1u << l2->sector_log2) - 1);
    const uint32_t l2_way = ((slice->first_way + way) << l2->sector_log2) + sector;
    l2->lines[l2_way] = (tl_l2_line){.is_present = true};
    return l2_way;
}

// Puts a line from memory into a way of its own, whose line is evicted. Returns the way, as an
// index of tl_l2.lines.
static uint32_t fill(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint64_t time) {
    if (TL_UNLIKELY(l2->bsq != NULL))
        return fill_sector(l2, slice, agent, line, TL_NO_WAY, time);
    tl_cache *cache = &slice->cache;
    uint32_t way = tl_cache_choose(cache, line);
    tl_l2_line *entry = &l2->lines[slice->first_way + way];
    if (TL_LIKELY(cache->tags[way] != TL_NO_TAG))
        tl_l2_evict(l2, slice, agent, way, entry, time);
    tl_cache_fill(cache, way, line);
    *entry = (tl_l2_line){0};
    return slice->first_way + way;
}

// A line that nobody waits for. Returns its way.
static uint32_t fetch_aside(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint64_t time) {
    if (l2->bsq == NULL) {
        (void)tl_dram_read_aside(&l2->dram, agent, line, time);
        return fill(l2, slice, agent, line, time);
    }
    const uint64_t arrives_at = time + tl_bsq_read(l2, agent, line, time, false);
    const uint32_t l2_way = fill(l2, slice, agent, line, time);
    l2->bsq->arrives_at[l2_way] = arrives_at;
    return l2_way;
}

static TL_NOINLINE void prefetch_next(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time) {
    uint64_t next = line + (UINT64_C(1) << l2->line_log2);
    if ((next & (PAGE_BYTES - 1)) == 0) // another page, whose owner is unknown
        return;
    if (tl_l2_find(l2, next) != TL_NO_WAY)
        return;
    tl_l2_slice *slice = tl_l2_slice_of(l2, next);
    slice->tally[TL_L2_PREFETCH] += 1;
    l2->lines[fetch_aside(l2, slice, agent, next, time)].is_prefetched = true;
}

// A prefetch for the sake of a request whose line is `kept`. false: the queue is full.
static bool prefetch(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint32_t kept, enum tl_mem_signal why, uint64_t time) {
    tl_bsq *bsq = l2->bsq;
    if (tl_l2_find(l2, line) != TL_NO_WAY)
        return true;
    if (!tl_bsq_may_prefetch(bsq, time))
        return false;
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    const uint32_t l2_way = fill_sector(l2, slice, agent, line, kept, time);
    if (l2_way == TL_NO_WAY)
        return true;
    slice->tally[TL_L2_PREFETCH] += 1;
    bsq->tally[why] += 1;
    bsq->arrives_at[l2_way] = time + tl_bsq_read(l2, agent, line, time, false);
    l2->lines[l2_way].is_prefetched = true;
    return true;
}

// Prefetches that a request at `time` sets off. kept: the line of the request.
static TL_NOINLINE void fetch_ahead(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint32_t kept, bool is_miss, uint64_t time) {
    const uint64_t line_bytes = UINT64_C(1) << l2->line_log2, tag_bytes = line_bytes << l2->sector_log2;
    if (is_miss && l2->bsq->fetches_adjacent)
        for (uint64_t other = line & ~(tag_bytes - 1), end = other + tag_bytes; other < end; other += line_bytes)
            if (!prefetch(l2, agent, other, kept, TL_BSQ_PREFETCH_ADJACENT, time))
                return;
    tl_stream *stream = tl_bsq_follow(l2, line, is_miss);
    for (; stream && !tl_bsq_ends(l2, stream); stream->ahead += (uint64_t)stream->step_bytes)
        if (!prefetch(l2, agent, stream->ahead, kept, TL_BSQ_PREFETCH_STREAM, time))
            return;
}

// ---- a second level that is not inclusive

static void move_entry(tl_l2 *l2, uint64_t line, uint32_t from, uint32_t to) {
    l2->lines[to] = l2->lines[from];
    l2->contested_at[to] = l2->contested_at[from];
    for (uint32_t left = l2->lines[to].sharers; left != 0; left &= left - 1) {
        tl_l2_client *client = l2->clients[__builtin_ctz(left)];
        client->type->moved(client, line, to);
    }
}

// A line makes room. Caches above keep it.
static void evict_alone(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint32_t way, uint64_t time) {
    const uint64_t line = tl_cache_line(&slice->cache, way);
    tl_l2_line *entry = &l2->lines[slice->first_way + way];
    slice->tally[entry->is_dirty ? TL_L2_EVICT_DIRTY : TL_L2_EVICT_CLEAN] += 1;
    if (entry->is_dirty) {
        slice->tally[TL_L2_WRITEBACK] += 1;
        tl_dram_write(&l2->dram, agent, line, time);
        entry->is_dirty = false;
    }
    if (entry->sharers != 0)
        move_entry(l2, line, slice->first_way + way, tl_snoop_filter_take(l2->filter, line));
}

// Puts a line into a way of its own. outside: the index of its entry in the snoop filter, or
// TL_NO_WAY. Returns the way, as an index of tl_l2.lines.
static uint32_t admit(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t outside, uint64_t time) {
    tl_cache *cache = &slice->cache;
    const uint32_t way = tl_cache_choose(cache, line), l2_way = slice->first_way + way;
    if (cache->tags[way] != TL_NO_TAG)
        evict_alone(l2, slice, agent, way, time);
    tl_cache_fill(cache, way, line);
    l2->lines[l2_way] = (tl_l2_line){0};
    if (outside != TL_NO_WAY) {
        move_entry(l2, line, outside, l2_way);
        tl_snoop_filter_release(l2->filter, outside);
    }
    return l2_way;
}

void tl_l2_take_evicted(tl_l2_client *client, uint64_t line, uint32_t l2_way, bool has_data, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    if (has_data)
        tl_l2_take_release(client, slice, l2_way, time);
    else
        tl_l2_release(client, l2_way);
    if (!tl_l2_is_outside(l2, l2_way)) {
        if (has_data)
            tl_cache_touch(&slice->cache, tl_l2_cache_way(l2, slice, l2_way));
        return;
    }
    if (!has_data) // the line comes all the same
        tl_server_occupy(&slice->server, time, l2->busy_cycles);
    slice->tally[TL_L2_EVICT_FILL] += 1;
    (void)admit(l2, slice, &client->agent, line, l2_way, time);
}

void tl_l2_forget_fetch(tl_l2_client *client, uint32_t l2_way) {
    tl_l2 *l2 = client->l2;
    tl_l2_release_fetch(client, l2_way);
    if (tl_l2_is_outside(l2, l2_way) && l2->lines[l2_way].sharers == 0)
        tl_snoop_filter_release(l2->filter, l2_way);
}

// All ways are empty. A line of a data cache leaves through the second level.
static void empty_outside(tl_l2 *l2, const tl_agent *agent, uint64_t time) {
    uint64_t line;
    for (uint32_t bucket = 0, found; (found = tl_snoop_filter_first(l2->filter, &bucket, &line)) != TL_NO_WAY;) {
        tl_l2_slice *slice = tl_l2_slice_of(l2, line);
        if ((l2->lines[found].sharers & TL_L2_DATA_CACHES) == 0) {
            tl_l2_take_back(l2, slice, &l2->lines[found], line);
            tl_snoop_filter_release(l2->filter, found);
            continue;
        }
        slice->tally[TL_L2_EVICT_FILL] += 1;
        const uint32_t l2_way = admit(l2, slice, agent, line, found, time), way = tl_l2_cache_way(l2, slice, l2_way);
        tl_l2_evict(l2, slice, agent, way, &l2->lines[l2_way], time);
        l2->lines[l2_way] = (tl_l2_line){0};
        tl_cache_drop(&slice->cache, way);
    }
}

void tl_l2_empty(tl_l2 *l2, const tl_agent *agent, uint64_t time) {
    for (uint32_t i = 0; i <= l2->slice_mask; i++) {
        tl_l2_slice *slice = &l2->slices[i];
        for (uint32_t way = 0; way < tl_cache_n_ways(&slice->cache); way++) {
            if (slice->cache.tags[way] == TL_NO_TAG)
                continue;
            if (l2->bsq != NULL) {
                evict_tag(l2, slice, agent, way, time);
            } else {
                tl_l2_line *entry = &l2->lines[slice->first_way + way];
                tl_l2_evict(l2, slice, agent, way, entry, time);
                *entry = (tl_l2_line){0};
            }
            tl_cache_drop(&slice->cache, way);
        }
    }
    if (l2->filter != NULL)
        empty_outside(l2, agent, time);
}

// ---- cache maintenance

static void write_clean(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint64_t time) {
    slice->tally[TL_L2_CLEAN] += 1;
    slice->tally[TL_L2_WRITEBACK] += 1;
    tl_dram_write(&l2->dram, agent, line, time);
}

// Data caches among `clients` keep the line unchanged. An owner stays the owner. Without one, a
// cache may have changed data only where the line went from owner to sharer outside this level.
// Returns whether one had changed it.
static bool clean_above(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint32_t clients) {
    bool has_data = false;
    uint32_t left = entry->sharers & TL_L2_DATA_CACHES & clients;
    if (!entry->is_owned && l2->filter == NULL)
        return false;
    for (; left != 0; left &= left - 1) {
        const uint8_t keep = entry->is_owned ? TL_LINE_E : TL_LINE_S;
        has_data |= probe_data_cache(l2, slice, entry, l2->clients[__builtin_ctz(left)], line, keep, TL_LINK_PROBE_GET);
    }
    return has_data;
}

// The data of a line comes here, or the line does.
static void clean_to_here(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found, uint32_t clients,
                          uint64_t time) {
    if (!clean_above(l2, slice, &l2->lines[found], line, clients) || !tl_l2_is_outside(l2, found))
        return;
    slice->tally[TL_L2_EVICT_FILL] += 1;
    l2->lines[admit(l2, slice, agent, line, found, time)].is_dirty = true;
}

static void clean_to_memory(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time) {
    tl_l2_line *entry = &l2->lines[found];
    if (clean_above(l2, slice, entry, line, TL_L2_DATA_CACHES) || entry->is_dirty)
        write_clean(l2, slice, agent, line, time);
    entry->is_dirty = false;
}

// A line of this level leaves. Where the level is not inclusive, caches above keep it.
static void leave(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint32_t way, uint64_t time) {
    tl_l2_line *entry = &l2->lines[slice->first_way + way];
    if (l2->filter != NULL)
        evict_alone(l2, slice, agent, way, time);
    else
        tl_l2_evict(l2, slice, agent, way, entry, time);
    *entry = (tl_l2_line){0};
    tl_cache_drop(&slice->cache, way);
}

static void clean_and_drop(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time) {
    tl_l2_line *entry = &l2->lines[found];
    bool has_data = false;
    for (uint32_t left = entry->sharers & TL_L2_DATA_CACHES; left != 0; left &= left - 1)
        has_data |= probe_data_cache(l2, slice, entry, l2->clients[__builtin_ctz(left)], line, TL_LINE_I, TL_LINK_PROBE_TAKE);
    entry->is_owned = false;
    if (!tl_l2_is_outside(l2, found)) {
        leave(l2, slice, agent, tl_l2_cache_way(l2, slice, found), time);
        return;
    }
    if (has_data)
        write_clean(l2, slice, agent, line, time);
    if (entry->sharers == 0)
        tl_snoop_filter_release(l2->filter, found);
}

void tl_l2_maintain(tl_l2 *l2, const tl_agent *agent, uint64_t line, tl_maintenance what, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    const uint32_t found = tl_l2_find(l2, line);
    if (found == TL_NO_WAY || l2->bsq != NULL)
        return;
    tl_server_occupy(&slice->server, time, l2->busy_cycles);
    switch (what) {
    case TL_CLEAN_L1: clean_to_here(l2, slice, agent, line, found, TL_L2_DATA_CACHES, time); break;
    case TL_CLEAN: clean_to_memory(l2, slice, agent, line, found, time); break;
    case TL_CLEAN_DROP: clean_and_drop(l2, slice, agent, line, found, time); break;
    }
}

void tl_l2_clean_client(tl_l2_client *client, uint64_t line, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    const uint32_t found = tl_l2_find(l2, line);
    if (found == TL_NO_WAY || l2->bsq != NULL)
        return;
    tl_server_occupy(&slice->server, time, l2->busy_cycles);
    clean_to_here(l2, slice, &client->agent, line, found, client->bit, time);
}

void tl_l2_maintain_way(tl_l2 *l2, const tl_agent *agent, uint32_t set, uint32_t way, tl_maintenance what, uint64_t time) {
    const uint64_t place = (uint64_t)set << l2->line_log2;
    tl_l2_slice *slice = tl_l2_slice_of(l2, place);
    const uint32_t index = tl_cache_first_way(&slice->cache, place) + way;
    if (l2->bsq != NULL || way >= slice->cache.ways || slice->cache.tags[index] == TL_NO_TAG)
        return;
    tl_server_occupy(&slice->server, time, l2->busy_cycles);
    tl_l2_line *entry = &l2->lines[slice->first_way + index];
    if (what == TL_CLEAN_DROP) {
        leave(l2, slice, agent, index, time);
    } else if (entry->is_dirty) {
        write_clean(l2, slice, agent, tl_cache_line(&slice->cache, index), time);
        entry->is_dirty = false;
    }
}

// A request uses a line that is here; `hit`: TL_LINK_*_HIT.
TL_ALWAYS_INLINE void use(const tl_l2_client *client, tl_l2_slice *slice, uint32_t l2_way, enum tl_mem_signal hit) {
    tl_l2_line *entry = &client->l2->lines[l2_way];
    tl_cache_touch(&slice->cache, tl_l2_cache_way(client->l2, slice, l2_way));
    tl_l2_count_hit(client->link, entry, hit);
    slice->tally[TL_L2_PREFETCH_HIT] += entry->is_prefetched;
    entry->is_prefetched = false;
}

// `serve` of detailed cores, behind the first counts.
static TL_NOINLINE uint32_t serve_detailed(tl_l2_client *client, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found,
                                           uint64_t time, enum tl_mem_signal hit, uint64_t *ret_cycles) {
    tl_l2 *l2 = client->l2;
    uint64_t cycles = tl_bsq_occupy_slice(l2, slice, time) + l2->hit_cycles;
    const uint64_t asked = time + cycles;
    const bool is_miss = found == TL_NO_WAY;
    if (!is_miss) {
        cycles += tl_bsq_wait(l2, found, asked);
        use(client, slice, found, hit);
    } else {
        tl_l2_count_miss(client->link, slice, agent, hit);
        cycles += tl_bsq_read(l2, agent, line, asked, true);
        found = fill_sector(l2, slice, agent, line, TL_NO_WAY, asked);
        l2->bsq->arrives_at[found] = time + cycles;
        if (l2->is_prefetching)
            prefetch_next(l2, agent, line, time + cycles);
    }
    fetch_ahead(l2, agent, line, found, is_miss, asked);
    *ret_cycles = cycles;
    return found;
}

// `serve` with a snoop filter, behind the first counts. A line that a data cache holds comes from
// there, which takes the time of a probe. The grant adds that time to a store, and where there is
// an owner. Instructions fill the second level.
static TL_NOINLINE uint32_t serve_filtered(tl_l2_client *client, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found,
                                           uint64_t time, enum tl_mem_signal hit, uint64_t *ret_cycles) {
    tl_l2 *l2 = client->l2;
    uint64_t cycles = tl_l2_wait(l2, slice, time);
    if (found != TL_NO_WAY && !tl_l2_is_outside(l2, found)) {
        use(client, slice, found, hit);
        *ret_cycles = cycles;
        return found;
    }
    const tl_l2_line *entry = found == TL_NO_WAY ? NULL : &l2->lines[found];
    const uint64_t asked = time + cycles;
    if (entry && (entry->sharers & TL_L2_DATA_CACHES) != 0) {
        tl_l2_count_hit(client->link, entry, hit);
        cycles += entry->is_owned || hit == TL_LINK_ACQUIRE_NT_HIT ? 0 : l2->probe_cycles;
    } else {
        tl_l2_count_miss(client->link, slice, agent, hit);
        cycles += tl_dram_read(&l2->dram, agent, line, asked);
    }
    *ret_cycles = cycles;
    if (hit == TL_LINK_GET_HIT)
        return admit(l2, slice, agent, line, found, asked);
    if (found == TL_NO_WAY) {
        found = tl_snoop_filter_take(l2->filter, line);
        l2->lines[found] = (tl_l2_line){0};
    }
    return found;
}

// Finds the line or fills it. Returns its way; *ret_cycles is the time until then.
TL_ALWAYS_INLINE uint32_t serve(tl_l2_client *client, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint32_t found,
                                uint64_t time, enum tl_mem_signal kind, enum tl_mem_signal hit, uint64_t *ret_cycles) {
    tl_l2 *l2 = client->l2;
    tl_l2_count_request(l2, slice, agent, kind);
    l2->noc[TL_NOC_RESPONSE_DATA] += 1;
    if (TL_UNLIKELY(l2->is_special))
        return l2->bsq ? serve_detailed(client, slice, agent, line, found, time, hit, ret_cycles)
                       : serve_filtered(client, slice, agent, line, found, time, hit, ret_cycles);
    uint64_t cycles = tl_l2_wait(l2, slice, time);
    if (TL_LIKELY(found != TL_NO_WAY)) {
        use(client, slice, found, hit);
    } else {
        tl_l2_count_miss(client->link, slice, agent, hit);
        uint64_t asked = time + cycles;
        cycles += tl_dram_read(&l2->dram, agent, line, asked);
        found = fill(l2, slice, agent, line, asked);
        if (TL_UNLIKELY(l2->is_prefetching))
            prefetch_next(l2, agent, line, time + cycles);
    }
    *ret_cycles = cycles;
    return found;
}

static uint32_t serve_prefetch(tl_l2_client *client, tl_l2_slice *slice, const tl_agent *agent, uint64_t line, uint64_t time,
                               enum tl_mem_signal kind, enum tl_mem_signal hit) {
    tl_l2 *l2 = client->l2;
    uint32_t found = tl_l2_find(l2, line);
    tl_l2_count_request(l2, slice, agent, kind);
    l2->noc[TL_NOC_RESPONSE_DATA] += 1;
    slice->tally[TL_L2_PREFETCH_READ] += 1;
    uint64_t cycles = tl_server_occupy(&slice->server, time, l2->busy_cycles) + l2->hit_cycles;
    if (found != TL_NO_WAY) {
        use(client, slice, found, hit);
        return found;
    }
    tl_l2_count_miss(client->link, slice, agent, hit);
    return fetch_aside(l2, slice, agent, line, time + cycles);
}

tl_l2_reply tl_l2_get(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_reply reply = {.state = TL_LINE_S};
    reply.l2_way = serve(client, slice, agent, line, found, time, TL_L2_READ_I, TL_LINK_GET_HIT, &reply.cycles);
    tl_l2_line *entry = &client->l2->lines[reply.l2_way];
    reply.cycles += tl_l2_grant_fetch(client, slice, entry, line, time);
    return reply;
}

// A data cache that writes through owns no line.
TL_ALWAYS_INLINE uint32_t grant_read(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time,
                                     uint8_t *ret_state) {
    const tl_bsq *bsq = client->l2->bsq;
    if (TL_LIKELY(!bsq || !bsq->writes_through))
        return tl_l2_grant_read(client, slice, entry, line, time, ret_state);
    tl_l2_add_sharer(entry, client);
    *ret_state = TL_LINE_S;
    return 0;
}

tl_l2_reply tl_l2_acquire_to_read(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_reply reply = {0};
    reply.l2_way = serve(client, slice, agent, line, found, time, TL_L2_READ_LD, TL_LINK_ACQUIRE_NB_HIT, &reply.cycles);
    tl_l2_line *entry = &client->l2->lines[reply.l2_way];
    reply.cycles += grant_read(client, slice, entry, line, time, &reply.state);
    reply.is_contested = entry->is_contested;
    return reply;
}

tl_l2_reply tl_l2_acquire_to_write(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_reply reply = {.state = TL_LINE_M};
    reply.l2_way = serve(client, slice, agent, line, found, time, TL_L2_READ_ST, TL_LINK_ACQUIRE_NT_HIT, &reply.cycles);
    tl_l2_line *entry = &client->l2->lines[reply.l2_way];
    reply.cycles += tl_l2_grant_write(client, slice, entry, line, time);
    reply.is_contested = entry->is_contested;
    return reply;
}

tl_l2_reply tl_l2_prefetch_get(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_reply reply = {.state = TL_LINE_S};
    reply.l2_way = serve_prefetch(client, slice, agent, line, time, TL_L2_READ_I, TL_LINK_GET_HIT);
    (void)tl_l2_grant_fetch(client, slice, &client->l2->lines[reply.l2_way], line, time);
    return reply;
}

tl_l2_reply tl_l2_prefetch_to_read(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_reply reply = {0};
    reply.l2_way = serve_prefetch(client, slice, agent, line, time, TL_L2_READ_LD, TL_LINK_ACQUIRE_NB_HIT);
    tl_l2_line *entry = &client->l2->lines[reply.l2_way];
    (void)grant_read(client, slice, entry, line, time, &reply.state);
    reply.is_contested = entry->is_contested;
    return reply;
}

uint64_t tl_l2_acquire_permission(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t l2_way, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    tl_l2_line *entry = &l2->lines[l2_way];
    tl_l2_count_request(l2, slice, agent, TL_L2_READ_ST);
    slice->tally[TL_L2_UPGRADE] += 1;
    client->link[TL_LINK_ACQUIRE_PERM] += 1;
    client->link[TL_LINK_ACQUIRE_PERM_SHARED] += (entry->sharers & ~client->bit) != 0;
    uint64_t cycles = tl_server_occupy(&slice->server, time, l2->busy_cycles);
    slice->tally[TL_L2_BUSY] += cycles;
    cycles += l2->upgrade_cycles;
    if (TL_LIKELY(!tl_l2_is_outside(l2, l2_way)))
        tl_cache_touch(&slice->cache, tl_l2_cache_way(l2, slice, l2_way));
    return cycles + tl_l2_grant_write(client, slice, entry, line, time);
}

// A store joins a write buffer if the second level still has what the buffer wrote, and nobody else
// has a copy.
static bool combines(tl_l2_client *client, uint64_t line, uint32_t found) {
    tl_l2 *l2 = client->l2;
    return tl_bsq_combines(l2->bsq, client, line) && found != TL_NO_WAY && l2->lines[found].is_dirty &&
           tl_l2_others(&l2->lines[found], client) == 0;
}

uint64_t tl_l2_put(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, bool waits, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_bsq *bsq = l2->bsq;
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    const bool is_miss = found == TL_NO_WAY;
    bsq->tally[TL_BSQ_STORE] += 1;
    if (combines(client, line, found)) {
        bsq->tally[TL_BSQ_STORE_COMBINED] += 1;
        return waits ? l2->hit_cycles : 0;
    }
    slice->tally[TL_L2_WRITE] += 1;
    uint64_t cycles = tl_bsq_occupy_slice(l2, slice, time);
    const uint64_t asked = time + cycles + l2->hit_cycles;
    if (!is_miss) {
        tl_cache_touch(&slice->cache, tl_l2_cache_way(l2, slice, found));
        slice->tally[TL_L2_PREFETCH_HIT] += l2->lines[found].is_prefetched;
        l2->lines[found].is_prefetched = false;
        cycles += waits ? l2->hit_cycles + tl_bsq_wait(l2, found, asked) : 0;
    } else {
        slice->tally[TL_L2_WRITEMISS] += 1;
        bsq->tally[TL_BSQ_STORE_MISS] += 1;
        cycles += l2->hit_cycles + tl_bsq_read(l2, agent, line, asked, true);
        found = fill_sector(l2, slice, agent, line, TL_NO_WAY, asked);
        bsq->arrives_at[found] = time + cycles;
    }
    tl_l2_line *entry = &l2->lines[found];
    if (tl_l2_others(entry, client) != 0) {
        tl_l2_probe_others(client, slice, entry, line, time);
        cycles += l2->probe_cycles;
    }
    entry->is_dirty = true;
    fetch_ahead(l2, agent, line, found, is_miss, asked);
    return cycles;
}

// A device's access comes through a port of the slice, which serves lines that are here. Other
// lines come from memory and leave nothing behind. A write takes every copy above, those of
// instruction caches included.
void tl_l2_dma(tl_l2 *l2, const tl_agent *agent, uint64_t line, tl_dma use, uint64_t time) {
    static const struct {
        enum tl_mem_signal all, part, hit, hit_shared, miss;
    } signals[] = {
        [TL_DMA_GET] = {TL_L2_DMA_READ, TL_L2_N_SIGNALS, TL_L2_DMA_READ_HIT, TL_L2_DMA_READ_HIT_SHARED, TL_L2_DMA_READMISS},
        [TL_DMA_PUT_FULL] = {TL_L2_DMA_WRITE, TL_L2_DMA_WRITE_FULL, TL_L2_DMA_WRITE_FULL_HIT, TL_L2_DMA_WRITE_FULL_HIT_SHARED,
                             TL_L2_DMA_WRITEMISS},
        [TL_DMA_PUT_PARTIAL] = {TL_L2_DMA_WRITE, TL_L2_DMA_WRITE_PARTIAL, TL_L2_DMA_WRITE_PARTIAL_HIT, TL_L2_DMA_WRITE_PARTIAL_HIT_SHARED,
                                TL_L2_DMA_WRITEMISS},
    };
    tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    bool is_write = use != TL_DMA_GET;
    slice->tally[signals[use].all] += 1;
    if (is_write)
        slice->tally[signals[use].part] += 1;
    time += tl_server_occupy(&slice->server, time, l2->busy_cycles) + l2->hit_cycles;
    uint32_t l2_way = tl_l2_find(l2, line);
    const bool is_outside = l2_way != TL_NO_WAY && tl_l2_is_outside(l2, l2_way);
    if (is_outside && is_write) {
        probe_all(l2, slice, &l2->lines[l2_way], line);
        tl_snoop_filter_release(l2->filter, l2_way);
    }
    const bool is_snooped = is_outside && !is_write && (l2->lines[l2_way].sharers & TL_L2_DATA_CACHES) != 0;
    if (l2_way == TL_NO_WAY || (is_outside && !is_snooped)) {
        slice->tally[signals[use].miss] += 1;
        if (is_write)
            tl_dram_write(&l2->dram, agent, line, time);
        else
            (void)tl_dram_read_aside(&l2->dram, agent, line, time);
        return;
    }
    tl_l2_line *entry = &l2->lines[l2_way];
    if (!is_outside)
        tl_cache_touch(&slice->cache, tl_l2_cache_way(l2, slice, l2_way));
    slice->tally[signals[use].hit] += 1;
    slice->tally[signals[use].hit_shared] += entry->sharers != 0;
    if (!is_write) {
        if (entry->is_owned)
            tl_l2_share_owner(l2, slice, entry, line, TL_LINK_PROBE_GET);
        return;
    }
    probe_all(l2, slice, entry, line);
    entry->is_dirty = true;
}
