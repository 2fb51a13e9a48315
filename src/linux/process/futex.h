// SPDX-License-Identifier: MIT
// Futexes: waiting at a word of memory. The key of a word in a shared mapping is the mapped object
// and the place in it. The key of any other is the address space and the address. Waiters of one
// word are woken in the order in which they came.
#ifndef TL_OS_FUTEX_H
#define TL_OS_FUTEX_H

#include "linux/process/process.h"

typedef struct tl_futexes tl_futexes;

tl_futexes *tl_futexes_new(void); // NULL: no memory
void tl_futexes_free(tl_futexes *futexes);

void tl_futex_forget(tl_thread *t);      // it waits no longer; nothing when it does not
void tl_futex_thread_done(tl_thread *t); // at exit or exec: robust list, clear_child_tid

#endif
