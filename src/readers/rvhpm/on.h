// SPDX-License-Identifier: MIT
// The counters of the harts of a machine and of a machine description.
#ifndef TL_READERS_RVHPM_ON_H
#define TL_READERS_RVHPM_ON_H

#include "machine/keys.h"
#include "machine/machine.h"
#include "pmu/rvhpm/rvhpm.h"

// Every machine has them.
static inline tl_pmu *tl_rvhpm_on(const tl_machine *machine, uint32_t hart) { return tl_machine_pmu_of(machine, &tl_pmu_rvhpm, hart); }

static inline const tl_rvhpm_preset *tl_rvhpm_preset_of(const tl_config *config) {
    return (const tl_rvhpm_preset *)(const void *)tl_pmu_chosen(&tl_pmu_rvhpm, config);
}

#endif
