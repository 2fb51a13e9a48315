// SPDX-License-Identifier: MIT
#include "linux/process/clock.h"

#include <time.h>

#include "linux/call/syscall.h"

enum { COARSE_NS = 4000000, CPU_CLOCK_THREAD = 4, CPU_CLOCK_KIND = 3 };

static bool cpu_clock_of(const tl_thread *t, int32_t id, tl_clock *ret_clock) {
    int32_t owner = ~(id >> 3);
    bool is_thread = id & CPU_CLOCK_THREAD, is_user = (id & CPU_CLOCK_KIND) == 1;
    if ((id & CPU_CLOCK_KIND) == 3) // a clock given by a descriptor
        return false;
    if (is_thread) {
        if (owner && !tl_thread_find(t->os, owner))
            return false;
        *ret_clock = (tl_clock){.kind = is_user ? TL_CLOCK_THREAD_USER : TL_CLOCK_THREAD_CPU, .id = owner ? owner : t->tid};
        return true;
    }
    if (owner && !tl_process_find(t->os, owner))
        return false;
    *ret_clock = (tl_clock){.kind = is_user ? TL_CLOCK_PROCESS_USER : TL_CLOCK_PROCESS_CPU, .id = owner ? owner : t->process->pid};
    return true;
}

bool tl_clock_of(const tl_thread *t, int32_t id, tl_clock *ret_clock) {
    *ret_clock = (tl_clock){.kind = TL_CLOCK_MONOTONIC};
    if (id < 0)
        return cpu_clock_of(t, id, ret_clock);
    switch (id) {
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: ret_clock->kind = TL_CLOCK_REALTIME; break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: break;
    case CLOCK_PROCESS_CPUTIME_ID: *ret_clock = (tl_clock){.kind = TL_CLOCK_PROCESS_CPU, .id = t->process->pid}; break;
    case CLOCK_THREAD_CPUTIME_ID: *ret_clock = (tl_clock){.kind = TL_CLOCK_THREAD_CPU, .id = t->tid}; break;
    default: return false;
    }
    ret_clock->is_coarse = id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE;
    return true;
}

uint64_t tl_clock_cpu_cycles(const tl_os *os, const tl_clock *clock) {
    uint64_t user = 0, system = 0;
    bool is_user = clock->kind == TL_CLOCK_PROCESS_USER || clock->kind == TL_CLOCK_THREAD_USER;
    if (clock->kind == TL_CLOCK_PROCESS_CPU || clock->kind == TL_CLOCK_PROCESS_USER) {
        const tl_process *p = tl_process_find(os, clock->id);
        if (p)
            tl_process_times(p, &user, &system);
    } else {
        const tl_thread *t = tl_thread_find(os, clock->id);
        if (t)
            tl_thread_times(t, &user, &system);
    }
    return is_user ? user : user + system;
}

uint64_t tl_clock_ns(const tl_os *os, const tl_clock *clock) {
    if (tl_clock_is_cpu(clock))
        return tl_os_cycles_to_ns(os, tl_clock_cpu_cycles(os, clock));
    return tl_os_now_ns(os) + (clock->kind == TL_CLOCK_REALTIME ? TL_REALTIME_START_S * TL_NS_PER_S : 0);
}

static bool counts(const tl_clock *clock, const tl_thread *t) {
    bool is_process = clock->kind == TL_CLOCK_PROCESS_CPU || clock->kind == TL_CLOCK_PROCESS_USER;
    return (is_process ? t->process->pid : t->tid) == clock->id;
}

uint64_t tl_clock_cpu_due(const tl_os *os, const tl_clock *clock, uint64_t cycles) {
    uint64_t now = tl_clock_cpu_cycles(os, clock), nows[TL_MAX_HARTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < os->machine->n_harts; i++) {
        const tl_hart *h = os->machine->harts[i];
        if (h->client && counts(clock, h->client))
            nows[n++] = h->now;
    }
    if (n == 0 || cycles == UINT64_MAX)
        return UINT64_MAX;
    uint64_t left = cycles > now ? cycles - now : 0, due;
    bool is_changed;
    do { // harts ahead of the wanted cycle have already counted
        unsigned __int128 sum = left;
        for (uint32_t i = 0; i < n; i++)
            sum += nows[i];
        due = (uint64_t)((sum + n - 1) / n);
        is_changed = false;
        // A hart at the wanted cycle counts nothing before that cycle.
        for (uint32_t i = 0; i < n && n > 1; i++)
            if (nows[i] >= due) {
                nows[i--] = nows[--n];
                is_changed = true;
            }
    } while (is_changed);
    return due;
}

uint64_t tl_next_expiry(uint64_t expiry_ns, uint64_t interval_ns, uint64_t n) {
    uint64_t passed;
    return __builtin_mul_overflow(n, interval_ns, &passed) ? UINT64_MAX : tl_add_saturated(expiry_ns, passed);
}

int64_t tl_timespec_ns(const tl_abi_timespec *ts, uint64_t *ret_ns) {
    if (ts->seconds < 0 || ts->ns < 0 || ts->ns >= TL_NS_PER_S)
        return -EINVAL;
    uint64_t ns;
    if (__builtin_mul_overflow((uint64_t)ts->seconds, UINT64_C(1000000000), &ns) || __builtin_add_overflow(ns, (uint64_t)ts->ns, &ns))
        ns = UINT64_MAX;
    *ret_ns = ns;
    return 0;
}

int64_t tl_read_timespec(tl_process *p, uint64_t vaddr, uint64_t *ret_ns) {
    tl_abi_timespec ts;
    return tl_vm_read(p, vaddr, &ts, sizeof ts) ? tl_timespec_ns(&ts, ret_ns) : -EFAULT;
}

int64_t tl_read_timeval(tl_process *p, uint64_t vaddr, uint64_t *ret_ns) {
    tl_abi_timeval tv;
    if (!tl_vm_read(p, vaddr, &tv, sizeof tv))
        return -EFAULT;
    if (tv.us < 0 || tv.us >= 1000000)
        return -EINVAL;
    return tl_timespec_ns(&(tl_abi_timespec){.seconds = tv.seconds, .ns = tv.us * 1000}, ret_ns);
}

uint64_t tl_timeout_ns(const tl_abi_timeval *tv) {
    uint64_t ns;
    return tl_timespec_ns(&(tl_abi_timespec){.seconds = tv->seconds, .ns = tv->us * 1000}, &ns) ? 1 : ns;
}

tl_abi_timespec tl_ns_timespec(uint64_t ns) {
    return (tl_abi_timespec){.seconds = (int64_t)(ns / TL_NS_PER_S), .ns = (int64_t)(ns % TL_NS_PER_S)};
}

void tl_set_deadline_after(tl_thread *t, uint64_t ns) {
    t->deadline = ns == UINT64_MAX ? TL_NO_DEADLINE : tl_os_deadline(t->os, ns / TL_NS_PER_S, ns % TL_NS_PER_S);
}

// ---- Calls.

static int64_t put_ns(tl_thread *t, uint64_t vaddr, uint64_t ns) {
    tl_abi_timespec ts = tl_ns_timespec(ns);
    return tl_vm_write(t->process, vaddr, &ts, sizeof ts) ? 0 : -EFAULT;
}

int64_t tl_sys_clock_gettime(tl_thread *t, const uint64_t args[6]) {
    tl_clock clock;
    if (!tl_clock_of(t, (int32_t)args[0], &clock))
        return -EINVAL;
    return put_ns(t, args[1], tl_clock_ns(t->os, &clock));
}

int64_t tl_sys_clock_getres(tl_thread *t, const uint64_t args[6]) {
    tl_clock clock;
    if (!tl_clock_of(t, (int32_t)args[0], &clock))
        return -EINVAL;
    return args[1] ? put_ns(t, args[1], clock.is_coarse ? COARSE_NS : 1) : 0;
}

int64_t tl_sys_clock_settime(tl_thread *t, const uint64_t args[6]) {
    uint64_t ns;
    int64_t error = tl_read_timespec(t->process, args[1], &ns);
    if (error)
        return error;
    return (int32_t)args[0] == CLOCK_REALTIME ? -EPERM : -EINVAL;
}

int64_t tl_sys_gettimeofday(tl_thread *t, const uint64_t args[6]) {
    struct timespec now = {.tv_sec = (int64_t)(TL_REALTIME_START_S + tl_os_now_ns(t->os) / TL_NS_PER_S),
                           .tv_nsec = (int64_t)(tl_os_now_ns(t->os) % TL_NS_PER_S)};
    tl_abi_timeval tv = {.seconds = now.tv_sec, .us = now.tv_nsec / 1000};
    int32_t zone[2] = {0, 0}; // UTC
    if (args[0] && !tl_vm_write(t->process, args[0], &tv, sizeof tv))
        return -EFAULT;
    if (args[1] && !tl_vm_write(t->process, args[1], zone, sizeof zone))
        return -EFAULT;
    return 0;
}

// Until t->deadline; `remaining_vaddr` gets what is left when a signal ends it.
static int64_t sleep_on(tl_thread *t, uint64_t remaining_vaddr, int64_t result_if_signal) {
    const tl_os *os = t->os;
    if (os->now >= t->deadline)
        return 0;
    if (tl_signal_is_deliverable(t) && remaining_vaddr) {
        int64_t error = put_ns(t, remaining_vaddr, tl_os_cycles_to_ns(os, t->deadline - os->now));
        if (error)
            return error;
    }
    tl_wait_only_deadline(t, "time to pass");
    return tl_sys_block(t, result_if_signal);
}

int64_t tl_sys_nanosleep(tl_thread *t, const uint64_t args[6]) {
    if (!t->is_retry) {
        uint64_t ns;
        int64_t error = tl_read_timespec(t->process, args[0], &ns);
        if (error)
            return error;
        tl_set_deadline_after(t, ns);
    }
    return sleep_on(t, args[1], -TL_ERESTART_RESTARTBLOCK);
}

int64_t tl_sys_clock_nanosleep(tl_thread *t, const uint64_t args[6]) {
    tl_clock clock;
    bool is_absolute = args[1] & TIMER_ABSTIME;
    if (!tl_clock_of(t, (int32_t)args[0], &clock) || (clock.kind == TL_CLOCK_THREAD_CPU && clock.id == t->tid))
        return -EINVAL;
    if (clock.kind != TL_CLOCK_MONOTONIC && clock.kind != TL_CLOCK_REALTIME)
        return -EOPNOTSUPP;
    if (clock.is_coarse)
        return -EOPNOTSUPP;
    if (!t->is_retry) {
        uint64_t ns;
        int64_t error = tl_read_timespec(t->process, args[2], &ns);
        if (error)
            return error;
        if (is_absolute)
            t->deadline = tl_os_absolute_deadline(t->os, clock.kind == TL_CLOCK_REALTIME, ns / TL_NS_PER_S, ns % TL_NS_PER_S);
        else
            tl_set_deadline_after(t, ns);
    }
    return is_absolute ? sleep_on(t, 0, -TL_ERESTARTNOHAND) : sleep_on(t, args[3], -TL_ERESTART_RESTARTBLOCK);
}
