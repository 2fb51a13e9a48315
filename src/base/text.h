// SPDX-License-Identifier: MIT
// Text in a buffer of the caller. It is cut where the buffer ends, and counted in full, as snprintf
// does.
#ifndef TL_BASE_TEXT_H
#define TL_BASE_TEXT_H

#include <stddef.h>

#include "base/status.h"

typedef struct tl_text {
    char *buffer; // borrowed; NUL-terminated after the first append if size_bytes > 0
    size_t size_bytes;
    size_t n_bytes; // of the whole text; may pass size_bytes
} tl_text;

void tl_text_addf(tl_text *text, const char *format, ...) TL_PRINTF(2, 3);
// Cuts the text back to `n_bytes`, which is at most the present length.
void tl_text_cut(tl_text *text, size_t n_bytes);

// The last part of a path, behind its slashes; the whole path, if it ends with a slash.
const char *tl_base_name(const char *path);

#endif
