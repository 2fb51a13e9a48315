// SPDX-License-Identifier: MIT
// A profile as a value: making, finding, freeing. See profile.h.
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

tl_status tl_profile_new(tl_profile **ret_profile, tl_error *err) {
    *ret_profile = calloc(1, sizeof **ret_profile);
    return *ret_profile ? TL_OK : tl_fail(err, TL_ENOMEM, "the host has no memory left for a profile");
}

void tl_profile_release(tl_profile *p) {
    if (!p)
        return;
    void *const arrays[] = {p->settings,        p->events,  p->objects, p->processes, p->threads,  p->mappings,       p->sources,
                            p->functions,       p->inlined, p->insns,   p->counts,    p->contexts, p->context_counts, p->intervals,
                            p->interval_counts, p->stints,  p->regions, p->visits,    p->sampled,  p->samples,        p->distances};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    tl_arena_done(&p->arena);
    free(p);
}

void *tl_profile_grow(void **items, uint32_t *n, size_t item_bytes) {
    if ((*n & (*n - 1)) == 0) { // full: 0, 1, 2, 4 ...
        const size_t room = *n == 0 ? 1 : 2 * (size_t)*n;
        if (*n > UINT32_MAX / 4)
            return NULL;
        void *larger = realloc(*items, room * item_bytes);
        if (!larger)
            return NULL;
        *items = larger;
    }
    void *item = (char *)*items + *n * item_bytes;
    memset(item, 0, item_bytes);
    ++*n;
    return item;
}

const char *tl_profile_setting_of(const tl_profile *profile, const char *name) {
    for (uint32_t i = 0; i < profile->n_settings; i++)
        if (strcmp(profile->settings[i].name, name) == 0)
            return profile->settings[i].value;
    return "";
}

uint32_t tl_profile_find_event(const tl_profile *profile, const char *name) {
    for (uint32_t i = 0; i < profile->n_events; i++)
        if (strcmp(profile->events[i].name, name) == 0)
            return i;
    return TL_PROFILE_NONE;
}

const char *tl_profile_object_path(const tl_profile *profile, uint32_t object) {
    static const char aliases[] = "/tally/"; // TL_PATH_ALIASES of linux/file/path.h
    const char *path = profile->objects[object].path, *slash = strrchr(path, '/');
    return strncmp(path, aliases, sizeof aliases - 1) == 0 ? slash + 1 : path;
}

uint64_t tl_profile_context_total(const tl_profile *profile, uint32_t event) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < profile->n_context_counts; k++)
        if (profile->context_counts[k].event == event)
            sum += profile->context_counts[k].n;
    return sum;
}
