// SPDX-License-Identifier: MIT
#include "session/read_at_end.h"

#include <inttypes.h>
#include <stdlib.h>

// Fills what is known of the run, and reads.
static tl_status read_into(tl_reading *reading, const tl_reading_of *of, const tl_source *source, tl_error *err) {
    const tl_header *header = of->header;
    reading->program = tl_arena_strdup(&reading->arena, header->program);
    reading->machine = tl_arena_strdup(&reading->arena, header->machine);
    reading->digest = header->digest ? tl_arena_strdup(&reading->arena, header->digest) : NULL;
    reading->pmu_settings = header->pmu_settings ? tl_arena_strdup(&reading->arena, header->pmu_settings) : NULL;
    reading->pmu_settings_title = header->pmu_settings_title; // of the design
    if (!reading->program || !reading->machine || (header->pmu_settings && !reading->pmu_settings))
        return tl_no_memory(err);
    reading->instructions = of->instructions;
    reading->cycles = of->cycles;
    reading->reason = of->reason;
    reading->status = of->status;
    reading->signal = of->signal;
    return of->type->read_at_end(source, of->machine, reading, err);
}

tl_status tl_reading_make(const tl_reading_of *of, const tl_source *source, tl_reading **ret_reading, tl_error *err) {
    // Pages are given out from the bottom: what lies above the most that were in use at once was
    // never touched.
    uint64_t ram_bytes = of->machine->config.ram_bytes;
    if (of->peak_bytes > ram_bytes || ram_bytes - of->peak_bytes < 2 * of->type->reader_bytes)
        return tl_fail(err, TL_EINVAL,
                       "the program uses all of ram = %" PRIu64 " bytes, nothing is left for the reader; give the machine more", ram_bytes);
    tl_reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return tl_no_memory(err);
    tl_status status = read_into(reading, of, source, err);
    if (status != TL_OK) {
        tl_reading_release(reading);
        return status;
    }
    *ret_reading = reading;
    return TL_OK;
}
