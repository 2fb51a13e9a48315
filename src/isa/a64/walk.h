// SPDX-License-Identifier: MIT
// One walk through the tables of VMSAv8-64, stage 1, with granules of 4 KiB and 64 KiB (D5.2 to
// D5.4). Neither access flags nor dirty bits are written, because Armv8.0 leaves them to software.
#ifndef TL_ISA_A64_WALK_H
#define TL_ISA_A64_WALK_H

#include "isa/a64/hart.h"

// Rights of a leaf that memory does not know by another flag: fetches of EL0 and of EL1. Memory
// ignores these bits of a page.
enum { TL_A64_PAGE_EL0_EXECUTE = TL_PAGE_GLOBAL, TL_A64_PAGE_EL1_EXECUTE = TL_PAGE_ACCESSED };

typedef struct tl_a64_leaf {
    tl_page page;
    uint64_t descriptor;
    // TL_A64_FSC_* of a fault, else TL_A64_FSC_PERMISSION with the level of the leaf.
    uint8_t status;
} tl_a64_leaf;

// TL_FAULT_NONE: there is a page, and its access flag is set; permission is the caller's. vaddr has
// no tag. el: TL_A64_EL3, or any other for the regime of EL1 and EL0.
tl_fault tl_a64_walk(const tl_page_walk *walk, uint32_t el, tl_a64_leaf *ret_leaf);

#endif
