// SPDX-License-Identifier: MIT
// Waiting for host descriptors: see host_wait.h.
#include "os/host_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "os/os_internal.h"

typedef struct host_wait {
    tl_thread *thread;
    int fd;
    short events;
} host_wait;

struct tl_host_waits {
    host_wait *waits;     // in order of registration
    struct pollfd *polls; // scratch of the same capacity
    uint32_t n, capacity;
    uint64_t next_poll;
};

bool tl_host_wait_is_needed(const tl_os *os) { return os->host_waits && os->host_waits->n > 0; }

void tl_wait_on_host(tl_thread *t, int host_fd, short events, const char *waits_for) {
    tl_os *os = t->os;
    struct tl_host_waits *all = os->host_waits;
    t->waits_for = waits_for;
    if (!all)
        all = os->host_waits = calloc(1, sizeof *all);
    if (all && all->n == all->capacity) {
        uint32_t wanted = all->capacity ? 2 * all->capacity : 16;
        host_wait *waits = realloc(all->waits, wanted * sizeof *waits);
        if (waits)
            all->waits = waits;
        struct pollfd *polls = realloc(all->polls, wanted * sizeof *polls);
        if (polls)
            all->polls = polls;
        if (waits && polls)
            all->capacity = wanted;
    }
    if (!all || all->n == all->capacity) { // no memory: it looks again now and then
        if (t->deadline == TL_NO_DEADLINE)
            t->deadline = os->now + os->machine->config.os.slice_cycles;
        return;
    }
    all->waits[all->n++] = (host_wait){.thread = t, .fd = host_fd, .events = events};
}

void tl_host_wait_forget(tl_thread *t) {
    struct tl_host_waits *all = t->os->host_waits;
    uint32_t kept = 0;
    for (uint32_t i = 0; all && i < all->n; ++i)
        if (all->waits[i].thread != t)
            all->waits[kept++] = all->waits[i];
    if (all)
        all->n = kept;
}

// Number of threads woken, or -1 when the time was up.
static int poll_host(tl_os *os, const struct timespec *timeout, uint64_t cycle_when_ready, uint64_t limit_cycle) {
    struct tl_host_waits *all = os->host_waits;
    struct timespec before, after;
    for (uint32_t i = 0; i < all->n; ++i)
        all->polls[i] = (struct pollfd){.fd = all->waits[i].fd, .events = all->waits[i].events};
    clock_gettime(CLOCK_MONOTONIC, &before);
    int n_ready = ppoll(all->polls, all->n, timeout, NULL);
    if (n_ready <= 0)
        return n_ready < 0 && errno == EINTR ? 0 : -1;
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t elapsed_ns = (after.tv_sec - before.tv_sec) * 1000000000 + (after.tv_nsec - before.tv_nsec);
    uint64_t now = cycle_when_ready + tl_os_ns_to_cycles(os, elapsed_ns > 0 ? (uint64_t)elapsed_ns : 0);
    os->now = now < limit_cycle ? now : limit_cycle;
    os->hart = NULL;
    int n_woken = 0;
    uint32_t n = all->n;
    for (uint32_t i = 0; i < n; ++i) { // waking takes entries out, so look each thread up anew
        if (all->polls[i].revents == 0)
            continue;
        for (uint32_t k = 0; k < all->n; ++k)
            if (all->waits[k].fd == all->polls[i].fd) {
                tl_thread_wake(all->waits[k].thread);
                ++n_woken;
                break;
            }
    }
    return n_woken;
}

void tl_host_wait_poll(tl_os *os, uint64_t now) {
    struct tl_host_waits *all = os->host_waits;
    static const struct timespec at_once = {0, 0};
    if (!tl_host_wait_is_needed(os) || now < all->next_poll)
        return;
    all->next_poll = now + os->machine->config.os.slice_cycles;
    poll_host(os, &at_once, now, now);
}

bool tl_host_wait_sleep(tl_os *os, uint64_t limit_cycle) {
    uint64_t now = tl_os_now_cycles(os), ns = limit_cycle > now ? tl_os_cycles_to_ns(os, limit_cycle - now) : 0;
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    return poll_host(os, limit_cycle == UINT64_MAX ? NULL : &timeout, now, limit_cycle) >= 0;
}

void tl_host_waits_done(tl_os *os) {
    if (!os->host_waits)
        return;
    free(os->host_waits->waits);
    free(os->host_waits->polls);
    free(os->host_waits);
    os->host_waits = NULL;
}
