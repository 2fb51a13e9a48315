// SPDX-License-Identifier: MIT
// The growing string of strbuf.h: capacity doubles, text is always terminated.
#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(tl_strbuf *buf, size_t more_bytes) { // and one for the terminator
    if (buf->has_failed)
        return false;
    if (more_bytes > SIZE_MAX / 2 - buf->n_bytes) {
        buf->has_failed = true;
        return false;
    }
    size_t need = buf->n_bytes + more_bytes + 1;
    if (need <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    char *text = realloc(buf->text, capacity);
    if (!text) {
        buf->has_failed = true;
        return false;
    }
    buf->text = text;
    buf->capacity = capacity;
    return true;
}

void tl_strbuf_add_n(tl_strbuf *buf, const char *bytes, size_t n_bytes) {
    if (!reserve(buf, n_bytes))
        return;
    if (n_bytes > 0)
        memcpy(buf->text + buf->n_bytes, bytes, n_bytes);
    buf->n_bytes += n_bytes;
    buf->text[buf->n_bytes] = '\0';
}

void tl_strbuf_add(tl_strbuf *buf, const char *text) { tl_strbuf_add_n(buf, text, strlen(text)); }
void tl_strbuf_add_char(tl_strbuf *buf, char c) { tl_strbuf_add_n(buf, &c, 1); }

void tl_strbuf_addf(tl_strbuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve(buf, (size_t)n)) {
        buf->has_failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buf->text + buf->n_bytes, (size_t)n + 1, format, args);
    va_end(args);
    buf->n_bytes += (size_t)n;
}

void tl_strbuf_clear(tl_strbuf *buf) {
    buf->n_bytes = 0;
    buf->has_failed = false;
    if (buf->text)
        buf->text[0] = '\0';
}

char *tl_strbuf_take(tl_strbuf *buf) {
    reserve(buf, 0);
    char *text = buf->has_failed ? NULL : buf->text;
    if (text) {
        text[buf->n_bytes] = '\0';
        buf->text = NULL;
    }
    tl_strbuf_done(buf);
    return text;
}

void tl_strbuf_done(tl_strbuf *buf) {
    free(buf->text);
    *buf = (tl_strbuf){0};
}
