// SPDX-License-Identifier: MIT
// Several PMU designs that count one run side by side: `-P NAME,NAME`. They are one
// source, whose events are named DESIGN/EVENT/.
#ifndef TL_SESSION_SIDE_BY_SIDE_H
#define TL_SESSION_SIDE_BY_SIDE_H

#include "session/source.h"

enum { TL_MAX_SIDES = 8 };

typedef struct tl_sides {
    const tl_source_type *types[TL_MAX_SIDES];
    uint32_t n; // 0: one design, or none
} tl_sides;

// Adds a design. TL_EINVAL: it is there already, no reader works while the program runs, or options
// sample.
TL_MUST_CHECK tl_status tl_sides_add(tl_sides *sides, const tl_source_type *type, const tl_run_options *options, tl_error *err);
// tl_source_type.resolve for all of them. Names are portable ones, which each design counts that
// can, or DESIGN/EVENT/. ret_type: hooks of *ret_source.
TL_MUST_CHECK tl_status tl_sides_resolve(const tl_sides *sides, const tl_run_options *options, const tl_config *config,
                                         tl_catalogue *catalogue, tl_arena *arena, const tl_source_type **ret_type, tl_source **ret_source,
                                         tl_error *err);

#endif
