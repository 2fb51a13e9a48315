// SPDX-License-Identifier: MIT
// Calling contexts from callers to callees, in time that grows with their number, however deep
// they are.
#ifndef TL_PROFILE_CONTEXTS_H
#define TL_PROFILE_CONTEXTS_H

#include "profile/profile.h"

typedef struct tl_profile_walk {
    uint32_t *order; // contexts as the walk enters them
    uint32_t n_entered;
    uint32_t *path; // contexts that are entered and not left, the outermost first
    uint32_t n_path;
} tl_profile_walk;

typedef enum tl_profile_step { TL_PROFILE_ENTERS, TL_PROFILE_LEAVES, TL_PROFILE_ENDS } tl_profile_step;

// TL_ENOMEM.
TL_MUST_CHECK tl_status tl_profile_walk_init(const tl_profile *profile, tl_profile_walk *ret_walk, tl_error *err);
void tl_profile_walk_done(tl_profile_walk *walk); // a zeroed one is fine
// Enters the next context, or leaves the one that was entered last. A context is on the path from
// its entry on, and no longer when it is left. Callees of one context come in order of their
// numbers.
tl_profile_step tl_profile_walk_step(const tl_profile *profile, tl_profile_walk *walk, uint32_t *ret_context);

#endif
