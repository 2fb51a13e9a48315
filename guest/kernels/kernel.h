// SPDX-License-Identifier: MIT
// Parts that all kernels share: an argument for the amount of work, a fixed random sequence, one
// line of result.
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t kernel_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// The first argument, or 1. Anything but a positive number ends the program with status 2.
static inline uint64_t kernel_iterations(int argc, char **argv) {
    char *end = NULL;
    unsigned long long n = argc > 1 ? strtoull(argv[1], &end, 10) : 1;
    if (argc > 2 || n == 0 || (end && *end)) {
        fprintf(stderr, "usage: %s [ITERATIONS]\n", argv[0]);
        exit(2);
    }
    return n;
}

static inline void *kernel_alloc(size_t size_bytes) {
    void *memory = malloc(size_bytes);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(3);
    }
    return memory;
}

static inline int kernel_result(const char *name, uint64_t iterations, uint64_t checksum) {
    printf("%s %llu %016llx\n", name, (unsigned long long)iterations, (unsigned long long)checksum);
    return 0;
}

// Reports a failed check of the kernel's own result. Returns the exit status.
static inline int kernel_wrong(const char *name, const char *sentence) {
    fprintf(stderr, "%s: %s\n", name, sentence);
    return 1;
}

#endif
