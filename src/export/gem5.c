// SPDX-License-Identifier: MIT
// Totals as gem5's stats.txt: a banner, "name value # description (Unit)" in columns, a banner.
#include <inttypes.h>

#include "export/formats.h"
#include "export/measures.h"

tl_status tl_export_gem5(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    (void)profile;
    (void)err;
    fputs("\n---------- Begin Simulation Statistics ----------\n", stream);
    for (uint32_t i = 0; i < measures->n_items; i++) {
        const tl_export_measure *measure = &measures->items[i];
        fprintf(stream, "%-40s %12" PRIu64 "                       # %s (%s)\n", measure->name, measure->total, measure->meaning,
                measure->unit[0] ? measure->unit : "Count");
    }
    fputs("\n---------- End Simulation Statistics   ----------\n", stream);
    return TL_OK;
}
