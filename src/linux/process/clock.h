// SPDX-License-Identifier: MIT
// Guest clocks and what guests write as times. All of them count machine cycles; CLOCK_REALTIME
// starts at a fixed date.
#ifndef TL_OS_CLOCK_H
#define TL_OS_CLOCK_H

#include "linux/abi.h"
#include "linux/os_internal.h"

// The cycles that a clock counts. Real-time clocks differ only in their start.
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

// Finds the clock that `id` names for this thread. false: no such clock, or the clock's process or
// thread is gone.
bool tl_clock_of(const tl_thread *t, int32_t id, tl_clock *ret_clock);
static inline bool tl_clock_is_cpu(const tl_clock *clock) { return clock->kind >= TL_CLOCK_PROCESS_CPU; }
// CLOCK_REALTIME counts from 1970.
uint64_t tl_clock_ns(const tl_os *os, const tl_clock *clock);
// Cycles of a CPU clock; 0: its process or thread is gone.
uint64_t tl_clock_cpu_cycles(const tl_os *os, const tl_clock *clock);
// The earliest machine cycle at which a CPU clock can reach `cycles`. The clock reaches the value
// then if all running threads continue and all their cycles count. UINT64_MAX: the clock stands
// still, because none of its threads is on a hart.
uint64_t tl_clock_cpu_due(const tl_os *os, const tl_clock *clock, uint64_t cycles);
static inline uint64_t tl_add_saturated(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }
// An interval timer that was due at `expiry_ns` and has expired n times: when it is due next,
// saturated.
uint64_t tl_next_expiry(uint64_t expiry_ns, uint64_t interval_ns, uint64_t n);

enum { TL_NS_PER_S = 1000000000 };
// Reads a struct timespec that must be normal and not negative: 0, -EFAULT, -EINVAL. The result
// saturates.
int64_t tl_read_timespec(tl_process *p, uint64_t vaddr, uint64_t *ret_ns);
int64_t tl_read_timeval(tl_process *p, uint64_t vaddr, uint64_t *ret_ns);
int64_t tl_timespec_ns(const tl_abi_timespec *ts, uint64_t *ret_ns); // 0 or -EINVAL
// Times of SO_RCVTIMEO: 0 waits for ever, a negative one not at all.
uint64_t tl_timeout_ns(const tl_abi_timeval *tv);
tl_abi_timespec tl_ns_timespec(uint64_t ns);
// On the first call of a handler: t->deadline so many ns from now.
void tl_set_deadline_after(tl_thread *t, uint64_t ns);
static inline bool tl_deadline_has_passed(const tl_thread *t) { return t->deadline != TL_NO_DEADLINE && t->os->now >= t->deadline; }

#endif
