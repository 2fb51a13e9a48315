// SPDX-License-Identifier: MIT
// What a reader found in counters of a machine that stands still: a plain value, independent of the machine it comes from. tally/reading.h explains it.
#ifndef TL_SESSION_READING_H
#define TL_SESSION_READING_H

#include <tally/reading.h>

#include "machine/machine.h"
#include "session/result.h"
#include "session/source.h"

struct tl_reading {
    tl_arena arena;
    const char *program, *machine, *digest; // digest: "xxh64:...", or NULL
    const char *hpc;                        // as in tl_header
    uint64_t instructions, cycles;          // of the run, when it was stopped
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

// What is read, and what is to be said of the run that it was read from.
typedef struct tl_reading_of {
    const tl_source_type *type; // has read_at_end
    tl_machine *machine;
    const tl_header *header;
    uint64_t peak_bytes; // of RAM in use at once: the reader needs some above
    uint64_t instructions, cycles;
    tl_end_reason reason;
    int status, signal;
} tl_reading_of;

// Runs the reader on the machine; source NULL: it reads everything. TL_EINVAL: no memory of the machine is left for it.
TL_MUST_CHECK tl_status tl_reading_make(const tl_reading_of *of, const tl_source *source, tl_reading **ret_reading, tl_error *err);
void tl_reading_release(tl_reading *reading); // NULL is fine

#endif
