// SPDX-License-Identifier: MIT
// Result of a comparison: a value, independent of the machines it comes from. tally/compare.h
// explains every row.
#ifndef TL_RESULT_COMPARISON_H
#define TL_RESULT_COMPARISON_H

#include <tally/compare.h>

#include "base/arena.h"

enum { TL_COMPARE_MAX_DESIGNS = 32 }; // bits of tl_compare_event.designs

struct tl_comparison {
    tl_arena arena; // of everything below
    tl_compare_facts facts;
    tl_compare_design_row *designs;
    tl_compare_value_row *values; // event by event, designs in their order
    tl_compare_access_row *accesses;
    tl_compare_privilege_row *privileges;
    tl_compare_state_row *states;
    tl_compare_fabric_row *fabrics; // only with_sweeps
    tl_compare_spread_row *spreads; // the same
    uint32_t n_designs, n_values, n_accesses, n_privileges, n_states, n_fabrics, n_spreads;
};

void tl_comparison_release(tl_comparison *comparison); // NULL is fine
const char *tl_comparison_outcome_text(tl_compare_outcome outcome);

#endif
