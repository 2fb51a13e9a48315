// SPDX-License-Identifier: MIT
// tally describe pmu NAME --cost: part by part, beside other designs, then for chips of other
// sizes.
#include "report/cost.h"

#include "base/json.h"
#include "report/plot.h"
#include "report/report.h"

enum { MAX_POINTS = 32 };

static const char *number(uint64_t value, char text[TL_NUMBER_BYTES]) { return tl_format_grouped(value, text); }

static void put_title(const tl_cost *cost, const char *mark, FILE *stream) {
    fprintf(stream, "%s%s of %s (%u hart%s): %u counters in %u %s%s%s\n\n%s", mark, cost->title, cost->machine, cost->n_harts,
            cost->n_harts == 1 ? "" : "s", cost->n_counters, cost->n_holders, cost->holders, cost->hpc ? ", with " : "",
            cost->hpc ? cost->hpc : "", *mark ? "" : "  ");
    fprintf(stream, "%s%s%s\n\n", TL_COST_SENTENCE, cost->remark ? " " : "", cost->remark ? cost->remark : "");
}

static const char *registers_of(const tl_cost_design *design) { return design->has_window ? "bytes" : "CSRs"; }

static uint64_t total(const tl_cost *cost, bool is_wires) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cost->n_parts; i++)
        sum += cost->parts[i].is_wires == is_wires ? cost->parts[i].sum : 0;
    return sum;
}

static void put_text(const tl_cost *cost, FILE *stream) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES];
    put_title(cost, "", stream);
    for (int wires = 0; wires < 2; wires++) {
        fprintf(stream, "  %-30s %12s %6s %14s\n", wires ? "Wires" : "State bits", "of one", "times", "sum");
        for (uint32_t i = 0; i < cost->n_parts; i++)
            if (cost->parts[i].is_wires == (wires != 0))
                fprintf(stream, "  %-30s %12s %6s %14s\n", cost->parts[i].name, number(cost->parts[i].each, a), number(cost->parts[i].n, b),
                        number(cost->parts[i].sum, c));
        fprintf(stream, "  %-30s %12s %6s %14s\n\n", "all", "", "", number(total(cost, wires != 0), a));
    }
    fprintf(stream, "  %-30s %14s %12s %14s %14s %9s\n", "The same counters", "state bits", "wires", "CSRs of a hart", "address bytes",
            "at once");
    for (uint32_t i = 0; i < cost->n_designs; i++) {
        const tl_cost_design *row = &cost->designs[i];
        fprintf(stream, "  %-30s %14s %12s", row->name, number(row->state_bits, a), number(row->wires, b));
        fprintf(stream, " %14s %14s %9s\n", number(row->n_csrs, a), number(row->address_bytes, c), number(row->n_at_once, d));
    }
    fprintf(stream, "\n  %-16s", "Chips of");
    for (uint32_t k = 0; k < cost->n_kinds; k++)
        fprintf(stream, " %34s", cost->designs[k].name);
    fprintf(stream, "\n  %5s %10s", "units", "counters");
    for (uint32_t k = 0; k < cost->n_kinds; k++)
        fprintf(stream, " %14s %12s %6s", "state bits", "wires", registers_of(&cost->designs[k]));
    fputc('\n', stream);
    for (uint32_t i = 0; i < cost->n_sizes; i++) {
        const tl_cost_size *size = &cost->sizes[i];
        fprintf(stream, "  %5u %10u", size->n_units, size->n_counters);
        for (uint32_t k = 0; k < cost->n_kinds; k++) {
            const tl_cost_design *row = &size->designs[k];
            fprintf(stream, " %14s %12s %6s", number(row->state_bits, a), number(row->wires, b),
                    number(row->has_window ? row->address_bytes : row->n_csrs, c));
        }
        fputc('\n', stream);
    }
}

static void put_markdown(const tl_cost *cost, FILE *stream) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES], e[TL_NUMBER_BYTES];
    put_title(cost, "# ", stream);
    fputs("| part | bits or wires of one | times | state bits | wires |\n|---|--:|--:|--:|--:|\n", stream);
    for (uint32_t i = 0; i < cost->n_parts; i++) {
        const tl_cost_part *part = &cost->parts[i];
        fprintf(stream, "| %s | %s | %s | %s | %s |\n", part->name, number(part->each, a), number(part->n, b),
                part->is_wires ? "" : number(part->sum, c), part->is_wires ? number(part->sum, d) : "");
    }
    fprintf(stream, "| all | | | %s | %s |\n", number(total(cost, false), a), number(total(cost, true), b));
    fputs("\n| the same counters | state bits | wires | CSRs of a hart | bytes of addresses | at once |\n|---|--:|--:|--:|--:|--:|\n",
          stream);
    for (uint32_t i = 0; i < cost->n_designs; i++) {
        const tl_cost_design *row = &cost->designs[i];
        fprintf(stream, "| %s | %s | %s | %s | %s | %s |\n", row->name, number(row->state_bits, a), number(row->wires, b),
                number(row->n_csrs, c), number(row->address_bytes, d), number(row->n_at_once, e));
    }
    fputs("\n| units | counters of each |", stream);
    for (uint32_t k = 0; k < cost->n_kinds; k++)
        fprintf(stream, k == 0 ? " %s: bits | wires |" : " %s: bits | wires | %s |", cost->designs[k].name,
                registers_of(&cost->designs[k]));
    fputs("\n|--:|--:|", stream);
    for (uint32_t k = 0; k < cost->n_kinds; k++)
        fputs(k == 0 ? "--:|--:|" : "--:|--:|--:|", stream);
    fputc('\n', stream);
    for (uint32_t i = 0; i < cost->n_sizes; i++) {
        const tl_cost_size *size = &cost->sizes[i];
        fprintf(stream, "| %u | %u", size->n_units, size->n_counters);
        for (uint32_t k = 0; k < cost->n_kinds; k++) {
            const tl_cost_design *row = &size->designs[k];
            fprintf(stream, " | %s | %s", number(row->state_bits, a), number(row->wires, b));
            if (k > 0) // registers of the design itself are the same on every chip
                fprintf(stream, " | %s", number(row->has_window ? row->address_bytes : row->n_csrs, c));
        }
        fputs(" |\n", stream);
    }
}

static const char *value(const tl_cost_table *table, uint32_t row, uint32_t column, char text[TL_NUMBER_BYTES]) {
    const double v = table->values[row * table->n_columns + column];
    return v < 0 ? "never" : tl_format_fixed(v, table->n_decimals, text);
}

static void put_text_table(const tl_cost_table *table, FILE *stream) {
    char a[TL_NUMBER_BYTES];
    fprintf(stream, "\n  %s\n\n  %-32s", table->title, table->corner);
    for (uint32_t k = 0; k < table->n_columns; k++)
        fprintf(stream, " %12s", table->columns[k]);
    fputc('\n', stream);
    for (uint32_t i = 0; i < table->n_rows; i++) {
        fprintf(stream, "  %-32s", table->rows[i]);
        for (uint32_t k = 0; k < table->n_columns; k++)
            fprintf(stream, " %12s", value(table, i, k, a));
        fputc('\n', stream);
    }
}

static void put_markdown_table(const tl_cost_table *table, FILE *stream) {
    char a[TL_NUMBER_BYTES];
    fprintf(stream, "\n%s\n\n| %s |", table->title, table->corner);
    for (uint32_t k = 0; k < table->n_columns; k++)
        fprintf(stream, " %s |", table->columns[k]);
    fputs("\n|---|", stream);
    for (uint32_t k = 0; k < table->n_columns; k++)
        fputs("--:|", stream);
    fputc('\n', stream);
    for (uint32_t i = 0; i < table->n_rows; i++) {
        fprintf(stream, "| %s |", table->rows[i]);
        for (uint32_t k = 0; k < table->n_columns; k++)
            fprintf(stream, " %s |", value(table, i, k, a));
        fputc('\n', stream);
    }
}

static void put_json_table(const tl_cost_table *table, tl_json *json) {
    tl_json_begin_array(json, table->name);
    for (uint32_t i = 0; i < table->n_rows; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "row", table->rows[i]);
        for (uint32_t k = 0; k < table->n_columns; k++) {
            const double v = table->values[i * table->n_columns + k];
            if (v >= 0) // what never happens has no value
                tl_json_double(json, table->columns[k], v);
        }
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
}

// A panel for each curve, with as many lines as there are colors.
static tl_status put_svg(const tl_cost *cost, FILE *stream, tl_error *err) {
    tl_plot_point points[TL_PLOT_MAX_SERIES][MAX_POINTS];
    tl_plot_series series[TL_PLOT_MAX_SERIES];
    for (uint32_t t = 0; t < cost->n_tables; t++) {
        const tl_cost_table *table = &cost->tables[t];
        if (!table->x)
            continue;
        // A mark takes the place of the last line.
        const uint32_t n_lines = table->mark ? TL_PLOT_MAX_SERIES - 1 : TL_PLOT_MAX_SERIES;
        uint32_t n_series = table->n_columns < n_lines ? table->n_columns : n_lines;
        const uint32_t n_points = table->n_rows < MAX_POINTS ? table->n_rows : MAX_POINTS;
        for (uint32_t k = 0; k < n_series; k++) {
            for (uint32_t i = 0; i < n_points; i++) {
                const double y = table->values[i * table->n_columns + k];
                points[k][i] = (tl_plot_point){.x = table->x[i], .y = y, .low = y, .high = y};
            }
            series[k] = (tl_plot_series){.name = table->columns[k], .points = points[k], .n_points = n_points};
        }
        const tl_plot_point mark = {.x = table->mark_x, .y = table->mark_y, .low = table->mark_y, .high = table->mark_y};
        if (table->mark)
            series[n_series++] = (tl_plot_series){.name = table->mark, .points = &mark, .n_points = 1};
        const tl_plot_panel panel = {.title = cost->title,
                                     .subtitle = table->title,
                                     .x_label = table->corner,
                                     .y_label = table->y_label,
                                     .series = series,
                                     .n_series = n_series,
                                     .has_log_y = true};
        tl_plot_write(&panel, 1, table->title, stream);
        return TL_OK;
    }
    return tl_fail(err, TL_EINVAL, "the cost of this design has no curves; choose format text, md or json");
}

static void put_design(tl_json *json, const tl_cost_design *row) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "design", row->name);
    tl_json_u64(json, "state_bits", row->state_bits);
    tl_json_u64(json, "wires", row->wires);
    tl_json_u64(json, "csrs", row->n_csrs);
    tl_json_u64(json, "address_bytes", row->address_bytes);
    tl_json_u64(json, "at_once", row->n_at_once);
    tl_json_end_object(json);
}

static void put_json(const tl_cost *cost, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "cost");
    tl_json_string(json, "schema", "tally.describe/1");
    tl_json_string(json, "machine", cost->machine);
    tl_json_string(json, "hpc", cost->hpc);
    tl_json_u64(json, "harts", cost->n_harts);
    tl_json_u64(json, "managers", cost->n_holders);
    tl_json_u64(json, "counters", cost->n_counters);
    tl_json_u64(json, "wired_numbers", cost->n_wired);
    tl_json_string(json, "account", TL_COST_SENTENCE);
    tl_json_begin_array(json, "parts");
    for (uint32_t i = 0; i < cost->n_parts; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "part", cost->parts[i].name);
        tl_json_string(json, "unit", cost->parts[i].is_wires ? "wires" : "bits");
        tl_json_u64(json, "each", cost->parts[i].each);
        tl_json_u64(json, "times", cost->parts[i].n);
        tl_json_u64(json, "sum", cost->parts[i].sum);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_begin_array(json, "designs");
    for (uint32_t i = 0; i < cost->n_designs; i++)
        put_design(json, &cost->designs[i]);
    tl_json_end_array(json);
    tl_json_begin_array(json, "sizes");
    for (uint32_t i = 0; i < cost->n_sizes; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_u64(json, "units", cost->sizes[i].n_units);
        tl_json_u64(json, "counters", cost->sizes[i].n_counters);
        tl_json_begin_array(json, "designs");
        for (uint32_t k = 0; k < cost->n_kinds; k++)
            put_design(json, &cost->sizes[i].designs[k]);
        tl_json_end_array(json);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    for (uint32_t i = 0; i < cost->n_tables; i++)
        put_json_table(&cost->tables[i], json);
    tl_json_end_object(json);
}

static tl_status finish(tl_status status, tl_json *json, FILE *stream, tl_error *err) {
    if (status == TL_OK)
        status = tl_json_flush(json, err);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the account could not be written in full");
    return status;
}

tl_status tl_report_cost(const tl_cost *cost, tl_describe_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_status status = TL_OK;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    switch (format) {
    case TL_DESCRIBE_TEXT:
        put_text(cost, stream);
        for (uint32_t i = 0; i < cost->n_tables; i++)
            put_text_table(&cost->tables[i], stream);
        break;
    case TL_DESCRIBE_MARKDOWN:
        put_markdown(cost, stream);
        for (uint32_t i = 0; i < cost->n_tables; i++)
            put_markdown_table(&cost->tables[i], stream);
        break;
    case TL_DESCRIBE_JSON: put_json(cost, &json); break;
    case TL_DESCRIBE_SVG: status = put_svg(cost, stream, err); break;
    }
    return finish(status, &json, stream, err);
}

// ---- a measured run: tally tenants --cost

static void put_run_title(const tl_cost *cost, const char *mark, FILE *stream) {
    fprintf(stream, "%s%s of %s in this run: %u counters in %u %s\n\n%s%s\n", mark, cost->title, cost->machine, cost->n_counters,
            cost->n_holders, cost->holders, *mark ? "" : "  ", cost->remark);
}

static void put_run_json(const tl_cost *cost, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "cost");
    tl_json_string(json, "machine", cost->machine);
    tl_json_u64(json, "units", cost->n_holders);
    tl_json_u64(json, "counters", cost->n_counters);
    tl_json_string(json, "remark", cost->remark);
    for (uint32_t i = 0; i < cost->n_tables; i++) {
        const tl_cost_table *table = &cost->tables[i];
        put_json_table(table, json);
        if (!table->mark)
            continue;
        tl_json_begin_object(json, "point");
        tl_json_double(json, "events_per_million", table->mark_x);
        tl_json_double(json, "energy", table->mark_y);
        tl_json_end_object(json);
    }
    tl_json_end_object(json);
}

tl_status tl_report_run_cost(const tl_cost *cost, tl_describe_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_status status = TL_OK;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    switch (format) {
    case TL_DESCRIBE_TEXT:
    case TL_DESCRIBE_MARKDOWN:
        put_run_title(cost, format == TL_DESCRIBE_TEXT ? "" : "# ", stream);
        for (uint32_t i = 0; i < cost->n_tables; i++)
            (format == TL_DESCRIBE_TEXT ? put_text_table : put_markdown_table)(&cost->tables[i], stream);
        break;
    case TL_DESCRIBE_JSON: put_run_json(cost, &json); break;
    case TL_DESCRIBE_SVG: status = put_svg(cost, stream, err); break;
    }
    return finish(status, &json, stream, err);
}
