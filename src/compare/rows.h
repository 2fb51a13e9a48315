// SPDX-License-Identifier: MIT
// Turns results of watched runs into rows of a comparison.
#ifndef TL_COMPARE_ROWS_H
#define TL_COMPARE_ROWS_H

#include "compare/watch.h"

// Of one design: a result for each phase, the one of phase 0 first.
void tl_compare_fill_design(const tl_compare_setup *setup, const tl_comparison *c, uint32_t design, const tl_watch_result *results,
                            uint32_t n_results, tl_compare_design_row *ret_row);
void tl_compare_fill_values(const tl_compare_setup *setup, tl_comparison *c, uint32_t design_index, const tl_watch_result *results,
                            uint32_t n_results, const uint64_t *undisturbed);
// Relative. 0 if both are 0, 1 if only the truth is.
double tl_compare_error(uint64_t value, uint64_t truth);
// Over results and over the events that happen: |error|. Returns how many events were counted.
uint32_t tl_compare_errors(const tl_compare_setup *setup, const tl_watch_result *results, uint32_t n_results, double *ret_mean,
                           double *ret_largest);

#endif
