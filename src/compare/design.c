// SPDX-License-Identifier: MIT
// The list of designs, counted and searched; see design.h.
#include "compare/design.h"

uint32_t tl_compare_count_designs(void) {
    uint32_t n = 0;
    while (tl_compare_designs[n])
        n++;
    return n;
}

const char *tl_compare_design_name(uint32_t design) { return design < tl_compare_count_designs() ? tl_compare_designs[design]->name : ""; }

tl_status tl_compare_too_slow(const tl_compare_design_type *design, const tl_compare_setup *setup, const char *what, tl_error *err) {
    if (design->too_slow)
        return design->too_slow(setup, what, err);
    return tl_fail(err, TL_EIO, "%s at the counters of %s does not end", what, design->name);
}
