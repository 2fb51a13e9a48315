// SPDX-License-Identifier: MIT
// Listings of names for people, programs and documents.
#include <string.h>

#include "base/json.h"
#include "model/pmu.h"
#include "report/lists.h"

static void put_text(const tl_list *list, bool is_verbose, FILE *stream) {
    int width = 0;
    for (uint32_t i = 0; i < list->n_rows; i++) {
        int length = (int)strlen(list->rows[i].name);
        if (length > width && length <= 40)
            width = length;
    }
    bool has_events = list->kind == TL_LIST_PMUS && list->n_rows > 0;
    if (has_events)
        fprintf(stream, "  %-*s  %5s  %11s  %11s\n", width, "events:", "exact", "approximate", "not modeled");
    for (uint32_t i = 0; i < list->n_rows; i++) {
        const tl_listing_row *row = &list->rows[i];
        fprintf(stream, "  %-*s  ", width, row->name);
        if (has_events)
            fprintf(stream, "%5u  %11u  %11u  ", row->n_events[TL_EXACT], row->n_events[TL_APPROXIMATE], row->n_events[TL_NOT_MODELED]);
        fprintf(stream, "%s\n", row->meaning);
        if (is_verbose && *row->definition)
            fprintf(stream, "  %-*s    = %s%s%s%s\n", width, "", row->definition, *row->unit ? " [" : "", row->unit, *row->unit ? "]" : "");
    }
}

static tl_status put_json(const tl_list *list, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    for (uint32_t i = 0; i < list->n_rows; i++) {
        const tl_listing_row *row = &list->rows[i];
        tl_json_begin_object(&json, NULL);
        tl_json_string(&json, "schema", "tally.list/1");
        tl_json_string(&json, "type", tl_listing_kind_name(list->kind));
        tl_json_string(&json, "name", row->name);
        tl_json_string(&json, "group", row->group);
        tl_json_string(&json, "unit", row->unit);
        tl_json_string(&json, "definition", row->definition);
        tl_json_string(&json, "meaning", row->meaning);
        if (list->kind == TL_LIST_PMUS) {
            tl_json_begin_object(&json, "events");
            tl_json_u64(&json, "exact", row->n_events[TL_EXACT]);
            tl_json_u64(&json, "approximate", row->n_events[TL_APPROXIMATE]);
            tl_json_u64(&json, "not_modeled", row->n_events[TL_NOT_MODELED]);
            tl_json_end_object(&json);
        }
        if (row->n_designs > 0)
            tl_json_begin_object(&json, "designs");
        for (uint32_t k = 0; k < row->n_designs; k++)
            tl_json_string(&json, row->designs[k].design, row->designs[k].class);
        if (row->n_designs > 0)
            tl_json_end_object(&json);
        tl_json_end_object(&json);
    }
    return tl_json_flush(&json, err);
}

static void put_cell(FILE *stream, const char *text, bool is_code) {
    const char *quote = is_code && *text ? "`" : "";
    fprintf(stream, " %s", quote);
    for (; *text; text++) {
        if (*text == '|' || (*text == '*' && !is_code))
            fputc('\\', stream);
        fputc(*text, stream);
    }
    fprintf(stream, "%s |", quote);
}

static void put_markdown(const tl_list *list, FILE *stream) {
    fprintf(stream, "| %s | group | unit | definition | meaning |\n|---|---|---|---|---|\n", tl_listing_kind_name(list->kind));
    for (uint32_t i = 0; i < list->n_rows; i++) {
        const tl_listing_row *row = &list->rows[i];
        fputc('|', stream);
        put_cell(stream, row->name, true);
        put_cell(stream, row->group, false);
        put_cell(stream, row->unit, false);
        put_cell(stream, row->definition, true);
        put_cell(stream, row->meaning, false);
        fputc('\n', stream);
    }
}

tl_status tl_report_list(const tl_list *list, tl_list_format format, FILE *stream, tl_error *err) {
    tl_status status = TL_OK;
    switch (format) {
    case TL_LIST_TEXT: put_text(list, false, stream); break;
    case TL_LIST_TEXT_VERBOSE: put_text(list, true, stream); break;
    case TL_LIST_JSON: status = put_json(list, stream, err); break;
    case TL_LIST_MARKDOWN: put_markdown(list, stream); break;
    }
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the list could not be written in full");
    return status;
}
