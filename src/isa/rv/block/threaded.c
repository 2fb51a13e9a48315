// SPDX-License-Identifier: MIT
// The block front-end: threaded code over decoded fetch runs. Each operation is a small function.
// It does its work on the hit path and jumps to the next operation (a sibling call). An operation
// that does not hit calls `slow`. `slow` sets the clock to the exact cycle and calls the full body.
// A run costs one fetch-slot compare, one count and one add to the clock.
//
// Where the compiler cannot turn the last call into a jump (sanitizers), TL_NO_TAIL_CALLS makes a
// loop of it.
#include "isa/rv/block/threaded.h"

#include "isa/rv/block/enter.h"
#include "isa/rv/block/execute.h"
#include "isa/rv/block/fold.h"
#include "isa/rv/block/run.h"
#include "isa/rv/block/stops.h"
#include "isa/rv/block/store.h"

#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"

#ifdef TL_NO_TAIL_CALLS
#define GO(op)             \
    do {                   \
        h->next_op = (op); \
        return;            \
    } while (0)
#define STOP()             \
    do {                   \
        h->next_op = NULL; \
        return;            \
    } while (0)
#else
#define GO(op)                   \
    do {                         \
        const tl_op *go_ = (op); \
        go_->handler(h, go_);    \
        return;                  \
    } while (0)
#define STOP() return
#endif

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc);
static TL_NOINLINE void enter_cell(tl_hart *h, uint64_t pc);

TL_ALWAYS_INLINE void start(tl_hart *h, tl_block *block) {
    h->pend = block->exit_pend;
    *block->count += 1;
    h->now += block->cycles;
    h->instret += block->n_insns;
    h->block = block;
    GO(block->ops);
}

TL_ALWAYS_INLINE bool may_enter(const tl_hart *h, const tl_fetch_slot *slot, const tl_block *block) {
    return TL_LIKELY(slot->key == block->enter_key && h->now < h->fast_horizon);
}

TL_ALWAYS_INLINE void begin(tl_hart *h, const tl_fetch_slot *slot, tl_block *block) {
    tl_fetch_hit(h, slot);
    start(h, block);
}

TL_ALWAYS_INLINE void enter(tl_hart *h, tl_block **link, uint64_t pc) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, pc);
    if (may_enter(h, slot, *link))
        begin(h, slot, *link);
    else
        enter_slow(h, link, pc);
}

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc) {
    tl_blocks *store = h->engine_state;
    uint64_t n_flushes = store->n_flushes;
    tl_block *block = tl_blocks_enter(store, pc, *link);
    if (TL_UNLIKELY(!block))
        STOP();
    if (store->n_flushes == n_flushes)
        *link = block; // else the link's own block is gone
    start(h, block);
}

static TL_NOINLINE void enter_cell(tl_hart *h, uint64_t pc) {
    tl_block *block = tl_blocks_enter_cell(h->engine_state, pc);
    if (TL_UNLIKELY(!block))
        STOP();
    start(h, block);
}

// Executes an operation that did not hit by its full body, at the exact cycle.
static TL_NOINLINE void slow(tl_hart *h, const tl_op *op) {
    tl_block *block = h->block;
    if (TL_UNLIKELY(!tl_block_execute(h->engine_state, block, (uint32_t)(op - block->ops))))
        STOP();
    GO(op + 1);
}

// The first operation of a block whose front-end has a `heat` hook.
static void op_warm(tl_hart *h, const tl_op *op) {
    tl_blocks *store = h->engine_state;
    tl_block *block = h->block;
    if (store->type->heat(store, block))
        STOP();
    block->first(h, op);
}

static void op_break(tl_hart *h, const tl_op *op) {
    tl_block *block = h->block;
    tl_block_stop_before(h->engine_state, block, (uint32_t)(op - block->ops));
    STOP();
}

// ---- operations ----

#define BLOCK ((tl_block *)h->block)

static void op_end(tl_hart *h, const tl_op *op) {
    (void)op;
    tl_block *block = BLOCK;
    enter(h, &block->link[0], block->end_pc);
}

TL_ALWAYS_INLINE void branch(tl_hart *h, const tl_op *op, bool is_taken) {
    tl_block *block = BLOCK;
    uint64_t pc = block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    if (is_taken) { // two copies of the predictor, each half the size
        h->now += tl_bpred_branch(&h->bp, h->tally, pc, target, true);
        enter(h, &block->link[1], target);
    } else {
        h->now += tl_bpred_branch(&h->bp, h->tally, pc, target, false);
        enter(h, &block->link[0], block->end_pc);
    }
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
    tl_blocks *store = h->engine_state;
    uint64_t pc = block->pc + op->offset, target = (tl_rv(h)->x[op->rs1] + (uint64_t)(int64_t)op->imm) & ~UINT64_C(1);
    tl_rv(h)->x[op->rd] = block->end_pc;
    h->now +=
        tl_bpred_indirect(&h->bp, h->tally, pc, target, block->end_pc, tl_is_link(op->rd & 31), tl_jalr_is_return(op->rd & 31, op->rs1));
    const tl_jump_cell *cell = tl_blocks_cell(store, target);
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, target);
    if (TL_LIKELY(cell->pc == target && cell->in == h->pend) && may_enter(h, slot, cell->block))
        begin(h, slot, cell->block);
    else
        enter_cell(h, target);
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
    tl_block *block = BLOCK;
    if (TL_UNLIKELY(!tl_block_execute(h->engine_state, block, (uint32_t)(op - block->ops))))
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

void tl_threaded_prepare(tl_blocks *store, tl_block *block) {
    for (uint32_t k = 0; k < block->n_insns; k++)
        block->ops[k].handler = block->opc[k] == TL_OPC_mret || block->opc[k] == TL_OPC_sret ? op_xret : single[block->opc[k]];
    block->ops[block->n_insns].handler = op_end;
    for (uint32_t k = 0; k + 1 < block->n_insns; k++) {
        tl_op_handler *handler = find_fused(block->opc[k], block->opc[k + 1]);
        if (handler)
            block->ops[k++].handler = handler;
    }
    const uint32_t last = block->n_insns - 1;
    if (store->hart->bp.fixed == TL_BPRED_LOGGED && (tl_taken[block->opc[last]] || block->opc[last] == TL_OPC_jalr)) {
        block->ops[last].handler = op_logged;
        if (last > 0)
            block->ops[last - 1].handler = single[block->opc[last - 1]];
    }
    for (uint32_t k = block->n_insns; k-- > 1;) // backward: the one before may be a breakpoint, too
        if (tl_blocks_stops_at(store, block, k)) {
            block->ops[k].handler = op_break;
            block->ops[k - 1].handler = single[block->opc[k - 1]];
        }
    if (store->type->heat) {
        block->first = block->ops[0].handler;
        block->ops[0].handler = op_warm;
    }
}

void tl_threaded_run(tl_blocks *store, tl_block *block) {
    tl_hart *h = store->hart;
#ifdef TL_NO_TAIL_CALLS
    h->next_op = NULL;
#endif
    start(h, block);
#ifdef TL_NO_TAIL_CALLS
    while (h->next_op)
        h->next_op->handler(h, h->next_op);
#endif
}

void tl_threaded_resume(tl_blocks *store) {
    tl_hart *h = store->hart;
    uint32_t k;
    tl_block *block = tl_blocks_resume(store, &k);
    h->block = block;
#ifdef TL_NO_TAIL_CALLS
    h->next_op = NULL;
#endif
    slow(h, &block->ops[k]);
#ifdef TL_NO_TAIL_CALLS
    while (h->next_op)
        h->next_op->handler(h, h->next_op);
#endif
}

static void run(tl_blocks *store) {
    if (store->is_waiting) {
        tl_threaded_resume(store);
        return;
    }
    tl_block *block = tl_blocks_enter_cell(store, store->hart->pc);
    if (block)
        tl_threaded_run(store, block);
}

static const tl_blocks_type block_type = {.prepare = tl_threaded_prepare, .run = run};

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
