// SPDX-License-Identifier: MIT
// Designs that run the experiment on sampling, in the order of the build's list.
#include "compare/sampled.h"

#define SAMPLED(name) extern const tl_sampled_type tl_sampled_##name;
TL_SAMPLED_ROWS
#undef SAMPLED

const tl_sampled_type *const tl_sampled_types[] = {
#define SAMPLED(name) &tl_sampled_##name,
    TL_SAMPLED_ROWS
#undef SAMPLED
        NULL};
