// SPDX-License-Identifier: MIT
// The profile or trace of tally record, during a run of stat.c. For other verbs every function does
// nothing.
#ifndef TALLY_CLI_RECORD_H
#define TALLY_CLI_RECORD_H

#include <tally/profile.h>
#include <tally/uop_trace.h>

#include "log.h"
#include "options.h"
#include "output.h"

typedef struct cli_record {
    cli_output output;
    tl_uop_trace *trace;   // of the run under way; NULL: none
    tl_recorder *recorder; // the same
    tl_uop_trace_counts counts;
    bool has_failed; // said already; the file is dropped
} cli_record;

bool cli_record_open(cli_record *record, const cli_options *options); // false: the failure was said
TL_MUST_CHECK tl_status cli_record_begin(cli_record *record, const cli_options *options, tl_run *run, tl_error *err);
// Called before the run is freed.
TL_MUST_CHECK tl_status cli_record_end(cli_record *record, const cli_options *options, tl_error *err);
// Instead of that, if the run did not come so far.
void cli_record_drop(cli_record *record);
void cli_record_tell(const cli_record *record, const cli_options *options, cli_log *log);
// False: the failure was said, and it is the verb's.
bool cli_record_close(cli_record *record, const cli_options *options, bool is_whole);

#endif
