// SPDX-License-Identifier: MIT
// Counts of blocks and the tallies; see fold.h.
#include "isa/block/fold.h"

#include "isa/block/code.h"
#include "isa/block/contexts.h"
#include "model/attribution.h"

typedef void give_executed(tl_hart *h, uint64_t pc, int64_t n);
typedef void give_count(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n);

// Gives each of the instructions k.. the static counts of n executions. is_fetched: without those
// of the fetch of k. Counts that tallies do not have yet are given by tl_attribution_add.
static void attribute(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched, uint64_t n, give_executed *execute,
                      give_count *give) {
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
        execute(h, pc, (int64_t)n);
        for (uint32_t s = 0; s < insn.n_counts; s++)
            give(h, pc, insn.counts[s].cell, n * insn.counts[s].amount);
        for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
            give(h, pc, tl_pipe_cause_cell[c], n * (board.lost[c] - before.lost[c]));
        if (i != k || !is_fetched)
            give(h, pc, TL_S_L1I_READ, n * (tl_fetch_groups(h, block->pc, end_pc) - tl_fetch_groups(h, block->pc, pc)));
    }
}

// Whole executions: all statics, those of the look-ups with the first instruction.
static void attribute_runs(tl_blocks *store, const tl_block *block, uint64_t n) {
    const uint64_t look_ups = block->is_straddling ? 2 : 1;
    attribute(store, block, 0, false, n, tl_attribution_pour_executed, tl_attribution_pour);
    tl_attribution_pour(store->hart, block->pc, TL_S_HART_FETCH_RUN, n);
    tl_attribution_pour(store->hart, block->pc, TL_S_L1I_ACCESS, n * look_ups);
    tl_attribution_pour(store->hart, block->pc, TL_S_ITLB_ACCESS, n * look_ups);
}

const uint16_t tl_transfer_cells[TL_N_TRANSFER_CELLS] = {
    TL_S_BP_BTB_FILL,      TL_S_BP_REDIRECT,    TL_S_HART_CYC_REDIRECT, TL_S_BP_RETURN_MISS,
    TL_S_BP_INDIRECT_MISS, TL_S_BP_TARGET_MISS, TL_S_HART_CYC_TARGET,
};

// Books counts of translated code for the transfer at the end of the block.
static void attribute_transfer(tl_hart *h, const tl_block *block) {
    static const uint16_t outcome_cells[] = {TL_S_HART_BRANCH_TAKEN, TL_S_BP_COND_MISS, TL_S_BP_COND_MISS_TAKEN, TL_S_HART_CYC_MISPREDICT};
    const uint64_t pc = block->pc + block->offset[block->n_insns - 1];
    uint64_t tally[TL_S_N_CELLS];
    for (uint32_t i = 0; i < TL_COUNT_OF(outcome_cells); i++)
        tally[outcome_cells[i]] = 0;
    tl_bpred_add(&h->bp, block->transfer->outcomes, tally);
    for (uint32_t i = 0; i < TL_COUNT_OF(outcome_cells); i++)
        tl_attribution_pour(h, pc, outcome_cells[i], tally[outcome_cells[i]]);
    for (uint32_t i = 0; i < TL_N_TRANSFER_CELLS; i++)
        tl_attribution_pour(h, pc, tl_transfer_cells[i], block->transfer->counts[i]);
    *block->transfer = (tl_block_transfer){0};
}

void tl_blocks_pour(void *ctx) {
    tl_blocks *store = ctx;
    tl_hart *h = store->hart;
    store->poured_cycle = h->now;
    for (uint32_t number = 0; number < store->n_blocks; number++) {
        const tl_block *block = store->by_number[number];
        const uint64_t n = store->held[number];
        store->held[number] = 0;
        if (n != 0)
            attribute_runs(store, block, n);
        if (block->transfer)
            attribute_transfer(h, block);
    }
}

void tl_blocks_fold_branches(tl_blocks *store) {
    tl_hart *h = store->hart;
    if (TL_UNLIKELY(store->attribution != NULL)) {
        tl_bpred_add(&h->bp, h->bp.counts, tl_attribution_booked(h));
        if (tl_blocks_sink(store)) {
            tl_blocks_count_outcomes(store);
            memset(store->counted_outcomes, 0, sizeof store->counted_outcomes);
        }
        if (h->now - store->poured_cycle >= TL_MAX_UNFOLDED_CYCLES)
            tl_blocks_pour(store);
    }
    tl_bpred_fold(&h->bp, h->tally);
}

static void add_statics(const tl_block *block, uint64_t n, uint64_t *tally) {
    for (uint32_t i = 0; i < block->n_statics; i++)
        tally[block->statics[i].cell] += n * block->statics[i].amount;
}

// As tl_blocks_fold goes on. Rows get the counts later.
static TL_NOINLINE void fold_held(tl_blocks *store) {
    uint64_t *tally = store->hart->tally, *booked = tl_attribution_booked(store->hart);
    for (uint32_t number = 0; number < store->n_blocks; number++) {
        const uint64_t n = store->counts[number];
        if (TL_LIKELY(n == 0))
            continue;
        store->counts[number] = 0;
        store->held[number] += n;
        add_statics(store->by_number[number], n, tally);
        add_statics(store->by_number[number], n, booked);
    }
}

void tl_blocks_fold(tl_blocks *store) {
    uint64_t *tally = store->hart->tally;
    // A fast exit, because a PMU that waits for an overflow syncs after each stepped instruction.
    if (store->is_folded)
        return;
    store->is_folded = !store->is_running;
    tl_blocks_fold_branches(store);
    if (TL_UNLIKELY(store->attribution != NULL)) {
        fold_held(store);
        return;
    }
    for (uint32_t number = 0; number < store->n_blocks; number++) {
        uint64_t count = store->counts[number];
        if (TL_LIKELY(count == 0))
            continue;
        store->counts[number] = 0;
        add_statics(store->by_number[number], count, tally);
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

static void add_to(tl_static_count *counts, uint32_t *n, uint32_t cell, uint64_t amount) {
    if (amount == 0)
        return;
    for (uint32_t i = 0; i < *n; i++)
        if (counts[i].cell == cell) {
            counts[i].amount += (uint32_t)amount;
            return;
        }
    counts[(*n)++] = (tl_static_count){.cell = (uint16_t)cell, .amount = (uint32_t)amount};
}

uint32_t tl_block_list_rest(const tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched,
                            tl_static_count counts[TL_MAX_BLOCK_STATICS]) {
    const tl_hart *h = store->hart;
    uint32_t n = 0;
    tl_scoreboard board, before;
    tl_block_walk(store, block, k, &board);
    before = board;
    uint64_t fetched_end = block->pc + block->offset[k];
    for (uint32_t i = k, at = block->offset[k]; i < block->n_insns; i++) {
        tl_block_insn insn;
        store->isa->decode(h, tl_code_bits(store->isa, block->bytes, at, block->n_bytes), &insn);
        tl_scoreboard_issue(&board, &insn.pipe);
        for (uint32_t s = 0; s < insn.n_counts; s++)
            add_to(counts, &n, insn.counts[s].cell, insn.counts[s].amount);
        at += insn.len;
        if (i == k && is_fetched)
            fetched_end += insn.len;
    }
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        add_to(counts, &n, tl_pipe_cause_cell[c], board.lost[c] - before.lost[c]);
    add_to(counts, &n, TL_S_L1I_READ, tl_fetch_groups(h, block->pc, block->end_pc) - tl_fetch_groups(h, block->pc, fetched_end));
    return n;
}

static tl_block_rest *rest_of(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched) {
    const uint64_t number = (uint64_t)(block->count - store->counts);
    return &store->rests[(number * 2 + is_fetched + (uint64_t)k * 5) % TL_BLOCK_RESTS];
}

// Adds instructions k.. of an execution to the tallies, or takes them out. The same few places trap
// or wait again and again, so their lists are kept, because decoding anew took 1,900 host
// instructions for each system call (bench/system.py, "calls").
static void adjust(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched, bool is_added) {
    tl_hart *h = store->hart;
    uint64_t *tally = h->tally;
    const uint64_t sign = is_added ? 1 : UINT64_MAX;
    tl_block_rest *rest = rest_of(store, block, k, is_fetched);
    if (TL_UNLIKELY(rest->block != block || rest->k != k || rest->is_fetched != is_fetched)) {
        rest->block = block;
        rest->k = (uint16_t)k;
        rest->is_fetched = is_fetched;
        rest->n_counts = (uint16_t)tl_block_list_rest(store, block, k, is_fetched, rest->counts);
    }
    for (const tl_static_count *at = rest->counts, *end = at + rest->n_counts; at != end; at++)
        tally[at->cell] += sign * at->amount;
    if (TL_UNLIKELY(h->attribution != NULL))
        attribute(store, block, k, is_fetched, sign, tl_attribution_execute, tl_attribution_add);
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
