// SPDX-License-Identifier: MIT
// The two sweeps: ways to read the distributed counters over fabrics and harts, and error over the number of events.
#ifndef TL_COMPARE_SWEEP_H
#define TL_COMPARE_SWEEP_H

#include "compare/setup.h"

TL_MUST_CHECK tl_status tl_compare_fabrics(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);
// One row: a value every `beat` cycles, so many harts.
TL_MUST_CHECK tl_status tl_compare_fabric(const tl_compare_setup *setup, uint32_t beat, uint32_t n_harts, tl_compare_fabric_row *ret_row,
                                          tl_error *err);
TL_MUST_CHECK tl_status tl_compare_spreads(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

// The events of the sweep: three of the core, one of the second level, and so on; then what is
// left. Returns how many there are.
uint32_t tl_compare_order_events(const tl_watchable *ret_order[TL_COMPARE_MAX_EVENTS]);

#endif
