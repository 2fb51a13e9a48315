// SPDX-License-Identifier: MIT
// Long stretches of code without a branch, no two alike, almost three times the size of a
// first-level instruction cache: what unrolled cryptography and generated code look like to a
// front-end, which meets every line of it once per iteration.
#include "kernel.h"

// One step: its number sets constants, rotations and which of the words it mixes, so that no two
// compile to the same instructions.
#define ROTATE(value, n) ((value) << ((n) % 63 + 1) | (value) >> (63 - (n) % 63))
#define STEP(n)                                                              \
    a += ROTATE(b, n) ^ (uint64_t)(n)*0x9e37u;                               \
    b ^= a * ((uint64_t)(n)*2654435761u | 1) + words[((n)*7 + 3) % N_WORDS]; \
    c = (c >> ((n) % 31 + 1)) + (a & ~d);                                    \
    d -= ROTATE(c + (n)*5, (n) / 3);                                         \
    words[((n)*11 + 5) % N_WORDS] = b - d;
#define STEPS_4(n) STEP(n) STEP((n) + 1) STEP((n) + 2) STEP((n) + 3)
#define STEPS_16(n) STEPS_4(n) STEPS_4((n) + 4) STEPS_4((n) + 8) STEPS_4((n) + 12)
#define STEPS_64(n) STEPS_16(n) STEPS_16((n) + 16) STEPS_16((n) + 32) STEPS_16((n) + 48)

enum { N_WORDS = 61, STEPS_PER_PART = 64, PASSES_PER_ITERATION = 60 };
typedef struct mix {
    uint64_t a, b, c, d, words[N_WORDS];
} mix;

#define PART(i)                                              \
    static __attribute__((noinline)) void part_##i(mix *m) { \
        uint64_t a = m->a, b = m->b, c = m->c, d = m->d;     \
        uint64_t *words = m->words;                          \
        STEPS_64((i)*STEPS_PER_PART)                         \
        m->a = a, m->b = b, m->c = c, m->d = d;              \
    }
#define EACH_PART(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
EACH_PART(PART)

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u;
    mix m = {.a = kernel_next(&state), .b = kernel_next(&state), .c = kernel_next(&state), .d = kernel_next(&state)};
    for (int i = 0; i < N_WORDS; i++)
        m.words[i] = kernel_next(&state);
#define CALL(i) part_##i(&m);
    for (uint64_t i = 0; i < iterations * PASSES_PER_ITERATION; i++) {
        EACH_PART(CALL)
    }
    uint64_t checksum = m.a ^ m.b ^ m.c ^ m.d;
    for (int i = 0; i < N_WORDS; i++)
        checksum = (checksum << 5 | checksum >> 59) ^ m.words[i];
    return kernel_result("straight", iterations, checksum);
}
