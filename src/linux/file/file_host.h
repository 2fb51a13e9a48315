// SPDX-License-Identifier: MIT
// Functions of host files only: the host descriptor, positions, directory listings.
#ifndef TL_OS_FILE_HOST_H
#define TL_OS_FILE_HOST_H

#include "linux/file/file.h"

int tl_file_host_fd(const tl_file *file);     // borrowed; -1: not a file of the host
bool tl_file_is_regular(const tl_file *file); // of the host
bool tl_file_is_standard(const tl_file *file);
// As writev, but a pipe without a reader raises no SIGPIPE in the simulator. The guest gets EPIPE.
ssize_t tl_host_writev_quietly(int fd, const struct iovec *spans, int n_spans);
// lseek for files that have a size; there are no holes.
int64_t tl_file_seek_in(tl_file *file, int64_t offset, int whence, int64_t size);
// Bytes [offset, end) became zero: mappings see it.
void tl_file_zeroed(tl_os *os, const tl_file *file, uint64_t offset, uint64_t end);

typedef struct tl_dirents { // records of getdents64
    uint8_t *bytes;
    size_t n, capacity;
} tl_dirents;
// false: it does not fit any more. `type` is DT_*, `next` the position after it.
bool tl_dirent_put(tl_dirents *to, uint64_t inode, int64_t next, uint8_t type, const char *name, size_t n_name);

#endif
