// SPDX-License-Identifier: MIT
// pprof's profile.proto, written field by field, because trees of a protobuf library would need
// several times the memory. gzip by zlib; without it, plain bytes, which pprof reads as well.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/strbuf.h"
#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"
#ifdef TL_HAS_ZLIB
#define ZLIB_CONST // input of deflate is const
#include <zlib.h>
#endif

enum { // numbers of fields in profile.proto
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7, // and filenames, line numbers, inlined frames: the next three
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5,
};

typedef struct pprof {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_intern strings, functions, locations;
    tl_strbuf out; // the message
    tl_strbuf message, part, key;
} pprof;

static void put_varint(tl_strbuf *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        tl_strbuf_add_char(out, (char)(value | 0x80));
    tl_strbuf_add_char(out, (char)value);
}

static void put_number(tl_strbuf *out, uint32_t field, uint64_t value) {
    if (value == 0)
        return;
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

static void put_bytes(tl_strbuf *out, uint32_t field, const char *bytes, size_t n_bytes) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, n_bytes);
    tl_strbuf_add_n(out, bytes, n_bytes);
}

static void put_message(tl_strbuf *out, uint32_t field, tl_strbuf *message) {
    put_bytes(out, field, tl_strbuf_text(message), message->n_bytes);
    out->has_failed |= message->has_failed;
    tl_strbuf_clear(message);
}

static void put_text(pprof *p, tl_strbuf *out, uint32_t field, const char *text) {
    put_number(out, field, tl_intern_text(&p->strings, text, NULL));
}

static uint64_t function_of(pprof *p, const tl_export_frame *frame) {
    bool is_new;
    const char *path = frame->path ? frame->path : "";
    const uint32_t index = tl_intern_textf(&p->functions, &is_new, "%s\n%s\n%s\n%u", frame->name, frame->symbol, path, frame->start_line);
    if (is_new) {
        put_number(&p->part, FUNCTION_ID, index + 1u);
        put_text(p, &p->part, FUNCTION_NAME, frame->name);
        put_text(p, &p->part, FUNCTION_SYSTEM_NAME, frame->symbol);
        put_text(p, &p->part, FUNCTION_FILE, path);
        put_number(&p->part, FUNCTION_START_LINE, frame->start_line);
        put_message(&p->out, PROFILE_FUNCTION, &p->part);
    }
    return index + 1u;
}

// A frame and the inlined ones behind it are one location; its lines are the innermost first.
static uint64_t location_of(pprof *p, const tl_export_frame *frames, uint32_t n_frames) {
    tl_strbuf_clear(&p->key);
    tl_strbuf_addf(&p->key, "%u %llx %u", frames->object, (unsigned long long)frames->address, frames->function);
    uint64_t functions[64];
    for (uint32_t i = 0; i < n_frames; i++) {
        const uint64_t function = function_of(p, &frames[i]);
        if (i < TL_COUNT_OF(functions))
            functions[i] = function;
        tl_strbuf_addf(&p->key, " %llu:%u", (unsigned long long)function, frames[i].line);
    }
    p->out.has_failed |= p->key.has_failed;
    bool is_new;
    const uint32_t index = tl_intern_text(&p->locations, tl_strbuf_text(&p->key), &is_new);
    if (!is_new)
        return index + 1u;
    tl_strbuf line = {0};
    put_number(&p->part, LOCATION_ID, index + 1u);
    put_number(&p->part, LOCATION_MAPPING, frames->object == TL_PROFILE_NONE ? 0 : frames->object + 1u);
    put_number(&p->part, LOCATION_ADDRESS, frames->address);
    for (uint32_t i = n_frames < TL_COUNT_OF(functions) ? n_frames : (uint32_t)TL_COUNT_OF(functions); i-- > 0;) {
        put_number(&line, LINE_FUNCTION, functions[i]);
        put_number(&line, LINE_LINE, frames[i].line);
        put_message(&p->part, LOCATION_LINE, &line);
    }
    tl_strbuf_done(&line);
    put_message(&p->out, PROFILE_LOCATION, &p->part);
    return index + 1u;
}

static void put_label(pprof *p, const char *key, const char *text, uint64_t number) {
    put_text(p, &p->part, LABEL_KEY, key);
    if (text)
        put_text(p, &p->part, LABEL_TEXT, text);
    put_number(&p->part, LABEL_NUMBER, number);
    put_message(&p->message, SAMPLE_LABEL, &p->part);
}

static tl_status add_sample(void *ctx, const tl_export_stack *stack, tl_error *err) {
    pprof *p = ctx;
    const tl_profile_thread *thread = &p->profile->threads[stack->thread];
    tl_strbuf list = {0};
    for (uint32_t end = stack->n_frames; end > 0;) { // the innermost location first
        uint32_t begin = end - 1;
        while (begin > 0 && stack->frames[begin].is_inlined)
            begin--;
        put_varint(&list, location_of(p, &stack->frames[begin], end - begin));
        end = begin;
    }
    put_message(&p->message, SAMPLE_LOCATION, &list);
    for (uint32_t i = 0; i < p->measures->n_items; i++)
        put_varint(&list, stack->weights[i]);
    put_message(&p->message, SAMPLE_VALUE, &list);
    tl_strbuf_done(&list);
    put_label(p, "thread", thread->name, 0);
    put_label(p, "tid", NULL, (uint64_t)thread->tid);
    put_label(p, "pid", NULL, (uint64_t)p->profile->processes[thread->process].pid);
    put_message(&p->out, PROFILE_SAMPLE, &p->message);
    return p->out.has_failed || p->strings.has_failed || p->functions.has_failed || p->locations.has_failed ? tl_export_no_memory(err)
                                                                                                            : TL_OK;
}

// All areas of an object are one mapping, at its addresses before the load bias.
static void put_mapping(pprof *p, uint32_t object) {
    const tl_profile *profile = p->profile;
    uint64_t start = UINT64_MAX, limit = 0, offset = 0;
    for (uint32_t i = 0; i < profile->n_mappings; i++) {
        const tl_profile_mapping *m = &profile->mappings[i];
        if (m->object != object)
            continue;
        if (m->start - m->bias < start) {
            start = m->start - m->bias;
            offset = m->offset;
        }
        if (m->end - m->bias > limit)
            limit = m->end - m->bias;
    }
    put_number(&p->message, MAPPING_ID, object + 1u);
    put_number(&p->message, MAPPING_START, start < limit ? start : 0);
    put_number(&p->message, MAPPING_LIMIT, limit);
    put_number(&p->message, MAPPING_OFFSET, offset);
    put_text(p, &p->message, MAPPING_FILE, tl_profile_object_path(profile, object));
    put_text(p, &p->message, MAPPING_BUILD_ID, profile->objects[object].build_id);
    for (uint32_t has = 0; has < 4; has++)
        put_number(&p->message, MAPPING_HAS_FUNCTIONS + has, 1);
    put_message(&p->out, PROFILE_MAPPING, &p->message);
}

static tl_status put_stream(const tl_strbuf *out, FILE *stream, tl_error *err) {
#ifdef TL_HAS_ZLIB
    z_stream z = {0};
    const int gzip = 16 + MAX_WBITS;
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return tl_export_no_memory(err);
    size_t at = 0;
    uint8_t packed[16384];
    int ended = Z_OK;
    while (ended != Z_STREAM_END) {
        const size_t n = out->n_bytes - at < UINT32_MAX / 2 ? out->n_bytes - at : UINT32_MAX / 2;
        z.next_in = (const Bytef *)out->text + at;
        z.avail_in = (uInt)n;
        do {
            z.next_out = packed;
            z.avail_out = sizeof packed;
            ended = deflate(&z, at + n == out->n_bytes ? Z_FINISH : Z_NO_FLUSH);
            fwrite(packed, 1, sizeof packed - z.avail_out, stream);
        } while (z.avail_out == 0);
        at += n;
    }
    deflateEnd(&z);
#else
    fwrite(out->text, 1, out->n_bytes, stream);
#endif
    (void)err;
    return TL_OK;
}

tl_status tl_export_pprof(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    pprof p = {.profile = profile, .measures = measures};
    tl_intern_text(&p.strings, "", NULL); // index 0, as the format asks
    for (uint32_t i = 0; i < measures->n_items; i++) {
        put_text(&p, &p.message, VALUE_TYPE_TYPE, measures->items[i].name);
        put_text(&p, &p.message, VALUE_TYPE_UNIT, measures->items[i].unit[0] ? measures->items[i].unit : "count");
        put_message(&p.out, PROFILE_SAMPLE_TYPE, &p.message);
    }
    for (uint32_t i = 0; i < profile->n_objects; i++)
        put_mapping(&p, i);
    tl_status status = tl_export_each_stack(profile, measures, add_sample, &p, err);
    put_number(&p.out, PROFILE_COMMENT, tl_intern_text(&p.strings, tl_profile_setting_of(profile, "program"), NULL));
    put_number(&p.out, PROFILE_DEFAULT_SAMPLE_TYPE, tl_intern_text(&p.strings, measures->items[0].name, NULL));
    for (uint32_t i = 0; i < p.strings.n_texts; i++)
        put_bytes(&p.out, PROFILE_STRING, p.strings.texts[i], strlen(p.strings.texts[i]));
    if (status == TL_OK && (p.out.has_failed || p.strings.has_failed))
        status = tl_export_no_memory(err);
    if (status == TL_OK)
        status = put_stream(&p.out, stream, err);
    tl_intern_done(&p.strings);
    tl_intern_done(&p.functions);
    tl_intern_done(&p.locations);
    tl_strbuf_done(&p.out);
    tl_strbuf_done(&p.message);
    tl_strbuf_done(&p.part);
    tl_strbuf_done(&p.key);
    return status;
}
