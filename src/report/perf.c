// SPDX-License-Identifier: MIT
// The lines of Linux perf stat, for scripts that were made for it, in the order perf 6.1 writes
// them (its manual page differs): value, unit, event, [variance with -r], run time in ns, percent
// of it, metric, its unit. -A puts CPUn first, -I the time before that. The truth is always
// counted, so its percentage is 100. A PMU's count has the time it ran. A count without a value is
// <not counted>, as perf prints it.
#include <string.h>

#include "base/bits.h"
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

// perf's own metric of an event, from the other events of the report: what perf stat 6.1 writes
// beside a count without being asked.
typedef struct shadow {
    double value;
    unsigned n_decimals; // in lines; objects have six
    char unit[40];
    bool has_value; // else lines have empty cells
} shadow;

static const struct {
    const char *event, *base, *unit;
} shares[] = {
    {"branch-misses", "branches", "of all branches"},
    {"cache-misses", "cache-references", "of all cache refs"},
    {"L1-dcache-load-misses", "L1-dcache-loads", "of all L1-dcache accesses"},
    {"L1-icache-load-misses", "L1-icache-loads", "of all L1-icache accesses"},
    {"dTLB-load-misses", "dTLB-loads", "of all dTLB cache accesses"},
    {"iTLB-load-misses", "iTLB-loads", "of all iTLB cache accesses"},
    {"LLC-load-misses", "LLC-loads", "of all LL-cache accesses"},
    {"stalled-cycles-frontend", "cycles", "frontend cycles idle"},
    {"stalled-cycles-backend", "cycles", "backend cycles idle"},
};

static const char *const synonyms[][2] = {{"cpu-cycles", "cycles"},
                                          {"branch-instructions", "branches"},
                                          {"idle-cycles-frontend", "stalled-cycles-frontend"},
                                          {"idle-cycles-backend", "stalled-cycles-backend"}};

// Is the event `plain`, by any of its names, with the modifiers `modifiers` (":u") or any if that
// is NULL?
static bool is_event(const char *name, const char *plain, const char *modifiers) {
    size_t n = strcspn(name, ":");
    bool is_equal = strlen(plain) == n && !strncmp(name, plain, n);
    for (size_t i = 0; i < TL_COUNT_OF(synonyms) && !is_equal; i++)
        is_equal = !strcmp(plain, synonyms[i][1]) && strlen(synonyms[i][0]) == n && !strncmp(name, synonyms[i][0], n);
    return is_equal && (!modifiers || !strcmp(name + n, modifiers));
}

// The count of an event of the same scope; 0: none.
static double count_of(const tl_result *result, const tl_row *like, const char *plain, const char *modifiers) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (!row->is_metric && row->value.kind != TL_VALUE_MISSING && !strcmp(row->scope, like->scope) &&
            is_event(row->name, plain, modifiers))
            return row->value.real;
    }
    return 0;
}

static shadow rate(double per_second) {
    static const char letters[] = "KMG";
    shadow of = {.value = per_second, .n_decimals = 3, .has_value = true, .unit = "/sec"};
    for (size_t i = 0; i < 3 && of.value >= 1000; i++) {
        of.value /= 1000;
        snprintf(of.unit, sizeof of.unit, "%c/sec", letters[i]);
    }
    return of;
}

static shadow shadow_of(const tl_result *result, const tl_row *row) {
    shadow of = {0};
    if (row->value.kind == TL_VALUE_MISSING)
        return of;
    const char *modifiers = row->name + strcspn(row->name, ":");
    double value = row->value.real, clock_ns = count_of(result, row, "task-clock", NULL), base;
    if (is_event(row->name, "instructions", NULL)) {
        base = count_of(result, row, "cycles", modifiers);
        of = (shadow){.value = base > 0 ? value / base : 0, .n_decimals = 2, .has_value = base > 0, .unit = "insn per cycle"};
        return of;
    }
    for (size_t i = 0; i < TL_COUNT_OF(shares); i++) {
        base = is_event(row->name, shares[i].event, NULL) ? count_of(result, row, shares[i].base, modifiers) : 0;
        if (base <= 0)
            continue;
        of = (shadow){.value = 100 * value / base, .n_decimals = 2, .has_value = true};
        snprintf(of.unit, sizeof of.unit, "%s", shares[i].unit);
        return of;
    }
    if (is_event(row->name, "task-clock", NULL) || is_event(row->name, "cpu-clock", NULL))
        return (shadow){
            .value = result->sim_ns ? value / (double)result->sim_ns : 0, .n_decimals = 3, .has_value = true, .unit = "CPUs utilized"};
    if (clock_ns > 0 && is_event(row->name, "cycles", NULL))
        return (shadow){.value = value / clock_ns, .n_decimals = 3, .has_value = true, .unit = "GHz"};
    return clock_ns > 0 && strcmp(row->unit, "ns") != 0 ? rate(1e9 * value / clock_ns) : of;
}

static uint64_t run_ns(const tl_result *result, const tl_row *row) { return row->is_pmu ? row->pmu.running_ns : result->sim_ns; }

static double percent(const tl_row *row) {
    return !row->is_pmu ? 100 : row->pmu.enabled_ns ? 100.0 * (double)row->pmu.running_ns / (double)row->pmu.enabled_ns : 0;
}

static void csv_lines(tl_reporter *reporter, const tl_result *result, bool is_interval) {
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
        const shadow metric = shadow_of(result, row);
        fprintf(stream, "%s%s%s%s%s%s", value_text(row, 0, text), sep, unit_of(row), sep, row->name, sep);
        if (reporter->options.with_variance)
            fprintf(stream, "0.00%%%s", sep);
        fprintf(stream, "%llu%s%s%s", (unsigned long long)run_ns(result, row), sep, tl_format_fixed(percent(row), 2, text), sep);
        fprintf(stream, "%s%s%s\n", metric.has_value ? tl_format_fixed(metric.value, metric.n_decimals, text) : "", sep,
                metric.has_value ? metric.unit : "");
    }
}

// The rows of one region as a result of their own, under a line that scripts take for a comment.
static void csv_rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    if (!result->is_by_region)
        csv_lines(reporter, result, is_interval);
    for (uint32_t i = 0; result->is_by_region && i < result->n_regions; i++) {
        tl_result part = tl_report_region(result, i);
        fprintf(reporter->stream, "# region %s\n", result->regions[i].name);
        csv_lines(reporter, &part, is_interval);
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

static void put_escaped(FILE *stream, const char *text) {
    for (; *text; text++)
        fprintf(stream, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void json_lines(tl_reporter *reporter, const tl_result *result, bool is_interval, const char *region) {
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
        if (region) {
            fputs("\"region\" : \"", stream);
            put_escaped(stream, region);
            fputs("\", ", stream);
        }
        if (hart_of(row->scope, &hart))
            fprintf(stream, "\"cpu\" : \"%u\", ", hart);
        else if (strcmp(row->scope, "machine"))
            fprintf(stream, "\"unit-path\" : \"%s\", ", row->scope);
        if (row->is_metric) {
            fprintf(stream, "\"metric-value\" : %s, \"metric-unit\" : \"%s\"}\n",
                    row->value.kind == TL_VALUE_MISSING ? "null" : tl_format_fixed(row->value.real, 6, text), row->name);
            continue;
        }
        const shadow metric = shadow_of(result, row);
        fprintf(stream, "\"counter-value\" : \"%s\", \"unit\" : \"%s\", \"event\" : \"%s\", ", value_text(row, 6, text), unit_of(row),
                row->name);
        if (reporter->options.with_variance)
            fputs("\"variance\" : 0.00, ", stream);
        fprintf(stream, "\"event-runtime\" : %llu, \"pcnt-running\" : %s, ", (unsigned long long)run_ns(result, row),
                tl_format_fixed(percent(row), 2, text));
        fprintf(stream, "\"metric-value\" : %s, \"metric-unit\" : \"%s\"", tl_format_fixed(metric.value, 6, text), metric.unit);
        fputs("}\n", stream);
    }
}

static void json_rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    if (!result->is_by_region)
        json_lines(reporter, result, is_interval, NULL);
    for (uint32_t i = 0; result->is_by_region && i < result->n_regions; i++) {
        tl_result part = tl_report_region(result, i);
        json_lines(reporter, &part, is_interval, result->regions[i].name);
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
