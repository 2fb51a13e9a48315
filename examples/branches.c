// SPDX-License-Identifier: MIT
// One loop adds up one array twice, in random order and then sorted (docs/tutorials/classroom.md).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000 };
static int numbers[N];

// noipa: a compiler that knew the callers would make one function of both.
__attribute__((noipa)) int count_random(const int *from) {
    int n = 0;
    for (int i = 0; i < N; i++)
        if (from[i] >= 500)
            n += from[i] & 1 ? 3 : 1;
    return n;
}

__attribute__((noipa)) int count_sorted(const int *from) {
    int n = 0;
    for (int i = 0; i < N; i++)
        if (from[i] >= 500)
            n += from[i] & 1 ? 3 : 1;
    return n;
}

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        numbers[i] = (int)(state >> 16) % 1000;
    }
    const int before = count_random(numbers);
    qsort(numbers, N, sizeof *numbers, ascending);
    printf("%d %d\n", before, count_sorted(numbers));
    return 0;
}
