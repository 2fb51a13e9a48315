// SPDX-License-Identifier: MIT
// Within a block: one instruction by its full body, and every way to leave before the end.
// A block is counted and timed as a whole when it begins. These functions set clock and tallies
// to the exact point.
#ifndef TL_ISA_BLOCK_EXECUTE_H
#define TL_ISA_BLOCK_EXECUTE_H

#include "isa/block/block.h"

// Executes instruction k of the block under way by its full body, at the exact cycle. False: stop,
// because the instruction trapped or waits, or because an interrupt follows it.
bool tl_block_execute(tl_blocks *store, tl_block *block, uint32_t k);
// While h->attribution is set.
bool tl_block_execute_booked(tl_blocks *store, tl_block *block, uint32_t k);
// A data access within `block` may have evicted the line of the block (h->has_lost_fetch).
void tl_block_line_lost(tl_blocks *store, const tl_block *block);
// The block under way must stop before instruction k, a breakpoint or a marker.
void tl_block_stop_before(tl_blocks *store, tl_block *block, uint32_t k);
// The run stopped with a trap, and h->takes_traps is set. Takes the trap, so that blocks go on at
// the handler. False: the caller of the front-end has to do with it.
bool tl_blocks_take_trap(tl_blocks *store);
// The instruction at pc trapped, or its fetch.
void tl_blocks_stop_with_trap(tl_blocks *store, uint64_t pc);

// Resumes the run that waits (store->is_waiting). Returns its block, entered and counted, and the
// instruction that comes next.
tl_block *tl_blocks_resume(tl_blocks *store, uint32_t *ret_k);
// Forgets the run that waits. The run then ends before its next instruction.
void tl_blocks_abandon(tl_blocks *store);

#endif
