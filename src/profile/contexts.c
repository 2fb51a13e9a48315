// SPDX-License-Identifier: MIT
// A walk over the trees of contexts without recursion; see contexts.h.
#include "profile/contexts.h"

#include <inttypes.h>
#include <stdlib.h>

tl_status tl_profile_walk_init(const tl_profile *p, tl_profile_walk *walk, tl_error *err) {
    const size_t n = (size_t)p->n_contexts + 1;
    *walk = (tl_profile_walk){.links = malloc(n * sizeof *walk->links), .path = malloc(n * sizeof *walk->path)};
    if (!walk->links || !walk->path) {
        tl_profile_walk_done(walk);
        return tl_fail(err, TL_ENOMEM, "the host has no memory left for %" PRIu32 " calling contexts", p->n_contexts);
    }
    for (uint32_t c = 0; c < p->n_contexts; c++)
        walk->links[c] = (tl_profile_link){TL_PROFILE_NONE, TL_PROFILE_NONE};
    for (uint32_t c = p->n_contexts; c-- > 0;) {
        const uint32_t parent = p->contexts[c].parent;
        if (parent == TL_PROFILE_NONE)
            continue;
        walk->links[c].next = walk->links[parent].first_callee;
        walk->links[parent].first_callee = c;
    }
    return TL_OK;
}

void tl_profile_walk_done(tl_profile_walk *walk) {
    free(walk->links);
    free(walk->path);
    *walk = (tl_profile_walk){0};
}

static tl_profile_step enter(tl_profile_walk *walk, uint32_t context, uint32_t *ret_context) {
    walk->path[walk->n_path++] = *ret_context = context;
    return TL_PROFILE_ENTERS;
}

tl_profile_step tl_profile_walk_step(const tl_profile *p, tl_profile_walk *walk, uint32_t *ret_context) {
    if (walk->n_path == 0) {
        while (walk->next_root < p->n_contexts && p->contexts[walk->next_root].parent != TL_PROFILE_NONE)
            walk->next_root++;
        return walk->next_root < p->n_contexts ? enter(walk, walk->next_root++, ret_context) : TL_PROFILE_ENDS;
    }
    const uint32_t last = walk->path[walk->n_path - 1], callee = walk->links[last].first_callee;
    if (callee != TL_PROFILE_NONE) {
        walk->links[last].first_callee = walk->links[callee].next;
        return enter(walk, callee, ret_context);
    }
    walk->n_path--;
    *ret_context = last;
    return TL_PROFILE_LEAVES;
}
