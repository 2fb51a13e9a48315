// SPDX-License-Identifier: MIT
#include "result/reading.h"

#include <stdlib.h>

void tl_reading_release(tl_reading *reading) {
    if (!reading)
        return;
    tl_arena_done(&reading->arena);
    free(reading);
}
