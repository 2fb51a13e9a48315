// SPDX-License-Identifier: MIT
// Guest clocks and what guests write as times. All of them count machine cycles; CLOCK_REALTIME starts at a fixed date.
#ifndef TL_OS_CLOCK_H
#define TL_OS_CLOCK_H

#include "os/abi.h"
#include "os/os_internal.h"

// What a clock counts. Real-time clocks differ only by where they start.
typedef enum tl_clock_kind {
    TL_CLOCK_MONOTONIC,
    TL_CLOCK_REALTIME,
    TL_CLOCK_PROCESS_CPU,
    TL_CLOCK_PROCESS_USER,
    TL_CLOCK_THREAD_CPU,
    TL_CLOCK_THREAD_USER
} tl_clock_kind;
typedef struct tl_clock {
    tl_clock_kind kind;
    int32_t id; // process or thread of a CPU clock
    bool is_coarse;
} tl_clock;

// What clock number `id` means to this thread. false: no such clock, or the process or thread is gone.
bool tl_clock_of(const tl_thread *t, int32_t id, tl_clock *ret_clock);
uint64_t tl_clock_ns(const tl_os *os, const tl_clock *clock); // of CLOCK_REALTIME: since 1970

enum { TL_NS_PER_S = 1000000000 };
// Reads a struct timespec that must be normal and not negative: 0, -EFAULT, -EINVAL. The result saturates.
int64_t tl_read_timespec(tl_process *p, uint64_t vaddr, uint64_t *ret_ns);
int64_t tl_read_timeval(tl_process *p, uint64_t vaddr, uint64_t *ret_ns);
int64_t tl_timespec_ns(const tl_abi_timespec *ts, uint64_t *ret_ns); // 0 or -EINVAL
tl_abi_timespec tl_ns_timespec(uint64_t ns);
// On the first call of a handler: t->deadline so many ns from now.
void tl_set_deadline_after(tl_thread *t, uint64_t ns);
static inline bool tl_deadline_has_passed(const tl_thread *t) { return t->deadline != TL_NO_DEADLINE && t->os->now >= t->deadline; }

#endif
