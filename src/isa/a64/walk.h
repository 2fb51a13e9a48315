// SPDX-License-Identifier: MIT
// One walk through the tables of VMSAv8-64, stage 1, with granules of 4 KiB and 64 KiB (D5.2 to
// D5.4). Neither access flags nor dirty bits are written, because Armv8.0 leaves them to software.
#ifndef TL_ISA_A64_WALK_H
#define TL_ISA_A64_WALK_H

#include "isa/a64/hart.h"

// Rights of a leaf that memory does not know by another flag: fetches of EL0 and of EL1. Memory
// ignores these bits of a page.
enum { TL_A64_PAGE_EL0_EXECUTE = TL_PAGE_GLOBAL, TL_A64_PAGE_EL1_EXECUTE = TL_PAGE_ACCESSED };

// tl_page.world: translations of Secure and of Non-secure EL1 and EL0, and of EL3.
enum { TL_A64_WORLD_SECURE, TL_A64_WORLD_NON_SECURE, TL_A64_WORLD_EL3 };

// tl_page.attributes: the memory type (tl_a64_memory_type), AP[2:1] and a 1 (of EL3 AP[2] and two
// zeros), rights to execute, NS of the descriptor. The second enum is tl_walk_table.attributes:
// PXNTable, XNTable, APTable, NSTable, and the memory of the tables.
enum {
    TL_A64_ATTRIBUTE_MEMORY_LSB = 0,
    TL_A64_ATTRIBUTE_AP_LSB = 8,
    TL_A64_ATTRIBUTE_USER_EXECUTE_LSB = 11,
    TL_A64_ATTRIBUTE_OTHER_EXECUTE_LSB = 12,
    TL_A64_ATTRIBUTE_NS_LSB = 13,
};
enum { TL_A64_TABLE_PXN_LSB, TL_A64_TABLE_XN_LSB, TL_A64_TABLE_AP_LSB, TL_A64_TABLE_NS_LSB = 4, TL_A64_TABLE_MEMORY_LSB = 8 };

// The byte of a memory type and shareability in TLBs of a Cortex-A53 (manual sec. 6.7.4, table
// 6-14). `mair`: the attributes of a byte of MAIR_ELx. The manual gives bits 7 (not Device), 3:2
// and 1:0. Bits 6 (coherent) and 5:4 (inner hint, or outer type coded as the inner type) are
// chosen.
uint8_t tl_a64_memory_type(uint8_t mair, uint32_t shareability);

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
