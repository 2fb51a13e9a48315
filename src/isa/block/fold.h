// SPDX-License-Identifier: MIT
// Counts and tallies. A block counts its executions only. Folding multiplies the counts out into
// the tallies before they are read. A block is counted as a whole when it begins. Where it stops
// before its end, the rest is taken back out of the tallies.
#ifndef TL_ISA_BLOCK_FOLD_H
#define TL_ISA_BLOCK_FOLD_H

#include "isa/block/block.h"

void tl_blocks_fold(tl_blocks *store); // adds counts to the tallies
// Adds counts of branches to the tallies, which comes before a count can reach 2^32.
void tl_blocks_fold_branches(tl_blocks *store);
enum { TL_MAX_UNFOLDED_CYCLES = 1 << 30 }; // between two calls
// Makes the tallies exact for this moment, in the middle of an instruction, too.
void tl_blocks_sync(tl_blocks *store);

// Lists what instructions k.. of an execution count, which is part of what the block counts.
// is_fetched: without the fetch of k. Returns how many cells.
uint32_t tl_block_list_rest(const tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched,
                            tl_static_count counts[TL_MAX_BLOCK_STATICS]);
// Takes instructions k.. of an execution out of the tallies. is_fetched: the fetch of k stays.
void tl_block_take_back(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched);
// Undoes tl_block_take_back.
void tl_block_put_back(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched);

// Counts of blocks and of their transfers are held back from the rows of h->attribution. This books
// them.
void tl_blocks_pour(void *store);

// Returns the scoreboard after the first k instructions of the block.
void tl_block_walk(const tl_blocks *store, const tl_block *block, uint32_t k, tl_scoreboard *ret_board);

#endif
