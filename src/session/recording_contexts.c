// SPDX-License-Identifier: MIT
// Calling contexts of a recording; see recording_contexts.h.
#include "session/recording_contexts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/callgraph.h"
#include "profile/columns.h"

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for calls of a profile"); }

// ---- The events.

// Marks signals that the shown columns read.
static tl_status find_needed(const tl_profile *p, bool *needed, tl_error *err) {
    tl_profile_columns columns;
    tl_status status = tl_profile_columns_init(p, NULL, &columns, err);
    if (status != TL_OK)
        return status;
    bool *marked = calloc((size_t)p->n_events + 1, sizeof *marked);
    for (uint32_t e = 0; marked && e < p->n_events; e++) {
        if (p->events[e].kind != TL_PROFILE_SIGNAL)
            continue;
        marked[e] = true;
        for (uint32_t c = 0; c < columns.n && !needed[e]; c++)
            needed[e] = tl_formula_uses(columns.items[c].formula, marked);
        marked[e] = false;
    }
    status = marked ? TL_OK : no_memory(err);
    free(marked);
    tl_profile_columns_done(&columns);
    return status;
}

// Cycles are the sum of their causes. A cause that is asked for has a number of its own, and all
// others share one.
static tl_status number_events(tl_recorded_contexts *x, const tl_profile *p, const bool *is_cycle_cause, const bool *needed,
                               uint32_t *number_of, uint32_t *ret_others, tl_error *err) {
    const uint32_t cycle = tl_profile_find_event(p, "hart.cycle");
    uint32_t n = 0;
    x->cycle = cycle != TL_PROFILE_NONE && needed[cycle] ? cycle : TL_PROFILE_NONE;
    for (uint32_t e = 0; e < p->n_events; e++) {
        number_of[e] = TL_PROFILE_NONE;
        if (!needed[e] || e == cycle)
            continue;
        if (n < TL_NO_EVENT - 1) {
            x->event_of[n] = e;
            x->is_cycle_cause[n] = is_cycle_cause[e];
        }
        number_of[e] = n++;
    }
    *ret_others = n;
    if (x->cycle != TL_PROFILE_NONE && n < TL_NO_EVENT) {
        x->event_of[n] = TL_PROFILE_NONE;
        x->is_cycle_cause[n++] = true;
    }
    x->n_events = n;
    return n < TL_NO_EVENT ? TL_OK
                           : tl_fail(err, TL_EINVAL,
                                     "-g keeps counts of up to %d signals by call, and these events need %" PRIu32 "; name fewer with -e",
                                     TL_NO_EVENT - 1, n);
}

tl_status tl_recorded_contexts_begin(const tl_profile *p, tl_attribution *attribution, const tl_probe *probe, const uint32_t *event_of_cell,
                                     const bool *is_cycle_cause, tl_recorded_contexts *x, tl_error *err) {
    bool *needed = calloc((size_t)p->n_events + 1, sizeof *needed);
    uint32_t *number_of = malloc(((size_t)p->n_events + 1) * sizeof *number_of), others = 0;
    uint8_t *event_of = malloc((size_t)probe->n_cells + 1);
    tl_status status = needed && number_of && event_of ? find_needed(p, needed, err) : no_memory(err);
    if (status == TL_OK)
        status = number_events(x, p, is_cycle_cause, needed, number_of, &others, err);
    if (status == TL_OK) {
        const uint32_t instret = tl_profile_find_event(p, "hart.instret"), cycle = tl_profile_find_event(p, "hart.cycle");
        for (tl_cell cell = 0; cell < probe->n_cells; cell++) {
            const uint32_t e = event_of_cell[cell];
            event_of[cell] = TL_NO_EVENT;
            if (e == TL_PROFILE_NONE || e == instret || e == cycle)
                continue;
            if (needed[e])
                event_of[cell] = (uint8_t)number_of[e];
            else if (is_cycle_cause[e] && x->cycle != TL_PROFILE_NONE)
                event_of[cell] = (uint8_t)others;
        }
        const bool has_instret = instret != TL_PROFILE_NONE && needed[instret];
        status = tl_callgraph_new(attribution, probe, event_of, x->n_events, has_instret ? (uint8_t)number_of[instret] : TL_NO_EVENT,
                                  &x->graph, err);
    }
    free(needed);
    free(number_of);
    free(event_of);
    return status;
}

static uint64_t process_of(const void *ctx, uint64_t space) {
    const tl_code_map *map = ctx;
    return space < map->n_spaces ? map->threads[map->spaces[space].thread].process : TL_CODE_NONE;
}

tl_status tl_recorded_contexts_follow_machine(tl_recorded_contexts *x, const tl_code_map *map, tl_error *err) {
    x->is_of_machine = true;
    return tl_callgraph_follow_machine(x->graph, process_of, map, err);
}

void tl_recorded_contexts_done(tl_recorded_contexts *x) {
    tl_callgraph_free(x->graph);
    x->graph = NULL;
}

// ---- Contexts as rows.

typedef struct placed_row { // an instruction of a space
    uint64_t space, pc;
    uint32_t insn;
} placed_row;

typedef struct context_maker {
    const tl_recorded_contexts *x;
    tl_profile *p;
    const tl_code_map *map;
    placed_row *places; // by space and pc
    placed_row *places_by_pc;
    uint32_t *unnamed_of; // by instruction, and of none: its function without a symbol, + 1; or 0
    uint32_t n_places;
    bool *is_used;       // by context of the graph
    uint32_t *number_of; // the same, in the profile
    uint64_t *sums;      // of one context, by event
    uint64_t *totals;    // of all contexts, by event
} context_maker;

static int by_place(const void *a, const void *b) {
    const placed_row *x = a, *y = b;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int by_pc(const void *a, const void *b) {
    const placed_row *x = a, *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

// Code of system software is in objects by its address, and a path may have been carried to a space
// that did not execute all of it.
static uint32_t insn_at(const context_maker *m, uint64_t space, uint64_t pc) {
    const placed_row wanted = {.space = space, .pc = pc};
    const placed_row *found = bsearch(&wanted, m->places, m->n_places, sizeof wanted, by_place);
    if (!found && m->x->is_of_machine)
        found = bsearch(&wanted, m->places_by_pc, m->n_places, sizeof wanted, by_pc);
    return found ? found->insn : TL_PROFILE_NONE;
}

// Code that no area holds.
static uint32_t object_of_nothing(tl_profile *p) {
    for (uint32_t i = 0; i < p->n_objects; i++)
        if (strcmp(p->objects[i].kind, "none") == 0)
            return i;
    tl_profile_object *object = TL_PROFILE_ADD(p, objects);
    if (!object)
        return TL_PROFILE_NONE;
    *object = (tl_profile_object){"[unknown]", "none", ""};
    return p->n_objects - 1;
}

// A function without a symbol has the name of its address.
static uint32_t unnamed_function(const context_maker *m, uint32_t insn) {
    tl_profile *p = m->p;
    uint32_t *number = &m->unnamed_of[insn == TL_PROFILE_NONE ? p->n_insns : insn];
    if (*number != 0)
        return *number - 1;
    const uint32_t object = insn == TL_PROFILE_NONE ? object_of_nothing(p) : p->insns[insn].object;
    const uint64_t address = insn == TL_PROFILE_NONE ? 0 : p->insns[insn].address;
    if (object == TL_PROFILE_NONE)
        return TL_PROFILE_NONE;
    const char *name = insn == TL_PROFILE_NONE ? "[unknown]" : tl_arena_printf(&p->arena, "0x%" PRIx64, address);
    tl_profile_function *function = name ? TL_PROFILE_ADD(p, functions) : NULL;
    if (!function)
        return TL_PROFILE_NONE;
    *function = (tl_profile_function){.object = object, .source = TL_PROFILE_NONE, .name = name, .symbol = "", .address = address};
    *number = p->n_functions;
    return p->n_functions - 1;
}

// A space that never ran has a root without counts and without calls.
static void find_used(const context_maker *m, uint32_t n) {
    for (uint32_t c = n; c-- > 0;) {
        const tl_call_context *context = tl_callgraph_context(m->x->graph, c);
        m->is_used[c] |= context->entry_pc != 0;
        for (uint32_t e = 0; e < m->x->n_events; e++)
            m->is_used[c] |= context->counts[e] != 0;
        if (m->is_used[c] && context->parent != TL_NO_CONTEXT)
            m->is_used[context->parent] = true;
    }
}

static bool add_counts(context_maker *m, const tl_call_context *context, tl_profile_context *row) {
    tl_profile *p = m->p;
    for (uint32_t i = 0; i < m->x->n_events; i++) {
        if (m->x->event_of[i] != TL_PROFILE_NONE)
            m->sums[m->x->event_of[i]] += context->counts[i];
        if (m->x->is_cycle_cause[i] && m->x->cycle != TL_PROFILE_NONE)
            m->sums[m->x->cycle] += context->counts[i];
    }
    for (uint32_t e = 0; e < p->n_events; e++) {
        const uint64_t n = m->sums[e];
        if (n == 0)
            continue;
        m->sums[e] = 0;
        m->totals[e] += n;
        tl_profile_tally *count = TL_PROFILE_ADD(p, context_counts);
        if (!count)
            return false;
        *count = (tl_profile_tally){.event = e, .n = n};
        row->n_counts++;
    }
    return true;
}

static bool add_context(context_maker *m, uint32_t number) {
    tl_profile *p = m->p;
    const tl_call_context *from = tl_callgraph_context(m->x->graph, number);
    const bool is_root = from->parent == TL_NO_CONTEXT;
    const uint32_t insn = insn_at(m, from->space, from->entry_pc);
    const uint32_t known = insn == TL_PROFILE_NONE ? TL_PROFILE_NONE : p->insns[insn].function;
    tl_profile_context row = {
        .thread = from->space < m->map->n_spaces ? m->map->spaces[from->space].thread : TL_PROFILE_NONE,
        .parent = is_root ? TL_PROFILE_NONE : m->number_of[from->parent],
        .call_site = is_root ? TL_PROFILE_NONE : insn_at(m, from->space, from->call_pc),
        .function = known != TL_PROFILE_NONE ? known : unnamed_function(m, insn),
        .n_calls = from->n_calls,
        .first_count = p->n_context_counts,
    };
    if (row.function == TL_PROFILE_NONE || row.thread >= p->n_threads || !add_counts(m, from, &row))
        return false;
    tl_profile_context *context = TL_PROFILE_ADD(p, contexts);
    if (!context)
        return false;
    *context = row;
    m->number_of[number] = p->n_contexts - 1;
    return true;
}

static tl_status check_totals(const context_maker *m, tl_error *err) {
    for (uint32_t i = 0; i <= m->x->n_events; i++) {
        const uint32_t e = i < m->x->n_events ? m->x->event_of[i] : m->x->cycle;
        if (e != TL_PROFILE_NONE && m->totals[e] != m->p->events[e].total)
            return tl_fail(err, TL_EINVAL,
                           "%s sums up to %" PRIu64 " by calling context, but to %" PRIu64
                           " in all; this is a defect of tally, please report it",
                           m->p->events[e].name, m->totals[e], m->p->events[e].total);
    }
    return TL_OK;
}

tl_status tl_recorded_contexts_end(const tl_recorded_contexts *x, tl_profile *p, const tl_code_map *map, const uint32_t *insn_of_row,
                                   tl_error *err) {
    tl_status status = tl_callgraph_check(x->graph, err);
    if (status != TL_OK)
        return status;
    const uint32_t n = tl_callgraph_n_contexts(x->graph);
    context_maker m = {.x = x, .p = p, .map = map};
    const tl_attribution_row *rows = tl_attribution_rows(map->attribution, &m.n_places);
    m.places = malloc(((size_t)m.n_places + 1) * sizeof *m.places);
    m.is_used = calloc((size_t)n + 1, sizeof *m.is_used);
    m.number_of = calloc((size_t)n + 1, sizeof *m.number_of);
    m.sums = calloc((size_t)p->n_events + 1, sizeof *m.sums);
    m.totals = calloc((size_t)p->n_events + 1, sizeof *m.totals);
    m.places_by_pc = malloc(((size_t)m.n_places + 1) * sizeof *m.places_by_pc);
    m.unnamed_of = calloc((size_t)p->n_insns + 1, sizeof *m.unnamed_of);
    bool is_good = m.places && m.places_by_pc && m.unnamed_of && m.is_used && m.number_of && m.sums && m.totals;
    if (is_good) {
        for (uint32_t i = 0; i < m.n_places; i++)
            m.places_by_pc[i] = m.places[i] = (placed_row){rows[i].space, rows[i].pc, insn_of_row[i]};
        qsort(m.places, m.n_places, sizeof *m.places, by_place);
        qsort(m.places_by_pc, m.n_places, sizeof *m.places_by_pc, by_pc);
        find_used(&m, n);
    }
    for (uint32_t c = 0; c < n && is_good; c++)
        is_good = !m.is_used[c] || add_context(&m, c);
    status = is_good ? check_totals(&m, err) : no_memory(err);
    free(m.places);
    free(m.places_by_pc);
    free(m.unnamed_of);
    free(m.is_used);
    free(m.number_of);
    free(m.sums);
    free(m.totals);
    return status;
}
