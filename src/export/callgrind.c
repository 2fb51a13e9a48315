// SPDX-License-Identifier: MIT
// Callgrind's profile data format, version 1 (Valgrind manual, "Callgrind Format Specification"):
// costs by instruction and line of each function, and with a call graph the calls between them.
// No compressed positions, because some readers refuse them.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"

typedef struct edge {                   // calls from one instruction to one function
    uint32_t caller, call_site, callee; // TL_PROFILE_NONE: not known
    uint64_t n_calls;
    uint32_t cost; // in costs
} edge;

typedef struct grind {
    const tl_profile *profile;
    const tl_export_measures *measures;
    FILE *stream;
    tl_intern objects, files, functions;
    uint64_t *weights;
    edge *edges; // by caller and call site
    uint32_t n_edges;
    uint64_t *costs; // by edge and measure
} grind;

// "(3) name" at the first use, "(3)" later.
static void put_name(grind *g, const char *key, tl_intern *names, const char *name) {
    bool is_new;
    const uint32_t index = tl_intern_text(names, name, &is_new);
    fprintf(g->stream, is_new ? "%s=(%u) %s\n" : "%s=(%u)\n", key, index + 1u, name);
}

static void put_costs(grind *g, const uint64_t *costs) {
    for (uint32_t i = 0; i < g->measures->n_items; i++)
        fprintf(g->stream, " %" PRIu64, costs[i]);
    fputc('\n', g->stream);
}

static const char *file_of(const tl_profile *p, uint32_t source) { return source == TL_PROFILE_NONE ? "???" : p->sources[source].path; }

// Functions of one name in one object are apart only if their files are.
static const char *name_of(const tl_profile *p, uint32_t function) {
    return function == TL_PROFILE_NONE ? "???" : p->functions[function].name;
}

static void put_call(grind *g, const edge *e) {
    const tl_profile *p = g->profile;
    const tl_profile_function *callee = &p->functions[e->callee];
    put_name(g, "cob", &g->objects, tl_profile_object_path(p, callee->object));
    put_name(g, "cfi", &g->files, file_of(p, callee->source));
    put_name(g, "cfn", &g->functions, callee->name);
    fprintf(g->stream, "calls=%" PRIu64 " 0x%" PRIx64 " %u\n", e->n_calls, callee->address, callee->line);
    const tl_profile_insn *site = e->call_site == TL_PROFILE_NONE ? NULL : &p->insns[e->call_site];
    const tl_profile_function *caller = &p->functions[e->caller];
    fprintf(g->stream, "0x%" PRIx64 " %u", site ? site->address : caller->address, site ? site->line : caller->line);
    put_costs(g, &g->costs[(size_t)e->cost * g->measures->n_items]);
}

static int compare_edges(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    if (x->call_site != y->call_site)
        return x->call_site < y->call_site ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static bool is_same_edge(const edge *a, const edge *b) { return compare_edges(a, b) == 0; }

static bool edge_of(const tl_profile *p, uint32_t context, edge *ret_edge) {
    const tl_profile_context *c = &p->contexts[context];
    if (c->parent == TL_PROFILE_NONE)
        return false;
    *ret_edge = (edge){.caller = p->contexts[c->parent].function, .call_site = c->call_site, .callee = c->function, .n_calls = c->n_calls};
    return true;
}

// Readers add costs of a function's own instructions and of its calls. A call has the cost of all
// contexts below it, except those below another context of its caller. The sum of a function is
// then its inclusive cost, recursive or not.
static void add_to_edges(grind *g, uint32_t context, const uint32_t *edge_of_context, uint32_t *seen_by) {
    const tl_profile *p = g->profile;
    const uint32_t n_measures = g->measures->n_items;
    const tl_profile_context *from = &p->contexts[context];
    memset(g->weights, 0, n_measures * sizeof *g->weights);
    for (uint32_t k = 0; k < from->n_counts; k++)
        tl_export_weigh(g->measures, p->context_counts[from->first_count + k].event, p->context_counts[from->first_count + k].n,
                        g->weights);
    seen_by[from->function] = context + 1;
    for (uint32_t c = context; p->contexts[c].parent != TL_PROFILE_NONE; c = p->contexts[c].parent) {
        const uint32_t caller = p->contexts[p->contexts[c].parent].function;
        if (seen_by[caller] == context + 1)
            continue;
        seen_by[caller] = context + 1;
        for (uint32_t m = 0; m < n_measures; m++)
            g->costs[(size_t)edge_of_context[c] * n_measures + m] += g->weights[m];
    }
}

static tl_status find_edges(grind *g, tl_error *err) {
    const tl_profile *p = g->profile;
    const uint32_t n_measures = g->measures->n_items;
    uint32_t *edge_of_context = calloc(p->n_contexts + 1u, sizeof *edge_of_context);
    uint32_t *seen_by = calloc(p->n_functions + 1u, sizeof *seen_by); // context + 1
    g->edges = calloc(p->n_contexts + 1u, sizeof *g->edges);
    g->costs = calloc((size_t)p->n_contexts * n_measures + 1, sizeof *g->costs);
    if (!edge_of_context || !seen_by || !g->edges || !g->costs) {
        free(edge_of_context);
        free(seen_by);
        return tl_export_no_memory(err);
    }
    uint32_t n = 0;
    for (uint32_t c = 0; c < p->n_contexts; c++) { // parents come before their children
        if (edge_of(p, c, &g->edges[n])) {
            g->edges[n].cost = edge_of_context[c] = n;
            n++;
        }
        add_to_edges(g, c, edge_of_context, seen_by);
    }
    free(edge_of_context);
    free(seen_by);
    qsort(g->edges, n, sizeof *g->edges, compare_edges);
    for (uint32_t i = 0; i < n; i++) {
        edge *last = g->n_edges > 0 ? &g->edges[g->n_edges - 1] : NULL;
        if (!last || !is_same_edge(last, &g->edges[i])) {
            g->edges[g->n_edges++] = g->edges[i];
            continue;
        }
        last->n_calls += g->edges[i].n_calls;
        for (uint32_t m = 0; m < n_measures; m++)
            g->costs[(size_t)last->cost * n_measures + m] += g->costs[(size_t)g->edges[i].cost * n_measures + m];
    }
    return TL_OK;
}

static int compare_insns(const void *a, const void *b) { // by function, then order
    const tl_profile_insn *x = *(const tl_profile_insn *const *)a, *y = *(const tl_profile_insn *const *)b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void put_insn(grind *g, const tl_profile_insn *insn, uint32_t *source) {
    const tl_profile *p = g->profile;
    memset(g->weights, 0, g->measures->n_items * sizeof *g->weights);
    for (uint32_t k = 0; k < insn->n_counts; k++)
        tl_export_weigh(g->measures, p->counts[insn->first_count + k].event, p->counts[insn->first_count + k].n, g->weights);
    if (insn->source != *source)
        put_name(g, "fi", &g->files, file_of(p, *source = insn->source));
    fprintf(g->stream, "0x%" PRIx64 " %u", insn->address, insn->line);
    put_costs(g, g->weights);
}

// Functions in order of their number; instructions without one follow, by object.
static void put_functions(grind *g, const tl_profile_insn **insns) {
    const tl_profile *p = g->profile;
    uint32_t i = 0, e = 0;
    while (i < p->n_insns || e < g->n_edges) {
        const uint32_t of_insn = i < p->n_insns ? insns[i]->function : TL_PROFILE_NONE;
        const bool is_edge_first = e < g->n_edges && (i == p->n_insns || g->edges[e].caller < of_insn);
        const uint32_t function = is_edge_first ? g->edges[e].caller : of_insn;
        const uint32_t object = function != TL_PROFILE_NONE ? p->functions[function].object : insns[i]->object;
        uint32_t source = function != TL_PROFILE_NONE ? p->functions[function].source : TL_PROFILE_NONE;
        fputc('\n', g->stream);
        put_name(g, "ob", &g->objects, tl_profile_object_path(p, object));
        put_name(g, "fl", &g->files, file_of(p, source));
        put_name(g, "fn", &g->functions, name_of(p, function));
        for (; i < p->n_insns && insns[i]->function == function && (function != TL_PROFILE_NONE || insns[i]->object == object); i++)
            put_insn(g, insns[i], &source);
        for (; function != TL_PROFILE_NONE && e < g->n_edges && g->edges[e].caller == function; e++)
            put_call(g, &g->edges[e]);
    }
}

static void put_heading(grind *g) {
    const tl_profile *p = g->profile;
    fputs("# callgrind format\nversion: 1\ncreator: tally\n", g->stream);
    fprintf(g->stream, "pid: %ld\n", p->n_processes > 0 ? (long)p->processes[0].pid : 0L);
    fprintf(g->stream, "cmd: %s\n", tl_profile_setting_of(p, "program"));
    fprintf(g->stream, "desc: Machine: %s\n", tl_profile_setting_of(p, "machine"));
    fputs("positions: instr line\nevents:", g->stream);
    for (uint32_t i = 0; i < g->measures->n_items; i++)
        fprintf(g->stream, " %s", g->measures->items[i].name);
    fputc('\n', g->stream);
}

tl_status tl_export_callgrind(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    grind g = {.profile = profile, .measures = measures, .stream = stream, .weights = calloc(measures->n_items, sizeof *g.weights)};
    const tl_profile_insn **insns = calloc(profile->n_insns + 1u, sizeof(const tl_profile_insn *));
    tl_status status = g.weights && insns ? TL_OK : tl_export_no_memory(err);
    if (status == TL_OK && measures->has_contexts)
        status = find_edges(&g, err);
    if (status == TL_OK) {
        for (uint32_t i = 0; i < profile->n_insns; i++)
            insns[i] = &profile->insns[i];
        qsort(insns, profile->n_insns, sizeof(const tl_profile_insn *), compare_insns);
        put_heading(&g);
        put_functions(&g, insns);
        fputs("\ntotals:", stream);
        for (uint32_t i = 0; i < measures->n_items; i++)
            g.weights[i] = measures->items[i].total;
        put_costs(&g, g.weights);
    }
    if (status == TL_OK && (g.objects.has_failed || g.files.has_failed || g.functions.has_failed))
        status = tl_export_no_memory(err);
    tl_intern_done(&g.objects);
    tl_intern_done(&g.files);
    tl_intern_done(&g.functions);
    free(insns);
    free(g.edges);
    free(g.costs);
    free(g.weights);
    return status;
}
