// SPDX-License-Identifier: MIT
// Tables of tenants: device, VMs, contexts. The numbers of the first table are the machine's own; a
// line at the end says that the views add up, which the run has checked. With a monitor, a second
// table shows the blocks of the hardware beside that truth.
#include "report/tenants.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/json.h"
#include "report/csv.h"
#include "report/report.h"

static const char *profile_of(const tl_tenants_counts *counts) { return counts->is_literal ? "LITERAL" : "SAFE"; }

static bool is_empty(const tl_tenants_counts *counts, uint32_t row) {
    for (uint32_t i = 0; i < TL_N_TENANTS_COLUMNS; i++)
        if (tl_tenants_column_value(counts, row, i) != 0)
            return false;
    return counts->rows[row].view.active_cycles == 0;
}

void tl_report_tenants_label(const tl_tenants_view *view, char *ret_text, size_t size) {
    switch (view->kind) {
    case TL_TENANTS_DEVICE: snprintf(ret_text, size, "device"); break;
    case TL_TENANTS_VM: snprintf(ret_text, size, "vm %u %.24s", view->vm, view->name); break;
    case TL_TENANTS_CONTEXT: snprintf(ret_text, size, "  ctx %u.%u %.20s", view->vm, view->context, view->name); break;
    case TL_TENANTS_NO_CONTEXT: snprintf(ret_text, size, "  no context"); break;
    case TL_TENANTS_SWITCHING: snprintf(ret_text, size, "  switching"); break;
    case TL_TENANTS_IDLE: snprintf(ret_text, size, "partition %u without a VM", view->partition); break;
    }
}

typedef struct cell_text {
    char text[TL_NUMBER_BYTES];
} cell_text;

static void put_ends(const tl_tenants_counts *counts, FILE *stream) {
    for (uint32_t r = 0; r < counts->n_rows; r++) {
        const tl_tenants_view *view = &counts->rows[r].view;
        if (view->kind != TL_TENANTS_CONTEXT || (view->reason == TL_END_EXITED && view->status == 0))
            continue;
        fprintf(stream, "ctx %u.%u %s: ", view->vm, view->context, view->name);
        if (view->reason == TL_END_EXITED)
            fprintf(stream, "exited with status %d\n", view->status);
        else if (view->reason == TL_END_NONE)
            fputs("still running\n", stream);
        else
            fprintf(stream, "%s\n", *view->message ? view->message : "killed");
    }
}

// Views are lines, counts are columns.
static void put_text(const tl_tenants_counts *counts, FILE *stream) {
    static const char *const extra[] = {"view", "active", "switches", "late bytes"};
    enum { N_FIRST = 2, N_COLUMNS = TL_N_TENANTS_COLUMNS + 4 };
    cell_text number;
    size_t width[N_COLUMNS] = {0};
    char begin[TL_NUMBER_BYTES], end[TL_NUMBER_BYTES];
    tl_format_grouped(counts->begin_cycle, begin);
    tl_format_grouped(counts->end_cycle, end);
    fprintf(stream, "# %s on %s, profile %s, cycles %s to %s: the machine's own counts\n", counts->file, counts->machine,
            profile_of(counts), begin, end);
    for (int is_printed = 0; is_printed < 2; is_printed++) {
        for (uint32_t r = 0; r <= counts->n_rows; r++) {
            bool is_head = r == 0;
            if (!is_head && counts->rows[r - 1].view.kind != TL_TENANTS_DEVICE && counts->rows[r - 1].view.kind != TL_TENANTS_VM &&
                counts->rows[r - 1].view.kind != TL_TENANTS_CONTEXT && is_empty(counts, r - 1))
                continue;
            const tl_tenants_view *view = is_head ? NULL : &counts->rows[r - 1].view;
            for (uint32_t i = 0; i < N_COLUMNS; i++) {
                char label[64];
                const char *text = label;
                bool is_count = i >= N_FIRST && i < N_FIRST + TL_N_TENANTS_COLUMNS;
                uint32_t last = i - N_FIRST - TL_N_TENANTS_COLUMNS + N_FIRST;
                if (is_head)
                    text = is_count ? tl_tenants_columns[i - N_FIRST].name : extra[i < N_FIRST ? i : last];
                else if (i == 0)
                    tl_report_tenants_label(view, label, sizeof label);
                else
                    text = tl_format_grouped(is_count          ? tl_tenants_column_value(counts, r - 1, i - N_FIRST)
                                             : i == 1          ? view->active_cycles
                                             : last == N_FIRST ? view->n_switches
                                                               : view->late_bytes,
                                             number.text);
                size_t n = strlen(text);
                width[i] = n > width[i] ? n : width[i];
                if (is_printed && i == 0)
                    fprintf(stream, "%-*s", (int)width[i], text);
                else if (is_printed)
                    fprintf(stream, "  %*s", (int)width[i], text);
            }
            if (is_printed)
                fputc('\n', stream);
        }
    }
    put_ends(counts, stream);
    fputs("# Every signal of every view adds up: contexts, no context and switching to the VM; VMs and idle partitions to the device.\n",
          stream);
    if (counts->monitor)
        tl_report_tenants_blocks(counts, stream);
}

static void put_signals(const tl_tenants_counts *counts, const tl_probe *units, const uint64_t *cells, const char *prefix, tl_json *json) {
    (void)counts;
    for (uint32_t u = 0; u < units->n_units; u++)
        for (uint32_t s = 0; s < units->units[u].type->n_signals; s++) {
            char path[96];
            uint64_t value = cells[units->units[u].first_cell + s];
            if (value == 0)
                continue;
            snprintf(path, sizeof path, "%s%s.%s", prefix, units->units[u].path, units->units[u].type->signals[s].name);
            tl_json_u64(json, path, value);
        }
}

static void put_json_flags(const char *key, uint32_t flags, tl_json *json) {
    tl_json_begin_array(json, key);
    for (uint32_t bit = 0; bit < TL_N_TENANTS_FLAGS; bit++)
        if (flags >> bit & 1)
            tl_json_string(json, NULL, tl_tenants_flag_name(1u << bit));
    tl_json_end_array(json);
}

static void put_json_view(const tl_tenants_counts *counts, uint32_t r, tl_json *json) {
    const tl_tenants_row *row = &counts->rows[r];
    const tl_tenants_view *view = &row->view;
    bool is_device = view->kind == TL_TENANTS_DEVICE;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "view");
    tl_json_string(json, "kind", "truth");
    if (counts->n_interval > 0)
        tl_json_u64(json, "interval", counts->n_interval);
    tl_json_string(json, "view", tl_tenants_kind_name(view->kind));
    if (!is_device)
        tl_json_u64(json, "partition", view->partition);
    if (view->vm > 0)
        tl_json_u64(json, "vm", view->vm);
    if (view->kind == TL_TENANTS_CONTEXT)
        tl_json_u64(json, "context", view->context);
    if (*view->name)
        tl_json_string(json, "name", view->name);
    if (view->kind == TL_TENANTS_CONTEXT) {
        tl_json_string(json, "program", view->program);
        tl_json_string(json, "end", view->reason == TL_END_NONE ? NULL : tl_end_reason_name(view->reason));
        tl_json_i64(json, "status", view->status);
        tl_json_i64(json, "signal", view->signal);
        tl_json_string(json, "message", *view->message ? view->message : NULL);
    }
    tl_json_u64(json, "active_cycles", view->active_cycles);
    tl_json_u64(json, "switches", view->n_switches);
    tl_json_u64(json, "late_bursts", view->late_bursts);
    tl_json_u64(json, "late_bytes", view->late_bytes);
    if (view->switch_max_cycles > 0) {
        tl_json_u64(json, "switch_min_cycles", view->switch_min_cycles);
        tl_json_u64(json, "switch_median_cycles", view->switch_median_cycles);
        tl_json_u64(json, "switch_max_cycles", view->switch_max_cycles);
    }
    tl_json_begin_object(json, "counts");
    for (uint32_t i = 0; i < TL_N_TENANTS_COLUMNS; i++)
        tl_json_u64(json, tl_tenants_columns[i].name, tl_tenants_column_value(counts, r, i));
    tl_json_end_object(json);
    tl_json_begin_object(json, "signals"); // those that are not 0
    for (uint32_t p = 0; p < (is_device ? counts->n_partitions : 1); p++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "p%u.", is_device ? p : view->partition);
        put_signals(counts, &counts->units, row->cells + (size_t)p * counts->units.n_cells, prefix, json);
    }
    put_signals(counts, &counts->shared_units, row->shared, "", json);
    tl_json_end_object(json);
    tl_json_end_object(json);
}

static void put_json_block(const tl_tenants_counts *counts, uint32_t r, tl_json *json) {
    const tl_tenants_row *row = &counts->rows[r];
    const tl_tenants_view *view = &row->view;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "block");
    tl_json_string(json, "kind", "pmu");
    tl_json_string(json, "monitor", counts->monitor);
    if (counts->n_interval > 0)
        tl_json_u64(json, "interval", counts->n_interval);
    tl_json_string(json, "view", tl_tenants_kind_name(view->kind));
    if (view->vm > 0)
        tl_json_u64(json, "vm", view->vm);
    if (view->kind == TL_TENANTS_CONTEXT)
        tl_json_u64(json, "context", view->context);
    tl_json_u64(json, "gen", row->block.gen);
    tl_json_u64(json, "commit_cycle", row->block.commit_cycle);
    tl_json_u64(json, "active_cycles", row->block.active_cycles);
    put_json_flags("flags", row->block.flags, json);
    tl_json_begin_object(json, "events");
    for (uint32_t i = 0; i < counts->n_events; i++) {
        const tl_tenants_block_value *value = &row->values[i];
        if (counts->events[i].is_device && view->kind != TL_TENANTS_DEVICE)
            continue;
        tl_json_begin_object(json, counts->events[i].name);
        if (!(value->flags & TL_TENANTS_UNAVAILABLE)) {
            tl_json_u64(json, "block", value->count);
            tl_json_u64(json, "late", value->late);
            tl_json_u64(json, "truth", value->truth);
            tl_json_u64(json, "remainder", value->remainder);
            tl_json_i64(json, "error", value->error);
        }
        put_json_flags("flags", value->flags, json);
        tl_json_end_object(json);
    }
    tl_json_end_object(json);
    tl_json_end_object(json);
}

static tl_status put_json(const tl_tenants_counts *counts, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    if (counts->n_interval <= 1) {
        tl_json_begin_object(&json, NULL);
        tl_json_string(&json, "type", "header");
        tl_json_string(&json, "schema", "tally.tenants/1");
        tl_json_string(&json, "file", counts->file);
        tl_json_string(&json, "machine", counts->machine);
        tl_json_string(&json, "profile", profile_of(counts));
        if (counts->monitor)
            tl_json_string(&json, "monitor", counts->monitor);
        tl_json_u64(&json, "partitions", counts->n_partitions);
        tl_json_u64(&json, "clock_hz", counts->clock_hz);
        tl_json_string(&json, "engine", counts->engine);
        tl_json_end_object(&json);
    }
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", counts->n_interval > 0 ? "interval" : "run");
    if (counts->n_interval > 0)
        tl_json_u64(&json, "interval", counts->n_interval);
    tl_json_u64(&json, "begin_cycle", counts->begin_cycle);
    tl_json_u64(&json, "end_cycle", counts->end_cycle);
    tl_json_bool(&json, "complete", counts->is_complete);
    tl_json_end_object(&json);
    for (uint32_t r = 0; r < counts->n_rows; r++)
        put_json_view(counts, r, &json);
    for (uint32_t r = 0; r < counts->n_rows; r++)
        if (counts->rows[r].values)
            put_json_block(counts, r, &json);
    return tl_json_flush(&json, err);
}

// Blocks follow the truth in its line; a view without a block has empty fields.
static void put_csv_heads(const tl_tenants_counts *counts, FILE *stream) {
    if (counts->monitor)
        fputs(",block_gen,block_commit_cycle,block_active_cycles,block_flags", stream);
    for (uint32_t i = 0; i < counts->n_events; i++)
        fprintf(stream, ",%s,%s error", counts->events[i].name, counts->events[i].name);
}

static void put_csv_block(const tl_tenants_counts *counts, const tl_tenants_row *row, FILE *stream) {
    if (!counts->monitor)
        return;
    if (row->values) {
        fprintf(stream, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->block.gen, row->block.commit_cycle, row->block.active_cycles);
        const char *gap = "";
        for (uint32_t bit = 0; bit < TL_N_TENANTS_FLAGS; bit++) {
            if (!(row->block.flags >> bit & 1))
                continue;
            fprintf(stream, "%s%s", gap, tl_tenants_flag_name(1u << bit));
            gap = " ";
        }
    } else {
        fputs(",,,,", stream);
    }
    for (uint32_t i = 0; i < counts->n_events; i++) {
        const tl_tenants_block_value *value = row->values ? &row->values[i] : NULL;
        if (value && !(value->flags & TL_TENANTS_UNAVAILABLE))
            fprintf(stream, ",%" PRIu64 ",%" PRId64, value->count, value->error);
        else
            fputs(",,", stream);
    }
}

static void put_csv(const tl_tenants_counts *counts, FILE *stream) {
    if (counts->n_interval <= 1) {
        fputs("interval,begin_cycle,end_cycle,view,partition,vm,context,name,active_cycles,switches,late_bytes", stream);
        for (uint32_t i = 0; i < TL_N_TENANTS_COLUMNS; i++)
            fprintf(stream, ",%s", tl_tenants_columns[i].name);
        put_csv_heads(counts, stream);
        fputc('\n', stream);
    }
    for (uint32_t r = 0; r < counts->n_rows; r++) {
        const tl_tenants_view *view = &counts->rows[r].view;
        if (counts->n_interval > 0)
            fprintf(stream, "%" PRIu64, counts->n_interval);
        fprintf(stream, ",%" PRIu64 ",%" PRIu64 ",%s,", counts->begin_cycle, counts->end_cycle, tl_tenants_kind_name(view->kind));
        if (view->kind != TL_TENANTS_DEVICE)
            fprintf(stream, "%u", view->partition);
        fputc(',', stream);
        if (view->vm > 0)
            fprintf(stream, "%u", view->vm);
        fputc(',', stream);
        if (view->kind == TL_TENANTS_CONTEXT)
            fprintf(stream, "%u", view->context);
        fputc(',', stream);
        tl_csv_put_quoted(stream, view->name);
        fprintf(stream, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, view->active_cycles, view->n_switches, view->late_bytes);
        for (uint32_t i = 0; i < TL_N_TENANTS_COLUMNS; i++)
            fprintf(stream, ",%" PRIu64, tl_tenants_column_value(counts, r, i));
        put_csv_block(counts, &counts->rows[r], stream);
        fputc('\n', stream);
    }
}

tl_status tl_report_tenants(const tl_tenants_counts *counts, tl_format format, FILE *stream, tl_error *err) {
    if (format == TL_FORMAT_JSON)
        return put_json(counts, stream, err);
    if (format == TL_FORMAT_CSV)
        put_csv(counts, stream);
    else if (format == TL_FORMAT_TEXT)
        put_text(counts, stream);
    else
        return tl_fail(err, TL_EINVAL, "counts of tenants are text, JSON or CSV");
    return ferror(stream) ? tl_fail(err, TL_EIO, "the report could not be written") : TL_OK;
}
