// SPDX-License-Identifier: MIT
// The ends of blocks: branches and jumps with predictor, BTB and return-address stack in line
// (model/bpred.h has their rules). The code does not branch on a misprediction, because the host
// would mispredict as often as the guest. The code adds a row of a table with its cost and counts.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/block/contexts.h"
#include "isa/block/enter.h"
#include "isa/block/store.h"
#include "isa/rv/transfers.h"
#include "isa/rv/translate/translator.h"
#include "model/attribution.h"
#include "model/bpred.h"

enum { LINK = 1 }; // the register of nearly all calls

// Only branches and direct jumps stay near, because other ends of blocks have called C code. C code
// may have evicted the line.
bool tl_link_is_near(const tl_translator *t, const tl_block *from, uint64_t pc) {
    tl_class cls = (tl_class)tl_insn_rows[from->opc[from->n_insns - 1]].cls;
    return (cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL) && tl_block_is_near(t->store, from, pc);
}

void tl_emit_link(tl_translator *t, uint64_t pc) {
    x86 *e = &t->e;
    uint8_t *late = NULL;
    bool is_near = tl_link_is_near(t, t->block, pc);
    if (is_near) {
        bool is_loop = pc == t->block->pc; // is_private of other blocks is not known yet
        x86_cmp_rm(e, R13, is_loop && t->block->is_private ? TL_HART(ahead_horizon) : TL_HART(fast_horizon));
        late = x86_jcc(e, CC_AE);
        x86_inc_r(e, RBP); // the look-up of the next block
    }
    uint8_t *site = x86_jmp(e);
    tl_emit_elsewhere(t);
    x86_patch(site, e->at);
    if (is_near) {
        x86_dec_r(e, RBP);
        x86_patch(late, e->at);
    }
    x86_mov_ri(e, RAX, pc);
    x86_mov_ri(e, RDX, (uintptr_t)site);
    x86_mov_ri(e, RCX, (uintptr_t)t->block);
    x86_jmp_to(e, t->link_thunk);
    tl_emit_elsewhere(t);
}

static void add_now(tl_translator *t, uint32_t cycles) {
    if (cycles != 0)
        x86_add_ri(&t->e, R13, (int32_t)cycles);
}

static x86_mem field(x86_mem m, size_t offset) {
    m.disp += (int32_t)offset;
    return m;
}

static void compare_with(tl_translator *t, x86_mem m, uint64_t value, int scratch) {
    if (fits_s32((int64_t)value)) {
        x86_cmp_mi(&t->e, m, (int32_t)value);
    } else {
        x86_mov_ri(&t->e, scratch, value);
        x86_cmp_rm(&t->e, scratch, m);
    }
}

static void store_value(tl_translator *t, x86_mem m, uint64_t value, int scratch) {
    x86_mov_ri(&t->e, scratch, value);
    x86_store(&t->e, m, scratch);
}

static tl_btb_entry *btb_entry(const tl_translator *t, uint64_t pc) {
    const tl_bpred *bp = &t->store->hart->bp;
    return &bp->btb[(pc >> 1) & bp->btb_mask];
}

static void emit_redirect(tl_translator *t) {
    uint32_t cycles = t->store->hart->bp.redirect_cycles;
    tl_emit_transfer_tally(t, TL_S_BP_REDIRECT, 1, RCX);
    tl_emit_transfer_tally(t, TL_S_HART_CYC_REDIRECT, cycles, RCX);
    add_now(t, cycles);
}

// Looks the target up in the BTB, and fills the BTB on a miss. Spends rcx and rdx, keeps rax. A
// miss costs a redirection when the jump was predicted taken.
typedef enum bill { BILL_ALWAYS, BILL_IF_PREDICTED_TAKEN, BILL_NEVER } bill;
static void emit_btb(tl_translator *t, uint64_t pc, uint64_t target, bill billed) {
    x86 *e = &t->e;
    tl_btb_entry *entry = btb_entry(t, pc);
    x86_mem m = tl_emit_at(t, entry, RDX);
    compare_with(t, field(m, offsetof(tl_btb_entry, pc)), pc, RCX);
    uint8_t *miss0 = x86_jcc(e, CC_NE);
    compare_with(t, field(m, offsetof(tl_btb_entry, target)), target, RCX);
    uint8_t *miss1 = x86_jcc(e, CC_NE);
    const uint8_t *known = e->at;
    tl_emit_elsewhere(t);
    x86_patch(miss0, e->at);
    x86_patch(miss1, e->at);
    m = tl_emit_at(t, entry, RDX);
    store_value(t, field(m, offsetof(tl_btb_entry, pc)), pc, RCX);
    store_value(t, field(m, offsetof(tl_btb_entry, target)), target, RCX);
    tl_emit_transfer_tally(t, TL_S_BP_BTB_FILL, 1, RCX);
    if (billed == BILL_IF_PREDICTED_TAKEN) {
        x86_cmp32_ri(e, RAX, 2 * 2); // rax: twice the counter as it was
        x86_patch(x86_jcc(e, CC_B), known);
    }
    if (billed != BILL_NEVER)
        emit_redirect(t);
    x86_jmp_to(e, known);
    tl_emit_elsewhere(t);
}

// Before: rcx = index of a two-bit counter, rdx = history. Afterwards:
// rcx = address of the counter, rdx = history shifted by one. Spends rax.
static void emit_counter_address(tl_translator *t) {
    x86_add_rr(&t->e, RDX, RDX);
    x86_mem counters = tl_emit_at(t, t->store->hart->bp.counters, RAX);
    counters.index = RCX;
    x86_lea(&t->e, RCX, counters);
}

// Before the direction is known: rcx = address of the two-bit counter, rdx = history shifted by
// one. Spends rax.
static void emit_predictor(tl_translator *t, uint64_t pc) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    x86_load(e, RDX, TL_HART(bp.history));
    if (bp->history_mask != 0) {
        x86_zext32_rr(e, RCX, RDX);
        x86_and32_ri(e, RCX, (int32_t)(bp->history_mask & bp->counter_mask));
        x86_xor32_ri(e, RCX, (int32_t)((pc >> 1) & bp->counter_mask));
    } else {
        x86_mov_ri(e, RCX, (pc >> 1) & bp->counter_mask);
    }
    emit_counter_address(t);
}

// Operand: the row of `field` for a counter value of 0 to 3. A row has index * 8 bytes.
#define OUTCOME(field, is_taken, index, scale) \
    at_index(RBX, index, scale, (int64_t)offsetof(tl_hart, bp.outcomes.field[is_taken]) - TL_HART_BIAS)

// Adds a row of counts. While they are booked, the branch has counts of its own. Spends rdx.
static void emit_outcome(tl_translator *t, x86_mem counts) {
    x86 *e = &t->e;
    x86_paddd_rm(e, XMM6, counts);
    if (!t->block->transfer)
        return;
    const x86_mem own = tl_emit_at(t, t->block->transfer->outcomes, RDX);
    x86_movaps_load(e, XMM0, own);
    x86_paddd_rm(e, XMM0, counts);
    x86_movaps_store(e, own, XMM0);
}

// After the direction is known: trains the counter, adds counts and cycles. rax = twice the old
// counter.
static void emit_train(tl_translator *t, bool is_taken) {
    x86 *e = &t->e;
    x86_mem counter = at_base(RCX, 0);
    if (is_taken)
        x86_add_ri(e, RDX, 1);
    x86_store(e, TL_HART(bp.history), RDX);
    if (tl_times(t, TL_CODE_PREDICTION) > 1) { // all that follows, to no effect
        x86_store(e, TL_HART(bp.history), RDX);
        x86_load_u8(e, RAX, counter);
        x86_load_u8(e, RDX, OUTCOME(next, is_taken, RAX, 0));
        x86_store8(e, counter, RAX);
        x86_load(e, RDX, OUTCOME(cycles, is_taken, RAX, 3));
        x86_add32_rr(e, RAX, RAX);
        x86_paddd_rm(e, XMM0, OUTCOME(counts, is_taken, RAX, 3));
    }
    x86_load_u8(e, RAX, counter);
    x86_load_u8(e, RDX, OUTCOME(next, is_taken, RAX, 0));
    x86_store8(e, counter, RDX);
    x86_add_rm(e, R13, OUTCOME(cycles, is_taken, RAX, 3));
    x86_add32_rr(e, RAX, RAX);
    emit_outcome(t, OUTCOME(counts, is_taken, RAX, 3)); // a row has 16 bytes
}

// Notes `record` in the log. Leaves its address in rcx. Spends rdx.
static void emit_note(tl_translator *t, uint64_t record) {
    x86 *e = &t->e;
    x86_mov_ri(e, RCX, (uintptr_t)t->store->hart->bp.log);
    x86_load(e, RDX, at_base(RCX, offsetof(tl_branch_log, n)));
    x86_add_ri(e, RDX, 1);
    x86_store(e, at_base(RCX, offsetof(tl_branch_log, n)), RDX);
    x86_and32_ri(e, RDX, TL_BRANCH_RECORDS - 1);
    x86_lea(e, RCX, at_index(RCX, RDX, 3, offsetof(tl_branch_log, records)));
    store_value(t, at_base(RCX, 0), record, RDX);
}

// Notes an indirect jump to rax in the log. Keeps rax. Spends rcx and rdx.
static void emit_note_indirect(tl_translator *t, uint64_t pc) {
    x86 *e = &t->e;
    emit_note(t, tl_branch_record(pc, TL_BRANCH_RECORD_INDIRECT));
    x86_mov_rr(e, RDX, RAX);
    x86_and32_ri(e, RDX, TL_BRANCH_RECORD_TARGET);
    x86_op_mr(e, true, X_OR, at_base(RCX, 0), RDX);
}

static void emit_branch_tail(tl_translator *t, uint64_t pc, uint64_t target, bool is_taken) {
    tl_bpred *bp = &t->store->hart->bp;
    if (bp->fixed != 0) {
        bool predicted = bp->fixed >= TL_BPRED_BACKWARD && target < pc;
        if (bp->fixed == TL_BPRED_LOGGED)
            emit_note(t, tl_branch_record(pc, is_taken));
        x86_mem counts = OUTCOME(counts, is_taken, -1, 0);
        counts.disp += predicted ? (int32_t)(3 * sizeof bp->outcomes.counts[0][0]) : 0;
        emit_outcome(t, counts);
        if (predicted != is_taken)
            add_now(t, bp->mispredict_cycles);
        if (is_taken)
            emit_btb(t, pc, target, predicted ? BILL_ALWAYS : BILL_NEVER);
    } else {
        emit_train(t, is_taken);
        if (is_taken)
            emit_btb(t, pc, target, BILL_IF_PREDICTED_TAKEN);
    }
    tl_emit_link(t, is_taken ? target : t->block->end_pc);
}

// Afterwards rcx = address of the two-bit counter, rdx = history shifted by one. Spends rax.
// Before: rcx = pc.
static void emit_counter_of_rcx(tl_translator *t) {
    x86 *e = &t->e;
    const tl_bpred *bp = &t->store->hart->bp;
    for (uint32_t left = tl_times(t, TL_CODE_PREDICTION); left > 0; left--) {
        if (left > 1)
            x86_push_r(e, RCX);
        x86_shr32_ri(e, RCX, 1);
        x86_load(e, RDX, TL_HART(bp.history));
        if (bp->history_mask != 0) {
            x86_zext32_rr(e, RAX, RDX);
            x86_and32_ri(e, RAX, (int32_t)(uint32_t)bp->history_mask);
            x86_xor32_rr(e, RCX, RAX);
        }
        x86_and32_ri(e, RCX, (int32_t)bp->counter_mask);
        emit_counter_address(t);
        if (left > 1)
            x86_pop_r(e, RCX);
    }
}

// In a thunk: `offset` becomes an address in `table`. Keeps `scratch`, which is another register.
static void emit_add_table(tl_translator *t, int offset, const void *table, int scratch) {
    x86 *e = &t->e;
    intptr_t distance = (intptr_t)table - (intptr_t)t->store->hart - TL_HART_BIAS;
    if (fits_s32(distance)) {
        x86_lea(e, offset, at_index(RBX, offset, 0, distance));
    } else {
        x86_push_r(e, scratch);
        x86_mov_ri(e, scratch, (uintptr_t)table);
        x86_add_rr(e, offset, scratch);
        x86_pop_r(e, scratch);
    }
}

// The entry of the BTB for rcx = pc and rdx = target. Spends rax and the flags.
static void emit_btb_of_rcx(tl_translator *t, uint8_t *miss[2]) {
    x86 *e = &t->e;
    const tl_bpred *bp = &t->store->hart->bp;
    for (uint32_t left = tl_times(t, TL_CODE_PREDICTION);;) {
        x86_zext32_rr(e, RAX, RCX);
        // An entry has 16 bytes, and bit 0 of a pc is 0.
        x86_and32_ri(e, RAX, (int32_t)(bp->btb_mask << 1));
        x86_shl32_ri(e, RAX, 3);
        emit_add_table(t, RAX, bp->btb, RCX);
        x86_cmp_rm(e, RCX, at_base(RAX, offsetof(tl_btb_entry, pc)));
        miss[0] = x86_jcc(e, CC_NE);
        x86_cmp_rm(e, RDX, at_base(RAX, offsetof(tl_btb_entry, target)));
        miss[1] = x86_jcc(e, CC_NE);
        if (--left == 0)
            return;
        x86_patch(miss[0], e->at);
        x86_patch(miss[1], e->at);
    }
}

static void emit_fill(tl_translator *t, uint8_t *const miss[2]) {
    x86 *e = &t->e;
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    x86_store(e, at_base(RAX, offsetof(tl_btb_entry, pc)), RCX);
    x86_store(e, at_base(RAX, offsetof(tl_btb_entry, target)), RDX);
}

// The thunks count for no block, so a block with counts of its own has its transfers in place.
static bool calls_thunks(const tl_translator *t) { return t->is_dense && !t->block->transfer; }

// In dense code both directions of a branch call common code. The branch comes first, so the host
// knows the direction as early as in the other form.
static void emit_called_branch(tl_translator *t, const tl_op *op, int cc) {
    x86 *e = &t->e;
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    x86_mov_ri(e, RCX, pc);
    tl_emit_compare(t, op);
    uint8_t *taken = x86_jcc_short(e, cc);
    x86_call_to(e, t->branch_thunks[false]);
    tl_emit_link(t, t->block->end_pc);
    x86_patch_short(taken, e->at);
    x86_lea(e, RDX, at_base(RCX, op->imm));
    x86_call_to(e, t->branch_thunks[true]);
    tl_emit_link(t, target);
}

static void emit_cond(tl_translator *t, const tl_op *op, int cc) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    if (calls_thunks(t) && t->store->hart->bp.fixed == 0) {
        emit_called_branch(t, op, cc);
        return;
    }
    if (t->store->hart->bp.fixed == 0)
        emit_predictor(t, pc);
    tl_emit_compare(t, op);
    uint8_t *taken = x86_jcc(&t->e, cc);
    emit_branch_tail(t, pc, target, false);
    x86_patch(taken, t->e.at);
    emit_branch_tail(t, pc, target, true);
}

// Entry rcx of the return-address stack. Spends rdx.
static x86_mem return_address(tl_translator *t) {
    x86_mem ras = tl_emit_at(t, t->store->hart->bp.ras, RDX);
    ras.index = RCX;
    ras.scale = 3;
    return ras;
}

// Pushes the return address, which `link` has got. Spends rcx and rdx.
static void emit_push(tl_translator *t, unsigned link) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    if (bp->ras_entries == 0)
        return;
    x86_load32(e, RCX, TL_HART(bp.ras_top));
    x86_zero_r(e, RDX);
    x86_add32_ri(e, RCX, 1);
    x86_cmp32_ri(e, RCX, (int32_t)bp->ras_entries);
    x86_cmov32_rr(e, CC_AE, RCX, RDX);
    x86_store32(e, TL_HART(bp.ras_top), RCX);
    x86_lea(e, RDX, return_address(t));
    x86_load(e, RCX, tl_guest_x(link));
    x86_store(e, at_base(RDX, 0), RCX);
    x86_load32(e, RCX, TL_HART(bp.ras_used));
    x86_cmp32_ri(e, RCX, (int32_t)bp->ras_entries);
    x86_adc32_ri(e, RCX, 0);
    x86_store32(e, TL_HART(bp.ras_used), RCX);
}

// The jump at the end of the block to target changes the calling context.
static void tell_in_c(tl_hart *h, const tl_block *block, uint64_t target) {
    tl_blocks *store = h->engine_state;
    tl_callgraph *graph = tl_attribution_sink(h)->graph;
    const uint32_t k = block->n_insns - 1u;
    const tl_op *op = &block->ops[k];
    tl_blocks_count_outcomes(store);
    tl_rv_tell_jump(graph, h, block->opc[k] == TL_OPC_jalr, op->rd, op->rs1, block->pc + op->offset, target, block->end_pc);
    tl_blocks_follow_graph(store);
}

// rax = target, kept.
static void emit_tell(tl_translator *t) {
    if (TL_LIKELY(!tl_blocks_sink(t->store)))
        return;
    x86_mov_ri(&t->e, RDX, (uintptr_t)t->block);
    x86_mov_ri(&t->e, RCX, (uintptr_t)tell_in_c);
    x86_call_to(&t->e, t->call_thunk);
}

static void emit_jal(tl_translator *t, const tl_op *op) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    tl_reg_set_i(t, op->rd, t->block->end_pc);
    bool is_called = calls_thunks(t), is_common = is_called && op->rd == LINK;
    if (tl_is_link(op->rd) && !is_common)
        emit_push(t, op->rd);
    if (is_called) {
        x86_mov_ri(&t->e, RCX, pc);
        x86_lea(&t->e, RDX, at_base(RCX, op->imm));
        x86_call_to(&t->e, t->jump_thunks[is_common]);
    } else {
        emit_btb(t, pc, target, BILL_ALWAYS);
    }
    const tl_context_sink *sink = tl_blocks_sink(t->store);
    if (sink && (tl_is_link(op->rd) || tl_callgraph_wants_jump(sink->graph, target))) {
        x86_mov_ri(&t->e, RAX, target);
        emit_tell(t);
    }
    tl_emit_link(t, target);
}

enum { CELL_LOG2 = 5 };
_Static_assert(sizeof(tl_jump_cell) == 1 << CELL_LOG2, "the cell index is scaled by a shift");

// rcx = offset of the cell for the target in rax.
static void emit_cell_offset(tl_translator *t) {
    x86_zext32_rr(&t->e, RCX, RAX);
    x86_and32_ri(&t->e, RCX, (TL_JUMP_CACHE - 1) << 1);
    x86_shl32_ri(&t->e, RCX, CELL_LOG2 - 1);
}

// Jumps to the target in rax through the jump cache. A miss calls tl_blocks_enter_cell.
static void emit_dispatch(tl_translator *t) {
    x86 *e = &t->e;
    emit_cell_offset(t);
    x86_mem cell = tl_emit_at(t, t->store->jump_cache[t->block->view], RDX);
    cell.index = RCX;
    x86_cmp_rm(e, RAX, field(cell, offsetof(tl_jump_cell, pc)));
    uint8_t *miss0 = x86_jcc(e, CC_NE);
    const tl_pend *pend = t->block->exit_pend;
    if (pend) {
        x86_mov_ri(e, RDX, (uintptr_t)pend);
        if (cell.base == RDX) { // the address of the cache is gone
            x86_mov_ri(e, RAX, (uintptr_t)t->store->jump_cache[t->block->view]);
            cell.base = RAX;
        }
        x86_cmp_rm(e, RDX, field(cell, offsetof(tl_jump_cell, in)));
    } else {
        x86_cmp_mi(e, field(cell, offsetof(tl_jump_cell, in)), 0);
    }
    uint8_t *miss1 = x86_jcc(e, CC_NE);
    if (cell.base == RAX) { // cold_thunk needs the pc
        x86_load(e, RDX, field(cell, offsetof(tl_jump_cell, code)));
        x86_load(e, RAX, field(cell, offsetof(tl_jump_cell, pc)));
        x86_jmp_r(e, RDX);
    } else {
        x86_jmp_m(e, field(cell, offsetof(tl_jump_cell, code)));
    }
    tl_emit_elsewhere(t);
    x86_patch(miss1, e->at);
    if (cell.base == RAX) // the pc matched
        x86_load(e, RAX, field(cell, offsetof(tl_jump_cell, pc)));
    x86_patch(miss0, e->at);
    x86_mov_ri(e, RDX, (uintptr_t)pend);
    x86_jmp_to(e, t->indirect_thunk);
    tl_emit_elsewhere(t);
}

// Jumps that both pop and push, or link without a return-address stack: rare, so in C.
static void predict_in_c(tl_hart *h, const tl_block *block, uint64_t target) {
    const tl_op *op = &block->ops[block->n_insns - 1];
    if (TL_UNLIKELY(h->attribution != NULL))
        tl_attribution_transfer(h, block->pc + op->offset);
    h->now += tl_bpred_indirect(&h->bp, h->tally, block->pc + op->offset, target, block->end_pc, tl_is_link(op->rd & 31),
                                tl_jalr_is_return(op->rd & 31, op->rs1));
}

// rax = target, kept. Jumps when the return-address stack is empty or names another target.
static void emit_pop(tl_translator *t, uint8_t *miss[2]) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    x86_load32(e, RCX, TL_HART(bp.ras_used));
    x86_sub32_ri(e, RCX, 1);
    miss[0] = x86_jcc(e, CC_B); // empty
    x86_store32(e, TL_HART(bp.ras_used), RCX);
    x86_load32(e, RCX, TL_HART(bp.ras_top));
    x86_load(e, RDX, return_address(t));
    x86_sub32_ri(e, RCX, 1);
    uint8_t *in_place = x86_jcc(e, CC_AE);
    x86_mov_ri(e, RCX, bp->ras_entries - 1);
    x86_patch(in_place, e->at);
    x86_store32(e, TL_HART(bp.ras_top), RCX);
    x86_cmp_rr(e, RDX, RAX);
    miss[1] = x86_jcc(e, CC_NE);
}

// Counts a jump to another target than the predicted one. Spends rcx.
static void emit_target_miss(tl_translator *t, bool is_return) {
    uint32_t cycles = t->store->hart->bp.mispredict_cycles;
    tl_emit_transfer_tally(t, is_return ? TL_S_BP_RETURN_MISS : TL_S_BP_INDIRECT_MISS, 1, RCX);
    tl_emit_transfer_tally(t, TL_S_BP_TARGET_MISS, 1, RCX);
    tl_emit_transfer_tally(t, TL_S_HART_CYC_TARGET, cycles, RCX);
    add_now(t, cycles);
}

static void emit_branch_thunks(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    t->branch_thunks[false] = e->at;
    emit_counter_of_rcx(t);
    emit_train(t, false);
    x86_ret(e);
    t->branch_thunks[true] = e->at;
    emit_btb_of_rcx(t, miss);
    emit_counter_of_rcx(t);
    emit_train(t, true);
    x86_ret(e);
    emit_fill(t, miss);
    emit_counter_of_rcx(t);
    emit_train(t, true);
    tl_emit_transfer_tally(t, TL_S_BP_BTB_FILL, 1, RCX);
    x86_cmp32_ri(e, RAX, 2 * 2); // twice the counter as it was
    uint8_t *unforeseen = x86_jcc(e, CC_B);
    emit_redirect(t);
    x86_patch(unforeseen, e->at);
    x86_ret(e);
}

static void emit_jump_thunk(tl_translator *t, bool is_link) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    t->jump_thunks[is_link] = e->at;
    emit_btb_of_rcx(t, miss);
    const uint8_t *known = e->at;
    if (is_link)
        emit_push(t, LINK);
    x86_ret(e);
    emit_fill(t, miss);
    tl_emit_transfer_tally(t, TL_S_BP_BTB_FILL, 1, RCX);
    emit_redirect(t);
    x86_jmp_to(e, known);
}

void tl_emit_cell(tl_translator *t, uint32_t view, uint8_t *miss[2]) {
    x86 *e = &t->e;
    emit_cell_offset(t);
    emit_add_table(t, RCX, t->store->jump_cache[view], RAX);
    x86_cmp_rm(e, RAX, at_base(RCX, offsetof(tl_jump_cell, pc)));
    miss[0] = x86_jcc(e, CC_NE);
    x86_cmp_rm(e, RDX, at_base(RCX, offsetof(tl_jump_cell, in)));
    miss[1] = x86_jcc(e, CC_NE);
}

// Before: rax = target, rdx = results in flight. Returns with rcx = the address to go on at. A miss
// of the jump cache goes on there itself.
static void emit_find(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    tl_emit_cell(t, t->block->view, miss);
    x86_load(e, RCX, at_base(RCX, offsetof(tl_jump_cell, code)));
    x86_ret(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    x86_add_ri(e, RSP, 8); // the return address
    x86_jmp_to(e, t->indirect_thunk);
}

static void emit_register_thunk(tl_translator *t, bool is_link) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    t->register_thunks[is_link][t->block->view] = e->at;
    x86_push_r(e, RDX);
    x86_mov_rr(e, RDX, RAX);
    emit_btb_of_rcx(t, miss);
    const uint8_t *known = e->at;
    x86_mov_rr(e, RAX, RDX);
    if (is_link)
        emit_push(t, LINK);
    x86_pop_r(e, RDX);
    emit_find(t);
    emit_fill(t, miss);
    tl_emit_transfer_tally(t, TL_S_BP_BTB_FILL, 1, RCX);
    emit_target_miss(t, false);
    x86_jmp_to(e, known);
}

static void emit_return_thunk(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    t->return_thunks[t->block->view] = e->at;
    x86_push_r(e, RDX);
    emit_pop(t, miss);
    const uint8_t *known = e->at;
    x86_pop_r(e, RDX);
    emit_find(t);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    emit_target_miss(t, true);
    x86_jmp_to(e, known);
}

void tl_emit_transfer_thunks(tl_translator *t) {
    const tl_bpred *bp = &t->store->hart->bp;
    tl_block none = {0}; // has no counts of its own
    t->block = &none;
    for (uint32_t is_link = 0; is_link < 2; is_link++)
        emit_jump_thunk(t, is_link);
    if (bp->fixed == 0)
        emit_branch_thunks(t);
    for (; bp->ras_entries != 0 && none.view < TL_N_VIEWS; none.view++) {
        for (uint32_t is_link = 0; is_link < 2; is_link++)
            emit_register_thunk(t, is_link);
        emit_return_thunk(t);
    }
    t->block = NULL;
}

// In dense code common code predicts the jump to rax and finds its block. The host's jump stays
// here, because the host predicts it by its place.
static void emit_called_jalr(tl_translator *t, uint64_t pc, bool is_return, bool is_call) {
    x86 *e = &t->e;
    const tl_pend *pend = t->block->exit_pend;
    uint32_t view = t->block->view;
    if (!is_return && t->store->hart->bp.fixed == TL_BPRED_LOGGED)
        emit_note_indirect(t, pc);
    if (!is_return)
        x86_mov_ri(e, RCX, pc);
    if (pend)
        x86_mov_ri(e, RDX, (uintptr_t)pend);
    else
        x86_zero_r(e, RDX);
    x86_call_to(e, is_return ? t->return_thunks[view] : t->register_thunks[is_call][view]);
    x86_jmp_r(e, RCX);
}

static void emit_jalr(tl_translator *t, const tl_op *op) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    uint64_t pc = t->block->pc + op->offset, end_pc = t->block->end_pc;
    bool is_return = tl_jalr_is_return(op->rd & 31, op->rs1), is_call = tl_is_link(op->rd);
    tl_emit_address(t, op);
    x86_and_ri(e, RAX, -2);
    if (op->rd < 32) {
        x86_mov_ri(e, RCX, end_pc);
        tl_reg_set(t, op->rd, RCX);
    }
    if ((is_return && is_call) || bp->ras_entries == 0) {
        x86_mov_ri(e, RDX, (uintptr_t)t->block);
        x86_mov_ri(e, RCX, (uintptr_t)predict_in_c);
        x86_call_to(e, t->call_thunk);
        emit_tell(t);
        emit_dispatch(t);
        return;
    }
    if (calls_thunks(t) && (!is_call || op->rd == LINK)) {
        emit_called_jalr(t, pc, is_return, is_call);
        return;
    }
    uint8_t *miss[2];
    if (is_return) {
        emit_pop(t, miss);
    } else {
        if (bp->fixed == TL_BPRED_LOGGED)
            emit_note_indirect(t, pc);
        x86_mem m = tl_emit_at(t, btb_entry(t, pc), RDX);
        compare_with(t, field(m, offsetof(tl_btb_entry, pc)), pc, RCX);
        miss[0] = x86_jcc(e, CC_NE);
        x86_cmp_rm(e, RAX, field(m, offsetof(tl_btb_entry, target)));
        miss[1] = x86_jcc(e, CC_NE);
    }
    const uint8_t *predicted = e->at;
    tl_emit_elsewhere(t);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    if (!is_return) {
        x86_mem m = tl_emit_at(t, btb_entry(t, pc), RDX);
        store_value(t, field(m, offsetof(tl_btb_entry, pc)), pc, RCX);
        x86_store(e, field(m, offsetof(tl_btb_entry, target)), RAX);
        tl_emit_transfer_tally(t, TL_S_BP_BTB_FILL, 1, RCX);
    }
    emit_target_miss(t, is_return);
    x86_jmp_to(e, predicted);
    tl_emit_elsewhere(t);
    if (is_call)
        emit_push(t, op->rd);
    emit_tell(t);
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
