// SPDX-License-Identifier: MIT
// Page-table entries that the personality writes: Sv39 of the RISC-V privileged manual, sec. 4.4.
// vm.c defines their use.
#ifndef TL_OS_PAGE_TABLE_H
#define TL_OS_PAGE_TABLE_H

#include "isa/rv/arch.h"
#include "linux/memory/vm.h"

enum { TL_TABLE_LEVELS = 3, TL_TABLE_INDEX_BITS = 9 };
enum { TL_PTE_HELD = 256 }; // a software bit: the page is present, but no access is permitted (PROT_NONE)

static inline uint64_t tl_pte_paddr(uint64_t pte) { return (pte >> TL_PTE_PPN_LSB & ((UINT64_C(1) << 44) - 1)) << TL_PAGE_LOG2; }
static inline bool tl_pte_is_valid(uint64_t pte) { return (pte & TL_PTE_V) != 0; } // a pointer, or a page that may be touched
static inline bool tl_pte_is_present(uint64_t pte) { return (pte & (TL_PTE_V | TL_PTE_HELD)) != 0; }
static inline bool tl_pte_is_readable(uint64_t pte) { return (pte & (TL_PTE_V | TL_PTE_R)) == (TL_PTE_V | TL_PTE_R); }
static inline bool tl_pte_is_writable(uint64_t pte) { return (pte & (TL_PTE_V | TL_PTE_W)) == (TL_PTE_V | TL_PTE_W); }
static inline bool tl_pte_is_executable(uint64_t pte) { return (pte & TL_PTE_X) != 0; }
static inline uint64_t tl_pte_used(uint64_t pte) { return pte & (TL_PTE_A | TL_PTE_D); } // the bits that hardware sets
static inline uint64_t tl_pte_without_use(uint64_t pte) { return pte & ~(uint64_t)(TL_PTE_A | TL_PTE_D); }
static inline uint64_t tl_pte_with_use(uint64_t pte) { return pte | TL_PTE_A | TL_PTE_D; }
static inline uint64_t tl_pte_with_write(uint64_t pte) { return pte | TL_PTE_W; }
static inline uint64_t tl_pte_without_write(uint64_t pte) { return pte & ~(uint64_t)TL_PTE_W; }
static inline uint64_t tl_pte_of_table(uint64_t paddr) { return paddr >> TL_PAGE_LOG2 << TL_PTE_PPN_LSB | TL_PTE_V; }
static inline uint64_t tl_context_of_table(uint64_t paddr) { return (uint64_t)TL_SATP_SV39 << TL_SATP_MODE_LSB | paddr >> TL_PAGE_LOG2; }

// The entry of a page with TL_PROT_*. Without TL_PROT_* the page is present and no access is
// permitted. may_write: the first store needs no fault.
static inline uint64_t tl_pte_of_page(uint64_t paddr, uint8_t prot, bool may_write) {
    uint64_t pte = paddr >> TL_PAGE_LOG2 << TL_PTE_PPN_LSB;
    if (prot == 0)
        return pte | TL_PTE_HELD;
    pte |= TL_PTE_V | TL_PTE_U;
    if (prot & (TL_PROT_READ | TL_PROT_WRITE))
        pte |= TL_PTE_R;
    if (prot & TL_PROT_EXEC)
        pte |= TL_PTE_X;
    if (may_write && (prot & TL_PROT_WRITE))
        pte |= TL_PTE_W;
    return pte;
}

#endif
