// SPDX-License-Identifier: MIT
// The writer of pipeline traces: a tap (model/tap.h) that follows each uop from fetch to its end.
// Format Kanata: the document kanata-log-format.md of the viewer Konata, version 0004.
#ifndef TL_REPORT_UOP_LINES_H
#define TL_REPORT_UOP_LINES_H

#include <tally/uop_trace.h>

#include "model/tap.h"

typedef struct tl_uop_lines tl_uop_lines;

typedef struct tl_uop_lines_of {
    tl_uop_trace_format format;
    uint64_t max_insns;
    uint32_t n_harts;
    FILE *stream; // borrowed
    void (*disassemble)(uint32_t bits, uint64_t pc, char *buffer, size_t size);
} tl_uop_lines_of;

TL_MUST_CHECK tl_status tl_uop_lines_new(const tl_uop_lines_of *of, tl_uop_lines **ret_lines, tl_error *err);
tl_tap *tl_uop_lines_tap(tl_uop_lines *lines); // to be attached to harts 0 .. n_harts - 1
// After the tap was detached. TL_EIO: the stream failed.
TL_MUST_CHECK tl_status tl_uop_lines_end(tl_uop_lines *lines, tl_uop_trace_counts *ret_counts, tl_error *err);
void tl_uop_lines_free(tl_uop_lines *lines); // NULL is fine

#endif
