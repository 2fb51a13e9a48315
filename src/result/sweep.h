// SPDX-License-Identifier: MIT
// A sweep as a value: keys that vary, a cell for each combination of their values, and what each
// cell's run counted.
#ifndef TL_RESULT_SWEEP_H
#define TL_RESULT_SWEEP_H

#include <tally/sweep.h>

#include "base/arena.h"
#include "base/status.h"
#include "result/result.h"

typedef enum tl_sweep_varied {
    TL_SWEEP_OF_DESCRIPTION, // a key of machine descriptions
    TL_SWEEP_OF_MACHINE,     // tl_run_options.machine
    TL_SWEEP_OF_PMU,         // tl_run_options.pmu
} tl_sweep_varied;

typedef struct tl_sweep_key {
    const char *name;
    tl_sweep_varied varied;
    const char *const *values;
    uint32_t n_values;
} tl_sweep_key;

typedef enum tl_sweep_kind {
    TL_SWEEP_EVENT,
    TL_SWEEP_METRIC,
    // Behind an event that a PMU counted:
    TL_SWEEP_SHARE, // of the time wanted, the time on a counter
    TL_SWEEP_TRUTH,
    TL_SWEEP_ERROR, // (event - truth) / truth
} tl_sweep_kind;

typedef struct tl_sweep_value { // of the whole machine, or of the unit that the name tells
    const char *name, *unit;    // of the event or metric
    tl_sweep_kind kind;
    tl_value value;
} tl_sweep_value;

typedef struct tl_sweep_row {
    const char *title, *name;     // as in tl_sweep_cell
    const char *machine, *pmu;    // as in tl_run_options
    const char *const *overrides; // NULL-terminated
    tl_sweep_state state;
    const char *reason;
    int status; // exit status of the program
    tl_sweep_value *values;
    uint32_t n_values;
} tl_sweep_row;

struct tl_sweep {
    tl_arena arena;
    tl_run_options options; // of all cells, but for machine and overrides
    const char *version, *program, *digest;
    const char *machine; // NULL: it varies
    const char *pmu;     // NULL: it varies, or counts are the truth
    tl_sweep_key keys[TL_SWEEP_MAX_KEYS];
    uint32_t n_keys, n_cells;
    tl_sweep_row *cells; // the last key varies fastest
    uint32_t last_put;   // the cell whose values came last
};

// The index of the value of a key in a cell.
uint32_t tl_sweep_value_index(const tl_sweep *sweep, uint32_t cell, uint32_t key);
// Copies rows of the whole machine, and those of a PMU. TL_EINVAL: the run has not ended.
TL_MUST_CHECK tl_status tl_sweep_put(tl_sweep *sweep, uint32_t cell, const tl_result *result, tl_error *err);
// Called with a reason of any origin; control characters become '?'.
void tl_sweep_put_failure(tl_sweep *sweep, uint32_t cell, const char *reason);

// Columns: names of all cells, in the order of the first cell that has them.
typedef struct tl_sweep_columns {
    const tl_sweep_value **items; // the first value of each name
    uint32_t n;
} tl_sweep_columns;
TL_MUST_CHECK tl_status tl_sweep_columns_new(const tl_sweep *sweep, tl_sweep_columns *ret_columns, tl_error *err);
void tl_sweep_columns_done(tl_sweep_columns *columns);
// The value of a column in a cell, or NULL.
const tl_sweep_value *tl_sweep_find(const tl_sweep_row *row, const tl_sweep_value *column);

#endif
