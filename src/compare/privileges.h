// SPDX-License-Identifier: MIT
// Who can read which design's counters: every case is tried on a machine of its own.
#ifndef TL_COMPARE_PRIVILEGES_H
#define TL_COMPARE_PRIVILEGES_H

#include "compare/setup.h"

TL_MUST_CHECK tl_status tl_compare_privileges(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

#endif
