// SPDX-License-Identifier: MIT
// The bounded appends of text.h.
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void tl_text_addf(tl_text *text, const char *format, ...) {
    const size_t at = text->n_bytes < text->size_bytes ? text->n_bytes : text->size_bytes;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(at < text->size_bytes ? text->buffer + at : NULL, text->size_bytes - at, format, args);
    va_end(args);
    text->n_bytes += n > 0 ? (size_t)n : 0;
}

void tl_text_cut(tl_text *text, size_t n_bytes) {
    text->n_bytes = n_bytes;
    if (n_bytes < text->size_bytes)
        text->buffer[n_bytes] = '\0';
}

const char *tl_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}
