// SPDX-License-Identifier: MIT
// The sweep that all designs share: error over the number of events. A design brings its own sweep
// in its row.
#ifndef TL_COMPARE_SWEEP_H
#define TL_COMPARE_SWEEP_H

#include "compare/setup.h"

TL_MUST_CHECK tl_status tl_compare_spreads(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

// The events of the sweep: three of the core, one of the second level, and so on; then what is
// left. Returns how many there are.
uint32_t tl_compare_order_events(const tl_watchable *ret_order[TL_COMPARE_MAX_EVENTS]);

#endif
