// SPDX-License-Identifier: MIT
// tl_diff compares two results and applies gates to the differences. Counts are exact and runs
// repeat. A gate needs no margin for noise, because every difference has a cause in the inputs.
#ifndef TALLY_DIFF_H
#define TALLY_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/result.h>

TL_BEGIN_DECLS

typedef struct tl_diff tl_diff;

// `gates` are conditions that must not become true, NULL-terminated; NULL: none. A gate is NAME OP
// LIMIT: NAME is an event or a metric, or "hart0:cycles" for one scope; globs are allowed. OP is >
// >= < <=. LIMIT is +N% or -N% (relative change), +N or -N (change), or N (new value). "cycles>+1%"
// fails if cycles grew by more than one percent. Rows of regions match by the region's name. A gate
// applies to rows of every region. TL_EINVAL: a gate has wrong syntax, or names nothing that both
// results have.
TL_MUST_CHECK TL_API tl_status tl_diff_new(const tl_result *before, const tl_result *after, const char *const *gates, tl_diff **ret_diff,
                                           tl_error *err);

// `names` are events, metrics or globs, separated by commas. tl_diff_write then shows their rows,
// equal or not, and rows that break a gate. TL_ENOENT: no result has one of them; the error names
// the nearest.
TL_MUST_CHECK TL_API tl_status tl_diff_select(tl_diff *diff, const char *names, tl_error *err);

typedef struct tl_diff_row {
    uint32_t size;     // set by the caller to sizeof(tl_diff_row)
    const char *name;  // event or metric
    const char *scope; // as in tl_count
    bool is_metric;
    bool has_before, has_after; // false: only the other result has it, or it is undefined
    double before, after;       // counts above 2^53 are rounded here and exact in reports
    double change_percent;      // of `before`; +-infinity when that is 0
    const char *failed_gate;    // gate that the row breaks, or NULL
    const char *region;         // region of interest of the row, or NULL: the whole run
} tl_diff_row;

TL_API uint32_t tl_diff_n_rows(const tl_diff *diff);
TL_API void tl_diff_row_at(const tl_diff *diff, uint32_t index, tl_diff_row *ret_row);
TL_API uint32_t tl_diff_n_failed(const tl_diff *diff); // rows that break a gate

typedef enum tl_diff_format {
    TL_DIFF_TEXT,
    TL_DIFF_JSON, // one object a line, schema "tally.diff/1"
    TL_DIFF_MARKDOWN,
} tl_diff_format;

// `with_equal`: also rows that did not change.
TL_MUST_CHECK TL_API tl_status tl_diff_write(const tl_diff *diff, tl_diff_format format, bool with_equal, FILE *stream, tl_error *err);
TL_API void tl_diff_free(tl_diff *diff); // NULL is fine

TL_END_DECLS

#endif
