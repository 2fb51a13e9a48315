// SPDX-License-Identifier: MIT
// The block of counters on the bus of a machine and of a machine description.
#ifndef TL_READERS_CCACHE_ON_H
#define TL_READERS_CCACHE_ON_H

#include "machine/keys.h"
#include "machine/machine.h"
#include "pmu/ccache/ccache.h"

// A machine that has no block is given one of so many counters where software must find one.
enum { TL_CCACHE_ADDED_COUNTERS = 6 };

// NULL: the machine has none.
static inline tl_ccache *tl_ccache_on(const tl_machine *machine) {
    tl_pmu *pmu = tl_machine_pmu_of(machine, &tl_pmu_ccache, 0);
    return pmu ? tl_ccache_of(&pmu->file) : NULL;
}

static inline tl_ccache_settings tl_ccache_settings_of(const tl_config *config) {
    tl_ccache_settings settings;
    tl_pmu_settings_of(&tl_pmu_ccache, config, &settings);
    return settings;
}

#endif
