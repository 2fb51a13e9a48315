// SPDX-License-Identifier: MIT
// Nine ways in which threads share memory, or do not, one for each word of the command line:
//
//   sharing KIND [THREADS [ROUNDS]]
//
// Each thread does its part of ROUNDS, and the program checks the result. bench/contention.py runs
// all kinds; docs/false-sharing.md shows two of them. The output does not depend on time, so every
// RISC-V Linux prints equal text.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 8, LINE_BYTES = 64 };

typedef struct line { // a line of its own
    _Alignas(LINE_BYTES) _Atomic uint64_t value;
} line;

static unsigned n_threads = 4;
static uint64_t n_rounds;

// With fewer harts than threads, the one that is waited for needs the hart.
static void wait_a_little(uint64_t *n_waits) {
    if (++*n_waits % 2000 == 0)
        sched_yield();
}

// Work on nothing but registers.
static uint64_t compute(uint64_t seed, uint64_t n_steps) {
    for (uint64_t i = 0; i < n_steps; i++)
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static uint64_t load(_Atomic uint64_t *from) { return atomic_load_explicit(from, memory_order_acquire); }
static void store(_Atomic uint64_t *to, uint64_t value) { atomic_store_explicit(to, value, memory_order_release); }

// ---- false_sharing: a counter for each thread, all in one line; padded: each in its own line.

static struct { _Alignas(LINE_BYTES) volatile uint64_t count[MAX_THREADS]; } together;
static struct { _Alignas(LINE_BYTES) volatile uint64_t count; } apart[MAX_THREADS];

__attribute__((noinline)) static void count_up(volatile uint64_t *counter) {
    for (uint64_t i = 0; i < n_rounds; i++)
        *counter += i & 3;
}

static void false_sharing(unsigned id) { count_up(&together.count[id]); }
static void padded(unsigned id) { count_up(&apart[id].count); }

static uint64_t expected_count(void) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n_rounds; i++)
        sum += i & 3;
    return sum * n_threads;
}

static bool check_false_sharing(void) {
    uint64_t sum = 0;
    for (unsigned id = 0; id < n_threads; id++)
        sum += together.count[id];
    return sum == expected_count();
}

static bool check_padded(void) {
    uint64_t sum = 0;
    for (unsigned id = 0; id < n_threads; id++)
        sum += apart[id].count;
    return sum == expected_count();
}

// ---- ping_pong: one ball goes round.

static line ball;

static void ping_pong(unsigned id) {
    for (uint64_t i = 0, n_waits = 0; i < n_rounds; i++) {
        while (load(&ball.value) % n_threads != id)
            wait_a_little(&n_waits);
        store(&ball.value, load(&ball.value) + 1);
    }
}

static bool check_ping_pong(void) { return load(&ball.value) == n_rounds * n_threads; }

// ---- spinlock, ticket_lock: a total behind a lock, and some work of one's own.

static line lock, ticket, serving;
static struct { _Alignas(LINE_BYTES) volatile uint64_t value; } total;
static volatile uint64_t sink[MAX_THREADS * LINE_BYTES];

static void spinlock(unsigned id) {
    uint64_t own = id;
    for (uint64_t i = 0, n_waits = 0; i < n_rounds; i++) {
        while (atomic_exchange_explicit(&lock.value, 1, memory_order_acquire) != 0)
            while (load(&lock.value) != 0)
                wait_a_little(&n_waits);
        total.value += 1;
        store(&lock.value, 0);
        own = compute(own, 20 + 10 * (i & 7));
    }
    sink[id * LINE_BYTES] = own;
}

static void ticket_lock(unsigned id) {
    uint64_t own = id;
    for (uint64_t i = 0, n_waits = 0; i < n_rounds; i++) {
        uint64_t mine = atomic_fetch_add_explicit(&ticket.value, 1, memory_order_relaxed);
        while (load(&serving.value) != mine)
            wait_a_little(&n_waits);
        total.value += 1;
        store(&serving.value, mine + 1);
        own = compute(own, 20 + 10 * (i & 7));
    }
    sink[id * LINE_BYTES] = own;
}

static bool check_total(void) { return total.value == n_rounds * n_threads; }

// ---- barrier: phases of unequal length; the last to arrive lets all go on.

static line arrived, phase;
static volatile uint64_t done[MAX_THREADS];

static void barrier(unsigned id) {
    uint64_t own = id;
    for (uint64_t i = 0, n_waits = 0; i < n_rounds; i++) {
        own = compute(own, 100 + (i * 7 + id * 13) % 5 * 100);
        done[id] += 1;
        if (atomic_fetch_add_explicit(&arrived.value, 1, memory_order_acq_rel) == n_threads - 1) {
            store(&arrived.value, 0);
            store(&phase.value, i + 1);
        } else {
            while (load(&phase.value) <= i)
                wait_a_little(&n_waits);
        }
    }
    sink[id * LINE_BYTES] = own;
}

static bool check_barrier(void) {
    for (unsigned id = 0; id < n_threads; id++)
        if (done[id] != n_rounds)
            return false;
    return load(&phase.value) == n_rounds;
}

// ---- producer_consumer: pairs of threads with a ring between them.

enum { RING = 32 };
static struct ring {
    line head, tail;
    struct {
        _Alignas(LINE_BYTES) uint64_t items[RING];
    } slots;
    line sum;
} rings[MAX_THREADS / 2];

static void producer_consumer(unsigned id) {
    struct ring *ring = &rings[id / 2];
    uint64_t sum = 0;
    for (uint64_t i = 0, n_waits = 0; i < n_rounds; i++) {
        if (id % 2 == 0) {
            while (i - load(&ring->head.value) == RING)
                wait_a_little(&n_waits);
            ring->slots.items[i % RING] = i ^ compute(i, 10) % 2;
            store(&ring->tail.value, i + 1);
        } else {
            while (load(&ring->tail.value) == i)
                wait_a_little(&n_waits);
            sum += ring->slots.items[i % RING] | 1;
            store(&ring->head.value, i + 1);
            sum += compute(i, 5 + (i & 15)) & 0;
        }
    }
    if (id % 2 == 1)
        store(&ring->sum.value, sum);
}

static bool check_producer_consumer(void) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n_rounds; i++)
        sum += i | 1;
    for (unsigned id = 1; id < n_threads; id += 2)
        if (load(&rings[id / 2].sum.value) != sum)
            return false;
    return true;
}

// ---- read_mostly: all read a table under a sequence number; the first thread changes it rarely.

enum { TABLE = 32 };
static line sequence;
static struct { _Alignas(LINE_BYTES) _Atomic uint64_t entries[TABLE]; } table;
static _Atomic uint64_t n_torn;

static void read_mostly(unsigned id) {
    uint64_t n_waits = 0;
    for (uint64_t i = 0; i < n_rounds; i++) {
        if (id == 0 && i % 64 == 63) {
            store(&sequence.value, sequence.value + 1);
            atomic_thread_fence(memory_order_release);
            for (unsigned k = 0; k < TABLE; k++)
                atomic_store_explicit(&table.entries[k], i, memory_order_relaxed);
            store(&sequence.value, sequence.value + 1);
            continue;
        }
        uint64_t before, first, different;
        for (;;) {
            before = load(&sequence.value);
            first = atomic_load_explicit(&table.entries[0], memory_order_relaxed);
            different = 0;
            for (unsigned k = 1; k < TABLE; k++)
                different |= atomic_load_explicit(&table.entries[k], memory_order_relaxed) ^ first;
            atomic_thread_fence(memory_order_acquire);
            if (before % 2 == 0 && load(&sequence.value) == before)
                break;
            wait_a_little(&n_waits);
        }
        if (different != 0)
            atomic_fetch_add(&n_torn, 1);
    }
}

static bool check_read_mostly(void) { return atomic_load(&n_torn) == 0; }

// ---- work_queue: unequal pieces, handed out under a mutex; an empty queue lets threads sleep.

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static uint64_t n_queued, n_taken, n_finished;

static void work_queue(unsigned id) {
    uint64_t own = id, all = n_rounds * (n_threads - 1);
    if (id == 0) {
        for (uint64_t i = 0; i < all; i++) {
            own = compute(own, 60 + i % 3 * 40);
            pthread_mutex_lock(&queue_lock);
            n_queued++;
            pthread_mutex_unlock(&queue_lock);
            pthread_cond_signal(&queue_filled);
        }
        pthread_mutex_lock(&queue_lock);
        n_queued += n_threads - 1; // one for each of the others: the end
        pthread_cond_broadcast(&queue_filled);
        pthread_mutex_unlock(&queue_lock);
    } else {
        for (;;) {
            pthread_mutex_lock(&queue_lock);
            while (n_taken == n_queued)
                pthread_cond_wait(&queue_filled, &queue_lock);
            uint64_t piece = n_taken++;
            pthread_mutex_unlock(&queue_lock);
            if (piece >= all)
                break;
            own = compute(own, 100 + piece % 7 * 60);
            pthread_mutex_lock(&queue_lock);
            n_finished++;
            pthread_mutex_unlock(&queue_lock);
        }
    }
    sink[id * LINE_BYTES] = own;
}

static bool check_work_queue(void) { return n_finished == n_rounds * (n_threads - 1); }

// ---- The command line.

static const struct kind {
    const char *name;
    void (*run)(unsigned id);
    bool (*check)(void);
    unsigned least_threads, step; // of the number of threads
    uint64_t rounds;              // as a rule
} kinds[] = {
    {"false_sharing", false_sharing, check_false_sharing, 1, 1, 10000},
    {"ping_pong", ping_pong, check_ping_pong, 2, 1, 2000},
    {"spinlock", spinlock, check_total, 1, 1, 1000},
    {"ticket_lock", ticket_lock, check_total, 1, 1, 1000},
    {"barrier", barrier, check_barrier, 1, 1, 400},
    {"producer_consumer", producer_consumer, check_producer_consumer, 2, 2, 3000},
    {"read_mostly", read_mostly, check_read_mostly, 1, 1, 2000},
    {"work_queue", work_queue, check_work_queue, 2, 1, 300},
    {"padded", padded, check_padded, 1, 1, 10000},
};

static const struct kind *kind;

static void *body(void *id) {
    kind->run((unsigned)(uintptr_t)id);
    return NULL;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    if (kind && argc > 2)
        n_threads = (unsigned)atoi(argv[2]);
    if (!kind || n_threads > MAX_THREADS || n_threads < kind->least_threads || n_threads % kind->step != 0) {
        fprintf(stderr, "usage: sharing KIND [THREADS [ROUNDS]]; KIND and its least number of threads:");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            fprintf(stderr, " %s %u", kinds[i].name, kinds[i].least_threads);
        fprintf(stderr, "\n");
        return 2;
    }
    n_rounds = argc > 3 ? strtoull(argv[3], NULL, 0) : kind->rounds;
    pthread_t threads[MAX_THREADS];
    for (unsigned id = 1; id < n_threads; id++)
        if (pthread_create(&threads[id], NULL, body, (void *)(uintptr_t)id) != 0)
            return 2;
    body(NULL);
    for (unsigned id = 1; id < n_threads; id++)
        pthread_join(threads[id], NULL);
    bool is_right = kind->check();
    printf("%s, %u threads: %s\n", kind->name, n_threads, is_right ? "right" : "WRONG");
    return is_right ? 0 : 1;
}
