// SPDX-License-Identifier: MIT
// Fetches for the fixed geometry. Everything up to a hit in the L2 is inlined. A program whose code
// does not fit its L1I spends most of its time here. is_alone is tl_memory.is_alone as a constant:
// no fetch is refused, and no server has a calendar then.
#include "mem/fetch.h"
#include "mem/l1_steps.h"
#include "mem/l2_fixed.h"

// As tl_l1i_access in l1.c for a line that is not there. The victim is chosen early, as in
// data_miss there. The host fetches the places that note the victim while the L2 works.
TL_ALWAYS_INLINE uint32_t miss(tl_hart *h, tl_hart_mem *hm, uint64_t line, bool is_alone) {
    tl_l1 *l1 = &hm->l1i;
    tl_l2_client *client = &l1->client;
    uint32_t way = tl_cache_choose_fixed(&l1->cache, line); // of no use while a way is invalid
    __builtin_prefetch(&client->l2->lines[l1->lines[way].l2_way], 1);
    __builtin_prefetch(&h->fetch_slot[l1->lines[way].slot], 1);
    h->tally[TL_S_L1I_MISS] += 1;
    tl_l2_reply reply = tl_l2_get_fixed(client, line, tl_l2_find_fixed(client->l2, line), h->now, is_alone);
    tl_stall(h, TL_S_HART_CYC_FETCH, reply.cycles);
    if (TL_UNLIKELY(l1->cache.n_invalid != 0)) // it was, or the request took a line back
        return tl_l1i_replace(hm, line, &reply, false);
    // A valid way of an L1I is in state S, and nothing prefetches.
    h->tally[TL_S_L1I_EVICT] += 1;
    tl_l2_release_fetch(client, l1->lines[way].l2_way);
    l1->lines[way].l2_way = reply.l2_way;
    l1->cache.tags[way] = (uint32_t)(line >> TL_FIXED_LINE_LOG2);
    l1->cache.stamps[way] = ++h->stamp;
    if (!is_alone)
        tl_l1i_note_page(hm, line); // otherwise ask_for_page did
    return way;
}

// Where no fetch page is known. Nothing refuses the fetch if is_alone, so its line comes.
static TL_NOINLINE bool ask_for_page(tl_hart_mem *hm, uint64_t vaddr, tl_translation *ret, bool is_alone) {
    if (TL_UNLIKELY(!tl_fetch_translate(hm, vaddr, ret)))
        return false;
    tl_hart *h = hm->h;
    if (is_alone)
        tl_l1i_note_page(hm, ret->paddr);
    // No flags are those of view M.
    if (TL_UNLIKELY(ret->entry == TL_NO_ENTRY ||
                    (hm->itlb.tlb.pages[ret->entry].flags & (TL_PAGE_EXECUTE | TL_PAGE_USER)) != (TL_PAGE_EXECUTE | tl_user_bit(h->view))))
        return true;
    *tl_fetch_page_of(hm, h->view, vaddr) =
        (tl_fetch_page){.page = vaddr & tl_page_mask(0), .paddr_minus_vaddr = ret->paddr - vaddr, .entry = ret->entry};
    return true;
}

// Translates and stamps the page. false: trapped.
TL_ALWAYS_INLINE bool find_page(tl_hart *h, tl_hart_mem *hm, uint64_t vaddr, bool is_alone, uint64_t *ret_paddr, uint32_t *ret_entry) {
    const tl_fetch_page *page = tl_fetch_page_of(hm, h->view, vaddr);
    if (TL_LIKELY(page->page == (vaddr & tl_page_mask(0)))) {
        *ret_paddr = vaddr + page->paddr_minus_vaddr;
        *ret_entry = page->entry;
        hm->itlb.tlb.uses[page->entry] = ++h->stamp;
        return true;
    }
    tl_translation at;
    if (TL_UNLIKELY(!ask_for_page(hm, vaddr, &at, is_alone)))
        return false;
    *ret_paddr = at.paddr;
    *ret_entry = at.entry;
    return true;
}

TL_ALWAYS_INLINE bool fetch(tl_hart *h, uint64_t vaddr, bool is_alone) {
    tl_hart_mem *hm = tl_mem_of(h);
    tl_l1 *l1 = &hm->l1i;
    uint64_t n_walked = h->tally[TL_S_ITLB_MISS], paddr;
    uint32_t entry;
    if (TL_UNLIKELY(!find_page(h, hm, vaddr, is_alone, &paddr, &entry)))
        return false;
    uint64_t line = paddr & ~UINT64_C(0) << TL_FIXED_LINE_LOG2;
    uint32_t hits = tl_cache_match_fixed(&l1->cache, line), way;
    if (!is_alone && TL_UNLIKELY(h->now < h->sharing_until) && h->tally[TL_S_ITLB_MISS] == n_walked && tl_l1i_would_refuse(hm, line))
        return tl_trap(h, TL_TRAP_NOT_YET, vaddr);
    if (hits == 0) {
        way = miss(h, hm, line, is_alone);
    } else {
        way = tl_cache_first_way_fixed(&l1->cache, line) + (uint32_t)__builtin_ctz(hits);
        l1->cache.stamps[way] = ++h->stamp;
    }
    // The new slot hides the one that showed the way before.
    tl_slot_show_fetch_line(hm, vaddr, paddr, way, entry, true);
    return true;
}

bool tl_fetch_fixed(tl_hart *h, uint64_t vaddr) { return fetch(h, vaddr, false); }
bool tl_fetch_alone(tl_hart *h, uint64_t vaddr) { return fetch(h, vaddr, true); }
