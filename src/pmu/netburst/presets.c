// SPDX-License-Identifier: MIT
// The variant of the design, with its events as `list events` shows them.
#include "pmu/netburst/netburst.h"

static const tl_pmu_preset northwood = {
    .name = "pentium4",
    .title = "46 detectors and 18 counters of 40 bits for a core of two threads",
    .selectors = "The low half is the ESCR without its threads; bits 37:32 name the detector, in the order of MSR numbers.",
};
const tl_pmu_preset *const tl_netburst_presets[] = {&northwood, NULL};
