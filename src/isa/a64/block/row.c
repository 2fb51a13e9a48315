// SPDX-License-Identifier: MIT
// The row of A64 for blocks.
#include "isa/a64/block/row.h"

#include "isa/a64/block/float.h"
#include "isa/a64/insn.h"
#include "isa/a64/step/step.h"
#include "isa/a64/words.h"

static void decode(const tl_hart *h, uint32_t bits, tl_block_insn *ret_insn) {
    *ret_insn = *tl_a64_word(tl_a64(h)->words, bits);
    ret_insn->is_fp &= h->is_privileged;
}

static tl_step step(tl_hart *h, tl_pend_table *pends) {
    tl_a64_fp_harvest(h);
    return tl_a64_step_one(h, pends);
}

const tl_block_isa tl_a64_block_isa = {
    .misaligned_pc = 3,
    .execute = tl_a64_exec_full,
    .decode = decode,
    .is_run_private = tl_a64_run_is_private,
    .step = step,
    .retired = tl_a64_retired,
    .enter = tl_a64_fp_enter,
    .leave = tl_a64_fp_leave,
};
