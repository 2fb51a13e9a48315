// SPDX-License-Identifier: MIT
// Parts of the design's row of the comparison, tl_compare_rvhpm.
#ifndef TL_READERS_RVHPM_COMPARE_H
#define TL_READERS_RVHPM_COMPARE_H

#include "compare/design.h"

extern const tl_watch_type tl_rvhpm_watch;
void tl_rvhpm_write_grant(tl_assembler *a, const tl_testbench *testbench);
enum { TL_RVHPM_TRIALS = 12 };
extern const tl_trial tl_rvhpm_trials[TL_RVHPM_TRIALS];
TL_MUST_CHECK tl_status tl_rvhpm_permit_trial(tl_testbench *testbench, const tl_trial *trial, tl_error *err);
void tl_rvhpm_write_trial(tl_assembler *a, const tl_testbench *testbench, const tl_trial *trial);

uint64_t tl_rvhpm_selector_of(const tl_watchable *event); // for mhpmevent; 0: no selector names it
// CSR of a counter that always counts it; 0: none.
uint32_t tl_rvhpm_counter_of(const tl_watchable *event);

#endif
