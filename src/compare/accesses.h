// SPDX-License-Identifier: MIT
// What it takes a user program to read n counters, the first time and again.
#ifndef TL_COMPARE_ACCESSES_H
#define TL_COMPARE_ACCESSES_H

#include "compare/setup.h"

TL_MUST_CHECK tl_status tl_compare_accesses(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

#endif
