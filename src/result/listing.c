// SPDX-License-Identifier: MIT
#include "result/listing.h"

#include <stdlib.h>

#include "base/bits.h"

const char *tl_listing_kind_name(tl_list_kind kind) {
    static const char *const names[] = {"machine", "signal", "event", "metric", "pmu", "group", "key"};
    return (size_t)kind < TL_COUNT_OF(names) ? names[kind] : "";
}

void tl_listing_free(tl_list *list) {
    if (!list)
        return;
    tl_arena_done(&list->arena);
    free(list->rows);
    free(list);
}
