// SPDX-License-Identifier: MIT
// Counts of blocks by calling context, while the attribution has a call graph. A block counts for
// the context in which it begins, so these counts are not held back.
#ifndef TL_ISA_BLOCK_CONTEXTS_H
#define TL_ISA_BLOCK_CONTEXTS_H

#include "isa/block/block.h"
#include "model/attribution.h"

// Counts n executions of the block, which may be negative, for the context of the hart.
void tl_block_count_context(const tl_hart *h, const tl_block *block, uint64_t n);
// Counts branches of translated code since the last call for the context of the hart. Comes before
// each change of context, and before h->bp.counts are folded.
void tl_blocks_count_outcomes(tl_blocks *store);

// A return from a trap retired.
void tl_blocks_tell_trap_return(tl_blocks *store);
// Jumps were told to the call graph. Forgets all blocks soon if one of them must tell more now.
void tl_blocks_follow_graph(tl_blocks *store);

// The call graph for which blocks are made; NULL: none.
static inline tl_context_sink *tl_blocks_sink(const tl_blocks *store) {
    return TL_UNLIKELY(store->attribution != NULL) ? tl_attribution_sink(store->hart) : NULL;
}

#endif
