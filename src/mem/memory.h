// SPDX-License-Identifier: MIT
// The parts of a memory system and what they ask of each other; for the files of this folder and
// their tests only. One request runs through the parts as plain calls, and time is a number handed
// along: port -> tlb, walker -> l1 -> l2 -> dram.
#ifndef TL_MEM_MEMORY_H
#define TL_MEM_MEMORY_H

#include "mem/l1.h"
#include "mem/tlb.h"
#include "model/bus.h"
#include "model/isa.h"
#include "model/mem.h"

enum { TL_N_LEVELS = 4 }; // of page sizes

typedef struct tl_range { // of physical addresses
    uint64_t start, bytes;
} tl_range;

typedef struct tl_first_tlb { // a first-level TLB
    tl_tlb tlb;
    uint32_t first_stamp; // as in tl_l1
} tl_first_tlb;

// A page whose lines data slots may show without further question: it is in the DTLB or
// untranslated, the accesses are those of a mode to its own pages, permitted, and all of it is open
// RAM. Direct-mapped by page number, each view its own.
typedef struct tl_page_slot {
    uint64_t read_page, write_page; // the page's virtual address, or TL_NO_LINE
    uint64_t paddr_minus_vaddr;
    uint32_t entry, page_stamp; // TL_NO_ENTRY and the sink: untranslated
} tl_page_slot;
enum { TL_PAGE_SLOTS = 128 }; // of one view

typedef struct tl_slot_set { // data slots of one view that rest on rights the hart has for a while
    uint64_t words[TL_DATA_SLOTS / 64];
    bool has_any;
} tl_slot_set;

struct tl_hart_mem { // h->mem
    tl_memory *memory;
    tl_hart *h;
    uintptr_t host_minus_paddr; // of RAM
    tl_range open[2][3];        // [in machine mode][tl_access]: RAM known to be open to the access; the rest asks protect.c
    tl_l1 l1i, l1d;
    tl_first_tlb itlb, dtlb;
    tl_tlb l2tlb;
    uint64_t l2tlb_clock;
    tl_slot_set user_slots;            // of view S, for pages of programs
    tl_slot_set code_slots[TL_VIEW_M]; // of views U and S, for pages that execute and are not readable by themselves
    tl_contender contender;
    tl_agent walker; // who asks through l1d when page tables are read
    _Alignas(64) tl_page_slot page_slots[TL_N_VIEWS * TL_PAGE_SLOTS];
};

struct tl_memory {
    tl_config config;
    uint8_t *ram;
    uint64_t ram_bytes;
    bool is_fixed;       // L1Ds and L2 are of the fixed geometry (cache_fixed.h), the L2 is one slice, and neither prefetches
    bool is_fixed_fetch; // and L1Is likewise
    uint32_t n_harts, line_log2;
    uint32_t reserving;            // harts that may have a reservation, a bit for each
    uint64_t *bus, *dma;           // tallies
    uint64_t *links[TL_MAX_HARTS]; // tallies
    const tl_bus *devices;         // what is not RAM; NULL: nothing
    uint8_t *fetched_pages;        // a bit for each page of RAM that was ever in an instruction cache
    tl_l2 l2;
    tl_hart_mem harts[TL_MAX_HARTS];
};

static inline tl_hart_mem *tl_mem_of(tl_hart *h) { return h->mem; }
static inline uint64_t tl_line_bytes(const tl_memory *m) { return UINT64_C(1) << m->line_log2; }
// One clear place decides what is RAM; everything else is up to the devices.
static inline bool tl_is_ram(const tl_memory *m, uint64_t paddr) { return paddr - TL_RAM_BASE_PADDR < m->ram_bytes; }
static inline uint8_t *tl_host_of(const tl_memory *m, uint64_t paddr) { return m->ram + (paddr - TL_RAM_BASE_PADDR); }
static inline void tl_stall(tl_hart *h, uint32_t stall_cell, uint64_t cycles) {
    h->now += cycles;
    h->tally[stall_cell] += cycles;
}

// slots.c, slots.h: the hart's tables of what hits. A slot shows one way, a way is shown by at most
// one slot of all views. Slots are shown in the view of the mode the hart is in.
void tl_slots_init(tl_hart_mem *hm);
// entry TL_NO_ENTRY: untranslated.
void tl_slot_show_data(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry);
void tl_slot_show_fetch(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t way, uint32_t entry);
// After an access that was permitted; NULL: it is not what a page slot may say.
const tl_page_slot *tl_page_slot_show(tl_hart_mem *hm, uint64_t vaddr, uint64_t paddr, uint32_t entry);
void tl_slot_protect_data(tl_hart_mem *hm, uint32_t way);            // the line is no longer writable
void tl_slots_forget_any_data_page(tl_hart_mem *hm, uint32_t entry); // the entry of the DTLB is about to be dropped; slots.h has more
void tl_slots_forget_fetch_page(tl_hart_mem *hm, uint32_t entry);
void tl_slots_hide_view(tl_hart_mem *hm, uint32_t view);
void tl_slots_hide_data_view(tl_hart_mem *hm, uint32_t view);
void tl_slots_rights_changed(tl_hart_mem *hm, const tl_regime *old);

// Loads and stores of the view may have the rights of another one: its slots then stand for
// nothing, and none are shown.
static inline bool tl_has_own_rights(const tl_hart *h, uint32_t view) { return h->regime.data_view[view] == view; }

// The view whose rights an access has.
static inline uint32_t tl_view_of_access(const tl_hart *h, tl_access access) {
    return access == TL_ACCESS_FETCH ? h->view : h->regime.data_view[h->view];
}

// protect.c
// What is permitted in RAM is remembered in hm->open.
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
// One look-up, with walk and stalls. false: trapped, the cause is recorded. Counts everything but
// the look-up itself.
bool tl_translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_translation *ret);
// The same for a load or store of the mode itself that the TLBs permit without a walk: its page
// slot, filled. NULL: nothing was done, since the access needs the walker, traps, or is not of that
// kind.
const tl_page_slot *tl_translate_page_load(tl_hart_mem *hm, uint64_t vaddr);
const tl_page_slot *tl_translate_page_store(tl_hart_mem *hm, uint64_t vaddr);
bool tl_access_fault(tl_hart_mem *hm, uint64_t vaddr, tl_access access); // records it, returns false
void tl_tlbs_flush(tl_hart_mem *hm, uint64_t vaddr, bool is_all);

// TL_PAGE_USER as the pages of a view have it; of TL_VIEW_M, which has none, bits that no flags
// have.
static inline uint32_t tl_user_bit(uint32_t view) { return (1 - view) * TL_PAGE_USER; }

// tl_translate of a fetch for an entry where its page was found last, all bits as the fetch of a
// user, or of a supervisor from its own pages, needs them, in RAM known to be open; false: take the
// long way. Leaves is_device alone: it is not.
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
extern const tl_mem_port tl_memory_port, tl_memory_port_fixed_data, tl_memory_port_fixed;

#endif
