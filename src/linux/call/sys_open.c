// SPDX-License-Identifier: MIT
// Descriptors: opening, closing, duplicating, their flags; fcntl and ioctl.
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/lock.h"
#include "linux/file/virtual.h"
#include "linux/isa.h"

enum {
    CREATION_FLAGS = TL_O_CREAT | TL_O_EXCL | TL_O_NOCTTY | TL_O_TRUNC | TL_O_DIRECTORY | TL_O_NOFOLLOW | TL_O_CLOEXEC,
    SETTABLE_FLAGS = TL_O_APPEND | TL_O_NONBLOCK | TL_O_DIRECT | TL_O_NOATIME | TL_O_ASYNC,
};

// ---- Opening.

static int host_flags_of(uint32_t flags) {
    int host = (int)(flags & TL_O_ACCMODE) | O_NOCTTY;
    if (flags & TL_O_PATH)
        return O_PATH | (flags & TL_O_DIRECTORY ? O_DIRECTORY : 0);
    host |= flags & TL_O_TRUNC ? O_TRUNC : 0;
    host |= flags & TL_O_DIRECTORY ? O_DIRECTORY : 0;
    if ((flags & TL_O_TMPFILE) == TL_O_TMPFILE)
        host |= O_TMPFILE | (flags & TL_O_EXCL ? O_EXCL : 0);
    return host;
}

// The user's umask stays in force until the program sets its own.
static void set_exact_mode(const tl_thread *t, int fd, uint32_t mode) {
    if (t->fs->did_set_umask)
        (void)fchmod(fd, mode & ~t->fs->umask & 07777);
}

static int64_t wrap_host(tl_thread *t, int fd, const tl_place *place, uint32_t flags, tl_file **ret_file) {
    tl_os *os = t->os;
    tl_file_system *fs = os->file_system;
    struct stat st;
    tl_dir *dir = NULL;
    if (fstat(fd, &st) < 0) {
        int64_t error = -errno;
        close(fd);
        return error;
    }
    bool is_temporary = (flags & TL_O_TMPFILE) == TL_O_TMPFILE;
    if (S_ISDIR(st.st_mode)) {
        dir = tl_dir_of_fd(&fs->dirs, place->tree, fd, place->path);
        if (!dir)
            return -ENOMEM;
    }
    *ret_file = tl_file_of_host(os, fd, &st, flags, is_temporary ? NULL : place->path, dir);
    tl_dir_unref(&fs->dirs, dir);
    return *ret_file ? 0 : -ENOMEM;
}

static int64_t open_fifo(tl_thread *t, const tl_place *place, uint32_t flags, bool close_on_exec) {
    tl_os *os = t->os;
    tl_stat st;
    tl_file *file;
    bool waits;
    tl_stat_of_host(os->file_system, &place->host, &st);
    int64_t error = tl_fifo_open(os, st.device, st.inode, place->path, flags, &file, &waits);
    if (error)
        return error;
    int32_t fd = tl_fd_install(t, file, close_on_exec, 0);
    if (fd < 0 || !waits)
        return fd;
    // It has its number already; the call only waits for the other end.
    t->retry[0] = (uint64_t)fd + 1;
    if (tl_signal_is_deliverable(t)) {
        tl_fd_close(t, fd);
        return -TL_ERESTARTSYS;
    }
    tl_file_wait(t, file, EPOLLIN | EPOLLOUT);
    return tl_sys_block(t, -TL_ERESTARTSYS);
}

static int64_t go_on_opening_fifo(tl_thread *t);

// A named pipe of the host. It has its descriptor at once; a blocking open then waits for the other
// end.
static int64_t open_host_fifo(tl_thread *t, const tl_place *place, uint32_t flags, bool close_on_exec) {
    tl_file *file;
    int64_t error = tl_host_fifo_open(t->os, place, flags, &file);
    if (error)
        return error;
    file->flags |= TL_O_LARGEFILE;
    int32_t fd = tl_fd_install(t, file, close_on_exec, 0);
    if (fd < 0 || flags & TL_O_NONBLOCK || (flags & TL_O_ACCMODE) == TL_O_RDWR)
        return fd;
    t->retry[0] = (uint64_t)fd + 1;
    return go_on_opening_fifo(t);
}

static int64_t go_on_opening_fifo(tl_thread *t) {
    int32_t fd = (int32_t)(t->retry[0] - 1);
    tl_file *file = tl_file_of_fd(t, fd);
    bool is_host = file && tl_file_is_host_fifo(file);
    if (!file || (!is_host && !tl_file_is_pipe(file)))
        return -EBADF;
    if (is_host ? tl_host_fifo_is_open(file) : tl_fifo_has_partner(file))
        return fd;
    if (tl_signal_is_deliverable(t)) {
        t->retry[0] = 0;
        tl_fd_close(t, fd);
        return -TL_ERESTARTSYS;
    }
    if (is_host)
        tl_wait_on_host_fifo(t, file, POLLIN, true);
    else
        tl_file_wait(t, file, EPOLLIN | EPOLLOUT);
    return tl_sys_block(t, -TL_ERESTARTSYS);
}

// An existing file of the host or the sysroot.
static int64_t open_existing(tl_thread *t, const tl_place *place, uint32_t flags, tl_file **ret_file) {
    tl_os *os = t->os;
    tl_file_system *fs = os->file_system;
    uint32_t type = place->mode & S_IFMT;
    bool writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY, is_temporary = (flags & TL_O_TMPFILE) == TL_O_TMPFILE;
    if ((flags & (TL_O_CREAT | TL_O_EXCL)) == (TL_O_CREAT | TL_O_EXCL))
        return -EEXIST;
    if (type == S_IFLNK && !(flags & TL_O_PATH))
        return -ELOOP;
    if (flags & TL_O_DIRECTORY && type != S_IFDIR)
        return -ENOTDIR;
    if (type == S_IFDIR && !is_temporary && (writes || flags & TL_O_CREAT))
        return -EISDIR;
    // Guests may not open device nodes of the host.
    if (!(flags & TL_O_PATH) && (type == S_IFCHR || type == S_IFBLK))
        return -ENXIO;
    if (!(flags & TL_O_PATH) && type == S_IFSOCK)
        return -ENXIO;
    if (place->tree == TL_TREE_SYSROOT && (writes || flags & TL_O_TRUNC))
        return -EROFS;
    int64_t fd = tl_place_open(&fs->env, place, host_flags_of(flags), 0600);
    if (fd < 0)
        return tl_file_host_error(os, (int)-fd);
    if (is_temporary)
        set_exact_mode(t, (int)fd, 0600);
    int64_t error = wrap_host(t, (int)fd, place, flags, ret_file);
    if (!error && flags & TL_O_TRUNC && type == S_IFREG)
        tl_file_zeroed(os, *ret_file, 0, (uint64_t)place->host.st_size);
    return error;
}

// The sysroot replaces files that the folder of --root lacks. Unless the user named one, that is
// worth knowing: counts depend on it.
static void say_outside_root(tl_os *os, const tl_place *place) {
    if (place->tree != TL_TREE_SYSROOT || !os->options.root || os->has_named_sysroot || os->has_warned_sysroot || !S_ISREG(place->mode))
        return;
    os->has_warned_sysroot = true;
    tl_os_warn(os, "%s is not under --root %s: it came from %s; put %s userland into the folder (docs/userlands.md), or say --sysroot %s",
               place->path, os->options.root, os->options.sysroot, tl_os_isa_of(os)->title, os->options.sysroot);
}

static int64_t open_place(tl_thread *t, const tl_place *place, uint32_t flags, uint32_t mode, tl_file **ret_file) {
    tl_os *os = t->os;
    if (place->tree == TL_TREE_VIRTUAL)
        return tl_virtual_open(t, place, flags, mode, ret_file);
    if (place->exists) {
        int64_t error = open_existing(t, place, flags, ret_file);
        if (!error)
            say_outside_root(os, place);
        return error;
    }
    if (!(flags & TL_O_CREAT))
        return -ENOENT;
    if (place->wants_dir)
        return -EISDIR;
    int host_flags = host_flags_of(flags) | O_CREAT | O_EXCL;
    int64_t fd = tl_place_open(&os->file_system->env, place, host_flags, mode & ~t->fs->umask & 07777);
    if (fd < 0)
        return tl_file_host_error(os, (int)-fd);
    set_exact_mode(t, (int)fd, mode);
    return wrap_host(t, (int)fd, place, flags, ret_file);
}

// Records a host file that was read, because host files can make runs differ. Without --root a
// place's path is a host path.
static void note_host_path(tl_os *os, const tl_place *place) {
    if (place->tree != TL_TREE_HOST || os->options.root || os->n_host_paths == TL_OS_MAX_HOST_PATHS)
        return;
    for (uint32_t i = 0; i < os->n_host_paths; i++) {
        if (!strcmp(os->host_paths[i], place->path))
            return;
    }
    os->host_paths[os->n_host_paths] = strdup(place->path);
    os->n_host_paths += os->host_paths[os->n_host_paths] != NULL;
}

const char *tl_os_host_path(const tl_os *os, uint32_t index) { return index < os->n_host_paths ? os->host_paths[index] : NULL; }

static int64_t do_open(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, uint32_t flags, uint32_t mode, uint32_t walk) {
    if (t->is_retry && t->retry[0])
        return go_on_opening_fifo(t);
    bool close_on_exec = flags & TL_O_CLOEXEC;
    if (flags & TL_O_PATH)
        flags &= TL_O_PATH | TL_O_DIRECTORY | TL_O_NOFOLLOW | TL_O_CLOEXEC;
    if ((flags & TL_O_ACCMODE) == TL_O_ACCMODE) // "3": neither read nor write, for ioctl only
        return -EINVAL;
    bool is_temporary = (flags & TL_O_TMPFILE) == TL_O_TMPFILE, writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY;
    if (flags & (TL_O_TMPFILE & ~TL_O_DIRECTORY) && (!is_temporary || !writes))
        return -EINVAL;
    if ((flags & (TL_O_CREAT | TL_O_DIRECTORY)) == (TL_O_CREAT | TL_O_DIRECTORY))
        return -EINVAL;
    if (!(flags & TL_O_NOFOLLOW) && (flags & (TL_O_CREAT | TL_O_EXCL)) != (TL_O_CREAT | TL_O_EXCL))
        walk |= TL_WALK_FOLLOW;
    if (!writes && !(flags & TL_O_CREAT))
        walk |= TL_WALK_READ;
    tl_place place;
    int64_t error = tl_walk_user(t, dirfd, path_vaddr, walk, &place);
    if (error)
        return error;
    tl_stat st;
    if (place.tree == TL_TREE_HOST && place.exists && S_ISFIFO(place.mode) && !(flags & TL_O_PATH)) {
        bool is_refused = (flags & (TL_O_CREAT | TL_O_EXCL)) == (TL_O_CREAT | TL_O_EXCL) || flags & TL_O_DIRECTORY;
        tl_stat_of_host(t->os->file_system, &place.host, &st);
        if (!is_refused) {
            bool is_ours = tl_fifo_is_ours(t->os, st.device, st.inode);
            int64_t fd = (is_ours ? open_fifo : open_host_fifo)(t, &place, flags & ~(uint32_t)CREATION_FLAGS, close_on_exec);
            tl_place_done(&place);
            return fd;
        }
    }
    tl_file *file = NULL;
    bool reads = place.exists && !(flags & (TL_O_PATH | TL_O_TRUNC)) && (flags & TL_O_ACCMODE) != TL_O_WRONLY && !is_temporary;
    error = open_place(t, &place, flags, mode, &file);
    if (!error && reads)
        note_host_path(t->os, &place);
    tl_place_done(&place);
    if (error)
        return error;
    if (file->n_refs == 1)
        file->flags = (flags & ~(uint32_t)(TL_O_CREAT | TL_O_EXCL | TL_O_NOCTTY | TL_O_TRUNC | TL_O_CLOEXEC)) |
                      (flags & TL_O_PATH ? 0u : (uint32_t)TL_O_LARGEFILE);
    if (is_temporary)
        set_exact_mode(t, tl_file_host_fd(file), mode);
    return tl_fd_install(t, file, close_on_exec, 0);
}

int64_t tl_sys_openat(tl_thread *t, const uint64_t args[6]) {
    return do_open(t, (int32_t)args[0], args[1], tl_os_isa_of(t->os)->open_flags((uint32_t)args[2]) & TL_O_VALID, (uint32_t)args[3], 0);
}

int64_t tl_sys_openat2(tl_thread *t, const uint64_t args[6]) {
    struct open_how how;
    if (args[3] < sizeof how)
        return -EINVAL;
    if (args[3] > TL_PAGE_BYTES)
        return -E2BIG;
    if (!tl_vm_read(t->process, args[2], &how, sizeof how))
        return -EFAULT;
    for (uint64_t at = sizeof how; at < args[3]; at++) {
        uint8_t byte;
        if (!tl_vm_read(t->process, args[2] + at, &byte, 1))
            return -EFAULT;
        if (byte)
            return -E2BIG;
    }
    how.flags = (how.flags & ~(uint64_t)UINT32_MAX) | tl_os_isa_of(t->os)->open_flags((uint32_t)how.flags);
    if (how.flags & ~(uint64_t)TL_O_VALID || how.mode & ~UINT64_C(07777) || how.resolve & ~UINT64_C(0x3f))
        return -EINVAL;
    bool creates = how.flags & (TL_O_CREAT | (TL_O_TMPFILE & ~TL_O_DIRECTORY));
    if ((how.mode && !creates) || (how.resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) == (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
        return -EINVAL;
    if (how.flags & TL_O_PATH && how.flags & ~(uint64_t)(TL_O_PATH | TL_O_DIRECTORY | TL_O_NOFOLLOW | TL_O_CLOEXEC))
        return -EINVAL;
    uint32_t walk = 0;
    walk |= how.resolve & RESOLVE_NO_SYMLINKS ? TL_WALK_NO_SYMLINKS : 0u;
    walk |= how.resolve & RESOLVE_BENEATH ? TL_WALK_BENEATH : 0u;
    walk |= how.resolve & RESOLVE_IN_ROOT ? TL_WALK_IN_ROOT : 0u;
    return do_open(t, (int32_t)args[0], args[1], (uint32_t)how.flags, (uint32_t)how.mode, walk);
}

int64_t tl_file_open_program(tl_thread *t, int32_t dirfd, const char *path, int flags, bool is_program, tl_file **ret_file) {
    tl_place place;
    uint32_t walk = TL_WALK_READ | (flags & AT_SYMLINK_NOFOLLOW ? 0u : TL_WALK_FOLLOW) | (flags & AT_EMPTY_PATH ? TL_WALK_EMPTY : 0u);
    if (!path[0] && flags & AT_EMPTY_PATH && dirfd != TL_AT_FDCWD) { // fexecve
        tl_file *file = tl_file_of_fd(t, dirfd);
        if (!file)
            return -EBADF;
        tl_stat st;
        int64_t error = tl_file_stat(t->os, file, &st);
        if (error)
            return error;
        if (!S_ISREG(st.mode) || (is_program && !(st.mode & 0111)))
            return -EACCES;
        if (file->flags & TL_O_PATH || !file->ops->pread)
            return tl_file_reopen(t, file, TL_O_RDONLY, ret_file);
        *ret_file = tl_file_ref(file);
        return 0;
    }
    int64_t error = tl_walk_at(t, dirfd, path, walk, &place);
    if (error)
        return error;
    if (!place.exists)
        error = -ENOENT;
    else if (S_ISLNK(place.mode) && !place.is_magic)
        error = -ELOOP;
    else if (!place.is_magic && (!S_ISREG(place.mode) || (is_program && !(place.mode & 0111))))
        error = -EACCES;
    else
        error = open_place(t, &place, TL_O_RDONLY, 0, ret_file);
    tl_place_done(&place);
    return error;
}

// ---- Closing and duplicating.

int64_t tl_sys_close(tl_thread *t, const uint64_t args[6]) { return tl_fd_close(t, (int32_t)args[0]); }

int64_t tl_sys_close_range(tl_thread *t, const uint64_t args[6]) {
    enum { RANGE_UNSHARE = 2, RANGE_CLOEXEC = 4 };
    uint32_t first = (uint32_t)args[0], last = (uint32_t)args[1], flags = (uint32_t)args[2];
    if (flags & ~(uint32_t)(RANGE_UNSHARE | RANGE_CLOEXEC) || first > last)
        return -EINVAL;
    if (flags & RANGE_UNSHARE && t->files->n_refs > 1) {
        tl_files *own = tl_files_copy(t->os, t->files);
        if (!own)
            return -ENOMEM;
        tl_files_unref(t->os, t->files);
        t->files = own;
    }
    for (uint32_t fd = first; fd <= last && fd < t->files->capacity; fd++) {
        if (flags & RANGE_CLOEXEC)
            t->files->fds[fd].close_on_exec = t->files->fds[fd].file != NULL;
        else
            tl_fd_close(t, (int32_t)fd);
    }
    return 0;
}

int64_t tl_sys_dup(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    return file ? tl_fd_install(t, tl_file_ref(file), false, 0) : -EBADF;
}

int64_t tl_sys_dup3(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    uint32_t flags = (uint32_t)args[2];
    if (flags & ~(uint32_t)TL_O_CLOEXEC || (uint32_t)args[0] == (uint32_t)args[1])
        return -EINVAL;
    return file ? tl_fd_install_at(t, tl_file_ref(file), flags & TL_O_CLOEXEC, (uint32_t)args[1]) : -EBADF;
}

int64_t tl_sys_pipe2(tl_thread *t, const uint64_t args[6]) {
    uint32_t flags = (uint32_t)args[1];
    tl_file *ends[2];
    if (flags & ~(uint32_t)(TL_O_CLOEXEC | TL_O_NONBLOCK)) // no packet mode
        return -EINVAL;
    int64_t error = tl_pipe_open(t->os, flags & TL_O_NONBLOCK, &ends[0], &ends[1]);
    return error ? error : tl_fd_install_pair(t, ends, flags & TL_O_CLOEXEC, args[0]);
}

// ---- fcntl.

static int64_t set_flags(tl_thread *t, tl_file *file, uint32_t wanted) {
    uint32_t flags = (file->flags & ~(uint32_t)SETTABLE_FLAGS) | (wanted & SETTABLE_FLAGS);
    int64_t error = file->ops->set_flags ? file->ops->set_flags(t->os, file, flags) : 0;
    if (!error)
        file->flags = flags;
    return error;
}

static void set_owner(tl_file *file, int32_t owner, bool is_thread) {
    file->owner = owner == INT32_MIN ? 0 : owner; // no process has that id
    file->owner_is_thread = is_thread;
}

static int64_t owner_ex(tl_thread *t, tl_file *file, uint64_t vaddr, bool sets) {
    int32_t pair[2] = {file->owner < 0 ? 2 : file->owner_is_thread ? 0 : 1, file->owner < 0 ? -file->owner : file->owner};
    if (!sets)
        return tl_vm_write(t->process, vaddr, pair, sizeof pair) ? 0 : -EFAULT;
    if (!tl_vm_read(t->process, vaddr, pair, sizeof pair))
        return -EFAULT;
    if (pair[0] < 0 || pair[0] > 2)
        return -EINVAL;
    set_owner(file, pair[0] == 2 ? (int32_t)(0u - (uint32_t)pair[1]) : pair[1], pair[0] == 0);
    return 0;
}

int64_t tl_sys_fcntl(tl_thread *t, const uint64_t args[6]) {
    tl_fd *slot = tl_fd_at(t->files, (int32_t)args[0]);
    uint32_t command = (uint32_t)args[1];
    uint64_t argument = args[2];
    if (!slot)
        return -EBADF;
    tl_file *file = slot->file;
    if (file->flags & TL_O_PATH && command != TL_F_DUPFD && command != TL_F_DUPFD_CLOEXEC && command != TL_F_GETFD &&
        command != TL_F_SETFD && command != TL_F_GETFL)
        return -EBADF;
    switch (command) {
    case TL_F_DUPFD:
    case TL_F_DUPFD_CLOEXEC:
        if (argument >= tl_fd_limit(t))
            return -EINVAL;
        return tl_fd_install(t, tl_file_ref(file), command == TL_F_DUPFD_CLOEXEC, (uint32_t)argument);
    case TL_F_GETFD: return slot->close_on_exec;
    case TL_F_SETFD: slot->close_on_exec = argument & TL_FD_CLOEXEC; return 0;
    case TL_F_GETFL: return (int64_t)tl_os_isa_of(t->os)->open_flags(file->flags);
    case TL_F_SETFL:
        if (argument & ~(uint64_t)file->flags & TL_O_ASYNC)
            file->async_fd = (int32_t)args[0];
        return set_flags(t, file, tl_os_isa_of(t->os)->open_flags((uint32_t)argument));
    case TL_F_GETLK:
    case TL_F_SETLK:
    case TL_F_SETLKW:
    case TL_F_OFD_GETLK:
    case TL_F_OFD_SETLK:
    case TL_F_OFD_SETLKW: return tl_lock_fcntl(t, file, command, argument);
    case TL_F_SETOWN: set_owner(file, (int32_t)argument, false); return 0;
    case TL_F_GETOWN: return file->owner;
    case TL_F_SETOWN_EX: return owner_ex(t, file, argument, true);
    case TL_F_GETOWN_EX: return owner_ex(t, file, argument, false);
    case TL_F_SETSIG:
        if (argument > TL_N_SIGNALS)
            return -EINVAL;
        file->async_signal = (int32_t)argument;
        return 0;
    case TL_F_GETSIG: return file->async_signal;
    case TL_F_DUPFD_QUERY: return tl_file_of_fd(t, (int32_t)argument) == file;
    case TL_F_SETPIPE_SZ: return tl_file_is_pipe(file) ? tl_pipe_resize(t->os, file, argument ? (uint32_t)argument : 1) : -EBADF;
    case TL_F_GETPIPE_SZ: return tl_file_is_pipe(file) ? tl_pipe_resize(t->os, file, 0) : -EBADF;
    case TL_F_ADD_SEALS: return tl_mem_add_seals(t->os, file, (uint32_t)argument);
    case TL_F_GET_SEALS: return tl_mem_get_seals(file);
    case TL_F_SETLEASE: return -EAGAIN;
    case TL_F_GETLEASE: return TL_F_UNLCK;
    default: return -EINVAL;
    }
}

// ---- ioctl: no file of ours is a terminal.

int64_t tl_sys_ioctl(tl_thread *t, const uint64_t args[6]) {
    tl_fd *slot = tl_fd_at(t->files, (int32_t)args[0]);
    uint32_t request = (uint32_t)args[1];
    int32_t value;
    if (!slot || slot->file->flags & TL_O_PATH)
        return -EBADF;
    switch (request) {
    case TL_FIOCLEX: slot->close_on_exec = true; return 0;
    case TL_FIONCLEX: slot->close_on_exec = false; return 0;
    case TL_FIONBIO:
    case TL_FIOASYNC: {
        uint32_t bit = request == TL_FIONBIO ? TL_O_NONBLOCK : TL_O_ASYNC;
        if (!tl_vm_read(t->process, args[2], &value, sizeof value))
            return -EFAULT;
        if (bit == TL_O_ASYNC && value)
            slot->file->async_fd = (int32_t)args[0];
        return set_flags(t, slot->file, value ? slot->file->flags | bit : slot->file->flags & ~bit);
    }
    default: return slot->file->ops->ioctl ? slot->file->ops->ioctl(t, slot->file, request, args[2]) : -ENOTTY;
    }
}

int64_t tl_sys_getdents64(tl_thread *t, const uint64_t args[6]) {
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    return file->ops->get_entries ? file->ops->get_entries(t, file, args[1], (uint32_t)args[2]) : -ENOTDIR;
}

// ---- Mappings.

bool tl_file_window(const tl_os *os, const tl_file *file, uint64_t *ret_paddr, uint64_t *ret_bytes) {
    return file->ops->window && file->ops->window(os, file, ret_paddr, ret_bytes);
}

int64_t tl_file_may_map(tl_file *file, int prot, bool is_shared, bool *ret_is_zero) {
    *ret_is_zero = tl_file_is_dev_zero(file);
    if (file->flags & TL_O_PATH)
        return -EBADF;
    if (!file->ops->pread && !file->ops->window)
        return -ENODEV;
    if (!tl_file_may_read(file) || (is_shared && prot & TL_PROT_WRITE && !tl_file_may_write(file)))
        return -EACCES;
    if (is_shared && prot & TL_PROT_WRITE && tl_file_is_write_sealed(file))
        return -EPERM;
    return *ret_is_zero || file->ops->window || tl_file_is_regular(file) || tl_file_mem_inode(file) ? 0 : -ENODEV;
}
