// SPDX-License-Identifier: MIT
// One instruction at a time, by the letter of model/engine.h. Faster front-ends are tested against
// step, and call it to reach exact limits.
#ifndef TL_ISA_RV_STEP_STEP_H
#define TL_ISA_RV_STEP_STEP_H

#include "model/stepping.h"

// Executes the instruction at h->pc with everything that belongs to it. The host's floating-point
// unit must be the guest's (isa/rv/fp.h).
tl_step tl_step_one(tl_hart *h, tl_pend_table *pends);

// Whether the fetch run that begins at h->pc accesses no data, and its look-up cannot miss:
// tl_insn_is_private holds for all of it, no instruction is a marker, and its lines are in ITLB and
// L1I. A hart may be ahead of others while it executes such a run, because nobody can tell
// (docs/model.md 1.4).
bool tl_step_run_is_private(tl_hart *h, uint64_t pc);

#endif
