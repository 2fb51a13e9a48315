// SPDX-License-Identifier: MIT
// Descriptions as text: tally/catalogue.h, tl_describe_*.
#ifndef TL_REPORT_DESCRIBE_H
#define TL_REPORT_DESCRIBE_H

#include <tally/catalogue.h>

#include "base/status.h"
#include "model/pmu.h"
#include "result/result.h"

// `settings` has a row for each of `keys`; `yaml` says all of them as a description.
TL_MUST_CHECK tl_status tl_report_machine(const char *yaml, const tl_setting *settings, const tl_key *const *keys, uint32_t n_keys,
                                          tl_describe_format format, FILE *stream, tl_error *err);

// `preset` NULL: the events of every preset.
TL_MUST_CHECK tl_status tl_report_pmu(const tl_pmu_type *type, const tl_pmu_preset *preset, tl_describe_format format, FILE *stream,
                                      tl_error *err);

// A cell of a Markdown table. Escapes characters that end the cell or mean emphasis.
void tl_report_cell(FILE *stream, const char *text);

#endif
