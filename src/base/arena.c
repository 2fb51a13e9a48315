// SPDX-License-Identifier: MIT
// The bump allocator of arena.h: large chunks from the host, small pieces to the parts, no single
// free.
#include "base/arena_copy.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Chunks grow with the arena: a result of one interval is small and short-lived, a machine is large
// and stays.
enum { ALIGN_BYTES = 64, FIRST_CHUNK_BYTES = 16 * 1024, LAST_CHUNK_BYTES = 256 * 1024 };

struct tl_arena_chunk {
    tl_arena_chunk *next;
    size_t size_bytes, used_bytes;
};

static const size_t header_bytes = (sizeof(tl_arena_chunk) + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);

static tl_arena_chunk *new_chunk(tl_arena *arena, size_t size_bytes) {
    size_t total = header_bytes + size_bytes;
    void *memory = NULL;
    if (total < size_bytes || posix_memalign(&memory, ALIGN_BYTES, total) != 0)
        return NULL;
    memset(memory, 0, total);
    tl_arena_chunk *chunk = memory;
    chunk->size_bytes = size_bytes;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *tl_arena_alloc(tl_arena *arena, size_t size_bytes) {
    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    size_t need = (size_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (need == 0)
        need = ALIGN_BYTES;
    tl_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < need) {
        size_t grown = arena->used_bytes < FIRST_CHUNK_BYTES  ? FIRST_CHUNK_BYTES
                       : arena->used_bytes > LAST_CHUNK_BYTES ? LAST_CHUNK_BYTES
                                                              : arena->used_bytes;
        chunk = new_chunk(arena, need > grown ? need : grown);
        if (!chunk)
            return NULL;
    }
    unsigned char *piece = (unsigned char *)chunk + header_bytes + chunk->used_bytes;
    chunk->used_bytes += need;
    arena->used_bytes += need;
    return piece;
}

char *tl_arena_strdup(tl_arena *arena, const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = tl_arena_alloc(arena, n);
    return copy ? memcpy(copy, text, n) : NULL;
}

char *tl_arena_printf(tl_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    char *text = tl_arena_alloc(arena, (size_t)n + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void tl_arena_done(tl_arena *arena) {
    for (tl_arena_chunk *chunk = arena->chunks; chunk;) {
        tl_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (tl_arena){0};
}

// A copy is the number of chunks, then for each chunk its address, its size and its pieces.
typedef struct chunk_copy {
    tl_arena_chunk *chunk;
    size_t used_bytes;
} chunk_copy;

size_t tl_arena_copy_bytes(const tl_arena *arena) {
    size_t n = sizeof(size_t);
    for (const tl_arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
        n += sizeof(chunk_copy) + chunk->used_bytes;
    return n;
}

void tl_arena_save(const tl_arena *arena, void *ret_copy) {
    unsigned char *at = ret_copy;
    size_t n_chunks = 0;
    for (const tl_arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
        n_chunks += 1;
    memcpy(at, &n_chunks, sizeof n_chunks);
    at += sizeof n_chunks;
    for (tl_arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next) {
        const chunk_copy head = {.chunk = chunk, .used_bytes = chunk->used_bytes};
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, (unsigned char *)chunk + header_bytes, head.used_bytes);
        at += sizeof head + head.used_bytes;
    }
}

void tl_arena_load(const void *copy) {
    const unsigned char *at = copy;
    size_t n_chunks;
    memcpy(&n_chunks, at, sizeof n_chunks);
    at += sizeof n_chunks;
    for (size_t i = 0; i < n_chunks; i++) {
        chunk_copy head;
        memcpy(&head, at, sizeof head);
        memcpy((unsigned char *)head.chunk + header_bytes, at + sizeof head, head.used_bytes);
        at += sizeof head + head.used_bytes;
    }
}
