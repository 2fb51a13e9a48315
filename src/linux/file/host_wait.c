// SPDX-License-Identifier: MIT
// Waiting for host descriptors: see host_wait.h.
#include "linux/file/host_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "linux/file/file.h"
#include "linux/os_internal.h"

typedef struct host_wait {
    tl_thread *thread;
    int fd; // -1: none
    short events;
    tl_file *opening; // held; a named pipe polled until its other end opens. NULL: another wait
    bool is_still;
} host_wait;

enum { LOOK_AGAIN_NS = 10000000 }; // of the host

struct tl_host_waits {
    host_wait *waits;     // in order of registration
    struct pollfd *polls; // scratch of the same capacity
    uint32_t n, capacity;
    uint64_t next_poll;
};

bool tl_host_wait_is_needed(const tl_os *os) { return os->host_waits && os->host_waits->n > 0; }

bool tl_host_wait_is_still(const tl_os *os) {
    bool is_still = tl_host_wait_is_needed(os);
    for (uint32_t i = 0; is_still && i < os->host_waits->n; ++i)
        is_still = os->host_waits->waits[i].is_still;
    return is_still;
}

static void add(tl_thread *t, const char *waits_for, const host_wait *wait) {
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
    if (!all || all->n == all->capacity) { // no memory: the thread retries periodically
        if (t->deadline == TL_NO_DEADLINE)
            t->deadline = os->now + os->machine->config.os.slice_cycles;
        return;
    }
    if (wait->opening)
        tl_file_ref(wait->opening);
    all->waits[all->n++] = *wait;
}

void tl_wait_on_host(tl_thread *t, int host_fd, short events, const char *waits_for) {
    add(t, waits_for, &(host_wait){.thread = t, .fd = host_fd, .events = events});
}

void tl_wait_on_host_fifo(tl_thread *t, tl_file *file, short events, bool is_opening) {
    add(t, "a named pipe of the host",
        &(host_wait){.thread = t, .fd = tl_host_fifo_fd(file), .events = events, .opening = is_opening ? file : NULL, .is_still = true});
}

void tl_host_wait_forget(tl_thread *t) {
    struct tl_host_waits *all = t->os->host_waits;
    uint32_t kept = 0;
    for (uint32_t i = 0; all && i < all->n; ++i)
        if (all->waits[i].thread != t)
            all->waits[kept++] = all->waits[i];
        else
            tl_file_unref(t->os, all->waits[i].opening);
    if (all)
        all->n = kept;
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

static bool some_are_opening(const struct tl_host_waits *all) {
    for (uint32_t i = 0; i < all->n; ++i)
        if (all->waits[i].opening)
            return true;
    return false;
}

// Wakes every thread that has a wait of this kind. Waking a thread removes its waits. A stopped
// thread keeps its waits.
static int wake_all(struct tl_host_waits *all, bool (*is_meant)(const host_wait *wait, const struct pollfd *poll),
                    const struct pollfd *poll) {
    int n_woken = 0;
    for (uint32_t i = 0, n = all->n; i < all->n; n = all->n) {
        if (is_meant(&all->waits[i], poll))
            tl_thread_wake(all->waits[i].thread);
        n_woken += all->n < n;
        i = all->n < n ? 0 : i + 1;
    }
    return n_woken;
}

static bool has_fd(const host_wait *wait, const struct pollfd *poll) { return wait->fd >= 0 && wait->fd == poll->fd; }
static bool is_open_now(const host_wait *wait, const struct pollfd *poll) {
    return (void)poll, wait->opening && tl_host_fifo_is_open(wait->opening);
}

// Sleeps at most max_ns of the host; UINT64_MAX: without limit. Wakes threads whose descriptors are
// ready. is_look: also wakes threads whose pipe is open at the other end, and a time-out does not
// end the call. time_passes: os->now advances with the host's clock, to limit_cycle at most.
// Returns the number of threads woken, or -1 after a time-out.
static int poll_host(tl_os *os, uint64_t max_ns, bool is_look, bool time_passes, uint64_t now, uint64_t limit_cycle) {
    struct tl_host_waits *all = os->host_waits;
    struct timespec before, after, timeout = timespec_of(max_ns);
    uint32_t n = all->n;
    // A pipe without a writer since the last one closed would always be ready.
    for (uint32_t i = 0; i < n; ++i)
        all->polls[i] = (struct pollfd){.fd = all->waits[i].opening ? -1 : all->waits[i].fd, .events = all->waits[i].events};
    clock_gettime(CLOCK_MONOTONIC, &before);
    int n_ready = ppoll(all->polls, n, max_ns == UINT64_MAX ? NULL : &timeout, NULL);
    if (n_ready < 0)
        return errno == EINTR ? 0 : -1;
    if (n_ready == 0 && !is_look)
        return -1;
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t elapsed_ns = time_passes ? (after.tv_sec - before.tv_sec) * 1000000000 + (after.tv_nsec - before.tv_nsec) : 0;
    now += tl_os_ns_to_cycles(os, elapsed_ns > 0 ? (uint64_t)elapsed_ns : 0);
    os->now = now < limit_cycle ? now : limit_cycle;
    os->hart = NULL;
    int n_woken = is_look ? wake_all(all, is_open_now, NULL) : 0;
    for (uint32_t i = 0; i < n; ++i)
        if (all->polls[i].revents != 0)
            n_woken += wake_all(all, has_fd, &all->polls[i]);
    return n_woken;
}

void tl_host_wait_poll(tl_os *os, uint64_t now) {
    struct tl_host_waits *all = os->host_waits;
    if (!tl_host_wait_is_needed(os) || now < all->next_poll)
        return;
    all->next_poll = now + os->machine->config.os.slice_cycles;
    poll_host(os, 0, some_are_opening(all), false, now, now);
}

bool tl_host_wait_sleep(tl_os *os, uint64_t limit_cycle) {
    uint64_t now = tl_os_now_cycles(os), ns = limit_cycle > now ? tl_os_cycles_to_ns(os, limit_cycle - now) : 0;
    bool is_still = limit_cycle == UINT64_MAX && tl_host_wait_is_still(os), is_look = false;
    if (limit_cycle == UINT64_MAX)
        ns = UINT64_MAX;
    if (some_are_opening(os->host_waits) && ns > LOOK_AGAIN_NS) {
        ns = LOOK_AGAIN_NS;
        is_look = true;
    }
    return poll_host(os, ns, is_look, !is_still, now, limit_cycle) >= 0;
}

void tl_host_waits_done(tl_os *os) {
    if (!os->host_waits)
        return;
    free(os->host_waits->waits);
    free(os->host_waits->polls);
    free(os->host_waits);
    os->host_waits = NULL;
}
