// SPDX-License-Identifier: MIT
// Operations of A64 blocks, and engine `interp`. isa/block/thread.h says how they go on to one
// another. Integer instructions and accesses of memory are inlined on their hit paths. Others call
// their bodies.
#include "isa/a64/block/interp.h"

#include "isa/a64/block/row.h"
#include "isa/a64/sysop.h"
#include "isa/a64/transfers.h"
#include "isa/a64/words.h"
#include "isa/block/fold.h"
#include "isa/block/run.h"
#include "isa/block/thread.h"
#include "model/attribution.h"

#define TL_EXEC_FAST
#include "isa/a64/block/float.h"
#include "isa/a64/exec_mem.h"

enum { LINK = 30 };

// The full body serves a PMU that waits for what slow paths count. It serves an address with a tag,
// too, because a fault shows the tag.
static TL_NOINLINE uint8_t *tl_a64_reach(tl_hart *h, const tl_op *op, uint64_t vaddr, uint32_t size_bytes, uint32_t n, tl_access access) {
    tl_block *block = BLOCK;
    const bool is_store = access == TL_ACCESS_STORE;
    if (h->has_slow_watch || tl_a64_untag(h, vaddr) != vaddr || ((vaddr ^ (vaddr + (uint64_t)n * size_bytes - 1)) & h->line_mask) != 0)
        return NULL;
    const uint64_t rest_cycles = block->cycles - block->before[op - block->ops];
    if (TL_UNLIKELY(h->attribution != NULL))
        tl_attribution_own_access(h, block->pc + block->offset[op - block->ops]);
    h->now -= rest_cycles;
    uint8_t *host = (is_store ? h->port->reach_store : h->port->reach_load)(h, vaddr, size_bytes - 1);
    for (uint32_t i = 1; host && i < n; i++) {
        const uint64_t at = vaddr + (uint64_t)i * size_bytes, first_until = h->first_until;
        if (tl_a64_hits(h, at, size_bytes, 1, access))
            continue;
        h->first_until = UINT64_MAX; // an instruction that has begun does not wait for other harts
        (void)h->port->look_up(h, at, size_bytes, is_store);
        h->first_until = first_until;
    }
    h->now += rest_cycles;
    if (TL_UNLIKELY(h->has_lost_fetch))
        tl_block_line_lost(h->engine_state, block);
    return host;
}

#define PC_OF(op) (BLOCK->pc + (uint64_t)((op)-BLOCK->ops) * 4)

// ---- operations ----

// Neither traps nor reads the clock, and is inlined.
#define PLAIN(id)                                      \
    static void op_##id(tl_hart *h, const tl_op *op) { \
        (void)fast_##id(h, op, PC_OF(op), false);      \
        GO(op + 1);                                    \
    }
// Inlined on its hit path.
#define ACCESS(id)                                                   \
    static TL_NOINLINE void miss_##id(tl_hart *h, const tl_op *op) { \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op), true)))            \
            GO(op + 1);                                              \
        slow(h, op);                                                 \
    }                                                                \
    static void op_##id(tl_hart *h, const tl_op *op) {               \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op), false)))           \
            GO(op + 1);                                              \
        miss_##id(h, op);                                            \
    }
// Neither traps nor reads the clock.
#define CALLED(id)                                         \
    static void op_##id(tl_hart *h, const tl_op *op) {     \
        (void)tl_a64_exec_full[TL_A64_OPC_##id](h, op, 0); \
        GO(op + 1);                                        \
    }
#define SLOW(id) \
    static void op_##id(tl_hart *h, const tl_op *op) { slow(h, op); }

#define INSN(id, ...) PLAIN(id)
#include "isa/a64/insn_imm.def"
#include "isa/a64/insn_reg.def"
#undef INSN
#define INSN(id, ...) ACCESS(id)
#include "isa/a64/insn_mem.def"
#undef INSN
#define INSN(id, ...) CALLED(id)
#include "isa/a64/insn_fp.def"
#include "isa/a64/insn_simd.def"
#undef INSN

// Branches end their blocks.
#define COND(id)                                                              \
    static void op_##id(tl_hart *h, const tl_op *op) {                        \
        const uint64_t pc = BLOCK->end_pc - 4;                                \
        branch_at(h, pc, pc + (uint64_t)(int64_t)op->imm, taken_##id(h, op)); \
    }
TL_ALWAYS_INLINE void jump(tl_hart *h, const tl_op *op, bool is_call) {
    tl_block *block = BLOCK;
    const uint64_t pc = block->end_pc - 4, target = pc + (uint64_t)(int64_t)op->imm;
    h->now += tl_bpred_jump(&h->bp, h->tally, pc, target);
    if (is_call) {
        tl_a64(h)->x[LINK] = block->end_pc;
        tl_bpred_push(&h->bp, block->end_pc);
    }
    enter(h, &block->link[1], target);
}
TL_ALWAYS_INLINE void jump_indirect(tl_hart *h, const tl_op *op, bool is_call, bool is_return) {
    const uint64_t end_pc = BLOCK->end_pc, target = tl_a64_untag(h, tl_a64(h)->x[op->rn]);
    if (is_call)
        tl_a64(h)->x[LINK] = end_pc;
    h->now += tl_bpred_indirect(&h->bp, h->tally, end_pc - 4, target, end_pc, is_call, is_return);
    enter_target(h, target);
}
static void op_b(tl_hart *h, const tl_op *op) { jump(h, op, false); }
static void op_bl(tl_hart *h, const tl_op *op) { jump(h, op, true); }
static void op_br(tl_hart *h, const tl_op *op) { jump_indirect(h, op, false, false); }
static void op_blr(tl_hart *h, const tl_op *op) { jump_indirect(h, op, true, false); }
static void op_ret(tl_hart *h, const tl_op *op) { jump_indirect(h, op, false, true); }

// The level has changed with it. An instruction in an illegal state is stepped, and traps.
static void op_eret(tl_hart *h, const tl_op *op) {
    tl_blocks *store = h->engine_state;
    if (TL_UNLIKELY(!execute(h, op)))
        STOP();
    if (TL_UNLIKELY(tl_a64(h)->sys.is_illegal)) {
        store->why = TL_BLOCK_GO_ON;
        STOP();
    }
    enter_cell(h, h->pc);
}

// Hints that change nothing, NOP among them.
static void op_hint(tl_hart *h, const tl_op *op) {
    if (TL_LIKELY(tl_a64_is_nop((uint32_t)op->imm)))
        GO(op + 1);
    slow(h, op);
}

static void op_UNDEFINED(tl_hart *h, const tl_op *op) { slow(h, op); }
CALLED(clrex)
CALLED(dsb)
CALLED(dmb)
CALLED(isb)
SLOW(drps)
SLOW(svc)
SLOW(hvc)
SLOW(smc)
SLOW(brk)
SLOW(hlt)
SLOW(dcps1)
SLOW(dcps2)
SLOW(dcps3)
SLOW(msr_spsel)
SLOW(msr_daifset)
SLOW(msr_daifclr)
SLOW(sys)
SLOW(sysl)
static void op_system_register(tl_hart *h, const tl_op *op) {
    if (op->imm == TL_A64_SYS_FPSR)
        tl_a64_fp_harvest(h);
    slow(h, op);
}
#define op_msr op_system_register
#define op_mrs op_system_register
#define INSN(...)
#define INSN_BRANCH(id, ...) COND(id)
#define INSN_JUMP(...)
#include "isa/a64/insn_branch.def"
#undef INSN

static tl_op_handler *const single[TL_A64_N_OPCS] = {
    [TL_A64_OPC_UNDEFINED] = op_UNDEFINED,
#define INSN(id, ...) [TL_A64_OPC_##id] = op_##id,
#include "isa/a64/insn_all.def"
#undef INSN
};

#include "isa/a64/block/host_ops.h"

static tl_op_handler *const hosted[TL_A64_N_OPCS] = {
#define HOSTED(id) [TL_A64_OPC_##id] = host_##id,
#include "isa/a64/block/hosted.def"
#undef HOSTED
};

// ---- variants: what the compiler may take for granted makes them short ----

#define ASSUME(condition)            \
    do {                             \
        if (!(condition))            \
            __builtin_unreachable(); \
    } while (0)
static bool is_sp_aligned(const tl_hart *h) { return TL_LIKELY((tl_a64(h)->x[TL_A64_SP] & 15) == 0); }

#define HAS_lsl(op) ((op)->imm >> 6 == 0)
#define HAS_uxtx(op) (((op)->imm & 7) == 3)
#define HAS_uxtw(op) (((op)->imm & 7) == 2)
#define HAS_sxtw(op) (((op)->imm & 7) == 6)
#define HAS_sp(op) ((op)->rn == TL_A64_SP)
// Of results alone.
#define VARIANT_lsl(id)                                      \
    static void op_##id##_lsl(tl_hart *h, const tl_op *op) { \
        ASSUME(HAS_lsl(op));                                 \
        (void)fast_##id(h, op, PC_OF(op), false);            \
        GO(op + 1);                                          \
    }
#define ACCESS_VARIANT(id, kind)                                \
    static void op_##id##_##kind(tl_hart *h, const tl_op *op) { \
        ASSUME(HAS_##kind(op));                                 \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op), false)))      \
            GO(op + 1);                                         \
        miss_##id(h, op);                                       \
    }
#define VARIANT_uxtx(id) ACCESS_VARIANT(id, uxtx)
#define VARIANT_uxtw(id) ACCESS_VARIANT(id, uxtw)
#define VARIANT_sxtw(id) ACCESS_VARIANT(id, sxtw)
#define VARIANT_sp(id)                                      \
    static void op_##id##_sp(tl_hart *h, const tl_op *op) { \
        ASSUME(HAS_sp(op));                                 \
        if (!is_sp_aligned(h)) {                            \
            slow(h, op);                                    \
            return;                                         \
        }                                                   \
        if (TL_LIKELY(fast_##id(h, op, PC_OF(op), false)))  \
            GO(op + 1);                                     \
        miss_##id(h, op);                                   \
    }
#define VARIANT(id, kind) VARIANT_##kind(id)
#include "isa/a64/block/variants.def"
#undef VARIANT

// Any access whose base is the stack pointer.
static void op_based(tl_hart *h, const tl_op *op) {
    if (!is_sp_aligned(h)) {
        slow(h, op);
        return;
    }
    const tl_block *block = BLOCK;
    single[block->opc[op - block->ops]](h, op);
}

typedef enum kind { KIND_lsl, KIND_uxtx, KIND_uxtw, KIND_sxtw, KIND_sp } kind;
static tl_op_handler *const variants[TL_A64_N_OPCS][5] = {
#define VARIANT(id, kind) [TL_A64_OPC_##id][KIND_##kind] = op_##id##_##kind,
#include "isa/a64/block/variants.def"
#undef VARIANT
};

static bool accesses_memory(uint16_t opc) {
    const uint8_t cls = tl_a64_rows[opc].cls;
    return opc >= TL_A64_FIRST_mem && opc < TL_A64_FIRST_reg && cls != TL_CLASS_ALU;
}

static tl_op_handler *alone(const tl_block *block, uint32_t k) {
    const tl_op *op = &block->ops[k];
    const uint16_t opc = block->opc[k];
    tl_op_handler *const *its = variants[opc];
    if (accesses_memory(opc) && HAS_sp(op))
        return its[KIND_sp] ? its[KIND_sp] : op_based;
    if (its[KIND_lsl] && HAS_lsl(op))
        return its[KIND_lsl];
    if (its[KIND_uxtx] && HAS_uxtx(op))
        return its[KIND_uxtx];
    if (its[KIND_uxtw] && HAS_uxtw(op))
        return its[KIND_uxtw];
    if (its[KIND_sxtw] && HAS_sxtw(op))
        return its[KIND_sxtw];
    return hosted[opc] ? hosted[opc] : single[opc];
}

// ---- fused neighbors: one dispatch for two ----

#define FUSED(id, name, type, signed_type, second, holds)                \
    static void op_##id##_b_##name(tl_hart *h, const tl_op *op) {        \
        const uint64_t pc = BLOCK->end_pc - 4;                           \
        const type a = (type)tl_a64(h)->x[op->rn], b = (type)(second);   \
        const bool is_taken = (holds);                                   \
        ASSUME(op->imm >> 6 == 0 || TL_A64_OPC_##id < TL_A64_FIRST_reg); \
        (void)fast_##id(h, op, 0, false);                                \
        branch_at(h, pc, pc + (uint64_t)(int64_t)op[1].imm, is_taken);   \
    }
#include "isa/a64/block/fused.def"
#undef FUSED

enum { COND_eq, COND_ne, COND_hs, COND_lo, COND_hi = 8, COND_ls, COND_ge, COND_lt, COND_gt, COND_le, N_CONDS = 16 };
static tl_op_handler *const fused[TL_A64_N_OPCS][N_CONDS] = {
#define FUSED(id, name, ...) [TL_A64_OPC_##id][COND_##name] = op_##id##_b_##name,
#include "isa/a64/block/fused.def"
#undef FUSED
};

static tl_op_handler *find_fused(const tl_block *block, uint32_t k) {
    const bool is_shifted = block->opc[k] == TL_A64_OPC_subs_w || block->opc[k] == TL_A64_OPC_subs_x;
    if (block->opc[k + 1] != TL_A64_OPC_b_cond || (is_shifted && block->ops[k].imm != 0))
        return NULL;
    return fused[block->opc[k]][block->ops[k + 1].rd & 15];
}

// ---- the front-end ----

// The end of a block while an attribution is attached: counts of its prediction are its own.
static void op_booked(tl_hart *h, const tl_op *op) {
    tl_context_sink *sink = tl_attribution_sink(h);
    const uint64_t pc = PC_OF(op);
    const uint16_t opc = BLOCK->opc[op - BLOCK->ops];
    tl_attribution_transfer(h, pc);
    // Its counts are those of the context before.
    if (sink && !tl_a64_taken[opc]) {
        const bool is_direct = opc == TL_A64_OPC_b || opc == TL_A64_OPC_bl;
        tl_a64_tell_jump(sink->graph, h, opc, op->rn, pc,
                         is_direct ? pc + (uint64_t)(int64_t)op->imm : tl_a64_untag(h, tl_a64(h)->x[op->rn]));
    }
    alone(BLOCK, (uint32_t)(op - BLOCK->ops))(h, op);
}

static bool is_transfer(uint16_t opc) {
    const uint8_t cls = tl_a64_rows[opc].cls;
    return cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR;
}

static void prepare(tl_blocks *store, tl_block *block) {
    for (uint32_t k = 0; k < block->n_insns; k++)
        block->ops[k].handler = alone(block, k);
    block->ops[block->n_insns].handler = op_end;
    const uint32_t last = block->n_insns - 1u;
    if (store->hart->attribution && is_transfer(block->opc[last])) {
        block->ops[last].handler = op_booked;
    } else if (block->n_insns > 1) { // only the last one is a branch
        tl_op_handler *handler = find_fused(block, block->n_insns - 2u);
        if (handler)
            block->ops[block->n_insns - 2].handler = handler;
    }
    finish(store, block, alone);
}

static void run(tl_blocks *store) {
    if (TL_UNLIKELY(tl_a64(store->hart)->sys.is_illegal)) {
        store->why = TL_BLOCK_GO_ON;
        store->must_step = true;
        return;
    }
    run_threaded(store);
}

static const tl_blocks_type block_type = {.isa = &tl_a64_block_isa, .prepare = prepare, .run = run};

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    if (!(tl_a64(h)->words = tl_a64_words_new(arena)))
        return tl_fail(err, TL_ENOMEM, "no memory for the instructions that engine interp knows");
    return tl_blocks_attach(h, &block_type, arena, err);
}

static void detach(tl_hart *h) {
    tl_blocks_detach(h->engine_state);
    h->engine_state = NULL;
}

static void sync(tl_hart *h) { tl_blocks_sync(h->engine_state); }

const tl_engine_type tl_engine_a64_interp = {
    .name = "interp",
    .title = "threaded code over decoded fetch runs",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_a64,
    .run = tl_blocks_run,
    .sync = sync,
    .overshoot_cycles = tl_blocks_overshoot_cycles,
};
