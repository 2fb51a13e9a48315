// SPDX-License-Identifier: MIT
// From options to a comparison: the functions of tally/compare.h without the face of the public
// library.
#ifndef TL_COMPARE_COMPARE_H
#define TL_COMPARE_COMPARE_H

#include "base/status.h"
#include "result/comparison.h"

void tl_compare_init(tl_compare_options *ret_options);
TL_MUST_CHECK tl_status tl_compare_run(const tl_compare_options *options, tl_comparison **ret_comparison, tl_error *err);

#endif
