// SPDX-License-Identifier: MIT
// Attributes of files: stat and its kin, access, modes, owners, times, file systems.
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/rw.h"
#include "linux/file/virtual.h"
#include "linux/process/clock.h"

// A path or, with AT_EMPTY_PATH, a descriptor: exactly one of file and place is set.
typedef struct object {
    tl_file *file;
    tl_place place;
} object;

static int64_t find(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, uint32_t at_flags, uint32_t walk, object *ret) {
    char path[TL_PATH_MAX];
    ret->file = NULL;
    int64_t n = tl_vm_read_string(t->process, path_vaddr, path, sizeof path);
    if (n < 0)
        return n;
    if (n == 0 && at_flags & AT_EMPTY_PATH && dirfd != TL_AT_FDCWD)
        return (ret->file = tl_file_of_fd(t, dirfd)) ? 0 : -EBADF;
    walk |= at_flags & AT_SYMLINK_NOFOLLOW ? 0u : TL_WALK_FOLLOW;
    walk |= at_flags & AT_EMPTY_PATH ? TL_WALK_EMPTY : 0u;
    int64_t error = tl_walk_at(t, dirfd, path, walk, &ret->place);
    if (error)
        return error;
    if (!ret->place.exists) {
        tl_place_done(&ret->place);
        return -ENOENT;
    }
    if (ret->place.is_magic) { // through a link of /proc to an open file
        ret->file = tl_virtual_file_of(t, ret->place.path);
        tl_place_done(&ret->place);
        return ret->file ? 0 : -ENOENT;
    }
    return 0;
}

static void done(object *o) {
    if (!o->file)
        tl_place_done(&o->place);
}

static int64_t stat_object(tl_thread *t, const object *o, tl_stat *ret_stat) {
    if (o->file)
        return tl_file_stat(t->os, o->file, ret_stat);
    if (o->place.tree == TL_TREE_VIRTUAL)
        return tl_virtual_stat(t, &o->place, ret_stat);
    tl_stat_of_host(t->os->file_system, &o->place.host, ret_stat);
    return 0;
}

static int64_t put_stat(tl_thread *t, uint64_t vaddr, const tl_stat *st) {
    tl_abi_stat out;
    tl_stat_encode(st, &out);
    return tl_vm_write(t->process, vaddr, &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_fstat(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    tl_stat st;
    if (!file)
        return -EBADF;
    int64_t error = tl_file_stat(t->os, file, &st);
    return error ? error : put_stat(t, args[1], &st);
}

enum { STAT_FLAGS = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH };

int64_t tl_sys_newfstatat(tl_thread *t, const uint64_t args[6]) {
    object o;
    tl_stat st;
    uint32_t flags = (uint32_t)args[3];
    if (flags & ~(uint32_t)STAT_FLAGS)
        return -EINVAL;
    int64_t error = find(t, (int32_t)args[0], args[1], flags, TL_WALK_READ, &o);
    if (error)
        return error;
    error = stat_object(t, &o, &st);
    done(&o);
    return error ? error : put_stat(t, args[2], &st);
}

int64_t tl_sys_statx(tl_thread *t, const uint64_t args[6]) {
    object o;
    tl_stat st;
    tl_abi_statx out;
    uint32_t flags = (uint32_t)args[2], sync = flags & AT_STATX_SYNC_TYPE;
    if (flags & ~(uint32_t)(STAT_FLAGS | AT_STATX_SYNC_TYPE) || sync == AT_STATX_SYNC_TYPE || (uint32_t)args[3] >> 31)
        return -EINVAL;
    int64_t error = find(t, (int32_t)args[0], args[1], flags, TL_WALK_READ, &o);
    if (error)
        return error;
    error = stat_object(t, &o, &st);
    done(&o);
    if (error)
        return error;
    tl_statx_encode(&st, &out);
    return tl_vm_write(t->process, args[4], &out, sizeof out) ? 0 : -EFAULT;
}

// ---- Access.

static int64_t access_object(tl_thread *t, const object *o, uint32_t mode) {
    tl_stat st;
    if (!o->file && o->place.tree == TL_TREE_HOST) {
        if (S_ISLNK(o->place.mode))
            return 0;
        return faccessat(o->place.dir_fd, o->place.name, (int)mode, AT_EACCESS) < 0 ? tl_file_host_error(t->os, errno) : 0;
    }
    int64_t error = stat_object(t, o, &st);
    if (error)
        return error;
    if (!o->file && o->place.tree == TL_TREE_SYSROOT && mode & W_OK)
        return -EROFS;
    uint32_t bits = st.uid == TL_UID ? st.mode >> 6 : st.mode;
    return mode & ~bits & 7 ? -EACCES : 0;
}

static int64_t do_access(tl_thread *t, const uint64_t args[6], uint32_t flags) {
    object o;
    uint32_t mode = (uint32_t)args[2];
    if (mode & ~7u || flags & ~(uint32_t)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int64_t error = find(t, (int32_t)args[0], args[1], flags, TL_WALK_READ, &o);
    if (error)
        return error;
    error = access_object(t, &o, mode);
    done(&o);
    return error;
}

int64_t tl_sys_faccessat(tl_thread *t, const uint64_t args[6]) { return do_access(t, args, 0); }
int64_t tl_sys_faccessat2(tl_thread *t, const uint64_t args[6]) { return do_access(t, args, (uint32_t)args[3]); }

// ---- Modes and owners.

static int64_t chmod_file(tl_thread *t, const tl_file *file, uint32_t mode) {
    tl_mem_inode *inode = tl_file_mem_inode(file);
    int fd = file->dir ? file->dir->fd : tl_file_host_fd(file);
    if (file->flags & TL_O_PATH)
        return -EBADF;
    if (inode) {
        tl_mem_inode_set_mode(t->os, inode, mode);
        return 0;
    }
    if (tl_file_is_standard(file))
        return 0;
    if (fd < 0)
        return file->ops->is_stream ? 0 : -EPERM;
    return fchmod(fd, mode & 07777) < 0 ? tl_file_host_error(t->os, errno) : 0;
}

int64_t tl_sys_fchmod(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    return file ? chmod_file(t, file, (uint32_t)args[1]) : -EBADF;
}

int64_t tl_sys_fchmodat(tl_thread *t, const uint64_t args[6]) {
    object o;
    uint32_t mode = (uint32_t)args[2];
    int64_t error = find(t, (int32_t)args[0], args[1], 0, 0, &o);
    if (error)
        return error;
    if (o.file)
        error = chmod_file(t, o.file, mode);
    else if (tl_path_is_shm(o.place.path))
        tl_mem_inode_set_mode(t->os, tl_shm_find(t->os->file_system, tl_shm_name(o.place.path))->inode, mode);
    else if (o.place.tree != TL_TREE_HOST)
        error = o.place.tree == TL_TREE_SYSROOT ? -EROFS : -EPERM;
    else if (fchmodat(o.place.dir_fd, o.place.name, mode & 07777, 0) < 0)
        error = tl_file_host_error(t->os, errno);
    done(&o);
    return error;
}

// chown succeeds only without a change, as for any user without privileges.
static int64_t check_owner(uint64_t uid, uint64_t gid) {
    bool keeps_uid = (uint32_t)uid == UINT32_MAX || (uint32_t)uid == TL_UID,
         keeps_gid = (uint32_t)gid == UINT32_MAX || (uint32_t)gid == TL_GID;
    return keeps_uid && keeps_gid ? 0 : -EPERM;
}

int64_t tl_sys_fchown(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    return !file || file->flags & TL_O_PATH ? -EBADF : check_owner(args[1], args[2]);
}

int64_t tl_sys_fchownat(tl_thread *t, const uint64_t args[6]) {
    object o;
    uint32_t flags = (uint32_t)args[4];
    if (flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int64_t error = find(t, (int32_t)args[0], args[1], flags, 0, &o);
    if (error)
        return error;
    done(&o);
    return check_owner(args[2], args[3]);
}

// ---- Times. "Now" is the host's, like the times of writing.

static int64_t set_times_of_file(tl_thread *t, const tl_file *file, const struct timespec times[2]) {
    tl_mem_inode *inode = tl_file_mem_inode(file);
    int fd = file->dir ? file->dir->fd : tl_file_host_fd(file);
    if (file->flags & TL_O_PATH)
        return -EBADF;
    if (inode)
        tl_mem_inode_set_times(t->os, inode, times);
    else if (fd >= 0 && !tl_file_is_standard(file) && futimens(fd, times) < 0)
        return tl_file_host_error(t->os, errno);
    return 0;
}

int64_t tl_sys_utimensat(tl_thread *t, const uint64_t args[6]) {
    object o;
    uint32_t flags = (uint32_t)args[3];
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
    if (args[2]) {
        tl_abi_timespec in[2];
        if (!tl_vm_read(t->process, args[2], in, sizeof in))
            return -EFAULT;
        for (int i = 0; i < 2; i++) {
            times[i] = (struct timespec){.tv_sec = in[i].seconds, .tv_nsec = in[i].ns};
            if (in[i].ns != UTIME_NOW && in[i].ns != UTIME_OMIT && (in[i].ns < 0 || in[i].ns >= TL_NS_PER_S))
                return -EINVAL;
        }
        if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
            return 0;
    }
    if (!args[1] && (int32_t)args[0] != TL_AT_FDCWD) { // futimens
        const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
        return flags ? -EINVAL : file ? set_times_of_file(t, file, times) : -EBADF;
    }
    if (flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int64_t error = find(t, (int32_t)args[0], args[1], flags, 0, &o);
    if (error)
        return error;
    if (o.file)
        error = set_times_of_file(t, o.file, times);
    else if (tl_path_is_shm(o.place.path))
        tl_mem_inode_set_times(t->os, tl_shm_find(t->os->file_system, tl_shm_name(o.place.path))->inode, times);
    else if (o.place.tree != TL_TREE_HOST)
        error = o.place.tree == TL_TREE_SYSROOT ? -EROFS : -EPERM;
    else if (utimensat(o.place.dir_fd, o.place.name, times, AT_SYMLINK_NOFOLLOW) < 0)
        error = tl_file_host_error(t->os, errno);
    done(&o);
    return error;
}

// ---- Sizes by name.

int64_t tl_sys_truncate(tl_thread *t, const uint64_t args[6]) {
    tl_place place;
    tl_file *file = NULL;
    if ((int64_t)args[1] < 0)
        return -EINVAL;
    int64_t error = tl_walk_user(t, TL_AT_FDCWD, args[0], TL_WALK_FOLLOW, &place);
    if (error)
        return error;
    if (!place.exists)
        error = -ENOENT;
    else if (S_ISDIR(place.mode))
        error = -EISDIR;
    else if (!S_ISREG(place.mode) && !place.is_magic)
        error = -EINVAL;
    else if (place.tree == TL_TREE_VIRTUAL)
        error = tl_virtual_open(t, &place, TL_O_WRONLY, 0, &file);
    else {
        int64_t fd = tl_place_open(&t->os->file_system->env, &place, O_WRONLY, 0);
        if (fd < 0)
            error = tl_file_host_error(t->os, (int)-fd);
        else if (!(file = tl_file_of_host(t->os, (int)fd, &place.host, TL_O_WRONLY, NULL, NULL)))
            error = -ENOMEM;
    }
    tl_place_done(&place);
    if (!error)
        error = tl_file_truncate(t, file, args[1]);
    tl_file_unref(t->os, file);
    return error;
}

// ---- File systems: the same numbers on every host.

static int64_t put_statfs(tl_thread *t, uint64_t device, uint64_t vaddr) {
    enum { BLOCKS = 1 << 24, FILES = 1 << 20, FLAGS = ST_RELATIME | 0x20 };
    tl_abi_statfs out = {
        .type = EXT4_SUPER_MAGIC, .block_bytes = TL_PAGE_BYTES, .fragment_bytes = TL_PAGE_BYTES, .name_max = TL_NAME_MAX, .flags = FLAGS};
    if (device == tl_device_proc()) {
        out.type = PROC_SUPER_MAGIC;
    } else if (device == tl_device_sys()) {
        out.type = SYSFS_MAGIC;
    } else if (device == tl_device_dev() || device == tl_device_shm() || device == tl_device_mem()) {
        out.type = TMPFS_MAGIC;
        out.n_blocks = t->os->file_system->mem_limit_bytes / TL_PAGE_BYTES;
        out.n_free = out.n_available = out.n_blocks - t->os->file_system->mem_bytes / TL_PAGE_BYTES;
    } else if (device == tl_device_pipe()) {
        out.type = PIPEFS_MAGIC;
    } else if (device == tl_device_socket()) {
        out.type = SOCKFS_MAGIC;
    } else {
        out.n_blocks = BLOCKS;
        out.n_free = out.n_available = BLOCKS / 2;
        out.n_files = FILES;
        out.n_files_free = FILES / 2;
        out.id[0] = (int32_t)device;
    }
    return tl_vm_write(t->process, vaddr, &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_statfs(tl_thread *t, const uint64_t args[6]) {
    object o;
    tl_stat st;
    int64_t error = find(t, TL_AT_FDCWD, args[0], 0, TL_WALK_READ, &o);
    if (error)
        return error;
    bool is_shm = !o.file && strcmp(o.place.path, "/dev/shm") == 0;
    error = stat_object(t, &o, &st);
    done(&o);
    return error ? error : put_statfs(t, is_shm ? tl_device_shm() : st.device, args[1]);
}

int64_t tl_sys_fstatfs(tl_thread *t, const uint64_t args[6]) {
    const tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    return file ? put_statfs(t, file->device, args[1]) : -EBADF;
}

// Extended attributes: this file system has none.
int64_t tl_sys_no_xattr(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return -EOPNOTSUPP;
}
