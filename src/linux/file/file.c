// SPDX-License-Identifier: MIT
#include "linux/file/file.h"

#include <stdlib.h>
#include <string.h>

#include "linux/file/file_system.h"
#include "linux/file/lock.h"

void *tl_file_new(tl_os *os, size_t size, const tl_file_ops *ops, uint32_t flags) {
    if (!tl_account_charge(&os->account, size))
        return NULL;
    tl_file *file = calloc(1, size);
    if (!file) {
        tl_account_release(&os->account, size);
        return NULL;
    }
    file->n_charged = size;
    file->ops = ops;
    file->n_refs = 1;
    file->flags = flags;
    file->device = tl_device_anonymous();
    file->inode = os->file_system->next_anonymous++;
    return file;
}

void tl_file_recharge(tl_os *os, tl_file *file, uint64_t before, uint64_t now) {
    tl_account_release(&os->account, before);
    tl_account_add(&os->account, now);
    file->n_charged = file->n_charged - before + now;
}

void tl_file_set_path(tl_os *os, tl_file *file, const char *path) {
    file->path = path ? strdup(path) : NULL;
    if (file->path)
        tl_file_recharge(os, file, 0, strlen(path) + 1);
}

tl_file *tl_file_ref(tl_file *file) {
    file->n_refs++;
    return file;
}

void tl_file_unref(tl_os *os, tl_file *file) {
    if (!file || --file->n_refs > 0)
        return;
    tl_epoll_forget(os, file);
    if (os->file_system->locks.root)
        tl_locks_released(os, file);
    char *path = file->path;
    tl_dir *dir = file->dir;
    tl_account_release(&os->account, file->n_charged);
    file->ops->close(os, file);
    free(path);
    tl_dir_unref(&os->file_system->dirs, dir);
}

uint32_t tl_file_poll(tl_os *os, tl_file *file) {
    if (file->ops->poll)
        return file->ops->poll(os, file);
    return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
}

void tl_file_wait(tl_thread *t, tl_file *file, uint32_t events) {
    if (file->head)
        tl_wait_on(t, &file->head->queue, file->ops->kind);
    if (file->ops->wait)
        file->ops->wait(t, file, events);
}

int64_t tl_file_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    if (file->ops->stat)
        return file->ops->stat(os, file, ret_stat);
    tl_stat_anonymous(os, file, 0600, ret_stat);
    return 0;
}

void tl_stat_anonymous(const tl_os *os, const tl_file *file, uint32_t mode, tl_stat *ret_stat) {
    struct timespec now = tl_realtime(os);
    *ret_stat = (tl_stat){.device = file->device, .inode = file->inode, .mode = mode, .n_links = 1, .uid = TL_UID, .gid = TL_GID};
    ret_stat->atime = ret_stat->mtime = ret_stat->ctime = now;
}

size_t tl_io_scatter_at(const tl_io *io, size_t skip, const void *from, size_t n) {
    size_t done = 0;
    for (int i = 0; i < io->n_spans && done < n; i++) {
        size_t length = io->spans[i].iov_len;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        size_t part = length - skip < n - done ? length - skip : n - done;
        memcpy((uint8_t *)io->spans[i].iov_base + skip, (const uint8_t *)from + done, part);
        skip = 0;
        done += part;
    }
    return done;
}

size_t tl_io_scatter(const tl_io *io, const void *from, size_t n) { return tl_io_scatter_at(io, 0, from, n); }

size_t tl_io_gather(const tl_io *io, size_t skip, void *to, size_t n) {
    size_t done = 0;
    for (int i = 0; i < io->n_spans && done < n; i++) {
        size_t length = io->spans[i].iov_len;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        size_t part = length - skip < n - done ? length - skip : n - done;
        memcpy((uint8_t *)to + done, (const uint8_t *)io->spans[i].iov_base + skip, part);
        skip = 0;
        done += part;
    }
    return done;
}

// ---- What memory and processes ask.

int64_t tl_file_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset) {
    return file->ops->pread ? file->ops->pread(os, file, to, n, offset) : -ENODEV;
}

int64_t tl_file_pwrite(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset) {
    return file->ops->pwrite ? file->ops->pwrite(os, file, from, n, offset) : -ENODEV;
}

int64_t tl_file_size(tl_os *os, tl_file *file) {
    if (file->ops->pread && file->ops->available)
        return (int64_t)file->ops->available(os, file, 0);
    tl_stat st;
    int64_t error = tl_file_stat(os, file, &st);
    return error ? error : (int64_t)st.size;
}

void tl_file_identity(const tl_file *file, uint64_t *ret_device, uint64_t *ret_inode) {
    *ret_device = file->device;
    *ret_inode = file->inode;
}

const char *tl_file_path(const tl_file *file) { return file->path ? file->path : ""; }
