// SPDX-License-Identifier: MIT
// How a process is let in: system calls that a kernel and firmware answer, made of the instructions
// that must be executed and no others. The stage's design writes the kernel's part.
#ifndef TL_COMPARE_GRANT_H
#define TL_COMPARE_GRANT_H

#include "compare/stage.h"

// Makes kernel and firmware of a stage that has run nothing in a lower mode yet, and executes the
// calls of a process in user mode.
TL_MUST_CHECK tl_status tl_grant_run(tl_stage *stage, tl_stage_cost *ret_cost, tl_error *err);

#endif
