// SPDX-License-Identifier: MIT
// Breakpoints, watchpoints and steps: D2.8 to D2.12, H3.2. A breakpoint on an address is one of the
// places where the engine stops anyway. A line that a watchpoint watches has no data slot. All
// accesses of the line therefore call the port that stands before memory's.
#include <string.h>

#include "base/bits.h"
#include "isa/a64/debug.h"
#include "isa/a64/exception.h"
#include "isa/a64/insn.h"
#include "isa/a64/regime.h"

enum { ENABLED = 1, LINKED_ADDRESS = 1, CONTEXT = 2, LINKED_CONTEXT = 3, VADDR_BITS = 49 };

static uint64_t reg_of(const tl_hart *h, uint32_t reg) { return tl_a64(h)->sys.reg[reg]; }
static uint64_t break_value(const tl_hart *h, uint32_t n) { return reg_of(h, TL_A64_R_DBGBVR0_EL1 + 2 * n); }
static uint32_t break_control(const tl_hart *h, uint32_t n) { return (uint32_t)reg_of(h, TL_A64_R_DBGBCR0_EL1 + 2 * n); }
static uint64_t watch_value(const tl_hart *h, uint32_t n) { return reg_of(h, TL_A64_R_DBGWVR0_EL1 + 2 * n); }
static uint32_t watch_control(const tl_hart *h, uint32_t n) { return (uint32_t)reg_of(h, TL_A64_R_DBGWCR0_EL1 + 2 * n); }
static uint32_t type_of(uint32_t control) { return (uint32_t)tl_bits(control, 20, 4); }
static uint64_t address_of(uint64_t value) { return (uint64_t)tl_sext(value, VADDR_BITS) & ~UINT64_C(3); }

// AArch64.GenerateDebugExceptionsFrom, with PSTATE.D as `daif` has it.
static bool are_enabled(const tl_hart *h, uint32_t el, uint64_t daif) {
    if (!h->is_privileged || h->is_halted || el > TL_A64_EL1 || tl_a64_os_locked(h) || tl_a64_double_locked(h))
        return false;
    const bool is_secure = !(reg_of(h, TL_A64_R_SCR_EL3) & TL_A64_SCR_NS);
    if (is_secure && (reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_SDD))
        return false;
    return el == TL_A64_EL0 || ((reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_KDE) && !(daif & TL_A64_SPSR_D));
}

bool tl_a64_debug_exceptions(const tl_hart *h, uint32_t el) { return are_enabled(h, el, tl_a64(h)->sys.daif); }

// A match enters Debug state, or is an exception.
static bool has_effect(const tl_hart *h) {
    return tl_a64_halts_on_match(h) || ((reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_MDE) && tl_a64_debug_exceptions(h, h->priv));
}

// D2.9.3: the context of a breakpoint that is linked to.
static bool context_matches(const tl_hart *h, uint32_t n) {
    return n >= TL_A64_FIRST_CONTEXT && n < TL_A64_N_BREAKPOINTS && h->priv <= TL_A64_EL1 &&
           (uint32_t)break_value(h, n) == (uint32_t)reg_of(h, TL_A64_R_CONTEXTIDR_EL1);
}

// D2.9.2: HMC, SSC and the levels, and the linked breakpoint.
static bool state_matches(const tl_hart *h, uint32_t control, uint32_t el, bool is_linked) {
    const uint32_t levels = (uint32_t)tl_bits(control, 1, 2), security = (uint32_t)tl_bits(control, 14, 2);
    const bool is_higher = control >> 13 & 1, is_secure = tl_a64_is_secure(h);
    const bool is_level = el == TL_A64_EL3 ? is_higher && !(security & 1) : el == TL_A64_EL1 ? levels & 1 : levels >> 1;
    if (!is_level || (security == 1 && is_secure) || (security == 2 && !is_secure))
        return false;
    if (!is_linked)
        return true;
    const uint32_t link = (uint32_t)tl_bits(control, 16, 4);
    return link < TL_A64_N_BREAKPOINTS && (break_control(h, link) & ENABLED) && type_of(break_control(h, link)) == LINKED_CONTEXT &&
           context_matches(h, link);
}

static bool breakpoint_matches(const tl_hart *h, uint32_t n) {
    const uint32_t control = break_control(h, n), type = type_of(control);
    if (!(control & ENABLED))
        return false;
    if (type == CONTEXT)
        return context_matches(h, n) && state_matches(h, control, h->priv, false);
    return type <= LINKED_ADDRESS && address_of(break_value(h, n)) == (h->pc & ~UINT64_C(3)) && tl_bits(control, 5, 4) != 0 &&
           state_matches(h, control, h->priv, type == LINKED_ADDRESS);
}

bool tl_a64_at_break(tl_hart *h) {
    bool is_match = false;
    for (uint32_t n = 0; n < TL_A64_N_BREAKPOINTS; n++)
        is_match = is_match || breakpoint_matches(h, n);
    tl_a64_translation at;
    // An instruction that cannot be fetched is an abort (D1.13.1).
    if (!is_match || !has_effect(h) || (h->pc & 3) || !tl_a64_translate(h, h->priv, h->pc, TL_ACCESS_FETCH, &at))
        return false;
    if (tl_a64_halts_on_match(h)) {
        tl_a64_halt(h, TL_A64_STATUS_BREAKPOINT);
        return true;
    }
    (void)tl_trap(h, TL_A64_CAUSE_BREAKPOINT, h->pc);
    tl_a64_take_exception(h);
    return true;
}

// -- Watchpoints.

typedef struct watched { // bytes: those of a mask, or some of a doubleword
    uint64_t first, size;
    uint8_t bytes; // of a doubleword
} watched;

static watched watched_by(const tl_hart *h, uint32_t n) {
    const uint32_t control = watch_control(h, n), mask = (uint32_t)tl_bits(control, 24, 5);
    const uint64_t address = address_of(watch_value(h, n));
    if (mask >= 3)
        return (watched){address & ~((UINT64_C(1) << mask) - 1), UINT64_C(1) << mask, 0xff};
    // D2.10.5: an address that names the upper word of a doubleword has four selectable bytes.
    const uint8_t select = (uint8_t)tl_bits(control, 5, 8);
    return (watched){address & ~UINT64_C(7), 8, address & 4 ? (uint8_t)(select << 4) : select};
}

static bool is_watched_byte(const watched *w, uint64_t vaddr, uint64_t size_bytes) {
    if (vaddr + size_bytes <= w->first || vaddr >= w->first + w->size)
        return false;
    if (w->size > 8)
        return true;
    for (uint64_t i = 0; i < 8; i++)
        if ((w->bytes >> i & 1) && w->first + i - vaddr < size_bytes)
            return true;
    return false;
}

static bool watchpoint_matches(const tl_hart *h, uint32_t n, uint64_t vaddr, uint32_t size_bytes, bool is_store) {
    enum { LOADS = 1, STORES = 2 };
    const uint32_t control = watch_control(h, n), uses = (uint32_t)tl_bits(control, 3, 2);
    // An unprivileged access of EL1 has the view of EL0.
    const uint32_t el = h->view == TL_VIEW_U ? TL_A64_EL0 : h->priv;
    const watched w = watched_by(h, n);
    return (control & ENABLED) && (uses & (is_store ? STORES : LOADS)) && is_watched_byte(&w, vaddr, size_bytes) &&
           state_matches(h, control, el, control >> 20 & 1);
}

// Records a watchpoint that the access hits; false. A fault of translation comes first (D1.13.1).
static bool passes(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store) {
    bool is_match = false;
    for (uint32_t n = 0; n < TL_A64_N_WATCHPOINTS; n++)
        is_match = is_match || watchpoint_matches(h, n, vaddr, size_bytes, is_store);
    if (!is_match || h->is_halted || !has_effect(h))
        return true;
    tl_a64_translation at;
    const uint32_t el = h->view == TL_VIEW_U ? TL_A64_EL0 : h->priv;
    if (!tl_a64_translate(h, el, vaddr, is_store ? TL_ACCESS_STORE : TL_ACCESS_LOAD, &at))
        return true;
    return tl_trap(h, is_store ? TL_A64_CAUSE_WATCH_STORE : TL_A64_CAUSE_WATCH_LOAD, vaddr);
}

static bool is_watched_line(const tl_hart *h, uint64_t vline) {
    for (uint32_t n = 0; n < TL_A64_N_WATCHPOINTS; n++) {
        const watched w = watched_by(h, n);
        if ((watch_control(h, n) & ENABLED) && vline + ~h->line_mask >= w.first && vline < w.first + w.size)
            return true;
    }
    return false;
}

// No slot shows a line that is watched.
static void forget(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    const uint64_t lines[] = {vaddr & h->line_mask, (vaddr + size_bytes - 1) & h->line_mask};
    for (uint32_t i = 0; i < TL_COUNT_OF(lines); i++) {
        tl_data_slot *slot = tl_data_slot_of(h, lines[i]);
        if (is_watched_line(h, lines[i]))
            slot->read_tag = slot->write_tag = TL_NO_LINE;
    }
}

static const tl_mem_port *inner_of(const tl_hart *h) { return tl_a64(h)->debug.inner; }

static bool load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (!passes(h, vaddr, size_bytes, false))
        return false;
    const bool is_done = inner_of(h)->load(h, vaddr, size_bytes);
    forget(h, vaddr, size_bytes);
    return is_done;
}
static bool store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    if (!passes(h, vaddr, size_bytes, true))
        return false;
    const bool is_done = inner_of(h)->store(h, vaddr, size_bytes, value);
    forget(h, vaddr, size_bytes);
    return is_done;
}
// NULL: the engine calls load or store.
static uint8_t *reach_nothing(tl_hart *h, uint64_t vaddr, uint64_t last_byte) { return (void)h, (void)vaddr, (void)last_byte, NULL; }
static bool look_up(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store) {
    const bool is_done = inner_of(h)->look_up(h, vaddr, size_bytes, is_store);
    forget(h, vaddr, size_bytes);
    return is_done;
}
static bool load_reserved(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (!passes(h, vaddr, size_bytes, false))
        return false;
    const bool is_done = inner_of(h)->load_reserved(h, vaddr, size_bytes);
    forget(h, vaddr, size_bytes);
    return is_done;
}
static bool store_conditional(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    if (!passes(h, vaddr, size_bytes, true))
        return false;
    const bool is_done = inner_of(h)->store_conditional(h, vaddr, size_bytes, value);
    forget(h, vaddr, size_bytes);
    return is_done;
}

static void watch(tl_hart *h, bool is_on) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    if (!is_on) {
        if (d->inner)
            h->port = d->inner;
        d->inner = NULL;
        return;
    }
    if (!d->inner) {
        d->inner = h->port;
        d->port = *h->port;
        d->port.load = load;
        d->port.store = store;
        d->port.reach_load = d->port.reach_store = reach_nothing;
        d->port.look_up = look_up;
        d->port.load_reserved = load_reserved;
        d->port.store_conditional = store_conditional;
        h->port = &d->port;
    }
    for (uint32_t i = 0; i < TL_N_VIEWS * TL_DATA_SLOTS; i++)
        h->data_slot[i].read_tag = h->data_slot[i].write_tag = TL_NO_LINE;
}

// -- The list of breakpoints.

static bool is_armed(const tl_hart *h) {
    return !tl_a64_os_locked(h) && ((tl_a64(h)->debug.edscr & TL_A64_EDSCR_HDE) || (reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_MDE));
}

static uint32_t own_breaks(const tl_hart *h, uint64_t ret_pc[TL_A64_N_BREAKPOINTS]) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < TL_A64_N_BREAKPOINTS && is_armed(h); n++)
        if ((break_control(h, n) & ENABLED) && type_of(break_control(h, n)) <= LINKED_ADDRESS)
            ret_pc[count++] = address_of(break_value(h, n));
    return count;
}
_Static_assert((int)TL_A64_N_BREAKPOINTS <= (int)TL_MAX_OWN_BREAKS, "the list has room");

static void make_list(tl_a64_debug *d, const uint64_t *own, uint32_t n_own) {
    tl_breaks *list = &d->breaks;
    list->n = 0;
    list->filter = 0;
    list->generation += 1;
    for (uint32_t i = 0; d->user && i < d->user->n; i++)
        list->pc[list->n++] = d->user->pc[i];
    for (uint32_t i = 0; i < n_own; i++)
        list->pc[list->n++] = own[i];
    for (uint32_t i = 0; i < list->n; i++)
        list->filter |= tl_break_bit(list->pc[i]);
}

const tl_breaks *tl_a64_breaks(tl_hart *h, const tl_breaks *user) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    uint64_t own[TL_A64_N_BREAKPOINTS];
    const uint32_t n_own = own_breaks(h, own), generation = user ? user->generation : 0;
    const bool is_same = user == d->user && generation == d->user_generation && h->breaks == &d->breaks;
    d->user = user;
    d->user_generation = generation;
    if (n_own == 0)
        return user;
    const uint32_t n_user = user ? user->n : 0;
    if (!is_same || d->breaks.n != n_user + n_own || memcmp(&d->breaks.pc[n_user], own, n_own * sizeof *own) != 0)
        make_list(d, own, n_own);
    return &d->breaks;
}

void tl_a64_debug_changed(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    if (!h->is_privileged)
        return;
    h->breaks = tl_a64_breaks(h, d->user);
    bool is_watching = false;
    d->checks_each = false;
    for (uint32_t n = 0; n < TL_A64_N_WATCHPOINTS; n++)
        is_watching = is_watching || (watch_control(h, n) & ENABLED);
    for (uint32_t n = TL_A64_FIRST_CONTEXT; n < TL_A64_N_BREAKPOINTS; n++)
        d->checks_each = d->checks_each || ((break_control(h, n) & ENABLED) && type_of(break_control(h, n)) == CONTEXT);
    d->checks_each = d->checks_each && is_armed(h);
    watch(h, is_watching && is_armed(h));
    tl_hart_stop_soon(h);
    const tl_a64_host *host = tl_a64(h)->sys.host;
    if (tl_a64_steps(h) && host && host->attend)
        host->attend(host->ctx, h);
}

// -- Steps.

bool tl_a64_is_software_step(const tl_hart *h) {
    return (reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_SS) && tl_a64_debug_exceptions(h, h->priv);
}

bool tl_a64_step_of_return(const tl_hart *h, uint32_t el, uint64_t spsr) {
    return (reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_SS) && (spsr & TL_A64_SPSR_SS) && !tl_a64_debug_exceptions(h, h->priv) &&
           are_enabled(h, el, spsr);
}

bool tl_a64_steps(const tl_hart *h) {
    const tl_a64_debug *d = &tl_a64(h)->debug;
    return d->step == TL_A64_STEP_NOT_PENDING || (d->edesr & TL_A64_EDESR_SS) || d->checks_each ||
           (reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_SS);
}

// Whether the instruction at pc is a load-exclusive, as the syndromes of steps have it.
static bool is_exclusive_at(const tl_hart *h) {
    tl_a64_translation at;
    if ((h->pc & 3) || !tl_a64_translate(h, h->priv, h->pc, TL_ACCESS_FETCH, &at) || at.paddr - TL_RAM_BASE_PADDR >= h->config->ram_bytes)
        return false;
    uint32_t bits;
    memcpy(&bits, h->ram + (at.paddr - TL_RAM_BASE_PADDR), sizeof bits);
    tl_a64_decoded insn;
    tl_a64_decode(bits, &insn);
    return tl_a64_rows[insn.opc].cls == TL_CLASS_LR;
}

static bool attend_halting_step(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    const bool has_stepped = h->instret != d->step_instret;
    if (d->step == TL_A64_STEP_NOT_PENDING && (has_stepped || d->has_taken)) {
        d->edesr |= TL_A64_EDESR_SS;
        d->step = TL_A64_STEP_DONE;
    }
    if (!(d->edesr & TL_A64_EDESR_SS) || !tl_a64_may_halt(h))
        return false;
    tl_a64_halt(h, d->step != TL_A64_STEP_DONE || !has_stepped || d->has_taken ? TL_A64_STATUS_STEP_NO_SYNDROME
                   : d->is_step_exclusive                                      ? TL_A64_STATUS_STEP_EXCLUSIVE
                                                                               : TL_A64_STATUS_STEP);
    return true;
}

static bool attend_software_step(tl_hart *h) {
    tl_a64_hart *a = tl_a64(h);
    tl_a64_debug *d = &a->debug;
    const bool is_active = tl_a64_is_software_step(h), has_stepped = d->is_software_step && h->instret != d->software_instret;
    if (is_active && has_stepped)
        a->sys.is_stepped = false;
    d->is_software_step = is_active;
    d->software_instret = h->instret;
    if (!is_active || a->sys.is_stepped)
        return false;
    const uint32_t exclusive = d->is_step_exclusive ? TL_A64_STEP_EX : 0;
    d->is_software_step = false;
    (void)tl_trap(h, TL_A64_CAUSE_SOFTWARE_STEP, has_stepped ? TL_A64_STEP_ISV | exclusive : 0);
    tl_a64_take_exception(h);
    return true;
}

bool tl_a64_attend(tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    if (h->is_halted)
        return false;
    if (attend_halting_step(h) || attend_software_step(h) || (d->checks_each && tl_a64_at_break(h)))
        return true;
    if (d->step == TL_A64_STEP_NOT_PENDING || d->is_software_step)
        d->is_step_exclusive = is_exclusive_at(h);
    return false;
}
