// SPDX-License-Identifier: MIT
// Files that live in memory only: memfd_create and /dev/shm. Bytes are held in chunks that exist
// once written. Together they may hold half as much as the machine has RAM.
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/file_system.h"

enum { CHUNK_LOG2 = 16, CHUNK_BYTES = 1 << CHUNK_LOG2, LIMIT_FSIZE = 1 };
static const uint64_t MOST_BYTES = UINT64_C(1) << 40;
enum { SEAL_SEAL = 1, SEAL_SHRINK = 2, SEAL_GROW = 4, SEAL_WRITE = 8, SEAL_FUTURE_WRITE = 16, SEALS = 31 };

struct tl_mem_inode {
    uint32_t n_refs;
    uint64_t number, device;
    uint8_t **chunks; // [n_chunks], NULL: zeros
    uint64_t n_chunks;
    uint64_t size;
    uint32_t mode, n_links, uid, gid;
    uint32_t seals;
    struct timespec atime, mtime, ctime;
};

typedef struct mem_file {
    tl_file base;
    tl_mem_inode *inode;
} mem_file;

static const tl_file_ops mem_ops;
static tl_mem_inode *inode_of(const tl_file *file) { return ((const mem_file *)file)->inode; }
tl_mem_inode *tl_file_mem_inode(const tl_file *file) { return file->ops == &mem_ops ? inode_of(file) : NULL; }

tl_mem_inode *tl_mem_inode_new(tl_os *os, uint64_t device, uint32_t mode) {
    tl_mem_inode *inode = tl_account_charge(&os->account, sizeof *inode) ? calloc(1, sizeof *inode) : NULL;
    if (!inode)
        return NULL;
    *inode = (tl_mem_inode){
        .n_refs = 1, .number = os->file_system->next_anonymous++, .device = device, .mode = S_IFREG | mode, .uid = TL_UID, .gid = TL_GID};
    inode->atime = inode->mtime = inode->ctime = tl_realtime(os);
    inode->seals = SEAL_SEAL;
    return inode;
}

tl_mem_inode *tl_mem_inode_ref(tl_mem_inode *inode) {
    inode->n_refs++;
    return inode;
}

static void drop_chunks(tl_os *os, tl_mem_inode *inode, uint64_t first) {
    for (uint64_t i = first; i < inode->n_chunks; i++) {
        if (inode->chunks[i])
            os->file_system->mem_bytes -= CHUNK_BYTES;
        free(inode->chunks[i]);
        inode->chunks[i] = NULL;
    }
}

void tl_mem_inode_unref(tl_os *os, tl_mem_inode *inode) {
    if (!inode || --inode->n_refs > 0)
        return;
    drop_chunks(os, inode, 0);
    tl_account_release(&os->account, sizeof *inode + inode->n_chunks * sizeof *inode->chunks);
    free(inode->chunks);
    free(inode);
}

void tl_mem_inode_stat(const tl_mem_inode *inode, tl_stat *ret_stat) {
    *ret_stat = (tl_stat){
        .device = inode->device,
        .inode = inode->number,
        .size = inode->size,
        .mode = inode->mode,
        .n_links = inode->n_links,
        .uid = inode->uid,
        .gid = inode->gid,
        .atime = inode->atime,
        .mtime = inode->mtime,
        .ctime = inode->ctime,
    };
}

void tl_mem_inode_link(tl_mem_inode *inode, int32_t change) { inode->n_links += (uint32_t)change; }

void tl_mem_inode_set_mode(tl_os *os, tl_mem_inode *inode, uint32_t mode) {
    inode->mode = (inode->mode & S_IFMT) | (mode & 07777);
    inode->ctime = tl_realtime(os);
}

void tl_mem_inode_set_times(tl_os *os, tl_mem_inode *inode, const struct timespec times[2]) {
    struct timespec now = tl_realtime(os);
    inode->ctime = now;
    if (times[0].tv_nsec != UTIME_OMIT)
        inode->atime = times[0].tv_nsec == UTIME_NOW ? now : times[0];
    if (times[1].tv_nsec != UTIME_OMIT)
        inode->mtime = times[1].tv_nsec == UTIME_NOW ? now : times[1];
}

// The chunk that holds byte `at`, made when it must be written; NULL: zeros, or no room.
static uint8_t *chunk_of(tl_os *os, tl_mem_inode *inode, uint64_t at, bool makes) {
    uint64_t number = at >> CHUNK_LOG2;
    tl_file_system *fs = os->file_system;
    if (number >= inode->n_chunks) {
        if (!makes)
            return NULL;
        uint64_t n = inode->n_chunks ? inode->n_chunks * 2 : 4;
        n = n > number ? n : number + 1;
        if (!tl_account_charge(&os->account, (n - inode->n_chunks) * sizeof *inode->chunks))
            return NULL;
        uint8_t **chunks = realloc(inode->chunks, n * sizeof *chunks);
        if (!chunks)
            return NULL;
        memset(chunks + inode->n_chunks, 0, (n - inode->n_chunks) * sizeof *chunks);
        inode->chunks = chunks;
        inode->n_chunks = n;
    }
    if (!inode->chunks[number] && makes && fs->mem_bytes + CHUNK_BYTES <= fs->mem_limit_bytes) {
        inode->chunks[number] = calloc(1, CHUNK_BYTES);
        if (inode->chunks[number])
            fs->mem_bytes += CHUNK_BYTES;
    }
    return inode->chunks[number] ? inode->chunks[number] + (at & (CHUNK_BYTES - 1)) : NULL;
}

static size_t part_of(uint64_t at, size_t n) {
    size_t part = CHUNK_BYTES - (size_t)(at & (CHUNK_BYTES - 1));
    return part < n ? part : n;
}

static size_t get(tl_os *os, tl_mem_inode *inode, void *to, size_t n, uint64_t at) {
    if (at >= inode->size)
        return 0;
    n = n < inode->size - at ? n : (size_t)(inode->size - at);
    for (size_t done = 0; done < n;) {
        size_t part = part_of(at + done, n - done);
        const uint8_t *bytes = chunk_of(os, inode, at + done, false);
        if (bytes)
            memcpy((uint8_t *)to + done, bytes, part);
        else
            memset((uint8_t *)to + done, 0, part);
        done += part;
    }
    return n;
}

static size_t put(tl_os *os, tl_mem_inode *inode, const void *from, size_t n, uint64_t at) {
    size_t done = 0;
    while (done < n) {
        size_t part = part_of(at + done, n - done);
        uint8_t *bytes = chunk_of(os, inode, at + done, true);
        if (!bytes)
            break;
        memcpy(bytes, (const uint8_t *)from + done, part);
        done += part;
    }
    if (done && at + done > inode->size)
        inode->size = at + done;
    return done;
}

static void mem_close(tl_os *os, tl_file *file) {
    tl_mem_inode_unref(os, inode_of(file));
    free(file);
}

static int64_t mem_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_mem_inode *inode = inode_of(file);
    size_t done = 0;
    for (int i = 0; i < io->n_spans; i++) {
        size_t n = get(t->os, inode, io->spans[i].iov_base, io->spans[i].iov_len, *io->pos);
        tl_vm_file_read(t->os, file->device, file->inode, *io->pos, io->spans[i].iov_base, n);
        *io->pos += n;
        done += n;
        if (n < io->spans[i].iov_len)
            break;
    }
    return (int64_t)done;
}

static int64_t mem_write(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_mem_inode *inode = inode_of(file);
    uint64_t pos = io->is_append ? inode->size : *io->pos;
    uint64_t most = t->process->limits[LIMIT_FSIZE].soft < MOST_BYTES ? t->process->limits[LIMIT_FSIZE].soft : MOST_BYTES;
    size_t done = 0, wanted = io->n_bytes;
    if (inode->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE))
        return -EPERM;
    if (wanted && pos >= most) {
        if (most < MOST_BYTES)
            tl_signal_send_thread(t, SIGXFSZ, NULL);
        return -EFBIG;
    }
    if (inode->seals & SEAL_GROW && pos + wanted > inode->size)
        return -EPERM;
    wanted = wanted < most - pos ? wanted : (size_t)(most - pos);
    for (int i = 0; done < wanted; i++) {
        size_t part = io->spans[i].iov_len < wanted - done ? io->spans[i].iov_len : wanted - done;
        size_t n = put(t->os, inode, io->spans[i].iov_base, part, pos);
        tl_vm_file_written(t->os, file->device, file->inode, pos, io->spans[i].iov_base, n);
        pos += n;
        done += n;
        if (n < part)
            break;
    }
    if (wanted && !done)
        return -ENOSPC;
    inode->mtime = inode->ctime = tl_realtime(t->os);
    *io->pos = pos;
    return (int64_t)done;
}

static size_t mem_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os;
    uint64_t size = inode_of(file)->size;
    return size > pos ? size - pos : 0;
}

static int64_t mem_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    (void)os;
    return tl_file_seek_in(file, offset, whence, (int64_t)inode_of(file)->size);
}

static int64_t mem_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    (void)os;
    tl_mem_inode_stat(inode_of(file), ret_stat);
    return 0;
}

// Zeroes what lies between a new end and the end of its chunk, so that growing again shows zeros.
static void clear(tl_os *os, tl_mem_inode *inode, uint64_t at, uint64_t end) {
    while (at < end) {
        size_t part = part_of(at, end - at > CHUNK_BYTES ? CHUNK_BYTES : (size_t)(end - at));
        uint8_t *bytes = chunk_of(os, inode, at, false);
        if (bytes)
            memset(bytes, 0, part);
        at += part;
    }
}

static int64_t mem_truncate(tl_os *os, tl_file *file, uint64_t size) {
    tl_mem_inode *inode = inode_of(file);
    if (size > MOST_BYTES)
        return -EFBIG;
    if ((size < inode->size && inode->seals & SEAL_SHRINK) || (size > inode->size && inode->seals & SEAL_GROW))
        return -EPERM;
    if (size < inode->size) {
        drop_chunks(os, inode, (size + CHUNK_BYTES - 1) >> CHUNK_LOG2);
        clear(os, inode, size, tl_align_up(size, CHUNK_BYTES));
        tl_file_zeroed(os, file, size, inode->size);
    }
    inode->size = size;
    inode->mtime = inode->ctime = tl_realtime(os);
    return 0;
}

static int64_t mem_allocate(tl_os *os, tl_file *file, int mode, uint64_t offset, uint64_t n) {
    tl_mem_inode *inode = inode_of(file);
    uint64_t end = offset + n;
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (end > MOST_BYTES)
        return -EFBIG;
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
        if (inode->seals & SEAL_WRITE)
            return -EPERM;
        uint64_t last = end < inode->size ? end : inode->size;
        clear(os, inode, offset, last);
        tl_file_zeroed(os, file, offset, last);
    }
    if (!(mode & FALLOC_FL_KEEP_SIZE) && end > inode->size)
        return mem_truncate(os, file, end);
    return 0;
}

static int64_t mem_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset) {
    return (int64_t)get(os, inode_of(file), to, n, offset);
}

static int64_t mem_pwrite(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset) {
    size_t done = put(os, inode_of(file), from, n, offset);
    return n && !done ? -ENOSPC : (int64_t)done;
}

static const tl_file_ops mem_ops = {
    .kind = "a memory file",
    .close = mem_close,
    .read = mem_read,
    .write = mem_write,
    .available = mem_available,
    .seek = mem_seek,
    .stat = mem_stat,
    .truncate = mem_truncate,
    .allocate = mem_allocate,
    .pread = mem_pread,
    .pwrite = mem_pwrite,
};

tl_file *tl_file_of_mem(tl_os *os, tl_mem_inode *inode, uint32_t flags, const char *path) {
    mem_file *f = tl_file_new(os, sizeof *f, &mem_ops, flags);
    if (!f)
        return NULL;
    f->inode = tl_mem_inode_ref(inode);
    f->base.device = inode->device;
    f->base.inode = inode->number;
    tl_file_set_path(os, &f->base, path);
    return &f->base;
}

bool tl_file_is_write_sealed(const tl_file *file) {
    const tl_mem_inode *inode = tl_file_mem_inode(file);
    return inode && inode->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE);
}

int64_t tl_mem_get_seals(const tl_file *file) {
    const tl_mem_inode *inode = tl_file_mem_inode(file);
    return inode ? (int64_t)inode->seals : -EINVAL;
}

// Is it mapped somewhere so that a program may write?
static bool is_mapped_writable(const tl_os *os, const tl_file *file) {
    for (const tl_process *p = tl_process_first(os); p; p = p->next)
        for (const tl_vma *area = p->vm ? tl_vm_first(p->vm) : NULL; area; area = area->next)
            if (area->file && area->is_shared && area->max_prot & TL_PROT_WRITE && area->file->device == file->device &&
                area->file->inode == file->inode)
                return true;
    return false;
}

int64_t tl_mem_add_seals(const tl_os *os, tl_file *file, uint32_t seals) {
    tl_mem_inode *inode = tl_file_mem_inode(file);
    if (!inode || seals & ~(uint32_t)SEALS)
        return -EINVAL;
    if (!tl_file_may_write(file) || inode->seals & SEAL_SEAL)
        return -EPERM;
    if (seals & ~inode->seals & SEAL_WRITE && is_mapped_writable(os, file))
        return -EBUSY;
    inode->seals |= seals;
    return 0;
}

int64_t tl_sys_memfd_create(tl_thread *t, const uint64_t args[6]) {
    char path[280] = "/memfd:";
    uint32_t flags = (uint32_t)args[1];
    if (flags & MFD_HUGETLB)
        return -ENODEV;
    // The numbers 8 and 16 are MFD_NOEXEC_SEAL and MFD_EXEC.
    if (flags & ~(uint32_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING | 8u | 16u))
        return -EINVAL;
    int64_t n = tl_vm_read_string(t->process, args[0], path + 7, 250);
    if (n < 0)
        return n == -ENAMETOOLONG ? -EINVAL : n;
    strcat(path, " (deleted)");
    tl_mem_inode *inode = tl_mem_inode_new(t->os, tl_device_mem(), flags & 8 ? 0666 : 0777);
    if (!inode)
        return -ENOMEM;
    if (flags & (MFD_ALLOW_SEALING | 8))
        inode->seals = 0;
    tl_file *file = tl_file_of_mem(t->os, inode, TL_O_RDWR | TL_O_LARGEFILE, path);
    tl_mem_inode_unref(t->os, inode);
    return file ? tl_fd_install(t, file, flags & MFD_CLOEXEC, 0) : -ENOMEM;
}
