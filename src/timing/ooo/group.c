// SPDX-License-Identifier: MIT
// Cycles of hardware threads, in the order of their clocks, so that memory changes in one order. Of
// the harts, the one furthest behind comes next, and of two in one cycle the lower number. Threads
// of one core that are in the same cycle go through it together, stage by stage. In even cycles the
// first thread comes first, in odd cycles the second one.
#include "timing/ooo/ooo.h"

#include <string.h>

typedef struct group {
    core_run run;
    tl_core *members[TL_MAX_HARTS];
    uint32_t n_members;
} group;

void core_enter(core_run *run, tl_core *core) {
    if (run->entered == core)
        return;
    core->isa_flow->follow(core->isa_flow, run->entered->isa_flow);
    run->entered = core;
}

void core_set_stop(const core_run *run, tl_core *core) {
    const tl_hart *h = core->h;
    core->stop_at = *run->n_insns < h->insn_limit - h->instret ? h->instret + *run->n_insns : h->insn_limit;
}

// ---- The run.

static bool is_before(const tl_core *a, const tl_core *b) { return a->h->now < b->h->now; }

// The member that is furthest behind.
static tl_core *first_of(const group *g) {
    tl_core *first = g->members[0];
    for (uint32_t i = 1; i < g->n_members; i++)
        if (is_before(g->members[i], first))
            first = g->members[i];
    return first;
}

// The other thread of the core, if it is in the same cycle and may run.
static tl_core *partner_of(const group *g, const tl_core *core) {
    for (uint32_t i = 0; i < g->n_members; i++)
        if (g->members[i] != core && g->members[i]->shared == core->shared)
            return g->members[i]->h->now == core->h->now ? g->members[i] : NULL;
    return NULL;
}

// Whether the run stops before the cycle of this thread.
static bool stops_before(const group *g, tl_core *core, tl_stop *ret_stop) {
    const tl_hart *h = core->h;
    if (h->instret >= h->insn_limit || *g->run.n_insns == 0) {
        *ret_stop = TL_STOP_LIMIT;
        return true;
    }
    if (h->now >= h->horizon && !core->is_mid_cycle) {
        *ret_stop = TL_STOP_HORIZON;
        return true;
    }
    core_set_stop(&g->run, core);
    return false;
}

// Runs one hart until it stops.
static tl_stop run_one(group *g, tl_core *core) {
    tl_hart *h = core->h;
    const uint64_t before = h->instret;
    core_set_stop(&g->run, core);
    tl_stop stop;
    do {
        if (h->instret >= core->stop_at || h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        if (h->now >= h->horizon && !core->is_mid_cycle) {
            stop = TL_STOP_HORIZON;
            break;
        }
    } while (core_cycle(core, &stop));
    *g->run.n_insns -= h->instret - before;
    return stop;
}

// The clocks of uses of lines: a core's threads have one.
static void share_stamp(tl_core *core) {
    const core_shared *shared = core->shared;
    if (shared->n_threads == 1 || shared->threads[0]->h->stamp == shared->threads[1]->h->stamp)
        return;
    uint64_t stamp = core->h->stamp;
    for (uint32_t i = 0; i < shared->n_threads; i++)
        stamp = shared->threads[i]->h->stamp > stamp ? shared->threads[i]->h->stamp : stamp;
    for (uint32_t i = 0; i < shared->n_threads; i++)
        shared->threads[i]->h->stamp = stamp;
}

// The run stops in the cycle of this thread. Others have not passed it, so what they skipped beyond
// it is theirs again.
static void rewind_others(const group *g, const tl_core *stopped, uint64_t cycle) {
    for (uint32_t i = 0; i < g->n_members; i++) {
        tl_core *other = g->members[i];
        const bool has_passed = other->shared == stopped->shared ? !stopped->is_mid_cycle : other->h->id < stopped->h->id;
        if (other != stopped)
            core_rewind(other, cycle + has_passed);
    }
}

// Runs all until one stops. Returns that one.
static tl_core *run_all(group *g, tl_stop *ret_stop) {
    tl_core *stopped = NULL;
    uint64_t cycle = 0;
    while (!stopped) {
        tl_core *core = first_of(g), *partner = partner_of(g, core);
        cycle = core->h->now;
        if (stops_before(g, core, ret_stop)) {
            stopped = core;
        } else if (partner && stops_before(g, partner, ret_stop)) {
            stopped = partner;
        } else if (partner) {
            share_stamp(core);
            stopped =
                cycle % 2 == 0 ? core_cycle_of_two(&g->run, core, partner, ret_stop) : core_cycle_of_two(&g->run, partner, core, ret_stop);
        } else {
            const uint64_t before = core->h->instret;
            share_stamp(core);
            core_enter(&g->run, core);
            if (!core_cycle(core, ret_stop))
                stopped = core;
            *g->run.n_insns -= core->h->instret - before;
        }
    }
    rewind_others(g, stopped, cycle);
    return stopped;
}

// ---- Who runs.

// Threads of a core that have something to run divide its buffers among them. A thread that had
// skipped cycles finds out at once.
static void set_limits(tl_core *core, uint32_t n_active, uint64_t now) {
    const tl_core_config *c = core->config;
    const core_limits limits = {.rob_uops = c->rob_uops / n_active,
                                .load_buffers = c->load_buffers / n_active,
                                .store_buffers = c->store_buffers / n_active,
                                .memory_queue = c->memory_queue / n_active,
                                .general_queue = c->general_queue / n_active};
    if (memcmp(&limits, &core->limits, sizeof limits) != 0)
        core_rewind(core, now); // by the old rules
    core->limits = limits;
    core->has_company = n_active > 1;
}

static uint32_t n_active(const tl_core *core, tl_core *const *cores, uint32_t n_cores, uint32_t running) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_cores; i++)
        n += (running >> i & 1) && cores[i]->shared == core->shared;
    return n;
}

tl_stop tl_core_run_group(tl_core *const *cores, uint32_t n_cores, uint32_t running, uint32_t members, uint64_t *n_insns,
                          uint32_t *ret_index) {
    group g = {.run = {.n_insns = n_insns}};
    uint64_t now = UINT64_MAX;
    for (uint32_t i = 0; i < n_cores; i++) {
        if (!(running >> i & 1))
            continue;
        cores[i]->peers = cores;
        cores[i]->n_peers = n_cores;
        core_resume(cores[i]);
        now = tl_lesser(now, cores[i]->h->now);
        cores[i]->is_member = members >> i & 1;
        if (cores[i]->is_member)
            g.members[g.n_members++] = cores[i];
    }
    for (uint32_t i = 0; i < n_cores; i++)
        if (running >> i & 1)
            set_limits(cores[i], n_active(cores[i], cores, n_cores, running), now);
    g.run.entered = g.members[0];
    g.run.entered->isa_flow->enter(g.run.entered->isa_flow);
    tl_stop stop;
    tl_core *stopped = g.members[0];
    share_stamp(stopped);
    if (g.n_members == 1)
        stop = run_one(&g, stopped);
    else
        stopped = run_all(&g, &stop);
    g.run.entered->isa_flow->leave(g.run.entered->isa_flow);
    for (uint32_t i = 0; i < n_cores; i++) {
        if (running >> i & 1)
            core_suspend(cores[i]);
        cores[i]->is_member = false;
        if (cores[i] == stopped)
            *ret_index = i;
    }
    return stop;
}
