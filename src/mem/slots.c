// SPDX-License-Identifier: MIT
// Keeps the hart's slots (model/hart.h) true: a slot shows a line only while the line is in the first-level cache, its page in the
// first-level TLB, and the access permitted in the mode the slot belongs to (its view). A cache way and the slot that shows it name each
// other, so a line that leaves takes its slot along at once; an entry of a TLB remembers which lines of its page were ever shown. A slot
// is numbered over all views: view * slots of one view + place. What rests on a bit of mstatus that system software toggles is
// remembered apart, so that clearing the bit takes exactly these.
#include "mem/memory.h"

#include <string.h>

static void clear_data_slot(tl_hart_mem *hm, uint32_t slot) {
    hm->h->data_slot[slot].read_tag = hm->h->data_slot[slot].write_tag = TL_NO_LINE;
    hm->l1d.way_of_slot[slot] = TL_NO_WAY;
}

static void clear_fetch_slot(tl_hart_mem *hm, uint32_t slot) {
    hm->h->fetch_slot[slot].vline = hm->h->fetch_slot[slot].pline = TL_NO_LINE;
    hm->l1i.way_of_slot[slot] = TL_NO_WAY;
}

void tl_slots_init(tl_hart_mem *hm) {
    for (uint32_t slot = 0; slot < hm->l1d.n_slots; slot++)
        clear_data_slot(hm, slot);
    for (uint32_t slot = 0; slot < hm->l1i.n_slots; slot++)
        clear_fetch_slot(hm, slot);
    memset(hm->l1d.slot_of_way, 0xff, tl_cache_n_ways(&hm->l1d.cache) * sizeof *hm->l1d.slot_of_way);
    memset(hm->l1i.slot_of_way, 0xff, tl_cache_n_ways(&hm->l1i.cache) * sizeof *hm->l1i.slot_of_way);
}

// Lines are remembered by their place in a view, so that pages of any size have bits enough.
_Static_assert(TL_PAGE_LINE_WORDS * 64 == TL_DATA_SLOTS && TL_DATA_SLOTS == TL_FETCH_SLOTS, "a bit for each slot of a view");

static void remember_line(tl_hart_mem *hm, tl_tlb *tlb, uint32_t entry, uint64_t vaddr) {
    uint64_t line = vaddr >> hm->h->line_log2;
    tlb->lines[entry][line / 64 % TL_PAGE_LINE_WORDS] |= UINT64_C(1) << line % 64;
}

// Makes slot and way name each other, and nobody else either of them. Returns a slot that showed the way before, or TL_NO_SLOT.
static uint16_t pair(tl_l1 *l1, uint32_t slot, uint32_t way) {
    uint32_t old_way = l1->way_of_slot[slot];
    uint16_t old_slot = l1->slot_of_way[way];
    if (old_way != TL_NO_WAY)
        l1->slot_of_way[old_way] = TL_NO_SLOT;
    l1->way_of_slot[slot] = way;
    l1->slot_of_way[way] = (uint16_t)slot;
    return old_slot != slot ? old_slot : TL_NO_SLOT;
}

static void add_slot(tl_slot_set *set, uint32_t slot) {
    uint32_t place = slot % TL_DATA_SLOTS;
    set->words[place / 64] |= UINT64_C(1) << place % 64;
    set->has_any = true;
}

// The access that brings us here was permitted. So the page is this mode's, and readable: there is no writing without reading.
TL_ALWAYS_INLINE void show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry, uint32_t number) {
    tl_hart *h = hm->h;
    tl_data_slot *slot = &h->data_slot[number];
    uint16_t other = pair(&hm->l1d, number, way);
    if (TL_UNLIKELY(other != TL_NO_SLOT))
        clear_data_slot(hm, other);
    bool is_writable = hm->l1d.states[way] == TL_LINE_M;
    uint32_t page_stamp = 0;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        is_writable = is_writable && (hm->dtlb.tlb.pages[entry].flags & (TL_PTE_W | TL_PTE_D)) == (TL_PTE_W | TL_PTE_D);
        page_stamp = hm->dtlb.first_stamp + (entry & hm->dtlb.stamp_mask);
        remember_line(hm, &hm->dtlb.tlb, entry, vaddr);
    }
    if (is_writable)
        is_writable = tl_is_open(hm, paddr, TL_ACCESS_STORE, number >= TL_VIEW_M * TL_DATA_SLOTS);
    uint64_t vline = vaddr & h->line_mask;
    slot->read_tag = vline;
    slot->write_tag = is_writable ? vline : TL_NO_LINE;
    slot->host_minus_vaddr = (uintptr_t)tl_host_of(hm->memory, paddr) - (uintptr_t)vaddr;
    slot->line_stamp = hm->l1d.first_stamp + (way & hm->l1d.stamp_mask);
    slot->page_stamp = page_stamp;
}

// The page is not one of the mode's own readable ones: the access rests on SUM, on MXR, or on both; or on MPRV, which shows nothing.
static TL_NOINLINE void show_conditioned(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry, uint32_t number) {
    uint8_t flags = hm->dtlb.tlb.pages[entry].flags;
    uint32_t view = hm->h->view;
    if (view == TL_VIEW_M)
        return;
    if (view == TL_VIEW_S && (flags & TL_PTE_U))
        add_slot(&hm->sum_slots, number);
    if (!(flags & TL_PTE_R))
        add_slot(&hm->mxr_slots[view], number);
    show_data(hm, vaddr, paddr, way, entry, number);
}

void tl_slot_show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    const tl_hart *h = hm->h;
    uint32_t number = h->view * TL_DATA_SLOTS + ((uint32_t)(vaddr >> h->line_log2) & (TL_DATA_SLOTS - 1));
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        uint8_t flags = hm->dtlb.tlb.pages[entry].flags;
        if (TL_UNLIKELY((flags & (TL_PTE_R | TL_PTE_U)) != (TL_PTE_R | tl_user_bit(h->view)))) {
            show_conditioned(hm, vaddr, paddr, way, entry, number);
            return;
        }
    } else if (h->view == TL_VIEW_M && tl_is_disguised(h->csr.mstatus)) {
        return;
    }
    show_data(hm, vaddr, paddr, way, entry, number);
}

void tl_slot_show_fetch(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    tl_hart *h = hm->h;
    uint32_t number = h->view * TL_FETCH_SLOTS + ((uint32_t)(vaddr >> h->line_log2) & (TL_FETCH_SLOTS - 1));
    tl_fetch_slot *slot = &h->fetch_slot[number];
    uint16_t other = pair(&hm->l1i, number, way);
    if (TL_UNLIKELY(other != TL_NO_SLOT))
        clear_fetch_slot(hm, other);
    uint32_t page_stamp = 0;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        page_stamp = hm->itlb.first_stamp + (entry & hm->itlb.stamp_mask);
        remember_line(hm, &hm->itlb.tlb, entry, vaddr);
    }
    slot->vline = vaddr & h->line_mask;
    slot->pline = paddr & h->line_mask;
    slot->line_stamp = hm->l1i.first_stamp + (way & hm->l1i.stamp_mask);
    slot->page_stamp = page_stamp;
}

void tl_slot_hide_data(tl_hart_mem *hm, uint32_t way) {
    uint16_t slot = hm->l1d.slot_of_way[way];
    if (slot == TL_NO_SLOT)
        return;
    hm->l1d.slot_of_way[way] = TL_NO_SLOT;
    clear_data_slot(hm, slot);
}

void tl_slot_hide_fetch(tl_hart_mem *hm, uint32_t way) {
    uint16_t slot = hm->l1i.slot_of_way[way];
    if (slot == TL_NO_SLOT)
        return;
    hm->l1i.slot_of_way[way] = TL_NO_SLOT;
    clear_fetch_slot(hm, slot);
}

void tl_slot_protect_data(tl_hart_mem *hm, uint32_t way) {
    uint16_t slot = hm->l1d.slot_of_way[way];
    if (slot != TL_NO_SLOT)
        hm->h->data_slot[slot].write_tag = TL_NO_LINE;
}

static void forget_data_slot(tl_hart_mem *hm, uint32_t slot, uint64_t mask, uint64_t page) {
    uint32_t way = hm->l1d.way_of_slot[slot];
    if (way != TL_NO_WAY && (hm->h->data_slot[slot].read_tag & mask) == page)
        tl_slot_hide_data(hm, way);
}

static void forget_fetch_slot(tl_hart_mem *hm, uint32_t slot, uint64_t mask, uint64_t page) {
    uint32_t way = hm->l1i.way_of_slot[slot];
    if (way != TL_NO_WAY && (hm->h->fetch_slot[slot].vline & mask) == page)
        tl_slot_hide_fetch(hm, way);
}

typedef void forget_slot(tl_hart_mem *hm, uint32_t slot, uint64_t mask, uint64_t page);

// Views U and S may show lines of a user's page, the latter under SUM; only S those of its own pages; M none.
static void forget_page(tl_hart_mem *hm, tl_tlb *tlb, uint32_t entry, bool has_sum, forget_slot *forget) {
    uint64_t mask = tlb->masks[entry], page = tlb->vaddrs[entry];
    bool is_user = (tlb->pages[entry].flags & TL_PTE_U) != 0, is_small = tlb->pages[entry].level == 0;
    uint32_t line_log2 = hm->h->line_log2, n_words = TL_PAGE_LINE_WORDS, word = 0;
    if (is_small) {
        word = (uint32_t)(page >> line_log2) / 64 % TL_PAGE_LINE_WORDS;
        n_words = line_log2 + 6 >= TL_PAGE_BITS ? 1 : 1u << (TL_PAGE_BITS - 6 - line_log2);
    }
    for (uint32_t end = word + n_words; word < end; word++) {
        for (uint64_t left = tlb->lines[entry][word]; left != 0; left &= left - 1) {
            uint32_t place = word * 64 + (uint32_t)__builtin_ctzll(left);
            if (TL_LIKELY(is_user))
                forget(hm, TL_VIEW_U * TL_DATA_SLOTS + place, mask, page);
            if (!is_user || has_sum)
                forget(hm, TL_VIEW_S * TL_DATA_SLOTS + place, mask, page);
        }
        tlb->lines[entry][word] = 0;
    }
}

void tl_slots_forget_data_page(tl_hart_mem *hm, uint32_t entry) {
    forget_page(hm, &hm->dtlb.tlb, entry, hm->sum_slots.has_any, forget_data_slot);
}
void tl_slots_forget_fetch_page(tl_hart_mem *hm, uint32_t entry) { forget_page(hm, &hm->itlb.tlb, entry, false, forget_fetch_slot); }

// There are fewer ways than slots, as a rule.
void tl_slots_hide_data_view(tl_hart_mem *hm, uint32_t view) {
    uint32_t n_ways = tl_cache_n_ways(&hm->l1d.cache);
    for (uint32_t way = 0; way < n_ways; way++)
        if (hm->l1d.slot_of_way[way] / TL_DATA_SLOTS == view) // TL_NO_SLOT is in none
            tl_slot_hide_data(hm, way);
}

void tl_slots_hide_view(tl_hart_mem *hm, uint32_t view) {
    uint32_t n_ways = tl_cache_n_ways(&hm->l1i.cache);
    tl_slots_hide_data_view(hm, view);
    for (uint32_t way = 0; way < n_ways; way++)
        if (hm->l1i.slot_of_way[way] / TL_FETCH_SLOTS == view)
            tl_slot_hide_fetch(hm, way);
}

static void hide_set(tl_hart_mem *hm, tl_slot_set *set, uint32_t view) {
    for (uint32_t word = 0; set->has_any && word < TL_COUNT_OF(set->words); word++) {
        for (uint64_t left = set->words[word]; left != 0; left &= left - 1) {
            uint32_t way = hm->l1d.way_of_slot[view * TL_DATA_SLOTS + word * 64 + (uint32_t)__builtin_ctzll(left)];
            if (way != TL_NO_WAY)
                tl_slot_hide_data(hm, way);
        }
        set->words[word] = 0;
    }
    set->has_any = false;
}

void tl_slots_status_changed(tl_hart_mem *hm, uint64_t old_status) {
    uint64_t status = hm->h->csr.mstatus, gone = old_status & ~status;
    if (gone & TL_MSTATUS_SUM)
        hide_set(hm, &hm->sum_slots, TL_VIEW_S);
    if (gone & TL_MSTATUS_MXR)
        for (uint32_t view = 0; view < TL_VIEW_M; view++)
            hide_set(hm, &hm->mxr_slots[view], view);
    if (tl_is_disguised(status) && !tl_is_disguised(old_status))
        tl_slots_hide_data_view(hm, TL_VIEW_M);
}
