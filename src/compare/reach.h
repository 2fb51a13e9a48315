// SPDX-License-Identifier: MIT
// Capacity and cost of each design on a machine: counters, registers, address space, flip-flops,
// wires. The designs' own tables and accounts provide all numbers.
#ifndef TL_COMPARE_REACH_H
#define TL_COMPARE_REACH_H

#include "compare/setup.h"

// Fills events_at_once, n_csrs, address_bytes and the cost of one more event for every design, and
// the state rows.
TL_MUST_CHECK tl_status tl_compare_reach(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

#endif
