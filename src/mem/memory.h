// SPDX-License-Identifier: MIT
// The parts of a memory system and their contracts, for the files of this folder and their tests. A
// request runs through the parts as plain calls: port -> tlb, walker -> l1 -> l2 -> dram. The calls
// pass time as a number.
#ifndef TL_MEM_MEMORY_H
#define TL_MEM_MEMORY_H

#include "mem/bsq.h"
#include "mem/l1.h"
#include "mem/tlb.h"
#include "mem/walk_cache.h"
#include "model/bus.h"
#include "model/isa.h"
#include "model/mem.h"

typedef struct tl_range { // of physical addresses
    uint64_t start, bytes;
} tl_range;

typedef struct tl_first_tlb { // a first-level TLB
    tl_tlb tlb;
    uint32_t first_stamp; // as in tl_l1
} tl_first_tlb;

// A page whose lines data slots may show without a translation. The page is in the DTLB or
// untranslated. The page belongs to the view, and its flags permit the access. Protection opens the
// whole page, which is RAM. Page slots are direct-mapped by page number in each view.
typedef struct tl_page_slot {
    uint64_t read_page, write_page; // the page's virtual address, or TL_NO_LINE
    uint64_t paddr_minus_vaddr;
    uint32_t entry, page_stamp; // TL_NO_ENTRY and the sink: untranslated
} tl_page_slot;
enum { TL_PAGE_SLOTS = 128 }; // of one view

typedef struct tl_fetch_page {
    uint64_t page; // the virtual address, or TL_NO_LINE
    uint64_t paddr_minus_vaddr;
    uint32_t entry; // of the ITLB
} tl_fetch_page;
enum { TL_FETCH_PAGES = 32 }; // of one view

// Data slots of one view that rest on rights that software may take back.
typedef struct tl_slot_set {
    uint64_t words[TL_DATA_SLOTS / 64];
    bool has_any;
} tl_slot_set;

struct tl_hart_mem { // h->mem
    tl_memory *memory;
    tl_hart *h;
    uintptr_t host_minus_paddr; // of RAM
    // [in machine mode][tl_access]: RAM known to be open to the access. Other addresses call.
    tl_range open[2][3];
    // tl_protection_ask
    tl_l1 l1i, l1d; // shares_l1: the arrays belong to the first hart of the core
    // Harts of a detailed core use one L1I and one L1D; no data slot shows their lines.
    bool shares_l1;
    tl_first_tlb itlb, dtlb;
    struct tl_hart_mem *dtlb_partner; // the hart whose DTLB has the same entries; NULL: none
    tl_tlb l2tlb;
    uint64_t l2tlb_clock;
    tl_walk_cache walk_cache;
    // Entries of TLBs have tags, and sleep and wake (tlb.h). was_paged: tl_regime.is_paged when the
    // address space changed last.
    bool has_tags, was_paged[TL_N_VIEWS];
    tl_slot_set user_slots; // of view S, for pages of programs
    // Of views U and S, for executable pages without TL_PAGE_READ.
    tl_slot_set code_slots[TL_VIEW_M];
    tl_contender contender;
    bool sets_no_bits; // walks are for a store that may never happen
    tl_agent walker;   // agent of page-table accesses, which go through l1d
    _Alignas(64) tl_page_slot page_slots[TL_N_VIEWS * TL_PAGE_SLOTS];
    // Pages in the ITLB that a view may fetch from by their flags and by hm->open, for
    // tl_fetch_fixed. Direct-mapped by page number in each view. View M has none.
    tl_fetch_page fetch_pages[TL_N_VIEWS * TL_FETCH_PAGES];
};

struct tl_memory {
    tl_config config;
    uint8_t *ram;
    uint64_t ram_bytes;
    // L1Ds and L2 are of the fixed geometry (cache_fixed.h), the L2 is one slice, and no cache
    // prefetches.
    bool is_fixed;
    bool is_fixed_fetch; // and L1Is likewise
    bool is_alone;       // is_fixed, with one hart and one memory channel
    bool writes_through; // of L1Ds
    uint32_t n_harts, line_log2;
    uint32_t reserving;            // harts that may have a reservation, a bit for each
    uint64_t *bus, *dma;           // tallies
    uint64_t *links[TL_MAX_HARTS]; // tallies
    const tl_bus *devices;         // addresses outside RAM; NULL: no device
    uint8_t *fetched_pages;        // a bit for each RAM page that was ever in an L1I
    tl_l2 l2;
    tl_bsq bsq;             // of detailed cores
    tl_snoop_filter filter; // with l2.fill: evict
    tl_hart_mem harts[TL_MAX_HARTS];
};

static inline tl_hart_mem *tl_mem_of(tl_hart *h) { return h->mem; }
static inline uint64_t tl_line_bytes(const tl_memory *m) { return UINT64_C(1) << m->line_log2; }
// Returns whether paddr is in RAM. All other addresses belong to devices.
static inline bool tl_is_ram(const tl_memory *m, uint64_t paddr) { return paddr - TL_RAM_BASE_PADDR < m->ram_bytes; }
static inline uint8_t *tl_host_of(const tl_memory *m, uint64_t paddr) { return m->ram + (paddr - TL_RAM_BASE_PADDR); }
static inline void tl_stall(tl_hart *h, uint32_t stall_cell, uint64_t cycles) {
    h->now += cycles;
    h->tally[stall_cell] += cycles;
}

// slots.c, slots.h: the slots of the hart. A slot shows one way. At most one slot of all views
// shows a way. A new slot belongs to the current view, h->view.
void tl_slots_init(tl_hart_mem *hm);
// entry TL_NO_ENTRY: untranslated.
void tl_slot_show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry);
void tl_slot_show_fetch(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry);
// Precondition: the access was permitted. Returns the filled page slot. NULL: the page does not
// qualify (tl_page_slot).
const tl_page_slot *tl_page_slot_show(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t entry);
// The line is not writable any more.
void tl_slot_protect_data(tl_hart_mem *hm, uint32_t way);
// The entry of the DTLB is about to be dropped; slots.h has more.
void tl_slots_forget_any_data_page(tl_hart_mem *hm, uint32_t entry);
void tl_slots_forget_fetch_page(tl_hart_mem *hm, uint32_t entry);
// A slot of another hart of the core may show the way of the L1I.
void tl_slot_hide_fetch_of_core(tl_hart_mem *hm, uint32_t way);
void tl_slots_hide_view(tl_hart_mem *hm, uint32_t view);
void tl_slots_hide_data_view(tl_hart_mem *hm, uint32_t view);
void tl_slots_rights_changed(tl_hart_mem *hm, const tl_regime *old);

// Returns whether loads and stores of the view have its own rights. Otherwise the data slots of the
// view are invalid, and no slot is filled.
static inline bool tl_has_own_rights(const tl_hart *h, uint32_t view) { return h->regime.data_view[view] == view; }

// The view whose rights an access has.
static inline uint32_t tl_view_of_access(const tl_hart *h, tl_access access) {
    return access == TL_ACCESS_FETCH ? h->view : h->regime.data_view[h->view];
}

// protect.c
// tl_protection_ask remembers permitted ranges of RAM in hm->open.
bool tl_protection_ask(tl_hart_mem *hm, uint64_t paddr, tl_access access, uint32_t view);
void tl_protection_forget(tl_hart_mem *hm);
static inline bool tl_is_open(const tl_hart_mem *hm, uint64_t paddr, tl_access access, bool is_machine) {
    const tl_range *open = &hm->open[is_machine][access];
    return paddr - open->start < open->bytes;
}
static inline bool tl_is_unprotected(tl_hart_mem *hm, uint64_t paddr, tl_access access, uint32_t view) {
    return TL_LIKELY(tl_is_open(hm, paddr, access, view == TL_VIEW_M)) || tl_protection_ask(hm, paddr, access, view);
}

// translate.c
typedef struct tl_translation {
    uint64_t paddr;
    uint32_t entry; // of the ITLB or DTLB; TL_NO_ENTRY: untranslated
    bool is_device; // not RAM; never for fetches
} tl_translation;
// Does one translation, with its walk and stalls. Counts all events but the look-up. false: the
// access trapped, and the cause is recorded.
bool tl_translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_translation *ret);
// Translate a load or store by the TLBs, without a walk. Return the filled page slot. NULL: nothing
// was done, because the access needs the walker, traps, or has the rights of another view.
const tl_page_slot *tl_translate_page_load(tl_hart_mem *hm, uint64_t vaddr);
const tl_page_slot *tl_translate_page_store(tl_hart_mem *hm, uint64_t vaddr);
// Records the fault and returns false.
bool tl_access_fault(tl_hart_mem *hm, uint64_t vaddr, tl_access access);
void tl_tlbs_flush(tl_hart_mem *hm, uint64_t vaddr, bool is_all);
void tl_tlbs_drop(tl_hart_mem *hm, const tl_tlb_drop_request *request);
// TLBs with tags: puts to sleep and wakes entries for another world or asid of h->regime.
void tl_tlbs_select(tl_hart_mem *hm);

// Returns the TL_PAGE_USER bit of the pages of a view. TL_VIEW_M has no pages, so its result
// matches no flags.
static inline uint32_t tl_user_bit(uint32_t view) { return (1 - view) * TL_PAGE_USER; }

// tl_translate of a fetch by the hint of the ITLB. The entry must permit the fetch in view U or S,
// and hm->open must hold the address. Does not write is_device. false: call tl_translate.
TL_ALWAYS_INLINE bool tl_translate_fetch(tl_hart_mem *hm, uint64_t vaddr, tl_translation *ret) {
    tl_tlb *tlb = &hm->itlb.tlb;
    uint32_t entry = tlb->hints[vaddr >> TL_PAGE_BITS & (TL_TLB_HINTS - 1)];
    const tl_page *page = &tlb->pages[entry];
    uint64_t paddr = page->paddr | (vaddr & ~tlb->masks[entry]);
    if (TL_UNLIKELY(!tl_tlb_matches(tlb, entry, vaddr) ||
                    (page->flags & (TL_PAGE_EXECUTE | TL_PAGE_USER)) != (TL_PAGE_EXECUTE | tl_user_bit(hm->h->view)) ||
                    !tl_is_open(hm, paddr, TL_ACCESS_FETCH, false)))
        return false;
    tl_tlb_touch(tlb, entry);
    ret->paddr = paddr;
    ret->entry = entry;
    return true;
}

// walker.c
tl_fault tl_walk_tables(tl_hart_mem *hm, uint64_t vaddr, tl_access access, const tl_rights *rights, tl_page *ret_page);
static inline bool tl_is_canonical(const tl_hart *h, uint64_t vaddr) { return (uint64_t)tl_sext(vaddr, h->regime.vaddr_bits) == vaddr; }

// port.c; _fixed_data for m->is_fixed, _fixed for m->is_fixed_fetch
extern const tl_mem_port tl_memory_port, tl_memory_port_fixed_data, tl_memory_port_fixed, tl_memory_port_alone;

#endif
