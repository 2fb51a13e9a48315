// SPDX-License-Identifier: MIT
// Frames of contexts and of instructions.
#include "export/stacks.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct walker {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_export_frame *frames; // as a stack: n_frames of room
    uint32_t n_frames, room;
    uint64_t *weights;
    bool has_failed;
} walker;

tl_status tl_export_no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for an export"); }

const char *tl_export_object_path(const tl_profile *profile, uint32_t object) {
    static const char aliases[] = "/tally/"; // TL_PATH_ALIASES of linux/file/path.h
    const char *path = profile->objects[object].path;
    return strncmp(path, aliases, sizeof aliases - 1) == 0 ? tl_base_name(path) : path;
}

const char *tl_export_thread_name(const tl_profile *profile, uint32_t thread, char *ret_text, size_t size_bytes) {
    const tl_profile_thread *row = &profile->threads[thread];
    snprintf(ret_text, size_bytes, "%s-%ld", row->name, (long)row->tid);
    return ret_text;
}

static tl_export_frame *push(walker *w) {
    if (w->n_frames == w->room) {
        const uint32_t room = w->room ? 2 * w->room : 64;
        tl_export_frame *larger = room > w->room ? realloc(w->frames, room * sizeof *larger) : NULL;
        if (!larger) {
            w->has_failed = true;
            w->n_frames = 0;
            if (w->room == 0)
                return NULL;
        } else {
            w->frames = larger;
            w->room = room;
        }
    }
    tl_export_frame *frame = &w->frames[w->n_frames++];
    *frame = (tl_export_frame){.object = TL_PROFILE_NONE, .function = TL_PROFILE_NONE, .insn = TL_PROFILE_NONE};
    return frame;
}

static const char *path_of(const tl_profile *p, uint32_t source) { return source == TL_PROFILE_NONE ? NULL : p->sources[source].path; }

// Inlined calls, the outermost first, on the frame of their function.
static void push_inlined(walker *w, uint32_t innermost, const tl_export_frame *around) {
    const tl_profile *p = w->profile;
    uint32_t n = 0;
    for (uint32_t i = innermost; i != TL_PROFILE_NONE; i = p->inlined[i].parent)
        n++;
    for (uint32_t k = 0; k < n; k++)
        if (!push(w))
            return;
    if (w->has_failed)
        return;
    tl_export_frame *frame = &w->frames[w->n_frames - 1];
    for (uint32_t i = innermost; i != TL_PROFILE_NONE; i = p->inlined[i].parent, frame--) {
        const tl_profile_inlined *row = &p->inlined[i];
        frame->name = frame->symbol = row->name;
        frame->object = around->object;
        frame->insn = around->insn;
        frame->address = around->address;
        frame->is_inlined = true;
        frame[-1].path = path_of(p, row->source); // the frame outside executes the call
        frame[-1].line = row->line;
    }
}

// The frames of a function that executes an instruction, or TL_PROFILE_NONE: one that is not known.
static void push_function(walker *w, uint32_t function, uint32_t insn) {
    const tl_profile *p = w->profile;
    tl_export_frame *frame = push(w);
    if (!frame)
        return;
    const tl_profile_insn *at = insn == TL_PROFILE_NONE ? NULL : &p->insns[insn];
    frame->insn = insn;
    if (function != TL_PROFILE_NONE) {
        const tl_profile_function *f = &p->functions[function];
        frame->name = f->name;
        frame->symbol = f->symbol;
        frame->object = f->object;
        frame->function = function;
        frame->address = f->address;
        frame->path = path_of(p, f->source);
        frame->start_line = f->line;
    } else {
        frame->object = at ? at->object : TL_PROFILE_NONE;
        frame->name = frame->symbol = "[unknown]";
    }
    if (!at)
        return;
    frame->address = at->address;
    const tl_export_frame around = *frame;
    push_inlined(w, at->inlined, &around);
    if (w->n_frames > 0 && at->source != TL_PROFILE_NONE) {
        w->frames[w->n_frames - 1].path = path_of(p, at->source);
        w->frames[w->n_frames - 1].line = at->line;
    }
}

static void clear_weights(walker *w) { memset(w->weights, 0, w->measures->n_items * sizeof *w->weights); }

static bool has_weight(const walker *w) {
    for (uint32_t i = 0; i < w->measures->n_items; i++)
        if (w->weights[i] != 0)
            return true;
    return false;
}

static tl_status tell(walker *w, uint32_t thread, tl_export_stack_fn *fn, void *ctx, tl_error *err) {
    if (w->has_failed)
        return tl_export_no_memory(err);
    const tl_export_stack stack = {thread, w->n_frames, w->frames, w->weights};
    return fn(ctx, &stack, err);
}

// Frames of a context, the outermost first. Depth is bounded by memory, not by the host's stack.
static void push_contexts(walker *w, uint32_t context, uint32_t *path) {
    uint32_t n = 0;
    for (uint32_t c = context; c != TL_PROFILE_NONE; c = w->profile->contexts[c].parent)
        path[n++] = c;
    for (uint32_t i = n; i-- > 0;)
        push_function(w, w->profile->contexts[path[i]].function, i > 0 ? w->profile->contexts[path[i - 1]].call_site : TL_PROFILE_NONE);
}

static tl_status each_context(walker *w, tl_export_stack_fn *fn, void *ctx, tl_error *err) {
    const tl_profile *p = w->profile;
    uint32_t *path = calloc(p->n_contexts + 1u, sizeof *path);
    tl_status status = path ? TL_OK : tl_export_no_memory(err);
    for (uint32_t c = 0; c < p->n_contexts && status == TL_OK; c++) {
        const tl_profile_context *context = &p->contexts[c];
        clear_weights(w);
        for (uint32_t k = 0; k < context->n_counts; k++) {
            const tl_profile_tally *count = &p->context_counts[context->first_count + k];
            tl_export_weigh(w->measures, count->event, count->n, w->weights);
        }
        if (!has_weight(w))
            continue;
        w->n_frames = 0;
        push_contexts(w, c, path);
        status = tell(w, context->thread, fn, ctx, err);
    }
    free(path);
    return status;
}

static tl_status each_insn(walker *w, tl_export_stack_fn *fn, void *ctx, tl_error *err) {
    const tl_profile *p = w->profile;
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < p->n_insns && status == TL_OK; i++) {
        const tl_profile_insn *insn = &p->insns[i];
        for (uint32_t k = 0; k < insn->n_counts && status == TL_OK;) { // by thread, then event
            const tl_profile_count *counts = &p->counts[insn->first_count];
            const uint32_t thread = counts[k].thread;
            clear_weights(w);
            for (; k < insn->n_counts && counts[k].thread == thread; k++)
                tl_export_weigh(w->measures, counts[k].event, counts[k].n, w->weights);
            if (!has_weight(w))
                continue;
            w->n_frames = 0;
            push_function(w, insn->function, i);
            status = tell(w, thread, fn, ctx, err);
        }
    }
    return status;
}

tl_status tl_export_each_stack(const tl_profile *profile, const tl_export_measures *measures, tl_export_stack_fn *fn, void *ctx,
                               tl_error *err) {
    walker w = {.profile = profile, .measures = measures, .weights = calloc(measures->n_items + 1u, sizeof *w.weights)};
    tl_status status = !w.weights               ? tl_export_no_memory(err)
                       : measures->has_contexts ? each_context(&w, fn, ctx, err)
                                                : each_insn(&w, fn, ctx, err);
    free(w.frames);
    free(w.weights);
    return status;
}
