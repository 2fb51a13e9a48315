// SPDX-License-Identifier: MIT
// The table for people, in the shape perf stat made familiar: value, name, and behind # the metric
// that makes the value readable. One screen by default; -d adds every unit that did something, -dd
// every single count.
#include <string.h>

#include "report/report.h"

enum { VALUE_WIDTH = 20, NAME_WIDTH = 28, PAGE_WIDTH = 100 };

// Groups of percentages, and of other numbers with their units: on one screen, a few words each.
static const struct {
    const char *group, *title, *prefix;
    bool is_sorted; // largest first, and none that is 0.0
} splits[] = {
    {"topdown", "Top-down", "", false},
    {"topdown2", "Level 2", "", true},
    {"cycle_shares", "Where the cycles went", "share_", true},
    {"slots", "Rename slots", "slots_", true},
    {"stalls", "Rename stopped", "stall_", true},
    {"wrong_path", "Wrong paths", "wrong_path_", false},
    {"replay", "Replay", "replay_", true},
    {"parallelism", "In flight", "", false},
};

static bool is_shown(const tl_reporter *reporter, const tl_row *row) {
    unsigned detail = reporter->options.detail;
    if (row->detail <= detail && row->detail != 1)
        return true;
    bool is_zero = row->value.kind == TL_VALUE_INTEGER && row->value.integer == 0;
    return row->detail <= detail && (detail >= 2 || !is_zero);
}

// "~1,234" is an estimate.
static const char *marked(const tl_row *row, const char *value, char ret_text[TL_NUMBER_BYTES + 1]) {
    if (!row->is_estimate || row->value.kind == TL_VALUE_MISSING)
        return value;
    snprintf(ret_text, TL_NUMBER_BYTES + 1, "~%s", value);
    return ret_text;
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
    char with_mark[TL_NUMBER_BYTES + 1];
    fprintf(stream, "%9s%s%s", marked(row, value, with_mark), *row->unit ? " " : "", row->unit);
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
    char with_mark[TL_NUMBER_BYTES + 1];
    fprintf(stream, "%*s %-6s ", VALUE_WIDTH, marked(row, value, with_mark), has_unit && strlen(row->unit) <= 6 ? row->unit : "");
    if (metric && metric->value.kind != TL_VALUE_MISSING) {
        fprintf(stream, "%-*s # ", NAME_WIDTH, row->name);
        put_metric(stream, metric);
        if (strcmp(metric->name, metric->unit) != 0)
            fprintf(stream, "  %s", metric->name);
    } else if (row->value.kind == TL_VALUE_MISSING) {
        fprintf(stream, "%-*s # %s", NAME_WIDTH, row->name, row->value.reason);
    } else if (row->is_metric && strcmp(row->scope, "machine") != 0) {
        // The sentence stands where the sum is.
        fprintf(stream, "%s", row->name);
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

static const char *error_text(const tl_row *row, char text[TL_NUMBER_BYTES]) {
    double error;
    return tl_row_error(row, &error) ? tl_format_error(error, text) : "-";
}

static const char *running_text(const tl_row *row, char text[TL_NUMBER_BYTES]) {
    return row->pmu.enabled_ns == 0 ? "-" : tl_format_share((double)row->pmu.running_ns / (double)row->pmu.enabled_ns, text);
}

static const char *truth_text(const tl_row *row, char text[TL_NUMBER_BYTES]) {
    tl_row truth = {.value = row->pmu.truth};
    return value_text(&truth, text);
}

// Value of the PMU, time on a counter, and error.
static void put_pmu(tl_reporter *reporter, const tl_result *result) {
    FILE *stream = reporter->stream;
    bool scopes = has_scopes(reporter, result);
    if (!reporter->options.is_quiet)
        fprintf(stream, "\n %s%*s %13s %*s %12s   event\n", scopes ? "             " : "", VALUE_WIDTH, "pmu", "on a counter", VALUE_WIDTH,
                "truth", "error");
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES];
        if (scopes)
            fprintf(stream, " %-12s", strcmp(row->scope, "machine") ? row->scope : "");
        fprintf(stream, " %*s %13s %*s %12s   %s", VALUE_WIDTH, value_text(row, a), running_text(row, b), VALUE_WIDTH, truth_text(row, c),
                error_text(row, d), row->name);
        if (row->value.kind == TL_VALUE_MISSING)
            fprintf(stream, " # %s", row->value.reason);
        fputc('\n', stream);
    }
    if (result->pmu_remark && !reporter->options.is_quiet)
        fprintf(stream, "\n %s\n", result->pmu_remark);
}

// The next row of the group to name: the largest that is not larger than the last one, or simply
// the next.
static const tl_row *next_of_split(const tl_result *result, const char *group, bool is_sorted, const tl_row *last) {
    const tl_row *best = NULL;
    for (const tl_row *row = result->rows; row < result->rows + result->n_rows; row++) {
        if (!row->is_metric || row->detail > 0 || strcmp(row->group, group) != 0 || strcmp(row->scope, "machine") != 0 ||
            row->value.kind == TL_VALUE_MISSING)
            continue;
        double value = row->value.real;
        bool is_behind = !last || (is_sorted ? value < last->value.real || (value == last->value.real && row > last) : row > last);
        if (is_behind && (!best || (is_sorted && value > best->value.real)))
            best = row;
    }
    return best;
}

// "issue 61.2 %, load miss 20.4 %, ..."
static void put_splits(tl_reporter *reporter, const tl_result *result) {
    FILE *stream = reporter->stream;
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        const char *group = splits[i].group, *prefix = splits[i].prefix;
        int indent = 0;
        size_t column = 0;
        for (const tl_row *row = next_of_split(result, group, splits[i].is_sorted, NULL); row;
             row = next_of_split(result, group, splits[i].is_sorted, row)) {
            char item[96], number[TL_NUMBER_BYTES];
            if (splits[i].is_sorted && row->value.real < 0.05)
                break;
            const char *name = !strncmp(row->name, prefix, strlen(prefix)) ? row->name + strlen(prefix) : row->name;
            const bool is_share = strcmp(row->unit, "%") == 0;
            size_t length = (size_t)snprintf(item, sizeof item, "%.40s %s%s%.20s", name,
                                             tl_format_fixed(row->value.real, is_share ? 1 : 2, number), *row->unit ? " " : "", row->unit);
            for (char *at = item; *at; at++)
                *at = *at == '_' ? ' ' : *at;
            if (column == 0) {
                indent = fprintf(stream, "\n %s: ", splits[i].title) - 1;
                column = (size_t)indent;
            } else if (column + 2 + length > PAGE_WIDTH) {
                fprintf(stream, ",\n%*s", indent, "");
                column = (size_t)indent;
            } else {
                column += (size_t)fprintf(stream, ", ");
            }
            column += (size_t)fprintf(stream, "%s", item);
        }
        if (column > 0)
            fputc('\n', stream);
    }
}

// With -M every metric asked for is listed; by default metrics stand beside events or, as
// percentages, in a few words.
static bool are_metrics_chosen(const tl_result *result) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        if (result->rows[i].detail != 0)
            return false;
    }
    return true;
}

static void put_metrics(tl_reporter *reporter, const tl_result *result) {
    bool is_chosen = are_metrics_chosen(result);
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
        put_splits(reporter, result);
}

// Characters that could move the cursor become question marks.
static void put_plain(FILE *stream, const char *text) {
    for (; *text; text++)
        fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stream);
}

static void put_command(FILE *stream, const tl_header *header) {
    fprintf(stream, "'%s", header->program);
    for (const char *const *argument = header->argv[0] ? header->argv + 1 : header->argv; *argument; argument++) {
        fputc(' ', stream);
        put_plain(stream, *argument);
    }
    fputc('\'', stream);
}

// " changed: l1d.size=16KiB, l1d.ways=4", broken between settings.
static void put_changed(FILE *stream, const tl_header *header) {
    static const char title[] = " changed: ";
    const size_t indent = sizeof title - 1;
    size_t column = indent;
    for (uint32_t i = 0; i < header->n_changed; i++) {
        const tl_setting *setting = &header->changed[i];
        size_t length = strlen(setting->key) + 1 + strlen(setting->value);
        bool is_broken = i > 0 && column + 2 + length > PAGE_WIDTH;
        fputs(i == 0 ? title : is_broken ? ",\n" : ", ", stream);
        if (is_broken)
            fprintf(stream, "%*s", (int)indent, "");
        column = (is_broken || i == 0 ? indent : column + 2) + length;
        fprintf(stream, "%s=", setting->key);
        put_plain(stream, setting->value);
    }
    if (header->n_changed > 0)
        fputc('\n', stream);
}

// The estimate of the whole and how sure it is.
static void put_sampling(FILE *stream, const tl_sampling *of) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES];
    fprintf(stream, " %s windows of %s instructions in detail, each behind %s to warm up, and %s between them in the fast engine.\n",
            tl_format_grouped(of->n_windows, a), tl_format_grouped(of->window, b), tl_format_grouped(of->warm_up, c),
            tl_format_grouped(of->stretch, d));
    if (of->n_windows == 0) {
        fputs(" No window was complete, so nothing is estimated: take shorter stretches.\n", stream);
        return;
    }
    fprintf(stream, " Cycles per instruction: %s", tl_format_fixed(of->cpi, 4, a));
    if (of->has_interval)
        fprintf(stream, " +- %s, with 95 %% confidence. ~ marks what is extrapolated.\n", tl_format_fixed(of->cpi_half_width, 4, b));
    else
        fputs(", from one window, so nobody knows how far off. ~ marks what is extrapolated.\n", stream);
}

static void put_heading(tl_reporter *reporter, const tl_result *result) {
    const tl_header *header = result->header;
    FILE *stream = reporter->stream;
    char number[TL_NUMBER_BYTES];
    fputs("\n Counts of ", stream);
    put_command(stream, header);
    fprintf(stream, " on %s (%u hart%s)%s%s:\n", header->machine, header->n_harts, header->n_harts == 1 ? "" : "s",
            !header->pmu             ? ""
            : header->is_read_at_end ? ", as a reader on hart 0 found them in pmu "
                                     : ", as perf has them from pmu ",
            header->pmu ? header->pmu : "");
    if (header->n_images > 1 || header->append) {
        for (uint32_t i = 0; i < header->n_images; i++)
            fprintf(stream, "%s%s %s", i ? ", " : " With ", header->images[i].role, header->images[i].name);
        if (header->append) {
            fputs(", command line '", stream);
            put_plain(stream, header->append);
            fputc('\'', stream);
        }
        fputs(".\n", stream);
    }
    put_changed(stream, header);
    if (result->forwarded > 0)
        fprintf(stream, " Counted behind %s instructions that the fast engine executed.\n", tl_format_grouped(result->forwarded, number));
    if (result->sampling)
        put_sampling(stream, result->sampling);
    if (header->pmu_settings)
        fprintf(stream, " %s with %s.\n", header->pmu_settings_title, header->pmu_settings);
    if (header->roi_start)
        fprintf(stream, " Only %s %s%s%s, %llu visit%s.\n", header->roi_stop ? "between" : "inside", header->roi_start,
                header->roi_stop ? " and " : "", header->roi_stop ? header->roi_stop : "", (unsigned long long)result->n_roi_visits,
                result->n_roi_visits == 1 ? "" : "s");
}

// The message behind what the table says anyway: "killed by SIGSEGV: load from 0x10" -> "load from
// 0x10".
static const char *detail_of(const char *message, const char *known) {
    if (strncmp(message, known, strlen(known)) != 0)
        return message;
    const char *colon = strchr(message, ':');
    return colon ? colon + 1 + strspn(colon + 1, " ") : "";
}

// Ends a line.
static void put_memory(FILE *stream, uint64_t bytes) {
    char text[TL_NUMBER_BYTES];
    if (bytes > 0)
        fprintf(stream, ", %s MiB", tl_format_fixed((double)bytes / 1048576, 1, text));
    fputc('\n', stream);
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
    case TL_END_KILLED: {
        const char *detail = detail_of(result->message, "killed by ");
        fprintf(stream, "\n Killed by signal %d (%s)%s%s.\n", result->signal, tl_report_signal_name(result->signal), *detail ? ": " : "",
                detail);
        break;
    }
    case TL_END_DEADLOCK: {
        const char *detail = detail_of(result->message, "deadlock: ");
        fprintf(stream, "\n Deadlock%s%s.\n", *detail ? ": " : "", detail);
        break;
    }
    case TL_END_MAX_INSNS:
        fprintf(stream, "\n Stopped after %s instructions, as asked.\n", tl_format_grouped(result->instructions, a));
        break;
    case TL_END_TIMEOUT: fputs("\n Stopped by the time limit; these are the counts so far.\n", stream); break;
    case TL_END_INTERRUPTED: fputs("\n Interrupted; these are the counts so far.\n", stream); break;
    case TL_END_FAILED: fprintf(stream, "\n The simulator could not go on: %s\n", result->message); break;
    case TL_END_RESET: fputs("\n The guest asked for a restart.\n", stream); break;
    case TL_END_STUCK:
        fprintf(stream, "\n Stuck: %s.\n",
                *result->message ? result->message : "every hart waits for an interrupt and none will ever come");
        break;
    case TL_END_QUIT: fputs("\n Ended at the console; these are the counts so far.\n", stream); break;
    }
    double host_s = (double)result->host_ns / 1e9, sim_s = (double)result->sim_ns / 1e9;
    fprintf(stream, "\n %16s s simulated: %s cycles at %s MHz", tl_format_seconds(result->sim_ns, a), tl_format_grouped(result->cycles, b),
            tl_format_fixed((double)header->clock_hz / 1e6, header->clock_hz % 1000000 ? 3 : 0, c));
    put_memory(stream, result->guest_peak_bytes);
    if (result->host_ns > 0) {
        fprintf(stream, " %16s s on this host (%s): %s million instructions per second", tl_format_seconds(result->host_ns, a),
                header->engine, tl_format_metric((double)result->instructions / 1e6 / host_s, b));
        if (sim_s > 0)
            fprintf(stream, ", %s times %s than simulated", tl_format_metric(host_s >= sim_s ? host_s / sim_s : sim_s / host_s, c),
                    host_s >= sim_s ? "slower" : "faster");
        put_memory(stream, result->host_peak_bytes);
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
    bool scopes = has_scopes(reporter, result), is_chosen = are_metrics_chosen(result);
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES];
        if (!is_shown(reporter, row) || (row->is_metric && !is_chosen && reporter->options.detail == 0))
            continue;
        const tl_row *metric = row->metric ? tl_result_row_of(result, row->region, true, row->metric, row->scope) : NULL;
        const char *value =
            row->is_metric && row->value.kind != TL_VALUE_MISSING ? tl_format_metric(row->value.real, c) : value_text(row, c);
        fprintf(stream, "  %16s %16s %*s  ", tl_format_seconds(result->begin_ns + result->sim_ns, a),
                tl_format_grouped(result->begin_instructions + result->instructions, b), VALUE_WIDTH, value);
        if (row->region)
            fprintf(stream, "%-16s ", row->region);
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

static void put_region(tl_reporter *reporter, const tl_result *result, uint32_t index) {
    const tl_result_region *region = &result->regions[index];
    tl_result part = tl_report_region(result, index);
    fprintf(reporter->stream, "\n %s %s, %llu visit%s:\n", region->stop ? "From" : "Inside", region->name,
            (unsigned long long)region->n_visits, region->n_visits == 1 ? "" : "s");
    if (reporter->options.only_times)
        return;
    put_events(reporter, &part);
    put_metrics(reporter, &part);
}

static void end(tl_reporter *reporter, const tl_result *result) {
    if (!reporter->options.is_quiet)
        put_heading(reporter, result);
    if (!reporter->options.only_times && result->header->pmu) {
        put_pmu(reporter, result);
    } else if (!reporter->options.only_times && !result->is_by_region) {
        put_events(reporter, result);
        put_metrics(reporter, result);
    }
    for (uint32_t i = 0; result->is_by_region && i < result->n_regions; i++)
        put_region(reporter, result, i);
    if (result->is_by_region && result->n_regions == 0 && !reporter->options.is_quiet)
        fputs("\n The program marked no region.\n", reporter->stream);
    if (!reporter->options.is_quiet)
        put_ending(reporter, result);
}

const tl_report_type tl_report_text = {.begin = begin, .interval = interval, .end = end};
