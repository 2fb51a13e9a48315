// SPDX-License-Identifier: MIT
// The distributed counters as the source of a report. Names of events select counters, and the
// reader's values at the program's end become rows.
#include "session/source.h"

#include <fnmatch.h>
#include <string.h>

#include "base/nearest.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/functional.h"
#include "readers/dhpc/on.h"
#include "readers/dhpc/reader.h"
#include "session/pmus.h"

typedef struct own {
    tl_source base;
    bool *is_named; // by index of tl_dhpc_events: a machine without it is an error
    tl_reader_choice to_read;
} own;

static const own *own_of(const tl_source *source) { return (const own *)source; }

static tl_status unknown(const char *name, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, name);
    for (uint32_t e = 0; e < tl_dhpc_n_events; e++)
        tl_nearest_offer(&nearest, tl_dhpc_events[e].name);
    const char *also = tl_nearest_text(&nearest, text, sizeof text);
    return tl_fail(err, TL_ENOENT, "no event of pmu dhpc is called %s%s", name,
                   *also ? also : "; tally list events -P dhpc shows them all");
}

static tl_status choose(const char *name, bool *is_chosen, bool *is_named, tl_error *err) {
    if (strpbrk(name, "{}"))
        return tl_fail(err, TL_EINVAL, "%s: pmu dhpc has no groups; all of its counters count all the time", name);
    if (strchr(name, ':'))
        return tl_fail(err, TL_EINVAL, "%s: counters of pmu dhpc have no modifiers; stack.cycle_u and stack.instret_u count user mode",
                       name);
    bool is_pattern = strpbrk(name, "*?["), is_found = false;
    for (uint32_t e = 0; e < tl_dhpc_n_events; e++) {
        if (fnmatch(name, tl_dhpc_events[e].name, 0) != 0 || tl_dhpc_events[e].fidelity == TL_NOT_MODELED)
            continue;
        is_found = is_chosen[e] = true;
        is_named[e] |= !is_pattern;
    }
    return is_found ? TL_OK : unknown(name, err);
}

static tl_status choose_all(const char *names, bool *is_chosen, bool *is_named, tl_arena *arena, tl_error *err) {
    char *list = tl_arena_strdup(arena, names), *rest = NULL;
    if (!list)
        return tl_no_memory(err);
    char *name = strtok_r(list, ",", &rest);
    tl_status status = name ? TL_OK : tl_fail(err, TL_EINVAL, "-e: an empty list of events");
    for (; name && status == TL_OK; name = strtok_r(NULL, ",", &rest))
        status = choose(name, is_chosen, is_named, err);
    return status;
}

static const tl_source_type *choose_source(const tl_pmu_preset *preset) {
    return preset && !strcmp(preset->name, "functional") ? &tl_source_dhpc_functional : NULL;
}

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    if (options->interval != TL_INTERVAL_NONE || options->roi_start)
        return tl_fail(err, TL_EINVAL, "-P dhpc reads the counters once, when the program has ended; it does not go with -I or --roi");
    if (!preset && tl_dhpc_settings_of(config).mode == TL_DHPC_KEY_FUNCTIONAL)
        return tl_fail(err, TL_EINVAL, "the reader wants counters that take their time; use -P dhpc:timed, or -P dhpc:functional");
    tl_keys_set(config, "hpc", TL_DHPC_KEY_TIMED);
    return TL_OK;
}

// Every counter counts all the time.
static tl_row row_of(const tl_event *event, const char *scope, uint64_t ns) {
    return (tl_row){.name = event->name,
                    .scope = scope,
                    .unit = "",
                    .meaning = event->note ? event->note : "",
                    .group = "",
                    .is_pmu = true,
                    .pmu = {.enabled_ns = ns, .running_ns = ns}};
}

static tl_status make_unread_rows(const tl_reader_choice *to_read, tl_arena *arena, tl_source *source, tl_error *err) {
    tl_row *rows = tl_arena_alloc(arena, tl_dhpc_n_events * sizeof *rows);
    if (!rows)
        return tl_no_memory(err);
    for (uint32_t e = 0; e < tl_dhpc_n_events; e++) {
        if (!to_read->is_chosen[e])
            continue;
        tl_row *row = &rows[source->n_unread++];
        *row = row_of(&tl_dhpc_events[e], "machine", 0);
        row->value = row->pmu.truth = (tl_value){.reason = "not read: that is done once, when the program has ended"};
    }
    source->unread = rows;
    return TL_OK;
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    (void)config, (void)catalogue;
    own *o = tl_arena_alloc(arena, sizeof *o);
    bool *is_chosen = tl_arena_alloc(arena, tl_dhpc_n_events * sizeof *is_chosen);
    bool *is_named = tl_arena_alloc(arena, tl_dhpc_n_events * sizeof *is_named);
    if (!o || !is_chosen || !is_named)
        return tl_no_memory(err);
    for (uint32_t e = 0; e < tl_dhpc_n_events && !options->events; e++)
        is_chosen[e] = tl_reader_is_column(&tl_dhpc_events[e]);
    tl_status status = options->events ? choose_all(options->events, is_chosen, is_named, arena, err) : TL_OK;
    *o = (own){
        .base = {.type = tl_source_find(&tl_pmu_dhpc), .name = "dhpc:timed"}, .is_named = is_named, .to_read = {.is_chosen = is_chosen}};
    *ret_source = &o->base;
    return status == TL_OK ? make_unread_rows(&o->to_read, arena, &o->base, err) : status;
}

static bool is_built(const tl_machine *machine, const tl_event *event) {
    uint32_t n;
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = TL_DHPC_ID(tl_dhpc_class_of(managers[i].id), 0, tl_dhpc_extend_of(managers[i].id));
        if (kind == event->selector >> 6 && managers[i].implemented >> (event->selector & 63) & 1)
            return true;
    }
    return false;
}

static tl_status check(const tl_source *source, const tl_machine *machine, tl_error *err) {
    const own *plan = own_of(source);
    bool has_any = false;
    for (uint32_t e = 0; e < tl_dhpc_n_events; e++) {
        const tl_event *event = &tl_dhpc_events[e];
        bool is_there = plan->to_read.is_chosen[e] && is_built(machine, event);
        if (plan->is_named[e] && !is_there)
            return tl_fail(err, TL_EINVAL, "machine %s has no counter %s: it has no unit that counts %s, or dhpc.* leaves it out",
                           machine->config.name, event->name, event->sources);
        has_any |= is_there;
    }
    return has_any ? TL_OK : tl_fail(err, TL_EINVAL, "machine %s has none of these counters of pmu dhpc", machine->config.name);
}

static tl_value integer(uint64_t value) { return (tl_value){.kind = TL_VALUE_INTEGER, .integer = value, .real = (double)value}; }

static const tl_event *event_of(const tl_reading_value *value) {
    uint64_t selector = (uint64_t)TL_DHPC_ID(tl_dhpc_class_of(value->manager), 0, tl_dhpc_extend_of(value->manager)) << 6 | value->bit;
    const tl_event *event = tl_dhpc_events;
    while (event->selector != selector)
        event++;
    return event;
}

static tl_status remark(const tl_reading_cost *cost, tl_result *result, tl_error *err) {
    result->pmu_remark = tl_arena_printf(&result->arena,
                                         "The reader's own %llu instructions and %llu cycles of hart 0 are in what it read, and in the "
                                         "truth of the same cycles.",
                                         (unsigned long long)(cost->instructions + cost->warm_instructions),
                                         (unsigned long long)(cost->cycles + cost->warm_cycles + cost->trap_cycles));
    return result->pmu_remark ? TL_OK : tl_no_memory(err);
}

static tl_status rows(const tl_source *source, const tl_reading *reading, tl_result *result, tl_error *err) {
    (void)source;
    result->rows = tl_arena_alloc(&result->arena, (reading->n_values + 1) * sizeof *result->rows);
    result->n_rows = 0;
    if (!result->rows)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < reading->n_values; i++) {
        const tl_reading_value *value = &reading->values[i];
        const char *scope = tl_arena_strdup(&result->arena, value->unit);
        if (!scope)
            return tl_no_memory(err);
        tl_row *row = &result->rows[result->n_rows++];
        const tl_event *event = event_of(value);
        *row = row_of(event, scope, result->sim_ns);
        row->value = integer(value->value);
        row->pmu.truth = integer(value->truth);
        if (!strncmp(event->sources, "dhpc.", 5))
            row->pmu.truth = (tl_value){.reason = "the fabric alone counts it"};
    }
    return remark(&reading->cost, result, err);
}

static tl_status read_at_end(const tl_source *source, tl_machine *machine, tl_reading *reading, tl_error *err) {
    return tl_reader_run(machine, source ? &own_of(source)->to_read : NULL, reading, err);
}

const tl_source_type tl_source_dhpc = {
    .pmu = &tl_pmu_dhpc,
    .choose = choose_source,
    .configure = configure,
    .resolve = resolve,
    .check = check,
    .rows = rows,
    .read_at_end = read_at_end,
    .reader_bytes = TL_READER_BYTES,
};
