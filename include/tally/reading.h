// SPDX-License-Identifier: MIT
// tl_run_read_pmu reads the distributed counters with a reader of RISC-V instructions. Hart 0
// executes the reader in machine mode, from an unused page of the machine, through hpcc, hpcm and
// hpcr. The reading holds each value beside the machine's own count of that counter in that cycle.
//
//   tl_run_advance(...) until TL_RUN_ENDED by max_insns, or less
//   tl_run_read_pmu(run, name, &reading, &err)        name: a tl_pmu_design with is_read_at_end
//   tl_readings_write(readings, n, format, stream, &err)
#ifndef TALLY_READING_H
#define TALLY_READING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/run.h>

TL_BEGIN_DECLS

typedef struct tl_reading tl_reading;

// One counter. Text is owned by the reading.
typedef struct tl_reading_value {
    uint32_t size;     // set by the caller to sizeof(tl_reading_value)
    const char *unit;  // "hart0", "hart0.l1d", "l2.1"
    const char *event; // "reads", "readmisses", "writes", "writebacks", "cycles", ...
    uint32_t manager;  // HPCManagerID that the reader requested
    uint32_t bit;      // of hpcm
    uint64_t value;    // value that the reader found in hpcr
    uint64_t truth;    // count of the machine in the cycle in which the counter was sampled
    // The machine's count when the program stopped. truth - program belongs to the reader.
    uint64_t program;
} tl_reading_value;

// Simulated cost of the reading.
typedef struct tl_reading_cost {
    uint32_t size; // set by the caller to sizeof(tl_reading_cost)
    // Of the counted reading. The readings before it warm the caches and do not count.
    uint64_t instructions, cycles;
    uint64_t requests, values;
    // Caused by the counted reading. Writes are the stores of the results.
    uint64_t l1d_reads, l1d_writes, l1d_misses, l1i_misses;
    uint64_t warm_instructions, warm_cycles; // of the readings that warm the caches
    uint64_t trap_cycles;                    // entry into machine mode, and MRET
} tl_reading_cost;

// The run must be a loaded TL_RUN_USER. The run may continue afterwards, and its counts then
// contain the reader's. `pmu` names a design whose tl_pmu_design.is_read_at_end is true. TL_ENOENT:
// no design has this name. TL_EINVAL: the design cannot be read at the end, the machine has no
// timed counters of it, or the machine has no room for the reader. The error says what to change.
TL_MUST_CHECK TL_API tl_status tl_run_read_pmu(tl_run *run, const char *pmu, tl_reading **ret_reading, tl_error *err);
TL_API void tl_reading_free(tl_reading *reading); // NULL is fine

TL_API const char *tl_reading_program(const tl_reading *reading); // last part of the path
// Returns the instructions that the program retired before the reading.
TL_API uint64_t tl_reading_instructions(const tl_reading *reading);
TL_API uint32_t tl_reading_n_values(const tl_reading *reading);
// Precondition: index < tl_reading_n_values.
TL_API void tl_reading_value_at(const tl_reading *reading, uint32_t index, tl_reading_value *ret_value);
TL_API void tl_reading_cost_of(const tl_reading *reading, tl_reading_cost *ret_cost);
// Identity I1 over the values read: reads of all slices = misses of all L1 caches, upgrades and
// prefetches included. Both are 0 if a counter of the identity is not built.
TL_API void tl_reading_identity(const tl_reading *reading, uint64_t *ret_l2_reads, uint64_t *ret_l1_misses);
TL_API uint64_t tl_reading_largest_error(const tl_reading *reading); // |value - truth|

typedef enum tl_readings_format {
    TL_READINGS_TEXT,
    TL_READINGS_JSON, // one object a line, schema "tally.suite/1"
    TL_READINGS_CSV,  // a line for each value
} tl_readings_format;

TL_MUST_CHECK TL_API tl_status tl_readings_write(const tl_reading *const *readings, uint32_t n_readings, tl_readings_format format,
                                                 FILE *stream, tl_error *err);

TL_END_DECLS

#endif
