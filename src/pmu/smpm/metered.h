// SPDX-License-Identifier: MIT
// The meter of cost.h, fed by a model of a chip while it runs: frames, records, commits, triggers
// and switches of that run. A metered model visits every window, which takes host time and changes
// no block.
//
// A switch delivers the counters of its partition once for the other ways. Filtered counters of
// shared units that are routed to the partition go with them. Activity of a partition belongs to
// its switch while steps CS2 to CS13 run. Clocked bits of all cycles belong to none.
#ifndef TL_PMU_SMPM_METERED_H
#define TL_PMU_SMPM_METERED_H

#include "pmu/smpm/cost.h"
#include "pmu/smpm/model.h"

typedef struct tl_smpm_metered tl_smpm_metered;

// Memory is of the arena; NULL: there is none. config is resolved; both are borrowed.
tl_smpm_metered *tl_smpm_metered_new(const tl_smpm_config *config, const tl_smpm_layout *layout, tl_arena *arena);
// Observer for the plan of the model, which is attached once it exists.
tl_smpm_observer tl_smpm_metered_observer(tl_smpm_metered *metered);
void tl_smpm_metered_attach(tl_smpm_metered *metered, const tl_smpm *model);
// A switch of the partition has ended; no window has ended since.
void tl_smpm_metered_switched(tl_smpm_metered *metered, uint32_t partition);
// Returns the account up to the present cycle.
const tl_smpm_meter *tl_smpm_metered_now(tl_smpm_metered *metered);

// Of a monitor of model/chip_monitor.h that measures its cost; else NULL.
struct tl_chip_monitor;
tl_smpm_metered *tl_smpm_chip_metered(struct tl_chip_monitor *monitor);

#endif
