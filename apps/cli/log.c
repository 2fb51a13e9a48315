// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 100, PATH_BYTES = 4096 };

void cli_log_erase_progress(cli_log *log) {
    if (log->has_progress)
        fputs("\r\033[K", stderr);
    log->has_progress = false;
}

void cli_log_remark(cli_log *log, const char *sentence) {
    if (log->is_on_stderr)
        cli_log_say(log, "%s", sentence);
    else
        fprintf(stderr, "%stally: %s\n", log->has_progress ? "\r\033[K" : "", sentence);
    log->has_progress = false;
}

void cli_log_say(cli_log *log, const char *format, ...) {
    char sentence[CLI_SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    cli_log_erase_progress(log);
    bool is_in_report = log->report && !log->is_text && (log->is_on_stderr || log->options->report.format == TL_FORMAT_JSON);
    if (is_in_report)
        tl_report_message(log->report, sentence);
    if (!is_in_report || !log->is_on_stderr)
        fprintf(stderr, "tally: %s\n", sentence);
}

// True for a terminal or /dev/null, because no program parses their text.
static bool is_device(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISCHR(about.st_mode);
}

static bool is_same_file(int a, int b) {
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// A file for what is held back, on disk if there is a place.
static bool open_held(cli_log *log) {
    FILE *disk = tmpfile();
    int fd = disk ? fcntl(fileno(disk), F_DUPFD_CLOEXEC, 3) : memfd_create("report", MFD_CLOEXEC);
    if (disk)
        fclose(disk);
    log->is_held = fd >= 0 && cli_output_to_descriptor(&log->output, NULL, "standard error", fd);
    if (fd >= 0)
        close(fd);
    return log->is_held;
}

int cli_log_open(cli_log *log, const cli_options *options) {
    tl_error err = {0};
    tl_report_options format = options->report;
    *log = (cli_log){.options = options, .is_text = options->report.format == TL_FORMAT_TEXT};
    if (!options->wants_report)
        return 0;
    if (options->output) {
        if (!cli_output_open(&log->output, "output", options->output, options->is_appending))
            return STATUS_FAILED;
    } else if (options->log_fd >= 0) {
        snprintf(log->number, sizeof log->number, "%d", options->log_fd);
        int flags = fcntl(options->log_fd, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
            fprintf(stderr, "tally: --log-fd %s: no descriptor of that number is open for writing; open it in the shell, as in %s>FILE\n",
                    log->number, log->number);
            return STATUS_USAGE;
        }
        if (!cli_output_to_descriptor(&log->output, "log-fd", log->number, options->log_fd)) {
            fprintf(stderr, "tally: --log-fd %s: %s\n", log->number, strerror(errno));
            return STATUS_FAILED;
        }
    } else {
        log->is_on_stderr = !log->is_text;
        bool is_open = log->is_text || is_device(STDERR_FILENO)
                           ? cli_output_to_descriptor(&log->output, NULL, "standard error", STDERR_FILENO)
                           : open_held(log);
        if (!is_open) {
            fprintf(stderr, "tally: no room for the report: %s; name a file with --output\n", strerror(errno));
            return STATUS_FAILED;
        }
    }
    format.with_variance = options->n_runs > 1;
    if (tl_report_new(&format, log->output.stream, &log->report, &err) == TL_OK)
        return 0;
    fprintf(stderr, "tally: %s\n", err.text);
    return STATUS_USAGE;
}

bool cli_log_begin(cli_log *log) {
    return log->options->run.interval == TL_INTERVAL_NONE || !log->options->output || cli_output_publish(&log->output);
}

void cli_log_look(cli_log *log, const tl_run *run) {
    bool is_shared = is_same_file(STDOUT_FILENO, STDERR_FILENO);
    bool is_user = log->options->run.kind == TL_RUN_USER; // a board has no standard error
    log->others_wrote |= (is_user && tl_run_has_written(run, STDERR_FILENO)) || (is_shared && tl_run_has_written(run, STDOUT_FILENO));
}

// A new file in the current folder, or in the one for temporary files. -1: none.
static int open_refuge(const cli_log *log, char *ret_path, size_t size) {
    const char *temporary = getenv("TMPDIR");
    const char *folders[] = {".", temporary && *temporary ? temporary : "/tmp"};
    const char *suffix = log->options->report.format == TL_FORMAT_CSV || log->options->report.format == TL_FORMAT_PERF_CSV ? "csv" : "json";
    for (int i = 0; i < 2 * MAX_TRIES; i++) {
        snprintf(ret_path, size, "%s/tally-%ld-%d.%s", folders[i / MAX_TRIES], (long)getpid(), i % MAX_TRIES, suffix);
        int fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static bool copy_all(int from, int to) {
    char bytes[PATH_BYTES];
    for (off_t at = 0;;) {
        ssize_t n = pread(from, bytes, sizeof bytes, at);
        if (n <= 0)
            return n == 0;
        if (!cli_write_all(to, bytes, (size_t)n))
            return false;
        at += n;
    }
}

// Lines that were held back go to standard error, or to a file of their own.
static bool release(cli_log *log) {
    char path[PATH_BYTES];
    int from = fileno(log->output.stream), to = STDERR_FILENO;
    struct stat about;
    if (log->output.error != 0 || fstat(from, &about) != 0 || about.st_size == 0)
        return true;
    if (log->others_wrote) {
        to = open_refuge(log, path, sizeof path);
        if (to < 0) {
            fprintf(stderr,
                    "tally: the program wrote to standard error, and there is no place for the report: %s; name a file with --output\n",
                    strerror(errno));
            return false;
        }
    }
    bool is_written = copy_all(from, to);
    if (to != STDERR_FILENO && close(to) != 0)
        is_written = false;
    if (!is_written)
        fprintf(stderr, "tally: the report could not be written: %s\n", strerror(errno));
    else if (log->others_wrote)
        fprintf(stderr,
                "tally: the program wrote to standard error, so the report is in %s; name a file with -o or a descriptor with --log-fd\n",
                path);
    return is_written;
}

bool cli_log_close(cli_log *log, bool is_whole) {
    cli_log_erase_progress(log);
    tl_report_free(log->report);
    log->report = NULL;
    if (!log->output.stream)
        return true;
    cli_output_check(&log->output);
    bool is_released = !log->is_held || release(log);
    return cli_output_close(&log->output, is_whole || !log->output.place) && is_released;
}
