// SPDX-License-Identifier: MIT
// One thing in full: a machine, key by key.
#include "report/describe.h"

#include "base/json.h"
#include "model/config_keys.h"

static void put_machine_json(const tl_setting *settings, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "schema", "tally.describe/1");
    tl_json_string(json, "type", "machine");
    tl_json_string(json, "name", settings[0].value);
    tl_json_begin_array(json, "keys");
    for (uint32_t i = 0; i < tl_n_keys; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "key", settings[i].key);
        tl_json_string(json, "value", settings[i].value);
        tl_json_string(json, "unit", tl_keys[i].unit);
        tl_json_string(json, "meaning", tl_keys[i].meaning);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

tl_status tl_report_machine(const char *yaml, const tl_setting *settings, tl_describe_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    switch (format) {
    case TL_DESCRIBE_TEXT: fputs(yaml, stream); break;
    case TL_DESCRIBE_JSON: put_machine_json(settings, &json); break;
    case TL_DESCRIBE_MARKDOWN:
        fputs("| key | value | meaning |\n|---|---|---|\n", stream);
        for (uint32_t i = 0; i < tl_n_keys; i++) {
            fprintf(stream, "| `%s` | ", settings[i].key);
            tl_report_cell(stream, settings[i].value);
            fputs(" | ", stream);
            tl_report_cell(stream, tl_keys[i].meaning);
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
