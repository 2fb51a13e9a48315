// SPDX-License-Identifier: MIT
// Branches as calls, returns and jumps of the call graph.
#ifndef TL_ISA_A64_TRANSFERS_H
#define TL_ISA_A64_TRANSFERS_H

#include "isa/a64/hart.h"
#include "isa/a64/insn.h"
#include "model/callgraph.h"

// An unconditional branch to target; other instructions are none of these. BR x30 is a return, too.
static inline void tl_a64_tell_jump(tl_callgraph *graph, tl_hart *h, uint16_t opc, unsigned rn, uint64_t pc, uint64_t target) {
    enum { LINK_REGISTER = 30 };
    const uint64_t sp = tl_a64(h)->x[TL_A64_SP];
    if (opc == TL_A64_OPC_bl || opc == TL_A64_OPC_blr)
        tl_callgraph_call(graph, h->id, pc, target, pc + 4, sp);
    else if (opc == TL_A64_OPC_ret || (opc == TL_A64_OPC_br && rn == LINK_REGISTER))
        tl_callgraph_return(graph, h->id, target, sp);
    else if (opc == TL_A64_OPC_br || (opc == TL_A64_OPC_b && tl_callgraph_wants_jump(graph, target)))
        tl_callgraph_jump(graph, h->id, target, sp);
}

#endif
