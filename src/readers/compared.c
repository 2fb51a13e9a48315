// SPDX-License-Identifier: MIT
// Designs that a comparison watches, in the order of the build's list.
#include "compare/design.h"

#define DESIGN(name) extern const tl_compare_design_type tl_compare_##name;
TL_COMPARED_ROWS
#undef DESIGN

const tl_compare_design_type *const tl_compare_designs[] = {
#define DESIGN(name) &tl_compare_##name,
    TL_COMPARED_ROWS
#undef DESIGN
        NULL};
