// SPDX-License-Identifier: MIT
#include "session/listed.h"

#include <string.h>

#include "base/glob.h"
#include "base/nearest.h"
#include "model/pmu.h"

typedef struct reader {
    const tl_listed *listed;
    tl_machine *machine;
    bool is_enabled;
    uint64_t *since; // by hart: up to when times are right
    uint64_t *last;  // by hart and event
    tl_perf_count *counts;
} reader;

static tl_status unknown(const tl_pmu_type *pmu, const tl_pmu_preset *preset, const char *name, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, name);
    for (uint32_t e = 0; e < preset->n_events; e++)
        tl_nearest_offer(&nearest, preset->events[e].name);
    const char *also = tl_nearest_text(&nearest, text, sizeof text);
    if (*also)
        return tl_fail(err, TL_ENOENT, "no event of pmu %s is called %s%s", pmu->name, name, also);
    return tl_fail(err, TL_ENOENT, "no event of pmu %s is called %s; tally list events -P %s shows them all", pmu->name, name, pmu->name);
}

static tl_status add(tl_listed *l, const tl_pmu_type *pmu, const tl_pmu_preset *preset, const char *name, tl_error *err) {
    bool is_found = false;
    for (uint32_t e = 0; e < preset->n_events; e++) {
        const tl_event *event = &preset->events[e];
        if (!tl_glob_match(name, event->name))
            continue;
        if (event->fidelity == TL_NOT_MODELED && !tl_glob_is_pattern(name))
            return tl_fail(err, TL_EINVAL, "pmu %s: %s is not modeled: %s", pmu->name, name, event->note);
        if (event->fidelity == TL_NOT_MODELED)
            continue;
        if (l->n_events == TL_LISTED_MAX)
            return tl_fail(err, TL_EINVAL, "-e: more than %d events of pmu %s; name fewer", TL_LISTED_MAX, pmu->name);
        l->events[l->n_events] = event;
        l->counted[l->n_events] = (tl_counted){.name = event->name, .unit = "", .meaning = event->note ? event->note : ""};
        l->list[l->n_events] = &l->counted[l->n_events];
        l->n_events += 1;
        is_found = true;
    }
    return is_found ? TL_OK : unknown(pmu, preset, name, err);
}

tl_status tl_listed_resolve(const tl_listed_hooks *hooks, const tl_pmu_type *pmu, const tl_pmu_preset *preset, const char *defaults,
                            const tl_run_options *options, tl_arena *arena, tl_source **ret_source, tl_error *err) {
    tl_listed *l = tl_arena_alloc(arena, sizeof *l);
    char *list = tl_arena_strdup(arena, options->events ? options->events : defaults), *rest = NULL;
    const char *title = tl_arena_printf(arena, "%s:%s", pmu->name, preset->name);
    if (!l || !list || !title)
        return tl_no_memory(err);
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        tl_status status = add(l, pmu, preset, name, err);
        if (status != TL_OK)
            return status;
    }
    if (l->n_events == 0)
        return tl_fail(err, TL_EINVAL, "-e: an empty list of events");
    l->base = (tl_source){.type = tl_source_find(pmu), .name = title, .counted = l->list, .n_counted = l->n_events};
    l->hooks = hooks;
    *ret_source = &l->base;
    return TL_OK;
}

// Finds the totals behind an event, for the truth beside it.
static tl_status bind(tl_counted *counted, const tl_event *event, bool is_of_hart, const tl_machine *machine, tl_arena *arena,
                      tl_error *err) {
    const tl_cell **cells = tl_arena_alloc(arena, machine->n_harts * sizeof *cells);
    uint32_t *n_cells = tl_arena_alloc(arena, machine->n_harts * sizeof *n_cells);
    if (!cells || !n_cells)
        return tl_no_memory(err);
    if (!*event->sources)
        counted->no_truth = "the design alone counts it";
    for (uint32_t hart = 0; hart < (is_of_hart ? machine->n_harts : 1) && *event->sources; hart++) {
        tl_sources sources;
        tl_status status = tl_sources_resolve(event->sources, &machine->probe, hart, arena, &sources, err);
        if (status == TL_ENOENT)
            return tl_fail(err, TL_EINVAL, "machine %s has no unit that counts %s; leave it out", machine->config.name, event->name);
        if (status != TL_OK)
            return status;
        cells[hart] = sources.cells;
        n_cells[hart] = sources.n_cells;
    }
    counted->cells = cells;
    counted->n_cells = n_cells;
    return TL_OK;
}

tl_status tl_listed_attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader,
                           tl_error *err) {
    tl_listed *l = (tl_listed *)source;
    const uint32_t n = machine->n_harts * l->n_events;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    if (!r)
        return tl_no_memory(err);
    *r = (reader){.listed = l, .machine = machine};
    r->since = tl_arena_alloc(of_run, machine->n_harts * sizeof *r->since);
    r->last = tl_arena_alloc(of_run, n * sizeof *r->last);
    r->counts = tl_arena_alloc(of_run, n * sizeof *r->counts);
    if (!r->since || !r->last || !r->counts)
        return tl_no_memory(err);
    for (uint32_t e = 0; e < l->n_events; e++) {
        tl_status status = bind(&l->counted[e], l->events[e], l->hooks->is_of_hart(l->events[e]), machine, of_outline, err);
        if (status != TL_OK)
            return status;
    }
    *ret_reader = r;
    return l->hooks->start(machine, l, err);
}

static void bring_up(reader *r, bool counts) {
    const uint32_t n = r->listed->n_events;
    for (uint32_t hart = 0; hart < r->machine->n_harts; hart++) {
        const uint64_t now = r->machine->harts[hart]->now;
        for (uint32_t e = 0; e < n; e++) {
            tl_perf_count *count = &r->counts[hart * n + e];
            uint64_t *last = &r->last[hart * n + e];
            count->enabled_cycles += counts ? now - r->since[hart] : 0;
            count->running_cycles = count->enabled_cycles;
            if (hart > 0 && !r->listed->hooks->is_of_hart(r->listed->events[e]))
                continue;
            const uint64_t value = r->listed->hooks->value(r->machine, r->listed, e, hart);
            count->count += counts ? value - *last : 0;
            *last = value;
        }
        r->since[hart] = now;
    }
}

void tl_listed_enable(void *reader_) {
    reader *r = reader_;
    if (!r->is_enabled)
        bring_up(r, false);
    r->is_enabled = true;
}

void tl_listed_disable(void *reader_) {
    reader *r = reader_;
    if (r->is_enabled)
        bring_up(r, true);
    r->is_enabled = false;
}

uint64_t tl_listed_next_turn(const void *r) { return (void)r, UINT64_MAX; }
void tl_listed_turn(void *r) { (void)r; }

const tl_perf_count *tl_listed_read(void *reader_, uint32_t *ret_n) {
    reader *r = reader_;
    if (r->is_enabled)
        bring_up(r, true);
    *ret_n = r->machine->n_harts * r->listed->n_events;
    return r->counts;
}
