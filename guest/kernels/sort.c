// SPDX-License-Identifier: MIT
// Quicksort with insertion sort below 16 elements, over 64 Ki random words: branches nobody can
// predict, recursion, sequential loads.
#include "kernel.h"

enum { N_WORDS = 65536, SMALL = 16 };

static void insertion_sort(uint32_t *words, long n) {
    for (long i = 1; i < n; i++) {
        uint32_t word = words[i];
        long j = i;
        for (; j > 0 && words[j - 1] > word; j--)
            words[j] = words[j - 1];
        words[j] = word;
    }
}

static void quick_sort(uint32_t *words, long n) {
    while (n > SMALL) {
        uint32_t pivot = words[n / 2];
        long left = 0, right = n - 1;
        while (left <= right) {
            while (words[left] < pivot)
                left++;
            while (words[right] > pivot)
                right--;
            if (left <= right) {
                uint32_t swapped = words[left];
                words[left++] = words[right];
                words[right--] = swapped;
            }
        }
        quick_sort(words, right + 1);
        words += left;
        n -= left;
    }
    insertion_sort(words, n);
}

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    uint32_t *words = kernel_alloc(N_WORDS * sizeof *words);
    for (uint64_t i = 0; i < iterations; i++) {
        for (int j = 0; j < N_WORDS; j++)
            words[j] = (uint32_t)(kernel_next(&state) >> 32);
        quick_sort(words, N_WORDS);
        for (int j = 1; j < N_WORDS; j++)
            checksum += (uint64_t)words[j] * (uint64_t)j + (words[j - 1] > words[j]);
    }
    free(words);
    return kernel_result("sort", iterations, checksum);
}
