// SPDX-License-Identifier: MIT
// The table of results in flight (model/in_flight.h): an open hash table over records. Records
// never move, because front-ends keep their addresses. The first records and buckets are the
// arena's, the others the host's.
#include "model/in_flight.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 256, CHUNK_PENDS = 256 };

typedef struct pend_chunk {
    struct pend_chunk *next;
    tl_pend pends[CHUNK_PENDS];
} pend_chunk;

struct tl_pend_table {
    const tl_pend **buckets; // a power of two, at most half full
    uint32_t n_buckets, n_pends;
    pend_chunk *chunks; // newest first; the first is the arena's when n_pends <= CHUNK_PENDS
    const tl_pend **arena_buckets;
    pend_chunk *arena_chunk;
};

tl_pend_table *tl_pend_table_new(tl_arena *arena) {
    tl_pend_table *table = tl_arena_alloc(arena, sizeof *table);
    if (!table)
        return NULL;
    table->arena_buckets = tl_arena_alloc(arena, FIRST_BUCKETS * 2 * sizeof *table->arena_buckets);
    table->arena_chunk = tl_arena_alloc(arena, sizeof *table->arena_chunk);
    if (!table->arena_buckets || !table->arena_chunk)
        return NULL;
    table->buckets = table->arena_buckets;
    table->n_buckets = FIRST_BUCKETS * 2;
    table->chunks = table->arena_chunk;
    return table;
}

bool tl_pend_table_is_in_arena(const tl_pend_table *table) {
    return table->chunks == table->arena_chunk && table->buckets == table->arena_buckets;
}

void tl_pend_table_done(tl_pend_table *table) {
    if (!table)
        return;
    while (table->chunks != table->arena_chunk) {
        pend_chunk *next = table->chunks->next;
        free(table->chunks);
        table->chunks = next;
    }
    if (table->buckets != table->arena_buckets)
        free(table->buckets);
    table->buckets = table->arena_buckets;
    table->n_pends = 0;
}

void tl_pend_table_trim(tl_pend_table *table) {
    if (table->n_pends < CHUNK_PENDS / 2 || table->chunks != table->arena_chunk)
        return;
    memset(table->buckets, 0, table->n_buckets * sizeof *table->buckets);
    table->n_pends = 0;
}

static uint64_t hash_of(const tl_pend *pend) {
    uint64_t hash = pend->mask * UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t left = pend->mask; left != 0; left &= left - 1) {
        int reg = __builtin_ctzll(left);
        hash = (hash ^ (uint64_t)(pend->remaining[reg] << 8 | pend->cause[reg])) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t bucket_of(const tl_pend_table *table, const tl_pend *pend) {
    uint32_t i = (uint32_t)hash_of(pend) & (table->n_buckets - 1);
    while (table->buckets[i] && memcmp(table->buckets[i], pend, sizeof *pend) != 0)
        i = (i + 1) & (table->n_buckets - 1);
    return i;
}

// The host has no memory in the middle of decoding. The process ends, because without results in
// flight counts would be silently wrong.
static void *or_die(void *memory) {
    if (!memory)
        abort();
    return memory;
}

static void grow(tl_pend_table *table) {
    const tl_pend **old = table->buckets;
    uint32_t n_old = table->n_buckets;
    table->n_buckets = n_old * 2;
    table->buckets = or_die(calloc(table->n_buckets, sizeof(const tl_pend *)));
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i])
            table->buckets[bucket_of(table, old[i])] = old[i];
    if (old != table->arena_buckets)
        free(old);
}

const tl_pend *tl_pend_intern(tl_pend_table *table, const tl_pend *pend) {
    uint32_t bucket = bucket_of(table, pend);
    if (table->buckets[bucket])
        return table->buckets[bucket];
    if (table->n_pends % CHUNK_PENDS == 0 && table->n_pends != 0) {
        pend_chunk *chunk = or_die(calloc(1, sizeof *chunk));
        chunk->next = table->chunks;
        table->chunks = chunk;
    }
    tl_pend *kept = &table->chunks->pends[table->n_pends % CHUNK_PENDS];
    *kept = *pend;
    table->n_pends += 1;
    table->buckets[bucket] = kept;
    if (table->n_pends * 2 > table->n_buckets)
        grow(table);
    return kept;
}
