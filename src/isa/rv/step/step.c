// SPDX-License-Identifier: MIT
// The stepping front-end: fetch, decode, execute, count, one instruction after the other, with no
// memory of what it decoded. It is written to be read beside docs/model.md and to check the block
// front-end against; speed is no concern.
#include "isa/rv/step/step.h"

#include "isa/rv/fp.h"
#include "isa/rv/insn.h"
#include "isa/rv/marker.h"
#include "isa/rv/transfers.h"
#include "model/attribution.h"

typedef struct step_engine {
    tl_pend_table *pends;
} step_engine;

static uint32_t half_at(const tl_hart *h, uint64_t pline, uint64_t vaddr) {
    const uint8_t *at = h->ram + (pline - TL_RAM_BASE_PADDR) + (vaddr & ~h->line_mask);
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static bool is_last_half(const tl_hart *h, uint64_t pc) { return (pc & ~h->line_mask) == ~h->line_mask - 1; }

bool tl_step_run_is_private(tl_hart *h, uint64_t pc) {
    uint64_t pline;
    if (!tl_fetch_find(h, pc, &pline))
        return false;
    for (uint64_t at = pc, vline = pc & h->line_mask; (at & h->line_mask) == vline;) {
        uint32_t bits = half_at(h, pline, at);
        if ((bits & 3) == 3) {
            if (is_last_half(h, at)) {
                if (at != pc)
                    return true; // it begins the next run
                if (!tl_fetch_find(h, at + 2, &pline))
                    return false;
                vline = (at + 2) & h->line_mask;
            }
            bits |= half_at(h, pline, at + 2) << 16;
        }
        tl_decoded insn;
        tl_decode(bits, &insn);
        tl_mark mark;
        uint32_t number;
        if (!tl_insn_is_private(&insn) || (TL_UNLIKELY(h->mark != NULL) && tl_insn_marker(&insn, &mark, &number)))
            return false;
        if (tl_insn_ends_run(&insn))
            return true;
        at += insn.len;
    }
    return true;
}

// The instruction at pc: the look-ups of its lines, and the counts of its fetch. False: a look-up
// trapped.
static bool fetch(tl_hart *h, uint64_t pc, bool is_first, uint32_t *ret_bits) {
    uint64_t pline;
    if (is_first) {
        if (!tl_fetch_look_up(h, pc, &pline))
            return false;
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->run_vline = pc & h->line_mask;
        h->run_pline = pline;
    }
    pline = h->run_pline;
    uint32_t bits = half_at(h, pline, pc);
    if ((bits & 3) == 3) {
        if (is_last_half(h, pc)) {
            tl_fetch_count_groups(h, pc, pc + 2, is_first);
            uint64_t pline2;
            if (!tl_fetch_look_up(h, pc + 2, &pline2))
                return false;
            h->run_vline = (pc + 2) & h->line_mask;
            h->run_pline = pline2;
            bits |= half_at(h, pline2, pc + 2) << 16;
            tl_fetch_count_groups(h, pc + 2, pc + 4, false);
        } else {
            bits |= half_at(h, pline, pc + 2) << 16;
            tl_fetch_count_groups(h, pc, pc + 4, is_first);
        }
    } else {
        tl_fetch_count_groups(h, pc, pc + 2, is_first);
    }
    *ret_bits = bits;
    return true;
}

TL_ALWAYS_INLINE void retire(tl_hart *h, const tl_decoded *insn, tl_pend_table *pends, uint64_t lost_cycles) {
    tl_pipe_insn pipe;
    tl_insn_pipe(insn, &pipe);
    tl_static_count counts[TL_MAX_STATIC];
    uint32_t n = tl_insn_static(insn, counts);
    tl_step_retire(h, &pipe, counts, n, pends, lost_cycles);
}

// Whether the fetch run ends between the instruction and the next one.
static bool is_run_over(const tl_hart *h, const tl_decoded *insn, uint64_t next_pc) {
    if (tl_insn_ends_run(insn) || (next_pc & h->line_mask) != h->run_vline)
        return true;
    // A straddling instruction is a run of its own.
    return is_last_half(h, next_pc) && (half_at(h, h->run_pline, next_pc) & 3) == 3;
}

// An instruction that retired and was counted.
static TL_NOINLINE void book(tl_hart *h, const tl_decoded *insn, uint64_t pc, uint64_t next_pc) {
    tl_context_sink *sink = tl_attribution_sink(h);
    tl_attribution_execute(h, pc, 1);
    if (insn->opc == TL_OPC_mret || insn->opc == TL_OPC_sret)
        tl_callgraph_tell_trap_return(h);
    if (sink && (insn->opc == TL_OPC_jal || insn->opc == TL_OPC_jalr))
        tl_rv_tell_jump(sink->graph, h, insn->opc == TL_OPC_jalr, insn->rd, insn->rs1, pc, next_pc, pc + insn->len);
}

tl_step tl_step_one(tl_hart *h, tl_pend_table *pends) {
    uint64_t pc = h->pc;
    if (tl_step_is_at_break(h, pc))
        return TL_STEP_BREAK;
    const tl_fetch_counts before = tl_fetch_counts_of(h);

    bool is_first = h->run_vline == TL_NO_LINE;
    uint32_t bits;
    if (!fetch(h, pc, is_first, &bits))
        return tl_step_refused(h, is_first, &before);

    tl_decoded insn;
    tl_op op;
    tl_decode(bits, &insn);
    tl_op_from_decoded(&insn, &op);
    uint64_t next_pc = pc + insn.len, lost_cycles = 0;
    if (TL_UNLIKELY(h->is_privileged && h->is_fp_off && tl_insn_is_fp(&insn))) {
        (void)tl_trap(h, TL_CAUSE_ILLEGAL, insn.raw);
        return tl_step_trap(h);
    }
    tl_mark mark = TL_MARK_NAME;
    uint32_t number = 0;
    bool is_marker = TL_UNLIKELY(h->mark != NULL) && tl_insn_marker(&insn, &mark, &number);
    if (is_marker && mark != TL_MARK_START)
        h->mark(h->mark_ctx, h, mark, number, tl_rv(h)->x[insn.rs1]);
    if (insn.opc == TL_OPC_jal || insn.opc == TL_OPC_jalr) {
        uint64_t target = insn.opc == TL_OPC_jal ? pc + (uint64_t)(int64_t)insn.imm
                                                 : (tl_rv(h)->x[insn.rs1] + (uint64_t)(int64_t)insn.imm) & ~UINT64_C(1);
        tl_rv(h)->x[op.rd] = next_pc;
        if (insn.opc == TL_OPC_jal) {
            lost_cycles = tl_bpred_jump(&h->bp, h->tally, pc, target);
            if (tl_is_link(insn.rd))
                tl_bpred_push(&h->bp, next_pc);
        } else {
            if (h->bp.fixed == TL_BPRED_LOGGED && !tl_jalr_is_return(insn.rd, insn.rs1))
                tl_branch_note_target(h->bp.log, pc, target);
            lost_cycles =
                tl_bpred_indirect(&h->bp, h->tally, pc, target, next_pc, tl_is_link(insn.rd), tl_jalr_is_return(insn.rd, insn.rs1));
        }
        next_pc = target;
    } else if (tl_taken[insn.opc]) {
        bool is_taken = tl_taken[insn.opc](h, &op);
        uint64_t target = pc + (uint64_t)(int64_t)insn.imm;
        if (h->bp.fixed == TL_BPRED_LOGGED)
            tl_branch_note_outcome(h->bp.log, pc, is_taken);
        lost_cycles = tl_bpred_branch(&h->bp, h->tally, pc, target, is_taken);
        next_pc = is_taken ? target : next_pc;
    } else if (!tl_exec_full[insn.opc](h, &op, pc)) {
        return tl_step_refused(h, is_first, &before);
    } else if (h->changes_priv) {
        next_pc = h->pc;
    }

    retire(h, &insn, pends, lost_cycles);
    h->pc = next_pc;
    h->skip_break = false;
    if (is_marker && mark == TL_MARK_START)
        h->mark(h->mark_ctx, h, mark, number, 0);
    if (TL_UNLIKELY(h->has_after))
        tl_hart_retired(h);
    if (TL_UNLIKELY(h->has_slow_watch))
        (void)tl_hart_poll(h);

    if (TL_UNLIKELY(h->attribution != NULL))
        book(h, &insn, pc, next_pc);
    if (is_run_over(h, &insn, next_pc))
        h->run_vline = TL_NO_LINE;
    return TL_STEP_RETIRED;
}

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    step_engine *engine = tl_arena_alloc(arena, sizeof *engine);
    if (!engine || !(engine->pends = tl_pend_table_new(arena)))
        return tl_fail(err, TL_ENOMEM, "no memory for the stepping front-end");
    h->engine_state = engine;
    return TL_OK;
}

static void detach(tl_hart *h) {
    step_engine *engine = h->engine_state;
    if (engine)
        tl_pend_table_done(engine->pends);
}

static bool is_in_arena(const tl_hart *h) {
    const step_engine *engine = h->engine_state;
    return tl_pend_table_is_in_arena(engine->pends);
}

static tl_stop run(tl_hart *h) {
    step_engine *engine = h->engine_state;
    tl_fp_saved saved;
    tl_stop stop;
    h->host_phase = TL_HOST_STEPPING;
    tl_fp_enter(h, &saved);
    for (;;) {
        if (h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        bool is_between = h->run_vline == TL_NO_LINE;
        if (is_between && (h->now >= h->horizon || (h->now >= h->access_until && !tl_step_run_is_private(h, h->pc)))) {
            stop = TL_STOP_HORIZON;
            break;
        }
        if (TL_UNLIKELY(h->attribution != NULL))
            tl_attribution_own(h, h->pc);
        tl_step result = tl_step_one(h, engine->pends);
        if (result != TL_STEP_RETIRED) {
            stop = tl_step_stop(result);
            break;
        }
    }
    h->host_phase = TL_HOST_ELSEWHERE;
    tl_fp_leave(h, &saved);
    return stop;
}

static void sync(tl_hart *h) { tl_hart_sync_clock(h); }

// Bounds the longest latency.
static uint64_t overshoot_cycles(const tl_hart *h) { return h->config->pipeline.mispredict_cycles + 1000; }

const tl_engine_type tl_engine_step = {
    .name = "step",
    .title = "one instruction at a time, the reference",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_rv64,
    .run = run,
    .sync = sync,
    .is_in_arena = is_in_arena,
    .drop_rest = detach,
    .overshoot_cycles = overshoot_cycles,
};
