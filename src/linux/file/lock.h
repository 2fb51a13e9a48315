// SPDX-License-Identifier: MIT
// Advisory locks between programs of this machine: record locks of fcntl (owned by a descriptor
// table, given up when any descriptor of the file closes), those of open file descriptions, and
// flock. The host's other programs do not see them.
#ifndef TL_OS_LOCK_H
#define TL_OS_LOCK_H

#include "linux/file/file_system.h"

// A descriptor of `file` in `files` was closed.
void tl_locks_closed(tl_os *os, const tl_files *files, tl_file *file);
// The description is going away.
void tl_locks_released(tl_os *os, tl_file *file);
void tl_locks_done(tl_file_system *fs);
int64_t tl_lock_fcntl(tl_thread *t, tl_file *file, uint32_t command, uint64_t flock_vaddr);

#endif
