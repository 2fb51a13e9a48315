// SPDX-License-Identifier: MIT
// Source of a report from a PMU design (`tally stat -P NAME`). Designs implement it in
// src/readers/<design>/source.c. A design without a row here can be attached and described, but no
// report reads it.
#ifndef TL_SESSION_SOURCE_H
#define TL_SESSION_SOURCE_H

#include <tally/run.h>

#include "machine/machine.h"
#include "names/catalogue.h"
#include "result/outline.h"

struct tl_reading;

// Taker of samples. `event` is a number in tl_source.counted. Samples cost the machine nothing.
// distance: instructions that the hart retired from the event of the sample up to it; 0: the sample
// is at the instruction of the event.
#define TL_UNKNOWN_DISTANCE UINT64_MAX
typedef struct tl_sample_taker {
    uint64_t period;
    // pc: of the hart.
    void (*take)(void *ctx, tl_hart *h, uint32_t event, uint64_t pc, uint64_t distance);
    void (*lose)(void *ctx, uint32_t event, uint64_t n); // so many were not taken
    void *ctx;
} tl_sample_taker;

// The first member of a design's own struct. Lives in the arena of an outline.
typedef struct tl_source {
    const struct tl_source_type *type;
    const char *name; // "NAME:PRESET"
    // Of attach: the events in the order of a hart's counts.
    const tl_counted *const *counted;
    uint32_t n_counted;
    const tl_row *unread; // of read_at_end: the rows before it
    uint32_t n_unread;
} tl_source;

enum { TL_MAX_PERF_PARTS = 512 }; // of a source

typedef struct tl_source_type {
    const tl_pmu_type *pmu;
    bool takes_selectors; // an event may be written rHEX, the selector itself
    // Returns another source for a preset. NULL hook, NULL: this one.
    const struct tl_source_type *(*choose)(const tl_pmu_preset *preset);
    // Configures the machine for the request. TL_EINVAL: other options conflict.
    TL_MUST_CHECK tl_status (*configure)(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err);
    // Resolves the names of events. TL_ENOENT: no such event; TL_EINVAL: this PMU cannot count it.
    TL_MUST_CHECK tl_status (*resolve)(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                                       tl_source **ret_source, tl_error *err);
    // Checks that the counters exist.
    TL_MUST_CHECK tl_status (*check)(const tl_source *source, const tl_machine *machine, tl_error *err);

    // A reader that works while the program runs. NULL attach: none. The outline's arena holds the
    // source's memory; the run's arena holds the reader's.
    TL_MUST_CHECK tl_status (*attach)(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader,
                                      tl_error *err);
    void (*enable)(void *reader);
    void (*disable)(void *reader);
    // Machine cycle at which to call `turn`; UINT64_MAX: never.
    uint64_t (*next_turn)(const void *reader);
    void (*turn)(void *reader);
    // Counts up to now: events of hart 0, then those of hart 1, ..
    const tl_perf_count *(*read)(void *reader, uint32_t *ret_n);
    // Of the counts that `read` has just returned: parts by context, at most TL_MAX_PERF_PARTS.
    // NULL hook: there are none.
    const tl_perf_part *(*read_parts)(void *reader, uint32_t *ret_n);

    // Samples that software takes with this design while the program runs (tally record -P). NULL:
    // no counter of it interrupts. Each event of `source` has a counter that interrupts after
    // `sampling.period` of it. TL_EINVAL: the preset does not interrupt, or has too few counters.
    TL_MUST_CHECK tl_status (*attach_sampling)(tl_source *source, tl_machine *machine, const tl_sample_taker *sampling,
                                               tl_arena *of_outline, tl_arena *of_run, void **ret_sampler, tl_error *err);
    void (*begin_sampling)(void *sampler); // the program is loaded; interrupt lines are enabled
    // A line of the hart is pending before the instruction at h->pc. Clears it.
    void (*interrupted)(void *sampler, tl_hart *h);
    // Tells losses that no interrupt has told. NULL: there are none.
    void (*tell_losses)(void *sampler);
    // How samples of an event come, in a few words, borrowed from the source.
    const char *(*sampling_method)(const tl_source *source, uint32_t event);

    // A reader that runs on the machine once the program has ended; source NULL: it reads
    // everything. NULL: there is none.
    TL_MUST_CHECK tl_status (*read_at_end)(const tl_source *source, tl_machine *machine, struct tl_reading *reading, tl_error *err);
    uint64_t reader_bytes; // at the end of RAM, which it needs
    // Makes rows of read_at_end's values.
    TL_MUST_CHECK tl_status (*rows)(const tl_source *source, const struct tl_reading *reading, tl_result *result, tl_error *err);
} tl_source_type;

extern const tl_source_type *const tl_source_types[];         // NULL-terminated: src/readers
const tl_source_type *tl_source_find(const tl_pmu_type *pmu); // NULL: nothing reads it for a report

#endif
