// SPDX-License-Identifier: MIT
// The lines of Linux perf stat, for scripts that were made for it, in the order perf 6.1 writes them (its manual page differs):
// value, unit, event, [variance with -r], run time in ns, percent of it, metric, its unit. -A puts CPUn first, -I the time before
// that. The truth is always counted, so its percentage is 100; what a PMU reports has the time it ran. What perf would print as <not counted>
// is that, too.
#include <string.h>

#include "report/report.h"

static bool hart_of(const char *scope, unsigned *ret_hart) {
    char rest;
    return sscanf(scope, "hart%u%c", ret_hart, &rest) == 1;
}

// With -A perf prints no sum where it prints parts.
static bool is_left_out(const tl_reporter *reporter, const tl_result *result, uint32_t index) {
    const tl_row *row = &result->rows[index];
    unsigned hart;
    if (row->detail > reporter->options.detail)
        return true;
    return index + 1 < result->n_rows && !strcmp(row->scope, "machine") && !strcmp(row[1].name, row->name) && hart_of(row[1].scope, &hart);
}

// perf gives times in milliseconds.
static const char *value_text(const tl_row *row, unsigned n_decimals, char text[TL_NUMBER_BYTES]) {
    if (row->value.kind == TL_VALUE_MISSING)
        return "<not counted>";
    if (!strcmp(row->unit, "ns"))
        return tl_format_fixed(row->value.real / 1e6, n_decimals ? n_decimals : 2, text);
    if (row->value.kind == TL_VALUE_INTEGER) {
        snprintf(text, TL_NUMBER_BYTES, "%llu%s", (unsigned long long)row->value.integer, n_decimals ? ".000000" : "");
        return text;
    }
    return tl_format_fixed(row->value.real, n_decimals ? n_decimals : 2, text);
}

static const char *unit_of(const tl_row *row) { return !strcmp(row->unit, "ns") ? "msec" : !strcmp(row->unit, "bytes") ? "bytes" : ""; }

static const tl_row *metric_of(const tl_result *result, const tl_row *row) {
    const tl_row *metric = row->metric ? tl_result_row(result, true, row->metric, row->scope) : NULL;
    return metric && metric->value.kind != TL_VALUE_MISSING ? metric : NULL;
}

static uint64_t run_ns(const tl_result *result, const tl_row *row) { return row->is_pmu ? row->pmu.running_ns : result->sim_ns; }

static double percent(const tl_row *row) {
    return !row->is_pmu ? 100 : row->pmu.enabled_ns ? 100.0 * (double)row->pmu.running_ns / (double)row->pmu.enabled_ns : 0;
}

static void csv_rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    FILE *stream = reporter->stream;
    const char *sep = reporter->separator;
    for (uint32_t i = 0; i < result->n_rows && !reporter->options.only_times; i++) {
        const tl_row *row = &result->rows[i];
        char text[TL_NUMBER_BYTES];
        unsigned hart;
        if (is_left_out(reporter, result, i))
            continue;
        if (is_interval) {
            const char *time = tl_format_seconds(result->begin_ns + result->sim_ns, text);
            fprintf(stream, "%16s%s", time, sep);
        }
        if (hart_of(row->scope, &hart))
            fprintf(stream, "CPU%u%s", hart, sep);
        else if (strcmp(row->scope, "machine"))
            fprintf(stream, "%s%s", row->scope, sep);
        if (row->is_metric) { // a line of its own, in the columns of the metric
            fprintf(stream, "%s%s%s%s%s%s", sep, sep, reporter->options.with_variance ? sep : "", sep, sep, sep);
            fprintf(stream, "%s%s%s\n", row->value.kind == TL_VALUE_MISSING ? "" : tl_format_fixed(row->value.real, 3, text), sep,
                    row->name);
            continue;
        }
        const tl_row *metric = metric_of(result, row);
        fprintf(stream, "%s%s%s%s%s%s", value_text(row, 0, text), sep, unit_of(row), sep, row->name, sep);
        if (reporter->options.with_variance)
            fprintf(stream, "0.00%%%s", sep);
        fprintf(stream, "%llu%s%s%s", (unsigned long long)run_ns(result, row), sep, tl_format_fixed(percent(row), 2, text), sep);
        fprintf(stream, "%s%s%s\n", metric ? tl_format_fixed(metric->value.real, 3, text) : "", sep, metric ? metric->name : "");
    }
}

static void csv_interval(tl_reporter *reporter, const tl_result *result) { csv_rows(reporter, result, true); }

static void csv_end(tl_reporter *reporter, const tl_result *result) {
    if (reporter->n_intervals == 0) // as perf: either intervals or totals
        csv_rows(reporter, result, false);
}

// perf's own remarks in a file of results are such lines.
static void csv_message(tl_reporter *reporter, const char *sentence) { fprintf(reporter->stream, "# tally: %s\n", sentence); }

const tl_report_type tl_report_perf_csv = {.interval = csv_interval, .end = csv_end, .message = csv_message};

static void json_rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    FILE *stream = reporter->stream;
    for (uint32_t i = 0; i < result->n_rows && !reporter->options.only_times; i++) {
        const tl_row *row = &result->rows[i];
        char text[TL_NUMBER_BYTES];
        unsigned hart;
        if (is_left_out(reporter, result, i))
            continue;
        fputc('{', stream);
        if (is_interval)
            fprintf(stream, "\"interval\" : %s, ", tl_format_seconds(result->begin_ns + result->sim_ns, text));
        if (hart_of(row->scope, &hart))
            fprintf(stream, "\"cpu\" : \"%u\", ", hart);
        else if (strcmp(row->scope, "machine"))
            fprintf(stream, "\"unit-path\" : \"%s\", ", row->scope);
        const tl_row *metric = row->is_metric ? row : metric_of(result, row);
        if (!row->is_metric) {
            fprintf(stream, "\"counter-value\" : \"%s\", \"unit\" : \"%s\", \"event\" : \"%s\", ", value_text(row, 6, text), unit_of(row),
                    row->name);
            if (reporter->options.with_variance)
                fputs("\"variance\" : 0.00, ", stream);
            fprintf(stream, "\"event-runtime\" : %llu, \"pcnt-running\" : %s", (unsigned long long)run_ns(result, row),
                    tl_format_fixed(percent(row), 2, text));
        }
        if (metric && metric->value.kind != TL_VALUE_MISSING)
            fprintf(stream, "%s\"metric-value\" : %s, \"metric-unit\" : \"%s\"", row->is_metric ? "" : ", ",
                    tl_format_fixed(metric->value.real, 6, text), metric->name);
        else if (row->is_metric)
            fprintf(stream, "\"metric-value\" : null, \"metric-unit\" : \"%s\"", row->name);
        fputs("}\n", stream);
    }
}

static void json_interval(tl_reporter *reporter, const tl_result *result) { json_rows(reporter, result, true); }

static void json_end(tl_reporter *reporter, const tl_result *result) {
    if (reporter->n_intervals == 0)
        json_rows(reporter, result, false);
}

static void json_message(tl_reporter *reporter, const char *sentence) {
    tl_json *json = &reporter->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "message", sentence);
    tl_json_end_object(json);
}

const tl_report_type tl_report_perf_json = {.interval = json_interval, .end = json_end, .message = json_message};
