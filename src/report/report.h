// SPDX-License-Identifier: MIT
// Interface of report formats, and their shared functions. tally/report.h wraps these functions.
#ifndef TL_REPORT_REPORT_H
#define TL_REPORT_REPORT_H

#include <tally/report.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "result/result.h"

typedef struct tl_reporter tl_reporter;

typedef struct tl_report_type {
    void (*begin)(tl_reporter *reporter, const tl_result *result);    // may be NULL
    void (*interval)(tl_reporter *reporter, const tl_result *result); // one interval
    void (*end)(tl_reporter *reporter, const tl_result *result);
    void (*message)(tl_reporter *reporter, const char *sentence); // NULL: people read it elsewhere
} tl_report_type;

struct tl_reporter {
    const tl_report_type *type;
    tl_report_options options;
    FILE *stream;
    tl_json json;
    uint64_t n_intervals; // written so far
    char separator[16];   // of options
    // has_header, has_pmu and has_region tell of the line that names the columns.
    bool has_begun, has_header, has_pmu, has_region;
    // Messages from before the beginning, one a line.
    tl_strbuf early;
};

extern const tl_report_type tl_report_text, tl_report_json, tl_report_csv, tl_report_perf_csv, tl_report_perf_json;

void tl_reporter_options_init(tl_report_options *ret_options);
TL_MUST_CHECK tl_status tl_reporter_new(const tl_report_options *options, FILE *stream, tl_reporter **ret_reporter, tl_error *err);
void tl_reporter_begin(tl_reporter *reporter, const tl_result *result);
void tl_reporter_interval(tl_reporter *reporter, const tl_result *result);
void tl_reporter_message(tl_reporter *reporter, const char *sentence);
TL_MUST_CHECK tl_status tl_reporter_end(tl_reporter *reporter, const tl_result *result, tl_error *err);
void tl_reporter_free(tl_reporter *reporter); // NULL is fine

// Numbers without the locale. The texts have room for 48 bytes.
enum { TL_NUMBER_BYTES = 48 };
// Writes "1,234,567".
const char *tl_format_grouped(uint64_t value, char ret_text[TL_NUMBER_BYTES]);
// Writes "0.81"; n_decimals <= 9.
const char *tl_format_fixed(double value, unsigned n_decimals, char ret_text[TL_NUMBER_BYTES]);
// Writes "0.012345678".
const char *tl_format_seconds(uint64_t ns, char ret_text[TL_NUMBER_BYTES]);
// Takes as many decimals as the value needs.
const char *tl_format_metric(double value, char ret_text[TL_NUMBER_BYTES]);
// Writes "48.13 %".
const char *tl_format_share(double share, char ret_text[TL_NUMBER_BYTES]);
// Writes "-0.44 %" or "exact".
const char *tl_format_error(double error, char ret_text[TL_NUMBER_BYTES]);
// Returns "truth", "pmu", "derived" or "estimate".
const char *tl_report_kind(const tl_row *row);
// The rows of one region. All else is borrowed.
tl_result tl_report_region(const tl_result *result, uint32_t index);
// Returns "SIGSEGV", or "no name".
const char *tl_report_signal_name(int signal);

#endif
