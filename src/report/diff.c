// SPDX-License-Identifier: MIT
// Two results beside each other: rows that changed, largest relative change nowhere hidden, gates
// last.
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/lists.h"
#include "report/report.h"

static const tl_row *row_of(const tl_diff_line *line) { return line->after ? line->after : line->before; }

static const char *value_text(const tl_row *row, char text[TL_NUMBER_BYTES]) {
    if (!row || row->value.kind == TL_VALUE_MISSING)
        return "-";
    if (row->value.kind == TL_VALUE_INTEGER)
        return tl_format_grouped(row->value.integer, text);
    return tl_format_metric(row->value.real, text);
}

static const char *percent_text(const tl_diff_line *line, char text[TL_NUMBER_BYTES]) {
    double percent = tl_diff_line_percent(line);
    if (percent != percent)
        return "-";
    if (isinf(percent))
        return percent > 0 ? "new" : "gone";
    if (percent == 0)
        return "=";
    char number[TL_NUMBER_BYTES];
    double size = fabs(percent);
    tl_format_fixed(size, size >= 0.01 ? 2 : 6, number);
    snprintf(text, TL_NUMBER_BYTES, "%c%.40s %%", percent > 0 ? '+' : '-', number);
    return text;
}

static void put_header_changes(const tl_diff *diff, FILE *stream, const char *before, const char *after) {
    const tl_header *a = diff->before->header, *b = diff->after->header;
    struct {
        const char *name, *before, *after;
    } facts[] = {{"machine", a->machine, b->machine},
                 {"program", a->program, b->program},
                 {"digest", a->digest ? a->digest : "-", b->digest ? b->digest : "-"},
                 {"pmu", a->pmu ? a->pmu : "-", b->pmu ? b->pmu : "-"},
                 {"tally", a->version, b->version}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (strcmp(facts[i].before, facts[i].after) != 0)
            fprintf(stream, "%s%s: %s -> %s%s", before, facts[i].name, facts[i].before, facts[i].after, after);
    }
    for (uint32_t i = 0; i < a->n_settings; i++) {
        for (uint32_t k = 0; k < b->n_settings; k++) {
            bool is_title = !strcmp(a->settings[i].key, "name") || !strcmp(a->settings[i].key, "summary");
            if (!is_title && !strcmp(a->settings[i].key, b->settings[k].key) && strcmp(a->settings[i].value, b->settings[k].value) != 0)
                fprintf(stream, "%s%s: %s -> %s%s", before, a->settings[i].key, a->settings[i].value, b->settings[k].value, after);
        }
    }
}

// A region that one result lacks is a sentence, unless its rows were asked for.
static bool is_row_shown(const tl_diff *diff, const tl_diff_line *line, bool with_equal) {
    return tl_diff_line_is_shown(diff, line, with_equal) && (!line->lacks_region || with_equal || diff->has_selection);
}

static void put_region_changes(const tl_diff *diff, FILE *stream, const char *before, const char *after) {
    for (uint32_t i = 0; i < diff->n_regions; i++) {
        const tl_diff_region *region = &diff->regions[i];
        const char *which = region->is_in_before ? "first" : "second";
        if (region->is_in_before && region->is_in_after)
            continue;
        if (region->name)
            fprintf(stream, "%sOnly the %s report has the region %s.%s", before, which, region->name, after);
        else
            fprintf(stream, "%sOnly the %s report counts the whole run.%s", before, which, after);
    }
}

static void put_text(const tl_diff *diff, bool with_equal, FILE *stream) {
    put_header_changes(diff, stream, " ", "\n");
    put_region_changes(diff, stream, " ", "\n");
    uint32_t n_equal = 0, n_shown = 0, n_counted = 0;
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        const tl_diff_line *line = &diff->lines[i];
        n_counted += !line->same_as;
        n_equal += !line->same_as && tl_diff_line_is_equal(line);
        if (!is_row_shown(diff, line, with_equal))
            continue;
        if (n_shown++ == 0)
            fprintf(stream, "%22s %22s %12s  %s\n", "before", "after", "change", "name");
        const tl_row *row = row_of(line);
        char before[TL_NUMBER_BYTES], after[TL_NUMBER_BYTES], percent[TL_NUMBER_BYTES];
        bool is_whole = !strcmp(row->scope, "machine");
        fprintf(stream, "%22s %22s %12s  %s%s%s%s%s%s%s\n", value_text(line->before, before), value_text(line->after, after),
                percent_text(line, percent), is_whole ? "" : row->scope, is_whole ? "" : ":", row->name, line->region ? " in " : "",
                line->region ? line->region : "", line->failed_gate ? "  <== " : "", line->failed_gate ? line->failed_gate : "");
    }
    fprintf(stream, "%s %u of %u rows equal", n_shown ? "\n" : "", n_equal, n_counted);
    if (diff->n_failed > 0)
        fprintf(stream, "; %u row%s cross%s a gate", diff->n_failed, diff->n_failed == 1 ? "" : "s", diff->n_failed == 1 ? "es" : "");
    fputs(".\n", stream);
}

static void put_value(tl_json *json, const char *key, const tl_row *row) {
    if (!row || row->value.kind == TL_VALUE_MISSING)
        tl_json_null(json, key);
    else if (row->value.kind == TL_VALUE_INTEGER)
        tl_json_u64(json, key, row->value.integer);
    else
        tl_json_double(json, key, row->value.real);
}

static tl_status put_json(const tl_diff *diff, bool with_equal, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "header");
    tl_json_string(&json, "schema", "tally.diff/1");
    const tl_header *headers[] = {diff->before->header, diff->after->header};
    for (int i = 0; i < 2; i++) {
        tl_json_begin_object(&json, i ? "after" : "before");
        tl_json_string(&json, "program", headers[i]->program);
        tl_json_string(&json, "digest", headers[i]->digest);
        tl_json_string(&json, "machine", headers[i]->machine);
        tl_json_end_object(&json);
    }
    tl_json_end_object(&json);
    uint32_t n_equal = 0;
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        const tl_diff_line *line = &diff->lines[i];
        const tl_row *row = row_of(line);
        bool is_shown = tl_diff_line_is_shown(diff, line, with_equal);
        n_equal += tl_diff_line_is_equal(line);
        if (!is_shown && (!line->same_as || diff->has_selection || (!with_equal && tl_diff_line_is_equal(line))))
            continue; // synonyms are for programs, which need one of them
        tl_json_begin_object(&json, NULL);
        tl_json_string(&json, "type", row->is_metric ? "metric" : "event");
        tl_json_string(&json, row->is_metric ? "metric" : "event", row->name);
        tl_json_string(&json, "scope", row->scope);
        if (line->region)
            tl_json_string(&json, "region", line->region);
        tl_json_string(&json, "unit", row->unit);
        put_value(&json, "before", line->before);
        put_value(&json, "after", line->after);
        tl_json_double(&json, "change_percent", tl_diff_line_percent(line));
        tl_json_string(&json, "failed_gate", line->failed_gate);
        tl_json_string(&json, "same_as", line->same_as);
        tl_json_end_object(&json);
    }
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "end");
    tl_json_u64(&json, "rows", diff->n_lines);
    tl_json_u64(&json, "equal", n_equal);
    tl_json_u64(&json, "failed", diff->n_failed);
    tl_json_end_object(&json);
    return tl_json_flush(&json, err);
}

static void put_markdown(const tl_diff *diff, bool with_equal, FILE *stream) {
    put_header_changes(diff, stream, "- ", "\n");
    put_region_changes(diff, stream, "- ", "\n");
    fputs("\n| name | before | after | change | gate |\n|---|---:|---:|---:|---|\n", stream);
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        const tl_diff_line *line = &diff->lines[i];
        if (!is_row_shown(diff, line, with_equal))
            continue;
        const tl_row *row = row_of(line);
        char before[TL_NUMBER_BYTES], after[TL_NUMBER_BYTES], percent[TL_NUMBER_BYTES];
        bool is_whole = !strcmp(row->scope, "machine");
        fprintf(stream, "| `%s%s%s`%s%s | %s | %s | %s | %s |\n", is_whole ? "" : row->scope, is_whole ? "" : ":", row->name,
                line->region ? " in " : "", line->region ? line->region : "", value_text(line->before, before),
                value_text(line->after, after), percent_text(line, percent), line->failed_gate ? line->failed_gate : "");
    }
}

tl_status tl_report_diff(const tl_diff *diff, tl_diff_format format, bool with_equal, FILE *stream, tl_error *err) {
    tl_status status = TL_OK;
    switch (format) {
    case TL_DIFF_TEXT: put_text(diff, with_equal, stream); break;
    case TL_DIFF_JSON: status = put_json(diff, with_equal, stream, err); break;
    case TL_DIFF_MARKDOWN: put_markdown(diff, with_equal, stream); break;
    }
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the comparison could not be written in full");
    return status;
}
