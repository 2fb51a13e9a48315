// SPDX-License-Identifier: MIT
// speedscope's own format (file-format-spec of speedscope 1.x): shared frames, and a sampled
// profile for each event and thread.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"

static const char schema[] = "https://www.speedscope.app/file-format-schema.json";

typedef struct kept_stack {
    uint32_t thread;
    uint32_t first_frame, n_frames; // in frame_numbers
    uint32_t next;                  // of the thread, or TL_PROFILE_NONE
} kept_stack;

typedef struct scope {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_json json;
    tl_intern frames;
    kept_stack *stacks;
    uint64_t *weights; // by stack and measure
    uint32_t *frame_numbers;
    uint32_t n_stacks, n_frame_numbers, stack_room, frame_room;
    uint32_t *first, *last; // stacks of a thread, or TL_PROFILE_NONE
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
            tl_json_string(&s->json, "file", tl_profile_object_path(s->profile, frame->object));
        if (frame->start_line != 0)
            tl_json_u64(&s->json, "line", frame->start_line);
        tl_json_end_object(&s->json);
    }
    return TL_OK;
}

static bool make_room(void **items, uint32_t *room, uint64_t n, size_t item_bytes) {
    uint64_t larger = *room;
    while (larger < n)
        larger = larger ? 2 * larger : 256;
    if (larger > UINT32_MAX)
        return false;
    void *moved = realloc(*items, larger * item_bytes);
    if (!moved)
        return false;
    *items = moved;
    *room = (uint32_t)larger;
    return true;
}

static tl_status keep_stack(scope *s, const tl_export_stack *stack, tl_error *err) {
    const uint32_t n_measures = s->measures->n_items;
    if (s->n_stacks == s->stack_room) {
        uint32_t room = s->stack_room;
        if (!make_room((void **)&s->stacks, &room, s->n_stacks + UINT64_C(1), sizeof *s->stacks) ||
            !make_room((void **)&s->weights, &s->stack_room, room, n_measures * sizeof *s->weights))
            return tl_export_no_memory(err);
    }
    const uint64_t n_numbers = (uint64_t)s->n_frame_numbers + stack->n_frames;
    if (n_numbers > s->frame_room && !make_room((void **)&s->frame_numbers, &s->frame_room, n_numbers, sizeof *s->frame_numbers))
        return tl_export_no_memory(err);
    const uint32_t index = s->n_stacks++;
    s->stacks[index] = (kept_stack){stack->thread, s->n_frame_numbers, stack->n_frames, TL_PROFILE_NONE};
    for (uint32_t i = 0; i < stack->n_frames; i++)
        s->frame_numbers[s->n_frame_numbers++] = frame_of(s, &stack->frames[i], NULL);
    memcpy(&s->weights[(size_t)index * n_measures], stack->weights, n_measures * sizeof *s->weights);
    *(s->first[stack->thread] == TL_PROFILE_NONE ? &s->first[stack->thread] : &s->stacks[s->last[stack->thread]].next) = index;
    s->last[stack->thread] = index;
    return TL_OK;
}

static tl_status add_stack(void *ctx, const tl_export_stack *stack, tl_error *err) {
    tl_status status = add_frames(ctx, stack, err);
    return status == TL_OK ? keep_stack(ctx, stack, err) : status;
}

static uint64_t weight_of(const scope *s, uint32_t stack, uint32_t measure) {
    return s->weights[(size_t)stack * s->measures->n_items + measure];
}

static void add_profile(scope *s, uint32_t measure, uint32_t thread) {
    const char *name = s->measures->items[measure].name;
    char thread_name[96], title[256];
    snprintf(title, sizeof title, "%s: %s", name, tl_export_thread_name(s->profile, thread, thread_name, sizeof thread_name));
    uint64_t sum = 0;
    for (uint32_t i = s->first[thread]; i != TL_PROFILE_NONE; i = s->stacks[i].next)
        sum += weight_of(s, i, measure);
    if (sum == 0 && s->profile->n_threads > 1)
        return;
    tl_json_begin_object(&s->json, NULL);
    tl_json_string(&s->json, "type", "sampled");
    tl_json_string(&s->json, "name", s->profile->n_threads > 1 ? title : name);
    tl_json_string(&s->json, "unit", "none"); // a count; the format knows times and bytes besides
    tl_json_u64(&s->json, "startValue", 0);
    tl_json_u64(&s->json, "endValue", sum);
    tl_json_begin_array(&s->json, "samples");
    for (uint32_t i = s->first[thread]; i != TL_PROFILE_NONE; i = s->stacks[i].next) {
        if (weight_of(s, i, measure) == 0)
            continue;
        tl_json_begin_array(&s->json, NULL);
        for (uint32_t k = 0; k < s->stacks[i].n_frames; k++)
            tl_json_u64(&s->json, NULL, s->frame_numbers[s->stacks[i].first_frame + k]);
        tl_json_end_array(&s->json);
    }
    tl_json_end_array(&s->json);
    tl_json_begin_array(&s->json, "weights");
    for (uint32_t i = s->first[thread]; i != TL_PROFILE_NONE; i = s->stacks[i].next)
        if (weight_of(s, i, measure) != 0)
            tl_json_u64(&s->json, NULL, weight_of(s, i, measure));
    tl_json_end_array(&s->json);
    tl_json_end_object(&s->json);
}

tl_status tl_export_speedscope(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    scope s = {.profile = profile, .measures = measures};
    s.first = malloc((profile->n_threads + 1u) * sizeof *s.first);
    s.last = malloc((profile->n_threads + 1u) * sizeof *s.last);
    tl_status status = s.first && s.last ? TL_OK : tl_export_no_memory(err);
    for (uint32_t i = 0; i < profile->n_threads && status == TL_OK; i++)
        s.first[i] = TL_PROFILE_NONE;
    tl_json_init_file(&s.json, stream, TL_JSON_LINES);
    tl_json_begin_object(&s.json, NULL);
    tl_json_string(&s.json, "$schema", schema);
    tl_json_string(&s.json, "exporter", "tally");
    tl_json_string(&s.json, "name", tl_profile_setting_of(profile, "program"));
    tl_json_u64(&s.json, "activeProfileIndex", 0);
    tl_json_begin_object(&s.json, "shared");
    tl_json_begin_array(&s.json, "frames");
    if (status == TL_OK)
        status = tl_export_each_stack(profile, measures, add_stack, &s, err);
    tl_json_end_array(&s.json);
    tl_json_end_object(&s.json);
    tl_json_begin_array(&s.json, "profiles");
    for (uint32_t measure = 0; measure < measures->n_items && status == TL_OK; measure++)
        for (uint32_t thread = 0; thread < profile->n_threads; thread++)
            add_profile(&s, measure, thread);
    tl_json_end_array(&s.json);
    tl_json_end_object(&s.json);
    tl_intern_done(&s.frames);
    free(s.stacks);
    free(s.weights);
    free(s.frame_numbers);
    free(s.first);
    free(s.last);
    const tl_status flushed = tl_json_flush(&s.json, status == TL_OK ? err : NULL);
    return status != TL_OK ? status : flushed;
}
