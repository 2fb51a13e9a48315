// SPDX-License-Identifier: MIT
// Look-up beyond the hint, and filling. A set-associative TLB is indexed by the page number at the
// page's own level. A look-up therefore asks one set per page size in use.
#include "mem/tlb.h"

bool tl_tlb_init(tl_tlb *tlb, tl_arena *arena, uint32_t entries, uint32_t ways, uint32_t n_levels, tl_replacement policy, uint64_t *uses,
                 uint64_t *clock, uint64_t random) {
    *tlb = (tl_tlb){
        .vaddrs = tl_arena_alloc(arena, entries * sizeof *tlb->vaddrs),
        .masks = tl_arena_alloc(arena, entries * sizeof *tlb->masks),
        .pages = tl_arena_alloc(arena, entries * sizeof *tlb->pages),
        .lines = tl_arena_alloc(arena, entries * sizeof *tlb->lines),
        .stamps = tl_replacement_sees_hits(policy) ? uses : tl_arena_alloc(arena, entries * sizeof *tlb->stamps),
        .uses = uses,
        .clock = clock,
        .random = &tlb->own_random,
        .own_random = random,
        .entries = entries,
        .ways = ways,
        .set_mask = ways != 0 ? entries / ways - 1 : 0,
        .n_levels = n_levels,
        .n_invalid = entries,
        .policy = policy,
    };
    bool is_order = policy == TL_REPLACE_LRU || policy == TL_REPLACE_FIFO;
    if (is_order && entries == ways && ways % 8 == 0 && ways / 8 <= TL_TLB_EIGHTS)
        tlb->n_eights = ways / 8;
    if (!tlb->vaddrs || !tlb->masks || !tlb->pages || !tlb->lines || !tlb->stamps)
        return false;
    for (uint32_t entry = 0; entry < entries; entry++) {
        tlb->vaddrs[entry] = TL_TLB_NEVER;
        tlb->masks[entry] = tl_page_mask(0);
    }
    return true;
}

// The remembered oldest entries rest on one clock that only grows; two harts have two.
void tl_tlb_share(tl_tlb *tlb, tl_tlb *partner) {
    tlb->partner = partner;
    partner->partner = tlb;
    tlb->stamps = partner->stamps;
    tlb->random = partner->random;
    tlb->n_eights = partner->n_eights = 0;
}

static uint32_t first_of_set(const tl_tlb *tlb, uint64_t vaddr, uint32_t level) {
    const uint32_t bits = level == 0 ? TL_PAGE_BITS : (uint32_t)__builtin_ctzll(tl_page_mask(level));
    return (uint32_t)(vaddr >> bits & tlb->set_mask) * tlb->ways;
}

uint32_t tl_tlb_search(const tl_tlb *tlb, uint64_t vaddr) {
    if (TL_LIKELY(tlb->n_large == 0)) {
        const uint64_t *vaddrs = tlb->vaddrs + first_of_set(tlb, vaddr, 0), page = vaddr & tl_page_mask(0);
        for (uint32_t way = 0; way < tlb->ways; way++)
            if (vaddrs[way] == page)
                return first_of_set(tlb, vaddr, 0) + way;
        return TL_NO_ENTRY;
    }
    uint32_t n_sets = tlb->set_mask == 0 ? 1 : tlb->n_levels; // one set holds every size
    for (uint32_t level = 0; level < n_sets; level++) {
        uint32_t first = first_of_set(tlb, vaddr, level);
        for (uint32_t way = 0; way < tlb->ways; way++)
            if (tl_tlb_matches(tlb, first + way, vaddr))
                return first + way;
    }
    return TL_NO_ENTRY;
}

static uint16_t *filter_of(tl_tlb *tlb, uint64_t vaddr) { return &tlb->n_hashed[vaddr >> TL_PAGE_BITS & (TL_TLB_FILTER - 1)]; }

TL_ALWAYS_INLINE void sleep_now(tl_tlb *tlb, uint32_t entry) {
    if (tlb->pages[entry].level > 0)
        tlb->n_large -= 1;
    else
        *filter_of(tlb, tlb->vaddrs[entry]) -= 1;
    tlb->vaddrs[entry] = TL_TLB_NEVER;
    tlb->masks[entry] = tl_page_mask(0);
}

void tl_tlb_sleep(tl_tlb *tlb, uint32_t entry) { sleep_now(tlb, entry); }

TL_ALWAYS_INLINE void wake(tl_tlb *tlb, uint32_t entry, const tl_page *page) {
    tlb->vaddrs[entry] = page->vaddr;
    tlb->masks[entry] = tl_page_mask(page->level);
    if (page->level > 0)
        tlb->n_large += 1;
    else
        *filter_of(tlb, page->vaddr) += 1;
}

void tl_tlb_wake(tl_tlb *tlb, uint32_t entry) { wake(tlb, entry, &tlb->pages[entry]); }

void tl_tlb_drop(tl_tlb *tlb, uint32_t entry) {
    if (TL_LIKELY(tl_tlb_is_awake(tlb, entry)))
        sleep_now(tlb, entry);
    tlb->n_invalid += 1;
    tlb->pages[entry] = (tl_page){0};
}

uint32_t tl_tlb_overlap(const tl_tlb *tlb, const tl_page *page) {
    if (page->level == 0)
        return tl_tlb_search(tlb, page->vaddr);
    uint64_t mask = tl_page_mask(page->level);
    for (uint32_t entry = 0; entry < tlb->entries; entry++)
        if (tl_tlb_is_awake(tlb, entry) && ((tlb->vaddrs[entry] ^ page->vaddr) & mask & tlb->masks[entry]) == 0)
            return entry;
    return TL_NO_ENTRY;
}

uint32_t tl_tlb_choose(tl_tlb *tlb, const tl_page *page) {
    uint32_t first = first_of_set(tlb, page->vaddr, page->level);
    const tl_tlb *partner = tlb->partner;
    for (uint32_t way = 0; tlb->n_invalid != 0 && way < tlb->ways; way++)
        if (!tl_tlb_is_valid(tlb, first + way) && (TL_LIKELY(!partner) || !tl_tlb_is_valid(partner, first + way)))
            return first + way;
    if (TL_LIKELY(tlb->n_eights != 0))
        return tl_tlb_oldest_of_all(tlb);
    return first + tl_replacement_victim(tlb->policy, tlb->stamps + first, tlb->ways, tlb->random);
}

void tl_tlb_fill(tl_tlb *tlb, uint32_t entry, const tl_page *page) {
    tlb->n_invalid -= 1;
    tlb->pages[entry] = *page;
    wake(tlb, entry, page);
    tlb->stamps[entry] = ++*tlb->clock;
    if (TL_LIKELY(tlb->n_eights != 0)) // usually the oldest of its eight was replaced
        tl_tlb_find_oldest(tlb, entry / 8);
    tlb->hints[page->vaddr >> TL_PAGE_BITS & (TL_TLB_HINTS - 1)] = entry;
}
