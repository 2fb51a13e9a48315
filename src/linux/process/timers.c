// SPDX-License-Identifier: MIT
// Interval timers that send signals: setitimer and POSIX timers. A timer has an expiry on its own
// clock. On real-time clocks that is a machine cycle. A CPU clock moves only while its owner runs.
// The machine timer is set to the earliest cycle at which the expiry is possible. It is set again
// whenever a thread of the owner comes onto a hart or leaves it. It is off while none is on one.
// Expirations that find their signal still pending are counted as overruns. No timer fires more
// often than every MIN_GAP_NS, however small its interval.
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "linux/call/syscall.h"
#include "linux/process/clock.h"

enum { MIN_GAP_NS = 10000, MAX_TIMERS = 1024 };

typedef struct tl_interval_timer {
    tl_timer timer; // first: fire() gets it
    tl_process *process;
    tl_clock clock;
    uint64_t expiry_ns, interval_ns; // on the clock; expiry 0: disarmed
    // Cycle of the machine: MIN_GAP_NS after the last expiration.
    uint64_t not_before_cycle;
    // Links of os->cpu_timers, while a timer of a CPU clock is armed.
    struct tl_interval_timer *cpu_next, *cpu_previous;
    bool is_on_cpu_list;
    // POSIX timers only.
    struct tl_interval_timer *next;
    int32_t id; // -1: one of setitimer's
    int32_t notify, signal, tid;
    uint64_t value;
    uint64_t n_overruns;
} interval_timer;

struct tl_itimers {
    interval_timer itimer[3]; // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
    interval_timer *posix;    // by id
};

static void fire(tl_os *os, tl_timer *timer);

static void list(tl_os *os, interval_timer *timer) {
    if (timer->is_on_cpu_list || !tl_clock_is_cpu(&timer->clock))
        return;
    timer->is_on_cpu_list = true;
    timer->cpu_previous = NULL;
    timer->cpu_next = os->cpu_timers;
    if (timer->cpu_next)
        timer->cpu_next->cpu_previous = timer;
    os->cpu_timers = timer;
}

static void unlist(tl_os *os, interval_timer *timer) {
    if (!timer->is_on_cpu_list)
        return;
    timer->is_on_cpu_list = false;
    *(timer->cpu_previous ? &timer->cpu_previous->cpu_next : &os->cpu_timers) = timer->cpu_next;
    if (timer->cpu_next)
        timer->cpu_next->cpu_previous = timer->cpu_previous;
}

static void disarm(tl_os *os, interval_timer *timer) {
    tl_timer_cancel(os, &timer->timer);
    unlist(os, timer);
    timer->expiry_ns = 0;
}

static void arm(tl_os *os, interval_timer *timer) {
    uint64_t cycle;
    list(os, timer);
    if (tl_clock_is_cpu(&timer->clock)) {
        cycle = tl_clock_cpu_due(os, &timer->clock, tl_os_ns_to_cycles(os, timer->expiry_ns));
    } else {
        uint64_t start = timer->clock.kind == TL_CLOCK_REALTIME ? TL_REALTIME_START_S * TL_NS_PER_S : 0;
        uint64_t ns = timer->expiry_ns > start ? timer->expiry_ns - start : 0;
        cycle = tl_os_ns_to_cycles(os, ns);
    }
    if (cycle < timer->not_before_cycle)
        cycle = timer->not_before_cycle;
    if (!tl_timer_arm(os, &timer->timer, cycle, fire))
        disarm(os, timer);
}

void tl_time_running_changed(tl_thread *t) {
    for (interval_timer *timer = t->os->cpu_timers, *next; timer; timer = next) {
        next = timer->cpu_next;
        bool is_thread = timer->clock.kind == TL_CLOCK_THREAD_CPU || timer->clock.kind == TL_CLOCK_THREAD_USER;
        if (timer->clock.id == (is_thread ? t->tid : t->process->pid))
            arm(t->os, timer);
    }
}

static tl_queued_signal *pending_of(const tl_signal_queue *queue, const interval_timer *timer) {
    for (tl_queued_signal *q = queue->first; q; q = q->next)
        if (q->info.code == SI_TIMER && q->info.signo == timer->signal && q->info.pid == timer->id)
            return q;
    return NULL;
}

static void notify(tl_os *os, interval_timer *timer, uint64_t n_expired) {
    tl_process *p = timer->process;
    if (timer->id < 0) {
        tl_signal_send_process(p, timer->signal, NULL);
        return;
    }
    tl_thread *t = timer->notify == SIGEV_THREAD_ID ? tl_thread_find(os, timer->tid) : NULL;
    if (timer->notify == SIGEV_NONE || (timer->notify == SIGEV_THREAD_ID && (!t || t->process != p)))
        return;
    tl_queued_signal *pending = pending_of(t ? &t->pending : &p->pending, timer);
    if (pending) {
        timer->n_overruns += n_expired;
    } else {
        timer->n_overruns = n_expired - 1;
        tl_siginfo info = {.signo = timer->signal, .code = SI_TIMER};
        info.pid = timer->id;
        info.value = timer->value;
        if (t)
            tl_signal_send_thread(t, timer->signal, &info);
        else
            tl_signal_send_process(p, timer->signal, &info);
        pending = pending_of(t ? &t->pending : &p->pending, timer);
    }
    uint32_t overruns = timer->n_overruns > INT32_MAX ? INT32_MAX : (uint32_t)timer->n_overruns;
    timer->n_overruns = overruns;
    if (pending)
        pending->info.uid = overruns;
}

static void fire(tl_os *os, tl_timer *machine_timer) {
    interval_timer *timer = (interval_timer *)machine_timer;
    uint64_t now = tl_clock_ns(os, &timer->clock);
    // A CPU clock may lag: another of its harts is behind, or the kernel's time does not count.
    if (timer->expiry_ns > now) {
        uint64_t later = tl_os_now_cycles(os) + 1;
        timer->not_before_cycle = timer->not_before_cycle < later ? later : timer->not_before_cycle;
        arm(os, timer);
        return;
    }
    uint64_t n_expired = 1;
    if (timer->interval_ns) {
        n_expired += (now - timer->expiry_ns) / timer->interval_ns;
        timer->expiry_ns = tl_next_expiry(timer->expiry_ns, timer->interval_ns, n_expired);
        timer->not_before_cycle = tl_os_ns_to_cycles(os, tl_add_saturated(tl_os_now_ns(os), MIN_GAP_NS));
        arm(os, timer);
    } else {
        disarm(os, timer);
    }
    notify(os, timer, n_expired);
}

static void set(tl_os *os, interval_timer *timer, uint64_t expiry_ns, uint64_t interval_ns) {
    disarm(os, timer);
    timer->expiry_ns = expiry_ns;
    timer->interval_ns = interval_ns;
    timer->not_before_cycle = 0;
    timer->n_overruns = 0;
    if (expiry_ns)
        arm(os, timer);
}

static uint64_t left_of(const tl_os *os, const interval_timer *timer) {
    uint64_t now = tl_clock_ns(os, &timer->clock);
    if (!timer->expiry_ns)
        return 0;
    // Armed and due: not 0, because 0 means disarmed.
    return timer->expiry_ns > now ? timer->expiry_ns - now : 1;
}

static struct tl_itimers *itimers_of(tl_process *p) {
    static const tl_clock_kind kinds[3] = {TL_CLOCK_MONOTONIC, TL_CLOCK_PROCESS_USER, TL_CLOCK_PROCESS_CPU};
    static const int signals[3] = {SIGALRM, SIGVTALRM, SIGPROF};
    if (p->itimers)
        return p->itimers;
    p->itimers = calloc(1, sizeof *p->itimers);
    for (int i = 0; p->itimers && i < 3; i++)
        p->itimers->itimer[i] = (interval_timer){.process = p, .clock = {.kind = kinds[i], .id = p->pid}, .signal = signals[i], .id = -1};
    return p->itimers;
}

// ---- setitimer.

typedef struct abi_itimerval {
    tl_abi_timeval interval, value;
} abi_itimerval;

static tl_abi_timeval to_timeval(uint64_t ns) {
    uint64_t us = ns / 1000 + (ns % 1000 != 0);
    return (tl_abi_timeval){.seconds = (int64_t)(us / 1000000), .us = (int64_t)(us % 1000000)};
}

static int64_t put_itimer(tl_thread *t, uint32_t which, uint64_t vaddr) {
    abi_itimerval out = {.value = {.seconds = 0}};
    if (t->process->itimers) {
        const interval_timer *timer = &t->process->itimers->itimer[which];
        out = (abi_itimerval){.interval = to_timeval(timer->interval_ns), .value = to_timeval(left_of(t->os, timer))};
    }
    return tl_vm_write(t->process, vaddr, &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_getitimer(tl_thread *t, const uint64_t args[6]) {
    return (uint32_t)args[0] > ITIMER_PROF ? -EINVAL : put_itimer(t, (uint32_t)args[0], args[1]);
}

int64_t tl_sys_setitimer(tl_thread *t, const uint64_t args[6]) {
    uint32_t which = (uint32_t)args[0];
    uint64_t interval = 0, value = 0;
    if (which > ITIMER_PROF)
        return -EINVAL;
    if (args[1]) {
        int64_t error = tl_read_timeval(t->process, args[1], &interval);
        if (!error)
            error = tl_read_timeval(t->process, args[1] + sizeof(tl_abi_timeval), &value);
        if (error)
            return error;
    }
    int64_t error = args[2] ? put_itimer(t, which, args[2]) : 0;
    if (error)
        return error;
    if (!itimers_of(t->process))
        return -ENOMEM;
    interval_timer *timer = &t->process->itimers->itimer[which];
    set(t->os, timer, value ? tl_add_saturated(tl_clock_ns(t->os, &timer->clock), value) : 0, value ? interval : 0);
    return 0;
}

// ---- POSIX timers.

typedef struct abi_sigevent {
    uint64_t value;
    int32_t signal, notify, tid, pad[11];
} abi_sigevent;
_Static_assert(sizeof(abi_sigevent) == 64, "struct sigevent");

static interval_timer *timer_of(const tl_thread *t, int32_t id) {
    interval_timer *timer = t->process->itimers ? t->process->itimers->posix : NULL;
    while (timer && timer->id != id)
        timer = timer->next;
    return timer;
}

int64_t tl_sys_timer_create(tl_thread *t, const uint64_t args[6]) {
    tl_clock clock;
    abi_sigevent event = {.signal = SIGALRM, .notify = SIGEV_SIGNAL};
    if (!tl_clock_of(t, (int32_t)args[0], &clock))
        return -EINVAL;
    if (clock.is_coarse)
        return -EOPNOTSUPP;
    if (args[1] && !tl_vm_read(t->process, args[1], &event, sizeof event))
        return -EFAULT;
    if (event.notify != SIGEV_NONE && event.notify != SIGEV_SIGNAL && event.notify != SIGEV_THREAD_ID)
        return -EINVAL;
    if (event.notify != SIGEV_NONE && (event.signal < 1 || event.signal > TL_N_SIGNALS))
        return -EINVAL;
    if (event.notify == SIGEV_THREAD_ID) {
        const tl_thread *target = tl_thread_find(t->os, event.tid);
        if (!target || target->process != t->process)
            return -EINVAL;
    }
    struct tl_itimers *all = itimers_of(t->process);
    interval_timer *timer = all && tl_account_charge(&t->os->account, sizeof *timer) ? calloc(1, sizeof *timer) : NULL;
    if (!timer)
        return -ENOMEM;
    interval_timer **at = &all->posix;
    int32_t id = 0;
    for (; *at && (*at)->id == id; id++)
        at = &(*at)->next;
    if (id == MAX_TIMERS) {
        tl_account_release(&t->os->account, sizeof *timer);
        free(timer);
        return -EAGAIN;
    }
    *timer = (interval_timer){.process = t->process,
                              .clock = clock,
                              .next = *at,
                              .id = id,
                              .notify = event.notify,
                              .signal = event.signal,
                              .tid = event.tid,
                              .value = args[1] ? event.value : (uint64_t)id};
    *at = timer;
    if (tl_vm_write(t->process, args[2], &id, sizeof id))
        return 0;
    *at = timer->next;
    tl_account_release(&t->os->account, sizeof *timer);
    free(timer);
    return -EFAULT;
}

static int64_t put_timer(tl_thread *t, const interval_timer *timer, uint64_t vaddr) {
    tl_abi_itimerspec out = {.interval = tl_ns_timespec(timer->interval_ns), .value = tl_ns_timespec(left_of(t->os, timer))};
    return tl_vm_write(t->process, vaddr, &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_timer_gettime(tl_thread *t, const uint64_t args[6]) {
    const interval_timer *timer = timer_of(t, (int32_t)args[0]);
    return timer ? put_timer(t, timer, args[1]) : -EINVAL;
}

int64_t tl_sys_timer_settime(tl_thread *t, const uint64_t args[6]) {
    interval_timer *timer = timer_of(t, (int32_t)args[0]);
    uint64_t interval, value;
    if (!timer || !args[2])
        return -EINVAL;
    int64_t error = tl_read_timespec(t->process, args[2], &interval);
    if (!error)
        error = tl_read_timespec(t->process, args[2] + sizeof(tl_abi_timespec), &value);
    if (!error && args[3])
        error = put_timer(t, timer, args[3]);
    if (error)
        return error;
    if (value && !(args[1] & TIMER_ABSTIME))
        value = tl_add_saturated(tl_clock_ns(t->os, &timer->clock), value);
    set(t->os, timer, value, value ? interval : 0);
    return 0;
}

int64_t tl_sys_timer_getoverrun(tl_thread *t, const uint64_t args[6]) {
    const interval_timer *timer = timer_of(t, (int32_t)args[0]);
    return timer ? (int64_t)timer->n_overruns : -EINVAL;
}

static void posix_free(tl_os *os, interval_timer **at) {
    interval_timer *timer = *at;
    *at = timer->next;
    disarm(os, timer);
    tl_account_release(&os->account, sizeof *timer);
    free(timer);
}

int64_t tl_sys_timer_delete(tl_thread *t, const uint64_t args[6]) {
    if (!timer_of(t, (int32_t)args[0]))
        return -EINVAL;
    interval_timer **at = &t->process->itimers->posix;
    while ((*at)->id != (int32_t)args[0])
        at = &(*at)->next;
    posix_free(t->os, at);
    return 0;
}

// ---- What processes ask.

void tl_time_process_exec(tl_process *p) {
    while (p->itimers && p->itimers->posix)
        posix_free(p->os, &p->itimers->posix);
}

void tl_time_process_done(tl_process *p) {
    tl_time_process_exec(p);
    for (int i = 0; p->itimers && i < 3; i++)
        disarm(p->os, &p->itimers->itimer[i]);
    free(p->itimers);
    p->itimers = NULL;
}
