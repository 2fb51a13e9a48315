// SPDX-License-Identifier: MIT
// Regions of interest: stretches of a run that are counted on their own. A region lies between two
// places of the code or between two markers of the program (guest/include/tally/roi.h). Each keeps
// the totals of its completed visits and those of the moment its current visit began.
#ifndef TL_SESSION_REGION_H
#define TL_SESSION_REGION_H

#include <tally/run.h>

#include "base/arena.h"
#include "machine/machine.h"
#include "result/result.h"
#include "session/guest.h"

typedef struct tl_regions tl_regions;

// NULL in *ret_regions: the options ask for none.
TL_MUST_CHECK tl_status tl_regions_new(const tl_run_options *options, tl_machine *machine, tl_arena *arena, tl_regions **ret_regions,
                                       tl_error *err);
bool tl_regions_are_several(const tl_regions *regions); // each has rows of its own in a result
// Resolves places without an address. An unknown name is no error while libraries may follow.
TL_MUST_CHECK tl_status tl_regions_resolve(tl_regions *regions, const tl_guest *guest, tl_error *err);
// Watches markers of the program from now on, if the options want them.
void tl_regions_watch_markers(tl_regions *regions);
const tl_breaks *tl_regions_breaks(const tl_regions *regions);
// A hart stands before one of them. True: the border of a region was crossed. TL_ENOENT, TL_EINVAL:
// the program begins, and a name leads nowhere.
TL_MUST_CHECK tl_status tl_regions_cross(tl_regions *regions, const tl_guest *guest, const tl_hart *hart,
                                         void (*note)(void *ctx, const char *sentence), void *ctx, bool *ret_crossed, tl_error *err);
bool tl_regions_is_inside(const tl_regions *regions); // the first

// Told of each visit of a region, at its begin and at its end, and of the region's number and name.
typedef void tl_region_visit_fn(void *ctx, uint32_t region, const char *name, bool is_begin, uint64_t cycle);
void tl_regions_watch_visits(tl_regions *regions, tl_region_visit_fn *visit, void *ctx);

// Totals of the first region: tl_machine_sync was called.
void tl_regions_totals(const tl_regions *regions, uint64_t *ret_values);
// Regions of the result, with their totals one behind the other in `totals`.
TL_MUST_CHECK tl_status tl_regions_result(const tl_regions *regions, tl_result *result, tl_error *err);

#endif
