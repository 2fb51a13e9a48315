// SPDX-License-Identifier: MIT
// A string that grows. A zeroed tl_strbuf is empty. Running out of memory is remembered, not
// reported at each step: appends go on as no-ops and tl_strbuf_take returns NULL.
#ifndef TL_BASE_STRBUF_H
#define TL_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct tl_strbuf {
    char *text; // NULL while empty; else NUL-terminated
    size_t n_bytes, capacity;
    bool has_failed;
} tl_strbuf;

void tl_strbuf_add(tl_strbuf *buf, const char *text);
void tl_strbuf_add_n(tl_strbuf *buf, const char *bytes, size_t n_bytes);
void tl_strbuf_add_char(tl_strbuf *buf, char c);
void tl_strbuf_addf(tl_strbuf *buf, const char *format, ...) TL_PRINTF(2, 3);
void tl_strbuf_clear(tl_strbuf *buf); // empty again, memory kept, failure forgotten
// Never NULL; valid until the next call on `buf`.
static inline const char *tl_strbuf_text(const tl_strbuf *buf) { return buf->text ? buf->text : ""; }
// The caller frees it. `buf` is empty again. NULL: out of memory on the way.
char *tl_strbuf_take(tl_strbuf *buf);
void tl_strbuf_done(tl_strbuf *buf);

#endif
