// SPDX-License-Identifier: MIT
// Code that a JIT wrote, from a file in the jitdump format (tools/perf/Documentation/
// jitdump-specification.txt of Linux, version 2): functions with their bytes, names and lines.
#ifndef TL_LOADER_JITDUMP_H
#define TL_LOADER_JITDUMP_H

#include <stdint.h>

#include "base/status.h"

typedef struct tl_jit_line {
    uint64_t address; // from here on
    uint32_t line;
    const char *path; // source file
} tl_jit_line;

typedef struct tl_jit_code { // a function at one place
    uint64_t address, size_bytes, index;
    const char *name;
    const uint8_t *bytes;         // [size_bytes]
    uint32_t first_line, n_lines; // in lines, as the file orders them
} tl_jit_code;

typedef struct tl_jitdump {
    tl_jit_code *codes; // in the order in which they were written
    tl_jit_line *lines;
    uint32_t n_codes, n_lines;
} tl_jitdump;

// Reads bytes of the caller, which the result borrows. A damaged file is read up to its first
// damaged record. TL_EFORMAT: it is no jitdump file of this byte order. TL_ENOMEM.
TL_MUST_CHECK tl_status tl_jitdump_read(const uint8_t *bytes, uint64_t n_bytes, tl_jitdump *ret_dump, tl_error *err);
void tl_jitdump_done(tl_jitdump *dump);

// The line of an address inside the function; NULL: not known.
const tl_jit_line *tl_jitdump_line_at(const tl_jitdump *dump, const tl_jit_code *code, uint64_t address);

#endif
