// SPDX-License-Identifier: MIT
// Sieve of Eratosthenes over a million bytes: stores with every stride, hardly a load.
#include "kernel.h"

#include <string.h>

enum { N = 1000000 };

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), checksum = 0;
    unsigned char *is_composite = kernel_alloc(N);
    for (uint64_t i = 0; i < iterations; i++) {
        memset(is_composite, 0, N);
        for (uint32_t p = 2; p * p < N; p++)
            if (!is_composite[p])
                for (uint32_t multiple = p * p; multiple < N; multiple += p)
                    is_composite[multiple] = 1;
        for (uint32_t n = 2; n < N; n++)
            checksum += is_composite[n] ? 0 : n ^ i;
    }
    free(is_composite);
    return kernel_result("sieve", iterations, checksum);
}
