// SPDX-License-Identifier: MIT
// The scoreboard of model/pipeline.h. Each class of instruction is one of three kinds. A pipelined
// result is ready L after issue, and others go on. Iterative units, atomics and serializing
// instructions hold issue for a while, and the result is ready when issue goes on. The third kind
// has no result. A wait is charged to the source that is ready last; on a tie, to the first.
#include "model/pipeline.h"

#include "base/bits.h"
#include "model/hart_signals.h"

const uint16_t tl_pipe_cause_cell[TL_N_PIPE_CAUSES] = {
    [TL_PIPE_LOAD_USE] = TL_S_HART_CYC_LOAD_USE, [TL_PIPE_MUL] = TL_S_HART_CYC_MUL,
    [TL_PIPE_DIV] = TL_S_HART_CYC_DIV,           [TL_PIPE_FP] = TL_S_HART_CYC_FP,
    [TL_PIPE_FP_DIV] = TL_S_HART_CYC_FP_DIV,     [TL_PIPE_CSR] = TL_S_HART_CYC_CSR,
    [TL_PIPE_FENCE] = TL_S_HART_CYC_FENCE,       [TL_PIPE_FLUSH] = TL_S_HART_CYC_FLUSH,
    [TL_PIPE_AMO] = TL_S_HART_CYC_AMO,
};

typedef struct timing {
    uint32_t latency; // L of the result
    uint32_t extra;   // cycles issue is held beyond the instruction's own; the result is then ready
    tl_pipe_cause cause;
} timing;

static timing pipelined(uint32_t latency, tl_pipe_cause cause) {
    // tl_pend keeps the cycles in a byte.
    return (timing){.latency = latency < UINT8_MAX ? latency : UINT8_MAX, .cause = cause};
}

static timing holding(uint32_t extra, tl_pipe_cause cause) { return (timing){.latency = 1, .extra = extra, .cause = cause}; }

static timing iterative(uint32_t cycles, tl_pipe_cause cause) { return holding(cycles > 0 ? cycles - 1 : 0, cause); }

static timing timing_of(const tl_pipeline_config *c, const tl_pipe_insn *insn) {
    bool is_narrow = insn->size_bytes < 4, is_word = insn->size_bytes <= 4;
    switch (insn->cls) {
    case TL_CLASS_LOAD: return pipelined(is_narrow ? c->load_use_narrow_cycles : c->load_use_cycles, TL_PIPE_LOAD_USE);
    case TL_CLASS_FP_LOAD: return pipelined(c->fp_load_use_cycles, TL_PIPE_LOAD_USE);
    case TL_CLASS_MUL: return pipelined(c->mul_cycles, TL_PIPE_MUL);
    case TL_CLASS_DIV: return iterative(is_word ? c->div_word_cycles : c->div_cycles, TL_PIPE_DIV);
    case TL_CLASS_FP_ADD: return pipelined(c->fp_add_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_MUL: return pipelined(c->fp_mul_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_FMA: return pipelined(c->fp_fma_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_CONVERT: return pipelined(c->fp_convert_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_COMPARE: return pipelined(c->fp_compare_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_MOVE: return pipelined(c->fp_move_cycles, TL_PIPE_FP);
    case TL_CLASS_FP_DIV: return iterative(is_word ? c->fp_div_single_cycles : c->fp_div_double_cycles, TL_PIPE_FP_DIV);
    case TL_CLASS_FP_SQRT: return iterative(is_word ? c->fp_sqrt_single_cycles : c->fp_sqrt_double_cycles, TL_PIPE_FP_DIV);
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC: return holding(c->amo_cycles, TL_PIPE_AMO);
    case TL_CLASS_CSR: return holding(c->csr_cycles, TL_PIPE_CSR);
    case TL_CLASS_FENCE: return holding(c->fence_cycles, TL_PIPE_FENCE);
    case TL_CLASS_FENCE_I: return holding(c->fence_i_cycles, TL_PIPE_FLUSH);
    // Drains and refills like a CSR access.
    case TL_CLASS_SYSTEM: return holding(c->csr_cycles, TL_PIPE_FLUSH);
    case TL_CLASS_ALU:
    case TL_CLASS_BITMANIP:
    case TL_CLASS_STORE:
    case TL_CLASS_FP_STORE:
    case TL_CLASS_BRANCH:
    case TL_CLASS_JAL:
    case TL_CLASS_JALR:
    case TL_N_CLASSES: break;
    }
    return (timing){.latency = 1};
}

void tl_scoreboard_start(tl_scoreboard *board, const tl_pipeline_config *config, const tl_pend *pend) {
    *board = (tl_scoreboard){.config = config};
    if (!pend)
        return;
    board->mask = pend->mask;
    for (uint64_t left = pend->mask; left != 0; left &= left - 1) {
        int reg = __builtin_ctzll(left);
        board->ready[reg] = pend->remaining[reg];
        board->cause[reg] = pend->cause[reg];
    }
}

// When issue can take place, and whose result it waits for.
typedef struct wait {
    uint64_t ready;
    uint8_t cause;
} wait;

TL_ALWAYS_INLINE void wait_for(const tl_scoreboard *board, uint32_t reg, wait *w) {
    if (board->ready[reg] > w->ready)
        *w = (wait){board->ready[reg], board->cause[reg]};
}

static void write_result(tl_scoreboard *board, uint32_t reg, uint64_t issued, timing t) {
    const uint64_t bit = UINT64_C(1) << reg;
    if (t.latency > 1) {
        board->mask |= bit;
        board->ready[reg] = issued + t.latency;
        board->cause[reg] = (uint8_t)t.cause;
    } else {
        board->mask &= ~bit;
    }
}

uint32_t tl_scoreboard_issue(tl_scoreboard *board, const tl_pipe_insn *insn) {
    wait w = {.ready = board->time};
    if (board->mask != 0) {
        for (int i = 0; i < 3; i++)
            if (insn->src[i] < TL_NO_REG && (board->mask >> insn->src[i] & 1))
                wait_for(board, insn->src[i], &w);
        for (uint64_t left = insn->also_reads & board->mask; left != 0; left &= left - 1)
            wait_for(board, (uint32_t)__builtin_ctzll(left), &w);
    }
    uint32_t waited = (uint32_t)(w.ready - board->time);
    if (waited > 0)
        board->lost[w.cause] += waited;

    timing t = timing_of(board->config, insn);
    if (insn->dest < TL_NO_REG)
        write_result(board, insn->dest, w.ready, t);
    for (uint64_t left = insn->also_writes; left != 0; left &= left - 1)
        write_result(board, (uint32_t)__builtin_ctzll(left), w.ready, t);
    if (t.extra > 0)
        board->lost[t.cause] += t.extra;
    board->time = w.ready + 1 + t.extra;
    return waited + 1 + t.extra;
}

const tl_pend *tl_scoreboard_pend(const tl_scoreboard *board, tl_pend_table *table) {
    tl_pend pend = {0};
    for (uint64_t left = board->mask; left != 0; left &= left - 1) {
        int reg = __builtin_ctzll(left);
        if (board->ready[reg] <= board->time)
            continue;
        pend.mask |= UINT64_C(1) << reg;
        pend.remaining[reg] = (uint8_t)(board->ready[reg] - board->time);
        pend.cause[reg] = board->cause[reg];
    }
    if (pend.mask == 0)
        return NULL;
    return tl_pend_intern(table, &pend);
}
