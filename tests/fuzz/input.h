// SPDX-License-Identifier: MIT
// The bytes of a fuzz run, which a target takes one number at a time.
#ifndef TL_TESTS_FUZZ_INPUT_H
#define TL_TESTS_FUZZ_INPUT_H

#include <stdint.h>

typedef struct input {
    const uint8_t *at, *end;
} input;

// Little-endian; n_bytes is 8 at most. Bytes behind the end are 0.
static inline uint64_t take(input *in, uint32_t n_bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n_bytes && in->at < in->end; i++)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}
static inline uint32_t take32(input *in, uint32_t n_bytes) { return (uint32_t)take(in, n_bytes); }

#endif
