// SPDX-License-Identifier: MIT
// The picture of a sweep: a panel for each event and metric, the first key along x, a line for each
// combination of the other keys, and one for the truth beside each line of a PMU's counts. Values
// keep the distances of their places, not of their sizes, because 8KiB, 16KiB, 32KiB and lru, fifo,
// random are read alike.
#include "report/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/plot.h"
#include "report/report.h"

enum { MAX_PANELS = 24, TITLE_BYTES = 200, NAME_BYTES = 160 };

typedef struct picture {
    const tl_sweep *sweep;
    uint32_t n_x, n_lines; // n_x values of the first key, each with n_lines cells
    tl_plot_point *points; // of all lines
    uint32_t n_points;
    tl_plot_series *series; // of all panels
    uint32_t n_series;
    tl_plot_panel panels[MAX_PANELS];
    char titles[MAX_PANELS][TITLE_BYTES], units[MAX_PANELS][TITLE_BYTES], subtitle[TITLE_BYTES];
    uint32_t n_panels;
    char (*names)[NAME_BYTES]; // of lines, two for each: its own and that of its truth
} picture;

// A column that is drawn. truth NULL: no PMU counted the event.
typedef struct graph {
    const tl_sweep_value *column, *truth;
} graph;

// Cells of one line are n_lines apart, because the first key varies slowest.
static const tl_sweep_row *cell_at(const picture *p, uint32_t x, uint32_t line) { return &p->sweep->cells[x * p->n_lines + line]; }

// "8, fifo, truth": values of all keys but the first one, and `end`. The subtitle has their names.
static void name_line(const picture *p, uint32_t line, const char *end, char ret_name[NAME_BYTES]) {
    tl_text text = {.buffer = ret_name, .size_bytes = NAME_BYTES};
    for (uint32_t k = 1; k < p->sweep->n_keys; k++)
        tl_text_addf(&text, "%s%s", k > 1 ? ", " : "", p->sweep->keys[k].values[tl_sweep_value_index(p->sweep, line, k)]);
    tl_text_addf(&text, "%s%s", *end && p->sweep->n_keys > 1 ? ", " : "", end);
}

static void name_lines(picture *p) {
    tl_text text = {.buffer = p->subtitle, .size_bytes = TITLE_BYTES};
    tl_text_addf(&text, "%s%s%s", p->sweep->program, p->sweep->machine ? " on " : "", p->sweep->machine ? p->sweep->machine : "");
    for (uint32_t k = 1; k < p->sweep->n_keys; k++)
        tl_text_addf(&text, "%s%s", k > 1 ? ", " : "; lines: ", p->sweep->keys[k].name);
    for (uint32_t line = 0; line < p->n_lines; line++) {
        name_line(p, line, "", p->names[2 * line]);
        name_line(p, line, "truth", p->names[2 * line + 1]);
    }
}

static bool number_of(const tl_sweep_row *row, const tl_sweep_value *column, double *ret) {
    const tl_sweep_value *value = tl_sweep_find(row, column);
    *ret = value ? value->value.real : 0;
    return value && value->value.kind != TL_VALUE_MISSING && isfinite(*ret) && *ret >= 0;
}

static double scale_of(const picture *p, const graph *of, const char **ret_name) {
    double most = 0, value;
    for (uint32_t i = 0; i < p->sweep->n_cells; i++) {
        if (number_of(&p->sweep->cells[i], of->column, &value))
            most = fmax(most, value);
        if (of->truth && number_of(&p->sweep->cells[i], of->truth, &value))
            most = fmax(most, value);
    }
    *ret_name = most >= 1e9 ? ", billions" : most >= 1e6 ? ", millions" : most >= 1e4 ? ", thousands" : "";
    return most >= 1e9 ? 1e9 : most >= 1e6 ? 1e6 : most >= 1e4 ? 1e3 : 1;
}

static void add_line(picture *p, const tl_sweep_value *column, uint32_t line, double scale) {
    tl_plot_series *series = &p->series[p->n_series];
    const char *const name = p->names[2 * line + (column->kind == TL_SWEEP_TRUTH)];
    *series = (tl_plot_series){.name = *name ? name : column->name, .points = &p->points[p->n_points]};
    for (uint32_t x = 0; x < p->n_x; x++) {
        double value;
        if (!number_of(cell_at(p, x, line), column, &value))
            continue;
        value /= scale;
        p->points[p->n_points++] = (tl_plot_point){x, value, value, value};
        series->n_points++;
    }
    p->n_series += series->n_points > 0;
}

// Lines of a column, as many panels as they need.
static void add_column(picture *p, const graph *of) {
    const tl_sweep_value *const column = of->column;
    const char *factor;
    const double scale = scale_of(p, of, &factor);
    const uint32_t n_of_panel = of->truth ? TL_PLOT_MAX_SERIES / 2 : TL_PLOT_MAX_SERIES;
    const uint32_t n_parts = (p->n_lines + n_of_panel - 1) / n_of_panel;
    for (uint32_t part = 0; part < n_parts && p->n_panels < MAX_PANELS; part++) {
        const uint32_t first = p->n_series, end = (part + 1) * n_of_panel;
        for (uint32_t line = part * n_of_panel; line < end && line < p->n_lines; line++) {
            add_line(p, column, line, scale);
            if (of->truth)
                add_line(p, of->truth, line, scale);
        }
        if (p->n_series == first)
            continue;
        char number[32] = "";
        if (n_parts > 1)
            snprintf(number, sizeof number, ", %u of %u", part + 1, n_parts);
        snprintf(p->titles[p->n_panels], TITLE_BYTES, "%s%s", column->name, number);
        snprintf(p->units[p->n_panels], TITLE_BYTES, "%s%s%s%s", column->name,
                 *column->unit && strcmp(column->unit, column->name) != 0 ? ", " : "",
                 strcmp(column->unit, column->name) != 0 ? column->unit : "", factor);
        p->panels[p->n_panels] = (tl_plot_panel){.title = p->titles[p->n_panels],
                                                 .subtitle = p->subtitle,
                                                 .x_label = p->sweep->keys[0].name,
                                                 .y_label = p->units[p->n_panels],
                                                 .series = &p->series[first],
                                                 .n_series = p->n_series - first,
                                                 .x_names = p->sweep->keys[0].values,
                                                 .n_x_names = p->n_x};
        p->n_panels++;
    }
}

static const tl_sweep_value *truth_of(const tl_sweep_columns *columns, const tl_sweep_value *column) {
    for (uint32_t c = 0; c < columns->n; c++) {
        if (columns->items[c]->kind == TL_SWEEP_TRUTH && !strcmp(columns->items[c]->name, column->name))
            return columns->items[c];
    }
    return NULL;
}

tl_status tl_report_sweep_plot(const tl_sweep *sweep, FILE *stream, tl_error *err) {
    tl_sweep_columns columns;
    tl_status status = tl_sweep_columns_new(sweep, &columns, err);
    if (status != TL_OK)
        return status;
    picture *p = calloc(1, sizeof *p);
    if (p) {
        *p = (picture){.sweep = sweep, .n_x = sweep->keys[0].n_values, .n_lines = sweep->n_cells / sweep->keys[0].n_values};
        p->points = calloc(2 * (size_t)sweep->n_cells * MAX_PANELS + 1, sizeof *p->points);
        p->series = calloc(2 * (size_t)p->n_lines * MAX_PANELS + 1, sizeof *p->series);
        p->names = calloc(2 * (size_t)p->n_lines, sizeof *p->names);
    }
    if (!p || !p->points || !p->series || !p->names) {
        status = tl_no_memory(err);
        goto out;
    }
    name_lines(p);
    for (uint32_t c = 0; c < columns.n && p->n_panels < MAX_PANELS; c++) {
        const graph of = {columns.items[c], truth_of(&columns, columns.items[c])};
        if (of.column->kind <= TL_SWEEP_METRIC)
            add_column(p, &of);
    }
    if (p->n_panels == 0) {
        status = tl_fail(err, TL_EINVAL, "there is nothing to draw: no cell of the sweep has a value");
        goto out;
    }
    char description[TITLE_BYTES];
    snprintf(description, sizeof description, "%.120s over %.60s", p->subtitle, sweep->keys[0].name);
    tl_plot_write(p->panels, p->n_panels, description, stream);
    if (fflush(stream) != 0 || ferror(stream))
        status = tl_fail(err, TL_EIO, "the picture of the sweep could not be written in full");
out:
    tl_sweep_columns_done(&columns);
    if (p) {
        free(p->points);
        free(p->series);
        free(p->names);
    }
    free(p);
    return status;
}
