// SPDX-License-Identifier: MIT
// What a run counted: a plain value, independent of the machine that made it. It can be kept,
// compared, subtracted, printed (report.h), and read back from a JSON report.
#ifndef TALLY_RESULT_H
#define TALLY_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef struct tl_result tl_result;

// One count. All text is owned by the result.
typedef struct tl_count {
    uint32_t size;       // set by the caller to sizeof(tl_count)
    const char *event;   // "cycles", "l1d.load_miss": the name as asked for, never decorated
    const char *scope;   // "machine" for the sum over everything, else "hart0", "hart0.l1d", "l2.1"
    const char *unit;    // "" for plain events, "cycles", "bytes", "ns"
    const char *meaning; // one sentence
    bool has_value;      // false: it cannot be said for this scope; `reason` says why
    bool is_whole;       // `value` is exact; else the event is a quotient and `real` holds it
    uint64_t value;
    double real;        // the same, rounded above 2^53
    const char *reason; // NULL when has_value
    // What a PMU would have reported (tl_run_options.pmu), not what was counted: then, beside it,
    bool is_pmu;
    uint64_t enabled_ns, running_ns; // how long it was wanted, and how long it was on a counter; `value` is scaled by their quotient
    bool has_truth;
    double truth;
    bool has_error;        // false also for a truth of 0 that is missed
    double error_vs_truth; // (value - truth) / truth
    const char *region;    // of a run with several regions of interest: which one. NULL: there is none
} tl_count;

// One metric: a formula over counts.
typedef struct tl_metric_value {
    uint32_t size;       // set by the caller to sizeof(tl_metric_value)
    const char *name;    // "ipc"
    const char *group;   // "summary"
    const char *scope;   // as in tl_count
    const char *unit;    // "per cycle", "%", ...
    const char *meaning; // one sentence
    bool has_value;      // false: not defined here, a division by zero for example; `reason` says why
    double value;
    const char *reason; // NULL when has_value
    const char *region; // as in tl_count
} tl_metric_value;

// A region of interest, with tl_run_options.roi_start, regions or markers.
typedef struct tl_region_info {
    uint32_t size;            // set by the caller to sizeof(tl_region_info)
    const char *name;         // "start", "start..stop", or what the program named it
    const char *start, *stop; // as asked for; NULL: there is none
    uint64_t n_visits;        // completed or begun
} tl_region_info;

typedef enum tl_end_reason {
    TL_END_NONE,        // still running: an interval or a look in between
    TL_END_EXITED,      // `status`
    TL_END_KILLED,      // by `signal` of the simulated system
    TL_END_DEADLOCK,    // every thread sleeps and nothing can wake one
    TL_END_MAX_INSNS,   // the limit on instructions was reached
    TL_END_TIMEOUT,     // tl_run_stop
    TL_END_INTERRUPTED, // tl_run_stop, `signal` of the host
    TL_END_FAILED,      // the simulator itself could not go on
    TL_END_RESET,       // the guest system asked for a restart
    TL_END_STUCK,       // every hart waits for an interrupt and none will ever come
    TL_END_QUIT,        // tl_run_stop: the user has seen enough
} tl_end_reason;

typedef struct tl_end {
    uint32_t size; // set by the caller to sizeof(tl_end)
    tl_end_reason reason;
    int status, signal;
    const char *message; // one sentence, or "": fault address and place, who waits for what
} tl_end;

typedef struct tl_times {
    uint32_t size;             // set by the caller to sizeof(tl_times)
    uint64_t instructions;     // retired over all harts in the time this result covers, ROI or not
    uint64_t cycles;           // of machine time
    uint64_t sim_ns;           // the same in simulated time
    uint64_t host_ns;          // what it took; differs from run to run. 0 when unknown
    uint64_t host_peak_bytes;  // largest resident size of the calling process; 0 when unknown
    uint64_t guest_peak_bytes; // most simulated memory in use at once, since the start
} tl_times;

TL_API uint32_t tl_result_n_counts(const tl_result *result);
TL_API void tl_result_count_at(const tl_result *result, uint32_t index, tl_count *ret_count); // index < tl_result_n_counts
TL_API uint32_t tl_result_n_regions(const tl_result *result);
TL_API void tl_result_region_at(const tl_result *result, uint32_t index, tl_region_info *ret_region); // index < tl_result_n_regions
TL_API uint32_t tl_result_n_metrics(const tl_result *result);
TL_API void tl_result_metric_at(const tl_result *result, uint32_t index, tl_metric_value *ret_metric);
TL_API uint32_t tl_result_n_notes(const tl_result *result);
TL_API const char *tl_result_note_at(const tl_result *result, uint32_t index); // one sentence

// TL_ENOENT when the result has no such count, or one without a whole value. `scope` NULL means
// "machine". Only what the run's `events` asked for is there; see tl_run_options.
TL_MUST_CHECK TL_API tl_status tl_result_find(const tl_result *result, const char *event, const char *scope, uint64_t *ret_value);

TL_API void tl_result_end(const tl_result *result, tl_end *ret_end);
TL_API void tl_result_times(const tl_result *result, tl_times *ret_times);

// TL_EINVAL with the first conservation identity that does not hold: then the counts are wrong and
// Tally has a bug.
TL_MUST_CHECK TL_API tl_status tl_result_check(const tl_result *result, tl_error *err);

// TL_EINVAL with the first difference in counts, metrics or the way the run ended; times of the
// host are not compared.
TL_MUST_CHECK TL_API tl_status tl_result_equal(const tl_result *a, const tl_result *b, tl_error *err);

// Counts of `later` minus those of `earlier`, metrics computed anew. Both must come from the same
// run. The caller frees it.
TL_MUST_CHECK TL_API tl_status tl_result_subtract(const tl_result *later, const tl_result *earlier, tl_result **ret_result, tl_error *err);

// Reads a report written as JSON; "-" is standard input. TL_ENOENT, TL_EACCESS, TL_EIO: the file;
// TL_EFORMAT: not such a report, with the line.
TL_MUST_CHECK TL_API tl_status tl_result_read(const char *path, tl_result **ret_result, tl_error *err);

TL_API void tl_result_free(tl_result *result); // NULL is fine

TL_END_DECLS

#endif
