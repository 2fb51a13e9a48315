// SPDX-License-Identifier: MIT
// Plans a sweep: cells of the product of all values, each with the options of its run.
// tally/sweep.h documents the functions, and src/api exports them.
#ifndef TL_SESSION_SWEEP_H
#define TL_SESSION_SWEEP_H

#include "result/sweep.h"

TL_MUST_CHECK tl_status tl_sweep_plan(const tl_run_options *options, const char *const *varies, tl_sweep **ret_sweep, tl_error *err);
void tl_sweep_fill_options(const tl_sweep *sweep, uint32_t cell, tl_run_options *ret_options);
void tl_sweep_release(tl_sweep *sweep); // NULL is fine

#endif
