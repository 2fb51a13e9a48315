// SPDX-License-Identifier: MIT
// Steps of the first level that are inlined in both its plain path (l1.c) and the fixed-geometry
// twin (l1_fixed.c).
#ifndef TL_MEM_L1_STEPS_H
#define TL_MEM_L1_STEPS_H

#include "mem/slots.h"

// A store got permission to write the line. Most lines and most harts have no reservation.
TL_ALWAYS_INLINE void tl_l1d_take_reservations(tl_hart_mem *hm, uint64_t line) {
    if (TL_UNLIKELY((hm->memory->reserving & ~(1u << hm->h->id)) != 0))
        tl_l1d_break_reservations(hm, line);
}

// Counts the eviction of a data line and hides its slots. Returns whether the L2 takes data back.
TL_ALWAYS_INLINE bool tl_l1d_evicts_data(tl_hart_mem *hm, uint32_t way) {
    uint64_t *tally = hm->h->tally;
    tally[TL_S_L1D_EVICT] += 1;
    tl_slot_hide_data(hm, way);
    if (hm->l1d.lines[way].state < TL_LINE_M)
        return false;
    tally[TL_S_L1D_EVICT_DIRTY] += 1;
    tally[TL_S_L1D_WRITEBACK] += 1;
    return true;
}

TL_ALWAYS_INLINE void tl_l1i_note_page(tl_hart_mem *hm, uint64_t line) {
    uint64_t page = (line - TL_RAM_BASE_PADDR) >> TL_PAGE_BITS;
    hm->memory->fetched_pages[page / 8] |= (uint8_t)(1u << page % 8);
}

// Precondition: the way is free.
TL_ALWAYS_INLINE void tl_l1i_fill(tl_hart_mem *hm, uint64_t line, uint32_t way, const tl_l2_reply *reply, bool is_prefetch) {
    tl_l1 *l1 = &hm->l1i;
    tl_cache_fill(&l1->cache, way, line);
    tl_l1i_note_page(hm, line);
    l1->lines[way].state = TL_LINE_S;
    l1->lines[way].l2_way = reply->l2_way;
    l1->lines[way].is_prefetched = is_prefetch;
}

#endif
