// SPDX-License-Identifier: MIT
// Empties a branch predictor (model/bpred.h). The header stands alone, because only owners of harts
// need it. Implementation: timing/inorder/bpred.c.
#ifndef TL_MODEL_BPRED_RESET_H
#define TL_MODEL_BPRED_RESET_H

#include "model/bpred.h"

// Tables and history become as after tl_bpred_init. Counts stay. A predictor with a log keeps it.
void tl_bpred_reset(tl_bpred *bp);

#endif
