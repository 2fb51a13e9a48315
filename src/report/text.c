// SPDX-License-Identifier: MIT
// The table for people, in the shape perf stat made familiar: value, name, and behind # the metric that makes the value readable.
// One screen by default; -d adds every unit that did something, -dd every single count.
#include <string.h>

#include "report/report.h"

enum { VALUE_WIDTH = 20, NAME_WIDTH = 28, PAGE_WIDTH = 100 };
static const char stack_group[] = "cpi_stack"; // metrics of this group are shares of the cycles

static bool is_shown(const tl_reporter *reporter, const tl_row *row) {
    unsigned detail = reporter->options.detail;
    if (row->detail <= detail && row->detail != 1)
        return true;
    bool is_zero = row->value.kind == TL_VALUE_INTEGER && row->value.integer == 0;
    return row->detail <= detail && (detail >= 2 || !is_zero);
}

static const char *value_text(const tl_row *row, char text[TL_NUMBER_BYTES]) {
    switch (row->value.kind) {
    case TL_VALUE_INTEGER: return tl_format_grouped(row->value.integer, text);
    case TL_VALUE_REAL: return tl_format_metric(row->value.real, text);
    case TL_VALUE_MISSING: break;
    }
    return "-";
}

// "81.02 %", "0.81 per cycle"
static void put_metric(FILE *stream, const tl_row *row) {
    char text[TL_NUMBER_BYTES];
    const char *value =
        row->is_metric && row->value.kind == TL_VALUE_INTEGER ? tl_format_metric(row->value.real, text) : value_text(row, text);
    fprintf(stream, "%9s%s%s", value, *row->unit ? " " : "", row->unit);
}

static void put_row(tl_reporter *reporter, const tl_result *result, const tl_row *row, bool has_scopes) {
    FILE *stream = reporter->stream;
    char text[TL_NUMBER_BYTES];
    if (has_scopes)
        fprintf(stream, " %-12s", strcmp(row->scope, "machine") ? row->scope : "");
    const tl_row *metric = row->metric ? tl_result_row(result, true, row->metric, row->scope) : NULL;
    bool has_unit = *row->unit && strcmp(row->unit, "cycles") != 0;
    const char *value =
        row->is_metric && row->value.kind != TL_VALUE_MISSING ? tl_format_metric(row->value.real, text) : value_text(row, text);
    fprintf(stream, "%*s %-6s ", VALUE_WIDTH, value, has_unit && strlen(row->unit) <= 6 ? row->unit : "");
    if (metric && metric->value.kind != TL_VALUE_MISSING) {
        fprintf(stream, "%-*s # ", NAME_WIDTH, row->name);
        put_metric(stream, metric);
        if (strcmp(metric->name, metric->unit) != 0)
            fprintf(stream, "  %s", metric->name);
    } else if (row->value.kind == TL_VALUE_MISSING) {
        fprintf(stream, "%-*s # %s", NAME_WIDTH, row->name, row->value.reason);
    } else if (row->is_metric) {
        fprintf(stream, "%-*s # %s%s%s", NAME_WIDTH, row->name, strlen(row->unit) > 6 ? row->unit : "", strlen(row->unit) > 6 ? ": " : "",
                row->meaning);
    } else {
        fputs(row->name, stream);
    }
    fputc('\n', stream);
}

static bool has_scopes(const tl_reporter *reporter, const tl_result *result) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        if (is_shown(reporter, &result->rows[i]) && strcmp(result->rows[i].scope, "machine") != 0)
            return true;
    }
    return false;
}

static void put_events(tl_reporter *reporter, const tl_result *result) {
    bool scopes = has_scopes(reporter, result), is_first = true;
    const char *group = NULL;
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (row->is_metric || !is_shown(reporter, row))
            continue;
        if (is_first && !reporter->options.is_quiet)
            fputc('\n', reporter->stream);
        is_first = false;
        if (reporter->options.detail > 0 && *row->group && (!group || strcmp(group, row->group) != 0)) {
            fprintf(reporter->stream, "\n %s\n", row->group);
            group = row->group;
        }
        put_row(reporter, result, row, scopes);
    }
}

static bool is_stack(const tl_row *row) { return row->is_metric && !strcmp(row->group, stack_group); }

static bool stands_beside_event(const tl_result *result, const tl_row *metric) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        if (result->rows[i].metric && !result->rows[i].is_metric && !strcmp(result->rows[i].metric, metric->name))
            return true;
    }
    return false;
}

// The CPI stack as a few words, largest share first: "issue 61.2 %, load_miss 20.4 %, ..."
static void put_stack(tl_reporter *reporter, const tl_result *result) {
    FILE *stream = reporter->stream;
    double last = 1e300; // the shares printed so far are at least this
    uint32_t last_row = 0, n_printed = 0;
    size_t column = 0;
    for (;;) {
        const tl_row *best = NULL;
        uint32_t best_row = 0;
        for (uint32_t i = 0; i < result->n_rows; i++) {
            const tl_row *row = &result->rows[i];
            bool is_candidate = is_stack(row) && !strcmp(row->scope, "machine") && row->value.kind != TL_VALUE_MISSING &&
                                (row->value.real < last || (row->value.real == last && i > last_row));
            if (is_candidate && (!best || row->value.real > best->value.real)) {
                best = row;
                best_row = i;
            }
        }
        bool is_percent = best && !strcmp(best->unit, "%");
        if (!best || best->value.real < (is_percent ? 0.05 : 0.0005))
            break;
        last = best->value.real;
        last_row = best_row;
        char item[96], number[TL_NUMBER_BYTES];
        const char *name = !strncmp(best->name, "cpi_", 4) ? best->name + 4 : best->name;
        snprintf(item, sizeof item, "%s %s%s", name, tl_format_fixed(best->value.real, is_percent ? 1 : 3, number), is_percent ? " %" : "");
        if (n_printed == 0)
            fprintf(stream, "\n Where the cycles went%s:\n", is_percent ? "" : " (cycles per instruction)");
        if (column + strlen(item) + 2 > PAGE_WIDTH)
            column = 0;
        column += (size_t)fprintf(stream, column ? ", %s" : n_printed ? ",\n   %s" : "   %s", item);
        n_printed++;
    }
    if (n_printed > 0)
        fputc('\n', stream);
}

static void put_metrics(tl_reporter *reporter, const tl_result *result) {
    bool is_chosen = true; // with -M every metric asked for is listed; by default only what has no place elsewhere
    for (uint32_t i = 0; i < result->n_rows; i++)
        is_chosen = is_chosen && result->rows[i].detail == 0;
    bool scopes = has_scopes(reporter, result);
    const char *group = NULL;
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (!row->is_metric || !is_shown(reporter, row))
            continue;
        if (!is_chosen && reporter->options.detail == 0)
            continue;
        if (!group || strcmp(group, row->group) != 0) {
            fprintf(reporter->stream, "\n %s\n", row->group);
            group = row->group;
        }
        put_row(reporter, result, row, scopes);
    }
    if (!is_chosen)
        put_stack(reporter, result);
}

static void put_command(FILE *stream, const tl_header *header) {
    fprintf(stream, "'%s", header->program);
    for (const char *const *argument = header->argv[0] ? header->argv + 1 : header->argv; *argument; argument++) {
        fputc(' ', stream);
        for (const char *at = *argument; *at; at++)
            fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stream);
    }
    fputc('\'', stream);
}

static void put_heading(tl_reporter *reporter, const tl_result *result) {
    const tl_header *header = result->header;
    FILE *stream = reporter->stream;
    fputs("\n Counts of ", stream);
    put_command(stream, header);
    fprintf(stream, " on %s (%u hart%s):\n", header->machine, header->n_harts, header->n_harts == 1 ? "" : "s");
    if (header->roi_start)
        fprintf(stream, " Only %s %s%s%s, %llu visit%s.\n", header->roi_stop ? "between" : "inside", header->roi_start,
                header->roi_stop ? " and " : "", header->roi_stop ? header->roi_stop : "", (unsigned long long)result->n_roi_visits,
                result->n_roi_visits == 1 ? "" : "s");
}

static void put_ending(tl_reporter *reporter, const tl_result *result) {
    FILE *stream = reporter->stream;
    const tl_header *header = result->header;
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES];
    switch (result->reason) {
    case TL_END_NONE: fputs("\n Still running.\n", stream); break;
    case TL_END_EXITED:
        if (result->status != 0)
            fprintf(stream, "\n Exited with status %d.\n", result->status);
        break;
    case TL_END_KILLED:
        fprintf(stream, "\n Killed by signal %d (%s)%s%s\n", result->signal, tl_report_signal_name(result->signal), *result->message ? ": " : ".",
                result->message);
        break;
    case TL_END_DEADLOCK: fprintf(stream, "\n Deadlock%s%s\n", *result->message ? ": " : ".", result->message); break;
    case TL_END_MAX_INSNS:
        fprintf(stream, "\n Stopped after %s instructions, as asked.\n", tl_format_grouped(result->instructions, a));
        break;
    case TL_END_TIMEOUT: fputs("\n Stopped by the time limit; these are the counts so far.\n", stream); break;
    case TL_END_INTERRUPTED: fputs("\n Interrupted; these are the counts so far.\n", stream); break;
    case TL_END_FAILED: fprintf(stream, "\n The simulator could not go on: %s\n", result->message); break;
    }
    double host_s = (double)result->host_ns / 1e9, sim_s = (double)result->sim_ns / 1e9;
    fprintf(stream, "\n %16s s simulated: %s cycles at %s MHz\n", tl_format_seconds(result->sim_ns, a),
            tl_format_grouped(result->cycles, b), tl_format_fixed((double)header->clock_hz / 1e6, header->clock_hz % 1000000 ? 3 : 0, c));
    if (result->host_ns > 0) {
        fprintf(stream, " %16s s on this host: %s million instructions per second", tl_format_seconds(result->host_ns, a),
                tl_format_metric((double)result->instructions / 1e6 / host_s, b));
        if (sim_s > 0)
            fprintf(stream, ", %s times slower than simulated", tl_format_metric(host_s / sim_s, c));
        fputc('\n', stream);
    }
    fputc('\n', stream);
}

static void begin(tl_reporter *reporter, const tl_result *result) {
    if (result->header->interval_length == 0 || !strcmp(result->header->interval, "none") || reporter->options.is_quiet)
        return;
    fprintf(reporter->stream, "# %16s %16s %*s  event\n", "simulated s", "instructions", VALUE_WIDTH, "count");
}

static void interval(tl_reporter *reporter, const tl_result *result) {
    FILE *stream = reporter->stream;
    bool scopes = has_scopes(reporter, result);
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES];
        bool is_extra = row->is_metric && (reporter->options.detail == 0 && (is_stack(row) || stands_beside_event(result, row)));
        if (!is_shown(reporter, row) || is_extra)
            continue;
        const tl_row *metric = row->metric ? tl_result_row(result, true, row->metric, row->scope) : NULL;
        const char *value =
            row->is_metric && row->value.kind != TL_VALUE_MISSING ? tl_format_metric(row->value.real, c) : value_text(row, c);
        fprintf(stream, "  %16s %16s %*s  ", tl_format_seconds(result->begin_ns + result->sim_ns, a),
                tl_format_grouped(result->begin_instructions + result->instructions, b), VALUE_WIDTH, value);
        if (scopes)
            fprintf(stream, "%-12s ", strcmp(row->scope, "machine") ? row->scope : "");
        if (metric && metric->value.kind != TL_VALUE_MISSING) {
            fprintf(stream, "%-*s # ", NAME_WIDTH, row->name);
            put_metric(stream, metric);
        } else {
            fputs(row->name, stream);
        }
        fputc('\n', stream);
    }
}

static void end(tl_reporter *reporter, const tl_result *result) {
    if (!reporter->options.is_quiet)
        put_heading(reporter, result);
    if (!reporter->options.only_times) {
        put_events(reporter, result);
        put_metrics(reporter, result);
    }
    if (!reporter->options.is_quiet)
        put_ending(reporter, result);
}

const tl_report_type tl_report_text = {.begin = begin, .interval = interval, .end = end};
