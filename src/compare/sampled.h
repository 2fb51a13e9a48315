// SPDX-License-Identifier: MIT
// A row of the list of designs that run the experiment on sampling (tally/l1miss.h), which
// src/readers makes. The reader of a design brings the program, the driver and the handlers.
#ifndef TL_COMPARE_SAMPLED_H
#define TL_COMPARE_SAMPLED_H

#include <tally/l1miss.h>

#include "model/pmu.h"

typedef struct tl_sampled_type {
    const tl_pmu_type *pmu;
    // ret_run is empty but for its size.
    TL_MUST_CHECK tl_status (*measure)(const tl_l1miss_options *options, tl_l1miss_run *ret_run, tl_error *err);
} tl_sampled_type;

// NULL-terminated.
extern const tl_sampled_type *const tl_sampled_types[];

#endif
