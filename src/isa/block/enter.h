// SPDX-License-Identifier: MIT
// Entering a block: look-ups of its lines, then a search for the valid block. Each function returns
// the block that runs next. NULL: stop; store->why gives the reason, hart->pc the place. Threaded
// and translated code enter in line where a fetch slot proves the block.
#ifndef TL_ISA_BLOCK_ENTER_H
#define TL_ISA_BLOCK_ENTER_H

#include "isa/block/block.h"

// Begins a fetch run at pc with hart->pend in flight. Does the look-ups of one or two lines. Finds
// or builds the block, and tries `guess` first.
tl_block *tl_blocks_enter(tl_blocks *store, uint64_t pc, tl_block *guess);

// tl_blocks_enter after its first look-up found pline. The bytes of pline decide whether a second
// look-up follows.
tl_block *tl_blocks_enter_line(tl_blocks *store, uint64_t pc, uint64_t pline, tl_block *guess);
// tl_blocks_enter after all look-ups found their lines, and were counted.
tl_block *tl_blocks_enter_found(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2, tl_block *guess);
// tl_blocks_enter after its first look-up trapped.
tl_block *tl_blocks_refuse(tl_blocks *store, uint64_t pc);
// tl_blocks_enter after its second look-up trapped. Counts the first look-up, because no block
// does.
tl_block *tl_blocks_refuse_second(tl_blocks *store, uint64_t pc);

// tl_blocks_enter for a block that was entered before and that no fetch slot proves now. The block
// has no floating point and no breakpoint. pc: of the block. The caller knows pc without a load, so
// the look-up need not wait until the host has fetched the block.
tl_block *tl_blocks_reenter(tl_blocks *store, tl_block *block, uint64_t pc);
// While h->attribution is set.
tl_block *tl_blocks_reenter_booked(tl_blocks *store, tl_block *block, uint64_t pc);

tl_jump_cell *tl_blocks_cell(tl_blocks *store, uint64_t pc); // for the current mode
// tl_blocks_enter for an indirect jump; the cell is filled.
tl_block *tl_blocks_enter_cell(tl_blocks *store, uint64_t pc);

// Returns whether the branch or jump at the end of `block` to pc stays on the block's line. The
// look-up of this line hits and changes no order of recency, because only data accesses come
// between. A slow path that evicts the line sets must_recheck.
bool tl_block_is_near(const tl_blocks *store, const tl_block *block, uint64_t pc);

#endif
