// SPDX-License-Identifier: MIT
// Values of a reader on a stopped machine, independent of that machine. tally/reading.h explains
// them.
#ifndef TL_RESULT_READING_H
#define TL_RESULT_READING_H

#include <tally/reading.h>

#include "result/result.h"

struct tl_reading {
    tl_arena arena;
    const char *program, *machine, *digest;        // digest: "xxh64:...", or NULL
    const char *pmu_settings, *pmu_settings_title; // as in tl_header
    uint64_t instructions, cycles;                 // of the run, when it was stopped
    tl_end_reason reason;
    int status, signal;
    uint32_t n_harts, n_slices;
    tl_reading_value *values; // by unit, harts first
    uint32_t n_values;
    bool has_identity;            // every counter of identity I1 is built
    uint64_t l2_reads, l1_misses; // its sides, or 0
    uint64_t largest_error;
    tl_reading_cost cost;
};

void tl_reading_release(tl_reading *reading); // NULL is fine

#endif
