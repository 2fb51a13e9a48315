// SPDX-License-Identifier: MIT
// Listings and differences as text.
#ifndef TL_REPORT_LISTS_H
#define TL_REPORT_LISTS_H

#include <stdio.h>

#include "result/diff.h"
#include "result/listing.h"

TL_MUST_CHECK tl_status tl_report_list(const tl_list *list, tl_list_format format, FILE *stream, tl_error *err);
TL_MUST_CHECK tl_status tl_report_diff(const tl_diff *diff, tl_diff_format format, bool with_equal, FILE *stream, tl_error *err);

#endif
