// SPDX-License-Identifier: MIT
// Keeps the hart's slots (model/hart.h) valid. A slot shows a line only under three conditions. The
// line is in the first-level cache, its page is in the first-level TLB, and the slot's view permits
// the access. A cache way and its slot name each other (slots.h), so a line that leaves clears its
// slot at once. A TLB entry remembers which lines of its page slots ever showed. A slot number
// counts over all views: view * slots of one view + place. Page slots (memory.h) serve accesses
// that miss their data slot. user_slots and code_slots hold slots that rest on rights of system
// software. A loss of these rights must clear exactly these slots.
#include "mem/slots.h"

static void clear_data_slot(tl_data_slot *slot) { slot->read_tag = slot->write_tag = TL_NO_LINE; }

// Of an entry of the ITLB; TL_NO_ENTRY: of all.
static void forget_fetch_pages(tl_hart_mem *hm, uint32_t view, uint32_t entry) {
    for (uint32_t i = view * TL_FETCH_PAGES; i < (view + 1) * TL_FETCH_PAGES; i++)
        if (entry == TL_NO_ENTRY || hm->fetch_pages[i].entry == entry)
            hm->fetch_pages[i].page = TL_NO_LINE;
}

void tl_slots_init(tl_hart_mem *hm) {
    for (uint32_t slot = 0; slot < TL_N_VIEWS * TL_DATA_SLOTS; slot++)
        clear_data_slot(&hm->h->data_slot[slot]);
    for (uint32_t slot = 0; slot < TL_N_VIEWS * TL_FETCH_SLOTS; slot++)
        tl_fetch_slot_clear(&hm->h->fetch_slot[slot]);
    for (uint32_t slot = 0; slot < TL_N_VIEWS * TL_PAGE_SLOTS; slot++)
        tl_page_slot_clear(&hm->page_slots[slot]);
    for (uint32_t view = 0; view < TL_N_VIEWS; view++)
        forget_fetch_pages(hm, view, TL_NO_ENTRY);
}

// A TLB entry remembers a line by its place in a view, so pages of any size have enough bits.
enum { PLACES = TL_PAGE_LINE_WORDS * 64 };
_Static_assert(TL_DATA_SLOTS % PLACES == 0 && TL_FETCH_SLOTS % PLACES == 0, "a bit for so many slots");

static void add_slot(tl_slot_set *set, uint32_t slot) {
    uint32_t place = slot % TL_DATA_SLOTS;
    set->words[place / 64] |= UINT64_C(1) << place % 64;
    set->has_any = true;
}

// Shows a line whose access rests on rights that system software may take back (SUM, MXR). An
// access with the rights of another view shows nothing.
static void show_conditioned(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    uint8_t flags = hm->dtlb.tlb.pages[entry].flags;
    uint32_t view = hm->h->view, number = (uint32_t)(vaddr >> hm->h->line_log2);
    if (view == TL_VIEW_M)
        return;
    if (view == TL_VIEW_S && (flags & TL_PAGE_USER))
        add_slot(&hm->user_slots, number);
    if (!(flags & TL_PAGE_READ))
        add_slot(&hm->code_slots[view], number);
    tl_page_slot page;
    tl_page_slot_set(hm, &page, vaddr, paddr, entry);
    tl_slot_show_line(hm, &page, vaddr, way, hm->l1d.lines[way].state, false, false, false);
}

// Returns whether the page belongs to the current view and is readable by its flags. Untranslated
// accesses qualify unless MPRV is set in M-mode.
static bool is_own(const tl_hart_mem *hm, uint32_t entry) {
    const tl_hart *h = hm->h;
    if (TL_LIKELY(entry != TL_NO_ENTRY))
        return (hm->dtlb.tlb.pages[entry].flags & (TL_PAGE_READ | TL_PAGE_USER)) == (TL_PAGE_READ | tl_user_bit(h->view));
    return tl_has_own_rights(h, h->view);
}

void tl_slot_show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    if (is_own(hm, entry)) {
        tl_page_slot page;
        tl_page_slot_set(hm, &page, vaddr, paddr, entry);
        tl_slot_show_line(hm, &page, vaddr, way, hm->l1d.lines[way].state, false, false, false);
    } else if (entry != TL_NO_ENTRY) {
        show_conditioned(hm, vaddr, paddr, way, entry);
    }
}

const tl_page_slot *tl_page_slot_show(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t entry) {
    if (!is_own(hm, entry))
        return NULL;
    tl_page_slot *slot = tl_page_slot_of(hm, hm->h->view, vaddr);
    tl_page_slot_set(hm, slot, vaddr, paddr, entry);
    return slot;
}

void tl_slot_show_fetch(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry) {
    tl_slot_show_fetch_line(hm, vaddr, paddr, way, entry, false);
}

void tl_slot_protect_data(tl_hart_mem *hm, uint32_t way) {
    tl_data_slot *slot = &hm->h->data_slot[hm->l1d.lines[way].slot];
    if (slot->line_stamp == hm->l1d.first_stamp + way)
        slot->write_tag = TL_NO_LINE;
}

void tl_slot_hide_fetch_of_core(tl_hart_mem *hm, uint32_t way) {
    tl_memory *m = hm->memory;
    const uint32_t threads = tl_config_core_threads(&m->config), first = hm->h->id - hm->h->id % threads;
    for (uint32_t i = first; i < first + threads && i < m->n_harts; i++)
        if (m->harts[i].h)
            tl_slot_hide_fetch(&m->harts[i], way);
}

static void forget_data_slot(tl_hart *h, uint32_t view, uint32_t number, uint64_t mask, uint64_t page) {
    tl_slot_forget_data(&h->data_slot[tl_first_data_slot(view) + number], mask, page);
}

static void forget_fetch_slot(tl_hart *h, uint32_t view, uint32_t number, uint64_t mask, uint64_t page) {
    tl_fetch_slot *slot = &h->fetch_slot[view * TL_FETCH_SLOTS + number];
    if ((tl_fetch_slot_vpage(slot) & mask) == page)
        tl_fetch_slot_clear(slot);
}

// `number` is that of a slot within its view.
typedef void forget_slot(tl_hart *h, uint32_t view, uint32_t number, uint64_t mask, uint64_t page);

// Clears the slots of a page. View U may show lines of user pages. View S may show lines of its own
// pages, and of user pages under SUM. View M shows lines of fetches where it is translated. With
// is_crossing both U and S may show lines of any page.
TL_ALWAYS_INLINE void forget_page(tl_hart_mem *hm, tl_tlb *tlb, uint32_t entry, bool has_sum, bool is_crossing, uint32_t n_slots,
                                  forget_slot *forget) {
    uint64_t mask = tlb->masks[entry], page = tlb->vaddrs[entry];
    bool is_user = (tlb->pages[entry].flags & TL_PAGE_USER) != 0, is_small = tlb->pages[entry].level == 0;
    uint32_t line_log2 = hm->h->line_log2, n_words = TL_PAGE_LINE_WORDS, word = 0;
    // A large page may have slots at every multiple of PLACES.
    uint32_t first = 0, last = n_slots - PLACES;
    if (is_small) {
        first = last = (uint32_t)(page >> line_log2) & (n_slots - 1) & ~(uint32_t)(PLACES - 1);
        word = (uint32_t)(page >> line_log2) / 64 % TL_PAGE_LINE_WORDS;
        n_words = line_log2 + 6 >= TL_PAGE_BITS ? 1 : 1u << (TL_PAGE_BITS - 6 - line_log2);
    }
    for (uint32_t end = word + n_words; word < end; word++) {
        for (uint64_t left = tlb->lines[entry][word]; left != 0; left &= left - 1) {
            for (uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(left) + first; slot < last + PLACES; slot += PLACES) {
                if (TL_LIKELY(is_user || is_crossing))
                    forget(hm->h, TL_VIEW_U, slot, mask, page);
                if (!is_user || has_sum || is_crossing)
                    forget(hm->h, TL_VIEW_S, slot, mask, page);
                if (is_crossing)
                    forget(hm->h, TL_VIEW_M, slot, mask, page);
            }
        }
        tlb->lines[entry][word] = 0;
    }
}

void tl_slots_forget_any_data_page(tl_hart_mem *hm, uint32_t entry) {
    const tl_page *page = &hm->dtlb.tlb.pages[entry];
    // The page may have page slots in this view only.
    uint32_t view = page->flags & TL_PAGE_USER ? TL_VIEW_U : TL_VIEW_S;
    if (TL_LIKELY(page->level == 0)) {
        tl_page_slot *slot = tl_page_slot_of(hm, view, page->vaddr);
        if (slot->read_page == page->vaddr)
            tl_page_slot_clear(slot);
    } else {
        for (uint32_t i = view * TL_PAGE_SLOTS; i < (view + 1) * TL_PAGE_SLOTS; i++)
            if (hm->page_slots[i].entry == entry)
                tl_page_slot_clear(&hm->page_slots[i]);
    }
    forget_page(hm, &hm->dtlb.tlb, entry, hm->user_slots.has_any, false, TL_DATA_SLOTS, forget_data_slot);
}
void tl_slots_forget_fetch_page(tl_hart_mem *hm, uint32_t entry) {
    const tl_page *page = &hm->itlb.tlb.pages[entry];
    uint32_t view = page->flags & TL_PAGE_USER ? TL_VIEW_U : TL_VIEW_S;
    tl_fetch_page *known = tl_fetch_page_of(hm, view, page->vaddr);
    if (TL_UNLIKELY(page->level != 0))
        forget_fetch_pages(hm, view, entry);
    else if (known->page == page->vaddr)
        known->page = TL_NO_LINE;
    forget_page(hm, &hm->itlb.tlb, entry, false, hm->h->regime.crosses_fetches, TL_FETCH_SLOTS, forget_fetch_slot);
}

// The loop runs over ways, because an L1 has fewer ways than a view has slots.
void tl_slots_hide_data_view(tl_hart_mem *hm, uint32_t view) {
    uint32_t n_ways = tl_cache_n_ways(&hm->l1d.cache);
    for (uint32_t way = 0; way < n_ways; way++)
        if (hm->l1d.lines[way].slot / TL_DATA_SLOTS * TL_DATA_SLOTS == tl_first_data_slot(view))
            tl_slot_hide_data(hm, way);
    for (uint32_t i = view * TL_PAGE_SLOTS; i < (view + 1) * TL_PAGE_SLOTS; i++)
        tl_page_slot_clear(&hm->page_slots[i]);
}

void tl_slots_hide_view(tl_hart_mem *hm, uint32_t view) {
    uint32_t n_ways = tl_cache_n_ways(&hm->l1i.cache);
    tl_slots_hide_data_view(hm, view);
    for (uint32_t way = 0; way < n_ways; way++)
        if (hm->l1i.lines[way].slot / TL_FETCH_SLOTS == view)
            tl_slot_hide_fetch(hm, way);
    forget_fetch_pages(hm, view, TL_NO_ENTRY);
}

static void hide_set(tl_hart_mem *hm, tl_slot_set *set, uint32_t view) {
    for (uint32_t word = 0; set->has_any && word < TL_COUNT_OF(set->words); word++) {
        for (uint64_t left = set->words[word]; left != 0; left &= left - 1)
            clear_data_slot(&hm->h->data_slot[tl_first_data_slot(view) + word * 64 + (uint32_t)__builtin_ctzll(left)]);
        set->words[word] = 0;
    }
    set->has_any = false;
}

static bool has_lost(const tl_regime *old, const tl_regime *now, uint32_t view, uint8_t flags) {
    return tl_is_permitted(&old->rights[view][TL_ACCESS_LOAD], flags) && !tl_is_permitted(&now->rights[view][TL_ACCESS_LOAD], flags);
}

void tl_slots_rights_changed(tl_hart_mem *hm, const tl_regime *old) {
    const tl_regime *now = &hm->h->regime;
    if (has_lost(old, now, TL_VIEW_S, TL_PAGE_READ | TL_PAGE_USER))
        hide_set(hm, &hm->user_slots, TL_VIEW_S);
    if (has_lost(old, now, TL_VIEW_S, TL_PAGE_EXECUTE))
        for (uint32_t view = 0; view < TL_VIEW_M; view++)
            hide_set(hm, &hm->code_slots[view], view);
    if (now->data_view[TL_VIEW_M] != TL_VIEW_M && old->data_view[TL_VIEW_M] == TL_VIEW_M)
        tl_slots_hide_data_view(hm, TL_VIEW_M);
}
