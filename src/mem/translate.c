// SPDX-License-Identifier: MIT
// One address translation as a hart makes it: first-level TLB, second-level TLB, walk, protection.
// An entry without the dirty bit does not serve stores. Such a look-up misses in both levels, so
// that the walker sets the bit. An entry that does not permit the access faults at once. TLBs
// without tags hold entries of one format only; where nothing is paged they are empty.
#include "mem/slots.h"

#include <string.h>

static bool needs_dirty(uint8_t flags, tl_access access) { return access == TL_ACCESS_STORE && !(flags & TL_PAGE_DIRTY); }

// Returns whether the matching entry decides the access. false: the walker must set the dirty bit.
static bool serves(const tl_rights *rights, uint8_t flags, tl_access access) {
    return !needs_dirty(flags, access) || !tl_is_permitted(rights, flags);
}

bool tl_access_fault(tl_hart_mem *hm, uint64_t vaddr, tl_access access) { return tl_trap_fault(hm->h, TL_FAULT_ACCESS, access, vaddr); }

static void drop_first(tl_hart_mem *hm, bool is_fetch, uint32_t entry) {
    if (is_fetch) {
        tl_slots_forget_fetch_page(hm, entry);
        tl_tlb_drop(&hm->itlb.tlb, entry);
    } else {
        tl_slots_forget_data_page(hm, entry);
        tl_tlb_drop(&hm->dtlb.tlb, entry);
    }
}

static TL_NOINLINE void take_from_partner(tl_hart_mem *partner, uint32_t entry) {
    drop_first(partner, false, entry);
    if (partner->h->dtlb_lost)
        *partner->h->dtlb_lost += 1;
}

// `found`: the entry that matched but did not serve. A small page that nothing matched overlaps
// nothing.
static uint32_t fill_first(tl_hart_mem *hm, bool is_fetch, const tl_page *page, uint32_t found) {
    tl_tlb *tlb = is_fetch ? &hm->itlb.tlb : &hm->dtlb.tlb;
    if (found != TL_NO_ENTRY || page->level > 0)
        for (uint32_t entry; (entry = tl_tlb_overlap(tlb, page)) != TL_NO_ENTRY;)
            drop_first(hm, is_fetch, entry);
    uint32_t entry = tl_tlb_choose(tlb, page);
    if (tl_tlb_is_valid(tlb, entry)) {
        hm->h->tally[is_fetch ? TL_S_ITLB_EVICT : TL_S_DTLB_EVICT] += 1;
        drop_first(hm, is_fetch, entry);
    } else if (TL_UNLIKELY(tlb->partner != NULL) && tl_tlb_is_valid(tlb->partner, entry)) {
        hm->h->tally[TL_S_DTLB_EVICT] += 1;
        take_from_partner(hm->dtlb_partner, entry);
    }
    tl_tlb_fill(tlb, entry, page);
    return entry;
}

static void fill_second(tl_hart_mem *hm, const tl_page *page) {
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
static tl_fault find_page(tl_hart_mem *hm, uint64_t vaddr, tl_access access, const tl_rights *rights, tl_page *ret_page) {
    tl_hart *h = hm->h;
    bool is_fetch = access == TL_ACCESS_FETCH;
    if (hm->l2tlb.entries == 0)
        return tl_walk_tables(hm, vaddr, access, rights, ret_page);
    h->tally[TL_S_L2TLB_ACCESS] += 1;
    uint32_t entry = tl_tlb_find(&hm->l2tlb, vaddr);
    if (entry != TL_NO_ENTRY) {
        if (serves(rights, hm->l2tlb.pages[entry].flags, access)) {
            tl_tlb_touch(&hm->l2tlb, entry);
            tl_stall(h, is_fetch ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB, hm->memory->config.mem.l2tlb_hit_cycles);
            *ret_page = hm->l2tlb.pages[entry];
            return TL_FAULT_NONE;
        }
    }
    h->tally[TL_S_L2TLB_MISS] += 1;
    tl_fault fault = tl_walk_tables(hm, vaddr, access, rights, ret_page);
    if (fault == TL_FAULT_NONE)
        fill_second(hm, ret_page);
    return fault;
}

// A data access that misses is not refused any more, because it takes time (contest.h).
static void count_miss(tl_hart_mem *hm, tl_access access) {
    uint64_t *tally = hm->h->tally;
    if (access == TL_ACCESS_FETCH) {
        tally[TL_S_ITLB_MISS] += 1;
        return;
    }
    hm->contender.is_permitted = true;
    tally[TL_S_DTLB_MISS] += 1;
    tally[access == TL_ACCESS_STORE ? TL_S_DTLB_STORE_MISS : TL_S_DTLB_LOAD_MISS] += 1;
}

// Precondition: the translation is found. Checks protection, and tells RAM from devices.
static bool arrive(tl_hart_mem *hm, uint64_t vaddr, tl_access access, uint32_t view, tl_translation *at) {
    at->is_device = false;
    if (TL_LIKELY(tl_is_open(hm, at->paddr, access, view == TL_VIEW_M)))
        return true;
    if (!tl_protection_ask(hm, at->paddr, access, view))
        return tl_access_fault(hm, vaddr, access);
    if (tl_is_ram(hm->memory, at->paddr))
        return true;
    at->is_device = access != TL_ACCESS_FETCH && hm->memory->devices;
    return at->is_device || tl_access_fault(hm, vaddr, access);
}

bool tl_translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_translation *ret) {
    tl_hart *h = hm->h;
    bool is_fetch = access == TL_ACCESS_FETCH;
    uint32_t view = tl_view_of_access(h, access);
    if (TL_UNLIKELY(!h->regime.is_paged[view])) {
        *ret = (tl_translation){.paddr = vaddr, .entry = TL_NO_ENTRY};
        return arrive(hm, vaddr, access, view, ret);
    }
    const tl_rights *rights = &h->regime.rights[view][access];
    tl_tlb *tlb = is_fetch ? &hm->itlb.tlb : &hm->dtlb.tlb;
    uint32_t entry = tl_tlb_find(tlb, vaddr);
    if (TL_LIKELY(entry != TL_NO_ENTRY && serves(rights, tlb->pages[entry].flags, access))) {
        tl_tlb_touch(tlb, entry);
    } else {
        if (!tl_is_canonical(h, vaddr))
            return tl_trap_fault(h, TL_FAULT_PAGE, access, vaddr);
        count_miss(hm, access);
        tl_page page;
        tl_fault fault = find_page(hm, vaddr, access, rights, &page);
        if (fault != TL_FAULT_NONE)
            return tl_trap_fault(h, fault, access, vaddr);
        // The host's caches often miss a page that the TLB misses. The address may be wild, because
        // nothing is read.
        __builtin_prefetch((const void *)(hm->host_minus_paddr + (page.paddr | (vaddr & ~tl_page_mask(page.level)))));
        entry = fill_first(hm, is_fetch, &page, entry);
    }
    const tl_page *page = &tlb->pages[entry];
    if (TL_UNLIKELY(!tl_is_permitted(rights, page->flags)))
        return tl_trap_fault(h, TL_FAULT_PAGE, access, vaddr);
    *ret = (tl_translation){.paddr = page->paddr | (vaddr & ~tlb->masks[entry]), .entry = entry};
    return arrive(hm, vaddr, access, view, ret);
}

TL_ALWAYS_INLINE const tl_page_slot *translate_page(tl_hart_mem *hm, uint64_t vaddr, bool is_store) {
    tl_tlb *tlb = &hm->dtlb.tlb, *second = &hm->l2tlb;
    if (TL_UNLIKELY(!tl_tlb_is_plain(tlb) || second->n_large != 0 || second->ways != 4))
        return NULL;
    tl_hart *h = hm->h;
    uint64_t vpage = vaddr & tl_page_mask(0), number = vaddr >> TL_PAGE_BITS;
    uint32_t entry = tlb->hints[number & (TL_TLB_HINTS - 1)], found = 0;
    bool is_hit = tlb->vaddrs[entry] == vpage;
    const tl_page *page = &tlb->pages[entry];
    if (!is_hit) {
        if (TL_UNLIKELY(tlb->n_hashed[number & (TL_TLB_FILTER - 1)] != 0)) { // perhaps elsewhere
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
    uint32_t rights = is_store ? TL_PAGE_READ | TL_PAGE_WRITE | TL_PAGE_DIRTY : TL_PAGE_READ, wanted = rights | tl_user_bit(h->view);
    uint64_t paddr = page->paddr | (vaddr - vpage);
    if (TL_UNLIKELY((page->flags & (rights | TL_PAGE_USER)) != wanted ||
                    !tl_is_open(hm, paddr, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD, false)))
        return NULL;
    if (is_hit) {
        tl_tlb_touch(tlb, entry);
    } else {
        __builtin_prefetch(tl_host_of(hm->memory, paddr));
        count_miss(hm, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD);
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

// Drops what translates vaddr; returns how many entries that were. With is_all everything goes, and
// the slots are the caller's.
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
    if (TL_UNLIKELY(hm->walk_cache.entries != 0)) {
        const tl_tlb_drop_request request = {.vaddr = vaddr, .by_address = !is_all};
        h->tally[TL_S_PTW_CACHE_FLUSH] += tl_walk_cache_drop(&hm->walk_cache, &request, false);
    }
    if (is_all && h->regime.is_paged[TL_VIEW_U]) { // else nothing that is shown rests on an entry
        tl_slots_hide_view(hm, TL_VIEW_U);
        tl_slots_hide_view(hm, TL_VIEW_S);
    }
    if (is_all && h->regime.is_paged[TL_VIEW_M])
        tl_slots_hide_view(hm, TL_VIEW_M);
    if (is_all || n_fetch != 0)
        h->code_generation += 1;
}

// ---- TLBs with tags

// Returns whether h->regime sees the page.
static bool sees(const tl_regime *regime, const tl_page *page) {
    return page->world == regime->world && (!(page->attributes & TL_ATTRIBUTE_NON_GLOBAL) || page->asid == regime->asid);
}

// Returns whether a fetch slot may have gone.
static bool select_entries(tl_hart_mem *hm, tl_tlb *tlb, tl_tlb_kind kind) {
    bool has_changed = false;
    for (uint32_t entry = 0; entry < tlb->entries; entry++) {
        const bool is_awake = tl_tlb_is_awake(tlb, entry);
        if (!tl_tlb_is_valid(tlb, entry) || sees(&hm->h->regime, &tlb->pages[entry]) == is_awake)
            continue;
        has_changed = true;
        if (!is_awake) {
            tl_tlb_wake(tlb, entry);
            continue;
        }
        if (kind == TL_TLB_FETCH)
            tl_slots_forget_fetch_page(hm, entry);
        else if (kind == TL_TLB_DATA)
            tl_slots_forget_data_page(hm, entry);
        tl_tlb_sleep(tlb, entry);
    }
    return has_changed;
}

void tl_tlbs_select(tl_hart_mem *hm) {
    tl_hart *h = hm->h;
    bool has_changed = select_entries(hm, &hm->itlb.tlb, TL_TLB_FETCH);
    (void)select_entries(hm, &hm->dtlb.tlb, TL_TLB_DATA);
    (void)select_entries(hm, &hm->l2tlb, TL_TLB_SECOND);
    for (uint32_t view = 0; view < TL_N_VIEWS; view++) {
        if (h->regime.is_paged[view] == hm->was_paged[view])
            continue;
        hm->was_paged[view] = h->regime.is_paged[view];
        tl_slots_hide_view(hm, view); // slots without an entry
        has_changed = true;
    }
    if (has_changed)
        h->code_generation += 1;
}

static bool is_named(const tl_hart_mem *hm, const tl_page *page, const tl_tlb_drop_request *request) {
    if (request->by_address && ((request->vaddr ^ page->vaddr) & tl_page_mask(page->block_level)) != 0)
        return false;
    if (!hm->has_tags)
        return true;
    const bool is_global = !(page->attributes & TL_ATTRIBUTE_NON_GLOBAL);
    return page->world == request->world && (!request->by_asid || (is_global ? request->by_address : page->asid == request->asid));
}

static uint64_t drop_named(tl_hart_mem *hm, tl_tlb *tlb, tl_tlb_kind kind, const tl_tlb_drop_request *request) {
    const bool drops_all = kind != TL_TLB_SECOND && hm->memory->config.first_tlb_drop == TL_DROP_ALL;
    uint64_t n_dropped = 0;
    for (uint32_t entry = 0; entry < tlb->entries; entry++) {
        if (!tl_tlb_is_valid(tlb, entry) || !(drops_all || is_named(hm, &tlb->pages[entry], request)))
            continue;
        if (kind == TL_TLB_SECOND)
            tl_tlb_drop(tlb, entry);
        else
            drop_first(hm, kind == TL_TLB_FETCH, entry);
        n_dropped += 1;
    }
    return n_dropped;
}

void tl_tlbs_drop(tl_hart_mem *hm, const tl_tlb_drop_request *request) {
    tl_hart *h = hm->h;
    const uint64_t n_fetch = drop_named(hm, &hm->itlb.tlb, TL_TLB_FETCH, request);
    h->tally[TL_S_ITLB_FLUSH] += n_fetch;
    h->tally[TL_S_DTLB_FLUSH] += drop_named(hm, &hm->dtlb.tlb, TL_TLB_DATA, request);
    h->tally[TL_S_L2TLB_FLUSH] += drop_named(hm, &hm->l2tlb, TL_TLB_SECOND, request);
    h->tally[TL_S_PTW_CACHE_FLUSH] += tl_walk_cache_drop(&hm->walk_cache, request, hm->has_tags);
    if (n_fetch != 0 || !request->by_address)
        h->code_generation += 1;
}
