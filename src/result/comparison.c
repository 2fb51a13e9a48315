// SPDX-License-Identifier: MIT
// The value itself: names, and the end of its life.
#include "result/comparison.h"

#include <stdlib.h>

void tl_comparison_release(tl_comparison *comparison) {
    if (!comparison)
        return;
    tl_arena_done(&comparison->arena);
    free(comparison);
}

const char *tl_comparison_outcome_text(tl_compare_outcome outcome) {
    switch (outcome) {
    case TL_COMPARE_VALUE: return "value";
    case TL_COMPARE_NOTHING: return "nothing";
    case TL_COMPARE_ILLEGAL: return "illegal instruction";
    case TL_COMPARE_PAGE_FAULT: return "page fault";
    case TL_COMPARE_ACCESS_FAULT: return "access fault";
    case TL_COMPARE_OTHERS_VALUE: return "another's value";
    }
    return "";
}
