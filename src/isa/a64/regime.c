// SPDX-License-Identifier: MIT
// The row of the instruction set for other parts (model/isa.h), and translation for programs of the
// Linux personality: VMSAv8-64 stage 1 with a 4 KiB granule and 39-bit addresses. The context is
// the address of the root table, as TTBR0_EL1 has it; 0: addresses are physical. Exception levels
// above EL0 are absent.
#include <stddef.h>

#include "isa/a64/hart.h"

enum { PAGE_BITS = 12, LEVEL_BITS = 9, N_LEVELS = 3, VADDR_BITS = PAGE_BITS + LEVEL_BITS * N_LEVELS };

// Addresses of the lower half are not sign-extended: they have one bit more than the tables.
static void set_context(tl_hart *h, uint64_t context) {
    static const uint8_t user = TL_PAGE_USER;
    h->context = context;
    h->regime = (tl_regime){
        .is_paged = {[TL_VIEW_U] = context != 0},
        .data_view = {TL_VIEW_U, TL_VIEW_S, TL_VIEW_M},
        .vaddr_bits = VADDR_BITS + 1,
        .rights = {[TL_VIEW_U] = {[TL_ACCESS_FETCH] = {TL_PAGE_EXECUTE, user, user},
                                  [TL_ACCESS_LOAD] = {TL_PAGE_READ, user, user},
                                  [TL_ACCESS_STORE] = {TL_PAGE_WRITE, user, user}}},
    };
}

static void init(tl_hart *h) { set_context(h, 0); }

static void pmus_changed(tl_hart *h) { (void)h; } // no PMU has registers here

// Descriptors: sec. D8.3.
enum { VALID = 1 << 0, IS_TABLE = 1 << 1, AP_USER = 1 << 6, AP_READ_ONLY = 1 << 7, AF = 1 << 10, PADDR_BITS = 48 };
static const uint64_t UXN = UINT64_C(1) << 54;

static uint8_t flags_of(uint64_t descriptor) { // as EL0 has them
    const bool is_readable = descriptor & AP_USER, is_writable = is_readable && !(descriptor & AP_READ_ONLY);
    uint32_t flags = TL_PAGE_VALID | TL_PAGE_USER | TL_PAGE_ACCESSED;
    flags |= is_readable ? (uint32_t)TL_PAGE_READ : 0;
    flags |= is_writable ? (uint32_t)(TL_PAGE_WRITE | TL_PAGE_DIRTY) : 0; // v8.0 keeps no dirty state
    return (uint8_t)(flags | (descriptor & UXN ? 0 : (uint32_t)TL_PAGE_EXECUTE));
}

static tl_fault walk(const tl_page_walk *walk, tl_page *ret_page) {
    uint64_t table_paddr = walk->h->context;
    if (walk->vaddr >> VADDR_BITS != 0)
        return TL_FAULT_PAGE;
    for (uint32_t level = N_LEVELS; level-- > 0;) {
        const uint32_t lsb = PAGE_BITS + LEVEL_BITS * level;
        uint64_t descriptor;
        const tl_fault fault = walk->read(walk, table_paddr + 8 * tl_bits(walk->vaddr, lsb, LEVEL_BITS), &descriptor);
        if (fault != TL_FAULT_NONE)
            return fault;
        const bool is_leaf = level == 0 || !(descriptor & IS_TABLE);
        if (!(descriptor & VALID) || (level == 0 && !(descriptor & IS_TABLE)))
            return TL_FAULT_PAGE;
        if (!is_leaf) {
            table_paddr = tl_bits(descriptor, PAGE_BITS, PADDR_BITS - PAGE_BITS) << PAGE_BITS;
            continue;
        }
        const uint8_t flags = flags_of(descriptor);
        if (!(descriptor & AF) || !tl_is_permitted(walk->rights, flags))
            return TL_FAULT_PAGE;
        *ret_page = (tl_page){
            .vaddr = walk->vaddr >> lsb << lsb, .paddr = tl_bits(descriptor, lsb, PADDR_BITS - lsb) << lsb, .level = level, .flags = flags};
        return TL_FAULT_NONE;
    }
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
    .number = TL_ISA_AARCH64,
    .elf_machine = 183,
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
