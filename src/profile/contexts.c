// SPDX-License-Identifier: MIT
// A walk over the trees of contexts without recursion; see contexts.h.
#include "profile/contexts.h"

#include <inttypes.h>
#include <stdlib.h>

// Host cache misses dominate a walk. Contexts and counts of later steps are requested ahead.
enum { CONTEXTS_AHEAD = 24, COUNTS_AHEAD = 12 };

// The place of each context, where callees follow their callers. `next` holds the next free place
// below a context once its own is known, and the number of contexts below it before that.
static void put_in_order(const tl_profile *p, uint32_t *next, uint32_t *ret_order) {
    uint32_t next_root = 0;
    for (uint32_t c = p->n_contexts; c-- > 0;)
        if (p->contexts[c].parent != TL_PROFILE_NONE)
            next[p->contexts[c].parent] += next[c] + 1;
    for (uint32_t c = 0; c < p->n_contexts; c++) {
        const uint32_t parent = p->contexts[c].parent;
        uint32_t *free_place = parent == TL_PROFILE_NONE ? &next_root : &next[parent];
        const uint32_t place = *free_place;
        *free_place += next[c] + 1;
        next[c] = place + 1;
        ret_order[place] = c;
    }
}

tl_status tl_profile_walk_init(const tl_profile *p, tl_profile_walk *walk, tl_error *err) {
    const size_t n = (size_t)p->n_contexts + 1;
    uint32_t *next = calloc(n, sizeof *next);
    *walk = (tl_profile_walk){.order = malloc(n * sizeof *walk->order), .path = malloc(n * sizeof *walk->path)};
    if (!next || !walk->order || !walk->path) {
        free(next);
        tl_profile_walk_done(walk);
        return tl_fail(err, TL_ENOMEM, "the host has no memory left for %" PRIu32 " calling contexts", p->n_contexts);
    }
    put_in_order(p, next, walk->order);
    free(next);
    return TL_OK;
}

void tl_profile_walk_done(tl_profile_walk *walk) {
    free(walk->order);
    free(walk->path);
    *walk = (tl_profile_walk){0};
}

tl_profile_step tl_profile_walk_step(const tl_profile *p, tl_profile_walk *walk, uint32_t *ret_context) {
    const uint32_t last = walk->n_path > 0 ? walk->path[walk->n_path - 1] : TL_PROFILE_NONE;
    if (walk->n_entered < p->n_contexts && p->contexts[walk->order[walk->n_entered]].parent == last) {
        // Not in a function of its own, because GCC 12 takes one for pure and drops its calls.
        const uint32_t n_left = p->n_contexts - walk->n_entered;
        if (n_left > CONTEXTS_AHEAD)
            __builtin_prefetch(&p->contexts[walk->order[walk->n_entered + CONTEXTS_AHEAD]]);
        if (n_left > COUNTS_AHEAD)
            __builtin_prefetch(&p->context_counts[p->contexts[walk->order[walk->n_entered + COUNTS_AHEAD]].first_count]);
        walk->path[walk->n_path++] = *ret_context = walk->order[walk->n_entered++];
        return TL_PROFILE_ENTERS;
    }
    if (walk->n_path == 0)
        return TL_PROFILE_ENDS;
    walk->n_path--;
    *ret_context = last;
    return TL_PROFILE_LEAVES;
}
