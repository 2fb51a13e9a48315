// SPDX-License-Identifier: MIT
// The row of RISC-V for blocks.
#include "isa/rv/block/row.h"

#include "isa/rv/fp.h"
#include "isa/rv/insn.h"
#include "isa/rv/marker.h"
#include "isa/rv/step/step.h"

static void decode(const tl_hart *h, uint32_t bits, tl_block_insn *ret_insn) {
    tl_decoded insn;
    tl_decode(bits, &insn);
    ret_insn->opc = insn.opc;
    ret_insn->len = insn.len;
    ret_insn->ends_run = tl_insn_ends_run(&insn);
    ret_insn->is_fp = h->is_privileged && tl_insn_is_fp(&insn);
    ret_insn->is_private = tl_insn_is_private(&insn);
    ret_insn->is_marker = TL_UNLIKELY(h->mark != NULL) && tl_insn_is_marker(&insn);
    tl_insn_pipe(&insn, &ret_insn->pipe);
    ret_insn->n_counts = tl_insn_static(&insn, ret_insn->counts);
    ret_insn->op = (tl_op){.handler = NULL};
    tl_op_from_decoded(&insn, &ret_insn->op);
}

const tl_block_isa tl_rv_block_isa = {
    .has_short_insns = true,
    .execute = tl_exec_full,
    .decode = decode,
    .is_run_private = tl_step_run_is_private,
    .step = tl_step_one,
    .retired = tl_hart_retired,
    .enter = tl_fp_enter,
    .leave = tl_fp_leave,
};
