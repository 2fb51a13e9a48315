// SPDX-License-Identifier: MIT
// The row of the instruction set for other parts (model/isa.h). Addresses are physical: translation
// (VMSAv8-64) is absent, and so are exception levels above EL0.
#include <stddef.h>

#include "isa/a64/hart.h"

static void set_context(tl_hart *h, uint64_t context) {
    h->context = context;
    h->regime = (tl_regime){.vaddr_bits = 48};
}

static void init(tl_hart *h) { set_context(h, 0); }

static void pmus_changed(tl_hart *h) { (void)h; } // no PMU has registers here

static tl_fault walk(const tl_page_walk *walk, tl_page *ret_page) { // never asked: nothing is paged
    (void)walk, (void)ret_page;
    return TL_FAULT_PAGE;
}

static bool permits(const tl_hart *h, uint64_t paddr, tl_access access, uint32_t view, tl_stretch *ret_around) {
    (void)h, (void)paddr, (void)access, (void)view;
    *ret_around = (tl_stretch){0, UINT64_MAX};
    return true;
}

#define X(n) offsetof(tl_a64_hart, x[n])
const tl_isa tl_isa_a64 = {
    .name = "aarch64",
    .views = {[TL_A64_EL0] = TL_VIEW_U, [TL_A64_EL1] = TL_VIEW_S, [TL_A64_EL2] = TL_VIEW_M, [TL_A64_EL3] = TL_VIEW_M},
    .hart_bytes = sizeof(tl_a64_hart),
    .registers_offset = offsetof(tl_a64_hart, x),
    .init = init,
    .set_context = set_context,
    .pmus_changed = pmus_changed,
    .walk = walk,
    .permits = permits,
    .causes =
        {
            [TL_FAULT_PAGE] = {TL_A64_CAUSE_FETCH_PAGE, TL_A64_CAUSE_LOAD_PAGE, TL_A64_CAUSE_STORE_PAGE},
            [TL_FAULT_ACCESS] = {TL_A64_CAUSE_FETCH_ACCESS, TL_A64_CAUSE_LOAD_ACCESS, TL_A64_CAUSE_STORE_ACCESS},
            [TL_FAULT_MISALIGNED] = {TL_A64_CAUSE_PC_MISALIGNED, TL_A64_CAUSE_LOAD_MISALIGNED, TL_A64_CAUSE_STORE_MISALIGNED},
        },
    .trap_kinds =
        {
            [TL_A64_CAUSE_UNDEFINED] = TL_TRAP_ILLEGAL,
            [TL_A64_CAUSE_SVC] = TL_TRAP_SYSTEM_CALL,
            [TL_A64_CAUSE_BRK] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_PC_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_A64_CAUSE_FETCH_PAGE] = TL_TRAP_FETCH,
            [TL_A64_CAUSE_FETCH_ACCESS] = TL_TRAP_FETCH,
            [TL_A64_CAUSE_LOAD_PAGE] = TL_TRAP_LOAD_PAGE,
            [TL_A64_CAUSE_LOAD_ACCESS] = TL_TRAP_LOAD_ACCESS,
            [TL_A64_CAUSE_LOAD_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_A64_CAUSE_STORE_PAGE] = TL_TRAP_STORE_PAGE,
            [TL_A64_CAUSE_STORE_ACCESS] = TL_TRAP_STORE_ACCESS,
            [TL_A64_CAUSE_STORE_MISALIGNED] = TL_TRAP_MISALIGNED,
        },
    .roles =
        {
            [TL_ROLE_RESULT] = X(0),
            [TL_ROLE_ARGUMENTS] = X(0),
            [TL_ROLE_SYSTEM_CALL] = X(8),
            [TL_ROLE_STACK] = X(TL_A64_SP),
            [TL_ROLE_FRAME] = X(29),
            [TL_ROLE_RETURN] = X(30),
        },
};
