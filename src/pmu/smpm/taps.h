// SPDX-License-Identifier: MIT
// Taps between totals of a machine and inputs of ULCs. Totals of a machine can grow by more than an
// input can tell in a cycle, because a wait of n cycles is added at once, and because harts run in
// turns. A tap then presents the rest over the cycles that follow, so nothing is lost.
#ifndef TL_PMU_SMPM_TAPS_H
#define TL_PMU_SMPM_TAPS_H

#include "pmu/smpm/model.h"
#include "pmu/smpm/smpm.h"

// A ULC has one-bit signals first, then multi-bit inputs.
enum { TL_SMPM_TAPS_OF_ULC = TL_SMPM_MAX_CTRS + TL_SMPM_MAX_MULTI };

typedef struct tl_smpm_tap {
    tl_sources sources;                 // n_cells 0: the machine does not tell it
    uint64_t base;                      // total at the reset
    uint64_t shown, cycle;              // what the model was told, up to which of its cycles
    bool is_cycle, is_idle, is_instret; // totals that a tl_pmu_host knows without sync
    bool is_plain;                      // one cell, and nothing of that
} tl_smpm_tap;

// TL_SMPM_TAPS_OF_ULC taps for each ULC, without sources. NULL: no memory.
tl_smpm_tap *tl_smpm_taps_new(const tl_smpm_layout *layout, tl_arena *arena);
// `text` is a source text (model/pmu.h), `probe` the units that the ULC may hear.
TL_MUST_CHECK tl_status tl_smpm_tap_attach(tl_smpm_tap *tap, const char *text, const tl_probe *probe, uint32_t instance, tl_arena *arena,
                                           tl_error *err);
// Of an event of a unit that belongs to a partition: one unit of the machine, or all parts of a
// hart.
TL_MUST_CHECK tl_status tl_smpm_tap_attach_own(tl_smpm_tap *tap, const tl_event *event, const tl_probe *probe, uint32_t instance,
                                               tl_arena *arena, tl_error *err);

// Returns the part of a total that the input shows before a cycle: at most `step` more in each.
static inline uint64_t tl_smpm_tap_show(tl_smpm_tap *tap, uint64_t total, uint64_t cycle, uint32_t step) {
    const uint64_t limit = tap->shown + (cycle - tap->cycle) * step, shown = total < limit ? total : limit;
    tap->shown = shown > tap->shown ? shown : tap->shown;
    tap->cycle = cycle;
    return tap->shown;
}

// As tl_smpm_tap_show, of an input whose windows are not read: at most `step` a cycle since cycle
// 0. The answer does not depend on earlier ones.
static inline uint64_t tl_smpm_tap_show_free(tl_smpm_tap *tap, uint64_t total, uint64_t cycle, uint32_t step) {
    const uint64_t shown = total < cycle * step ? total : cycle * step;
    tap->shown = shown > tap->shown ? shown : tap->shown;
    tap->cycle = cycle;
    return tap->shown;
}

// The first cycle before which the input has shown the whole total.
static inline uint64_t tl_smpm_tap_shows_at(const tl_smpm_tap *tap, uint64_t total, uint32_t step) {
    return total <= tap->shown ? tap->cycle : tap->cycle + (total - tap->shown + step - 1) / step;
}

#endif
