// SPDX-License-Identifier: MIT
// How a process is let in: system calls that a kernel and firmware answer, made of the instructions
// that must be executed and no others. u74: the kernel asks firmware for mcounteren (an SBI call)
// and writes scounteren. ccache: open, then mmap, which writes the page-table entries of the window
// and fences them. dhpc: the kernel sets useren.
#ifndef TL_COMPARE_GRANT_H
#define TL_COMPARE_GRANT_H

#include "compare/stage.h"

// Makes kernel and firmware of a stage that has run nothing in a lower mode yet, and executes the
// calls of a process in user mode.
TL_MUST_CHECK tl_status tl_grant_run(tl_stage *stage, tl_compare_design design, tl_stage_cost *ret_cost, tl_error *err);

#endif
