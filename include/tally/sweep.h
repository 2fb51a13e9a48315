// SPDX-License-Identifier: MIT
// A sweep: one program on variants of one machine, and a table with a row for each variant.
//
//   tl_sweep_new(&options, varies, &sweep, &err)      varies: "l1d.size=8KiB,16KiB", "l2.ways=4,8"
//   for each cell:
//     tl_sweep_cell_options(sweep, i, &run_options)   options for tl_run_new
//     tl_sweep_take(sweep, i, result, &err)           the result of that run
//   tl_sweep_write(sweep, TL_SWEEP_TEXT, stdout, &err)
//
// Cells are the product of all values; the last key varies fastest. Cells are independent: they may
// run in any order, at the same time, in other processes or on other hosts. The table depends on
// their results alone. One sweep belongs to one thread at a time.
#ifndef TALLY_SWEEP_H
#define TALLY_SWEEP_H

#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/result.h>
#include <tally/run.h>

TL_BEGIN_DECLS

enum { TL_SWEEP_MAX_KEYS = 16, TL_SWEEP_MAX_CELLS = 10000 };

typedef struct tl_sweep tl_sweep;

typedef enum tl_sweep_state {
    TL_SWEEP_OPEN,   // has no result yet
    TL_SWEEP_DONE,   // tl_sweep_take accepted a result
    TL_SWEEP_FAILED, // `reason` says why
} tl_sweep_state;

typedef struct tl_sweep_cell {
    uint32_t size;     // set by the caller to sizeof(tl_sweep_cell)
    const char *title; // "l1d.size=8KiB l2.ways=4"
    // "0123456789abcdef": a digest of all that the counts depend on but files that the program
    // reads. It serves as a file name for the cell's result. "": the cell is no machine.
    const char *name;
    tl_sweep_state state;
    const char *reason; // of TL_SWEEP_FAILED, one sentence; else NULL
} tl_sweep_cell;

// Each text of `varies` (NULL-terminated) is "KEY=VALUE,VALUE..." with a key of machine
// descriptions, "machine=NAME,NAME", or "pmu=NAME:PRESET,NAME:PRESET", which stands for the option
// pmu. Values are separated by ';' if the text has one, because "l1d=32K,8,64" has commas itself.
// `options` are those of tl_run_new, of TL_RUN_USER or TL_RUN_BARE, without intervals and regions.
// Their texts must outlive the sweep. Without events and metrics the columns are cycles,
// instructions and cpi, or what the pmu counts by default. A cell whose machine is impossible fails
// at once. TL_EINVAL, TL_ENOENT: no cell is possible, two cells are one machine, or a text, an
// event or a metric is wrong.
TL_MUST_CHECK TL_API tl_status tl_sweep_new(const tl_run_options *options, const char *const *varies, tl_sweep **ret_sweep, tl_error *err);

TL_API uint32_t tl_sweep_n_cells(const tl_sweep *sweep);
TL_API void tl_sweep_cell_at(const tl_sweep *sweep, uint32_t index, tl_sweep_cell *ret_cell);
// Options of the run of one cell. Their texts are the sweep's. Precondition: index is of a cell.
TL_API void tl_sweep_cell_options(const tl_sweep *sweep, uint32_t index, tl_run_options *ret_options);

// Copies the counts and metrics of a run that has ended. A run that was killed, stopped or stuck
// makes the cell a failed one. TL_EINVAL: the result is of an interval or has no end.
TL_MUST_CHECK TL_API tl_status tl_sweep_take(tl_sweep *sweep, uint32_t index, const tl_result *result, tl_error *err);
// Marks a cell as failed. The sweep copies `reason`.
TL_API void tl_sweep_fail(tl_sweep *sweep, uint32_t index, const char *reason);

typedef enum tl_sweep_format {
    TL_SWEEP_TEXT,
    TL_SWEEP_JSON, // one object a line, schema "tally.sweep/1" (docs/schema/sweep-1.json)
    TL_SWEEP_CSV,
    TL_SWEEP_MARKDOWN,
} tl_sweep_format;

// TL_EIO: the stream cannot be written.
TL_MUST_CHECK TL_API tl_status tl_sweep_write(const tl_sweep *sweep, tl_sweep_format format, FILE *stream, tl_error *err);
// Writes line charts as SVG: a panel for each of the first columns, the first key along x, a line
// for each combination of the other keys. TL_EINVAL: nothing can be drawn; the error says why.
TL_MUST_CHECK TL_API tl_status tl_sweep_plot(const tl_sweep *sweep, FILE *stream, tl_error *err);
TL_API void tl_sweep_free(tl_sweep *sweep); // NULL is fine

TL_END_DECLS

#endif
