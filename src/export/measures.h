// SPDX-License-Identifier: MIT
// Measures: the columns of an export. A measure is an event of the profile that adds up over
// instructions: a signal, or an alias that is a plain sum of signals.
#ifndef TL_EXPORT_MEASURES_H
#define TL_EXPORT_MEASURES_H

#include "export/export.h"

typedef struct tl_export_measure {
    const char *name, *unit, *meaning; // the profile's
    uint64_t total;
    bool is_by_context; // contexts of the profile have all of it
} tl_export_measure;

struct tl_export_measures {
    uint32_t n_items;
    tl_export_measure *items;
    bool *takes;       // [measure * n_events + event]: the event is a term of the sum
    uint32_t *first;   // [event + 1]: where the measures of an event begin in users
    uint32_t *users;   // measures, by event
    bool has_contexts; // every measure is_by_context
};

TL_MUST_CHECK tl_status tl_export_measures_resolve(const tl_profile *profile, const char *events, tl_export_measures *ret_measures,
                                                   tl_error *err);
void tl_export_measures_done(tl_export_measures *measures); // a zeroed one is fine

// Adds n counts of an event to the weights [n_items].
static inline void tl_export_weigh(const tl_export_measures *measures, uint32_t event, uint64_t n, uint64_t *weights) {
    for (uint32_t u = measures->first[event]; u < measures->first[event + 1]; u++)
        weights[measures->users[u]] += n;
}

#endif
