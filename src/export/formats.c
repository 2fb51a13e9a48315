// SPDX-License-Identifier: MIT
// The list of formats.
#include "export/formats.h"

#include <string.h>

#include "export/measures.h"

const tl_export_format tl_export_formats[] = {
    {"callgrind", "callgrind.out", "Counts by instruction, line and call: callgrind_annotate, KCachegrind, QCachegrind.", false,
     tl_export_callgrind, NULL},
    {"pprof", "profile.pb.gz", "Stacks with every event as a sample type: pprof, Parca, Pyroscope, Speedscope.", true, tl_export_pprof,
     NULL},
    {"folded", "profile.folded", "A line for each stack, of one event: flamegraph.pl, inferno, Speedscope.", false, tl_export_folded, NULL},
    {"speedscope", "profile.speedscope.json", "Stacks with a profile for each event: speedscope.", false, tl_export_speedscope, NULL},
    {"perf-script", "profile.perf.txt", "Stacks as perf script prints samples: stackcollapse-perf.pl, Firefox Profiler, Speedscope.", false,
     tl_export_perf_script, NULL},
    {"perfdata", "perf.data", "Exact counts as weighted samples: perf report, perf script, perf annotate, Hotspot.", true,
     tl_export_perfdata, NULL},
    {"firefox", "profile.firefox.json", "Stacks of one event, intervals as counters, regions as markers: Firefox Profiler.", false,
     tl_export_firefox, NULL},
    {"trace", "trace.json", "The course of a run of tally record -I, as trace events: Perfetto, chrome://tracing.", false, tl_export_trace,
     NULL},
    {"openmetrics", "profile.prom", "Totals of the run as OpenMetrics: Prometheus and what reads its text.", false, tl_export_openmetrics,
     NULL},
    {"bmf", "profile.bmf.json", "Totals of the run as Bencher Metric Format: bencher.", false, tl_export_bmf, NULL},
    {"codspeed", "profile.codspeed.json", "Time of the run as results of instrument walltime: CodSpeed's runner.", false,
     tl_export_codspeed, NULL},
    {"gem5", "stats.txt", "Totals of the run as gem5 prints statistics: parsers of stats.txt.", false, tl_export_gem5, "gem5-config"},
    {"gem5-config", "config.ini", "The machine as gem5 describes it: parsers of config.ini, converters for McPAT.", false,
     tl_export_gem5_config, NULL},
};
const uint32_t tl_export_n_formats = sizeof tl_export_formats / sizeof *tl_export_formats;

const tl_export_format *tl_export_find_format(const char *name) {
    for (uint32_t i = 0; i < tl_export_n_formats; i++)
        if (strcmp(tl_export_formats[i].name, name) == 0)
            return &tl_export_formats[i];
    return NULL;
}

tl_status tl_export_profile(const tl_profile *profile, const tl_export_format *format, const char *events, FILE *stream, tl_error *err) {
    tl_export_measures measures;
    tl_status status = tl_export_measures_resolve(profile, events, &measures, err);
    if (status != TL_OK)
        return status;
    status = format->write(profile, &measures, stream, err);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the export could not be written; is the disk full?");
    tl_export_measures_done(&measures);
    return status;
}
