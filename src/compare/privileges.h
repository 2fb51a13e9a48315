// SPDX-License-Identifier: MIT
// The privilege matrix: modes that can read each design's counters. Every case runs on a machine of
// its own. A case is a row of the design: the reading mode, the permissions, and the executed code.
#ifndef TL_COMPARE_PRIVILEGES_H
#define TL_COMPARE_PRIVILEGES_H

#include "compare/testbench.h"

enum {
    TL_TRIAL_SECRET = 0x123456, // value of a counter
    TL_TRIAL_NOT_READ = 0x5a5,  // initial content of TL_TESTBENCH_VALUE
};

typedef struct tl_trial {
    const char *who; // "M", "U", "another process"
    tl_priv mode;
    const char *grant, *what; // "page not mapped", "load counter 0"
    // A value that it reads belongs to a process that used the counters before.
    bool is_anothers;
    uint32_t how; // bits of the design's own
} tl_trial;

TL_MUST_CHECK tl_status tl_compare_privileges(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

// Ends a piece and runs it. For code of a design.
TL_MUST_CHECK tl_status tl_trial_run(tl_testbench *testbench, tl_piece *piece, int *ret_cause, tl_error *err);

#endif
