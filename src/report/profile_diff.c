// SPDX-License-Identifier: MIT
// Two profiles beside each other: rows are matched by their texts, because numbers differ from
// build to build. Lines are matched by file and function in which they stand.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/plain_text.h"
#include "report/profile.h"
#include "report/profile_rows.h"

typedef struct side {
    char *name;
    double value;
} side;

typedef struct pair_row {
    const char *name;
    double before, after;
    bool has_before, has_after;
} pair_row;

static int by_name(const void *a, const void *b) { return strcmp(((const side *)a)->name, ((const side *)b)->name); }

static int by_change(const void *x, const void *y) {
    const pair_row *a = x, *b = y;
    const double changed = fabs(a->after - a->before), other = fabs(b->after - b->before);
    if (changed > other || changed < other)
        return changed > other ? -1 : 1;
    return strcmp(a->name, b->name);
}

// Rows of one name are summed.
static tl_status read_side(const tl_profile *profile, const tl_profile_report_options *options, side **ret_rows, uint32_t *ret_n,
                           double *ret_total, const char *column_name, tl_error *err) {
    tl_profile_rows rows;
    const char *sort = options->sort ? options->sort : "dso,symbol";
    tl_status status = tl_profile_rows_init(profile, sort, column_name, NULL, &(tl_profile_calls){.kind = TL_PROFILE_SELF}, &rows, err);
    if (status != TL_OK)
        return status;
    side *list = calloc((size_t)rows.n + 1, sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; list && i < rows.n; i++) {
        char text[TL_PROFILE_CELL_BYTES], *name;
        size_t used = 0;
        name = malloc(rows.n_keys * (TL_PROFILE_CELL_BYTES + 2));
        for (uint32_t k = 0; name && k < rows.n_keys; k++) {
            tl_profile_rows_text(&rows, &rows.rows[i], k, text);
            used += (size_t)snprintf(name + used, TL_PROFILE_CELL_BYTES + 2, "%s%s", k > 0 ? "  " : "", text);
        }
        list[n] = (side){name, tl_profile_real(tl_profile_rows_value(&rows, &rows.rows[i], 0))};
        if (!name)
            break;
        n++;
    }
    if (!list || n < rows.n)
        status = tl_no_memory(err);
    *ret_total = tl_profile_real(tl_profile_rows_total(&rows, 0));
    tl_profile_rows_done(&rows);
    *ret_rows = list;
    *ret_n = n;
    if (status != TL_OK)
        return status;
    qsort(list, n, sizeof *list, by_name);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(list[kept - 1].name, list[i].name) == 0) {
            list[kept - 1].value += list[i].value;
            free(list[i].name);
        } else {
            list[kept++] = list[i];
        }
    }
    *ret_n = kept;
    return TL_OK;
}

static void free_side(side *rows, uint32_t n) {
    for (uint32_t i = 0; rows && i < n; i++)
        free(rows[i].name);
    free(rows);
}

static const char *plain(double value, char text[TL_NUMBER_BYTES]) {
    return value >= 0 && value < 1e18 && floor(value) == value ? tl_format_grouped((uint64_t)value, text) : tl_format_metric(value, text);
}

static void put_pair(FILE *stream, const char *name, double before, double after, bool has_before, bool has_after) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], change[TL_NUMBER_BYTES], percent[TL_NUMBER_BYTES] = "", number[TL_NUMBER_BYTES];
    const double difference = after - before;
    snprintf(change, sizeof change, "%c%.40s", difference < 0 ? '-' : '+', plain(fabs(difference), number));
    if (!has_before)
        snprintf(percent, sizeof percent, "new");
    else if (!has_after)
        snprintf(percent, sizeof percent, "gone");
    else if (before > 0)
        snprintf(percent, sizeof percent, "%c%.38s %%", difference < 0 ? '-' : '+',
                 tl_format_fixed(100 * fabs(difference) / before, 2, number));
    fprintf(stream, "%18s  %18s  %18s  %12s  %s\n", has_before ? plain(before, a) : "-", has_after ? plain(after, b) : "-", change, percent,
            name);
}

tl_status tl_report_profile_diff(const tl_profile *before, const tl_profile *after, const tl_profile_report_options *options, FILE *to,
                                 tl_error *err) {
    tl_profile_columns columns;
    tl_plain_text plain;
    side *sides[2] = {NULL, NULL};
    uint32_t n[2] = {0, 0}, n_pairs = 0, n_same = 0;
    double totals[2] = {0, 0};
    pair_row *pairs = NULL;
    tl_status status = tl_profile_columns_init(before, options->events, &columns, err);
    if (status != TL_OK)
        return status;
    status = read_side(before, options, &sides[0], &n[0], &totals[0], columns.items[0].name, err);
    if (status == TL_OK)
        status = read_side(after, options, &sides[1], &n[1], &totals[1], columns.items[0].name, err);
    if (status == TL_OK && !(pairs = malloc(((size_t)n[0] + n[1] + 1) * sizeof *pairs)))
        status = tl_no_memory(err);
    for (uint32_t i = 0, k = 0; status == TL_OK && (i < n[0] || k < n[1]);) {
        const int order = i == n[0] ? 1 : k == n[1] ? -1 : strcmp(sides[0][i].name, sides[1][k].name);
        pair_row *pair = &pairs[n_pairs++];
        *pair = (pair_row){.name = order <= 0 ? sides[0][i].name : sides[1][k].name, .has_before = order <= 0, .has_after = order >= 0};
        pair->before = order <= 0 ? sides[0][i++].value : 0;
        pair->after = order >= 0 ? sides[1][k++].value : 0;
        if (pair->before == pair->after) {
            n_pairs--;
            n_same++;
        }
    }
    if (status == TL_OK)
        status = tl_plain_text_begin(&plain, to, err);
    if (status == TL_OK) {
        FILE *stream = plain.stream;
        qsort(pairs, n_pairs, sizeof *pairs, by_change);
        fprintf(stream, "# %s: %s -> %s\n#\n", columns.items[0].name, tl_profile_setting_of(before, "program"),
                tl_profile_setting_of(after, "program"));
        fprintf(stream, "%18s  %18s  %18s  %12s  %s\n", "before", "after", "change", "", options->sort ? options->sort : "dso,symbol");
        for (uint32_t i = 0; i < n_pairs; i++)
            if (totals[0] <= 0 || 100 * fabs(pairs[i].after - pairs[i].before) >= options->percent_limit * totals[0])
                put_pair(stream, pairs[i].name, pairs[i].before, pairs[i].after, pairs[i].has_before, pairs[i].has_after);
        put_pair(stream, "total", totals[0], totals[1], true, true);
        fprintf(stream, "# %u row%s did not change\n", n_same, n_same == 1 ? "" : "s");
        status = tl_plain_text_end(&plain, false, TL_OK, err);
    }
    free(pairs);
    free_side(sides[0], n[0]);
    free_side(sides[1], n[1]);
    tl_profile_columns_done(&columns);
    return status;
}
