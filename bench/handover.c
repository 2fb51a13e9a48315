// SPDX-License-Identifier: MIT
// handover prints two costs in nanoseconds for two threads of the host that work in turns. The first
// is a hand-over, in which both spin on one cache line. The second is each further line that both
// write. Each is that of the fastest round.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { FIRST = 10, N_HANDOVERS = 500, N_ROUNDS = 400, MOST_SECONDS = 10, N_LINES = 64, LINE_BYTES = 64, N_AHEAD = 17 };
static _Alignas(64) atomic_uint turn;
static _Alignas(64) volatile uint64_t lines[N_LINES * LINE_BYTES / sizeof(uint64_t)];
static unsigned n_lines;

static void play(unsigned from, unsigned to) {
    for (unsigned n = from; n < to; n += 2) {
        for (unsigned spins = 1; atomic_load_explicit(&turn, memory_order_acquire) != n; spins++)
            if (spins % 4096 == 0) // the other one has no core now
                sched_yield();
        for (unsigned i = 0; i < n_lines; i++) // in no order that the host foresees
            lines[i * N_AHEAD % N_LINES * (LINE_BYTES / sizeof *lines)] += 1;
        atomic_store_explicit(&turn, n + 1, memory_order_release);
    }
}

static void *other(void *unused) {
    (void)unused;
    play(1, FIRST + N_HANDOVERS);
    return NULL;
}

// Returns the nanoseconds of a hand-over; 0: there is no thread.
static double measure(void) {
    double least = 1e9;
    const time_t end = time(NULL) + MOST_SECONDS;
    for (int round = 0; round < N_ROUNDS && time(NULL) < end; round++) {
        struct timespec a, b;
        pthread_t thread;
        atomic_store(&turn, 0);
        if (pthread_create(&thread, NULL, other, NULL) != 0)
            return 0;
        play(0, FIRST); // until the other one runs
        clock_gettime(CLOCK_MONOTONIC, &a);
        play(FIRST, FIRST + N_HANDOVERS);
        clock_gettime(CLOCK_MONOTONIC, &b);
        pthread_join(thread, NULL);
        const double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / N_HANDOVERS;
        least = ns < least ? ns : least;
    }
    return least;
}

int main(void) {
    const double alone = measure();
    n_lines = N_LINES;
    const double with_lines = measure();
    if (alone == 0 || with_lines == 0)
        return 1;
    printf("%.1f %.1f\n", alone, (with_lines - alone) / N_LINES);
    return 0;
}
