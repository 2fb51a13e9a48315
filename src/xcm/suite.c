// SPDX-License-Identifier: MIT
// Trials of the five inference algorithms: suite.h. Each trial is a round of its own, because a
// probe changes what it looks at. Truth is that of the instant when the probe window opens. With
// noise it may have changed since the question was asked, because another hart runs.
#include "xcm/suite.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "isa/a64/hart.h"
#include "machine/oracle.h"

enum { TARGET = 1, N_STUBS = 24, N_PAGES = 24, PAGE_BYTES = 4096, LINE_BYTES = 64, MOST_TRIES = 100000, LINK = 30 };
enum { LDR_X1_X0 = 0xf9400001, BR_X1 = 0xd61f0020, RET = 0xd65f03c0 };
// Of the program: blocks of 2 MiB behind pages of 4 KiB.
static const uint64_t HEAP = UINT64_C(0x82000000), HEAP_BYTES = UINT64_C(0x1000000), BLOCKS = 0x200000;
static const uint64_t WAIT_NS = 200000000, MANY_ROUNDS = UINT64_C(1) << 40;

static uint64_t random_below(uint64_t *seed, uint64_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % n;
}

// -- Questions.

static tl_status symbol(tl_xcm_model *model, const char *name, uint64_t *ret, tl_error *err) {
    if (tl_system_symbol(tl_xcm_system(model), name, false, ret, NULL) == TL_OK)
        return TL_OK;
    return tl_fail(err, TL_EINVAL, "the program has no symbol %s; the suite needs guest/bare/a64/monitored.c, which the build makes", name);
}

bool tl_xcm_truth(tl_xcm_model *model, const uint64_t args[4]) {
    const tl_machine *machine = tl_xcm_machine(model);
    uint64_t found = 0;
    tl_page page;
    switch (args[0]) {
    case XCM_BTB: return tl_oracle_target(machine, TARGET, args[1], &found) && found == args[2];
    case XCM_RSB: return tl_oracle_return_stack(machine, TARGET, &found, 1) == 1 && found == args[2];
    case XCM_ITLB: return tl_oracle_page_of(machine, TARGET, TL_TLB_FETCH, args[1], &page);
    case XCM_DTLB: return tl_oracle_page_of(machine, TARGET, TL_TLB_DATA, args[1], &page);
    default: return tl_oracle_is_in_l2(machine, args[1]);
    }
}

// A line of the blocks that the L1D lacks: one of those in L2, or any.
static uint64_t choose_line(const tl_machine *machine, uint64_t *seed) {
    const bool wants_present = random_below(seed, 2);
    const uint32_t n_ways = machine->config.l2.size_bytes / machine->config.l2.line_bytes;
    uint64_t v = 0;
    for (uint32_t tries = 0; tries < MOST_TRIES; tries++) {
        tl_line_view line;
        v = HEAP + BLOCKS + random_below(seed, (HEAP_BYTES - BLOCKS) / LINE_BYTES) * LINE_BYTES;
        if (wants_present && tl_oracle_l2_line(machine, 0, (uint32_t)random_below(seed, n_ways), &line) && line.state != 'I' &&
            line.paddr >= HEAP + BLOCKS && line.paddr < HEAP + HEAP_BYTES)
            v = line.paddr;
        if (tl_oracle_state_of(machine, TARGET, false, v) == 'I' && tl_oracle_is_in_l2(machine, v) == wants_present)
            break;
    }
    return v;
}

tl_status tl_xcm_ask(tl_xcm_model *model, xcm_algorithm algorithm, uint64_t *seed, tl_xcm_question *ret_question, tl_error *err) {
    static const char *const names[][2] = {{"jump_site", "jump_targets"},
                                           {"probe_return", "work"},
                                           {"stubs", "stubs"},
                                           {"load_site", "load_site"},
                                           {"load_site", "load_site"}};
    const tl_machine *machine = tl_xcm_machine(model);
    uint64_t at[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        const tl_status status = symbol(model, names[algorithm - XCM_BTB][i], &at[i], err);
        if (status != TL_OK)
            return status;
    }
    uint64_t *args = ret_question->args;
    args[0] = algorithm;
    args[1] = at[0];
    args[2] = at[1];
    args[3] = LDR_X1_X0;
    switch (algorithm) {
    case XCM_BTB:
        args[2] += 8 * random_below(seed, 2);
        args[3] = BR_X1;
        break;
    case XCM_RSB:
        if (random_below(seed, 2))
            args[2] = tl_a64(machine->harts[TARGET])->x[LINK];
        args[3] = RET;
        break;
    case XCM_ITLB:
        args[1] += PAGE_BYTES * random_below(seed, N_STUBS);
        args[2] = args[3] = 0;
        break;
    case XCM_DTLB: args[1] = HEAP + PAGE_BYTES * random_below(seed, N_PAGES); break;
    default: args[1] = choose_line(machine, seed); break;
    }
    ret_question->truth = tl_xcm_truth(model, args);
    return TL_OK;
}

// -- Trials.

typedef struct trials {
    tl_xcm_model *model;
    const tl_debugger_trial_options *options;
    tl_debugger_trials *found;
    uint64_t probe_point, tail, load_site, seed;
    tl_xcm_question question;
    bool is_asking;
    uint32_t n_restarts;
    tl_xcm_reply reply;
    tl_error *err;
} trials;

static void note_truth(void *ctx) {
    trials *t = ctx;
    // The probe of L2 has a window before, which loads another line.
    if (!t->is_asking || (t->question.args[0] == XCM_L2 && t->n_restarts++ == 0))
        return;
    t->is_asking = false;
    const bool truth = tl_xcm_truth(t->model, t->question.args);
    t->found->matrices[t->question.args[0] - XCM_BTB].n_changed += truth != t->question.truth;
    t->question.truth = truth;
}

static tl_status call(trials *t, xcm_function function, const uint64_t *args, uint32_t n) {
    const xcm_code code = tl_xcm_call(t->model, function, args, n, &t->reply);
    if (code == XCM_DONE || code == XCM_UNKNOWN_VERDICT)
        return TL_OK;
    return tl_fail(t->err, TL_EIO, "%s: 0x%02x. %s", xcm_op_of((uint8_t)function)->name, code, xcm_code_text((uint8_t)code));
}

// The next round, up to the probe point. The last address of the list ends a round, and EL0 never
// comes there.
static tl_status start_round(trials *t) {
    const uint64_t list[] = {0, 0, t->probe_point, t->tail};
    uint64_t event[3] = {0, 0, 0};
    tl_status status = call(t, XCM_LIST_LOAD, list, 4);
    if (status == TL_OK)
        status = call(t, XCM_LISTEN_START, NULL, 0);
    while (status == TL_OK && event[0] != XCM_EVENT_HIT)
        if (!tl_xcm_wait_event(t->model, WAIT_NS, event))
            return tl_fail(t->err, TL_EIO, "the target has not come to its probe point");
    return status;
}

static tl_status end_round(trials *t) {
    const tl_status status = call(t, XCM_LISTEN_STOP, NULL, 0);
    return status != TL_OK ? status : call(t, XCM_ROUND_RESET, NULL, 0);
}

static tl_status calibrate(trials *t) {
    const uint64_t args[] = {t->load_site, LDR_X1_X0, HEAP};
    const tl_status status = call(t, XCM_CALIBRATE, args, 3);
    if (status != TL_OK || t->reply.n_values < 6)
        return status;
    t->found->is_calibrated = t->reply.code == XCM_DONE;
    t->found->residue_cycles = t->reply.values[0];
    t->found->most_hit_cycles = t->reply.values[1];
    t->found->least_miss_cycles = t->reply.values[2];
    t->found->threshold_cycles = t->reply.values[3];
    return TL_OK;
}

static tl_status try_one(trials *t, xcm_algorithm algorithm) {
    tl_debugger_matrix *matrix = &t->found->matrices[algorithm - XCM_BTB];
    tl_status status = tl_xcm_ask(t->model, algorithm, &t->seed, &t->question, t->err);
    if (status != TL_OK)
        return status;
    t->is_asking = true;
    t->n_restarts = 0;
    status = call(t, XCM_PROBE, t->question.args, 4);
    t->is_asking = false;
    if (status != TL_OK)
        return status;
    const uint64_t *v = t->reply.values;
    matrix->corrected[t->question.truth][v[0] % 3] += 1;
    matrix->published[t->question.truth][v[10] % 2] += 1;
    for (uint32_t bit = 0; bit < TL_DEBUGGER_REASONS && v[0] == XCM_UNKNOWN; bit++)
        matrix->reasons[bit] += v[1] >> bit & 1;
    return TL_OK;
}

static tl_status run_trials(trials *t) {
    const tl_status named[] = {symbol(t->model, "probe_point", &t->probe_point, t->err), symbol(t->model, "finish_all", &t->tail, t->err),
                               symbol(t->model, "load_site", &t->load_site, t->err)};
    for (uint32_t i = 0; i < 3; i++)
        if (named[i] != TL_OK)
            return named[i];
    tl_status status = start_round(t);
    // Under noise the first null windows may be disturbed; some later ones are not.
    for (uint32_t tries = 0; tries < 8 && status == TL_OK && !t->found->is_calibrated; tries++) {
        if (tries > 0)
            status = end_round(t);
        if (status == TL_OK && tries > 0)
            status = start_round(t);
        if (status == TL_OK)
            status = calibrate(t);
    }
    const uint64_t since_ns = tl_xcm_now_ns(t->model), accesses = tl_xcm_n_accesses(t->model);
    const uint32_t n = t->options->n_trials * TL_DEBUGGER_ALGORITHMS;
    for (uint32_t i = 0; i < n && status == TL_OK; i++) {
        status = end_round(t);
        if (status == TL_OK)
            status = start_round(t);
        if (status == TL_OK)
            status = try_one(t, XCM_BTB + i % TL_DEBUGGER_ALGORITHMS);
        if (t->options->progress && i % 64 == 0)
            t->options->progress(t->options->ctx, i, n);
    }
    if (status == TL_OK)
        status = end_round(t);
    t->found->time_ns = tl_xcm_now_ns(t->model) - since_ns;
    t->found->n_accesses = tl_xcm_n_accesses(t->model) - accesses;
    t->found->n_errors = tl_xcm_n_errors(t->model);
    return status;
}

static tl_status write_word(trials *t, const char *name, uint64_t value) {
    uint64_t address = 0;
    const tl_status status = symbol(t->model, name, &address, t->err);
    if (status == TL_OK)
        memcpy(tl_machine_ram(tl_xcm_machine(t->model), address), &value, sizeof value);
    return status;
}

enum { MOST_OVERRIDES = 16, WRONG_PATH = 8, NOISE_LOOPS = 400 };
static tl_status gather(const tl_debugger_trial_options *options, const char *ret_overrides[MOST_OVERRIDES], tl_error *err) {
    static const char *const prefetching[] = {"l2.fill=miss", "l1d.prefetch=next_line", "l1i.prefetch=next_line"};
    uint32_t n = 0;
    ret_overrides[n++] = options->has_all_events ? "armv8=full" : "armv8=a53";
    for (uint32_t i = 0; i < TL_COUNT_OF(prefetching) && options->is_prefetching; i++)
        ret_overrides[n++] = prefetching[i];
    for (uint32_t i = 0; options->overrides && options->overrides[i]; i++) {
        if (n == MOST_OVERRIDES - 1)
            return tl_fail(err, TL_EINVAL, "more than %d overrides; put them into a machine description", MOST_OVERRIDES - 5);
        ret_overrides[n++] = options->overrides[i];
    }
    ret_overrides[n] = NULL;
    return TL_OK;
}

tl_status tl_xcm_measure(const tl_debugger_trial_options *options, tl_debugger_trials *ret_trials, tl_error *err) {
    const char *overrides[MOST_OVERRIDES];
    tl_debugger_trials found = {.size = ret_trials->size,
                                .has_all_events = options->has_all_events,
                                .is_noisy = options->is_noisy,
                                .is_prefetching = options->is_prefetching,
                                .n_trials = options->n_trials};
    trials t = {.options = options, .found = &found, .seed = options->seed, .err = err};
    tl_status status = gather(options, overrides, err);
    if (status != TL_OK)
        return status;
    const tl_xcm_options model = {.machine = options->machine,
                                  .overrides = overrides,
                                  .software = {.program = options->program, .console_in = -1, .console_out = -1, .n_harts = 2},
                                  .target = TARGET,
                                  .wrong_path = options->is_noisy ? WRONG_PATH : 0,
                                  .on_restart = note_truth,
                                  .ctx = &t};
    status = tl_xcm_model_new(&model, &t.model, err);
    if (status == TL_OK)
        status = write_word(&t, "n_rounds", MANY_ROUNDS);
    if (status == TL_OK && options->is_noisy)
        status = write_word(&t, "noise", NOISE_LOOPS);
    if (status == TL_OK)
        status = run_trials(&t);
    uint64_t address = 0;
    if (status == TL_OK && symbol(t.model, "n_interrupts", &address, err) == TL_OK)
        memcpy(&found.n_interrupts, tl_machine_ram(tl_xcm_machine(t.model), address), sizeof found.n_interrupts);
    tl_xcm_model_free(t.model);
    if (status == TL_OK)
        *ret_trials = found;
    return status;
}
