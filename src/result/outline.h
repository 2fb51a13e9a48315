// SPDX-License-Identifier: MIT
// An outline holds the parts common to all results of one run: the heading and the sources of rows.
// A session makes it before the run. Loading the program adds the heading's digests. It owns names,
// formulas and text, and lives as long as a result of it.
#ifndef TL_RESULT_OUTLINE_H
#define TL_RESULT_OUTLINE_H

#include <stdatomic.h>

#include "names/metrics.h"
#include "result/result.h"

typedef struct tl_outline_event {
    tl_quantity quantity;
    const char *group;  // the unit type a signal belongs to, "" for aliases
    const char *metric; // shown beside it, or NULL
    unsigned detail;    // tl_row.detail
} tl_outline_event;

typedef struct tl_counted { // an event that a PMU counts while the program runs
    const char *name, *unit, *meaning;
    const tl_formula *truth;     // formula of the name; NULL: the sum of `cells`
    const tl_cell *const *cells; // by hart
    const uint32_t *n_cells;     // by hart
    const char *truth_text;      // of `truth`, over names of signals; NULL: it is a sum
    const char *no_truth;        // reason for which nothing counts the same; NULL: something does
} tl_counted;

struct tl_outline {
    atomic_uint n_owners;
    tl_arena arena;
    tl_catalogue *catalogue; // names the totals; its cells are their order
    tl_header header;
    tl_outline_event *events;
    uint32_t n_events;
    tl_quantities metrics;
    uint32_t n_default_metrics; // the first metrics are shown at detail 0
    const char **hart_scopes;   // [header.n_harts]: "hart0"...
    bool per_hart, per_unit;
    // With header.pmu, instead of events and metrics.
    const tl_counted *const *counted;
    uint32_t n_counted;
    const tl_row *unread; // rows of a PMU that is read once, as long as it has not been
    uint32_t n_unread;
};

TL_MUST_CHECK tl_status tl_outline_new(tl_outline **ret_outline, tl_error *err);
tl_outline *tl_outline_share(tl_outline *outline); // one more owner; returns outline
void tl_outline_free(tl_outline *outline);         // one owner less; NULL is fine

// Makes the rows of a result, in its arena, from its totals, and with header.pmu from its
// pmu_counts.
TL_MUST_CHECK tl_status tl_outline_rows(const tl_outline *outline, tl_result *result, tl_error *err);

#endif
