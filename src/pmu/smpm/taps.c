// SPDX-License-Identifier: MIT
// Sources of taps; see taps.h.
#include "pmu/smpm/taps.h"

#include <string.h>

tl_smpm_tap *tl_smpm_taps_new(const tl_smpm_layout *layout, tl_arena *arena) {
    const size_t n = (size_t)layout->n_ulcs * TL_SMPM_TAPS_OF_ULC;
    tl_smpm_tap *taps = tl_arena_alloc(arena, n * sizeof *taps);
    for (size_t i = 0; taps && i < n; i++)
        taps[i] = (tl_smpm_tap){0};
    return taps;
}

tl_status tl_smpm_tap_attach(tl_smpm_tap *tap, const char *text, const tl_probe *probe, uint32_t instance, tl_arena *arena, tl_error *err) {
    tl_error why;
    const tl_status status = tl_sources_resolve(text, probe, instance, arena, &tap->sources, &why);
    tap->is_cycle = strcmp(text, "hart.cycle") == 0;
    tap->is_idle = strcmp(text, "hart.idle_cycle") == 0;
    tap->is_instret = strcmp(text, "hart.instret") == 0;
    tap->is_plain = status == TL_OK && tap->sources.n_cells == 1 && !tap->is_cycle && !tap->is_idle && !tap->is_instret;
    if (status == TL_OK)
        return TL_OK;
    tap->sources.n_cells = 0;
    return status == TL_ENOENT ? TL_OK : tl_fail(err, status, "signals %s: %s", text, why.text);
}

// The units of the machine that a ULC hears: one of them, or all parts of a hart.
static tl_probe probe_of(const tl_probe *probe, const char *unit, uint32_t instance) {
    if (strcmp(unit, "hart") == 0)
        return *probe;
    for (uint32_t u = 0, n = 0; u < probe->n_units; u++)
        if (strcmp(probe->units[u].type->name, unit) == 0 && n++ == instance) {
            tl_probe one = *probe;
            one.units = &probe->units[u];
            one.n_units = 1;
            return one;
        }
    return (tl_probe){.tally = probe->tally};
}

tl_status tl_smpm_tap_attach_own(tl_smpm_tap *tap, const tl_event *event, const tl_probe *probe, uint32_t instance, tl_arena *arena,
                                 tl_error *err) {
    const tl_probe own = probe_of(probe, tl_smpm_unit_names[tl_smpm_event_kind(event)], instance);
    return tl_smpm_tap_attach(tap, event->sources, &own, instance, arena, err);
}
