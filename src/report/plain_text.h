// SPDX-License-Identifier: MIT
// Text for a terminal. Names and sources of a foreign profile may hold control characters, which
// would move the cursor, rename the window or hide lines. They become question marks.
#ifndef TL_REPORT_PLAIN_TEXT_H
#define TL_REPORT_PLAIN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

#define TL_STYLE_BOLD "\033[1m"
#define TL_STYLE_DIM "\033[2m"
#define TL_STYLE_HOT "\033[1;31m"
#define TL_STYLE_PLAIN "\033[0m"

typedef struct tl_plain_text {
    FILE *to, *stream; // the text is written to stream
    char *text;
    size_t n_bytes;
} tl_plain_text;

TL_MUST_CHECK tl_status tl_plain_text_begin(tl_plain_text *plain, FILE *to, tl_error *err);
// Line ends, tabs and UTF-8 pass, and the styles above if has_color. If `status` is a failure,
// nothing is written, and it is returned.
tl_status tl_plain_text_end(tl_plain_text *plain, bool has_color, tl_status status, tl_error *err);

#endif
