// SPDX-License-Identifier: MIT
// Counts of tenants as text, JSON and CSV.
#ifndef TL_REPORT_TENANTS_H
#define TL_REPORT_TENANTS_H

#include <stdio.h>

#include "result/tenants.h"

TL_MUST_CHECK tl_status tl_report_tenants(const tl_tenants_counts *counts, tl_format format, FILE *stream, tl_error *err);

#endif
