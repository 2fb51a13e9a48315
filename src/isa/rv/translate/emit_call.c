// SPDX-License-Identifier: MIT
// Instructions without a template: calls of their C bodies, the ones that the block front-end uses.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"
#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"

typedef bool fast_call(tl_hart *h, const tl_op *op, uint64_t pc);
#define INSN_BRANCH(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN_JUMP(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) \
    static bool call_##id(tl_hart *h, const tl_op *op, uint64_t pc) { return fast_##id(h, op, pc); }
#include "isa/rv/insn_all.def"
#undef INSN
#undef INSN_BRANCH
#undef INSN_JUMP

static fast_call *const fast_calls[TL_N_OPCS] = {
#define INSN_BRANCH(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN_JUMP(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) [TL_OPC_##id] = call_##id,
#include "isa/rv/insn_all.def"
#undef INSN
#undef INSN_BRANCH
#undef INSN_JUMP
};

static void emit_fast_call(tl_translator *t, uint32_t k, const tl_op *op) {
    x86 *e = &t->e;
    x86_mov_ri(e, RAX, (uintptr_t)op);
    x86_mov_ri(e, RDX, t->block->pc + op->offset);
    x86_mov_ri(e, RCX, (uintptr_t)fast_calls[t->block->opc[k]]);
    x86_call_to(e, t->body_thunk);
    uint8_t *gave_up = x86_jcc(e, CC_E);
    tl_emit_slow(t, k, &gave_up, 1);
}

void tl_emit_call(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    switch (tl_insn_rows[t->block->opc[k]].cls) {
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC:
    case TL_CLASS_CSR:
    case TL_CLASS_FENCE_I:
    case TL_CLASS_SYSTEM: tl_emit_slow_always(t, k); return;
    default: break;
    }
    if (t->block->opc[k] == TL_OPC_ILLEGAL)
        tl_emit_slow_always(t, k);
    else
        emit_fast_call(t, k, op);
}

#endif
