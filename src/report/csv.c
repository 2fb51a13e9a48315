// SPDX-License-Identifier: MIT
// Comma-separated values as RFC 4180 has them, with line feeds: a header line, then always the same
// columns. A missing value is an empty cell with its reason in the last one.
#include "report/csv.h"

#include <string.h>

#include "base/parse.h"
#include "report/report.h"

void tl_csv_put_quoted(FILE *stream, const char *text) {
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

void tl_csv_put_cell(FILE *stream, const char *text) {
    if (strpbrk(text, ",\"\n\r"))
        tl_csv_put_quoted(stream, text);
    else
        fputs(text, stream);
}

static void put_header(tl_reporter *reporter, bool has_pmu, bool has_region) {
    reporter->has_header = true;
    reporter->has_pmu = has_pmu;
    reporter->has_region = has_region;
    fprintf(reporter->stream, "interval,end_ns,scope,name,value,unit,kind,reason%s%s\n",
            has_pmu ? ",pmu,enabled,running,truth,error_vs_truth" : "", has_region ? ",region" : "");
}

static void begin(tl_reporter *reporter, const tl_result *result) { put_header(reporter, result->header->pmu, result->is_by_region); }

static void message(tl_reporter *reporter, const char *sentence) {
    if (!reporter->has_header)
        put_header(reporter, false, false);
    fputs(",,run,message,,,message,", reporter->stream);
    tl_csv_put_cell(reporter->stream, sentence);
    fprintf(reporter->stream, "%s%s\n", reporter->has_pmu ? ",,,,," : "", reporter->has_region ? "," : "");
}

static const char *value_text(const tl_value *value, char text[32]) {
    text[0] = '\0';
    if (value->kind == TL_VALUE_INTEGER)
        snprintf(text, 32, "%llu", (unsigned long long)value->integer);
    else if (value->kind == TL_VALUE_REAL)
        tl_format_double(value->real, text);
    return text;
}

static void pmu_cells(FILE *stream, const tl_header *header, const tl_row *row) {
    char text[32];
    double error;
    if (!row || !row->is_pmu) {
        fputs(",,,,,", stream);
        return;
    }
    fputc(',', stream);
    tl_csv_put_cell(stream, header->pmu);
    fprintf(stream, ",%llu,%llu,%s,", (unsigned long long)row->pmu.enabled_ns, (unsigned long long)row->pmu.running_ns,
            value_text(&row->pmu.truth, text));
    if (tl_row_error(row, &error)) {
        tl_format_double(error, text);
        fputs(text, stream);
    }
}

// `row` may be NULL.
static void line(tl_reporter *reporter, const tl_result *result, bool is_interval, const char *cells[5], const char *reason,
                 const tl_row *row) {
    FILE *stream = reporter->stream;
    if (is_interval)
        fprintf(stream, "%llu", (unsigned long long)reporter->n_intervals);
    fprintf(stream, ",%llu", (unsigned long long)(result->begin_ns + result->sim_ns));
    for (int i = 0; i < 5; i++) {
        fputc(',', stream);
        tl_csv_put_cell(stream, cells[i]);
    }
    fputc(',', stream);
    tl_csv_put_cell(stream, reason);
    if (result->header->pmu)
        pmu_cells(stream, result->header, row);
    if (result->is_by_region) {
        fputc(',', stream);
        tl_csv_put_cell(stream, row && row->region ? row->region : "");
    }
    fputc('\n', stream);
}

static void rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    for (uint32_t i = 0; i < result->n_rows && !reporter->options.only_times; i++) {
        const tl_row *row = &result->rows[i];
        char value[32];
        const char *cells[] = {row->scope, row->name, value_text(&row->value, value), row->unit, tl_report_kind(row)};
        line(reporter, result, is_interval, cells, row->value.kind == TL_VALUE_MISSING ? row->value.reason : "", row);
    }
}

static void interval(tl_reporter *reporter, const tl_result *result) { rows(reporter, result, true); }

static void sampling(tl_reporter *reporter, const tl_result *result) {
    const tl_sampling *of = result->sampling;
    const struct {
        const char *name, *missing;
        tl_value value;
    } lines[] = {
        {"sampling.windows", "", {.kind = TL_VALUE_INTEGER, .integer = of->n_windows}},
        {"sampling.cpi", "no window was complete", {.kind = of->n_windows > 0 ? TL_VALUE_REAL : TL_VALUE_MISSING, .real = of->cpi}},
        {"sampling.cpi_half_width",
         "fewer than two windows were complete",
         {.kind = of->has_interval ? TL_VALUE_REAL : TL_VALUE_MISSING, .real = of->cpi_half_width}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[32];
        const char *cells[] = {"run", lines[i].name, value_text(&lines[i].value, text), "", i == 0 ? "truth" : "estimate"};
        line(reporter, result, false, cells, lines[i].value.kind == TL_VALUE_MISSING ? lines[i].missing : "", NULL);
    }
}

static void end(tl_reporter *reporter, const tl_result *result) {
    if (result->sampling)
        sampling(reporter, result);
    rows(reporter, result, false);
    if (!reporter->options.with_host)
        return;
    char value[32];
    snprintf(value, sizeof value, "%llu", (unsigned long long)result->host_ns);
    line(reporter, result, false, (const char *[]){"host", "host_ns", value, "ns", "host"}, "", NULL);
    snprintf(value, sizeof value, "%llu", (unsigned long long)result->host_peak_bytes);
    line(reporter, result, false, (const char *[]){"host", "host_peak_bytes", value, "bytes", "host"}, "", NULL);
}

const tl_report_type tl_report_csv = {.begin = begin, .interval = interval, .end = end, .message = message};
