// SPDX-License-Identifier: MIT
// The longer tables of a comparison as text. Each begins with an empty line and writes nothing at
// all when it has no row.
#ifndef TL_REPORT_COMPARISON_TABLES_H
#define TL_REPORT_COMPARISON_TABLES_H

#include "report/comparison.h"
#include "report/report.h"

void tl_comparison_put_events(const tl_comparison *comparison, FILE *stream);
void tl_comparison_put_accesses(const tl_comparison *comparison, FILE *stream);
void tl_comparison_put_privileges(const tl_comparison *comparison, FILE *stream);
void tl_comparison_put_states(const tl_comparison *comparison, FILE *stream);
void tl_comparison_put_sweeps(const tl_comparison *comparison, FILE *stream);

// Writes "exact" or "-12.30 %".
const char *tl_comparison_error_text(double error, char ret_text[TL_NUMBER_BYTES]);

#endif
