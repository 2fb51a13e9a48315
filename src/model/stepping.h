// SPDX-License-Identifier: MIT
// Steps of an engine that executes one instruction after the other, whatever its instruction set:
// look-ups of lines and counts of fetches as model/engine.h wants them, an instruction that waits
// or traps, and one that retires. docs/model.md has the rules.
#ifndef TL_MODEL_STEPPING_H
#define TL_MODEL_STEPPING_H

#include "model/engine.h"
#include "model/hart.h"
#include "model/pipeline.h"

typedef enum tl_step { TL_STEP_RETIRED, TL_STEP_TRAP, TL_STEP_BREAK, TL_STEP_WAIT } tl_step;

static inline tl_stop tl_step_stop(tl_step result) { // of one that did not retire
    return result == TL_STEP_TRAP ? TL_STOP_TRAP : result == TL_STEP_WAIT ? TL_STOP_WAIT : TL_STOP_BREAK;
}

static inline bool tl_step_is_at_break(const tl_hart *h, uint64_t pc) {
    return (pc == h->break_pc[0] || pc == h->break_pc[1] || (h->breaks && tl_breaks_have(h->breaks, pc))) && !h->skip_break;
}

// Does one line look-up. A fetch-slot hit is an ITLB and L1I hit. Otherwise tl_mem_port.fetch does
// the look-up. false: the fetch trapped, or waits.
static inline bool tl_fetch_look_up(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    if (tl_fetch_slot_shows(slot, vaddr))
        tl_fetch_hit(h, slot);
    else if (!h->port->fetch(h, vaddr))
        return false;
    h->tally[TL_S_L1I_ACCESS] += 1;
    h->tally[TL_S_ITLB_ACCESS] += 1;
    *ret_pline = tl_fetch_slot_paddr(slot, vaddr) & h->line_mask;
    return true;
}

// Finds the line without a look-up. false: a look-up of it could miss.
static inline bool tl_fetch_find(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    if (!tl_fetch_slot_shows(slot, vaddr))
        return h->port->fetch_hits(h, vaddr, ret_pline);
    *ret_pline = tl_fetch_slot_paddr(slot, vaddr & h->line_mask);
    return true;
}

// Counts the fetch groups of bytes from .. end-1 that the run has not touched yet; the run began
// before `from` unless is_first.
static inline void tl_fetch_count_groups(tl_hart *h, uint64_t from, uint64_t end, bool is_first) {
    const uint32_t log2 = (uint32_t)__builtin_ctz(h->config->pipeline.fetch_bytes);
    const uint64_t first = is_first ? from >> log2 : ((from - 1) >> log2) + 1, last = (end - 1) >> log2;
    h->tally[TL_S_L1I_READ] += last + 1 - first;
}

// Counts of one instruction fetch.
typedef struct tl_fetch_counts {
    uint64_t l1i_access, itlb_access, l1i_read, fetch_run;
} tl_fetch_counts;

static inline tl_fetch_counts tl_fetch_counts_of(const tl_hart *h) {
    const uint64_t *t = h->tally;
    return (tl_fetch_counts){t[TL_S_L1I_ACCESS], t[TL_S_ITLB_ACCESS], t[TL_S_L1I_READ], t[TL_S_HART_FETCH_RUN]};
}

static inline tl_step tl_step_trap(tl_hart *h) {
    h->pend = NULL; // a trap drains the pipeline
    h->run_vline = TL_NO_LINE;
    return TL_STEP_TRAP;
}

// The instruction or its fetch did not happen: it trapped, or waits for other harts. `before` are
// the counts before its fetch, to which a wait goes back. A run that begins with it begins anew.
static inline tl_step tl_step_refused(tl_hart *h, bool is_first, const tl_fetch_counts *before) {
    if (h->trap_cause != TL_TRAP_NOT_YET)
        return tl_step_trap(h);
    h->tally[TL_S_L1I_ACCESS] = before->l1i_access;
    h->tally[TL_S_ITLB_ACCESS] = before->itlb_access;
    h->tally[TL_S_L1I_READ] = before->l1i_read;
    h->tally[TL_S_HART_FETCH_RUN] = before->fetch_run;
    if (is_first)
        h->run_vline = TL_NO_LINE;
    return TL_STEP_WAIT;
}

// Counts and times an instruction that retires: its static share, its interlocks, its cycle.
TL_ALWAYS_INLINE void tl_step_retire(tl_hart *h, const tl_pipe_insn *pipe, const tl_static_count *counts, uint32_t n_counts,
                                     tl_pend_table *pends, uint64_t lost_cycles) {
    for (uint32_t i = 0; i < n_counts; i++)
        h->tally[counts[i].cell] += counts[i].amount;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &h->config->pipeline, h->pend);
    tl_scoreboard_issue(&board, pipe);
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        h->tally[tl_pipe_cause_cell[c]] += board.lost[c];
    h->pend = tl_scoreboard_pend(&board, pends);
    h->now += board.time + lost_cycles;
    h->instret += 1;
}

#endif
