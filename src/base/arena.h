// SPDX-License-Identifier: MIT
// A bump allocator: parts of a machine allocate here while the machine is assembled, and everything
// goes in one call.
#ifndef TL_BASE_ARENA_H
#define TL_BASE_ARENA_H

#include <stddef.h>

typedef struct tl_arena_chunk tl_arena_chunk;
typedef struct tl_arena {
    tl_arena_chunk *chunks; // newest first
    size_t used_bytes;      // handed out so far, for accounting
} tl_arena;

// A zeroed tl_arena is an empty arena. Returns zeroed memory aligned to 64 bytes, or NULL when the
// host has none.
void *tl_arena_alloc(tl_arena *arena, size_t size_bytes);
char *tl_arena_strdup(tl_arena *arena, const char *text);
char *tl_arena_printf(tl_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tl_arena_done(tl_arena *arena); // frees everything; the arena is empty again

#endif
