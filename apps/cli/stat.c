// SPDX-License-Identifier: MIT
// tally stat and tally boot: run the guest, print the counts, end as the guest ended. Results go to
// standard error or --output. The program's own descriptors are not touched.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "console.h"
#include "log.h"
#include "options.h"
#include "record.h"

// Instructions between two polls of the clock. The number is fixed, because the steps of a run must
// never depend on the host. The library polls wants_stop more often.
enum { INSNS_PER_STEP = 2000000, PROGRESS_AFTER_MS = 2000, PROGRESS_EVERY_MS = 250 };
// Ticks follow a request to stop. A tick interrupts waits for the host that began just before the
// signal. After the last tick the host's kernel is considered stuck. A signal repeated within the
// first ticks is one signal, sent to the process and to the group.
enum { TICK_US = 20000, FIRST_TICKS = 25, PATIENCE_TICKS = 500 };

// Signal handlers set these for the loop.
static volatile sig_atomic_t caught_signal, time_is_up, n_ticks;

static void set_timer(uint64_t first_us, uint64_t every_us) {
    struct itimerval timer = {.it_interval = {(time_t)(every_us / 1000000), (suseconds_t)(every_us % 1000000)},
                              .it_value = {(time_t)(first_us / 1000000), (suseconds_t)(first_us % 1000000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_signal(int number) {
    if (caught_signal == number && n_ticks > FIRST_TICKS) { // it was meant twice
        cli_console_restore();
        cli_output_drop_all();
        signal(number, SIG_DFL);
        raise(number);
    }
    if (!caught_signal && !time_is_up)
        set_timer(TICK_US, TICK_US);
    caught_signal = number;
}

static void on_alarm(int number) {
    (void)number;
    if (!caught_signal)
        time_is_up = 1;
    n_ticks = n_ticks + 1;
    if (n_ticks <= PATIENCE_TICKS)
        return;
    static const char text[] = "tally: the host does not return from a system call, so that the run cannot be stopped; no counts\n";
    cli_console_restore();
    cli_output_drop_all();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    (void)n;
    _exit(caught_signal ? STATUS_SIGNAL + caught_signal : STATUS_TIMEOUT);
}

static void catch_all(int flags) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
}

static void catch_signals(uint64_t timeout_ms) {
    catch_all(0);
    signal(SIGPIPE, SIG_IGN); // the program gets its own
    if (timeout_ms > 0)
        set_timer(timeout_ms < UINT64_MAX / 1000 ? timeout_ms * 1000 : UINT64_MAX, TICK_US);
}

// Writes from here on are not cut by a signal.
static void stop_timer(void) {
    set_timer(0, 0);
    catch_all(SA_RESTART);
}

typedef struct stat_job {
    cli_options *options;
    cli_log log;
    char *program; // path; NULL: images are loaded instead
    uint64_t begin_ms, progress_ms;
    bool shows_progress, has_progress;
    unsigned run_number, n_looks; // the latter since the user requested the end
    cli_record record;
    cli_output profile_output;
    tl_host_profile profile;
    uint64_t profile_ns, profile_insns;
    // Paths that the last run read outside of --root: "/a, /b and 3 more"; "": none.
    char host_paths[400];
} stat_job;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void show_progress(stat_job *job, const tl_run *run) {
    uint64_t now = now_ms();
    if (!job->shows_progress || now - job->begin_ms < PROGRESS_AFTER_MS || now - job->progress_ms < PROGRESS_EVERY_MS)
        return;
    tl_progress progress = {.size = sizeof progress};
    tl_run_progress(run, &progress);
    double seconds = (double)progress.host_ns / 1e9;
    fprintf(stderr, "\r\033[K tally: %.0f s, %.1f million instructions, %.3f s simulated, %.1f million a second", seconds,
            (double)progress.instructions / 1e6, (double)progress.sim_ns / 1e9,
            seconds > 0 ? (double)progress.instructions / 1e6 / seconds : 0);
    fflush(stderr);
    job->log.has_progress = true;
    job->progress_ms = now;
}

static void warn(void *ctx, const char *sentence) {
    stat_job *job = ctx;
    if (job->run_number > 0)
        return; // said already
    // In JSON it is a note of the report.
    if (!job->log.is_on_stderr || job->options->report.format != TL_FORMAT_JSON)
        cli_log_remark(&job->log, sentence);
}

// The guest polls some more times after a console session has ended. Keys typed before the end
// reach the guest then.
enum { LOOKS_BEFORE_QUIT = 40 };

static bool wants_stop(void *ctx) {
    stat_job *job = ctx;
    if (cli_console_wants_quit())
        job->n_looks++;
    return caught_signal || time_is_up || job->n_looks > LOOKS_BEFORE_QUIT;
}

// An option that is short for a key of the machine is named as it was typed.
static const char *in_users_words(const char *text, char *ret_text, size_t size) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n_names = cli_designs(CLI_IS_GRANTED, names);
    for (size_t i = 0; i < n_names; i++) {
        char key[96];
        const size_t n = (size_t)snprintf(key, sizeof key, "os.%s = granted: ", names[i]);
        if (n < sizeof key && !strncmp(text, key, n)) {
            snprintf(ret_text, size, "--grant %s: %s", names[i], text + n);
            return ret_text;
        }
    }
    return text;
}

static bool has_grant(const cli_options *options) {
    for (size_t i = 0; i < options->overrides.n; i++) {
        const char *equals = strchr(options->overrides.items[i], '=');
        if (!strncmp(options->overrides.items[i], "os.", 3) && equals && !strcmp(equals, "=granted"))
            return true;
    }
    return false;
}

static int complain(stat_job *job, int status, const tl_error *err) {
    char text[CLI_SENTENCE_BYTES];
    if (has_grant(job->options)) {
        cli_log_say(&job->log, "%s", in_users_words(err->text, text, sizeof text));
        return status;
    }
    cli_log_say(&job->log, "%s", err->text);
    return status;
}

// Exit status of an error before the program's first instruction.
static int status_of_new(tl_status status) { return status == TL_ENOMEM || status == TL_EIO ? STATUS_FAILED : STATUS_USAGE; }

static int status_of_load(tl_status status) {
    switch (status) {
    case TL_ENOENT: return STATUS_NOT_FOUND;
    case TL_EACCESS:
    case TL_EFORMAT: return STATUS_NOT_EXECUTABLE;
    case TL_EINVAL: return STATUS_USAGE;
    default: return STATUS_FAILED;
    }
}

static int status_of_end(const tl_end *end) {
    switch (end->reason) {
    // The finisher of a board takes 16 bits.
    case TL_END_EXITED: return end->status > UINT8_MAX ? UINT8_MAX : end->status;
    case TL_END_KILLED:
    case TL_END_INTERRUPTED: return STATUS_SIGNAL + end->signal;
    case TL_END_MAX_INSNS:
    case TL_END_QUIT: return 0;
    case TL_END_RESET: return STATUS_RESET;
    case TL_END_TIMEOUT: return STATUS_TIMEOUT;
    case TL_END_NONE:
    case TL_END_DEADLOCK:
    case TL_END_STUCK:
    case TL_END_FAILED: break;
    }
    return STATUS_FAILED;
}

static bool write_interval(stat_job *job, tl_run *run, bool is_last, tl_error *err) {
    tl_result *interval;
    if (tl_run_interval(run, &interval, err) != TL_OK)
        return false;
    tl_times times = {.size = sizeof times};
    tl_result_times(interval, &times);
    if (!is_last || times.instructions > 0 || times.cycles > 0) {
        cli_log_erase_progress(&job->log);
        tl_report_interval(job->log.report, interval);
        cli_output_check(&job->log.output);
    }
    tl_result_free(interval);
    return true;
}

// Runs to the end. Returns 0, or the exit status of a failure that was reported.
static int run_to_end(stat_job *job, tl_run *run) {
    const cli_options *options = job->options;
    tl_error err = {0};
    tl_run_state state = TL_RUN_GOING;
    int status = 0;
    while (state != TL_RUN_ENDED && status == 0) {
        if (caught_signal)
            tl_run_stop(run, TL_END_INTERRUPTED, caught_signal);
        else if (time_is_up)
            tl_run_stop(run, TL_END_TIMEOUT, 0);
        else if (wants_stop(job))
            tl_run_stop(run, TL_END_QUIT, 0);
        tl_status advanced = tl_run_advance(run, INSNS_PER_STEP, &state, &err);
        // TL_EINVAL: the program begins, and a function of --roi is not there.
        if (advanced != TL_OK)
            status = complain(job, advanced == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED, &err);
        else if (state == TL_RUN_INTERVAL && options->verb != VERB_RECORD && !write_interval(job, run, false, &err))
            status = complain(job, STATUS_FAILED, &err);
        show_progress(job, run);
    }
    cli_log_erase_progress(&job->log);
    if (status == STATUS_USAGE)
        return status;
    if (options->run.interval != TL_INTERVAL_NONE && options->verb != VERB_RECORD && !write_interval(job, run, true, &err))
        status = complain(job, STATUS_FAILED, &err);
    return status;
}

static void list_host_paths(stat_job *job, const tl_run *run) {
    enum { MAX_SHOWN = 3 };
    size_t size = sizeof job->host_paths, used = 0;
    uint32_t n = 0;
    job->host_paths[0] = '\0';
    while (tl_run_host_path(run, n))
        n++;
    for (uint32_t i = 0; i < n && i < MAX_SHOWN; i++)
        used += (size_t)snprintf(job->host_paths + used, size - used, "%s%.110s",
                                 i == 0       ? ""
                                 : i + 1 == n ? " and "
                                              : ", ",
                                 tl_run_host_path(run, i));
    if (n > MAX_SHOWN)
        snprintf(job->host_paths + used, size - used, " and %u more", n - MAX_SHOWN);
}

// One run: *ret_result when it came so far that there are counts. Returns the exit status.
static int run_once(stat_job *job, tl_result **ret_result) {
    cli_options *options = job->options;
    tl_error err = {0};
    tl_run *run = NULL;
    options->run.program = job->program;
    options->run.warn = options->report.is_quiet ? NULL : warn;
    options->run.wants_stop = wants_stop;
    options->run.ctx = job;
    tl_status status = tl_run_new(&options->run, &run, &err);
    if (status != TL_OK)
        return complain(job, status_of_new(status), &err);
    int failed = 0;
    status = cli_record_begin(&job->record, options, run, &err);
    if (status != TL_OK) {
        tl_run_free(run);
        return complain(job, status_of_new(status), &err);
    }
    status = tl_run_load(run, &err);
    if (status != TL_OK) {
        failed = complain(job, status_of_load(status), &err);
        cli_record_drop(&job->record);
        tl_run_free(run);
        return failed;
    }
    if (job->run_number == 0 && !cli_log_begin(&job->log)) {
        cli_record_drop(&job->record);
        tl_run_free(run);
        return STATUS_FAILED;
    }
    tl_result *start = NULL;
    if (job->log.report && job->run_number == 0 && tl_run_result(run, &start, &err) == TL_OK)
        tl_report_begin(job->log.report, start);
    tl_result_free(start);
    failed = run_to_end(job, run);
    cli_log_look(&job->log, run);
    if (failed == STATUS_USAGE)
        cli_record_drop(&job->record);
    else if (cli_record_end(&job->record, options, &err) != TL_OK)
        failed = complain(job, STATUS_FAILED, &err);
    if (failed == STATUS_USAGE) {
        tl_run_free(run);
        return failed;
    }
    status = tl_run_result(run, ret_result, &err);
    tl_progress progress = {.size = sizeof progress};
    tl_run_progress(run, &progress);
    cli_profile_add(run, &job->profile);
    job->profile_ns += progress.host_ns;
    job->profile_insns += progress.instructions;
    list_host_paths(job, run);
    tl_run_free(run);
    if (status != TL_OK)
        return complain(job, STATUS_FAILED, &err);
    tl_end end = {.size = sizeof end};
    tl_result_end(*ret_result, &end);
    if (failed == 0)
        failed = status_of_end(&end);
    if (tl_result_check(*ret_result, &err) != TL_OK) {
        cli_log_say(&job->log, "BROKEN COUNTS: %s", err.text);
        cli_log_say(&job->log, "this is a bug in tally; do not use these numbers");
        failed = STATUS_FAILED;
    }
    return failed;
}

// The table's closing lines must also be printed when the table goes to a file or is not text.
static void explain_end(stat_job *job, const tl_result *result) {
    tl_end end = {.size = sizeof end};
    tl_result_end(result, &end);
    const cli_options *options = job->options;
    const char *program = options->title;
    bool is_told = job->log.report && job->log.is_text && !options->output && options->log_fd < 0 && !options->report.is_quiet;
    if (end.reason == TL_END_TIMEOUT)
        cli_log_say(&job->log, "%s did not end in time; raise --timeout to let it run longer", program);
    if (is_told)
        return;
    switch (end.reason) {
    case TL_END_KILLED: cli_log_say(&job->log, "%s was %s (signal %d)", program, *end.message ? end.message : "killed", end.signal); break;
    case TL_END_DEADLOCK:
        cli_log_say(&job->log, "%s: %s", program, *end.message ? end.message : "deadlock: every thread sleeps and nothing can wake one");
        break;
    case TL_END_STUCK:
        cli_log_say(&job->log, "%s is stuck: %s", program,
                    *end.message ? end.message : "every hart waits for an interrupt and none will ever come");
        break;
    case TL_END_RESET: cli_log_say(&job->log, "%s asked for a restart", program); break;
    default: break;
    }
}

// Names regions that no hart reached. Returns the exit status, which is 123 with --roi-required.
static int explain_regions(stat_job *job, const tl_result *result, int status) {
    const cli_options *options = job->options;
    bool is_said = options->requires_regions || !options->report.is_quiet;
    uint32_t n = tl_result_n_regions(result), n_missing = 0;
    for (uint32_t i = 0; i < n; i++) {
        tl_region_info region = {.size = sizeof region};
        tl_result_region_at(result, i, &region);
        if (region.n_visits > 0)
            continue;
        n_missing++;
        if (is_said)
            cli_log_say(&job->log, "%s was never %s", region.name, region.start ? "reached" : "entered");
    }
    if (n == 0 && options->run.markers) {
        n_missing++;
        if (is_said)
            cli_log_say(&job->log, "the program marked no region; mark one with TALLY_ROI_START of tally/roi.h");
    }
    tl_end end = {.size = sizeof end};
    tl_result_end(result, &end);
    bool is_own = end.reason == TL_END_EXITED || end.reason == TL_END_MAX_INSNS;
    return n_missing > 0 && options->requires_regions && is_own && status != STATUS_FAILED ? STATUS_UNREACHED : status;
}

static bool is_folder(stat_job *job, const char *option, const char *path) {
    struct stat about;
    if (!path || (stat(path, &about) == 0 && S_ISDIR(about.st_mode)))
        return true;
    cli_log_say(&job->log, "--%s %s: no such folder", option, path);
    return false;
}

// Descriptors 0 to 2 are always something, so that no file of ours can become one of them.
static void fill_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            return;
    }
}

// Reports a wrong request before a missing program.
static int not_found(stat_job *job) {
    tl_error err = {0};
    tl_run *run = NULL;
    const char *name = job->options->program_argv[0];
    tl_status status = tl_run_new(&job->options->run, &run, &err);
    tl_run_free(run);
    if (status != TL_OK)
        return complain(job, status_of_new(status), &err);
    char sentence[CLI_SENTENCE_BYTES];
    cli_explain_not_found(name, job->options->run.root, sentence, sizeof sentence);
    cli_log_say(&job->log, "%s", sentence);
    return STATUS_NOT_FOUND;
}

// Prints the closing line of a run without requested counts.
static void put_closing_line(const stat_job *job, const tl_result *result) {
    tl_times times = {.size = sizeof times};
    tl_result_times(result, &times);
    double seconds = (double)times.host_ns / 1e9;
    if (job->options->report.is_quiet)
        return;
    fprintf(stderr, "tally: %.6f s simulated, %llu instructions, %.3f s on this host, %.1f million instructions per second\n",
            (double)times.sim_ns / 1e9, (unsigned long long)times.instructions, seconds,
            seconds > 0 ? (double)times.instructions / 1e6 / seconds : 0);
}

// Runs as often as asked. Sets *ret_is_whole when the report is. Returns the exit status.
static int run_all(stat_job *job, bool *ret_is_whole) {
    const cli_options *options = job->options;
    tl_result *first = NULL;
    tl_error err = {0};
    int status = 0;
    // Every run reads one input if the input can seek.
    off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    for (job->run_number = 0; job->run_number < options->n_runs; job->run_number++) {
        tl_result *result = NULL;
        if (job->run_number > 0 && input >= 0 && lseek(STDIN_FILENO, input, SEEK_SET) < 0)
            break;
        int outcome = run_once(job, &result);
        if (job->run_number == 0) {
            first = result;
            status = outcome;
        } else if (result) {
            if (tl_result_equal(first, result, &err) != TL_OK) {
                cli_log_say(&job->log, "run %u differs from run 1: %s", job->run_number + 1, err.text);
                if (*job->host_paths)
                    cli_log_say(&job->log, "it read %s of this host; give it files of its own with --root DIR", job->host_paths);
                status = STATUS_FAILED;
            }
            tl_result_free(result);
        } else {
            status = outcome;
        }
        if (!result || wants_stop(job) || status == STATUS_FAILED)
            break;
    }
    stop_timer();
    cli_console_close();
    if (!first)
        return status;
    if (!job->log.is_text) { // a part of the report
        explain_end(job, first);
        status = explain_regions(job, first, status);
    }
    *ret_is_whole = true;
    if (job->options->verb == VERB_RECORD)
        cli_record_tell(&job->record, job->options, &job->log);
    else if (!job->log.report)
        put_closing_line(job, first);
    else if (tl_report_end(job->log.report, first, &err) != TL_OK)
        status = STATUS_FAILED; // closing the report reports the error
    if (job->log.report && options->n_runs > 1 && job->run_number == options->n_runs && job->log.is_text && !options->report.is_quiet)
        fprintf(job->log.output.stream, " %u runs, all counts identical.\n\n", options->n_runs);
    cli_output_check(&job->log.output);
    if (job->log.is_text) {
        explain_end(job, first);
        status = explain_regions(job, first, status);
    }
    tl_result_free(first);
    return status;
}

// -r refuses a pipe or a socket as standard input, because only the first run could read it.
static bool can_repeat_input(stat_job *job) {
    struct stat about;
    unsigned n_runs = job->options->n_runs;
    if (n_runs == 1 || fstat(STDIN_FILENO, &about) < 0 || !(S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)))
        return true;
    cli_log_say(&job->log, "-r %u: standard input is a %s, and only the first run could read it; use < FILE or < /dev/null", n_runs,
                S_ISFIFO(about.st_mode) ? "pipe" : "socket");
    return false;
}

// The terminal becomes the serial port. A bare-metal program gets standard input as it is.
static bool open_console(stat_job *job) {
    cli_options *options = job->options;
    if (options->run.kind != TL_RUN_BOOT)
        return true;
    if (!cli_console_open(&options->run.std_fd[0])) {
        cli_log_say(&job->log, "the terminal cannot be made the console: %s; try with < /dev/null", strerror(errno));
        return false;
    }
    bool is_terminal = options->run.std_fd[0] > STDERR_FILENO;
    if (is_terminal && !options->report.is_quiet)
        cli_log_remark(&job->log, "Ctrl-A x ends the run, Ctrl-A h helps");
    return true;
}

static void put_profile(stat_job *job) {
    const tl_engine engine = job->options->run.engine;
    char sentence[CLI_SENTENCE_BYTES];
    cli_profile_write(job->profile_output.stream, &job->profile, engine, job->profile_ns, job->profile_insns);
    if (job->options->report.is_quiet || job->options->report.format != TL_FORMAT_TEXT)
        return;
    for (uint32_t i = 0; cli_profile_advice(&job->profile, engine, i, sentence, sizeof sentence); i++)
        fprintf(stderr, "tally: %s\n", sentence);
}

int cli_stat(cli_options *options) {
    stat_job job = {.options = options, .begin_ms = now_ms()};
    bool is_found = true, is_whole = false, has_program = options->run.kind != TL_RUN_BOOT;
    fill_standard_descriptors();
    int status = cli_log_open(&job.log, options);
    if (status != 0)
        goto out;
    status = STATUS_USAGE;
    if (!can_repeat_input(&job) || !is_folder(&job, "root", options->run.root) || !is_folder(&job, "sysroot", options->run.sysroot))
        goto out;
    if (has_program) {
        const char *typed = options->program_argv[0];
        job.program = options->run.kind == TL_RUN_BARE ? strdup(typed) : cli_find_program(typed, options->run.root, &is_found);
    }
    status = STATUS_FAILED;
    if (!is_found) {
        status = not_found(&job);
        goto out;
    }
    if (has_program && !job.program) {
        cli_log_say(&job.log, "the host has no memory left");
        goto out;
    }
    if (!cli_record_open(&job.record, options))
        goto out;
    if (options->host_profile && !cli_output_open(&job.profile_output, "host-profile", options->host_profile, false))
        goto out;
    // The terminal of a guest's console is the guest's.
    bool has_room = has_program || !isatty(STDOUT_FILENO);
    job.shows_progress = has_room && isatty(STDERR_FILENO) && !options->no_progress && !options->report.is_quiet;
    catch_signals(options->timeout_ms);
    status = open_console(&job) ? run_all(&job, &is_whole) : STATUS_FAILED;
out:
    cli_console_close();
    if (!cli_log_close(&job.log, is_whole) && status < STATUS_FAILED)
        status = STATUS_FAILED;
    if (!cli_record_close(&job.record, options, is_whole) && status < STATUS_FAILED)
        status = STATUS_FAILED;
    if (job.profile_output.stream)
        put_profile(&job);
    if (!cli_output_close(&job.profile_output, is_whole) && status < STATUS_FAILED)
        status = STATUS_FAILED;
    free(job.program);
    return status;
}
