// SPDX-License-Identifier: MIT
// Pipes and named pipes: a ring of bytes with two counted ends. Writes of up to PIPE_BUF bytes are
// all or nothing, as POSIX asks. A named pipe is a node in a host directory, but its bytes stay in
// here. Only programs of this machine meet in it.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "linux/file/file_system.h"

enum { DEFAULT_BYTES = 65536, ATOMIC_BYTES = 4096, MOST_BYTES = 1 << 20 };

struct tl_pipe {
    tl_poll_head head;
    uint32_t n_refs; // ends, and openers that wait
    uint32_t n_readers, n_writers;
    uint64_t readers_seen, writers_seen; // opened ever: an opener waits for the next one
    uint8_t *bytes;
    size_t capacity, at, n; // ring
    uint64_t inode;
    tl_fifo *fifo; // NULL: anonymous
};

typedef struct pipe_end {
    tl_file base;
    tl_pipe *pipe;
    uint64_t partners_before; // opened on the other side before this end was
} pipe_end;

static const tl_file_ops pipe_ops;

static tl_pipe *pipe_of(const tl_file *file) { return ((const pipe_end *)file)->pipe; }
bool tl_file_is_pipe(const tl_file *file) { return file->ops == &pipe_ops; }

static tl_pipe *pipe_new(tl_os *os) {
    tl_pipe *pipe = tl_account_charge(&os->account, sizeof *pipe) ? calloc(1, sizeof *pipe) : NULL;
    if (!pipe)
        return NULL;
    pipe->capacity = DEFAULT_BYTES;
    pipe->inode = os->file_system->next_anonymous++;
    return pipe;
}

static void fifo_free(tl_os *os, tl_fifo *fifo) {
    tl_fifo **at = &os->file_system->fifos;
    while (*at != fifo)
        at = &(*at)->next;
    *at = fifo->next;
    tl_account_release(&os->account, sizeof *fifo);
    free(fifo);
}

static void pipe_unref(tl_os *os, tl_pipe *pipe) {
    if (--pipe->n_refs > 0)
        return;
    tl_poll_head_done(os, &pipe->head);
    if (pipe->fifo) {
        pipe->fifo->pipe = NULL;
        if (pipe->fifo->is_removed)
            fifo_free(os, pipe->fifo);
    }
    tl_account_release(&os->account, sizeof *pipe + (pipe->bytes ? pipe->capacity : 0));
    free(pipe->bytes);
    free(pipe);
}

static tl_file *end_new(tl_os *os, tl_pipe *pipe, uint32_t flags) {
    pipe_end *end = tl_file_new(os, sizeof *end, &pipe_ops, flags);
    if (!end)
        return NULL;
    end->pipe = pipe;
    end->base.head = &pipe->head;
    end->base.device = pipe->fifo ? pipe->fifo->device : tl_device_pipe();
    end->base.inode = pipe->fifo ? pipe->fifo->inode : pipe->inode;
    end->partners_before = tl_file_may_read(&end->base) ? pipe->writers_seen : pipe->readers_seen;
    pipe->n_refs++;
    pipe->n_readers += tl_file_may_read(&end->base);
    pipe->n_writers += tl_file_may_write(&end->base);
    pipe->readers_seen += tl_file_may_read(&end->base);
    pipe->writers_seen += tl_file_may_write(&end->base);
    return &end->base;
}

int64_t tl_pipe_open(tl_os *os, uint32_t flags, tl_file **ret_read, tl_file **ret_write) {
    tl_pipe *pipe = pipe_new(os);
    if (!pipe)
        return -ENOMEM;
    pipe->n_refs++;
    tl_file *reader = end_new(os, pipe, TL_O_RDONLY | flags), *writer = reader ? end_new(os, pipe, TL_O_WRONLY | flags) : NULL;
    pipe->n_refs--;
    if (!writer) {
        if (reader) {
            tl_file_unref(os, reader);
        } else {
            pipe->n_refs = 1;
            pipe_unref(os, pipe);
        }
        return -ENOMEM;
    }
    *ret_read = reader;
    *ret_write = writer;
    return 0;
}

static void pipe_close(tl_os *os, tl_file *file) {
    tl_pipe *pipe = pipe_of(file);
    pipe->n_readers -= tl_file_may_read(file);
    pipe->n_writers -= tl_file_may_write(file);
    tl_poll_notify(os, &pipe->head, EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLERR);
    if (pipe->n_readers == 0 && pipe->n_writers == 0)
        pipe->n = 0;
    pipe_unref(os, pipe);
    free(file);
}

// The ring as at most two stretches: `skip` bytes into what is held (or, for free room, past it).
static size_t stretch(const tl_pipe *pipe, size_t skip, size_t n, size_t *ret_at) {
    size_t at = (pipe->at + skip) % pipe->capacity;
    *ret_at = at;
    return pipe->capacity - at < n ? pipe->capacity - at : n;
}

static bool has_ring(tl_os *os, tl_pipe *pipe) {
    if (!pipe->bytes && tl_account_charge(&os->account, pipe->capacity)) {
        pipe->bytes = malloc(pipe->capacity);
        if (!pipe->bytes)
            tl_account_release(&os->account, pipe->capacity);
    }
    return pipe->bytes != NULL;
}

static size_t room(const tl_pipe *pipe) { return pipe->capacity - pipe->n; }

static int64_t pipe_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_pipe *pipe = pipe_of(file);
    if (io->n_wanted == 0)
        return 0;
    if (pipe->n == 0)
        return pipe->n_writers ? -EAGAIN : 0;
    size_t n = io->n_bytes < pipe->n ? io->n_bytes : pipe->n;
    for (size_t done = 0; done < n;) {
        size_t at, part = stretch(pipe, done, n - done, &at);
        done += tl_io_scatter_at(io, done, pipe->bytes + at, part);
    }
    pipe->at = (pipe->at + n) % pipe->capacity;
    pipe->n -= n;
    tl_poll_notify(t->os, &pipe->head, EPOLLOUT);
    return (int64_t)n;
}

static int64_t pipe_write(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_pipe *pipe = pipe_of(file);
    if (pipe->n_readers == 0) {
        tl_signal_send_thread(t, SIGPIPE, NULL);
        return -EPIPE;
    }
    if (io->n_bytes == 0)
        return 0;
    if (!has_ring(t->os, pipe))
        return -ENOMEM;
    if (room(pipe) == 0 || (io->n_bytes <= ATOMIC_BYTES && room(pipe) < io->n_bytes))
        return -EAGAIN;
    size_t n = io->n_bytes < room(pipe) ? io->n_bytes : room(pipe);
    for (size_t done = 0; done < n;) {
        size_t at, part = stretch(pipe, pipe->n + done, n - done, &at);
        done += tl_io_gather(io, done, pipe->bytes + at, part);
    }
    pipe->n += n;
    tl_poll_notify(t->os, &pipe->head, EPOLLIN);
    return (int64_t)n;
}

int64_t tl_pipe_move(tl_os *os, tl_file *from_file, tl_file *to_file, size_t n, bool keeps) {
    tl_pipe *from = pipe_of(from_file), *to = pipe_of(to_file);
    if (from == to)
        return -EINVAL;
    if (to->n_readers == 0)
        return -EPIPE;
    if (from->n == 0)
        return from->n_writers ? -EAGAIN : 0;
    if (room(to) == 0)
        return -EAGAIN;
    if (!has_ring(os, to))
        return -ENOMEM;
    n = n < from->n ? n : from->n;
    n = n < room(to) ? n : room(to);
    for (size_t done = 0; done < n;) {
        size_t source, target, part = stretch(from, done, n - done, &source);
        part = stretch(to, to->n + done, part, &target);
        memcpy(to->bytes + target, from->bytes + source, part);
        done += part;
    }
    to->n += n;
    tl_poll_notify(os, &to->head, EPOLLIN);
    if (!keeps) {
        from->at = (from->at + n) % from->capacity;
        from->n -= n;
        tl_poll_notify(os, &from->head, EPOLLOUT);
    }
    return (int64_t)n;
}

static size_t pipe_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)pos;
    return pipe_of(file)->n;
}

static uint32_t pipe_poll(tl_os *os, tl_file *file) {
    const tl_pipe *pipe = pipe_of(file);
    uint32_t events = 0;
    (void)os;
    if (tl_file_may_read(file)) {
        events |= pipe->n ? EPOLLIN | EPOLLRDNORM : 0u;
        // No hang-up before the first.
        bool had_writer = !pipe->fifo || pipe->writers_seen != ((const pipe_end *)file)->partners_before;
        events |= pipe->n_writers == 0 && had_writer ? (uint32_t)EPOLLHUP : 0u;
    }
    if (tl_file_may_write(file)) {
        events |= room(pipe) >= ATOMIC_BYTES ? EPOLLOUT | EPOLLWRNORM : 0u;
        events |= pipe->n_readers == 0 ? (uint32_t)EPOLLERR : 0u;
    }
    return events;
}

int64_t tl_pipe_resize(tl_os *os, tl_file *file, uint64_t n_bytes) {
    tl_pipe *pipe = pipe_of(file);
    if (n_bytes == 0)
        return (int64_t)pipe->capacity;
    if (n_bytes > MOST_BYTES)
        return n_bytes > INT32_MAX ? -EINVAL : -EPERM;
    size_t capacity = TL_PAGE_BYTES;
    while (capacity < n_bytes)
        capacity *= 2;
    if (capacity < pipe->n)
        return -EBUSY;
    uint64_t before = pipe->bytes ? pipe->capacity : 0;
    uint8_t *bytes = tl_account_charge(&os->account, capacity) ? malloc(capacity) : NULL;
    if (!bytes)
        return -ENOMEM;
    tl_account_release(&os->account, before);
    for (size_t done = 0; done < pipe->n;) {
        size_t at, part = stretch(pipe, done, pipe->n - done, &at);
        memcpy(bytes + done, pipe->bytes + at, part);
        done += part;
    }
    free(pipe->bytes);
    pipe->bytes = bytes;
    pipe->at = 0;
    bool has_grown = capacity > pipe->capacity;
    pipe->capacity = capacity;
    if (has_grown)
        tl_poll_notify(os, &pipe->head, EPOLLOUT);
    return (int64_t)capacity;
}

static int64_t pipe_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_stat_anonymous(os, file, S_IFIFO | 0600, ret_stat);
    return 0;
}

static int64_t pipe_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    int32_t n = (int32_t)pipe_of(file)->n;
    if (request != TL_FIONREAD)
        return -ENOTTY;
    return tl_vm_write(t->process, argument, &n, sizeof n) ? 0 : -EFAULT;
}

static const tl_file_ops pipe_ops = {
    .kind = "a pipe",
    .close = pipe_close,
    .read = pipe_read,
    .write = pipe_write,
    .available = pipe_available,
    .poll = pipe_poll,
    .stat = pipe_stat,
    .ioctl = pipe_ioctl,
    .link_name = "pipe",
    .is_stream = true,
    .is_pollable = true,
};

// ---- Named pipes.

static tl_fifo *fifo_of(const tl_os *os, uint64_t device, uint64_t inode) {
    for (tl_fifo *fifo = os->file_system->fifos; fifo; fifo = fifo->next)
        if (fifo->device == device && fifo->inode == inode)
            return fifo;
    return NULL;
}

bool tl_fifo_is_ours(const tl_os *os, uint64_t device, uint64_t inode) { return fifo_of(os, device, inode) != NULL; }

int64_t tl_fifo_register(tl_os *os, uint64_t device, uint64_t inode) {
    if (fifo_of(os, device, inode))
        return 0;
    tl_fifo *fifo = tl_account_charge(&os->account, sizeof *fifo) ? calloc(1, sizeof *fifo) : NULL;
    if (!fifo)
        return -ENOMEM;
    *fifo = (tl_fifo){.next = os->file_system->fifos, .device = device, .inode = inode};
    os->file_system->fifos = fifo;
    return 0;
}

void tl_fifo_removed(tl_os *os, uint64_t device, uint64_t inode) {
    tl_fifo *fifo = fifo_of(os, device, inode);
    if (fifo && fifo->pipe)
        fifo->is_removed = true;
    else if (fifo)
        fifo_free(os, fifo);
}

// An opener that must wait already counts as reader or writer, so that the other side's open finds
// it.
int64_t tl_fifo_open(tl_os *os, uint64_t device, uint64_t inode, const char *path, uint32_t flags, tl_file **ret_file, bool *ret_waits) {
    tl_fifo *fifo = fifo_of(os, device, inode);
    if (!fifo)
        return -ENXIO;
    bool reads = (flags & TL_O_ACCMODE) != TL_O_WRONLY, writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY;
    tl_pipe *pipe = fifo->pipe;
    bool is_alone = !pipe || (reads ? pipe->n_writers == 0 : pipe->n_readers == 0);
    if (!reads && is_alone && flags & TL_O_NONBLOCK)
        return -ENXIO;
    if (!pipe) {
        pipe = pipe_new(os);
        if (!pipe)
            return -ENOMEM;
        pipe->fifo = fifo;
        fifo->pipe = pipe;
    }
    pipe->n_refs++;
    tl_file *file = end_new(os, pipe, flags);
    pipe_unref(os, pipe);
    if (!file)
        return -ENOMEM;
    tl_file_set_path(os, file, path);
    tl_poll_notify(os, &pipe->head, EPOLLIN | EPOLLOUT);
    *ret_file = file;
    *ret_waits = is_alone && !(flags & TL_O_NONBLOCK) && !(reads && writes);
    return 0;
}

bool tl_fifo_has_partner(const tl_file *file) {
    const tl_pipe *pipe = pipe_of(file);
    return (tl_file_may_read(file) ? pipe->writers_seen : pipe->readers_seen) != ((const pipe_end *)file)->partners_before;
}

int64_t tl_pipe_reopen(tl_os *os, tl_file *file, uint32_t flags, tl_file **ret_file) {
    *ret_file = end_new(os, pipe_of(file), flags);
    return *ret_file ? 0 : -ENOMEM;
}
