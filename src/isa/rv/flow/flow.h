// SPDX-License-Identifier: MIT
// The functional stream of a RISC-V hart (model/flow.h): decodes, executes ahead, takes back. The
// bodies are those of every engine (isa/rv/exec.h). Loads and stores go through a queue of stores
// in flight. tl_step_one executes what must be alone.
#ifndef TL_ISA_RV_FLOW_H
#define TL_ISA_RV_FLOW_H

#include "base/arena.h"
#include "model/flow.h"

TL_MUST_CHECK tl_status tl_flow_new(tl_hart *h, tl_arena *arena, tl_flow **ret_flow, tl_error *err);
void tl_flow_free(tl_flow *flow); // what the arena does not own

#endif
