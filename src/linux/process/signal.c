// SPDX-License-Identifier: MIT
// Signals: queues, choice of the thread, default actions, and the state that a handler finds.
// tl_os_isa lays frames out. signal_calls.c has the system calls.
#include "linux/process/signal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "linux/call/syscall.h"
#include "linux/isa.h"
#include "linux/os_internal.h"
#include "model/callgraph.h"
#include "model/engine.h"

static bool is_stop_signal(int signal) { return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }
static bool is_ignored_by_default(int signal) { return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH; }

const char *tl_signal_name(int signal) {
    static const char *const names[32] = {
        "signal 0", "SIGHUP",  "SIGINT",  "SIGQUIT", "SIGILL",    "SIGTRAP",   "SIGABRT",  "SIGBUS",  "SIGFPE",  "SIGKILL", "SIGUSR1",
        "SIGSEGV",  "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",   "SIGSTKFLT", "SIGCHLD",  "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN",
        "SIGTTOU",  "SIGURG",  "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF",   "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
    };
    return signal >= 0 && signal < 32 ? names[signal] : "a real-time signal";
}

tl_sigactions *tl_sigactions_new(void) {
    tl_sigactions *actions = calloc(1, sizeof *actions);
    if (actions)
        actions->n_refs = 1;
    return actions;
}

void tl_sigactions_unref(tl_sigactions *actions) {
    if (actions && --actions->n_refs == 0)
        free(actions);
}

// ---- Queues.

bool tl_signal_may_queue(const tl_process *p) {
    uint64_t n = 0; // of all processes, since they are all the same user's
    for (const tl_process *any = tl_process_first(p->os); any; any = any->next) {
        n += any->pending.n;
        for (const tl_thread *t = any->threads; t; t = t->next_in_process)
            n += t->pending.n;
    }
    return n < p->limits[RLIMIT_SIGPENDING].soft;
}

static void enqueue(tl_process *p, tl_signal_queue *queue, int signal, const tl_siginfo *info) {
    bool is_known = (queue->mask & tl_signal_bit(signal)) != 0;
    queue->mask |= tl_signal_bit(signal);
    if (is_known && signal < 32) // standard signals merge
        return;
    tl_queued_signal *entry = tl_signal_may_queue(p) ? calloc(1, sizeof *entry) : NULL;
    if (!entry)
        return; // the signal arrives without its details
    ++queue->n;
    if (info)
        entry->info = *info;
    else
        entry->info.code = SI_KERNEL;
    entry->info.signo = signal;
    tl_queued_signal **link = &queue->first;
    while (*link)
        link = &(*link)->next;
    *link = entry;
}

static tl_siginfo dequeue(tl_signal_queue *queue, int signal) {
    tl_siginfo info = {.signo = signal, .code = SI_KERNEL};
    bool is_found = false, is_more = false;
    for (tl_queued_signal **link = &queue->first; *link;) {
        tl_queued_signal *entry = *link;
        if (entry->info.signo != signal) {
            link = &entry->next;
            continue;
        }
        if (is_found) {
            is_more = true;
            break;
        }
        is_found = true;
        info = entry->info;
        *link = entry->next;
        --queue->n;
        free(entry);
    }
    if (!is_more)
        queue->mask &= ~tl_signal_bit(signal);
    return info;
}

static void drop(tl_signal_queue *queue, int signal) {
    while (queue->mask & tl_signal_bit(signal))
        dequeue(queue, signal);
}

void tl_signal_queue_done(tl_signal_queue *queue) {
    for (int signal = 1; signal <= TL_N_SIGNALS; ++signal)
        drop(queue, signal);
}

void tl_signal_forget(tl_process *p, int signal) {
    drop(&p->pending, signal);
    for (tl_thread *t = p->threads; t; t = t->next_in_process)
        drop(&t->pending, signal);
}

// Faults first, then the lowest number, as Linux does.
static int pick(uint64_t mask) {
    static const uint64_t synchronous = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGILL - 1) |
                                        UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGSYS - 1);
    if (mask & synchronous)
        mask &= synchronous;
    return mask ? __builtin_ctzll(mask) + 1 : 0;
}

bool tl_signal_take(tl_thread *t, uint64_t mask, tl_siginfo *ret_info) {
    tl_signal_queue *queue = &t->pending;
    int signal = pick(queue->mask & mask);
    if (signal == 0) {
        queue = &t->process->pending;
        signal = pick(queue->mask & mask);
    }
    if (signal == 0)
        return false;
    *ret_info = dequeue(queue, signal);
    return true;
}

uint64_t tl_signal_pending_mask(const tl_thread *t) { return t->pending.mask | t->process->pending.mask; }

bool tl_signal_is_ignored(const tl_process *p, int signal) {
    uint64_t handler = p->actions->action[signal].handler;
    return handler == (uint64_t)(uintptr_t)SIG_IGN || (handler == (uint64_t)(uintptr_t)SIG_DFL && is_ignored_by_default(signal));
}

bool tl_signal_is_deliverable(const tl_thread *t) {
    uint64_t mask = tl_signal_pending_mask(t) & ~t->blocked;
    if (t->is_uninterruptible)
        return (mask & tl_signal_bit(SIGKILL)) != 0;
    if (t->is_stop_pending)
        return true;
    for (; mask; mask &= mask - 1)
        if (!tl_signal_is_ignored(t->process, __builtin_ctzll(mask) + 1))
            return true;
    return false;
}

// ---- Sending.

static void resume(tl_process *p) {
    bool was_stopped = p->is_stopped;
    p->is_stopped = false;
    for (tl_thread *t = p->threads, *next; t; t = next) {
        next = t->next_in_process;
        t->is_stop_pending = false;
        if (t->state == TL_THREAD_STOPPED)
            tl_sched_ready(t);
    }
    if (was_stopped) {
        p->is_continued = true;
        p->is_stop_reported = true;
        tl_process_report_child(p, CLD_CONTINUED);
    }
}

// Wakes the thread that should see the signal: `t`, or any thread of the process that does not
// block it, the first one first.
static void notify(tl_process *p, tl_thread *t, int signal) {
    tl_wake_all(p->os, &p->signal_wait);
    for (tl_thread *candidate = t ? t : p->threads; candidate; candidate = t ? NULL : candidate->next_in_process) {
        if ((candidate->blocked & tl_signal_bit(signal)) != 0)
            continue;
        if (signal == SIGKILL && candidate->state == TL_THREAD_STOPPED)
            tl_sched_ready(candidate);
        else if (candidate->state == TL_THREAD_SLEEPING && tl_signal_is_deliverable(candidate))
            tl_thread_wake(candidate);
        if (candidate->state != TL_THREAD_STOPPED)
            return;
    }
}

static void send(tl_process *p, tl_thread *t, int signal, const tl_siginfo *info) {
    if (p->is_zombie || p->is_ending || signal < 1 || signal > TL_N_SIGNALS)
        return;
    if (signal == SIGCONT) {
        for (int stop = SIGSTOP; stop <= SIGTTOU; ++stop)
            tl_signal_forget(p, stop);
        resume(p);
    } else if (is_stop_signal(signal)) {
        tl_signal_forget(p, SIGCONT);
    }
    bool is_blocked = true;
    for (const tl_thread *reader = t ? t : p->threads; reader; reader = t ? NULL : reader->next_in_process)
        if (!(reader->blocked & tl_signal_bit(signal)))
            is_blocked = false;
    if (!is_blocked && tl_signal_is_ignored(p, signal))
        return;
    enqueue(p, t ? &t->pending : &p->pending, signal, info);
    notify(p, t, signal);
}

void tl_signal_send_process(tl_process *p, int signal, const tl_siginfo *info) { send(p, NULL, signal, info); }
void tl_signal_send_thread(tl_thread *t, int signal, const tl_siginfo *info) { send(t->process, t, signal, info); }

void tl_signal_force(tl_thread *t, int signal, int code, uint64_t addr, const char *what, const char *why) {
    tl_siginfo info = {.signo = signal, .code = code, .addr = addr};
    tl_sigaction *action = &t->process->actions->action[signal];
    if ((t->blocked & tl_signal_bit(signal)) != 0 || action->handler == (uint64_t)(uintptr_t)SIG_IGN) {
        *action = (tl_sigaction){0};
        t->blocked &= ~tl_signal_bit(signal);
    }
    t->process->fault =
        (tl_fault_note){.signal = signal, .has_addr = code != SI_KERNEL, .addr = addr, .pc = t->hart->pc, .what = what, .why = why};
    drop(&t->pending, signal);
    enqueue(t->process, &t->pending, signal, &info);
}

// ---- Handlers.

// false: the stack has no room for the frame.
static bool enter_handler(tl_thread *t, const tl_siginfo *info, tl_sigaction *action) {
    const tl_os_isa *isa = tl_os_isa_of(t->os);
    uint64_t sp = tl_hart_register_value(t->hart, TL_ROLE_STACK);
    int on_stack = tl_on_altstack(t, sp);
    tl_signal_saved saved = {
        .stack_vaddr = t->altstack_vaddr,
        .stack_bytes = t->altstack_bytes,
        .stack_flags = on_stack | (t->altstack_flags & TL_SS_AUTODISARM),
        .mask = t->has_saved_blocked ? t->saved_blocked : t->blocked,
    };
    if ((action->flags & SA_ONSTACK) && on_stack == 0)
        sp = t->altstack_vaddr + t->altstack_bytes;
    sp = (sp - isa->frame_bytes) & ~UINT64_C(15);
    if (on_stack == SS_ONSTACK && tl_on_altstack(t, sp) != SS_ONSTACK)
        return false; // the frame would run out of the alternate stack
    if (!isa->push_frame(t, sp, info, &saved, action))
        return false;

    if (t->altstack_flags & TL_SS_AUTODISARM) {
        t->altstack_vaddr = t->altstack_bytes = 0;
        t->altstack_flags = 0;
    }
    t->has_saved_blocked = false;
    t->blocked |= action->mask;
    if (!(action->flags & SA_NODEFER))
        t->blocked |= tl_signal_bit(info->signo);
    t->blocked = tl_signal_blockable(t->blocked);
    if (action->flags & SA_RESETHAND)
        action->handler = (uint64_t)(uintptr_t)SIG_DFL;
    tl_os_count(t->os, TL_S_OS_SIGNAL, 1);
    tl_os_spend(t->os, TL_S_HART_CYC_TRAP, t->os->machine->config.os.signal_cycles);
    return true;
}

bool tl_signal_leave(tl_thread *t) {
    tl_signal_saved saved;
    if (!tl_os_isa_of(t->os)->pop_frame(t, &saved))
        return false;
    t->blocked = tl_signal_blockable(saved.mask);
    bool is_on_altstack = tl_on_altstack(t, tl_hart_register_value(t->hart, TL_ROLE_STACK)) == SS_ONSTACK;
    if (!is_on_altstack && (saved.stack_flags & ~(TL_SS_AUTODISARM | SS_ONSTACK | SS_DISABLE)) == 0) {
        bool is_disabled = (saved.stack_flags & SS_DISABLE) != 0;
        t->altstack_vaddr = is_disabled ? 0 : saved.stack_vaddr;
        t->altstack_bytes = is_disabled ? 0 : saved.stack_bytes;
        t->altstack_flags = saved.stack_flags & TL_SS_AUTODISARM;
    }
    return true;
}

// ---- Delivery.

static void stop_process(tl_process *p, int signal) {
    p->stop_signal = signal;
    for (tl_thread *t = p->threads, *next; t; t = next) {
        next = t->next_in_process;
        t->is_stop_pending = true;
        if (t->state == TL_THREAD_SLEEPING && !t->is_uninterruptible)
            tl_thread_wake(t);
    }
}

static void stop_thread(tl_thread *t) {
    tl_process *p = t->process;
    t->is_stop_pending = false;
    tl_sched_stop(t);
    if (p->is_stopped)
        return;
    p->is_stopped = true;
    p->is_continued = false;
    p->is_stop_reported = false;
    tl_process_report_child(p, CLD_STOPPED);
}

// The handler is called by the instruction that the signal interrupted.
static void tell_handler(tl_hart *h, uint64_t interrupted_pc) {
    tl_context_sink *sink = h->attribution ? tl_attribution_sink(h) : NULL;
    if (!sink)
        return;
    h->engine->sync(h); // counts up to here are those of the context before
    tl_callgraph_signal(sink->graph, h->id, interrupted_pc, h->pc, tl_hart_register_value(h, TL_ROLE_RETURN),
                        tl_hart_register_value(h, TL_ROLE_STACK));
}

tl_delivery tl_signal_deliver(tl_thread *t, int restart) {
    tl_process *p = t->process;
    tl_siginfo info;
    for (;;) {
        if (t->is_stop_pending && !(tl_signal_pending_mask(t) & tl_signal_bit(SIGKILL))) {
            stop_thread(t);
            return TL_DELIVERY_GONE;
        }
        if (!tl_signal_take(t, ~(tl_signal_blockable(t->blocked)), &info))
            break;
        int signal = info.signo;
        tl_sigaction *action = &p->actions->action[signal];
        if (tl_signal_is_ignored(p, signal))
            continue;
        if (action->handler == (uint64_t)(uintptr_t)SIG_DFL) {
            if (is_stop_signal(signal)) {
                stop_process(p, signal);
                continue;
            }
            tl_process_end(p, signal);
            return TL_DELIVERY_GONE;
        }
        if (restart) {
            bool is_again = restart == TL_ERESTARTNOINTR || (restart == TL_ERESTARTSYS && (action->flags & SA_RESTART));
            if (is_again)
                t->hart->pc -= tl_os_isa_of(t->os)->call_bytes;
            else
                *tl_hart_register(t->hart, TL_ROLE_RESULT) = (uint64_t)-EINTR;
            tl_syscall_done(t);
        }
        const uint64_t interrupted_pc = t->hart->pc;
        if (enter_handler(t, &info, action)) {
            tell_handler(t->hart, interrupted_pc);
            return TL_DELIVERY_HANDLER;
        }
        // There was no room for the frame: SIGSEGV, deadly when that is the signal itself.
        if (signal == SIGSEGV)
            *action = (tl_sigaction){0};
        tl_signal_force(t, SIGSEGV, SI_KERNEL, 0, "no room on the stack for the frame of a signal handler", NULL);
        restart = 0;
    }
    if (t->has_saved_blocked && !restart) {
        t->blocked = t->saved_blocked;
        t->has_saved_blocked = false;
    }
    return TL_DELIVERY_NONE;
}
