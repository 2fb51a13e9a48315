// SPDX-License-Identifier: MIT
// The trace of tally record, during a run of stat.c. Without --pipeline every function does
// nothing.
#ifndef TALLY_CLI_RECORD_H
#define TALLY_CLI_RECORD_H

#include <tally/uop_trace.h>

#include "log.h"
#include "options.h"
#include "output.h"

typedef struct cli_record {
    cli_output output;
    tl_uop_trace *trace; // of the run under way; NULL: none
    tl_uop_trace_counts counts;
} cli_record;

bool cli_record_open(cli_record *record, const cli_options *options); // false: the failure was said
TL_MUST_CHECK tl_status cli_record_begin(cli_record *record, const cli_options *options, tl_run *run, tl_error *err);
// Called before the run is freed.
TL_MUST_CHECK tl_status cli_record_end(cli_record *record, tl_error *err);
void cli_record_tell(const cli_record *record, const cli_options *options, cli_log *log);
bool cli_record_close(cli_record *record, bool is_whole); // false: the failure was said

#endif
