// SPDX-License-Identifier: MIT
// A trace of the pipeline of a detailed core, uop by uop: for the viewer Konata, or as text.
//
//   tl_run_new(&options, &run, &err)                                a machine with a detailed core
//   tl_uop_trace_new(run, format, max_insns, stream, &trace, &err)  before tl_run_load
//   tl_run_load, tl_run_advance ...
//   tl_uop_trace_end(trace, &counts, &err)                          before tl_run_free
//   tl_uop_trace_free(trace)
//
// Without a region of interest the trace begins with the program. With one
// (tl_run_options.roi_start or one region), instructions fetched during its visits are traced. A
// trace changes no count.
#ifndef TALLY_UOP_TRACE_H
#define TALLY_UOP_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/run.h>

TL_BEGIN_DECLS

typedef enum tl_uop_trace_format {
    TL_UOP_TRACE_KANATA, // log format 0004 of Kanata, which Konata shows
    TL_UOP_TRACE_TEXT,   // one line for each uop, when it ends
} tl_uop_trace_format;

typedef struct tl_uop_trace_counts {
    uint32_t size; // set by the caller to sizeof(tl_uop_trace_counts)
    uint64_t n_insns, n_uops;
    uint64_t n_cycles; // of the harts, while they were traced
    bool is_cut;       // more instructions were fetched than the trace may have
} tl_uop_trace_counts;

typedef struct tl_uop_trace tl_uop_trace;

// Traces at most max_insns instructions, those on wrong paths included. The stream stays the
// caller's. TL_EINVAL: the machine has no detailed core, or the run has several regions.
TL_MUST_CHECK TL_API tl_status tl_uop_trace_new(tl_run *run, tl_uop_trace_format format, uint64_t max_insns, FILE *stream,
                                                tl_uop_trace **ret_trace, tl_error *err);
// Completes the trace. TL_EIO: the stream failed.
TL_MUST_CHECK TL_API tl_status tl_uop_trace_end(tl_uop_trace *trace, tl_uop_trace_counts *ret_counts, tl_error *err);
// Called after tl_uop_trace_end or tl_run_free. NULL is fine.
TL_API void tl_uop_trace_free(tl_uop_trace *trace);

TL_END_DECLS

#endif
