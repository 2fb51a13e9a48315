// SPDX-License-Identifier: MIT
// Builds short keys, looks them up in a chained hash table and counts them: byte loads, calls,
// comparisons, pointers.
#include "kernel.h"

#include <string.h>

enum { N_BUCKETS = 1024, LOOKUPS_PER_ITERATION = 20000, N_KEYS = 3000 };
typedef struct entry {
    struct entry *next;
    uint64_t count;
    char key[24];
} entry;

static size_t make_key(char *key, uint64_t n) {
    size_t length = 0;
    key[length++] = 'k';
    for (; n > 0; n /= 7)
        key[length++] = (char)('a' + n % 7);
    memcpy(key + length, "_suffix", 8);
    return length + 7;
}

static entry *look_up(entry **buckets, const char *key, size_t length) {
    uint32_t hash = 5381;
    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)key[i];
    entry **slot = &buckets[hash % N_BUCKETS];
    while (*slot && strcmp((*slot)->key, key) != 0)
        slot = &(*slot)->next;
    if (!*slot) {
        *slot = kernel_alloc(sizeof **slot);
        (*slot)->next = NULL;
        (*slot)->count = 0;
        memcpy((*slot)->key, key, length + 1);
    }
    return *slot;
}

int main(int argc, char **argv) {
    static entry *buckets[N_BUCKETS];
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    for (uint64_t i = 0; i < iterations; i++)
        for (int j = 0; j < LOOKUPS_PER_ITERATION; j++) {
            char key[24];
            size_t length = make_key(key, kernel_next(&state) % N_KEYS + 1);
            look_up(buckets, key, length)->count++;
        }
    for (int i = 0; i < N_BUCKETS; i++)
        for (const entry *e = buckets[i]; e; e = e->next)
            checksum = checksum * 31 + e->count;
    return kernel_result("strings", iterations, checksum);
}
