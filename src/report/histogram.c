// SPDX-License-Identifier: MIT
// See histogram.h.
#include "report/histogram.h"

#include <inttypes.h>

void tl_report_put_histogram(const tl_histogram_bin *bins, uint32_t n_bins, uint64_t n_samples, const char *lead, int label_chars,
                             FILE *stream) {
    enum { BAR = 40, LABEL = 64 };
    uint64_t most = 1;
    for (uint32_t i = 0; i < n_bins; i++)
        most = bins[i].n > most ? bins[i].n : most;
    for (uint32_t i = 0; i < n_bins; i++) {
        const tl_histogram_bin *bin = &bins[i];
        char bar[BAR + 1], label[LABEL];
        if (bin->n == 0)
            continue;
        const uint32_t n = (uint32_t)((bin->n * BAR + most - 1) / most);
        for (uint32_t k = 0; k < n; k++)
            bar[k] = '#';
        bar[n] = '\0';
        if (bin->last == bin->first)
            snprintf(label, sizeof label, "+%" PRIu64, bin->first);
        else
            snprintf(label, sizeof label, "+%" PRIu64 " to %" PRIu64, bin->first, bin->last);
        fprintf(stream, "%s%-*s  %7" PRIu64 "  %5.1f %%  %s\n", lead, label_chars, label, bin->n, 100 * (double)bin->n / (double)n_samples,
                bar);
    }
}
