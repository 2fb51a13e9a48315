// SPDX-License-Identifier: MIT
// Reading the distributed counters of a machine the way software does: a reader that is made of
// RISC-V instructions, placed in an unused page of the machine and executed by hart 0 in machine
// mode, through hpcc, hpcm and hpcr. What it read stands beside what the machine itself knows of
// the same counters in the same cycles.
//
//   tl_run_advance(...) as far as wanted, usually to TL_RUN_ENDED by max_insns
//   tl_run_read_pmu(run, name, &reading, &err)        name: of a tl_pmu_design that is_read_at_end
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
    const char *event; // "reads", "readmisses", "writes", "writemisses", "writebacks", "cycles", ...
    uint32_t manager;  // HPCManagerID it was asked of
    uint32_t bit;      // of hpcm
    uint64_t value;    // what the reader found in hpcr
    uint64_t truth;    // what the machine had counted in the cycle in which the counter was sampled
    uint64_t program;  // the same when the program was stopped: the difference is the reader's own
} tl_reading_value;

// What the reading took, all of it simulated.
typedef struct tl_reading_cost {
    uint32_t size;                 // set by the caller to sizeof(tl_reading_cost)
    uint64_t instructions, cycles; // of the reading that counts; those before it, which warm the caches, are not in it
    uint64_t requests, values;
    uint64_t l1d_reads, l1d_writes, l1d_misses, l1i_misses; // caused by it; the writes are the stores of the results
    uint64_t warm_instructions, warm_cycles;                // of those before it
    uint64_t trap_cycles;                                   // of entering machine mode and of the MRET that leaves it
} tl_reading_cost;

// Only for a run of kind TL_RUN_USER that is loaded. The run may go on afterwards, but its counts
// then contain the reader's. `pmu` names a design whose counters a program on the machine can read
// at the end of a run. TL_ENOENT: no design has this name. TL_EINVAL: the design cannot be read so,
// the machine has no counters of it that take their time, or the machine has no room for the
// reader. The sentence says what to change.
TL_MUST_CHECK TL_API tl_status tl_run_read_pmu(tl_run *run, const char *pmu, tl_reading **ret_reading, tl_error *err);
TL_API void tl_reading_free(tl_reading *reading); // NULL is fine

TL_API const char *tl_reading_program(const tl_reading *reading);   // last part of the path
TL_API uint64_t tl_reading_instructions(const tl_reading *reading); // retired by the program when it was stopped
TL_API uint32_t tl_reading_n_values(const tl_reading *reading);
TL_API void tl_reading_value_at(const tl_reading *reading, uint32_t index, tl_reading_value *ret_value); // index < tl_reading_n_values
TL_API void tl_reading_cost_of(const tl_reading *reading, tl_reading_cost *ret_cost);
// Identity I1, of the values that were read: reads of all slices = misses of all L1 caches,
// upgrades and prefetches among them. Both 0 where counters that it needs are not built.
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
