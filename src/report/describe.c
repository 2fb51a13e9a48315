// SPDX-License-Identifier: MIT
// One thing in full: a machine, key by key.
#include "report/describe.h"

#include "base/json.h"

static void put_machine_json(const tl_setting *settings, const tl_key *const *keys, uint32_t n_keys, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "schema", "tally.describe/1");
    tl_json_string(json, "type", "machine");
    tl_json_string(json, "name", settings[0].value);
    tl_json_begin_array(json, "keys");
    for (uint32_t i = 0; i < n_keys; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "key", settings[i].key);
        tl_json_string(json, "value", settings[i].value);
        tl_json_string(json, "unit", keys[i]->unit);
        tl_json_string(json, "meaning", keys[i]->meaning);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

tl_status tl_report_machine(const char *yaml, const tl_setting *settings, const tl_key *const *keys, uint32_t n_keys,
                            tl_describe_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    switch (format) {
    case TL_DESCRIBE_TEXT: fputs(yaml, stream); break;
    case TL_DESCRIBE_JSON: put_machine_json(settings, keys, n_keys, &json); break;
    case TL_DESCRIBE_SVG: return tl_fail(err, TL_EINVAL, "a machine has no picture; choose format text, md or json");
    case TL_DESCRIBE_MARKDOWN:
        fputs("| key | value | meaning |\n|---|---|---|\n", stream);
        for (uint32_t i = 0; i < n_keys; i++) {
            fprintf(stream, "| `%s` | ", settings[i].key);
            tl_report_cell(stream, settings[i].value);
            fputs(" | ", stream);
            tl_report_cell(stream, keys[i]->meaning);
            fputs(" |\n", stream);
        }
        break;
    }
    if (fflush(stream) != 0 || ferror(stream))
        return tl_fail(err, TL_EIO, "the description could not be written in full");
    return TL_OK;
}

void tl_report_cell(FILE *stream, const char *text) {
    for (; *text; text++) {
        if (*text == '|' || *text == '*')
            fputc('\\', stream);
        fputc(*text, stream);
    }
}
