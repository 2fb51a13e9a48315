// SPDX-License-Identifier: MIT
// The row of an instruction set for blocks: its decoder, its bodies, and its stepping engine.
#ifndef TL_ISA_BLOCK_ROW_H
#define TL_ISA_BLOCK_ROW_H

#include "isa/block/op.h"
#include "model/pipeline.h"
#include "model/stepping.h"

enum { TL_MAX_STATIC = 12 };

typedef struct tl_block_insn { // one instruction, decoded
    uint16_t opc;              // names its full body
    uint8_t len;               // bytes
    bool ends_run;
    bool is_fp;      // of system software: must be stepped while h->is_fp_off
    bool is_private; // accesses no data, as tl_block_isa.is_run_private has it
    bool is_marker;  // and h->mark is set
    tl_pipe_insn pipe;
    uint32_t n_counts;
    tl_static_count counts[TL_MAX_STATIC]; // static share of one retirement
    tl_op op;                              // all but the handler, and an offset in the block
} tl_block_insn;

typedef struct tl_block_isa {
    bool has_short_insns;   // of 2 bytes; else all have 4
    uint64_t misaligned_pc; // bits of a pc whose fetch traps before its look-up
    // Full bodies by opc; NULL for control transfers.
    tl_exec_fn *const *execute;
    // Decodes for the hart. Never fails.
    void (*decode)(const tl_hart *h, uint32_t bits, tl_block_insn *ret_insn);
    // Whether the run at pc accesses no data and its look-up cannot miss, as h->access_until asks.
    bool (*is_run_private)(tl_hart *h, uint64_t pc);
    tl_step (*step)(tl_hart *h, tl_pend_table *pends);
    void (*retired)(tl_hart *h); // tl_hart_retired, and what the instruction set adds
    // Around guest instructions: the host's floating point.
    void (*enter)(tl_hart *h, tl_fp_saved *ret_saved);
    void (*leave)(tl_hart *h, const tl_fp_saved *saved);
} tl_block_isa;

#endif
