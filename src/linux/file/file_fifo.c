// SPDX-License-Identifier: MIT
// Named pipes of the host. The host's descriptor never blocks. A thread that must wait sleeps as
// for a socket of the host. Other threads continue, and a signal ends the wait. Simulated time
// stands still while no other thread can run. Counts must not depend on the host program at the
// other end.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "linux/file/file_host.h"
#include "linux/file/file_system.h"

typedef struct fifo_file {
    tl_file base;
    int fd;       // -1: this end writes and the pipe has no reader yet
    int place_fd; // O_PATH, to try again; -1: not needed
} fifo_file;

static fifo_file *of(tl_file *file) { return (fifo_file *)file; }
static int fd_of(const tl_file *file) { return ((const fifo_file *)file)->fd; }
static const tl_file_ops host_fifo_ops;

bool tl_file_is_host_fifo(const tl_file *file) { return file->ops == &host_fifo_ops; }
int tl_host_fifo_fd(const tl_file *file) { return fd_of(file); }

static void fifo_close(tl_os *os, tl_file *file) {
    (void)os;
    if (of(file)->fd >= 0)
        close(of(file)->fd);
    if (of(file)->place_fd >= 0)
        close(of(file)->place_fd);
    free(file);
}

static int64_t fifo_read(tl_thread *t, tl_file *file, const tl_io *io) {
    for (;;) {
        ssize_t n = readv(fd_of(file), io->spans, io->n_spans);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return errno == EAGAIN ? -EAGAIN : tl_file_host_error(t->os, errno);
        if (tl_os_wants_stop(t->os))
            return -EINTR;
    }
}

static int64_t fifo_write(tl_thread *t, tl_file *file, const tl_io *io) {
    for (;;) {
        ssize_t n = tl_host_writev_quietly(fd_of(file), io->spans, io->n_spans);
        if (n >= 0)
            return n;
        if (errno == EPIPE)
            tl_signal_send_thread(t, SIGPIPE, NULL);
        if (errno != EINTR)
            return errno == EAGAIN ? -EAGAIN : tl_file_host_error(t->os, errno);
        if (tl_os_wants_stop(t->os))
            return -EINTR;
    }
}

static size_t fifo_available(tl_os *os, tl_file *file, uint64_t pos) {
    int n = 0;
    (void)os, (void)pos;
    return ioctl(fd_of(file), FIONREAD, &n) < 0 || n <= 0 ? TL_PAGE_BYTES : (size_t)n;
}

static uint32_t fifo_poll(tl_os *os, tl_file *file) {
    struct pollfd p = {.fd = fd_of(file), .events = POLLIN | POLLOUT};
    (void)os;
    if (poll(&p, 1, 0) <= 0)
        return 0;
    return (p.revents & POLLIN ? EPOLLIN | EPOLLRDNORM : 0u) | (p.revents & POLLOUT ? EPOLLOUT | EPOLLWRNORM : 0u) |
           (p.revents & POLLHUP ? (uint32_t)EPOLLHUP : 0u) | (p.revents & POLLERR ? (uint32_t)EPOLLERR : 0u);
}

static void fifo_wait(tl_thread *t, tl_file *file, uint32_t events) {
    tl_wait_on_host_fifo(t, file, (short)((events & EPOLLIN ? POLLIN : 0) | (events & EPOLLOUT ? POLLOUT : 0)), false);
}

static int64_t fifo_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    struct stat st;
    if (fstat(fd_of(file), &st) < 0)
        return tl_file_host_error(os, errno);
    tl_stat_of_host(os->file_system, &st, ret_stat);
    return 0;
}

static int64_t fifo_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    int n = 0;
    if (request != TL_FIONREAD || ioctl(fd_of(file), FIONREAD, &n) < 0)
        return -ENOTTY;
    return tl_vm_write(t->process, argument, &n, sizeof(int32_t)) ? 0 : -EFAULT;
}

static const tl_file_ops host_fifo_ops = {
    .kind = "a named pipe of the host",
    .close = fifo_close,
    .read = fifo_read,
    .write = fifo_write,
    .available = fifo_available,
    .poll = fifo_poll,
    .wait = fifo_wait,
    .stat = fifo_stat,
    .ioctl = fifo_ioctl,
    .link_name = "pipe",
    .is_stream = true,
    .is_pollable = true,
};

int64_t tl_host_fifo_open(tl_os *os, const tl_place *place, uint32_t flags, tl_file **ret_file) {
    struct stat st;
    const tl_path_env *env = &os->file_system->env;
    bool may_wait = (flags & TL_O_ACCMODE) == TL_O_WRONLY && !(flags & TL_O_NONBLOCK);
    int64_t fd = tl_place_open(env, place, (int)(flags & TL_O_ACCMODE) | O_NOCTTY | O_NONBLOCK, 0), place_fd = -1;
    if (fd == -ENXIO && may_wait)
        place_fd = tl_place_open(env, place, O_PATH, 0);
    if (fd < 0 && place_fd < 0)
        return tl_file_host_error(os, (int)-fd);
    fifo_file *f = NULL;
    int64_t error = -ENOMEM;
    // Another file took the name since the last stat.
    if (fstat((int)(fd >= 0 ? fd : place_fd), &st) < 0 || !S_ISFIFO(st.st_mode))
        error = -EAGAIN;
    else
        f = tl_file_new(os, sizeof *f, &host_fifo_ops, flags);
    if (!f) {
        close((int)(fd >= 0 ? fd : place_fd));
        return error;
    }
    f->fd = (int)(fd >= 0 ? fd : -1);
    f->place_fd = (int)place_fd;
    f->base.device = tl_device_number(os->file_system, st.st_dev);
    f->base.inode = tl_inode_number(os->file_system, st.st_dev, st.st_ino);
    tl_file_set_path(os, &f->base, place->path);
    *ret_file = &f->base;
    return 0;
}

// Only a pipe without a writer reads as ended. tee() into a private pipe tests that without
// consuming bytes.
static bool has_writer(const tl_file *file) {
    struct pollfd p = {.fd = fd_of(file), .events = POLLIN};
    int ends[2];
    if (poll(&p, 1, 0) > 0 && p.revents & (POLLIN | POLLHUP))
        return true;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    ssize_t n = tee(fd_of(file), ends[1], 1, SPLICE_F_NONBLOCK);
    bool result = n > 0 || (n < 0 && errno == EAGAIN);
    close(ends[0]);
    close(ends[1]);
    return result;
}

bool tl_host_fifo_is_open(tl_file *file) {
    if ((file->flags & TL_O_ACCMODE) == TL_O_RDONLY)
        return has_writer(file);
    if (of(file)->fd < 0) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", of(file)->place_fd);
        of(file)->fd = open(link, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    }
    return of(file)->fd >= 0;
}
