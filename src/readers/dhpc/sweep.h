// SPDX-License-Identifier: MIT
// Three ways to read the distributed counters, timed over fabrics and numbers of harts.
#ifndef TL_READERS_DHPC_SWEEP_H
#define TL_READERS_DHPC_SWEEP_H

#include "compare/setup.h"

TL_MUST_CHECK tl_status tl_dhpc_sweep_fabrics(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);
// One row: a value every `beat` cycles, so many harts.
TL_MUST_CHECK tl_status tl_dhpc_sweep_fabric(const tl_compare_setup *setup, uint32_t beat, uint32_t n_harts, tl_compare_fabric_row *ret_row,
                                             tl_error *err);

#endif
