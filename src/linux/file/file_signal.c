// SPDX-License-Identifier: MIT
// signalfd: reads take pending signals of the thread that reads.
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"

typedef struct signal_file {
    tl_file base;
    uint64_t mask;
} signal_file;

static signal_file *of(tl_file *file) { return (signal_file *)file; }

static void signal_close(tl_os *os, tl_file *file) {
    (void)os;
    free(file);
}

static void fill(const tl_siginfo *from, struct signalfd_siginfo *to) {
    memset(to, 0, sizeof *to);
    to->ssi_signo = (uint32_t)from->signo;
    to->ssi_errno = from->error;
    to->ssi_code = from->code;
    if (from->code == SI_TIMER) {
        to->ssi_tid = (uint32_t)from->pid;
        to->ssi_overrun = from->uid;
        to->ssi_ptr = from->value;
        to->ssi_int = from->status;
    } else if (from->code > 0 && (from->signo == SIGSEGV || from->signo == SIGBUS || from->signo == SIGILL || from->signo == SIGFPE ||
                                  from->signo == SIGTRAP)) {
        to->ssi_addr = from->addr;
    } else if (from->code > 0 && from->signo == SIGIO) {
        to->ssi_band = (uint32_t)from->band;
        to->ssi_fd = from->fd;
    } else {
        to->ssi_pid = (uint32_t)from->pid;
        to->ssi_uid = from->uid;
        if (from->signo == SIGCHLD && from->code > 0) {
            to->ssi_status = from->status;
            to->ssi_utime = (uint64_t)from->utime;
            to->ssi_stime = (uint64_t)from->stime;
        } else {
            to->ssi_ptr = from->value;
            to->ssi_int = from->status;
        }
    }
}

static int64_t signal_read(tl_thread *t, tl_file *file, const tl_io *io) {
    size_t done = 0;
    if (io->n_bytes < sizeof(struct signalfd_siginfo))
        return -EINVAL;
    while (io->n_bytes - done >= sizeof(struct signalfd_siginfo)) {
        tl_siginfo info;
        struct signalfd_siginfo out;
        if (!tl_signal_take(t, of(file)->mask, &info))
            break;
        fill(&info, &out);
        tl_io_scatter_at(io, done, &out, sizeof out);
        done += sizeof out;
    }
    return done ? (int64_t)done : -EAGAIN;
}

static uint32_t signal_poll(tl_os *os, tl_file *file) {
    const tl_thread *t = os->hart ? os->hart->client : NULL; // the thread that polls
    return t && tl_signal_pending_mask(t) & of(file)->mask ? EPOLLIN | EPOLLRDNORM : 0u;
}

static void signal_wait(tl_thread *t, tl_file *file, uint32_t events) {
    (void)file, (void)events;
    tl_wait_on(t, &t->process->signal_wait, "a signal (signalfd)");
}

static const tl_file_ops signal_ops = {
    .kind = "a signalfd",
    .close = signal_close,
    .read = signal_read,
    .poll = signal_poll,
    .wait = signal_wait,
    .link_name = "anon_inode:[signalfd]",
    .is_stream = true,
    .is_pollable = true,
};

int64_t tl_sys_signalfd4(tl_thread *t, const uint64_t args[6]) {
    int32_t fd = (int32_t)args[0];
    uint32_t flags = (uint32_t)args[3];
    uint64_t mask;
    if (flags & ~(uint32_t)(TL_O_NONBLOCK | TL_O_CLOEXEC) || args[2] != sizeof mask)
        return -EINVAL;
    if (!tl_vm_read(t->process, args[1], &mask, sizeof mask))
        return -EFAULT;
    mask &= ~(tl_signal_bit(SIGKILL) | tl_signal_bit(SIGSTOP));
    if (fd != -1) {
        tl_file *file = tl_file_of_fd(t, fd);
        if (!file)
            return -EBADF;
        if (file->ops != &signal_ops)
            return -EINVAL;
        of(file)->mask = mask;
        return fd;
    }
    signal_file *f = tl_file_new(t->os, sizeof *f, &signal_ops, TL_O_RDWR | (flags & TL_O_NONBLOCK));
    if (!f)
        return -ENOMEM;
    f->mask = mask;
    return tl_fd_install(t, &f->base, flags & TL_O_CLOEXEC, 0);
}
