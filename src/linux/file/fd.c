// SPDX-License-Identifier: MIT
#include "linux/file/fd.h"

#include <stdlib.h>
#include <string.h>

#include "linux/file/file_system.h"
#include "linux/file/lock.h"
#include "linux/memory/vm.h"

enum { FIRST_CAPACITY = 16, LIMIT_NOFILE = 7, MAX_FDS = 1 << 20 };

uint64_t tl_fd_limit(const tl_thread *t) {
    uint64_t limit = t->process->limits[LIMIT_NOFILE].soft;
    return limit < MAX_FDS ? limit : MAX_FDS;
}

static bool reserve(tl_os *os, tl_files *files, uint32_t n) {
    if (n <= files->capacity)
        return true;
    uint32_t capacity = files->capacity ? files->capacity : FIRST_CAPACITY;
    while (capacity < n)
        capacity *= 2;
    uint64_t more = (capacity - files->capacity) * sizeof *files->fds;
    if (!tl_account_charge(&os->account, more))
        return false;
    tl_fd *fds = realloc(files->fds, capacity * sizeof *fds);
    if (!fds) {
        tl_account_release(&os->account, more);
        return false;
    }
    memset(fds + files->capacity, 0, (capacity - files->capacity) * sizeof *fds);
    files->fds = fds;
    files->capacity = capacity;
    return true;
}

tl_fd *tl_fd_at(const tl_files *files, int32_t fd) {
    if (fd < 0 || (uint32_t)fd >= files->capacity || !files->fds[fd].file)
        return NULL;
    return &files->fds[fd];
}

tl_file *tl_file_of_fd(tl_thread *t, int32_t fd) {
    tl_fd *slot = tl_fd_at(t->files, fd);
    return slot ? slot->file : NULL;
}

int32_t tl_fd_install(tl_thread *t, tl_file *file, bool close_on_exec, uint32_t lowest) {
    tl_files *files = t->files;
    uint32_t fd = lowest > files->first_free ? lowest : files->first_free;
    while (fd < files->capacity && files->fds[fd].file)
        fd++;
    if (fd >= tl_fd_limit(t) || !reserve(t->os, files, fd + 1)) {
        tl_file_unref(t->os, file);
        return -EMFILE;
    }
    files->fds[fd] = (tl_fd){.file = file, .close_on_exec = close_on_exec};
    if (lowest <= files->first_free)
        files->first_free = fd + 1;
    return (int32_t)fd;
}

int32_t tl_fd_install_at(tl_thread *t, tl_file *file, bool close_on_exec, uint32_t fd) {
    if (fd >= tl_fd_limit(t) || !reserve(t->os, t->files, fd + 1)) {
        tl_file_unref(t->os, file);
        return fd >= tl_fd_limit(t) ? -EBADF : -ENOMEM;
    }
    if (t->files->fds[fd].file)
        tl_fd_close(t, (int32_t)fd);
    t->files->fds[fd] = (tl_fd){.file = file, .close_on_exec = close_on_exec};
    return (int32_t)fd;
}

static void close_slot(tl_os *os, tl_files *files, uint32_t fd) {
    tl_file *file = files->fds[fd].file;
    files->fds[fd] = (tl_fd){.file = NULL};
    if (fd < files->first_free)
        files->first_free = fd;
    tl_locks_closed(os, files, file);
    tl_file_unref(os, file);
}

int64_t tl_fd_close(tl_thread *t, int32_t fd) {
    if (!tl_fd_at(t->files, fd))
        return -EBADF;
    close_slot(t->os, t->files, (uint32_t)fd);
    return 0;
}

int64_t tl_fd_install_pair(tl_thread *t, tl_file *const files[2], bool close_on_exec, uint64_t vaddr) {
    int32_t fds[2] = {tl_fd_install(t, files[0], close_on_exec, 0)};
    if (fds[0] < 0) {
        tl_file_unref(t->os, files[1]);
        return fds[0];
    }
    fds[1] = tl_fd_install(t, files[1], close_on_exec, 0);
    if (fds[1] >= 0 && tl_vm_write(t->process, vaddr, fds, sizeof fds))
        return 0;
    tl_fd_close(t, fds[0]);
    if (fds[1] < 0)
        return fds[1];
    tl_fd_close(t, fds[1]);
    return -EFAULT;
}

tl_files *tl_files_new(tl_os *os, const int std_fd[3]) {
    tl_files *files = calloc(1, sizeof *files);
    if (!files)
        return NULL;
    files->n_refs = 1;
    if (!reserve(os, files, FIRST_CAPACITY)) {
        free(files);
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        files->fds[i].file = tl_file_of_standard(os, std_fd[i], i);
    return files;
}

tl_files *tl_files_copy(tl_os *os, const tl_files *files) {
    tl_files *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->n_refs = 1;
    copy->first_free = files->first_free;
    if (!reserve(os, copy, files->capacity)) {
        free(copy);
        return NULL;
    }
    for (uint32_t i = 0; i < files->capacity; i++)
        if (files->fds[i].file) {
            copy->fds[i] = files->fds[i];
            tl_file_ref(copy->fds[i].file);
        }
    return copy;
}

tl_files *tl_files_ref(tl_files *files) {
    files->n_refs++;
    return files;
}

void tl_files_unref(tl_os *os, tl_files *files) {
    if (!files || --files->n_refs > 0)
        return;
    for (uint32_t i = 0; i < files->capacity; i++)
        if (files->fds[i].file)
            close_slot(os, files, i);
    tl_account_release(&os->account, files->capacity * sizeof *files->fds);
    free(files->fds);
    free(files);
}

void tl_files_close_on_exec(tl_os *os, tl_files *files) {
    for (uint32_t i = 0; i < files->capacity; i++)
        if (files->fds[i].file && files->fds[i].close_on_exec)
            close_slot(os, files, i);
}

tl_fs *tl_fs_new(tl_os *os) {
    tl_fs *fs = calloc(1, sizeof *fs);
    if (!fs)
        return NULL;
    *fs = (tl_fs){.n_refs = 1, .umask = 022, .cwd = tl_dir_of_host_cwd(&os->file_system->dirs, &os->file_system->env)};
    if (!fs->cwd) {
        free(fs);
        return NULL;
    }
    return fs;
}

tl_fs *tl_fs_copy(tl_os *os, const tl_fs *fs) {
    (void)os;
    tl_fs *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *fs;
    copy->n_refs = 1;
    tl_dir_ref(copy->cwd);
    return copy;
}

tl_fs *tl_fs_ref(tl_fs *fs) {
    fs->n_refs++;
    return fs;
}

void tl_fs_unref(tl_os *os, tl_fs *fs) {
    if (!fs || --fs->n_refs > 0)
        return;
    tl_dir_unref(&os->file_system->dirs, fs->cwd);
    free(fs);
}
