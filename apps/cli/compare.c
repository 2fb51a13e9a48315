// SPDX-License-Identifier: MIT
// tally compare: one program, watched by three designs of counters. The library does it all; here is where things come from and go to.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

enum { MAX_SAID = 32 };

// Sentences about the program. It runs many times and would be told each of them as often.
typedef struct listener {
    char *said[MAX_SAID];
    size_t n_said;
} listener;

static void warn(void *ctx, const char *sentence) {
    listener *l = ctx;
    for (size_t i = 0; i < l->n_said; i++)
        if (!strcmp(l->said[i], sentence))
            return;
    if (l->n_said < MAX_SAID && (l->said[l->n_said] = strdup(sentence)))
        l->n_said++;
    fprintf(stderr, "tally: %s\n", sentence);
}

static int complain(int status, const char *where, const char *what) {
    fprintf(stderr, "tally: %s%s%s\n", where, *where ? ": " : "", what);
    return status;
}

static int status_of(tl_status status) {
    switch (status) {
    case TL_ENOENT:
    case TL_EINVAL: return STATUS_USAGE;
    case TL_EACCESS:
    case TL_EFORMAT: return STATUS_NOT_EXECUTABLE;
    default: return STATUS_FAILED;
    }
}

// Descriptors of the program, none of which may be ours. Returns 0, or the exit status of a failure that was said.
static int open_files(cli_options *options, int ret_fds[2]) {
    const char *path = options->program_output ? options->program_output : "/dev/null";
    ret_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ret_fds[1] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (ret_fds[0] < 0)
        return complain(STATUS_FAILED, "/dev/null", strerror(errno));
    if (ret_fds[1] < 0) {
        fprintf(stderr, "tally: --program-output %s: %s\n", path, strerror(errno));
        return STATUS_FAILED;
    }
    return 0;
}

// Writes one format to `path`, or to standard output if that is NULL.
static int write_to(const tl_comparison *comparison, tl_compare_format format, const char *option, const char *path, FILE *stream) {
    tl_error err = {0};
    if (tl_comparison_write(comparison, format, stream, &err) == TL_OK)
        return 0;
    if (!path)
        return complain(STATUS_FAILED, "", err.text);
    fprintf(stderr, "tally: --%s %s: %s\n", option, path, err.text);
    return STATUS_FAILED;
}

// Opened before anything runs: a comparison takes a while, and would be lost.
static FILE *open_stream(const char *option, const char *path) {
    FILE *stream = fopen(path, "we");
    if (!stream)
        fprintf(stderr, "tally: --%s %s: %s\n", option, path, strerror(errno));
    return stream;
}

static int write_all(const cli_options *options, const tl_comparison *comparison, FILE *report, FILE *plot) {
    tl_compare_format format = options->wants_json                       ? TL_COMPARE_JSON
                               : options->report.format == TL_FORMAT_CSV ? TL_COMPARE_CSV
                                                                         : TL_COMPARE_TEXT;
    int status = write_to(comparison, format, "output", options->output, report);
    if (status == 0 && plot)
        status = write_to(comparison, TL_COMPARE_SVG, "plot", options->plot, plot);
    return status;
}

static int list_events(void) {
    printf("%-32s %-7s %-7s %-7s\n", "event", "u74", "ccache", "dhpc");
    for (uint32_t i = 0; i < tl_compare_n_events(); i++) {
        tl_compare_event event = {.size = sizeof event};
        tl_compare_event_at(i, &event);
        printf("%-32s %-7s %-7s %-7s%s%s\n", event.name, event.has_u74 ? "yes" : "-", event.has_ccache ? "yes" : "-",
               event.has_dhpc ? "yes" : "-", event.is_default ? "* " : "  ", event.meaning);
    }
    puts("\n* is watched when nothing else is asked for.");
    return 0;
}

int cli_compare(cli_options *options) {
    if (options->lists_watched)
        return list_events();
    tl_comparison *comparison = NULL;
    tl_error err = {0};
    listener said = {0};
    int fds[2] = {-1, -1}, status = STATUS_FAILED;
    FILE *report = stdout, *plot = NULL;
    bool is_found;
    const char *typed = options->program_argv[0];
    char *program = cli_find_program(typed, options->run.root, &is_found);
    if (!is_found || (program && access(program, F_OK) != 0 && !options->run.root)) {
        free(program);
        return cli_say_not_found(typed, options->run.root);
    }
    if (!program)
        return complain(STATUS_FAILED, "", "the host has no memory left");
    if ((status = open_files(options, fds)) != 0)
        goto out;
    status = STATUS_FAILED;
    if ((options->output && !(report = open_stream("output", options->output))) ||
        (options->plot && !(plot = open_stream("plot", options->plot))))
        goto out;
    options->compare.run = options->run;
    options->compare.run.program = program;
    options->compare.run.events = NULL;
    options->compare.run.std_fd[0] = fds[0];
    options->compare.run.std_fd[1] = options->compare.run.std_fd[2] = fds[1];
    options->compare.run.warn = warn;
    options->compare.run.ctx = &said;
    tl_status done = tl_compare(&options->compare, &comparison, &err);
    status = done == TL_OK ? write_all(options, comparison, report, plot) : complain(status_of(done), "", err.text);
out:
    if (report && report != stdout && fclose(report) != 0 && status == 0)
        status = complain(STATUS_FAILED, options->output, strerror(errno));
    if (plot && fclose(plot) != 0 && status == 0)
        status = complain(STATUS_FAILED, options->plot, strerror(errno));
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (size_t i = 0; i < said.n_said; i++)
        free(said.said[i]);
    tl_comparison_free(comparison);
    free(program);
    return status;
}
