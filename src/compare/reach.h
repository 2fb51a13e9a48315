// SPDX-License-Identifier: MIT
// What each design offers and costs on a machine: counters, registers, address space, flip-flops,
// wires. All of it from the designs' own tables and accounts.
#ifndef TL_COMPARE_REACH_H
#define TL_COMPARE_REACH_H

#include "compare/setup.h"

// events_at_once, n_csrs, address_bytes and what one more event needs, of every design of the
// comparison; and its state rows.
TL_MUST_CHECK tl_status tl_compare_reach(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

#endif
