// SPDX-License-Identifier: MIT
// Shared by the readers of all manglings: a cursor over the symbol and an output that cannot
// overflow.
#ifndef TL_BASE_DEMANGLE_PARTS_H
#define TL_BASE_DEMANGLE_PARTS_H

#include <stdint.h>
#include <string.h>

#include "base/demangle.h"

typedef struct tl_demangle_text {
    const char *at, *end;
} tl_demangle_text;

static inline char tl_demangle_peek(const tl_demangle_text *in, size_t ahead) {
    return (size_t)(in->end - in->at) > ahead ? in->at[ahead] : '\0';
}

static inline bool tl_demangle_take(tl_demangle_text *in, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n) != 0)
        return false;
    in->at += n;
    return true;
}

// Digits of `base` 10 or 36; false: there is none, or the number is beyond 2^31.
static inline bool tl_demangle_number(tl_demangle_text *in, uint32_t base, uint32_t *ret_value) {
    uint64_t value = 0;
    const char *from = in->at;
    for (; in->at < in->end; in->at++) {
        char c = *in->at;
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : base == 36 && c >= 'A' && c <= 'Z' ? (uint32_t)(c - 'A') + 10 : base;
        if (digit >= base)
            break;
        value = value * base + digit;
        if (value > INT32_MAX)
            return false;
    }
    *ret_value = (uint32_t)value;
    return in->at > from;
}

typedef struct tl_demangle_out {
    char *text; // of TL_DEMANGLE_BYTES
    size_t n;
    bool has_failed; // it did not fit
} tl_demangle_out;

static inline void tl_demangle_put(tl_demangle_out *out, const char *text, size_t n) {
    if (n >= TL_DEMANGLE_BYTES - out->n) {
        out->has_failed = true;
        return;
    }
    memcpy(out->text + out->n, text, n);
    out->n += n;
}

static inline void tl_demangle_puts(tl_demangle_out *out, const char *text) { tl_demangle_put(out, text, strlen(text)); }

// `in` stands behind the prefix (_Z, _ZN, _R). True: all of the symbol was read.
bool tl_demangle_cxx(tl_demangle_text *in, tl_demangle_form form, tl_demangle_out *out);
bool tl_demangle_rust_legacy(tl_demangle_text *in, tl_demangle_out *out);
bool tl_demangle_rust_v0(tl_demangle_text *in, tl_demangle_out *out);

#endif
