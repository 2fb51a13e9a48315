// SPDX-License-Identifier: MIT
// The distributed counters of a machine and of a machine description.
#ifndef TL_READERS_DHPC_ON_H
#define TL_READERS_DHPC_ON_H

#include "machine/keys.h"
#include "machine/machine.h"
#include "pmu/dhpc/dhpc.h"

// NULL: the machine has none.
static inline tl_dhpc *tl_dhpc_on(const tl_machine *machine) { return tl_dhpc_of(tl_machine_pmu_of(machine, &tl_pmu_dhpc, 0)); }

static inline tl_dhpc_settings tl_dhpc_settings_of(const tl_config *config) {
    tl_dhpc_settings settings;
    tl_pmu_settings_of(&tl_pmu_dhpc, config, &settings);
    return settings;
}

#endif
