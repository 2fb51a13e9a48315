// SPDX-License-Identifier: MIT
// The ends of blocks: branches and jumps with predictor, BTB and return-address stack in line (model/bpred.h has their rules).
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"
#include "model/bpred.h"

void tl_emit_link(tl_translator *t, uint64_t pc) {
    tl_stub *s = tl_stub_new(t, true);
    s->from[0] = x86_jmp(&t->e);
    s->pc = pc;
}

// Compares [rdx] and [rdx+8] with pc and target; returns the jumps of a BTB miss in from[].
static void emit_btb_check(tl_translator *t, uint64_t pc, uint64_t target, uint8_t *from[2]) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    x86_mov_ri(e, RDX, (uintptr_t)&bp->btb[(pc >> 1) & bp->btb_mask]);
    x86_mov_ri(e, RAX, pc);
    x86_rm(e, true, 0x3b, RAX, at_base(RDX, offsetof(tl_btb_entry, pc)));
    from[0] = x86_jcc(e, CC_NE);
    x86_mov_ri(e, RCX, target);
    x86_rm(e, true, 0x3b, RCX, at_base(RDX, offsetof(tl_btb_entry, target)));
    from[1] = x86_jcc(e, CC_NE);
}

static void emit_btb_fill(tl_translator *t, uint64_t pc, uint64_t target) { // rdx = entry
    x86 *e = &t->e;
    x86_mov_ri(e, RAX, pc);
    x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, pc)));
    x86_mov_ri(e, RAX, target);
    x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
    tl_add_to(e, tl_tally_at(TL_S_BP_BTB_FILL), 1);
}

// Direct and predicted: to the link, by way of the BTB's bill when it did not know the target.
static void emit_known_target(tl_translator *t, uint64_t pc, uint64_t target) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    emit_btb_check(t, pc, target, miss);
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    emit_btb_fill(t, pc, target);
    uint32_t cycles = t->store->hart->bp.redirect_cycles;
    tl_add_to(e, tl_tally_at(TL_S_BP_REDIRECT), 1);
    tl_add_to(e, tl_tally_at(TL_S_HART_CYC_REDIRECT), cycles);
    tl_add_to(e, TL_HART(now), cycles);
    x86_patch(hit, e->at);
    tl_emit_link(t, target);
}

static void emit_mispredicted(tl_translator *t, uint64_t pc, uint64_t target, bool is_taken) {
    x86 *e = &t->e;
    uint32_t cycles = t->store->hart->bp.mispredict_cycles;
    tl_add_to(e, tl_tally_at(TL_S_BP_COND_MISS), 1);
    tl_add_to(e, tl_tally_at(TL_S_HART_CYC_MISPREDICT), cycles);
    tl_add_to(e, TL_HART(now), cycles);
    if (!is_taken)
        return;
    tl_add_to(e, tl_tally_at(TL_S_BP_COND_MISS_TAKEN), 1);
    uint8_t *miss[2];
    emit_btb_check(t, pc, target, miss);
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    emit_btb_fill(t, pc, target);
    x86_patch(hit, e->at);
}

static void emit_branch_tail(tl_translator *t, uint64_t pc, uint64_t target, bool is_taken) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    if (is_taken)
        tl_add_to(e, tl_tally_at(TL_S_HART_BRANCH_TAKEN), 1);
    uint64_t next = is_taken ? target : t->block->end_pc;
    if (bp->fixed != 0) {
        bool predicted = bp->fixed == 2 && target < pc;
        if (predicted != is_taken)
            emit_mispredicted(t, pc, target, is_taken);
        if (predicted && is_taken)
            emit_known_target(t, pc, target);
        else
            tl_emit_link(t, next);
        return;
    }
    x86_rm(e, true, 0x8b, RAX, TL_HART(bp.history));
    if (bp->history_mask != 0) {
        x86_rr(e, false, 0x8b, RCX, RAX);
        x86_op_ri(e, false, X_AND, RCX, (int32_t)(bp->history_mask & bp->counter_mask));
        x86_op_ri(e, false, X_XOR, RCX, (int32_t)((pc >> 1) & bp->counter_mask));
    } else {
        x86_mov_ri(e, RCX, (pc >> 1) & bp->counter_mask);
    }
    x86_rm(e, true, 0x8d, RAX, at_index(RAX, RAX, 0, is_taken));
    x86_rm(e, true, 0x89, RAX, TL_HART(bp.history));
    x86_mov_ri(e, RDX, (uintptr_t)bp->counters);
    x86_rm(e, false, 0x0fb6, RAX, at_index(RDX, RCX, 0, 0));
    x86_rr(e, false, 0x8b, RSI, RAX);
    x86_op_ri(e, false, X_CMP, RAX, is_taken ? 3 : 1);
    x86_op_ri(e, false, X_ADC, RSI, is_taken ? 0 : -1); // + (value < 3), - (value > 0)
    x86_rm_byte(e, false, 0x88, RSI, at_index(RDX, RCX, 0, 0), true);
    x86_op_ri(e, false, X_CMP, RAX, 2);
    uint8_t *wrong = x86_jcc(e, is_taken ? CC_B : CC_AE);
    if (is_taken)
        emit_known_target(t, pc, target);
    else
        tl_emit_link(t, next);
    x86_patch(wrong, e->at);
    emit_mispredicted(t, pc, target, is_taken);
    tl_emit_link(t, next);
}

static void emit_cond(tl_translator *t, const tl_op *op, int cc) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    tl_emit_compare(t, op);
    uint8_t *taken = x86_jcc(&t->e, cc);
    emit_branch_tail(t, pc, target, false);
    x86_patch(taken, t->e.at);
    emit_branch_tail(t, pc, target, true);
}

static void emit_push(tl_translator *t, uint64_t return_pc) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    if (bp->ras_entries == 0)
        return;
    x86_rm(e, false, 0x8b, RSI, TL_HART(bp.ras_top));
    x86_rr(e, false, 0x33, RDI, RDI);
    x86_op_ri(e, false, X_ADD, RSI, 1);
    x86_op_ri(e, false, X_CMP, RSI, (int32_t)bp->ras_entries);
    x86_rr(e, false, 0x0f40 | CC_AE, RSI, RDI);
    x86_rm(e, false, 0x89, RSI, TL_HART(bp.ras_top));
    x86_mov_ri(e, RDX, (uintptr_t)bp->ras);
    x86_mov_ri(e, RCX, return_pc);
    x86_rm(e, true, 0x89, RCX, at_index(RDX, RSI, 3, 0));
    x86_rm(e, false, 0x8b, RSI, TL_HART(bp.ras_used));
    x86_op_ri(e, false, X_CMP, RSI, (int32_t)bp->ras_entries);
    x86_op_ri(e, false, X_ADC, RSI, 0);
    x86_rm(e, false, 0x89, RSI, TL_HART(bp.ras_used));
}

static void emit_jal(tl_translator *t, const tl_op *op) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    if (op->rd < 32) {
        x86_mov_ri(&t->e, RAX, t->block->end_pc);
        x86_rm(&t->e, true, 0x89, RAX, tl_guest_x(op->rd));
    }
    if (tl_is_link(op->rd))
        emit_push(t, t->block->end_pc);
    emit_known_target(t, pc, target);
}

enum { CELL_LOG2 = 5 };
_Static_assert(sizeof(tl_jump_cell) == 1 << CELL_LOG2, "the cell index is scaled by a shift");

// The jump that rax holds the target of: through the jump cache, else by look-up.
static void emit_dispatch(tl_translator *t) {
    x86 *e = &t->e;
    x86_rr(e, false, 0x8b, RCX, RAX);
    x86_op_ri(e, false, X_AND, RCX, (TL_JUMP_CACHE - 1) << 1);
    x86_shift_i(e, false, X_SHL, RCX, CELL_LOG2 - 1);
    x86_mov_ri(e, RDX, (uintptr_t)t->store->jump_cache[t->block->view]);
    x86_op_rr(e, true, X_ADD, RDX, RCX);
    x86_rm(e, true, 0x3b, RAX, at_base(RDX, offsetof(tl_jump_cell, pc)));
    uint8_t *miss[2] = {x86_jcc(e, CC_NE), NULL};
    const tl_pend *pend = t->block->exit_pend;
    if (pend) {
        x86_mov_ri(e, RCX, (uintptr_t)pend);
        x86_rm(e, true, 0x3b, RCX, at_base(RDX, offsetof(tl_jump_cell, in)));
    } else {
        x86_op_mi(e, true, X_CMP, at_base(RDX, offsetof(tl_jump_cell, in)), 0);
    }
    miss[1] = x86_jcc(e, CC_NE);
    x86_rm(e, false, 0xff, 4, at_base(RDX, offsetof(tl_jump_cell, code)));
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    x86_mov_rr(e, RSI, RAX);
    x86_mov_ri(e, RDX, (uintptr_t)t->block);
    x86_jmp_to(e, t->indirect_thunk);
}

static void target_missed(tl_hart *h, bool is_return) {
    h->tally[is_return ? TL_S_BP_RETURN_MISS : TL_S_BP_INDIRECT_MISS] += 1;
    h->tally[TL_S_BP_TARGET_MISS] += 1;
    h->tally[TL_S_HART_CYC_TARGET] += h->bp.mispredict_cycles;
    h->now += h->bp.mispredict_cycles;
}

// Jumps that both pop and push, or link without a return-address stack: rare, so in C.
static void predict_in_c(tl_hart *h, const tl_op *op, uint64_t target, uint64_t pc, uint64_t end_pc) {
    h->now += tl_bpred_indirect(&h->bp, h->tally, pc, target, end_pc, op->rd & 31, op->rs1);
}

static void emit_jalr(tl_translator *t, const tl_op *op) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    uint64_t pc = t->block->pc + op->offset, end_pc = t->block->end_pc;
    bool is_return = tl_jalr_is_return(op->rd & 31, op->rs1), is_call = tl_is_link(op->rd);
    tl_emit_address(t, op);
    x86_op_ri(e, true, X_AND, RAX, -2);
    if (op->rd < 32) {
        x86_mov_ri(e, RCX, end_pc);
        x86_rm(e, true, 0x89, RCX, tl_guest_x(op->rd));
    }
    if ((is_return && is_call) || bp->ras_entries == 0) {
        x86_mov_rr(e, R12, RAX);
        x86_rm(e, true, 0x8d, RDI, at_base(RBX, -TL_HART_BIAS));
        x86_mov_ri(e, RSI, (uintptr_t)op);
        x86_mov_rr(e, RDX, RAX);
        x86_mov_ri(e, RCX, pc);
        x86_mov_ri(e, R8, end_pc);
        x86_call_c(e, (uintptr_t)predict_in_c);
        x86_mov_rr(e, RAX, R12);
        emit_dispatch(t);
        return;
    }
    uint8_t *miss[2] = {NULL, NULL};
    if (is_return) { // pop
        x86_rm(e, false, 0x8b, RCX, TL_HART(bp.ras_used));
        x86_op_ri(e, false, X_SUB, RCX, 1);
        miss[0] = x86_jcc(e, CC_B); // empty
        x86_rm(e, false, 0x89, RCX, TL_HART(bp.ras_used));
        x86_rm(e, false, 0x8b, RCX, TL_HART(bp.ras_top));
        x86_mov_ri(e, RDX, (uintptr_t)bp->ras);
        x86_rm(e, true, 0x8b, R8, at_index(RDX, RCX, 3, 0));
        x86_mov_ri(e, RSI, bp->ras_entries - 1);
        x86_op_ri(e, false, X_SUB, RCX, 1);
        x86_rr(e, false, 0x0f40 | CC_B, RCX, RSI);
        x86_rm(e, false, 0x89, RCX, TL_HART(bp.ras_top));
        x86_op_rr(e, true, X_CMP, R8, RAX);
        miss[1] = x86_jcc(e, CC_NE);
    } else {
        x86_mov_ri(e, RDX, (uintptr_t)&bp->btb[(pc >> 1) & bp->btb_mask]);
        x86_mov_ri(e, RCX, pc);
        x86_rm(e, true, 0x3b, RCX, at_base(RDX, offsetof(tl_btb_entry, pc)));
        miss[0] = x86_jcc(e, CC_NE);
        x86_rm(e, true, 0x3b, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
        miss[1] = x86_jcc(e, CC_NE);
    }
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    if (!is_return) {
        x86_mov_ri(e, RCX, pc);
        x86_rm(e, true, 0x89, RCX, at_base(RDX, offsetof(tl_btb_entry, pc)));
        x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
        tl_add_to(e, tl_tally_at(TL_S_BP_BTB_FILL), 1);
    }
    x86_mov_rr(e, R12, RAX);
    x86_rm(e, true, 0x8d, RDI, at_base(RBX, -TL_HART_BIAS));
    x86_mov_ri(e, RSI, is_return);
    x86_call_c(e, (uintptr_t)target_missed);
    x86_mov_rr(e, RAX, R12);
    x86_patch(hit, e->at);
    if (is_call)
        emit_push(t, end_pc);
    emit_dispatch(t);
}

bool tl_emit_branch(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    switch (t->block->opc[k]) {
    case TL_OPC_beq: emit_cond(t, op, CC_E); return true;
    case TL_OPC_bne: emit_cond(t, op, CC_NE); return true;
    case TL_OPC_blt: emit_cond(t, op, CC_L); return true;
    case TL_OPC_bge: emit_cond(t, op, CC_GE); return true;
    case TL_OPC_bltu: emit_cond(t, op, CC_B); return true;
    case TL_OPC_bgeu: emit_cond(t, op, CC_AE); return true;
    case TL_OPC_jal: emit_jal(t, op); return true;
    case TL_OPC_jalr: emit_jalr(t, op); return true;
    default: return false;
    }
}

#endif
