// SPDX-License-Identifier: MIT
// speedscope's own format (file-format-spec of speedscope 1.x): shared frames, and a sampled
// profile for each event and thread.
#include <stdlib.h>

#include "base/json.h"
#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"

static const char schema[] = "https://www.speedscope.app/file-format-schema.json";

typedef struct scope {
    const tl_profile *profile;
    tl_json json;
    tl_intern frames;
    uint32_t measure, thread;
    bool wants_weights;
    uint64_t sum;
} scope;

static uint32_t frame_of(scope *s, const tl_export_frame *frame, bool *ret_is_new) {
    const char *object = frame->object == TL_PROFILE_NONE ? "" : s->profile->objects[frame->object].path;
    return tl_intern_textf(&s->frames, ret_is_new, "%s\n%s\n%s\n%u", frame->name, object, frame->path ? frame->path : "",
                           frame->start_line);
}

static tl_status add_frames(void *ctx, const tl_export_stack *stack, tl_error *err) {
    scope *s = ctx;
    for (uint32_t i = 0; i < stack->n_frames; i++) {
        const tl_export_frame *frame = &stack->frames[i];
        bool is_new;
        frame_of(s, frame, &is_new);
        if (s->frames.has_failed)
            return tl_export_no_memory(err);
        if (!is_new)
            continue;
        tl_json_begin_object(&s->json, NULL);
        tl_json_string(&s->json, "name", frame->name);
        if (frame->path)
            tl_json_string(&s->json, "file", frame->path);
        else if (frame->object != TL_PROFILE_NONE)
            tl_json_string(&s->json, "file", tl_export_object_path(s->profile, frame->object));
        if (frame->start_line != 0)
            tl_json_u64(&s->json, "line", frame->start_line);
        tl_json_end_object(&s->json);
    }
    return TL_OK;
}

static tl_status add_sample(void *ctx, const tl_export_stack *stack, tl_error *err) {
    scope *s = ctx;
    (void)err;
    const uint64_t weight = stack->weights[s->measure];
    if (stack->thread != s->thread || weight == 0)
        return TL_OK;
    s->sum += weight;
    if (s->wants_weights) {
        tl_json_u64(&s->json, NULL, weight);
        return TL_OK;
    }
    tl_json_begin_array(&s->json, NULL);
    for (uint32_t i = 0; i < stack->n_frames; i++)
        tl_json_u64(&s->json, NULL, frame_of(s, &stack->frames[i], NULL));
    tl_json_end_array(&s->json);
    return TL_OK;
}

static tl_status add_profile(scope *s, const tl_export_measures *measures, tl_error *err) {
    const tl_export_measure *measure = &measures->items[s->measure];
    char thread[96], title[256];
    tl_export_thread_name(s->profile, s->thread, thread, sizeof thread);
    snprintf(title, sizeof title, "%s: %s", measure->name, thread);
    tl_json_begin_object(&s->json, NULL);
    tl_json_string(&s->json, "type", "sampled");
    tl_json_string(&s->json, "name", s->profile->n_threads > 1 ? title : measure->name);
    tl_json_string(&s->json, "unit", "none"); // a count; the format knows times and bytes besides
    tl_json_u64(&s->json, "startValue", 0);
    s->wants_weights = false;
    s->sum = 0;
    tl_json_begin_array(&s->json, "samples");
    tl_status status = tl_export_each_stack(s->profile, measures, add_sample, s, err);
    tl_json_end_array(&s->json);
    tl_json_u64(&s->json, "endValue", s->sum);
    s->wants_weights = true;
    tl_json_begin_array(&s->json, "weights");
    if (status == TL_OK)
        status = tl_export_each_stack(s->profile, measures, add_sample, s, err);
    tl_json_end_array(&s->json);
    tl_json_end_object(&s->json);
    return status;
}

tl_status tl_export_speedscope(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    scope s = {.profile = profile};
    tl_json_init_file(&s.json, stream, TL_JSON_LINES);
    tl_json_begin_object(&s.json, NULL);
    tl_json_string(&s.json, "$schema", schema);
    tl_json_string(&s.json, "exporter", "tally");
    tl_json_string(&s.json, "name", tl_profile_setting_of(profile, "program"));
    tl_json_u64(&s.json, "activeProfileIndex", 0);
    tl_json_begin_object(&s.json, "shared");
    tl_json_begin_array(&s.json, "frames");
    tl_status status = tl_export_each_stack(profile, measures, add_frames, &s, err);
    tl_json_end_array(&s.json);
    tl_json_end_object(&s.json);
    tl_json_begin_array(&s.json, "profiles");
    for (s.measure = 0; s.measure < measures->n_items && status == TL_OK; s.measure++)
        for (s.thread = 0; s.thread < profile->n_threads && status == TL_OK; s.thread++)
            status = add_profile(&s, measures, err);
    tl_json_end_array(&s.json);
    tl_json_end_object(&s.json);
    tl_intern_done(&s.frames);
    const tl_status flushed = tl_json_flush(&s.json, status == TL_OK ? err : NULL);
    return status != TL_OK ? status : flushed;
}
