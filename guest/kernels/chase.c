// SPDX-License-Identifier: MIT
// Follows one random cycle through 4 MiB of cache lines: each load waits for the one before, most
// miss every cache.
#include "kernel.h"

enum { N_LINES = 65536, STEPS_PER_ITERATION = 100000 };

typedef struct line {
    struct line *next;
    uint64_t value, padding[6];
} line;

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    line *lines = kernel_alloc(N_LINES * sizeof *lines);
    uint32_t *order = kernel_alloc(N_LINES * sizeof *order);
    for (uint32_t i = 0; i < N_LINES; i++)
        order[i] = i;
    for (uint32_t i = N_LINES - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(kernel_next(&state) % (i + 1)), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (uint32_t i = 0; i < N_LINES; i++) {
        lines[order[i]].next = &lines[order[(i + 1) % N_LINES]];
        lines[order[i]].value = kernel_next(&state);
    }
    const line *at = lines;
    for (uint64_t i = 0; i < iterations; i++)
        for (int step = 0; step < STEPS_PER_ITERATION; step++) {
            at = at->next;
            checksum += at->value;
        }
    free(order);
    free(lines);
    return kernel_result("chase", iterations, checksum);
}
