// SPDX-License-Identifier: MIT
// PMU designs by the names that users type: "NAME", or "NAME:PRESET" for one of its presets.
#ifndef TL_SESSION_PMUS_H
#define TL_SESSION_PMUS_H

#include "base/status.h"
#include "model/pmu.h"

// *ret_preset: NULL when none was named. TL_ENOENT with the names there are.
TL_MUST_CHECK tl_status tl_pmus_find(const char *name, const tl_pmu_type **ret_type, const tl_pmu_preset **ret_preset, tl_error *err);

#endif
