// SPDX-License-Identifier: MIT
// Shadow stacks of system software; see callgraph_machine.h. Frames lie in regions, because code of
// one task may run on several stacks of the guest: its own, the kernel's, one for interrupts. A
// region begins with a trap, or with a call whose stack pointer is far from the ones before.
#include "model/callgraph_machine.h"

#include <stdlib.h>

#include "base/bits.h"

typedef struct frame {
    uint64_t return_pc, sp; // of a call; of a root and a trap: no return leads there
    uint32_t context;
} frame;

typedef struct region { // what is around a region
    uint64_t base_sp, low_sp;
    uint64_t pc, sp; // of a trap: what was interrupted
    uint32_t frame;  // that began the region
    uint32_t priv;
    bool is_trap;
} region;

typedef struct stack {
    frame *frames;
    region *regions;
    uint32_t n, room, n_regions, region_room;
    // Highest and lowest stack pointer of the innermost region; 0: not seen.
    uint64_t base_sp, low_sp;
    uint32_t priv;
    uint32_t next; // that waits; or NO_STACK
} stack;

static const uint32_t NO_STACK = UINT32_MAX;
static const uint64_t NO_RETURN = 1; // no instruction has an odd address

enum {
    // A stack pointer further below the lowest one is on another stack.
    MAX_FRAME_BYTES = 64 << 10,
    // Millicode that saves registers for its caller returns with a lower stack pointer.
    MAX_SAVED_BYTES = 512,
    // Handlers that never return from traps would let a stack grow without end.
    MAX_REGIONS = 64,
    // Stacks of tasks that ended wait in vain, until their memory has another stack.
    MAX_WAITING = 4096,
    // Software may go on behind the instruction that trapped.
    MAX_INSN_BYTES = 4,
};

struct tl_call_machine {
    tl_callgraph *graph;
    uint64_t (*process_of)(const void *ctx, uint64_t space);
    const void *ctx;
    stack *stacks;
    uint32_t n_stacks, stack_room;
    uint32_t waiting, n_waiting; // list, the last one to wait first
    uint32_t unused;             // list
    uint32_t current[TL_MAX_HARTS];
    uint64_t space[TL_MAX_HARTS];
    uint32_t context[TL_MAX_HARTS]; // under way: that of the frame on top, in the space of the hart
    uint32_t *path;                 // scratch memory of carried
    uint32_t path_room;
};

tl_call_machine *tl_call_machine_new(tl_callgraph *graph, uint64_t (*process_of)(const void *ctx, uint64_t space), const void *ctx) {
    tl_call_machine *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    *m = (tl_call_machine){.graph = graph, .process_of = process_of, .ctx = ctx, .waiting = NO_STACK, .unused = NO_STACK};
    for (uint32_t hart = 0; hart < TL_MAX_HARTS; hart++)
        m->current[hart] = NO_STACK;
    return m;
}

void tl_call_machine_free(tl_call_machine *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n_stacks; i++) {
        free(m->stacks[i].frames);
        free(m->stacks[i].regions);
    }
    free(m->stacks);
    free(m->path);
    free(m);
}

static bool grow(tl_call_machine *m, void **items, uint32_t n, uint32_t *room, size_t item_bytes) {
    if (TL_LIKELY(tl_callgraph_grow(items, n, room, item_bytes)))
        return true;
    tl_callgraph_lack_memory(m->graph);
    return false;
}

static stack *stack_of(const tl_call_machine *m, uint32_t hart) { // NULL: no memory
    return m->current[hart] == NO_STACK ? NULL : &m->stacks[m->current[hart]];
}

static bool push(tl_call_machine *m, stack *s, uint64_t return_pc, uint64_t sp, uint32_t context) {
    if (!grow(m, (void **)&s->frames, s->n, &s->room, sizeof *s->frames))
        return false;
    s->frames[s->n++] = (frame){.return_pc = return_pc, .sp = sp, .context = context};
    return true;
}

// The next frame begins a region.
static bool open_region(tl_call_machine *m, stack *s, const region *with) {
    if (!grow(m, (void **)&s->regions, s->n_regions, &s->region_room, sizeof *s->regions))
        return false;
    region *r = &s->regions[s->n_regions++];
    *r = *with;
    r->base_sp = s->base_sp;
    r->low_sp = s->low_sp;
    r->frame = s->n;
    if (!r->is_trap)
        r->priv = s->priv;
    s->base_sp = s->low_sp = 0;
    return true;
}

// Drops frames from number n on, with regions that they began.
static void cut(stack *s, uint32_t n) {
    s->n = n;
    while (s->n_regions > 0 && s->regions[s->n_regions - 1].frame >= n) {
        const region *r = &s->regions[--s->n_regions];
        s->base_sp = r->base_sp;
        s->low_sp = r->low_sp;
        s->priv = r->priv;
    }
}

// The first frame that belongs to a region's code alone, for the innermost region.
static uint32_t first_of(const stack *s) {
    if (s->n_regions == 0)
        return 1;
    const region *r = &s->regions[s->n_regions - 1];
    return r->frame + r->is_trap;
}

static region *innermost_trap(const stack *s) { // NULL: none
    for (uint32_t i = s->n_regions; i-- > 0;)
        if (s->regions[i].is_trap)
            return &s->regions[i];
    return NULL;
}

// ---- contexts in the space of the hart ----

// Returns the context of `space` whose path has the calls of the path of `context`.
static uint32_t carried(tl_call_machine *m, uint32_t context, uint64_t space) {
    tl_callgraph *g = m->graph;
    uint32_t n = 0, at = context;
    for (; at != TL_NO_CONTEXT; at = tl_callgraph_context(g, at)->parent) {
        const tl_call_context *c = tl_callgraph_context(g, at);
        if (!grow(m, (void **)&m->path, n, &m->path_room, sizeof *m->path))
            return TL_NO_CONTEXT;
        m->path[n++] = at;
        if (c->is_trap && m->process_of(m->ctx, c->space) != m->process_of(m->ctx, space))
            break;
    }
    if (n == 0)
        return TL_NO_CONTEXT;
    uint32_t to = tl_callgraph_root(g, space, tl_callgraph_context(g, m->path[n - 1])->entry_pc);
    for (uint32_t i = n; i-- > 0 && to != TL_NO_CONTEXT;) {
        const tl_call_context *c = tl_callgraph_context(g, m->path[i]);
        const bool is_trap = c->is_trap;
        if (i < n - 1)
            to = tl_callgraph_callee(g, to, c->call_pc, c->entry_pc);
        if (is_trap)
            tl_callgraph_mark_trap(g, to);
    }
    return to;
}

static void top_changed(tl_call_machine *m, uint32_t hart) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s)) // no memory
        return;
    // The frame keeps its own, because the task may come back to the space before.
    uint32_t context = s->frames[s->n - 1].context;
    if (context != TL_NO_CONTEXT && TL_UNLIKELY(tl_callgraph_context(m->graph, context)->space != m->space[hart]))
        context = carried(m, context, m->space[hart]);
    m->context[hart] = context;
    tl_callgraph_set_current(m->graph, hart, context);
}

static uint32_t callee_of(tl_call_machine *m, uint32_t from, uint64_t call_pc, uint64_t entry_pc) {
    const uint32_t to = from == TL_NO_CONTEXT ? from : tl_callgraph_callee(m->graph, from, call_pc, entry_pc);
    tl_callgraph_count_call(m->graph, to);
    return to;
}

static uint32_t root_at(tl_call_machine *m, uint32_t hart, uint64_t pc) {
    const uint32_t root = tl_callgraph_root(m->graph, m->space[hart], pc);
    tl_callgraph_count_call(m->graph, root);
    return root;
}

static bool is_of_process(const tl_call_machine *m, uint32_t context, uint32_t hart) {
    return context != TL_NO_CONTEXT &&
           m->process_of(m->ctx, tl_callgraph_context(m->graph, context)->space) == m->process_of(m->ctx, m->space[hart]);
}

// ---- stacks ----

static uint32_t take_out(tl_call_machine *m, uint32_t *at) {
    const uint32_t number = *at;
    *at = m->stacks[number].next;
    m->n_waiting--;
    return number;
}

static void forget(tl_call_machine *m, uint32_t number) {
    m->stacks[number].next = m->unused;
    m->unused = number;
}

// The stack of the hart waits from now on. One that nothing can lead back to is forgotten.
static void put_away(tl_call_machine *m, uint32_t hart) {
    const uint32_t number = m->current[hart];
    stack *s = &m->stacks[number];
    m->current[hart] = NO_STACK;
    if (s->n == 1) {
        forget(m, number);
        return;
    }
    s->next = m->waiting;
    m->waiting = number;
    if (++m->n_waiting <= MAX_WAITING)
        return;
    uint32_t *last = &m->waiting;
    while (m->stacks[*last].next != NO_STACK)
        last = &m->stacks[*last].next;
    forget(m, take_out(m, last));
}

// The part of a stack that it will need when it goes on.
typedef struct kept_part {
    uint64_t base_sp, sp;
    uint32_t context, priv;
} kept_part;

static kept_part kept_of(const stack *s) {
    const region *r = s->n_regions > 0 ? &s->regions[s->n_regions - 1] : NULL;
    const frame *top = &s->frames[s->n - 1];
    if (!r || !r->is_trap || r->frame + 1 != s->n)
        return (kept_part){.base_sp = s->base_sp, .sp = top->sp, .context = top->context, .priv = s->priv};
    return (kept_part){.base_sp = r->base_sp, .sp = r->sp, .context = s->frames[r->frame - 1].context, .priv = r->priv};
}

// Stacks of tasks that ended have memory in which another one begins. User addresses mean something
// within a process alone.
static void forget_ended(tl_call_machine *m, uint32_t hart, uint64_t sp, uint32_t priv) {
    for (uint32_t *at = &m->waiting; *at != NO_STACK;) {
        const kept_part kept = kept_of(&m->stacks[*at]);
        if (sp >= kept.sp && sp <= kept.base_sp && (kept.priv != 0) == (priv != 0) && (priv != 0 || is_of_process(m, kept.context, hart)))
            forget(m, take_out(m, at));
        else
            at = &m->stacks[*at].next;
    }
}

// The hart goes on with a new stack, whose root begins at pc.
static void begin_stack(tl_call_machine *m, uint32_t hart, uint64_t pc, uint64_t sp, uint32_t priv) {
    if (m->current[hart] != NO_STACK)
        put_away(m, hart);
    if (sp != 0)
        forget_ended(m, hart, sp, priv);
    uint32_t number = m->unused;
    if (number != NO_STACK) {
        m->unused = m->stacks[number].next;
    } else {
        if (!grow(m, (void **)&m->stacks, m->n_stacks, &m->stack_room, sizeof *m->stacks))
            return;
        number = m->n_stacks++;
        m->stacks[number] = (stack){.n = 0};
    }
    stack *s = &m->stacks[number];
    s->n = s->n_regions = 0;
    s->base_sp = s->low_sp = sp;
    s->priv = priv;
    // began counts a root whose address it names.
    const uint32_t root = pc == 0 ? tl_callgraph_root(m->graph, m->space[hart], 0) : root_at(m, hart, pc);
    if (!push(m, s, NO_RETURN, UINT64_MAX, root)) {
        forget(m, number);
        tl_callgraph_set_current(m->graph, hart, TL_NO_CONTEXT);
        return;
    }
    m->current[hart] = number;
    top_changed(m, hart);
}

// The hart has not run.
static bool is_unnamed(const tl_call_machine *m, const stack *s) {
    return s->frames[0].context != TL_NO_CONTEXT && tl_callgraph_context(m->graph, s->frames[0].context)->entry_pc == 0;
}

void tl_call_machine_space(tl_call_machine *m, uint32_t hart, uint64_t space) {
    const stack *s = stack_of(m, hart);
    m->space[hart] = space;
    if (!s)
        begin_stack(m, hart, 0, 0, 0);
    else if (is_unnamed(m, s))
        s->frames[0].context = tl_callgraph_root(m->graph, space, 0);
    top_changed(m, hart);
}

void tl_call_machine_began(tl_call_machine *m, uint32_t hart, uint64_t pc) {
    const stack *s = stack_of(m, hart);
    if (s && is_unnamed(m, s)) {
        tl_callgraph_name_root(m->graph, s->frames[0].context, pc);
        tl_callgraph_count_call(m->graph, s->frames[0].context);
    }
}

// ---- calls ----

static bool is_in(uint64_t sp, uint64_t base_sp, uint64_t low_sp) { return sp >= low_sp && sp <= base_sp; }

// The frame with which the region around the innermost one ends, where its stack pointers have sp;
// UINT32_MAX: none does, up to the trap.
static uint32_t end_of_outer(const stack *s, uint64_t sp) {
    for (uint32_t i = s->n_regions; i-- > 0 && !s->regions[i].is_trap;)
        if (is_in(sp, s->regions[i].base_sp, s->regions[i].low_sp))
            return s->regions[i].frame;
    return UINT32_MAX;
}

// A call happens with this stack pointer. Frames below it are left.
static bool come_to_sp(tl_call_machine *m, stack *s, uint64_t sp) {
    if (s->n == first_of(s)) {
        s->base_sp = s->low_sp = sp;
        return true;
    }
    if (sp < s->low_sp && s->low_sp - sp <= MAX_FRAME_BYTES) {
        s->low_sp = sp;
        return true;
    }
    const uint32_t outer = end_of_outer(s, sp);
    if (!is_in(sp, s->base_sp, s->low_sp)) {
        if (outer == UINT32_MAX) {
            if (s->n_regions >= MAX_REGIONS)
                cut(s, 1);
            else if (!open_region(m, s, &(region){.is_trap = false}))
                return false;
            s->base_sp = s->low_sp = sp;
            return true;
        }
        cut(s, outer);
    }
    uint32_t n = s->n;
    for (const uint32_t first = first_of(s); n > first && s->frames[n - 1].sp < sp;)
        n--;
    if (n < s->n)
        cut(s, n);
    return true;
}

void tl_call_machine_call(tl_call_machine *m, uint32_t hart, uint64_t pc, uint64_t target, uint64_t return_pc, uint64_t sp) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s) || !come_to_sp(m, s, sp))
        return;
    top_changed(m, hart); // frames may have been left
    if (push(m, s, return_pc, sp, callee_of(m, m->context[hart], pc, target)))
        top_changed(m, hart);
}

// A tail call replaces the context on top of the stack.
static void replace(tl_call_machine *m, uint32_t hart, uint64_t target) {
    stack *s = stack_of(m, hart);
    frame *top = &s->frames[s->n - 1];
    if (m->context[hart] == TL_NO_CONTEXT)
        return;
    const tl_call_context *c = tl_callgraph_context(m->graph, m->context[hart]);
    const bool is_trap = c->is_trap;
    if (c->entry_pc == target)
        return;
    top->context = c->parent == TL_NO_CONTEXT ? root_at(m, hart, target) : callee_of(m, c->parent, c->call_pc, target);
    if (is_trap)
        tl_callgraph_mark_trap(m->graph, top->context);
}

static void resume(tl_call_machine *m, uint32_t hart, uint32_t *at, uint32_t n_frames) {
    const uint32_t number = take_out(m, at);
    put_away(m, hart);
    m->current[hart] = number;
    cut(&m->stacks[number], n_frames);
}

// Another stack whose frame on top waits for this return.
static bool resume_call(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp) {
    const bool is_user = stack_of(m, hart)->priv == 0;
    for (uint32_t *at = &m->waiting; *at != NO_STACK; at = &m->stacks[*at].next) {
        const stack *s = &m->stacks[*at];
        const frame *top = &s->frames[s->n - 1];
        if (top->return_pc != target || top->sp != sp || (is_user && !is_of_process(m, top->context, hart)))
            continue;
        resume(m, hart, at, s->n - 1);
        return true;
    }
    return false;
}

typedef struct level { // frames from a trap to the next one, or to the top
    uint32_t n, n_regions;
    uint64_t base_sp, low_sp; // of its innermost region
} level;

static level top_level(const stack *s) { return (level){.n = s->n, .n_regions = s->n_regions, .base_sp = s->base_sp, .low_sp = s->low_sp}; }

// Frames of the level and below that remain when code goes on with this stack pointer. UINT32_MAX:
// it is on no region of the level.
static uint32_t remaining(const stack *s, level of, uint64_t target, uint64_t sp, bool *ret_is_awaited) {
    *ret_is_awaited = false;
    for (;; of.n_regions--) {
        const region *r = of.n_regions > 0 ? &s->regions[of.n_regions - 1] : NULL;
        const uint32_t first = r ? r->frame + r->is_trap : 1;
        uint32_t n = of.n;
        if (is_in(sp, of.base_sp, of.low_sp)) {
            while (n > first && s->frames[n - 1].sp <= sp && !(s->frames[n - 1].return_pc == target && s->frames[n - 1].sp == sp))
                n--;
            *ret_is_awaited = n > first && s->frames[n - 1].sp == sp;
            return n - *ret_is_awaited;
        }
        if (!r || r->is_trap)
            return UINT32_MAX;
        of.n = r->frame;
        of.base_sp = r->base_sp;
        of.low_sp = r->low_sp;
    }
}

static void go_on_at(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp) {
    stack *s = stack_of(m, hart);
    const frame *top = &s->frames[s->n - 1];
    bool is_awaited;
    const uint32_t n = remaining(s, top_level(s), target, sp, &is_awaited);
    if (is_awaited)
        cut(s, n);
    else if (resume_call(m, hart, target, sp))
        return;
    else if (top->return_pc == target && sp < top->sp && top->sp - sp <= MAX_SAVED_BYTES)
        cut(s, s->n - 1);
    else if (n == UINT32_MAX && s->n > first_of(s))
        begin_stack(m, hart, target, sp, s->priv);
    else if (n < s->n)
        cut(s, n);
    else if (tl_callgraph_is_entry(m->graph, target))
        replace(m, hart, target);
}

void tl_call_machine_return(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s))
        return;
    const frame *top = &s->frames[s->n - 1];
    if (TL_LIKELY(top->return_pc == target && top->sp == sp)) {
        cut(s, s->n - 1);
    } else {
        go_on_at(m, hart, target, sp);
    }
    top_changed(m, hart);
}

void tl_call_machine_jump(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s))
        return;
    const bool is_here = s->n == first_of(s) || is_in(sp, s->base_sp, s->low_sp) || (sp < s->low_sp && s->low_sp - sp <= MAX_FRAME_BYTES);
    if (!is_here)
        go_on_at(m, hart, target, sp);
    else if (tl_callgraph_is_entry(m->graph, target))
        replace(m, hart, target);
    top_changed(m, hart);
}

// ---- traps ----

void tl_call_machine_trap(tl_call_machine *m, uint32_t hart, const tl_call_trap *trap) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s))
        return;
    if (s->n_regions >= MAX_REGIONS)
        cut(s, 1);
    const uint32_t from = m->context[hart];
    const uint32_t to = trap->is_interrupt ? root_at(m, hart, trap->handler_pc) : callee_of(m, from, trap->pc, trap->handler_pc);
    tl_callgraph_mark_trap(m->graph, to);
    if (!open_region(m, s, &(region){.is_trap = true, .pc = trap->pc, .sp = trap->sp, .priv = trap->old_priv}))
        return;
    if (!push(m, s, NO_RETURN, UINT64_MAX, to)) {
        cut(s, s->n);
        return;
    }
    s->priv = trap->priv;
    top_changed(m, hart);
}

static bool goes_on(const region *trap, uint64_t target, uint64_t sp) { return trap->sp == sp && target - trap->pc <= MAX_INSN_BYTES; }

// Another stack that waits in a trap at this place.
static bool resume_trap(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp, uint32_t priv) {
    for (uint32_t *at = &m->waiting; *at != NO_STACK; at = &m->stacks[*at].next) {
        const stack *s = &m->stacks[*at];
        const region *r = s->n_regions > 0 ? &s->regions[s->n_regions - 1] : NULL;
        if (!r || !r->is_trap || r->frame + 1 != s->n || r->priv != priv || !goes_on(r, target, sp) ||
            (priv == 0 && !is_of_process(m, s->frames[r->frame - 1].context, hart)))
            continue;
        resume(m, hart, at, r->frame);
        return true;
    }
    return false;
}

void tl_call_machine_trap_return(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp, uint32_t priv) {
    stack *s = stack_of(m, hart);
    if (TL_UNLIKELY(!s))
        return;
    const region *trap = innermost_trap(s);
    const uint32_t under = trap ? trap->frame : 0;
    // A kernel goes on for any process.
    const bool is_same = trap && (priv != 0 || is_of_process(m, s->frames[under - 1].context, hart));
    bool is_awaited;
    if (is_same && TL_LIKELY(goes_on(trap, target, sp))) {
        cut(s, under);
    } else {
        const bool chose_pc = is_same && trap->sp == sp;
        const level around = trap ? (level){under, (uint32_t)(trap - s->regions), trap->base_sp, trap->low_sp} : top_level(s);
        const bool went_up = is_same && sp > trap->sp && remaining(s, around, target, sp, &is_awaited) != UINT32_MAX;
        cut(s, trap ? under + 1 : 1); // frames of the handler are left
        if (resume_trap(m, hart, target, sp, priv)) {
            // the stack of another task
        } else if (chose_pc || went_up) { // the handler chose where to go on
            cut(s, under);
            if (went_up)
                go_on_at(m, hart, target, sp);
        } else {
            begin_stack(m, hart, target, sp, priv);
        }
    }
    top_changed(m, hart);
}
