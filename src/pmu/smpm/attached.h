// SPDX-License-Identifier: MIT
// The design on a machine: its model, and the taps between the machine's totals and the model's
// inputs. Registers (regs.c) and readers see this struct.
#ifndef TL_PMU_SMPM_ATTACHED_H
#define TL_PMU_SMPM_ATTACHED_H

#include "pmu/smpm/model.h"
#include "pmu/smpm/smpm.h"

enum {
    // Taps of one-bit signals come first, then those of multi-bit inputs.
    TL_SMPM_TAPS_OF_ULC = TL_SMPM_MAX_CTRS + TL_SMPM_MAX_MULTI,
    TL_SMPM_ONLY_VM = 1, // of a machine that is no chip
    TL_SMPM_ONLY_CTX = 1,
};

typedef struct tl_smpm_tap {
    tl_sources sources;                 // n_cells 0: the machine does not tell it
    uint64_t base;                      // total at the reset
    uint64_t shown, cycle;              // what the model was told, up to which of its cycles
    bool is_cycle, is_idle, is_instret; // totals that the host knows without sync
    bool is_plain;                      // one cell, and nothing of that
} tl_smpm_tap;

typedef struct tl_smpm_attached {
    tl_pmu pmu;            // first
    tl_smpm_config config; // resolved
    tl_smpm_layout layout;
    tl_smpm_tap *taps; // TL_SMPM_TAPS_OF_ULC for each ULC
    tl_smpm *model;
    void *first_state; // of the model after attach
    size_t n_state_bytes;
    uint64_t base_cycle, last_cycle; // of the machine: at the reset, at the latest tick
} tl_smpm_attached;

static inline tl_smpm_attached *tl_smpm_attached_of(tl_regfile *file) { return (tl_smpm_attached *)(void *)file; }
static inline const tl_smpm_attached *tl_smpm_attached_at(const tl_regfile *file) { return (const tl_smpm_attached *)(const void *)file; }

extern const tl_regmap tl_smpm_regmap;

#endif
