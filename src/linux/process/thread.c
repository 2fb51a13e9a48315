// SPDX-License-Identifier: MIT
// System calls that make and end threads and processes: clone, exit, exit_group.
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "linux/call/syscall.h"
#include "linux/file/fd.h"
#include "linux/isa.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"

enum { LOADER_FAILED = 127 }; // its exit status

static const uint64_t KNOWN_FLAGS = CSIGNAL | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | CLONE_PARENT |
                                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |
                                    CLONE_DETACHED | CLONE_CHILD_SETTID | CLONE_PIDFD | CLONE_PTRACE | CLONE_UNTRACED | CLONE_IO;

static int64_t check_flags(uint64_t flags) {
    if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
        return -EINVAL;
    if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
        return -EINVAL;
    if ((flags & CLONE_PIDFD) && (flags & (CLONE_THREAD | CLONE_PARENT_SETTID | CLONE_DETACHED)))
        return -EINVAL;
    if (flags & (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
        return -EPERM; // the result for an unprivileged user
    return flags & ~KNOWN_FLAGS ? -EINVAL : 0;
}

// Shares or copies parts of `t` for the new thread. false: no memory; the parts that the thread got
// are freed with the thread.
static bool inherit(tl_thread *child, const tl_thread *t, uint64_t flags) {
    const tl_hart *h = t->hart;
    memcpy(child->comm, t->comm, sizeof child->comm);
    tl_os_isa_of(t->os)->save(h, &child->registers);
    child->pc = h->pc;
    child->blocked = t->blocked;
    child->affinity = t->affinity;
    child->nice = t->nice;
    child->policy = t->policy;
    // A thread of its own space has no alternate stack.
    if (!(flags & CLONE_VM) || (flags & CLONE_VFORK)) {
        child->altstack_vaddr = t->altstack_vaddr;
        child->altstack_bytes = t->altstack_bytes;
        child->altstack_flags = t->altstack_flags;
    }
    child->files = flags & CLONE_FILES ? tl_files_ref(t->files) : tl_files_copy(t->os, t->files);
    child->fs = flags & CLONE_FS ? tl_fs_ref(t->fs) : tl_fs_copy(t->os, t->fs);
    return child->files && child->fs && (!t->perf_events || tl_pev_inherit(child, t, flags & CLONE_THREAD));
}

static tl_process *new_process(tl_thread *t, uint64_t flags) {
    tl_os *os = t->os;
    tl_process *from = t->process;
    tl_process *p = tl_process_new(os, flags & CLONE_PARENT ? from->parent : from);
    if (!p)
        return NULL;
    p->context = from->context;
    if (flags & CLONE_PARENT) { // a sibling: still a copy of its maker
        p->pgid = from->pgid;
        p->sid = from->sid;
        memcpy(p->limits, from->limits, sizeof p->limits);
    }
    p->granted_pmus = from->granted_pmus;
    p->exit_signal = (int32_t)(flags & CSIGNAL);
    p->vm = flags & CLONE_VM ? tl_vm_ref(from->vm) : tl_vm_fork(from->vm);
    if (flags & CLONE_SIGHAND) {
        p->actions = from->actions;
        ++p->actions->n_refs;
    } else {
        p->actions = tl_sigactions_new();
        if (p->actions)
            memcpy(p->actions->action, from->actions->action, sizeof p->actions->action);
    }
    p->is_vfork_child = (flags & CLONE_VFORK) != 0;
    return p;
}

// The maker of a vfork child waits until the child needs the address space no longer.
static int64_t wait_for_vfork(tl_thread *t, int32_t pid) {
    tl_process *child = tl_process_find(t->os, pid);
    if (!child || !child->is_vfork_child)
        return pid;
    t->retry[0] = (uint64_t)pid;
    t->is_uninterruptible = true;
    tl_wait_on(t, &child->vfork_wait, "its vfork child");
    return tl_sys_block(t, -TL_ERESTARTNOINTR);
}

int64_t tl_sys_clone(tl_thread *t, const uint64_t args[6]) {
    tl_os *os = t->os;
    uint64_t flags = args[0], stack = args[1], parent_tid = args[2], tls = args[3], child_tid = args[4];
    if (t->is_retry)
        return wait_for_vfork(t, (int32_t)t->retry[0]);
    int64_t result = check_flags(flags);
    if (result < 0)
        return result;
    tl_process *p = t->process;
    if (os->n_threads >= p->limits[RLIMIT_NPROC].soft || os->next_pid >= INT32_MAX - 1)
        return -EAGAIN;
    if (!(flags & CLONE_THREAD)) {
        p = new_process(t, flags);
        if (!p)
            return -ENOMEM;
    }
    tl_thread *child = p->vm && p->actions ? tl_thread_new(p, flags & CLONE_THREAD ? os->next_pid++ : p->pid) : NULL;
    if (!child || !inherit(child, t, flags)) {
        if (child) {
            p->threads = flags & CLONE_THREAD ? p->threads : NULL;
            for (tl_thread **link = &p->threads; *link; link = &(*link)->next_in_process)
                if (*link == child) {
                    *link = child->next_in_process;
                    break;
                }
            --p->n_threads;
            --os->n_threads;
            tl_files_unref(os, child->files);
            tl_fs_unref(os, child->fs);
            tl_account_release(&os->account, TL_THREAD_BYTES);
            free(child);
        }
        if (p != t->process)
            tl_process_reap(p);
        return -ENOMEM;
    }
    if (flags & CLONE_PIDFD) {
        int32_t fd = tl_pidfd_install(t, p->pid, false);
        (void)tl_vm_write(t->process, parent_tid, &fd, sizeof fd);
    }
    tl_os_isa_of(os)->fork(&child->registers, stack, flags & CLONE_SETTLS, tls);
    if (flags & CLONE_CHILD_CLEARTID)
        child->clear_child_tid = child_tid;
    if (flags & CLONE_PARENT_SETTID)
        (void)tl_vm_write(t->process, parent_tid, &child->tid, sizeof child->tid);
    if (flags & CLONE_CHILD_SETTID)
        (void)tl_vm_write(p, child_tid, &child->tid, sizeof child->tid);
    tl_os_count(os, flags & CLONE_THREAD ? TL_S_OS_CLONE : TL_S_OS_FORK, 1);
    if (os->perf)
        tl_pev_note_fork(t, child);
    tl_sched_ready(child);
    if (flags & CLONE_VFORK)
        return wait_for_vfork(t, p->pid);
    return child->tid;
}

int64_t tl_sys_exit(tl_thread *t, const uint64_t args[6]) {
    t->process->last_thread_status = (int32_t)(args[0] & 0xff) << 8;
    if (t->process->n_threads == 1)
        tl_process_end(t->process, t->process->last_thread_status);
    else
        tl_thread_end(t);
    return 0;
}

// Warns how to provide a missing library, because the guest's dynamic loader prints only the
// library's name.
static void explain_loader(tl_thread *t) {
    const tl_vma *code = tl_vm_find(t->process->vm, t->hart->pc);
    const char *path = code && code->file ? tl_file_path(code->file) : "";
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *const *loader = tl_os_isa_of(t->os)->loaders;
    while (*loader && strncmp(name, *loader, strlen(*loader)) != 0)
        loader++;
    if (*loader)
        tl_os_warn(t->os, "the dynamic loader gave up and said why; a library that it lacks can lie in the lib folder of --sysroot DIR, "
                          "or be named with --env LD_LIBRARY_PATH=DIR");
}

int64_t tl_sys_exit_group(tl_thread *t, const uint64_t args[6]) {
    if ((args[0] & 0xff) == LOADER_FAILED)
        explain_loader(t);
    tl_process_end(t->process, (int32_t)(args[0] & 0xff) << 8);
    return 0;
}
