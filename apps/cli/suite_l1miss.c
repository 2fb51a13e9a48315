// SPDX-License-Identifier: MIT
// tally suite l1miss: a loop whose misses are counted, sampled precisely and sampled by interrupts,
// in both variants and both forms of the loop.
#include <string.h>

#include <tally/l1miss.h>

#include "options.h"
#include "output.h"
#include "progress.h"

static const struct run {
    tl_l1miss_method method;
    tl_l1miss_skid skid;
    bool is_lockstep;
} runs[] = {
    {TL_L1MISS_COUNT, TL_L1MISS_CALIBRATED, false},      {TL_L1MISS_PRECISE, TL_L1MISS_CALIBRATED, false},
    {TL_L1MISS_PRECISE, TL_L1MISS_CALIBRATED, true},     {TL_L1MISS_INTERRUPT, TL_L1MISS_CALIBRATED, false},
    {TL_L1MISS_INTERRUPT, TL_L1MISS_MECHANISTIC, false}, {TL_L1MISS_INTERRUPT, TL_L1MISS_FIXED, false},
};
enum { N_RUNS = sizeof runs / sizeof runs[0], N_FORMS = 4, MAX_RUNS = N_FORMS * N_RUNS };

// The words behind the suite's name: a tier, and what to do; without the latter, all.
typedef struct wanted {
    tl_l1miss_tier tier;
    bool methods[3];  // by tl_l1miss_method
    bool variants[2]; // A, B
    bool nestings[2]; // one loop, a loop in a loop
} wanted;

static const struct {
    const char *word;
    uint8_t kind, value; // kind 0: method, 1: variant, 2: nesting
} words[] = {
    {"count", 0, TL_L1MISS_COUNT},
    {"pebs", 0, TL_L1MISS_PRECISE},
    {"iebs", 0, TL_L1MISS_INTERRUPT},
    {"a", 1, 0},
    {"b", 1, 1},
    {"flat", 2, 0},
    {"nested", 2, 1},
};
enum { N_WORDS = sizeof words / sizeof words[0], N_KINDS = 3 };

static bool take_word(wanted *w, const char *word, bool *has_any) {
    for (uint32_t tier = 0; tl_l1miss_tier_name(tier); tier++)
        if (!strcmp(word, tl_l1miss_tier_name(tier))) {
            w->tier = (tl_l1miss_tier)tier;
            return true;
        }
    for (size_t i = 0; i < N_WORDS; i++) {
        bool *const lists[N_KINDS] = {w->methods, w->variants, w->nestings};
        if (strcmp(word, words[i].word) != 0)
            continue;
        lists[words[i].kind][words[i].value] = has_any[words[i].kind] = true;
        return true;
    }
    fprintf(stderr, "tally: %s: write a tier, quick, normal or full, and what to run: count, pebs, iebs; a, b; flat, nested\n", word);
    return false;
}

static bool take_words(const cli_options *options, wanted *w) {
    bool has_any[N_KINDS] = {false};
    *w = (wanted){.tier = TL_L1MISS_QUICK};
    for (size_t i = 0; i < options->n_workloads; i++)
        if (!take_word(w, options->workloads[i], has_any))
            return false;
    for (size_t i = 0; i < N_WORDS; i++) {
        bool *const lists[N_KINDS] = {w->methods, w->variants, w->nestings};
        if (!has_any[words[i].kind])
            lists[words[i].kind][words[i].value] = true;
    }
    return true;
}

// The other profiles and the lock-step are shown once: in variant A, one loop.
static bool is_run(const wanted *w, const struct run *run, uint32_t form) {
    const bool is_special = run->is_lockstep || (run->method == TL_L1MISS_INTERRUPT && run->skid != TL_L1MISS_CALIBRATED);
    return w->methods[run->method] && w->variants[form / 2] && w->nestings[form % 2] && (!is_special || form == 0);
}

static void show_progress(void *ctx, uint64_t n_done, uint64_t n_all) {
    char text[64];
    snprintf(text, sizeof text, "run %u, %llu %% of its misses", *(const uint32_t *)ctx, (unsigned long long)(n_done * 100 / n_all));
    cli_progress_set(text);
}

// The figures that the experiment must show. Only one loop misses as often as it has passes.
static int judge(const tl_l1miss_run *run) {
    const char *fault = NULL;
    if (run->method == TL_L1MISS_COUNT && run->n_counted != run->n_true)
        fault = "the counter differs from the machine";
    else if (run->method == TL_L1MISS_PRECISE && run->n_exact != run->n_samples)
        fault = "precise samples name another load, or registers of another time";
    else if (run->method == TL_L1MISS_PRECISE && !run->is_nested && run->n_samples != run->n_wanted)
        fault = "precise samples are missing";
    else if (run->method == TL_L1MISS_INTERRUPT && (run->n_samples != run->n_wanted || run->distances[0] > 0))
        fault = "samples by interrupts are missing, or name the load";
    if (!fault)
        return 0;
    fprintf(stderr, "tally: suite l1miss: %s\n", fault);
    return STATUS_FAILED;
}

static int run_all(const cli_options *options, const wanted *w, FILE *picture) {
    const tl_l1miss_format format = options->wants_json ? TL_L1MISS_JSON : TL_L1MISS_TEXT;
    tl_l1miss_run found[MAX_RUNS];
    uint32_t n = 0;
    int failed = 0;
    tl_error err = {0};
    for (uint32_t form = 0; form < N_FORMS; form++) {
        const tl_l1miss_run *base = NULL;
        for (uint32_t i = 0; i < N_RUNS; i++) {
            if (!is_run(w, &runs[i], form))
                continue;
            tl_l1miss_options given;
            uint32_t number = n + 1;
            tl_l1miss_options_init(&given, w->tier);
            given.machine = options->run.machine;
            given.overrides = options->run.overrides;
            given.method = runs[i].method;
            given.skid = runs[i].skid;
            given.is_lockstep = runs[i].is_lockstep;
            given.is_chained = form / 2;
            given.is_nested = form % 2;
            given.base = base;
            given.progress = show_progress;
            given.ctx = &number;
            found[n] = (tl_l1miss_run){.size = sizeof found[n]};
            const tl_status status = tl_l1miss_measure(&given, &found[n], &err);
            cli_progress_erase();
            if (status != TL_OK || tl_l1miss_write(&found[n], 1, format, stdout, &err) != TL_OK) {
                fprintf(stderr, "tally: %s\n", err.text);
                return status == TL_EINVAL || status == TL_ENOENT || status == TL_EFORMAT ? STATUS_USAGE : STATUS_FAILED;
            }
            const int verdict = judge(&found[n]);
            failed = failed != 0 ? failed : verdict;
            base = runs[i].method == TL_L1MISS_COUNT ? &found[n] : base;
            n += 1;
        }
    }
    if (picture && tl_l1miss_write(found, n, TL_L1MISS_SVG, picture, &err) != TL_OK) {
        fprintf(stderr, "tally: %s\n", err.text);
        return STATUS_FAILED;
    }
    return failed;
}

int cli_suite_l1miss(const cli_options *options) {
    cli_output picture = {0};
    wanted w;
    if (!take_words(options, &w))
        return STATUS_USAGE;
    if (options->plot && !cli_output_open(&picture, "svg", options->plot, false))
        return STATUS_FAILED;
    cli_progress_begin(!options->no_progress);
    const int status = run_all(options, &w, picture.stream);
    cli_progress_end();
    const bool is_kept = cli_output_close(&picture, status == 0);
    return status == 0 && !is_kept ? STATUS_FAILED : status;
}
