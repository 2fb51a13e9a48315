// SPDX-License-Identifier: MIT
// Page-table entries that the personality writes. A tl_page_format is the row of an instruction set
// (linux/isa.h). In every format an entry has 8 bytes, a table has 512 entries, three levels of
// tables translate 39 bits, and an invalid entry may hold what software likes. vm.c uses entries.
#ifndef TL_OS_PAGE_TABLE_H
#define TL_OS_PAGE_TABLE_H

#include "linux/memory/vm.h"

enum { TL_TABLE_LEVELS = 3, TL_TABLE_INDEX_BITS = 9 };

// An entry grants the right when the bits of `mask` have this value.
typedef struct tl_pte_right {
    uint64_t mask, value;
} tl_pte_right;

typedef struct tl_page_format {
    uint32_t ppn_lsb, ppn_bits;        // page number of a page or of a table
    uint64_t valid;                    // the bit of entries that hardware follows
    uint64_t table;                    // a pointer to a table, without its page number
    uint64_t page;                     // a page of a program, without its page number and rights
    uint64_t held;                     // a present page without rights (PROT_NONE); not valid
    uint64_t used;                     // the bits that hardware sets: accessed, dirty
    tl_pte_right read, write, execute; // of a valid page
    uint64_t context;                  // tl_hart.context without the root table
    uint32_t context_shift;            // the root's address is shifted right by this
} tl_page_format;

static inline uint64_t tl_pte_paddr(const tl_page_format *format, uint64_t pte) {
    return (pte >> format->ppn_lsb & ((UINT64_C(1) << format->ppn_bits) - 1)) << TL_PAGE_LOG2;
}
// Whether it is a pointer, or a page that may be touched.
static inline bool tl_pte_is_valid(const tl_page_format *format, uint64_t pte) { return (pte & format->valid) != 0; }
static inline bool tl_pte_is_present(const tl_page_format *format, uint64_t pte) { return (pte & (format->valid | format->held)) != 0; }
static inline bool tl_pte_grants(const tl_page_format *format, uint64_t pte, tl_pte_right right) {
    return tl_pte_is_valid(format, pte) && (pte & right.mask) == right.value;
}
static inline bool tl_pte_is_readable(const tl_page_format *format, uint64_t pte) { return tl_pte_grants(format, pte, format->read); }
static inline bool tl_pte_is_writable(const tl_page_format *format, uint64_t pte) { return tl_pte_grants(format, pte, format->write); }
static inline bool tl_pte_is_executable(const tl_page_format *format, uint64_t pte) { return tl_pte_grants(format, pte, format->execute); }

static inline uint64_t tl_pte_with(uint64_t pte, tl_pte_right right) { return (pte & ~right.mask) | right.value; }
static inline uint64_t tl_pte_without(uint64_t pte, tl_pte_right right) { return (pte & ~right.mask) | (right.mask & ~right.value); }

static inline uint64_t tl_pte_of_ppn(const tl_page_format *format, uint64_t paddr) { return paddr >> TL_PAGE_LOG2 << format->ppn_lsb; }
static inline uint64_t tl_pte_of_table(const tl_page_format *format, uint64_t paddr) {
    return tl_pte_of_ppn(format, paddr) | format->table;
}
static inline uint64_t tl_context_of_table(const tl_page_format *format, uint64_t paddr) {
    return format->context | paddr >> format->context_shift;
}

// The entry of a page with TL_PROT_*. Without TL_PROT_* the page is present and no access is
// permitted. may_write: the first store needs no fault.
static inline uint64_t tl_pte_of_page(const tl_page_format *format, uint64_t paddr, uint8_t prot, bool may_write) {
    uint64_t pte = tl_pte_of_ppn(format, paddr);
    if (prot == 0)
        return pte | format->held;
    pte |= format->page;
    pte = prot & (TL_PROT_READ | TL_PROT_WRITE) ? tl_pte_with(pte, format->read) : tl_pte_without(pte, format->read);
    pte = may_write && (prot & TL_PROT_WRITE) ? tl_pte_with(pte, format->write) : tl_pte_without(pte, format->write);
    return prot & TL_PROT_EXEC ? tl_pte_with(pte, format->execute) : tl_pte_without(pte, format->execute);
}

#endif
