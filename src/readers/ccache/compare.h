// SPDX-License-Identifier: MIT
// Parts of the design's row of the comparison, tl_compare_ccache.
#ifndef TL_READERS_CCACHE_COMPARE_H
#define TL_READERS_CCACHE_COMPARE_H

#include "compare/design.h"

extern const tl_watch_type tl_ccache_watch;
void tl_ccache_write_grant(tl_assembler *a, const tl_testbench *testbench);
enum { TL_CCACHE_TRIALS = 10 };
extern const tl_trial tl_ccache_trials[TL_CCACHE_TRIALS];
TL_MUST_CHECK tl_status tl_ccache_permit_trial(tl_testbench *testbench, const tl_trial *trial, tl_error *err);
void tl_ccache_write_trial(tl_assembler *a, const tl_testbench *testbench, const tl_trial *trial);

uint64_t tl_ccache_selector_of(const tl_watchable *event); // 0: no selector names it

#endif
