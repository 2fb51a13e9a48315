// SPDX-License-Identifier: MIT
// Jumps as calls, returns and jumps of the call graph: the hints that link registers give.
#ifndef TL_ISA_RV_TRANSFERS_H
#define TL_ISA_RV_TRANSFERS_H

#include "isa/rv/hart.h"
#include "isa/rv/insn.h"
#include "model/callgraph.h"

// JAL and JALR to target. rd of an operation may be 32, the sink.
static inline void tl_rv_tell_jump(tl_callgraph *graph, tl_hart *h, bool is_indirect, unsigned rd, unsigned rs1, uint64_t pc,
                                   uint64_t target, uint64_t return_pc) {
    enum { SP = 2 };
    const tl_call_jump jump = {.pc = pc,
                               .target = target,
                               .return_pc = return_pc,
                               .sp = tl_rv(h)->x[SP],
                               .is_call = tl_is_link(rd & 31),
                               .is_return = is_indirect && tl_jalr_is_return(rd & 31, rs1),
                               .is_indirect = is_indirect};
    tl_callgraph_tell_jump(graph, h->id, &jump);
}

#endif
