// SPDX-License-Identifier: MIT
// Cost of reading n counters in a user program, first and next time.
#ifndef TL_COMPARE_ACCESSES_H
#define TL_COMPARE_ACCESSES_H

#include "compare/testbench.h"

// Values stay in registers x8 .. x27.
enum { TL_ACCESS_FIRST_VALUE = TL_S0, TL_ACCESS_MAX_VALUES = 20 };

TL_MUST_CHECK tl_status tl_compare_accesses(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

// For code of a design: stores the first n values, to make room for others. Uses t2.
void tl_access_store(tl_assembler *a, uint32_t n);

#endif
