// SPDX-License-Identifier: MIT
// The memory system against reference_memory.h, access by access. After each one every tally of
// every unit, every clock, every result and trap are equal. At intervals so are the contents of all
// caches, TLBs and slots. Streams mix strides, hot sets, random addresses, line and page crossings,
// atomics, fetches. They have fences, flushes, changing page tables and address spaces, on many
// machines. Some of them run system software. It has three privilege modes, SUM, MXR and MPRV, Sv39
// and Sv48, physical memory protection, a device behind the bus and one that masters it. Slots are
// checked against what the reference would answer now, those of the other modes too.
//
//   TALLY_TEST_ACCESSES=N   accesses per machine (default below)
//   TALLY_TEST_SEED=N       another stream
#include <inttypes.h>
#include <stdio.h>

#include "isa/rv/hart.h"
#include "mem/test_rig.h"

#include "reference_memory.h"

enum { DEFAULT_ACCESSES = 60000, CHECK_CONTENTS_EVERY = 997, CHECK_SLOTS_EVERY = 41 };

// ---- random numbers ----

typedef struct rng {
    uint64_t state;
} rng;

static uint64_t next(rng *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t below(rng *r, uint32_t n) { return (uint32_t)((next(r) >> 32) * n >> 32); }
static bool one_in(rng *r, uint32_t n) { return below(r, n) == 0; }

// ---- the address space: what stands where ----
// RAM has tables from 0, the test's own notes from 3 MiB, data pages from 4 MiB, all shuffled. Two
// spaces share data at different addresses.

enum { RAM_BYTES = 16 << 20, N_SPACES = 2, N_PAGES = 1024, DATA_OFFSET = 4 << 20, TABLES_KEPT = 3 << 20 };
static const uint64_t SMALL = 0x10000, LARGE = UINT64_C(3) << 21, ALIAS = UINT64_C(64) << 20, GIANT = UINT64_C(4) << 30,
                      ODD = UINT64_C(8) << 30, WILD = UINT64_C(12) << 30, KERNEL = UINT64_C(0xffffffffc0000000), HIGH = UINT64_C(1) << 40,
                      DEVICE = UINT64_C(14) << 30;

typedef struct world {
    tl_rig rig;
    ref_memory *ref;
    rng r;
    tl_rig_tables spaces[N_SPACES];
    // Guests may write into tables, so the addresses of entries are kept here.
    uint64_t pte_paddrs[N_SPACES][N_PAGES], large_pte_paddrs[N_SPACES];
    uint64_t stride[TL_MAX_HARTS], step[TL_MAX_HARTS], hot[TL_MAX_HARTS][8];
    const char *machine;
    uint64_t n_accesses;
    char what[160];        // the access under test
    bool is_crossing_page; // by the last access
    bool is_system;        // the machine runs system software
    ref_device device;
    tl_bus bus;
} world;

static bool bus_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    (void)agent;
    return ref_device_read(ctx, paddr, size_bytes, ret_value);
}

static bool bus_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    (void)agent;
    return ref_device_write(ctx, paddr, size_bytes, value);
}

static void build_space(world *w, uint32_t space) {
    tl_rig_tables *t = &w->spaces[space];
    *t = tl_rig_tables_at(w->rig.ram, tl_rig_paddr(space * (1 << 20)));
    t->n_levels = w->is_system && space == 1 ? 4 : 3;
    uint64_t data = tl_rig_paddr(DATA_OFFSET);
    for (uint64_t page = 0; page < N_PAGES; page++) {
        uint64_t paddr = data + (page * 337 + space * 5) % N_PAGES * 4096, vaddr = SMALL + page * 4096;
        static const uint8_t kinds[] = {0xdf, 0xd7, 0x17, 0x57,
                                        // The rights: all; rw; rw without A, D; without D; r; rx
                                        // without A; x; r without A.
                                        0xd3, 0x1b, 0x19, 0x13};
        uint8_t kind = kinds[(page * 7 + page / 64) % 8];
        tl_rig_map(t, vaddr, paddr, 0, w->is_system && page % 3 == 1 ? kind & 0xefu : kind);
        w->pte_paddrs[space][page] = tl_rig_pte_paddr(t, vaddr, 0);
        if (page % 4 == 0)
            tl_rig_map(t, ALIAS + page * 4096, paddr, 0, TL_RIG_RW | TL_PTE_X);
    }
    w->large_pte_paddrs[space] = tl_rig_pte_paddr(t, SMALL, 1);
    tl_rig_map(t, LARGE + (UINT64_C(8) << 21), tl_rig_paddr(UINT64_C(2) << 21), 1, space == 0 ? 0xdf : 0x1f);
    tl_rig_map(t, GIANT, TL_RAM_BASE_PADDR, 2, 0x1f);           // most of it is beyond RAM
    tl_rig_map(t, ODD, TL_RAM_BASE_PADDR + 4096, 1, 0xdf);      // misaligned
    tl_rig_map(t, ODD + (2 << 20), TL_RAM_BASE_PADDR, 1, 0xd5); // write without read
    tl_rig_map(t, ODD + (4 << 20), TL_RAM_BASE_PADDR, 1, 0xcf); // not a user page
    tl_rig_map(t, ODD + (6 << 20), 0, 1, TL_PTE_V);             // the table is outside RAM
    tl_rig_map(t, ODD + (8 << 20), TL_RAM_BASE_PADDR, 1, 0x41); // a pointer with A
    tl_rig_map(t, ODD + (10 << 20), data, 0, TL_PTE_V);         // a pointer where a leaf must stand
    tl_rig_map(t, ODD + (12 << 20), 0x1000, 0, 0xdf);           // a page outside RAM
    tl_rig_write_u64(w->rig.ram, tl_rig_pte_paddr(t, ODD + (14 << 20), 1), tl_rig_pte(TL_RAM_BASE_PADDR, 0xdf) | UINT64_C(1) << 62);
    // A canonical address of the upper half.
    tl_rig_map(t, KERNEL, data, 0, w->is_system ? 0xcf : 0xdf);
    if (!w->is_system)
        return;
    tl_rig_map(t, DEVICE, REF_DEVICE_PADDR, 0, 0xc7);
    tl_rig_map(t, DEVICE + 4096, REF_DEVICE_PADDR, 0, 0xd7);
    tl_rig_map(t, DEVICE + 8192, data, 0, 0xc7); // RAM after a device
    if (t->n_levels == 4) {
        tl_rig_map(t, HIGH, data, 0, 0xdf);
        tl_rig_map(t, HIGH + (UINT64_C(1) << 39), 0, 3, 0xdf); // most of it is nowhere
    }
}

static uint64_t place_of_device(rng *r) { return one_in(r, 4) ? REF_DEVICE_COUNTER : below(r, REF_DEVICE_BYTES + 512); }

static uint64_t some_virtual_address(world *w, uint32_t k) {
    rng *r = &w->r;
    uint64_t data_bytes = N_PAGES * 4096;
    switch (below(r, 16)) {
    case 0:
    case 1:
    case 2: // a stride
        w->step[k] = one_in(r, 200) ? (uint64_t)1 << below(r, 13) : w->step[k] + (w->step[k] == 0);
        w->stride[k] = (w->stride[k] + w->step[k]) % data_bytes;
        return SMALL + w->stride[k];
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: // a hot place, shared by harts
        if (one_in(r, 50))
            w->hot[k][below(r, 8)] = one_in(r, 3) ? w->hot[0][below(r, 8)] : SMALL + below(r, N_PAGES * 4096);
        return w->hot[k][below(r, 8)] + below(r, 64);
    case 8:
    case 9: return SMALL + below(r, 16 * 4096); // a few pages
    case 10: return SMALL + below(r, N_PAGES * 4096);
    // The end of a page.
    case 11: return SMALL + (below(r, N_PAGES) + 1) * UINT64_C(4096) - below(r, 12);
    case 12:
        // The alias of a hot place.
        return ALIAS + (one_in(r, 4) ? below(r, N_PAGES * 4096 + 8192) : w->hot[k][below(r, 8)] - SMALL);
    case 13: return LARGE + (UINT64_C(8) << 21) + below(r, 2 << 20);
    case 14: return GIANT + below(r, RAM_BYTES + 4096);
    default:
        switch (below(r, w->is_system ? 9 : 6)) {
        case 6: return DEVICE + (uint64_t)below(r, 3) * 4096 - below(r, 4);
        case 7: return DEVICE + (uint64_t)below(r, 2) * 4096 + place_of_device(r);
        case 8: return HIGH + below(r, 4096) + (one_in(r, 2) ? UINT64_C(1) << 39 : 0) + (one_in(r, 2) ? TL_RAM_BASE_PADDR : 0);
        case 0: return next(r); // anywhere
        case 1: return WILD + below(r, 4096);
        case 2: return KERNEL + below(r, 4096);
        case 3: return TL_RAM_BASE_PADDR + DATA_OFFSET + below(r, 4096); // good when untranslated
        default: return ODD + ((uint64_t)below(r, 8) << 21) + below(r, 4096);
        }
    }
}

static uint64_t some_address(world *w, uint32_t k) {
    uint64_t vaddr = some_virtual_address(w, k);
    const ref_hart *h = &w->ref->harts[k];
    if (!w->is_system || (h->satp >> 60 != 0 && ref_rights(h, REF_READS) != 3) || one_in(&w->r, 20))
        return vaddr;
    if (one_in(&w->r, 20))
        return REF_DEVICE_PADDR + place_of_device(&w->r);
    return tl_rig_paddr(DATA_OFFSET + vaddr % (RAM_BYTES - DATA_OFFSET)); // untranslated
}

// ---- comparison ----

static void disagree(world *w, const char *what, uint64_t ours, uint64_t theirs) {
    fail_msg("%s, access %" PRIu64 " (%s): %s is %" PRIu64 " (0x%" PRIx64 "), the reference says %" PRIu64 " (0x%" PRIx64 ")", w->machine,
             w->n_accesses, w->what, what, ours, ours, theirs, theirs);
}

static void compare_tallies(world *w, const char *unit, const tl_unit_type *type, const uint64_t *ours, const uint64_t *theirs) {
    if (memcmp(ours, theirs, type->n_signals * sizeof *ours) == 0)
        return;
    for (uint32_t i = 0; i < type->n_signals; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s.%s", unit, type->signals[i].name);
        if (ours[i] != theirs[i])
            disagree(w, name, ours[i], theirs[i]);
    }
}

static void compare_numbers(world *w) {
    const tl_config *config = &w->rig.config;
    for (uint32_t k = 0; k < config->n_harts; k++) {
        const tl_hart *h = w->rig.harts[k];
        const ref_hart *ref = &w->ref->harts[k];
        if (h->now != ref->now)
            disagree(w, "now", h->now, ref->now);
        if (h->reservation_paddr != ref->reservation)
            disagree(w, "the reservation", h->reservation_paddr, ref->reservation);
        if (memcmp(h->tally, ref->tally, sizeof ref->tally) == 0)
            continue;
        for (uint32_t u = 0; u < TL_N_HART_UNITS; u++) {
            const tl_hart_unit_row *row = &tl_hart_units[u];
            char unit[32];
            snprintf(unit, sizeof unit, row->path_format, k);
            compare_tallies(w, unit, &row->type, h->tally + row->first_cell, ref->tally + row->first_cell);
        }
    }
    uint32_t i = 0;
    for (uint32_t s = 0; s < config->l2_slices; s++)
        compare_tallies(w, "l2", &tl_mem_unit_types[TL_MEM_UNIT_L2], w->rig.shared_tally[i++], w->ref->l2_tally[s]);
    compare_tallies(w, "noc", &tl_mem_unit_types[TL_MEM_UNIT_NOC], w->rig.shared_tally[i++], w->ref->noc);
    for (uint32_t c = 0; c < config->mem_channels; c++)
        compare_tallies(w, "mem", &tl_mem_unit_types[TL_MEM_UNIT_MEM], w->rig.shared_tally[i++], w->ref->mem_tally[c]);
    compare_tallies(w, "bus", &tl_mem_unit_types[TL_MEM_UNIT_BUS], w->rig.shared_tally[i++], w->ref->bus);
    compare_tallies(w, "dma", &tl_mem_unit_types[TL_MEM_UNIT_DMA], w->rig.shared_tally[i++], w->ref->dma);
    for (uint32_t k = 0; k < config->n_harts; k++)
        compare_tallies(w, "link", &tl_mem_unit_types[TL_MEM_UNIT_LINK], w->rig.shared_tally[i++], w->ref->links[k]);
}

static void compare_cache(world *w, const char *name, const tl_cache *cache, const ref_table *ref) {
    for (uint32_t s = 0; s < ref->n_sets; s++)
        for (uint32_t way = 0; way < ref->n_ways; way++) {
            const ref_way *theirs = &ref->sets[s].ways[way];
            uint32_t index = s * ref->n_ways + way;
            uint64_t ours = cache->tags[index] == TL_NO_TAG ? TL_NO_LINE : tl_cache_line(cache, index),
                     expected = theirs->is_valid ? theirs->line : TL_NO_LINE;
            if (ours != expected)
                disagree(w, name, ours, expected);
        }
}

static void compare_tlb(world *w, const char *name, const tl_tlb *tlb, const ref_table *ref) {
    for (uint32_t s = 0; s < ref->n_sets && ref->sets; s++)
        for (uint32_t way = 0; way < ref->n_ways; way++) {
            const ref_way *theirs = &ref->sets[s].ways[way];
            const tl_page *ours = &tlb->pages[s * ref->n_ways + way];
            if (tl_tlb_is_valid(tlb, s * ref->n_ways + way) != theirs->is_valid)
                disagree(w, name, ours->vaddr, theirs->page.vaddr);
            if (theirs->is_valid &&
                (ours->vaddr != theirs->page.vaddr || ours->paddr != theirs->page.paddr || ours->flags != theirs->page.flags))
                disagree(w, name, ours->vaddr, theirs->page.vaddr);
        }
}

static const uint32_t view_privs[TL_N_VIEWS] = {0, 1, 3}; // of the views

// Place to which a slot of that mode may lead without asking the TLB, by the reference. false: not
// for this mode, or not without asking.
static bool is_reachable(world *w, const ref_hart *now, ref_table *tlb, uint32_t priv, ref_access access, uint64_t vaddr,
                         uint64_t *ret_paddr) {
    // Looks at the state with other rights.
    ref_hart mode = {.priv = priv, .status = now->status, .satp = now->satp, .is_privileged = now->is_privileged};
    memcpy(mode.pmpcfg, now->pmpcfg, sizeof mode.pmpcfg);
    memcpy(mode.pmpaddr, now->pmpaddr, sizeof mode.pmpaddr);
    *ret_paddr = vaddr;
    if (ref_rights(&mode, access) != priv)
        return false;
    if (priv != 3 && mode.satp >> 60 != 0) {
        const ref_way *page = ref_find_page(tlb, vaddr);
        if (!page || !ref_permits(page->page.flags, access, priv, mode.status) || ref_lacks_dirty(page->page.flags, access))
            return false;
        *ret_paddr = vaddr - page->page.vaddr + page->page.paddr;
    }
    return ref_arrive(w->ref, &mode, access, *ret_paddr, (uint32_t)ref_line_bytes(w->ref)) == REF_OK;
}

// Place of the line of a slot of that mode; NULL: nowhere, or not without asking.
static const ref_way *promised(world *w, const ref_hart *now, ref_table *tlb, ref_table *l1, uint32_t priv, ref_access access,
                               uint64_t vaddr, uint64_t *ret_paddr) {
    return is_reachable(w, now, tlb, priv, access, vaddr, ret_paddr) ? ref_in_l1(w->ref, l1, *ret_paddr) : NULL;
}

// Page slots, too, promise only what the reference has; the first and the last line of each are
// checked.
static void check_page_slots(world *w, uint32_t k) {
    tl_hart_mem *hm = tl_mem_of(w->rig.harts[k]);
    ref_hart *ref = &w->ref->harts[k];
    for (uint32_t s = 0; s < TL_N_VIEWS * TL_PAGE_SLOTS; s++) {
        const tl_page_slot *slot = &hm->page_slots[s];
        uint32_t priv = view_privs[s / TL_PAGE_SLOTS];
        if (slot->read_page == TL_NO_LINE) {
            assert_int_equal(slot->write_page, TL_NO_LINE);
            continue;
        }
        if ((slot->read_page >> 12) % TL_PAGE_SLOTS != s % TL_PAGE_SLOTS || (slot->read_page & 4095) != 0)
            disagree(w, "a page slot's page", slot->read_page, 0);
        if (slot->write_page != TL_NO_LINE && slot->write_page != slot->read_page)
            disagree(w, "a page slot's page for stores", slot->write_page, slot->read_page);
        for (uint64_t vaddr = slot->read_page, i = 0; i < 2; i++, vaddr += 4096 - ref_line_bytes(w->ref)) {
            uint64_t paddr;
            if (!is_reachable(w, ref, &ref->dtlb, priv, REF_READS, vaddr, &paddr) || paddr - vaddr != slot->paddr_minus_vaddr)
                disagree(w, "a page slot's promise", vaddr, paddr);
            if (slot->write_page != TL_NO_LINE && !is_reachable(w, ref, &ref->dtlb, priv, REF_WRITES, vaddr, &paddr))
                disagree(w, "a page slot's promise to stores", vaddr, paddr);
        }
        bool is_translated = slot->entry != TL_NO_ENTRY;
        if (slot->page_stamp != (is_translated ? hm->dtlb.first_stamp + slot->entry : 0) ||
            (is_translated && !tl_tlb_matches(&hm->dtlb.tlb, slot->entry, slot->read_page)))
            disagree(w, "a page slot's entry", slot->entry, slot->page_stamp);
    }
}

// A slot may promise only what the reference would answer with a hit.
static void check_slots(world *w, uint32_t k) {
    tl_hart *h = w->rig.harts[k];
    ref_hart *ref = &w->ref->harts[k];
    const tl_l1 *l1d = &tl_mem_of(h)->l1d, *l1i = &tl_mem_of(h)->l1i;
    for (uint32_t s = 0; s < TL_N_VIEWS * TL_DATA_SLOTS; s++) {
        const tl_data_slot *slot = &h->data_slot[s];
        uint32_t priv = view_privs[TL_N_VIEWS - 1 - s / TL_DATA_SLOTS];
        uint64_t paddr;
        if (slot->read_tag == TL_NO_LINE) {
            assert_int_equal(slot->write_tag, TL_NO_LINE);
            continue;
        }
        const ref_way *line = promised(w, ref, &ref->dtlb, &ref->l1d, priv, REF_READS, slot->read_tag, &paddr);
        if (!line || (slot->read_tag >> h->line_log2) % TL_DATA_SLOTS != s % TL_DATA_SLOTS)
            disagree(w, "a data slot's line", slot->read_tag, 0);
        if (slot->write_tag != TL_NO_LINE) {
            line = promised(w, ref, &ref->dtlb, &ref->l1d, priv, REF_WRITES, slot->read_tag, &paddr);
            if (!line || line->state != REF_M || slot->write_tag != slot->read_tag)
                disagree(w, "a data slot's write tag", slot->write_tag, TL_NO_LINE);
        }
        uint32_t way = (uint32_t)(line - ref_cache_set(w->ref, &ref->l1d, paddr, 1)->ways) +
                       (uint32_t)(ref_cache_set(w->ref, &ref->l1d, paddr, 1) - ref->l1d.sets) * ref->l1d.n_ways;
        if (slot->line_stamp != l1d->first_stamp + way || l1d->lines[way].slot != s)
            disagree(w, "a data slot's way", slot->line_stamp - l1d->first_stamp, way);
        if (slot->host_minus_vaddr + slot->read_tag != (uintptr_t)(w->rig.ram + (paddr - TL_RAM_BASE_PADDR)))
            disagree(w, "a data slot's host address", slot->host_minus_vaddr, 0);
    }
    for (uint32_t s = 0; s < TL_N_VIEWS * TL_FETCH_SLOTS; s++) {
        const tl_fetch_slot *slot = &h->fetch_slot[s];
        uint64_t paddr;
        if (slot->key == TL_NO_KEY)
            continue;
        uint64_t vline = tl_fetch_slot_vpage(slot) | ((uint64_t)s << h->line_log2 & 0xfff);
        const ref_way *line = promised(w, ref, &ref->itlb, &ref->l1i, view_privs[s / TL_FETCH_SLOTS], REF_EXECUTES, vline, &paddr);
        if (!line || paddr != tl_fetch_slot_paddr(slot, vline) || (vline >> h->line_log2) % TL_FETCH_SLOTS != s % TL_FETCH_SLOTS)
            disagree(w, "a fetch slot's line", tl_fetch_slot_paddr(slot, vline), paddr);
        uint32_t way = slot->line_stamp - l1i->first_stamp;
        if (way >= tl_cache_n_ways(&l1i->cache) || l1i->lines[way].slot != s || tl_cache_line(&l1i->cache, way) != paddr)
            disagree(w, "a fetch slot's way", way, paddr);
    }
}

// The directory is exact: first-level caches name the entries of their lines, and no entry outside
// the second level is without a sharer.
static void check_directory(world *w) {
    const tl_memory *m = w->rig.memory;
    for (uint32_t k = 0; k < m->n_harts; k++) {
        const tl_l1 *l1i = &m->harts[k].l1i;
        for (uint32_t way = 0; way < tl_cache_n_ways(&l1i->cache); way++) {
            if (l1i->cache.tags[way] == TL_NO_TAG)
                continue;
            const uint32_t found = tl_l2_find(&w->rig.memory->l2, tl_cache_line(&l1i->cache, way));
            if (l1i->lines[way].l2_way != found || !(m->l2.lines[found].sharers & l1i->client.bit))
                disagree(w, "the directory entry of an L1I line", l1i->lines[way].l2_way, found);
        }
    }
    const tl_snoop_filter *filter = m->l2.filter;
    for (uint32_t bucket = 0; filter && bucket <= filter->mask; bucket++)
        for (uint32_t at = filter->heads[bucket]; at != 0; at = filter->nexts[at - 1])
            if (m->l2.lines[filter->first + at - 1].sharers == 0)
                disagree(w, "an entry that nobody shares, of line", filter->lines[at - 1], 0);
}

static void compare_contents(world *w) {
    const tl_memory *m = w->rig.memory;
    check_directory(w);
    for (uint32_t k = 0; k < m->n_harts; k++) {
        const tl_hart_mem *hm = &m->harts[k];
        const ref_hart *ref = &w->ref->harts[k];
        compare_cache(w, "an L1I tag", &hm->l1i.cache, &ref->l1i);
        compare_cache(w, "an L1D tag", &hm->l1d.cache, &ref->l1d);
        compare_tlb(w, "an ITLB entry", &hm->itlb.tlb, &ref->itlb);
        compare_tlb(w, "a DTLB entry", &hm->dtlb.tlb, &ref->dtlb);
        compare_tlb(w, "an L2 TLB entry", &hm->l2tlb, &ref->l2tlb);
        for (uint32_t s = 0; s < ref->l1d.n_sets; s++)
            for (uint32_t way = 0; way < ref->l1d.n_ways; way++) {
                const ref_way *theirs = &ref->l1d.sets[s].ways[way];
                if (theirs->is_valid && tl_memory_l1d_state(m, k, theirs->line) != "ISEMO"[theirs->state])
                    disagree(w, "an L1D state", (uint64_t)tl_memory_l1d_state(m, k, theirs->line), (uint64_t) "ISEMO"[theirs->state]);
                const uint32_t index = s * ref->l1d.n_ways + way;
                if (theirs->is_valid && hm->l1d.lines[index].l2_way != tl_l2_find(&w->rig.memory->l2, theirs->line))
                    disagree(w, "the directory entry of an L1D line", hm->l1d.lines[index].l2_way, theirs->line);
            }
        check_slots(w, k);
        check_page_slots(w, k);
    }
    for (uint32_t s = 0; s < m->config.l2_slices; s++) {
        const tl_l2_slice *slice = &m->l2.slices[s];
        const ref_table *ref = &w->ref->l2[s];
        compare_cache(w, "an L2 tag", &slice->cache, ref);
        for (uint32_t way = 0; way < ref->n_sets * ref->n_ways; way++) {
            const ref_way *theirs = &ref->sets[way / ref->n_ways].ways[way % ref->n_ways];
            if (theirs->is_valid && m->l2.lines[slice->first_way + way].is_dirty != theirs->is_dirty)
                disagree(w, "an L2 line's dirty bit", theirs->line, theirs->is_dirty);
        }
    }
    if (memcmp(w->rig.ram, w->ref->ram, RAM_BYTES) != 0)
        disagree(w, "the number of equal RAMs", 1, 2);
    tl_error err;
    if (tl_memory_check_identities(m, &err) != TL_OK)
        fail_msg("%s, access %" PRIu64 ": %s", w->machine, w->n_accesses, err.text);
}

static void compare_outcome(world *w, uint32_t k, bool ours, bool theirs, bool has_result) {
    const tl_hart *h = w->rig.harts[k];
    const ref_hart *ref = &w->ref->harts[k];
    if (ours != theirs)
        disagree(w, "success", ours, theirs);
    if (!ours && (h->trap_cause != ref->cause || h->trap_value != ref->value))
        disagree(w, "the trap's value", h->trap_value, ref->value);
    if (ours && has_result && h->mem_value != ref->result)
        disagree(w, "the result", h->mem_value, ref->result);
}

// ---- the stream ----

static void access_something(world *w, uint32_t k) {
    tl_hart *h = w->rig.harts[k];
    rng *r = &w->r;
    uint64_t vaddr = some_address(w, k), value = next(r);
    uint32_t size = 1u << below(r, 4), kind = below(r, 100);
    if (!one_in(r, 12))
        vaddr &= ~(uint64_t)(size - 1);
    w->is_crossing_page = (vaddr & 4095) + size > 4096;
    snprintf(w->what, sizeof w->what, "hart %u, kind %u, %u bytes at 0x%" PRIx64, k, kind, size, vaddr);
    bool ours, theirs, has_result = true;
    if (kind < 45) {
        ours = tl_rig_load(h, vaddr, size);
        theirs = ref_data(w->ref, k, vaddr, size, REF_LOAD, 0);
    } else if (kind < 70) {
        ours = tl_rig_store(h, vaddr, size, value);
        theirs = ref_data(w->ref, k, vaddr, size, REF_STORE, value);
        has_result = false;
    } else if (kind < 90) {
        ours = tl_rig_fetch(h, vaddr & ~UINT64_C(1));
        theirs = ref_fetch(w->ref, k, vaddr & ~UINT64_C(1));
        has_result = false;
    } else if (kind < 94) {
        size = size < 4 ? 4 : size;
        vaddr = one_in(r, 20) ? vaddr : vaddr & ~(uint64_t)(size - 1);
        tl_amo amo = (tl_amo)below(r, TL_AMO_MAXU + 1);
        ours = h->port->amo(h, vaddr, size, amo, value);
        h->tally[TL_S_L1D_LOAD] += ours;
        h->tally[TL_S_L1D_STORE] += ours;
        h->tally[TL_S_DTLB_ACCESS] += ours;
        theirs = ref_amo(w->ref, k, vaddr, size, amo, value);
    } else {
        size = size < 4 ? 4 : size;
        vaddr = one_in(r, 20) ? vaddr : w->hot[0][below(r, 3)] & ~(uint64_t)(size - 1);
        if (kind < 97) {
            ours = h->port->load_reserved(h, vaddr, size);
            h->tally[TL_S_L1D_LOAD] += ours;
            theirs = ref_load_reserved(w->ref, k, vaddr, size);
        } else {
            ours = h->port->store_conditional(h, vaddr, size, value);
            theirs = ref_store_conditional(w->ref, k, vaddr, size, value);
        }
        h->tally[TL_S_DTLB_ACCESS] += ours;
    }
    compare_outcome(w, k, ours, theirs, has_result);
}

static void write_both(world *w, uint64_t paddr, uint64_t value) {
    tl_rig_write_u64(w->rig.ram, paddr, value);
    tl_rig_write_u64(w->ref->ram, paddr, value);
}

// ---- what system software does ----

static void set_status(world *w, uint32_t k, uint64_t status) {
    tl_rig_set_status(w->rig.harts[k], status);
    w->ref->harts[k].status = status;
}

static void set_pmp(world *w, uint32_t k, uint32_t entry, uint8_t cfg, uint64_t address) {
    tl_hart *h = w->rig.harts[k];
    tl_rv(h)->csr.pmpcfg[entry] = w->ref->harts[k].pmpcfg[entry] = cfg;
    tl_rv(h)->csr.pmpaddr[entry] = w->ref->harts[k].pmpaddr[entry] = address;
    tl_rv(h)->csr.pmp_generation += 1;
    h->port->protection_changed(h);
}

// Mostly small ranges among the data, now and then over the tables; behind them one that permits
// everything, or nothing.
static void change_pmp(world *w, uint32_t k) {
    rng *r = &w->r;
    static const uint8_t rights[] = {0, 1, 3, 4, 5, 7}; // write without read is reserved
    uint32_t entry = below(r, 16);
    if (entry == 15 || one_in(r, 4)) {
        for (uint32_t i = 0; i < 15; i++) // a fresh start
            set_pmp(w, k, i, 0, 0);
        set_pmp(w, k, 15, one_in(r, 8) ? 0 : 0x1f, (UINT64_C(1) << 54) - 1);
        return;
    }
    uint8_t cfg = (uint8_t)(rights[below(r, 6)] | (below(r, 3) == 0 ? 0x08 : 0x18) | (one_in(r, 3) ? 0x80 : 0));
    uint64_t first = one_in(r, 6) ? 0 : DATA_OFFSET, paddr = tl_rig_paddr(first + (uint64_t)below(r, N_PAGES) * 4096);
    uint64_t ones = (UINT64_C(1) << below(r, 16)) - 1; // any low bits: some do not count
    set_pmp(w, k, entry, cfg, (paddr >> 2 & ~ones) | ones >> 1);
}

static void master_the_bus(world *w, uint32_t k) {
    static const tl_agent device = {.kind = TL_AGENT_DEVICE};
    rng *r = &w->r;
    uint64_t offset = below(r, RAM_BYTES), bytes = below(r, one_in(r, 4) ? 4096 : 200), now = w->ref->harts[k].now;
    if (!one_in(r, 4)) // where harts work
        offset = DATA_OFFSET + (w->hot[k][below(r, 8)] - SMALL) % (N_PAGES * 4096);
    if (one_in(r, 4) && w->ref->harts[k].reservation != TL_NO_LINE)
        offset = w->ref->harts[k].reservation - TL_RAM_BASE_PADDR;
    bool is_write = one_in(r, 2), is_inside = offset + bytes <= RAM_BYTES;
    uint32_t generation = w->rig.harts[0]->code_generation;
    if (tl_memory_dma(w->rig.memory, &device, tl_rig_paddr(offset), bytes, is_write, now) != is_inside)
        disagree(w, "success of the device", !is_inside, is_inside);
    if (!is_inside)
        return;
    bool has_code = false; // in some instruction cache now
    for (uint32_t j = 0; j < w->rig.config.n_harts && bytes != 0; j++)
        for (uint64_t line = ref_line_of(w->ref, tl_rig_paddr(offset)); line < tl_rig_paddr(offset) + bytes; line += ref_line_bytes(w->ref))
            has_code |= ref_in_l1(w->ref, &w->ref->harts[j].l1i, line) != NULL;
    if (is_write && has_code && w->rig.harts[0]->code_generation == generation)
        disagree(w, "the generation of code", generation, generation + 1);
    ref_dma(w->ref, tl_rig_paddr(offset), bytes, is_write, now);
    for (uint64_t i = 0; is_write && i < bytes; i++)
        w->rig.ram[offset + i] = w->ref->ram[offset + i] = (uint8_t)next(r);
}

static void administer(world *w, uint32_t k) {
    tl_hart *h = w->rig.harts[k];
    ref_hart *ref = &w->ref->harts[k];
    rng *r = &w->r;
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_S, TL_PRIV_M};
    uint32_t kind = below(r, 16);
    snprintf(w->what, sizeof w->what, "hart %u, administration %u", k, kind);
    if (kind < 6) {
        tl_priv priv = privs[below(r, 4)];
        tl_rig_set_priv(h, priv);
        ref->priv = priv;
    } else if (kind < 11) {
        static const uint64_t bits[] = {TL_MSTATUS_SUM, TL_MSTATUS_SUM, TL_MSTATUS_MXR, TL_MSTATUS_MPRV};
        set_status(w, k, ref->status ^ bits[below(r, 4)]);
    } else if (kind == 11) {
        set_status(w, k, (ref->status & ~TL_MSTATUS_MPP) | tl_rig_mpp(privs[below(r, 4)]));
    } else if (kind < 14) {
        uint64_t satp = one_in(r, 4) ? 0 : tl_rig_satp(&w->spaces[below(r, N_SPACES)]);
        tl_rv_set_satp(h, satp);
        ref_write_satp(w->ref, k, satp);
    } else if (kind == 14) {
        if (one_in(r, 4))
            change_pmp(w, k);
    } else {
        master_the_bus(w, k);
    }
    if (kind != 15)
        check_slots(w, k);
}

// A line of some first-level cache, or `otherwise`.
static uint64_t line_that_is_held(world *w, uint64_t otherwise) {
    const tl_hart_mem *hm = &w->rig.memory->harts[below(&w->r, w->rig.config.n_harts)];
    const tl_cache *cache = one_in(&w->r, 4) ? &hm->l1i.cache : &hm->l1d.cache;
    const uint32_t way = below(&w->r, tl_cache_n_ways(cache));
    return cache->tags[way] == TL_NO_TAG ? otherwise : tl_cache_line(cache, way);
}

// Cache maintenance of a line that is used now, of any, or of a way that may not exist.
static void maintain(world *w, uint32_t k) {
    tl_hart *h = w->rig.harts[k];
    rng *r = &w->r;
    const tl_maintenance what = (tl_maintenance)below(r, 3);
    const uint32_t kind = below(r, 8), level = 1 + below(r, 2 + one_in(r, 20)), way = below(r, one_in(r, 4) ? 9 : 4);
    uint64_t paddr = tl_rig_paddr(below(r, RAM_BYTES));
    if (!one_in(r, 4))
        paddr = tl_rig_paddr(DATA_OFFSET + (w->hot[k][below(r, 8)] - SMALL) % (N_PAGES * 4096));
    if (one_in(r, 2))
        paddr = line_that_is_held(w, paddr);
    if (one_in(r, 50))
        paddr = next(r) >> 8;
    const uint64_t line = ref_line_of(w->ref, paddr);
    const uint32_t set = (uint32_t)(line / ref_line_bytes(w->ref)) & 0xffff;
    const uint32_t generation = h->code_generation;
    snprintf(w->what, sizeof w->what, "hart %u, maintenance %u of kind %u, 0x%" PRIx64 ", level %u, set %u, way %u", k, (uint32_t)what,
             kind, paddr, level, set, way);
    if (kind < 4) {
        h->port->maintain_line(h, paddr, what);
        if (ref_is_ram(w->ref, line))
            ref_maintain_line(w->ref, line, what, h->now);
    } else if (kind < 7) {
        h->port->maintain_way(h, level, set, way, what);
        ref_maintain_way(w->ref, k, level, set, way, what);
    } else {
        h->port->drop_code_line(h, paddr);
        for (uint32_t j = 0; j < w->rig.config.n_harts; j++)
            ref_drop_fetch_lines(w->ref, j, line, ref_line_bytes(w->ref));
        if (h->code_generation == generation)
            disagree(w, "the generation of code", generation, generation + 1);
    }
    check_slots(w, k);
}

// Changes that system software makes now and then. Page tables change with and without a flush,
// because stale entries must be equally stale.
static void disturb(world *w, uint32_t k) {
    tl_hart *h = w->rig.harts[k];
    ref_hart *ref = &w->ref->harts[k];
    rng *r = &w->r;
    uint64_t vaddr = some_address(w, k);
    uint32_t kind = below(r, 20);
    snprintf(w->what, sizeof w->what, "hart %u, disturbance %u, 0x%" PRIx64, k, kind, vaddr);
    if (kind == 0) {
        h->port->drop_code(h);
        ref_drop_fetch_lines(w->ref, k, 0, UINT64_MAX);
    } else if (kind < 5) {
        h->port->flush_translation(h, vaddr, false);
        ref_flush_tlb(w->ref, k, vaddr, false);
    } else if (kind == 5) {
        h->port->flush_translation(h, 0, true);
        ref_flush_tlb(w->ref, k, 0, true);
    } else if (kind < 8) {
        uint64_t satp = one_in(r, 8) ? 0 : tl_rig_satp(&w->spaces[below(r, N_SPACES)]);
        tl_memory_switch_context(h, satp);
        ref_flush_tlb(w->ref, k, 0, true);
        ref->satp = satp;
    } else if (kind < 10) {
        uint64_t page = tl_rig_paddr(DATA_OFFSET + (uint64_t)below(r, N_PAGES) * 4096);
        tl_memory_code_changed(w->rig.memory, page);
        for (uint32_t j = 0; j < w->rig.config.n_harts; j++)
            ref_drop_fetch_lines(w->ref, j, page, 4096);
    } else if (kind < 18) { // another page there, or other permissions
        uint32_t page = below(r, one_in(r, 2) ? 16 : N_PAGES);
        uint64_t flags = (next(r) & 0xce) | (w->is_system && page % 3 == 1 ? 0u : (unsigned)TL_PTE_U) | (uint64_t)!one_in(r, 10);
        write_both(w, w->pte_paddrs[below(r, N_SPACES)][page],
                   tl_rig_pte(tl_rig_paddr(DATA_OFFSET + (uint64_t)below(r, N_PAGES) * 4096), flags));
        if (!one_in(r, 3)) {
            h->port->flush_translation(h, SMALL + page * UINT64_C(4096), false);
            ref_flush_tlb(w->ref, k, SMALL + page * UINT64_C(4096), false);
        }
    } else if (kind == 18) { // a large page splits or joins, so that entries of two sizes may meet
        uint32_t space = below(r, N_SPACES);
        uint64_t entry = w->large_pte_paddrs[space], table = tl_rig_paddr(TABLES_KEPT + space * 8),
                 pte = tl_rig_read_u64(w->rig.ram, entry);
        if (pte & (TL_PTE_R | TL_PTE_W | TL_PTE_X)) {
            write_both(w, entry, tl_rig_read_u64(w->rig.ram, table));
        } else {
            write_both(w, table, pte);
            write_both(w, entry, tl_rig_pte(tl_rig_paddr(DATA_OFFSET), one_in(r, 2) ? 0xdf : 0x1f));
        }
    } else {
        tl_memory_break_reservations(w->rig.memory, w->ref->harts[0].reservation + 8, 8);
        if (w->ref->harts[0].reservation != TL_NO_LINE) {
            uint64_t line = w->ref->harts[0].reservation;
            for (uint32_t j = 0; j < w->rig.config.n_harts; j++)
                if (w->ref->harts[j].reservation == line)
                    w->ref->harts[j].reservation = TL_NO_LINE;
        }
    }
}

static uint64_t number_from(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void run(const char *name, const tl_config *config, uint64_t seed, bool is_system) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->ref = calloc(1, sizeof *w->ref);
    assert_non_null(w->ref);
    w->machine = name;
    w->r.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    tl_rig_start(&w->rig, config);
    ref_init(w->ref, config, NULL);
    w->is_system = is_system;
    if (is_system) {
        w->bus = (tl_bus){.ctx = &w->device, .read = bus_read, .write = bus_write};
        tl_memory_set_bus(w->rig.memory, &w->bus);
        w->ref->device = calloc(1, sizeof *w->ref->device);
        assert_non_null(w->ref->device);
        for (uint32_t k = 0; k < config->n_harts; k++) {
            w->rig.harts[k]->is_privileged = w->ref->harts[k].is_privileged = true;
            set_pmp(w, k, 15, 0x1f, (UINT64_C(1) << 54) - 1);
        }
    }
    for (uint32_t space = 0; space < N_SPACES; space++)
        build_space(w, space);
    memcpy(w->ref->ram, w->rig.ram, RAM_BYTES);
    for (uint32_t k = 0; k < config->n_harts; k++) {
        for (uint32_t i = 0; i < 8; i++)
            w->hot[k][i] = SMALL + below(&w->r, N_PAGES * 4096);
        w->ref->harts[k].satp = tl_rig_satp(&w->spaces[0]);
        tl_memory_switch_context(w->rig.harts[k], w->ref->harts[k].satp);
    }
    uint64_t n_accesses = number_from("TALLY_TEST_ACCESSES", DEFAULT_ACCESSES);
    uint32_t k = 0;
    for (w->n_accesses = 1; w->n_accesses <= n_accesses; w->n_accesses++) {
        if (one_in(&w->r, 20))
            k = below(&w->r, config->n_harts);
        uint64_t cycles = one_in(&w->r, 3) ? below(&w->r, 60) : 1;
        w->rig.harts[k]->now += cycles;
        w->ref->harts[k].now += cycles;
        w->is_crossing_page = false;
        if (one_in(&w->r, 60))
            disturb(w, k);
        else if (one_in(&w->r, 60))
            maintain(w, k);
        else if (is_system && one_in(&w->r, 30))
            administer(w, k);
        else
            access_something(w, k);
        compare_numbers(w);
        if (w->n_accesses % CHECK_SLOTS_EVERY == 0 || w->is_crossing_page)
            check_slots(w, k);
        if (w->n_accesses % CHECK_CONTENTS_EVERY == 0)
            compare_contents(w);
    }
    compare_contents(w);
    if (is_system && memcmp(&w->device, w->ref->device, sizeof w->device) != 0)
        disagree(w, "the number of equal devices", 1, 2);
    free(w->ref->device);
    ref_done(w->ref);
    tl_rig_stop(&w->rig);
    free(w->ref);
    free(w);
}

static void run_machine(const char *name, const tl_config *config, uint64_t seed) { run(name, config, seed, false); }
static void run_system(const char *name, const tl_config *config, uint64_t seed) { run(name, config, seed, true); }

// ---- machines ----

static tl_config roomy(void) { // the default machine, with less RAM
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = RAM_BYTES;
    return config;
}

static void set_policy(tl_config *config, tl_replacement policy) {
    config->l1i.replacement = config->l1d.replacement = config->l2.replacement = policy;
    config->itlb.replacement = config->dtlb.replacement = config->l2tlb.replacement = policy;
}

static uint64_t stream(uint64_t which) { return number_from("TALLY_TEST_SEED", 1) * 1000 + which; }

static void test_default_machine_equals_reference(void **state) {
    (void)state;
    tl_config config = roomy();
    run_machine("default", &config, stream(1));
    config.n_harts = 3;
    config.l2.size_bytes = 65536; // evictions below reach the caches above
    run_machine("default, three harts", &config, stream(4));
    config.l1i.size_bytes = config.l1d.size_bytes = 2048;
    for (config.n_harts = 1; config.n_harts <= 2; config.n_harts++) {
        config.l2.size_bytes = 4096 * config.n_harts;
        run_machine("default in shape, tiny in size", &config, stream(40 + config.n_harts));
    }
}

static void test_direct_mapped_machine_equals_reference(void **state) {
    (void)state;
    tl_config config = tl_rig_config();
    run_machine("direct-mapped", &config, stream(2));
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 1, .ways = 1};
    config.l2tlb.entries = 0;
    config.l2.ways = 1;
    run_machine("direct-mapped, one-entry TLBs", &config, stream(3));
}

static void test_every_policy_equals_reference(void **state) {
    (void)state;
    static const char *const names[] = {"lru", "plru", "fifo", "random"};
    for (tl_replacement policy = TL_REPLACE_LRU; policy <= TL_REPLACE_RANDOM; policy++) {
        tl_config config = roomy();
        set_policy(&config, policy);
        config.n_harts = 2;
        config.l1i.size_bytes = config.l1d.size_bytes = 4096;
        config.l1i.ways = 2;
        config.l1d.ways = 4;
        config.l2.size_bytes = 32768;
        config.dtlb = (tl_tlb_config){.entries = 16, .ways = 4, .replacement = policy};
        config.itlb = (tl_tlb_config){.entries = 8, .ways = 8, .replacement = policy};
        config.l2tlb = (tl_tlb_config){.entries = 64, .ways = 8, .replacement = policy};
        run_machine(names[policy], &config, stream(10 + policy));
    }
}

static void test_coherent_harts_equal_reference(void **state) {
    (void)state;
    tl_config config = tl_rig_config();
    config.l1i = config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 4, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = 16384, .ways = 4, .line_bytes = 64};
    for (uint32_t n_harts = 2; n_harts <= 8; n_harts *= 2) {
        config.n_harts = n_harts;
        config.l2_slices = n_harts;
        config.mem_channels = n_harts / 2;
        run_machine("coherent", &config, stream(20 + n_harts));
    }
    config.l2.size_bytes = 2048; // smaller than the L1s together: evictions below reach everybody
    config.l2_slices = 1;
    run_machine("coherent, small L2", &config, stream(29));
}

static void test_every_line_size_equals_reference(void **state) {
    (void)state;
    for (uint32_t line_bytes = 16; line_bytes <= 128; line_bytes *= 2) {
        tl_config config = roomy();
        config.n_harts = 2;
        config.l1i = (tl_cache_config){.size_bytes = 2048, .ways = 2, .line_bytes = line_bytes};
        // LRU needs no power of two.
        config.l1d = (tl_cache_config){.size_bytes = 3072, .ways = 3, .line_bytes = line_bytes};
        config.l2 = (tl_cache_config){.size_bytes = 65536, .ways = 16, .line_bytes = line_bytes};
        config.dtlb = (tl_tlb_config){.entries = 3, .ways = 3};
        run_machine("line size", &config, stream(30 + line_bytes));
    }
}

static void test_prefetchers_equal_reference(void **state) {
    (void)state;
    for (uint32_t mask = 1; mask < 8; mask++) {
        tl_config config = tl_rig_config();
        config.n_harts = 2;
        config.l1i = config.l1d = (tl_cache_config){.size_bytes = 1024, .ways = 2, .line_bytes = 64};
        config.l2 = (tl_cache_config){.size_bytes = 8192, .ways = 4, .line_bytes = 64};
        config.l2_slices = 2;
        config.l1i.prefetch = mask & 1 ? TL_PREFETCH_NEXT_LINE : TL_PREFETCH_NONE;
        config.l1d.prefetch = mask & 2 ? TL_PREFETCH_NEXT_LINE : TL_PREFETCH_NONE;
        config.l2.prefetch = mask & 4 ? TL_PREFETCH_NEXT_LINE : TL_PREFETCH_NONE;
        set_policy(&config, (tl_replacement)(mask % 4));
        run_machine("prefetch", &config, stream(200 + mask));
    }
}

static void test_system_software_equals_reference(void **state) {
    (void)state;
    tl_config config = roomy();
    config.mem.mmio_cycles = 23;
    run_system("system, default", &config, stream(400));
    config = tl_rig_config();
    config.mem.mmio_cycles = 29;
    run_system("system, direct-mapped", &config, stream(401));
    config.n_harts = 4;
    config.l1i = config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 4, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = 16384, .ways = 4, .line_bytes = 64};
    config.l2_slices = config.mem_channels = 2;
    run_system("system, coherent", &config, stream(402));
    config.l1d.prefetch = config.l1i.prefetch = config.l2.prefetch = TL_PREFETCH_NEXT_LINE;
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 32, .ways = 4};
    config.l2tlb.entries = 0;
    config.l2.size_bytes = 4096;
    run_system("system, prefetch", &config, stream(403));
}

// Instructions and data share lines, which come and go on each level by themselves.
static void test_second_levels_filled_by_evictions_equal_reference(void **state) {
    (void)state;
    tl_config config = tl_rig_config();
    config.l2_fill = TL_FILL_EVICT;
    config.l1i = (tl_cache_config){.size_bytes = 1024, .ways = 2, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 4, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    config.l2 = (tl_cache_config){.size_bytes = 8192, .ways = 16, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    for (uint32_t n_harts = 1; n_harts <= 4; n_harts++) {
        config.n_harts = n_harts;
        config.l2_slices = n_harts < 4 ? 1 : 2;
        run_machine("filled by evictions", &config, stream(600 + n_harts));
        run_system("filled by evictions, system", &config, stream(610 + n_harts));
    }
    set_policy(&config, TL_REPLACE_LRU);
    config.l2.size_bytes = 1024; // smaller than each L1D
    config.l2_slices = 1;
    run_machine("filled by evictions, small L2", &config, stream(620));
}

static void random_machines(uint64_t seed, bool is_system) {
    rng r = {.state = seed};
    for (uint32_t i = 0; i < 8; i++) {
        tl_config config = tl_rig_config();
        uint32_t line_bytes = 16u << below(&r, 4);
        config.seed = next(&r);
        config.n_harts = 1 + below(&r, 4);
        config.l2_slices = 1u << below(&r, 3);
        config.mem_channels = 1u << below(&r, 3);
        tl_cache_config *caches[] = {&config.l1i, &config.l1d, &config.l2};
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t ways = 1u << below(&r, 4), sets = 2u << below(&r, 5);
            *caches[c] = (tl_cache_config){.ways = ways,
                                           .line_bytes = line_bytes,
                                           .replacement = (tl_replacement)below(&r, 4),
                                           .prefetch = (tl_prefetch)one_in(&r, 3),
                                           .size_bytes = ways * sets * line_bytes};
        }
        config.l2.size_bytes *= config.l2_slices;
        tl_tlb_config *tlbs[] = {&config.itlb, &config.dtlb, &config.l2tlb};
        for (uint32_t t = 0; t < 3; t++) {
            uint32_t ways = 1u << below(&r, 4), sets = 1u << below(&r, 4);
            *tlbs[t] = (tl_tlb_config){
                .entries = t == 2 && one_in(&r, 4) ? 0 : sets * ways, .ways = ways, .replacement = (tl_replacement)below(&r, 4)};
        }
        config.mem.mem_banks = 1u << below(&r, 4);
        config.mem.mem_row_bytes = 256u << below(&r, 4);
        config.mem.l2_busy_cycles = below(&r, 20);
        config.mem.mem_busy_cycles = below(&r, 60);
        config.mem.mmio_cycles = below(&r, 100);
        run(is_system ? "random, system" : "random", &config, seed + 1 + i, is_system);
    }
}

static void test_random_machines_equal_reference(void **state) {
    (void)state;
    random_machines(stream(300), false);
}

static void test_random_machines_with_system_software_equal_reference(void **state) {
    (void)state;
    random_machines(stream(500), true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_default_machine_equals_reference),
    cmocka_unit_test(test_direct_mapped_machine_equals_reference),
    cmocka_unit_test(test_every_policy_equals_reference),
    cmocka_unit_test(test_coherent_harts_equal_reference),
    cmocka_unit_test(test_every_line_size_equals_reference),
    cmocka_unit_test(test_prefetchers_equal_reference),
    cmocka_unit_test(test_second_levels_filled_by_evictions_equal_reference),
    cmocka_unit_test(test_random_machines_equal_reference),
    cmocka_unit_test(test_system_software_equals_reference),
    cmocka_unit_test(test_random_machines_with_system_software_equal_reference),
};

TL_TEST_MAIN(tests)
