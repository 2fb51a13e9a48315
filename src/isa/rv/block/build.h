// SPDX-License-Identifier: MIT
// Building a block: guest code is decoded from one entry point to the end of its fetch run. All that is static about the run is summed
// here, once: its cycles, its waits for results, its counts. The results in flight at its beginning are hart->pend.
#ifndef TL_ISA_RV_BLOCK_BUILD_H
#define TL_ISA_RV_BLOCK_BUILD_H

#include "isa/rv/block/block.h"

// A new block at pc, in its bucket and ready to run. pline and pline2 are the physical lines; pline2 counts for a block that straddles.
// Flushes the store when it is full.
tl_block *tl_blocks_build(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2);

#endif
