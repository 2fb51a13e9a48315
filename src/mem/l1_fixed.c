// SPDX-License-Identifier: MIT
// The first-level caches for the fixed geometry. One function does the work of l1.c and of the L2,
// up to a hit in the L2. It serves loads, stores and fetches that miss their slot. Rare cases take
// the plain path before anything has happened. is_alone is tl_memory.is_alone as a constant: nobody
// else holds, contests or reserves a line then.
#include "mem/l1_steps.h"
#include "mem/l2_fixed.h"

TL_ALWAYS_INLINE void evict_data(tl_hart_mem *hm, uint32_t way, bool is_alone) {
    tl_l1 *l1 = &hm->l1d;
    uint32_t l2_way = l1->lines[way].l2_way;
    if (!tl_l1d_evicts_data(hm, way))
        tl_l2_release(&l1->client, l2_way);
    else if (is_alone)
        tl_l2_release_data_alone(&l1->client, l2_way, hm->h->now);
    else
        tl_l2_release_data_fixed(&l1->client, l2_way, hm->h->now);
}

// The L2 has granted the line. A way of the set takes it; no way is invalid.
TL_ALWAYS_INLINE void take_line(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint64_t line, uint32_t way, tl_l2_reply reply,
                                bool is_store, bool is_alone) {
    tl_l1 *l1 = &hm->l1d;
    tl_l1_line *held = &l1->lines[way];
    evict_data(hm, way, is_alone);
    held->l2_way = reply.l2_way;
    held->state = reply.state;
    held->is_prefetched = false; // nobody prefetches; one store of both bits
    held->is_contested = reply.is_contested;
    l1->cache.tags[way] = (uint32_t)(line >> TL_FIXED_LINE_LOG2);
    l1->cache.stamps[way] = ++hm->h->stamp;
    if (is_store && !is_alone)
        tl_l1d_take_reservations(hm, line);
    if (TL_LIKELY(!reply.is_contested))
        tl_slot_show_line(hm, page, vaddr, way, is_store ? TL_LINE_M : TL_LINE_E, true, true, is_store);
}

TL_ALWAYS_INLINE void count_miss(tl_hart *h, uint64_t cycles, bool is_store) {
    h->tally[is_store ? TL_S_L1D_STORE_MISS : TL_S_L1D_LOAD_MISS] += 1;
    tl_stall(h, is_store ? TL_S_HART_CYC_STORE_MISS : TL_S_HART_CYC_LOAD_MISS, cycles);
}

// The L2 has granted the line. The way that was chosen before the request takes it, or another one,
// because the request took a line back.
TL_ALWAYS_INLINE void take_line_anywhere(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint64_t line, uint32_t way,
                                         tl_l2_reply reply, bool is_store, bool is_alone) {
    tl_l1 *l1 = &hm->l1d;
    if (TL_LIKELY(l1->cache.n_invalid == 0)) {
        take_line(hm, page, vaddr, line, way, reply, is_store, is_alone);
        return;
    }
    way = tl_cache_choose(&l1->cache, line);
    tl_l1d_fill(hm, line, way, reply, false);
    if (is_store)
        tl_l1d_take_reservations(hm, line);
    if (TL_LIKELY(!reply.is_contested))
        tl_slot_show_line(hm, page, vaddr, way, is_store ? TL_LINE_M : TL_LINE_E, true, true, is_store);
}

// The L2 lacks the line, or others use it.
TL_ALWAYS_INLINE bool ask_for_line(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint64_t line, uint32_t way,
                                   tl_l2_found found, bool is_store) {
    tl_hart *h = hm->h;
    tl_l2_client *client = &hm->l1d.client;
    if (tl_contest_refuses(&hm->contender, client, found.hits != 0 ? &client->l2->lines[found.way] : NULL, is_store))
        return false;
    tl_l2_reply reply;
    if (is_store)
        tl_l2_acquire_to_write_fixed(client, line, found, h->now, &reply);
    else
        tl_l2_acquire_to_read_fixed(client, line, found, h->now, &reply);
    count_miss(h, reply.cycles, is_store);
    take_line_anywhere(hm, page, vaddr, line, way, reply, is_store, false);
    return true;
}

// A load or a store that misses while no way is invalid. The line is shown afterwards. false:
// refused. The host fetches the victim's directory entry while the L2 works.
TL_ALWAYS_INLINE bool data_miss(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint64_t line, bool is_store, bool is_alone) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    tl_l2_client *client = &l1->client;
    uint32_t way = tl_cache_choose_fixed(&l1->cache, line);
    __builtin_prefetch(&client->l2->lines[l1->lines[way].l2_way], 1);
    tl_l2_found found = tl_l2_find_fixed(client->l2, line);
    if (is_alone) {
        tl_l2_reply reply;
        tl_l2_acquire_alone(client, line, found, h->now, is_store, &reply);
        count_miss(h, reply.cycles, is_store);
        take_line_anywhere(hm, page, vaddr, line, way, reply, is_store, true);
        return true;
    }
    if (found.hits == 0 || !TL_LIKELY(tl_l2_is_free(&client->l2->lines[found.way])) || TL_UNLIKELY(tl_was_sharing(&hm->contender)))
        return ask_for_line(hm, page, vaddr, line, way, found, is_store);
    const tl_l2_reply reply = {.cycles = tl_l2_acquire_free_fixed(client, found.way, h->now, is_store),
                               .l2_way = found.way,
                               .state = is_store ? TL_LINE_M : TL_LINE_E};
    count_miss(h, reply.cycles, is_store);
    take_line(hm, page, vaddr, line, way, reply, is_store, false);
    return true;
}

TL_ALWAYS_INLINE uint8_t *access_data(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, bool is_store, bool is_alone) {
    tl_l1 *l1 = &hm->l1d;
    uint64_t paddr = vaddr + page->paddr_minus_vaddr, line = paddr & ~UINT64_C(0) << TL_FIXED_LINE_LOG2;
    uint8_t *host = (uint8_t *)(hm->host_minus_paddr + paddr);
    __builtin_prefetch(host); // a line that misses here often misses in the host's caches, too
    uint32_t hits = tl_cache_match_fixed(&l1->cache, line);
    if (hits == 0) {
        if (TL_UNLIKELY(l1->cache.n_invalid != 0))
            return is_store ? tl_l1d_store(hm, page, vaddr) : tl_l1d_load(hm, page, vaddr);
        return TL_LIKELY(data_miss(hm, page, vaddr, line, is_store, is_alone)) ? host : NULL;
    }
    uint32_t way = tl_cache_first_way_fixed(&l1->cache, line) + (uint32_t)__builtin_ctz(hits);
    uint8_t state = l1->lines[way].state;
    if (is_store && TL_UNLIKELY(state != TL_LINE_M))
        return tl_l1d_store(hm, page, vaddr);
    bool is_contested = !is_alone && l1->lines[way].is_contested;
    if (TL_UNLIKELY(is_contested)) {
        if (tl_l1d_refuses_hit(hm, way))
            return NULL;
        is_contested = l1->lines[way].is_contested;
    }
    l1->cache.stamps[way] = ++hm->h->stamp;
    if (TL_LIKELY(!is_contested))
        tl_slot_show_line(hm, page, vaddr, way, state, true, false, is_store);
    return host;
}

uint8_t *tl_l1d_load_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_data(hm, page, vaddr, false, false); }
uint8_t *tl_l1d_store_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_data(hm, page, vaddr, true, false); }

// Nobody refuses an access, so only the plain path has something to undo, and it needs no permit.
uint8_t *tl_l1d_load_alone(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_data(hm, page, vaddr, false, true); }
uint8_t *tl_l1d_store_alone(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) { return access_data(hm, page, vaddr, true, true); }
