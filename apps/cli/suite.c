// SPDX-License-Identifier: MIT
// tally suite runs the bench programs for an equal number of instructions each, then software reads
// all counters once. bench/workloads/build.sh builds the programs; the build tree has copies of
// those from guest/.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally/reading.h>

#include "options.h"
#include "progress.h"

enum { MAX_ARGUMENTS = 4, PATH_BYTES = 4096 };

typedef struct workload {
    const char *name, *program;
    const char *kernel; // where else it may be, or NULL
    // %s is the folder of the bench. Enough work for the longest budget where the program permits.
    const char *arguments[MAX_ARGUMENTS];
} workload;

static const workload workloads[] = {
    {"automaton", "automaton", "build/guest/kernel_automaton", {"1000000"}},
    {"bzip2", "bzip2", NULL, {"-c", "%s/input/text.txt"}},
    {"chase", "chase", "build/guest/kernel_chase", {"1000000"}},
    {"huffman", "huffman", "build/guest/kernel_huffman", {"1000000"}},
    {"lua", "lua", NULL, {"%s/../workloads/work.lua", "10000"}},
    {"matrix", "matrix", "build/guest/kernel_matrix", {"1000000"}},
    {"mergesort", "mergesort", "build/guest/kernel_mergesort", {"1000000"}},
    {"minigzip", "minigzip", NULL, {"-c", "%s/input/text.txt"}},
    {"nbody", "nbody", "build/guest/kernel_nbody", {"1000000"}},
    {"picture", "picture", "build/guest/kernel_picture", {"1000000"}},
    {"sieve", "sieve", "build/guest/kernel_sieve", {"1000000"}},
    {"sort", "sort", "build/guest/kernel_sort", {"1000000"}},
    {"sqlite", "speedtest1", NULL, {"--memdb", "--size", "1000"}},
    {"straight", "straight", "build/guest/kernel_straight", {"1000000"}},
    {"strings", "strings", "build/guest/kernel_strings", {"1000000"}},
};
enum { N_WORKLOADS = sizeof workloads / sizeof workloads[0] };

static int complain(int status, const char *name, const char *text) {
    cli_progress_erase();
    fprintf(stderr, "tally: %s%s%s\n", name, *name ? ": " : "", text);
    return status;
}

static bool find_program(const workload *w, const char *bench, char *ret_path, size_t size) {
    snprintf(ret_path, size, "%s/riscv64/%s", bench, w->program);
    if (access(ret_path, R_OK) == 0)
        return true;
    if (!w->kernel || access(w->kernel, R_OK) != 0)
        return false;
    snprintf(ret_path, size, "%s", w->kernel);
    return true;
}

// 0, or the exit status of a failure that was said.
static int run_one(const cli_options *options, const workload *w, const char *path, uint64_t max_insns, tl_reading **ret_reading) {
    char words[MAX_ARGUMENTS][PATH_BYTES], name[64];
    const char *argv[MAX_ARGUMENTS + 2] = {name};
    snprintf(name, sizeof name, "./%s", w->program);
    for (int i = 0; i < MAX_ARGUMENTS && w->arguments[i]; i++) {
        const char *place = strstr(w->arguments[i], "%s");
        snprintf(words[i], sizeof words[i], "%s%s", place ? options->bench : "", place ? place + 2 : w->arguments[i]);
        argv[i + 1] = words[i];
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0)
        return complain(STATUS_FAILED, "/dev/null", "cannot be opened");
    tl_run_options run_options = options->run;
    run_options.program = path;
    run_options.argv = argv;
    run_options.events = "cycles";
    run_options.max_insns = max_insns;
    for (int i = 0; i < 3; i++)
        run_options.std_fd[i] = nowhere;
    tl_error err = {0};
    tl_run *run = NULL;
    tl_result *result = NULL;
    tl_reading *reading = NULL;
    tl_run_state state = TL_RUN_GOING;
    tl_status status = tl_run_new(&run_options, &run, &err);
    int failed = status == TL_OK || status == TL_ENOMEM ? STATUS_FAILED : STATUS_USAGE;
    if (status == TL_OK)
        status = tl_run_load(run, &err);
    while (status == TL_OK && state != TL_RUN_ENDED)
        status = tl_run_advance(run, UINT64_MAX, &state, &err);
    if (status == TL_OK) {
        status = tl_run_read_pmu(run, options->suite, &reading, &err);
        failed = status == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED;
    }
    if (status == TL_OK) // identities must hold with the reader's own work included
        status = tl_run_result(run, &result, &err);
    if (status == TL_OK)
        status = tl_result_check(result, &err);
    tl_result_free(result);
    tl_run_free(run);
    close(nowhere);
    if (status != TL_OK) {
        tl_reading_free(reading);
        return complain(failed, w->name, err.text);
    }
    *ret_reading = reading;
    return 0;
}

// A machine that cannot be read says so after one instruction, not after all of them.
static int check_machine(const cli_options *options, const workload *w, const char *path) {
    tl_reading *reading = NULL;
    const int status = run_one(options, w, path, 1, &reading);
    tl_reading_free(reading);
    return status;
}

// Values of the reading must agree with each other and with the machine.
static int judge(const workload *w, const tl_reading *reading) {
    uint64_t l2_reads, l1_misses;
    tl_reading_identity(reading, &l2_reads, &l1_misses);
    if (l2_reads != l1_misses)
        return complain(STATUS_FAILED, w->name, "reads of L2 are not the misses of L1");
    if (tl_reading_largest_error(reading) != 0)
        return complain(STATUS_FAILED, w->name, "what was read is not what the machine counted");
    return 0;
}

static bool is_wanted(const cli_options *options, const workload *w) {
    if (options->n_workloads == 0)
        return true;
    for (size_t i = 0; i < options->n_workloads; i++)
        if (!strcmp(options->workloads[i], w->name))
            return true;
    return false;
}

static int check_names(const cli_options *options) {
    const char *names[N_WORKLOADS];
    for (size_t i = 0; i < N_WORKLOADS; i++)
        names[i] = workloads[i].name;
    for (size_t i = 0; i < options->n_workloads; i++) {
        bool is_known = false;
        for (size_t k = 0; k < N_WORKLOADS; k++)
            is_known = is_known || !strcmp(options->workloads[i], names[k]);
        if (is_known)
            continue;
        const char *nearest = cli_nearest(options->workloads[i], names, N_WORKLOADS);
        fprintf(stderr, "tally: there is no workload %s%s%s%s", options->workloads[i], nearest ? "; did you mean " : "; there are",
                nearest ? nearest : "", nearest ? "?" : "");
        for (size_t k = 0; k < N_WORKLOADS && !nearest; k++)
            fprintf(stderr, " %s", names[k]);
        fputc('\n', stderr);
        return STATUS_USAGE;
    }
    return 0;
}

int cli_suite(const cli_options *options) {
    tl_reading *readings[N_WORKLOADS] = {0};
    uint32_t n = 0;
    tl_error err = {0};
    bool is_csv = options->report.format == TL_FORMAT_CSV;
    tl_readings_format format = options->wants_json ? TL_READINGS_JSON : is_csv ? TL_READINGS_CSV : TL_READINGS_TEXT;
    int status = check_names(options), failed = 0;
    size_t n_wanted = 0;
    for (size_t i = 0; i < N_WORKLOADS; i++)
        n_wanted += is_wanted(options, &workloads[i]);
    cli_progress_begin(!options->no_progress && status == 0);
    for (size_t i = 0; i < N_WORKLOADS && status == 0; i++) {
        const workload *w = &workloads[i];
        char path[PATH_BYTES];
        if (!is_wanted(options, w))
            continue;
        if (!find_program(w, options->bench, path, sizeof path)) {
            cli_progress_erase();
            fprintf(stderr, "tally: %s is left out: %s/riscv64/%s is not there; bench/workloads/build.sh %s builds it\n", w->name,
                    options->bench, w->program, options->bench);
            continue;
        }
        char step[64];
        snprintf(step, sizeof step, "%s, program %zu of %zu", w->name, n + (size_t)1, n_wanted);
        cli_progress_set(step);
        if (n == 0)
            status = check_machine(options, w, path);
        if (status == 0)
            status = run_one(options, w, path, options->run.max_insns, &readings[n]);
        cli_progress_erase();
        if (status != 0)
            break;
        if (!is_csv && tl_readings_write((const tl_reading *const *)&readings[n], 1, format, stdout, &err) != TL_OK)
            status = complain(STATUS_FAILED, "", err.text);
        else
            failed = failed != 0 ? failed : judge(w, readings[n]);
        n++;
    }
    cli_progress_end();
    if (status == 0 && n == 0)
        status = STATUS_NOT_FOUND;
    if (status == 0 && is_csv && tl_readings_write((const tl_reading *const *)readings, n, format, stdout, &err) != TL_OK)
        status = complain(STATUS_FAILED, "", err.text);
    for (uint32_t i = 0; i < n; i++)
        tl_reading_free(readings[i]);
    return status != 0 ? status : failed;
}
