// SPDX-License-Identifier: MIT
// Results as CodSpeed's integrations leave them for its runner, instrument "walltime". The format
// stands in their public sources (codspeed-rust: crates/codspeed/src/walltime_results.rs).
// The benchmark is the program, and its one round took the processor time of all harts.
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/measures.h"

static void put_stats(tl_json *json, double ns) {
    static const char *const times[] = {"min_ns", "max_ns", "mean_ns", "q1_ns", "median_ns", "q3_ns"};
    tl_json_begin_object(json, "stats");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        tl_json_double(json, times[i], ns);
    tl_json_u64(json, "stdev_ns", 0);
    tl_json_u64(json, "rounds", 1);
    tl_json_double(json, "total_time", ns / 1e9);
    tl_json_u64(json, "iqr_outlier_rounds", 0);
    tl_json_u64(json, "stdev_outlier_rounds", 0);
    tl_json_u64(json, "iter_per_round", 1);
    tl_json_u64(json, "warmup_iters", 0);
    tl_json_end_object(json);
}

tl_status tl_export_codspeed(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    (void)measures;
    static const char *const limits[] = {"warmup_time_ns", "min_round_time_ns", "max_time_ns", "max_rounds"};
    const uint32_t cycle = tl_profile_find_event(profile, "hart.cycle");
    const char *clock = tl_profile_setting_of(profile, "clock_hz"), *program = tl_base_name(tl_profile_setting_of(profile, "program"));
    const double hz = strtod(clock, NULL);
    if (cycle == TL_PROFILE_NONE || !(hz > 0))
        return tl_fail(err, TL_EFORMAT, "the profile has no cycles or no clock, so the time of the run is not known");
    char uri[512];
    snprintf(uri, sizeof uri, "%.300s::%.100s", program, tl_profile_setting_of(profile, "machine"));
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_PRETTY);
    tl_json_begin_object(&json, NULL);
    tl_json_begin_object(&json, "creator");
    tl_json_string(&json, "name", "tally");
    tl_json_string(&json, "version", tl_profile_setting_of(profile, "version"));
    tl_json_u64(&json, "pid", 1); // the host's would differ from run to run
    tl_json_end_object(&json);
    tl_json_begin_object(&json, "instrument");
    tl_json_string(&json, "type", "walltime");
    tl_json_end_object(&json);
    tl_json_begin_array(&json, "benchmarks");
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "name", program);
    tl_json_string(&json, "uri", uri);
    tl_json_begin_object(&json, "config");
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        tl_json_null(&json, limits[i]);
    tl_json_end_object(&json);
    put_stats(&json, (double)profile->events[cycle].total * 1e9 / hz);
    tl_json_end_object(&json);
    tl_json_end_array(&json);
    tl_json_end_object(&json);
    return tl_json_flush(&json, err);
}
