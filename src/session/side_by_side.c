// SPDX-License-Identifier: MIT
// See side_by_side.h. Each design resolves and counts its own events; rows stand event by event, so
// that counts of one event are neighbors.
#include "session/side_by_side.h"

#include <string.h>

#include "base/strbuf.h"
#include "session/portable.h"

static const char default_events[] =
    "active_cycles,retired_instructions,retired_conditional_branches,mispredicted_conditional_branches,retired_loads,"
    "retired_l1d_load_misses";

typedef struct side {
    const tl_source_type *type; // of `source`
    tl_source *source;          // NULL: no event is this design's
} side;

typedef struct row { // an event of a side
    uint32_t side, index;
} row;

typedef struct own {
    tl_source base;
    tl_source_type type; // of base
    side sides[TL_MAX_SIDES];
    row *rows;
    tl_counted *counted; // by row: the side's, under their names here
    uint32_t n_sides, n_harts;
} own;

tl_status tl_sides_add(tl_sides *sides, const tl_source_type *type, const tl_run_options *options, tl_error *err) {
    if (options->sample_period != 0)
        return tl_fail(err, TL_EINVAL, "-P %s: one design samples at a time; name one, and record again with another", options->pmu);
    if (!type->attach || !type->read)
        return tl_fail(err, TL_EINVAL, "-P %s: pmu %s is read once, at the end, and not side by side with another; leave it out",
                       options->pmu, type->pmu->name);
    for (uint32_t i = 0; i < sides->n; i++)
        if (sides->types[i]->pmu == type->pmu)
            return tl_fail(err, TL_EINVAL, "-P %s: a machine has pmu %s once; name it once", options->pmu, type->pmu->name);
    if (sides->n == TL_MAX_SIDES)
        return tl_fail(err, TL_EINVAL, "-P %s: at most %d designs count side by side", options->pmu, TL_MAX_SIDES);
    sides->types[sides->n++] = type;
    return TL_OK;
}

// ---- Resolution.

static void append(tl_strbuf *list, const char *name, size_t n_bytes) {
    tl_strbuf_addf(list, "%s%.*s", list->n_bytes ? "," : "", (int)n_bytes, name);
}

// The event in DESIGN/EVENT/, or NULL: this text is none, or of another design.
static const char *event_of(const tl_source_type *type, const char *name, size_t *ret_bytes) {
    const size_t n = strlen(type->pmu->name), length = strlen(name);
    if (strncmp(name, type->pmu->name, n) != 0 || name[n] != '/' || length < n + 3 || name[length - 1] != '/')
        return NULL;
    *ret_bytes = length - n - 2;
    return name + n + 1;
}

// The text by which this side counts a name of the list; NULL: it does not.
static const char *text_for(const tl_source_type *type, const char *name, size_t *ret_bytes) {
    const tl_portable_event *event = tl_portable_find(name);
    const tl_portable_type *portable = tl_portable_type_find(type->pmu);
    if (!event)
        return event_of(type, name, ret_bytes);
    *ret_bytes = strlen(name);
    return portable && portable->maps[event - tl_portable_events].class != TL_PORTABLE_IMPOSSIBLE ? name : NULL;
}

static tl_status part(const tl_sides *sides, const char *events, tl_strbuf *lists, tl_arena *arena, tl_error *err) {
    char *list = tl_arena_strdup(arena, events), *rest = NULL;
    if (!list)
        return tl_no_memory(err);
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        bool is_taken = false;
        for (uint32_t i = 0; i < sides->n; i++) {
            size_t n_bytes;
            const char *text = text_for(sides->types[i], name, &n_bytes);
            if (text)
                append(&lists[i], text, n_bytes);
            is_taken |= text != NULL;
        }
        if (!is_taken && tl_portable_find(name))
            return tl_fail(err, TL_EINVAL, "-e %s: none of these designs counts it; tally list events --portable says which do", name);
        if (!is_taken)
            return tl_fail(err, TL_EINVAL,
                           "-e %s: with several designs write a portable event (tally list events --portable), or DESIGN/EVENT/, as "
                           "%s/EVENT/",
                           name, sides->types[0]->pmu->name);
    }
    return TL_OK;
}

static bool add_row(own *o, uint32_t at, uint32_t index, tl_arena *arena) {
    const tl_counted *of = o->sides[at].source->counted[index];
    tl_counted *copy = &o->counted[o->base.n_counted];
    for (uint32_t i = 0; i < o->base.n_counted; i++)
        if (o->rows[i].side == at && o->rows[i].index == index)
            return true;
    *copy = *of;
    copy->name = tl_arena_printf(arena, "%s/%s/", o->sides[at].type->pmu->name, of->name);
    o->rows[o->base.n_counted++] = (row){at, index};
    return copy->name != NULL;
}

// In the order of the list, then what patterns have named.
static tl_status list_rows(own *o, const tl_sides *sides, const char *events, tl_arena *arena, tl_error *err) {
    uint32_t n = 0;
    bool is_fine = true;
    for (uint32_t s = 0; s < o->n_sides; s++)
        n += o->sides[s].source ? o->sides[s].source->n_counted : 0;
    const tl_counted **counted = tl_arena_alloc(arena, (n + 1) * sizeof *counted);
    char *list = tl_arena_strdup(arena, events), *rest = NULL;
    o->rows = tl_arena_alloc(arena, (n + 1) * sizeof *o->rows);
    o->counted = tl_arena_alloc(arena, (n + 1) * sizeof *o->counted);
    if (!counted || !list || !o->rows || !o->counted)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        counted[i] = &o->counted[i];
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        for (uint32_t s = 0; s < o->n_sides; s++) {
            size_t n_bytes;
            const char *text = text_for(sides->types[s], name, &n_bytes);
            for (uint32_t k = 0; text && k < o->sides[s].source->n_counted; k++)
                if (!strncmp(o->sides[s].source->counted[k]->name, text, n_bytes) && !o->sides[s].source->counted[k]->name[n_bytes])
                    is_fine &= add_row(o, s, k, arena);
        }
    for (uint32_t s = 0; s < o->n_sides; s++)
        for (uint32_t k = 0; o->sides[s].source && k < o->sides[s].source->n_counted; k++)
            is_fine &= add_row(o, s, k, arena);
    o->base.counted = counted;
    return is_fine ? TL_OK : tl_no_memory(err);
}

// ---- The run.

typedef struct reader {
    const own *source;
    void *inner[TL_MAX_SIDES];
    tl_perf_count *counts;
    tl_perf_part *parts;
} reader;

static tl_status check(const tl_source *source, const tl_machine *machine, tl_error *err) {
    const own *o = (const own *)source;
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < o->n_sides && status == TL_OK; i++)
        if (o->sides[i].source && o->sides[i].type->check)
            status = o->sides[i].type->check(o->sides[i].source, machine, err);
    return status;
}

static tl_status attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader, tl_error *err) {
    own *o = (own *)source;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    tl_status status = TL_OK;
    if (!r || !(r->counts = tl_arena_alloc(of_run, (size_t)o->n_harts * o->base.n_counted * sizeof *r->counts)) ||
        !(r->parts = tl_arena_alloc(of_run, (size_t)o->n_sides * TL_MAX_PERF_PARTS * sizeof *r->parts)))
        return tl_no_memory(err);
    r->source = o;
    *ret_reader = r;
    for (uint32_t i = 0; i < o->n_sides && status == TL_OK; i++)
        if (o->sides[i].source)
            status = o->sides[i].type->attach(o->sides[i].source, machine, of_outline, of_run, &r->inner[i], err);
    // Some designs know cells of the machine only now.
    for (uint32_t i = 0; i < o->base.n_counted; i++) {
        const char *name = o->counted[i].name;
        o->counted[i] = *o->sides[o->rows[i].side].source->counted[o->rows[i].index];
        o->counted[i].name = name;
    }
    return status;
}

static void enable(void *r_) {
    const reader *r = r_;
    for (uint32_t i = 0; i < r->source->n_sides; i++)
        if (r->inner[i])
            r->source->sides[i].type->enable(r->inner[i]);
}
static void disable(void *r_) {
    const reader *r = r_;
    for (uint32_t i = 0; i < r->source->n_sides; i++)
        if (r->inner[i])
            r->source->sides[i].type->disable(r->inner[i]);
}

static uint64_t next_of(const reader *r, uint32_t i) { return r->inner[i] ? r->source->sides[i].type->next_turn(r->inner[i]) : UINT64_MAX; }
static uint64_t next_turn(const void *r_) {
    const reader *r = r_;
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < r->source->n_sides; i++)
        next = next_of(r, i) < next ? next_of(r, i) : next;
    return next;
}
static void turn(void *r_) {
    const reader *r = r_;
    const uint64_t now = next_turn(r);
    for (uint32_t i = 0; i < r->source->n_sides; i++)
        if (r->inner[i] && next_of(r, i) == now)
            r->source->sides[i].type->turn(r->inner[i]);
}

static const tl_perf_count *read(void *r_, uint32_t *ret_n) {
    const reader *r = r_;
    const own *o = r->source;
    for (uint32_t s = 0; s < o->n_sides; s++) {
        uint32_t n;
        const tl_perf_count *counts = r->inner[s] ? o->sides[s].type->read(r->inner[s], &n) : NULL;
        for (uint32_t hart = 0; counts && hart < o->n_harts; hart++)
            for (uint32_t i = 0; i < o->base.n_counted; i++)
                if (o->rows[i].side == s)
                    r->counts[hart * o->base.n_counted + i] = counts[hart * o->sides[s].source->n_counted + o->rows[i].index];
    }
    *ret_n = o->n_harts * o->base.n_counted;
    return r->counts;
}

// An event that the list names twice is one row.
static uint32_t row_of(const own *o, uint32_t at, uint32_t index) {
    uint32_t i = 0;
    while (o->rows[i].side != at || o->rows[i].index != index)
        i++;
    return i;
}

static const tl_perf_part *read_parts(void *r_, uint32_t *ret_n) {
    const reader *r = r_;
    const own *o = r->source;
    *ret_n = 0;
    for (uint32_t s = 0; s < o->n_sides; s++) {
        uint32_t n = 0;
        const tl_perf_part *parts = r->inner[s] && o->sides[s].type->read_parts ? o->sides[s].type->read_parts(r->inner[s], &n) : NULL;
        for (uint32_t i = 0; i < n; i++) {
            r->parts[*ret_n] = parts[i];
            r->parts[(*ret_n)++].event = row_of(o, s, parts[i].event);
        }
    }
    return r->parts;
}

// ---- Both.

static tl_status resolve_side(const tl_source_type *type, const char *events, const tl_run_options *options, const tl_config *config,
                              tl_catalogue *catalogue, tl_arena *arena, side *ret_side, tl_error *err) {
    tl_run_options of_side = *options;
    of_side.events = tl_arena_strdup(arena, events);
    ret_side->type = type;
    if (!*events)
        return TL_OK;
    if (!of_side.events)
        return tl_no_memory(err);
    return tl_portable_resolve(type, &of_side, config, catalogue, arena, &ret_side->type, &ret_side->source, err);
}

static tl_status name_all(own *o, tl_arena *arena, tl_error *err) {
    tl_strbuf names = {0};
    for (uint32_t i = 0; i < o->n_sides; i++)
        if (o->sides[i].source)
            append(&names, o->sides[i].source->name, strlen(o->sides[i].source->name));
    o->base.name = tl_arena_strdup(arena, tl_strbuf_text(&names));
    tl_strbuf_done(&names);
    return o->base.name ? TL_OK : tl_no_memory(err);
}

tl_status tl_sides_resolve(const tl_sides *sides, const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue,
                           tl_arena *arena, const tl_source_type **ret_type, tl_source **ret_source, tl_error *err) {
    const char *events = options->events ? options->events : default_events;
    tl_strbuf lists[TL_MAX_SIDES] = {{0}};
    own *o = tl_arena_alloc(arena, sizeof *o);
    tl_status status = o ? part(sides, events, lists, arena, err) : tl_no_memory(err);
    for (uint32_t i = 0; i < sides->n && status == TL_OK; i++)
        status = resolve_side(sides->types[i], tl_strbuf_text(&lists[i]), options, config, catalogue, arena, &o->sides[i], err);
    for (uint32_t i = 0; i < sides->n; i++)
        tl_strbuf_done(&lists[i]);
    if (status != TL_OK)
        return status;
    o->n_sides = sides->n;
    o->n_harts = config->n_harts;
    status = list_rows(o, sides, events, arena, err);
    if (status == TL_OK)
        status = name_all(o, arena, err);
    o->type = (tl_source_type){.pmu = sides->types[0]->pmu,
                               .check = check,
                               .attach = attach,
                               .enable = enable,
                               .disable = disable,
                               .next_turn = next_turn,
                               .turn = turn,
                               .read = read,
                               .read_parts = read_parts};
    o->base.type = &o->type;
    *ret_type = &o->type;
    *ret_source = &o->base;
    return status;
}
