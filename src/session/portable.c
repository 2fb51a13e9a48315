// SPDX-License-Identifier: MIT
// A source around the source of a design. The inner one counts the events that the user named
// themselves, in their order, and then each event that portable names need, once.
#include "session/portable.h"

#include <string.h>

#include "base/bits.h"
#include "base/glob.h"
#include "base/strbuf.h"
#include "machine/keys.h"
#include "result/reading.h"

enum { MAX_ITEMS = 64, MAX_TERMS = 64 };

typedef struct item { // a portable event of the list
    const tl_portable_event *event;
    const tl_portable_map *map;
    uint64_t added, subtracted; // bit n: term n
    tl_counted counted;
} item;

typedef struct own {
    tl_source base;
    tl_source_type type; // of base
    const tl_source_type *inner_type;
    tl_source *inner;
    item items[MAX_ITEMS];
    const char *terms[MAX_TERMS];
    bool is_asked[MAX_TERMS]; // by its own name, too
    uint32_t n_items, n_terms, n_harts;
} own;

const tl_portable_type *tl_portable_type_find(const tl_pmu_type *pmu) {
    const tl_portable_type *const *type = tl_portable_types;
    while (*type && (*type)->pmu != pmu)
        type++;
    return *type;
}

const char *tl_portable_class_name(tl_portable_class class) {
    static const char *const names[] = {"impossible", "exact", "superset", "subset", "estimate"};
    return names[class];
}

// ---- Resolution.

static tl_status term_of(own *o, const char *name, tl_arena *arena, uint32_t *ret_term, tl_error *err) {
    for (*ret_term = 0; *ret_term < o->n_terms; *ret_term += 1)
        if (!strcmp(o->terms[*ret_term], name))
            return TL_OK;
    if (o->n_terms == MAX_TERMS)
        return tl_fail(err, TL_EINVAL, "-e: portable events need more than %d events of pmu %s; name fewer", MAX_TERMS,
                       o->inner_type->pmu->name);
    o->terms[o->n_terms] = tl_arena_strdup(arena, name);
    return o->terms[o->n_terms++] ? TL_OK : tl_no_memory(err);
}

static tl_status add_terms(own *o, item *it, tl_arena *arena, tl_error *err) {
    char *text = tl_arena_strdup(arena, it->map->counters), *rest = NULL;
    uint64_t *side = &it->added;
    if (!text)
        return tl_no_memory(err);
    for (const char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        uint32_t term;
        if (!strcmp(word, "+") || !strcmp(word, "-")) {
            side = *word == '+' ? &it->added : &it->subtracted;
            continue;
        }
        tl_status status = term_of(o, word, arena, &term, err);
        if (status != TL_OK)
            return status;
        *side |= UINT64_C(1) << term;
    }
    return TL_OK;
}

static tl_status add_item(own *o, const tl_portable_type *type, const tl_portable_event *event, const tl_config *config,
                          tl_catalogue *catalogue, tl_arena *arena, tl_error *err) {
    const tl_portable_map *map = &type->maps[event - tl_portable_events];
    const char *truth = tl_portable_truth(event, config->core.kind == TL_CORE_OUT_OF_ORDER);
    const tl_pmu_preset *preset = tl_pmu_chosen(type->pmu, config);
    if (type->preset && preset && strcmp(type->preset, preset->name) != 0)
        return tl_fail(err, TL_EINVAL, "portable events such as %s are mapped for preset %s; use -P %s:%s", event->name, type->preset,
                       type->pmu->name, type->preset);
    if (map->class == TL_PORTABLE_IMPOSSIBLE)
        return tl_fail(err, TL_EINVAL, "pmu %s cannot count the portable event %s: %s", type->pmu->name, event->name, map->note);
    if (o->n_items == MAX_ITEMS)
        return tl_fail(err, TL_EINVAL, "-e: more than %d portable events; name fewer", MAX_ITEMS);
    item *it = &o->items[o->n_items++];
    *it = (item){.event = event, .map = map, .counted = {.name = event->name, .unit = event->unit, .meaning = event->meaning}};
    tl_status status = add_terms(o, it, arena, err);
    if (status == TL_OK && *truth)
        return tl_catalogue_formula(catalogue, truth, &it->counted.truth, err);
    it->counted.no_truth = "a machine without a detailed core has nothing of the kind";
    return status;
}

// Parts the list. ret_own_names: what is no portable name.
static tl_status part(own *o, const tl_portable_type *type, const char *events, const tl_config *config, tl_catalogue *catalogue,
                      tl_arena *arena, tl_strbuf *ret_own_names, tl_error *err) {
    char *list = tl_arena_strdup(arena, events), *rest = NULL;
    if (!list)
        return tl_no_memory(err);
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const tl_portable_event *event = tl_portable_find(name);
        if (!event) {
            tl_strbuf_addf(ret_own_names, "%s%s", ret_own_names->n_bytes ? "," : "", name);
            continue;
        }
        tl_status status = add_item(o, type, event, config, catalogue, arena, err);
        if (status != TL_OK)
            return status;
    }
    return ret_own_names->has_failed ? tl_no_memory(err) : TL_OK;
}

// The events of pieces between commas that are patterns of a term.
static void note_asked(own *o, const char *names, tl_arena *arena) {
    char *list = tl_arena_strdup(arena, names), *rest = NULL;
    for (char *name = list ? strtok_r(list, ",", &rest) : NULL; name; name = strtok_r(NULL, ",", &rest))
        for (uint32_t t = 0; t < o->n_terms; t++)
            o->is_asked[t] |= tl_glob_match(name, o->terms[t]);
}

static tl_status list_counted(own *o, tl_arena *arena, tl_error *err) {
    const uint32_t n_kept = o->inner->n_counted - o->n_terms;
    const tl_counted **counted = tl_arena_alloc(arena, (n_kept + o->n_items) * sizeof *counted);
    if (!counted)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < n_kept; i++)
        counted[i] = o->inner->counted[i];
    for (uint32_t i = 0; i < o->n_items; i++)
        counted[n_kept + i] = &o->items[i].counted;
    o->base.counted = counted;
    o->base.n_counted = n_kept + o->n_items;
    return TL_OK;
}

// A row that the user did not name.
static bool is_only_term(const own *o, const tl_row *row) {
    for (uint32_t t = 0; t < o->n_terms; t++)
        if (!strcmp(o->terms[t], row->name))
            return !o->is_asked[t];
    return false;
}

static tl_row row_of(const item *it) {
    return (tl_row){
        .name = it->event->name, .scope = "machine", .unit = it->event->unit, .meaning = it->event->meaning, .group = "", .is_pmu = true};
}

static tl_status list_unread(own *o, tl_arena *arena, tl_error *err) {
    tl_row *rows = tl_arena_alloc(arena, (o->inner->n_unread + o->n_items) * sizeof *rows);
    uint32_t n = 0;
    if (!rows)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < o->inner->n_unread; i++)
        if (!is_only_term(o, &o->inner->unread[i]))
            rows[n++] = o->inner->unread[i];
    for (uint32_t i = 0; i < o->n_items; i++) {
        rows[n] = row_of(&o->items[i]);
        rows[n].value = rows[n].pmu.truth = o->inner->unread[0].value;
        n++;
    }
    o->base.unread = rows;
    o->base.n_unread = n;
    return TL_OK;
}

// ---- The run. A reader of this type holds the inner one.

typedef struct reader {
    const own *source;
    void *inner;
    tl_perf_count *counts;
} reader;

static tl_status check(const tl_source *source, const tl_machine *machine, tl_error *err) {
    const own *o = (const own *)source;
    return o->inner_type->check(o->inner, machine, err);
}

static tl_status attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader, tl_error *err) {
    own *o = (own *)source;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    tl_perf_count *counts = tl_arena_alloc(of_run, (size_t)o->n_harts * o->base.n_counted * sizeof *counts);
    if (!r || !counts)
        return tl_no_memory(err);
    *r = (reader){.source = o, .counts = counts};
    *ret_reader = r;
    return o->inner_type->attach(o->inner, machine, of_outline, of_run, &r->inner, err);
}

static void enable(void *r_) {
    const reader *r = r_;
    r->source->inner_type->enable(r->inner);
}
static void disable(void *r_) {
    const reader *r = r_;
    r->source->inner_type->disable(r->inner);
}
static uint64_t next_turn(const void *r_) {
    const reader *r = r_;
    return r->source->inner_type->next_turn(r->inner);
}
static void turn(void *r_) {
    const reader *r = r_;
    r->source->inner_type->turn(r->inner);
}

static uint64_t scaled(const tl_perf_count *count) {
    return count->running_cycles == 0 ? 0 : (uint64_t)((unsigned __int128)count->count * count->enabled_cycles / count->running_cycles);
}

// Terms that were on a counter for different times are scaled one by one. The sum has the shortest
// time, and is such that its own scaling gives it back.
static tl_perf_count combine(const item *it, const tl_perf_count *terms, uint32_t n_terms) {
    const tl_perf_count *shortest = NULL;
    bool is_whole = true;
    uint64_t sum = 0, less = 0;
    for (uint32_t t = 0; t < n_terms; t++) {
        if (!((it->added | it->subtracted) >> t & 1))
            continue;
        shortest = !shortest || terms[t].running_cycles < shortest->running_cycles ? &terms[t] : shortest;
        is_whole &= terms[t].running_cycles == terms[t].enabled_cycles;
    }
    for (uint32_t t = 0; t < n_terms; t++) {
        const uint64_t value = is_whole ? terms[t].count : scaled(&terms[t]);
        sum += it->added >> t & 1 ? value : 0;
        less += it->subtracted >> t & 1 ? value : 0;
    }
    sum = sum > less ? sum - less : 0;
    if (!is_whole && shortest->enabled_cycles > 0)
        sum = (uint64_t)((unsigned __int128)sum * shortest->running_cycles / shortest->enabled_cycles);
    return (tl_perf_count){.count = sum, .enabled_cycles = shortest->enabled_cycles, .running_cycles = shortest->running_cycles};
}

static const tl_perf_count *read(void *r_, uint32_t *ret_n) {
    const reader *r = r_;
    const own *o = r->source;
    uint32_t n_inner;
    const tl_perf_count *counts = o->inner_type->read(r->inner, &n_inner);
    const uint32_t n = o->inner->n_counted, n_kept = n - o->n_terms;
    tl_perf_count *to = r->counts;
    for (uint32_t hart = 0; hart < o->n_harts; hart++, counts += n) {
        for (uint32_t i = 0; i < n_kept; i++)
            *to++ = counts[i];
        for (uint32_t i = 0; i < o->n_items; i++)
            *to++ = combine(&o->items[i], counts + n_kept, o->n_terms);
    }
    *ret_n = o->n_harts * o->base.n_counted;
    return r->counts;
}

// Parts are of events that the user named with an option. These stand first, here and in the inner
// list.
static const tl_perf_part *read_parts(void *r_, uint32_t *ret_n) {
    const reader *r = r_;
    return r->source->inner_type->read_parts(r->inner, ret_n);
}

// ---- Counters that are read once, at the end.

static tl_status read_at_end(const tl_source *source, tl_machine *machine, tl_reading *reading, tl_error *err) {
    const own *o = (const own *)source;
    return o->inner_type->read_at_end(o->inner, machine, reading, err);
}

// Sums rows of all units. The truth of an event that is exact is the sum of its counters' truths,
// which belong to the cycles of their readings. Otherwise no total is of the same cycle.
static void sum_rows(const own *o, const item *it, const tl_row *rows, uint32_t n_rows, tl_row *ret_row) {
    uint64_t value = 0, truth = 0;
    *ret_row = row_of(it);
    for (uint32_t t = 0; t < o->n_terms; t++)
        for (uint32_t i = 0; i < n_rows; i++) {
            if (strcmp(rows[i].name, o->terms[t]) != 0)
                continue;
            ret_row->pmu.enabled_ns = rows[i].pmu.enabled_ns;
            ret_row->pmu.running_ns = rows[i].pmu.running_ns;
            const uint64_t sign = it->added >> t & 1 ? 1 : it->subtracted >> t & 1 ? UINT64_MAX : 0;
            value += sign * rows[i].value.integer;
            truth += sign * rows[i].pmu.truth.integer;
        }
    ret_row->value = (tl_value){.kind = TL_VALUE_INTEGER, .integer = value, .real = (double)value};
    ret_row->pmu.truth = it->map->class == TL_PORTABLE_EXACT ? (tl_value){.kind = TL_VALUE_INTEGER, .integer = truth, .real = (double)truth}
                                                             : (tl_value){.reason = "no total was taken in the cycles of the readings"};
}

static tl_status rows(const tl_source *source, const tl_reading *reading, tl_result *result, tl_error *err) {
    const own *o = (const own *)source;
    tl_status status = o->inner_type->rows(o->inner, reading, result, err);
    tl_row *combined = status == TL_OK ? tl_arena_alloc(&result->arena, (result->n_rows + o->n_items) * sizeof *combined) : NULL;
    uint32_t n = 0;
    if (!combined)
        return status == TL_OK ? tl_no_memory(err) : status;
    for (uint32_t i = 0; i < result->n_rows; i++)
        if (!is_only_term(o, &result->rows[i]))
            combined[n++] = result->rows[i];
    for (uint32_t i = 0; i < o->n_items; i++)
        sum_rows(o, &o->items[i], result->rows, result->n_rows, &combined[n++]);
    result->rows = combined;
    result->n_rows = n;
    return TL_OK;
}

// ---- Both.

static tl_status resolve_inner(own *o, const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                               const char *own_names, tl_error *err) {
    tl_run_options inner = *options;
    tl_strbuf list = {0};
    tl_strbuf_addf(&list, "%s", own_names);
    for (uint32_t t = 0; t < o->n_terms; t++)
        tl_strbuf_addf(&list, "%s%s", list.n_bytes ? "," : "", o->terms[t]);
    inner.events = tl_arena_strdup(arena, tl_strbuf_text(&list));
    tl_strbuf_done(&list);
    if (!inner.events)
        return tl_no_memory(err);
    return o->inner_type->resolve(&inner, config, catalogue, arena, &o->inner, err);
}

static void take_hooks(own *o) {
    const tl_source_type *inner = o->inner_type;
    o->type = (tl_source_type){.pmu = inner->pmu,
                               .takes_selectors = inner->takes_selectors,
                               .check = inner->check ? check : NULL,
                               .attach = inner->attach ? attach : NULL,
                               .enable = enable,
                               .disable = disable,
                               .next_turn = next_turn,
                               .turn = turn,
                               .read = read,
                               .read_parts = inner->read_parts ? read_parts : NULL,
                               .read_at_end = inner->read_at_end ? read_at_end : NULL,
                               .reader_bytes = inner->reader_bytes,
                               .rows = inner->rows ? rows : NULL};
    o->base.type = &o->type;
    o->base.name = o->inner->name;
}

static bool names_portable(const char *events, tl_arena *arena) {
    char *list = events ? tl_arena_strdup(arena, events) : NULL, *rest = NULL;
    for (char *name = list ? strtok_r(list, ",", &rest) : NULL; name; name = strtok_r(NULL, ",", &rest))
        if (tl_portable_find(name))
            return true;
    return false;
}

tl_status tl_portable_resolve(const tl_source_type *type, const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue,
                              tl_arena *arena, const tl_source_type **ret_type, tl_source **ret_source, tl_error *err) {
    const tl_portable_type *portable = tl_portable_type_find(type->pmu);
    *ret_type = type;
    if (!portable || !names_portable(options->events, arena))
        return type->resolve(options, config, catalogue, arena, ret_source, err);
    if (options->sample_period != 0)
        return tl_fail(err, TL_EINVAL, "portable events are sums of counters, which do not sample; name events of pmu %s itself",
                       type->pmu->name);
    own *o = tl_arena_alloc(arena, sizeof *o);
    tl_strbuf own_names = {0};
    if (!o)
        return tl_no_memory(err);
    o->inner_type = type;
    o->n_harts = config->n_harts;
    tl_status status = part(o, portable, options->events, config, catalogue, arena, &own_names, err);
    if (status == TL_OK)
        status = resolve_inner(o, options, config, catalogue, arena, tl_strbuf_text(&own_names), err);
    if (status == TL_OK && type->read_at_end) {
        note_asked(o, tl_strbuf_text(&own_names), arena);
        status = list_unread(o, arena, err);
    } else if (status == TL_OK) {
        status = list_counted(o, arena, err);
    }
    tl_strbuf_done(&own_names);
    if (status != TL_OK)
        return status;
    take_hooks(o);
    *ret_type = &o->type;
    *ret_source = &o->base;
    return TL_OK;
}
