// SPDX-License-Identifier: MIT
// Metric groups: text files of four parts (metrics/*.txt, docs/metrics.md) with formulas over the
// names of the catalogue.
#ifndef TL_NAMES_METRICS_H
#define TL_NAMES_METRICS_H

#include "names/catalogue.h"

typedef tl_named_formula tl_metric_row;

typedef struct tl_metric_group {
    const char *name;     // the file's name without .txt: "cpi_stack"
    const char *title;    // SHORT: one sentence
    const char *eventset; // EVENTSET: events to show beside the metrics, comma-separated, or ""
    const char *text;     // LONG: how to read the numbers
    const tl_metric_row *metrics;
    uint32_t n_metrics;
} tl_metric_group;

// The built-in groups are in every catalogue, in order of their names; `ipc` first.
uint32_t tl_catalogue_n_groups(const tl_catalogue *catalogue);
const tl_metric_group *tl_catalogue_group_at(const tl_catalogue *catalogue, uint32_t index);
// NULL: none.
const tl_metric_group *tl_catalogue_group(const tl_catalogue *catalogue, const char *name);
// Adds a user's group. TL_EFORMAT names file and line, and nothing is added.
TL_MUST_CHECK tl_status tl_catalogue_add_group(tl_catalogue *catalogue, const char *name, const char *text, size_t n_bytes,
                                               const char *file_name, tl_error *err);

#endif
