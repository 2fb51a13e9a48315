// SPDX-License-Identifier: MIT
// Blocks of the monitor beside the truth, as text: a line for each event, two columns for each
// view. The device and the VMs come first, then the contexts of each VM. A table holds a few views,
// because its lines shall fit a screen.
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "report/report.h"
#include "report/tenants.h"

// Of a table; the last column is the error.
enum { MAX_VIEWS = 4, N_SIDES = 2, MAX_COLUMNS = N_SIDES * MAX_VIEWS + 1 };

typedef struct table {
    const tl_tenants_counts *counts;
    const tl_tenants_row *views[MAX_VIEWS];
    uint32_t n_views;
    size_t event_width, width[MAX_COLUMNS];
} table;

static bool is_counted(const tl_tenants_block_value *value) { return !(value->flags & TL_TENANTS_UNAVAILABLE); }

static bool is_shown(const table *t, uint32_t event) {
    bool is_one = t->counts->shows_all;
    for (uint32_t v = 0; v < t->n_views; v++) {
        const tl_tenants_block_value *value = &t->views[v]->values[event];
        is_one |= is_counted(value) && (value->count | value->truth) != 0;
    }
    return is_one;
}

// The error of a line: that of the view where it is largest.
static int64_t error_of(const table *t, uint32_t event) {
    int64_t largest = 0;
    for (uint32_t v = 0; v < t->n_views; v++) {
        const int64_t error = t->views[v]->values[event].error;
        const uint64_t size = error < 0 ? -(uint64_t)error : (uint64_t)error;
        if (size > (largest < 0 ? -(uint64_t)largest : (uint64_t)largest))
            largest = error;
    }
    return largest;
}

static void put_signed(int64_t value, char text[TL_NUMBER_BYTES + 1]) {
    text[0] = '-';
    tl_format_grouped(value < 0 ? -(uint64_t)value : (uint64_t)value, text + (value < 0));
}

static void put_cell(const table *t, uint32_t event, uint32_t column, char text[TL_NUMBER_BYTES + 1]) {
    if (column == N_SIDES * t->n_views) {
        put_signed(error_of(t, event), text);
        return;
    }
    const tl_tenants_block_value *value = &t->views[column / N_SIDES]->values[event];
    if (!is_counted(value)) {
        strcpy(text, "-");
        return;
    }
    tl_format_grouped(column % N_SIDES == 0 ? value->count + value->remainder : value->truth, text);
}

static const char *head_of(const table *t, uint32_t column) {
    return column == N_SIDES * t->n_views ? "error" : column % N_SIDES == 0 ? "block" : "truth";
}

static void name_of(const tl_tenants_row *row, char *ret_text, size_t size) {
    char label[64];
    tl_report_tenants_label(&row->view, label, sizeof label);
    snprintf(ret_text, size, "%s", label + strspn(label, " "));
}

static void measure(table *t) {
    char text[TL_NUMBER_BYTES + 1], name[64];
    t->event_width = strlen("event");
    for (uint32_t c = 0; c <= N_SIDES * t->n_views; c++)
        t->width[c] = strlen(head_of(t, c));
    for (uint32_t e = 0; e < t->counts->n_events; e++) {
        if (!is_shown(t, e))
            continue;
        const size_t n = strlen(t->counts->events[e].name);
        t->event_width = n > t->event_width ? n : t->event_width;
        for (uint32_t c = 0; c <= N_SIDES * t->n_views; c++) {
            put_cell(t, e, c, text);
            t->width[c] = strlen(text) > t->width[c] ? strlen(text) : t->width[c];
        }
    }
    for (uint32_t v = 0; v < t->n_views; v++) { // the name stands above both columns
        name_of(t->views[v], name, sizeof name);
        const size_t has = t->width[N_SIDES * v] + 2 + t->width[N_SIDES * v + 1];
        t->width[N_SIDES * v] += strlen(name) > has ? strlen(name) - has : 0;
    }
}

static void put_table(table *t, FILE *stream) {
    char text[TL_NUMBER_BYTES + 1], name[64];
    measure(t);
    fprintf(stream, "%-*s", (int)t->event_width, "");
    for (uint32_t v = 0; v < t->n_views; v++) {
        name_of(t->views[v], name, sizeof name);
        fprintf(stream, "  %*s", (int)(t->width[N_SIDES * v] + 2 + t->width[N_SIDES * v + 1]), name);
    }
    fprintf(stream, "\n%-*s", (int)t->event_width, "event");
    for (uint32_t c = 0; c <= N_SIDES * t->n_views; c++)
        fprintf(stream, "  %*s", (int)t->width[c], head_of(t, c));
    fputc('\n', stream);
    for (uint32_t e = 0; e < t->counts->n_events; e++) {
        if (!is_shown(t, e))
            continue;
        fprintf(stream, "%-*s", (int)t->event_width, t->counts->events[e].name);
        for (uint32_t c = 0; c <= N_SIDES * t->n_views; c++) {
            put_cell(t, e, c, text);
            fprintf(stream, "  %*s", (int)t->width[c], text);
        }
        fputc('\n', stream);
    }
    t->n_views = 0;
}

static void add_view(table *t, const tl_tenants_row *row, FILE *stream) {
    if (t->n_views == MAX_VIEWS)
        put_table(t, stream);
    t->views[t->n_views++] = row;
}

static void put_tables(const tl_tenants_counts *counts, FILE *stream) {
    table t = {.counts = counts};
    for (uint32_t r = 0; r < counts->n_rows; r++)
        if (counts->rows[r].values && counts->rows[r].view.kind != TL_TENANTS_CONTEXT)
            add_view(&t, &counts->rows[r], stream);
    for (uint32_t r = 0; r < counts->n_rows; r++) {
        const tl_tenants_row *row = &counts->rows[r];
        if (!row->values || row->view.kind != TL_TENANTS_CONTEXT)
            continue;
        if (t.n_views > 0 && t.views[0]->view.vm != row->view.vm)
            put_table(&t, stream);
        add_view(&t, row, stream);
    }
    if (t.n_views > 0)
        put_table(&t, stream);
}

//  ---- generations, ages and flags of the blocks

static void put_flags(const tl_tenants_row *row, FILE *stream) {
    const char *gap = "";
    if (row->block.flags == 0)
        fputc('-', stream);
    for (uint32_t bit = 0; bit < TL_N_TENANTS_FLAGS; bit++) {
        if (!(row->block.flags >> bit & 1))
            continue;
        fprintf(stream, "%s%s", gap, tl_tenants_flag_name(1u << bit));
        gap = ", ";
    }
}

static void put_blocks(const tl_tenants_counts *counts, FILE *stream) {
    enum { N_NUMBERS = 4 };
    static const char *const heads[N_NUMBERS] = {"gen", "committed", "age", "target for"};
    size_t name_width = strlen("block of"), width[N_NUMBERS];
    for (uint32_t k = 0; k < N_NUMBERS; k++)
        width[k] = strlen(heads[k]);
    for (int is_printed = 0; is_printed < 2; is_printed++) {
        if (is_printed)
            fprintf(stream, "%-*s  %*s  %*s  %*s  %*s  flags\n", (int)name_width, "block of", (int)width[0], heads[0], (int)width[1],
                    heads[1], (int)width[2], heads[2], (int)width[3], heads[3]);
        for (uint32_t r = 0; r < counts->n_rows; r++) {
            const tl_tenants_row *row = &counts->rows[r];
            if (!row->values)
                continue;
            const bool is_behind = !counts->is_complete && row->block.commit_cycle < counts->end_cycle;
            const uint64_t numbers[N_NUMBERS] = {row->block.gen, row->block.commit_cycle,
                                                 is_behind ? counts->end_cycle - row->block.commit_cycle : 0, row->block.active_cycles};
            char text[N_NUMBERS][TL_NUMBER_BYTES], name[64];
            name_of(row, name, sizeof name);
            name_width = strlen(name) > name_width ? strlen(name) : name_width;
            if (is_printed)
                fprintf(stream, "%-*s", (int)name_width, name);
            for (uint32_t k = 0; k < N_NUMBERS; k++) {
                tl_format_grouped(numbers[k], text[k]);
                width[k] = strlen(text[k]) > width[k] ? strlen(text[k]) : width[k];
                if (is_printed)
                    fprintf(stream, "  %*s", (int)width[k], text[k]);
            }
            if (!is_printed)
                continue;
            fputs("  ", stream);
            put_flags(row, stream);
            fputc('\n', stream);
        }
    }
}

static void put_switches(const tl_tenants_counts *counts, FILE *stream) {
    for (uint32_t r = 0; r < counts->n_rows; r++) {
        const tl_tenants_view *view = &counts->rows[r].view;
        char text[3][TL_NUMBER_BYTES];
        if (view->kind != TL_TENANTS_VM || view->switch_max_cycles == 0)
            continue;
        tl_format_grouped(view->switch_min_cycles, text[0]);
        tl_format_grouped(view->switch_median_cycles, text[1]);
        tl_format_grouped(view->switch_max_cycles, text[2]);
        fprintf(stream, "# Switches of vm %u %s took %s to %s cycles, median %s.\n", view->vm, view->name, text[0], text[2], text[1]);
    }
}

void tl_report_tenants_blocks(const tl_tenants_counts *counts, FILE *stream) {
    uint64_t n_equal = 0, n_different = 0;
    bool has_remainders = false;
    for (uint32_t r = 0; r < counts->n_rows; r++)
        for (uint32_t i = 0; counts->rows[r].values && i < counts->n_events; i++) {
            const tl_tenants_block_value *value = &counts->rows[r].values[i];
            n_equal += is_counted(value) && value->error == 0;
            n_different += is_counted(value) && value->error != 0;
            has_remainders |= value->remainder != 0;
        }
    fprintf(stream, "# Blocks of monitor %s, beside the truth%s\n", counts->monitor,
            counts->is_complete ? "" : "; an error below 0 is on its way");
    put_blocks(counts, stream);
    put_tables(counts, stream);
    put_switches(counts, stream);
    if (has_remainders)
        fputs("# Column block includes units below one pulse, which the units keep; -j and --csv have them apart.\n", stream);
    fprintf(stream, "# Counts in blocks: %" PRIu64 " equal the truth, %" PRIu64 " differ.%s\n", n_equal, n_different,
            counts->shows_all ? "" : " Events that are 0 in all views of a table are not shown; --all shows them.");
}
