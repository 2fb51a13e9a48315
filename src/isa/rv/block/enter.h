// SPDX-License-Identifier: MIT
// The way into a block: look-ups of its lines, then the block that is valid there. Each function
// returns the block that runs next. NULL: stop; store->why and hart->pc say why and where.
// Threaded and translated code enter in line where a fetch slot proves the block.
#ifndef TL_ISA_RV_BLOCK_ENTER_H
#define TL_ISA_RV_BLOCK_ENTER_H

#include "isa/rv/block/block.h"

// Begins a fetch run at pc with hart->pend in flight: looks up its line (or two), finds or builds
// the block; `guess` is tried first.
tl_block *tl_blocks_enter(tl_blocks *store, uint64_t pc, tl_block *guess);

// What follows the look-ups of tl_blocks_enter.
// The first found this line, whose bytes say whether there is a second.
tl_block *tl_blocks_enter_line(tl_blocks *store, uint64_t pc, uint64_t pline, tl_block *guess);
// All found these lines, and count for the run.
tl_block *tl_blocks_enter_found(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2, tl_block *guess);
// The first trapped.
tl_block *tl_blocks_refuse(tl_blocks *store, uint64_t pc);
// The second of two trapped: no block counts the first.
tl_block *tl_blocks_refuse_second(tl_blocks *store, uint64_t pc);

// tl_blocks_enter for a block that was entered before and could not prove itself; not for one with
// floating point or a breakpoint.
tl_block *tl_blocks_reenter(tl_blocks *store, tl_block *block);

tl_jump_cell *tl_blocks_cell(tl_blocks *store, uint64_t pc); // for the current mode
// tl_blocks_enter for an indirect jump; the cell is filled.
tl_block *tl_blocks_enter_cell(tl_blocks *store, uint64_t pc);

// Whether the branch or jump at the end of `block` to pc stays on the line that the block proved.
// Such a look-up cannot miss, and changes no order of recency, because only data is accessed in
// between. A slow path that takes the line away makes the next block ask (must_recheck).
bool tl_block_is_near(const tl_blocks *store, const tl_block *block, uint64_t pc);

#endif
