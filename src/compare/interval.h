// SPDX-License-Identifier: MIT
// Intervals between readings. A program needs time between two readings: a reading that takes more
// than half of the interval makes the interval grow.
#ifndef TL_COMPARE_INTERVAL_H
#define TL_COMPARE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_COMPARE_LEAST_INTERVAL = 5000, TL_COMPARE_LONGEST_CHOSEN = 100000, TL_COMPARE_WANTED_LOOKS = 200 };

// Returns the interval for a program that takes so many cycles alone: a round number for some 200
// readings, from 5,000 to 100,000 cycles.
uint64_t tl_compare_choose_interval(uint64_t program_cycles);
bool tl_compare_is_outgrown(uint64_t interval_cycles, uint64_t look_cycles);
// Returns the least round number (1, 2 or 5 times a power of ten) that is at least twice the
// reading.
uint64_t tl_compare_grown_interval(uint64_t look_cycles);

#endif
