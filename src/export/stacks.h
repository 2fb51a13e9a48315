// SPDX-License-Identifier: MIT
// Stacks of frames with their weights. With a call graph, a stack is a calling context. Without
// one, it is an instruction's function and the calls that were inlined around the instruction.
#ifndef TL_EXPORT_STACKS_H
#define TL_EXPORT_STACKS_H

#include "export/measures.h"

typedef struct tl_export_frame {
    const char *name;    // of the function or the inlined call
    const char *symbol;  // as linked; of an inlined call its name
    const char *path;    // source that is executed there, or NULL
    uint32_t line;       // executed there; 0: not known
    uint32_t start_line; // of the function; 0: not known
    uint32_t object;     // or TL_PROFILE_NONE
    uint32_t function;   // or TL_PROFILE_NONE: an inlined call, or no symbol
    uint32_t insn;       // that is executed or calls; TL_PROFILE_NONE: the function as a whole
    uint64_t address;    // of the instruction, or of the function
    bool is_inlined;
} tl_export_frame;

typedef struct tl_export_stack {
    uint32_t thread;
    uint32_t n_frames;
    const tl_export_frame *frames; // the outermost first
    const uint64_t *weights;       // one per measure, not all 0
} tl_export_stack;

typedef tl_status tl_export_stack_fn(void *ctx, const tl_export_stack *stack, tl_error *err);

// Calls fn for each stack, in the order of the profile. Stops at a failure and returns it.
TL_MUST_CHECK tl_status tl_export_each_stack(const tl_profile *profile, const tl_export_measures *measures, tl_export_stack_fn *fn,
                                             void *ctx, tl_error *err);

// "lua-1000": a thread, as perf names one. Returns ret_text.
const char *tl_export_thread_name(const tl_profile *profile, uint32_t thread, char *ret_text, size_t size_bytes);
// The path of an object. A file of the host that the guest saw by an alias has its last name alone.
const char *tl_export_object_path(const tl_profile *profile, uint32_t object);
tl_status tl_export_no_memory(tl_error *err);

#endif
