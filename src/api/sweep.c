// SPDX-License-Identifier: MIT
// tally/sweep.h over session/sweep.h, result/sweep.h and report/sweep.h.
#include <tally/sweep.h>

#include "api/fill.h"
#include "report/sweep.h"
#include "session/sweep.h"

TL_API tl_status tl_sweep_new(const tl_run_options *options, const char *const *varies, tl_sweep **ret_sweep, tl_error *err) {
    return tl_sweep_plan(options, varies, ret_sweep, err);
}

TL_API uint32_t tl_sweep_n_cells(const tl_sweep *sweep) { return sweep->n_cells; }

TL_API void tl_sweep_cell_at(const tl_sweep *sweep, uint32_t index, tl_sweep_cell *ret_cell) {
    static const tl_sweep_row none = {.title = "", .name = "", .state = TL_SWEEP_FAILED, .reason = "no such cell"};
    const tl_sweep_row *row = index < sweep->n_cells ? &sweep->cells[index] : &none;
    const tl_sweep_cell cell = {.title = row->title, .name = row->name, .state = row->state, .reason = row->reason};
    tl_api_fill(ret_cell, &cell, sizeof cell);
}

TL_API void tl_sweep_cell_options(const tl_sweep *sweep, uint32_t index, tl_run_options *ret_options) {
    tl_sweep_fill_options(sweep, index, ret_options);
}

TL_API tl_status tl_sweep_take(tl_sweep *sweep, uint32_t index, const tl_result *result, tl_error *err) {
    return index < sweep->n_cells ? tl_sweep_put(sweep, index, result, err) : tl_fail(err, TL_EINVAL, "the sweep has no cell %u", index);
}

TL_API void tl_sweep_fail(tl_sweep *sweep, uint32_t index, const char *reason) {
    if (index < sweep->n_cells)
        tl_sweep_put_failure(sweep, index, reason);
}

TL_API tl_status tl_sweep_write(const tl_sweep *sweep, tl_sweep_format format, FILE *stream, tl_error *err) {
    return tl_report_sweep(sweep, format, stream, err);
}

TL_API tl_status tl_sweep_plot(const tl_sweep *sweep, FILE *stream, tl_error *err) { return tl_report_sweep_plot(sweep, stream, err); }

TL_API void tl_sweep_free(tl_sweep *sweep) { tl_sweep_release(sweep); }
