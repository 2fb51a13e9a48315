// SPDX-License-Identifier: MIT
// The file that tally record writes during a run of stat.c: a trace of the pipeline, or a profile.
#include "record.h"

bool cli_record_open(cli_record *record, const cli_options *options) {
    return options->verb != VERB_RECORD || cli_output_open(&record->output, "output", options->trace, false);
}

tl_status cli_record_begin(cli_record *record, const cli_options *options, tl_run *run, tl_error *err) {
    if (!record->output.stream)
        return TL_OK;
    if (!options->records_uops)
        return tl_recorder_new(run, options->with_calls, &record->recorder, err);
    return tl_uop_trace_new(run, options->trace_format, options->max_traced, record->output.stream, &record->trace, err);
}

// A file that cannot be written is said when it is closed.
static tl_status end_profile(cli_record *record, const cli_options *options, tl_error *err) {
    const tl_status status = tl_recorder_write(record->recorder, options->with_sources, record->output.stream, options->trace, err);
    cli_output_check(&record->output);
    return status == TL_EIO ? TL_OK : status;
}

tl_status cli_record_end(cli_record *record, const cli_options *options, tl_error *err) {
    tl_status status = TL_OK;
    record->counts.size = sizeof record->counts;
    if (record->recorder)
        status = end_profile(record, options, err);
    else if (record->trace)
        status = tl_uop_trace_end(record->trace, &record->counts, err);
    cli_record_drop(record);
    cli_output_check(&record->output);
    record->has_failed = status != TL_OK;
    return status;
}

void cli_record_tell(const cli_record *record, const cli_options *options, cli_log *log) {
    const tl_uop_trace_counts *counts = &record->counts;
    if (!record->output.stream || options->report.is_quiet || record->output.error != 0 || record->has_failed)
        return;
    if (!options->records_uops) {
        cli_log_say(log, "%s is the profile; tally report%s%s prints it", options->trace, options->has_trace ? " " : "",
                    options->has_trace ? options->trace : "");
        return;
    }
    if (counts->is_cut)
        cli_log_say(log, "the trace ends after %llu instructions; --limit N allows more, and --roi FUNCTION picks what to trace",
                    (unsigned long long)counts->n_insns);
    cli_log_say(log, "%s has %llu uops of %llu instructions in %llu cycles", options->trace, (unsigned long long)counts->n_uops,
                (unsigned long long)counts->n_insns, (unsigned long long)counts->n_cycles);
}

void cli_record_drop(cli_record *record) {
    tl_uop_trace_free(record->trace);
    tl_recorder_free(record->recorder);
    record->trace = NULL;
    record->recorder = NULL;
}

bool cli_record_close(cli_record *record, const cli_options *options, bool is_whole) {
    // A profile that is lost takes nothing else with it: the program's status stays.
    return cli_output_close(&record->output, is_whole && !record->has_failed) || !options->records_uops;
}
