// SPDX-License-Identifier: MIT
// Source lines, functions and inlined calls of addresses, from the debug information of an ELF
// file. It may lie in a file of its own, which is found by build-id or link below /usr/lib/debug,
// may be split (.dwo) and may be compressed. A build without libdw knows no lines.
#ifndef TL_LOADER_LINES_H
#define TL_LOADER_LINES_H

#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

static const uint32_t TL_LINES_NONE = UINT32_MAX;

typedef struct tl_line_call { // inlined
    uint32_t parent;          // or TL_LINES_NONE
    const char *name;         // as linked, or as in the source
    uint32_t source, line;    // of the call
} tl_line_call;

typedef struct tl_line_function { // that is not inlined
    uint64_t start, end;
    const char *name;
    uint32_t source, line; // of its declaration
} tl_line_function;

typedef struct tl_line_position { // of an address
    uint32_t source;              // or TL_LINES_NONE
    uint32_t line;                // 0: not known
    uint32_t call;                // the innermost one; or TL_LINES_NONE
    uint32_t function;            // or TL_LINES_NONE
} tl_line_position;

typedef struct tl_lines {
    tl_arena arena;
    const char **sources; // paths
    tl_line_call *calls;
    tl_line_function *functions;
    tl_line_position *positions; // [n_addresses]
    uint32_t n_sources, n_calls, n_functions;
    char build_id[64 * 2 + 1]; // hexadecimal digits, or ""
    bool lacks_memory;
} tl_lines;

// Looks up link-time addresses, which ascend. `path` is for look-ups of separate files beside it.
// debug_root: a folder that is searched as "/"; NULL: "/". An object without debug information has
// positions that are not known. TL_ENOMEM.
TL_MUST_CHECK tl_status tl_lines_new(const uint8_t *bytes, uint64_t n_bytes, const char *path, const char *debug_root,
                                     const uint64_t *addresses, uint32_t n_addresses, tl_lines **ret_lines, tl_error *err);
void tl_lines_free(tl_lines *lines); // NULL is fine

#endif
