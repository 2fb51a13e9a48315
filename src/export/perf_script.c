// SPDX-License-Identifier: MIT
// Text as perf script prints it: a heading for each stack and event, its frames from the innermost
// out, an empty line. The period is the exact count.
#include <inttypes.h>

#include "export/formats.h"
#include "export/stacks.h"

typedef struct script {
    const tl_profile *profile;
    const tl_export_measures *measures;
    FILE *stream;
} script;

static tl_status print_stack(void *ctx, const tl_export_stack *stack, tl_error *err) {
    const script *s = ctx;
    const tl_profile *p = s->profile;
    const tl_profile_thread *thread = &p->threads[stack->thread];
    (void)err;
    for (uint32_t m = 0; m < s->measures->n_items; m++) {
        if (stack->weights[m] == 0)
            continue;
        fprintf(s->stream, "%s %ld/%ld [000] 0.000000: %10" PRIu64 " %s:\n", thread->name, (long)p->processes[thread->process].pid,
                (long)thread->tid, stack->weights[m], s->measures->items[m].name);
        for (uint32_t i = stack->n_frames; i-- > 0;) {
            const tl_export_frame *frame = &stack->frames[i];
            fprintf(s->stream, "\t%16" PRIx64 " %s", frame->address, frame->symbol);
            if (frame->is_inlined)
                fputs(" (inlined)\n", s->stream);
            else
                fprintf(s->stream, " (%s)\n", frame->object == TL_PROFILE_NONE ? "[unknown]" : tl_profile_object_path(p, frame->object));
        }
        fputc('\n', s->stream);
    }
    return TL_OK;
}

tl_status tl_export_perf_script(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    script s = {profile, measures, stream};
    return tl_export_each_stack(profile, measures, print_stack, &s, err);
}
