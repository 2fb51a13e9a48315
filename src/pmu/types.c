// SPDX-License-Identifier: MIT
// Every PMU design, in the order of the build's list.
#include <string.h>

#include "model/pmu.h"

#define PMU(name) extern const tl_pmu_type tl_pmu_##name;
TL_PMU_DESIGNS
#undef PMU

const tl_pmu_type *const tl_pmu_types[] = {
#define PMU(name) &tl_pmu_##name,
    TL_PMU_DESIGNS
#undef PMU
        NULL};

const tl_pmu_type *tl_pmu_find(const char *name) {
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        if (strcmp((*type)->name, name) == 0)
            return *type;
    return NULL;
}
