// SPDX-License-Identifier: MIT
// Runs of the experiment on sampling, beside the figures of B. Sprunt's paper.
#ifndef TL_REPORT_L1MISS_H
#define TL_REPORT_L1MISS_H

#include <stdio.h>

#include <tally/l1miss.h>

// tl_l1miss_write.
TL_MUST_CHECK tl_status tl_report_l1miss(const tl_l1miss_run *runs, uint32_t n, tl_l1miss_format format, FILE *stream, tl_error *err);

// For the files of the report.
void tl_l1miss_title(const tl_l1miss_run *run, char ret_title[96]);
double tl_l1miss_share(uint64_t part, uint64_t whole); // in percent
void tl_l1miss_write_svg(const tl_l1miss_run *runs, uint32_t n, FILE *stream);

#endif
