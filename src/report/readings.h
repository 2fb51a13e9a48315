// SPDX-License-Identifier: MIT
// Readings of distributed counters as text, JSON and CSV.
#ifndef TL_REPORT_READINGS_H
#define TL_REPORT_READINGS_H

#include "base/status.h"
#include "result/reading.h"

TL_MUST_CHECK tl_status tl_report_readings(const tl_reading *const *readings, uint32_t n, tl_readings_format format, FILE *stream,
                                           tl_error *err);

#endif
