// SPDX-License-Identifier: MIT
// The block front-end: threaded code over decoded fetch runs. Each operation is a small function that does its work on the hit path
// and jumps to the next one (a sibling call); whatever does not hit goes through `slow`, which puts the clock to the exact
// cycle, asks the full body, and goes on. Per run there is one fetch-slot compare, one count, one add to the clock.
//
// Where the compiler cannot turn the last call into a jump (sanitizers), TL_NO_TAIL_CALLS makes a loop of it.
#include "isa/rv/block/block.h"

#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"
#include "isa/rv/fp.h"
#include "isa/rv/step/step.h"

enum { MARGIN_INSNS = 128 / 2 + 2 }; // no block is longer

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
#define GO(op)                       \
    do {                             \
        const tl_op *go_ = (op);     \
        go_->handler(h, go_);        \
        return;                      \
    } while (0)
#define STOP() return
#endif

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc);
static TL_NOINLINE void charge_pend(tl_hart *h, const tl_block *block);

TL_ALWAYS_INLINE void start(tl_hart *h, tl_block *block) {
    if (TL_UNLIKELY(h->pend != NULL))
        charge_pend(h, block);
    else
        h->pend = block->exit_pend;
    block->count += 1;
    h->now += block->cycles;
    h->instret += block->n_insns;
    h->block = block;
    GO(block->ops);
}

TL_ALWAYS_INLINE void enter(tl_hart *h, tl_block **link, uint64_t pc) {
    tl_block *block = *link;
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, pc);
    if (TL_UNLIKELY(slot->vline != block->vline || slot->pline != block->enter_pline || h->now >= h->fast_horizon)) {
        enter_slow(h, link, pc);
        return;
    }
    uint64_t stamp = ++h->stamp;
    h->stamps[slot->line_stamp] = stamp;
    h->stamps[slot->page_stamp] = stamp;
    start(h, block);
}

// Results in flight meet a new run: the interlocks they cause are found once and remembered.
static TL_NOINLINE void charge_pend(tl_hart *h, const tl_block *const_block) {
    tl_block *block = (tl_block *)const_block;
    tl_blocks *store = h->engine;
    tl_block_memo *memo = &block->memo;
    if (memo->in != h->pend) {
        tl_scoreboard with, without;
        tl_block_time_before(store, block, block->n_insns, h->pend, &with);
        tl_block_time_before(store, block, block->n_insns, NULL, &without);
        memo->in = h->pend;
        memo->out = tl_scoreboard_pend(&with, store->pends);
        memo->cycles = (uint32_t)(with.time - without.time);
        for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
            memo->lost[c] = (int16_t)((int64_t)with.lost[c] - (int64_t)without.lost[c]);
    }
    if (memo->cycles != 0) {
        h->now += memo->cycles;
        for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
            h->tally[tl_pipe_cause_slot[c]] += (uint64_t)(int64_t)memo->lost[c];
    }
    store->pend_in = h->pend;
    store->pend_mark = h->instret + block->n_insns;
    h->pend = memo->out;
}

// What was in flight when the current block was entered.
static const tl_pend *pend_of(const tl_hart *h) {
    const tl_blocks *store = h->engine;
    return store->pend_mark == h->instret ? store->pend_in : NULL;
}

static void stop_at(tl_hart *h, uint64_t pc, int why) {
    h->pc = pc;
    ((tl_blocks *)h->engine)->why = why;
#ifdef TL_NO_TAIL_CALLS
    h->next_op = NULL;
#endif
}

static void stop_with_trap(tl_hart *h, uint64_t pc) {
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    ((tl_blocks *)h->engine)->pend_mark = UINT64_MAX; // instret goes back: the mark must not come true again
    stop_at(h, pc, TL_BLOCK_TRAP);
}

// One line look-up at the start of a run.
static bool look_up(tl_hart *h, tl_blocks *store, uint64_t vaddr, uint64_t *ret_pline) {
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    uint64_t vline = vaddr & h->line_mask;
    if (slot->vline == vline) {
        uint64_t stamp = ++h->stamp;
        h->stamps[slot->line_stamp] = stamp;
        h->stamps[slot->page_stamp] = stamp;
    } else {
        if (!h->port->fetch(h, vaddr))
            return false;
        tl_blocks_validate(store, vline, slot->pline);
    }
    *ret_pline = slot->pline;
    return true;
}

static TL_NOINLINE void enter_slow(tl_hart *h, tl_block **link, uint64_t pc) {
    tl_blocks *store = h->engine;
    if (h->now >= h->fast_horizon) {
        stop_at(h, pc, TL_BLOCK_GO_ON);
        return;
    }
    if (TL_UNLIKELY(pc == store->break_pc[0] || pc == store->break_pc[1])) {
        stop_at(h, pc, TL_BLOCK_BREAK);
        return;
    }
    uint64_t pline, pline2 = TL_NO_LINE;
    if (!look_up(h, store, pc, &pline)) {
        stop_with_trap(h, pc);
        return;
    }
    if (tl_straddles(h, pc, pline) && !look_up(h, store, pc + 2, &pline2)) {
        // The first look-up happened: there is no block to count it.
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->tally[TL_S_L1I_ACCESS] += 1;
        h->tally[TL_S_ITLB_ACCESS] += 1;
        h->tally[TL_S_L1I_READ] += tl_fetch_groups(h, pc, pc + 2);
        stop_with_trap(h, pc);
        return;
    }
    tl_block *block = *link;
    if (block->pc != pc || block->pline != pline || block->pline2 != pline2 || block->is_stale || block->generation != h->code_generation) {
        uint64_t n_flushes = store->n_flushes;
        block = tl_blocks_get(store, pc, pline, pline2);
        if (store->n_flushes == n_flushes)
            *link = block; // else the link's own block is gone
    }
    start(h, block);
}

// Everything that does not hit: the full body at the exact cycle.
static TL_NOINLINE void slow(tl_hart *h, const tl_op *op) {
    tl_blocks *store = h->engine;
    tl_block *block = h->block;
    uint32_t k = (uint32_t)(op - block->ops);
    uint64_t pc = block->pc + op->offset;
    const tl_pend *pend = pend_of(h);
    uint64_t rest_cycles = block->cycles - block->before[k], rest_insns = block->n_insns - k;
    if (TL_UNLIKELY(pend != NULL))
        rest_cycles = block->cycles + block->memo.cycles - tl_block_time_before(store, block, k, pend, NULL);
    h->now -= rest_cycles;
    h->instret -= rest_insns;
    bool is_done = tl_exec_full[block->opc[k]](h, op, pc);
    if (TL_UNLIKELY(!is_done)) {
        tl_block_take_back(store, block, k, pend, true);
        stop_with_trap(h, pc);
        return;
    }
    h->now += rest_cycles;
    h->instret += rest_insns;
    GO(op + 1);
}

// A breakpoint inside a run: the rest of the run has not happened.
static void op_break(tl_hart *h, const tl_op *op) {
    tl_blocks *store = h->engine;
    tl_block *block = h->block;
    uint32_t k = (uint32_t)(op - block->ops);
    const tl_pend *pend = pend_of(h);
    tl_scoreboard board;
    uint64_t before = tl_block_time_before(store, block, k, pend, &board);
    h->now -= block->cycles + (pend ? block->memo.cycles : 0) - before;
    h->instret -= block->n_insns - k;
    tl_block_take_back(store, block, k, pend, false);
    h->pend = tl_scoreboard_pend(&board, store->pends);
    h->run_vline = block->is_straddling ? block->vline + (~h->line_mask + 1) : block->vline;
    h->run_pline = block->is_straddling ? block->pline2 : block->pline;
    store->pend_mark = UINT64_MAX;
    stop_at(h, block->pc + op->offset, TL_BLOCK_BREAK);
}

// ---- operations ----

#define BLOCK ((tl_block *)h->block)

void tl_block_end_handler(tl_hart *h, const tl_op *op) {
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
    h->x[op->rd] = block->end_pc;
    h->now += tl_bpred_jump(&h->bp, h->tally, pc, target);
    if (tl_is_link(op->rd))
        tl_bpred_push(&h->bp, block->end_pc);
    enter(h, &block->link[1], target);
}

TL_ALWAYS_INLINE void jump_indirect(tl_hart *h, const tl_op *op) {
    tl_block *block = BLOCK;
    tl_blocks *store = h->engine;
    uint64_t pc = block->pc + op->offset, target = (h->x[op->rs1] + (uint64_t)(int64_t)op->imm) & ~UINT64_C(1);
    h->x[op->rd] = block->end_pc;
    h->now += tl_bpred_indirect(&h->bp, h->tally, pc, target, block->end_pc, op->rd & 31, op->rs1);
    tl_block **cell = &store->jump_cache[(target >> 1) & (TL_JUMP_CACHE - 1)];
    if (TL_UNLIKELY((*cell)->pc != target))
        enter_slow(h, cell, target);
    else
        enter(h, cell, target);
}

#define PC_OF(op) (BLOCK->pc + (op)->offset)
#define PLAIN(id)                                     \
    static void op_##id(tl_hart *h, const tl_op *op) { \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op))))   \
            GO(op + 1);                               \
        slow(h, op);                                  \
    }
#define COND(id)                                      \
    static void op_##id(tl_hart *h, const tl_op *op) { \
        branch(h, op, taken_##id(h, op));             \
    }

static void op_jal(tl_hart *h, const tl_op *op) {
    jump(h, op);
}

static void op_jalr(tl_hart *h, const tl_op *op) {
    jump_indirect(h, op);
}

static void op_ILLEGAL(tl_hart *h, const tl_op *op) {
    slow(h, op);
}

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

// ---- fused neighbors: one dispatch for two ----

#define PAIR(a, b)                                            \
    static void op_##a##__##b(tl_hart *h, const tl_op *op) {  \
        if (TL_UNLIKELY(!fast_##a(h, op, PC_OF(op)))) {       \
            slow(h, op);                                      \
            return;                                           \
        }                                                     \
        if (TL_LIKELY(fast_##b(h, op + 1, PC_OF(op + 1))))    \
            GO(op + 2);                                       \
        slow(h, op + 1);                                      \
    }
#define PAIR_BRANCH(a, b)                                     \
    static void op_##a##__##b(tl_hart *h, const tl_op *op) {  \
        if (TL_UNLIKELY(!fast_##a(h, op, PC_OF(op)))) {       \
            slow(h, op);                                      \
            return;                                           \
        }                                                     \
        branch(h, op + 1, taken_##b(h, op + 1));              \
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

void tl_block_choose_handlers(tl_blocks *store, tl_block *block) {
    for (uint32_t k = 0; k < block->n_insns; k++)
        block->ops[k].handler = single[block->opc[k]];
    for (uint32_t k = 0; k + 1 < block->n_insns; k++) {
        tl_op_handler *handler = find_fused(block->opc[k], block->opc[k + 1]);
        if (handler)
            block->ops[k++].handler = handler;
    }
    for (uint32_t k = 1; k < block->n_insns; k++) {
        uint64_t pc = block->pc + block->ops[k].offset;
        if (pc == store->break_pc[0] || pc == store->break_pc[1]) {
            block->ops[k].handler = op_break;
            block->ops[k - 1].handler = single[block->opc[k - 1]];
        }
    }
}

// ---- the front-end ----

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    tl_blocks *store = tl_arena_alloc(arena, sizeof *store);
    if (!store)
        return tl_fail(err, TL_ENOMEM, "no memory for the block front-end");
    tl_status status = tl_blocks_init(store, h, arena, err);
    if (status == TL_OK)
        h->engine = store;
    return status;
}

static void detach(tl_hart *h) {
    tl_blocks_done(h->engine);
    h->engine = NULL;
}

static void run_threaded(tl_hart *h, tl_blocks *store) {
    store->why = TL_BLOCK_GO_ON;
#ifdef TL_NO_TAIL_CALLS
    h->next_op = NULL;
#endif
    enter_slow(h, &store->jump_cache[(h->pc >> 1) & (TL_JUMP_CACHE - 1)], h->pc);
#ifdef TL_NO_TAIL_CALLS
    while (h->next_op)
        h->next_op->handler(h, h->next_op);
#endif
}

static tl_stop run(tl_hart *h) {
    tl_blocks *store = h->engine;
    if (store->break_pc[0] != h->break_pc[0] || store->break_pc[1] != h->break_pc[1]) {
        store->break_pc[0] = h->break_pc[0];
        store->break_pc[1] = h->break_pc[1];
        tl_blocks_flush(store);
    }
    tl_fp_saved saved;
    tl_stop stop;
    tl_fp_enter(h, &saved);
    for (;;) {
        if (h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        if (h->run_vline == TL_NO_LINE && h->now >= h->horizon) {
            stop = TL_STOP_HORIZON;
            break;
        }
        uint64_t left = h->insn_limit - h->instret;
        if (h->run_vline != TL_NO_LINE || h->skip_break || left <= MARGIN_INSNS) {
            tl_step result = tl_step_one(h, store->pends);
            if (result == TL_STEP_RETIRED)
                continue;
            stop = result == TL_STEP_TRAP ? TL_STOP_TRAP : TL_STOP_BREAK;
            break;
        }
        // An instruction takes a cycle or more, so this clock bounds the instructions, too.
        uint64_t bound = left - MARGIN_INSNS;
        h->fast_horizon = bound < h->horizon - h->now ? h->now + bound : h->horizon;
        run_threaded(h, store);
        if (store->why != TL_BLOCK_GO_ON) {
            stop = store->why == TL_BLOCK_TRAP ? TL_STOP_TRAP : TL_STOP_BREAK;
            break;
        }
    }
    tl_fp_leave(h, &saved);
    return stop;
}

static void sync(tl_hart *h) {
    tl_blocks_fold(h->engine);
    tl_hart_sync_clock(h);
}

const tl_core_type tl_core_block = {
    .name = "block",
    .title = "threaded code over decoded fetch runs",
    .attach = attach,
    .detach = detach,
    .run = run,
    .sync = sync,
};
