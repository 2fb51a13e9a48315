// SPDX-License-Identifier: MIT
// The stepping front-end. Instructions are aligned words, so a fetch run stays in one line. It is
// written to be read beside docs/model.md; speed is no concern.
#include "isa/a64/step/step.h"

#include "isa/a64/insn.h"

enum { INSN_BYTES = 4, LINK = 30 };

typedef enum outcome { RETIRED, TRAPPED, AT_BREAK, WAITS } outcome;

typedef struct step_engine {
    tl_pend_table *pends;
} step_engine;

static outcome trap(tl_hart *h) {
    h->pend = NULL; // a trap drains the pipeline
    h->run_vline = TL_NO_LINE;
    return TRAPPED;
}

// Does one line look-up. A fetch-slot hit is an ITLB and L1I hit. Otherwise tl_mem_port.fetch does
// the look-up. False: the fetch trapped.
static bool look_up(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline) {
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    if (tl_fetch_slot_shows(slot, vaddr)) {
        tl_fetch_hit(h, slot);
    } else if (!h->port->fetch(h, vaddr)) {
        return false;
    }
    h->tally[TL_S_L1I_ACCESS] += 1;
    h->tally[TL_S_ITLB_ACCESS] += 1;
    *ret_pline = tl_fetch_slot_paddr(slot, vaddr) & h->line_mask;
    return true;
}

static uint32_t word_at(const tl_hart *h, uint64_t pline, uint64_t vaddr) {
    uint32_t bits;
    memcpy(&bits, h->ram + (pline - TL_RAM_BASE_PADDR) + (vaddr & ~h->line_mask), sizeof bits);
    return bits;
}

// Whether the fetch run that begins at pc accesses no data, and its look-up cannot miss.
static bool is_run_private(tl_hart *h, uint64_t pc) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, pc);
    uint64_t pline;
    if (tl_fetch_slot_shows(slot, pc))
        pline = tl_fetch_slot_paddr(slot, pc & h->line_mask);
    else if ((pc & (INSN_BYTES - 1)) != 0 || !h->port->fetch_hits(h, pc, &pline))
        return false;
    for (uint64_t at = pc; (at & h->line_mask) == (pc & h->line_mask); at += INSN_BYTES) {
        tl_a64_decoded insn;
        tl_a64_decode(word_at(h, pline, at), &insn);
        if (!tl_a64_is_private(&insn))
            return false;
        if (tl_a64_ends_run(&insn))
            return true;
    }
    return true;
}

// Counts of one instruction fetch.
typedef struct fetch_counts {
    uint64_t l1i_access, itlb_access, l1i_read, fetch_run;
} fetch_counts;

static fetch_counts fetch_counts_of(const tl_hart *h) {
    const uint64_t *t = h->tally;
    return (fetch_counts){t[TL_S_L1I_ACCESS], t[TL_S_ITLB_ACCESS], t[TL_S_L1I_READ], t[TL_S_HART_FETCH_RUN]};
}

// The instruction, or its fetch, waits for other harts. A run that begins with it begins anew.
static outcome wait(tl_hart *h, bool is_first, const fetch_counts *before) {
    h->tally[TL_S_L1I_ACCESS] = before->l1i_access;
    h->tally[TL_S_ITLB_ACCESS] = before->itlb_access;
    h->tally[TL_S_L1I_READ] = before->l1i_read;
    h->tally[TL_S_HART_FETCH_RUN] = before->fetch_run;
    if (is_first)
        h->run_vline = TL_NO_LINE;
    return WAITS;
}

// The instruction at pc: the look-up of its line where a run begins, and the counts of its fetch.
// False: the look-up trapped.
static bool fetch(tl_hart *h, uint64_t pc, bool is_first, uint32_t *ret_bits) {
    if (is_first) {
        uint64_t pline;
        if ((pc & (INSN_BYTES - 1)) != 0)
            return tl_trap(h, TL_A64_CAUSE_PC_MISALIGNED, pc);
        if (!look_up(h, pc, &pline))
            return false;
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->run_vline = pc & h->line_mask;
        h->run_pline = pline;
    }
    // Fetch groups that the run has not touched yet.
    const uint64_t group = h->config->pipeline.fetch_bytes, last = (pc + INSN_BYTES - 1) / group;
    h->tally[TL_S_L1I_READ] += last + 1 - (is_first ? pc / group : (pc - 1) / group + 1);
    *ret_bits = word_at(h, h->run_pline, pc);
    return true;
}

// Counts and times an instruction that retires: its static share, its interlocks, its cycle.
static void retire(tl_hart *h, const tl_a64_decoded *insn, tl_pend_table *pends, uint64_t lost_cycles) {
    tl_pipe_insn pipe;
    tl_a64_pipe(insn, &pipe);
    tl_a64_static_count counts[TL_A64_MAX_STATIC];
    const uint32_t n = tl_a64_static_counts(insn, counts);
    for (uint32_t i = 0; i < n; i++)
        h->tally[counts[i].cell] += counts[i].amount;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &h->config->pipeline, h->pend);
    tl_scoreboard_issue(&board, &pipe);
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        h->tally[tl_pipe_cause_cell[c]] += board.lost[c];
    h->pend = tl_scoreboard_pend(&board, pends);
    h->now += board.time + lost_cycles;
    h->instret += 1;
}

// Executes an unconditional branch: returns where to, and the cycles lost. The predictor knows
// links by the register numbers of RISC-V: 1 is one, 0 is none.
static uint64_t jump(tl_hart *h, const tl_a64_decoded *insn, const tl_a64_op *op, uint64_t pc, uint64_t *ret_lost_cycles) {
    const bool is_call = insn->opc == TL_A64_OPC_bl || insn->opc == TL_A64_OPC_blr;
    const bool is_direct = insn->opc == TL_A64_OPC_b || insn->opc == TL_A64_OPC_bl;
    const uint64_t next_pc = pc + INSN_BYTES, target = is_direct ? pc + (uint64_t)(int64_t)insn->imm : tl_a64(h)->x[op->rn];
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

static outcome step_one(tl_hart *h, tl_pend_table *pends) {
    const uint64_t pc = h->pc;
    if ((pc == h->break_pc[0] || pc == h->break_pc[1] || (h->breaks && tl_breaks_have(h->breaks, pc))) && !h->skip_break)
        return AT_BREAK;
    const fetch_counts before = fetch_counts_of(h);
    const bool is_first = h->run_vline == TL_NO_LINE;
    uint32_t bits;
    if (!fetch(h, pc, is_first, &bits))
        return h->trap_cause == TL_TRAP_NOT_YET ? wait(h, is_first, &before) : trap(h);

    tl_a64_decoded insn;
    tl_a64_op op = {0};
    tl_a64_decode(bits, &insn);
    tl_a64_op_from_decoded(&insn, &op);
    uint64_t next_pc = pc + INSN_BYTES, lost_cycles = 0;
    const uint8_t cls = tl_a64_rows[insn.opc].cls;
    if (cls == TL_CLASS_JAL || cls == TL_CLASS_JALR) {
        next_pc = jump(h, &insn, &op, pc, &lost_cycles);
    } else if (tl_a64_taken[insn.opc]) {
        const bool is_taken = tl_a64_taken[insn.opc](h, &op);
        const uint64_t target = pc + (uint64_t)(int64_t)insn.imm;
        lost_cycles = tl_bpred_branch(&h->bp, h->tally, pc, target, is_taken);
        next_pc = is_taken ? target : next_pc;
    } else if (!tl_a64_exec_full[insn.opc](h, &op, pc)) {
        return h->trap_cause == TL_TRAP_NOT_YET ? wait(h, is_first, &before) : trap(h);
    }

    retire(h, &insn, pends, lost_cycles);
    h->pc = next_pc;
    h->skip_break = false;
    if (TL_UNLIKELY(h->has_slow_watch))
        (void)tl_hart_poll(h);
    if (tl_a64_ends_run(&insn) || (next_pc & h->line_mask) != h->run_vline)
        h->run_vline = TL_NO_LINE;
    return RETIRED;
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
        if (is_between && (h->now >= h->horizon || (h->now >= h->access_until && !is_run_private(h, h->pc)))) {
            stop = TL_STOP_HORIZON;
            break;
        }
        const outcome result = step_one(h, engine->pends);
        if (result != RETIRED) {
            stop = result == TRAPPED ? TL_STOP_TRAP : result == WAITS ? TL_STOP_WAIT : TL_STOP_BREAK;
            break;
        }
    }
    h->host_phase = TL_HOST_ELSEWHERE;
    return stop;
}

static void sync(tl_hart *h) { tl_hart_sync_clock(h); }

static uint64_t overshoot_cycles(const tl_hart *h) { return h->config->pipeline.mispredict_cycles + 1000; } // the longest latency

const tl_engine_type tl_engine_a64_step = {
    .name = "step",
    .title = "one instruction at a time, the reference",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_a64,
    .run = run,
    .sync = sync,
    .overshoot_cycles = overshoot_cycles,
};
