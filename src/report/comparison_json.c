// SPDX-License-Identifier: MIT
// Comparisons for programs: one object a line, schema "tally.compare/1"
// (docs/schema/compare-1.json), the run first.
#include "base/json.h"
#include "report/comparison.h"
#include "result/result.h"

static void put_member(const tl_comparison *c, const tl_member *member, const void *row, tl_json *json) {
    const void *at = (const char *)row + member->offset;
    if (!tl_member_is_there(member, row)) {
        tl_json_null(json, member->name);
        return;
    }
    switch (member->kind) {
    case TL_MEMBER_U32: tl_json_u64(json, member->name, *(const uint32_t *)at); break;
    case TL_MEMBER_U64: tl_json_u64(json, member->name, *(const uint64_t *)at); break;
    case TL_MEMBER_MILLI: tl_json_double(json, member->name, (double)*(const uint64_t *)at / 1000); break;
    case TL_MEMBER_DOUBLE: tl_json_double(json, member->name, *(const double *)at); break;
    case TL_MEMBER_BOOL: tl_json_bool(json, member->name, *(const bool *)at); break;
    case TL_MEMBER_TEXT: tl_json_string(json, member->name, *(const char *const *)at); break;
    case TL_MEMBER_DESIGN: tl_json_string(json, member->name, tl_comparison_design_name(c, *(const uint32_t *)at)); break;
    case TL_MEMBER_OUTCOME: tl_json_string(json, member->name, tl_comparison_outcome_text(*(const tl_compare_outcome *)at)); break;
    case TL_MEMBER_END: tl_json_string(json, member->name, tl_end_reason_name(*(const tl_end_reason *)at)); break;
    }
}

tl_status tl_comparison_put_json(const tl_comparison *c, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    for (uint32_t i = 0; i < tl_n_comparison_sections; i++) {
        const tl_section *section = &tl_comparison_sections[i];
        uint32_t n_rows;
        const char *rows = tl_comparison_rows(c, i, &n_rows);
        for (uint32_t k = 0; k < n_rows; k++) {
            tl_json_begin_object(&json, NULL);
            tl_json_string(&json, "type", section->name);
            if (i == 0)
                tl_json_string(&json, "schema", "tally.compare/1");
            for (uint32_t f = 0; f < section->n_members; f++)
                put_member(c, &section->members[f], rows + (size_t)k * section->row_bytes, &json);
            tl_json_end_object(&json);
        }
    }
    return tl_json_flush(&json, err);
}
