// SPDX-License-Identifier: MIT
// Comparisons for spreadsheets, in long form: a line per number, always five columns. `subject`
// distinguishes rows of one design.
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "report/comparison.h"
#include "report/csv.h"
#include "report/report.h"
#include "result/result.h"

static void add_member(tl_strbuf *buf, const tl_comparison *c, const tl_member *member, const void *row) {
    const void *at = (const char *)row + member->offset;
    char text[TL_NUMBER_BYTES];
    if (!tl_member_is_there(member, row))
        return;
    switch (member->kind) {
    case TL_MEMBER_U32: tl_strbuf_addf(buf, "%" PRIu32, *(const uint32_t *)at); break;
    case TL_MEMBER_U64: tl_strbuf_addf(buf, "%" PRIu64, *(const uint64_t *)at); break;
    case TL_MEMBER_MILLI:
        tl_format_double((double)*(const uint64_t *)at / 1000, text);
        tl_strbuf_add(buf, text);
        break;
    case TL_MEMBER_DOUBLE:
        tl_format_double(*(const double *)at, text);
        tl_strbuf_add(buf, text);
        break;
    case TL_MEMBER_BOOL: tl_strbuf_add(buf, *(const bool *)at ? "1" : "0"); break;
    case TL_MEMBER_TEXT: tl_strbuf_add(buf, *(const char *const *)at ? *(const char *const *)at : ""); break;
    case TL_MEMBER_DESIGN: tl_strbuf_add(buf, tl_comparison_design_name(c, *(const uint32_t *)at)); break;
    case TL_MEMBER_OUTCOME: tl_strbuf_add(buf, tl_comparison_outcome_text(*(const tl_compare_outcome *)at)); break;
    case TL_MEMBER_END: tl_strbuf_add(buf, tl_end_reason_name(*(const tl_end_reason *)at)); break;
    }
}

static void put_cell(const char *text, char after, FILE *stream) {
    tl_csv_put_cell(stream, text);
    fputc(after, stream);
}

// "csrr user 8"
static void add_subject(tl_strbuf *buf, const tl_comparison *c, const tl_section *section, const void *row) {
    for (uint32_t f = 0; f < section->n_members; f++) {
        const tl_member *member = &section->members[f];
        if (!member->is_key || member->kind == TL_MEMBER_DESIGN)
            continue;
        if (buf->n_bytes > 0)
            tl_strbuf_add_char(buf, ' ');
        if (member->kind == TL_MEMBER_BOOL || member->kind == TL_MEMBER_U32)
            tl_strbuf_addf(buf, "%s=", member->name);
        add_member(buf, c, member, row);
    }
}

static void put_row(const tl_comparison *c, const tl_section *section, const void *row, FILE *stream) {
    tl_strbuf design = {0}, subject = {0}, value = {0};
    if (section->members[0].kind == TL_MEMBER_DESIGN)
        add_member(&design, c, &section->members[0], row);
    add_subject(&subject, c, section, row);
    for (uint32_t f = 0; f < section->n_members; f++) {
        if (section->members[f].is_key)
            continue;
        tl_strbuf_clear(&value);
        add_member(&value, c, &section->members[f], row);
        put_cell(section->name, ',', stream);
        put_cell(tl_strbuf_text(&design), ',', stream);
        put_cell(tl_strbuf_text(&subject), ',', stream);
        put_cell(section->members[f].name, ',', stream);
        put_cell(tl_strbuf_text(&value), '\n', stream);
    }
    tl_strbuf_done(&design);
    tl_strbuf_done(&subject);
    tl_strbuf_done(&value);
}

void tl_comparison_put_csv(const tl_comparison *c, FILE *stream) {
    fputs("section,design,subject,quantity,value\n", stream);
    for (uint32_t i = 0; i < tl_n_comparison_sections; i++) {
        uint32_t n_rows;
        const char *rows = tl_comparison_rows(c, i, &n_rows);
        for (uint32_t k = 0; k < n_rows; k++)
            put_row(c, &tl_comparison_sections[i], rows + (size_t)k * tl_comparison_sections[i].row_bytes, stream);
    }
}
