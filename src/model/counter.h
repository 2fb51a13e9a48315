// SPDX-License-Identifier: MIT
// The arithmetic that every PMU shares. A counter does not count. It stores the value that it
// showed when a running total stood at `seen`; the value shown now follows from the total's growth.
// A counter therefore costs nothing until software reads it.
#ifndef TL_MODEL_COUNTER_H
#define TL_MODEL_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_counter {
    uint64_t value; // when the total stood at `seen`
    uint64_t seen;
    uint8_t width_bits; // 1 .. 64
} tl_counter;

static inline uint64_t tl_counter_mask(const tl_counter *counter) {
    return counter->width_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << counter->width_bits) - 1;
}

// Brings the counter up to the total; returns whether it wrapped, once or more often.
static inline bool tl_counter_fold(tl_counter *counter, uint64_t total) {
    uint64_t steps = total - counter->seen, mask = tl_counter_mask(counter);
    bool has_wrapped = steps > mask - counter->value;
    counter->value = (counter->value + steps) & mask;
    counter->seen = total;
    return has_wrapped;
}

// The total stands there and nothing has been counted on the way.
static inline void tl_counter_skip(tl_counter *counter, uint64_t total) { counter->seen = total; }

// Shows `value` from this total on.
static inline void tl_counter_set(tl_counter *counter, uint64_t value, uint64_t total) {
    counter->value = value & tl_counter_mask(counter);
    counter->seen = total;
}

// Steps beyond `seen` that make it wrap; UINT64_MAX stands for 2^64, too.
static inline uint64_t tl_counter_headroom(const tl_counter *counter) {
    uint64_t left = tl_counter_mask(counter) - counter->value;
    return left == UINT64_MAX ? left : left + 1;
}

#endif
