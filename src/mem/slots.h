// SPDX-License-Identifier: MIT
// Slot updates of an access that missed its data slot, inlined into the functions of port.c. A slot
// names its way by the stamp that it writes. A way names its slot by number. A slot shows a way
// only when both agree, so neither side is told when the other side changes. No function branches
// on a random choice of the program, because the host would mispredict it.
#ifndef TL_MEM_SLOTS_H
#define TL_MEM_SLOTS_H

#include "mem/cache_fixed.h"
#include "mem/memory.h"

// Clears the data slot of a way whose line left.
TL_ALWAYS_INLINE void tl_slot_hide_data(tl_hart_mem *hm, uint32_t way) {
    tl_data_slot *slot = &hm->h->data_slot[hm->l1d.lines[way].slot];
    uint64_t gone = slot->line_stamp == hm->l1d.first_stamp + way ? TL_NO_LINE : 0;
    slot->read_tag |= gone;
    slot->write_tag |= gone;
}

// A slot shows the line. The slot is cleared with the page.
TL_ALWAYS_INLINE void tl_line_remember(tl_tlb *tlb, uint32_t entry, uint64_t line_number) {
    tlb->lines[entry][line_number / 64 % TL_PAGE_LINE_WORDS] |= UINT64_C(1) << line_number % 64;
}

TL_ALWAYS_INLINE tl_page_slot *tl_page_slot_of(tl_hart_mem *hm, uint32_t view, uint64_t vaddr) {
    return &hm->page_slots[view * TL_PAGE_SLOTS + (vaddr >> TL_PAGE_BITS & (TL_PAGE_SLOTS - 1))];
}

TL_ALWAYS_INLINE tl_fetch_page *tl_fetch_page_of(tl_hart_mem *hm, uint32_t view, uint64_t vaddr) {
    return &hm->fetch_pages[view * TL_FETCH_PAGES + (vaddr >> TL_PAGE_BITS & (TL_FETCH_PAGES - 1))];
}

static inline void tl_page_slot_clear(tl_page_slot *slot) { slot->read_page = slot->write_page = TL_NO_LINE; }

// Precondition: the access was permitted. The page is readable, because no page is writable only.
// Physical protection has the grain of a page. Stores are permitted where hm->open permits them.
// Fields are written one by one, because the next reader loads them one by one.
TL_ALWAYS_INLINE void tl_page_slot_set(const tl_hart_mem *hm, tl_page_slot *slot, uint64_t vaddr, uint64_t paddr, uint32_t entry) {
    bool is_writable = tl_is_open(hm, paddr, TL_ACCESS_STORE, hm->h->view == TL_VIEW_M);
    uint32_t page_stamp = 0;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        is_writable = is_writable && (hm->dtlb.tlb.pages[entry].flags & (TL_PAGE_WRITE | TL_PAGE_DIRTY)) == (TL_PAGE_WRITE | TL_PAGE_DIRTY);
        page_stamp = hm->dtlb.first_stamp + entry;
    }
    slot->read_page = vaddr & tl_page_mask(0);
    slot->write_page = is_writable ? vaddr & tl_page_mask(0) : TL_NO_LINE;
    slot->paddr_minus_vaddr = paddr - vaddr;
    slot->entry = entry;
    slot->page_stamp = page_stamp;
}

// Slots of another page stay. Clearing an empty slot is harmless.
TL_ALWAYS_INLINE void tl_slot_forget_data(tl_data_slot *slot, uint64_t mask, uint64_t page) {
    uint64_t gone = (slot->read_tag & mask) == page ? TL_NO_LINE : 0;
    slot->read_tag |= gone;
    slot->write_tag |= gone;
}

// Precondition: an entry of the DTLB is about to be dropped. Clears the slots of its page. The fast
// case is a small user page, which has as many lines as a word has bits.
TL_ALWAYS_INLINE void tl_slots_forget_data_page(tl_hart_mem *hm, uint32_t entry) {
    tl_tlb *tlb = &hm->dtlb.tlb;
    const tl_page *page = &tlb->pages[entry];
    bool is_simple = page->level == 0 && (page->flags & TL_PAGE_USER) && hm->h->line_log2 == TL_FIXED_LINE_LOG2 && !hm->user_slots.has_any;
    if (TL_UNLIKELY(!is_simple)) {
        tl_slots_forget_any_data_page(hm, entry);
        return;
    }
    uint64_t vaddr = page->vaddr;
    uint32_t word = (uint32_t)(vaddr >> TL_PAGE_BITS) % TL_PAGE_LINE_WORDS;
    tl_page_slot *slot = tl_page_slot_of(hm, TL_VIEW_U, vaddr);
    if (slot->read_page == vaddr)
        tl_page_slot_clear(slot);
    tl_data_slot *first = &hm->h->data_slot[tl_first_data_slot(TL_VIEW_U) + (vaddr >> TL_FIXED_LINE_LOG2 & (TL_DATA_SLOTS - 1))];
    for (uint64_t left = tlb->lines[entry][word]; left != 0; left &= left - 1)
        tl_slot_forget_data(&first[__builtin_ctzll(left)], tl_page_mask(0), vaddr);
    tlb->lines[entry][word] = 0;
}
_Static_assert(TL_PAGE_BITS - TL_FIXED_LINE_LOG2 == 6, "the lines of a small page are the bits of a word");

// Precondition: `page` permits the access. Makes a slot show the line, which has `state`. is_new:
// the line was filled just now, and no slot shows its way. is_store: the access is a store, so the
// line and the page are known to be writable.
TL_ALWAYS_INLINE void tl_slot_show_line(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, uint32_t way, uint8_t state,
                                        bool is_fixed, bool is_new, bool is_store) {
    tl_hart *h = hm->h;
    if (!is_fixed && TL_UNLIKELY(hm->shares_l1))
        return;
    tl_l1_line *line = &hm->l1d.lines[way];
    uint32_t line_log2 = is_fixed ? TL_FIXED_LINE_LOG2 : h->line_log2;
    uint64_t number = vaddr >> line_log2, vline = number << line_log2;
    uint32_t slot_number = tl_first_data_slot(h->view) + (uint32_t)(number & (TL_DATA_SLOTS - 1));
    tl_data_slot *slot = &h->data_slot[slot_number];
    if (!is_new)
        tl_slot_hide_data(hm, way); // a slot of another virtual address may show the way
    line->slot = (uint16_t)slot_number;
    bool is_writable = is_store || (state == TL_LINE_M) & (page->write_page == (vaddr & tl_page_mask(0)));
    slot->read_tag = vline;
    slot->write_tag = vline | -(uint64_t)!is_writable;
    slot->host_minus_vaddr = (uintptr_t)page->paddr_minus_vaddr + hm->host_minus_paddr;
    slot->line_stamp = hm->l1d.first_stamp + way;
    slot->page_stamp = page->page_stamp;
    if (TL_LIKELY(page->entry != TL_NO_ENTRY))
        tl_line_remember(&hm->dtlb.tlb, page->entry, number);
}

// tl_slot_hide_fetch clears the fetch slot of a way whose line left.
static inline void tl_fetch_slot_clear(tl_fetch_slot *slot) { slot->key = TL_NO_KEY; }
TL_ALWAYS_INLINE void tl_slot_hide_fetch(tl_hart_mem *hm, uint32_t way) {
    tl_fetch_slot *slot = &hm->h->fetch_slot[hm->l1i.lines[way].slot];
    if (slot->line_stamp == hm->l1i.first_stamp + way)
        tl_fetch_slot_clear(slot);
}

// tl_slot_show_fetch in line. is_fixed is m->is_fixed_fetch as a constant of the caller.
TL_ALWAYS_INLINE void tl_slot_show_fetch_line(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry,
                                              bool is_fixed) {
    tl_hart *h = hm->h;
    uint32_t line_log2 = is_fixed ? TL_FIXED_LINE_LOG2 : h->line_log2;
    uint64_t number = vaddr >> line_log2;
    uint32_t slot_number = h->view * TL_FETCH_SLOTS + (uint32_t)(number & (TL_FETCH_SLOTS - 1));
    tl_fetch_slot *slot = &h->fetch_slot[slot_number];
    if (!is_fixed && TL_UNLIKELY(hm->shares_l1))
        tl_slot_hide_fetch_of_core(hm, way);
    tl_slot_hide_fetch(hm, way); // a slot of another virtual address may show the way
    hm->l1i.lines[way].slot = (uint16_t)slot_number;
    uint32_t page_stamp = 0;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        page_stamp = hm->itlb.first_stamp + entry;
        tl_line_remember(&hm->itlb.tlb, entry, number);
    }
    slot->key = tl_fetch_key(vaddr, paddr - TL_RAM_BASE_PADDR);
    slot->line_stamp = hm->l1i.first_stamp + way;
    slot->page_stamp = page_stamp;
}

#endif
