// SPDX-License-Identifier: MIT
// Bencher Metric Format: {"benchmark": {"measure": {"value": number}}}. The benchmark is the
// program.
#include "base/json.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/measures.h"
#include "export/stacks.h"

tl_status tl_export_bmf(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_PRETTY);
    tl_json_begin_object(&json, NULL);
    tl_json_begin_object(&json, tl_base_name(tl_profile_setting_of(profile, "program")));
    for (uint32_t i = 0; i < measures->n_items; i++) {
        tl_json_begin_object(&json, measures->items[i].name);
        if (measures->items[i].total >> 53) // the format wants a number, and u64 would be a text
            tl_json_double(&json, "value", (double)measures->items[i].total);
        else
            tl_json_u64(&json, "value", measures->items[i].total);
        tl_json_end_object(&json);
    }
    tl_json_end_object(&json);
    tl_json_end_object(&json);
    return tl_json_flush(&json, err);
}
