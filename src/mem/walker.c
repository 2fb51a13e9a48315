// SPDX-License-Identifier: MIT
// Page walks. The ISA knows the format of the tables (model/isa.h). Entries are read and written
// through the hart's own data cache, take time and count. Physical memory protection checks these
// accesses as those of supervisor mode. A walk that faults leaves no TLB entry behind.
#include "mem/memory.h"

#include <string.h>

static uint32_t stall_cell(tl_access access) { return access == TL_ACCESS_FETCH ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB; }

static tl_fault read_entry(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry) {
    tl_hart_mem *hm = walk->ctx;
    tl_memory *m = hm->memory;
    tl_hart *h = hm->h;
    uint32_t cell = stall_cell(walk->access);
    if (!tl_is_ram(m, paddr) || !tl_is_unprotected(hm, paddr, TL_ACCESS_LOAD, TL_VIEW_S))
        return TL_FAULT_ACCESS;
    h->tally[TL_S_PTW_READ] += 1;
    h->tally[TL_S_L1D_LOAD] += 1;
    h->tally[TL_S_L1D_WALK] += 1;
    tl_stall(h, cell, m->config.mem.walk_step_cycles);
    tl_l1d_access(hm, paddr & h->line_mask, TL_USE_WALK_READ, cell);
    memcpy(ret_entry, tl_host_of(m, paddr), sizeof *ret_entry);
    return TL_FAULT_NONE;
}

static tl_fault write_entry(const tl_page_walk *walk, uint64_t paddr, uint64_t entry) {
    tl_hart_mem *hm = walk->ctx;
    tl_hart *h = hm->h;
    if (hm->sets_no_bits || !tl_is_unprotected(hm, paddr, TL_ACCESS_STORE, TL_VIEW_S))
        return TL_FAULT_ACCESS;
    h->tally[TL_S_PTW_WRITE] += 1;
    h->tally[TL_S_L1D_STORE] += 1;
    tl_l1d_access(hm, paddr & h->line_mask, TL_USE_WALK_WRITE, stall_cell(walk->access));
    memcpy(tl_host_of(hm->memory, paddr), &entry, sizeof entry);
    return TL_FAULT_NONE;
}

static bool recall_table(const tl_page_walk *walk, uint32_t span_log2, tl_walk_table *ret_table) {
    tl_hart_mem *hm = walk->ctx;
    const tl_regime *regime = &hm->h->regime;
    const tl_walk_table *table = tl_walk_cache_find(&hm->walk_cache, walk->vaddr, span_log2, regime->world, regime->asid);
    if (!table)
        return false;
    hm->h->tally[TL_S_PTW_CACHE_HIT] += 1;
    *ret_table = *table;
    return true;
}

static void keep_table(const tl_page_walk *walk, const tl_walk_table *table) {
    tl_hart_mem *hm = walk->ctx;
    hm->h->tally[TL_S_PTW_CACHE_FILL] += 1;
    hm->h->tally[TL_S_PTW_CACHE_EVICT] += tl_walk_cache_fill(&hm->walk_cache, table);
}

tl_fault tl_walk_tables(tl_hart_mem *hm, uint64_t vaddr, tl_access access, const tl_rights *rights, tl_page *ret_page) {
    tl_hart *h = hm->h;
    uint64_t start = h->now;
    tl_page_walk walk = {.h = h, .vaddr = vaddr, .access = access, .rights = rights, .read = read_entry, .write = write_entry, .ctx = hm};
    if (TL_UNLIKELY(hm->walk_cache.entries != 0)) {
        walk.recall = recall_table;
        walk.keep = keep_table;
    }
    h->tally[TL_S_PTW_WALK] += 1;
    h->tally[access == TL_ACCESS_FETCH ? TL_S_PTW_WALK_I : TL_S_PTW_WALK_D] += 1;
    tl_fault fault = h->isa->walk(&walk, ret_page);
    h->tally[TL_S_PTW_FAULT] += fault == TL_FAULT_PAGE;
    h->tally[TL_S_PTW_CYCLE] += h->now - start;
    return fault;
}

// Entries of a walk that takes no time, counts nothing and changes nothing.
static tl_fault peek_entry(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry) {
    const tl_memory *m = walk->ctx;
    if (!tl_is_ram(m, paddr))
        return TL_FAULT_ACCESS;
    memcpy(ret_entry, tl_host_of(m, paddr), sizeof *ret_entry);
    return TL_FAULT_NONE;
}

static tl_fault leave_entry(const tl_page_walk *walk, uint64_t paddr, uint64_t entry) {
    return (void)walk, (void)paddr, (void)entry, TL_FAULT_NONE;
}

bool tl_memory_translate(const tl_memory *m, const tl_hart *h, uint64_t vaddr, uint64_t *ret_paddr) {
    static const tl_rights anything = {.any = TL_PAGE_VALID};
    if (!h->regime.is_paged[h->view]) {
        *ret_paddr = vaddr;
        return tl_is_ram(m, vaddr);
    }
    const tl_page_walk walk = {.h = h,
                               .vaddr = vaddr,
                               .access = TL_ACCESS_LOAD,
                               .rights = &anything,
                               .read = peek_entry,
                               .write = leave_entry,
                               .ctx = (void *)(uintptr_t)m};
    tl_page page;
    if (!tl_is_canonical(h, vaddr) || h->isa->walk(&walk, &page) != TL_FAULT_NONE)
        return false;
    *ret_paddr = page.paddr | (vaddr & ~tl_page_mask(page.level));
    return true;
}
