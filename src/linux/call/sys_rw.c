// SPDX-License-Identifier: MIT
// Bytes in and out: read, write and their kin, and the calls that move bytes between two
// descriptors.
//
// Files receive guest memory as host vectors of at most one batch of pages. A regular file takes
// batches until the call is done. A read of a stream returns at most one batch. A blocking write
// continues across sleeps until all bytes are out. A read touches only pages that receive bytes,
// because page faults must equal those of a real kernel.
#include <stdlib.h>
#include <string.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/rw.h"
#include "linux/process/clock.h"

// Bytes of a regular file between two polls of wants_stop.
enum { MAX_SPANS = TL_IOV_MAX, BATCH_BYTES = 8 << 20 };
enum { RWF_KNOWN = 0x1f, RWF_NONBLOCK = 8, RWF_APPENDING = 16 };

typedef struct transfer {
    tl_thread *t;
    tl_file *file;
    const tl_abi_iovec *vectors;
    uint32_t n_vectors;
    uint64_t total; // sum of all lengths, clipped to what a call may move
    bool is_write, is_nonblock, is_append;
    uint64_t *pos; // NULL: a stream
} transfer;

int64_t tl_file_block(tl_thread *t, tl_file *file, uint32_t events, uint64_t timeout_ns, uint64_t n_done) {
    int64_t result = n_done ? (int64_t)n_done : -EAGAIN;
    if (!t->is_retry && timeout_ns)
        tl_set_deadline_after(t, timeout_ns);
    if (tl_deadline_has_passed(t))
        return result;
    t->retry[0] = n_done;
    tl_file_wait(t, file, events);
    return tl_sys_block(t, n_done ? (int64_t)n_done : -TL_ERESTARTSYS);
}

int tl_iov_spans(tl_process *p, const tl_abi_iovec *vectors, uint32_t n_vectors, uint64_t skip, uint64_t max, bool fills,
                 struct iovec *spans, size_t *ret_bytes) {
    int n = 0;
    size_t covered = 0;
    for (uint32_t i = 0; i < n_vectors && n < MAX_SPANS && covered < max; i++) {
        uint64_t length = vectors[i].n_bytes;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        uint64_t wanted = length - skip < max - covered ? length - skip : max - covered;
        size_t got = 0;
        n += tl_vm_spans(p, vectors[i].vaddr + skip, wanted, fills, spans + n, MAX_SPANS - n, &got);
        covered += got;
        if (got < wanted)
            break;
        skip = 0;
    }
    *ret_bytes = covered;
    return n;
}

static int64_t run(const transfer *x) {
    tl_thread *t = x->t;
    tl_os *os = t->os;
    tl_file *file = x->file;
    const tl_file_ops *ops = file->ops;
    bool is_stream = !x->pos;
    uint64_t done = is_stream && t->is_retry ? t->retry[0] : 0;
    struct iovec spans[MAX_SPANS];
    if (x->is_write ? !ops->write : !ops->read)
        return -EINVAL;
    for (;;) {
        uint64_t max = x->total - done;
        tl_io io = {.spans = spans, .n_wanted = (size_t)max, .pos = x->pos, .is_append = x->is_append, .is_nonblock = x->is_nonblock};
        if (!x->is_write && ops->available && max > 0) {
            size_t available = ops->available(os, file, x->pos ? *x->pos : 0);
            max = max < available ? max : available;
        }
        bool is_end = !is_stream && !x->is_write && max < x->total - done; // of the file
        if (!is_stream && max > BATCH_BYTES) {
            max = BATCH_BYTES;
            is_end = false;
        }
        io.n_spans = max ? tl_iov_spans(t->process, x->vectors, x->n_vectors, done, max, !x->is_write, spans, &io.n_bytes) : 0;
        if (max && io.n_spans == 0)
            return done ? (int64_t)done : -EFAULT;
        int64_t n = x->is_write ? ops->write(t, file, &io) : ops->read(t, file, &io);
        if (ops->wait)
            tl_epoll_used(file, x->is_write ? EPOLLOUT : EPOLLIN);
        if (n == -EAGAIN) {
            if (x->is_nonblock)
                return done ? (int64_t)done : -EAGAIN;
            return tl_file_block(t, file, x->is_write ? EPOLLOUT : EPOLLIN, x->is_write ? file->write_timeout_ns : file->read_timeout_ns,
                                 done);
        }
        if (n < 0)
            return done ? (int64_t)done : n;
        done += (uint64_t)n;
        tl_os_count(os, x->is_write ? TL_S_OS_WRITE_BYTES : TL_S_OS_READ_BYTES, (uint64_t)n);
        if (done >= x->total || n == 0)
            return (int64_t)done;
        if (is_stream ? !x->is_write || ops->is_message : (size_t)n < io.n_bytes)
            return (int64_t)done;
        if (is_end || (!is_stream && tl_os_wants_stop(os)))
            return (int64_t)done;
    }
}

// The file of a descriptor, checked for a transfer. 0 or a negative error number.
static int64_t begin(tl_thread *t, int32_t fd, bool is_write, transfer *x) {
    tl_file *file = tl_file_of_fd(t, fd);
    *x = (transfer){.t = t, .file = file, .is_write = is_write};
    if (!file || (is_write ? !tl_file_may_write(file) : !tl_file_may_read(file)))
        return -EBADF;
    x->is_nonblock = file->flags & TL_O_NONBLOCK;
    x->is_append = file->flags & TL_O_APPEND;
    x->pos = file->ops->is_stream ? NULL : &file->pos;
    return 0;
}

static int64_t at_offset(transfer *x, uint64_t *offset) {
    if ((int64_t)*offset < 0)
        return -EINVAL;
    if (!x->pos)
        return -ESPIPE;
    x->pos = offset;
    return 0;
}

static int64_t simple(tl_thread *t, const uint64_t args[6], bool is_write, uint64_t *offset) {
    transfer x;
    tl_abi_iovec vector = {.vaddr = args[1], .n_bytes = args[2] < TL_MAX_RW_BYTES ? args[2] : TL_MAX_RW_BYTES};
    int64_t error = offset && (int64_t)*offset < 0 ? -EINVAL : begin(t, (int32_t)args[0], is_write, &x);
    if (!error && (int64_t)args[2] < 0)
        error = -EINVAL;
    if (!error && offset)
        error = at_offset(&x, offset);
    if (error)
        return error;
    x.vectors = &vector;
    x.n_vectors = 1;
    x.total = vector.n_bytes;
    return run(&x);
}

int64_t tl_sys_read(tl_thread *t, const uint64_t args[6]) { return simple(t, args, false, NULL); }
int64_t tl_sys_write(tl_thread *t, const uint64_t args[6]) { return simple(t, args, true, NULL); }

int64_t tl_sys_pread64(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return simple(t, args, false, &offset);
}

int64_t tl_sys_pwrite64(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return simple(t, args, true, &offset);
}

int64_t tl_read_iov(tl_process *p, uint64_t vaddr, uint64_t n, tl_abi_iovec *to, uint64_t *ret_total) {
    uint64_t total = 0;
    if (n > TL_IOV_MAX)
        return -EINVAL;
    if (n && !tl_vm_read(p, vaddr, to, n * sizeof *to))
        return -EFAULT;
    for (uint64_t i = 0; i < n; i++) {
        if ((int64_t)to[i].n_bytes < 0)
            return -EINVAL;
        if (to[i].n_bytes > TL_MAX_RW_BYTES - total)
            to[i].n_bytes = TL_MAX_RW_BYTES - total;
        total += to[i].n_bytes;
    }
    *ret_total = total;
    return 0;
}

static int64_t vectored(tl_thread *t, const uint64_t args[6], bool is_write, uint64_t *offset, uint32_t flags) {
    transfer x;
    tl_abi_iovec vectors[TL_IOV_MAX];
    int64_t error = begin(t, (int32_t)args[0], is_write, &x);
    if (!error && flags & ~(uint32_t)RWF_KNOWN)
        error = -EOPNOTSUPP;
    if (!error && offset)
        error = at_offset(&x, offset);
    if (!error)
        error = tl_read_iov(t->process, args[1], args[2], vectors, &x.total);
    if (error)
        return error;
    x.vectors = vectors;
    x.n_vectors = (uint32_t)args[2];
    x.is_nonblock |= flags & RWF_NONBLOCK;
    x.is_append |= flags & RWF_APPENDING;
    return run(&x);
}

int64_t tl_sys_readv(tl_thread *t, const uint64_t args[6]) { return vectored(t, args, false, NULL, 0); }
int64_t tl_sys_writev(tl_thread *t, const uint64_t args[6]) { return vectored(t, args, true, NULL, 0); }

int64_t tl_sys_preadv(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return vectored(t, args, false, &offset, 0);
}

int64_t tl_sys_pwritev(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return vectored(t, args, true, &offset, 0);
}

int64_t tl_sys_preadv2(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return vectored(t, args, false, offset == UINT64_MAX ? NULL : &offset, (uint32_t)args[5]);
}

int64_t tl_sys_pwritev2(tl_thread *t, const uint64_t args[6]) {
    uint64_t offset = args[3];
    return vectored(t, args, true, offset == UINT64_MAX ? NULL : &offset, (uint32_t)args[5]);
}

// ---- Between descriptors: through a buffer of ours, one chunk at a time.

enum { COPY_BYTES = 65536, MOST_COPY_BYTES = 64 << 20 }; // programs go on after a short count

static int64_t copy_chunk(tl_thread *t, tl_file *from, uint64_t *from_pos, tl_file *to, uint64_t *to_pos, size_t n) {
    uint8_t bytes[COPY_BYTES];
    struct iovec span = {.iov_base = bytes, .iov_len = n < sizeof bytes ? n : sizeof bytes};
    tl_io in = {.spans = &span, .n_spans = 1, .n_bytes = span.iov_len, .n_wanted = span.iov_len, .pos = from_pos};
    uint64_t before = from_pos ? *from_pos : 0;
    int64_t got = from->ops->read(t, from, &in);
    if (got <= 0)
        return got;
    span.iov_len = (size_t)got;
    tl_io out = {
        .spans = &span, .n_spans = 1, .n_bytes = (size_t)got, .n_wanted = (size_t)got, .pos = to_pos, .is_append = to->flags & TL_O_APPEND};
    int64_t put = to->ops->write(t, to, &out);
    if (from_pos && put < got) // bytes that were not taken are read again
        *from_pos = before + (put > 0 ? (uint64_t)put : 0);
    return put;
}

// Sends from a file with a position to any file. A blocking target is waited for.
static int64_t send(tl_thread *t, tl_file *from, uint64_t *from_pos, tl_file *to, uint64_t *to_pos, uint64_t n, bool is_nonblock) {
    uint64_t done = t->is_retry ? t->retry[0] : 0;
    n = n < MOST_COPY_BYTES ? n : MOST_COPY_BYTES;
    while (done < n) {
        size_t part = n - done < COPY_BYTES ? (size_t)(n - done) : COPY_BYTES;
        int64_t moved = copy_chunk(t, from, from_pos, to, to_pos, part);
        if (moved == -EAGAIN && !is_nonblock)
            return tl_file_block(t, to, EPOLLOUT, to->write_timeout_ns, done);
        if (moved < 0)
            return done ? (int64_t)done : moved;
        if (moved == 0)
            break;
        done += (uint64_t)moved;
        if (tl_os_wants_stop(t->os))
            break;
    }
    return (int64_t)done;
}

// True when the file holds bytes and not events.
static bool is_of_bytes(const tl_file *file) {
    return !file->ops->is_stream || tl_file_is_pipe(file) || tl_file_is_socket(file) || tl_file_host_fd(file) >= 0;
}

static int64_t get_offset(tl_thread *t, uint64_t vaddr, uint64_t *ret_offset) {
    if (!tl_vm_read(t->process, vaddr, ret_offset, sizeof *ret_offset))
        return -EFAULT;
    return (int64_t)*ret_offset < 0 ? -EINVAL : 0;
}

static int64_t put_offset(tl_thread *t, uint64_t vaddr, uint64_t offset, int64_t result) {
    return !vaddr || tl_vm_write(t->process, vaddr, &offset, sizeof offset) ? result : -EFAULT;
}

static uint64_t clip(uint64_t n) { return n < TL_MAX_RW_BYTES ? n : TL_MAX_RW_BYTES; }

int64_t tl_sys_sendfile(tl_thread *t, const uint64_t args[6]) {
    tl_file *to = tl_file_of_fd(t, (int32_t)args[0]), *from = tl_file_of_fd(t, (int32_t)args[1]);
    if (!to || !from || !tl_file_may_read(from) || !tl_file_may_write(to))
        return -EBADF;
    if (from->ops->is_stream || !from->ops->read || !to->ops->write || !is_of_bytes(to) || to->flags & TL_O_APPEND)
        return -EINVAL;
    uint64_t offset = from->pos;
    int64_t error = args[2] ? get_offset(t, args[2], &offset) : 0;
    if (error)
        return error;
    uint64_t *to_pos = to->ops->is_stream ? NULL : &to->pos;
    uint64_t own = offset;
    int64_t result = send(t, from, args[2] ? &own : &from->pos, to, to_pos, clip(args[3]), to->flags & TL_O_NONBLOCK);
    if (args[2] && own != offset) // also before a sleep, because the retry continues at this offset
        return put_offset(t, args[2], own, result);
    return result;
}

int64_t tl_sys_copy_file_range(tl_thread *t, const uint64_t args[6]) {
    tl_file *from = tl_file_of_fd(t, (int32_t)args[0]), *to = tl_file_of_fd(t, (int32_t)args[2]);
    if (!to || !from || !tl_file_may_read(from) || !tl_file_may_write(to) || to->flags & TL_O_APPEND)
        return -EBADF;
    if (from->dir || to->dir)
        return -EISDIR;
    if (args[5] || !from->ops->pread || !to->ops->pwrite)
        return -EINVAL;
    uint64_t in = from->pos, out = to->pos, n = clip(args[4]);
    int64_t error = args[1] ? get_offset(t, args[1], &in) : 0;
    if (!error && args[3])
        error = get_offset(t, args[3], &out);
    if (error)
        return error;
    uint64_t device[2], inode[2];
    tl_file_identity(from, &device[0], &inode[0]);
    tl_file_identity(to, &device[1], &inode[1]);
    if (device[0] == device[1] && inode[0] == inode[1] && in < out + n && out < in + n)
        return -EINVAL;
    int64_t result = send(t, from, args[1] ? &in : &from->pos, to, args[3] ? &out : &to->pos, n, true);
    if (result < 0)
        return result;
    result = put_offset(t, args[1], in, result);
    return result < 0 ? result : put_offset(t, args[3], out, result);
}

// At least one side is a pipe.
int64_t tl_sys_splice(tl_thread *t, const uint64_t args[6]) {
    enum { SPLICE_NONBLOCK = 2, SPLICE_KNOWN = 15 };
    tl_file *from = tl_file_of_fd(t, (int32_t)args[0]), *to = tl_file_of_fd(t, (int32_t)args[2]);
    bool is_nonblock = args[5] & SPLICE_NONBLOCK;
    if (args[5] & ~(uint64_t)SPLICE_KNOWN)
        return -EINVAL;
    if (!to || !from || !tl_file_may_read(from) || !tl_file_may_write(to))
        return -EBADF;
    bool from_pipe = tl_file_is_pipe(from), to_pipe = tl_file_is_pipe(to);
    if ((from_pipe && args[1]) || (to_pipe && args[3]))
        return -ESPIPE;
    if ((!from_pipe && !to_pipe) || !is_of_bytes(from) || !is_of_bytes(to) || !from->ops->read || !to->ops->write ||
        (!to_pipe && to->flags & TL_O_APPEND))
        return -EINVAL;
    if ((args[1] && from->ops->is_stream) || (args[3] && to->ops->is_stream))
        return -ESPIPE;
    uint64_t in = from->pos, out = to->pos, n = clip(args[4]);
    int64_t error = args[1] ? get_offset(t, args[1], &in) : 0;
    if (!error && args[3])
        error = get_offset(t, args[3], &out);
    if (error || n == 0)
        return error;
    int64_t moved;
    bool is_source_empty = !(tl_file_poll(t->os, from) & (EPOLLIN | EPOLLHUP));
    bool is_target_full = !(tl_file_poll(t->os, to) & (EPOLLOUT | EPOLLERR));
    if (from_pipe && to_pipe) {
        moved = tl_pipe_move(t->os, from, to, (size_t)n, false);
    } else if (is_source_empty || is_target_full) {
        moved = -EAGAIN;
    } else {
        if (to_pipe) // no more than fits, or bytes of a stream would be lost
            n = n < 4096 ? n : 4096;
        moved = copy_chunk(t, from,
                           from->ops->is_stream ? NULL
                           : args[1]            ? &in
                                                : &from->pos,
                           to,
                           to->ops->is_stream ? NULL
                           : args[3]          ? &out
                                              : &to->pos,
                           (size_t)n);
    }
    if (moved == -EAGAIN) {
        tl_file *waits = is_source_empty ? from : to;
        if (is_nonblock || waits->flags & TL_O_NONBLOCK)
            return -EAGAIN;
        return tl_file_block(t, waits, is_source_empty ? EPOLLIN : EPOLLOUT, 0, 0);
    }
    if (moved == -EPIPE && from_pipe && to_pipe)
        tl_signal_send_thread(t, SIGPIPE, NULL);
    if (moved < 0)
        return moved;
    moved = put_offset(t, args[1], in, moved);
    return moved < 0 ? moved : put_offset(t, args[3], out, moved);
}

int64_t tl_sys_tee(tl_thread *t, const uint64_t args[6]) {
    tl_file *from = tl_file_of_fd(t, (int32_t)args[0]), *to = tl_file_of_fd(t, (int32_t)args[1]);
    if (!to || !from || !tl_file_may_read(from) || !tl_file_may_write(to))
        return -EBADF;
    if (!tl_file_is_pipe(from) || !tl_file_is_pipe(to))
        return -EINVAL;
    if (args[2] == 0)
        return 0;
    int64_t moved = tl_pipe_move(t->os, from, to, (size_t)clip(args[2]), true);
    if (moved != -EAGAIN)
        return moved;
    tl_file *waits = tl_file_poll(t->os, from) & EPOLLIN ? to : from;
    if (args[3] & 2 || waits->flags & TL_O_NONBLOCK)
        return -EAGAIN;
    return tl_file_block(t, waits, waits == from ? EPOLLIN : EPOLLOUT, 0, 0);
}

int64_t tl_sys_vmsplice(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file || !tl_file_is_pipe(file))
        return -EBADF;
    const uint64_t plain[6] = {args[0], args[1], args[2]};
    return vectored(t, plain, tl_file_may_write(file), NULL, args[3] & 2 ? RWF_NONBLOCK : 0);
}

// ---- Positions and sizes.

int64_t tl_sys_lseek(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    if ((uint32_t)args[2] > SEEK_HOLE)
        return -EINVAL;
    return file->ops->is_stream || !file->ops->seek ? -ESPIPE : file->ops->seek(t->os, file, (int64_t)args[1], (int)args[2]);
}

enum { LIMIT_FSIZE = 1 };

int64_t tl_file_truncate(tl_thread *t, tl_file *file, uint64_t size) {
    if (!file->ops->truncate)
        return file->dir ? -EISDIR : -EINVAL;
    if (size > t->process->limits[LIMIT_FSIZE].soft) {
        tl_signal_send_thread(t, SIGXFSZ, NULL);
        return -EFBIG;
    }
    return file->ops->truncate(t->os, file, size);
}

int64_t tl_sys_ftruncate(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if ((int64_t)args[1] < 0)
        return -EINVAL;
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    return tl_file_may_write(file) ? tl_file_truncate(t, file, args[1]) : -EINVAL;
}

int64_t tl_sys_fallocate(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    uint64_t offset = args[2], n = args[3];
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    if ((int64_t)offset < 0 || (int64_t)n <= 0)
        return -EINVAL;
    if (!tl_file_may_write(file))
        return -EBADF;
    if (file->ops->is_stream)
        return -ESPIPE;
    if (!file->ops->allocate)
        return file->dir ? -EISDIR : -ENODEV;
    uint64_t end = offset + n;
    if (end > INT64_MAX)
        return -EFBIG;
    if (end > t->process->limits[LIMIT_FSIZE].soft) {
        tl_signal_send_thread(t, SIGXFSZ, NULL);
        return -EFBIG;
    }
    return file->ops->allocate(t->os, file, (int)args[1], offset, n);
}

// fsync and its kin have nothing to wait for, because writes reach the host file at once.
static int64_t synced(tl_thread *t, int32_t fd) {
    const tl_file *file = tl_file_of_fd(t, fd);
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    return file->ops->is_stream ? -EINVAL : 0;
}

int64_t tl_sys_fsync(tl_thread *t, const uint64_t args[6]) { return synced(t, (int32_t)args[0]); }
int64_t tl_sys_fdatasync(tl_thread *t, const uint64_t args[6]) { return synced(t, (int32_t)args[0]); }
int64_t tl_sys_sync_file_range(tl_thread *t, const uint64_t args[6]) { return synced(t, (int32_t)args[0]); }
int64_t tl_sys_readahead(tl_thread *t, const uint64_t args[6]) { return synced(t, (int32_t)args[0]); }

int64_t tl_sys_syncfs(tl_thread *t, const uint64_t args[6]) { return tl_file_of_fd(t, (int32_t)args[0]) ? 0 : -EBADF; }

int64_t tl_sys_sync(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return 0;
}

int64_t tl_sys_fadvise64(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    if (file->ops->is_stream)
        return -ESPIPE;
    return (int64_t)args[2] < 0 || (uint32_t)args[3] > 5 ? -EINVAL : 0;
}
