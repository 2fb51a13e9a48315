// SPDX-License-Identifier: MIT
// A streaming JSON writer: no tree, one number format, the same bytes in every locale. Style NDJSON
// puts each top-level value on one line; style pretty indents.
//
// Integers above 2^53 are written as strings, since most readers would round them; the rest are
// numbers. Doubles are the shortest text that reads back the same; NaN and infinities are null.
// Control characters are escaped; bytes that are not UTF-8 become U+FFFD, so the output is always
// valid.
//
// `key` names the member inside an object and is NULL inside an array and at the top. Failures of
// the sink are remembered and returned by tl_json_flush.
#ifndef TL_BASE_JSON_H
#define TL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/strbuf.h"

enum { TL_JSON_MAX_DEPTH = 32 };
typedef enum tl_json_style { TL_JSON_LINES, TL_JSON_PRETTY } tl_json_style;

typedef struct tl_json { // fields are the writer's own
    FILE *file;
    tl_strbuf *strbuf;
    tl_json_style style;
    bool has_failed;
    uint32_t depth;
    uint32_t n_members[TL_JSON_MAX_DEPTH + 1];
    bool is_object[TL_JSON_MAX_DEPTH + 1];
} tl_json;

void tl_json_init_file(tl_json *json, FILE *file, tl_json_style style);
void tl_json_init_strbuf(tl_json *json, tl_strbuf *strbuf, tl_json_style style);
void tl_json_begin_object(tl_json *json, const char *key);
void tl_json_end_object(tl_json *json); // of a top-level object: ends the line
void tl_json_begin_array(tl_json *json, const char *key);
void tl_json_end_array(tl_json *json);
void tl_json_string(tl_json *json, const char *key, const char *value); // NULL: null
void tl_json_string_n(tl_json *json, const char *key, const char *value, size_t n_bytes);
void tl_json_u64(tl_json *json, const char *key, uint64_t value);
void tl_json_i64(tl_json *json, const char *key, int64_t value);
void tl_json_double(tl_json *json, const char *key, double value);
void tl_json_bool(tl_json *json, const char *key, bool value);
void tl_json_null(tl_json *json, const char *key);
// TL_EIO when the file refused bytes (full disk, closed pipe), TL_ENOMEM when the buffer could not
// grow.
TL_MUST_CHECK tl_status tl_json_flush(tl_json *json, tl_error *err);

#endif
