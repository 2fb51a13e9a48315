/* SPDX-License-Identifier: MIT
 * The pthread synchronization objects under contention, each with an exact total: mutexes of every
 * type, condition variables, barriers, read-write locks, semaphores, timed waits, and objects
 * shared between processes. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 4 };

static void run_threads(int n, void *(*body)(void *)) {
    pthread_t threads[16];
    for (long i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *add_under_mutex(void *arg) {
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&mutex);
        long seen = counter;
        if (i % 500 == 0)
            sched_yield(); /* hold it across a switch, so that others must sleep */
        counter = seen + 1;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void test_mutex_excludes(void) {
    run_threads(THREADS, add_under_mutex);
    CHECK_EQ(counter, THREADS * 5000);
    section("mutex");
}

static void test_mutex_types(void) {
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    CHECK_EQ(pthread_mutex_init(&m, &attr), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_mutex_lock(&m), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_mutex_unlock(&m), 0);
    CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    CHECK_EQ(pthread_mutex_init(&m, &attr), 0);
    CHECK_EQ(pthread_mutex_lock(&m), 0);
    CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
    CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(&m), 0);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_init(&m, &attr), 0);
    CHECK_EQ(pthread_mutex_lock(&m), 0);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), until = in_ms(CLOCK_MONOTONIC, 20);
    CHECK_EQ(pthread_mutex_timedlock(&m, &soon), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    struct timespec now = in_ms(CLOCK_MONOTONIC, 0);
    CHECK(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    section("mutex types and time-outs");
}

/* A bounded queue: producers and consumers sleep on two conditions. */
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static long queue[8], queue_sum;
static unsigned head, tail, n_taken;
enum { ITEMS = 2000 };

static void *produce(long first) {
    for (long i = first; i <= ITEMS; i += 2) {
        pthread_mutex_lock(&mutex);
        while (tail - head == 8)
            pthread_cond_wait(&not_full, &mutex);
        queue[tail++ % 8] = i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
static void *consume(void) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (tail == head && n_taken < ITEMS)
            pthread_cond_wait(&not_empty, &mutex);
        if (n_taken == ITEMS) {
            pthread_mutex_unlock(&mutex);
            return NULL;
        }
        queue_sum += queue[head++ % 8];
        if (++n_taken == ITEMS)
            pthread_cond_broadcast(&not_empty);
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&mutex);
    }
}
static void *queue_body(void *arg) { return (long)arg < 2 ? produce((long)arg + 1) : consume(); }

static void test_condition_variables(void) {
    run_threads(5, queue_body); /* two producers, three consumers */
    CHECK_EQ(n_taken, ITEMS);
    CHECK_EQ(queue_sum, (long)ITEMS * (ITEMS + 1) / 2);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    pthread_mutex_lock(&mutex);
    CHECK_EQ(pthread_cond_timedwait(&not_full, &mutex, &soon), ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    section("condition variables");
}

/* Every thread adds its number in each round; the serial thread checks the sum. */
static pthread_barrier_t barrier;
static long round_sum, n_serial;

static void *barrier_body(void *arg) {
    for (int round = 1; round <= 50; round++) {
        __atomic_fetch_add(&round_sum, (long)arg + 1, __ATOMIC_RELAXED);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            CHECK_EQ(round_sum, round * (1 + 2 + 3 + 4));
            n_serial++;
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test_barriers(void) {
    pthread_barrier_init(&barrier, NULL, THREADS);
    run_threads(THREADS, barrier_body);
    CHECK_EQ(n_serial, 50);
    section("barriers");
}

/* Writers keep two numbers equal; readers must never see them differ. */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *rwlock_body(void *arg) {
    for (int i = 0; i < 1500; i++) {
        if ((long)arg == 0 || i % 10 == 0) {
            CHECK_EQ(pthread_rwlock_wrlock(&rwlock), 0);
            left++;
            if (i % 100 == 0)
                sched_yield();
            right++;
        } else {
            CHECK_EQ(pthread_rwlock_rdlock(&rwlock), 0);
            CHECK_EQ(left, right);
        }
        CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
    }
    return NULL;
}

static void test_read_write_locks(void) {
    run_threads(THREADS, rwlock_body);
    CHECK_EQ(left, 1500 + (THREADS - 1) * 150);
    CHECK_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(&rwlock), 0);
    CHECK_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY);
    section("read-write locks");
}

static sem_t ping, pong;
static void *semaphore_body(void *arg) {
    for (int i = 0; i < 1000; i++) {
        sem_wait((long)arg ? &pong : &ping);
        CHECK_EQ(counter % 2, (long)arg);
        counter++;
        sem_post((long)arg ? &ping : &pong);
    }
    return NULL;
}

static void test_semaphores_alternate(void) {
    counter = 0;
    sem_init(&ping, 0, 1);
    sem_init(&pong, 0, 0);
    run_threads(2, semaphore_body);
    CHECK_EQ(counter, 2000);
    int value = -1;
    CHECK_OK(sem_getvalue(&ping, &value));
    CHECK_EQ(value, 1);
    CHECK_FAILS(sem_trywait(&pong), EAGAIN);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    CHECK_FAILS(sem_timedwait(&pong, &soon), ETIMEDOUT);
    section("semaphores");
}

static pthread_spinlock_t spinlock;
static void *spin_body(void *arg) {
    for (int i = 0; i < 3000; i++) {
        pthread_spin_lock(&spinlock);
        counter++;
        pthread_spin_unlock(&spinlock);
    }
    return arg;
}

static void test_spin_locks(void) {
    counter = 0;
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    run_threads(THREADS, spin_body);
    CHECK_EQ(counter, THREADS * 3000);
    section("spin locks");
}

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    long turn, sum;
};

static void test_objects_shared_by_processes(void) {
    enum { N = 3, ROUNDS = 100 };
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex_attr;
    pthread_condattr_t cond_attr;
    pthread_mutexattr_init(&mutex_attr);
    pthread_mutexattr_setpshared(&mutex_attr, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&cond_attr);
    pthread_condattr_setpshared(&cond_attr, PTHREAD_PROCESS_SHARED);
    CHECK_EQ(pthread_mutex_init(&shared->mutex, &mutex_attr), 0);
    CHECK_EQ(pthread_cond_init(&shared->changed, &cond_attr), 0);
    for (long me = 0; me < N; me++) {
        if (fork() != 0)
            continue;
        for (int i = 0; i < ROUNDS; i++) { /* strictly in turn */
            pthread_mutex_lock(&shared->mutex);
            while (shared->turn % N != me)
                pthread_cond_wait(&shared->changed, &shared->mutex);
            shared->sum += shared->turn++;
            pthread_cond_broadcast(&shared->changed);
            pthread_mutex_unlock(&shared->mutex);
        }
        _exit(0);
    }
    for (int i = 0; i < N; i++) {
        int status;
        wait(&status);
        CHECK_EQ(status, 0);
    }
    CHECK_EQ(shared->turn, N * ROUNDS);
    CHECK_EQ(shared->sum, N * ROUNDS * (N * ROUNDS - 1) / 2);
    section("between processes");
}

int main(void) {
    test_mutex_excludes();
    test_mutex_types();
    test_condition_variables();
    test_barriers();
    test_read_write_locks();
    test_semaphores_alternate();
    test_spin_locks();
    test_objects_shared_by_processes();
    CHECK_END;
}
