// SPDX-License-Identifier: MIT
// Birth and death of processes and threads. Ended threads are freed between events (os.c), so that
// a handler may end its own thread. The run ends when the first process ends. An orphan becomes a
// child of the nearest ancestor that is a subreaper. An orphan without such an ancestor has no
// parent: getppid returns 1, and the process vanishes when it ends.
#include "linux/process/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"
#include "linux/process/futex.h"

tl_process *tl_process_first(const tl_os *os) { return os->processes; }

tl_process *tl_process_find(const tl_os *os, int32_t pid) {
    for (tl_process *p = os->processes; p; p = p->next)
        if (p->pid == pid)
            return p;
    return NULL;
}

tl_thread *tl_thread_find(const tl_os *os, int32_t tid) {
    for (const tl_process *p = os->processes; p; p = p->next)
        for (tl_thread *t = p->threads; t; t = t->next_in_process)
            if (t->tid == tid)
                return t;
    return NULL;
}

void tl_process_times(const tl_process *p, uint64_t *ret_user_cycles, uint64_t *ret_system_cycles) {
    uint64_t user = p->user_cycles, system = p->system_cycles;
    for (const tl_thread *t = p->threads; t; t = t->next_in_process) {
        uint64_t thread_user, thread_system;
        tl_thread_times(t, &thread_user, &thread_system);
        user += thread_user;
        system += thread_system;
    }
    *ret_user_cycles = user;
    *ret_system_cycles = system;
}

static void set_default_limits(tl_process *p) {
    for (size_t i = 0; i < TL_COUNT_OF(p->limits); ++i)
        p->limits[i] = (tl_rlimit){RLIM64_INFINITY, RLIM64_INFINITY};
    p->limits[RLIMIT_STACK].soft = UINT64_C(8) << 20;
    p->limits[RLIMIT_CORE].soft = 0;
    p->limits[RLIMIT_NOFILE] = (tl_rlimit){1024, 4096};
    p->limits[RLIMIT_NPROC] = (tl_rlimit){32768, 32768};
    p->limits[RLIMIT_MEMLOCK] = (tl_rlimit){UINT64_C(8) << 20, UINT64_C(8) << 20};
    p->limits[RLIMIT_SIGPENDING] = (tl_rlimit){4096, 4096};
    p->limits[RLIMIT_MSGQUEUE] = (tl_rlimit){819200, 819200};
    p->limits[RLIMIT_NICE] = (tl_rlimit){0, 0};
    p->limits[RLIMIT_RTPRIO] = (tl_rlimit){0, 0};
}

enum { PROCESS_BYTES = sizeof(tl_process) + sizeof(tl_sigactions) + 4096 }; // with what it owns

tl_process *tl_process_new(tl_os *os, tl_process *parent) {
    tl_process *p = tl_account_charge(&os->account, PROCESS_BYTES) ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->os = os;
    p->pid = os->next_pid++;
    p->parent = parent;
    p->exit_signal = SIGCHLD;
    p->start_cycle = os->now;
    p->is_dumpable = true;
    if (parent) {
        p->pgid = parent->pgid;
        p->sid = parent->sid;
        memcpy(p->limits, parent->limits, sizeof p->limits);
        p->exe_path = parent->exe_path ? strdup(parent->exe_path) : NULL;
        p->exe_file = parent->exe_file ? tl_file_ref(parent->exe_file) : NULL;
        p->load_bias = parent->load_bias;
        p->arg_start = parent->arg_start;
        p->arg_end = parent->arg_end;
        p->env_start = parent->env_start;
        p->env_end = parent->env_end;
        p->auxv_start = parent->auxv_start;
        p->auxv_end = parent->auxv_end;
        p->is_dumpable = parent->is_dumpable;
        tl_process **link = &parent->first_child;
        while (*link)
            link = &(*link)->next_sibling;
        *link = p;
    } else {
        p->pgid = p->pid;
        p->sid = TL_INIT_PID;
        set_default_limits(p);
    }
    *(os->last_process ? &os->last_process->next : &os->processes) = p;
    os->last_process = p;
    return p;
}

tl_thread *tl_thread_new(tl_process *p, int32_t tid) {
    tl_thread *t = tl_account_charge(&p->os->account, TL_THREAD_BYTES) ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->os = p->os;
    t->process = p;
    t->tid = tid;
    t->state = TL_THREAD_STOPPED;
    t->deadline = TL_NO_DEADLINE;
    t->affinity = (UINT64_C(1) << p->os->machine->n_harts) - 1;
    t->last_hart = -1;
    tl_thread **link = &p->threads;
    while (*link)
        link = &(*link)->next_in_process;
    *link = t;
    ++p->n_threads;
    ++p->os->n_threads;
    return t;
}

// ---- Relations.

static void unlink_child(tl_process *child) {
    tl_process *parent = child->parent;
    if (!parent)
        return;
    tl_process **link = &parent->first_child;
    while (*link != child)
        link = &(*link)->next_sibling;
    *link = child->next_sibling;
    child->next_sibling = NULL;
    child->parent = NULL;
}

static tl_process *reaper_of(const tl_process *p) {
    for (tl_process *ancestor = p->parent; ancestor; ancestor = ancestor->parent)
        if (ancestor->is_subreaper && !ancestor->is_zombie && !ancestor->is_ending)
            return ancestor;
    return NULL;
}

static void give_children_away(tl_process *p) {
    tl_process *reaper = reaper_of(p);
    while (p->first_child) {
        tl_process *child = p->first_child;
        unlink_child(child);
        for (tl_thread *t = child->threads; t; t = t->next_in_process)
            if (t->parent_death_signal)
                tl_signal_send_thread(t, (int)t->parent_death_signal, NULL);
        if (reaper) {
            tl_process **link = &reaper->first_child;
            while (*link)
                link = &(*link)->next_sibling;
            *link = child;
            child->parent = reaper;
            child->exit_signal = SIGCHLD;
            if (child->is_zombie)
                tl_process_report_child(child, CLD_EXITED);
        } else if (child->is_zombie) {
            tl_process_reap(child);
        }
    }
}

static bool wants_no_zombies(const tl_process *parent) {
    const tl_sigaction *action = &parent->actions->action[SIGCHLD];
    return action->handler == (uint64_t)(uintptr_t)SIG_IGN || (action->flags & SA_NOCLDWAIT);
}

void tl_process_report_child(tl_process *child, int code) {
    tl_process *parent = child->parent;
    if (!parent)
        return;
    bool is_end = child->is_zombie;
    int status = child->exit_status;
    uint64_t user, system;
    tl_process_times(child, &user, &system);
    if (is_end)
        code = (status & 0x7f) == 0 ? CLD_EXITED : CLD_KILLED;
    tl_siginfo info = {
        .signo = SIGCHLD,
        .code = code,
        .pid = child->pid,
        .uid = TL_UID,
        .status = code == CLD_EXITED      ? status >> 8 & 0xff
                  : code == CLD_KILLED    ? status & 0x7f
                  : code == CLD_CONTINUED ? SIGCONT
                                          : child->stop_signal,
        .utime = (int64_t)(tl_os_cycles_to_ns(child->os, user) / 10000000),
        .stime = (int64_t)(tl_os_cycles_to_ns(child->os, system) / 10000000),
    };
    int signal = is_end ? child->exit_signal : SIGCHLD;
    bool is_wanted = is_end || !(parent->actions->action[SIGCHLD].flags & SA_NOCLDSTOP);
    if (signal && is_wanted) {
        info.signo = signal;
        tl_signal_send_process(parent, signal, &info);
    }
    tl_wake_all(child->os, &parent->child_wait);
}

void tl_process_vfork_done(tl_process *p) {
    p->is_vfork_child = false;
    tl_wake_all(p->os, &p->vfork_wait);
}

// ---- The end.

void tl_process_reap(tl_process *p) {
    tl_os *os = p->os;
    if (p->parent) {
        uint64_t user, system;
        tl_process_times(p, &user, &system);
        p->parent->child_user_cycles += user + p->child_user_cycles;
        p->parent->child_system_cycles += system + p->child_system_cycles;
        uint64_t resident = p->max_resident_bytes > p->child_max_resident_bytes ? p->max_resident_bytes : p->child_max_resident_bytes;
        if (resident > p->parent->child_max_resident_bytes)
            p->parent->child_max_resident_bytes = resident;
        p->parent->child_minor_faults += p->minor_faults + p->child_minor_faults;
    }
    unlink_child(p);
    tl_process **link = &os->processes;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    if (os->last_process == p) {
        os->last_process = os->processes;
        while (os->last_process && os->last_process->next)
            os->last_process = os->last_process->next;
    }
    tl_wait_queue_done(os, &p->child_wait);
    tl_wait_queue_done(os, &p->signal_wait);
    tl_wait_queue_done(os, &p->vfork_wait);
    tl_file_unref(os, p->exe_file);
    tl_vm_unref(p->vm);
    tl_sigactions_unref(p->actions);
    tl_signal_queue_done(&p->pending);
    tl_account_release(&os->account, PROCESS_BYTES);
    free(p->exe_path);
    free(p);
}

static void end_process(tl_process *p, int32_t wait_status) {
    tl_os *os = p->os;
    if (p->vm->max_resident_pages << TL_PAGE_LOG2 > p->max_resident_bytes)
        p->max_resident_bytes = p->vm->max_resident_pages << TL_PAGE_LOG2;
    p->is_ending = true;
    tl_time_process_done(p);
    tl_vm_unref(p->vm);
    p->vm = NULL;
    tl_file_unref(os, p->exe_file);
    p->exe_file = NULL;
    tl_signal_queue_done(&p->pending);
    tl_process_vfork_done(p);
    give_children_away(p);
    p->is_zombie = true;
    p->exit_status = wait_status;
    if (tl_os_is_first(p)) {
        tl_os_first_ended(p, wait_status);
        return;
    }
    tl_process *parent = p->parent;
    if (parent)
        tl_process_report_child(p, CLD_EXITED);
    if (!parent || (p->exit_signal == SIGCHLD && wants_no_zombies(parent)))
        tl_process_reap(p);
}

void tl_thread_end(tl_thread *t) {
    tl_process *p = t->process;
    tl_os *os = p->os;
    int32_t status = p->is_ending ? p->exit_status : p->last_thread_status;
    tl_futex_thread_done(t);
    tl_wait_forget(t);
    if (os->perf)
        tl_pev_note_exit(t);
    tl_sched_remove(t);
    tl_pev_thread_done(t);
    tl_files_unref(os, t->files);
    tl_fs_unref(os, t->fs);
    t->files = NULL;
    t->fs = NULL;
    tl_signal_queue_done(&t->pending);
    p->user_cycles += t->user_cycles;
    p->system_cycles += t->system_cycles;
    p->voluntary_switches += t->voluntary_switches;
    p->involuntary_switches += t->involuntary_switches;
    tl_thread **link = &p->threads;
    while (*link != t)
        link = &(*link)->next_in_process;
    *link = t->next_in_process;
    --p->n_threads;
    --os->n_threads;
    tl_account_release(&os->account, TL_THREAD_BYTES);
    t->next_in_process = os->dead;
    os->dead = t;
    if (p->n_threads == 0)
        end_process(p, status);
}

void tl_process_end(tl_process *p, int32_t wait_status) {
    if (p->is_ending || p->is_zombie)
        return;
    p->is_ending = true;
    p->exit_status = wait_status;
    if (tl_os_is_first(p))
        tl_os_compose_end(p, wait_status); // while there is something to say about it
    // The others first, the leader last: its end is the end of the process.
    while (p->n_threads > 1)
        tl_thread_end(p->threads->next_in_process);
    tl_thread_end(p->threads);
}

void tl_process_free_all(tl_os *os) {
    for (tl_process *p = os->processes; p; p = p->next) {
        while (p->threads) {
            tl_thread *t = p->threads;
            p->threads = t->next_in_process;
            tl_pev_forget(t);
            tl_wait_forget(t);
            tl_files_unref(os, t->files);
            tl_fs_unref(os, t->fs);
            tl_signal_queue_done(&t->pending);
            if (t->hart)
                t->hart->client = NULL;
            free(t);
        }
        tl_time_process_done(p);
    }
    os->sched = (tl_sched){0};
    os->busy_harts = 0;
    while (os->processes) {
        os->processes->first_child = NULL; // relations do not matter any more
        os->processes->parent = NULL;
        tl_process_reap(os->processes);
    }
}
