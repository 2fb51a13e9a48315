// SPDX-License-Identifier: MIT
// Direct reads of caches and TLB by the debug operations of EL3 (DDI 0500, 6.7).
#include "internal.h"

enum { TLB_WAYS = 4, TLB_INDICES = 160 };

static uint32_t log2_of(uint32_t n) {
    uint32_t result = 0;
    while ((1u << result) < n)
        result++;
    return result;
}

static xcm_code ask_size(xcm *m, uint64_t selector, uint64_t *ret_ccsidr) {
    XCM_TRY(xcm_set_x(m, 0, selector));
    XCM_TRY(xcm_execute(m, I_MSR_CSSELR));
    XCM_TRY(xcm_execute(m, I_ISB));
    XCM_TRY(xcm_execute(m, I_MRS_CCSIDR));
    return xcm_get_x(m, 0, ret_ccsidr);
}

static xcm_code ask_sizes(xcm *m, uint64_t sizes[2]) {
    uint64_t selected = 0;
    XCM_TRY(xcm_raise(m, 1));
    XCM_TRY(xcm_execute(m, I_MRS_CSSELR));
    XCM_TRY(xcm_get_x(m, 0, &selected));
    XCM_TRY(ask_size(m, 0, &sizes[0]));
    XCM_TRY(ask_size(m, 1, &sizes[1]));
    XCM_TRY(xcm_set_x(m, 0, selected));
    return xcm_execute(m, I_MSR_CSSELR);
}

xcm_code xcm_find_geometry(xcm *m) {
    uint64_t sizes[2] = {0, 0};
    if (m->geometry.line_bytes != 0)
        return XCM_DONE;
    const xcm_code code = ask_sizes(m, sizes);
    const xcm_code lowered = xcm_lower(m);
    if (code != XCM_DONE || lowered != XCM_DONE)
        return code != XCM_DONE ? code : lowered;
    m->geometry = (xcm_geometry){.l1d_sets = (uint32_t)(sizes[0] >> 13 & 0x7fff) + 1,
                                 .l1d_ways = (uint32_t)(sizes[0] >> 3 & 0x3ff) + 1,
                                 .l1i_sets = (uint32_t)(sizes[1] >> 13 & 0x7fff) + 1,
                                 .l1i_ways = (uint32_t)(sizes[1] >> 3 & 0x3ff) + 1,
                                 .line_bytes = 16u << (sizes[0] & 7)};
    return XCM_DONE;
}

bool xcm_has_place(const xcm *m, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset) {
    const xcm_geometry *g = &m->geometry;
    switch (ram) {
    case XCM_L1D_TAG: return way < g->l1d_ways && index < g->l1d_sets && offset == 0;
    case XCM_L1D_DATA: return way < g->l1d_ways && index < g->l1d_sets && offset < g->line_bytes && offset % 8 == 0;
    case XCM_L1I_TAG: return way < g->l1i_ways && index < g->l1i_sets && offset == 0;
    case XCM_L1I_DATA: return way < g->l1i_ways && index < g->l1i_sets && offset < g->line_bytes && offset % 4 == 0;
    case XCM_TLB: return way < TLB_WAYS && index < TLB_INDICES && offset == 0;
    default: return false;
    }
}

static uint32_t place_of(const xcm *m, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset) {
    const xcm_geometry *g = &m->geometry;
    const uint32_t ways = ram == XCM_TLB ? TLB_WAYS : ram <= XCM_L1D_DATA ? g->l1d_ways : g->l1i_ways;
    const uint32_t at = ways == 1 ? 0 : way << (32 - log2_of(ways));
    return ram == XCM_TLB ? at | index : at | index * g->line_bytes | offset;
}

static xcm_code read_answer(xcm *m, uint32_t k, uint32_t *ret) {
    XCM_TRY(xcm_execute(m, I_MRS_CDBGDR + 0x20 * k));
    XCM_TRY(xcm_execute(m, I_MSR_DTRTX));
    if (!(m->edscr & SCR_TXFULL))
        return XCM_DCC_OVERRUN;
    *ret = xcm_rd(m, XCM_DBG, DBGDTRTX);
    m->edscr &= ~SCR_TXFULL;
    return XCM_DONE;
}

xcm_code xcm_read_ram(xcm *m, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset, uint32_t ret[4]) {
    static const struct {
        uint32_t word, n_words;
    } operations[] = {
        [XCM_L1D_TAG] = {I_MSR_CDBGDCT, 2},  [XCM_L1D_DATA] = {I_MSR_CDBGDCD, 2}, [XCM_L1I_TAG] = {I_MSR_CDBGICT, 1},
        [XCM_L1I_DATA] = {I_MSR_CDBGICD, 2}, [XCM_TLB] = {I_MSR_CDBGTD, 4},
    };
    const uint32_t place = place_of(m, ram, way, index, offset);
    if (xcm_is_over_budget(m))
        return XCM_OVER_BUDGET;
    XCM_TRY(xcm_execute(m, I_MOVZ | (place & 0xffff) << 5));
    XCM_TRY(xcm_execute(m, I_MOVK | 1 << 21 | (place >> 16) << 5));
    XCM_TRY(xcm_execute(m, operations[ram].word));
    XCM_TRY(xcm_execute(m, I_ISB));
    ret[0] = ret[1] = ret[2] = ret[3] = 0;
    for (uint32_t k = 0; k < operations[ram].n_words; k++)
        XCM_TRY(read_answer(m, k, &ret[k]));
    return XCM_DONE;
}

// -- Dump: a record for each tag or entry; a record for the data of each valid line.

enum { MOST_LINE_WORDS = 16 };
static uint64_t pair_of(const uint32_t dr[4], uint32_t first) { return dr[first] | (uint64_t)dr[first + 1] << 32; }

// A full ring drops records and the dump goes on, as the count of drops says.
static void add_tag(xcm *m, xcm_record_type type, uint32_t way, uint32_t index, const uint32_t dr[4]) {
    const uint64_t words[] = {(uint64_t)way << 32 | index, pair_of(dr, 0), pair_of(dr, 2)};
    (void)xcm_ring_add(m, type, 0, words, type == XCM_RECORD_TLB ? 3 : 2);
}

static xcm_code add_data(xcm *m, xcm_ram ram, uint32_t way, uint32_t index) {
    const uint32_t step = ram == XCM_L1D_DATA ? 8 : 4;
    uint64_t words[1 + MOST_LINE_WORDS] = {(uint64_t)way << 32 | index};
    uint32_t n = 1, dr[4];
    for (uint32_t offset = 0; offset < m->geometry.line_bytes && n <= MOST_LINE_WORDS; offset += step) {
        XCM_TRY(xcm_read_ram(m, ram, way, index, offset, dr));
        words[n++] = pair_of(dr, 0);
    }
    (void)xcm_ring_add(m, ram == XCM_L1D_DATA ? XCM_RECORD_L1D_DATA : XCM_RECORD_L1I_DATA, 0, words, n);
    return XCM_DONE;
}

static xcm_code dump_cache(xcm *m, bool is_fetch, bool tags_only) {
    const xcm_geometry *g = &m->geometry;
    const uint32_t sets = is_fetch ? g->l1i_sets : g->l1d_sets, ways = is_fetch ? g->l1i_ways : g->l1d_ways;
    uint32_t dr[4];
    for (uint32_t set = 0; set < sets; set++)
        for (uint32_t way = 0; way < ways; way++) {
            XCM_TRY(xcm_read_ram(m, is_fetch ? XCM_L1I_TAG : XCM_L1D_TAG, way, set, 0, dr));
            add_tag(m, is_fetch ? XCM_RECORD_L1I_TAG : XCM_RECORD_L1D_TAG, way, set, dr);
            const xcm_line line = is_fetch ? xcm_decode_l1i_tag(g, set, dr) : xcm_decode_l1d_tag(g, set, dr);
            if (!tags_only && line.state != 'I')
                XCM_TRY(add_data(m, is_fetch ? XCM_L1I_DATA : XCM_L1D_DATA, way, set));
        }
    return XCM_DONE;
}

static xcm_code dump_tlb(xcm *m) {
    uint32_t dr[4];
    for (uint32_t index = 0; index < TLB_INDICES; index++)
        for (uint32_t way = 0; way < TLB_WAYS; way++) {
            XCM_TRY(xcm_read_ram(m, XCM_TLB, way, index, 0, dr));
            add_tag(m, XCM_RECORD_TLB, way, index, dr);
        }
    return XCM_DONE;
}

static xcm_code dump_at_el3(xcm *m, uint32_t mask, bool tags_only) {
    XCM_TRY(xcm_raise(m, 3));
    if (mask & 1)
        XCM_TRY(dump_cache(m, false, tags_only));
    if (mask & 2)
        XCM_TRY(dump_cache(m, true, tags_only));
    return mask & 4 ? dump_tlb(m) : XCM_DONE;
}

xcm_code xcm_dump(xcm *m, uint32_t mask, bool tags_only) {
    XCM_TRY(xcm_find_geometry(m));
    const uint64_t dropped = m->n_dropped;
    const xcm_code code = dump_at_el3(m, mask, tags_only);
    const xcm_code lowered = xcm_lower(m);
    if (code != XCM_DONE || lowered != XCM_DONE)
        return code != XCM_DONE ? code : lowered;
    return m->n_dropped != dropped ? XCM_RING_FULL : XCM_DONE;
}
