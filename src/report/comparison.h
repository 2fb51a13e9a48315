// SPDX-License-Identifier: MIT
// Comparisons as text, JSON, CSV and a picture. The formats for programs walk one table of members
// (comparison_members.c), so that a new member of a row is one line there.
#ifndef TL_REPORT_COMPARISON_H
#define TL_REPORT_COMPARISON_H

#include <stdio.h>

#include "base/status.h"
#include "result/comparison.h"

TL_MUST_CHECK tl_status tl_report_comparison(const tl_comparison *comparison, tl_compare_format format, FILE *stream, tl_error *err);

void tl_comparison_put_text(const tl_comparison *comparison, FILE *stream);
TL_MUST_CHECK tl_status tl_comparison_put_json(const tl_comparison *comparison, FILE *stream, tl_error *err);
void tl_comparison_put_csv(const tl_comparison *comparison, FILE *stream);
TL_MUST_CHECK tl_status tl_comparison_put_svg(const tl_comparison *comparison, FILE *stream, tl_error *err);

// ---- Members

typedef enum tl_member_kind {
    TL_MEMBER_U32,
    TL_MEMBER_U64,
    TL_MEMBER_MILLI, // a u64 in thousandths
    TL_MEMBER_DOUBLE,
    TL_MEMBER_BOOL,
    TL_MEMBER_TEXT, // NULL: nothing
    TL_MEMBER_DESIGN,
    TL_MEMBER_OUTCOME,
    TL_MEMBER_END,
} tl_member_kind;

enum { TL_MEMBER_ALWAYS = 0xffff };

typedef struct tl_member {
    const char *name;
    tl_member_kind kind;
    uint16_t offset;
    uint16_t guard; // offset of a bool without which there is nothing, or TL_MEMBER_ALWAYS
    bool is_key;    // distinguishes rows of a section
} tl_member;

typedef struct tl_section {
    const char *name; // "design"
    const tl_member *members;
    uint32_t n_members;
    uint32_t row_bytes;
} tl_section;

extern const tl_section tl_comparison_sections[];
extern const uint32_t tl_n_comparison_sections;

const void *tl_comparison_rows(const tl_comparison *comparison, uint32_t section, uint32_t *ret_n);
const char *tl_comparison_design_name(const tl_comparison *comparison, uint32_t design);

static inline bool tl_member_is_there(const tl_member *member, const void *row) {
    return member->guard == TL_MEMBER_ALWAYS || *(const bool *)((const char *)row + member->guard);
}

#endif
