// SPDX-License-Identifier: MIT
// Reports of results as text: formats for people, programs, spreadsheets and perf scripts. The
// caller writes a report in pieces, because a long run must not keep its intervals in memory:
//
//   tl_report_new, tl_report_begin, tl_report_interval..., tl_report_end, tl_report_free
//
// Text is ASCII. Numbers use the C locale. The host appears in a report only if an option requests
// it.
#ifndef TALLY_REPORT_H
#define TALLY_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/result.h>

TL_BEGIN_DECLS

typedef enum tl_format {
    TL_FORMAT_TEXT,      // a table for people
    TL_FORMAT_JSON,      // one JSON object a line, schema "tally.stat/1" (docs/schema/stat-1.json)
    TL_FORMAT_CSV,       // comma-separated with a header line
    TL_FORMAT_PERF_CSV,  // the lines of perf stat -x: value,unit,event,run time,percent,metric,unit
    TL_FORMAT_PERF_JSON, // the keys of perf stat -j
} tl_format;

typedef struct tl_report_options {
    uint32_t size; // set by tl_report_options_init
    tl_format format;
    unsigned detail; // TEXT: 0 one screen, 1 every unit, 2 every count
    bool is_quiet;   // TEXT: no heading and no closing lines
    bool only_times; // TEXT: no counts at all
    // JSON and CSV print host time and memory, too, which differ between runs. TEXT always has
    // them.
    bool with_host;
    bool with_variance;    // PERF formats: the column or key for repeated runs; always 0 here
    const char *separator; // PERF_CSV; NULL: ","
} tl_report_options;

TL_API void tl_report_options_init(tl_report_options *ret_options);

typedef struct tl_report tl_report;

// The caller keeps the stream. tl_report_end returns write errors of earlier calls.
TL_MUST_CHECK TL_API tl_status tl_report_new(const tl_report_options *options, FILE *stream, tl_report **ret_report, tl_error *err);
// Writes program and machine. Counts of `result` are not used.
TL_API void tl_report_begin(tl_report *report, const tl_result *result);
// Writes a result of tl_run_interval. Intervals come in order.
TL_API void tl_report_interval(tl_report *report, const tl_result *result);
// Adds a sentence about the run: a record, a row or a comment line, by format. TEXT ignores it. A
// message before tl_report_begin follows the beginning. tl_report_free writes it if no report
// begins.
TL_API void tl_report_message(tl_report *report, const char *sentence);
// Writes the totals. TL_EIO: the stream cannot be written.
TL_MUST_CHECK TL_API tl_status tl_report_end(tl_report *report, const tl_result *result, tl_error *err);
TL_API void tl_report_free(tl_report *report); // NULL is fine

// Writes a complete report in one call.
TL_MUST_CHECK TL_API tl_status tl_report_write(const tl_report_options *options, const tl_result *result, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
