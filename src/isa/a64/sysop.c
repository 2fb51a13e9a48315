// SPDX-License-Identifier: MIT
// System instructions: sysop.h. Data caches are coherent, so cleaning and invalidating change
// nothing that software sees but by counts, times and reads of internal memory. Invalidating alone
// (DC IVAC, DC ISW) writes back as well, because memory always has the bytes.
#include "isa/a64/sysop.h"

#include "base/bits.h"
#include "isa/a64/exec.h"
#include "isa/a64/regime.h"
#include "isa/a64/sysreg.h"
#include "isa/a64/timer.h"
#include "isa/a64/walk.h"

enum { EL0, EL1, EL3 = 3, ONE = 0, ALL = 1 };

typedef struct call {
    uint64_t operand;
    bool is_broadcast;
} call;

static bool do_nothing(tl_hart *h, const call *c) { return (void)h, (void)c, true; }

static bool do_drop_code(tl_hart *h, const call *c) {
    if (c->is_broadcast)
        h->port->broadcast_drop_code(h);
    else
        h->port->drop_code(h);
    return true;
}

// The line of the operand. Without translation there is nothing to fault.
static bool find_line(tl_hart *h, uint64_t vaddr, tl_access access, uint64_t *ret_paddr) {
    tl_a64_translation at;
    const bool is_there = tl_a64_translate(h, h->priv, vaddr, access, &at);
    *ret_paddr = at.paddr;
    return is_there || !h->regime.is_paged[h->view] ||
           tl_trap(h, access == TL_ACCESS_STORE ? TL_A64_CAUSE_CACHE_STORE_PAGE : TL_A64_CAUSE_CACHE_PAGE, vaddr);
}

static bool maintain(tl_hart *h, const call *c, tl_access access, tl_maintenance what) {
    uint64_t paddr;
    if (!find_line(h, c->operand, access, &paddr))
        return false;
    h->port->maintain_line(h, paddr, what);
    return true;
}
// The point of unification is the second level, that of coherency is memory. DC IVAC alone needs
// the right to write (C5.3.13).
static bool do_clean_unified(tl_hart *h, const call *c) { return maintain(h, c, TL_ACCESS_LOAD, TL_CLEAN_L1); }
static bool do_clean(tl_hart *h, const call *c) { return maintain(h, c, TL_ACCESS_LOAD, TL_CLEAN); }
static bool do_clean_drop(tl_hart *h, const call *c) { return maintain(h, c, TL_ACCESS_LOAD, TL_CLEAN_DROP); }
static bool do_drop(tl_hart *h, const call *c) { return maintain(h, c, TL_ACCESS_STORE, TL_CLEAN_DROP); }

static bool do_drop_line(tl_hart *h, const call *c) {
    uint64_t paddr;
    if (!find_line(h, c->operand, TL_ACCESS_LOAD, &paddr))
        return false;
    h->port->drop_code_line(h, paddr);
    return true;
}

// C5.3: the way stands in the uppermost bits, the set above the bits of a line, the level less
// one in bits 3:1. Bits between them, and bits of a larger number, are ignored.
static bool maintain_way(tl_hart *h, const call *c, tl_maintenance what) {
    const uint32_t operand = (uint32_t)c->operand, level = operand >> 1 & 7;
    const tl_cache_config *cache = level == 0 ? &h->config->l1d : &h->config->l2;
    const uint32_t n_sets = (uint32_t)(cache->size_bytes / ((uint64_t)cache->ways * cache->line_bytes));
    const uint32_t way = cache->ways > 1 ? operand >> (31 - tl_log2(cache->ways - 1)) : 0;
    const uint32_t set = operand >> tl_log2(cache->line_bytes) & (n_sets - 1);
    h->port->maintain_way(h, level + 1, set, way, what);
    return true;
}
static bool do_clean_way(tl_hart *h, const call *c) { return maintain_way(h, c, TL_CLEAN); }
static bool do_drop_way(tl_hart *h, const call *c) { return maintain_way(h, c, TL_CLEAN_DROP); }

static bool do_zero(tl_hart *h, const call *c) {
    const uint64_t first = c->operand & ~(uint64_t)(TL_A64_ZVA_BYTES - 1);
    for (uint64_t i = 0; i < TL_A64_ZVA_BYTES; i += 8)
        if (!tl_a64_write_more(h, first + i, 8, 0, i / 8)) {
            if (h->trap_cause != TL_TRAP_NOT_YET)
                h->trap_value = c->operand;
            return false;
        }
    return true;
}

// PAR_EL1, D12.2.83.
static bool translate(tl_hart *h, uint32_t el, uint64_t vaddr, tl_access access) {
    enum { FAULT = 1, STATUS_LSB = 1, SHAREABILITY_LSB = 7, NON_SECURE_LSB = 9, RES1 = 1 << 11, ATTRIBUTES_LSB = 56 };
    const uint64_t paddr_mask = ((UINT64_C(1) << TL_A64_VA_BITS) - 1) & tl_page_mask(0);
    tl_a64_translation at;
    uint64_t *par = &tl_a64(h)->sys.reg[TL_A64_R_PAR_EL1];
    if (tl_a64_translate(h, el, vaddr, access, &at))
        *par = (at.paddr & paddr_mask) | (uint64_t)at.attributes << ATTRIBUTES_LSB | (uint64_t)at.shareability << SHAREABILITY_LSB |
               (uint64_t)at.is_non_secure << NON_SECURE_LSB | RES1;
    else
        *par = FAULT | (uint64_t)at.status << STATUS_LSB | RES1;
    return true;
}
static bool do_at_el0_load(tl_hart *h, const call *c) { return translate(h, TL_A64_EL0, c->operand, TL_ACCESS_LOAD); }
static bool do_at_el0_store(tl_hart *h, const call *c) { return translate(h, TL_A64_EL0, c->operand, TL_ACCESS_STORE); }
static bool do_at_el1_load(tl_hart *h, const call *c) { return translate(h, TL_A64_EL1, c->operand, TL_ACCESS_LOAD); }
static bool do_at_el1_store(tl_hart *h, const call *c) { return translate(h, TL_A64_EL1, c->operand, TL_ACCESS_STORE); }
static bool do_at_el3_load(tl_hart *h, const call *c) { return translate(h, TL_A64_EL3, c->operand, TL_ACCESS_LOAD); }
static bool do_at_el3_store(tl_hart *h, const call *c) { return translate(h, TL_A64_EL3, c->operand, TL_ACCESS_STORE); }

// D5.10.2: bits 43:0 of the operand are bits 55:12 of the address, bits 63:48 the ASID.
static bool flush(tl_hart *h, const call *c, tl_tlb_drop_request what) {
    const uint64_t *reg = tl_a64(h)->sys.reg;
    what.vaddr = (uint64_t)tl_sext(c->operand << 12, 56);
    what.asid = tl_a64_asid(reg, (uint16_t)(c->operand >> 48));
    what.is_broadcast = c->is_broadcast;
    if (what.world != TL_A64_WORLD_EL3)
        what.world = tl_a64_el1_world(reg);
    h->port->drop_translations(h, &what);
    return true;
}
#define FLUSH(name, ...) \
    static bool do_##name(tl_hart *h, const call *c) { return flush(h, c, (tl_tlb_drop_request){__VA_ARGS__}); }
FLUSH(flush_all, .by_address = false)
FLUSH(flush_asid, .by_asid = true)
FLUSH(flush_page, .by_address = true, .by_asid = true)
FLUSH(flush_leaf, .by_address = true, .by_asid = true, .keeps_tables = true)
FLUSH(flush_page_of_any, .by_address = true)
FLUSH(flush_leaf_of_any, .by_address = true, .keeps_tables = true)
FLUSH(flush_all_el3, .world = TL_A64_WORLD_EL3)
FLUSH(flush_page_el3, .world = TL_A64_WORLD_EL3, .by_address = true)
FLUSH(flush_leaf_el3, .world = TL_A64_WORLD_EL3, .by_address = true, .keeps_tables = true)
#undef FLUSH

typedef struct row {
    uint32_t number; // op1:CRn:CRm:op2
    uint8_t level, scope;
    bool (*act)(tl_hart *h, const call *c);
} row;
#define NUMBER(op1, crn, crm, op2) ((uint32_t)(op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
static const row rows[] = {
#define SYSOP(op1, crn, crm, op2, level, action, scope) {NUMBER(op1, crn, crm, op2), level, scope, do_##action},
#include "isa/a64/sysop.def"
#undef SYSOP
};

bool tl_a64_sys(tl_hart *h, uint32_t bits, uint64_t operand) {
    const uint32_t number = bits >> 5 & 0x3fff;
    const uint64_t control = tl_a64(h)->sys.reg[TL_A64_R_SCTLR_EL1];
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const row *at = &rows[i];
        if (at->number != number || h->priv < at->level)
            continue;
        const uint32_t enable = at->act == do_zero ? TL_A64_SCTLR_DZE : TL_A64_SCTLR_UCI;
        if (h->priv == TL_A64_EL0 && !(control & enable))
            return tl_a64_trap_system(h, TL_A64_EL1, bits);
        const call c = {.operand = operand, .is_broadcast = at->scope == ALL};
        return at->act(h, &c);
    }
    return tl_a64_undefined(h, bits);
}

// -- Hints.

enum { YIELD = 1, WFE = 2, WFI = 3, SEV = 4, SEVL = 5 };
static uint32_t hint_of(uint32_t bits) { return bits >> 5 & 0x7f; }

bool tl_a64_is_nop(uint32_t bits) { return hint_of(bits) < WFE || hint_of(bits) > SEVL; }
bool tl_a64_is_wait(uint32_t bits) { return hint_of(bits) == WFE || hint_of(bits) == WFI; }

void tl_a64_get_event(tl_hart *h) { tl_a64(h)->sys.has_event = true; }

// The level that takes WFI or WFE as an exception; 0: none does.
static uint32_t wait_trap_of(const tl_hart *h, bool is_wfe) {
    const uint64_t *reg = tl_a64(h)->sys.reg;
    if (h->priv == TL_A64_EL0 && !(reg[TL_A64_R_SCTLR_EL1] & (is_wfe ? TL_A64_SCTLR_NTWE : TL_A64_SCTLR_NTWI)))
        return TL_A64_EL1;
    return h->priv != TL_A64_EL3 && (reg[TL_A64_R_SCR_EL3] & (is_wfe ? TL_A64_SCR_TWE : TL_A64_SCR_TWI)) ? TL_A64_EL3 : 0;
}

static bool wait(tl_hart *h, bool is_wfe) {
    tl_a64_system *sys = &tl_a64(h)->sys;
    if (tl_hart_pending(h) != 0)
        return true;
    const uint32_t el = wait_trap_of(h, is_wfe);
    if (el != 0) {
        const uint32_t iss = 1 << 24 | 14 << 20 | is_wfe; // CV, COND, TI
        return tl_trap(h, TL_A64_CAUSE_TRAPPED, tl_a64_trapped(el, tl_a64_syndrome(TL_A64_EC_WFX, iss)));
    }
    h->is_waiting = true;
    sys->waits_for_event = is_wfe;
    sys->next_event = is_wfe ? tl_a64_event_stream(h, h->now) : UINT64_MAX;
    if (sys->next_event != UINT64_MAX && sys->host->timer_changed)
        sys->host->timer_changed(sys->host->ctx, h);
    if (tl_a64(h)->debug.leaves != TL_A64_STAYS && sys->host && sys->host->waits)
        sys->host->waits(sys->host->ctx, h);
    tl_hart_stop_soon(h);
    return true;
}

// A hart that holds a reservation does not wait in WFE, because memory does not tell it when the
// reservation is lost. D1.17.1 permits that. A reservation that another hart has taken is an event.
bool tl_a64_hint(tl_hart *h, uint32_t bits) {
    tl_a64_system *sys = &tl_a64(h)->sys;
    if (!h->is_privileged)
        return true; // the user-mode personality runs other threads
    switch (hint_of(bits)) {
    case WFI: return wait(h, false);
    case WFE:
        if (!sys->has_event && !sys->is_exclusive && sys->host && sys->host->send_event)
            return wait(h, true);
        sys->has_event = false;
        sys->is_exclusive = h->reservation_paddr != TL_NO_LINE;
        return true;
    case SEVL: sys->has_event = true; return true;
    case SEV:
        sys->has_event = true;
        if (sys->host && sys->host->send_event)
            sys->host->send_event(sys->host->ctx, h);
        return true;
    default: return true;
    }
}
