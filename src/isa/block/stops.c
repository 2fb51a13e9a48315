// SPDX-License-Identifier: MIT
// Places where a block must not be executed as a whole: breakpoints and markers.
#include "isa/block/stops.h"

#include "isa/block/code.h"
#include "isa/block/store.h"

bool tl_blocks_stops_at(const tl_blocks *store, const tl_block *block, uint32_t k) {
    uint32_t at = block->offset[k];
    if (tl_blocks_has_break(store, block->pc + at))
        return true;
    if (TL_LIKELY(!block->has_marker))
        return false;
    tl_block_insn insn;
    store->isa->decode(store->hart, tl_code_bits(store->isa, block->bytes, at, block->n_bytes), &insn);
    return insn.is_marker;
}

void tl_blocks_take_breaks(tl_blocks *store) {
    const tl_hart *h = store->hart;
    store->break_pc[0] = h->break_pc[0];
    store->break_pc[1] = h->break_pc[1];
    store->breaks = h->breaks;
    store->break_generation = h->breaks ? h->breaks->generation : 0;
    tl_blocks_flush(store);
}
