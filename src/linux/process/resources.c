// SPDX-License-Identifier: MIT
// Limits, usage and scheduling parameters. Scheduling itself is round robin (sched.c). Policies and
// priorities are kept and answered. They change nothing, as on a machine with nothing else to run.
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "linux/call/syscall.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/process/rusage.h"

// ---- Limits.

static int64_t change_limit(tl_process *p, uint64_t resource, const tl_rlimit *wanted) {
    tl_rlimit *limit = &p->limits[resource];
    if (wanted->soft > wanted->hard)
        return -EINVAL;
    if (wanted->hard > limit->hard)
        return -EPERM;
    *limit = *wanted;
    // Mappings stay below the room the stack had at the start.
    if (resource == RLIMIT_STACK && p->vm) {
        uint64_t room = TL_STACK_TOP - p->vm->mmap_top - TL_STACK_GUARD;
        p->vm->stack_limit_bytes = tl_align_up(wanted->soft < room ? wanted->soft : room, TL_PAGE_BYTES);
    }
    return 0;
}

int64_t tl_sys_prlimit64(tl_thread *t, const uint64_t args[6]) {
    tl_process *p = (int32_t)args[0] == 0 ? t->process : tl_process_find(t->os, (int32_t)args[0]);
    uint64_t resource = args[1];
    tl_rlimit wanted, old;
    if (resource >= TL_COUNT_OF(t->process->limits))
        return -EINVAL;
    if (!p)
        return -ESRCH;
    old = p->limits[resource];
    if (args[2]) {
        if (!tl_vm_read(t->process, args[2], &wanted, sizeof wanted))
            return -EFAULT;
        int64_t result = change_limit(p, resource, &wanted);
        if (result < 0)
            return result;
    }
    return !args[3] || tl_vm_write(t->process, args[3], &old, sizeof old) ? 0 : -EFAULT;
}

int64_t tl_sys_getrlimit(tl_thread *t, const uint64_t args[6]) {
    const uint64_t all[6] = {0, args[0], 0, args[1]};
    return args[1] ? tl_sys_prlimit64(t, all) : -EFAULT;
}

int64_t tl_sys_setrlimit(tl_thread *t, const uint64_t args[6]) {
    const uint64_t all[6] = {0, args[0], args[1], 0};
    return args[1] ? tl_sys_prlimit64(t, all) : -EFAULT;
}

// ---- Usage.

static void to_timeval(const tl_os *os, uint64_t cycles, int64_t time[2]) {
    uint64_t us = tl_os_cycles_to_ns(os, cycles) / 1000;
    time[0] = (int64_t)(us / 1000000);
    time[1] = (int64_t)(us % 1000000);
}

tl_guest_rusage tl_rusage_of_process(const tl_process *p, bool with_children) {
    tl_guest_rusage usage = {0};
    uint64_t user, system, resident = p->vm ? p->vm->max_resident_pages << TL_PAGE_LOG2 : 0;
    tl_process_times(p, &user, &system);
    to_timeval(p->os, user + (with_children ? p->child_user_cycles : 0), usage.user);
    to_timeval(p->os, system + (with_children ? p->child_system_cycles : 0), usage.system);
    usage.max_resident_kib = (int64_t)((resident > p->max_resident_bytes ? resident : p->max_resident_bytes) >> 10);
    usage.minor_faults = (int64_t)(p->minor_faults + (with_children ? p->child_minor_faults : 0));
    uint64_t voluntary = p->voluntary_switches, involuntary = p->involuntary_switches;
    for (const tl_thread *t = p->threads; t; t = t->next_in_process) {
        voluntary += t->voluntary_switches;
        involuntary += t->involuntary_switches;
    }
    usage.voluntary_switches = (int64_t)voluntary;
    usage.involuntary_switches = (int64_t)involuntary;
    return usage;
}

int64_t tl_sys_getrusage(tl_thread *t, const uint64_t args[6]) {
    enum { CHILDREN = -1, SELF = 0, THREAD = 1 };
    const tl_process *p = t->process;
    tl_guest_rusage usage = {0};
    uint64_t user, system;
    switch ((int)args[0]) {
    case SELF: usage = tl_rusage_of_process(p, false); break;
    case CHILDREN:
        to_timeval(t->os, p->child_user_cycles, usage.user);
        to_timeval(t->os, p->child_system_cycles, usage.system);
        usage.minor_faults = (int64_t)p->child_minor_faults;
        usage.max_resident_kib = (int64_t)(p->child_max_resident_bytes >> 10);
        break;
    case THREAD:
        tl_thread_times(t, &user, &system);
        usage = tl_rusage_of_process(p, false);
        to_timeval(t->os, user, usage.user);
        to_timeval(t->os, system, usage.system);
        usage.voluntary_switches = (int64_t)t->voluntary_switches;
        usage.involuntary_switches = (int64_t)t->involuntary_switches;
        break;
    default: return -EINVAL;
    }
    return tl_vm_write(t->process, args[1], &usage, sizeof usage) ? 0 : -EFAULT;
}

int64_t tl_sys_times(tl_thread *t, const uint64_t args[6]) {
    const uint64_t ns_per_tick = 10000000;
    const tl_process *p = t->process;
    uint64_t user, system;
    tl_process_times(p, &user, &system);
    int64_t ticks[4] = {(int64_t)(tl_os_cycles_to_ns(t->os, user) / ns_per_tick),
                        (int64_t)(tl_os_cycles_to_ns(t->os, system) / ns_per_tick),
                        (int64_t)(tl_os_cycles_to_ns(t->os, p->child_user_cycles) / ns_per_tick),
                        (int64_t)(tl_os_cycles_to_ns(t->os, p->child_system_cycles) / ns_per_tick)};
    if (args[0] && !tl_vm_write(t->process, args[0], ticks, sizeof ticks))
        return -EFAULT;
    return (int64_t)(tl_os_now_ns(t->os) / ns_per_tick);
}

// ---- Scheduling.

static tl_thread *thread_or_self(tl_thread *t, uint64_t tid) { return (int32_t)tid == 0 ? t : tl_thread_find(t->os, (int32_t)tid); }

int64_t tl_sys_sched_yield(tl_thread *t, const uint64_t args[6]) {
    (void)args;
    t->is_yielding = true;
    return 0;
}

int64_t tl_sys_sched_getaffinity(tl_thread *t, const uint64_t args[6]) {
    const tl_thread *of = thread_or_self(t, args[0]);
    if (args[1] < 8 || (args[1] & 7))
        return -EINVAL;
    if (!of)
        return -ESRCH;
    return tl_vm_write(t->process, args[2], &of->affinity, sizeof of->affinity) ? 8 : -EFAULT;
}

int64_t tl_sys_sched_setaffinity(tl_thread *t, const uint64_t args[6]) {
    tl_thread *of = thread_or_self(t, args[0]);
    uint64_t mask = 0;
    if (!of)
        return -ESRCH;
    if (!tl_vm_read(t->process, args[2], &mask, args[1] < sizeof mask ? (size_t)args[1] : sizeof mask))
        return -EFAULT;
    mask &= (UINT64_C(1) << t->os->machine->n_harts) - 1;
    if (mask == 0)
        return -EINVAL;
    of->affinity = mask;
    if (of != t) // the caller itself moves when its call is done
        tl_sched_place(of);
    return 0;
}

int64_t tl_sys_getcpu(tl_thread *t, const uint64_t args[6]) {
    static const uint32_t node = 0;
    if (args[0] && !tl_vm_write(t->process, args[0], &t->hart->id, sizeof t->hart->id))
        return -EFAULT;
    return !args[1] || tl_vm_write(t->process, args[1], &node, sizeof node) ? 0 : -EFAULT;
}

static bool is_policy(int64_t policy) {
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE || policy == SCHED_FIFO || policy == SCHED_RR;
}

static bool is_realtime(int64_t policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

static int64_t set_policy(tl_thread *of, int64_t policy, int64_t priority) {
    if (!of)
        return -ESRCH;
    if (!is_policy(policy) || (is_realtime(policy) ? priority < 1 || priority > 99 : priority != 0))
        return -EINVAL;
    if (is_realtime(policy))
        return -EPERM; // an unprivileged user may not
    of->policy = (int32_t)policy;
    of->priority = (int32_t)priority;
    return 0;
}

int64_t tl_sys_sched_setscheduler(tl_thread *t, const uint64_t args[6]) {
    int32_t priority;
    enum { RESET_ON_FORK = 0x40000000 };
    if ((int32_t)args[0] < 0 || !args[2])
        return -EINVAL;
    if (!tl_vm_read(t->process, args[2], &priority, sizeof priority))
        return -EFAULT;
    return set_policy(thread_or_self(t, args[0]), (int32_t)args[1] & ~RESET_ON_FORK, priority);
}

int64_t tl_sys_sched_setparam(tl_thread *t, const uint64_t args[6]) {
    int32_t priority;
    tl_thread *of = thread_or_self(t, args[0]);
    if ((int32_t)args[0] < 0 || !args[1])
        return -EINVAL;
    if (!tl_vm_read(t->process, args[1], &priority, sizeof priority))
        return -EFAULT;
    return set_policy(of, of ? of->policy : 0, priority);
}

int64_t tl_sys_sched_getscheduler(tl_thread *t, const uint64_t args[6]) {
    const tl_thread *of = thread_or_self(t, args[0]);
    return (int32_t)args[0] < 0 ? -EINVAL : of ? of->policy : -ESRCH;
}

int64_t tl_sys_sched_getparam(tl_thread *t, const uint64_t args[6]) {
    const tl_thread *of = thread_or_self(t, args[0]);
    if ((int32_t)args[0] < 0 || !args[1])
        return -EINVAL;
    if (!of)
        return -ESRCH;
    return tl_vm_write(t->process, args[1], &of->priority, sizeof of->priority) ? 0 : -EFAULT;
}

int64_t tl_sys_sched_get_priority_max(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return !is_policy((int32_t)args[0]) ? -EINVAL : is_realtime((int32_t)args[0]) ? 99 : 0;
}

int64_t tl_sys_sched_get_priority_min(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return !is_policy((int32_t)args[0]) ? -EINVAL : is_realtime((int32_t)args[0]) ? 1 : 0;
}

int64_t tl_sys_sched_rr_get_interval(tl_thread *t, const uint64_t args[6]) {
    uint64_t ns = tl_os_cycles_to_ns(t->os, t->os->machine->config.os.slice_cycles);
    int64_t interval[2] = {(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000)};
    if ((int32_t)args[0] < 0)
        return -EINVAL;
    if (!thread_or_self(t, args[0]))
        return -ESRCH;
    return tl_vm_write(t->process, args[1], interval, sizeof interval) ? 0 : -EFAULT;
}

typedef struct guest_sched_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} guest_sched_attr;

int64_t tl_sys_sched_setattr(tl_thread *t, const uint64_t args[6]) {
    guest_sched_attr attr = {0};
    if (!args[1] || (int32_t)args[0] < 0 || args[2])
        return -EINVAL;
    if (!tl_vm_read(t->process, args[1], &attr.size, sizeof attr.size))
        return -EFAULT;
    uint32_t size = attr.size ? attr.size : sizeof attr;
    if (size < sizeof attr)
        return -E2BIG;
    if (!tl_vm_read(t->process, args[1], &attr, sizeof attr))
        return -EFAULT;
    tl_thread *of = thread_or_self(t, args[0]);
    int64_t result = set_policy(of, attr.policy, attr.priority);
    if (result == 0)
        of->nice = attr.nice;
    return result;
}

int64_t tl_sys_sched_getattr(tl_thread *t, const uint64_t args[6]) {
    const tl_thread *of = thread_or_self(t, args[0]);
    if (!args[1] || (int32_t)args[0] < 0 || args[2] < sizeof(guest_sched_attr) || args[3])
        return -EINVAL;
    if (!of)
        return -ESRCH;
    guest_sched_attr attr = {.size = sizeof attr, .policy = (uint32_t)of->policy, .nice = of->nice, .priority = (uint32_t)of->priority};
    return tl_vm_write(t->process, args[1], &attr, sizeof attr) ? 0 : -EFAULT;
}

// ---- Nice values: of a process, a group or a user.

static bool is_meant(const tl_thread *t, const tl_thread *self, int which, int32_t who) {
    switch (which) {
    case PRIO_PROCESS: return who ? t->tid == who : t == self;
    case PRIO_PGRP: return t->process->pgid == (who ? who : self->process->pgid);
    default: return who == 0 || who == TL_UID;
    }
}

static int64_t priority_call(tl_thread *self, const uint64_t args[6], bool is_set) {
    int which = (int)args[0];
    int64_t wanted = (int32_t)args[2], result = -ESRCH;
    if (which < PRIO_PROCESS || which > PRIO_USER)
        return -EINVAL;
    wanted = wanted < -20 ? -20 : wanted > 19 ? 19 : wanted;
    for (tl_process *p = tl_process_first(self->os); p; p = p->next)
        for (tl_thread *t = p->threads; t; t = t->next_in_process) {
            if (!is_meant(t, self, which, (int32_t)args[1]))
                continue;
            if (!is_set) {
                if (20 - t->nice > result)
                    result = 20 - t->nice;
            } else if (wanted < t->nice) {
                result = -EACCES;
            } else {
                t->nice = (int32_t)wanted;
                result = result == -ESRCH ? 0 : result;
            }
        }
    return result;
}

int64_t tl_sys_getpriority(tl_thread *t, const uint64_t args[6]) { return priority_call(t, args, false); }
int64_t tl_sys_setpriority(tl_thread *t, const uint64_t args[6]) { return priority_call(t, args, true); }
