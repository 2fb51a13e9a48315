// SPDX-License-Identifier: MIT
// Two results beside each other, and the gates that must not be crossed.
#ifndef TL_RESULT_DIFF_H
#define TL_RESULT_DIFF_H

#include <tally/diff.h>

#include "names/catalogue.h"
#include "result/result.h"

typedef struct tl_diff_line {
    const tl_row *before, *after; // NULL: only the other result has it
    const char *region;           // that it counts, or NULL: the whole run
    bool lacks_region;            // one result has no row of that region
    const char *failed_gate;      // as given, or NULL
    // An earlier row of the scope with equal cells under another name, or NULL.
    const char *same_as;
    bool is_wanted; // by name, with tl_diff_choose
} tl_diff_line;

typedef struct tl_diff_region {
    const char *name; // or NULL: the whole run
    bool is_in_before, is_in_after;
} tl_diff_region;

struct tl_diff {
    // Must outlive the diff's lines; headers are compared for the report.
    const tl_result *before, *after;
    tl_arena arena;
    tl_diff_line *lines;
    uint32_t n_lines, n_failed;
    bool has_selection;
    tl_diff_region *regions; // in the order of their lines; the whole run is one without a name
    uint32_t n_regions;
};

// Events are equal if they sum equal totals by `names`. `names` belongs to a machine with two
// instances of everything, because there one instance differs from the sum. The diff does not keep
// `names`.
TL_MUST_CHECK tl_status tl_diff_make(const tl_result *before, const tl_result *after, tl_catalogue *names, const char *const *gates,
                                     tl_diff **ret_diff, tl_error *err);
// `names` are names or globs, separated by commas. The diff shows their rows and rows that break a
// gate. TL_ENOENT: no result has the name.
TL_MUST_CHECK tl_status tl_diff_choose(tl_diff *diff, const char *names, tl_error *err);
void tl_diff_release(tl_diff *diff); // NULL is fine

bool tl_diff_line_is_equal(const tl_diff_line *line);
bool tl_diff_line_is_shown(const tl_diff *diff, const tl_diff_line *line, bool with_equal);
// Percent of `before`: 0 when equal, infinite when before is 0, NaN when one is missing.
double tl_diff_line_percent(const tl_diff_line *line);

#endif
