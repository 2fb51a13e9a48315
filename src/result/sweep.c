// SPDX-License-Identifier: MIT
// Cells hold copies of the rows they need, so that results may go as soon as they were taken.
#include "result/sweep.h"

#include <stdlib.h>
#include <string.h>

uint32_t tl_sweep_value_index(const tl_sweep *sweep, uint32_t cell, uint32_t key) {
    for (uint32_t k = sweep->n_keys; k-- > key + 1;)
        cell /= sweep->keys[k].n_values;
    return cell % sweep->keys[key].n_values;
}

void tl_sweep_put_failure(tl_sweep *sweep, uint32_t cell, const char *reason) {
    char *copy = tl_arena_strdup(&sweep->arena, reason);
    for (char *at = copy; at && *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
    sweep->cells[cell].state = TL_SWEEP_FAILED;
    sweep->cells[cell].reason = copy ? copy : "the host has no memory left";
}

static bool is_of_machine(const tl_row *row) { return !strcmp(row->scope, "machine"); }

// "cycles", or "l2.0.llc.readmiss" of one unit. Cells of one kind share names: `like` is the value
// at that place in another cell, or NULL.
static const char *name_of(tl_arena *arena, const tl_row *row, const tl_sweep_value *like) {
    const char *const scope = is_of_machine(row) ? "" : row->scope, *const dot = *scope ? "." : "";
    const size_t n_scope = strlen(scope);
    if (like && !strncmp(like->name, scope, n_scope) && !strncmp(like->name + n_scope, dot, strlen(dot)) &&
        !strcmp(like->name + n_scope + strlen(dot), row->name))
        return like->name;
    return tl_arena_printf(arena, "%s%s%s", scope, dot, row->name);
}

static bool copy_value(tl_arena *arena, const tl_value *value, tl_value *ret) {
    *ret = *value;
    if (value->kind == TL_VALUE_MISSING)
        ret->reason = tl_arena_strdup(arena, value->reason ? value->reason : "");
    return value->kind != TL_VALUE_MISSING || ret->reason;
}

enum { MAX_VALUES_OF_ROW = 4 };

// One value, or four of a PMU's count. Returns how many, or 0 without memory.
static uint32_t copy_row(tl_arena *arena, const tl_row *row, const tl_sweep_value *like, tl_sweep_value *ret) {
    double error;
    ret[0] = (tl_sweep_value){.name = name_of(arena, row, like), .kind = row->is_metric ? TL_SWEEP_METRIC : TL_SWEEP_EVENT};
    ret[0].unit = like && !strcmp(like->unit, row->unit) ? like->unit : tl_arena_strdup(arena, row->unit);
    if (!ret[0].name || !ret[0].unit || !copy_value(arena, &row->value, &ret[0].value))
        return 0;
    if (!row->is_pmu)
        return 1;
    for (uint32_t i = 1; i < MAX_VALUES_OF_ROW; i++)
        ret[i] = (tl_sweep_value){.name = ret[0].name, .unit = ret[0].unit, .value.reason = ""};
    ret[1].kind = TL_SWEEP_SHARE;
    if (row->pmu.enabled_ns > 0)
        ret[1].value = (tl_value){.kind = TL_VALUE_REAL, .real = (double)row->pmu.running_ns / (double)row->pmu.enabled_ns};
    ret[2].kind = TL_SWEEP_TRUTH;
    ret[3].kind = TL_SWEEP_ERROR;
    if (tl_row_error(row, &error))
        ret[3].value = (tl_value){.kind = TL_VALUE_REAL, .real = error};
    return copy_value(arena, &row->pmu.truth, &ret[2].value) ? MAX_VALUES_OF_ROW : 0;
}

tl_status tl_sweep_put(tl_sweep *sweep, uint32_t cell, const tl_result *result, tl_error *err) {
    tl_sweep_row *to = &sweep->cells[cell];
    if (result->interval_kind || result->reason == TL_END_NONE)
        return tl_fail(err, TL_EINVAL, "%s: the result is not of a run that has ended", to->title);
    if (result->broken) {
        char text[sizeof((tl_error *)0)->text];
        snprintf(text, sizeof text, "broken counts: %s", result->broken);
        tl_sweep_put_failure(sweep, cell, text);
        return TL_OK;
    }
    if (result->reason != TL_END_EXITED && result->reason != TL_END_MAX_INSNS) {
        tl_sweep_put_failure(sweep, cell, *result->message ? result->message : tl_end_reason_name(result->reason));
        return TL_OK;
    }
    uint32_t n_most = 1, n = 0;
    for (uint32_t i = 0; i < result->n_rows; i++)
        n_most += result->rows[i].is_pmu ? MAX_VALUES_OF_ROW : 1;
    tl_sweep_value *values = tl_arena_alloc(&sweep->arena, n_most * sizeof *values);
    const tl_sweep_row *like = &sweep->cells[sweep->last_put];
    if (!values)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (row->region || !(row->is_pmu || is_of_machine(row)))
            continue;
        const uint32_t n_copied = copy_row(&sweep->arena, row, n < like->n_values ? &like->values[n] : NULL, &values[n]);
        if (n_copied == 0)
            return tl_no_memory(err);
        n += n_copied;
    }
    sweep->last_put = cell;
    to->values = values;
    to->n_values = n;
    to->status = result->reason == TL_END_EXITED ? result->status : 0;
    to->state = TL_SWEEP_DONE;
    return TL_OK;
}

static bool is_same(const tl_sweep_value *a, const tl_sweep_value *b) { return a->kind == b->kind && !strcmp(a->name, b->name); }

const tl_sweep_value *tl_sweep_find(const tl_sweep_row *row, const tl_sweep_value *column) {
    for (uint32_t i = 0; i < row->n_values; i++) {
        if (is_same(&row->values[i], column))
            return &row->values[i];
    }
    return NULL;
}

// Cells of one machine have the same names in the same order, so the search begins where the last
// one ended.
tl_status tl_sweep_columns_new(const tl_sweep *sweep, tl_sweep_columns *ret_columns, tl_error *err) {
    tl_sweep_columns columns = {0};
    uint32_t capacity = 0;
    for (uint32_t c = 0; c < sweep->n_cells; c++) {
        const tl_sweep_row *row = &sweep->cells[c];
        for (uint32_t i = 0; i < row->n_values; i++) {
            bool is_known = i < columns.n && is_same(columns.items[i], &row->values[i]);
            for (uint32_t k = 0; !is_known && k < columns.n; k++)
                is_known = is_same(columns.items[k], &row->values[i]);
            if (is_known)
                continue;
            if (columns.n == capacity) {
                capacity = capacity ? 2 * capacity : 64;
                const tl_sweep_value **items = realloc(columns.items, capacity * sizeof(*items));
                if (!items) {
                    free(columns.items);
                    return tl_no_memory(err);
                }
                columns.items = items;
            }
            columns.items[columns.n++] = &row->values[i];
        }
    }
    *ret_columns = columns;
    return TL_OK;
}

void tl_sweep_columns_done(tl_sweep_columns *columns) {
    free(columns->items);
    *columns = (tl_sweep_columns){0};
}
