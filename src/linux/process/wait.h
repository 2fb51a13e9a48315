// SPDX-License-Identifier: MIT
// Sleeping and waking, in machine time. Objects that threads wait for embed a queue. Waking makes
// sleeping threads ready at os->now, in order of registration. Timers fire in order of (cycle,
// sequence of arming), because the order must not depend on the host.
#ifndef TL_OS_WAIT_H
#define TL_OS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_os tl_os;
typedef struct tl_thread tl_thread;
typedef struct tl_file tl_file;

typedef struct tl_wait_queue tl_wait_queue;
typedef struct tl_wait_entry tl_wait_entry;
struct tl_wait_entry {    // owned by the thread
    tl_wait_queue *queue; // NULL: the queue was destroyed or has let the thread go
    tl_thread *thread;
    tl_wait_entry *next, *previous; // in the queue, oldest first
    tl_wait_entry *next_of_thread;
};
struct tl_wait_queue { // zeroed: empty
    tl_wait_entry *first, *last;
};

// Registers a thread in a handler that is about to return tl_sys_block. May be called for many
// queues. `waits_for` is static text and completes the sentence "thread 1000 waits for ...".
void tl_wait_on(tl_thread *t, tl_wait_queue *queue, const char *waits_for);
// As tl_wait_on, for a host descriptor (sockets, a terminal); events as in poll(2). Use it only for
// host descriptors, because the host is not deterministic.
void tl_wait_on_host(tl_thread *t, int host_fd, short events, const char *waits_for);
// For an end of a host FIFO. Simulated time stands still while all sleeping threads wait for host
// FIFOs. `is_opening`: the host is polled until the other end is open.
void tl_wait_on_host_fifo(tl_thread *t, tl_file *file, short events, bool is_opening);
// A sleep without queues (nanosleep): only the deadline or a signal ends it.
void tl_wait_only_deadline(tl_thread *t, const char *waits_for);
uint32_t tl_wake(tl_os *os, tl_wait_queue *queue, uint32_t max); // oldest first; returns how many
static inline void tl_wake_all(tl_os *os, tl_wait_queue *queue) {
    if (queue->first)
        tl_wake(os, queue, UINT32_MAX);
}
// Call it before the object that holds the queue is freed. Wakes all waiters.
void tl_wait_queue_done(tl_os *os, tl_wait_queue *queue);

typedef struct tl_timer tl_timer;
// os->now is timer->cycle. The timer is no longer armed and may be armed again.
typedef void tl_timer_fn(tl_os *os, tl_timer *timer);
struct tl_timer { // embedded in its owner; zeroed: not armed
    uint64_t cycle, sequence;
    tl_timer_fn *fire;
    uint32_t heap_index; // 1-based; 0: not armed
};
// Fires at `cycle`, at once (before any user code) when that is past. Arming an armed timer moves
// it. UINT64_MAX is never: the timer is not armed. false: no host memory.
bool tl_timer_arm(tl_os *os, tl_timer *timer, uint64_t cycle, tl_timer_fn *fire);
void tl_timer_cancel(tl_os *os, tl_timer *timer);

#endif
