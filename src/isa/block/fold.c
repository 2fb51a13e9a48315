// SPDX-License-Identifier: MIT
// Counts of blocks and the tallies; see fold.h.
#include "isa/block/fold.h"

#include "isa/block/code.h"
#include "model/attribution.h"

// Gives each of the instructions k.. the static counts of n executions. is_fetched: without those
// of the fetch of k.
static void attribute(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched, uint64_t n) {
    tl_hart *h = store->hart;
    tl_scoreboard board, before;
    tl_scoreboard_start(&board, &h->config->pipeline, block->in);
    for (uint32_t i = 0; i < block->n_insns; i++) {
        const uint64_t pc = block->pc + block->offset[i], end_pc = block->pc + block->offset[i + 1];
        tl_block_insn insn;
        store->isa->decode(h, tl_code_bits(store->isa, block->bytes, block->offset[i], block->n_bytes), &insn);
        before = board;
        tl_scoreboard_issue(&board, &insn.pipe);
        if (i < k)
            continue;
        tl_attribution_execute(h, pc, (int64_t)n);
        for (uint32_t s = 0; s < insn.n_counts; s++)
            tl_attribution_add(h, pc, insn.counts[s].cell, n * insn.counts[s].amount);
        for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
            tl_attribution_add(h, pc, tl_pipe_cause_cell[c], n * (board.lost[c] - before.lost[c]));
        if (i != k || !is_fetched)
            tl_attribution_add(h, pc, TL_S_L1I_READ, n * (tl_fetch_groups(h, block->pc, end_pc) - tl_fetch_groups(h, block->pc, pc)));
    }
}

// Whole executions: all statics, those of the look-ups with the first instruction.
static void attribute_runs(tl_blocks *store, const tl_block *block, uint64_t n) {
    const uint64_t look_ups = block->is_straddling ? 2 : 1;
    attribute(store, block, 0, false, n);
    tl_attribution_add(store->hart, block->pc, TL_S_HART_FETCH_RUN, n);
    tl_attribution_add(store->hart, block->pc, TL_S_L1I_ACCESS, n * look_ups);
    tl_attribution_add(store->hart, block->pc, TL_S_ITLB_ACCESS, n * look_ups);
}

void tl_blocks_fold(tl_blocks *store) {
    uint64_t *tally = store->hart->tally;
    // A fast exit, because a PMU that waits for an overflow syncs after each stepped instruction.
    if (store->is_folded)
        return;
    store->is_folded = !store->is_running;
    tl_bpred_fold(&store->hart->bp, tally);
    for (uint32_t number = 0; number < store->n_blocks; number++) {
        uint64_t count = store->counts[number];
        if (TL_LIKELY(count == 0))
            continue;
        const tl_block *block = store->by_number[number];
        store->counts[number] = 0;
        for (uint32_t i = 0; i < block->n_statics; i++)
            tally[block->statics[i].cell] += count * block->statics[i].amount;
        if (TL_UNLIKELY(store->hart->attribution != NULL))
            attribute_runs(store, block, count);
    }
}

void tl_block_walk(const tl_blocks *store, const tl_block *block, uint32_t k, tl_scoreboard *ret_board) {
    tl_scoreboard_start(ret_board, &store->hart->config->pipeline, block->in);
    for (uint32_t i = 0, at = 0; i < k; i++) {
        tl_block_insn insn;
        store->isa->decode(store->hart, tl_code_bits(store->isa, block->bytes, at, block->n_bytes), &insn);
        tl_scoreboard_issue(ret_board, &insn.pipe);
        at += insn.len;
    }
}

// Adds instructions k.. of an execution to the tallies, or takes them out.
static void adjust(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched, bool is_added) {
    tl_hart *h = store->hart;
    const uint64_t sign = is_added ? 1 : UINT64_MAX;
    tl_scoreboard all, done;
    tl_block_walk(store, block, block->n_insns, &all);
    tl_block_walk(store, block, k, &done);
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        h->tally[tl_pipe_cause_cell[c]] += sign * (all.lost[c] - done.lost[c]);
    uint64_t fetched_end = block->pc + block->offset[k];
    for (uint32_t i = k, at = block->offset[k]; i < block->n_insns; i++) {
        tl_block_insn insn;
        store->isa->decode(store->hart, tl_code_bits(store->isa, block->bytes, at, block->n_bytes), &insn);
        for (uint32_t s = 0; s < insn.n_counts; s++)
            h->tally[insn.counts[s].cell] += sign * insn.counts[s].amount;
        at += insn.len;
        if (i == k && is_fetched)
            fetched_end += insn.len;
    }
    h->tally[TL_S_L1I_READ] += sign * (tl_fetch_groups(h, block->pc, block->end_pc) - tl_fetch_groups(h, block->pc, fetched_end));
    if (TL_UNLIKELY(h->attribution != NULL))
        attribute(store, block, k, is_fetched, sign);
}

void tl_block_take_back(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched) {
    adjust(store, block, k, is_fetched, false);
}

void tl_block_put_back(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched) { adjust(store, block, k, is_fetched, true); }

void tl_blocks_sync(tl_blocks *store) {
    tl_blocks_fold(store);
    tl_hart_sync_clock(store->hart);
    if (store->under_way && !store->is_taken_back) { // counted as a whole when it began
        tl_block_take_back(store, store->under_way, store->under_way_k, !store->is_before);
        store->is_taken_back = true;
    }
}
