// SPDX-License-Identifier: MIT
// The page-table walker: the algorithm of the privileged manual, "Virtual Address Translation Process", for three levels (Sv39) and four
// (Sv48). Physical memory protection sees its reads and writes as those of supervisor mode.
// Entries are read through the hart's own data cache, and accessed and dirty bits are set by hardware (Svadu) through it, too.
// A walk that faults leaves no entry behind.
#include "mem/memory.h"

#include <string.h>

static const uint64_t PPN_BITS = 44, PTE_PPN_LSB = 10;
static const uint64_t PTE_RESERVED = UINT64_C(0x3ff) << 54; // Svnapot and Svpbmt are not there

static uint64_t read_pte(const tl_memory *m, uint64_t paddr) {
    uint64_t pte;
    memcpy(&pte, tl_host_of(m, paddr), sizeof pte);
    return pte;
}

static void update_leaf(tl_hart_mem *hm, uint64_t pte_paddr, uint64_t pte, uint32_t cause_slot) {
    hm->h->tally[TL_S_PTW_WRITE] += 1;
    hm->h->tally[TL_S_L1D_STORE] += 1;
    tl_l1d_access(hm, pte_paddr & hm->h->line_mask, TL_USE_WALK_WRITE, cause_slot);
    memcpy(tl_host_of(hm->memory, pte_paddr), &pte, sizeof pte);
}

TL_ALWAYS_INLINE tl_fault walk(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_priv priv, uint32_t n_levels, tl_tlb_page *ret_page) {
    uint32_t cause_slot = access == TL_ACCESS_FETCH ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB;
    tl_memory *m = hm->memory;
    tl_hart *h = hm->h;
    uint64_t table_paddr = tl_bits(h->satp, 0, PPN_BITS) << TL_PAGE_BITS;
    for (uint32_t level = n_levels; level-- > 0;) {
        uint64_t pte_paddr = table_paddr + tl_bits(vaddr, TL_PAGE_BITS + TL_LEVEL_BITS * level, TL_LEVEL_BITS) * sizeof(uint64_t);
        if (!tl_is_ram(m, pte_paddr) || !tl_pmp_permits(hm, pte_paddr, TL_ACCESS_LOAD, false))
            return TL_FAULT_ACCESS;
        h->tally[TL_S_PTW_READ] += 1;
        h->tally[TL_S_L1D_LOAD] += 1;
        h->tally[TL_S_L1D_WALK] += 1;
        tl_stall(h, cause_slot, m->config.mem.walk_step_cycles);
        tl_l1d_access(hm, pte_paddr & h->line_mask, TL_USE_WALK_READ, cause_slot);

        uint64_t pte = read_pte(m, pte_paddr), next_paddr = tl_bits(pte, PTE_PPN_LSB, PPN_BITS) << TL_PAGE_BITS;
        if (!(pte & TL_PTE_V) || (pte & (TL_PTE_R | TL_PTE_W)) == TL_PTE_W || (pte & PTE_RESERVED))
            return TL_FAULT_PAGE;
        if (!(pte & (TL_PTE_R | TL_PTE_X))) { // a pointer to the next table; these bits are reserved in it
            if (pte & (TL_PTE_A | TL_PTE_D | TL_PTE_U))
                return TL_FAULT_PAGE;
            table_paddr = next_paddr;
            continue;
        }
        bool is_aligned = (next_paddr & ~tl_page_mask(level)) == 0;
        if (!is_aligned || !tl_is_permitted((uint8_t)pte, access, priv, h->csr.mstatus))
            return TL_FAULT_PAGE;
        uint64_t wanted = pte | TL_PTE_A | (access == TL_ACCESS_STORE ? (uint64_t)TL_PTE_D : 0);
        if (wanted != pte) {
            if (!tl_pmp_permits(hm, pte_paddr, TL_ACCESS_STORE, false))
                return TL_FAULT_ACCESS;
            update_leaf(hm, pte_paddr, wanted, cause_slot);
            pte = wanted;
        }
        *ret_page = (tl_tlb_page){.vaddr = vaddr & tl_page_mask(level), .paddr = next_paddr, .level = level, .flags = (uint8_t)pte};
        return TL_FAULT_NONE;
    }
    return TL_FAULT_PAGE; // a pointer where a leaf must stand
}

tl_fault tl_walk(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_priv priv, tl_tlb_page *ret_page) {
    tl_hart *h = hm->h;
    uint64_t start = h->now;
    bool is_fetch = access == TL_ACCESS_FETCH;
    h->tally[TL_S_PTW_WALK] += 1;
    h->tally[is_fetch ? TL_S_PTW_WALK_I : TL_S_PTW_WALK_D] += 1;
    tl_fault fault = tl_n_levels(h) == 3 ? walk(hm, vaddr, access, priv, 3, ret_page) : walk(hm, vaddr, access, priv, 4, ret_page);
    h->tally[TL_S_PTW_FAULT] += fault == TL_FAULT_PAGE;
    h->tally[TL_S_PTW_CYCLE] += h->now - start;
    return fault;
}

bool tl_memory_translate(const tl_memory *m, const tl_hart *h, uint64_t vaddr, uint64_t *ret_paddr) {
    if (!tl_is_paged(h, h->priv)) {
        *ret_paddr = vaddr;
        return tl_is_ram(m, vaddr);
    }
    if (!tl_is_canonical(vaddr, tl_n_levels(h)))
        return false;
    uint64_t table_paddr = tl_bits(h->satp, 0, PPN_BITS) << TL_PAGE_BITS;
    for (uint32_t level = tl_n_levels(h); level-- > 0;) {
        uint64_t pte_paddr = table_paddr + tl_bits(vaddr, TL_PAGE_BITS + TL_LEVEL_BITS * level, TL_LEVEL_BITS) * sizeof(uint64_t);
        if (!tl_is_ram(m, pte_paddr))
            return false;
        uint64_t pte = read_pte(m, pte_paddr), next_paddr = tl_bits(pte, PTE_PPN_LSB, PPN_BITS) << TL_PAGE_BITS;
        if (!(pte & TL_PTE_V))
            return false;
        if (pte & (TL_PTE_R | TL_PTE_X)) {
            *ret_paddr = next_paddr | (vaddr & ~tl_page_mask(level));
            return (next_paddr & ~tl_page_mask(level)) == 0;
        }
        table_paddr = next_paddr;
    }
    return false;
}
