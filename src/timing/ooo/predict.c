// SPDX-License-Identifier: MIT
// Branch prediction at fetch. History and return stack are speculative and restored from
// checkpoints; counters and BTB learn when instructions retire, so they never see a wrong path.
#include "timing/ooo/ooo.h"

#include <string.h>

tl_status predictor_init(predictor *p, const tl_bpred *bp, const tl_config *config, tl_arena *arena, tl_error *err) {
    const tl_bp_config *want = &config->bp;
    const bool is_counted = want->kind == TL_BP_BHT || want->kind == TL_BP_GSHARE;
    *p = (predictor){
        .kind = want->kind,
        .counter_mask = is_counted ? want->counters - 1 : 0,
        .history_mask = want->kind == TL_BP_GSHARE ? (UINT64_C(1) << want->history_bits) - 1 : 0,
        .btb_mask = want->btb_entries - 1,
        .stack_entries = want->ras_entries,
    };
    if (want->kind == TL_BP_TAGE) {
        const tl_status status = tage_init(config, arena, &p->tage, err);
        if (status != TL_OK)
            return status;
    }
    p->counters = bp->counters;
    p->btb = bp->btb;
    p->stack = tl_arena_alloc(arena, (want->ras_entries + 1) * sizeof *p->stack);
    return p->stack ? TL_OK : tl_fail(err, TL_ENOMEM, "no memory for the branch predictor");
}

static void push(predictor *p, uint64_t return_pc) {
    if (p->stack_entries == 0)
        return;
    p->stack_top = p->stack_top + 1 == p->stack_entries ? 0 : p->stack_top + 1;
    p->stack[p->stack_top] = return_pc;
    p->stack_used += p->stack_used < p->stack_entries;
}

static uint64_t pop(predictor *p) {
    if (p->stack_used == 0)
        return NEVER;
    const uint64_t target = p->stack[p->stack_top];
    p->stack_top = p->stack_top == 0 ? p->stack_entries - 1 : p->stack_top - 1;
    p->stack_used -= 1;
    return target;
}

static uint32_t next_of(const predictor *p) { return p->stack_top + 1 >= p->stack_entries ? 0 : p->stack_top + 1; }

// A push overwrites the value above the top, which a pop may have left there.
static void save(const predictor *p, uint32_t counter, checkpoint *ret) {
    *ret = (checkpoint){.history = p->tage ? tage_mark(p->tage) : p->history,
                        .stack_top = p->stack_top,
                        .stack_used = p->stack_used,
                        .stack_value = p->stack[next_of(p)],
                        .counter = counter};
}

void predictor_restore(predictor *p, const checkpoint *before) {
    if (p->tage)
        tage_restore(p->tage, before->history);
    else
        p->history = before->history;
    p->stack_top = before->stack_top;
    p->stack_used = before->stack_used;
    p->stack[next_of(p)] = before->stack_value;
}

static uint64_t btb_target(const predictor *p, uint64_t pc) {
    const tl_btb_entry *entry = &p->btb[pc >> 1 & p->btb_mask];
    return entry->pc == pc ? entry->target : NEVER;
}

static bool predict_direction(const predictor *p, const tl_flow_insn *insn, uint32_t counter) {
    switch (p->kind) {
    case TL_BP_NOT_TAKEN: return false;
    case TL_BP_BTFN: return insn->target < insn->pc;
    case TL_BP_TAGE: return tage_predict(p->tage, insn->pc);
    default: return p->counters[counter] >= 2;
    }
}

// A branch's bit is its direction. An indirect jump's is a sum of bits of its target, for TAGE.
static void push_history(predictor *p, const tl_flow_insn *insn, bool is_taken, uint64_t next_pc) {
    if (p->tage && insn->pipe.cls == TL_CLASS_BRANCH)
        tage_push(p->tage, insn->pc, is_taken);
    else if (p->tage && insn->pipe.cls == TL_CLASS_JALR && !insn->is_return)
        tage_push(p->tage, insn->pc, __builtin_parityll(next_pc & 0x1ffe));
    else if (insn->pipe.cls == TL_CLASS_BRANCH)
        p->history = p->history << 1 | is_taken;
}

prediction predictor_predict(predictor *p, const tl_flow_insn *insn, checkpoint *ret_before) {
    const uint64_t after = insn->pc + insn->len;
    const uint32_t counter = (uint32_t)(((insn->pc >> 1) ^ (p->history & p->history_mask)) & p->counter_mask);
    prediction is = {.next_pc = after};
    save(p, counter, ret_before);
    switch (insn->pipe.cls) {
    case TL_CLASS_BRANCH:
        is.is_taken = predict_direction(p, insn, counter);
        push_history(p, insn, is.is_taken, after);
        if (is.is_taken) {
            is.next_pc = insn->target;
            is.misses_btb = btb_target(p, insn->pc) != insn->target;
        }
        break;
    case TL_CLASS_JAL:
        is = (prediction){.next_pc = insn->target, .is_taken = true, .misses_btb = btb_target(p, insn->pc) != insn->target};
        break;
    case TL_CLASS_JALR:
        is = (prediction){.next_pc = insn->is_return ? pop(p) : btb_target(p, insn->pc), .is_taken = true};
        push_history(p, insn, true, is.next_pc);
        break;
    default: break;
    }
    if (insn->is_call)
        push(p, after);
    return is;
}

void predictor_replay(predictor *p, const tl_flow_insn *insn) {
    push_history(p, insn, insn->is_taken, insn->next_pc);
    if (insn->is_return)
        (void)pop(p);
    if (insn->is_call)
        push(p, insn->pc + insn->len);
}

static void learn_target(predictor *p, uint64_t pc, uint64_t target, uint64_t *tally) {
    tl_btb_entry *entry = &p->btb[pc >> 1 & p->btb_mask];
    if (entry->pc == pc && entry->target == target)
        return;
    *entry = (tl_btb_entry){.pc = pc, .target = target};
    tally[TL_S_BP_BTB_FILL] += 1;
}

static void learn_direction(predictor *p, const tl_flow_insn *insn, const checkpoint *before) {
    uint8_t *counter = &p->counters[before->counter];
    if (p->tage)
        tage_train(p->tage, insn->pc, before->history, insn->is_taken);
    else if (insn->is_taken && *counter < 3)
        *counter += 1;
    else if (!insn->is_taken && *counter > 0)
        *counter -= 1;
}

void predictor_train(predictor *p, const tl_flow_insn *insn, const checkpoint *before, bool was_right, uint64_t *tally) {
    switch (insn->pipe.cls) {
    case TL_CLASS_BRANCH:
        learn_direction(p, insn, before);
        tally[TL_S_BP_COND_MISS] += !was_right;
        tally[TL_S_BP_COND_MISS_TAKEN] += !was_right && insn->is_taken;
        if (insn->is_taken)
            learn_target(p, insn->pc, insn->next_pc, tally);
        break;
    case TL_CLASS_JAL: learn_target(p, insn->pc, insn->next_pc, tally); break;
    case TL_CLASS_JALR:
        tally[insn->is_return ? TL_S_BP_RETURN_MISS : TL_S_BP_INDIRECT_MISS] += !was_right;
        tally[TL_S_BP_TARGET_MISS] += !was_right;
        if (!insn->is_return)
            learn_target(p, insn->pc, insn->next_pc, tally);
        break;
    default: break;
    }
}

// ---- Another engine.

void predictor_give(const predictor *p, tl_bpred *bp) {
    bp->history = p->history;
    bp->ras_top = p->stack_top;
    bp->ras_used = p->stack_used;
    memcpy(bp->ras, p->stack, p->stack_entries * sizeof *bp->ras);
    if (bp->fixed == TL_BPRED_LOGGED)
        bp->log->n = 0;
}

// As if the record's instruction had been fetched and had retired.
static void learn_record(tage *t, uint64_t record) {
    const uint64_t pc = (uint64_t)((int64_t)record >> TL_BRANCH_RECORD_PC);
    if (record & TL_BRANCH_RECORD_INDIRECT) {
        tage_push(t, pc, __builtin_parityll(record & TL_BRANCH_RECORD_TARGET));
        return;
    }
    const bool is_taken = record & 1;
    const uint64_t mark = tage_mark(t);
    (void)tage_predict(t, pc);
    tage_push(t, pc, is_taken);
    tage_train(t, pc, mark, is_taken);
}

void predictor_take(predictor *p, tl_bpred *bp) {
    p->history = bp->history;
    p->stack_top = bp->ras_top;
    p->stack_used = bp->ras_used;
    memcpy(p->stack, bp->ras, p->stack_entries * sizeof *p->stack);
    if (!p->tage || bp->fixed != TL_BPRED_LOGGED)
        return;
    tl_branch_log *log = bp->log;
    const uint64_t kept = log->n < TL_BRANCH_RECORDS ? log->n : TL_BRANCH_RECORDS;
    for (uint64_t i = log->n - kept + 1; i <= log->n; i++)
        learn_record(p->tage, log->records[i % TL_BRANCH_RECORDS]);
    log->n = 0;
}
