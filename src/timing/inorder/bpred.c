// SPDX-License-Identifier: MIT
// Reset contents of the branch predictor. Its rules are inline in model/bpred.h.
#include "model/bpred_reset.h"

#include <string.h>

static const uint8_t WEAKLY_NOT_TAKEN = 1;

static void set_outcomes(tl_bpred *bp) {
    tl_bpred_outcomes *outcomes = &bp->outcomes;
    for (uint8_t value = 0; value < 4; value++) {
        bool predicted = value >= 2;
        outcomes->next[0][value] = (uint8_t)(value - (value > 0));
        outcomes->next[1][value] = (uint8_t)(value + (value < 3));
        outcomes->cycles[0][value] = predicted ? bp->mispredict_cycles : 0;
        outcomes->cycles[1][value] = predicted ? 0 : bp->mispredict_cycles;
        outcomes->counts[0][value][TL_BRANCH_OTHER_MISS] = predicted;
        outcomes->counts[1][value][TL_BRANCH_TAKEN] = 1;
        outcomes->counts[1][value][TL_BRANCH_TAKEN_MISS] = !predicted;
    }
}

void tl_bpred_reset(tl_bpred *bp) {
    if (bp->fixed != TL_BPRED_LOGGED)
        memset(bp->counters, WEAKLY_NOT_TAKEN, bp->counter_mask + 1);
    for (uint64_t i = 0; i <= bp->btb_mask; i++)
        bp->btb[i] = (tl_btb_entry){.pc = UINT64_MAX, .target = UINT64_MAX};
    memset(bp->ras, 0, bp->ras_entries * sizeof *bp->ras);
    bp->history = 0;
    bp->ras_top = bp->ras_used = 0;
}

tl_status tl_bpred_init(tl_bpred *bp, const tl_config *config, tl_arena *arena, tl_error *err) {
    const tl_bp_config *want = &config->bp;
    bool is_counted = want->kind == TL_BP_BHT || want->kind == TL_BP_GSHARE;
    if (is_counted && !tl_is_pow2(want->counters))
        return tl_fail(err, TL_EINVAL, "bp.counters = %u: must be a power of two", want->counters);
    if (!tl_is_pow2(want->btb_entries))
        return tl_fail(err, TL_EINVAL, "bp.btb_entries = %u: must be a power of two, at least 1", want->btb_entries);
    if (want->kind == TL_BP_GSHARE && want->history_bits > 63)
        return tl_fail(err, TL_EINVAL, "bp.history_bits = %u: must be at most 63", want->history_bits);

    *bp = (tl_bpred){
        .counter_mask = is_counted ? want->counters - 1 : 0,
        .history_mask = want->kind == TL_BP_GSHARE ? (UINT64_C(1) << want->history_bits) - 1 : 0,
        .btb_mask = want->btb_entries - 1,
        .ras_entries = want->ras_entries,
        .mispredict_cycles = config->pipeline.mispredict_cycles,
        .redirect_cycles = config->pipeline.redirect_cycles,
        .fixed = is_counted                      ? TL_BPRED_COUNTERS
                 : want->kind == TL_BP_NOT_TAKEN ? TL_BPRED_NOT_TAKEN
                                                 : TL_BPRED_BACKWARD,
    };
    set_outcomes(bp);
    bp->counters = tl_arena_alloc(arena, bp->counter_mask + 1);
    bp->btb = tl_arena_alloc(arena, want->btb_entries * sizeof *bp->btb);
    bp->ras = tl_arena_alloc(arena, want->ras_entries * sizeof *bp->ras);
    if (!bp->counters || !bp->btb || !bp->ras)
        return tl_fail(err, TL_ENOMEM, "out of memory for the branch predictor");
    tl_bpred_reset(bp);
    return TL_OK;
}
