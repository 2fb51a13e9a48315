// SPDX-License-Identifier: MIT
// timerfd. As in Linux an interval timer stops after an expiration until the guest reads it. The
// read counts the missed expirations and restarts the timer. A tiny interval is cheap because the
// timer stops.
#include <stdlib.h>
#include <sys/timerfd.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"
#include "linux/process/clock.h"

typedef struct timer_file {
    tl_file base;
    tl_timer timer;
    tl_poll_head head;
    tl_clock clock;
    uint64_t expiry_ns, interval_ns; // on its clock; expiry 0: disarmed
    bool has_expired;                // an expiration waits for a read
} timer_file;

static timer_file *of(tl_file *file) { return (timer_file *)file; }

static void timer_close(tl_os *os, tl_file *file) {
    tl_timer_cancel(os, &of(file)->timer);
    tl_poll_head_done(os, &of(file)->head);
    free(file);
}

static void fire(tl_os *os, tl_timer *timer) {
    timer_file *f = (timer_file *)(void *)((char *)timer - offsetof(timer_file, timer));
    f->has_expired = true;
    tl_poll_notify(os, &f->head, EPOLLIN);
}

static void arm(tl_os *os, timer_file *f) {
    uint64_t start = f->clock.kind == TL_CLOCK_REALTIME ? TL_REALTIME_START_S * TL_NS_PER_S : 0;
    uint64_t ns = f->expiry_ns > start ? f->expiry_ns - start : 0;
    uint64_t cycle = tl_os_ns_to_cycles(os, ns);
    if (cycle <= os->now)
        fire(os, &f->timer);
    else if (!tl_timer_arm(os, &f->timer, cycle, fire))
        f->expiry_ns = 0;
}

// Expirations up to now.
static uint64_t expirations(tl_os *os, timer_file *f) {
    if (!f->has_expired)
        return 0;
    uint64_t now = tl_clock_ns(os, &f->clock), n = 1;
    if (f->interval_ns && now > f->expiry_ns)
        n += (now - f->expiry_ns) / f->interval_ns;
    return n;
}

static int64_t timer_read(tl_thread *t, tl_file *file, const tl_io *io) {
    timer_file *f = of(file);
    if (io->n_bytes < sizeof(uint64_t))
        return -EINVAL;
    uint64_t n = expirations(t->os, f);
    if (n == 0)
        return -EAGAIN;
    f->has_expired = false;
    if (f->interval_ns) {
        f->expiry_ns = tl_next_expiry(f->expiry_ns, f->interval_ns, n);
        arm(t->os, f);
    } else {
        f->expiry_ns = 0;
    }
    tl_io_scatter(io, &n, sizeof n);
    return sizeof n;
}

static uint32_t timer_poll(tl_os *os, tl_file *file) {
    (void)os;
    return of(file)->has_expired ? EPOLLIN | EPOLLRDNORM : 0u;
}

static size_t timer_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)file, (void)pos;
    return sizeof(uint64_t);
}

static const tl_file_ops timer_ops = {
    .kind = "a timerfd",
    .close = timer_close,
    .read = timer_read,
    .available = timer_available,
    .poll = timer_poll,
    .link_name = "anon_inode:[timerfd]",
    .is_stream = true,
    .is_pollable = true,
};

int64_t tl_sys_timerfd_create(tl_thread *t, const uint64_t args[6]) {
    tl_clock clock;
    uint32_t flags = (uint32_t)args[1];
    if (flags & ~(uint32_t)(TL_O_NONBLOCK | TL_O_CLOEXEC) || !tl_clock_of(t, (int32_t)args[0], &clock) || clock.is_coarse ||
        (int32_t)args[0] == CLOCK_TAI || (int32_t)args[0] == CLOCK_MONOTONIC_RAW || clock.kind >= TL_CLOCK_PROCESS_CPU)
        return -EINVAL;
    timer_file *f = tl_file_new(t->os, sizeof *f, &timer_ops, TL_O_RDWR | (flags & TL_O_NONBLOCK));
    if (!f)
        return -ENOMEM;
    f->clock = clock;
    f->base.head = &f->head;
    return tl_fd_install(t, &f->base, flags & TL_O_CLOEXEC, 0);
}

static int64_t timer_file_of(tl_thread *t, int32_t fd, timer_file **ret_file) {
    tl_file *file = tl_file_of_fd(t, fd);
    if (!file)
        return -EBADF;
    if (file->ops != &timer_ops)
        return -EINVAL;
    *ret_file = of(file);
    return 0;
}

static int64_t put(tl_thread *t, timer_file *f, uint64_t vaddr) {
    uint64_t now = tl_clock_ns(t->os, &f->clock), left = 0;
    if (f->expiry_ns > now)
        left = f->expiry_ns - now;
    else if (f->expiry_ns && f->interval_ns)
        left = f->interval_ns - (now - f->expiry_ns) % f->interval_ns;
    tl_abi_itimerspec out = {.interval = tl_ns_timespec(f->interval_ns), .value = tl_ns_timespec(left)};
    return tl_vm_write(t->process, vaddr, &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_timerfd_gettime(tl_thread *t, const uint64_t args[6]) {
    timer_file *f;
    int64_t error = timer_file_of(t, (int32_t)args[0], &f);
    return error ? error : put(t, f, args[1]);
}

int64_t tl_sys_timerfd_settime(tl_thread *t, const uint64_t args[6]) {
    timer_file *f;
    uint64_t interval, value;
    if (args[1] & ~(uint64_t)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET))
        return -EINVAL;
    int64_t error = tl_read_timespec(t->process, args[2], &interval);
    if (!error)
        error = tl_read_timespec(t->process, args[2] + sizeof(tl_abi_timespec), &value);
    if (!error)
        error = timer_file_of(t, (int32_t)args[0], &f);
    if (!error && args[3])
        error = put(t, f, args[3]);
    if (error)
        return error;
    tl_timer_cancel(t->os, &f->timer);
    f->has_expired = false;
    f->interval_ns = interval;
    f->expiry_ns = 0;
    if (value) {
        uint64_t now = tl_clock_ns(t->os, &f->clock);
        f->expiry_ns = args[1] & TFD_TIMER_ABSTIME ? value : tl_add_saturated(now, value);
        arm(t->os, f);
    }
    return 0;
}
