// SPDX-License-Identifier: MIT
// How a design counts the portable events (names/portable.h). A design brings its row as
// src/readers/<design>/portable.c. tests/portable measures each class with programs.
//
// With `-P DESIGN -e NAME`, a portable name stands for sums and differences of the design's own
// events. They are resolved and counted as if the user had named them, and combined afterwards.
#ifndef TL_SESSION_PORTABLE_H
#define TL_SESSION_PORTABLE_H

#include "names/portable.h"
#include "session/source.h"

typedef enum tl_portable_class {
    TL_PORTABLE_IMPOSSIBLE,
    TL_PORTABLE_EXACT,    // the count is the truth
    TL_PORTABLE_SUPERSET, // never below the truth
    TL_PORTABLE_SUBSET,   // never above the truth
    TL_PORTABLE_ESTIMATE, // on either side of the truth
} tl_portable_class;

typedef struct tl_portable_map {
    tl_portable_class class;
    // "cycle - cyc_issue": events of the design and signs, parted by spaces. NULL: impossible.
    const char *counters;
    const char *note; // the difference from the truth, one sentence; NULL: exact
} tl_portable_map;

typedef struct tl_portable_type {
    const tl_pmu_type *pmu;
    const char *preset;          // whose events the maps name; NULL: all presets have them
    const tl_portable_map *maps; // by tl_portable
} tl_portable_type;

// The list is NULL-terminated and stands in src/readers. A design without maps gives NULL.
extern const tl_portable_type *const tl_portable_types[];
const tl_portable_type *tl_portable_type_find(const tl_pmu_type *pmu);
const char *tl_portable_class_name(tl_portable_class class);

// tl_source_type.resolve for lists that may have portable names. ret_type: hooks of *ret_source.
TL_MUST_CHECK tl_status tl_portable_resolve(const tl_source_type *type, const tl_run_options *options, const tl_config *config,
                                            tl_catalogue *catalogue, tl_arena *arena, const tl_source_type **ret_type,
                                            tl_source **ret_source, tl_error *err);

#endif
