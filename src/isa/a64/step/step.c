// SPDX-License-Identifier: MIT
// The stepping front-end. Instructions are aligned words, so a fetch run stays in one line. It is
// written to be read beside docs/model.md; speed is no concern.
#include "isa/a64/step/step.h"

#include "isa/a64/debug.h"
#include "isa/a64/exec.h"
#include "isa/a64/pstate.h"
#include "isa/a64/regime.h"
#include "isa/a64/transfers.h"
#include "isa/a64/words.h"
#include "model/attribution.h"
#include "model/stepping.h"

enum { INSN_BYTES = 4, LINK = 30 };

typedef struct step_engine {
    tl_pend_table *pends;
} step_engine;

static uint32_t word_at(const tl_hart *h, uint64_t pline, uint64_t vaddr) {
    uint32_t bits;
    memcpy(&bits, h->ram + (pline - TL_RAM_BASE_PADDR) + (vaddr & ~h->line_mask), sizeof bits);
    return bits;
}

// Whether the fetch run that begins at pc accesses no data, and its look-up cannot miss.
bool tl_a64_run_is_private(tl_hart *h, uint64_t pc) {
    uint64_t pline;
    if ((pc & (INSN_BYTES - 1)) != 0 || !tl_fetch_find(h, pc, &pline))
        return false;
    for (uint64_t at = pc; (at & h->line_mask) == (pc & h->line_mask); at += INSN_BYTES) {
        const tl_block_insn *insn = tl_a64_word(tl_a64(h)->words, word_at(h, pline, at));
        if (!insn->is_private)
            return false;
        if (insn->ends_run)
            return true;
    }
    return true;
}

// The instruction at pc: the look-up of its line where a run begins, and the counts of its fetch.
// False: the look-up trapped.
static bool fetch(tl_hart *h, uint64_t pc, bool is_first, uint32_t *ret_bits) {
    if (is_first) {
        uint64_t pline;
        if ((pc & (INSN_BYTES - 1)) != 0)
            return tl_trap(h, TL_A64_CAUSE_PC_MISALIGNED, pc);
        if (!tl_fetch_look_up(h, pc, &pline))
            return false;
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->run_vline = pc & h->line_mask;
        h->run_pline = pline;
    }
    tl_fetch_count_groups(h, pc, pc + INSN_BYTES, is_first);
    *ret_bits = word_at(h, h->run_pline, pc);
    return true;
}

// Executes an unconditional branch: returns where to, and the cycles lost.
static uint64_t jump(tl_hart *h, const tl_block_insn *insn, uint64_t pc, uint64_t *ret_lost_cycles) {
    const bool is_call = insn->opc == TL_A64_OPC_bl || insn->opc == TL_A64_OPC_blr;
    const bool is_direct = insn->opc == TL_A64_OPC_b || insn->opc == TL_A64_OPC_bl;
    const uint64_t next_pc = pc + INSN_BYTES,
                   target = is_direct ? pc + (uint64_t)(int64_t)insn->op.imm : tl_a64_untag(h, tl_a64(h)->x[insn->op.rn]);
    if (is_call)
        tl_a64(h)->x[LINK] = next_pc;
    if (is_direct) {
        *ret_lost_cycles = tl_bpred_jump(&h->bp, h->tally, pc, target);
        if (is_call)
            tl_bpred_push(&h->bp, next_pc);
    } else {
        *ret_lost_cycles = tl_bpred_indirect(&h->bp, h->tally, pc, target, next_pc, is_call, insn->opc == TL_A64_OPC_ret);
    }
    return target;
}

// D1.13.1: what is wrong with the instruction before it does anything. false: a trap is recorded.
static bool may_execute(tl_hart *h, const tl_block_insn *insn) {
    const tl_a64_system *sys = &tl_a64(h)->sys;
    if (TL_UNLIKELY(sys->is_illegal))
        return tl_trap(h, TL_A64_CAUSE_TRAPPED, tl_a64_trapped(TL_A64_EL1, tl_a64_syndrome(TL_A64_EC_ILLEGAL_STATE, 0)));
    if (TL_UNLIKELY(sys->fp_trap_el != 0 && insn->is_fp))
        return tl_a64_trap_fp(h);
    return true;
}

void tl_a64_retired(tl_hart *h) {
    const uint32_t old_el = h->priv;
    const bool changes_el = h->changes_priv;
    tl_hart_retired(h);
    if (changes_el) {
        tl_a64_el_changed(h, old_el);
        tl_a64_debug_returned(h);
    }
}

// An instruction that retired and was counted.
static TL_NOINLINE void book(tl_hart *h, const tl_block_insn *insn, uint64_t pc, uint64_t next_pc) {
    tl_context_sink *sink = tl_attribution_sink(h);
    tl_attribution_execute(h, pc, 1);
    if (insn->opc == TL_A64_OPC_eret)
        tl_callgraph_tell_trap_return(h);
    if (sink && !tl_a64_taken[insn->opc])
        tl_a64_tell_jump(sink->graph, h, insn->opc, insn->op.rn, pc, next_pc);
}

tl_step tl_a64_step_one(tl_hart *h, tl_pend_table *pends) {
    const uint64_t pc = h->pc;
    if (tl_step_is_at_break(h, pc))
        return TL_STEP_BREAK;
    const tl_fetch_counts before = tl_fetch_counts_of(h);
    const bool is_first = h->run_vline == TL_NO_LINE;
    uint32_t bits;
    if (!fetch(h, pc, is_first, &bits))
        return tl_step_refused(h, is_first, &before);

    const tl_block_insn *insn = tl_a64_word(tl_a64(h)->words, bits);
    if (!may_execute(h, insn))
        return tl_step_refused(h, is_first, &before);
    uint64_t next_pc = pc + INSN_BYTES, lost_cycles = 0;
    const uint8_t cls = tl_a64_rows[insn->opc].cls;
    if (cls == TL_CLASS_JAL || cls == TL_CLASS_JALR) {
        next_pc = jump(h, insn, pc, &lost_cycles);
    } else if (tl_a64_taken[insn->opc]) {
        const bool is_taken = tl_a64_taken[insn->opc](h, &insn->op);
        const uint64_t target = pc + (uint64_t)(int64_t)insn->op.imm;
        lost_cycles = tl_bpred_branch(&h->bp, h->tally, pc, target, is_taken);
        next_pc = is_taken ? target : next_pc;
    } else if (!tl_a64_exec_full[insn->opc](h, &insn->op, pc)) {
        return tl_step_refused(h, is_first, &before);
    } else if (h->changes_priv) {
        next_pc = h->pc;
    }

    tl_step_retire(h, &insn->pipe, insn->counts, insn->n_counts, pends, lost_cycles);
    h->pc = next_pc;
    h->skip_break = false;
    if (TL_UNLIKELY(h->has_after))
        tl_a64_retired(h);
    if (TL_UNLIKELY(h->has_slow_watch))
        (void)tl_hart_poll(h);
    if (TL_UNLIKELY(h->attribution != NULL))
        book(h, insn, pc, next_pc);
    if (insn->ends_run || (next_pc & h->line_mask) != h->run_vline)
        h->run_vline = TL_NO_LINE;
    return TL_STEP_RETIRED;
}

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    step_engine *engine = tl_arena_alloc(arena, sizeof *engine);
    if (!engine || !(engine->pends = tl_pend_table_new(arena)) || !(tl_a64(h)->words = tl_a64_words_new(arena)))
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
    tl_stop stop;
    h->host_phase = TL_HOST_STEPPING;
    for (;;) {
        if (h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        const bool is_between = h->run_vline == TL_NO_LINE;
        if (is_between && (h->now >= h->horizon || (h->now >= h->access_until && !tl_a64_run_is_private(h, h->pc)))) {
            stop = TL_STOP_HORIZON;
            break;
        }
        if (TL_UNLIKELY(h->attribution != NULL))
            tl_attribution_own(h, h->pc);
        const tl_step result = tl_a64_step_one(h, engine->pends);
        if (result != TL_STEP_RETIRED) {
            stop = tl_step_stop(result);
            break;
        }
    }
    h->host_phase = TL_HOST_ELSEWHERE;
    return stop;
}

static void sync(tl_hart *h) { tl_hart_sync_clock(h); }

// Bounds the longest latency.
static uint64_t overshoot_cycles(const tl_hart *h) { return h->config->pipeline.mispredict_cycles + 1000; }

const tl_engine_type tl_engine_a64_step = {
    .name = "step",
    .title = "one instruction at a time, the reference",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_a64,
    .run = run,
    .sync = sync,
    .is_in_arena = is_in_arena,
    .drop_rest = detach,
    .overshoot_cycles = overshoot_cycles,
};
