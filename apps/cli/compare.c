// SPDX-License-Identifier: MIT
// tally compare: one program, watched by designs of counters. The library measures; this file reads
// options and opens files.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output.h"
#include "progress.h"

enum { MAX_SAID = 32 };

// Sentences about the program, each kept once because the program runs many times.
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
    cli_progress_erase();
    fprintf(stderr, "tally: %s\n", sentence);
}

static void set_step(void *ctx, const char *step) {
    (void)ctx;
    cli_progress_set(step);
}

static int complain(int status, const char *where, const char *what) {
    fprintf(stderr, "tally: %s%s%s\n", where, *where ? ": " : "", what);
    return status;
}

// Files of a comparison. They take their places together, when it has succeeded.
typedef struct files {
    cli_output report, plot, program; // outputs of the options
    int nothing;                      // /dev/null
} files;

static bool open_all(const cli_options *options, files *f) {
    f->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (f->nothing < 0)
        return complain(STATUS_FAILED, "/dev/null", strerror(errno)) == 0;
    if ((options->output && !cli_output_open(&f->report, "output", options->output, false)) ||
        (options->plot && !cli_output_open(&f->plot, "plot", options->plot, false)) ||
        (options->program_output && !cli_output_open(&f->program, "program-output", options->program_output, false)))
        return false;
    int fd = f->program.stream ? fileno(f->program.stream) : -1; // runs follow one another in it
    return fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND) == 0 ||
           complain(STATUS_FAILED, options->program_output, strerror(errno)) == 0;
}

// `is_whole`: nothing has failed so far. False: a file could not be put in its place, which was
// said.
static bool close_all(files *f, bool is_whole) {
    cli_output *all[] = {&f->report, &f->plot, &f->program};
    bool is_written = true;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bool says_why = all[i]->error != 0;
        is_written = cli_output_close(all[i], is_whole || says_why) && is_written;
    }
    if (f->nothing >= 0)
        close(f->nothing);
    return is_written;
}

// Writes one format to an output, or to standard output if that is not open. Returns 0, or the exit
// status of a failure that was said.
static int write_to(const tl_comparison *comparison, tl_compare_format format, cli_output *output) {
    tl_error err = {0};
    if (tl_comparison_write(comparison, format, output->stream ? output->stream : stdout, &err) == TL_OK)
        return 0;
    cli_output_check(output);
    // close_all reports errors of output.
    return output->error ? STATUS_FAILED : complain(STATUS_FAILED, "", err.text);
}

static int write_all(const cli_options *options, const tl_comparison *comparison, files *f) {
    tl_compare_format format = options->wants_json                       ? TL_COMPARE_JSON
                               : options->report.format == TL_FORMAT_CSV ? TL_COMPARE_CSV
                                                                         : TL_COMPARE_TEXT;
    int status = write_to(comparison, format, &f->report);
    return status == 0 && f->plot.stream ? write_to(comparison, TL_COMPARE_SVG, &f->plot) : status;
}

static int list_events(void) {
    uint32_t n_designs = tl_compare_n_designs();
    printf("%-32s", "event");
    for (uint32_t d = 0; d < n_designs; d++) {
        tl_compare_design design = {.size = sizeof design};
        tl_compare_design_at(d, &design);
        printf(" %-7s", design.name);
    }
    putchar('\n');
    for (uint32_t i = 0; i < tl_compare_n_events(); i++) {
        tl_compare_event event = {.size = sizeof event};
        tl_compare_event_at(i, &event);
        printf("%-32s", event.name);
        for (uint32_t d = 0; d < n_designs; d++)
            printf(" %-7s", event.designs >> d & 1 ? "yes" : "-");
        printf("%s%s\n", event.is_default ? "* " : "  ", event.meaning);
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
    files f = {.nothing = -1};
    int status = STATUS_FAILED;
    bool is_found;
    const char *typed = options->program_argv[0];
    char *program = cli_find_program(typed, options->run.root, &is_found);
    if (!is_found || (program && access(program, F_OK) != 0 && !options->run.root)) {
        free(program);
        return cli_say_not_found(typed, options->run.root);
    }
    if (!program)
        return complain(STATUS_FAILED, "", "the host has no memory left");
    // Opens before anything runs, because a comparison takes a while and would be lost.
    if (!open_all(options, &f))
        goto out;
    options->compare.run = options->run;
    options->compare.run.program = program;
    options->compare.run.events = NULL;
    options->compare.run.std_fd[0] = f.nothing;
    options->compare.run.std_fd[1] = options->compare.run.std_fd[2] = f.program.stream ? fileno(f.program.stream) : f.nothing;
    options->compare.run.warn = warn;
    options->compare.run.ctx = &said;
    options->compare.progress = set_step;
    cli_progress_set("the program alone");
    cli_progress_begin(!options->no_progress);
    tl_status done = tl_compare(&options->compare, &comparison, &err);
    cli_progress_end();
    status = done == TL_OK ? write_all(options, comparison, &f) : complain(cli_status_of_run(done), "", err.text);
out:
    if (!close_all(&f, status == 0) && status == 0)
        status = STATUS_FAILED;
    for (size_t i = 0; i < said.n_said; i++)
        free(said.said[i]);
    tl_comparison_free(comparison);
    free(program);
    return status;
}
