// SPDX-License-Identifier: MIT
// The row of the instruction set for other parts (model/isa.h), and what follows from the control
// registers of translation: regime.h.
#include "isa/a64/regime.h"

#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "isa/a64/debug.h"
#include "isa/a64/exception.h"
#include "isa/a64/insn.h"
#include "isa/a64/sysreg.h"
#include "isa/a64/walk.h"

// -- Regime.

static const tl_regime el1_regime = {
    .data_view = {TL_VIEW_U, TL_VIEW_S, TL_VIEW_M},
    .vaddr_bits = TL_A64_VA_BITS + 1, // of a half each
    .crosses_fetches = true,
    .rights =
        {
            // EL0 reads and writes its own pages; EL1 all of them, because Armv8.0 has no PAN.
            [TL_VIEW_U] = {[TL_ACCESS_FETCH] = {TL_A64_PAGE_EL0_EXECUTE, 0, 0},
                           [TL_ACCESS_LOAD] = {TL_PAGE_READ, TL_PAGE_USER, TL_PAGE_USER},
                           [TL_ACCESS_STORE] = {TL_PAGE_WRITE, TL_PAGE_USER, TL_PAGE_USER}},
            [TL_VIEW_S] = {[TL_ACCESS_FETCH] = {TL_A64_PAGE_EL1_EXECUTE, 0, 0},
                           [TL_ACCESS_LOAD] = {TL_PAGE_READ, 0, 0},
                           [TL_ACCESS_STORE] = {TL_PAGE_WRITE, 0, 0}},
            [TL_VIEW_M] = {[TL_ACCESS_FETCH] = {TL_A64_PAGE_EL1_EXECUTE, 0, 0},
                           [TL_ACCESS_LOAD] = {TL_PAGE_READ, 0, 0},
                           [TL_ACCESS_STORE] = {TL_PAGE_WRITE, 0, 0}},
        },
};

static uint8_t fp_trap_of(const tl_a64_hart *a, uint32_t el) {
    const uint64_t enable = tl_bits(a->sys.reg[TL_A64_R_CPACR_EL1], TL_A64_CPACR_FPEN_LSB, 2);
    const bool is_trapped_to_el1 = el == TL_A64_EL0 ? enable != 3 : el == TL_A64_EL1 && !(enable & 1);
    if (is_trapped_to_el1)
        return TL_A64_EL1;
    return a->sys.reg[TL_A64_R_CPTR_EL3] & TL_A64_CPTR_TFP ? TL_A64_EL3 : 0;
}

static uint8_t tags_of(const tl_a64_hart *a, uint32_t el) {
    const uint64_t *reg = a->sys.reg;
    if (el == TL_A64_EL3)
        return tl_bits(reg[TL_A64_R_TCR_EL3], TL_A64_TCR3_TBI_LSB, 1) ? 3 : 0;
    return (uint8_t)tl_bits(reg[TL_A64_R_TCR_EL1], TL_A64_TCR_TBI0_LSB, 2);
}

// D5.9.1: TCR_EL1.A1 names the register with the ASID, TCR_EL1.AS its size.
static uint16_t asid_of(const uint64_t *reg) {
    const uint64_t tcr = reg[TL_A64_R_TCR_EL1], ttbr = reg[tcr & TL_A64_TCR_A1 ? TL_A64_R_TTBR1_EL1 : TL_A64_R_TTBR0_EL1];
    return tl_a64_asid(reg, (uint16_t)(ttbr >> 48));
}

uint16_t tl_a64_asid(const uint64_t *reg, uint16_t asid) { return reg[TL_A64_R_TCR_EL1] >> TL_A64_TCR_AS_LSB & 1 ? asid : asid & 0xff; }

uint8_t tl_a64_el1_world(const uint64_t *reg) {
    return reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_NS ? TL_A64_WORLD_NON_SECURE : TL_A64_WORLD_SECURE;
}

// The regime of EL3 is the one at work only where EL3 translates.
static void set_tags(tl_hart *h) {
    const uint64_t *reg = tl_a64(h)->sys.reg;
    const bool is_el3 = h->regime.is_paged[TL_VIEW_M];
    h->regime.world = is_el3 ? TL_A64_WORLD_EL3 : tl_a64_el1_world(reg);
    h->regime.asid = is_el3 ? 0 : asid_of(reg);
}

void tl_a64_regime_changed(tl_hart *h) {
    tl_a64_hart *a = tl_a64(h);
    const bool is_el3 = h->priv == TL_A64_EL3;
    const uint64_t el1_control = a->sys.reg[TL_A64_R_SCTLR_EL1], el3_control = a->sys.reg[TL_A64_R_SCTLR_EL3];
    const uint64_t control = is_el3 ? el3_control : el1_control;
    h->regime = el1_regime;
    h->regime.is_paged[TL_VIEW_U] = h->regime.is_paged[TL_VIEW_S] = el1_control & TL_A64_SCTLR_M;
    h->regime.is_paged[TL_VIEW_M] = is_el3 && (el3_control & TL_A64_SCTLR_M);
    set_tags(h);
    a->sys.fp_trap_el = fp_trap_of(a, h->priv);
    h->is_fp_off = a->sys.fp_trap_el != 0;
    a->sys.tagged = tags_of(a, h->priv);
    // Without translation all data is Device memory, whose accesses must be aligned (D5.2.9).
    a->sys.checks_alignment = (control & TL_A64_SCTLR_A) || !(control & TL_A64_SCTLR_M);
    a->sys.checks_sp = control & (h->priv == TL_A64_EL0 ? TL_A64_SCTLR_SA0 : TL_A64_SCTLR_SA);
}

static bool has_tags(const tl_hart *h) { return h->config->asid_bits != 0; }

static bool has_other_tags(const tl_regime *a, const tl_regime *b) { return a->world != b->world || a->asid != b->asid; }

// TLBs without tags for address spaces drop all entries for a new one.
void tl_a64_regime_written(tl_hart *h, uint32_t reg, uint64_t old) {
    const uint64_t changed = old ^ tl_a64(h)->sys.reg[reg];
    const bool is_control = reg == TL_A64_R_SCTLR_EL1 || reg == TL_A64_R_SCTLR_EL3;
    const bool is_table = reg == TL_A64_R_TTBR0_EL1 || reg == TL_A64_R_TTBR1_EL1 || reg == TL_A64_R_TTBR0_EL3 || reg == TL_A64_R_TCR_EL1 ||
                          reg == TL_A64_R_TCR_EL3;
    const uint32_t view = reg == TL_A64_R_SCTLR_EL3 || reg == TL_A64_R_TCR_EL3 || reg == TL_A64_R_TTBR0_EL3 ? TL_VIEW_M : TL_VIEW_S;
    const tl_regime before = h->regime;
    tl_a64_regime_changed(h);
    const bool is_other_space = has_tags(h) ? has_other_tags(&before, &h->regime) : is_table && before.is_paged[view];
    if ((is_control && (changed & TL_A64_SCTLR_M)) || is_other_space)
        h->port->context_changed(h);
}

// In TLBs without tags nothing tells translations of EL3 from those of the levels below. A change
// of level between the two drops them where EL3 translates.
void tl_a64_el_changed(tl_hart *h, uint32_t old_el) {
    const bool is_other_regime = (h->priv == TL_A64_EL3) != (old_el == TL_A64_EL3);
    const bool is_el3_paged = tl_a64(h)->sys.reg[TL_A64_R_SCTLR_EL3] & TL_A64_SCTLR_M;
    tl_a64_regime_changed(h);
    if (is_other_regime && is_el3_paged)
        h->port->context_changed(h);
}

uint64_t tl_a64_untag_for(const tl_hart *h, uint32_t el, uint64_t vaddr) {
    const bool is_upper = el != TL_A64_EL3 && (vaddr >> 55 & 1);
    if (!(tags_of(tl_a64(h), el) >> is_upper & 1))
        return vaddr;
    return is_upper ? vaddr | UINT64_C(0xff) << 56 : vaddr & UINT64_MAX >> 8;
}

// -- Translation without side effects.

static tl_fault peek(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry) {
    const tl_hart *h = walk->h;
    if (paddr - TL_RAM_BASE_PADDR >= h->config->ram_bytes)
        return TL_FAULT_ACCESS;
    memcpy(ret_entry, h->ram + (paddr - TL_RAM_BASE_PADDR), sizeof *ret_entry);
    return TL_FAULT_NONE;
}

bool tl_a64_translate(const tl_hart *h, uint32_t el, uint64_t vaddr, tl_access access, tl_a64_translation *ret) {
    enum { OUTER_SHAREABLE = 2 };
    const tl_a64_hart *a = tl_a64(h);
    const bool is_el3 = el == TL_A64_EL3;
    const uint64_t control = a->sys.reg[is_el3 ? TL_A64_R_SCTLR_EL3 : TL_A64_R_SCTLR_EL1];
    vaddr = tl_a64_untag_for(h, el, vaddr);
    *ret = (tl_a64_translation){.paddr = vaddr, .shareability = OUTER_SHAREABLE, .status = TL_A64_NO_FAULT};
    if (!(control & TL_A64_SCTLR_M)) {
        if (vaddr >> TL_A64_PA_BITS != 0)
            ret->status = TL_A64_FSC_ADDRESS_SIZE;
        return ret->status == TL_A64_NO_FAULT;
    }
    const uint32_t view = is_el3 ? TL_VIEW_M : el == TL_A64_EL1 ? TL_VIEW_S : TL_VIEW_U;
    const tl_rights *rights = &el1_regime.rights[view][access];
    const tl_page_walk walk = {.h = h, .vaddr = vaddr, .access = access, .rights = rights, .read = peek};
    tl_a64_leaf leaf;
    const tl_fault fault = tl_a64_walk(&walk, el, &leaf);
    ret->status = leaf.status;
    if (fault != TL_FAULT_NONE)
        return false;
    const uint64_t attributes = a->sys.reg[is_el3 ? TL_A64_R_MAIR_EL3 : TL_A64_R_MAIR_EL1];
    enum { NORMAL_NON_CACHEABLE = 0x44 };
    ret->paddr = leaf.page.paddr | (vaddr & ~tl_page_mask(leaf.page.level));
    ret->attributes = (uint8_t)tl_bits(attributes, 8 * (uint32_t)tl_bits(leaf.descriptor, 2, 3), 8);
    ret->is_non_secure = leaf.descriptor >> 5 & 1;
    if (ret->attributes >= 0x10 && ret->attributes != NORMAL_NON_CACHEABLE)
        ret->shareability = (uint8_t)tl_bits(leaf.descriptor, 8, 2);
    return tl_is_permitted(rights, leaf.page.flags);
}

// -- The row.

// TLBs keep this of a leaf beside the page.
static void set_page_tags(const tl_hart *h, const tl_a64_leaf *leaf, tl_page *page) {
    enum { NS_LSB = 5, AP_LSB = 6, SH_LSB = 8, NG_LSB = 11 };
    const bool is_el3 = h->regime.world == TL_A64_WORLD_EL3, is_non_global = !is_el3 && (leaf->descriptor >> NG_LSB & 1);
    const uint64_t mair = tl_a64(h)->sys.reg[is_el3 ? TL_A64_R_MAIR_EL3 : TL_A64_R_MAIR_EL1];
    const uint8_t memory = (uint8_t)tl_bits(mair, 8 * (uint32_t)tl_bits(leaf->descriptor, 2, 3), 8);
    const uint32_t ap = (uint32_t)tl_bits(leaf->descriptor, AP_LSB, 2), ap_field = is_el3 ? (ap & 2) << 1 : ap << 1 | 1;
    page->world = h->regime.world;
    page->asid = h->regime.asid;
    page->block_level = page->level;
    page->attributes =
        (uint16_t)((uint32_t)tl_a64_memory_type(memory, (uint32_t)tl_bits(leaf->descriptor, SH_LSB, 2)) |
                   ap_field << TL_A64_ATTRIBUTE_AP_LSB |
                   (uint32_t)((page->flags & TL_A64_PAGE_EL0_EXECUTE) != 0) << TL_A64_ATTRIBUTE_USER_EXECUTE_LSB |
                   (uint32_t)((page->flags & TL_A64_PAGE_EL1_EXECUTE) != 0) << TL_A64_ATTRIBUTE_OTHER_EXECUTE_LSB |
                   (uint32_t)(leaf->descriptor >> NS_LSB & 1) << TL_A64_ATTRIBUTE_NS_LSB | (is_non_global ? TL_ATTRIBUTE_NON_GLOBAL : 0u));
}

// TLBs hold a half of a block of 1 GiB, as those of a Cortex-A53 do.
static void split(const tl_page_walk *walk, tl_page *page) {
    enum { GIB_LEVEL = 2 };
    if (page->level != GIB_LEVEL)
        return;
    const uint64_t half = walk->vaddr & ~tl_page_mask(page->level) & tl_page_mask(TL_PAGE_512M);
    page->vaddr += half;
    page->paddr += half;
    page->level = TL_PAGE_512M;
}

static tl_fault walk(const tl_page_walk *walk, tl_page *ret_page) {
    tl_a64_leaf leaf;
    const tl_fault fault = tl_a64_walk(walk, walk->h->priv, &leaf);
    if (fault != TL_FAULT_NONE)
        return fault;
    if (!tl_is_permitted(walk->rights, leaf.page.flags))
        return TL_FAULT_PAGE;
    *ret_page = leaf.page;
    set_page_tags(walk->h, &leaf, ret_page);
    split(walk, ret_page);
    return TL_FAULT_NONE;
}

// The user-mode personality. The context is the address of the root table of 39-bit addresses, with
// a granule of 4 KiB. 0: addresses are physical. EL0 may do what Linux permits to it.
enum { USER_VADDR_BITS = 39, IPS_40_BITS = 2 };
static void set_context(tl_hart *h, uint64_t context) {
    uint64_t *reg = tl_a64(h)->sys.reg;
    h->context = reg[TL_A64_R_TTBR0_EL1] = context;
    h->regime = el1_regime;
    h->regime.is_paged[TL_VIEW_U] = context != 0;
    h->regime.vaddr_bits = USER_VADDR_BITS + 1; // not sign-extended in the lower half
    reg[TL_A64_R_SCTLR_EL1] = context != 0 ? reg[TL_A64_R_SCTLR_EL1] | TL_A64_SCTLR_M : reg[TL_A64_R_SCTLR_EL1] & ~(uint64_t)TL_A64_SCTLR_M;
}

static void init(tl_hart *h) {
    tl_a64_hart *a = tl_a64(h);
    tl_a64_sysregs_reset(h);
    a->sys.reg[TL_A64_R_SCTLR_EL1] |= TL_A64_SCTLR_UCI | TL_A64_SCTLR_UCT | TL_A64_SCTLR_DZE | TL_A64_SCTLR_SA0;
    a->sys.reg[TL_A64_R_CPACR_EL1] = UINT64_C(3) << TL_A64_CPACR_FPEN_LSB;
    a->sys.reg[TL_A64_R_TCR_EL1] =
        (64 - USER_VADDR_BITS) | UINT64_C(1) << TL_A64_TCR_TBI0_LSB | (uint64_t)IPS_40_BITS << TL_A64_TCR_IPS_LSB;
    a->sys.tagged = 1;
    a->sys.reg[TL_A64_R_CNTKCTL_EL1] = TL_A64_CNTKCTL_EL0VCTEN;
    h->irqs_present = h->irqs_enabled = h->irqs_wired = 1 << TL_A64_IRQ | 1 << TL_A64_FIQ | 1 << TL_A64_SERROR | 1 << TL_A64_HALT;
    set_context(h, 0);
}

// Armv8 has no protection of physical memory; that is the bus's.
static bool permits(const tl_hart *h, uint64_t paddr, tl_access access, uint32_t view, tl_stretch *ret_around) {
    (void)h, (void)paddr, (void)access, (void)view;
    *ret_around = (tl_stretch){0, UINT64_MAX};
    return true;
}

// D5.4.5, H6 and the pseudocode of ExternalSecureNoninvasiveDebugEnabled: the authentication inputs
// that permit it override MDCR_EL3.
static uint32_t pmu_state(const tl_hart *h, tl_priv el) {
    const uint64_t *reg = tl_a64(h)->sys.reg;
    if (!h->is_privileged)
        return 0;
    const bool is_secure = el == TL_A64_EL3 || !(reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_NS);
    const bool is_overridden = (tl_a64_authentication(h) >> TL_A64_DBGAUTHSTATUS_SNID_LSB & 3) == 3;
    const bool is_prohibited = is_secure && !is_overridden && !(reg[TL_A64_R_MDCR_EL3] & TL_A64_MDCR_SPME);
    return (is_secure ? TL_PMU_SECURE : 0) | (is_prohibited ? TL_PMU_PROHIBITED : 0) | (is_overridden ? 0 : TL_PMU_MAY_PROHIBIT) |
           (tl_a64_os_locked(h) ? TL_PMU_OS_LOCKED : 0) | (tl_a64_double_locked(h) ? TL_PMU_DOUBLE_LOCKED : 0) |
           (h->is_halted ? TL_PMU_HALTED : 0) | (tl_a64(h)->debug.is_off ? TL_PMU_OFF : 0) |
           (tl_a64_pmu_access(h) ? 0 : TL_PMU_OUTSIDE_DENIED) |
           ((tl_a64_authentication(h) >> TL_A64_DBGAUTHSTATUS_NSNID_LSB & 3) == 3 ? 0 : TL_PMU_CLOSED);
}

static void pmu_refused(tl_hart *h) { tl_a64(h)->debug.sticky |= TL_A64_EDPRSR_SPMAD; }

static void pmu_interrupt(tl_hart *h, bool level) {
    const tl_a64_host *host = tl_a64(h)->sys.host;
    if (host && host->pmu_interrupt)
        host->pmu_interrupt(host->ctx, h, level);
}

#define X(n) offsetof(tl_a64_hart, x[n])
static void disassemble(uint32_t bits, uint64_t pc, char *buffer, size_t size) {
    tl_a64_decoded insn;
    tl_a64_decode(bits, &insn);
    (void)tl_a64_disassemble(&insn, pc, NULL, NULL, buffer, size);
}

static uint64_t target(uint32_t bits, uint64_t pc) {
    tl_a64_decoded insn;
    tl_a64_decode(bits, &insn);
    const tl_class cls = (tl_class)tl_a64_rows[insn.opc].cls;
    return cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL ? pc + (uint64_t)(int64_t)insn.imm : UINT64_MAX;
}

const tl_isa tl_isa_a64 = {
    .name = "aarch64",
    .number = TL_ISA_AARCH64,
    .elf_machine = 183,
    .views = {[TL_A64_EL0] = TL_VIEW_U, [TL_A64_EL1] = TL_VIEW_S, [TL_A64_EL2] = TL_VIEW_M, [TL_A64_EL3] = TL_VIEW_M},
    .hart_bytes = sizeof(tl_a64_hart),
    .registers_offset = offsetof(tl_a64_hart, x),
    .init = init,
    .set_context = set_context,
    .pmus_changed = tl_a64_route_sysregs,
    .walk = walk,
    .permits = permits,
    .disassemble = disassemble,
    .target = target,
    .n_page_levels = TL_N_PAGE_LEVELS,
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
            [TL_A64_CAUSE_SMC] = TL_TRAP_ILLEGAL,
            [TL_A64_CAUSE_TRAPPED] = TL_TRAP_ILLEGAL,
            [TL_A64_CAUSE_SP_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_A64_CAUSE_CACHE_PAGE] = TL_TRAP_LOAD_PAGE,
            [TL_A64_CAUSE_CACHE_STORE_PAGE] = TL_TRAP_STORE_PAGE,
            [TL_A64_CAUSE_BREAKPOINT] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_WATCH_LOAD] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_WATCH_STORE] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_SOFTWARE_STEP] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_HLT] = TL_TRAP_BREAKPOINT,
            [TL_A64_CAUSE_SOFTWARE_ACCESS] = TL_TRAP_BREAKPOINT,
        },
    .power_on = tl_a64_power_on,
    .take_exception = tl_a64_take_exception,
    .next_interrupt = tl_a64_next_interrupt,
    .take_interrupt = tl_a64_take_interrupt,
    .handler = tl_a64_handler,
    .pmu_state = pmu_state,
    .pmu_refused = pmu_refused,
    .pmu_interrupt = pmu_interrupt,
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
