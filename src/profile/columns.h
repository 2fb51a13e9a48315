// SPDX-License-Identifier: MIT
// Columns of a table over a profile: events, aliases, metrics and formulas over them. Their values
// come from sums of signals, one sum for each event of the profile.
#ifndef TL_PROFILE_COLUMNS_H
#define TL_PROFILE_COLUMNS_H

#include "names/formula.h"
#include "profile/profile.h"

typedef struct tl_profile_column {
    const char *name, *unit, *meaning;
    const tl_formula *formula; // over tl_profile.events
} tl_profile_column;

typedef struct tl_profile_columns {
    tl_arena arena;
    tl_profile_column *items;
    uint32_t n;
} tl_profile_columns;

// `names` are separated by commas; NULL: the events that the profile shows. TL_ENOENT offers the
// nearest names. The profile must outlive the columns.
TL_MUST_CHECK tl_status tl_profile_columns_init(const tl_profile *profile, const char *names, tl_profile_columns *ret_columns,
                                                tl_error *err);
// One more column.
TL_MUST_CHECK tl_status tl_profile_columns_add(const tl_profile *profile, tl_profile_columns *columns, const char *name, tl_error *err);
void tl_profile_columns_done(tl_profile_columns *columns);
// Compiles a formula over names of the profile into the arena.
TL_MUST_CHECK tl_status tl_profile_formula(const tl_profile *profile, const char *text, tl_arena *arena, const tl_formula **ret_formula,
                                           tl_error *err);

#endif
