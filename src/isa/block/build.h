// SPDX-License-Identifier: MIT
// Building a block: guest code is decoded from one entry point to the end of its fetch run.
// Static sums are made here, once: cycles, waits for results, counts.
// The results in flight at its beginning are hart->pend.
#ifndef TL_ISA_BLOCK_BUILD_H
#define TL_ISA_BLOCK_BUILD_H

#include "isa/block/block.h"

// Returns a new block at pc, in its bucket and ready to run. pline and pline2 are its physical
// lines; pline2 concerns blocks that straddle. Flushes the store when it is full.
tl_block *tl_blocks_build(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2);

#endif
