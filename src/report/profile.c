// SPDX-License-Identifier: MIT
// Tables over a profile as text, CSV and JSON.
#include "report/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/csv.h"
#include "report/plain_text.h"
#include "report/profile_rows.h"

static double share_of(const tl_profile_rows *rows, const tl_profile_row *row) {
    const double total = tl_profile_real(tl_profile_rows_total(rows, 0));
    return total > 0 ? 100 * tl_profile_real(tl_profile_rows_value(rows, row, 0)) / total : 0;
}

static bool is_shown(const tl_profile_rows *rows, const tl_profile_row *row, double percent_limit) {
    return percent_limit <= 0 || share_of(rows, row) >= percent_limit;
}

static size_t wider(size_t a, size_t b) { return a > b ? a : b; }

// The heading says what was recorded, and where its totals stand.
static void put_heading(const tl_profile_rows *rows, const tl_profile_report_options *options, FILE *stream) {
    const tl_profile *p = rows->profile;
    char number[TL_NUMBER_BYTES];
    if (rows->has_calls)
        fprintf(stream, "# %s %s in", options->callers ? "callers of" : "callees of",
                options->callers ? options->callers : options->callees);
    else
        fputc('#', stream);
    fprintf(stream, " %s on %s", tl_profile_setting_of(p, "program"), tl_profile_setting_of(p, "machine"));
    if (*tl_profile_setting_of(p, "region"))
        fprintf(stream, ", region %s", tl_profile_setting_of(p, "region"));
    fputc(':', stream);
    for (uint32_t c = 0; c < rows->columns.n; c++)
        fprintf(stream, "%s %s %s", c > 0 ? "," : "", tl_profile_number(tl_profile_rows_total(rows, c), number),
                rows->columns.items[c].name);
    fputs("\n#\n", stream);
}

static void put_text(const tl_profile_rows *rows, const tl_profile_report_options *options, FILE *stream) {
    size_t widths[64] = {0}, key_widths[TL_PROFILE_N_KEYS] = {0};
    const uint32_t n_columns = rows->columns.n < 64 ? rows->columns.n : 64;
    char number[TL_NUMBER_BYTES], text[TL_PROFILE_CELL_BYTES];
    for (uint32_t c = 0; c < n_columns; c++)
        widths[c] = strlen(rows->columns.items[c].name);
    for (uint32_t k = 0; k < rows->n_keys; k++)
        key_widths[k] = strlen(tl_profile_key_name(rows->keys[k]));
    for (uint32_t i = 0; i < rows->n; i++) {
        if (!is_shown(rows, &rows->rows[i], options->percent_limit))
            continue;
        for (uint32_t c = 0; c < n_columns; c++)
            widths[c] = wider(widths[c], strlen(tl_profile_number(tl_profile_rows_value(rows, &rows->rows[i], c), number)));
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, &rows->rows[i], k, text);
            key_widths[k] = wider(key_widths[k], strlen(text));
        }
    }
    size_t self_width = strlen("self");
    for (uint32_t i = 0; i < rows->n && rows->selves; i++)
        if (is_shown(rows, &rows->rows[i], options->percent_limit))
            self_width = wider(self_width, strlen(tl_profile_number(tl_profile_rows_self(rows, &rows->rows[i], 0), number)));
    size_t calls_width = strlen("calls");
    for (uint32_t i = 0; i < rows->n && rows->has_calls; i++)
        if (is_shown(rows, &rows->rows[i], options->percent_limit))
            calls_width = wider(calls_width, strlen(tl_format_grouped(rows->rows[i].n_calls, number)));
    put_heading(rows, options, stream);
    size_t before_last = rows->selves ? 11 + self_width : 9;
    fprintf(stream, "%s#  share", options->has_color ? TL_STYLE_BOLD : "");
    if (rows->has_calls) {
        fprintf(stream, "  %*s", (int)calls_width, "calls");
        before_last += calls_width + 2;
    }
    if (rows->selves)
        fprintf(stream, "  %*s", (int)self_width, "self");
    for (uint32_t c = 0; c < n_columns; c++) {
        fprintf(stream, "  %*s", (int)widths[c], rows->columns.items[c].name);
        before_last += widths[c] + 2;
    }
    for (uint32_t k = 0; k < rows->n_keys; k++) {
        const bool is_last = k + 1 == rows->n_keys;
        fprintf(stream, "  %-*s", is_last ? 0 : (int)key_widths[k], tl_profile_key_name(rows->keys[k]));
        before_last += is_last ? 2 : key_widths[k] + 2;
    }
    fprintf(stream, "%s\n", options->has_color ? TL_STYLE_PLAIN : "");
    const size_t room = options->width > before_last + 10 ? options->width - before_last : options->width > 0 ? 10 : 0;
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, options->percent_limit))
            continue;
        const double share = share_of(rows, row);
        const bool is_hot = options->has_color && share >= 5;
        fprintf(stream, "%s%6s %%%s", is_hot ? TL_STYLE_HOT : "", tl_format_fixed(share, 2, number), is_hot ? TL_STYLE_PLAIN : "");
        if (rows->has_calls)
            fprintf(stream, "  %*s", (int)calls_width, tl_format_grouped(row->n_calls, number));
        if (rows->selves)
            fprintf(stream, "  %*s", (int)self_width, tl_profile_number(tl_profile_rows_self(rows, row, 0), number));
        for (uint32_t c = 0; c < n_columns; c++)
            fprintf(stream, "  %*s", (int)widths[c], tl_profile_number(tl_profile_rows_value(rows, row, c), number));
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            if (k + 1 < rows->n_keys)
                fprintf(stream, "  %-*s", (int)key_widths[k], text);
            else if (room > 0 && strlen(text) > room)
                fprintf(stream, "  %.*s...", (int)(room - 3), text);
            else
                fprintf(stream, "  %s", text);
        }
        fputc('\n', stream);
    }
}

static tl_status put_plain_text(const tl_profile_rows *rows, const tl_profile_report_options *options, FILE *stream, tl_error *err) {
    tl_plain_text plain;
    tl_status status = tl_plain_text_begin(&plain, stream, err);
    if (status != TL_OK)
        return status;
    put_text(rows, options, plain.stream);
    return tl_plain_text_end(&plain, options->has_color, TL_OK, err);
}

static const char *exact(tl_value value, char text[TL_NUMBER_BYTES]) {
    if (value.kind == TL_VALUE_MISSING)
        return "";
    if (value.kind == TL_VALUE_INTEGER) {
        snprintf(text, TL_NUMBER_BYTES, "%" PRIu64, value.integer);
        return text;
    }
    return tl_format_metric(value.real, text);
}

static void put_csv(const tl_profile_rows *rows, double percent_limit, FILE *stream) {
    char number[TL_NUMBER_BYTES], text[TL_PROFILE_CELL_BYTES];
    for (uint32_t k = 0; k < rows->n_keys; k++)
        fprintf(stream, "%s%s", k > 0 ? "," : "", tl_profile_key_name(rows->keys[k]));
    for (uint32_t c = 0; c < rows->columns.n; c++) {
        fputc(',', stream);
        tl_csv_put_cell(stream, rows->columns.items[c].name);
    }
    if (rows->selves)
        fputs(",self", stream);
    if (rows->has_calls)
        fputs(",calls", stream);
    fputc('\n', stream);
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, percent_limit))
            continue;
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            if (k > 0)
                fputc(',', stream);
            tl_csv_put_cell(stream, text);
        }
        for (uint32_t c = 0; c < rows->columns.n; c++)
            fprintf(stream, ",%s", exact(tl_profile_rows_value(rows, row, c), number));
        if (rows->selves)
            fprintf(stream, ",%s", exact(tl_profile_rows_self(rows, row, 0), number));
        if (rows->has_calls)
            fprintf(stream, ",%" PRIu64, row->n_calls);
        fputc('\n', stream);
    }
}

static void put_value(tl_json *json, const char *name, tl_value value) {
    if (value.kind == TL_VALUE_MISSING)
        tl_json_null(json, name);
    else if (value.kind == TL_VALUE_INTEGER)
        tl_json_u64(json, name, value.integer);
    else
        tl_json_double(json, name, value.real);
}

static tl_status put_json(const tl_profile_rows *rows, double percent_limit, FILE *stream, tl_error *err) {
    tl_json json;
    char text[TL_PROFILE_CELL_BYTES];
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "header");
    tl_json_string(&json, "schema", "tally.profile-report/1");
    tl_json_string(&json, "program", tl_profile_setting_of(rows->profile, "program"));
    tl_json_string(&json, "machine", tl_profile_setting_of(rows->profile, "machine"));
    tl_json_begin_object(&json, "totals");
    for (uint32_t c = 0; c < rows->columns.n; c++)
        put_value(&json, rows->columns.items[c].name, tl_profile_rows_total(rows, c));
    tl_json_end_object(&json);
    tl_json_end_object(&json);
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, percent_limit))
            continue;
        tl_json_begin_object(&json, NULL);
        tl_json_string(&json, "type", "row");
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            tl_json_string(&json, tl_profile_key_name(rows->keys[k]), text);
        }
        if (rows->has_calls)
            tl_json_u64(&json, "calls", row->n_calls);
        tl_json_begin_object(&json, "counts");
        for (uint32_t c = 0; c < rows->columns.n; c++)
            put_value(&json, rows->columns.items[c].name, tl_profile_rows_value(rows, row, c));
        tl_json_end_object(&json);
        if (rows->selves) {
            tl_json_begin_object(&json, "self");
            for (uint32_t c = 0; c < rows->columns.n; c++)
                put_value(&json, rows->columns.items[c].name, tl_profile_rows_self(rows, row, c));
            tl_json_end_object(&json);
        }
        tl_json_end_object(&json);
    }
    return tl_json_flush(&json, err);
}

tl_status tl_report_profile(const tl_profile *profile, const tl_profile_report_options *options, FILE *stream, tl_error *err) {
    if (options->against_truth)
        return tl_report_profile_truth(profile, options, stream, err);
    tl_profile_rows rows;
    const char *sort = options->sort ? options->sort : "dso,symbol";
    const tl_profile_calls calls = {.kind = options->callers         ? TL_PROFILE_CALLERS
                                            : options->callees       ? TL_PROFILE_CALLEES
                                            : options->with_children ? TL_PROFILE_CHILDREN
                                                                     : TL_PROFILE_SELF,
                                    .function = options->callers ? options->callers : options->callees};
    tl_status status = tl_profile_rows_init(profile, sort, options->events, options->order, &calls, &rows, err);
    if (status != TL_OK)
        return status;
    if (options->format == TL_PROFILE_JSON)
        status = put_json(&rows, options->percent_limit, stream, err);
    else if (options->format == TL_PROFILE_CSV)
        put_csv(&rows, options->percent_limit, stream);
    else
        status = put_plain_text(&rows, options, stream, err);
    tl_profile_rows_done(&rows);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the output: %s", strerror(errno));
    return status;
}
