// SPDX-License-Identifier: MIT
// The events of an export: names and globs become sums of signals.
#include "export/measures.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/nearest.h"
#include "names/catalogue.h"
#include "profile/columns.h"

typedef struct resolver {
    const tl_profile *profile;
    tl_arena arena;           // formulas
    uint64_t *context_totals; // by event
    tl_export_measures *measures;
} resolver;

// The signals that an event sums up. *ret_n is 0: it is more than a sum.
static tl_status terms_of(resolver *in, uint32_t event, const tl_cell **ret_terms, uint32_t *ret_n, tl_error *err) {
    const tl_profile_event *row = &in->profile->events[event];
    const tl_formula *formula;
    *ret_n = 0;
    if (row->kind == TL_PROFILE_CONSTANT)
        return TL_OK;
    tl_status status = tl_profile_formula(in->profile, row->formula ? row->formula : row->name, &in->arena, &formula, err);
    if (status == TL_OK)
        *ret_n = tl_formula_cells(formula, ret_terms);
    return status;
}

static tl_status add(resolver *in, uint32_t event, bool is_pattern, tl_error *err) {
    const tl_profile_event *row = &in->profile->events[event];
    tl_export_measures *m = in->measures;
    const tl_cell *terms;
    uint32_t n_terms;
    for (uint32_t i = 0; i < m->n_items; i++)
        if (m->items[i].name == row->name)
            return TL_OK;
    tl_status status = terms_of(in, event, &terms, &n_terms, err);
    if (status != TL_OK || (n_terms == 0 && is_pattern))
        return status;
    if (n_terms == 0)
        return tl_fail(err, TL_EINVAL, "%s does not add up over instructions, and exports hold sums; name events that are counted%s%s",
                       row->name, row->formula ? ", such as those of " : "", row->formula ? row->formula : "");
    tl_export_measure *items = realloc(m->items, (m->n_items + 1) * sizeof *items);
    if (items)
        m->items = items;
    bool *takes = realloc(m->takes, (m->n_items + 1) * (size_t)in->profile->n_events * sizeof *takes);
    if (takes)
        m->takes = takes;
    if (!items || !takes)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left for the events of an export");
    tl_export_measure *item = &items[m->n_items];
    bool *its = &takes[(size_t)m->n_items++ * in->profile->n_events];
    uint64_t context_total = 0;
    *item = (tl_export_measure){.name = row->name, .unit = row->unit, .meaning = row->meaning};
    memset(its, 0, in->profile->n_events * sizeof *its);
    for (uint32_t t = 0; t < n_terms; t++) {
        its[terms[t]] = true;
        item->total += in->profile->events[terms[t]].total;
        context_total += in->context_totals[terms[t]];
    }
    item->is_by_context = in->profile->n_contexts > 0 && context_total == item->total;
    return TL_OK;
}

static tl_status add_named(resolver *in, const char *name, tl_error *err) {
    const tl_profile *p = in->profile;
    const uint32_t event = tl_profile_find_event(p, name);
    if (event != TL_PROFILE_NONE)
        return add(in, event, false, err);
    tl_nearest nearest;
    char text[160];
    tl_nearest_init(&nearest, name);
    const uint32_t n_before = in->measures->n_items;
    for (uint32_t e = 0; e < p->n_events; e++) {
        tl_nearest_offer(&nearest, p->events[e].name);
        if (tl_glob_is_pattern(name) && tl_glob_match(name, p->events[e].name)) {
            tl_status status = add(in, e, true, err);
            if (status != TL_OK)
                return status;
        }
    }
    if (in->measures->n_items > n_before)
        return TL_OK;
    return tl_fail(err, TL_ENOENT, "this profile has no event %s that adds up%s", name, tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status resolve(resolver *in, const char *events, tl_error *err) {
    const tl_profile *p = in->profile;
    for (uint32_t i = 0; i < p->n_context_counts; i++)
        in->context_totals[p->context_counts[i].event] += p->context_counts[i].n;
    tl_status status = TL_OK;
    char name[256];
    if (events) {
        while (status == TL_OK && tl_next_name(&events, name, sizeof name))
            status = add_named(in, name, err);
        return status;
    }
    for (uint32_t place = 1; place <= p->n_events; place++)
        for (uint32_t e = 0; e < p->n_events && status == TL_OK; e++)
            if (p->events[e].place == place)
                status = add(in, e, true, err);
    return status;
}

// Of a profile with a call graph, an export without names leaves out what has none.
static void drop_without_contexts(tl_export_measures *m, uint32_t n_events) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_items; i++)
        n += m->items[i].is_by_context;
    if (n == 0 || n == m->n_items)
        return;
    n = 0;
    for (uint32_t i = 0; i < m->n_items; i++) {
        if (!m->items[i].is_by_context)
            continue;
        m->items[n] = m->items[i];
        memmove(&m->takes[(size_t)n++ * n_events], &m->takes[(size_t)i * n_events], n_events * sizeof *m->takes);
    }
    m->n_items = n;
}

static tl_status index_by_event(const tl_profile *p, tl_export_measures *m, tl_error *err) {
    m->first = calloc(p->n_events + 1u, sizeof *m->first);
    m->users = calloc((size_t)m->n_items * p->n_events + 1, sizeof *m->users);
    if (!m->first || !m->users)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left for the events of an export");
    for (uint32_t e = 0, n = 0; e < p->n_events; e++) {
        for (uint32_t i = 0; i < m->n_items; i++)
            if (m->takes[(size_t)i * p->n_events + e])
                m->users[n++] = i;
        m->first[e + 1] = n;
    }
    return TL_OK;
}

tl_status tl_export_measures_resolve(const tl_profile *p, const char *events, tl_export_measures *m, tl_error *err) {
    *m = (tl_export_measures){0};
    resolver in = {.profile = p, .measures = m, .context_totals = calloc(p->n_events + 1u, sizeof *in.context_totals)};
    tl_status status =
        in.context_totals ? resolve(&in, events, err) : tl_fail(err, TL_ENOMEM, "the host has no memory left for the events of an export");
    if (status == TL_OK && !events)
        drop_without_contexts(m, p->n_events);
    if (status == TL_OK && m->n_items == 0)
        status = tl_fail(err, TL_EINVAL, "no event to export is named; write some, such as -e cycles,instructions");
    if (status == TL_OK)
        status = index_by_event(p, m, err);
    m->has_contexts = true;
    for (uint32_t i = 0; i < m->n_items; i++)
        m->has_contexts &= m->items[i].is_by_context;
    free(in.context_totals);
    tl_arena_done(&in.arena);
    if (status != TL_OK)
        tl_export_measures_done(m);
    return status;
}

void tl_export_measures_done(tl_export_measures *m) {
    free(m->items);
    free(m->takes);
    free(m->first);
    free(m->users);
    *m = (tl_export_measures){0};
}
