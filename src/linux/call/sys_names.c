// SPDX-License-Identifier: MIT
// Names: making, linking, renaming and removing them; working directory and umask.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/virtual.h"

static int64_t host_error(const tl_thread *t) { return tl_file_host_error(t->os, errno); }

// The user's umask stays in force until the program sets its own.
static void set_exact_mode(const tl_thread *t, const tl_place *place, uint32_t mode) {
    if (t->fs->did_set_umask)
        (void)fchmodat(place->dir_fd, place->name, mode & ~t->fs->umask & 07777, 0);
}

// The place where a name is to be made: it must not exist, and be on the host.
static int64_t walk_new(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, bool is_dir, tl_place *ret_place) {
    int64_t error = tl_walk_user(t, dirfd, path_vaddr, TL_WALK_PARENT, ret_place);
    if (error)
        return error;
    if (ret_place->exists)
        error = -EEXIST;
    else if (ret_place->wants_dir && !is_dir)
        error = -ENOENT;
    else if (ret_place->tree != TL_TREE_HOST && !tl_path_is_shm(ret_place->path))
        error = -EACCES;
    if (error)
        tl_place_done(ret_place);
    return error;
}

int64_t tl_sys_mkdirat(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    uint32_t mode = (uint32_t)args[2] & 01777;
    int64_t error = walk_new(t, (int32_t)args[0], args[1], true, &place);
    if (error)
        return error;
    if (place.tree != TL_TREE_HOST)
        error = -EACCES; // /dev/shm is flat
    else if (mkdirat(place.dir_fd, place.name, mode & ~t->fs->umask) < 0)
        error = host_error(t);
    else
        set_exact_mode(t, &place, mode);
    tl_place_done(&place);
    return error;
}

int64_t tl_sys_mknodat(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    uint32_t mode = (uint32_t)args[2], type = mode & S_IFMT ? mode & S_IFMT : S_IFREG;
    if (type == S_IFCHR || type == S_IFBLK)
        return -EPERM;
    if (type != S_IFREG && type != S_IFIFO && type != S_IFSOCK)
        return -EINVAL;
    int64_t error = walk_new(t, (int32_t)args[0], args[1], false, &place);
    if (error)
        return error;
    struct stat host;
    if (place.tree != TL_TREE_HOST) {
        error = -EACCES;
    } else if (mknodat(place.dir_fd, place.name, type | (mode & ~t->fs->umask & 07777), 0) < 0) {
        error = host_error(t);
    } else {
        set_exact_mode(t, &place, mode);
        if (type == S_IFIFO && fstatat(place.dir_fd, place.name, &host, AT_SYMLINK_NOFOLLOW) == 0) {
            tl_stat st;
            tl_stat_of_host(t->os->file_system, &host, &st);
            error = tl_fifo_register(t->os, st.device, st.inode);
        }
    }
    tl_place_done(&place);
    return error;
}

int64_t tl_sys_symlinkat(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    char target[TL_PATH_MAX];
    int64_t error = tl_vm_read_string(t->process, args[0], target, sizeof target);
    if (error < 0)
        return error;
    if (error == 0)
        return -ENOENT;
    error = walk_new(t, (int32_t)args[1], args[2], false, &place);
    if (error)
        return error;
    if (place.tree != TL_TREE_HOST)
        error = -EACCES;
    else if (symlinkat(target, place.dir_fd, place.name) < 0)
        error = host_error(t);
    tl_place_done(&place);
    return error;
}

// The last link of the file is gone, so no later file gets its inode number.
static void forget(tl_thread *t, const tl_place *place) {
    bool is_last = place->exists && (place->host.st_nlink <= 1 || S_ISDIR(place->mode));
    if (is_last && S_ISFIFO(place->mode)) {
        tl_stat st;
        tl_stat_of_host(t->os->file_system, &place->host, &st);
        tl_fifo_removed(t->os, st.device, st.inode);
    }
    if (is_last)
        tl_inode_forget(t->os->file_system, place->host.st_dev, place->host.st_ino);
}

int64_t tl_sys_unlinkat(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    bool is_rmdir = args[2] & AT_REMOVEDIR;
    if (args[2] & ~(uint64_t)AT_REMOVEDIR)
        return -EINVAL;
    int64_t error = tl_walk_user(t, (int32_t)args[0], args[1], TL_WALK_PARENT, &place);
    if (error)
        return error;
    if (place.last != TL_LAST_NAME)
        error = !is_rmdir ? -EISDIR : place.last == TL_LAST_DOT ? -EINVAL : place.last == TL_LAST_DOTDOT ? -ENOTEMPTY : -EBUSY;
    else if (!place.exists)
        error = -ENOENT;
    else if (place.wants_dir && !S_ISDIR(place.mode))
        error = -ENOTDIR;
    else if (tl_path_is_shm(place.path))
        error = is_rmdir ? -ENOTDIR : tl_shm_unlink(t->os, tl_shm_name(place.path));
    else if (place.tree != TL_TREE_HOST)
        error = -EPERM;
    else if (!is_rmdir && S_ISDIR(place.mode))
        error = -EISDIR;
    else if (unlinkat(place.dir_fd, place.name, is_rmdir ? AT_REMOVEDIR : 0) < 0)
        error = host_error(t);
    else
        forget(t, &place);
    tl_place_done(&place);
    return error;
}

static bool is_same_inode(const tl_place *a, const tl_place *b) {
    return a->exists && b->exists && a->host.st_dev == b->host.st_dev && a->host.st_ino == b->host.st_ino;
}

static int64_t rename_shm(tl_thread *t, const tl_place *from, const tl_place *to, uint32_t flags) {
    tl_file_system *fs = t->os->file_system;
    tl_shm_entry *source = tl_shm_find(fs, tl_shm_name(from->path));
    if (flags & RENAME_EXCHANGE)
        return -EINVAL;
    if (strcmp(from->path, to->path) == 0)
        return 0;
    if (to->exists)
        (void)tl_shm_unlink(t->os, tl_shm_name(to->path));
    int64_t error = tl_shm_link(fs, tl_shm_name(to->path), source->inode);
    return error ? error : tl_shm_unlink(t->os, tl_shm_name(from->path));
}

static int64_t rename_host(tl_thread *t, const tl_place *from, const tl_place *to, uint32_t flags) {
    tl_file_system *fs = t->os->file_system;
    if (renameat2(from->dir_fd, from->name, to->dir_fd, to->name, flags) < 0)
        return host_error(t);
    if (is_same_inode(from, to))
        return 0;
    if (!(flags & RENAME_EXCHANGE))
        forget(t, to);
    static const char aside[] = "/\1"; // no canonical path
    if (flags & RENAME_EXCHANGE && S_ISDIR(to->mode))
        tl_dirs_renamed(&fs->dirs, to->path, aside);
    if (S_ISDIR(from->mode))
        tl_dirs_renamed(&fs->dirs, from->path, to->path);
    if (flags & RENAME_EXCHANGE && S_ISDIR(to->mode))
        tl_dirs_renamed(&fs->dirs, aside, from->path);
    return 0;
}

int64_t tl_sys_renameat(tl_thread *t, const uint64_t args[6]) {
    const uint64_t without_flags[6] = {args[0], args[1], args[2], args[3], 0, 0};
    return tl_sys_renameat2(t, without_flags);
}

int64_t tl_sys_renameat2(tl_thread *t, const uint64_t args[6]) {
    tl_place from, to;
    uint32_t flags = (uint32_t)args[4];
    if (flags & ~(uint32_t)(RENAME_NOREPLACE | RENAME_EXCHANGE) || flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    int64_t error = tl_walk_user(t, (int32_t)args[0], args[1], TL_WALK_PARENT, &from);
    if (error)
        return error;
    error = tl_walk_user(t, (int32_t)args[2], args[3], TL_WALK_PARENT, &to);
    if (error) {
        tl_place_done(&from);
        return error;
    }
    if (from.last != TL_LAST_NAME || to.last != TL_LAST_NAME)
        error = flags & RENAME_NOREPLACE && to.last != TL_LAST_NAME ? -EEXIST : -EBUSY;
    else if (!from.exists || (flags & RENAME_EXCHANGE && !to.exists))
        error = -ENOENT;
    else if (flags & RENAME_NOREPLACE && to.exists)
        error = -EEXIST;
    else if (!S_ISDIR(from.mode) && (from.wants_dir || (to.wants_dir && !(flags & RENAME_EXCHANGE))))
        error = -ENOTDIR;
    else if (to.wants_dir && to.exists && !S_ISDIR(to.mode))
        error = -ENOTDIR;
    else if (from.tree != to.tree || tl_path_is_shm(from.path) != tl_path_is_shm(to.path))
        error = -EXDEV;
    else if (tl_path_is_shm(from.path))
        error = rename_shm(t, &from, &to, flags);
    else if (from.tree != TL_TREE_HOST)
        error = -EACCES;
    else
        error = rename_host(t, &from, &to, flags);
    tl_place_done(&from);
    tl_place_done(&to);
    return error;
}

// The source of linkat: a place, or an open file (AT_EMPTY_PATH, /proc/self/fd/N).
static int64_t link_file(tl_thread *t, tl_file *file, const tl_place *to) {
    tl_mem_inode *inode = tl_file_mem_inode(file);
    int fd = tl_file_host_fd(file);
    char link[64];
    if (inode)
        return tl_path_is_shm(to->path) ? tl_shm_link(t->os->file_system, tl_shm_name(to->path), inode) : -EXDEV;
    if (fd < 0 || tl_file_is_standard(file) || to->tree != TL_TREE_HOST)
        return -EXDEV;
    if (file->dir)
        return -EPERM;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, to->dir_fd, to->name, AT_SYMLINK_FOLLOW) < 0 ? host_error(t) : 0;
}

static int64_t link_place(tl_thread *t, const tl_place *from, const tl_place *to) {
    tl_file_system *fs = t->os->file_system;
    if (from->is_magic) {
        tl_file *file = tl_virtual_file_of(t, from->path);
        return file ? link_file(t, file, to) : -ENOENT;
    }
    if (S_ISDIR(from->mode))
        return -EPERM;
    if (tl_path_is_shm(from->path) && tl_path_is_shm(to->path))
        return tl_shm_link(fs, tl_shm_name(to->path), tl_shm_find(fs, tl_shm_name(from->path))->inode);
    if (from->tree != TL_TREE_HOST || to->tree != TL_TREE_HOST)
        return -EXDEV;
    return linkat(from->dir_fd, from->name, to->dir_fd, to->name, 0) < 0 ? host_error(t) : 0;
}

int64_t tl_sys_linkat(tl_thread *t, const uint64_t args[6]) {
    tl_place from, to;
    char path[TL_PATH_MAX];
    if (args[4] & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int64_t n = tl_vm_read_string(t->process, args[1], path, sizeof path);
    if (n < 0)
        return n;
    tl_file *file = NULL;
    int64_t error = 0;
    if (n == 0 && args[4] & AT_EMPTY_PATH)
        error = (file = tl_file_of_fd(t, (int32_t)args[0])) ? 0 : -EBADF;
    else
        error = tl_walk_at(t, (int32_t)args[0], path, args[4] & AT_SYMLINK_FOLLOW ? TL_WALK_FOLLOW : 0, &from);
    if (error)
        return error;
    if (!file && !from.exists)
        error = -ENOENT;
    bool has_to = !error && !(error = walk_new(t, (int32_t)args[2], args[3], false, &to));
    if (has_to) {
        error = file ? link_file(t, file, &to) : link_place(t, &from, &to);
        tl_place_done(&to);
    }
    if (!file)
        tl_place_done(&from);
    return error;
}

int64_t tl_sys_readlinkat(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    char text[TL_PATH_MAX];
    uint32_t mode;
    bool is_magic;
    int64_t n;
    if ((int32_t)args[3] <= 0)
        return -EINVAL;
    char path[TL_PATH_MAX];
    n = tl_vm_read_string(t->process, args[1], path, sizeof path);
    if (n < 0)
        return n;
    if (n == 0) { // a link opened with O_PATH
        const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
        if (!file)
            return (int32_t)args[0] == TL_AT_FDCWD ? -ENOENT : -EBADF;
        n = tl_file_host_fd(file) < 0 ? -ENOENT : readlinkat(tl_file_host_fd(file), "", text, sizeof text);
        n = n == -1 ? -errno : n;
    } else {
        n = tl_walk_at(t, (int32_t)args[0], path, TL_WALK_READ, &place);
        if (n)
            return n;
        if (!place.exists) {
            n = -ENOENT;
        } else if (!S_ISLNK(place.mode)) {
            n = -EINVAL;
        } else if (place.tree == TL_TREE_VIRTUAL) {
            n = tl_virtual_lookup(t, place.path, &mode, text, &is_magic);
            n = n < 0 ? n : (int64_t)strlen(text);
        } else {
            n = tl_place_readlink(&t->os->file_system->env, &place, text, sizeof text);
        }
        tl_place_done(&place);
    }
    if (n < 0)
        return n;
    n = n < (int32_t)args[3] ? n : (int32_t)args[3];
    return tl_vm_write(t->process, args[2], text, (size_t)n) ? n : -EFAULT;
}

// ---- Working directory, umask.

static void set_cwd(tl_thread *t, tl_dir *dir) {
    tl_dir_unref(&t->os->file_system->dirs, t->fs->cwd);
    t->fs->cwd = dir;
}

int64_t tl_sys_chdir(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    tl_file_system *fs = t->os->file_system;
    int64_t error = tl_walk_user(t, TL_AT_FDCWD, args[0], TL_WALK_FOLLOW | TL_WALK_READ, &place);
    if (error)
        return error;
    if (!place.exists)
        error = -ENOENT;
    else if (!S_ISDIR(place.mode))
        error = -ENOTDIR;
    else if (place.tree == TL_TREE_HOST && faccessat(place.dir_fd, place.name, X_OK, AT_EACCESS) < 0)
        error = host_error(t);
    tl_dir *dir = error ? NULL : tl_dir_new(&fs->dirs, &fs->env, &place, &error);
    if (dir)
        set_cwd(t, dir);
    tl_place_done(&place);
    return error;
}

int64_t tl_sys_fchdir(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file)
        return -EBADF;
    if (!file->dir)
        return -ENOTDIR;
    set_cwd(t, tl_dir_ref(file->dir));
    return 0;
}

int64_t tl_sys_getcwd(tl_thread *t, const uint64_t args[6]) {
    const tl_dir *cwd = t->fs->cwd;
    struct stat st;
    size_t n = strlen(cwd->path) + 1;
    if (cwd->fd >= 0 && fstat(cwd->fd, &st) == 0 && st.st_nlink == 0)
        return -ENOENT;
    if (args[1] < n)
        return -ERANGE;
    return tl_vm_write(t->process, args[0], cwd->path, n) ? (int64_t)n : -EFAULT;
}

int64_t tl_sys_umask(tl_thread *t, const uint64_t args[6]) {
    uint32_t old = t->fs->umask;
    t->fs->umask = (uint32_t)args[0] & 0777;
    t->fs->did_set_umask = true;
    return old;
}
