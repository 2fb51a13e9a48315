// SPDX-License-Identifier: MIT
// Name resolution of probe.h.
#include "model/probe.h"

#include <string.h>

tl_status tl_probe_resolve(const tl_probe *probe, const char *path, tl_cell *ret_cell) {
    const char *dot = strrchr(path, '.');
    if (!dot)
        return TL_ENOENT;
    size_t n_path = (size_t)(dot - path);
    for (uint32_t u = 0; u < probe->n_units; u++) {
        const tl_unit *unit = &probe->units[u];
        if (strlen(unit->path) != n_path || memcmp(unit->path, path, n_path) != 0)
            continue;
        for (uint32_t s = 0; s < unit->type->n_signals; s++)
            if (strcmp(unit->type->signals[s].name, dot + 1) == 0) {
                *ret_cell = unit->first_cell + s;
                return TL_OK;
            }
    }
    return TL_ENOENT;
}

const tl_unit *tl_probe_unit_of(const tl_probe *probe, tl_cell cell) {
    uint32_t low = 0, high = probe->n_units;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (probe->units[mid].first_cell <= cell)
            low = mid;
        else
            high = mid;
    }
    return &probe->units[low];
}
