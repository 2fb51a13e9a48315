// SPDX-License-Identifier: MIT
// Parts of the design's row of the comparison, tl_compare_dhpc.
#ifndef TL_READERS_DHPC_COMPARE_H
#define TL_READERS_DHPC_COMPARE_H

#include "compare/design.h"

extern const tl_watch_type tl_dhpc_watch;
void tl_dhpc_write_grant(tl_assembler *a, const tl_testbench *testbench);
enum { TL_DHPC_TRIALS = 7 };
extern const tl_trial tl_dhpc_trials[TL_DHPC_TRIALS];
TL_MUST_CHECK tl_status tl_dhpc_permit_trial(tl_testbench *testbench, const tl_trial *trial, tl_error *err);
void tl_dhpc_write_trial(tl_assembler *a, const tl_testbench *testbench, const tl_trial *trial);
bool tl_dhpc_is_value(const tl_testbench *testbench, uint64_t value);

// Class, extend and bit, as TL_DHPC_SELECTOR has them; of a slice, those of slice 0. false: no
// counter counts it.
bool tl_dhpc_selector_of(const tl_watchable *event, uint64_t *ret_selector);

#endif
