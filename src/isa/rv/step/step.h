// SPDX-License-Identifier: MIT
// One instruction at a time, by the letter of model/core.h: the oracle of every faster front-end, and their way to exact limits.
#ifndef TL_ISA_RV_STEP_STEP_H
#define TL_ISA_RV_STEP_STEP_H

#include "model/core.h"

typedef enum tl_step { TL_STEP_RETIRED, TL_STEP_TRAP, TL_STEP_BREAK, TL_STEP_WAIT } tl_step;

static inline tl_stop tl_step_stop(tl_step result) { // of one that did not retire
    return result == TL_STEP_TRAP ? TL_STOP_TRAP : result == TL_STEP_WAIT ? TL_STOP_WAIT : TL_STOP_BREAK;
}

struct tl_pend_table;
// Executes the instruction at h->pc with everything that belongs to it. The host's floating-point unit must be the guest's (isa/rv/fp.h).
tl_step tl_step_one(tl_hart *h, struct tl_pend_table *pends);

#endif
