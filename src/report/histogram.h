// SPDX-License-Identifier: MIT
// A histogram over distances as text: a line for each bin, with a bar.
#ifndef TL_REPORT_HISTOGRAM_H
#define TL_REPORT_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

typedef struct tl_histogram_bin {
    uint64_t first, last, n; // distances, and samples
} tl_histogram_bin;

// Bins without samples have no line. lead: before each line; label_chars: room for the distance.
void tl_report_put_histogram(const tl_histogram_bin *bins, uint32_t n_bins, uint64_t n_samples, const char *lead, int label_chars,
                             FILE *stream);

#endif
