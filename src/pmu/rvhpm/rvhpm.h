// SPDX-License-Identifier: MIT
// The counters of the RISC-V privileged architecture in one hart's register file.
#ifndef TL_PMU_RVHPM_RVHPM_H
#define TL_PMU_RVHPM_RVHPM_H

#include "base/arena.h"
#include "base/status.h"
#include "model/hart.h"

TL_MUST_CHECK tl_status tl_rvhpm_attach(tl_hart *h, tl_arena *arena, tl_error *err); // hangs a port into the hart

#endif
