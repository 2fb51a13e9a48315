// SPDX-License-Identifier: MIT
// Fetches as they work on every machine; see fetch.h.
#include "mem/fetch.h"

bool tl_fetch(tl_hart *h, uint64_t vaddr) {
    tl_hart_mem *hm = tl_mem_of(h);
    tl_translation at;
    uint64_t n_walked = h->tally[TL_S_ITLB_MISS];
    if (TL_UNLIKELY(!tl_fetch_translate(hm, vaddr, &at)))
        return false;
    if (TL_UNLIKELY(h->now < h->sharing_until) && h->tally[TL_S_ITLB_MISS] == n_walked && tl_l1i_would_refuse(hm, at.paddr & h->line_mask))
        return tl_trap(h, TL_TRAP_NOT_YET, vaddr);
    uint32_t way = tl_l1i_access(hm, at.paddr & h->line_mask);
    tl_slot_show_fetch(hm, vaddr, at.paddr, way, at.entry);
    return true;
}

bool tl_fetch_hits(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline) {
    tl_hart_mem *hm = tl_mem_of(h);
    uint64_t paddr = vaddr;
    if (h->regime.is_paged[h->view]) {
        tl_tlb *tlb = &hm->itlb.tlb;
        uint32_t entry = tl_tlb_find(tlb, vaddr);
        if (entry == TL_NO_ENTRY || !tl_is_permitted(&h->regime.rights[h->view][TL_ACCESS_FETCH], tlb->pages[entry].flags))
            return false;
        paddr = tlb->pages[entry].paddr | (vaddr & ~tlb->masks[entry]);
    }
    *ret_pline = paddr & h->line_mask;
    return tl_is_ram(hm->memory, paddr) && tl_is_unprotected(hm, paddr, TL_ACCESS_FETCH, h->view) &&
           tl_cache_find(&hm->l1i.cache, *ret_pline) != TL_NO_WAY;
}
