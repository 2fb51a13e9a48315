// SPDX-License-Identifier: MIT
// Descriptor tables, and the working directory and umask that travel with them. Both are shared
// (CLONE_FILES, CLONE_FS) or copied on clone. The lowest free number is always the next; the limit
// is RLIMIT_NOFILE of the process that asks.
#ifndef TL_OS_FD_H
#define TL_OS_FD_H

#include "linux/file/file.h"

typedef struct tl_fd {
    tl_file *file; // held; NULL: free
    bool close_on_exec;
} tl_fd;

struct tl_files {
    uint32_t n_refs;
    uint32_t capacity;
    uint32_t first_free; // nothing below is free
    tl_fd *fds;
};

struct tl_fs {
    uint32_t n_refs;
    tl_dir *cwd;
    uint32_t umask;
    bool did_set_umask; // until the program says otherwise, the user's own umask limits it too
};

// Takes the reference, also when it fails. The descriptor, at least `lowest`, or -EMFILE.
int32_t tl_fd_install(tl_thread *t, tl_file *file, bool close_on_exec, uint32_t lowest);
// Installs two files and writes their descriptors, two 32-bit numbers, to the guest. Takes both
// references, also when it fails. 0, -EMFILE, or -EFAULT: then neither is open.
int64_t tl_fd_install_pair(tl_thread *t, tl_file *const files[2], bool close_on_exec, uint64_t vaddr);
// Puts `file` (reference taken) at exactly `fd`, closing what is there. fd or -EBADF, -ENOMEM.
int32_t tl_fd_install_at(tl_thread *t, tl_file *file, bool close_on_exec, uint32_t fd);
int64_t tl_fd_close(tl_thread *t, int32_t fd);
tl_fd *tl_fd_at(const tl_files *files, int32_t fd); // NULL: not open
// A descriptor of a process (close-on-exec), and the process of such a file, or -EBADF.
int32_t tl_pidfd_install(tl_thread *t, int32_t pid, bool is_nonblock);
int32_t tl_pidfd_pid(const tl_file *file);
uint64_t tl_fd_limit(const tl_thread *t);

#endif
