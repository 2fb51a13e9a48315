// SPDX-License-Identifier: MIT
// Branch prediction, inline because every control transfer passes here: a table of two-bit counters
// indexed by pc (BHT) or by pc xor history (gshare), a direct-mapped branch target buffer, a
// circular return-address stack.
//
// Rules. A conditional branch: right direction and not taken costs nothing; right direction and
// taken costs nothing when the BTB knows the target, else redirect_cycles; wrong direction costs
// mispredict_cycles. A direct jump: redirect_cycles when the BTB misses. An indirect jump predicts
// from the return-address stack when it is a return, else from the BTB; a wrong or missing target
// costs mispredict_cycles. The BTB is written by taken branches and jumps, except returns, whenever
// it did not hold their target. No wrong-path fetch is modeled.
#ifndef TL_MODEL_BPRED_H
#define TL_MODEL_BPRED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/status.h"
#include "model/config.h"
#include "model/hart_signals.h"

typedef struct tl_btb_entry {
    uint64_t pc, target;
} tl_btb_entry;

// Effects of a conditional branch of each direction on a counter of each value. Front-ends without
// a branch of the host use the table, because a misprediction is unpredictable. Directions: 0 not
// taken, 1 taken. A fixed prediction is as that of a counter of 0 or 3.
// Mispredicted branches are TAKEN_MISS, when taken, and OTHER_MISS.
enum { TL_BRANCH_TAKEN, TL_BRANCH_TAKEN_MISS, TL_BRANCH_OTHER_MISS, TL_N_BRANCH_COUNTS = 4 };
typedef struct tl_bpred_outcomes {
    _Alignas(16) uint32_t counts[2][4][TL_N_BRANCH_COUNTS]; // added to tl_bpred.counts
    uint64_t cycles[2][4];
    uint8_t next[2][4];
} tl_bpred_outcomes;

// The latest conditional branches and indirect jumps that are no returns, for a predictor that
// learns from them later. The n-th, counted from 1, is records[n % TL_BRANCH_RECORDS]:
// tl_branch_record.
enum { TL_BRANCH_RECORDS = 1 << 16, TL_BRANCH_RECORD_PC = 14, TL_BRANCH_RECORD_INDIRECT = 1 << 13, TL_BRANCH_RECORD_TARGET = 0x1ffe };
typedef struct tl_branch_log {
    uint64_t n;
    uint64_t records[TL_BRANCH_RECORDS];
} tl_branch_log;

// Values of tl_bpred.fixed.
enum { TL_BPRED_COUNTERS, TL_BPRED_NOT_TAKEN, TL_BPRED_BACKWARD, TL_BPRED_LOGGED };

typedef struct tl_bpred {
    tl_bpred_outcomes outcomes;
    // Counts of branches that are not in the tallies yet; see tl_bpred_fold.
    _Alignas(16) uint32_t counts[TL_N_BRANCH_COUNTS];
    union {
        uint8_t *counters;
        tl_branch_log *log; // with TL_BPRED_LOGGED
    };
    tl_btb_entry *btb;
    uint64_t *ras;
    uint64_t counter_mask, history_mask, btb_mask;
    uint64_t history;
    uint32_t ras_entries, ras_top; // ras_top: index of the youngest entry
    uint32_t ras_used;             // valid entries, at most ras_entries
    uint32_t mispredict_cycles, redirect_cycles;
    // Counters; or no branch is taken; or backward ones are; or so, and outcomes go to the log.
    uint8_t fixed;
} tl_bpred;

// Addresses have 49 bits. A conditional branch has its direction in bit 0. An indirect jump has
// TL_BRANCH_RECORD_INDIRECT, and bits 1 to 12 of its target.
static inline uint64_t tl_branch_record(uint64_t pc, uint64_t low) { return pc << TL_BRANCH_RECORD_PC | low; }
static inline void tl_branch_note(tl_branch_log *log, uint64_t record) { log->records[++log->n % TL_BRANCH_RECORDS] = record; }
// Front-ends with TL_BPRED_LOGGED note each conditional branch and each indirect jump that is no
// return. Other machines spend no instruction on that.
static inline void tl_branch_note_outcome(tl_branch_log *log, uint64_t pc, bool is_taken) {
    tl_branch_note(log, tl_branch_record(pc, is_taken));
}
static inline void tl_branch_note_target(tl_branch_log *log, uint64_t pc, uint64_t target) {
    tl_branch_note(log, tl_branch_record(pc, TL_BRANCH_RECORD_INDIRECT | (target & TL_BRANCH_RECORD_TARGET)));
}

// Allocates the tables and sets their reset contents: counters weakly not taken, BTB and return
// stack empty. Implementation: timing/inorder/bpred.c.
TL_MUST_CHECK tl_status tl_bpred_init(tl_bpred *bp, const tl_config *config, tl_arena *arena, tl_error *err);

// Adds counts of branches to tallies.
static inline void tl_bpred_add(const tl_bpred *bp, const uint32_t counts[TL_N_BRANCH_COUNTS], uint64_t *tally) {
    uint64_t taken_misses = counts[TL_BRANCH_TAKEN_MISS], misses = taken_misses + counts[TL_BRANCH_OTHER_MISS];
    tally[TL_S_HART_BRANCH_TAKEN] += counts[TL_BRANCH_TAKEN];
    tally[TL_S_BP_COND_MISS] += misses;
    tally[TL_S_BP_COND_MISS_TAKEN] += taken_misses;
    tally[TL_S_HART_CYC_MISPREDICT] += misses * bp->mispredict_cycles;
}

// Into the tallies with what is counted apart; to be called before a count can reach 2^32.
static inline void tl_bpred_fold(tl_bpred *bp, uint64_t *tally) {
    tl_bpred_add(bp, bp->counts, tally);
    for (uint32_t i = 0; i < TL_N_BRANCH_COUNTS; i++)
        bp->counts[i] = 0;
}

// The taken target was right in direction or direct: false costs redirect_cycles. Fills the BTB.
TL_ALWAYS_INLINE bool tl_bpred_btb_knows(tl_bpred *bp, uint64_t *tally, uint64_t pc, uint64_t target) {
    tl_btb_entry *entry = &bp->btb[(pc >> 1) & bp->btb_mask];
    if (TL_LIKELY(entry->pc == pc && entry->target == target))
        return true;
    entry->pc = pc;
    entry->target = target;
    tally[TL_S_BP_BTB_FILL] += 1;
    return false;
}

// Returns the cycles lost; counts what went wrong and why. Look-ups themselves are static and
// counted by the front-end.
TL_ALWAYS_INLINE uint64_t tl_bpred_branch(tl_bpred *bp, uint64_t *tally, uint64_t pc, uint64_t target, bool is_taken) {
    bool predicted;
    if (TL_LIKELY(bp->fixed == 0)) {
        uint8_t *counter = &bp->counters[((pc >> 1) ^ (bp->history & bp->history_mask)) & bp->counter_mask];
        unsigned value = *counter;
        predicted = value >= 2;
        *counter = (uint8_t)(is_taken ? value + (value < 3) : value - (value > 0));
        bp->history = bp->history << 1 | is_taken;
    } else {
        predicted = bp->fixed >= TL_BPRED_BACKWARD && target < pc;
    }
    tally[TL_S_HART_BRANCH_TAKEN] += is_taken;
    if (TL_LIKELY(predicted == is_taken)) {
        if (!is_taken || tl_bpred_btb_knows(bp, tally, pc, target))
            return 0;
        tally[TL_S_BP_REDIRECT] += 1;
        tally[TL_S_HART_CYC_REDIRECT] += bp->redirect_cycles;
        return bp->redirect_cycles;
    }
    tally[TL_S_BP_COND_MISS] += 1;
    if (is_taken) {
        tally[TL_S_BP_COND_MISS_TAKEN] += 1;
        tl_bpred_btb_knows(bp, tally, pc, target);
    }
    tally[TL_S_HART_CYC_MISPREDICT] += bp->mispredict_cycles;
    return bp->mispredict_cycles;
}

TL_ALWAYS_INLINE uint64_t tl_bpred_jump(tl_bpred *bp, uint64_t *tally, uint64_t pc, uint64_t target) {
    if (TL_LIKELY(tl_bpred_btb_knows(bp, tally, pc, target)))
        return 0;
    tally[TL_S_BP_REDIRECT] += 1;
    tally[TL_S_HART_CYC_REDIRECT] += bp->redirect_cycles;
    return bp->redirect_cycles;
}

static inline void tl_bpred_push(tl_bpred *bp, uint64_t return_pc) {
    if (bp->ras_entries == 0)
        return;
    bp->ras_top = bp->ras_top + 1 == bp->ras_entries ? 0 : bp->ras_top + 1;
    bp->ras[bp->ras_top] = return_pc;
    if (bp->ras_used < bp->ras_entries)
        bp->ras_used += 1;
}

static inline uint64_t tl_bpred_pop(tl_bpred *bp) { // UINT64_MAX when empty: predicts no target
    if (bp->ras_used == 0)
        return UINT64_MAX;
    uint64_t target = bp->ras[bp->ras_top];
    bp->ras_top = bp->ras_top == 0 ? bp->ras_entries - 1 : bp->ras_top - 1;
    bp->ras_used -= 1;
    return target;
}

// An indirect jump. A call pushes the address behind it; a return is predicted by the stack. A jump
// that is both pops first.
static inline uint64_t tl_bpred_indirect(tl_bpred *bp, uint64_t *tally, uint64_t pc, uint64_t target, uint64_t return_pc, bool is_call,
                                         bool is_return) {
    bool is_hit;
    if (is_return)
        is_hit = tl_bpred_pop(bp) == target;
    else
        is_hit = tl_bpred_btb_knows(bp, tally, pc, target);
    if (is_call)
        tl_bpred_push(bp, return_pc);
    if (TL_LIKELY(is_hit))
        return 0;
    tally[is_return ? TL_S_BP_RETURN_MISS : TL_S_BP_INDIRECT_MISS] += 1;
    tally[TL_S_BP_TARGET_MISS] += 1;
    tally[TL_S_HART_CYC_TARGET] += bp->mispredict_cycles;
    return bp->mispredict_cycles;
}

#endif
