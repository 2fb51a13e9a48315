// SPDX-License-Identifier: MIT
// An experiment on sampling: a loop in which one load of 128 misses the first-level cache, on a
// bare machine with a PMU that stores precise samples. Misses are counted, sampled precisely, and
// sampled by interrupts. The page of that PMU design has the program and the figures.
//
//   tl_l1miss_options_init(&options, TL_L1MISS_QUICK); options.method = TL_L1MISS_PRECISE;
//   tl_l1miss_run run = {.size = sizeof run};
//   tl_l1miss_measure(&options, &run, &err);
//   tl_l1miss_write(&run, 1, TL_L1MISS_TEXT, stdout, &err);
#ifndef TALLY_L1MISS_H
#define TALLY_L1MISS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>

TL_BEGIN_DECLS

enum {
    TL_L1MISS_CELLS = 8,      // addresses that the load takes in turn
    TL_L1MISS_DISTANCES = 136 // in instructions of the loop; the loads are 0 to 127
};

typedef enum tl_l1miss_method {
    TL_L1MISS_COUNT,
    TL_L1MISS_PRECISE,
    TL_L1MISS_INTERRUPT,
} tl_l1miss_method;
// From an overflow to its interrupt.
typedef enum tl_l1miss_skid { TL_L1MISS_FIXED, TL_L1MISS_MECHANISTIC, TL_L1MISS_CALIBRATED } tl_l1miss_skid;
typedef enum tl_l1miss_tier { TL_L1MISS_QUICK, TL_L1MISS_NORMAL, TL_L1MISS_FULL } tl_l1miss_tier;

typedef struct tl_l1miss_run tl_l1miss_run;

typedef struct tl_l1miss_options {
    uint32_t size;
    const char *machine;          // name or file; NULL: the design's
    const char *const *overrides; // "key=value", ended by NULL; NULL: none
    tl_l1miss_method method;
    tl_l1miss_skid skid;
    bool is_chained;  // variant B: each cell holds the address of the next one
    bool is_nested;   // a loop over the cells in a loop; else one loop
    bool is_lockstep; // the period is a multiple of the number of cells
    uint32_t period;  // the register: a precise sample that takes its miss away adds one
    uint32_t n_samples;
    // A run that counted, for the cost; NULL: none.
    const tl_l1miss_run *base;
    void (*progress)(void *ctx, uint64_t n_done, uint64_t n_all); // passes; NULL: nobody asks
    void *ctx;
} tl_l1miss_options;

struct tl_l1miss_run {
    uint32_t size;
    tl_l1miss_method method;
    tl_l1miss_skid skid;
    bool is_chained, is_nested, is_lockstep;
    uint32_t period;
    uint64_t n_passes; // of the loop, each with one load that misses
    uint64_t n_cycles, n_instructions;
    uint64_t n_counted; // by the counter, in a run that counts
    uint64_t n_true;    // misses of loads that retired
    uint64_t n_samples, n_wanted, n_interrupts, n_lost, n_faults;
    // Records whose address and registers are those of the pass that they name, and passes that are
    // where the period says.
    uint64_t n_exact, n_in_step;
    uint64_t first_pc; // of the load that misses
    // Samples by their distance from that load, in instructions; n_elsewhere: not in the loop.
    uint64_t distances[TL_L1MISS_DISTANCES], n_elsewhere;
    // Addresses of the cells, and samples whose a0 has them; in_none: another value.
    uint64_t cells[TL_L1MISS_CELLS], in_cell[TL_L1MISS_CELLS], in_none;
    uint64_t base_cycles, base_passes; // of a run that counts; 0: none
};

TL_API const char *tl_l1miss_tier_name(uint32_t tier); // "quick", "normal", "full", then NULL
TL_API void tl_l1miss_options_init(tl_l1miss_options *ret_options, tl_l1miss_tier tier);
// TL_EINVAL: the machine cannot run the experiment.
TL_MUST_CHECK TL_API tl_status tl_l1miss_measure(const tl_l1miss_options *options, tl_l1miss_run *ret_run, tl_error *err);

// The most frequent distance, the smallest one, and the one that half of the samples do not exceed.
TL_API uint64_t tl_l1miss_mode(const tl_l1miss_run *run);
TL_API uint64_t tl_l1miss_least(const tl_l1miss_run *run);
TL_API uint64_t tl_l1miss_median(const tl_l1miss_run *run);
// Cycles for each pass, as times of those of the base; 0: there is none.
TL_API double tl_l1miss_slowdown(const tl_l1miss_run *run);
TL_API double tl_l1miss_cycles_per_sample(const tl_l1miss_run *run);

typedef enum tl_l1miss_format { TL_L1MISS_TEXT, TL_L1MISS_JSON, TL_L1MISS_SVG } tl_l1miss_format;
// JSON: an object a line for each of the `n` runs, schema tally.l1miss/1. SVG: one picture.
TL_MUST_CHECK TL_API tl_status tl_l1miss_write(const tl_l1miss_run *runs, uint32_t n, tl_l1miss_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
