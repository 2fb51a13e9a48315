// SPDX-License-Identifier: MIT
// tl_mem_port.fetch: fetches of a line that no fetch slot shows.
#ifndef TL_MEM_FETCH_H
#define TL_MEM_FETCH_H

#include "mem/memory.h"

bool tl_fetch(tl_hart *h, uint64_t vaddr);
bool tl_fetch_fixed(tl_hart *h, uint64_t vaddr); // where tl_memory.is_fixed_fetch
bool tl_fetch_alone(tl_hart *h, uint64_t vaddr); // where tl_memory.is_alone
bool tl_fetch_hits(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline);

// The translation of a fetch; the look-up of one that traps is counted.
TL_ALWAYS_INLINE bool tl_fetch_translate(tl_hart_mem *hm, uint64_t vaddr, tl_translation *ret) {
    if (TL_LIKELY(tl_translate_fetch(hm, vaddr, ret) || tl_translate(hm, vaddr, TL_ACCESS_FETCH, ret)))
        return true;
    hm->h->tally[TL_S_ITLB_ACCESS] += 1;
    return false;
}

#endif
