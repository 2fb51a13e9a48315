// SPDX-License-Identifier: MIT
// Markers of a program (guest/include/tally/roi.h): SLTI with x0 as its destination, a hint that
// the unprivileged manual leaves to custom use ("HINT Instructions"). The immediate says which:
// 0x500 + number starts a region and 0x540 + number stops it, both with x0 as source. 0x580 +
// number names it by the text that the source register points to.
#ifndef TL_ISA_RV_MARKER_H
#define TL_ISA_RV_MARKER_H

#include "isa/rv/hart.h"
#include "isa/rv/insn.h"

static inline bool tl_insn_marker(const tl_decoded *insn, tl_mark *ret_mark, uint32_t *ret_number) {
    static const uint32_t first = 0x500;
    uint32_t code = (uint32_t)insn->imm - first;
    if (insn->opc != TL_OPC_slti || insn->rd != 0 || code >= 3 * TL_MAX_MARKERS)
        return false;
    *ret_mark = (tl_mark)(code / TL_MAX_MARKERS);
    *ret_number = code % TL_MAX_MARKERS;
    return *ret_mark == TL_MARK_NAME || insn->rs1 == 0;
}

static inline bool tl_insn_is_marker(const tl_decoded *insn) {
    tl_mark mark;
    uint32_t number;
    return tl_insn_marker(insn, &mark, &number);
}

#endif
