// SPDX-License-Identifier: MIT
// Readers of PMU designs, in the order of the build's list.
#include "session/source.h"

#define SOURCE(name) extern const tl_source_type tl_source_##name;
TL_READER_ROWS
#undef SOURCE

const tl_source_type *const tl_source_types[] = {
#define SOURCE(name) &tl_source_##name,
    TL_READER_ROWS
#undef SOURCE
        NULL};
