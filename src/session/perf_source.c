// SPDX-License-Identifier: MIT
// The counters of the harts as the source of a report: perf's driver (perf.h) counts while the
// program runs.
#include "session/perf.h"

#include <stdio.h>

#include "machine/keys.h"
#include "session/description.h"

typedef struct own {
    tl_source base;
    tl_perf_plan *plan;
} own;

// perf stat shows these events by default, except those that no PMU counts.
static const char default_events[] = "cycles,instructions,branches,branch-misses";

tl_status tl_perf_source_configure(const tl_perf_driver *driver, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    char setting[64];
    if (!preset)
        return TL_OK;
    snprintf(setting, sizeof setting, "%s=%s", driver->preset_key, preset->name);
    return tl_config_set(config, setting, err);
}

tl_status tl_perf_source_resolve(const tl_perf_driver *driver, const tl_run_options *options, const tl_config *config,
                                 tl_catalogue *catalogue, tl_arena *arena, tl_source **ret_source, tl_error *err) {
    const char *events = options->events ? options->events : options->sample_period != 0 ? "cycles" : default_events;
    const tl_pmu_preset *preset = tl_pmu_chosen(driver->pmu, config);
    if (!preset)
        return tl_fail(err, TL_EINVAL, "machine %s has no counters of pmu %s; name a preset of it: -P %s:%s", config->name,
                       driver->pmu->name, driver->pmu->name, driver->pmu->presets[0]->name);
    const char *name = tl_arena_printf(arena, "%s:%s", driver->pmu->name, preset->name);
    own *o = tl_arena_alloc(arena, sizeof *o);
    if (!name || !o)
        return tl_no_memory(err);
    tl_status status = tl_perf_resolve(driver, name, events, config, catalogue, arena, &o->plan, err);
    if (status != TL_OK)
        return status;
    o->base = (tl_source){
        .type = tl_source_find(driver->pmu), .name = o->plan->name, .counted = o->plan->counted, .n_counted = o->plan->n_events};
    *ret_source = &o->base;
    return TL_OK;
}

typedef struct reader {
    tl_perf *perf;
    uint32_t n_counts;
} reader;

tl_perf_plan *tl_perf_source_plan(tl_source *source) { return ((own *)source)->plan; }

tl_status tl_perf_source_attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader,
                                tl_error *err) {
    tl_perf_plan *plan = ((own *)source)->plan;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    if (!r)
        return tl_no_memory(err);
    tl_status status = tl_perf_bind(plan, &machine->probe, of_outline, err);
    if (status == TL_OK)
        status = tl_perf_new(plan, machine, of_run, &r->perf, err);
    r->n_counts = plan->n_events * plan->n_harts;
    *ret_reader = r;
    return status;
}

void tl_perf_source_enable(void *r) { tl_perf_enable(((reader *)r)->perf); }
void tl_perf_source_disable(void *r) { tl_perf_disable(((reader *)r)->perf); }
uint64_t tl_perf_source_next_turn(const void *r) { return tl_perf_next_turn(((const reader *)r)->perf); }
void tl_perf_source_turn(void *r) { tl_perf_turn(((reader *)r)->perf); }

const tl_perf_count *tl_perf_source_read(void *r, uint32_t *ret_n) {
    *ret_n = ((reader *)r)->n_counts;
    return tl_perf_read(((reader *)r)->perf);
}
