// SPDX-License-Identifier: MIT
// Results as text: one format each for people, programs, spreadsheets and scripts made for perf. A
// report is written in pieces so that a long run needs no memory for its intervals:
//
//   tl_report_new, tl_report_begin, tl_report_interval..., tl_report_end, tl_report_free
//
// Text is ASCII, numbers are in the C locale whatever the process's locale, and nothing depends on
// the host unless asked.
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
    unsigned detail;       // TEXT: 0 one screen, 1 every unit, 2 every count
    bool is_quiet;         // TEXT: no heading and no closing lines
    bool only_times;       // TEXT: no counts at all
    bool with_host;        // JSON, CSV: host time and memory, too, which differ from run to run. TEXT always has them
    bool with_variance;    // PERF formats: the column or key that perf adds for repeated runs; it is always 0 here
    const char *separator; // PERF_CSV; NULL: ","
} tl_report_options;

TL_API void tl_report_options_init(tl_report_options *ret_options);

typedef struct tl_report tl_report;

// The stream stays the caller's. Write errors are kept and returned by tl_report_end.
TL_MUST_CHECK TL_API tl_status tl_report_new(const tl_report_options *options, FILE *stream, tl_report **ret_report, tl_error *err);
TL_API void tl_report_begin(tl_report *report, const tl_result *result);    // what is run on what; its counts do not matter
TL_API void tl_report_interval(tl_report *report, const tl_result *result); // from tl_run_interval, in order
// A sentence about the run, between the parts of the report: a record, a row or a line of remark,
// as the format has it; nothing in TEXT. One from before tl_report_begin follows the beginning, or
// is written by tl_report_free.
TL_API void tl_report_message(tl_report *report, const char *sentence);
TL_MUST_CHECK TL_API tl_status tl_report_end(tl_report *report, const tl_result *result, tl_error *err); // totals; TL_EIO
TL_API void tl_report_free(tl_report *report);                                                           // NULL is fine

// The whole in one call.
TL_MUST_CHECK TL_API tl_status tl_report_write(const tl_report_options *options, const tl_result *result, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
