// SPDX-License-Identifier: MIT
// The design on a machine: its model, and the taps between the machine's totals and the model's
// inputs. Registers (regs.c) and readers see this struct.
#ifndef TL_PMU_SMPM_ATTACHED_H
#define TL_PMU_SMPM_ATTACHED_H

#include "pmu/smpm/taps.h"

enum {
    TL_SMPM_ONLY_VM = 1, // of a machine that is no chip
    TL_SMPM_ONLY_CTX = 1,
};

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
