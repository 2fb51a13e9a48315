// SPDX-License-Identifier: MIT
// Protection of physical memory, which the ISA decides (model/isa.h). Around any address there is a
// stretch with one answer. Stretches found open are remembered, cut to RAM, so that most accesses
// need one compare. There is one for each kind of access in machine mode, and one for each below.
#include "mem/memory.h"

bool tl_protection_ask(tl_hart_mem *hm, uint64_t paddr, tl_access access, uint32_t view) {
    const tl_memory *m = hm->memory;
    tl_stretch around;
    if (!hm->h->isa->permits(hm->h, paddr, access, view, &around))
        return false;
    if (!tl_is_ram(m, paddr))
        return true;
    uint64_t start = around.start > TL_RAM_BASE_PADDR ? around.start : TL_RAM_BASE_PADDR, end = TL_RAM_BASE_PADDR + m->ram_bytes;
    end = around.end < end ? around.end : end;
    hm->open[view == TL_VIEW_M][access] = (tl_range){start, end - start};
    return true;
}

void tl_protection_forget(tl_hart_mem *hm) {
    for (uint32_t access = 0; access < TL_N_ACCESSES; access++)
        hm->open[0][access] = hm->open[1][access] = (tl_range){0};
}
