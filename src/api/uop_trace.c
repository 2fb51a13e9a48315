// SPDX-License-Identifier: MIT
// tally/uop_trace.h over the session and its writer.
#include <tally/uop_trace.h>

#include <stdlib.h>

#include "report/uop_lines.h"
#include "session/run.h"

struct tl_uop_trace {
    tl_session *session;
    tl_uop_lines *lines;
};

TL_API tl_status tl_uop_trace_new(tl_run *run, tl_uop_trace_format format, uint64_t max_insns, FILE *stream, tl_uop_trace **ret_trace,
                                  tl_error *err) {
    tl_session *session = (tl_session *)run;
    tl_uop_lines_of of = {.format = format, .max_insns = max_insns, .stream = stream};
    tl_status status = tl_session_can_tap(session, &of.n_harts, &of.disassemble, err);
    if (status != TL_OK)
        return status;
    tl_uop_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return tl_no_memory(err);
    trace->session = session;
    status = tl_uop_lines_new(&of, &trace->lines, err);
    if (status == TL_OK)
        status = tl_session_tap(session, tl_uop_lines_tap(trace->lines), err);
    if (status != TL_OK) {
        tl_uop_trace_free(trace);
        return status;
    }
    *ret_trace = trace;
    return TL_OK;
}

TL_API tl_status tl_uop_trace_end(tl_uop_trace *trace, tl_uop_trace_counts *ret_counts, tl_error *err) {
    const tl_status status = tl_session_tap(trace->session, NULL, err);
    return status == TL_OK ? tl_uop_lines_end(trace->lines, ret_counts, err) : status;
}

TL_API void tl_uop_trace_free(tl_uop_trace *trace) {
    if (!trace)
        return;
    tl_uop_lines_free(trace->lines);
    free(trace);
}
