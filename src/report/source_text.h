// SPDX-License-Identifier: MIT
// Text of a profile's source files, by line: from the profile, else from this host.
#ifndef TL_REPORT_SOURCE_TEXT_H
#define TL_REPORT_SOURCE_TEXT_H

#include "profile/profile.h"

typedef struct tl_source_text { // of one file
    const char **lines;         // not terminated
    uint32_t *lengths;
    uint32_t n;
    char *bytes; // owned; NULL: the profile's
    bool is_sought;
} tl_source_text;

typedef struct tl_source_texts {
    const tl_profile *profile;
    // A folder in which files are sought, too, by ever shorter ends of their paths; NULL: none.
    const char *root;
    bool without_sources; // of this host
    tl_source_text *items;
} tl_source_texts;

TL_MUST_CHECK tl_status tl_source_texts_init(const tl_profile *profile, const char *root, bool without_sources, tl_source_texts *ret_texts,
                                             tl_error *err);
void tl_source_texts_done(tl_source_texts *texts);                   // a zeroed one is fine
uint32_t tl_source_n_lines(tl_source_texts *texts, uint32_t source); // 0: there is no text
// Lines count from 1. NULL: there is no such line.
const char *tl_source_line(tl_source_texts *texts, uint32_t source, uint32_t line, uint32_t *ret_n_bytes);
// The path behind its last slash.
const char *tl_source_name(const tl_profile *profile, uint32_t source);

#endif
