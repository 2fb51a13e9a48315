// SPDX-License-Identifier: MIT
// Opening files below a directory of the host, whatever links and `..` their path contains. The
// kernel does it (openat2, Linux 5.6); where it cannot, or a filter of system calls forbids it, the
// path is walked component by component, and the same names are refused.
#ifndef TL_BASE_OPEN_BELOW_H
#define TL_BASE_OPEN_BELOW_H

#include <stdint.h>

// O_PATH descriptor of a directory at a relative path without `..`. No component may be a link, the
// last one neither. -1 with errno: ELOOP or ENOTDIR at a link.
int tl_open_dir_below(int dir_fd, const char *path);

// Opens `path` as a process does whose root directory is root_fd: absolute links start there, and
// `..` does not leave it. Links of /proc that lead to open files are refused. -1 with errno. The
// descriptor is closed on exec.
int tl_open_in_root(int root_fd, const char *path, int flags, uint32_t mode);

#endif
