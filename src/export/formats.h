// SPDX-License-Identifier: MIT
// Writers, one for each format; formats.c lists these. tl_export_profile finds text that the stream
// refused.
#ifndef TL_EXPORT_FORMATS_H
#define TL_EXPORT_FORMATS_H

#include "export/export.h"

typedef tl_status tl_export_write_fn(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err);

tl_export_write_fn tl_export_bmf;
tl_export_write_fn tl_export_codspeed;
tl_export_write_fn tl_export_callgrind;
tl_export_write_fn tl_export_firefox;
tl_export_write_fn tl_export_folded;
tl_export_write_fn tl_export_gem5;
tl_export_write_fn tl_export_gem5_config;
tl_export_write_fn tl_export_openmetrics;
tl_export_write_fn tl_export_perf_script;
tl_export_write_fn tl_export_perfdata;
tl_export_write_fn tl_export_pprof;
tl_export_write_fn tl_export_speedscope;
tl_export_write_fn tl_export_trace;

#endif
