// SPDX-License-Identifier: MIT
// Random operands that meet the corners of arithmetic. The sequence follows from random_state
// alone, so guest and host make the same one. A guest includes it, so it needs only a C compiler.
#ifndef TL_TESTS_ISA_VECTORS_RANDOM_H
#define TL_TESTS_ISA_VECTORS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = UINT64_C(88172645463325252);
static uint64_t random_bits(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}
static uint64_t random_below(uint64_t n) { return (random_bits() >> 16) % n; }

// Long runs of equal bits: where carries, sign extensions and rounding go wrong.
static uint64_t random_runs(void) {
    uint64_t value = 0;
    for (unsigned at = 0; at < 64; at += 1 + (unsigned)random_below(20))
        value ^= ~UINT64_C(0) << at;
    return value;
}

static uint64_t random_integer(void) {
    static const uint64_t special[] = {0,    1,      2,      31,         32,         63,         64,         0x7f,
                                       0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000};
    switch (random_below(4)) {
    case 0: {
        const uint64_t value = special[random_below(sizeof(special) / sizeof(special[0]))];
        const uint64_t flip = random_below(4); // negations and complements, too
        return flip == 0 ? value : flip == 1 ? ~value : flip == 2 ? 0 - value : value << 32;
    }
    case 1: return random_runs();
    case 2: {
        // A statement of its own, because the compiler orders the calls within one.
        const uint64_t shift = random_below(64);
        return random_bits() >> shift;
    }
    default: return random_bits();
    }
}

#endif
