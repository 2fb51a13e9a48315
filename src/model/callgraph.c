// SPDX-License-Identifier: MIT
// Shadow stacks and the tree of calling contexts; see callgraph.h.
#include "model/callgraph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/callgraph_machine.h"
#include "model/engine.h"
#include "model/isa.h"

typedef struct frame {
    uint64_t return_pc, sp; // as they were at the call
    uint32_t context;
} frame;

typedef struct stack { // of frames, for one stack of the program
    uint64_t space;
    uint64_t base_sp, low_sp; // the highest and the lowest stack pointer seen
    frame *frames;
    uint32_t n, room;
    uint32_t next; // stack of the space, or NO_STACK
} stack;

enum { CONTEXTS_AT_ONCE = 256 };
static const uint32_t NO_STACK = UINT32_MAX;

typedef struct edge { // from a context by a call; from TL_NO_CONTEXT to a root
    uint64_t call_pc; // to a root: its space
    uint64_t entry_pc;
    uint32_t from, to;
} edge;

typedef struct known_pc {
    uint64_t pc;
    bool is_entry; // it was called
    bool is_asked; // an engine was told that jumps to it need not be told
} known_pc;

typedef struct space_slot {
    uint64_t space;
    uint32_t current; // stack, or NO_STACK: none yet
} space_slot;

typedef struct table { // of row numbers + 1, by hash; 0: empty
    uint32_t *slots;
    uint32_t mask;
} table;

struct tl_callgraph {
    tl_context_sink sink;
    tl_attribution *attribution;
    uint8_t *event_of;
    uint32_t n_cells, n_events, generation;
    size_t context_bytes;
    uint8_t **chunks; // of CONTEXTS_AT_ONCE contexts
    uint32_t n_contexts;
    edge *edges;
    uint32_t n_edges, edge_room;
    table edge_table;
    known_pc *pcs;
    uint32_t n_pcs, pc_room;
    table pc_table;
    stack *stacks;
    uint32_t n_stacks;
    space_slot *spaces;
    uint32_t n_spaces;
    uint32_t space_of[TL_MAX_HARTS]; // number in spaces, or NO_STACK
    uint64_t *lost;                  // counts without a context: the host has no memory
    tl_call_machine *machine;        // NULL: stacks are those of spaces
    uint32_t under_way[TL_MAX_HARTS];
    uint64_t *outside_counts; // of what is not looked at
    uint32_t n_per_call;      // 1, or 0 while calls are not looked at
    bool lacks_memory;
};

static tl_call_context *context_at(const tl_callgraph *g, uint32_t number) {
    return (void *)(g->chunks[number / CONTEXTS_AT_ONCE] + number % CONTEXTS_AT_ONCE * g->context_bytes);
}

uint32_t tl_callgraph_n_contexts(const tl_callgraph *g) { return g->n_contexts; }

const tl_call_context *tl_callgraph_context(const tl_callgraph *g, uint32_t number) { return context_at(g, number); }

uint32_t tl_callgraph_generation(const tl_callgraph *g) { return g->generation; }

static uint32_t hash_of(uint64_t a, uint64_t b) {
    const uint64_t key = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 1) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(key ^ key >> 29 ^ key >> 43);
}

bool tl_callgraph_grow(void **items, uint32_t n, uint32_t *room, size_t item_bytes) {
    if (n < *room)
        return true;
    const uint32_t more = *room == 0 ? 64 : 2 * *room;
    void *larger = realloc(*items, more * item_bytes);
    if (!larger)
        return false;
    *items = larger;
    *room = more;
    return true;
}

static bool empty_table(table *t, uint32_t n) {
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    free(t->slots);
    *t = (table){.slots = slots, .mask = n - 1};
    return true;
}

static uint32_t edge_hash(const edge *e) { return hash_of(e->call_pc ^ (uint64_t)e->from << 40, e->entry_pc); }

static void put(table *t, uint32_t hash, uint32_t number) {
    uint32_t at = hash & t->mask;
    while (t->slots[at] != 0)
        at = (at + 1) & t->mask;
    t->slots[at] = number + 1;
}

// A new context. TL_NO_CONTEXT: the host has no memory.
static uint32_t add_context(tl_callgraph *g, const tl_call_context *value) {
    if (g->n_contexts % CONTEXTS_AT_ONCE == 0) {
        uint8_t **chunks = realloc(g->chunks, (g->n_contexts / CONTEXTS_AT_ONCE + 1) * sizeof *chunks);
        if (chunks)
            g->chunks = chunks;
        uint8_t *chunk = chunks ? calloc(CONTEXTS_AT_ONCE, g->context_bytes) : NULL;
        if (!chunk) {
            g->lacks_memory = true;
            return TL_NO_CONTEXT;
        }
        g->chunks[g->n_contexts / CONTEXTS_AT_ONCE] = chunk;
    }
    *context_at(g, g->n_contexts) = *value;
    return g->n_contexts++;
}

// The context that the call leads to, when it happens for the first time.
static TL_NOINLINE uint32_t add_edge(tl_callgraph *g, const edge *found, uint64_t space) {
    edge e = *found;
    e.to = TL_NO_CONTEXT;
    for (uint32_t up = e.from; up != TL_NO_CONTEXT && e.to == TL_NO_CONTEXT; up = context_at(g, up)->parent)
        if (context_at(g, up)->entry_pc == e.entry_pc && context_at(g, up)->call_pc == e.call_pc)
            e.to = up;
    if (e.to == TL_NO_CONTEXT)
        e.to = add_context(
            g, &(tl_call_context){
                   .space = space, .entry_pc = e.entry_pc, .call_pc = e.from == TL_NO_CONTEXT ? 0 : e.call_pc, .parent = e.from});
    if (e.to == TL_NO_CONTEXT || !tl_callgraph_grow((void **)&g->edges, g->n_edges, &g->edge_room, sizeof e)) {
        g->lacks_memory = true;
        return TL_NO_CONTEXT;
    }
    if (4 * g->n_edges >= g->edge_table.mask) {
        if (!empty_table(&g->edge_table, 8 * (g->n_edges + 1 < 512 ? 512 : g->edge_room))) {
            g->lacks_memory = true;
            return TL_NO_CONTEXT;
        }
        for (uint32_t i = 0; i < g->n_edges; i++)
            put(&g->edge_table, edge_hash(&g->edges[i]), i);
    }
    g->edges[g->n_edges] = e;
    put(&g->edge_table, edge_hash(&e), g->n_edges++);
    return e.to;
}

static uint32_t callee_of(tl_callgraph *g, uint32_t from, uint64_t call_pc, uint64_t entry_pc, uint64_t space) {
    const edge wanted = {.call_pc = call_pc, .entry_pc = entry_pc, .from = from};
    for (uint32_t at = edge_hash(&wanted) & g->edge_table.mask; g->edge_table.slots[at] != 0; at = (at + 1) & g->edge_table.mask) {
        const edge *e = &g->edges[g->edge_table.slots[at] - 1];
        if (e->call_pc == call_pc && e->entry_pc == entry_pc && e->from == from)
            return e->to;
    }
    return add_edge(g, &wanted, space);
}

// ---- addresses that were called ----

static known_pc *known(tl_callgraph *g, uint64_t pc) { // NULL: no memory
    uint32_t at = hash_of(pc, 0) & g->pc_table.mask;
    for (; g->pc_table.slots[at] != 0; at = (at + 1) & g->pc_table.mask)
        if (g->pcs[g->pc_table.slots[at] - 1].pc == pc)
            return &g->pcs[g->pc_table.slots[at] - 1];
    if (!tl_callgraph_grow((void **)&g->pcs, g->n_pcs, &g->pc_room, sizeof *g->pcs))
        return NULL;
    if (4 * g->n_pcs >= g->pc_table.mask) {
        if (!empty_table(&g->pc_table, 8 * (g->n_pcs + 1 < 512 ? 512 : g->pc_room)))
            return NULL;
        for (uint32_t i = 0; i < g->n_pcs; i++)
            put(&g->pc_table, hash_of(g->pcs[i].pc, 0), i);
    }
    g->pcs[g->n_pcs] = (known_pc){.pc = pc};
    put(&g->pc_table, hash_of(pc, 0), g->n_pcs);
    return &g->pcs[g->n_pcs++];
}

static void note_entry(tl_callgraph *g, uint64_t pc) {
    known_pc *entry = known(g, pc);
    if (!entry || entry->is_entry)
        return;
    entry->is_entry = true;
    g->generation += entry->is_asked;
    entry->is_asked = false;
}

bool tl_callgraph_wants_jump(tl_callgraph *g, uint64_t target) {
    known_pc *entry = known(g, target);
    if (!entry)
        return true;
    entry->is_asked = !entry->is_entry;
    return entry->is_entry;
}

// ---- for stacks of system software ----

uint32_t tl_callgraph_root(tl_callgraph *g, uint64_t space, uint64_t entry_pc) {
    return callee_of(g, TL_NO_CONTEXT, space, entry_pc, space);
}

uint32_t tl_callgraph_callee(tl_callgraph *g, uint32_t from, uint64_t call_pc, uint64_t entry_pc) {
    const uint32_t n_edges = g->n_edges, to = callee_of(g, from, call_pc, entry_pc, context_at(g, from)->space);
    if (TL_UNLIKELY(g->n_edges != n_edges))
        note_entry(g, entry_pc);
    return to;
}

void tl_callgraph_count_call(tl_callgraph *g, uint32_t context) {
    if (context != TL_NO_CONTEXT)
        context_at(g, context)->n_calls += g->n_per_call;
}

void tl_callgraph_mark_trap(tl_callgraph *g, uint32_t context) {
    if (context != TL_NO_CONTEXT)
        context_at(g, context)->is_trap = true;
}

TL_ALWAYS_INLINE uint64_t *counts_of(tl_callgraph *g, uint32_t context) {
    return context == TL_NO_CONTEXT ? g->lost : context_at(g, context)->counts;
}

TL_ALWAYS_INLINE uint64_t *counts_now(tl_callgraph *g, uint32_t context) {
    return TL_UNLIKELY(g->n_per_call == 0) ? g->outside_counts : counts_of(g, context);
}

void tl_callgraph_set_current(tl_callgraph *g, uint32_t hart, uint32_t context) {
    g->under_way[hart] = context;
    g->sink.counts[hart] = counts_now(g, context);
}

uint64_t *tl_callgraph_outside_counts(tl_callgraph *g) { return TL_LIKELY(g->n_per_call != 0) ? NULL : g->outside_counts; }

uint64_t *tl_callgraph_counts(tl_callgraph *g, uint32_t context) { return counts_now(g, context); }

uint32_t tl_callgraph_n_events(const tl_callgraph *g) { return g->n_events; }

uint32_t tl_callgraph_under_way(const tl_callgraph *g, uint32_t hart) { return g->under_way[hart]; }

void tl_callgraph_add(tl_callgraph *g, uint32_t context, const uint64_t *counts) {
    uint64_t *to = counts_of(g, context);
    for (uint32_t i = 0; i < g->n_events; i++)
        to[i] += counts[i];
}

static void set_outside(void *ctx, bool is_outside) {
    tl_callgraph *g = ctx;
    g->n_per_call = !is_outside;
    for (uint32_t hart = 0; hart < TL_MAX_HARTS; hart++)
        tl_callgraph_set_current(g, hart, g->under_way[hart]);
}

void tl_callgraph_name_root(tl_callgraph *g, uint32_t context, uint64_t entry_pc) { context_at(g, context)->entry_pc = entry_pc; }

bool tl_callgraph_is_entry(tl_callgraph *g, uint64_t pc) {
    const known_pc *entry = known(g, pc);
    return entry && entry->is_entry;
}

void tl_callgraph_lack_memory(tl_callgraph *g) { g->lacks_memory = true; }

// ---- shadow stacks of programs ----

// The context on top of the stack is under way on the hart.
static void set_current(tl_callgraph *g, uint32_t hart, const stack *s) { tl_callgraph_set_current(g, hart, s->frames[s->n - 1].context); }

static bool push(tl_callgraph *g, stack *s, uint32_t context, uint64_t return_pc, uint64_t sp) {
    if (!tl_callgraph_grow((void **)&s->frames, s->n, &s->room, sizeof *s->frames)) {
        g->lacks_memory = true;
        return false;
    }
    s->frames[s->n++] = (frame){.return_pc = return_pc, .sp = sp, .context = context};
    return true;
}

// A new stack of the space, which begins at pc and becomes the current one.
static stack *begin_stack(tl_callgraph *g, uint32_t space_number, uint64_t pc, uint64_t sp) {
    space_slot *space = &g->spaces[space_number];
    stack *stacks = realloc(g->stacks, (g->n_stacks + 1) * sizeof *stacks);
    if (!stacks) {
        g->lacks_memory = true;
        return NULL;
    }
    g->stacks = stacks;
    stack *s = &g->stacks[g->n_stacks];
    *s = (stack){.space = space->space, .base_sp = sp, .low_sp = sp, .next = space->current};
    const uint32_t root = add_context(g, &(tl_call_context){.space = space->space, .entry_pc = pc, .parent = TL_NO_CONTEXT, .n_calls = 1});
    if (!push(g, s, root, 0, UINT64_MAX))
        return NULL;
    space->current = g->n_stacks++;
    return s;
}

// The stack of the hart, which exists from its first transfer on. NULL: no memory, or no space.
static stack *stack_of(tl_callgraph *g, uint32_t hart) {
    const uint32_t number = g->space_of[hart];
    return number == NO_STACK || g->spaces[number].current == NO_STACK ? NULL : &g->stacks[g->spaces[number].current];
}

static void space_changed(void *ctx, uint32_t hart, uint64_t space) {
    tl_callgraph *g = ctx;
    uint32_t number = 0;
    if (g->machine) {
        tl_call_machine_space(g->machine, hart, space);
        return;
    }
    while (number < g->n_spaces && g->spaces[number].space != space)
        number++;
    if (number == g->n_spaces) {
        space_slot *spaces = realloc(g->spaces, (g->n_spaces + 1) * sizeof *spaces);
        if (!spaces) {
            g->lacks_memory = true;
            g->space_of[hart] = NO_STACK;
            tl_callgraph_set_current(g, hart, TL_NO_CONTEXT);
            return;
        }
        g->spaces = spaces;
        g->spaces[g->n_spaces++] = (space_slot){.space = space, .current = NO_STACK};
    }
    g->space_of[hart] = number;
    // Its stack pointer is that of its first call or return.
    stack *s = g->spaces[number].current != NO_STACK ? stack_of(g, hart) : begin_stack(g, number, 0, 0);
    if (s)
        set_current(g, hart, s);
    else
        tl_callgraph_set_current(g, hart, TL_NO_CONTEXT);
}

// The hart is about to run. The first instruction of a space names its root.
static void began(void *ctx, uint32_t hart, uint64_t pc) {
    tl_callgraph *g = ctx;
    if (g->machine) {
        tl_call_machine_began(g->machine, hart, pc);
        return;
    }
    const stack *s = stack_of(g, hart);
    if (s && s->frames[0].context != TL_NO_CONTEXT && context_at(g, s->frames[0].context)->entry_pc == 0)
        context_at(g, s->frames[0].context)->entry_pc = pc;
}

static void see_sp(stack *s, uint64_t sp) {
    if (TL_UNLIKELY(s->base_sp == 0))
        s->base_sp = s->low_sp = sp;
    if (TL_UNLIKELY(sp < s->low_sp))
        s->low_sp = sp;
}

static void see_first_sp(stack *s, uint64_t sp) {
    if (TL_UNLIKELY(s->base_sp == 0))
        s->base_sp = s->low_sp = sp;
}

void tl_callgraph_call(tl_callgraph *g, uint32_t hart, uint64_t pc, uint64_t target, uint64_t return_pc, uint64_t sp) {
    if (TL_UNLIKELY(g->machine != NULL)) {
        tl_call_machine_call(g->machine, hart, pc, target, return_pc, sp);
        return;
    }
    stack *s = stack_of(g, hart);
    if (TL_UNLIKELY(!s))
        return;
    see_sp(s, sp);
    const uint32_t from = s->frames[s->n - 1].context, n_edges = g->n_edges;
    const uint32_t to = from == TL_NO_CONTEXT ? TL_NO_CONTEXT : callee_of(g, from, pc, target, s->space);
    if (TL_UNLIKELY(g->n_edges != n_edges))
        note_entry(g, target);
    if (to != TL_NO_CONTEXT)
        context_at(g, to)->n_calls += g->n_per_call;
    if (push(g, s, to, return_pc, sp))
        set_current(g, hart, s);
}

// Another stack of the space whose top frame waits for this return. NULL: none.
static stack *waiting_stack(tl_callgraph *g, uint32_t hart, uint64_t target, uint64_t sp) {
    space_slot *space = &g->spaces[g->space_of[hart]];
    for (uint32_t *at = &space->current; *at != NO_STACK; at = &g->stacks[*at].next) {
        stack *s = &g->stacks[*at];
        if (s->n == 0 || s->frames[s->n - 1].return_pc != target || s->frames[s->n - 1].sp != sp)
            continue;
        const uint32_t number = *at; // to the front
        *at = s->next;
        s->next = space->current;
        space->current = number;
        return s;
    }
    return NULL;
}

static bool is_on(const stack *s, uint64_t sp) { return sp >= s->low_sp && sp <= s->base_sp; }

// A tail call replaces the context on top of the stack.
static void replace(tl_callgraph *g, stack *s, uint64_t target, uint64_t sp) {
    frame *top = &s->frames[s->n - 1];
    if (top->context == TL_NO_CONTEXT || context_at(g, top->context)->entry_pc == target)
        return;
    if (s->n == 1) { // a root stays
        const uint32_t to = callee_of(g, top->context, context_at(g, top->context)->entry_pc, target, s->space);
        if (to != TL_NO_CONTEXT)
            context_at(g, to)->n_calls += g->n_per_call;
        (void)push(g, s, to, 0, sp);
        return;
    }
    const uint32_t from = s->frames[s->n - 2].context;
    const uint32_t to = from == TL_NO_CONTEXT ? from : callee_of(g, from, context_at(g, top->context)->call_pc, target, s->space);
    if (to != TL_NO_CONTEXT)
        context_at(g, to)->n_calls += g->n_per_call;
    top->context = to;
}

// Millicode that saves registers for its caller returns with a lower stack pointer.
enum { MAX_SAVED_BYTES = 512 };

static TL_NOINLINE void return_oddly(tl_callgraph *g, uint32_t hart, uint64_t target, uint64_t sp) {
    stack *s = stack_of(g, hart);
    uint32_t n = s->n;
    while (n > 1 && s->frames[n - 1].sp <= sp && !(s->frames[n - 1].return_pc == target && s->frames[n - 1].sp == sp))
        n--;
    if (n > 1 && s->frames[n - 1].sp == sp) {
        s->n = n - 1;
    } else if (s->n > 1 && s->frames[s->n - 1].return_pc == target && sp < s->frames[s->n - 1].sp &&
               s->frames[s->n - 1].sp - sp <= MAX_SAVED_BYTES) {
        s->n -= 1;
        see_sp(s, sp);
    } else {
        stack *other = waiting_stack(g, hart, target, sp);
        if (other) {
            s = other;
            s->n -= 1;
        } else if (!is_on(s, sp)) {
            s = begin_stack(g, g->space_of[hart], target, sp);
        } else {
            const known_pc *entry = known(g, target);
            if (n == s->n && entry && entry->is_entry)
                replace(g, s, target, sp);
            else
                s->n = n;
        }
    }
    if (s)
        set_current(g, hart, s);
}

void tl_callgraph_return(tl_callgraph *g, uint32_t hart, uint64_t target, uint64_t sp) {
    if (TL_UNLIKELY(g->machine != NULL)) {
        tl_call_machine_return(g->machine, hart, target, sp);
        return;
    }
    stack *s = stack_of(g, hart);
    if (TL_UNLIKELY(!s))
        return;
    see_first_sp(s, sp);
    const frame *top = &s->frames[s->n - 1];
    if (TL_LIKELY(top->return_pc == target && top->sp == sp)) {
        s->n -= 1;
        set_current(g, hart, s);
    } else {
        return_oddly(g, hart, target, sp);
    }
}

void tl_callgraph_jump(tl_callgraph *g, uint32_t hart, uint64_t target, uint64_t sp) {
    if (TL_UNLIKELY(g->machine != NULL)) {
        tl_call_machine_jump(g->machine, hart, target, sp);
        return;
    }
    stack *s = stack_of(g, hart);
    if (!s)
        return;
    see_first_sp(s, sp);
    const known_pc *entry = known(g, target);
    const bool is_entry = entry && entry->is_entry;
    stack *other = is_on(s, sp) ? NULL : waiting_stack(g, hart, target, sp);
    if (other) {
        other->n -= 1;
        set_current(g, hart, other);
    } else if (sp > s->base_sp) {
        return_oddly(g, hart, target, sp);
    } else if (is_entry) {
        replace(g, s, target, sp);
        set_current(g, hart, s);
    }
}

void tl_callgraph_signal(tl_callgraph *g, uint32_t hart, uint64_t pc, uint64_t handler, uint64_t return_pc, uint64_t sp) {
    tl_callgraph_call(g, hart, pc, handler, return_pc, sp);
}

void tl_callgraph_trap(tl_callgraph *g, uint32_t hart, const tl_call_trap *trap) {
    if (g->machine)
        tl_call_machine_trap(g->machine, hart, trap);
}

void tl_callgraph_trap_return(tl_callgraph *g, uint32_t hart, uint64_t target, uint64_t sp, uint32_t priv) {
    if (g->machine)
        tl_call_machine_trap_return(g->machine, hart, target, sp, priv);
}

void tl_callgraph_tell_trap(tl_hart *h, const tl_call_trap *trap) {
    const tl_context_sink *sink = h->attribution ? tl_attribution_sink(h) : NULL;
    if (!sink)
        return;
    h->engine->sync(h); // counts up to here are those of the context before
    tl_callgraph_trap(sink->graph, h->id, trap);
}

void tl_callgraph_tell_trap_return(tl_hart *h) {
    const tl_context_sink *sink = h->attribution ? tl_attribution_sink(h) : NULL;
    if (sink)
        tl_callgraph_trap_return(sink->graph, h->id, h->pc, tl_hart_register_value(h, TL_ROLE_STACK), h->priv);
}

tl_status tl_callgraph_follow_machine(tl_callgraph *g, uint64_t (*process_of)(const void *ctx, uint64_t space), const void *ctx,
                                      tl_error *err) {
    g->machine = tl_call_machine_new(g, process_of, ctx);
    if (!g->machine)
        return tl_fail(err, TL_ENOMEM, "no memory for a call graph");
    tl_attribution_set_sink(g->attribution, &g->sink); // spaces of the harts are told again
    return TL_OK;
}

tl_status tl_callgraph_new(tl_attribution *attribution, const tl_probe *probe, const uint8_t *event_of, uint32_t n_events,
                           uint8_t executed_event, tl_callgraph **ret_graph, tl_error *err) {
    tl_callgraph *g = calloc(1, sizeof *g);
    *ret_graph = g;
    if (g) {
        g->attribution = attribution;
        g->n_cells = probe->n_cells;
        g->n_events = n_events;
        g->context_bytes = sizeof(tl_call_context) + n_events * sizeof(uint64_t);
        g->event_of = malloc(probe->n_cells);
        g->lost = calloc(n_events + 1, sizeof *g->lost);
        g->outside_counts = calloc(n_events + 1, sizeof *g->outside_counts);
        g->n_per_call = 1;
    }
    if (!g || !g->event_of || !g->lost || !g->outside_counts || !empty_table(&g->edge_table, 512) || !empty_table(&g->pc_table, 512)) {
        tl_callgraph_free(g);
        *ret_graph = NULL;
        return tl_fail(err, TL_ENOMEM, "no memory for a call graph");
    }
    memcpy(g->event_of, event_of, probe->n_cells);
    g->sink = (tl_context_sink){.graph = g,
                                .event_of = g->event_of,
                                .executed_event = executed_event,
                                .space_changed = space_changed,
                                .began = began,
                                .set_outside = set_outside};
    for (uint32_t hart = 0; hart < TL_MAX_HARTS; hart++) {
        g->sink.counts[hart] = g->lost;
        g->under_way[hart] = TL_NO_CONTEXT;
        g->space_of[hart] = NO_STACK;
    }
    tl_attribution_set_sink(attribution, &g->sink);
    return TL_OK;
}

void tl_callgraph_free(tl_callgraph *g) {
    if (!g)
        return;
    for (uint32_t i = 0; i * CONTEXTS_AT_ONCE < g->n_contexts; i++)
        free(g->chunks[i]);
    for (uint32_t i = 0; i < g->n_stacks; i++)
        free(g->stacks[i].frames);
    tl_call_machine_free(g->machine);
    free(g->chunks);
    free(g->edges);
    free(g->edge_table.slots);
    free(g->pcs);
    free(g->pc_table.slots);
    free(g->stacks);
    free(g->spaces);
    free(g->event_of);
    free(g->lost);
    free(g->outside_counts);
    free(g);
}

tl_status tl_callgraph_check(tl_callgraph *g, tl_error *err) {
    if (g->lacks_memory)
        return tl_fail(err, TL_ENOMEM, "no memory for a call graph: %" PRIu32 " contexts have some", g->n_contexts);
    uint64_t *sums = calloc(2 * (size_t)g->n_events + 2, sizeof *sums), *by_rows = sums + g->n_events + 1;
    if (!sums)
        return tl_fail(err, TL_ENOMEM, "no memory to check a call graph");
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(g->attribution, &n_rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        if (rows[i].space & TL_OUTSIDE)
            continue;
        if (g->sink.executed_event != TL_NO_EVENT)
            by_rows[g->sink.executed_event] += rows[i].n_executed;
        for (uint32_t k = 0; k < rows[i].n_counts; k++)
            if (g->event_of[rows[i].counts[k].cell] != TL_NO_EVENT)
                by_rows[g->event_of[rows[i].counts[k].cell]] += rows[i].counts[k].n;
    }
    for (uint32_t i = 0; i < g->n_contexts; i++)
        for (uint32_t e = 0; e < g->n_events; e++)
            sums[e] += context_at(g, i)->counts[e];
    tl_status status = TL_OK;
    for (uint32_t e = 0; e < g->n_events && status == TL_OK; e++)
        if (sums[e] != by_rows[e])
            status = tl_fail(err, TL_EINVAL,
                             "event %" PRIu32 " of the call graph sums up to %" PRIu64 " by context, but to %" PRIu64
                             " by instruction; this is a defect of tally, please report it",
                             e, sums[e], by_rows[e]);
    free(sums);
    return status;
}
