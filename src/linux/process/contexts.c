// SPDX-License-Identifier: MIT
// Contexts are programs of the user under one kernel. One of them has the harts at a time. Kernels,
// too, take turns on one machine. See os.h. The caller switches, because it counts by context. It
// reads the totals when the harts stand still, before the kernel's own work.
#include <signal.h>

#include "linux/os_internal.h"
#include "linux/process/exec.h"

tl_status tl_os_add(tl_os *os, const tl_os_program *program, uint32_t *ret_context, tl_error *err) {
    if (os->n_contexts == TL_OS_MAX_CONTEXTS)
        return tl_fail(err, TL_EINVAL, "%s: one kernel has at most %d contexts; give it to another VM", program->program,
                       TL_OS_MAX_CONTEXTS);
    uint32_t index = os->n_contexts;
    tl_status status = tl_exec_first(os, program, err);
    if (status != TL_OK)
        return status;
    if (os->quantum_end == UINT64_MAX && os->contexts[0].quantum_cycles != 0)
        os->quantum_end = os->contexts[0].quantum_cycles;
    *ret_context = index;
    return TL_OK;
}

uint32_t tl_os_context(const tl_os *os) { return os->context; }

bool tl_os_context_has_ended(const tl_os *os, uint32_t context, tl_os_report *ret_report) {
    if (context >= os->n_contexts || !os->contexts[context].has_ended)
        return false;
    *ret_report = os->contexts[context].end;
    return true;
}

static bool has_ready(const tl_os *os, uint32_t context) {
    for (const tl_thread *t = os->sched.first; t; t = t->run_next)
        if (t->process->context == context)
            return true;
    return false;
}

uint32_t tl_os_next_context(const tl_os *os) {
    if (os->n_contexts <= 1 || os->is_away)
        return os->context;
    uint32_t after = os->context < os->n_contexts ? os->context : os->n_contexts - 1;
    for (uint32_t k = 1; k <= os->n_contexts; ++k) {
        uint32_t context = (after + k) % os->n_contexts;
        if (context != os->context && has_ready(os, context))
            return context;
    }
    bool is_over = os->context < os->n_contexts && os->contexts[os->context].has_ended;
    return is_over ? TL_OS_NO_CONTEXT : os->context;
}

void tl_os_first_ended(tl_process *p, int32_t wait_status) {
    tl_os *os = p->os;
    tl_context *c = &os->contexts[p->context];
    tl_os_compose_end(p, wait_status);
    c->end.signal = wait_status & 0x7f;
    c->end.exit_status = c->end.signal ? 0 : wait_status >> 8 & 0xff;
    c->end.stop = c->end.signal ? TL_OS_KILLED : TL_OS_EXITED;
    c->has_ended = true;
    if (++os->n_ended_contexts == os->n_contexts) {
        os->has_ended = true;
        os->end = c->end;
        return;
    }
    for (tl_process *q = os->processes; q;) {
        bool is_left = q != p && q->context == p->context && !q->is_zombie && !q->is_ending;
        if (is_left)
            tl_process_end(q, SIGKILL);
        q = is_left ? os->processes : q->next; // others may have gone with it
    }
}

uint64_t tl_os_halt(tl_os *os) {
    uint64_t cycle = tl_machine_now_cycles(os->machine);
    cycle = os->now > cycle ? os->now : cycle; // a timer may have fired while all harts were idle
    os->turn.hart = NULL;
    os->hart = NULL;
    os->now = cycle;
    tl_machine_settle(os->machine, 0, cycle);
    return cycle;
}

void tl_os_leave(tl_os *os) {
    uint64_t now = tl_machine_now_cycles(os->machine);
    os->hart = NULL;
    os->now = now;
    os->contexts[os->context].left_cycles = os->quantum_end > now ? os->quantum_end - now : 0;
    os->contexts[os->context].is_paused = true;
    os->is_away = true;
    tl_sched_leave_all(os);
}

uint64_t tl_os_enter(tl_os *os, uint32_t context, uint64_t cycle) {
    uint64_t now = tl_machine_now_cycles(os->machine);
    now = now > cycle ? now : cycle;
    tl_machine_settle(os->machine, 0, now);
    tl_context *c = &os->contexts[context];
    uint64_t quantum = context == os->context && c->is_paused ? c->left_cycles : c->quantum_cycles;
    os->contexts[os->context].is_paused = false;
    os->hart = NULL;
    os->now = now;
    os->is_away = false;
    os->context = context;
    os->quantum_end = os->n_contexts > 1 && c->quantum_cycles != 0 ? now + quantum : UINT64_MAX;
    tl_sched_fill_all(os);
    return now;
}

void tl_os_wait(tl_os *os, uint32_t hart, uint64_t cycle) {
    tl_hart *h = os->machine->harts[hart];
    if (cycle <= h->now)
        return;
    os->hart = h;
    tl_os_spend(os, TL_S_HART_CYC_TRAP, cycle - h->now);
    os->turn.hart = NULL;
}
