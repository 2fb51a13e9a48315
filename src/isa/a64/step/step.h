// SPDX-License-Identifier: MIT
// One A64 instruction at a time, by the letter of model/engine.h: fetch, decode, execute, count,
// with no memory of what it decoded. Faster front-ends are tested against it.
#ifndef TL_ISA_A64_STEP_STEP_H
#define TL_ISA_A64_STEP_STEP_H

#include "model/engine.h"

extern const tl_engine_type tl_engine_a64_step;

#endif
