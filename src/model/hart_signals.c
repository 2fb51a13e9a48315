// SPDX-License-Identifier: MIT
// The rows of hart_signals.def as tables.
#include "model/hart_signals.h"

#define UNIT(id, unit_name, path, what) static const tl_signal id##_signals[] = {
#define SIGNAL(id, name, measure, max_step, meaning) {#name, meaning, TL_MEASURE_##measure, max_step},
#define END_UNIT(id) \
    }                \
    ;
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT

const tl_hart_unit_row tl_hart_units[TL_N_HART_UNITS] = {
#define UNIT(id, unit_name, path, what)                                                                                                    \
    [TL_HART_UNIT_##id] = {                                                                                                                \
        .type = {.name = #unit_name, .meaning = what, .signals = id##_signals, .n_signals = sizeof id##_signals / sizeof id##_signals[0]}, \
        .path_format = path,                                                                                                               \
        .first_cell = TL_S_##id##_FIRST},
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "model/hart_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
};

// The static share of instructions (isa/rv/insn.c), of the pipeline (timing/inorder/pipeline.c) and
// of fetch runs is summed when blocks are folded, and so is what the directions of branches come
// to; what their targets add (model/bpred.h) is added at once.
tl_signal_kind tl_hart_signal_kind(enum tl_hart_cell cell) {
    if (cell >= TL_S_HART_CYCLE && cell <= TL_S_HART_INSTRET_M)
        return TL_SIGNAL_CLOCK;
    if (cell >= TL_S_HART_INSN_ALU && cell <= TL_S_HART_RETURN)
        return TL_SIGNAL_HELD;
    if (cell >= TL_S_HART_CYC_ISSUE && cell <= TL_S_HART_CYC_AMO)
        return TL_SIGNAL_HELD;
    switch (cell) {
    case TL_S_HART_LOAD_BYTES:
    case TL_S_HART_STORE_BYTES:
    case TL_S_HART_FETCH_RUN:
    case TL_S_HART_FLUSH_CSR:
    case TL_S_HART_FLUSH_OTHER:
    case TL_S_BP_COND:
    case TL_S_BP_DIRECT:
    case TL_S_BP_INDIRECT:
    case TL_S_BP_RETURN:
    case TL_S_BP_RAS_PUSH:
    case TL_S_BP_RAS_POP:
    case TL_S_L1I_READ:
    case TL_S_L1I_ACCESS:
    case TL_S_ITLB_ACCESS:
    case TL_S_L1D_LOAD:
    case TL_S_L1D_STORE:
    case TL_S_DTLB_ACCESS:
    case TL_S_HART_BRANCH_TAKEN:
    case TL_S_HART_CYC_MISPREDICT:
    case TL_S_BP_COND_MISS:
    case TL_S_BP_COND_MISS_TAKEN: return TL_SIGNAL_HELD;
    case TL_S_HART_CYC_TARGET:
    case TL_S_HART_CYC_REDIRECT:
    case TL_S_BP_INDIRECT_MISS:
    case TL_S_BP_RETURN_MISS:
    case TL_S_BP_TARGET_MISS:
    case TL_S_BP_REDIRECT:
    case TL_S_BP_BTB_FILL: return TL_SIGNAL_FAST;
    default: return TL_SIGNAL_SLOW;
    }
}

bool tl_hart_signal_is_jumpy(enum tl_hart_cell cell) {
    bool is_time = cell >= TL_S_HART_CYCLE && cell <= TL_S_HART_IDLE_CYCLE;
    return is_time || cell == TL_S_L1D_LOAD || cell == TL_S_L1D_STORE || tl_hart_signal_kind(cell) == TL_SIGNAL_SLOW;
}

bool tl_hart_signal_is_retired(enum tl_hart_cell cell) {
    bool is_mix = cell >= TL_S_HART_INSN_ALU && cell <= TL_S_HART_STORE_BYTES;
    bool is_prediction = cell >= TL_S_BP_FIRST && cell < TL_S_BP_END;
    return cell == TL_S_HART_INSTRET || is_mix || is_prediction || cell == TL_S_HART_FLUSH_CSR;
}
