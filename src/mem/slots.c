// SPDX-License-Identifier: MIT
// Keeps the hart's slots (model/hart.h) true: a slot shows a line only while the line is in the first-level cache, its page in the
// first-level TLB, and the access permitted. A cache way and the slot that shows it name each other, so a line that leaves takes its
// slot along at once; an entry of a TLB remembers which lines of its page were ever shown.
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
    for (uint32_t slot = 0; slot < TL_DATA_SLOTS; slot++)
        clear_data_slot(hm, slot);
    for (uint32_t slot = 0; slot < TL_FETCH_SLOTS; slot++)
        clear_fetch_slot(hm, slot);
    memset(hm->l1d.slot_of_way, 0xff, tl_cache_n_ways(&hm->l1d.cache) * sizeof *hm->l1d.slot_of_way);
    memset(hm->l1i.slot_of_way, 0xff, tl_cache_n_ways(&hm->l1i.cache) * sizeof *hm->l1i.slot_of_way);
}

void tl_slots_forget_all(tl_hart_mem *hm) { tl_slots_init(hm); }

static uint32_t line_in_page(const tl_hart_mem *hm, uint64_t vaddr) {
    return (uint32_t)((vaddr & ~tl_page_mask(0)) >> hm->memory->line_log2);
}

static void remember_line(tl_hart_mem *hm, tl_tlb *tlb, uint32_t entry, uint64_t vaddr) {
    uint32_t line = line_in_page(hm, vaddr);
    tlb->lines[entry][line / 64] |= UINT64_C(1) << line % 64;
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

void tl_slot_show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    tl_hart *h = hm->h;
    tl_data_slot *slot = tl_data_slot_of(h, vaddr);
    uint16_t other = pair(&hm->l1d, (uint32_t)(vaddr >> h->line_log2) & (TL_DATA_SLOTS - 1), way);
    if (TL_UNLIKELY(other != TL_NO_SLOT))
        clear_data_slot(hm, other);

    // The access that brings us here was permitted. So the page is a user's, and readable: there is no writing without reading.
    bool is_writable = hm->l1d.states[way] == TL_LINE_M;
    uint32_t page_stamp = 0;
    if (TL_LIKELY(entry != TL_NO_ENTRY)) {
        is_writable = is_writable && (hm->dtlb.tlb.pages[entry].flags & (TL_PTE_W | TL_PTE_D)) == (TL_PTE_W | TL_PTE_D);
        page_stamp = hm->dtlb.first_stamp + (entry & hm->dtlb.stamp_mask);
        remember_line(hm, &hm->dtlb.tlb, entry, vaddr);
    }
    uint64_t vline = vaddr & h->line_mask;
    slot->read_tag = vline;
    slot->write_tag = is_writable ? vline : TL_NO_LINE;
    slot->host_minus_vaddr = (uintptr_t)tl_host_of(hm->memory, paddr) - (uintptr_t)vaddr;
    slot->line_stamp = hm->l1d.first_stamp + (way & hm->l1d.stamp_mask);
    slot->page_stamp = page_stamp;
}

void tl_slot_show_fetch(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    tl_hart *h = hm->h;
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    uint16_t other = pair(&hm->l1i, (uint32_t)(vaddr >> h->line_log2) & (TL_FETCH_SLOTS - 1), way);
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

static void forget_page(tl_hart_mem *hm, tl_tlb *tlb, uint32_t entry, uint32_t n_slots, forget_slot *forget) {
    uint64_t mask = tlb->masks[entry], page = tlb->vaddrs[entry];
    if (tlb->pages[entry].level > 0) {
        for (uint32_t slot = 0; slot < n_slots; slot++)
            forget(hm, slot, mask, page);
        return;
    }
    uint32_t first = (uint32_t)(page >> hm->memory->line_log2);
    for (uint32_t word = 0; word < TL_PAGE_LINE_WORDS; word++) {
        for (uint64_t left = tlb->lines[entry][word]; left != 0; left &= left - 1)
            forget(hm, (first + word * 64 + (uint32_t)__builtin_ctzll(left)) & (n_slots - 1), mask, page);
        tlb->lines[entry][word] = 0;
    }
}

void tl_slots_forget_data_page(tl_hart_mem *hm, uint32_t entry) { forget_page(hm, &hm->dtlb.tlb, entry, TL_DATA_SLOTS, forget_data_slot); }
void tl_slots_forget_fetch_page(tl_hart_mem *hm, uint32_t entry) {
    forget_page(hm, &hm->itlb.tlb, entry, TL_FETCH_SLOTS, forget_fetch_slot);
}
