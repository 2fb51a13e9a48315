// SPDX-License-Identifier: MIT
// Places where a block must not be executed as a whole: breakpoints and markers.
#include "isa/rv/block/stops.h"

#include "isa/rv/block/code.h"
#include "isa/rv/block/store.h"
#include "isa/rv/marker.h"

bool tl_blocks_stops_at(const tl_blocks *store, const tl_block *block, uint32_t k) {
    uint32_t at = block->ops[k].offset;
    if (tl_blocks_has_break(store, block->pc + at))
        return true;
    if (TL_LIKELY(!block->has_marker))
        return false;
    tl_decoded insn;
    tl_decode(tl_code_bits(block->bytes, at, block->n_bytes), &insn);
    return tl_insn_is_marker(&insn);
}

void tl_blocks_take_breaks(tl_blocks *store) {
    const tl_hart *h = store->hart;
    store->break_pc[0] = h->break_pc[0];
    store->break_pc[1] = h->break_pc[1];
    store->breaks = h->breaks;
    store->break_generation = h->breaks ? h->breaks->generation : 0;
    tl_blocks_flush(store);
}
