// SPDX-License-Identifier: MIT
// Fetches for the fixed geometry. Everything up to a hit in the L2 is inlined. A program whose code
// does not fit its L1I spends most of its time here.
#include "mem/fetch.h"
#include "mem/l1_steps.h"
#include "mem/l2_fixed.h"

// As tl_l1i_access in l1.c for a line that is not there. The victim is chosen early, as in
// data_miss there. The host fetches the places that note the victim while the L2 works.
TL_ALWAYS_INLINE uint32_t miss(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1i;
    tl_l2_client *client = &l1->client;
    tl_hart *h = hm->h;
    bool is_early = l1->cache.n_invalid == 0;
    uint32_t way = TL_NO_WAY;
    if (TL_LIKELY(is_early)) {
        way = tl_cache_choose_fixed(&l1->cache, line);
        __builtin_prefetch(&client->l2->lines[l1->lines[way].l2_way], 1);
        __builtin_prefetch(&h->fetch_slot[l1->lines[way].slot], 1);
    }
    h->tally[TL_S_L1I_MISS] += 1;
    tl_l2_reply reply = tl_l2_get_fixed(client, line, tl_l2_find_fixed(client->l2, line), h->now);
    tl_stall(h, TL_S_HART_CYC_FETCH, reply.cycles);
    // The request may have left the set with an invalid way.
    if (TL_UNLIKELY(!is_early || l1->cache.n_invalid != 0))
        way = tl_cache_choose(&l1->cache, line);
    tl_l1_line *held = &l1->lines[way];
    if (TL_LIKELY(held->state != TL_LINE_I)) {
        h->tally[TL_S_L1I_EVICT] += 1;
        tl_l2_release_fetch(client, held->l2_way);
    }
    tl_l1i_fill(hm, line, way, &reply, false);
    return way;
}

bool tl_fetch_fixed(tl_hart *h, uint64_t vaddr) {
    tl_hart_mem *hm = tl_mem_of(h);
    tl_l1 *l1 = &hm->l1i;
    tl_translation at;
    uint64_t n_walked = h->tally[TL_S_ITLB_MISS];
    if (TL_UNLIKELY(!tl_fetch_translate(hm, vaddr, &at)))
        return false;
    uint64_t line = at.paddr & ~UINT64_C(0) << TL_FIXED_LINE_LOG2;
    uint32_t way = tl_cache_find_fixed(&l1->cache, line);
    if (TL_UNLIKELY(h->now < h->sharing_until) && h->tally[TL_S_ITLB_MISS] == n_walked && tl_l1i_would_refuse(hm, line))
        return tl_trap(h, TL_TRAP_NOT_YET, vaddr);
    if (way == TL_NO_WAY)
        way = miss(hm, line);
    else
        tl_cache_touch(&l1->cache, way);
    // The new slot hides the one that showed the way before.
    tl_slot_show_fetch_line(hm, vaddr, at.paddr, way, at.entry, true);
    return true;
}
