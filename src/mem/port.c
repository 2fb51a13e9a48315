// SPDX-License-Identifier: MIT
// The functions of tl_mem_port: accesses that missed the hart's slots. An access does all
// translations, then all cache accesses, then moves its bytes. An access that traps has therefore
// touched no data. Addresses outside RAM belong to devices. A device access bypasses the caches and
// must be aligned. No slot ever shows a device access.
#include "mem/fetch.h"
#include "mem/slots.h"

#include <string.h>

typedef struct piece { // the part of an access in one line
    uint64_t vaddr;
    tl_translation at;
} piece;

typedef struct span { // an access of one or two pieces
    piece pieces[2];
    uint32_t n_pieces, first_bytes; // size of pieces[0]
} span;

static void count_lookups(tl_hart *h, tl_use use, uint64_t n) {
    h->tally[TL_S_DTLB_ACCESS] += n;
    h->tally[use == TL_USE_LOAD ? TL_S_L1D_LOAD : TL_S_L1D_STORE] += n;
}

static uint32_t stall_cell(tl_use use) { return use == TL_USE_STORE ? TL_S_HART_CYC_STORE_MISS : TL_S_HART_CYC_LOAD_MISS; }

static uint32_t access_cache(tl_hart_mem *hm, uint64_t paddr, tl_use use) {
    return tl_l1d_access(hm, paddr & hm->h->line_mask, use, stall_cell(use));
}

// false: contest.h refused the access.
static bool access_line(tl_hart_mem *hm, const piece *p, tl_use use) {
    uint32_t way = access_cache(hm, p->at.paddr, use);
    if (TL_UNLIKELY(way == TL_NO_WAY))
        return false;
    if (TL_LIKELY(way != TL_NO_COPY && !hm->l1d.lines[way].is_contested))
        tl_slot_show_data(hm, p->vaddr, p->at.paddr, way, p->at.entry);
    return true;
}

// Records that contest.h refused the access.
static bool not_yet(tl_hart *h, uint64_t vaddr) { return tl_trap(h, TL_TRAP_NOT_YET, vaddr); }

// Returns the page slot that permits an aligned access, and stamps the page. NULL: no page slot.
TL_ALWAYS_INLINE const tl_page_slot *find_page(tl_hart *h, uint64_t vaddr, uint64_t last_byte, bool is_store) {
    const tl_page_slot *page = tl_page_slot_of(tl_mem_of(h), h->view, vaddr);
    uint64_t wanted = is_store ? page->write_page : page->read_page;
    if (TL_UNLIKELY((vaddr & (tl_page_mask(0) | last_byte)) != wanted))
        return NULL;
    h->stamps[page->page_stamp] = ++h->stamp;
    return page;
}

// Translates one piece. Counts the look-up of a trap, because no retired instruction counts it.
static bool translate(tl_hart_mem *hm, uint64_t vaddr, tl_access access, piece *ret_piece) {
    ret_piece->vaddr = vaddr;
    if (tl_translate(hm, vaddr, access, &ret_piece->at))
        return true;
    hm->h->tally[TL_S_DTLB_ACCESS] += 1;
    return false;
}

// Translates an access that only RAM can serve. A device access traps.
TL_ALWAYS_INLINE bool translate_in_ram(tl_hart_mem *hm, uint64_t vaddr, tl_access access, piece *ret_piece) {
    if (!translate(hm, vaddr, access, ret_piece))
        return false;
    if (!ret_piece->at.is_device)
        return true;
    hm->h->tally[TL_S_DTLB_ACCESS] += 1;
    return tl_access_fault(hm, vaddr, access);
}

static bool device_misaligned(tl_hart *h, uint64_t vaddr, tl_access access) {
    h->tally[TL_S_DTLB_ACCESS] += 1;
    return tl_trap_fault(h, TL_FAULT_MISALIGNED, access, vaddr);
}

static void count_misaligned(tl_hart_mem *hm, tl_use use) {
    hm->h->tally[use == TL_USE_LOAD ? TL_S_HART_MISALIGNED_LOAD : TL_S_HART_MISALIGNED_STORE] += 1;
    tl_stall(hm->h, TL_S_HART_CYC_MISALIGNED, hm->memory->config.pipeline.misaligned_cycles);
}

// The cache accesses of a misaligned access whose translations are done.
static void look_up_pieces(tl_hart_mem *hm, const span *s, tl_use use) {
    tl_hart *h = hm->h;
    count_misaligned(hm, use);
    if (s->n_pieces == 1) {
        (void)access_line(hm, &s->pieces[0], use);
        return;
    }
    h->tally[TL_S_HART_LINE_CROSS] += 1;
    count_lookups(h, use, 1);
    for (int i = 0; i < 2; i++) {
        const piece *p = &s->pieces[i];
        // The other piece may have replaced the entry.
        if (p->at.entry == TL_NO_ENTRY || tl_tlb_matches(&hm->dtlb.tlb, p->at.entry, p->vaddr))
            (void)access_line(hm, p, use);
        else
            access_cache(hm, p->at.paddr, use);
    }
}

static bool look_up_misaligned(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, tl_use use, span *ret_span) {
    tl_hart *h = hm->h;
    tl_access access = use == TL_USE_LOAD ? TL_ACCESS_LOAD : TL_ACCESS_STORE;
    uint64_t second = (vaddr & h->line_mask) + ~h->line_mask + 1;
    bool is_crossing = size_bytes > second - vaddr;
    *ret_span = (span){.n_pieces = is_crossing ? 2 : 1, .first_bytes = is_crossing ? (uint32_t)(second - vaddr) : size_bytes};
    if (!translate(hm, vaddr, access, &ret_span->pieces[0]))
        return false;
    if (ret_span->pieces[0].at.is_device)
        return device_misaligned(h, vaddr, access);
    if (is_crossing) {
        bool is_found = translate(hm, second, access, &ret_span->pieces[1]);
        if (!is_found || ret_span->pieces[1].at.is_device) {
            h->tally[TL_S_DTLB_ACCESS] += 1; // that of the first line
            return is_found && device_misaligned(h, vaddr, access);
        }
    }
    for (uint32_t i = 0; i < ret_span->n_pieces; i++)
        if (tl_l1d_would_refuse(hm, ret_span->pieces[i].at.paddr & h->line_mask, use != TL_USE_LOAD))
            return not_yet(h, vaddr);
    hm->contender.is_permitted = true;
    look_up_pieces(hm, ret_span, use);
    return true;
}

// An atomic within one line. Returns the bytes, or NULL: trapped or refused.
static uint8_t *look_up_atomic(tl_hart_mem *hm, uint64_t vaddr, tl_use use) {
    piece p;
    if (!translate_in_ram(hm, vaddr, use == TL_USE_LOAD ? TL_ACCESS_LOAD : TL_ACCESS_STORE, &p))
        return NULL;
    if (!access_line(hm, &p, use)) {
        (void)not_yet(hm->h, vaddr);
        return NULL;
    }
    return tl_host_of(hm->memory, p.at.paddr);
}

// Precondition: a device answered. Takes the L1D look-up out of the tallies, because the front-end
// counts one for each retired load and store.
static bool count_device(tl_hart_mem *hm, bool is_store) {
    tl_hart *h = hm->h;
    h->tally[is_store ? TL_S_HART_UNC_WRITE : TL_S_HART_UNC_READ] += 1;
    h->tally[is_store ? TL_S_L1D_STORE : TL_S_L1D_LOAD] -= 1;
    hm->memory->bus[is_store ? TL_BUS_WRITE : TL_BUS_READ] += 1;
    tl_stall(h, TL_S_HART_CYC_MMIO, hm->memory->config.mem.mmio_cycles);
    return true;
}

static bool nobody_answers(tl_hart_mem *hm, uint64_t vaddr, tl_access access) {
    hm->h->tally[TL_S_DTLB_ACCESS] += 1;
    return tl_access_fault(hm, vaddr, access);
}

static TL_NOINLINE bool load_device(tl_hart_mem *hm, const piece *p, uint32_t size_bytes) {
    tl_hart *h = hm->h;
    const tl_bus *bus = hm->memory->devices;
    uint64_t value = 0;
    h->waits_for_device = false;
    if (!bus->read(bus->ctx, &hm->l1d.client.agent, p->at.paddr, size_bytes, &value))
        return h->waits_for_device ? not_yet(h, p->vaddr) : nobody_answers(hm, p->vaddr, TL_ACCESS_LOAD);
    h->mem_value = value & UINT64_MAX >> (64 - 8 * size_bytes);
    return count_device(hm, false);
}

static TL_NOINLINE bool store_device(tl_hart_mem *hm, const piece *p, uint32_t size_bytes, uint64_t value) {
    tl_hart *h = hm->h;
    const tl_bus *bus = hm->memory->devices;
    h->waits_for_device = false;
    if (!bus->write(bus->ctx, &hm->l1d.client.agent, p->at.paddr, size_bytes, value & UINT64_MAX >> (64 - 8 * size_bytes)))
        return h->waits_for_device ? not_yet(h, p->vaddr) : nobody_answers(hm, p->vaddr, TL_ACCESS_STORE);
    return count_device(hm, true);
}

// Needs no branch on the size, because an aligned value lies within its aligned eight bytes.
TL_ALWAYS_INLINE uint64_t read_aligned(const uint8_t *host, uint32_t size_bytes) {
    uint64_t around;
    memcpy(&around, host - ((uintptr_t)host & 7), sizeof around);
    return around >> 8 * ((uintptr_t)host & 7) & UINT64_MAX >> (64 - 8 * size_bytes);
}

static uint64_t read_bytes(const uint8_t *from, uint32_t size_bytes) {
    uint64_t value = 0;
    memcpy(&value, from, size_bytes);
    return value;
}

static void write_bytes(uint8_t *to, uint32_t size_bytes, uint64_t value) {
    switch (size_bytes) {
    case 1: memcpy(to, &value, 1); break;
    case 2: memcpy(to, &value, 2); break;
    case 4: memcpy(to, &value, 4); break;
    case 8: memcpy(to, &value, 8); break;
    default: memcpy(to, &value, size_bytes);
    }
}

static bool load_misaligned(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes) {
    span s;
    if (!look_up_misaligned(hm, vaddr, size_bytes, TL_USE_LOAD, &s))
        return false;
    uint64_t value = read_bytes(tl_host_of(hm->memory, s.pieces[0].at.paddr), s.first_bytes);
    if (s.n_pieces == 2)
        value |= read_bytes(tl_host_of(hm->memory, s.pieces[1].at.paddr), size_bytes - s.first_bytes) << (8 * s.first_bytes);
    hm->h->mem_value = value;
    return true;
}

static bool store_misaligned(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    span s;
    if (!look_up_misaligned(hm, vaddr, size_bytes, TL_USE_STORE, &s))
        return false;
    write_bytes(tl_host_of(hm->memory, s.pieces[0].at.paddr), s.first_bytes, value);
    if (s.n_pieces == 2)
        write_bytes(tl_host_of(hm->memory, s.pieces[1].at.paddr), size_bytes - s.first_bytes, value >> (8 * s.first_bytes));
    return true;
}

// The cache access of an aligned load or store whose translation is done. false: refused.
TL_ALWAYS_INLINE bool access_aligned(tl_hart_mem *hm, const piece *p, bool is_store) {
    const tl_page_slot *page = tl_page_slot_show(hm, p->vaddr, p->at.paddr, p->at.entry);
    bool is_done;
    if (TL_LIKELY(page != NULL))
        is_done = (is_store ? tl_l1d_store(hm, page, p->vaddr) : tl_l1d_load(hm, page, p->vaddr)) != NULL;
    else
        is_done = access_line(hm, p, is_store ? TL_USE_STORE : TL_USE_LOAD);
    return TL_LIKELY(is_done) || not_yet(hm->h, p->vaddr);
}

// Serves accesses without a page slot: misaligned accesses, pages not used lately, devices, traps.
static bool load_anyhow(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes) {
    if (TL_UNLIKELY((vaddr & (size_bytes - 1)) != 0))
        return load_misaligned(hm, vaddr, size_bytes);
    piece p;
    if (!translate(hm, vaddr, TL_ACCESS_LOAD, &p))
        return false;
    if (p.at.is_device)
        return load_device(hm, &p, size_bytes);
    if (!access_aligned(hm, &p, false))
        return false;
    hm->h->mem_value = read_aligned(tl_host_of(hm->memory, p.at.paddr), size_bytes);
    return true;
}

static TL_NOINLINE bool load_slowly(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes) {
    bool is_done = load_anyhow(hm, vaddr, size_bytes);
    hm->contender.is_permitted = false;
    return is_done;
}

static bool store_anyhow(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    if (TL_UNLIKELY((vaddr & (size_bytes - 1)) != 0))
        return store_misaligned(hm, vaddr, size_bytes, value);
    piece p;
    if (!translate(hm, vaddr, TL_ACCESS_STORE, &p))
        return false;
    if (p.at.is_device)
        return store_device(hm, &p, size_bytes, value);
    if (!access_aligned(hm, &p, true))
        return false;
    write_bytes(tl_host_of(hm->memory, p.at.paddr), size_bytes, value);
    return true;
}

static TL_NOINLINE bool store_slowly(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    bool is_done = store_anyhow(hm, vaddr, size_bytes, value);
    hm->contender.is_permitted = false;
    return is_done;
}

// The path of first-level caches that an access takes: that of every machine, or a twin (l1.h).
typedef enum twin { PLAIN, FIXED, ALONE } twin;

TL_ALWAYS_INLINE uint8_t *access_page(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, bool is_store, twin which) {
    switch (which) {
    case FIXED: return is_store ? tl_l1d_store_fixed(hm, page, vaddr) : tl_l1d_load_fixed(hm, page, vaddr);
    case ALONE: return is_store ? tl_l1d_store_alone(hm, page, vaddr) : tl_l1d_load_alone(hm, page, vaddr);
    case PLAIN: break;
    }
    return is_store ? tl_l1d_store(hm, page, vaddr) : tl_l1d_load(hm, page, vaddr);
}

// may_reuse: the caller may use the line again without a call. Returns NULL if the access must wait
// (contest.h), which no access does alone.
TL_ALWAYS_INLINE uint8_t *reach_page(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, bool is_store, twin which, bool may_reuse) {
    if (which == ALONE)
        return access_page(hm, page, vaddr, is_store, which);
    if (may_reuse)
        hm->contender.is_reaching = true;
    uint8_t *host = access_page(hm, page, vaddr, is_store, which);
    if (may_reuse)
        hm->contender.is_reaching = false;
    if (TL_LIKELY(host != NULL))
        hm->contender.is_permitted = false;
    return host;
}

// Precondition: no page slot permits the access. Returns NULL with *ret_is_refused if the access
// must wait. Returns NULL without it if the access needs the full path.
TL_ALWAYS_INLINE uint8_t *translate_and_reach(tl_hart *h, uint64_t vaddr, uint64_t last_byte, bool is_store, twin which, bool may_reuse,
                                              bool *ret_is_refused) {
    tl_hart_mem *hm = tl_mem_of(h);
    *ret_is_refused = false;
    if (vaddr & last_byte)
        return NULL;
    uint64_t stamp = h->stamp;
    const tl_page_slot *page = is_store ? tl_translate_page_store(hm, vaddr) : tl_translate_page_load(hm, vaddr);
    if (TL_UNLIKELY(!page))
        return NULL;
    uint8_t *host = reach_page(hm, page, vaddr, is_store, which, may_reuse);
    if (TL_UNLIKELY(!host)) {
        h->stamp = stamp; // undoes the use; the page slot stays valid
        *ret_is_refused = true;
    }
    return host;
}

// As translate_and_reach, if a page slot may permit the access.
TL_ALWAYS_INLINE uint8_t *reach(tl_hart *h, uint64_t vaddr, uint64_t last_byte, bool is_store, twin which, bool *ret_is_refused) {
    const tl_page_slot *page = find_page(h, vaddr, last_byte, is_store);
    if (TL_UNLIKELY(!page))
        return translate_and_reach(h, vaddr, last_byte, is_store, which, false, ret_is_refused);
    uint8_t *host = reach_page(tl_mem_of(h), page, vaddr, is_store, which, false);
    *ret_is_refused = TL_UNLIKELY(!host);
    if (*ret_is_refused)
        h->stamp -= 1; // undoes the use
    return host;
}

TL_ALWAYS_INLINE bool load_from(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, twin which) {
    bool is_refused;
    const uint8_t *host = reach(h, vaddr, size_bytes - 1, false, which, &is_refused);
    if (TL_UNLIKELY(!host))
        return is_refused ? not_yet(h, vaddr) : load_slowly(tl_mem_of(h), vaddr, size_bytes);
    h->mem_value = read_aligned(host, size_bytes);
    return true;
}

TL_ALWAYS_INLINE bool store_to(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value, twin which) {
    bool is_refused;
    uint8_t *host = reach(h, vaddr, size_bytes - 1, true, which, &is_refused);
    if (TL_UNLIKELY(!host))
        return is_refused ? not_yet(h, vaddr) : store_slowly(tl_mem_of(h), vaddr, size_bytes, value);
    write_bytes(host, size_bytes, value);
    return true;
}

// The translation is a function of its own. The path of a page slot then saves one register.
// A refusal undoes the use of the page slot, which stays valid.
#define REACH(name, is_store, which)                                                            \
    static TL_NOINLINE uint8_t *name##_unseen(tl_hart *h, uint64_t vaddr, uint64_t last_byte) { \
        bool is_refused;                                                                        \
        return translate_and_reach(h, vaddr, last_byte, is_store, which, true, &is_refused);    \
    }                                                                                           \
    static uint8_t *name(tl_hart *h, uint64_t vaddr, uint64_t last_byte) {                      \
        const tl_page_slot *page = find_page(h, vaddr, last_byte, is_store);                    \
        if (TL_UNLIKELY(!page))                                                                 \
            return name##_unseen(h, vaddr, last_byte);                                          \
        tl_hart_mem *hm = tl_mem_of(h);                                                         \
        uint8_t *host = reach_page(hm, page, vaddr, is_store, which, true);                     \
        if (which != ALONE && TL_UNLIKELY(!host))                                               \
            hm->h->stamp -= 1;                                                                  \
        return host;                                                                            \
    }
REACH(reach_load, false, PLAIN)
REACH(reach_store, true, PLAIN)
REACH(reach_load_fixed, false, FIXED)
REACH(reach_store_fixed, true, FIXED)
REACH(reach_load_alone, false, ALONE)
REACH(reach_store_alone, true, ALONE)
#undef REACH

#define LOAD_AND_STORE(suffix, which)                                                                                            \
    static bool load##suffix(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) { return load_from(h, vaddr, size_bytes, which); } \
    static bool store##suffix(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {                                 \
        return store_to(h, vaddr, size_bytes, value, which);                                                                     \
    }
LOAD_AND_STORE(, PLAIN)
LOAD_AND_STORE(_fixed, FIXED)
LOAD_AND_STORE(_alone, ALONE)
#undef LOAD_AND_STORE

// Serves what look_up_in cannot.
static TL_NOINLINE bool look_up_slowly(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, bool is_store) {
    bool is_done;
    span s;
    piece p;
    if (TL_UNLIKELY((vaddr & (size_bytes - 1)) != 0))
        is_done = look_up_misaligned(hm, vaddr, size_bytes, is_store ? TL_USE_STORE : TL_USE_LOAD, &s);
    else
        is_done = translate_in_ram(hm, vaddr, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD, &p) && access_aligned(hm, &p, is_store);
    hm->contender.is_permitted = false;
    return is_done;
}

TL_ALWAYS_INLINE bool look_up_in(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store, twin which) {
    bool is_refused;
    if (TL_LIKELY(reach(h, vaddr, size_bytes - 1, is_store, which, &is_refused) != NULL))
        return true;
    return is_refused ? not_yet(h, vaddr) : look_up_slowly(tl_mem_of(h), vaddr, size_bytes, is_store);
}
#define LOOK_UP(suffix, which)                                                                                            \
    static bool look_up##suffix(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store) {                         \
        return is_store ? look_up_in(h, vaddr, size_bytes, true, which) : look_up_in(h, vaddr, size_bytes, false, which); \
    }
LOOK_UP(, PLAIN)
LOOK_UP(_fixed, FIXED)
LOOK_UP(_alone, ALONE)
#undef LOOK_UP

// ---- Stores in two steps.

// Line borders that the bytes cross.
static uint32_t n_borders(const tl_hart *h, uint64_t address, uint32_t size_bytes) {
    return ((address ^ (address + size_bytes - 1)) & h->line_mask) != 0;
}

static TL_NOINLINE bool look_up_unseen_page(tl_hart_mem *hm, uint64_t vaddr) {
    piece p;
    hm->sets_no_bits = true;
    const bool is_done = translate_in_ram(hm, vaddr, TL_ACCESS_STORE, &p);
    hm->sets_no_bits = hm->contender.is_permitted = false;
    if (is_done)
        (void)tl_page_slot_show(hm, vaddr, p.at.paddr, p.at.entry);
    return is_done;
}

static bool look_up_store_page(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (TL_UNLIKELY(!find_page(h, vaddr, 0, true) && !look_up_unseen_page(tl_mem_of(h), vaddr)))
        return false;
    h->tally[TL_S_DTLB_ACCESS] += 1 + n_borders(h, vaddr, size_bytes);
    return true;
}

static TL_NOINLINE void look_up_misaligned_lines(tl_hart_mem *hm, uint64_t paddr, uint32_t size_bytes) {
    tl_hart *h = hm->h;
    const uint32_t n_crossed = n_borders(h, paddr, size_bytes);
    count_misaligned(hm, TL_USE_STORE);
    h->tally[TL_S_HART_LINE_CROSS] += n_crossed;
    h->tally[TL_S_L1D_STORE] += n_crossed;
    (void)access_cache(hm, paddr, TL_USE_STORE);
    if (n_crossed > 0)
        (void)access_cache(hm, paddr + size_bytes - 1, TL_USE_STORE);
}

static void look_up_store_lines(tl_hart *h, uint64_t paddr, uint32_t size_bytes) {
    tl_hart_mem *hm = tl_mem_of(h);
    h->tally[TL_S_L1D_STORE] += 1;
    hm->contender.is_permitted = true; // it has happened, so it waits for nobody
    if (TL_UNLIKELY((paddr & (size_bytes - 1)) != 0))
        look_up_misaligned_lines(hm, paddr, size_bytes);
    else
        (void)access_cache(hm, paddr, TL_USE_STORE);
    hm->contender.is_permitted = false;
}

static uint64_t amo_result(tl_amo amo, uint64_t old, uint64_t operand, uint32_t size_bytes) {
    unsigned width = size_bytes * 8;
    int64_t a = tl_sext(old, width), b = tl_sext(operand, width);
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b; // sign extension keeps unsigned order as well
    switch (amo) {
    case TL_AMO_SWAP: return operand;
    case TL_AMO_ADD: return old + operand;
    case TL_AMO_XOR: return old ^ operand;
    case TL_AMO_AND: return old & operand;
    case TL_AMO_OR: return old | operand;
    case TL_AMO_MIN: return a < b ? old : operand;
    case TL_AMO_MAX: return a > b ? old : operand;
    case TL_AMO_MINU: return ua < ub ? old : operand;
    case TL_AMO_MAXU: return ua > ub ? old : operand;
    }
    return old;
}

static bool do_amo(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo amo, uint64_t operand) {
    uint8_t *host = tl_write_hit(h, vaddr, size_bytes);
    if (!host) {
        if (vaddr & (size_bytes - 1))
            return tl_trap_fault(h, TL_FAULT_MISALIGNED, TL_ACCESS_STORE, vaddr);
        host = look_up_atomic(tl_mem_of(h), vaddr, TL_USE_AMO);
        tl_mem_of(h)->contender.is_permitted = false;
        if (!host)
            return false;
    }
    uint64_t old = read_aligned(host, size_bytes);
    write_bytes(host, size_bytes, amo_result(amo, old, operand, size_bytes));
    h->mem_value = old;
    return true;
}

static uint64_t reserved_line(const tl_hart_mem *hm, const uint8_t *host) {
    return (TL_RAM_BASE_PADDR + (uint64_t)(host - hm->memory->ram)) & hm->h->line_mask;
}

static bool load_reserved(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (vaddr & (size_bytes - 1))
        return tl_trap_fault(h, TL_FAULT_MISALIGNED, TL_ACCESS_LOAD, vaddr);
    tl_hart_mem *hm = tl_mem_of(h);
    const uint8_t *host = tl_read_hit(h, vaddr, size_bytes);
    if (!host) {
        host = look_up_atomic(hm, vaddr, TL_USE_LOAD);
        hm->contender.is_permitted = false;
        if (!host)
            return false;
    }
    h->reservation_paddr = reserved_line(hm, host);
    hm->memory->reserving |= 1u << h->id;
    h->mem_value = read_aligned(host, size_bytes);
    return true;
}

// Ends the reservation, and says whether it was of this line.
static bool spend_reservation(tl_hart_mem *hm, uint64_t line) {
    tl_hart *h = hm->h;
    const bool is_reserved = h->reservation_paddr == line;
    h->reservation_paddr = TL_NO_LINE;
    hm->memory->reserving &= ~(1u << h->id);
    h->mem_value = is_reserved ? 0 : 1;
    h->tally[is_reserved ? TL_S_HART_SC_SUCCESS : TL_S_HART_SC_FAIL] += 1;
    h->tally[TL_S_L1D_STORE] += is_reserved;
    return is_reserved;
}

// The reserved line has a data slot for the store, so it is this hart's own and nobody contests it.
static bool store_reserved_hit(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    tl_hart *h = hm->h;
    const tl_data_slot *slot = tl_data_slot_of(h, vaddr);
    const uint8_t *host = (const uint8_t *)(uintptr_t)(vaddr + slot->host_minus_vaddr);
    if ((vaddr & h->line_mask) != slot->write_tag || reserved_line(hm, host) != h->reservation_paddr)
        return false;
    (void)spend_reservation(hm, h->reservation_paddr);
    write_bytes(tl_write_hit(h, vaddr, size_bytes), size_bytes, value);
    return true;
}

static bool store_if_reserved(tl_hart_mem *hm, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    tl_hart *h = hm->h;
    piece p;
    if (!translate_in_ram(hm, vaddr, TL_ACCESS_STORE, &p))
        return false;
    const uint64_t line = p.at.paddr & h->line_mask;
    if (h->reservation_paddr == line && tl_l1d_would_refuse(hm, line, true))
        return not_yet(h, vaddr);
    if (!spend_reservation(hm, line))
        return true;
    hm->contender.is_permitted = true;
    (void)access_line(hm, &p, TL_USE_STORE);
    write_bytes(tl_host_of(hm->memory, p.at.paddr), size_bytes, value);
    return true;
}

static bool store_conditional(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    if (vaddr & (size_bytes - 1))
        return tl_trap_fault(h, TL_FAULT_MISALIGNED, TL_ACCESS_STORE, vaddr);
    tl_hart_mem *hm = tl_mem_of(h);
    if (store_reserved_hit(hm, vaddr, size_bytes, value))
        return true;
    bool is_done = store_if_reserved(hm, vaddr, size_bytes, value);
    hm->contender.is_permitted = false;
    return is_done;
}

static void drop_code(tl_hart *h) {
    tl_hart_mem *hm = tl_mem_of(h);
    uint32_t n_ways = tl_cache_n_ways(&hm->l1i.cache);
    for (uint32_t way = 0; way < n_ways; way++)
        if (hm->l1i.lines[way].state != TL_LINE_I)
            tl_l1i_drop(hm, way);
    h->code_generation += 1;
}

static void flush_translation(tl_hart *h, uint64_t vaddr, bool is_all) { tl_tlbs_flush(tl_mem_of(h), vaddr, is_all); }

static void broadcast_drop_code(tl_hart *h) {
    tl_memory *memory = tl_mem_of(h)->memory;
    for (uint32_t i = 0; i < memory->config.n_harts; i++)
        drop_code(memory->harts[i].h);
}

static void broadcast_flush_translation(tl_hart *h, uint64_t vaddr, bool is_all) {
    tl_memory *memory = tl_mem_of(h)->memory;
    for (uint32_t i = 0; i < memory->config.n_harts; i++)
        tl_tlbs_flush(&memory->harts[i], vaddr, is_all);
}

// The user-mode personality has address spaces without numbers.
static void context_changed(tl_hart *h) {
    tl_hart_mem *hm = tl_mem_of(h);
    if (TL_UNLIKELY(hm->has_tags) && h->is_privileged) {
        tl_tlbs_select(hm);
        return;
    }
    tl_tlbs_flush(hm, 0, true);
    tl_slots_hide_view(hm, TL_VIEW_U); // untranslated slots, too
    tl_slots_hide_view(hm, TL_VIEW_S);
    if (h->regime.is_paged[TL_VIEW_M])
        tl_slots_hide_view(hm, TL_VIEW_M);
}

static void drop_translations(tl_hart *h, const tl_tlb_drop_request *request) {
    tl_memory *memory = tl_mem_of(h)->memory;
    if (!request->is_broadcast) {
        tl_tlbs_drop(tl_mem_of(h), request);
        return;
    }
    for (uint32_t i = 0; i < memory->config.n_harts; i++)
        tl_tlbs_drop(&memory->harts[i], request);
}

static bool line_at(const tl_hart *h, bool is_fetch, uint32_t way, tl_line_view *ret_line) {
    const tl_hart_mem *hm = h->mem;
    const tl_l1 *l1 = is_fetch ? &hm->l1i : &hm->l1d;
    if (way >= tl_cache_n_ways(&l1->cache))
        return false;
    const uint8_t state = l1->lines[way].state;
    const bool is_valid = l1->cache.tags[way] != TL_NO_TAG;
    *ret_line = (tl_line_view){.paddr = is_valid ? tl_cache_line(&l1->cache, way) : 0, .state = is_valid ? tl_line_state_name(state) : 'I'};
    return true;
}

static void maintain_line(tl_hart *h, uint64_t paddr, tl_maintenance what) {
    tl_hart_mem *hm = tl_mem_of(h);
    if (tl_is_ram(hm->memory, paddr))
        tl_l2_maintain(&hm->memory->l2, &hm->l1d.client.agent, paddr & h->line_mask, what, h->now);
}

static void maintain_way(tl_hart *h, uint32_t level, uint32_t set, uint32_t way, tl_maintenance what) {
    tl_hart_mem *hm = tl_mem_of(h);
    const tl_cache *cache = &hm->l1d.cache;
    if (level == 2)
        tl_l2_maintain_way(&hm->memory->l2, &hm->l1d.client.agent, set, way, what, h->now);
    if (level != 1 || way >= cache->ways)
        return;
    const uint32_t index = (set & cache->set_mask) * cache->ways + way;
    if (what == TL_CLEAN_DROP)
        tl_l1d_evict(hm, index);
    else if (hm->l1d.lines[index].state >= TL_LINE_M)
        tl_l2_clean_client(&hm->l1d.client, tl_cache_line(cache, index), h->now);
}

static void drop_code_line(tl_hart *h, uint64_t paddr) {
    tl_memory *memory = tl_mem_of(h)->memory;
    for (uint32_t i = 0; i < memory->config.n_harts; i++) {
        tl_hart_mem *hm = &memory->harts[i];
        const uint32_t way = tl_cache_find(&hm->l1i.cache, paddr & h->line_mask);
        if (tl_is_ram(memory, paddr) && way != TL_NO_WAY)
            tl_l1i_drop(hm, way);
        hm->h->code_generation += 1;
    }
}

static bool page_at(const tl_hart *h, tl_tlb_kind kind, uint32_t entry, tl_page *ret_page) {
    const tl_hart_mem *hm = h->mem;
    const tl_tlb *tlb = kind == TL_TLB_FETCH ? &hm->itlb.tlb : kind == TL_TLB_DATA ? &hm->dtlb.tlb : &hm->l2tlb;
    if (entry >= tlb->entries)
        return false;
    *ret_page = tlb->pages[entry];
    return true;
}

static bool table_at(const tl_hart *h, uint32_t entry, tl_walk_table *ret_table) {
    const tl_walk_cache *cache = &((const tl_hart_mem *)h->mem)->walk_cache;
    if (entry >= cache->entries)
        return false;
    *ret_table = cache->tables[entry];
    return true;
}

static void rights_changed(tl_hart *h, const tl_regime *old) { tl_slots_rights_changed(tl_mem_of(h), old); }

static void protection_changed(tl_hart *h) {
    tl_hart_mem *hm = tl_mem_of(h);
    tl_protection_forget(hm);
    for (uint32_t view = 0; view < TL_N_VIEWS; view++)
        tl_slots_hide_view(hm, view);
}

#define REST                                                                                                                          \
    .fetch_hits = tl_fetch_hits, .amo = do_amo, .load_reserved = load_reserved, .store_conditional = store_conditional,               \
    .drop_code = drop_code, .flush_translation = flush_translation, .broadcast_drop_code = broadcast_drop_code,                       \
    .broadcast_flush_translation = broadcast_flush_translation, .context_changed = context_changed, .rights_changed = rights_changed, \
    .protection_changed = protection_changed, .drop_translations = drop_translations, .line_at = line_at, .page_at = page_at,         \
    .look_up_store_page = look_up_store_page, .look_up_store_lines = look_up_store_lines, .table_at = table_at,                       \
    .maintain_line = maintain_line, .maintain_way = maintain_way, .drop_code_line = drop_code_line

#define DATA(suffix)                                                                                            \
    .load = load##suffix, .store = store##suffix, .look_up = look_up##suffix, .reach_load = reach_load##suffix, \
    .reach_store = reach_store##suffix

const tl_mem_port tl_memory_port = {DATA(), .fetch = tl_fetch, REST};
const tl_mem_port tl_memory_port_fixed_data = {DATA(_fixed), .fetch = tl_fetch, REST};
const tl_mem_port tl_memory_port_fixed = {DATA(_fixed), .fetch = tl_fetch_fixed, REST};
const tl_mem_port tl_memory_port_alone = {DATA(_alone), .fetch = tl_fetch_alone, REST};
