// SPDX-License-Identifier: MIT
// What the first level inlines of the second: a request that hits, and giving a line back. Its order of work for one request: wait for the
// slice, look up, probe other copies or read memory, answer; then make room. What is rare is in l2.c.
#ifndef TL_MEM_L2_H
#define TL_MEM_L2_H

#include "mem/contest.h"
#include "mem/dram.h"

// What is rare: one hart alone never needs the first two, and prefetchers are a matter of the machine.
void tl_l2_share_owner(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line,
                       enum tl_mem_signal why);                                                               // it keeps a shared copy
void tl_l2_probe_others(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint32_t others, uint64_t line); // their copies go
void tl_l2_prefetch_next(tl_memory *m, uint64_t line, uint64_t time);
void tl_l2_take_back(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line); // every copy goes: the L2 is inclusive

TL_ALWAYS_INLINE tl_l2_slice *tl_l2_slice_of(tl_memory *m, uint64_t line) {
    return &m->slices[line >> m->line_log2 & (m->config.l2_slices - 1)];
}

TL_ALWAYS_INLINE void tl_l2_touch(tl_memory *m, tl_l2_slice *slice, uint32_t way, bool is_fixed) {
    if (is_fixed)
        slice->cache.stamps[way] = ++m->l2_clock;
    else
        tl_cache_touch(&slice->cache, way);
}

TL_ALWAYS_INLINE void tl_l2_take_data(tl_l2_slice *slice, tl_l2_line *entry) {
    slice->tally[TL_L2_WRITE] += 1;
    entry->is_dirty = true;
}

// The signal of what a data cache says when it gives up a right: the line with data or the right alone, all of it (N) or writing (B).
TL_ALWAYS_INLINE enum tl_mem_signal tl_l2_release_signal(bool has_data, bool is_trunk, bool keeps) {
    if (has_data)
        return keeps ? TL_LINK_RELEASE_DATA_TB : TL_LINK_RELEASE_DATA_TN;
    return !is_trunk ? TL_LINK_RELEASE_BN : keeps ? TL_LINK_RELEASE_TB : TL_LINK_RELEASE_TN;
}

// Whether other harts use the line, or did.
TL_ALWAYS_INLINE bool tl_l2_is_shared(const tl_l2_line *entry, uint32_t hart) {
    return ((entry->data_sharers & ~(1u << hart)) != 0) | entry->is_contested;
}

// Whether a data cache of another hart is probed when this one reads or writes the line that it has not, or may not write.
TL_ALWAYS_INLINE bool tl_l2_needs_others(const tl_l2_line *entry, uint32_t hart, bool is_store) {
    return is_store ? (entry->data_sharers & ~(1u << hart)) != 0 : entry->owner != TL_NO_OWNER && entry->owner != hart;
}

// A data cache wants to write: every other copy in a data cache goes. Returns the cycles that takes.
TL_ALWAYS_INLINE uint32_t tl_l2_take_others(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint32_t hart, uint64_t line,
                                            uint64_t time) {
    uint32_t others = entry->data_sharers & ~(1u << hart);
    if (TL_UNLIKELY(others != 0)) {
        tl_l2_probe_others(m, slice, entry, others, line);
        tl_contest(m, entry, hart, others, time);
    }
    entry->owner = (uint8_t)hart;
    entry->data_sharers = (uint8_t)(1u << hart);
    return others != 0 ? m->config.mem.probe_cycles : 0;
}

TL_ALWAYS_INLINE void tl_l2_evict(tl_memory *m, tl_l2_slice *slice, uint32_t way, tl_l2_line *entry, uint64_t time) {
    uint64_t line = tl_cache_line(&slice->cache, way);
    if (TL_UNLIKELY(entry->data_sharers | entry->fetch_sharers)) // most lines left the first-level caches long ago
        tl_l2_take_back(m, slice, entry, line);
    if (entry->is_dirty) {
        slice->tally[TL_L2_EVICT_DIRTY] += 1;
        slice->tally[TL_L2_WRITEBACK] += 1;
        tl_dram_write(m, line, time);
    } else {
        slice->tally[TL_L2_EVICT_CLEAN] += 1;
    }
}

// Reads the line from memory into a way of its own; *cycles grows by what the data took.
TL_ALWAYS_INLINE uint32_t tl_l2_fill(tl_memory *m, tl_l2_slice *slice, uint64_t line, uint64_t time, bool is_demand, uint64_t *cycles,
                                     bool is_fixed) {
    tl_cache *cache = &slice->cache;
    *cycles += tl_dram_read(m, line, time, is_demand);
    uint32_t way = is_fixed && TL_LIKELY(cache->n_invalid == 0) ? tl_cache_choose_fixed(cache, line) : tl_cache_choose(cache, line);
    tl_l2_line *entry = &m->l2_lines[(is_fixed ? 0 : slice->first_way) + way];
    if (TL_LIKELY(cache->tags[way] != TL_NO_TAG))
        tl_l2_evict(m, slice, way, entry, time);
    if (is_fixed && TL_LIKELY(cache->n_invalid == 0)) {
        cache->tags[way] = (uint32_t)(line >> TL_FIXED_LINE_LOG2);
        cache->stamps[way] = ++m->l2_clock;
    } else {
        tl_cache_fill(cache, way, line);
    }
    *entry = (tl_l2_line){.owner = TL_NO_OWNER};
    return way;
}

uint32_t tl_l2_fill_fixed(tl_memory *m, uint64_t line, uint64_t time, uint64_t *cycles); // for a demand, where m->is_fixed

// Three requests, told apart by whether they hit and whether somebody else has the line: the first rows of unit link, in this order.
enum { TL_L2_GET, TL_L2_ACQUIRE_NB, TL_L2_ACQUIRE_NT, TL_L2_N_REQUESTS };
#define IS_ROW(row, number) ((int)TL_LINK_##row == (int)(number))
_Static_assert(IS_ROW(GET_HIT, TL_L2_GET) && IS_ROW(ACQUIRE_NB_HIT, TL_L2_ACQUIRE_NB) && IS_ROW(ACQUIRE_NT_HIT, TL_L2_ACQUIRE_NT), "hits");
_Static_assert(IS_ROW(GET_MISS, TL_L2_N_REQUESTS) && IS_ROW(ACQUIRE_NT_MISS, TL_L2_N_REQUESTS + TL_L2_ACQUIRE_NT), "misses");
_Static_assert(IS_ROW(GET_SHARED, 2 * TL_L2_N_REQUESTS) && IS_ROW(ACQUIRE_NT_SHARED, 2 * TL_L2_N_REQUESTS + TL_L2_ACQUIRE_NT), "shared");
#undef IS_ROW

// hart_link: m->links[hart]. may_refuse: it is an access of the program, which contest.h may refuse. is_fixed: m->is_fixed, where it is known.
TL_ALWAYS_INLINE tl_l2_reply tl_l2_ask(tl_memory *m, uint32_t hart, uint64_t *hart_link, uint64_t line, tl_use use, bool is_prefetch,
                                       uint64_t time, bool may_refuse, bool is_fixed) {
    tl_l2_slice *slice = is_fixed ? &m->slices[0] : tl_l2_slice_of(m, line);
    uint32_t first_way = is_fixed ? 0 : slice->first_way;
    uint64_t *tally = slice->tally, *noc = m->noc;
    bool is_store = tl_is_store(use), is_fetch = use == TL_USE_FETCH;
    uint32_t way = 0, hits = is_fixed ? tl_cache_match_fixed(&slice->cache, line) : 0;
    if (is_fixed)
        way = tl_cache_first_way_fixed(&slice->cache, line) + (uint32_t)__builtin_ctz(hits | 1u << 31);
    else
        way = tl_cache_find(&slice->cache, line);
    bool is_hit = is_fixed ? hits != 0 : way != TL_NO_WAY;
    if (may_refuse &&
        (TL_UNLIKELY(m->harts[hart].h->now < m->harts[hart].h->sharing_until) ||
         (is_hit && TL_UNLIKELY(tl_l2_is_shared(&m->l2_lines[first_way + way], hart)))) &&
        tl_contest_refuses(&m->harts[hart], is_hit ? &m->l2_lines[first_way + way] : NULL, is_store))
        return (tl_l2_reply){.is_refused = true};
    tally[TL_L2_READ] += 1;
    tally[is_fetch ? TL_L2_READ_I : is_store ? TL_L2_READ_ST : TL_L2_READ_LD] += 1;
    tally[TL_L2_READ_HART0 + hart] += 1;
    tally[TL_L2_PREFETCH_READ] += is_prefetch;
    noc[TL_NOC_REQUEST] += 1;
    noc[TL_NOC_RESPONSE_DATA] += 1;
    uint64_t *link = hart_link + (is_fetch ? TL_L2_GET : is_store ? TL_L2_ACQUIRE_NT : TL_L2_ACQUIRE_NB);

    uint64_t cycles = tl_server_occupy(&slice->server, time, m->config.mem.l2_busy_cycles);
    if (!is_prefetch && TL_UNLIKELY(cycles != 0))
        tally[TL_L2_BUSY] += cycles;
    cycles += m->config.mem.l2_hit_cycles;

    if (TL_LIKELY(is_hit)) {
        const tl_l2_line *held = &m->l2_lines[first_way + way];
        tl_l2_touch(m, slice, way, is_fixed);
        link[TL_LINK_GET_HIT] += 1;
        link[TL_LINK_GET_SHARED] += (held->data_sharers | held->fetch_sharers) != 0; // not its own copy: it asks for one
    } else {
        link[TL_LINK_GET_MISS] += 1;
        tally[TL_L2_READMISS] += 1;
        tally[TL_L2_READMISS_HART0 + hart] += 1;
        if (is_fixed)
            way = tl_l2_fill_fixed(m, line, time + cycles, &cycles);
        else
            way = tl_l2_fill(m, slice, line, time + cycles, !is_prefetch, &cycles, false);
    }
    tl_l2_line *entry = &m->l2_lines[first_way + way];
    if (!is_fixed) { // else nobody prefetches
        tally[TL_L2_PREFETCH_HIT] += entry->is_prefetched;
        entry->is_prefetched = false;
    }

    tl_l2_reply reply = {.l2_way = first_way + way, .state = TL_LINE_S};
    if (is_store) {
        cycles += tl_l2_take_others(m, slice, entry, hart, line, time);
        reply.state = TL_LINE_M;
    } else {
        if (TL_UNLIKELY(entry->owner != TL_NO_OWNER)) {
            if (entry->owner != hart)
                tl_contest(m, entry, hart, 1u << entry->owner, time);
            tl_l2_share_owner(m, slice, entry, line, is_fetch ? TL_LINK_PROBE_GET : TL_LINK_PROBE_LOAD);
            cycles += m->config.mem.probe_cycles;
        }
        if (is_fetch) {
            entry->fetch_sharers |= (uint8_t)(1u << hart);
        } else {
            if (entry->data_sharers == 0) {
                reply.state = TL_LINE_E;
                entry->owner = (uint8_t)hart;
            }
            entry->data_sharers |= (uint8_t)(1u << hart);
        }
    }
    reply.cycles = cycles;
    reply.is_contested = entry->is_contested;
    if (!is_fixed && TL_UNLIKELY(!is_hit && !is_prefetch && m->config.l2.prefetch == TL_PREFETCH_NEXT_LINE))
        tl_l2_prefetch_next(m, line, time + cycles);
    return reply;
}

// A data cache dropped the line, with data when it was modified.
TL_ALWAYS_INLINE void tl_l2_release(tl_memory *m, uint32_t hart, uint64_t *hart_link, uint32_t l2_way, uint64_t line, bool is_dirty,
                                    uint64_t time, bool is_fixed) {
    tl_l2_line *entry = &m->l2_lines[l2_way];
    bool is_owner = entry->owner == hart;
    entry->data_sharers &= (uint8_t) ~(1u << hart);
    entry->owner = is_owner ? (uint8_t)TL_NO_OWNER : entry->owner;
    hart_link[tl_l2_release_signal(is_dirty, is_owner, false)] += 1;
    if (!is_dirty)
        return;
    tl_l2_slice *slice = is_fixed ? &m->slices[0] : tl_l2_slice_of(m, line);
    tl_l2_take_data(slice, entry);
    tl_l2_touch(m, slice, l2_way - (is_fixed ? 0 : slice->first_way), is_fixed);
    tl_server_occupy(&slice->server, time, m->config.mem.l2_busy_cycles);
    m->noc[TL_NOC_RELEASE_DATA] += 1;
}

TL_ALWAYS_INLINE void tl_l2_release_fetch(tl_memory *m, uint32_t hart, uint32_t l2_way) { // an instruction cache did
    m->l2_lines[l2_way].fetch_sharers &= (uint8_t) ~(1u << hart);
}

#endif
