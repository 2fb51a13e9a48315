// SPDX-License-Identifier: MIT
// Cells hold copies of the rows they need, so that results may go as soon as they were taken.
#include "result/sweep.h"

#include <stdlib.h>
#include <string.h>

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left"); }

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

// `like` is the value at that place in another cell, or NULL. Cells of one kind share names.
static bool copy_row(tl_arena *arena, const tl_row *row, const tl_sweep_value *like, tl_sweep_value *ret) {
    const bool is_like = like && !strcmp(like->name, row->name) && !strcmp(like->unit, row->unit);
    *ret = (tl_sweep_value){.name = is_like ? like->name : tl_arena_strdup(arena, row->name),
                            .unit = is_like ? like->unit : tl_arena_strdup(arena, row->unit),
                            .is_metric = row->is_metric,
                            .is_estimate = row->is_estimate,
                            .value = row->value};
    if (row->value.kind == TL_VALUE_MISSING)
        ret->value.reason = tl_arena_strdup(arena, row->value.reason ? row->value.reason : "");
    return ret->name && ret->unit && (row->value.kind != TL_VALUE_MISSING || ret->value.reason);
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
    tl_sweep_value *values = tl_arena_alloc(&sweep->arena, (result->n_rows + 1) * sizeof *values);
    const tl_sweep_row *like = &sweep->cells[sweep->last_put];
    uint32_t n = 0;
    if (!values)
        return no_memory(err);
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (strcmp(row->scope, "machine") != 0 || row->region)
            continue;
        if (!copy_row(&sweep->arena, row, n < like->n_values ? &like->values[n] : NULL, &values[n]))
            return no_memory(err);
        n++;
    }
    sweep->last_put = cell;
    to->values = values;
    to->n_values = n;
    to->status = result->reason == TL_END_EXITED ? result->status : 0;
    to->state = TL_SWEEP_DONE;
    return TL_OK;
}

static bool is_same(const tl_sweep_value *a, const tl_sweep_value *b) { return a->is_metric == b->is_metric && !strcmp(a->name, b->name); }

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
                    return no_memory(err);
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
