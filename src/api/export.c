// SPDX-License-Identifier: MIT
// tally/export.h over export/export.h.
#include <tally/export.h>

#include "api/fill.h"
#include "base/nearest.h"
#include "export/export.h"

TL_API uint32_t tl_export_n_rows(void) { return tl_export_n_formats; }

TL_API void tl_export_row_at(uint32_t index, tl_export_row *ret_row) {
    tl_export_row row = {0};
    if (index < tl_export_n_formats) {
        const tl_export_format *format = &tl_export_formats[index];
        row = (tl_export_row){0, format->name, format->file, format->meaning, format->is_binary, format->companion};
    }
    tl_api_fill(ret_row, &row, sizeof row);
}

TL_API tl_status tl_profile_export(const tl_profile_view *view, const char *name, const char *events, FILE *stream, tl_error *err) {
    const tl_export_format *format = tl_export_find_format(name);
    if (format)
        return tl_export_profile((const tl_profile *)view, format, events, stream, err);
    tl_nearest nearest;
    char text[160];
    tl_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < tl_export_n_formats; i++)
        tl_nearest_offer(&nearest, tl_export_formats[i].name);
    return tl_fail(err, TL_ENOENT, "there is no export format %s%s", name, tl_nearest_text(&nearest, text, sizeof text));
}
