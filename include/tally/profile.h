// SPDX-License-Identifier: MIT
// Profiles: exact counts by instruction, in a file that is an SQLite database
// (docs/schema/profile-1.sql).
//
//   tl_run_new(&options, &run, &err)
//   tl_recorder_new(run, with_calls, &recorder, &err)                    before tl_run_load
//   tl_run_load, tl_run_advance ...
//   tl_recorder_write(recorder, with_sources, stream, name, &err)   before tl_run_free
//   tl_recorder_free(recorder)
//
//   tl_profile_view_open("tally.profile", &view, &err)
//   tl_profile_report(view, &options, stdout, &err)
//   tl_profile_view_close(view)
#ifndef TALLY_PROFILE_H
#define TALLY_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/run.h>

TL_BEGIN_DECLS

typedef struct tl_recorder tl_recorder;

// with_calls: events that reports show are counted by calling context, too. TL_EINVAL: counts are
// of a part of the run, with_calls is of a guest kernel or an out-of-order core, or the pmu of the
// options does not sample.
TL_MUST_CHECK TL_API tl_status tl_recorder_new(tl_run *run, bool with_calls, tl_recorder **ret_recorder, tl_error *err);
// Checks that counts by instruction sum up to the totals, and writes the profile. `name` is for
// messages. with_sources: the file holds the text of source files that this host has. TL_EIO: the
// stream failed. TL_ENOENT: this build has no SQLite.
TL_MUST_CHECK TL_API tl_status tl_recorder_write(tl_recorder *recorder, bool with_sources, FILE *stream, const char *name, tl_error *err);
TL_API void tl_recorder_free(tl_recorder *recorder); // before tl_run_free; NULL is fine

typedef struct tl_profile_view tl_profile_view; // an open profile

// TL_EFORMAT: the file is no profile, or a damaged one.
TL_MUST_CHECK TL_API tl_status tl_profile_view_open(const char *path, tl_profile_view **ret_view, tl_error *err);
TL_API void tl_profile_view_close(tl_profile_view *view); // NULL is fine

typedef enum tl_profile_format { TL_PROFILE_TEXT, TL_PROFILE_CSV, TL_PROFILE_JSON } tl_profile_format;

typedef struct tl_profile_report_options {
    uint32_t size; // set by the caller to sizeof(tl_profile_report_options)
    // Keys of rows: dso, symbol, srcline, insn, thread, process. NULL: "dso,symbol".
    const char *sort;
    // Columns: events, metrics, formulas, separated by commas. NULL: the recorded ones.
    const char *events;
    const char *order;    // column or formula that sorts, largest first; NULL: the first column
    double percent_limit; // rows below this share of the first column's total are left out
    tl_profile_format format;
    bool has_color;
    uint32_t width; // of lines of text; 0: as wide as they are
    // Counts of a row have those of all that it called; a column "self" has its own ones of the
    // first column. Keys are dso, symbol, thread, process. Needs a profile with a call graph.
    bool with_children;
    // Rows have the share of samples that the PMU of tl_run_options.sample_period took, beside the
    // share of the truth. `events` are sampled ones; NULL: all. `order` and calls do not
    // go with it.
    bool against_truth;
    // A function, NULL: none. Rows are who calls it, or whom it calls, and have what these calls
    // caused and how often they were made. Needs a profile with a call graph; give one of both.
    const char *callers, *callees;
} tl_profile_report_options;

// A table of counts. TL_EINVAL, TL_ENOENT: a
// key or an event is unknown. JSON: one object a line, schema "tally.profile-report/1".
TL_MUST_CHECK TL_API tl_status tl_profile_report(const tl_profile_view *view, const tl_profile_report_options *options, FILE *stream,
                                                 tl_error *err);

typedef struct tl_profile_annotate_options {
    uint32_t size;      // set by the caller to sizeof(tl_profile_annotate_options)
    const char *place;  // a function, or a source file by the end of its path
    const char *events; // as in tl_profile_report_options
    double hot_percent; // lines with this share of the first column are marked
    bool has_color, without_sources;
    const char *source_root; // folder in which source files are looked up, too; NULL: none
} tl_profile_annotate_options;

// Source and disassembly of a function or a file, with a column for each event. TL_ENOENT offers
// the nearest names.
TL_MUST_CHECK TL_API tl_status tl_profile_annotate(const tl_profile_view *view, const tl_profile_annotate_options *options, FILE *stream,
                                                   tl_error *err);

typedef struct tl_profile_page_options {
    uint32_t size;           // set by the caller to sizeof(tl_profile_page_options)
    const char *events;      // as in tl_profile_report_options
    bool without_sources;    // of this host
    const char *source_root; // folder in which source files are looked up, too; NULL: none
} tl_profile_page_options;

// One HTML page that needs no other file and no network: a flame graph if the profile has a call
// graph, a table by function, and the code of the hottest functions. TL_ENOENT: this build has no
// page, or an event is unknown.
TL_MUST_CHECK TL_API tl_status tl_profile_page(const tl_profile_view *view, const tl_profile_page_options *options, FILE *stream,
                                               tl_error *err);

// Rows whose counts of the first event differ, matched by their texts, largest change first.
TL_MUST_CHECK TL_API tl_status tl_profile_compare(const tl_profile_view *before, const tl_profile_view *after,
                                                  const tl_profile_report_options *options, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
