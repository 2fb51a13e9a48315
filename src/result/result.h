// SPDX-License-Identifier: MIT
// A result: program, machine, one row per count and metric, and the end of the run. Reports read
// nothing else.
#ifndef TL_RESULT_H
#define TL_RESULT_H

#include <stdio.h>

#include <tally/result.h>

#include "base/arena.h"
#include "base/status.h"
#include "names/formula.h"

typedef struct tl_outline tl_outline; // result/outline.h

// Count of one event on one hart. Clocks tell how long it was enabled, and how long on a counter.
typedef struct tl_perf_count {
    uint64_t count, enabled_cycles, running_cycles;
} tl_perf_count;
typedef struct tl_perf_part { // of an event's count, on all harts
    uint32_t event;
    uint64_t context; // a process under the user-mode personality; UINT64_MAX: several
    uint64_t count;
} tl_perf_part;

typedef struct tl_row_pmu {
    // Sums over the harts of the scope. Their quotient scales the value.
    uint64_t enabled_ns, running_ns;
    tl_value truth;
} tl_row_pmu;

// Of a sampled run: detailed windows between stretches of the fast engine. A window has `window`
// instructions behind `warm_up` that are detailed and not counted.
typedef struct tl_sampling {
    uint64_t window, stretch, warm_up; // instructions
    uint64_t n_windows;                // whole ones
    uint64_t instructions, detailed;   // of the result; those of them that were detailed
    double cpi, cpi_half_width;        // mean of the windows; half of its 95 % confidence interval
    bool has_interval;                 // two windows or more
} tl_sampling;

typedef struct tl_row {
    const char *name;    // "cycles"
    const char *scope;   // "machine", "hart0", "hart0.l1d"
    const char *unit;    // "", "cycles", "%"
    const char *meaning; // one sentence
    const char *group;   // events: the unit type or ""; metrics: their group
    const char *metric;  // events: the metric to show beside it, or NULL
    bool is_metric;
    bool is_estimate; // extrapolated from the windows of a sampled run
    bool is_pmu;      // a count that a PMU would report: value, and
    tl_row_pmu pmu;
    const char *region; // tl_result_region.name, or NULL
    // The text report shows it from this level on: 0 always, 1 with -d unless it is 0, 2 with -dd.
    unsigned detail;
    tl_value value;
} tl_row;

// A key of the machine description and its value, as a description spells it.
typedef struct tl_setting {
    const char *key, *value;
} tl_setting;

typedef struct tl_image { // a file that was loaded or attached
    const char *role;     // "program", "bios", "kernel", "initrd", "disk"
    const char *name;     // last part of the path
    const char *digest;   // "xxh64:0123456789abcdef", or NULL
} tl_image;

typedef struct tl_header {
    const char *version; // of the program that counted
    const char *machine, *summary;
    const char *kind;    // "user", "bare", "boot"
    const char *program; // last part of the path; of the kernel, if one boots
    const char *digest;  // "xxh64:0123456789abcdef" of its bytes, or NULL
    tl_image *images;    // all files, that one included
    uint32_t n_images;
    const char *append;      // command line of the kernel, or NULL
    const char *const *argv; // as the program sees it, NULL-terminated
    const char *const *env;  // the same
    const char *engine;      // "interp"
    // With `pmu`: read by a reader on the machine. Else by a driver while the program ran.
    bool is_read_at_end;
    const char *pmu;      // "NAME:PRESET": counts are those of that PMU; NULL: the truth
    const char *interval; // "none", "instructions", "cycles", "ns"
    uint64_t interval_length;
    const char *roi_start, *roi_stop; // or NULL
    uint64_t max_insns;               // 0: no limit
    uint64_t seed, clock_hz;
    uint32_t n_harts;
    // Settings of the PMU that differ from its default ones: "key = 4, ...". NULL: none does, or
    // the design has no title for them (model/pmu.h).
    const char *pmu_settings, *pmu_settings_title; // title: "Distributed counters"
    const tl_setting *settings;                    // the whole machine
    uint32_t n_settings;
    const tl_setting *changed; // those of them that are not as the machine file has them
    uint32_t n_changed;
} tl_header;

typedef struct tl_result_region {
    const char *name;         // "f..g", or the program's own name for it
    const char *start, *stop; // or NULL
    uint32_t key;             // which of the run's, in whatever result
    uint64_t n_visits;        // completed or begun
    uint32_t first_row, n_rows;
} tl_result_region;

struct tl_result {
    tl_arena arena;
    tl_outline *outline; // shared by the results of a run; NULL for a result read from a file
    const tl_header *header;
    // Totals in the order of the outline's names, by region if is_by_region. NULL for a result read
    // from a file.
    uint64_t *totals;
    uint32_t n_totals;
    uint64_t forwarded;          // instructions before what was counted, with a fast-forward
    const tl_sampling *sampling; // NULL: the run was not sampled
    const bool *is_estimated;    // of each total; NULL: none is
    tl_result_region *regions;   // of interest; NULL: everything was counted
    uint32_t n_regions;
    bool is_by_region;         // each region has rows of its own; else there is at most one
    tl_perf_count *pmu_counts; // with header->pmu: for each hart, for each event
    uint32_t n_pmu_counts;
    tl_perf_part *pmu_parts; // counts by context, of events that have them
    uint32_t n_pmu_parts;
    const char *pmu_remark; // one sentence about how they were read, or NULL
    tl_row *rows;
    uint32_t n_rows;
    const char **notes;
    uint32_t n_notes;
    // Unit of an interval, such as "instructions"; NULL: a total.
    const char *interval_kind;
    uint64_t begin_instructions, begin_cycles, begin_ns; // where the covered time begins
    uint64_t instructions, cycles, sim_ns;               // how much it covers
    uint64_t host_ns, host_peak_bytes, guest_peak_bytes;
    uint64_t n_roi_visits; // completed or begun, with a region of interest
    tl_end_reason reason;
    int status, signal;
    const char *message; // ""
    const char *broken;  // the first conservation identity that does not hold, or NULL
    bool is_checked;     // the identities were checked
};

// An empty result that shares `outline` (NULL: none).
TL_MUST_CHECK tl_status tl_result_new(tl_outline *outline, tl_result **ret_result, tl_error *err);
TL_MUST_CHECK tl_status tl_result_difference(const tl_result *later, const tl_result *earlier, tl_result **ret_result, tl_error *err);
// TL_EINVAL with the first difference.
TL_MUST_CHECK tl_status tl_result_compare(const tl_result *a, const tl_result *b, tl_error *err);
void tl_result_release(tl_result *result);

// The row of that name and scope (NULL: "machine"), or NULL.
const tl_row *tl_result_row(const tl_result *result, bool is_metric, const char *name, const char *scope);
const tl_row *tl_result_row_of(const tl_result *result, const char *region, bool is_metric, const char *name,
                               const char *scope); // region NULL: none
bool tl_row_is_of(const tl_row *row, const char *region);
const char *tl_end_reason_name(tl_end_reason reason); // "exited"
// (value - truth) / truth; false: there is no value, no truth, or a truth of 0 that the value
// misses.
bool tl_row_error(const tl_row *row, double *ret_error);

// read.c: a JSON report as a result; `name` is for messages, the path "-" is standard input.
TL_MUST_CHECK tl_status tl_result_load(FILE *stream, const char *name, tl_result **ret_result, tl_error *err);
TL_MUST_CHECK tl_status tl_result_open(const char *path, tl_result **ret_result, tl_error *err);

#endif
