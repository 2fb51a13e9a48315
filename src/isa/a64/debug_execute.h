// SPDX-License-Identifier: MIT
// Instructions that a debugger hands to a core in Debug state (H2.4).
#ifndef TL_ISA_A64_DEBUG_EXECUTE_H
#define TL_ISA_A64_DEBUG_EXECUTE_H

#include "isa/a64/hart.h"

// Executes one instruction at h->now, and advances h->now by its cycles. false: it took an
// exception. EDSCR.ERR is then set, and ESR and FAR of a level tell why.
bool tl_a64_debug_execute(tl_hart *h, uint32_t bits);

// Bodies of DCPS and DRPS; UNDEFINED outside Debug state.
bool tl_a64_dcps(tl_hart *h, uint32_t el, uint32_t bits);
bool tl_a64_drps(tl_hart *h, uint32_t bits);

#endif
