// SPDX-License-Identifier: MIT
// Counts by instruction under this kernel (tl_os_options.code_map): a space for each thread, a new
// one after code that it executed is gone. Files are read, and bytes kept, before an area goes.
#ifndef TL_OS_CODE_H
#define TL_OS_CODE_H

#include "linux/process/process.h"

// With os->options.code_map. The thread executes on its hart from now on.
void tl_code_arrive(tl_thread *t);
void tl_code_leave(tl_thread *t); // its hart
// The thread's address space is another one (execve).
void tl_code_changed(tl_thread *t);
// Areas within [start, end) are about to go.
void tl_code_leaves(tl_vm *vm, uint64_t start, uint64_t end);

#endif
