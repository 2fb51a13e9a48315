// SPDX-License-Identifier: MIT
// The scheduler. Ready threads stand in one queue in order of waking. A woken thread takes an idle
// hart at once: its last hart if idle, else the lowest. A free hart takes the oldest ready thread
// whose affinity permits the hart. All functions act at os->now.
#ifndef TL_OS_SCHED_H
#define TL_OS_SCHED_H

#include "linux/process/process.h"

struct tl_sched { // zeroed: empty
    tl_thread *first, *last;
};

void tl_sched_ready(tl_thread *t);  // new or woken: runs as soon as a hart is free
void tl_sched_sleep(tl_thread *t);  // leaves its hart: blocked in a system call
void tl_sched_stop(tl_thread *t);   // leaves its hart or the queue: job control
void tl_sched_remove(tl_thread *t); // leaves its hart or the queue for good
// Lets the others that may run on its hart go first. Does nothing when there are none.
void tl_sched_yield(tl_thread *t);
void tl_sched_slice_end(tl_thread *t);
void tl_sched_place(tl_thread *t); // after its affinity changed
// Running threads become the oldest ready ones, in order of harts.
void tl_sched_leave_all(tl_os *os);
// Idle harts take ready threads, first those that ran there last.
void tl_sched_fill_all(tl_os *os);
// The process has a new address space (execve). The thread is on a hart.
void tl_sched_space_changed(tl_thread *t);
// PMUs that programs may use, as tl_process.granted_pmus: at first, or what is left after an exec.
uint32_t tl_sched_granted_pmus(const tl_os *os, bool after_exec);
// granted_pmus of the process changed. The thread has a hart.
void tl_sched_pmus_changed(tl_thread *t);
bool tl_sched_has_waiting(const tl_os *os, const struct tl_hart *h);

void tl_thread_wake(tl_thread *t); // from a sleep; nothing when it does not sleep
void tl_wait_forget(tl_thread *t); // drops registrations, deadline, host descriptors
void tl_host_wait_forget(tl_thread *t);

#endif
