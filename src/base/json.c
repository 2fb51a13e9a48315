// SPDX-License-Identifier: MIT
// The streaming writer of json.h: state is a stack of "object or array, how many members so far".
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

static const uint64_t EXACT_IN_DOUBLES = UINT64_C(1) << 53;

static void put(tl_json *json, const char *bytes, size_t n_bytes) {
    if (json->has_failed)
        return;
    if (json->strbuf) {
        tl_strbuf_add_n(json->strbuf, bytes, n_bytes);
        json->has_failed = json->strbuf->has_failed;
    } else if (n_bytes > 0 && fwrite(bytes, 1, n_bytes, json->file) != n_bytes) {
        json->has_failed = true;
    }
}

static void put_text(tl_json *json, const char *text) { put(json, text, strlen(text)); }

static void break_line(tl_json *json) {
    put(json, "\n", 1);
    for (uint32_t i = 0; i < json->depth; i++)
        put(json, "  ", 2);
}

static void put_string(tl_json *json, const char *value, size_t n_bytes) {
    put(json, "\"", 1);
    size_t from = 0; // start of the stretch that is copied as it is
    for (size_t i = 0; i < n_bytes;) {
        uint32_t code = 0;
        size_t length = tl_utf8_length(value + i, n_bytes - i, &code);
        bool is_plain = length > 0 && !tl_utf8_is_control(code) && code != '"' && code != '\\';
        if (is_plain) {
            i += length;
            continue;
        }
        put(json, value + from, i - from);
        char escape[8] = {'\\', 0};
        // Pairs of a character and its letter.
        const char *name = code ? strchr("\"\"\\\\\bb\ff\nn\rr\tt", (int)code) : NULL;
        if (length == 0)
            snprintf(escape, sizeof escape, "\\ufffd");
        else if (length == 1 && name)
            escape[1] = name[1];
        else
            snprintf(escape, sizeof escape, "\\u%04" PRIx32, code & 0xffff);
        put_text(json, escape);
        i += length ? length : 1;
        from = i;
    }
    put(json, value + from, n_bytes - from);
    put(json, "\"", 1);
}

// Comma, line break and key: all that comes before a value.
static void begin_value(tl_json *json, const char *key) {
    assert((json->depth > 0 && json->is_object[json->depth]) == (key != NULL));
    if (json->depth == 0)
        return;
    if (json->n_members[json->depth]++ > 0)
        put(json, ",", 1);
    if (json->style == TL_JSON_PRETTY)
        break_line(json);
    if (key) {
        put_string(json, key, strlen(key));
        put_text(json, json->style == TL_JSON_PRETTY ? ": " : ":");
    }
}

static void end_value(tl_json *json) {
    if (json->depth == 0)
        put(json, "\n", 1);
}

static void begin_nest(tl_json *json, const char *key, bool is_object) {
    begin_value(json, key);
    assert(json->depth < TL_JSON_MAX_DEPTH);
    put_text(json, is_object ? "{" : "[");
    json->depth++;
    json->n_members[json->depth] = 0;
    json->is_object[json->depth] = is_object;
}

static void end_nest(tl_json *json, bool is_object) {
    assert(json->depth > 0 && json->is_object[json->depth] == is_object);
    bool is_empty = json->n_members[json->depth] == 0;
    json->depth--;
    if (json->style == TL_JSON_PRETTY && !is_empty)
        break_line(json);
    put_text(json, is_object ? "}" : "]");
    end_value(json);
}

static void put_plain(tl_json *json, const char *key, const char *text) {
    begin_value(json, key);
    put_text(json, text);
    end_value(json);
}

void tl_json_init_file(tl_json *json, FILE *file, tl_json_style style) { *json = (tl_json){.file = file, .style = style}; }
void tl_json_init_strbuf(tl_json *json, tl_strbuf *strbuf, tl_json_style style) { *json = (tl_json){.strbuf = strbuf, .style = style}; }

void tl_json_begin_object(tl_json *json, const char *key) { begin_nest(json, key, true); }
void tl_json_end_object(tl_json *json) { end_nest(json, true); }
void tl_json_begin_array(tl_json *json, const char *key) { begin_nest(json, key, false); }
void tl_json_end_array(tl_json *json) { end_nest(json, false); }

void tl_json_string_n(tl_json *json, const char *key, const char *value, size_t n_bytes) {
    begin_value(json, key);
    put_string(json, value, n_bytes);
    end_value(json);
}

void tl_json_string(tl_json *json, const char *key, const char *value) {
    if (value)
        tl_json_string_n(json, key, value, strlen(value));
    else
        tl_json_null(json, key);
}

void tl_json_u64(tl_json *json, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, value > EXACT_IN_DOUBLES ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
    put_plain(json, key, text);
}

void tl_json_i64(tl_json *json, const char *key, int64_t value) {
    char text[32];
    bool is_exact = value <= (int64_t)EXACT_IN_DOUBLES && value >= -(int64_t)EXACT_IN_DOUBLES;
    snprintf(text, sizeof text, is_exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
    put_plain(json, key, text);
}

void tl_json_double(tl_json *json, const char *key, double value) {
    char text[32] = "null";
    if (isfinite(value))
        tl_format_double(value, text);
    put_plain(json, key, text);
}

void tl_json_bool(tl_json *json, const char *key, bool value) { put_plain(json, key, value ? "true" : "false"); }
void tl_json_null(tl_json *json, const char *key) { put_plain(json, key, "null"); }

tl_status tl_json_flush(tl_json *json, tl_error *err) {
    if (json->file && fflush(json->file) != 0)
        json->has_failed = true;
    if (!json->has_failed)
        return TL_OK;
    return json->strbuf ? tl_fail(err, TL_ENOMEM, "no memory for the output") : tl_fail(err, TL_EIO, "the output could not be written: %m");
}
