// SPDX-License-Identifier: MIT
// Translation and protection of the RISC-V privileged manual (1.12). They are page tables of Sv39
// and Sv48, rights by mstatus, and physical memory protection. Memory asks through the row at the
// end (model/isa.h).
#include "isa/rv/regime.h"

#include "isa/rv/csr.h"
#include "isa/rv/insn.h"
#include "isa/rv/privileged.h"

#include <stddef.h>

#include "base/bits.h"

enum { PAGE_BITS = 12, LEVEL_BITS = 9, PPN_BITS = 44, ENTRY_BYTES = 8 };
static const uint64_t PTE_RESERVED = UINT64_C(0x3ff) << 54; // Svnapot and Svpbmt are not there

// TLBs keep the flags in the bits that an entry has them in.
_Static_assert((int)TL_PTE_R == (int)TL_PAGE_READ && (int)TL_PTE_W == (int)TL_PAGE_WRITE && (int)TL_PTE_X == (int)TL_PAGE_EXECUTE &&
                   (int)TL_PTE_U == (int)TL_PAGE_USER && (int)TL_PTE_D == (int)TL_PAGE_DIRTY && (int)TL_PTE_V == (int)TL_PAGE_VALID,
               "flags");

static uint32_t n_levels(uint64_t satp) { return satp >> TL_SATP_MODE_LSB == TL_SATP_SV48 ? 4 : 3; }

// "Virtual Address Translation Process" (sec. 4.3.2) with hardware updates of A and D (Svadu).
TL_ALWAYS_INLINE tl_fault walk_levels(const tl_page_walk *walk, uint32_t levels, tl_page *ret_page) {
    uint64_t table_paddr = tl_bits(walk->h->context, 0, PPN_BITS) << PAGE_BITS;
    for (uint32_t level = levels; level-- > 0;) {
        uint64_t pte_paddr = table_paddr + tl_bits(walk->vaddr, PAGE_BITS + LEVEL_BITS * level, LEVEL_BITS) * ENTRY_BYTES, pte;
        tl_fault fault = walk->read(walk, pte_paddr, &pte);
        if (fault != TL_FAULT_NONE)
            return fault;
        uint64_t next_paddr = tl_bits(pte, TL_PTE_PPN_LSB, PPN_BITS) << PAGE_BITS;
        if (!(pte & TL_PTE_V) || (pte & (TL_PTE_R | TL_PTE_W)) == TL_PTE_W || (pte & PTE_RESERVED))
            return TL_FAULT_PAGE;
        // The entry points to the next table. These bits are reserved in such an entry.
        if (!(pte & (TL_PTE_R | TL_PTE_X))) {
            if (pte & (TL_PTE_A | TL_PTE_D | TL_PTE_U))
                return TL_FAULT_PAGE;
            table_paddr = next_paddr;
            continue;
        }
        const uint64_t mask = ~UINT64_C(0) << (PAGE_BITS + LEVEL_BITS * level);
        if ((next_paddr & ~mask) != 0 || !tl_is_permitted(walk->rights, (uint8_t)pte))
            return TL_FAULT_PAGE;
        uint64_t wanted = pte | TL_PTE_A | (walk->access == TL_ACCESS_STORE ? (uint64_t)TL_PTE_D : 0);
        if (wanted != pte) {
            fault = walk->write(walk, pte_paddr, wanted);
            if (fault != TL_FAULT_NONE)
                return fault;
        }
        *ret_page = (tl_page){.vaddr = walk->vaddr & mask, .paddr = next_paddr, .level = (uint8_t)level, .flags = (uint8_t)wanted};
        return TL_FAULT_NONE;
    }
    return TL_FAULT_PAGE; // a pointer where a leaf must stand
}

static tl_fault walk(const tl_page_walk *walk, tl_page *ret_page) {
    return n_levels(walk->h->context) == 3 ? walk_levels(walk, 3, ret_page) : walk_levels(walk, 4, ret_page);
}

// Sec. 3.1.6.3: MXR makes pages readable that only execute, SUM lets loads and stores of supervisor
// mode reach pages of programs.
static tl_regime regime_of(uint64_t satp, uint64_t mstatus) {
    const bool is_paged = satp >> TL_SATP_MODE_LSB != TL_SATP_BARE;
    const uint8_t readable = mstatus & TL_MSTATUS_MXR ? TL_PTE_R | TL_PTE_X : TL_PTE_R;
    const uint8_t crossed = mstatus & TL_MSTATUS_SUM ? 0 : TL_PTE_U;
    const tl_priv previous = (tl_priv)((mstatus & TL_MSTATUS_MPP) >> 11);
    return (tl_regime){
        .is_paged = {[TL_VIEW_U] = is_paged, [TL_VIEW_S] = is_paged},
        .data_view = {TL_VIEW_U, TL_VIEW_S, mstatus & TL_MSTATUS_MPRV ? tl_isa_rv64.views[previous] : (uint8_t)TL_VIEW_M},
        .vaddr_bits = (uint8_t)(PAGE_BITS + LEVEL_BITS * n_levels(satp)),
        .rights =
            {
                [TL_VIEW_U] = {[TL_ACCESS_FETCH] = {TL_PTE_X, TL_PTE_U, TL_PTE_U},
                               [TL_ACCESS_LOAD] = {readable, TL_PTE_U, TL_PTE_U},
                               [TL_ACCESS_STORE] = {TL_PTE_W, TL_PTE_U, TL_PTE_U}},
                [TL_VIEW_S] = {[TL_ACCESS_FETCH] = {TL_PTE_X, TL_PTE_U, 0},
                               [TL_ACCESS_LOAD] = {readable, crossed, 0},
                               [TL_ACCESS_STORE] = {TL_PTE_W, crossed, 0}},
            },
    };
}

void tl_rv_status_changed(tl_hart *h, uint64_t old_mstatus) {
    const uint64_t seen_by_mem = TL_MSTATUS_SUM | TL_MSTATUS_MXR | TL_MSTATUS_MPRV | TL_MSTATUS_MPP, mstatus = tl_rv(h)->csr.mstatus;
    if (((old_mstatus ^ mstatus) & seen_by_mem) == 0)
        return;
    const tl_regime old = h->regime;
    h->regime = regime_of(h->context, mstatus);
    h->port->rights_changed(h, &old);
}

static void set_context(tl_hart *h, uint64_t satp) {
    h->context = satp;
    h->regime = regime_of(satp, tl_rv(h)->csr.mstatus);
}

// A new root has no effect until SFENCE.VMA. TLBs have no tags, so entries of another mode or
// another ASID must not stay.
void tl_rv_set_satp(tl_hart *h, uint64_t satp) {
    bool is_other = h->context >> TL_SATP_ASID_LSB != satp >> TL_SATP_ASID_LSB;
    set_context(h, satp);
    if (is_other)
        h->port->context_changed(h);
}

// Physical memory protection, sec. 3.7. Ranges are whole pages (the grain is 4 KiB), and an access
// within a line has one answer.

// Returns the addresses of entry i. Sec. 3.7.1.1.
static tl_stretch stretch_of(const tl_privileged *csr, uint32_t i) {
    const uint64_t grain_mask = (UINT64_C(1) << TL_PMP_GRAIN) - 1;
    uint32_t kind = csr->pmpcfg[i] >> TL_PMP_A_LSB & TL_PMP_A_MASK;
    if (kind == TL_PMP_OFF)
        return (tl_stretch){0};
    if (kind == TL_PMP_TOR) {
        uint64_t start = i == 0 ? 0 : csr->pmpaddr[i - 1] & ~grain_mask, end = csr->pmpaddr[i] & ~grain_mask;
        return start < end ? (tl_stretch){start << TL_PMPADDR_LSB, end << TL_PMPADDR_LSB} : (tl_stretch){0};
    }
    // k ones at the bottom mean 2^(k+3) bytes.
    uint64_t address = csr->pmpaddr[i] | grain_mask >> 1, ones = address & ~(address + 1);
    uint64_t start = (address & ~ones) << TL_PMPADDR_LSB;
    return (tl_stretch){start, start + (ones + 1) * 8};
}

static bool has_locks(const tl_privileged *csr) {
    uint8_t all = 0;
    for (uint32_t i = 0; i < TL_N_PMP; i++)
        all |= csr->pmpcfg[i];
    return (all & TL_PMP_L) != 0;
}

// Protection exists only under system software.
static bool permits(const tl_hart *h, uint64_t paddr, tl_access access, uint32_t view, tl_stretch *ret_around) {
    const tl_privileged *csr = &tl_rv(h)->csr;
    const bool is_machine = view == TL_VIEW_M;
    const uint8_t needed = access == TL_ACCESS_FETCH ? TL_PMP_X : access == TL_ACCESS_LOAD ? TL_PMP_R : TL_PMP_W;
    tl_stretch around = {0, UINT64_MAX};
    bool answer = is_machine; // without a matching entry
    if (!h->is_privileged || (is_machine && !has_locks(csr))) {
        *ret_around = around;
        return true;
    }
    for (uint32_t i = 0; i < TL_N_PMP; i++) {
        tl_stretch s = stretch_of(csr, i);
        if (s.start == s.end)
            continue;
        if (s.end <= paddr) {
            around.start = around.start < s.end ? s.end : around.start;
        } else if (s.start > paddr) {
            around.end = around.end > s.start ? s.start : around.end;
        } else { // the first to match decides
            around.start = around.start < s.start ? s.start : around.start;
            around.end = around.end > s.end ? s.end : around.end;
            answer = (csr->pmpcfg[i] & needed) != 0 || (is_machine && !(csr->pmpcfg[i] & TL_PMP_L));
            break;
        }
    }
    *ret_around = around;
    return answer;
}

static void init(tl_hart *h) {
    h->irqs_present = UINT64_C(0xaaa);
    h->irqs_wired = UINT64_C(1) << TL_IRQ_SEI; // an interrupt controller's level (sec. 3.1.9)
    set_context(h, 0);
}

#define X(n) offsetof(tl_rv_hart, x[n])
static void disassemble(uint32_t bits, uint64_t pc, char *buffer, size_t size) {
    tl_decoded insn;
    tl_decode(bits, &insn);
    (void)tl_disassemble(&insn, pc, NULL, NULL, buffer, size);
}

static uint64_t target(uint32_t bits, uint64_t pc) {
    tl_decoded insn;
    tl_decode(bits, &insn);
    const tl_class cls = (tl_class)tl_insn_rows[insn.opc].cls;
    return cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL ? pc + (uint64_t)(int64_t)insn.imm : UINT64_MAX;
}

const tl_isa tl_isa_rv64 = {
    .name = "riscv64",
    .number = TL_ISA_RISCV64,
    .elf_machine = 243,
    .views = {[TL_PRIV_U] = TL_VIEW_U, [TL_PRIV_S] = TL_VIEW_S, [TL_PRIV_M] = TL_VIEW_M},
    .hart_bytes = sizeof(tl_rv_hart),
    .registers_offset = offsetof(tl_rv_hart, x),
    .init = init,
    .set_context = set_context,
    .pmus_changed = tl_rv_route_csrs,
    .walk = walk,
    .permits = permits,
    .disassemble = disassemble,
    .target = target,
    .n_page_levels = 4,
    .power_on = tl_privileged_reset,
    .take_exception = tl_take_exception,
    .next_interrupt = tl_next_interrupt,
    .take_interrupt = tl_take_interrupt,
    .handler = tl_rv_handler,
    .causes =
        {
            [TL_FAULT_PAGE] = {TL_CAUSE_FETCH_PAGE, TL_CAUSE_LOAD_PAGE, TL_CAUSE_STORE_PAGE},
            [TL_FAULT_ACCESS] = {TL_CAUSE_FETCH_ACCESS, TL_CAUSE_LOAD_ACCESS, TL_CAUSE_STORE_ACCESS},
            [TL_FAULT_MISALIGNED] = {TL_CAUSE_FETCH_MISALIGNED, TL_CAUSE_LOAD_MISALIGNED, TL_CAUSE_STORE_MISALIGNED},
        },
    .trap_kinds =
        {
            [TL_CAUSE_FETCH_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_CAUSE_FETCH_ACCESS] = TL_TRAP_FETCH,
            [TL_CAUSE_ILLEGAL] = TL_TRAP_ILLEGAL,
            [TL_CAUSE_BREAKPOINT] = TL_TRAP_BREAKPOINT,
            [TL_CAUSE_LOAD_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_CAUSE_LOAD_ACCESS] = TL_TRAP_LOAD_ACCESS,
            [TL_CAUSE_STORE_MISALIGNED] = TL_TRAP_MISALIGNED,
            [TL_CAUSE_STORE_ACCESS] = TL_TRAP_STORE_ACCESS,
            [TL_CAUSE_ECALL_U] = TL_TRAP_SYSTEM_CALL,
            [TL_CAUSE_ECALL_S] = TL_TRAP_SYSTEM_CALL,
            [TL_CAUSE_ECALL_M] = TL_TRAP_SYSTEM_CALL,
            [TL_CAUSE_FETCH_PAGE] = TL_TRAP_FETCH,
            [TL_CAUSE_LOAD_PAGE] = TL_TRAP_LOAD_PAGE,
            [TL_CAUSE_STORE_PAGE] = TL_TRAP_STORE_PAGE,
        },
    .roles =
        {
            [TL_ROLE_RESULT] = X(10),
            [TL_ROLE_ARGUMENTS] = X(10),
            [TL_ROLE_SYSTEM_CALL] = X(17),
            [TL_ROLE_STACK] = X(2),
            [TL_ROLE_FRAME] = X(8),
            [TL_ROLE_RETURN] = X(1),
        },
};
