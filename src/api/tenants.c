// SPDX-License-Identifier: MIT
// tally/tenants.h over session/tenants.h.
#include <tally/tenants.h>

#include "api/fill.h"
#include "report/cost.h"
#include "report/tenants.h"
#include "session/cost_maker.h"
#include "session/tenants.h"

TL_API void tl_tenants_options_init(tl_tenants_options *ret_options) { tl_tenants_init(ret_options); }

TL_API tl_status tl_tenants_new(const tl_tenants_options *options, tl_tenants **ret_tenants, tl_error *err) {
    return tl_tenants_open(options, ret_tenants, err);
}

TL_API void tl_tenants_free(tl_tenants *tenants) { tl_tenants_close(tenants); }

TL_API tl_status tl_tenants_advance(tl_tenants *tenants, tl_run_state *ret_state, tl_error *err) {
    return tl_tenants_run(tenants, ret_state, err);
}

TL_API void tl_tenants_serve(tl_tenants *tenants) { tl_tenants_serve_oob(tenants); }

TL_API void tl_tenants_stop(tl_tenants *tenants, tl_end_reason reason) { tl_tenants_end(tenants, reason); }

TL_API tl_status tl_tenants_counts_new(tl_tenants *tenants, tl_tenants_counts **ret_counts, tl_error *err) {
    return tl_tenants_count(tenants, false, ret_counts, err);
}

TL_API tl_status tl_tenants_interval_new(tl_tenants *tenants, tl_tenants_counts **ret_counts, tl_error *err) {
    return tl_tenants_count(tenants, true, ret_counts, err);
}

TL_API void tl_tenants_counts_show_all(tl_tenants_counts *counts) { counts->shows_all = true; }

TL_API void tl_tenants_counts_free(tl_tenants_counts *counts) { tl_tenants_release(counts); }

TL_API uint32_t tl_tenants_n_views(const tl_tenants_counts *counts) { return counts->n_rows; }

TL_API void tl_tenants_view_at(const tl_tenants_counts *counts, uint32_t index, tl_tenants_view *ret_view) {
    static const tl_tenants_view none = {.name = "", .program = "", .message = ""};
    tl_api_fill(ret_view, index < counts->n_rows ? &counts->rows[index].view : &none, sizeof none);
}

TL_API uint32_t tl_tenants_n_columns(void) { return TL_N_TENANTS_COLUMNS; }

TL_API void tl_tenants_column_at(uint32_t index, tl_tenants_column *ret_column) {
    static const tl_tenants_column none = {.name = "", .meaning = ""};
    tl_api_fill(ret_column, index < TL_N_TENANTS_COLUMNS ? &tl_tenants_columns[index] : &none, sizeof none);
}

TL_API uint64_t tl_tenants_value(const tl_tenants_counts *counts, uint32_t view, uint32_t column) {
    return view < counts->n_rows ? tl_tenants_column_value(counts, view, column) : 0;
}

TL_API tl_status tl_tenants_find(const tl_tenants_counts *counts, uint32_t view, const char *path, uint64_t *ret_value, tl_error *err) {
    if (view >= counts->n_rows)
        return tl_fail(err, TL_ENOENT, "there is no view %u", view);
    return tl_tenants_signal(counts, view, path, ret_value, err);
}

TL_API uint32_t tl_tenants_n_events(const tl_tenants_counts *counts) { return counts->n_events; }

TL_API void tl_tenants_event_at(const tl_tenants_counts *counts, uint32_t index, tl_tenants_event *ret_event) {
    static const tl_tenants_event none = {.name = ""};
    tl_api_fill(ret_event, index < counts->n_events ? &counts->events[index] : &none, sizeof none);
}

TL_API bool tl_tenants_block_at(const tl_tenants_counts *counts, uint32_t view, tl_tenants_block *ret_block) {
    static const tl_tenants_block none = {.flags = TL_TENANTS_UNAVAILABLE};
    const bool has_block = view < counts->n_rows && counts->rows[view].values;
    tl_api_fill(ret_block, has_block ? &counts->rows[view].block : &none, sizeof none);
    return has_block;
}

TL_API bool tl_tenants_block_value_at(const tl_tenants_counts *counts, uint32_t view, uint32_t event, tl_tenants_block_value *ret_value) {
    static const tl_tenants_block_value none = {.flags = TL_TENANTS_UNAVAILABLE};
    const bool has_value = view < counts->n_rows && counts->rows[view].values && event < counts->n_events;
    tl_api_fill(ret_value, has_value ? &counts->rows[view].values[event] : &none, sizeof none);
    return has_value;
}

TL_API tl_status tl_tenants_counts_write(const tl_tenants_counts *counts, tl_format format, FILE *stream, tl_error *err) {
    return tl_report_tenants(counts, format, stream, err);
}

TL_API tl_status tl_tenants_cost_write(tl_tenants *tenants, tl_describe_format format, FILE *stream, tl_error *err) {
    tl_cost *cost;
    tl_status status = tl_tenants_cost_new(tenants, &cost, err);
    if (status != TL_OK)
        return status;
    status = tl_report_run_cost(cost, format, stream, err);
    tl_cost_free(cost);
    return status;
}
