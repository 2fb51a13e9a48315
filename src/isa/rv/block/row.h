// SPDX-License-Identifier: MIT
// The row of RISC-V for blocks.
#ifndef TL_ISA_RV_BLOCK_ROW_H
#define TL_ISA_RV_BLOCK_ROW_H

#include "isa/block/row.h"

extern const tl_block_isa tl_rv_block_isa;

#endif
