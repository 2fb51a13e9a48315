// SPDX-License-Identifier: MIT
// Places where a block must not be executed as a whole: breakpoints and markers. A block is decoded
// for the breakpoints of the hart.
#ifndef TL_ISA_BLOCK_STOPS_H
#define TL_ISA_BLOCK_STOPS_H

#include "isa/block/block.h"

static inline bool tl_blocks_has_break(const tl_blocks *store, uint64_t pc) {
    return pc == store->break_pc[0] || pc == store->break_pc[1] ||
           (TL_UNLIKELY(store->breaks != NULL) && tl_breaks_have(store->breaks, pc));
}

// Returns whether the blocks were decoded for other breakpoints than the hart has now.
static inline bool tl_blocks_have_other_breaks(const tl_blocks *store) {
    const tl_hart *h = store->hart;
    return store->break_pc[0] != h->break_pc[0] || store->break_pc[1] != h->break_pc[1] || store->breaks != h->breaks ||
           (h->breaks && store->break_generation != h->breaks->generation);
}

// Takes the breakpoints of the hart; forgets all blocks.
void tl_blocks_take_breaks(tl_blocks *store);

// Returns whether the block must stop before instruction k, a breakpoint or a marker. Markers are
// stepped.
bool tl_blocks_stops_at(const tl_blocks *store, const tl_block *block, uint32_t k);

#endif
