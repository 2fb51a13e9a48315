// SPDX-License-Identifier: MIT
// The row of A64 for blocks.
#ifndef TL_ISA_A64_BLOCK_ROW_H
#define TL_ISA_A64_BLOCK_ROW_H

#include "isa/block/row.h"

extern const tl_block_isa tl_a64_block_isa;

#endif
