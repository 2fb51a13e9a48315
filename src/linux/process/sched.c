// SPDX-License-Identifier: MIT
// Scheduling: see sched.h. A context switch is charged to the hart when a thread leaves the hart.
// An arriving thread finds a drained pipeline and no reservation. TLBs are empty if the address
// space changed.
#include "linux/process/sched.h"

#include <string.h>

#include "linux/isa.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"
#include "linux/process/code.h"

static tl_thread *thread_on(const tl_hart *h) { return (tl_thread *)h->client; }

static bool may_run(const tl_thread *t, const tl_hart *h) {
    return (t->affinity >> h->id & 1) != 0 && t->process->context == t->os->context && !t->os->is_away;
}

static void append(tl_thread *t) {
    tl_sched *queue = &t->os->sched;
    t->run_next = NULL;
    t->run_previous = queue->last;
    *(queue->last ? &queue->last->run_next : &queue->first) = t;
    queue->last = t;
}

static void prepend(tl_thread *t) {
    tl_sched *queue = &t->os->sched;
    t->run_next = queue->first;
    t->run_previous = NULL;
    *(queue->first ? &queue->first->run_previous : &queue->last) = t;
    queue->first = t;
}

static void take_out(tl_thread *t) {
    tl_sched *queue = &t->os->sched;
    *(t->run_previous ? &t->run_previous->run_next : &queue->first) = t->run_next;
    *(t->run_next ? &t->run_next->run_previous : &queue->last) = t->run_previous;
    t->run_next = t->run_previous = NULL;
}

static void set_space(tl_hart *h, const tl_process *p) {
    uint64_t context = tl_vm_context(p->vm);
    if (h->context == context)
        return;
    if (h->context != 0)
        ++h->tally[TL_S_OS_PROCESS_SWITCH];
    tl_memory_switch_context(h, context);
    tl_hart_notice(h, TL_NOTICE_CONTEXT);
}

uint32_t tl_sched_granted_pmus(const tl_os *os, bool after_exec) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < os->machine->n_pmus; ++i) {
        const tl_machine_pmu *row = &os->machine->pmus[i];
        tl_grant grant = row->pmu && row->type->grant ? row->type->grant(row->settings) : TL_DENIED;
        mask |= (uint32_t)(grant == TL_GRANTED || (grant == TL_GRANTED_UNTIL_EXEC && !after_exec)) << i;
    }
    return mask;
}

// Processes do not trust each other. The arriving process finds no running request and no value in
// the PMUs, and only its own permissions.
static void set_pmus(tl_hart *h, const tl_process *p) {
    int32_t *owner = &p->os->pmu_pid[h->id];
    if (*owner == p->pid)
        return;
    *owner = p->pid;
    tl_machine_hand_over(p->os->machine, h, (uint64_t)p->pid, p->granted_pmus);
}

static void drain(tl_hart *h) {
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->reservation_paddr = TL_NO_LINE;
}

// Threads of one process that run at the same time are about to use the same lines.
static void note_sharing(const tl_os *os, const tl_thread *t) {
    const tl_hart *h = t->hart;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i) {
        const tl_thread *other = thread_on(os->machine->harts[i]);
        if (other && other != t && other->process == t->process) {
            tl_hart_note_sharing(os->machine->harts[i], h->now);
            tl_hart_note_sharing(os->machine->harts[h->id], h->now);
        }
    }
}

static void load(tl_hart *h, tl_thread *t) {
    tl_os *os = t->os;
    tl_hart_idle_until(h, t->ready_cycle);
    if (t->perf_events)
        tl_pev_arrive(t, h);
    tl_os_isa_of(os)->load(h, &t->registers);
    h->pc = t->pc;
    drain(h);
    set_pmus(h, t->process); // before the context, which may set `interrupted` again
    set_space(h, t->process);
    if (t->last_hart >= 0 && t->last_hart != (int32_t)h->id)
        ++h->tally[TL_S_OS_MIGRATION];
    for (int i = 0; i < 2; ++i)
        h->break_pc[i] = t->process == os->first ? os->break_pc[i] : TL_NO_LINE;
    h->breaks = t->process == os->first ? os->breaks : NULL;
    h->skip_break = false;
    h->client = t;
    os->busy_harts |= 1u << h->id;
    os->in_kernel |= 1u << h->id;
    t->hart = h;
    note_sharing(os, t);
    t->last_hart = (int32_t)h->id;
    t->state = TL_THREAD_RUNNING;
    t->slice_start = t->loaded_now = h->now;
    t->loaded_supervisor = h->supervisor_cycles;
    os->turn.hart = NULL;
    if (os->cpu_timers)
        tl_time_running_changed(t);
    if (os->options.code_map)
        tl_code_arrive(t);
}

static void save(tl_hart *h, tl_thread *t) {
    tl_os_isa_of(t->os)->save(h, &t->registers);
    t->pc = h->pc;
}

static void fill(tl_os *os, tl_hart *h) {
    for (tl_thread *t = os->sched.first; t; t = t->run_next)
        if (may_run(t, h)) {
            take_out(t);
            load(h, t);
            return;
        }
}

// The thread leaves its hart, which takes the next one.
static void leave(tl_thread *t) {
    tl_os *os = t->os;
    tl_hart *h = t->hart;
    save(h, t);
    drain(h);
    uint64_t cost = os->machine->config.os.switch_cycles;
    h->now += cost;
    h->supervisor_cycles += cost;
    h->tally[TL_S_HART_CYC_SWITCH] += cost;
    ++h->tally[TL_S_OS_CONTEXT_SWITCH];
    if (t->perf_events)
        tl_pev_leave(t);
    if (os->options.code_map)
        tl_code_leave(t);
    uint64_t supervisor = h->supervisor_cycles - t->loaded_supervisor;
    t->system_cycles += supervisor;
    t->user_cycles += h->now - t->loaded_now - supervisor;
    t->hart = NULL;
    h->client = NULL;
    os->busy_harts &= ~(1u << h->id);
    os->deferred &= ~(1u << h->id);
    os->turn.hart = NULL;
    if (os->cpu_timers)
        tl_time_running_changed(t);
}

void tl_sched_ready(tl_thread *t) {
    tl_os *os = t->os;
    tl_hart *chosen = NULL;
    t->state = TL_THREAD_READY;
    t->ready_cycle = os->now;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i) {
        tl_hart *h = os->machine->harts[i];
        if (!thread_on(h) && may_run(t, h) && (!chosen || t->last_hart == (int32_t)i))
            chosen = h;
    }
    if (chosen)
        load(chosen, t);
    else
        append(t);
}

void tl_sched_sleep(tl_thread *t) {
    tl_hart *h = t->hart;
    ++t->voluntary_switches;
    leave(t);
    t->state = TL_THREAD_SLEEPING;
    fill(t->os, h);
}

static void withdraw(tl_thread *t, tl_thread_state state) {
    tl_hart *h = t->hart;
    if (t->state == TL_THREAD_READY)
        take_out(t);
    if (h)
        leave(t);
    t->state = state;
    if (h)
        fill(t->os, h);
}

void tl_sched_stop(tl_thread *t) { withdraw(t, TL_THREAD_STOPPED); }

void tl_sched_remove(tl_thread *t) { withdraw(t, TL_THREAD_DEAD); }

bool tl_sched_has_waiting(const tl_os *os, const tl_hart *h) {
    for (const tl_thread *t = os->sched.first; t; t = t->run_next)
        if (may_run(t, h))
            return true;
    return false;
}

static void requeue(tl_thread *t) {
    tl_hart *h = t->hart;
    leave(t);
    t->state = TL_THREAD_READY;
    t->ready_cycle = h->now;
    append(t);
    fill(t->os, h);
}

void tl_sched_yield(tl_thread *t) {
    if (tl_sched_has_waiting(t->os, t->hart)) {
        ++t->voluntary_switches;
        requeue(t);
    }
}

void tl_sched_slice_end(tl_thread *t) {
    ++t->hart->tally[TL_S_OS_SLICE_END];
    if (tl_sched_has_waiting(t->os, t->hart)) {
        ++t->involuntary_switches;
        requeue(t);
    } else {
        t->slice_start = t->hart->now;
    }
}

void tl_sched_leave_all(tl_os *os) {
    for (uint32_t i = os->machine->n_harts; i-- > 0;) {
        tl_thread *t = thread_on(os->machine->harts[i]);
        if (!t)
            continue;
        ++t->involuntary_switches;
        leave(t);
        t->state = TL_THREAD_READY;
        t->ready_cycle = os->machine->harts[i]->now;
        prepend(t);
    }
}

void tl_sched_fill_all(tl_os *os) {
    for (uint32_t i = 0; i < os->machine->n_harts; ++i) {
        tl_hart *h = os->machine->harts[i];
        tl_thread *t = thread_on(h) ? NULL : os->sched.first;
        while (t && !(t->last_hart == (int32_t)i && may_run(t, h)))
            t = t->run_next;
        if (t) {
            take_out(t);
            load(h, t);
        }
    }
    for (uint32_t i = 0; i < os->machine->n_harts; ++i)
        if (!thread_on(os->machine->harts[i]))
            fill(os, os->machine->harts[i]);
}

void tl_sched_place(tl_thread *t) {
    if (t->state == TL_THREAD_RUNNING && !may_run(t, t->hart)) {
        tl_hart *h = t->hart;
        leave(t);
        tl_sched_ready(t);
        fill(t->os, h);
    } else if (t->state == TL_THREAD_READY) {
        take_out(t);
        tl_sched_ready(t);
    }
}

void tl_sched_space_changed(tl_thread *t) {
    tl_memory_switch_context(t->hart, tl_vm_context(t->process->vm));
    drain(t->hart);
    if (t->os->options.code_map)
        tl_code_changed(t);
}

void tl_sched_pmus_changed(tl_thread *t) {
    t->os->pmu_pid[t->hart->id] = 0;
    set_pmus(t->hart, t->process);
}

void tl_thread_times(const tl_thread *t, uint64_t *ret_user_cycles, uint64_t *ret_system_cycles) {
    uint64_t supervisor = t->hart ? t->hart->supervisor_cycles - t->loaded_supervisor : 0;
    uint64_t all = t->hart ? t->hart->now - t->loaded_now : 0;
    *ret_user_cycles = t->user_cycles + (all - supervisor);
    *ret_system_cycles = t->system_cycles + supervisor;
}
