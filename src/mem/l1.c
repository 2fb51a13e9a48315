// SPDX-License-Identifier: MIT
// The first-level caches of a hart behind its slots: hits in any state, misses, upgrades, evictions, probes, and a next-line
// prefetcher that follows demand misses without stalling anybody.
#include "mem/memory.h"

// Write permission may let another hart's reservation lapse: model/hart.h, reservation_paddr.
static void break_reservations(tl_hart_mem *hm, uint64_t line) {
    tl_memory *m = hm->memory;
    for (uint32_t k = 0; k < m->n_harts; k++) {
        tl_hart *other = m->harts[k].h;
        if (other != hm->h && other->reservation_paddr == line)
            other->reservation_paddr = TL_NO_LINE;
    }
}

static void evict_data(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1d;
    uint64_t *tally = hm->h->tally;
    bool is_dirty = l1->states[way] == TL_LINE_M;
    tally[TL_S_L1D_EVICT] += 1;
    tally[TL_S_L1D_EVICT_DIRTY] += is_dirty;
    tally[TL_S_L1D_WRITEBACK] += is_dirty;
    tl_slot_hide_data(hm, way);
    tl_l2_release(hm->memory, hm->h->id, l1->l2_ways[way], l1->cache.tags[way], false, is_dirty, hm->h->now);
}

static uint32_t fill_data(tl_hart_mem *hm, uint64_t line, const tl_l2_reply *reply, bool is_prefetch) {
    tl_l1 *l1 = &hm->l1d;
    uint32_t way = tl_cache_choose(&l1->cache, line);
    if (l1->states[way] != TL_LINE_I)
        evict_data(hm, way);
    tl_cache_fill(&l1->cache, way, line);
    l1->states[way] = reply->state;
    *tl_l1_hint_of(l1, line, hm->memory->line_log2) = way;
    l1->l2_ways[way] = reply->l2_way;
    l1->is_prefetched[way] = is_prefetch;
    return way;
}

static uint32_t fill_fetch(tl_hart_mem *hm, uint64_t line, const tl_l2_reply *reply, bool is_prefetch) {
    tl_l1 *l1 = &hm->l1i;
    uint32_t way = tl_cache_choose(&l1->cache, line);
    if (l1->states[way] != TL_LINE_I) {
        hm->h->tally[TL_S_L1I_EVICT] += 1;
        tl_slot_hide_fetch(hm, way);
        tl_l2_release(hm->memory, hm->h->id, l1->l2_ways[way], l1->cache.tags[way], true, false, hm->h->now);
    }
    tl_cache_fill(&l1->cache, way, line);
    uint64_t page = (line - TL_RAM_BASE_PADDR) >> TL_PAGE_BITS;
    hm->memory->fetched_pages[page / 8] |= (uint8_t)(1u << page % 8);
    l1->states[way] = TL_LINE_S;
    *tl_l1_hint_of(l1, line, hm->memory->line_log2) = way;
    l1->l2_ways[way] = reply->l2_way;
    l1->is_prefetched[way] = is_prefetch;
    return way;
}

static void prefetch_next(tl_hart_mem *hm, uint64_t line, tl_use use) {
    tl_memory *m = hm->memory;
    tl_l1 *l1 = use == TL_USE_FETCH ? &hm->l1i : &hm->l1d;
    uint64_t next = line + tl_line_bytes(m);
    if ((next & ~tl_page_mask(0)) == 0) // the next line may belong to anyone
        return;
    if (tl_cache_find(&l1->cache, next) != TL_NO_WAY)
        return;
    hm->h->tally[use == TL_USE_FETCH ? TL_S_L1I_PREFETCH : TL_S_L1D_PREFETCH] += 1;
    tl_l2_reply reply = tl_l2_request(m, hm->h->id, next, use == TL_USE_FETCH ? TL_USE_FETCH : TL_USE_LOAD, true, hm->h->now);
    if (use == TL_USE_FETCH)
        fill_fetch(hm, next, &reply, true);
    else
        fill_data(hm, next, &reply, true);
}

static bool is_store_type(tl_use use) { return use == TL_USE_STORE || use == TL_USE_AMO || use == TL_USE_WALK_WRITE; }

static void count_data_miss(uint64_t *tally, tl_use use) {
    if (is_store_type(use)) {
        tally[TL_S_L1D_STORE_MISS] += 1;
        tally[TL_S_L1D_AMO_MISS] += use == TL_USE_AMO;
    } else {
        tally[TL_S_L1D_LOAD_MISS] += 1;
        tally[TL_S_L1D_WALK_MISS] += use == TL_USE_WALK_READ;
    }
}

uint32_t tl_l1d_access(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t cause_slot) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    uint64_t *tally = h->tally;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY) {
        tl_cache_touch(&l1->cache, way);
        *tl_l1_hint_of(l1, line, hm->memory->line_log2) = way;
        if (TL_UNLIKELY(l1->is_prefetched[way])) {
            l1->is_prefetched[way] = false;
            tally[TL_S_L1D_PREFETCH_HIT] += 1;
        }
        uint8_t state = l1->states[way];
        if (!is_store_type(use) || state == TL_LINE_M)
            return way;
        if (state == TL_LINE_S) {
            count_data_miss(tally, use);
            tally[TL_S_L1D_UPGRADE] += 1;
            tl_stall(h, cause_slot, tl_l2_upgrade(hm->memory, h->id, l1->l2_ways[way], line, h->now));
        }
        l1->states[way] = TL_LINE_M;
        break_reservations(hm, line);
        return way;
    }

    count_data_miss(tally, use);
    tl_l2_reply reply = tl_l2_request(hm->memory, h->id, line, use, false, h->now);
    tl_stall(h, cause_slot, reply.cycles);
    way = fill_data(hm, line, &reply, false);
    if (reply.state == TL_LINE_M)
        break_reservations(hm, line);
    bool is_walk = use == TL_USE_WALK_READ || use == TL_USE_WALK_WRITE;
    if (hm->memory->config.l1d.prefetch == TL_PREFETCH_NEXT_LINE && !is_walk)
        prefetch_next(hm, line, use);
    return way;
}

uint32_t tl_l1i_access(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1i;
    tl_hart *h = hm->h;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY) {
        tl_cache_touch(&l1->cache, way);
        *tl_l1_hint_of(l1, line, hm->memory->line_log2) = way;
        h->tally[TL_S_L1I_PREFETCH_HIT] += l1->is_prefetched[way];
        l1->is_prefetched[way] = false;
        return way;
    }
    h->tally[TL_S_L1I_MISS] += 1;
    tl_l2_reply reply = tl_l2_request(hm->memory, h->id, line, TL_USE_FETCH, false, h->now);
    tl_stall(h, TL_S_HART_CYC_FETCH, reply.cycles);
    way = fill_fetch(hm, line, &reply, false);
    if (hm->memory->config.l1i.prefetch == TL_PREFETCH_NEXT_LINE)
        prefetch_next(hm, line, TL_USE_FETCH);
    return way;
}

bool tl_l1d_probe(tl_hart_mem *hm, uint64_t line, uint8_t keep) {
    tl_l1 *l1 = &hm->l1d;
    uint64_t *tally = hm->h->tally;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way == TL_NO_WAY) // the directory is exact; a line that is still on its way in is not here yet
        return false;
    bool has_data = l1->states[way] == TL_LINE_M;
    tally[TL_S_L1D_PROBE] += 1;
    tally[TL_S_L1D_PROBE_DATA] += has_data;
    tally[TL_S_L1D_WRITEBACK] += has_data;
    l1->states[way] = keep;
    if (keep != TL_LINE_I) {
        tl_slot_protect_data(hm, way);
        return has_data;
    }
    tally[TL_S_L1D_PROBE_INVALIDATE] += 1;
    tl_slot_hide_data(hm, way);
    tl_cache_drop(&l1->cache, way);
    return has_data;
}

void tl_l1i_probe(tl_hart_mem *hm, uint64_t line) {
    uint32_t way = tl_cache_find(&hm->l1i.cache, line);
    if (way == TL_NO_WAY)
        return;
    hm->h->tally[TL_S_L1I_INVALIDATE] += 1;
    tl_slot_hide_fetch(hm, way);
    hm->l1i.states[way] = TL_LINE_I;
    tl_cache_drop(&hm->l1i.cache, way);
}

void tl_l1i_drop(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1i;
    hm->h->tally[TL_S_L1I_INVALIDATE] += 1;
    tl_slot_hide_fetch(hm, way);
    tl_l2_release(hm->memory, hm->h->id, l1->l2_ways[way], l1->cache.tags[way], true, false, hm->h->now);
    l1->states[way] = TL_LINE_I;
    tl_cache_drop(&l1->cache, way);
}
