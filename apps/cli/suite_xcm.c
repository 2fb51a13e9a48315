// SPDX-License-Identifier: MIT
// tally suite xcm: how often the cross-core monitor's five inference algorithms are right, in their
// corrected and published forms, with and without noise, with both event sets.
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <tally/debugger.h>

#include "options.h"
#include "output.h"
#include "progress.h"

enum { PATH_BYTES = 4096, N_SETS = 6 };

static const struct {
    const char *name;
    uint32_t n_trials;
} tiers[] = {{"quick", 100}, {"normal", 1000}, {"full", 10000}};
enum { N_TIERS = sizeof tiers / sizeof tiers[0], NORMAL = 1 };

typedef struct meter {
    uint32_t set;
} meter;

static void show_progress(void *ctx, uint32_t n_done, uint32_t n_all) {
    const meter *m = ctx;
    char text[64];
    snprintf(text, sizeof text, "set %u of %d, question %u of %u", m->set + 1, N_SETS, n_done, n_all);
    cli_progress_set(text);
}

static bool find_tier(const cli_options *options, uint32_t *ret_n_trials) {
    *ret_n_trials = tiers[NORMAL].n_trials;
    for (size_t i = 0; i < options->n_workloads; i++) {
        size_t k = 0;
        while (k < N_TIERS && strcmp(options->workloads[i], tiers[k].name) != 0)
            k++;
        if (k == N_TIERS || i > 0) {
            fprintf(stderr, "tally: %s: write one of quick, normal and full, which ask 100, 1000 and 10,000 questions of each algorithm\n",
                    options->workloads[i]);
            return false;
        }
        *ret_n_trials = tiers[k].n_trials;
    }
    return true;
}

static bool find_program(const cli_options *options, char ret_path[PATH_BYTES]) {
    snprintf(ret_path, PATH_BYTES, "%s/aarch64/monitored.elf", options->bench);
    if (access(ret_path, R_OK) == 0)
        return true;
    snprintf(ret_path, PATH_BYTES, "build/guest/bare/a64/monitored.elf");
    if (access(ret_path, R_OK) == 0)
        return true;
    fprintf(stderr,
            "tally: the suite's program is neither %s/aarch64/monitored.elf nor %s; ninja -C build makes it, or --bench names its folder\n",
            options->bench, ret_path);
    return false;
}

// Without noise every verdict is right. With noise at most one of 1000 is wrong; UNKNOWN is honest.
static int judge(const tl_debugger_trials *set) {
    for (uint32_t a = 0; a < TL_DEBUGGER_ALGORITHMS; a++) {
        const tl_debugger_matrix *m = &set->matrices[a];
        const uint64_t wrong = m->corrected[0][1] + m->corrected[1][0];
        if (wrong <= (set->is_noisy ? (set->n_trials + 999) / 1000 : 0))
            continue;
        fprintf(stderr, "tally: %s: %" PRIu64 " of %" PRIu32 " verdicts are wrong, which is too many\n", tl_debugger_algorithm_name(a),
                wrong, set->n_trials);
        return STATUS_FAILED;
    }
    if (set->n_errors == 0)
        return 0;
    fprintf(stderr, "tally: the bus refused %" PRIu64 " accesses of the monitor\n", set->n_errors);
    return STATUS_FAILED;
}

static int run_sets(const cli_options *options, const char *program, uint32_t n_trials, FILE *picture) {
    tl_debugger_trials sets[N_SETS];
    tl_debugger_trial_options given;
    tl_error err = {0};
    int failed = 0;
    meter m = {0};
    tl_debugger_trial_options_init(&given);
    given.program = program;
    given.machine = options->run.machine;
    given.overrides = options->run.overrides;
    given.n_trials = n_trials;
    given.progress = show_progress;
    given.ctx = &m;
    for (uint32_t i = 0; i < N_SETS; i++) {
        m.set = i;
        given.has_all_events = i >= N_SETS / 2;
        given.is_noisy = i % 3 > 0;
        given.is_prefetching = i % 3 == 2;
        sets[i] = (tl_debugger_trials){.size = sizeof sets[i]};
        const tl_status status = tl_debugger_measure(&given, &sets[i], &err);
        cli_progress_erase();
        if (status != TL_OK ||
            tl_debugger_write_trials(&sets[i], 1, options->wants_json ? TL_DEBUGGER_JSON : TL_DEBUGGER_TEXT, stdout, &err) != TL_OK) {
            fprintf(stderr, "tally: %s\n", err.text);
            return status == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED;
        }
        const int verdict = judge(&sets[i]);
        failed = failed != 0 ? failed : verdict;
    }
    if (picture && tl_debugger_write_trials(sets, N_SETS, TL_DEBUGGER_SVG, picture, &err) != TL_OK) {
        fprintf(stderr, "tally: %s\n", err.text);
        return STATUS_FAILED;
    }
    return failed;
}

int cli_suite_xcm(const cli_options *options) {
    char program[PATH_BYTES];
    cli_output picture = {0};
    uint32_t n_trials;
    if (!find_tier(options, &n_trials))
        return STATUS_USAGE;
    if (!find_program(options, program))
        return STATUS_NOT_FOUND;
    if (options->plot && !cli_output_open(&picture, "svg", options->plot, false))
        return STATUS_FAILED;
    cli_progress_begin(!options->no_progress);
    const int status = run_sets(options, program, n_trials, picture.stream);
    cli_progress_end();
    const bool is_kept = cli_output_close(&picture, status == 0);
    return status == 0 && !is_kept ? STATUS_FAILED : status;
}
