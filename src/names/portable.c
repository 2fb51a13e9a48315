// SPDX-License-Identifier: MIT
#include "names/portable.h"

#include <string.h>

const tl_portable_event tl_portable_events[TL_N_PORTABLES] = {
#define PORTABLE(id, name, unit, truth, core_truth, meaning) {name, unit, meaning, truth, core_truth},
#include "names/portable.def"
#undef PORTABLE
};

const tl_portable_event *tl_portable_find(const char *name) {
    for (uint32_t i = 0; i < TL_N_PORTABLES; i++)
        if (!strcmp(tl_portable_events[i].name, name))
            return &tl_portable_events[i];
    return NULL;
}

const char *tl_portable_truth(const tl_portable_event *event, bool has_core) {
    return has_core && event->core_truth ? event->core_truth : event->truth;
}
