// SPDX-License-Identifier: MIT
// Counts of blocks by calling context; see contexts.h.
#include "isa/block/contexts.h"

#include "isa/block/store.h"
#include "model/callgraph.h"

static void count(const tl_context_sink *sink, uint64_t *counts, tl_cell cell, uint64_t n) {
    if (sink->event_of[cell] != TL_NO_EVENT)
        counts[sink->event_of[cell]] += n;
}

void tl_block_count_context(const tl_hart *h, const tl_block *block, uint64_t n) {
    const tl_context_sink *sink = tl_attribution_sink(h);
    uint64_t *counts = sink->counts[h->id];
    for (uint32_t i = 0; i < block->n_statics; i++)
        count(sink, counts, h->id * TL_S_N_CELLS + block->statics[i].cell, n * block->statics[i].amount);
    if (sink->executed_event != TL_NO_EVENT)
        counts[sink->executed_event] += n * block->n_insns;
}

void tl_blocks_count_outcomes(tl_blocks *store) {
    static const uint16_t cells[] = {TL_S_HART_BRANCH_TAKEN, TL_S_BP_COND_MISS, TL_S_BP_COND_MISS_TAKEN, TL_S_HART_CYC_MISPREDICT};
    const tl_hart *h = store->hart;
    const tl_context_sink *sink = tl_attribution_sink(h);
    if (memcmp(h->bp.counts, store->counted_outcomes, sizeof store->counted_outcomes) == 0)
        return;
    uint32_t outcomes[TL_N_BRANCH_COUNTS];
    uint64_t tally[TL_S_N_CELLS];
    for (uint32_t i = 0; i < TL_N_BRANCH_COUNTS; i++)
        outcomes[i] = h->bp.counts[i] - store->counted_outcomes[i];
    memcpy(store->counted_outcomes, h->bp.counts, sizeof store->counted_outcomes);
    for (uint32_t i = 0; i < TL_COUNT_OF(cells); i++)
        tally[cells[i]] = 0;
    tl_bpred_add(&h->bp, outcomes, tally);
    for (uint32_t i = 0; i < TL_COUNT_OF(cells); i++)
        count(sink, sink->counts[h->id], h->id * TL_S_N_CELLS + cells[i], tally[cells[i]]);
}

void tl_blocks_tell_trap_return(tl_blocks *store) {
    if (!tl_blocks_sink(store))
        return;
    tl_blocks_count_outcomes(store);
    tl_callgraph_tell_trap_return(store->hart);
    tl_blocks_follow_graph(store);
}

void tl_blocks_follow_graph(tl_blocks *store) {
    const uint32_t generation = tl_callgraph_generation(tl_attribution_sink(store->hart)->graph);
    if (TL_LIKELY(generation == store->graph_generation))
        return;
    store->graph_generation = generation;
    tl_blocks_flush_soon(store);
}
