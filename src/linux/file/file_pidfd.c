// SPDX-License-Identifier: MIT
// Descriptors of processes: readable when the process has ended.
#include <signal.h>
#include <stdlib.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"

typedef struct pid_file {
    tl_file base;
    int32_t pid;
} pid_file;

static int32_t pid_of(const tl_file *file) { return ((const pid_file *)file)->pid; }

static void pid_close(tl_os *os, tl_file *file) {
    (void)os;
    free(file);
}

static uint32_t pid_poll(tl_os *os, tl_file *file) {
    const tl_process *p = tl_process_find(os, pid_of(file));
    return !p || p->is_zombie ? EPOLLIN | EPOLLRDNORM : 0u;
}

static void pid_wait(tl_thread *t, tl_file *file, uint32_t events) {
    tl_process *p = tl_process_find(t->os, pid_of(file));
    (void)events;
    if (p)
        tl_wait_on(t, p->parent ? &p->parent->child_wait : &p->child_wait, "a process to end (pidfd)");
}

static const tl_file_ops pid_ops = {
    .kind = "a pidfd",
    .close = pid_close,
    .poll = pid_poll,
    .wait = pid_wait,
    .link_name = "anon_inode:[pidfd]",
    .is_stream = true,
    .is_pollable = true,
};

int32_t tl_pidfd_install(tl_thread *t, int32_t pid, bool is_nonblock) {
    pid_file *f = tl_file_new(t->os, sizeof *f, &pid_ops, TL_O_RDWR | (is_nonblock ? TL_O_NONBLOCK : 0u));
    if (!f)
        return -ENOMEM;
    f->pid = pid;
    return tl_fd_install(t, &f->base, true, 0);
}

int32_t tl_pidfd_pid(const tl_file *file) { return file->ops == &pid_ops ? pid_of(file) : -EBADF; }

int64_t tl_sys_pidfd_open(tl_thread *t, const uint64_t args[6]) {
    int32_t pid = (int32_t)args[0];
    if (pid <= 0 || args[1] & ~(uint64_t)TL_O_NONBLOCK)
        return -EINVAL;
    if (!tl_process_find(t->os, pid))
        return tl_thread_find(t->os, pid) ? -EINVAL : -ESRCH;
    return tl_pidfd_install(t, pid, args[1] & TL_O_NONBLOCK);
}

int64_t tl_sys_pidfd_send_signal(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    int32_t signal = (int32_t)args[1];
    tl_siginfo info = {.signo = signal, .code = SI_USER};
    info.pid = t->process->pid;
    info.uid = TL_UID;
    if (args[3])
        return -EINVAL;
    if (!file || tl_pidfd_pid(file) < 0)
        return -EBADF;
    if (signal < 0 || signal > TL_N_SIGNALS)
        return -EINVAL;
    if (args[2]) {
        if (!tl_vm_read(t->process, args[2], &info, sizeof info))
            return -EFAULT;
        if (info.signo != signal)
            return -EINVAL;
        if ((info.code >= 0 || info.code == SI_TKILL) && tl_pidfd_pid(file) != t->process->pid)
            return -EPERM;
    }
    tl_process *p = tl_process_find(t->os, tl_pidfd_pid(file));
    if (!p || p->is_zombie)
        return -ESRCH;
    if (signal)
        tl_signal_send_process(p, signal, &info);
    return 0;
}
