// SPDX-License-Identifier: MIT
// Cells of comma-separated values, as RFC 4180 quotes them.
#ifndef TL_REPORT_CSV_H
#define TL_REPORT_CSV_H

#include <stdio.h>

// Quotes only where a comma, a quote or a line end makes it necessary.
void tl_csv_put_cell(FILE *stream, const char *text);
void tl_csv_put_quoted(FILE *stream, const char *text);

#endif
