// SPDX-License-Identifier: MIT
// Whether a detector counts an occurrence: event and mask, then thread and privilege.
#include "pmu/netburst/state.h"

enum { ALL_MODELS = 0x7f, LATE_MODELS = 1 << 3 | 1 << 4 | 1 << 6 };

#define ROW(event, first, select, which, ti, on) \
    [TL_NB_##event] = {.pair = TL_##first, .code = select, .escrs = which, .is_ti = ti, .models = on}
#define TS(event, first, select) ROW(event, first, select, 3, false, ALL_MODELS)
#define TI(event, first, select) ROW(event, first, select, 3, true, ALL_MODELS)
#define TS_ONE(event, first, select, which) ROW(event, first, select, which, false, ALL_MODELS)
const tl_detected tl_detected_events[TL_NB_N_EVENTS] = {
    TI(TC_DELIVER_MODE, TC_ESCR0, 0x01),
    TS(BPU_FETCH_REQUEST, BPU_ESCR0, 0x03),
    TS(ITLB_REFERENCE, ITLB_ESCR0, 0x18),
    TS(MEMORY_CANCEL, DAC_ESCR0, 0x02),
    TS(MEMORY_COMPLETE, SAAT_ESCR0, 0x08),
    TS(LOAD_PORT_REPLAY, SAAT_ESCR0, 0x04),
    TS(STORE_PORT_REPLAY, SAAT_ESCR0, 0x05),
    TS(MOB_LOAD_REPLAY, MOB_ESCR0, 0x03),
    TI(PAGE_WALK_TYPE, PMH_ESCR0, 0x01),
    TS(BSQ_CACHE_REFERENCE, BSU_ESCR0, 0x0c),
    TS(IOQ_ALLOCATION, FSB_ESCR0, 0x03),
    TS_ONE(IOQ_ACTIVE_ENTRIES, FSB_ESCR0, 0x1a, 2),
    TI(FSB_DATA_ACTIVITY, FSB_ESCR0, 0x17),
    TS_ONE(BSQ_ALLOCATION, BSU_ESCR0, 0x05, 1),
    TS_ONE(BSQ_ACTIVE_ENTRIES, BSU_ESCR0, 0x06, 2),
    TI(SSE_INPUT_ASSIST, FIRM_ESCR0, 0x34),
    TI(PACKED_SP_UOP, FIRM_ESCR0, 0x08),
    TI(PACKED_DP_UOP, FIRM_ESCR0, 0x0c),
    TI(SCALAR_SP_UOP, FIRM_ESCR0, 0x0a),
    TI(SCALAR_DP_UOP, FIRM_ESCR0, 0x0e),
    TI(64BIT_MMX_UOP, FIRM_ESCR0, 0x02),
    TI(128BIT_MMX_UOP, FIRM_ESCR0, 0x1a),
    TI(X87_FP_UOP, FIRM_ESCR0, 0x04),
    TI(X87_SIMD_MOVES_UOP, FIRM_ESCR0, 0x2e),
    TS(TC_MISC, TC_ESCR0, 0x06),
    TS(GLOBAL_POWER_EVENTS, FSB_ESCR0, 0x13),
    TS(TC_MS_XFER, MS_ESCR0, 0x05),
    TS(UOP_QUEUE_WRITES, MS_ESCR0, 0x09),
    TS(RETIRED_MISPRED_BRANCH_TYPE, TBPU_ESCR0, 0x05),
    TS(RETIRED_BRANCH_TYPE, TBPU_ESCR0, 0x04),
    TS(RESOURCE_STALL, ALF_ESCR0, 0x01),
    TI(WC_BUFFER, DAC_ESCR0, 0x05),
    TI(B2B_CYCLES, FSB_ESCR0, 0x16),
    TI(BNR, FSB_ESCR0, 0x08),
    TI(SNOOP, FSB_ESCR0, 0x06),
    TI(RESPONSE, FSB_ESCR0, 0x04),
    TS(FRONT_END_EVENT, CRU_ESCR2, 0x08),
    TS(EXECUTION_EVENT, CRU_ESCR2, 0x0c),
    TS(REPLAY_EVENT, CRU_ESCR2, 0x09),
    TS(INSTR_RETIRED, CRU_ESCR0, 0x02),
    TS(UOPS_RETIRED, CRU_ESCR0, 0x01),
    TS(UOP_TYPE, RAT_ESCR0, 0x02),
    TS(BRANCH_RETIRED, CRU_ESCR2, 0x06),
    TS(MISPRED_BRANCH_RETIRED, CRU_ESCR0, 0x03),
    TS(X87_ASSIST, CRU_ESCR2, 0x03),
    TS(MACHINE_CLEAR, CRU_ESCR2, 0x02),
    ROW(INSTR_COMPLETED, CRU_ESCR0, 0x07, 3, false, LATE_MODELS),
};

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
    return value >> TL_ESCR_EVENT_LSB == tl_detected_events[event].code && (uint16_t)(value >> TL_ESCR_MASK_LSB) == mask;
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
    return matches_mask(n, escr, what->mask) && is_qualified(n, escr, what->owner, active);
}
