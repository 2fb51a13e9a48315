// SPDX-License-Identifier: MIT
// Counts of tenants as text, JSON and CSV.
#ifndef TL_REPORT_TENANTS_H
#define TL_REPORT_TENANTS_H

#include <stdio.h>

#include "result/tenants.h"

TL_MUST_CHECK tl_status tl_report_tenants(const tl_tenants_counts *counts, tl_format format, FILE *stream, tl_error *err);

// "device", "vm 1 web", "  ctx 1.0 lua".
void tl_report_tenants_label(const tl_tenants_view *view, char *ret_text, size_t size);
// Blocks of the monitor beside the truth, as text (tenants_blocks.c).
void tl_report_tenants_blocks(const tl_tenants_counts *counts, FILE *stream);

#endif
