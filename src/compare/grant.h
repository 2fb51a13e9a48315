// SPDX-License-Identifier: MIT
// A grant: system calls that give a process access to counters. Kernel and firmware answer them
// with the necessary instructions only. The testbench's design writes the kernel's part.
#ifndef TL_COMPARE_GRANT_H
#define TL_COMPARE_GRANT_H

#include "compare/testbench.h"

// Precondition: the testbench has run nothing in a lower mode yet. Makes kernel and firmware, and
// executes the calls of a process in user mode.
TL_MUST_CHECK tl_status tl_grant_run(tl_testbench *testbench, tl_testbench_cost *ret_cost, tl_error *err);

#endif
