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

static bool matches_mask(const tl_netburst *n, const tl_used_escr *escr, uint16_t what) {
    switch ((tl_netburst_event)escr->event) {
    case TL_NB_UOP_TYPE: return false; // it only tags
    case TL_NB_IOQ_ALLOCATION:
        return !(n->errata[TL_ERRATUM_IOQ_ESCR0_ONLY] && escr->escr == TL_FSB_ESCR1) && matches_ioq(n, escr->mask, what);
    case TL_NB_IOQ_ACTIVE_ENTRIES:
        return has_allocation(n, TL_FSB_ESCR0, TL_NB_IOQ_ALLOCATION, escr->mask) && matches_ioq(n, escr->mask, what);
    case TL_NB_BSQ_ALLOCATION: return matches_bsq(n, escr->mask, what);
    case TL_NB_BSQ_ACTIVE_ENTRIES:
        return has_allocation(n, TL_BSU_ESCR0, TL_NB_BSQ_ALLOCATION, escr->mask) && matches_bsq(n, escr->mask, what);
    default: return escr->mask & what;
    }
}

// ---- Thread and privilege.

enum { USR = TL_ESCR_T0_USR | TL_ESCR_T1_USR, OS = TL_ESCR_T0_OS | TL_ESCR_T1_OS };

static bool ignores_privilege(const tl_netburst *n, tl_netburst_event event) {
    return event == TL_NB_IOQ_ACTIVE_ENTRIES || (event == TL_NB_IOQ_ALLOCATION && n->errata[TL_ERRATUM_IOQ_IGNORES_CPL]);
}

// With NBX; escr->threads has the first two threads, too.
static bool is_qualified_by_mask(const tl_netburst *n, const tl_used_escr *escr, const tl_netburst_occurrence *what, uint8_t active) {
    const bool wants_usr = (uint32_t)escr->threads, wants_os = escr->threads >> TL_NBX_OS_LSB;
    if (what->owner != 0 && !escr->is_ti) {
        const uint64_t both = UINT64_C(1) | UINT64_C(1) << TL_NBX_OS_LSB, class = tl_nbx_of_flags(what->owner);
        const uint64_t first = (class | class >> 1) & both; // of thread 0 or 1
        const uint64_t wanted = ignores_privilege(n, (tl_netburst_event)escr->event) ? both : first;
        const uint32_t thread = class & both ? what->owner >> TL_NBX_THREAD_LSB : 1;
        return escr->threads & wanted << thread;
    }
    if (wants_usr && wants_os)
        return true;
    return (wants_usr && (active & USR)) || (wants_os && (active & OS));
}

static bool is_qualified(const tl_netburst *n, const tl_used_escr *escr, uint8_t owner, uint8_t active) {
    const bool wants_usr = escr->flags & USR, wants_os = escr->flags & OS;
    if (owner != 0 && !escr->is_ti) {
        if (ignores_privilege(n, (tl_netburst_event)escr->event))
            owner = owner & (TL_ESCR_T0_USR | TL_ESCR_T0_OS) ? TL_ESCR_T0_USR | TL_ESCR_T0_OS : TL_ESCR_T1_USR | TL_ESCR_T1_OS;
        return escr->flags & owner;
    }
    if (wants_usr && wants_os)
        return true;
    return (wants_usr && (active & USR)) || (wants_os && (active & OS));
}

bool tl_netburst_matches(const tl_netburst *n, const tl_used_escr *escr, const tl_netburst_occurrence *what, uint8_t active) {
    if (!matches_mask(n, escr, what->mask))
        return false;
    return n->settings.nbx ? is_qualified_by_mask(n, escr, what, active) : is_qualified(n, escr, (uint8_t)what->owner, active);
}
