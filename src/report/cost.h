// SPDX-License-Identifier: MIT
// The hardware account of a design as text, Markdown and JSON.
#ifndef TL_REPORT_COST_H
#define TL_REPORT_COST_H

#include <tally/catalogue.h>

#include "base/status.h"
#include "result/cost.h"

TL_MUST_CHECK tl_status tl_report_cost(const tl_cost *cost, tl_describe_format format, FILE *stream, tl_error *err);
// The cost of a measured run, which has a remark and tables alone.
TL_MUST_CHECK tl_status tl_report_run_cost(const tl_cost *cost, tl_describe_format format, FILE *stream, tl_error *err);

#endif
