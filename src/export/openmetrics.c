// SPDX-License-Identifier: MIT
// Totals as OpenMetrics 1.0 text: a counter for each event, labels from the run.
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "export/formats.h"
#include "export/measures.h"
#include "export/stacks.h"

// Escapes a label's value or a help text.
static void put_escaped(FILE *stream, const char *text) {
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", stream);
        else if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else
            fputc(*text, stream);
    }
}

// "tally_l1d_load_miss", with the unit behind it, as the format asks.
static void name_of(const tl_export_measure *measure, tl_strbuf *text) {
    tl_strbuf_clear(text);
    tl_strbuf_add(text, "tally_");
    for (const char *c = measure->name; *c; c++)
        tl_strbuf_add_char(text, isalnum((unsigned char)*c) ? *c : '_');
    const size_t n = strlen(measure->unit);
    if (n > 0 && (text->n_bytes < n || strcmp(tl_strbuf_text(text) + text->n_bytes - n, measure->unit) != 0))
        tl_strbuf_addf(text, "_%s", measure->unit);
}

tl_status tl_export_openmetrics(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    tl_strbuf name = {0};
    for (uint32_t i = 0; i < measures->n_items; i++) {
        const tl_export_measure *measure = &measures->items[i];
        name_of(measure, &name);
        if (name.has_failed) {
            tl_strbuf_done(&name);
            return tl_export_no_memory(err);
        }
        fprintf(stream, "# TYPE %s counter\n", tl_strbuf_text(&name));
        if (measure->unit[0])
            fprintf(stream, "# UNIT %s %s\n", tl_strbuf_text(&name), measure->unit);
        fprintf(stream, "# HELP %s ", tl_strbuf_text(&name));
        put_escaped(stream, measure->meaning);
        fprintf(stream, "\n%s_total{program=\"", tl_strbuf_text(&name));
        put_escaped(stream, tl_profile_setting_of(profile, "program"));
        fputs("\",machine=\"", stream);
        put_escaped(stream, tl_profile_setting_of(profile, "machine"));
        fprintf(stream, "\"} %" PRIu64 "\n", measure->total);
    }
    fputs("# EOF\n", stream);
    tl_strbuf_done(&name);
    return TL_OK;
}
