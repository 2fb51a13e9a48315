// SPDX-License-Identifier: MIT
// tally tenants: runs a tenants file. The library counts; this file reads options and opens files.
#include <signal.h>
#include <string.h>

#include <tally/tenants.h>

#include "options.h"
#include "output.h"

static void warn(void *ctx, const char *sentence) {
    (void)ctx;
    fprintf(stderr, "tally: %s\n", sentence);
}

static volatile sig_atomic_t caught_signal;
static void on_signal(int number) { caught_signal = number; }
static bool is_interrupted(void *ctx) { return (void)ctx, caught_signal != 0; }

// The first interrupt ends the run with its counts. Another one ends tally.
static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static int complain(int status, const char *what) {
    fprintf(stderr, "tally: %s\n", what);
    return status;
}

static int status_of(tl_status status) {
    switch (status) {
    case TL_EFORMAT:
    case TL_EINVAL: return STATUS_USAGE;
    case TL_ENOENT: return STATUS_NOT_FOUND;
    case TL_EACCESS: return STATUS_NOT_EXECUTABLE;
    default: return STATUS_FAILED;
    }
}

static FILE *stream_of(const cli_output *output) { return output->stream ? output->stream : stderr; }

static int finish(tl_status status, cli_output *output, const tl_error *err) {
    if (status == TL_OK)
        return 0;
    cli_output_check(output);
    // Closing reports errors of output.
    return output->error ? STATUS_FAILED : complain(STATUS_FAILED, err->text);
}

// A page or a picture is the cost alone.
static bool has_counts(const cli_options *options) {
    return options->describe_format != TL_DESCRIBE_MARKDOWN && options->describe_format != TL_DESCRIBE_SVG;
}

static int write_cost(const cli_options *options, tl_tenants *tenants, cli_output *output) {
    tl_error err = {0};
    if (!options->wants_cost)
        return 0;
    if (has_counts(options) && !options->wants_json)
        fputc('\n', stream_of(output));
    tl_status status =
        tl_tenants_cost_write(tenants, options->wants_json ? TL_DESCRIBE_JSON : options->describe_format, stream_of(output), &err);
    return finish(status, output, &err);
}

static int write_counts(const cli_options *options, tl_tenants_counts *counts, cli_output *output) {
    tl_format format = options->wants_json ? TL_FORMAT_JSON : options->report.format;
    tl_error err = {0};
    if (options->with_equal)
        tl_tenants_counts_show_all(counts);
    tl_status status = has_counts(options) ? tl_tenants_counts_write(counts, format, stream_of(output), &err) : TL_OK;
    tl_tenants_counts_free(counts);
    return finish(status, output, &err);
}

// Intervals as they end, then the whole. *ret_was_cut: an interrupt ended the run.
static int run(const cli_options *options, tl_tenants *tenants, cli_output *output, bool *ret_was_cut) {
    bool has_intervals = options->run.interval != TL_INTERVAL_NONE;
    tl_error err = {0};
    for (;;) {
        tl_run_state state;
        tl_tenants_counts *counts = NULL;
        tl_status status = tl_tenants_advance(tenants, &state, &err);
        if (status == TL_OK && caught_signal != 0 && state != TL_RUN_ENDED) {
            tl_tenants_stop(tenants, TL_END_INTERRUPTED);
            *ret_was_cut = true;
            state = TL_RUN_ENDED;
        } else if (status == TL_OK && state == TL_RUN_ENDED && options->oob_hold) {
            tl_tenants_serve(tenants);
        }
        if (status == TL_OK && (state != TL_RUN_ENDED || has_intervals))
            status = tl_tenants_interval_new(tenants, &counts, &err);
        if (status != TL_OK)
            return complain(STATUS_FAILED, err.text);
        has_intervals = has_intervals || state != TL_RUN_ENDED;
        int failed = counts ? write_counts(options, counts, output) : 0;
        if (failed)
            return failed;
        if (state != TL_RUN_ENDED)
            continue;
        counts = NULL;
        if (tl_tenants_counts_new(tenants, &counts, &err) != TL_OK)
            return complain(STATUS_FAILED, err.text);
        int failed_last = write_counts(options, counts, output);
        return failed_last ? failed_last : write_cost(options, tenants, output);
    }
}

int cli_tenants(const cli_options *options) {
    tl_tenants_options given;
    tl_tenants *tenants = NULL;
    tl_error err = {0};
    cli_output output = {0};
    tl_tenants_options_init(&given);
    given.file = options->tenants;
    given.machine = options->run.machine;
    given.overrides = options->run.overrides;
    given.n_jobs = options->n_jobs;
    given.engine = options->run.engine;
    given.interval = options->run.interval;
    given.interval_length = options->run.interval_length;
    given.warn = warn;
    given.monitor = options->monitor;
    given.wants_stop = is_interrupted;
    given.oob = options->oob;
    given.oob_key = options->key;
    given.wants_cost = options->wants_cost;
    given.records = options->records;
    catch_signals();
    tl_status made = tl_tenants_new(&given, &tenants, &err);
    if (made != TL_OK)
        return complain(status_of(made), err.text);
    bool was_cut = false;
    int status = STATUS_FAILED;
    if (!options->output || cli_output_open(&output, "output", options->output, false))
        status = run(options, tenants, &output, &was_cut);
    if (!cli_output_close(&output, status == 0) && status == 0)
        status = STATUS_FAILED;
    tl_tenants_free(tenants);
    return status == 0 && was_cut ? STATUS_SIGNAL + caught_signal : status;
}
