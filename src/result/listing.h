// SPDX-License-Identifier: MIT
// A listing: the catalogue as rows of text, one kind at a time. A plain value; reports and the
// library read it.
#ifndef TL_RESULT_LISTING_H
#define TL_RESULT_LISTING_H

#include <tally/catalogue.h>

#include "base/arena.h"

enum { TL_LISTING_MAX_DESIGNS = 8 };

typedef struct tl_listing_row {
    const char *name, *group, *unit, *definition, *meaning;
    // Events of a PMU that are exact, approximate and not modeled, by tl_fidelity.
    uint32_t n_events[3];
    // Of a portable event: how designs of PMUs count it ("exact"). Text lives as long as the
    // program.
    struct {
        const char *design, *class;
    } designs[TL_LISTING_MAX_DESIGNS];
    uint32_t n_designs;
} tl_listing_row;

struct tl_list {
    tl_arena arena; // owns all text
    tl_list_kind kind;
    tl_listing_row *rows;
    uint32_t n_rows;
};

void tl_listing_free(tl_list *list);                 // NULL is fine
const char *tl_listing_kind_name(tl_list_kind kind); // "signal"

#endif
