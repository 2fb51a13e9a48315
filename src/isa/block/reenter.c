// SPDX-License-Identifier: MIT
// Entering a block again when no fetch slot shows one of its lines any longer. Programs whose code
// exceeds the L1I come here often. The block is known, so no search is needed. Rare cases go
// through tl_blocks_enter before anything is counted. A block of the present generation shows that
// all blocks of its first line were compared. The bucket of the second line is asked besides.
#include "isa/block/enter.h"
#include "isa/block/store.h"
#include "model/attribution.h"

TL_ALWAYS_INLINE bool look_up(tl_hart *h, const tl_fetch_slot *slot, uint64_t pc, uint64_t vaddr, bool is_booked) {
    if (!tl_fetch_slot_shows(slot, vaddr)) {
        if (is_booked)
            tl_attribution_own_access(h, pc);
        return h->port->fetch(h, vaddr);
    }
    tl_fetch_hit(h, slot);
    return true;
}

TL_ALWAYS_INLINE tl_block *reenter(tl_blocks *store, tl_block *block, uint64_t pc, bool is_booked) {
    tl_hart *h = store->hart;
    uint64_t vline = pc & h->line_mask, second = vline + (~h->line_mask + 1);
    if (TL_UNLIKELY(h->now >= h->fast_horizon || h->has_slow_watch || block->generation != h->code_generation ||
                    (block->is_straddling && store->checked[tl_blocks_bucket(second)] != h->code_generation)))
        return tl_blocks_enter(store, pc, block);
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, vline);
    if (TL_UNLIKELY(!look_up(h, slot, pc, pc, is_booked)))
        return tl_blocks_refuse(store, pc);
    // The page is in another frame now, whose code may straddle where this block does not.
    if (TL_UNLIKELY(slot->key != tl_fetch_key(vline, block->pline - TL_RAM_BASE_PADDR)))
        return tl_blocks_enter_line(store, pc, tl_fetch_slot_paddr(slot, vline), block);
    if (!block->is_straddling)
        return block;
    slot = tl_fetch_slot_of(h, second);
    if (TL_UNLIKELY(!look_up(h, slot, pc, pc + 2, is_booked)))
        return tl_blocks_refuse_second(store, pc);
    uint64_t pline2 = tl_fetch_slot_paddr(slot, second);
    return TL_LIKELY(pline2 == block->pline2) ? block : tl_blocks_enter_found(store, pc, block->pline, pline2, block);
}

tl_block *tl_blocks_reenter(tl_blocks *store, tl_block *block, uint64_t pc) { return reenter(store, block, pc, false); }

tl_block *tl_blocks_reenter_booked(tl_blocks *store, tl_block *block, uint64_t pc) { return reenter(store, block, pc, true); }
