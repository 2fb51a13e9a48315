// SPDX-License-Identifier: MIT
// The file of the trace that tally record writes during a run of stat.c.
#include "record.h"

bool cli_record_open(cli_record *record, const cli_options *options) {
    return !options->records_uops || cli_output_open(&record->output, "output", options->trace, false);
}

tl_status cli_record_begin(cli_record *record, const cli_options *options, tl_run *run, tl_error *err) {
    if (!record->output.stream)
        return TL_OK;
    return tl_uop_trace_new(run, options->trace_format, options->max_traced, record->output.stream, &record->trace, err);
}

tl_status cli_record_end(cli_record *record, tl_error *err) {
    record->counts.size = sizeof record->counts;
    const tl_status status = record->trace ? tl_uop_trace_end(record->trace, &record->counts, err) : TL_OK;
    tl_uop_trace_free(record->trace);
    record->trace = NULL;
    cli_output_check(&record->output);
    return status;
}

void cli_record_tell(const cli_record *record, const cli_options *options, cli_log *log) {
    const tl_uop_trace_counts *counts = &record->counts;
    if (!record->output.stream || options->report.is_quiet)
        return;
    if (counts->is_cut)
        cli_log_say(log, "the trace ends after %llu instructions; --limit N allows more, and --roi FUNCTION picks what to trace",
                    (unsigned long long)counts->n_insns);
    cli_log_say(log, "%s has %llu uops of %llu instructions in %llu cycles", options->trace, (unsigned long long)counts->n_uops,
                (unsigned long long)counts->n_insns, (unsigned long long)counts->n_cycles);
}

bool cli_record_close(cli_record *record, bool is_whole) {
    tl_uop_trace_free(record->trace);
    record->trace = NULL;
    return cli_output_close(&record->output, is_whole);
}
