// SPDX-License-Identifier: MIT
// The table of a sweep: keys that vary, then counts and metrics, a row for each cell. A failed cell
// keeps its row and says why, so that a table is never shorter than its sweep.
#include "report/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "report/csv.h"
#include "report/report.h"

static uint32_t n_in_state(const tl_sweep *sweep, tl_sweep_state state) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < sweep->n_cells; i++)
        n += sweep->cells[i].state == state;
    return n;
}

static const char *key_text(const tl_sweep *sweep, uint32_t cell, uint32_t key) {
    return sweep->keys[key].values[tl_sweep_value_index(sweep, cell, key)];
}

static bool has_value(const tl_sweep_value *value) { return value && value->value.kind != TL_VALUE_MISSING; }

static const char *shown(const tl_sweep_value *value, char text[TL_NUMBER_BYTES]) {
    if (!has_value(value))
        return "-";
    if (value->kind == TL_SWEEP_SHARE)
        return tl_format_share(value->value.real, text);
    if (value->kind == TL_SWEEP_ERROR)
        return tl_format_error(value->value.real, text);
    if (value->value.kind == TL_VALUE_INTEGER)
        return tl_format_grouped(value->value.integer, text);
    return tl_format_metric(value->value.real, text);
}

// The head of a column. Truth and error stand behind their count, so their heads are short.
static const char *head(const tl_sweep_value *column) {
    switch (column->kind) {
    case TL_SWEEP_SHARE: return "on_counter";
    case TL_SWEEP_TRUTH: return "truth";
    case TL_SWEEP_ERROR: return "error";
    case TL_SWEEP_EVENT:
    case TL_SWEEP_METRIC: break;
    }
    return column->name;
}

// Leaves out shares of time that are 100 % in all cells: people need not read them.
static void drop_whole_shares(const tl_sweep *sweep, tl_sweep_columns *columns) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < columns->n; c++) {
        bool is_whole = columns->items[c]->kind == TL_SWEEP_SHARE;
        for (uint32_t i = 0; is_whole && i < sweep->n_cells; i++) {
            const tl_sweep_value *value = tl_sweep_find(&sweep->cells[i], columns->items[c]);
            is_whole = !has_value(value) || value->value.real == 1;
        }
        if (!is_whole)
            columns->items[n++] = columns->items[c];
    }
    columns->n = n;
}

// The remark behind a row, or "".
static const char *remark(const tl_sweep_row *row, char *text, size_t size) {
    text[0] = '\0';
    if (row->state == TL_SWEEP_FAILED)
        snprintf(text, size, "failed: %s", row->reason);
    else if (row->state == TL_SWEEP_OPEN)
        snprintf(text, size, "not run");
    else if (row->status != 0)
        snprintf(text, size, "exit status %d", row->status);
    return text;
}

enum { REMARK_BYTES = 640 };

static int wider(int width, const char *text) {
    const int n = (int)strlen(text);
    return n > width ? n : width;
}

typedef struct widths {
    int keys[TL_SWEEP_MAX_KEYS];
    int *columns;
} widths;

static void measure(const tl_sweep *sweep, const tl_sweep_columns *columns, widths *ret) {
    char number[TL_NUMBER_BYTES];
    for (uint32_t k = 0; k < sweep->n_keys; k++) {
        ret->keys[k] = wider(0, sweep->keys[k].name);
        for (uint32_t v = 0; v < sweep->keys[k].n_values; v++)
            ret->keys[k] = wider(ret->keys[k], sweep->keys[k].values[v]);
    }
    for (uint32_t c = 0; c < columns->n; c++) {
        ret->columns[c] = wider(0, head(columns->items[c]));
        for (uint32_t i = 0; i < sweep->n_cells; i++)
            ret->columns[c] = wider(ret->columns[c], shown(tl_sweep_find(&sweep->cells[i], columns->items[c]), number));
    }
}

static tl_status put_text(const tl_sweep *sweep, const tl_sweep_columns *columns, FILE *stream, tl_error *err) {
    char number[TL_NUMBER_BYTES], words[REMARK_BYTES];
    widths w = {.columns = calloc(columns->n + 1, sizeof *w.columns)};
    if (!w.columns)
        return tl_no_memory(err);
    measure(sweep, columns, &w);
    const uint32_t n_failed = n_in_state(sweep, TL_SWEEP_FAILED);
    fprintf(stream, "# %s%s%s%s%s: %u cell%s", sweep->program, sweep->machine ? " on " : "", sweep->machine ? sweep->machine : "",
            sweep->pmu ? ", pmu " : "", sweep->pmu ? sweep->pmu : "", sweep->n_cells, sweep->n_cells == 1 ? "" : "s");
    if (n_failed > 0)
        fprintf(stream, ", %u failed", n_failed);
    fputs("\n#\n#", stream);
    for (uint32_t k = 0; k < sweep->n_keys; k++)
        fprintf(stream, "%s%*s", k ? "  " : " ", w.keys[k], sweep->keys[k].name);
    for (uint32_t c = 0; c < columns->n; c++)
        fprintf(stream, "  %*s", w.columns[c], head(columns->items[c]));
    fputc('\n', stream);
    for (uint32_t i = 0; i < sweep->n_cells; i++) {
        const tl_sweep_row *row = &sweep->cells[i];
        for (uint32_t k = 0; k < sweep->n_keys; k++)
            fprintf(stream, "  %*s", w.keys[k], key_text(sweep, i, k));
        for (uint32_t c = 0; c < columns->n; c++)
            fprintf(stream, "  %*s", w.columns[c], shown(tl_sweep_find(row, columns->items[c]), number));
        fprintf(stream, "%s%s\n", *remark(row, words, sizeof words) ? "  " : "", words);
    }
    free(w.columns);
    return TL_OK;
}

static void put_markdown(const tl_sweep *sweep, const tl_sweep_columns *columns, FILE *stream) {
    char number[TL_NUMBER_BYTES], words[REMARK_BYTES];
    fputc('|', stream);
    for (uint32_t k = 0; k < sweep->n_keys; k++)
        fprintf(stream, " %s |", sweep->keys[k].name);
    for (uint32_t c = 0; c < columns->n; c++)
        fprintf(stream, " %s |", head(columns->items[c]));
    fputs(" remark |\n|", stream);
    for (uint32_t c = 0; c < sweep->n_keys + columns->n; c++)
        fputs("---:|", stream);
    fputs("---|\n", stream);
    for (uint32_t i = 0; i < sweep->n_cells; i++) {
        fputc('|', stream);
        for (uint32_t k = 0; k < sweep->n_keys; k++)
            fprintf(stream, " %s |", key_text(sweep, i, k));
        for (uint32_t c = 0; c < columns->n; c++)
            fprintf(stream, " %s |", shown(tl_sweep_find(&sweep->cells[i], columns->items[c]), number));
        fprintf(stream, " %s |\n", remark(&sweep->cells[i], words, sizeof words));
    }
}

// Heads are unique there: "cycles", "cycles.truth".
static void put_csv_head(FILE *stream, const tl_sweep_value *column) {
    char text[REMARK_BYTES];
    const bool is_own = column->kind == TL_SWEEP_EVENT || column->kind == TL_SWEEP_METRIC;
    snprintf(text, sizeof text, "%s%s%s", column->name, is_own ? "" : ".", is_own ? "" : head(column));
    tl_csv_put_cell(stream, text);
}

static void put_csv(const tl_sweep *sweep, const tl_sweep_columns *columns, FILE *stream) {
    char number[32], words[REMARK_BYTES];
    fputs("cell", stream);
    for (uint32_t k = 0; k < sweep->n_keys; k++)
        fprintf(stream, ",%s", sweep->keys[k].name);
    for (uint32_t c = 0; c < columns->n; c++) {
        fputc(',', stream);
        put_csv_head(stream, columns->items[c]);
    }
    fputs(",remark\n", stream);
    for (uint32_t i = 0; i < sweep->n_cells; i++) {
        fprintf(stream, "%u", i);
        for (uint32_t k = 0; k < sweep->n_keys; k++) {
            fputc(',', stream);
            tl_csv_put_cell(stream, key_text(sweep, i, k));
        }
        for (uint32_t c = 0; c < columns->n; c++) {
            const tl_sweep_value *value = tl_sweep_find(&sweep->cells[i], columns->items[c]);
            number[0] = '\0';
            if (has_value(value) && value->value.kind == TL_VALUE_INTEGER)
                snprintf(number, sizeof number, "%llu", (unsigned long long)value->value.integer);
            else if (has_value(value))
                tl_format_double(value->value.real, number);
            fprintf(stream, ",%s", number);
        }
        fputc(',', stream);
        tl_csv_put_cell(stream, remark(&sweep->cells[i], words, sizeof words));
        fputc('\n', stream);
    }
}

static const char *state_name(tl_sweep_state state) {
    return state == TL_SWEEP_DONE ? "done" : state == TL_SWEEP_FAILED ? "failed" : "open";
}

static void put_json_value(tl_json *json, const char *name, const tl_value *value) {
    if (value->kind == TL_VALUE_INTEGER)
        tl_json_u64(json, name, value->integer);
    else if (value->kind == TL_VALUE_REAL)
        tl_json_double(json, name, value->real);
    else
        tl_json_null(json, name);
}

// Truth, error and share of each count of a PMU. Values of one count stand together.
static void put_json_pmu(tl_json *json, const tl_sweep_row *row) {
    static const char *const names[] = {[TL_SWEEP_SHARE] = "on_counter", [TL_SWEEP_TRUTH] = "truth", [TL_SWEEP_ERROR] = "error_vs_truth"};
    tl_json_begin_object(json, "pmu");
    for (uint32_t i = 0; i < row->n_values; i++) {
        const tl_sweep_value *value = &row->values[i];
        if (value->kind < TL_SWEEP_SHARE)
            continue;
        if (value->kind == TL_SWEEP_SHARE)
            tl_json_begin_object(json, value->name);
        put_json_value(json, names[value->kind], &value->value);
        if (value->kind == TL_SWEEP_ERROR)
            tl_json_end_object(json);
    }
    tl_json_end_object(json);
}

static void put_json_cell(tl_json *json, const tl_sweep *sweep, uint32_t index) {
    const tl_sweep_row *row = &sweep->cells[index];
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "cell");
    tl_json_u64(json, "cell", index);
    tl_json_begin_object(json, "keys");
    for (uint32_t k = 0; k < sweep->n_keys; k++)
        tl_json_string(json, sweep->keys[k].name, key_text(sweep, index, k));
    tl_json_end_object(json);
    tl_json_string(json, "state", state_name(row->state));
    tl_json_string(json, "reason", row->reason);
    if (row->state == TL_SWEEP_DONE)
        tl_json_i64(json, "status", row->status);
    else
        tl_json_null(json, "status");
    for (tl_sweep_kind kind = TL_SWEEP_EVENT; kind <= TL_SWEEP_METRIC; kind++) {
        tl_json_begin_object(json, kind == TL_SWEEP_METRIC ? "metrics" : "events");
        for (uint32_t i = 0; i < row->n_values; i++) {
            if (row->values[i].kind == kind)
                put_json_value(json, row->values[i].name, &row->values[i].value);
        }
        tl_json_end_object(json);
    }
    put_json_pmu(json, row);
    tl_json_end_object(json);
}

static tl_status put_json(const tl_sweep *sweep, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "header");
    tl_json_string(&json, "schema", "tally.sweep/1");
    tl_json_string(&json, "version", sweep->version);
    tl_json_string(&json, "program", sweep->program);
    tl_json_string(&json, "digest", sweep->digest);
    tl_json_string(&json, "machine", sweep->machine);
    tl_json_string(&json, "pmu", sweep->pmu);
    tl_json_begin_array(&json, "keys");
    for (uint32_t k = 0; k < sweep->n_keys; k++) {
        tl_json_begin_object(&json, NULL);
        tl_json_string(&json, "key", sweep->keys[k].name);
        tl_json_begin_array(&json, "values");
        for (uint32_t v = 0; v < sweep->keys[k].n_values; v++)
            tl_json_string(&json, NULL, sweep->keys[k].values[v]);
        tl_json_end_array(&json);
        tl_json_end_object(&json);
    }
    tl_json_end_array(&json);
    tl_json_end_object(&json);
    for (uint32_t i = 0; i < sweep->n_cells; i++)
        put_json_cell(&json, sweep, i);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "end");
    tl_json_u64(&json, "cells", sweep->n_cells);
    tl_json_u64(&json, "done", n_in_state(sweep, TL_SWEEP_DONE));
    tl_json_u64(&json, "failed", n_in_state(sweep, TL_SWEEP_FAILED));
    tl_json_end_object(&json);
    return tl_json_flush(&json, err);
}

tl_status tl_report_sweep(const tl_sweep *sweep, tl_sweep_format format, FILE *stream, tl_error *err) {
    tl_sweep_columns columns;
    tl_status status = tl_sweep_columns_new(sweep, &columns, err);
    if (status != TL_OK)
        return status;
    if (format == TL_SWEEP_TEXT || format == TL_SWEEP_MARKDOWN)
        drop_whole_shares(sweep, &columns);
    switch (format) {
    case TL_SWEEP_TEXT: status = put_text(sweep, &columns, stream, err); break;
    case TL_SWEEP_JSON: status = put_json(sweep, stream, err); break;
    case TL_SWEEP_CSV: put_csv(sweep, &columns, stream); break;
    case TL_SWEEP_MARKDOWN: put_markdown(sweep, &columns, stream); break;
    }
    tl_sweep_columns_done(&columns);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the table of the sweep could not be written in full");
    return status;
}
