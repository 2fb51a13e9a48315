// SPDX-License-Identifier: MIT
// One address translation as a hart makes it: first-level TLB, second-level TLB, walk, protection. An entry without the dirty bit does
// not serve stores: such a look-up misses in both levels, so that the walker sets the bit. An entry that does not permit the access
// faults at once. TLBs hold entries of one mode of satp only; in Bare mode they are empty.
#include "mem/slots.h"

#include <string.h>

static bool needs_dirty(uint8_t flags, tl_access access) { return access == TL_ACCESS_STORE && !(flags & TL_PTE_D); }

static bool trap(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_fault fault) {
    static const tl_cause page_causes[] = {
        [TL_ACCESS_FETCH] = TL_CAUSE_FETCH_PAGE, [TL_ACCESS_LOAD] = TL_CAUSE_LOAD_PAGE, [TL_ACCESS_STORE] = TL_CAUSE_STORE_PAGE};
    static const tl_cause access_causes[] = {
        [TL_ACCESS_FETCH] = TL_CAUSE_FETCH_ACCESS, [TL_ACCESS_LOAD] = TL_CAUSE_LOAD_ACCESS, [TL_ACCESS_STORE] = TL_CAUSE_STORE_ACCESS};
    return tl_trap(hm->h, fault == TL_FAULT_PAGE ? page_causes[access] : access_causes[access], vaddr);
}

bool tl_access_fault(tl_hart_mem *hm, uint64_t vaddr, tl_access access) { return trap(hm, vaddr, access, TL_FAULT_ACCESS); }

static void drop_first(tl_hart_mem *hm, bool is_fetch, uint32_t entry) {
    if (is_fetch) {
        tl_slots_forget_fetch_page(hm, entry);
        tl_tlb_drop(&hm->itlb.tlb, entry);
    } else {
        tl_slots_forget_data_page(hm, entry);
        tl_tlb_drop(&hm->dtlb.tlb, entry);
    }
}

// `found`: the entry that matched but did not serve. A small page that nothing matched overlaps nothing.
static uint32_t fill_first(tl_hart_mem *hm, bool is_fetch, const tl_tlb_page *page, uint32_t found) {
    tl_tlb *tlb = is_fetch ? &hm->itlb.tlb : &hm->dtlb.tlb;
    if (found != TL_NO_ENTRY || page->level > 0)
        for (uint32_t entry; (entry = tl_tlb_overlap(tlb, page)) != TL_NO_ENTRY;)
            drop_first(hm, is_fetch, entry);
    uint32_t entry = tl_tlb_choose(tlb, page);
    if (tl_tlb_is_valid(tlb, entry)) {
        hm->h->tally[is_fetch ? TL_S_ITLB_EVICT : TL_S_DTLB_EVICT] += 1;
        drop_first(hm, is_fetch, entry);
    }
    tl_tlb_fill(tlb, entry, page);
    return entry;
}

static void fill_second(tl_hart_mem *hm, const tl_tlb_page *page) {
    tl_tlb *tlb = &hm->l2tlb;
    for (uint32_t entry; (entry = tl_tlb_overlap(tlb, page)) != TL_NO_ENTRY;)
        tl_tlb_drop(tlb, entry);
    uint32_t entry = tl_tlb_choose(tlb, page);
    if (tl_tlb_is_valid(tlb, entry)) {
        hm->h->tally[TL_S_L2TLB_EVICT] += 1;
        tl_tlb_drop(tlb, entry);
    }
    tl_tlb_fill(tlb, entry, page);
}

// The page as the second-level TLB or the walker knows it.
static tl_fault find_page(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_priv priv, tl_tlb_page *ret_page) {
    tl_hart *h = hm->h;
    bool is_fetch = access == TL_ACCESS_FETCH;
    if (hm->l2tlb.entries == 0)
        return tl_walk(hm, vaddr, access, priv, ret_page);
    h->tally[TL_S_L2TLB_ACCESS] += 1;
    uint32_t entry = tl_tlb_find(&hm->l2tlb, vaddr);
    if (entry != TL_NO_ENTRY) {
        uint8_t flags = hm->l2tlb.pages[entry].flags;
        if (!needs_dirty(flags, access) || !tl_is_permitted(flags, access, priv, h->csr.mstatus)) {
            tl_tlb_touch(&hm->l2tlb, entry);
            tl_stall(h, is_fetch ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB, hm->memory->config.mem.l2tlb_hit_cycles);
            *ret_page = hm->l2tlb.pages[entry];
            return TL_FAULT_NONE;
        }
    }
    h->tally[TL_S_L2TLB_MISS] += 1;
    tl_fault fault = tl_walk(hm, vaddr, access, priv, ret_page);
    if (fault == TL_FAULT_NONE)
        fill_second(hm, ret_page);
    return fault;
}

static void count_miss(uint64_t *tally, tl_access access) {
    if (access == TL_ACCESS_FETCH) {
        tally[TL_S_ITLB_MISS] += 1;
        return;
    }
    tally[TL_S_DTLB_MISS] += 1;
    tally[access == TL_ACCESS_STORE ? TL_S_DTLB_STORE_MISS : TL_S_DTLB_LOAD_MISS] += 1;
}

// The translation is found: may the access go there, and what is there?
static bool arrive(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_priv priv, tl_translation *at) {
    at->is_device = false;
    if (TL_LIKELY(tl_is_open(hm, at->paddr, access, priv == TL_PRIV_M)))
        return true;
    if (!tl_pmp_ask(hm, at->paddr, access, priv == TL_PRIV_M))
        return trap(hm, vaddr, access, TL_FAULT_ACCESS);
    if (tl_is_ram(hm->memory, at->paddr))
        return true;
    at->is_device = access != TL_ACCESS_FETCH && hm->memory->devices;
    return at->is_device || trap(hm, vaddr, access, TL_FAULT_ACCESS);
}

bool tl_translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_translation *ret) {
    tl_hart *h = hm->h;
    bool is_fetch = access == TL_ACCESS_FETCH;
    tl_priv priv = tl_effective_priv(h, access);
    if (TL_UNLIKELY(!tl_is_paged(h, priv))) {
        *ret = (tl_translation){.paddr = vaddr, .entry = TL_NO_ENTRY};
        return arrive(hm, vaddr, access, priv, ret);
    }
    tl_tlb *tlb = is_fetch ? &hm->itlb.tlb : &hm->dtlb.tlb;
    uint32_t entry = tl_tlb_find(tlb, vaddr);
    bool is_hit = false;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        uint8_t flags = tlb->pages[entry].flags;
        is_hit = !needs_dirty(flags, access) || !tl_is_permitted(flags, access, priv, h->csr.mstatus);
    }
    if (TL_LIKELY(is_hit)) {
        tl_tlb_touch(tlb, entry);
    } else {
        if (!tl_is_canonical(vaddr, tl_n_levels(h)))
            return trap(hm, vaddr, access, TL_FAULT_PAGE);
        count_miss(h->tally, access);
        tl_tlb_page page;
        tl_fault fault = find_page(hm, vaddr, access, priv, &page);
        if (fault != TL_FAULT_NONE)
            return trap(hm, vaddr, access, fault);
        // What is not in the TLB is often not in the host's caches, either. The address may be wild: nothing is read.
        __builtin_prefetch((const void *)(hm->host_minus_paddr + (page.paddr | (vaddr & ~tl_page_mask(page.level)))));
        entry = fill_first(hm, is_fetch, &page, entry);
    }
    const tl_tlb_page *page = &tlb->pages[entry];
    if (TL_UNLIKELY(!tl_is_permitted(page->flags, access, priv, h->csr.mstatus)))
        return trap(hm, vaddr, access, TL_FAULT_PAGE);
    *ret = (tl_translation){.paddr = page->paddr | (vaddr & ~tlb->masks[entry]), .entry = entry};
    return arrive(hm, vaddr, access, priv, ret);
}

TL_ALWAYS_INLINE const tl_page_slot *translate_page(tl_hart_mem *hm, uint64_t vaddr, bool is_store) {
    tl_tlb *tlb = &hm->dtlb.tlb, *second = &hm->l2tlb;
    if (TL_UNLIKELY(!tl_tlb_is_plain(tlb) || second->n_large != 0 || second->ways != 4))
        return NULL;
    tl_hart *h = hm->h;
    uint64_t vpage = vaddr & tl_page_mask(0), number = vaddr >> TL_PAGE_BITS;
    uint32_t entry = tlb->hints[number & (TL_TLB_HINTS - 1)], found = 0;
    bool is_hit = tlb->vaddrs[entry] == vpage;
    const tl_tlb_page *page = &tlb->pages[entry];
    if (!is_hit) {
        if (TL_UNLIKELY(tlb->n_hashed[number & (TL_TLB_FILTER - 1)] != 0)) { // perhaps it is elsewhere
            entry = tl_tlb_search(tlb, vaddr);
            is_hit = entry != TL_NO_ENTRY;
            page = &tlb->pages[is_hit ? entry : 0];
        }
        if (!is_hit) {
            found = tl_tlb_find_in_four(second, vpage);
            if (TL_UNLIKELY(found == TL_NO_ENTRY))
                return NULL;
            page = &second->pages[found];
        }
    }
    // In machine mode, and where nothing is translated, no flags are those wanted.
    uint32_t rights = is_store ? TL_PTE_R | TL_PTE_W | TL_PTE_D : TL_PTE_R, wanted = rights | tl_user_bit(h->view);
    uint64_t paddr = page->paddr | (vaddr - vpage);
    if (TL_UNLIKELY((page->flags & (rights | TL_PTE_U)) != wanted ||
                    !tl_is_open(hm, paddr, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD, false)))
        return NULL;
    if (is_hit) {
        tl_tlb_touch(tlb, entry);
    } else {
        __builtin_prefetch(tl_host_of(hm->memory, paddr));
        count_miss(h->tally, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD);
        h->tally[TL_S_L2TLB_ACCESS] += 1;
        tl_tlb_touch(second, found);
        tl_stall(h, TL_S_HART_CYC_DTLB, hm->memory->config.mem.l2tlb_hit_cycles);
        entry = tl_tlb_oldest_of_all(tlb);
        h->tally[TL_S_DTLB_EVICT] += 1;
        tl_slots_forget_data_page(hm, entry);
        tl_tlb_replace_small(tlb, entry, page);
    }
    tl_page_slot *slot = tl_page_slot_of(hm, h->view, vaddr);
    tl_page_slot_set(hm, slot, vaddr, paddr, entry);
    return slot;
}

const tl_page_slot *tl_translate_page_load(tl_hart_mem *hm, uint64_t vaddr) { return translate_page(hm, vaddr, false); }
const tl_page_slot *tl_translate_page_store(tl_hart_mem *hm, uint64_t vaddr) { return translate_page(hm, vaddr, true); }

// Drops what translates vaddr; returns how many entries that were. With is_all everything goes, and the slots are the caller's.
static uint64_t flush_first(tl_hart_mem *hm, bool is_fetch, uint64_t vaddr, bool is_all) {
    tl_tlb *tlb = is_fetch ? &hm->itlb.tlb : &hm->dtlb.tlb;
    uint64_t n_dropped = 0;
    for (uint32_t entry = 0; entry < tlb->entries; entry++) {
        if (!tl_tlb_is_valid(tlb, entry) || !(is_all || tl_tlb_matches(tlb, entry, vaddr)))
            continue;
        if (is_all) {
            memset(tlb->lines[entry], 0, sizeof tlb->lines[entry]);
            tl_tlb_drop(tlb, entry);
        } else {
            drop_first(hm, is_fetch, entry);
        }
        n_dropped += 1;
    }
    return n_dropped;
}

static uint64_t flush_second(tl_tlb *tlb, uint64_t vaddr, bool is_all) {
    uint64_t n_dropped = 0;
    if (!is_all) {
        uint32_t entry = tlb->entries != 0 ? tl_tlb_search(tlb, vaddr) : TL_NO_ENTRY;
        if (entry == TL_NO_ENTRY)
            return 0;
        tl_tlb_drop(tlb, entry);
        return 1;
    }
    for (uint32_t entry = 0; entry < tlb->entries; entry++) {
        if (tl_tlb_is_valid(tlb, entry)) {
            tl_tlb_drop(tlb, entry);
            n_dropped += 1;
        }
    }
    return n_dropped;
}

void tl_tlbs_flush(tl_hart_mem *hm, uint64_t vaddr, bool is_all) {
    tl_hart *h = hm->h;
    uint64_t n_fetch = flush_first(hm, true, vaddr, is_all);
    h->tally[TL_S_ITLB_FLUSH] += n_fetch;
    h->tally[TL_S_DTLB_FLUSH] += flush_first(hm, false, vaddr, is_all);
    h->tally[TL_S_L2TLB_FLUSH] += flush_second(&hm->l2tlb, vaddr, is_all);
    if (is_all && h->satp >> 60 != 0) { // in Bare mode nothing that is shown rests on an entry
        tl_slots_hide_view(hm, TL_VIEW_U);
        tl_slots_hide_view(hm, TL_VIEW_S);
    }
    if (is_all || n_fetch != 0)
        h->code_generation += 1;
}
