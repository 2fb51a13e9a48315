// SPDX-License-Identifier: MIT
// Whether a detector counts an occurrence: event and mask, then thread and privilege.
#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/state.h"

// ---- Mask.

// SDM, note of IOQ_allocation: type and (read or write) and memory type and agent. The old logic
// leaves the memory type out once all reads or all writes are asked for.
enum {
    IOQ_TYPE = 0x1f,
    IOQ_READ = 1 << 5,
    IOQ_WRITE = 1 << 6,
    IOQ_MEMORY = 0x1f << 7,
    IOQ_AGENT = 3 << 13,
    IOQ_PREFETCH = 1 << 15,
    IOQ_DEFAULT = 1
};

static bool matches_ioq(const tl_netburst *n, uint16_t mask, uint16_t request) {
    const bool is_type = (mask & IOQ_TYPE) == IOQ_DEFAULT || (mask & IOQ_TYPE) == (request & IOQ_TYPE);
    const bool is_kind = mask & request & (IOQ_READ | IOQ_WRITE);
    const bool is_memory = mask & request & IOQ_MEMORY;
    if (!(mask & request & IOQ_AGENT) || ((request & IOQ_PREFETCH) && !(mask & IOQ_PREFETCH)))
        return false;
    return n->errata[TL_ERRATUM_IOQ_OLD_LOGIC] ? is_type || is_kind || is_memory : is_type && is_kind && is_memory;
}

// Fields: request type 1:0, length 3:2, memory type 13:11 are equal; bits 5-8 and 10 that the mask
// sets are set; bit 9 is equal.
enum { BSQ_FIELDS = 0x3 | 0x3 << 2 | 1 << 9 | 0x7 << 11, BSQ_WANTED = 0xf << 5 | 1 << 10, BSQ_SPLIT = 1 << 8, BSQ_MEMORY = 0x7 << 11 };

static bool matches_bsq(const tl_netburst *n, uint16_t mask, uint16_t request) {
    const bool is_write_combined = (request & BSQ_MEMORY) <= 1 << 11; // UC, WC
    if (n->errata[TL_ERRATUM_BSQ_ALLOC_UNDERCOUNT] && ((request & BSQ_SPLIT) || is_write_combined))
        return false;
    return ((mask ^ request) & BSQ_FIELDS) == 0 && (mask & ~request & BSQ_WANTED) == 0;
}

// The queue's other ESCR holds the allocation of the same requests.
static bool has_allocation(const tl_netburst *n, tl_escr escr, tl_netburst_event event, uint16_t mask) {
    const uint64_t value = n->escr[escr];
    return value >> TL_ESCR_EVENT_LSB == tl_netburst_event_rows[event].code && (uint16_t)(value >> TL_ESCR_MASK_LSB) == mask;
}

static bool has_fields(tl_netburst_event event) {
    return event == TL_NB_UOP_TYPE || event == TL_NB_IOQ_ALLOCATION || event == TL_NB_IOQ_ACTIVE_ENTRIES || event == TL_NB_BSQ_ALLOCATION ||
           event == TL_NB_BSQ_ACTIVE_ENTRIES;
}

bool tl_netburst_matches_fields(const tl_netburst *n, const tl_used_escr *escr, uint16_t what) {
    switch ((tl_netburst_event)escr->event) {
    case TL_NB_IOQ_ALLOCATION:
        return !(n->errata[TL_ERRATUM_IOQ_ESCR0_ONLY] && escr->escr == TL_FSB_ESCR1) && matches_ioq(n, escr->mask, what);
    case TL_NB_IOQ_ACTIVE_ENTRIES:
        return has_allocation(n, TL_FSB_ESCR0, TL_NB_IOQ_ALLOCATION, escr->mask) && matches_ioq(n, escr->mask, what);
    case TL_NB_BSQ_ALLOCATION: return matches_bsq(n, escr->mask, what);
    case TL_NB_BSQ_ACTIVE_ENTRIES:
        return has_allocation(n, TL_BSU_ESCR0, TL_NB_BSQ_ALLOCATION, escr->mask) && matches_bsq(n, escr->mask, what);
    default: return false; // uop_type only tags
    }
}

// ---- Thread and privilege.

static bool ignores_privilege(const tl_netburst *n, tl_netburst_event event) {
    return event == TL_NB_IOQ_ACTIVE_ENTRIES || (event == TL_NB_IOQ_ALLOCATION && n->errata[TL_ERRATUM_IOQ_IGNORES_CPL]);
}

bool tl_netburst_is_qualified(const tl_netburst *n, const tl_used_escr *escr, uint64_t owner, uint64_t active) {
    const bool wants_usr = (uint32_t)escr->threads, wants_os = escr->threads >> TL_NBX_OS_LSB;
    const bool is_owned = owner != 0 && !escr->is_ti;
    owner &= escr->contexts;
    active &= escr->contexts;
    if (is_owned) {
        const uint64_t classes = owner | owner >> TL_NBX_OS_LSB | owner << TL_NBX_OS_LSB;
        return escr->threads & (ignores_privilege(n, (tl_netburst_event)escr->event) ? classes : owner);
    }
    if (wants_usr && wants_os)
        return true; // a filtered counter asks itself whether a thread of its contexts is active
    return (wants_usr && (uint32_t)active) || (wants_os && active >> TL_NBX_OS_LSB);
}

// The first two threads are all that a machine has, so their 16 states are looked up.
void tl_netburst_tabulate(const tl_netburst *n, tl_used_escr *escr) {
    escr->has_fields = has_fields((tl_netburst_event)escr->event);
    escr->by_owner = escr->by_active = 0;
    for (uint32_t flags = 0; flags < 16; flags++) {
        const uint64_t threads = tl_nbx_of_flags(flags);
        escr->by_owner |= (uint16_t)(tl_netburst_is_qualified(n, escr, threads, 0) << flags);
        escr->by_active |= (uint16_t)(tl_netburst_is_qualified(n, escr, 0, threads) << flags);
    }
}
