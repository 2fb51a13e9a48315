// SPDX-License-Identifier: MIT
// The bytes of an arena, saved and put back in place, so that pointers into the arena stay valid.
#ifndef TL_BASE_ARENA_COPY_H
#define TL_BASE_ARENA_COPY_H

#include "base/arena.h"

size_t tl_arena_copy_bytes(const tl_arena *arena);
// ret_copy: tl_arena_copy_bytes.
void tl_arena_save(const tl_arena *arena, void *ret_copy);
// The arena that was saved gets back what it held. Later allocations stay as they are.
void tl_arena_load(const void *copy);

#endif
