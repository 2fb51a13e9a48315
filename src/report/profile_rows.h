// SPDX-License-Identifier: MIT
// Rows of a table over a profile: counts summed by some of object, function, line, instruction,
// thread and process.
#ifndef TL_REPORT_PROFILE_ROWS_H
#define TL_REPORT_PROFILE_ROWS_H

#include "profile/columns.h"
#include "profile/profile.h"
#include "report/report.h"

typedef enum tl_profile_key {
    TL_PROFILE_KEY_OBJECT,
    TL_PROFILE_KEY_SYMBOL,
    TL_PROFILE_KEY_LINE,
    TL_PROFILE_KEY_INSN,
    TL_PROFILE_KEY_THREAD,
    TL_PROFILE_KEY_PROCESS,
    TL_PROFILE_N_KEYS,
} tl_profile_key;

enum { TL_PROFILE_CELL_BYTES = 600 }; // of a text

typedef struct tl_profile_row {
    uint64_t ids[TL_PROFILE_N_KEYS]; // by position in the sort; unused ones are 0
    uint32_t first_insn;             // one of the row
    uint32_t first_sum;              // in sums
    uint32_t n_open;                 // of its contexts that a walk is in
    uint64_t n_calls;                // entries of its contexts
    double rank;                     // value of the column that sorts
} tl_profile_row;

// Rows have the counts of their own instructions, or those of calls as well. Callers and callees
// are those of a function: a row has what calls from the caller, or of the callee, caused.
typedef enum tl_profile_call_kind { TL_PROFILE_SELF, TL_PROFILE_CHILDREN, TL_PROFILE_CALLERS, TL_PROFILE_CALLEES } tl_profile_call_kind;

typedef struct tl_profile_calls {
    tl_profile_call_kind kind;
    const char *function;
    bool *is_named; // by function; inside of tl_profile_rows_init
} tl_profile_calls;

typedef struct tl_profile_rows {
    const tl_profile *profile;
    tl_profile_columns columns;
    tl_profile_key keys[TL_PROFILE_N_KEYS];
    uint32_t n_keys;
    uint32_t *used; // events that the columns need
    uint32_t n_used;
    tl_profile_row *rows;
    uint64_t *sums;   // [n][n_used]
    uint64_t *selves; // the same without callees; NULL: sums have no callees
    bool has_calls;   // rows say how often they were entered
    uint32_t n, room;
    uint64_t *values; // scratch: one number for each event
    uint64_t *totals; // the same, of the whole profile
} tl_profile_rows;

// Sums up and sorts, largest first. sort, events, order: tally/profile.h. A zeroed one is empty.
TL_MUST_CHECK tl_status tl_profile_rows_init(const tl_profile *profile, const char *sort, const char *events, const char *order,
                                             const tl_profile_calls *calls, tl_profile_rows *ret_rows, tl_error *err);
void tl_profile_rows_done(tl_profile_rows *rows);
tl_value tl_profile_rows_value(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t column);
// Without callees, of rows with them.
tl_value tl_profile_rows_self(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t column);
tl_value tl_profile_rows_total(const tl_profile_rows *rows, uint32_t column);
// The text of a key of the row.
void tl_profile_rows_text(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t key, char ret_text[TL_PROFILE_CELL_BYTES]);
const char *tl_profile_key_name(tl_profile_key key); // "dso"

// "1,234", "0.81" or "-".
const char *tl_profile_number(tl_value value, char ret_text[TL_NUMBER_BYTES]);
double tl_profile_real(tl_value value); // 0 of a missing one
// Whether a user who writes `wanted` means this function.
bool tl_profile_function_is(const tl_profile *profile, uint32_t function, const char *wanted);
// The causes of most cycles, "load_miss 90%, issue 10%", of sums by event. Returns ret_text.
const char *tl_profile_causes(const tl_profile *profile, const uint64_t *sums, char ret_text[TL_PROFILE_CELL_BYTES]);

#endif
