// SPDX-License-Identifier: MIT
// eventfd: a counter to add to and to take from.
#include <stdlib.h>
#include <sys/eventfd.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"

typedef struct event_file {
    tl_file base;
    tl_poll_head head;
    uint64_t count;
    bool is_semaphore;
} event_file;

static event_file *of(tl_file *file) { return (event_file *)file; }

static void event_close(tl_os *os, tl_file *file) {
    tl_poll_head_done(os, &of(file)->head);
    free(file);
}

static int64_t event_read(tl_thread *t, tl_file *file, const tl_io *io) {
    event_file *f = of(file);
    if (io->n_bytes < sizeof f->count)
        return -EINVAL;
    if (f->count == 0)
        return -EAGAIN;
    uint64_t value = f->is_semaphore ? 1 : f->count;
    f->count -= value;
    tl_io_scatter(io, &value, sizeof value);
    tl_poll_notify(t->os, &f->head, EPOLLOUT);
    return sizeof value;
}

static int64_t event_write(tl_thread *t, tl_file *file, const tl_io *io) {
    event_file *f = of(file);
    uint64_t value;
    if (io->n_bytes < sizeof value)
        return -EINVAL;
    tl_io_gather(io, 0, &value, sizeof value);
    if (value == UINT64_MAX)
        return -EINVAL;
    if (value > UINT64_MAX - 1 - f->count)
        return -EAGAIN;
    f->count += value;
    tl_poll_notify(t->os, &f->head, EPOLLIN);
    return sizeof value;
}

static uint32_t event_poll(tl_os *os, tl_file *file) {
    (void)os;
    uint64_t count = of(file)->count;
    return (count ? EPOLLIN | EPOLLRDNORM : 0u) | (count < UINT64_MAX - 1 ? EPOLLOUT | EPOLLWRNORM : 0u);
}

static size_t event_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)file, (void)pos;
    return sizeof(uint64_t);
}

static const tl_file_ops event_ops = {
    .kind = "an eventfd",
    .close = event_close,
    .read = event_read,
    .write = event_write,
    .available = event_available,
    .poll = event_poll,
    .link_name = "anon_inode:[eventfd]",
    .is_stream = true,
    .is_pollable = true,
};

int64_t tl_sys_eventfd2(tl_thread *t, const uint64_t args[6]) {
    uint32_t flags = (uint32_t)args[1];
    if (flags & ~(uint32_t)(EFD_SEMAPHORE | TL_O_NONBLOCK | TL_O_CLOEXEC))
        return -EINVAL;
    event_file *f = tl_file_new(t->os, sizeof *f, &event_ops, TL_O_RDWR | (flags & TL_O_NONBLOCK));
    if (!f)
        return -ENOMEM;
    f->count = (uint32_t)args[0];
    f->is_semaphore = flags & EFD_SEMAPHORE;
    f->base.head = &f->head;
    return tl_fd_install(t, &f->base, flags & TL_O_CLOEXEC, 0);
}
