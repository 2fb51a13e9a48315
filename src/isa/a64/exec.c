// SPDX-License-Identifier: MIT
// The tables of bodies.
#include "isa/a64/exec_crypto.h"

static bool exec_undefined(tl_hart *h, const tl_a64_op *op, uint64_t pc) {
    (void)pc;
    return tl_trap(h, TL_A64_CAUSE_UNDEFINED, (uint32_t)op->imm);
}

tl_a64_exec_fn *const tl_a64_exec_full[TL_A64_N_OPCS] = {
    [TL_A64_OPC_UNDEFINED] = exec_undefined,
#define INSN(id, ...) [TL_A64_OPC_##id] = exec_##id,
#define INSN_BRANCH(id, ...)
#define INSN_JUMP(id, ...)
#include "isa/a64/insn_all.def"
#undef INSN
};

tl_a64_taken_fn *const tl_a64_taken[TL_A64_N_OPCS] = {
#define INSN(id, ...)
#define INSN_BRANCH(id, ...) [TL_A64_OPC_##id] = taken_##id,
#define INSN_JUMP(id, ...)
#include "isa/a64/insn_all.def"
#undef INSN
};
