// SPDX-License-Identifier: MIT
// A result holds the counts of a run. It is a value, independent of the machine. The caller can
// keep, compare, subtract and print (report.h) a result, and read one from a JSON report.
#ifndef TALLY_RESULT_H
#define TALLY_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef struct tl_result tl_result;

// One count. The result owns all text.
typedef struct tl_count {
    uint32_t size;       // set by the caller to sizeof(tl_count)
    const char *event;   // "cycles", "l1d.load_miss": the requested name, never decorated
    const char *scope;   // "machine" for the sum of all units, else "hart0", "hart0.l1d", "l2.1"
    const char *unit;    // "" for plain events, "cycles", "bytes", "ns"
    const char *meaning; // one sentence
    bool has_value;      // false: no value exists for this scope; `reason` says why
    bool is_whole;       // `value` is exact; false: the event is a quotient in `real`
    uint64_t value;
    double real;        // `value` as a double, rounded above 2^53
    const char *reason; // NULL when has_value
    // True for a count that a PMU would report (tl_run_options.pmu). The fields below then apply.
    bool is_pmu;
    // The time wanted, and the time on a counter. `value` is scaled by their quotient.
    uint64_t enabled_ns, running_ns;
    bool has_truth;
    double truth;
    bool has_error;        // false also if the truth is 0 and `value` is not
    double error_vs_truth; // (value - truth) / truth
    const char *region;    // region of interest if the run has several; NULL: none
    bool is_estimate;      // extrapolated from the windows of a sampled run
} tl_count;

// One metric: a formula over counts.
typedef struct tl_metric_value {
    uint32_t size;       // set by the caller to sizeof(tl_metric_value)
    const char *name;    // "ipc"
    const char *group;   // "summary"
    const char *scope;   // as in tl_count
    const char *unit;    // "per cycle", "%", ...
    const char *meaning; // one sentence
    bool has_value;      // false: undefined, a division by zero for example; `reason` says why
    double value;
    const char *reason; // NULL when has_value
    const char *region; // as in tl_count
    bool is_estimate;   // as in tl_count
} tl_metric_value;

// A sampled run (tl_run_options.sample_window).
typedef struct tl_sampling_info {
    uint32_t size;         // set by the caller to sizeof(tl_sampling_info)
    uint64_t n_windows;    // complete ones
    uint64_t n_detailed;   // instructions that the detailed core executed
    bool has_cpi;          // false: no window was complete
    double cpi;            // cycles per instruction: the mean of the windows
    bool has_half_width;   // false: fewer than two windows were complete
    double cpi_half_width; // half of the 95 % confidence interval of `cpi`
} tl_sampling_info;

// A region of interest from tl_run_options.roi_start, regions or markers.
typedef struct tl_region_info {
    uint32_t size;            // set by the caller to sizeof(tl_region_info)
    const char *name;         // "start", "start..stop", or the program's own name for it
    const char *start, *stop; // requested functions; NULL: none
    uint64_t n_visits;        // visits completed or begun
} tl_region_info;

typedef enum tl_end_reason {
    TL_END_NONE,        // still running: the result of an interval, or of a run in progress
    TL_END_EXITED,      // `status`
    TL_END_KILLED,      // by `signal` of the simulated system
    TL_END_DEADLOCK,    // every thread sleeps and nothing can wake one
    TL_END_MAX_INSNS,   // the limit on instructions was reached
    TL_END_TIMEOUT,     // tl_run_stop
    TL_END_INTERRUPTED, // tl_run_stop, `signal` of the host
    TL_END_FAILED,      // the simulator failed
    TL_END_RESET,       // the guest system asked for a restart
    TL_END_STUCK,       // every hart waits for an interrupt and none will ever come
    TL_END_QUIT,        // tl_run_stop: the user quit
} tl_end_reason;

typedef struct tl_end {
    uint32_t size; // set by the caller to sizeof(tl_end)
    tl_end_reason reason;
    int status, signal;
    const char *message; // one sentence, or "": fault address and place, or the threads that wait
} tl_end;

typedef struct tl_times {
    uint32_t size;             // set by the caller to sizeof(tl_times)
    uint64_t instructions;     // retired over all harts in the time of this result, ROI or not
    uint64_t cycles;           // of machine time
    uint64_t sim_ns;           // machine time in ns
    uint64_t host_ns;          // host time; differs between runs. 0: unknown
    uint64_t host_peak_bytes;  // largest resident size of the calling process; 0: unknown
    uint64_t guest_peak_bytes; // peak of simulated memory since the start
} tl_times;

TL_API uint32_t tl_result_n_counts(const tl_result *result);
// Precondition: index < tl_result_n_counts.
TL_API void tl_result_count_at(const tl_result *result, uint32_t index, tl_count *ret_count);
TL_API uint32_t tl_result_n_regions(const tl_result *result);
// Precondition: index < tl_result_n_regions.
TL_API void tl_result_region_at(const tl_result *result, uint32_t index, tl_region_info *ret_region);
// False: the run was not sampled, and nothing is written.
TL_API bool tl_result_sampling(const tl_result *result, tl_sampling_info *ret_info);
TL_API uint32_t tl_result_n_metrics(const tl_result *result);
TL_API void tl_result_metric_at(const tl_result *result, uint32_t index, tl_metric_value *ret_metric);
TL_API uint32_t tl_result_n_notes(const tl_result *result);
TL_API const char *tl_result_note_at(const tl_result *result, uint32_t index); // one sentence

// TL_ENOENT: the result has no such count, or a count without a whole value. `scope` NULL means
// "machine". The result holds only the counts of tl_run_options.events.
TL_MUST_CHECK TL_API tl_status tl_result_find(const tl_result *result, const char *event, const char *scope, uint64_t *ret_value);

TL_API void tl_result_end(const tl_result *result, tl_end *ret_end);
TL_API void tl_result_times(const tl_result *result, tl_times *ret_times);

// TL_EINVAL: a conservation identity does not hold; the error names the first. The counts are then
// wrong because Tally has a bug.
TL_MUST_CHECK TL_API tl_status tl_result_check(const tl_result *result, tl_error *err);

// TL_EINVAL: counts, metrics or ends differ; the error names the first difference. Host times are
// not compared.
TL_MUST_CHECK TL_API tl_status tl_result_equal(const tl_result *a, const tl_result *b, tl_error *err);

// Returns the counts of `later` minus those of `earlier`, with new metrics. Both results must
// belong to one run. The caller frees the result.
TL_MUST_CHECK TL_API tl_status tl_result_subtract(const tl_result *later, const tl_result *earlier, tl_result **ret_result, tl_error *err);

// Reads a JSON report. "-" is standard input. TL_ENOENT, TL_EACCESS, TL_EIO: the file is not
// readable. TL_EFORMAT: the file is not a report; the error names the line.
TL_MUST_CHECK TL_API tl_status tl_result_read(const char *path, tl_result **ret_result, tl_error *err);

TL_API void tl_result_free(tl_result *result); // NULL is fine

TL_END_DECLS

#endif
