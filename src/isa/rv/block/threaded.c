// SPDX-License-Identifier: MIT
// Operations of RISC-V blocks, and engine `interp`. isa/block/thread.h says how they go on to one
// another.
#include "isa/rv/block/threaded.h"

#include "isa/block/fold.h"
#include "isa/block/run.h"
#include "isa/block/thread.h"
#include "isa/rv/block/row.h"
#include "isa/rv/transfers.h"
#include "model/attribution.h"

#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"

TL_ALWAYS_INLINE void branch(tl_hart *h, const tl_op *op, bool is_taken) {
    uint64_t pc = BLOCK->pc + op->offset;
    branch_at(h, pc, pc + (uint64_t)(int64_t)op->imm, is_taken);
}

TL_ALWAYS_INLINE void jump(tl_hart *h, const tl_op *op) {
    tl_block *block = BLOCK;
    uint64_t pc = block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    tl_rv(h)->x[op->rd] = block->end_pc;
    h->now += tl_bpred_jump(&h->bp, h->tally, pc, target);
    if (tl_is_link(op->rd))
        tl_bpred_push(&h->bp, block->end_pc);
    enter(h, &block->link[1], target);
}

TL_ALWAYS_INLINE void jump_indirect(tl_hart *h, const tl_op *op) {
    tl_block *block = BLOCK;
    uint64_t pc = block->pc + op->offset, target = (tl_rv(h)->x[op->rs1] + (uint64_t)(int64_t)op->imm) & ~UINT64_C(1);
    tl_rv(h)->x[op->rd] = block->end_pc;
    h->now +=
        tl_bpred_indirect(&h->bp, h->tally, pc, target, block->end_pc, tl_is_link(op->rd & 31), tl_jalr_is_return(op->rd & 31, op->rs1));
    enter_target(h, target);
}

#define PC_OF(op) (BLOCK->pc + (op)->offset)
#define PLAIN(id)                                      \
    static void op_##id(tl_hart *h, const tl_op *op) { \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op))))    \
            GO(op + 1);                                \
        slow(h, op);                                   \
    }
#define COND(id) \
    static void op_##id(tl_hart *h, const tl_op *op) { branch(h, op, taken_##id(h, op)); }

static void op_jal(tl_hart *h, const tl_op *op) { jump(h, op); }

static void op_jalr(tl_hart *h, const tl_op *op) { jump_indirect(h, op); }

// A return from a trap: the mode has changed with it.
static void op_xret(tl_hart *h, const tl_op *op) {
    if (TL_UNLIKELY(!execute(h, op)))
        STOP();
    enter_cell(h, h->pc);
}

static void op_ILLEGAL(tl_hart *h, const tl_op *op) { slow(h, op); }

#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) PLAIN(id)
#define INSN_BRANCH(id, mnemonic, match, mask, format, cls, size_bytes) COND(id)
#define INSN_JUMP(id, mnemonic, match, mask, format, cls, size_bytes)
#include "isa/rv/insn_all.def"
#undef INSN
#undef INSN_BRANCH
#undef INSN_JUMP

static tl_op_handler *const single[TL_N_OPCS] = {
    [TL_OPC_ILLEGAL] = op_ILLEGAL,
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) [TL_OPC_##id] = op_##id,
#include "isa/rv/insn_all.def"
#undef INSN
};

// The end of a block on a machine with TL_BPRED_LOGGED: notes where it goes, then does it.
static void op_logged(tl_hart *h, const tl_op *op) {
    const tl_block *block = BLOCK;
    const uint16_t opc = block->opc[op - block->ops];
    const uint64_t pc = PC_OF(op);
    if (opc != TL_OPC_jalr)
        tl_branch_note_outcome(h->bp.log, pc, tl_taken[opc](h, op));
    else if (!tl_jalr_is_return(op->rd & 31, op->rs1))
        tl_branch_note_target(h->bp.log, pc, (tl_rv(h)->x[op->rs1] + (uint64_t)(int64_t)op->imm) & ~UINT64_C(1));
    single[opc](h, op);
}

// The end of a block while an attribution is attached: counts of its prediction are its own.
static void op_booked(tl_hart *h, const tl_op *op) {
    const tl_block *block = BLOCK;
    const uint16_t opc = block->opc[op - block->ops];
    const uint64_t pc = PC_OF(op);
    tl_context_sink *sink = tl_attribution_sink(h);
    tl_attribution_transfer(h, pc);
    // Its counts are those of the context before.
    if (sink && !tl_taken[opc]) {
        const bool is_indirect = opc == TL_OPC_jalr;
        const uint64_t from = is_indirect ? tl_rv(h)->x[op->rs1] : pc, sum = from + (uint64_t)(int64_t)op->imm;
        tl_blocks_count_outcomes(h->engine_state);
        tl_rv_tell_jump(sink->graph, h, is_indirect, op->rd, op->rs1, pc, is_indirect ? sum & ~UINT64_C(1) : sum, block->end_pc);
        tl_blocks_follow_graph(h->engine_state);
    }
    if (h->bp.fixed == TL_BPRED_LOGGED && opc != TL_OPC_jal)
        op_logged(h, op);
    else
        single[opc](h, op);
}

// ---- fused neighbors: one dispatch for two ----

#define PAIR(a, b)                                           \
    static void op_##a##__##b(tl_hart *h, const tl_op *op) { \
        if (TL_UNLIKELY(!fast_##a(h, op, PC_OF(op)))) {      \
            slow(h, op);                                     \
            return;                                          \
        }                                                    \
        if (TL_LIKELY(fast_##b(h, op + 1, PC_OF(op + 1))))   \
            GO(op + 2);                                      \
        slow(h, op + 1);                                     \
    }
#define PAIR_BRANCH(a, b)                                    \
    static void op_##a##__##b(tl_hart *h, const tl_op *op) { \
        if (TL_UNLIKELY(!fast_##a(h, op, PC_OF(op)))) {      \
            slow(h, op);                                     \
            return;                                          \
        }                                                    \
        branch(h, op + 1, taken_##b(h, op + 1));             \
    }
#include "isa/rv/block/fused.def"
#undef PAIR
#undef PAIR_BRANCH

typedef struct fused_row {
    uint16_t first, second;
    tl_op_handler *handler;
} fused_row;

static const fused_row fused[] = {
#define PAIR(a, b) {TL_OPC_##a, TL_OPC_##b, op_##a##__##b},
#define PAIR_BRANCH(a, b) PAIR(a, b)
#include "isa/rv/block/fused.def"
#undef PAIR
#undef PAIR_BRANCH
    {0, 0, NULL},
};

static tl_op_handler *find_fused(uint16_t first, uint16_t second) {
    for (const fused_row *row = fused; row->handler; row++)
        if (row->first == first && row->second == second)
            return row->handler;
    return NULL;
}

// ---- the front-end ----

static tl_op_handler *alone(const tl_block *block, uint32_t k) { return single[block->opc[k]]; }

void tl_threaded_prepare(tl_blocks *store, tl_block *block) {
    for (uint32_t k = 0; k <= block->n_insns; k++)
        block->ops[k].offset = block->offset[k];
    for (uint32_t k = 0; k < block->n_insns; k++)
        block->ops[k].handler = block->opc[k] == TL_OPC_mret || block->opc[k] == TL_OPC_sret ? op_xret : single[block->opc[k]];
    block->ops[block->n_insns].handler = op_end;
    for (uint32_t k = 0; k + 1 < block->n_insns; k++) {
        tl_op_handler *handler = find_fused(block->opc[k], block->opc[k + 1]);
        if (handler)
            block->ops[k++].handler = handler;
    }
    const uint32_t last = block->n_insns - 1;
    const bool is_booked = store->hart->attribution != NULL, is_logged = store->hart->bp.fixed == TL_BPRED_LOGGED;
    if (((is_booked || is_logged) && (tl_taken[block->opc[last]] || block->opc[last] == TL_OPC_jalr)) ||
        (is_booked && block->opc[last] == TL_OPC_jal)) {
        block->ops[last].handler = is_booked ? op_booked : op_logged;
        if (last > 0)
            block->ops[last - 1].handler = single[block->opc[last - 1]];
    }
    finish(store, block, alone);
}

void tl_threaded_run(tl_blocks *store, tl_block *block) { run_block(store, block); }

void tl_threaded_resume(tl_blocks *store) { resume_run(store); }

static const tl_blocks_type block_type = {.isa = &tl_rv_block_isa, .prepare = tl_threaded_prepare, .run = run_threaded};

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) { return tl_blocks_attach(h, &block_type, arena, err); }

static void detach(tl_hart *h) {
    tl_blocks_detach(h->engine_state);
    h->engine_state = NULL;
}

static void sync(tl_hart *h) { tl_blocks_sync(h->engine_state); }

const tl_engine_type tl_engine_interp = {
    .name = "interp",
    .title = "threaded code over decoded fetch runs",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_rv64,
    .run = tl_blocks_run,
    .sync = sync,
    .overshoot_cycles = tl_blocks_overshoot_cycles,
    .hand_over = tl_blocks_hand_over,
};
