// SPDX-License-Identifier: MIT
// Files and directories of the host, and the three standard streams.
//
// Regular files are read and written at our own position with preadv and pwritev. The standard
// streams show themselves to the guest as pipes, so that a run does not depend on where its output
// goes. A regular file as standard input is the exception. Reading standard input waits in the
// host: guest time stands still. Directories are read whole and sorted by name, so that no host
// file system's order shows.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "linux/file/file_host.h"
#include "linux/file/file_system.h"

typedef struct entry {
    uint64_t inode; // the guest's
    size_t name;    // offset in `names`
    uint16_t n_name;
    uint8_t type;
} entry;

typedef struct host_file {
    tl_file base;
    int fd;
    bool is_standard, may_raise_pipe;
    uint32_t mode;
    tl_poll_head head; // standard streams: never notified, but epoll and poll want one
    entry *entries;    // directories: the listing, made when read from the start
    size_t n_entries;
    char *names;
    uint64_t n_listed_bytes; // both
} host_file;

static host_file *of(tl_file *file) { return (host_file *)file; }
static const tl_file_ops regular_ops, directory_ops, stream_ops, path_ops;

int64_t tl_file_host_error(tl_os *os, int host_errno) {
    if ((host_errno == EMFILE || host_errno == ENFILE) && !os->file_system->did_say_emfile) {
        os->file_system->did_say_emfile = true;
        tl_os_warn(os, "the host has no more file descriptors for the program's open files; raise the limit (ulimit -n) and run again");
    }
    return -host_errno;
}

static int64_t error_of(tl_os *os) { return tl_file_host_error(os, errno); }

int tl_file_host_fd(const tl_file *file) {
    if (tl_file_is_host_fifo(file))
        return tl_host_fifo_fd(file);
    const tl_file_ops *ops = file->ops;
    return ops == &regular_ops || ops == &directory_ops || ops == &stream_ops || ops == &path_ops ? ((const host_file *)file)->fd : -1;
}

bool tl_file_is_regular(const tl_file *file) { return file->ops == &regular_ops; }
bool tl_file_is_standard(const tl_file *file) {
    return !tl_file_is_host_fifo(file) && tl_file_host_fd(file) >= 0 && ((const host_file *)file)->is_standard;
}

// ---- Regular files.

// A position past what the host's off_t holds ends like a file that is too large.
static int64_t check_position(uint64_t pos, size_t n) { return pos > (uint64_t)INT64_MAX - n ? -EINVAL : 0; }

static int64_t regular_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_os *os = t->os;
    uint64_t pos = *io->pos;
    int64_t error = check_position(pos, io->n_bytes);
    if (error)
        return error;
    ssize_t n;
    do
        n = preadv(of(file)->fd, io->spans, io->n_spans, (off_t)pos);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_of(os);
    size_t left = (size_t)n;
    for (int i = 0; left > 0; i++) {
        size_t part = io->spans[i].iov_len < left ? io->spans[i].iov_len : left;
        tl_vm_file_read(os, file->device, file->inode, pos, io->spans[i].iov_base, part);
        pos += part;
        left -= part;
    }
    *io->pos = pos;
    tl_os_note_transfer(os, (uint64_t)n, false);
    return n;
}

enum { LIMIT_FSIZE = 1 };

// How many of n bytes at pos RLIMIT_FSIZE lets through; -EFBIG and the signal when none.
static int64_t clip_to_limit(tl_thread *t, uint64_t pos, size_t n) {
    uint64_t limit = t->process->limits[LIMIT_FSIZE].soft;
    if (pos + n <= limit || n == 0)
        return (int64_t)n;
    if (pos < limit)
        return (int64_t)(limit - pos);
    tl_signal_send_thread(t, SIGXFSZ, NULL);
    return -EFBIG;
}

static void tell_mappings(tl_os *os, const tl_file *file, const tl_io *io, uint64_t pos, size_t n) {
    for (int i = 0; n > 0; i++) {
        size_t part = io->spans[i].iov_len < n ? io->spans[i].iov_len : n;
        tl_vm_file_written(os, file->device, file->inode, pos, io->spans[i].iov_base, part);
        pos += part;
        n -= part;
    }
}

static int64_t regular_write(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_os *os = t->os;
    int fd = of(file)->fd;
    uint64_t pos = *io->pos;
    if (io->is_append) {
        struct stat st;
        if (fstat(fd, &st) < 0)
            return error_of(os);
        pos = (uint64_t)st.st_size;
    }
    int64_t allowed = check_position(pos, io->n_bytes);
    if (!allowed)
        allowed = clip_to_limit(t, pos, io->n_bytes);
    if (allowed < 0)
        return allowed;
    size_t done = 0;
    struct iovec rest[TL_IOV_MAX];
    int n_rest = io->n_spans;
    memcpy(rest, io->spans, (size_t)n_rest * sizeof *rest);
    size_t wanted = (size_t)allowed;
    if (wanted < io->n_bytes) { // the limit cuts the last spans
        size_t left = wanted;
        for (n_rest = 0; left > 0; n_rest++) {
            if (rest[n_rest].iov_len > left)
                rest[n_rest].iov_len = left;
            left -= rest[n_rest].iov_len;
        }
    }
    int first = 0;
    while (done < wanted) {
        ssize_t n = io->is_append ? pwritev2(fd, rest + first, n_rest - first, -1, RWF_APPEND)
                                  : pwritev(fd, rest + first, n_rest - first, (off_t)(pos + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && done == 0)
            return error_of(os);
        if (n <= 0)
            break;
        // Asks for the real offset, because another host program may append as well.
        if (io->is_append && done == 0) {
            off_t end = lseek(fd, 0, SEEK_CUR);
            if (end >= n)
                pos = (uint64_t)(end - n);
        }
        done += (size_t)n;
        for (size_t left = (size_t)n; left > 0;) {
            size_t part = rest[first].iov_len < left ? rest[first].iov_len : left;
            rest[first].iov_base = (uint8_t *)rest[first].iov_base + part;
            rest[first].iov_len -= part;
            left -= part;
            first += rest[first].iov_len == 0;
        }
    }
    tell_mappings(os, file, io, pos, done);
    *io->pos = pos + done;
    tl_os_note_transfer(os, done, true);
    return (int64_t)done;
}

static int64_t regular_size(tl_os *os, const tl_file *file) {
    struct stat st;
    return fstat(((const host_file *)file)->fd, &st) < 0 ? error_of(os) : st.st_size;
}

// No holes: where they are depends on the host's file system.
int64_t tl_file_seek_in(tl_file *file, int64_t offset, int whence, int64_t size) {
    int64_t base = 0;
    if (whence == SEEK_CUR)
        base = (int64_t)file->pos;
    else if (whence == SEEK_END)
        base = size;
    else if (whence == SEEK_DATA || whence == SEEK_HOLE) {
        if (offset < 0 || offset >= size)
            return -ENXIO;
        offset = whence == SEEK_DATA ? offset : size;
    } else if (whence != SEEK_SET)
        return -EINVAL;
    int64_t pos;
    if (__builtin_add_overflow(base, offset, &pos))
        return -EOVERFLOW;
    if (pos < 0)
        return -EINVAL;
    file->pos = (uint64_t)pos;
    return pos;
}

static int64_t regular_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    int64_t size = whence == SEEK_SET || whence == SEEK_CUR ? 0 : regular_size(os, file);
    return size < 0 ? size : tl_file_seek_in(file, offset, whence, size);
}

static size_t regular_available(tl_os *os, tl_file *file, uint64_t pos) {
    int64_t size = regular_size(os, file);
    return size > 0 && (uint64_t)size > pos ? (uint64_t)size - pos : 0;
}

static int64_t host_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    struct stat st;
    if (fstat(of(file)->fd, &st) < 0)
        return error_of(os);
    tl_stat_of_host(os->file_system, &st, ret_stat);
    ret_stat->device = file->device; // as they were when it was opened: the name may be gone
    ret_stat->inode = file->inode;
    return 0;
}

void tl_file_zeroed(tl_os *os, const tl_file *file, uint64_t offset, uint64_t end) {
    static const uint8_t zeros[TL_PAGE_BYTES];
    while (os->page_caches && offset < end) {
        size_t n = TL_PAGE_BYTES - (size_t)(offset & (TL_PAGE_BYTES - 1));
        if (n > end - offset)
            n = (size_t)(end - offset);
        tl_vm_file_written(os, file->device, file->inode, offset, zeros, n);
        offset += n;
    }
}

static int64_t regular_truncate(tl_os *os, tl_file *file, uint64_t size) {
    int64_t before = regular_size(os, file);
    if (before < 0)
        return before;
    if (ftruncate(of(file)->fd, (off_t)size) < 0)
        return error_of(os);
    tl_file_zeroed(os, file, size, (uint64_t)before);
    return 0;
}

static int64_t regular_allocate(tl_os *os, tl_file *file, int mode, uint64_t offset, uint64_t n) {
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    int64_t before = regular_size(os, file);
    if (before < 0)
        return before;
    if (fallocate(of(file)->fd, mode, (off_t)offset, (off_t)n) < 0)
        return error_of(os);
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        tl_file_zeroed(os, file, offset, offset + n < (uint64_t)before ? offset + n : (uint64_t)before);
    return 0;
}

static int64_t regular_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset) {
    size_t done = 0;
    while (done < n && !check_position(offset, n)) {
        ssize_t got = pread(of(file)->fd, (uint8_t *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return done ? (int64_t)done : error_of(os);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    tl_os_note_transfer(os, done, false);
    return (int64_t)done;
}

static int64_t regular_pwrite(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset) {
    size_t done = 0;
    while (done < n && !check_position(offset, n)) {
        ssize_t put = pwrite(of(file)->fd, (const uint8_t *)from + done, n - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return done ? (int64_t)done : put < 0 ? error_of(os) : -EIO;
        done += (size_t)put;
    }
    tl_os_note_transfer(os, done, true);
    return (int64_t)done;
}

static int64_t regular_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    if (request != TL_FIONREAD)
        return -ENOTTY;
    size_t n = regular_available(t->os, file, file->pos);
    int32_t value = n > INT32_MAX ? INT32_MAX : (int32_t)n;
    return tl_vm_write(t->process, argument, &value, sizeof value) ? 0 : -EFAULT;
}

static void host_close(tl_os *os, tl_file *file) {
    host_file *f = of(file);
    tl_poll_head_done(os, &f->head);
    // Host programs that share the descriptor continue where the guest stopped.
    if (f->is_standard && file->ops == &regular_ops)
        (void)lseek(f->fd, (off_t)file->pos, SEEK_SET);
    struct stat st;
    // A file of O_TMPFILE: no later file has this inode.
    if (!file->path && !f->is_standard && fstat(f->fd, &st) == 0 && st.st_nlink == 0)
        tl_inode_forget(os->file_system, st.st_dev, st.st_ino);
    if (!f->is_standard && !file->dir) // a directory's descriptor is its tl_dir's
        close(f->fd);
    free(f->entries);
    free(f->names);
    free(f);
}

static const tl_file_ops regular_ops = {
    .kind = "a file",
    .close = host_close,
    .read = regular_read,
    .write = regular_write,
    .available = regular_available,
    .seek = regular_seek,
    .stat = host_stat,
    .truncate = regular_truncate,
    .allocate = regular_allocate,
    .ioctl = regular_ioctl,
    .pread = regular_pread,
    .pwrite = regular_pwrite,
};

// ---- Opened with O_PATH: a name and nothing else.

static const tl_file_ops path_ops = {.kind = "a path", .close = host_close, .stat = host_stat};

// ---- Directories.

static int by_name(const void *a, const void *b, void *names) {
    return strcmp((const char *)names + ((const entry *)a)->name, (const char *)names + ((const entry *)b)->name);
}

// The values DT_* are the bits of S_IFMT.
static uint8_t type_of_mode(uint32_t mode) { return (uint8_t)(mode >> 12 & 15); }

typedef struct listing {
    entry *entries;
    size_t n, capacity;
    char *names;
    size_t n_names, names_capacity;
} listing;

static bool list_one(listing *l, uint64_t inode, uint8_t type, const char *name) {
    size_t n = strlen(name);
    if (l->n == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 64;
        entry *entries = realloc(l->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        l->entries = entries;
        l->capacity = capacity;
    }
    if (l->n_names + n + 1 > l->names_capacity) {
        size_t capacity = l->names_capacity ? l->names_capacity * 2 : 4096;
        char *names = realloc(l->names, capacity);
        if (!names)
            return false;
        l->names = names;
        l->names_capacity = capacity;
    }
    memcpy(l->names + l->n_names, name, n + 1);
    l->entries[l->n++] = (entry){.inode = inode, .type = type, .n_name = (uint16_t)n, .name = l->n_names};
    l->n_names += n + 1;
    return true;
}

static bool add_host_entry(listing *l, int fd, const struct dirent64 *d) {
    uint8_t type = d->d_type;
    struct stat st;
    if (type == DT_UNKNOWN && fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = type_of_mode(st.st_mode);
    return list_one(l, d->d_ino, type, d->d_name);
}

static int64_t read_directory(tl_os *os, host_file *f) {
    listing l = {.n = 0};
    struct stat st;
    if (!tl_account_has_room(&os->account, 1))
        return -ENOMEM;
    int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_of(os);
    int64_t error = fstat(fd, &st) < 0 ? -errno : 0;
    _Alignas(struct dirent64) char buffer[32768];
    while (!error) {
        long n = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (n == 0)
            break;
        if (n < 0) {
            error = errno == ENOENT ? 0 : -errno; // deleted: empty
            break;
        }
        for (long at = 0; at < n && !error;) {
            const struct dirent64 *d = (const struct dirent64 *)(buffer + at);
            at += d->d_reclen;
            if (!add_host_entry(&l, fd, d))
                error = -ENOMEM;
        }
    }
    close(fd);
    if (error) {
        free(l.entries);
        free(l.names);
        return error;
    }
    if (l.n > 0)
        qsort_r(l.entries, l.n, sizeof *l.entries, by_name, l.names);
    bool is_root = f->base.dir && strcmp(f->base.dir->path, "/") == 0;
    for (size_t i = 0; i < l.n; i++) {
        entry *e = &l.entries[i];
        const char *name = l.names + e->name;
        // The folder ".." of --root is --root itself.
        if (strcmp(name, ".") == 0 || (is_root && strcmp(name, "..") == 0))
            e->inode = f->base.inode;
        else
            e->inode = tl_inode_number(os->file_system, st.st_dev, e->inode);
    }
    free(f->entries);
    free(f->names);
    uint64_t n_bytes = l.capacity * sizeof *l.entries + l.names_capacity;
    tl_file_recharge(os, &f->base, f->n_listed_bytes, n_bytes);
    f->n_listed_bytes = n_bytes;
    f->entries = l.entries;
    f->n_entries = l.n;
    f->names = l.names;
    return 0;
}

bool tl_dirent_put(tl_dirents *to, uint64_t inode, int64_t next, uint8_t type, const char *name, size_t n_name) {
    size_t n = tl_align_up(19 + n_name + 1, 8);
    if (to->n + n > to->capacity)
        return false;
    uint8_t *at = to->bytes + to->n;
    uint16_t n16 = (uint16_t)n;
    memset(at, 0, n);
    memcpy(at, &inode, 8);
    memcpy(at + 8, &next, 8);
    memcpy(at + 16, &n16, 2);
    at[18] = type;
    memcpy(at + 19, name, n_name);
    to->n += n;
    return true;
}

static int64_t directory_get_entries(tl_thread *t, tl_file *file, uint64_t vaddr, size_t n) {
    host_file *f = of(file);
    uint8_t bytes[32768];
    tl_dirents out = {.bytes = bytes, .capacity = n < sizeof bytes ? n : sizeof bytes};
    if (file->pos == 0 || !f->entries) {
        int64_t error = read_directory(t->os, f);
        if (error)
            return error;
    }
    uint64_t pos = file->pos;
    while (pos < f->n_entries) {
        const entry *e = &f->entries[pos];
        if (!tl_dirent_put(&out, e->inode, (int64_t)pos + 1, e->type, f->names + e->name, e->n_name))
            break;
        pos++;
    }
    if (out.n == 0 && pos < f->n_entries)
        return -EINVAL;
    if (!tl_vm_write(t->process, vaddr, bytes, out.n))
        return -EFAULT;
    file->pos = pos;
    return (int64_t)out.n;
}

static int64_t directory_read(tl_thread *t, tl_file *file, const tl_io *io) {
    (void)t, (void)file, (void)io;
    return -EISDIR;
}

static int64_t directory_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    (void)os;
    if (whence == SEEK_DATA || whence == SEEK_HOLE)
        return -EINVAL;
    return tl_file_seek_in(file, offset, whence, INT64_MAX);
}

static const tl_file_ops directory_ops = {
    .kind = "a directory",
    .close = host_close,
    .read = directory_read,
    .seek = directory_seek,
    .stat = host_stat,
    .get_entries = directory_get_entries,
};

// ---- Standard streams.

static void wait_for_host(tl_os *os, int fd, short events) {
    struct pollfd p = {.fd = fd, .events = events};
    while (!tl_os_wants_stop(os)) {
        if (poll(&p, 1, -1) >= 0 || errno != EINTR)
            break;
    }
}

static size_t stream_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)pos;
    int n = 0;
    wait_for_host(os, of(file)->fd, POLLIN);
    if (ioctl(of(file)->fd, FIONREAD, &n) < 0 || n <= 0)
        return 4096; // the end, or something that cannot say
    return (size_t)n;
}

static int64_t stream_read(tl_thread *t, tl_file *file, const tl_io *io) {
    for (;;) {
        if (tl_os_wants_stop(t->os)) // or a wait before this read was interrupted
            return -EINTR;
        ssize_t n = readv(of(file)->fd, io->spans, io->n_spans);
        if (n >= 0) {
            tl_os_note_transfer(t->os, (uint64_t)n, false);
            return n;
        }
        if (errno != EAGAIN && errno != EINTR)
            return error_of(t->os);
        if (errno == EAGAIN)
            wait_for_host(t->os, of(file)->fd, POLLIN);
        if (tl_os_wants_stop(t->os))
            return -EINTR;
    }
}

ssize_t tl_host_writev_quietly(int fd, const struct iovec *spans, int n_spans) {
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t n = writev(fd, spans, n_spans);
    int saved = errno;
    if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE)) {
        struct timespec at_once = {.tv_sec = 0};
        while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return n;
}

static ssize_t write_some(const host_file *f, const struct iovec *spans, int n_spans) {
    return f->may_raise_pipe ? tl_host_writev_quietly(f->fd, spans, n_spans) : writev(f->fd, spans, n_spans);
}

static int64_t stream_write(tl_thread *t, tl_file *file, const tl_io *io) {
    host_file *f = of(file);
    struct iovec rest[TL_IOV_MAX];
    memcpy(rest, io->spans, (size_t)io->n_spans * sizeof *rest);
    size_t done = 0;
    for (int first = 0; done < io->n_bytes;) {
        ssize_t n = write_some(f, rest + first, io->n_spans - first);
        if (n < 0 && errno == EAGAIN)
            wait_for_host(t->os, f->fd, POLLOUT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            if (!tl_os_wants_stop(t->os))
                continue;
            return done ? (int64_t)done : -EINTR;
        }
        if (n < 0 && done)
            break;
        if (n < 0) {
            if (errno == EPIPE)
                tl_signal_send_thread(t, SIGPIPE, NULL);
            return error_of(t->os);
        }
        done += (size_t)n;
        for (int i = 0; i < 3 && n > 0 && f->is_standard; i++)
            t->os->has_written[i] |= f->fd == t->os->options.std_fd[i];
        for (size_t left = (size_t)n; left > 0;) {
            size_t part = rest[first].iov_len < left ? rest[first].iov_len : left;
            rest[first].iov_base = (uint8_t *)rest[first].iov_base + part;
            rest[first].iov_len -= part;
            left -= part;
            first += rest[first].iov_len == 0;
        }
        while (first < io->n_spans && rest[first].iov_len == 0)
            first++;
        if (n == 0 && first == io->n_spans)
            break;
    }
    tl_os_note_transfer(t->os, done, true);
    return (int64_t)done;
}

static uint32_t stream_poll(tl_os *os, tl_file *file) {
    (void)os;
    return (tl_file_may_read(file) ? EPOLLIN | EPOLLRDNORM : 0u) | (tl_file_may_write(file) ? EPOLLOUT | EPOLLWRNORM : 0u);
}

static int64_t stream_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_stat_anonymous(os, file, S_IFIFO | 0600, ret_stat);
    return 0;
}

static int64_t stream_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    int n = 0;
    if (request != TL_FIONREAD || !tl_file_may_read(file) || ioctl(of(file)->fd, FIONREAD, &n) < 0)
        return -ENOTTY;
    return tl_vm_write(t->process, argument, &n, sizeof(int32_t)) ? 0 : -EFAULT;
}

static const tl_file_ops stream_ops = {
    .kind = "a standard stream",
    .close = host_close,
    .read = stream_read,
    .write = stream_write,
    .available = stream_available,
    .poll = stream_poll,
    .stat = stream_stat,
    .ioctl = stream_ioctl,
    .link_name = "pipe",
    .is_stream = true,
    .is_pollable = true,
};

// ---- Making them.

tl_file *tl_file_of_host(tl_os *os, int host_fd, const struct stat *host, uint32_t flags, const char *path, tl_dir *dir) {
    tl_file_system *fs = os->file_system;
    const tl_file_ops *ops = flags & TL_O_PATH        ? &path_ops
                             : S_ISDIR(host->st_mode) ? &directory_ops
                             : S_ISREG(host->st_mode) ? &regular_ops
                                                      : &stream_ops;
    host_file *f = tl_file_new(os, sizeof *f, ops, flags);
    if (!f) {
        if (!dir)
            close(host_fd);
        return NULL;
    }
    f->fd = host_fd;
    f->mode = host->st_mode;
    f->may_raise_pipe = ops == &stream_ops;
    f->base.device = tl_device_number(fs, host->st_dev);
    f->base.inode = tl_inode_number(fs, host->st_dev, host->st_ino);
    f->base.head = ops == &stream_ops ? &f->head : NULL;
    f->base.dir = dir ? tl_dir_ref(dir) : NULL;
    tl_file_set_path(os, &f->base, path);
    if (dir)
        tl_file_recharge(os, &f->base, 0, sizeof *dir + strlen(dir->path));
    return &f->base;
}

tl_file *tl_file_of_standard(tl_os *os, int host_fd, int number) {
    struct stat st;
    if (host_fd < 0 || fstat(host_fd, &st) < 0)
        return NULL;
    bool is_regular = number == 0 && S_ISREG(st.st_mode);
    host_file *f = tl_file_new(os, sizeof *f, is_regular ? &regular_ops : &stream_ops, number == 0 ? TL_O_RDONLY : TL_O_WRONLY);
    if (!f)
        return NULL;
    f->fd = host_fd;
    f->is_standard = true;
    f->mode = st.st_mode;
    f->may_raise_pipe = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
    f->base.device = tl_device_pipe();
    f->base.head = is_regular ? NULL : &f->head;
    if (is_regular) {
        off_t pos = lseek(host_fd, 0, SEEK_CUR);
        f->base.pos = pos > 0 ? (uint64_t)pos : 0;
        f->base.device = tl_device_number(os->file_system, st.st_dev);
        f->base.inode = tl_inode_number(os->file_system, st.st_dev, st.st_ino);
    }
    return &f->base;
}

int64_t tl_file_reopen(tl_thread *t, tl_file *file, uint32_t flags, tl_file **ret_file) {
    tl_os *os = t->os;
    bool reads = (flags & TL_O_ACCMODE) != TL_O_WRONLY, writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY;
    tl_mem_inode *inode = tl_file_mem_inode(file);
    if (inode) {
        *ret_file = tl_file_of_mem(os, inode, flags, tl_file_path(file));
        if (*ret_file && flags & TL_O_TRUNC && writes)
            (void)(*ret_file)->ops->truncate(os, *ret_file, 0);
        return *ret_file ? 0 : -ENOMEM;
    }
    if (tl_file_is_pipe(file))
        return tl_pipe_reopen(os, file, flags, ret_file);
    if (tl_file_is_regular(file) || file->ops == &path_ops) {
        char link[64];
        struct stat st;
        snprintf(link, sizeof link, "/proc/self/fd/%d", of(file)->fd);
        int fd = open(link, (int)(flags & TL_O_ACCMODE) | (flags & TL_O_TRUNC ? O_TRUNC : 0) | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return error_of(os);
        if (fstat(fd, &st) == 0 && flags & TL_O_DIRECTORY && !S_ISDIR(st.st_mode)) {
            close(fd);
            return -ENOTDIR;
        }
        if (flags & TL_O_TRUNC)
            tl_file_zeroed(os, file, 0, UINT64_C(1) << 30);
        tl_file *fresh = tl_file_of_host(os, fd, &st, flags, file->path, NULL);
        if (!fresh)
            return -ENOMEM;
        fresh->device = file->device;
        fresh->inode = file->inode;
        *ret_file = fresh;
        return 0;
    }
    // Position is shared, as that of the stream outside is.
    if (file->ops == &stream_ops || tl_file_is_host_fifo(file) || file->ops->pread) {
        if ((reads && !tl_file_may_read(file)) || (writes && !tl_file_may_write(file)))
            return -EACCES;
        *ret_file = tl_file_ref(file);
        return 0;
    }
    return -ENXIO;
}
