// SPDX-License-Identifier: MIT
// Ids of processes, groups, sessions and users; prctl. User and group ids are fixed and independent
// of the host user.
#include <string.h>
#include <sys/prctl.h>

#include "linux/call/syscall.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"

#define ANSWER(name, expression)                                  \
    int64_t tl_sys_##name(tl_thread *t, const uint64_t args[6]) { \
        (void)t;                                                  \
        (void)args;                                               \
        return expression;                                        \
    }
ANSWER(getpid, t->process->pid)
ANSWER(gettid, t->tid)
ANSWER(getppid, t->process->parent ? t->process->parent->pid : TL_INIT_PID)
ANSWER(getuid, TL_UID)
ANSWER(geteuid, TL_UID)
ANSWER(getgid, TL_GID)
ANSWER(getegid, TL_GID)
#undef ANSWER

// An unprivileged user may become what he is. -1 keeps.
static int64_t become(const uint64_t *ids, int n, uint32_t own, bool may_keep) {
    for (int i = 0; i < n; ++i) {
        uint32_t id = (uint32_t)ids[i];
        if (id != own && !(may_keep && id == UINT32_MAX))
            return id == UINT32_MAX ? -EINVAL : -EPERM;
    }
    return 0;
}

int64_t tl_sys_setuid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 1, TL_UID, false);
}
int64_t tl_sys_setgid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 1, TL_GID, false);
}
int64_t tl_sys_setreuid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 2, TL_UID, true);
}
int64_t tl_sys_setregid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 2, TL_GID, true);
}
int64_t tl_sys_setresuid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 3, TL_UID, true);
}
int64_t tl_sys_setresgid(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return become(args, 3, TL_GID, true);
}

static int64_t write_three(tl_thread *t, const uint64_t args[6], uint32_t id) {
    for (int i = 0; i < 3; ++i)
        if (!tl_vm_write(t->process, args[i], &id, sizeof id))
            return -EFAULT;
    return 0;
}
int64_t tl_sys_getresuid(tl_thread *t, const uint64_t args[6]) { return write_three(t, args, TL_UID); }
int64_t tl_sys_getresgid(tl_thread *t, const uint64_t args[6]) { return write_three(t, args, TL_GID); }

int64_t tl_sys_getgroups(tl_thread *t, const uint64_t args[6]) {
    static const uint32_t group = TL_GID;
    int32_t room = (int32_t)args[0];
    if (room < 0)
        return -EINVAL;
    if (room > 0 && !tl_vm_write(t->process, args[1], &group, sizeof group))
        return -EFAULT;
    return 1;
}
int64_t tl_sys_setgroups(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    (void)args;
    return -EPERM;
}

// ---- Groups and sessions.

static tl_process *process_or_self(tl_thread *t, uint64_t pid) {
    return (int32_t)pid == 0 ? t->process : tl_process_find(t->os, (int32_t)pid);
}

int64_t tl_sys_getpgid(tl_thread *t, const uint64_t args[6]) {
    const tl_process *p = process_or_self(t, args[0]);
    return p ? p->pgid : -ESRCH;
}

int64_t tl_sys_getsid(tl_thread *t, const uint64_t args[6]) {
    const tl_process *p = process_or_self(t, args[0]);
    return p ? p->sid : -ESRCH;
}

int64_t tl_sys_setpgid(tl_thread *t, const uint64_t args[6]) {
    tl_process *self = t->process, *p = process_or_self(t, args[0]);
    int32_t group = (int32_t)args[1];
    if (group < 0)
        return -EINVAL;
    if (!p || (p != self && p->parent != self))
        return -ESRCH;
    if (p != self && (p->sid != self->sid))
        return -EPERM;
    if (p != self && p->did_exec)
        return -EACCES;
    if (p->sid == p->pid) // a session leader
        return -EPERM;
    if (group == 0)
        group = p->pid;
    if (group != p->pid) {
        bool exists = false;
        for (const tl_process *other = tl_process_first(t->os); other; other = other->next)
            exists = exists || (other->pgid == group && other->sid == self->sid);
        if (!exists)
            return -EPERM;
    }
    p->pgid = group;
    return 0;
}

int64_t tl_sys_setsid(tl_thread *t, const uint64_t args[6]) {
    (void)args;
    tl_process *p = t->process;
    for (const tl_process *other = tl_process_first(t->os); other; other = other->next)
        if (other->pgid == p->pid)
            return -EPERM; // it leads a group
    p->sid = p->pgid = p->pid;
    return p->pid;
}

// ---- prctl

static int64_t get_name(tl_thread *t, uint64_t vaddr) { return tl_vm_write(t->process, vaddr, t->comm, sizeof t->comm) ? 0 : -EFAULT; }

static int64_t set_name(tl_thread *t, uint64_t vaddr) {
    char name[sizeof t->comm];
    int64_t n = tl_vm_read_string(t->process, vaddr, name, sizeof name - 1);
    if (n == -EFAULT)
        return n;
    memset(t->comm, 0, sizeof t->comm);
    memcpy(t->comm, name, n < 0 ? sizeof name - 1 : (size_t)n);
    tl_pev_note_comm(t, false);
    return 0;
}

int64_t tl_sys_prctl(tl_thread *t, const uint64_t args[6]) {
    tl_process *p = t->process;
    uint64_t value = args[1];
    int32_t number;
    switch ((int)args[0]) {
    case PR_SET_NAME: return set_name(t, value);
    case PR_GET_NAME: return get_name(t, value);
    case PR_SET_PDEATHSIG:
        if (value > TL_N_SIGNALS)
            return -EINVAL;
        t->parent_death_signal = value;
        return 0;
    case PR_GET_PDEATHSIG: number = (int32_t)t->parent_death_signal; return tl_vm_write(p, value, &number, sizeof number) ? 0 : -EFAULT;
    case PR_GET_DUMPABLE: return p->is_dumpable;
    case PR_SET_DUMPABLE:
        if (value > 1)
            return -EINVAL;
        p->is_dumpable = value == 1;
        return 0;
    case PR_SET_CHILD_SUBREAPER: p->is_subreaper = value != 0; return 0;
    case PR_GET_CHILD_SUBREAPER: number = p->is_subreaper; return tl_vm_write(p, value, &number, sizeof number) ? 0 : -EFAULT;
    case PR_SET_NO_NEW_PRIVS:
        if (value != 1 || args[2] || args[3] || args[4])
            return -EINVAL;
        p->has_no_new_privileges = true;
        return 0;
    case PR_GET_NO_NEW_PRIVS: return p->has_no_new_privileges;
    case PR_GET_KEEPCAPS: return 0;
    case PR_SET_KEEPCAPS: return value > 1 ? -EINVAL : 0;
    case PR_CAPBSET_READ: return value > 40 ? -EINVAL : 1;
    case PR_GET_SECCOMP: return 0;
    case PR_SET_TIMERSLACK: return 0;
    case PR_GET_TIMERSLACK: return 50000;
    case PR_GET_THP_DISABLE: return 0;
    case PR_SET_THP_DISABLE: return 0;
    case PR_GET_TID_ADDRESS: return tl_vm_write(p, value, &t->clear_child_tid, 8) ? 0 : -EFAULT;
    case PR_SET_PTRACER: return 0;
    case PR_TASK_PERF_EVENTS_DISABLE:
    case PR_TASK_PERF_EVENTS_ENABLE: tl_pev_switch_own(t, (int)args[0] == PR_TASK_PERF_EVENTS_ENABLE); return 0;
    default: return -EINVAL; // as a kernel without the feature
    }
}
