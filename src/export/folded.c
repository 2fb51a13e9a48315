// SPDX-License-Identifier: MIT
// Folded stacks, as Brendan Gregg's FlameGraph tools read them: the thread's program and its
// frames, joined by semicolons, a blank, a count. One event, because a line holds one number.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"

typedef struct folding {
    const tl_profile *profile;
    tl_intern lines;
    uint64_t *weights; // by line
    uint32_t room;
    tl_strbuf text;
} folding;

// A semicolon would end the frame, and a line end the stack.
static void add_name(tl_strbuf *text, const char *name) {
    for (; *name; name++)
        tl_strbuf_add_char(text, *name == ';' ? ':' : *name == '\n' || *name == '\r' ? ' ' : *name);
}

static tl_status fold(void *ctx, const tl_export_stack *stack, tl_error *err) {
    folding *f = ctx;
    tl_strbuf_clear(&f->text);
    add_name(&f->text, f->profile->threads[stack->thread].name);
    for (uint32_t i = 0; i < stack->n_frames; i++) {
        const tl_export_frame *frame = &stack->frames[i];
        tl_strbuf_add_char(&f->text, ';');
        if (frame->function == TL_PROFILE_NONE && !frame->is_inlined && frame->object != TL_PROFILE_NONE) {
            tl_strbuf_add_char(&f->text, '[');
            add_name(&f->text, tl_base_name(f->profile->objects[frame->object].path));
            tl_strbuf_add_char(&f->text, ']');
        } else {
            add_name(&f->text, frame->name);
        }
    }
    bool is_new;
    const uint32_t line = tl_intern_text(&f->lines, tl_strbuf_text(&f->text), &is_new);
    if (f->text.has_failed || f->lines.has_failed)
        return tl_export_no_memory(err);
    if (line >= f->room) {
        const uint32_t room = f->room ? 2 * f->room : 256;
        uint64_t *larger = realloc(f->weights, room * sizeof *larger);
        if (!larger)
            return tl_export_no_memory(err);
        memset(larger + f->room, 0, (room - f->room) * sizeof *larger);
        f->weights = larger;
        f->room = room;
    }
    f->weights[line] += stack->weights[0];
    return TL_OK;
}

tl_status tl_export_folded(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    folding f = {.profile = profile};
    tl_status status = tl_export_each_stack(profile, measures, fold, &f, err);
    for (uint32_t i = 0; i < f.lines.n_texts && status == TL_OK; i++)
        if (f.weights[i] != 0)
            fprintf(stream, "%s %" PRIu64 "\n", f.lines.texts[i], f.weights[i]);
    tl_intern_done(&f.lines);
    tl_strbuf_done(&f.text);
    free(f.weights);
    return status;
}
