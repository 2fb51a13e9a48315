// SPDX-License-Identifier: MIT
// The catalogue as rows of text, one kind at a time, for reports and the library.
#ifndef TL_SESSION_LISTING_H
#define TL_SESSION_LISTING_H

#include <tally/catalogue.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct tl_listing_row {
    const char *name, *group, *unit, *definition, *meaning;
    uint32_t n_events[3]; // of a PMU: how many are exact, approximate and not modeled, by tl_fidelity
} tl_listing_row;

struct tl_list {
    tl_arena arena; // owns all text
    tl_list_kind kind;
    tl_listing_row *rows;
    uint32_t n_rows;
};

TL_MUST_CHECK tl_status tl_listing_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides,
                                       tl_list **ret_list, tl_error *err);
TL_MUST_CHECK tl_status tl_listing_pmu_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err);
void tl_listing_free(tl_list *list);                 // NULL is fine
const char *tl_listing_kind_name(tl_list_kind kind); // "signal"

#endif
