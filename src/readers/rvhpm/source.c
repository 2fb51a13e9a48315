// SPDX-License-Identifier: MIT
// The counters of the harts as the source of a report: perf's driver (perf.h) counts while the
// program runs.
#include "session/source.h"

#include <stdio.h>
#include <string.h>

#include "readers/rvhpm/on.h"
#include "readers/rvhpm/perf.h"
#include "session/description.h"
#include "session/pmus.h"

typedef struct own {
    tl_source base;
    tl_perf_plan *plan;
} own;

// perf stat shows these events by default, except those that no PMU counts.
static const char default_events[] = "cycles,instructions,branches,branch-misses";

static own *own_of(tl_source *source) { return (own *)source; }

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    char setting[64];
    (void)options;
    if (!preset)
        return TL_OK; // as the description has it
    snprintf(setting, sizeof setting, "pmu=%s", preset->name);
    return tl_config_set(config, setting, err);
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    const char *events = options->events ? options->events : default_events;
    const char *name = tl_arena_printf(arena, "%s:%s", tl_pmu_rvhpm.name, tl_rvhpm_preset_of(config)->base.name);
    own *o = tl_arena_alloc(arena, sizeof *o);
    if (!name || !o)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = tl_perf_resolve(name, events, config, catalogue, arena, &o->plan, err);
    if (status != TL_OK)
        return status;
    o->base = (tl_source){
        .type = tl_source_find(&tl_pmu_rvhpm), .name = o->plan->name, .counted = o->plan->counted, .n_counted = o->plan->n_events};
    *ret_source = &o->base;
    return TL_OK;
}

typedef struct reader {
    tl_perf *perf;
    uint32_t n_counts;
} reader;

static tl_status attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader, tl_error *err) {
    tl_perf_plan *plan = own_of(source)->plan;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    if (!r)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = tl_perf_bind(plan, &machine->probe, of_outline, err);
    if (status == TL_OK)
        status = tl_perf_new(plan, machine, of_run, &r->perf, err);
    r->n_counts = plan->n_events * plan->n_harts;
    *ret_reader = r;
    return status;
}

static void enable(void *r) { tl_perf_enable(((reader *)r)->perf); }
static void disable(void *r) { tl_perf_disable(((reader *)r)->perf); }
static uint64_t next_turn(const void *r) { return tl_perf_next_turn(((const reader *)r)->perf); }
static void turn(void *r) { tl_perf_turn(((reader *)r)->perf); }

static const tl_perf_count *read_counts(void *r, uint32_t *ret_n) {
    *ret_n = ((reader *)r)->n_counts;
    return tl_perf_read(((reader *)r)->perf);
}

const tl_source_type tl_source_rvhpm = {
    .pmu = &tl_pmu_rvhpm,
    .takes_selectors = true,
    .configure = configure,
    .resolve = resolve,
    .attach = attach,
    .enable = enable,
    .disable = disable,
    .next_turn = next_turn,
    .turn = turn,
    .read = read_counts,
};
