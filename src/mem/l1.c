// SPDX-License-Identifier: MIT
// The first-level caches of a hart behind its slots: hits in any state, misses, upgrades, evictions, probes, and a next-line
// prefetcher that follows demand misses without stalling anybody.
#include "mem/contest.h"
#include "mem/l2.h"
#include "mem/slots.h"

// Write permission may let another hart's reservation lapse: model/hart.h, reservation_paddr.
static void break_reservations(tl_hart_mem *hm, uint64_t line) {
    tl_memory *m = hm->memory;
    for (uint32_t k = 0; k < m->n_harts; k++) {
        tl_hart *other = m->harts[k].h;
        if (other != hm->h && other->reservation_paddr == line)
            other->reservation_paddr = TL_NO_LINE;
    }
}

TL_ALWAYS_INLINE void evict_data(tl_hart_mem *hm, tl_memory *m, uint32_t hart, uint64_t *link, uint32_t way, bool is_fixed) {
    const tl_l1 *l1 = &hm->l1d;
    uint64_t *tally = hm->h->tally, now = hm->h->now;
    uint32_t l2_way = l1->lines[way].l2_way;
    tally[TL_S_L1D_EVICT] += 1;
    tl_slot_hide_data(hm, way);
    if (l1->lines[way].state == TL_LINE_M) {
        tally[TL_S_L1D_EVICT_DIRTY] += 1;
        tally[TL_S_L1D_WRITEBACK] += 1;
        tl_l2_release(m, hart, link, l2_way, tl_cache_line(&l1->cache, way), true, now, is_fixed);
    } else {
        tl_l2_release(m, hart, link, l2_way, tl_cache_line(&l1->cache, way), false, now, is_fixed);
    }
}

static void fill_data(tl_hart_mem *hm, uint64_t line, uint32_t way, tl_l2_reply reply, bool is_prefetch) {
    tl_l1_line *held = &hm->l1d.lines[way];
    if (TL_LIKELY(held->state != TL_LINE_I))
        evict_data(hm, hm->memory, hm->h->id, hm->memory->links[hm->h->id], way, false);
    tl_cache_fill(&hm->l1d.cache, way, line);
    held->state = reply.state;
    held->l2_way = reply.l2_way;
    held->is_prefetched = is_prefetch;
    held->is_contested = reply.is_contested;
}

static uint32_t fill_fetch(tl_hart_mem *hm, uint64_t line, const tl_l2_reply *reply, bool is_prefetch) {
    tl_l1 *l1 = &hm->l1i;
    uint32_t way = tl_cache_choose(&l1->cache, line);
    const tl_l1_line *held = &l1->lines[way];
    if (held->state != TL_LINE_I) {
        hm->h->tally[TL_S_L1I_EVICT] += 1;
        tl_slot_hide_fetch(hm, way);
        tl_l2_release_fetch(hm->memory, hm->h->id, held->l2_way);
    }
    tl_l1i_fill(hm, line, way, reply, is_prefetch);
    return way;
}

static TL_NOINLINE void prefetch_next(tl_hart_mem *hm, uint64_t line, tl_use use) {
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
        fill_data(hm, next, tl_cache_choose(&l1->cache, next), reply, true);
}

static void count_data_miss(uint64_t *tally, tl_use use) {
    if (tl_is_store(use)) {
        tally[TL_S_L1D_STORE_MISS] += 1;
        tally[TL_S_L1D_AMO_MISS] += use == TL_USE_AMO;
    } else {
        tally[TL_S_L1D_LOAD_MISS] += 1;
        tally[TL_S_L1D_WALK_MISS] += use == TL_USE_WALK_READ;
    }
}

// What a line is replaced by is known early when nothing in between can change it; then its neighbor in the directory is on its way here
// while the L2 is asked. A request may leave the victim's set with an invalid way: then it is chosen anew.
static uint32_t data_miss(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t cause_slot) {
    tl_memory *m = hm->memory;
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    bool is_early = l1->cache.n_invalid == 0 && l1->cache.policy != TL_REPLACE_RANDOM;
    uint32_t way = TL_NO_WAY;
    if (TL_LIKELY(is_early)) {
        way = tl_cache_choose(&l1->cache, line);
        __builtin_prefetch(&m->l2_lines[l1->lines[way].l2_way], 1);
    }
    bool is_walk = tl_is_walk(use);
    tl_l2_reply reply = tl_l2_ask(m, h->id, m->links[h->id], line, use, false, h->now, !is_walk, false);
    if (TL_UNLIKELY(reply.is_refused))
        return TL_NO_WAY;
    count_data_miss(h->tally, use);
    tl_stall(h, cause_slot, reply.cycles);
    if (TL_UNLIKELY(!is_early || l1->cache.n_invalid != 0))
        way = tl_cache_choose(&l1->cache, line);
    fill_data(hm, line, way, reply, false);
    if (tl_is_store(use) && TL_UNLIKELY(m->n_harts > 1))
        break_reservations(hm, line);
    if (TL_UNLIKELY(m->config.l1d.prefetch == TL_PREFETCH_NEXT_LINE) && !is_walk)
        prefetch_next(hm, line, use);
    return way;
}

// The same for a load or a store on a machine of the fixed geometry, when no way is invalid; the line is shown. false: refused.
TL_ALWAYS_INLINE bool data_miss_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint64_t line, bool is_store) {
    tl_memory *m = hm->memory;
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    uint32_t hart = h->id, way = tl_cache_choose_fixed(&l1->cache, line);
    uint64_t *link = m->links[hart], *tally = h->tally;
    tl_l1_line *held = &l1->lines[way];
    __builtin_prefetch(&m->l2_lines[held->l2_way], 1);
    tl_l2_reply reply = tl_l2_ask(m, hart, link, line, is_store ? TL_USE_STORE : TL_USE_LOAD, false, h->now, true, true);
    if (TL_UNLIKELY(reply.is_refused))
        return false;
    tally[is_store ? TL_S_L1D_STORE_MISS : TL_S_L1D_LOAD_MISS] += 1;
    h->now += reply.cycles;
    tally[is_store ? TL_S_HART_CYC_STORE_MISS : TL_S_HART_CYC_LOAD_MISS] += reply.cycles;
    if (TL_LIKELY(l1->cache.n_invalid == 0)) {
        evict_data(hm, m, hart, link, way, true);
        held->l2_way = reply.l2_way;
        held->state = reply.state;
        held->is_contested = reply.is_contested;
        l1->cache.tags[way] = (uint32_t)(line >> TL_FIXED_LINE_LOG2);
        l1->cache.stamps[way] = ++h->stamp;
    } else {
        way = tl_cache_choose(&l1->cache, line);
        fill_data(hm, line, way, reply, false);
    }
    if (is_store && TL_UNLIKELY(m->n_harts > 1))
        break_reservations(hm, line);
    if (TL_LIKELY(!reply.is_contested))
        tl_slot_show_line(hm, page, vaddr, way, is_store ? TL_LINE_M : TL_LINE_E, true, true);
    return true;
}

uint32_t tl_l1d_access(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t cause_slot) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way == TL_NO_WAY)
        return data_miss(hm, line, use, cause_slot);
    tl_l1_line *held = &l1->lines[way];
    bool must_upgrade = tl_is_store(use) && held->state == TL_LINE_S;
    if (must_upgrade && !tl_is_walk(use) && tl_contest_refuses(hm, &hm->memory->l2_lines[held->l2_way], true))
        return TL_NO_WAY;
    if (TL_UNLIKELY(held->is_contested) && !tl_is_walk(use) && tl_contest_refuses_hit(hm, way))
        return TL_NO_WAY;
    tl_cache_touch(&l1->cache, way);
    h->tally[TL_S_L1D_PREFETCH_HIT] += held->is_prefetched;
    held->is_prefetched = false;
    if (!tl_is_store(use) || held->state == TL_LINE_M)
        return way;
    if (must_upgrade) {
        count_data_miss(h->tally, use);
        h->tally[TL_S_L1D_UPGRADE] += 1;
        tl_stall(h, cause_slot, tl_l2_upgrade(hm->memory, h->id, held->l2_way, line, h->now));
        held->is_contested = hm->memory->l2_lines[held->l2_way].is_contested;
    }
    held->state = TL_LINE_M;
    break_reservations(hm, line);
    return way;
}

static TL_NOINLINE uint8_t *access_shown(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, tl_use use, uint32_t cause_slot) {
    uint64_t paddr = vaddr + page->paddr_minus_vaddr, line = paddr & hm->h->line_mask;
    uint32_t way = tl_l1d_access(hm, line, use, cause_slot);
    if (TL_UNLIKELY(way == TL_NO_WAY))
        return NULL;
    if (TL_LIKELY(!hm->l1d.lines[way].is_contested))
        tl_slot_show_line(hm, page, vaddr, way, hm->l1d.lines[way].state, false, false);
    return (uint8_t *)(hm->host_minus_paddr + paddr);
}

uint8_t *tl_l1d_load(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) {
    return access_shown(hm, page, vaddr, TL_USE_LOAD, TL_S_HART_CYC_LOAD_MISS);
}

uint8_t *tl_l1d_store(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) {
    return access_shown(hm, page, vaddr, TL_USE_STORE, TL_S_HART_CYC_STORE_MISS);
}

TL_ALWAYS_INLINE uint8_t *access_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, bool is_store) {
    tl_l1 *l1 = &hm->l1d;
    uint64_t paddr = vaddr + page->paddr_minus_vaddr, line = paddr & ~UINT64_C(0) << TL_FIXED_LINE_LOG2;
    uint8_t *host = (uint8_t *)(hm->host_minus_paddr + paddr);
    __builtin_prefetch(host); // a line that misses here often misses in the host's caches, too
    uint32_t hits = tl_cache_match_fixed(&l1->cache, line);
    if (hits == 0) {
        if (TL_UNLIKELY(l1->cache.n_invalid != 0))
            return is_store ? tl_l1d_store(hm, page, vaddr) : tl_l1d_load(hm, page, vaddr);
        return TL_LIKELY(data_miss_fixed(hm, page, vaddr, line, is_store)) ? host : NULL;
    }
    uint32_t way = tl_cache_first_way_fixed(&l1->cache, line) + (uint32_t)__builtin_ctz(hits);
    uint8_t state = l1->lines[way].state;
    if (is_store && TL_UNLIKELY(state != TL_LINE_M))
        return tl_l1d_store(hm, page, vaddr);
    if (TL_UNLIKELY(l1->lines[way].is_contested) && tl_contest_refuses_hit(hm, way))
        return NULL;
    l1->cache.stamps[way] = ++hm->h->stamp;
    if (TL_LIKELY(!l1->lines[way].is_contested))
        tl_slot_show_line(hm, page, vaddr, way, state, true, false);
    return host;
}

uint8_t *tl_l1d_load_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_fixed(hm, page, vaddr, false); }
uint8_t *tl_l1d_store_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_fixed(hm, page, vaddr, true); }

uint32_t tl_l1i_access(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1i;
    tl_hart *h = hm->h;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY) {
        tl_cache_touch(&l1->cache, way);
        h->tally[TL_S_L1I_PREFETCH_HIT] += l1->lines[way].is_prefetched;
        l1->lines[way].is_prefetched = false;
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
    bool has_data = l1->lines[way].state == TL_LINE_M;
    tally[TL_S_L1D_PROBE] += 1;
    tally[TL_S_L1D_PROBE_DATA] += has_data;
    tally[TL_S_L1D_WRITEBACK] += has_data;
    l1->lines[way].state = keep;
    if (keep != TL_LINE_I) {
        l1->lines[way].is_contested = hm->memory->n_harts > 1; // it shows when it is used next whether it is
        if (l1->lines[way].is_contested)
            tl_slot_hide_data(hm, way);
        else
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
    hm->l1i.lines[way].state = TL_LINE_I;
    tl_cache_drop(&hm->l1i.cache, way);
    hm->h->has_lost_fetch = true;
}

void tl_l1i_drop(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1i;
    hm->h->tally[TL_S_L1I_INVALIDATE] += 1;
    tl_slot_hide_fetch(hm, way);
    tl_l2_release_fetch(hm->memory, hm->h->id, l1->lines[way].l2_way);
    l1->lines[way].state = TL_LINE_I;
    tl_cache_drop(&l1->cache, way);
}
