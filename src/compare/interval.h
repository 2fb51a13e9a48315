// SPDX-License-Identifier: MIT
// How far apart looks are. A program needs time between two of them: a look that takes more than
// half of the interval makes it grow.
#ifndef TL_COMPARE_INTERVAL_H
#define TL_COMPARE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_COMPARE_LEAST_INTERVAL = 5000, TL_COMPARE_LONGEST_CHOSEN = 100000, TL_COMPARE_WANTED_LOOKS = 200 };

// For a program that takes so many cycles alone: some 200 looks, never less than 5,000 cycles apart
// nor more than 100,000, and a round number.
uint64_t tl_compare_choose_interval(uint64_t program_cycles);
bool tl_compare_is_outgrown(uint64_t interval_cycles, uint64_t look_cycles);
// The least round number (1, 2 or 5 times a power of ten) of which the look takes at most half.
uint64_t tl_compare_grown_interval(uint64_t look_cycles);

#endif
