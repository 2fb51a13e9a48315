// SPDX-License-Identifier: MIT
// The scoreboard of the in-order pipeline: how long an instruction waits for results still in
// flight.
//
// The rule is additive: while one stall is served every other clock of the pipeline stands still.
// Interlocks therefore depend on the sequence of instructions only, not on what memory or
// prediction did, and can be summed once per decoded fetch run. Pipe time advances by one per
// issued instruction, by interlock stalls, and by the blocking time of iterative units. A result
// with latency L issued at pipe time t is ready at t + L. Results in flight at the end of a fetch
// run are a `tl_pend`; it is drained (forgotten) by traps and context switches. Implementation:
// timing/inorder/pipeline.c.
#ifndef TL_MODEL_PIPELINE_H
#define TL_MODEL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "model/in_flight.h"

typedef enum tl_class { // the class of an instruction decides its counters and its timing
    TL_CLASS_ALU,
    TL_CLASS_BITMANIP,
    TL_CLASS_MUL,
    TL_CLASS_DIV,
    TL_CLASS_LOAD,
    TL_CLASS_STORE,
    TL_CLASS_FP_LOAD,
    TL_CLASS_FP_STORE,
    TL_CLASS_BRANCH,
    TL_CLASS_JAL,
    TL_CLASS_JALR,
    TL_CLASS_AMO,
    TL_CLASS_LR,
    TL_CLASS_SC,
    TL_CLASS_FP_ADD,
    TL_CLASS_FP_MUL,
    TL_CLASS_FP_FMA,
    TL_CLASS_FP_DIV,
    TL_CLASS_FP_SQRT,
    TL_CLASS_FP_CONVERT,
    TL_CLASS_FP_COMPARE,
    TL_CLASS_FP_MOVE,
    TL_CLASS_CSR,
    TL_CLASS_FENCE,
    TL_CLASS_FENCE_I,
    TL_CLASS_SYSTEM,
    TL_N_CLASSES // the first TL_N_CLASSES enumerators are in the order of TL_S_HART_INSN_ALU ..
} tl_class;

// Ends a fetch run after this instruction (model/engine.h): control transfers and serializing
// instructions. Undefined instructions are of class SYSTEM, too.
static inline bool tl_class_ends_run(tl_class cls) {
    switch (cls) {
    case TL_CLASS_BRANCH:
    case TL_CLASS_JAL:
    case TL_CLASS_JALR:
    case TL_CLASS_CSR:
    case TL_CLASS_FENCE_I:
    case TL_CLASS_SYSTEM: return true;
    default: return false;
    }
}

// Does its work in integer registers and the branch predictor alone: no memory, no system register,
// no trap.
static inline bool tl_class_is_private(tl_class cls) {
    switch (cls) {
    case TL_CLASS_ALU:
    case TL_CLASS_BITMANIP:
    case TL_CLASS_MUL:
    case TL_CLASS_DIV:
    case TL_CLASS_BRANCH:
    case TL_CLASS_JAL:
    case TL_CLASS_JALR: return true;
    default: return false;
    }
}

// An element of the static share of an instruction: `amount` is added to the cell when it retires.
typedef struct tl_static_count {
    uint16_t cell;
    // Wider than a byte, because all instructions of a line may hold issue as long as a description
    // allows.
    uint32_t amount;
} tl_static_count;

typedef struct tl_static_list {
    tl_static_count *counts;
    uint32_t n;
} tl_static_list;
static inline void tl_static_add(tl_static_list *list, uint32_t cell, uint32_t amount) {
    list->counts[list->n++] = (tl_static_count){.cell = (uint16_t)cell, .amount = amount};
}

// Register numbers of the scoreboard: 0..31 integer, 32..63 floating point and vectors. The ISA
// says what each number is; a register that is always ready has none.
enum { TL_NO_REG = 64 };

typedef struct tl_pipe_insn { // what the scoreboard needs to know of one instruction
    tl_class cls;
    // Size of a memory access; 4 or 8 for word/double variants of DIV, FP_DIV, FP_SQRT.
    uint8_t size_bytes;
    uint8_t src[3];                   // TL_NO_REG: none
    uint8_t dest;                     // TL_NO_REG: none
    uint64_t also_reads, also_writes; // bit r: register r, beyond those
} tl_pipe_insn;

// Why issue waited: the order of the sums below.
typedef enum tl_pipe_cause {
    TL_PIPE_LOAD_USE,
    TL_PIPE_MUL,
    TL_PIPE_DIV,
    TL_PIPE_FP,
    TL_PIPE_FP_DIV,
    TL_PIPE_CSR,
    TL_PIPE_FENCE,
    TL_PIPE_FLUSH,
    TL_PIPE_AMO,
    TL_N_PIPE_CAUSES
} tl_pipe_cause;
extern const uint16_t tl_pipe_cause_cell[TL_N_PIPE_CAUSES]; // TL_S_HART_CYC_LOAD_USE ..

typedef struct tl_scoreboard { // a walk over consecutive instructions
    const tl_pipeline_config *config;
    uint64_t time;      // pipe time since the start of the walk
    uint64_t ready[64]; // pipe time at which a register is ready
    uint8_t cause[64];
    uint64_t mask;                   // registers that may still be in flight
    uint32_t lost[TL_N_PIPE_CAUSES]; // cycles lost so far, by cause
} tl_scoreboard;

void tl_scoreboard_start(tl_scoreboard *board, const tl_pipeline_config *config, const tl_pend *pend);
// Issues one instruction: adds its interlocks and blocking time to `lost`, advances time. Returns
// the cycles it took (>= 1). A result written by a younger instruction replaces the older one (no
// write-after-write stall).
uint32_t tl_scoreboard_issue(tl_scoreboard *board, const tl_pipe_insn *insn);

// The interned form of what is in flight now; NULL when nothing is.
const tl_pend *tl_scoreboard_pend(const tl_scoreboard *board, tl_pend_table *table);

#endif
