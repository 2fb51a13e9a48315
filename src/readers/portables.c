// SPDX-License-Identifier: MIT
// Designs that have maps of portable events, in the order of the build's list.
#include "session/portable.h"

#define MAPS(name) extern const tl_portable_type tl_portable_##name;
TL_PORTABLE_ROWS
#undef MAPS

const tl_portable_type *const tl_portable_types[] = {
#define MAPS(name) &tl_portable_##name,
    TL_PORTABLE_ROWS
#undef MAPS
        NULL};
