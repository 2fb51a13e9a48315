// SPDX-License-Identifier: MIT
// Makes listings of machines, names, PMUs and keys.
#ifndef TL_SESSION_LISTER_H
#define TL_SESSION_LISTER_H

#include "base/status.h"
#include "result/listing.h"

TL_MUST_CHECK tl_status tl_listing_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides,
                                       tl_list **ret_list, tl_error *err);
TL_MUST_CHECK tl_status tl_listing_pmu_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err);

// Portable events. pmu NULL: how all designs count each; else what that design counts for each.
TL_MUST_CHECK tl_status tl_listing_portable_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err);

#endif
