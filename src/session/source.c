// SPDX-License-Identifier: MIT
#include "session/source.h"

const tl_source_type *tl_source_find(const tl_pmu_type *pmu) {
    const tl_source_type *const *type = tl_source_types;
    while (*type && (*type)->pmu != pmu)
        type++;
    return *type;
}
