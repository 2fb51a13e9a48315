// SPDX-License-Identifier: MIT
// The parts of a memory system and what they ask of each other; for the files of this folder and their tests only. One request runs
// through the parts as plain calls, and time is a number handed along: port -> tlb, walker -> l1 -> l2 -> dram.
#ifndef TL_MEM_MEMORY_H
#define TL_MEM_MEMORY_H

#include "mem/cache_fixed.h"
#include "mem/mem_signals.h"
#include "mem/tlb.h"
#include "model/bus.h"
#include "model/mem.h"

typedef enum tl_access { TL_ACCESS_FETCH, TL_ACCESS_LOAD, TL_ACCESS_STORE } tl_access; // what permission is needed
typedef enum tl_use {
    TL_USE_FETCH,
    TL_USE_LOAD,
    TL_USE_STORE,
    TL_USE_AMO,
    TL_USE_WALK_READ,
    TL_USE_WALK_WRITE
} tl_use; // what it counts as
static inline bool tl_is_store(tl_use use) { return use == TL_USE_STORE || use == TL_USE_AMO || use == TL_USE_WALK_WRITE; }
static inline bool tl_is_walk(tl_use use) { return use == TL_USE_WALK_READ || use == TL_USE_WALK_WRITE; }
enum { TL_LINE_I, TL_LINE_S, TL_LINE_E, TL_LINE_M };

enum { TL_N_LEVELS = 4 };                 // of page sizes: Sv48; Sv39 uses three
enum { TL_VIEW_U, TL_VIEW_S, TL_VIEW_M }; // tl_hart.view

typedef struct tl_range { // of physical addresses
    uint64_t start, bytes;
} tl_range;

// Something that serves one request at a time. It remembers the last one only: a request that comes from before that one (harts
// run in turns, so one may lag behind) does not wait.
typedef struct tl_server {
    uint64_t start, until;
} tl_server;

static inline uint64_t tl_server_occupy(tl_server *server, uint64_t time, uint32_t busy_cycles) { // returns the cycles waited
    uint64_t wait = time >= server->start && time < server->until ? server->until - time : 0;
    server->start = time + wait;
    server->until = server->start + busy_cycles;
    return wait;
}

typedef struct tl_l1_line { // what is known of a way, but for its tag
    uint32_t l2_way;        // where the line is in the L2; stays, because the L2 is inclusive
    uint16_t slot;          // the one that shows the line, if any does: then its line_stamp names the way
    uint8_t state;          // TL_LINE_*; in an instruction cache I or S
    bool is_prefetched : 1; // filled by the prefetcher and not used since
    bool is_contested : 1;  // contest.h
} tl_l1_line;

typedef struct tl_l1 { // a first-level cache; slots are those of its hart (data slots or fetch slots)
    tl_cache cache;
    tl_l1_line *lines;    // [way]
    uint32_t first_stamp; // slots stamp cell first_stamp + way of h->stamps; never 0, the sink
} tl_l1;

typedef struct tl_first_tlb { // a first-level TLB
    tl_tlb tlb;
    uint32_t first_stamp; // as in tl_l1
} tl_first_tlb;

// A page whose lines data slots may show without further question: it is in the DTLB or untranslated, the accesses are those of a mode to
// its own pages, permitted, and all of it is open RAM. Direct-mapped by page number, each view its own.
typedef struct tl_page_slot {
    uint64_t read_page, write_page; // the page's virtual address, or TL_NO_LINE
    uint64_t paddr_minus_vaddr;
    uint32_t entry, page_stamp; // TL_NO_ENTRY and the sink: untranslated
} tl_page_slot;
enum { TL_PAGE_SLOTS = 128 }; // of one view

typedef struct tl_slot_set { // data slots of one view that rest on a bit of mstatus
    uint64_t words[TL_DATA_SLOTS / 64];
    bool has_any;
} tl_slot_set;

typedef struct tl_hart_mem { // h->mem
    tl_memory *memory;
    tl_hart *h;
    uintptr_t host_minus_paddr; // of RAM
    tl_range open[2][3];        // [in machine mode][tl_access]: RAM known to be open to the access; the rest asks pmp.c
    tl_l1 l1i, l1d;
    tl_first_tlb itlb, dtlb;
    tl_tlb l2tlb;
    uint64_t l2tlb_clock;
    tl_slot_set sum_slots;            // of view S, for pages of users
    tl_slot_set mxr_slots[TL_VIEW_M]; // of views U and S, for pages that are not readable
    bool is_permitted;                // the access under way does not wait: contest.h
    bool is_reaching;                 // it is that of tl_mem_port.reach_load or reach_store
    _Alignas(64) tl_page_slot page_slots[TL_N_VIEWS * TL_PAGE_SLOTS];
} tl_hart_mem;

typedef struct tl_l2_line {              // the directory: exact, since first-level caches tell when they drop a line
    uint8_t data_sharers, fetch_sharers; // bit k: hart k's L1D, L1I holds the line
    uint8_t owner;                       // the hart whose L1D holds it in E or M, or TL_NO_OWNER; then data_sharers is that bit
    bool is_dirty : 1, is_prefetched : 1;
    bool is_contested : 1; // contest.h: since tl_memory.contested_at of the way
} tl_l2_line;
enum { TL_NO_OWNER = UINT8_MAX };

typedef struct tl_l2_slice {
    tl_cache cache;
    uint32_t first_way; // its way 0's index in tl_memory.l2_lines
    tl_server server;
    uint64_t *tally;
} tl_l2_slice;

typedef struct tl_channel {
    uint64_t *open_rows; // [bank]
    tl_server server;
    uint64_t *tally;
} tl_channel;

struct tl_memory {
    tl_config config;
    uint8_t *ram;
    uint64_t ram_bytes;
    bool is_fixed;       // L1Ds and L2 are of the fixed geometry (cache.h), the L2 is one slice, and neither prefetches
    bool is_fixed_fetch; // and L1Is likewise
    uint32_t n_harts, line_log2, slices_log2, channels_log2, banks_log2;
    uint32_t row_shift;     // an address without the bits within a row, and without those of the channel
    uint32_t row_cycles[3]; // of a row that is open, that is not but nor is another, and of any other
    tl_l2_line *l2_lines;   // of all slices
    uint64_t *contested_at; // [way of all slices], valid where the line is contested
    uint64_t l2_clock;
    uint64_t *noc, *bus, *dma;     // tallies
    uint64_t *links[TL_MAX_HARTS]; // tallies
    const tl_bus *devices;         // what is not RAM; NULL: nothing
    uint8_t *fetched_pages;        // a bit for each page of RAM that was ever in an instruction cache
    tl_l2_slice slices[TL_MAX_L2_SLICES];
    tl_channel channels[TL_MAX_MEM_CHANNELS];
    tl_hart_mem harts[TL_MAX_HARTS];
};

static inline tl_hart_mem *tl_mem_of(tl_hart *h) { return h->mem; }
static inline uint64_t tl_line_bytes(const tl_memory *m) { return UINT64_C(1) << m->line_log2; }
// One clear place decides what is RAM; everything else is up to the devices.
static inline bool tl_is_ram(const tl_memory *m, uint64_t paddr) { return paddr - TL_RAM_BASE_PADDR < m->ram_bytes; }
static inline uint8_t *tl_host_of(const tl_memory *m, uint64_t paddr) { return m->ram + (paddr - TL_RAM_BASE_PADDR); }
static inline void tl_stall(tl_hart *h, uint32_t cause_slot, uint64_t cycles) {
    h->now += cycles;
    h->tally[cause_slot] += cycles;
}

// l2.c; l2.h has what is inlined
typedef struct tl_l2_reply {
    uint64_t cycles; // what the requester waits
    uint32_t l2_way; // where the line is
    uint8_t state;   // what the requester may keep
    bool is_contested;
    bool is_refused; // nothing has happened: contest.h
} tl_l2_reply;
tl_l2_reply tl_l2_request(tl_memory *m, uint32_t hart, uint64_t line, tl_use use, bool is_prefetch, uint64_t time);
uint64_t tl_l2_upgrade(tl_memory *m, uint32_t hart, uint32_t l2_way, uint64_t line, uint64_t time); // returns the cycles waited
typedef enum tl_dma { TL_DMA_GET, TL_DMA_PUT_FULL, TL_DMA_PUT_PARTIAL } tl_dma; // a device reads the line, writes all of it, writes some
void tl_l2_dma(tl_memory *m, uint64_t line, tl_dma use, uint64_t time);

// l1.c: all return the way; store-type uses leave the line in M.
// TL_NO_WAY: refused (contest.h), nothing has happened; never for page walks.
uint32_t tl_l1d_access(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t cause_slot);
// A load, a store that is within one line and that `page` permits; it is a use of the page already. The line is in a data slot afterwards.
// Returns the host address; NULL: refused, as above.
uint8_t *tl_l1d_load(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr);
uint8_t *tl_l1d_store(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr);
uint8_t *tl_l1d_load_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr); // m->is_fixed
uint8_t *tl_l1d_store_fixed(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr);
uint32_t tl_l1i_access(tl_hart_mem *hm, uint64_t line);
static inline void tl_l1i_fill(tl_hart_mem *hm, uint64_t line, uint32_t way, const tl_l2_reply *reply,
                               bool is_prefetch) { // the way is free
    tl_l1 *l1 = &hm->l1i;
    tl_cache_fill(&l1->cache, way, line);
    uint64_t page = (line - TL_RAM_BASE_PADDR) >> TL_PAGE_BITS;
    hm->memory->fetched_pages[page / 8] |= (uint8_t)(1u << page % 8);
    l1->lines[way].state = TL_LINE_S;
    l1->lines[way].l2_way = reply->l2_way;
    l1->lines[way].is_prefetched = is_prefetch;
}
bool tl_l1d_probe(tl_hart_mem *hm, uint64_t line, uint8_t keep); // to state S or I; returns whether it answered with data
void tl_l1i_probe(tl_hart_mem *hm, uint64_t line);
void tl_l1i_drop(tl_hart_mem *hm, uint32_t way); // invalidated by its own hart

// slots.c, slots.h: the hart's tables of what hits. A slot shows one way, a way is shown by at most one slot of all views. Slots are shown
// in the view of the mode the hart is in.
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
void tl_slots_status_changed(tl_hart_mem *hm, uint64_t old_status);

// Under MPRV loads and stores of machine mode are those of another mode: its slots then stand for nothing, and none are shown.
static inline bool tl_is_disguised(uint64_t mstatus) { return (mstatus & TL_MSTATUS_MPRV) && (mstatus & TL_MSTATUS_MPP) != TL_MSTATUS_MPP; }

// The mode whose rights an access has.
static inline tl_priv tl_effective_priv(const tl_hart *h, tl_access access) {
    bool is_other = h->priv == TL_PRIV_M && access != TL_ACCESS_FETCH && (h->csr.mstatus & TL_MSTATUS_MPRV);
    return TL_UNLIKELY(is_other) ? (tl_priv)((h->csr.mstatus & TL_MSTATUS_MPP) >> 11) : h->priv;
}
static inline bool tl_is_paged(const tl_hart *h, tl_priv priv) { return h->satp >> 60 != 0 && priv != TL_PRIV_M; }
static inline uint32_t tl_n_levels(const tl_hart *h) { return h->satp >> 60 == 9 ? 4 : 3; } // of a paged mode

// pmp.c
// Physical memory protection; what it permits in RAM is remembered in hm->open.
bool tl_pmp_ask(tl_hart_mem *hm, uint64_t paddr, tl_access access, bool is_machine);
void tl_pmp_forget(tl_hart_mem *hm);
static inline bool tl_is_open(const tl_hart_mem *hm, uint64_t paddr, tl_access access, bool is_machine) {
    const tl_range *open = &hm->open[is_machine][access];
    return paddr - open->start < open->bytes;
}
static inline bool tl_pmp_permits(tl_hart_mem *hm, uint64_t paddr, tl_access access, bool is_machine) {
    return TL_LIKELY(tl_is_open(hm, paddr, access, is_machine)) || tl_pmp_ask(hm, paddr, access, is_machine);
}

// translate.c
typedef struct tl_translation {
    uint64_t paddr;
    uint32_t entry; // of the ITLB or DTLB; TL_NO_ENTRY: untranslated
    bool is_device; // not RAM; never for fetches
} tl_translation;
// One look-up, with walk and stalls. false: trapped, the cause is recorded. Counts everything but the look-up itself.
bool tl_translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_translation *ret);
// The same for a load or store of the mode itself that the TLBs permit without a walk: its page slot, filled. NULL: nothing was done, since
// the access needs the walker, traps, or is not of that kind.
const tl_page_slot *tl_translate_page_load(tl_hart_mem *hm, uint64_t vaddr);
const tl_page_slot *tl_translate_page_store(tl_hart_mem *hm, uint64_t vaddr);
bool tl_access_fault(tl_hart_mem *hm, uint64_t vaddr, tl_access access); // records it, returns false
void tl_tlbs_flush(tl_hart_mem *hm, uint64_t vaddr, bool is_all);

// Privileged manual, "Virtual Address Translation Process", step 5; sec. 3.1.6.3 for MXR and SUM.
static inline bool tl_is_permitted(uint8_t flags, tl_access access, tl_priv priv, uint64_t mstatus) {
    uint8_t readable = mstatus & TL_MSTATUS_MXR ? TL_PTE_R | TL_PTE_X : TL_PTE_R;
    uint8_t needed = access == TL_ACCESS_FETCH ? TL_PTE_X : access == TL_ACCESS_LOAD ? readable : TL_PTE_W;
    bool is_user_page = (flags & TL_PTE_U) != 0, may_cross = access != TL_ACCESS_FETCH && (mstatus & TL_MSTATUS_SUM);
    return (flags & needed) != 0 && (priv == TL_PRIV_U ? is_user_page : !is_user_page || may_cross);
}

// The U bit as the pages of a mode have it; of machine mode, which has none, bits that no flags have.
static inline uint32_t tl_user_bit(uint32_t view) { return (1 - view) * TL_PTE_U; }

// tl_translate of a fetch for an entry where its page was found last, all bits as the fetch of a user, or of a supervisor from its own
// pages, needs them, in RAM known to be open; false: take the long way. Leaves is_device alone: it is not.
TL_ALWAYS_INLINE bool tl_translate_fetch(tl_hart_mem *hm, uint64_t vaddr, tl_translation *ret) {
    tl_tlb *tlb = &hm->itlb.tlb;
    uint32_t entry = tlb->hints[vaddr >> TL_PAGE_BITS & (TL_TLB_HINTS - 1)];
    const tl_tlb_page *page = &tlb->pages[entry];
    uint64_t paddr = page->paddr | (vaddr & ~tlb->masks[entry]);
    if (TL_UNLIKELY(!tl_tlb_matches(tlb, entry, vaddr) || (page->flags & (TL_PTE_X | TL_PTE_U)) != (TL_PTE_X | tl_user_bit(hm->h->view)) ||
                    !tl_is_open(hm, paddr, TL_ACCESS_FETCH, false)))
        return false;
    tl_tlb_touch(tlb, entry);
    ret->paddr = paddr;
    ret->entry = entry;
    return true;
}

// walker.c
typedef enum tl_fault { TL_FAULT_NONE, TL_FAULT_PAGE, TL_FAULT_ACCESS } tl_fault;
tl_fault tl_walk(tl_hart_mem *hm, uint64_t vaddr, tl_access access, tl_priv priv, tl_tlb_page *ret_page);
static inline bool tl_is_canonical(uint64_t vaddr, uint32_t n_levels) {
    return (uint64_t)tl_sext(vaddr, TL_PAGE_BITS + TL_LEVEL_BITS * n_levels) == vaddr;
}

// fetch.c: tl_mem_port.fetch; the latter for m->is_fixed_fetch
bool tl_fetch(tl_hart *h, uint64_t vaddr);
bool tl_fetch_fixed(tl_hart *h, uint64_t vaddr);
bool tl_fetch_hits(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline);

// port.c; _fixed_data for m->is_fixed, _fixed for m->is_fixed_fetch
extern const tl_mem_port tl_memory_port, tl_memory_port_fixed_data, tl_memory_port_fixed;

#endif
