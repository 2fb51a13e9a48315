// SPDX-License-Identifier: MIT
// The comparison: one run without a reader, which counts the program alone, then runs of each
// design.
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "compare/accesses.h"
#include "compare/design.h"
#include "compare/interval.h"
#include "compare/privileges.h"
#include "compare/reach.h"
#include "compare/rows.h"
#include "compare/sweep.h"
#include "session/digest.h"

void tl_compare_init(tl_compare_options *ret_options) {
    *ret_options = (tl_compare_options){.size = sizeof *ret_options, .run = {.size = sizeof ret_options->run, .std_fd = {0, 1, 2}}};
}

static tl_status describe(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    char digest[TL_DIGEST_BYTES];
    tl_compare_facts *facts = &c->facts;
    *facts = (tl_compare_facts){
        .program = tl_arena_strdup(&c->arena, tl_base_name(setup->run.program)),
        .machine = tl_arena_strdup(&c->arena, setup->config.name),
        .engine = setup->engine->name,
        .outgrown_by_design = "",
        .added = tl_arena_strdup(&c->arena, setup->added),
        .n_harts = setup->config.n_harts,
        .n_slices = setup->config.l2_slices,
        .clock_hz = setup->config.clock_hz,
        .max_insns = setup->max_insns,
        .n_phases = setup->n_phases,
        .n_events = setup->n_events,
    };
    if (tl_digest_file(setup->run.root, setup->run.program, digest, NULL) == TL_OK)
        facts->digest = tl_arena_strdup(&c->arena, digest);
    return facts->program && facts->machine && facts->added ? TL_OK : tl_no_memory(err);
}

static tl_status take_truths(const tl_compare_setup *setup, const tl_machine *machine, uint64_t *ret_truths, tl_error *err) {
    tl_arena arena = {0};
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < setup->n_events && status == TL_OK; i++) {
        tl_sources sources;
        status = tl_sources_resolve(setup->events[i]->sources, &machine->probe, 0, &arena, &sources, err);
        ret_truths[i] = 0;
        for (uint32_t k = 0; status == TL_OK && k < sources.n_cells; k++)
            ret_truths[i] += machine->tally[sources.cells[k]];
    }
    tl_arena_done(&arena);
    return status;
}

static tl_status run_alone(tl_compare_setup *setup, tl_comparison *c, uint64_t *ret_truths, tl_error *err) {
    tl_environment environment;
    tl_status status = tl_environment_open(setup, &environment, err);
    if (status != TL_OK)
        return status;
    while (status == TL_OK && !environment.has_ended)
        status = tl_environment_run(&environment, UINT64_MAX, UINT64_MAX, err);
    tl_machine_sync(environment.machine);
    tl_compare_facts *facts = &c->facts;
    facts->instructions = tl_environment_program_insns(&environment);
    facts->cycles = tl_environment_cycles(&environment);
    facts->reason = environment.is_bounded                      ? TL_END_MAX_INSNS
                    : environment.report.stop == TL_OS_KILLED   ? TL_END_KILLED
                    : environment.report.stop == TL_OS_DEADLOCK ? TL_END_DEADLOCK
                                                                : TL_END_EXITED;
    facts->status = environment.is_bounded ? 0 : environment.report.exit_status;
    facts->signal = environment.is_bounded ? 0 : environment.report.signal;
    if (setup->interval_cycles == 0)
        setup->interval_cycles = tl_compare_choose_interval(facts->cycles);
    facts->interval_cycles = facts->wanted_interval_cycles = setup->wanted_interval_cycles = setup->interval_cycles;
    if (status == TL_OK)
        status = tl_machine_check_identities(environment.machine, err);
    if (status == TL_OK)
        status = take_truths(setup, environment.machine, ret_truths, err);
    tl_environment_close(&environment);
    return status;
}

// Only a design with shared counters has phases. Other designs do not depend on the phase.
static tl_status run_design(const tl_compare_setup *setup, tl_comparison *c, uint32_t index, const uint64_t *truths,
                            uint64_t *ret_outgrown_by, tl_error *err) {
    uint32_t n = tl_compare_designs[setup->designs[index]]->n_turns ? setup->n_phases : 1;
    tl_watch_result *results = calloc(n, sizeof *results);
    if (!results)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t phase = 0; phase < n && status == TL_OK && *ret_outgrown_by == 0; phase++) {
        status = tl_watch_run(setup, setup->designs[index], phase, n, &results[phase], err);
        *ret_outgrown_by = results[phase].outgrown_by_cycles;
    }
    if (status == TL_OK && *ret_outgrown_by == 0) {
        tl_compare_fill_design(setup, c, setup->designs[index], results, n, &c->designs[index]);
        tl_compare_fill_values(setup, c, index, results, n, truths);
    }
    free(results);
    return status;
}

// All designs read at equal intervals. If a reading takes too long, all designs start again with a
// longer interval.
static tl_status run_designs(tl_compare_setup *setup, tl_comparison *c, const uint64_t *truths, tl_error *err) {
    c->n_designs = setup->n_designs;
    c->n_values = setup->n_designs * setup->n_events;
    c->designs = tl_arena_alloc(&c->arena, c->n_designs * sizeof *c->designs);
    c->values = tl_arena_alloc(&c->arena, c->n_values * sizeof *c->values);
    if (!c->designs || !c->values)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < setup->n_designs && status == TL_OK; i++) {
        uint64_t outgrown_by = 0;
        status = run_design(setup, c, i, truths, &outgrown_by, err);
        if (status != TL_OK || outgrown_by == 0)
            continue;
        c->facts.outgrown_by_design = tl_compare_design_name(setup->designs[i]);
        c->facts.outgrown_by_cycles = outgrown_by;
        c->facts.interval_cycles = setup->interval_cycles = tl_compare_grown_interval(outgrown_by);
        i = UINT32_MAX; // from the first again
    }
    return status;
}

static void tell(const tl_compare_setup *setup, const char *step) {
    if (setup->progress)
        setup->progress(setup->run.ctx, step);
}

static tl_status sweep(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    tl_status status = TL_OK;
    for (const tl_compare_design_type *const *design = tl_compare_designs; *design && status == TL_OK; design++) {
        if (!(*design)->sweep)
            continue;
        tell(setup, (*design)->sweep_name);
        status = (*design)->sweep(setup, c, err);
    }
    tell(setup, "sweep over the number of events");
    return status == TL_OK ? tl_compare_spreads(setup, c, err) : status;
}

tl_status tl_compare_run(const tl_compare_options *options, tl_comparison **ret_comparison, tl_error *err) {
    tl_compare_setup setup;
    uint64_t truths[TL_COMPARE_MAX_EVENTS];
    tl_status status = tl_compare_prepare(options, &setup, err);
    if (status != TL_OK)
        return status;
    tl_comparison *c = calloc(1, sizeof *c);
    status = c ? describe(&setup, c, err) : tl_no_memory(err);
    tell(&setup, "the program alone");
    if (status == TL_OK)
        status = run_alone(&setup, c, truths, err);
    tell(&setup, "the program, watched");
    if (status == TL_OK)
        status = run_designs(&setup, c, truths, err);
    if (status == TL_OK)
        status = tl_compare_reach(&setup, c, err);
    if (status == TL_OK)
        status = tl_compare_accesses(&setup, c, err);
    if (status == TL_OK)
        status = tl_compare_privileges(&setup, c, err);
    if (status == TL_OK && setup.with_sweeps)
        status = sweep(&setup, c, err);
    tl_compare_setup_done(&setup);
    if (status != TL_OK) {
        tl_comparison_release(c);
        return status;
    }
    *ret_comparison = c;
    return TL_OK;
}
