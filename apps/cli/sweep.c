// SPDX-License-Identifier: MIT
// tally sweep. A cell runs as tally stat runs a program, in a process of its own, and leaves its
// report as JSON in a folder. The table is made of these files alone. It does not matter who ran a
// cell, when and where: children of this process, tasks of Slurm, or an earlier call.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tally/sweep.h>

#include "options.h"
#include "output.h"
#include "progress.h"

enum { PATH_BYTES = 4096, LINE_BYTES = 480, MAX_TASKS = 1000 };

typedef struct sweep_job {
    cli_options *options;
    int argc;
    char *const *argv;
    tl_sweep *sweep;
    const char *folder;
    char made[64]; // the temporary folder, or ""
    uint32_t n_cells, n_ended;
    cli_output table, picture;
} sweep_job;

static volatile sig_atomic_t caught;
static void on_signal(int number) { caught = number; }

static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal}; // waits end
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static int complain(int status, const char *where, const char *what) {
    cli_progress_erase();
    fprintf(stderr, "tally: %s%s%s\n", where, *where ? ": " : "", what);
    return status;
}

static const char *path_of(const sweep_job *job, uint32_t index, const char *end, char *ret_path) {
    tl_sweep_cell cell = {.size = sizeof cell};
    tl_sweep_cell_at(job->sweep, index, &cell);
    snprintf(ret_path, PATH_BYTES, "%s/%s%s", job->folder, cell.name, end);
    return ret_path;
}

static bool is_open(const sweep_job *job, uint32_t index) {
    tl_sweep_cell cell = {.size = sizeof cell};
    tl_sweep_cell_at(job->sweep, index, &cell);
    return cell.state == TL_SWEEP_OPEN;
}

// Takes the result of a cell if its file is there and whole. A run that was stopped or killed is
// taken only if `is_last`: otherwise it runs again.
static bool take(sweep_job *job, uint32_t index, bool is_last) {
    char path[PATH_BYTES];
    tl_error err = {0};
    tl_result *result = NULL;
    if (access(path_of(job, index, ".json", path), R_OK) != 0 || tl_result_read(path, &result, &err) != TL_OK)
        return false;
    tl_end end = {.size = sizeof end};
    tl_result_end(result, &end);
    const bool is_good = end.reason == TL_END_EXITED || end.reason == TL_END_MAX_INSNS;
    bool is_taken = is_good || is_last;
    if (is_taken && tl_sweep_take(job->sweep, index, result, &err) != TL_OK)
        is_taken = false;
    tl_result_free(result);
    return is_taken;
}

// The last sentence of the cell's messages that is ours, or "".
static void last_sentence(const sweep_job *job, uint32_t index, char *ret_line) {
    char path[PATH_BYTES], line[LINE_BYTES];
    static const char head[] = "tally: ";
    ret_line[0] = '\0';
    FILE *stream = fopen(path_of(job, index, ".err", path), "r");
    while (stream && fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, head, sizeof head - 1))
            snprintf(ret_line, LINE_BYTES, "%s", line + sizeof head - 1);
    }
    if (stream)
        fclose(stream);
}

// A cell whose run is over. `how` tells why a result may be missing.
static void end_cell(sweep_job *job, uint32_t index, const char *how) {
    char reason[LINE_BYTES];
    job->n_ended++;
    if (take(job, index, true))
        return;
    last_sentence(job, index, reason);
    tl_sweep_fail(job->sweep, index, *reason ? reason : how);
}

// In the child: the run is that of tally stat, with its report in the cell's file.
static _Noreturn void run_cell(const sweep_job *job, uint32_t index) {
    char path[PATH_BYTES], messages[PATH_BYTES];
    cli_output_leave_all();
    const int nothing = open("/dev/null", O_RDWR);
    const int said = open(path_of(job, index, ".err", messages), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    if (nothing < 0 || said < 0)
        _exit(STATUS_FAILED);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    close(nothing);
    close(said);
    cli_options options = *job->options;
    tl_sweep_cell_options(job->sweep, index, &options.run);
    options.verb = VERB_STAT;
    options.output = path_of(job, index, ".json", path);
    options.report.format = TL_FORMAT_JSON;
    options.report.is_quiet = options.no_progress = true;
    options.run.program = job->options->run.program;
    const int status = cli_stat(&options);
    struct stat about;
    if (stat(messages, &about) == 0 && about.st_size == 0)
        unlink(messages);
    _exit(status);
}

static void show_progress(const sweep_job *job) {
    char step[64];
    snprintf(step, sizeof step, "%u of %u cells", job->n_ended, job->n_cells);
    cli_progress_set(step);
}

typedef struct child {
    pid_t pid; // 0: none
    uint32_t cell;
} child;

// Waits for one child. False: there is none, or a signal asks for the end.
static bool wait_for_one(sweep_job *job, child *children, unsigned n_children) {
    int status = 0;
    const pid_t pid = caught ? -1 : waitpid(-1, &status, 0);
    for (unsigned i = 0; pid > 0 && i < n_children; i++) {
        if (children[i].pid != pid)
            continue;
        char how[LINE_BYTES];
        if (WIFSIGNALED(status))
            snprintf(how, sizeof how, "the run was killed by signal %d of this host", WTERMSIG(status));
        else
            snprintf(how, sizeof how, "the run ended with status %d and left no report", WEXITSTATUS(status));
        end_cell(job, children[i].cell, how);
        children[i].pid = 0;
        show_progress(job);
    }
    return pid > 0;
}

static void stop_children(child *children, unsigned n_children) {
    for (unsigned i = 0; i < n_children; i++) {
        if (children[i].pid > 0)
            kill(children[i].pid, SIGTERM);
    }
    for (unsigned i = 0; i < n_children; i++) {
        while (children[i].pid > 0 && waitpid(children[i].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

// Cells at a time. A task of Slurm has one processor; -j bounds the number of tasks there.
static unsigned n_at_a_time(const cli_options *options) {
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->uses_slurm)
        return 1;
    return options->n_jobs ? options->n_jobs : n_processors > 0 ? (unsigned)n_processors : 1;
}

// Runs open cells first, first + step... Returns 0, or the exit status of a failure that was said.
static int run_here(sweep_job *job, uint64_t first, uint64_t step) {
    const unsigned n_children = n_at_a_time(job->options);
    child *children = calloc(n_children, sizeof *children);
    unsigned n_running = 0;
    int status = 0;
    if (!children)
        return complain(STATUS_FAILED, "", "the host has no memory left");
    show_progress(job);
    for (uint64_t i = first; i < job->n_cells && status == 0 && !caught; i += step) {
        if (!is_open(job, (uint32_t)i))
            continue;
        if (n_running == n_children && wait_for_one(job, children, n_children))
            n_running--;
        if (caught)
            break;
        unsigned place = 0;
        while (children[place].pid > 0)
            place++;
        fflush(NULL);
        children[place] = (child){fork(), (uint32_t)i};
        if (children[place].pid == 0)
            run_cell(job, (uint32_t)i);
        if (children[place].pid < 0) {
            children[place].pid = 0;
            status = complain(STATUS_FAILED, "a cell cannot be started", strerror(errno));
        } else {
            n_running++;
        }
    }
    while (status == 0 && n_running > 0 && wait_for_one(job, children, n_children))
        n_running--;
    stop_children(children, n_children);
    free(children);
    return status;
}

// A word of a shell, quoted.
static void put_quoted(FILE *stream, const char *word) {
    fputc('\'', stream);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            fputc(*word, stream);
    }
    fputc('\'', stream);
}

// The script of an array's tasks: this command with --only. Tasks share cells by their number.
static bool write_script(const sweep_job *job, uint32_t n_tasks, const char *path) {
    char self[PATH_BYTES];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    FILE *stream = n > 0 ? fopen(path, "w") : NULL;
    if (!stream)
        return false;
    self[n] = '\0';
    fputs("#!/bin/sh\nexec ", stream);
    put_quoted(stream, self);
    fprintf(stream, " sweep --only \"$SLURM_ARRAY_TASK_ID/%u\"", n_tasks);
    for (int i = 2; i < job->argc; i++) {
        fputc(' ', stream);
        put_quoted(stream, job->argv[i]);
    }
    fputc('\n', stream);
    const bool is_whole = !ferror(stream);
    return fclose(stream) == 0 && is_whole;
}

static bool has_open(const sweep_job *job, uint32_t first, uint32_t step) {
    for (uint32_t i = first; i < job->n_cells; i += step) {
        if (is_open(job, i))
            return true;
    }
    return false;
}

// "0-3,7": tasks with a cell to run, or "".
static void list_tasks(const sweep_job *job, uint32_t n_tasks, char *ret_list, size_t size) {
    size_t used = 0;
    ret_list[0] = '\0';
    for (uint32_t i = 0; i < n_tasks; i++) {
        uint32_t last = i;
        if (!has_open(job, i, n_tasks))
            continue;
        while (last + 1 < n_tasks && has_open(job, last + 1, n_tasks))
            last++;
        used += (size_t)snprintf(ret_list + used, size - used, last > i ? "%s%u-%u" : "%s%u", used ? "," : "", i, last);
        i = last;
    }
}

static int run_slurm(sweep_job *job) {
    enum { LIST_BYTES = 6 * MAX_TASKS };
    char script[PATH_BYTES], output[PATH_BYTES], limit[16] = "";
    static char tasks[LIST_BYTES], array[LIST_BYTES + 32];
    const uint32_t n_tasks = job->n_cells < MAX_TASKS ? job->n_cells : MAX_TASKS;
    list_tasks(job, n_tasks, tasks, sizeof tasks);
    if (!*tasks)
        return 0;
    if (job->options->n_jobs)
        snprintf(limit, sizeof limit, "%%%u", job->options->n_jobs);
    snprintf(array, sizeof array, "--array=%s%s", tasks, limit);
    snprintf(script, sizeof script, "%s/slurm.sh", job->folder);
    snprintf(output, sizeof output, "--output=%s/slurm-%%a.txt", job->folder);
    if (!write_script(job, n_tasks, script))
        return complain(STATUS_FAILED, script, strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        return complain(STATUS_FAILED, "sbatch cannot be started", strerror(errno));
    if (pid == 0) {
        cli_output_leave_all();
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("sbatch", "sbatch", "--wait", "--job-name=tally-sweep", array, output, script, (char *)NULL);
        _exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_FAILED);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return complain(STATUS_FAILED, "sbatch", strerror(errno));
        if (caught) {
            kill(pid, SIGTERM);
            complain(0, "", "the tasks of Slurm go on; the same command collects what they have done");
            return 0;
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_FOUND)
        return complain(STATUS_FAILED, "", "--slurm: there is no sbatch here; install Slurm's client, or leave --slurm out");
    uint32_t n_missing = 0;
    for (uint32_t i = 0; i < job->n_cells; i++)
        n_missing += is_open(job, i) && !take(job, i, true);
    if (n_missing == job->n_cells && status != 0)
        return complain(STATUS_FAILED, "", "sbatch failed, and no cell has run");
    for (uint32_t i = 0; i < job->n_cells; i++) {
        if (is_open(job, i))
            end_cell(job, i, "no task of Slurm has left a report; slurm-*.txt beside the cells may say why");
    }
    return 0;
}

static bool open_folder(sweep_job *job) {
    job->folder = job->options->cells;
    if (!job->folder) {
        const char *parent = getenv("TMPDIR");
        snprintf(job->made, sizeof job->made, "%.40s/tally-sweep-XXXXXX", parent && *parent && strlen(parent) <= 40 ? parent : "/tmp");
        if (!mkdtemp(job->made)) {
            const int error = errno;
            complain(0, job->made, strerror(error));
            job->made[0] = '\0';
            return false;
        }
        job->folder = job->made;
        return true;
    }
    struct stat about;
    if (mkdir(job->folder, 0777) == 0 || (errno == EEXIST && stat(job->folder, &about) == 0 && S_ISDIR(about.st_mode)))
        return true;
    char where[PATH_BYTES];
    snprintf(where, sizeof where, "--cells %s", job->folder);
    complain(0, where, errno == EEXIST ? "not a folder" : strerror(errno));
    return false;
}

static void remove_folder(const sweep_job *job) {
    static const char *const ends[] = {".json", ".err"};
    char path[PATH_BYTES];
    if (!*job->made)
        return;
    for (uint32_t i = 0; i < job->n_cells; i++) {
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            unlink(path_of(job, i, ends[k], path));
    }
    rmdir(job->made);
}

static uint32_t n_failed(const sweep_job *job) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_cells; i++) {
        tl_sweep_cell cell = {.size = sizeof cell};
        tl_sweep_cell_at(job->sweep, i, &cell);
        n += cell.state == TL_SWEEP_FAILED;
    }
    return n;
}

static int write_outputs(sweep_job *job) {
    const cli_options *o = job->options;
    const tl_sweep_format format = o->wants_json                       ? TL_SWEEP_JSON
                                   : o->wants_markdown                 ? TL_SWEEP_MARKDOWN
                                   : o->report.format == TL_FORMAT_CSV ? TL_SWEEP_CSV
                                                                       : TL_SWEEP_TEXT;
    tl_error err = {0};
    if (tl_sweep_write(job->sweep, format, job->table.stream ? job->table.stream : stdout, &err) != TL_OK) {
        cli_output_check(&job->table);
        return job->table.error ? STATUS_FAILED : complain(STATUS_FAILED, "", err.text);
    }
    if (job->picture.stream && tl_sweep_plot(job->sweep, job->picture.stream, &err) != TL_OK) {
        cli_output_check(&job->picture);
        return job->picture.error ? STATUS_FAILED : complain(STATUS_FAILED, "--plot", err.text);
    }
    return n_failed(job) > 0 ? STATUS_GATE : 0;
}

// Returns the exit status of a sweep that a signal has ended.
static int say_stopped(const sweep_job *job) {
    cli_progress_erase();
    if (*job->made)
        fprintf(stderr, "tally: stopped after %u of %u cells; with --cells DIR a sweep goes on where it was stopped\n", job->n_ended,
                job->n_cells);
    else
        fprintf(stderr, "tally: stopped; results so far are in %s, and the same command runs the rest\n", job->folder);
    return STATUS_SIGNAL + caught;
}

static int run_sweep(sweep_job *job) {
    cli_options *o = job->options;
    for (uint32_t i = 0; i < job->n_cells; i++)
        job->n_ended += !is_open(job, i) || take(job, i, false);
    if (o->has_only && o->only_first >= job->n_cells) {
        char text[96];
        snprintf(text, sizeof text, "cells of this sweep are 0 to %u", job->n_cells - 1);
        return complain(STATUS_USAGE, "--only", text);
    }
    catch_signals();
    cli_progress_begin(!o->no_progress && !o->has_only);
    const int status = o->has_only ? run_here(job, o->only_first, o->only_step) : o->uses_slurm ? run_slurm(job) : run_here(job, 0, 1);
    cli_progress_end();
    if (caught)
        return say_stopped(job);
    if (status != 0 || o->has_only)
        return status;
    return write_outputs(job);
}

int cli_sweep(cli_options *options, int argc, char *const *argv) {
    sweep_job job = {.options = options, .argc = argc, .argv = argv};
    tl_error err = {0};
    bool is_found = true;
    int status = STATUS_FAILED;
    char *program = options->run.kind == TL_RUN_BARE ? strdup(options->program_argv[0])
                                                     : cli_find_program(options->program_argv[0], options->run.root, &is_found);
    if (!is_found) {
        free(program);
        return cli_say_not_found(options->program_argv[0], options->run.root);
    }
    if (!program)
        return complain(STATUS_FAILED, "", "the host has no memory left");
    options->run.program = program;
    const tl_status made = tl_sweep_new(&options->run, (const char *const *)options->varies.items, &job.sweep, &err);
    if (made != TL_OK) {
        status = complain(made == TL_ENOENT && access(program, F_OK) != 0 ? STATUS_NOT_FOUND : cli_status_of_run(made), "", err.text);
        goto out;
    }
    job.n_cells = tl_sweep_n_cells(job.sweep);
    if (!open_folder(&job) || (options->output && !options->has_only && !cli_output_open(&job.table, "output", options->output, false)) ||
        (options->plot && !options->has_only && !cli_output_open(&job.picture, "plot", options->plot, false)))
        goto out;
    status = run_sweep(&job);
out:;
    const bool is_whole = status == 0 || status == STATUS_GATE;
    bool is_written = cli_output_close(&job.table, is_whole || job.table.error != 0);
    is_written = cli_output_close(&job.picture, is_whole || job.picture.error != 0) && is_written;
    if (job.folder)
        remove_folder(&job);
    tl_sweep_free(job.sweep);
    free(program);
    return is_written || !is_whole ? status : STATUS_FAILED;
}
