// SPDX-License-Identifier: MIT
// Sorts records of 32 bytes by a key and a name, bottom up and stable, 32 Ki of them: streams of
// loads and stores that exceed a second-level cache, copies of whole records, comparisons that fall
// through to bytes when keys are equal.
#include "kernel.h"

#include <string.h>

enum { N_RECORDS = 32768, N_KEYS = 4096 };
typedef struct record {
    uint32_t key, place; // place: where it stood before
    char name[24];
} record;

static int is_after(const record *a, const record *b) {
    return a->key != b->key ? a->key > b->key : memcmp(a->name, b->name, sizeof a->name) > 0;
}

static void merge(const record *left, const record *right, const record *end, record *to) {
    const record *middle = right;
    while (left < middle && right < end)
        *to++ = is_after(left, right) ? *right++ : *left++;
    while (left < middle)
        *to++ = *left++;
    while (right < end)
        *to++ = *right++;
}

// The sorted records: they end in one of the two.
static record *merge_sort(record *from, record *to) {
    for (size_t width = 1; width < N_RECORDS; width *= 2) {
        for (size_t at = 0; at < N_RECORDS; at += 2 * width)
            merge(from + at, from + at + width, from + at + 2 * width, to + at);
        record *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

static void fill(record *records, uint64_t *state) {
    for (uint32_t i = 0; i < N_RECORDS; i++) {
        uint64_t random = kernel_next(state);
        records[i] = (record){.key = (uint32_t)(random % N_KEYS), .place = i, .name = "record "};
        for (size_t j = 7; j < 7 + random % 7; j++)
            records[i].name[j] = (char)('a' + (random >> (3 * j)) % 3);
    }
}

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    record *records = kernel_alloc(N_RECORDS * sizeof *records), *other = kernel_alloc(N_RECORDS * sizeof *other);
    for (uint64_t i = 0; i < iterations; i++) {
        fill(records, &state);
        const record *sorted = merge_sort(records, other);
        for (uint32_t j = 0; j < N_RECORDS; j++) {
            const record *before = &sorted[j - (j > 0)];
            if (is_after(before, &sorted[j]))
                return kernel_wrong("mergesort", "out of order");
            if (j > 0 && !is_after(&sorted[j], before) && before->place > sorted[j].place)
                return kernel_wrong("mergesort", "equal records have changed places");
            checksum = checksum * 31 + sorted[j].key + (uint64_t)sorted[j].place * j + (unsigned char)sorted[j].name[9];
        }
    }
    free(records);
    free(other);
    return kernel_result("mergesort", iterations, checksum);
}
