// SPDX-License-Identifier: MIT
// The tables of bodies.
#include "isa/a64/exec_crypto.h"

static bool exec_undefined(tl_hart *h, const tl_op *op, uint64_t pc) {
    (void)pc;
    return tl_trap(h, TL_A64_CAUSE_UNDEFINED, (uint32_t)op->imm);
}

// D1.8.2: the stack pointer as the base of an access. A prefetch is none.
static bool may_use_base(tl_hart *h, const tl_op *op) {
    if (TL_LIKELY(op->rn != TL_A64_SP || !tl_a64(h)->sys.checks_sp || (tl_a64(h)->x[TL_A64_SP] & 15) == 0))
        return true;
    return tl_trap(h, TL_A64_CAUSE_SP_MISALIGNED, tl_a64(h)->x[TL_A64_SP]);
}
#define BASED(id) \
    static bool based_##id(tl_hart *h, const tl_op *op, uint64_t pc) { return may_use_base(h, op) && exec_##id(h, op, pc); }
#define NOT_BASED(id) \
    static bool based_##id(tl_hart *h, const tl_op *op, uint64_t pc) { return exec_##id(h, op, pc); }
#define BASED_ALU NOT_BASED
#define BASED_LOAD BASED
#define BASED_STORE BASED
#define BASED_FP_LOAD BASED
#define BASED_FP_STORE BASED
#define BASED_LR BASED
#define BASED_SC BASED
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) BASED_##cls(id)
#include "isa/a64/insn_mem.def"
#undef INSN

tl_exec_fn *const tl_a64_exec_full[TL_A64_N_OPCS] = {
    [TL_A64_OPC_UNDEFINED] = exec_undefined,
#define INSN(id, ...) [TL_A64_OPC_##id] = exec_##id,
#define INSN_BRANCH(id, ...)
#define INSN_JUMP(id, ...)
#include "isa/a64/insn_branch.def"
#include "isa/a64/insn_fp.def"
#include "isa/a64/insn_imm.def"
#include "isa/a64/insn_reg.def"
#include "isa/a64/insn_simd.def"
#undef INSN
#define INSN(id, ...) [TL_A64_OPC_##id] = based_##id,
#include "isa/a64/insn_mem.def"
#undef INSN
};

tl_taken_fn *const tl_a64_taken[TL_A64_N_OPCS] = {
#define INSN(id, ...)
#define INSN_BRANCH(id, ...) [TL_A64_OPC_##id] = taken_##id,
#define INSN_JUMP(id, ...)
#include "isa/a64/insn_all.def"
#undef INSN
};
