// SPDX-License-Identifier: MIT
// Comma-separated values as RFC 4180 has them, with line feeds: a header line, then always the same columns. A missing value is an
// empty cell with its reason in the last one.
#include <string.h>

#include "base/parse.h"
#include "report/report.h"

static void cell(FILE *stream, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void begin(tl_reporter *reporter, const tl_result *result) {
    (void)result;
    fputs("interval,end_ns,scope,name,value,unit,kind,reason\n", reporter->stream);
}

static void line(tl_reporter *reporter, const tl_result *result, bool is_interval, const char *cells[5], const char *reason) {
    FILE *stream = reporter->stream;
    if (is_interval)
        fprintf(stream, "%llu", (unsigned long long)reporter->n_intervals);
    fprintf(stream, ",%llu", (unsigned long long)(result->begin_ns + result->sim_ns));
    for (int i = 0; i < 5; i++) {
        fputc(',', stream);
        cell(stream, cells[i]);
    }
    fputc(',', stream);
    cell(stream, reason);
    fputc('\n', stream);
}

static void rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    for (uint32_t i = 0; i < result->n_rows && !reporter->options.only_times; i++) {
        const tl_row *row = &result->rows[i];
        char value[32] = "";
        if (row->value.kind == TL_VALUE_INTEGER)
            snprintf(value, sizeof value, "%llu", (unsigned long long)row->value.integer);
        else if (row->value.kind == TL_VALUE_REAL)
            tl_format_double(row->value.real, value);
        const char *cells[] = {row->scope, row->name, value, row->unit, row->is_metric ? "derived" : "truth"};
        line(reporter, result, is_interval, cells, row->value.kind == TL_VALUE_MISSING ? row->value.reason : "");
    }
}

static void interval(tl_reporter *reporter, const tl_result *result) { rows(reporter, result, true); }

static void end(tl_reporter *reporter, const tl_result *result) {
    rows(reporter, result, false);
    if (!reporter->options.with_host)
        return;
    char value[32];
    snprintf(value, sizeof value, "%llu", (unsigned long long)result->host_ns);
    line(reporter, result, false, (const char *[]){"host", "host_ns", value, "ns", "host"}, "");
    snprintf(value, sizeof value, "%llu", (unsigned long long)result->host_peak_bytes);
    line(reporter, result, false, (const char *[]){"host", "host_peak_bytes", value, "bytes", "host"}, "");
}

const tl_report_type tl_report_csv = {.begin = begin, .interval = interval, .end = end};
