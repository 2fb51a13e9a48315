// SPDX-License-Identifier: MIT
// A sweep as a table and as a picture. tally/sweep.h documents the functions.
#ifndef TL_REPORT_SWEEP_H
#define TL_REPORT_SWEEP_H

#include "result/sweep.h"

TL_MUST_CHECK tl_status tl_report_sweep(const tl_sweep *sweep, tl_sweep_format format, FILE *stream, tl_error *err);
TL_MUST_CHECK tl_status tl_report_sweep_plot(const tl_sweep *sweep, FILE *stream, tl_error *err);

#endif
