// SPDX-License-Identifier: MIT
// Reads counters of a machine that stands still, by the reader of a source that has read_at_end.
#ifndef TL_SESSION_READ_AT_END_H
#define TL_SESSION_READ_AT_END_H

#include "machine/machine.h"
#include "result/reading.h"
#include "session/source.h"

// Data of the reading, and the run's facts for the report.
typedef struct tl_reading_of {
    const tl_source_type *type; // has read_at_end
    tl_machine *machine;
    const tl_header *header;
    uint64_t peak_bytes; // of RAM in use at once: the reader needs some above
    uint64_t instructions, cycles;
    tl_end_reason reason;
    int status, signal;
} tl_reading_of;

// Runs the reader on the machine; source NULL: it reads everything. TL_EINVAL: no memory of the
// machine is left for it.
TL_MUST_CHECK tl_status tl_reading_make(const tl_reading_of *of, const tl_source *source, tl_reading **ret_reading, tl_error *err);

#endif
