// SPDX-License-Identifier: MIT
// One A64 instruction at a time, by the letter of model/engine.h: fetch, decode, execute, count.
// Nothing decoded is kept. Faster front-ends are tested against it, and call it to reach exact
// limits.
#ifndef TL_ISA_A64_STEP_STEP_H
#define TL_ISA_A64_STEP_STEP_H

#include "model/engine.h"
#include "model/stepping.h"

extern const tl_engine_type tl_engine_a64_step;

// Executes the instruction at h->pc with everything that belongs to it.
tl_step tl_a64_step_one(tl_hart *h, tl_pend_table *pends);

// Whether the fetch run that begins at pc accesses no data, and its look-up cannot miss.
bool tl_a64_run_is_private(tl_hart *h, uint64_t pc);

// Precondition: the instruction under way (h->has_after) has been counted. tl_hart_retired, and
// what follows from another exception level.
void tl_a64_retired(tl_hart *h);

#endif
