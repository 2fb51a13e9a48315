/* SPDX-License-Identifier: MIT
 * Life of a thread: create, join, detach, exit values, thread-local storage, keys with destructors,
 * once, attributes and stacks, cancellation with clean-up handlers, exit from a thread, fork in a
 * threaded process. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *square(void *arg) {
    long n = (long)arg;
    return (void *)(n * n);
}

static void test_join_returns_the_value(void) {
    enum { N = 20 };
    pthread_t threads[N];
    for (long i = 0; i < N; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, square, (void *)i), 0);
    for (long i = N - 1; i >= 0; i--) {
        void *value;
        CHECK_EQ(pthread_join(threads[i], &value), 0);
        CHECK_EQ((long)value, i * i);
    }
    section("create and join");
}

static void test_many_short_lives(void) {
    for (long i = 0; i < 300; i++) { /* thread ids, stacks and TLS blocks get reused */
        pthread_t thread;
        void *value;
        CHECK_EQ(pthread_create(&thread, NULL, square, (void *)i), 0);
        CHECK_EQ(pthread_join(thread, &value), 0);
        CHECK_EQ((long)value, i * i);
    }
    section("short lives");
}

static sem_t detached_done;
static void *detached(void *arg) {
    sem_post(arg);
    return NULL;
}

static void test_detached_threads(void) {
    pthread_attr_t attr;
    CHECK_EQ(pthread_attr_init(&attr), 0);
    CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
    CHECK_OK(sem_init(&detached_done, 0, 0));
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, &attr, detached, &detached_done), 0);
    }
    for (int i = 0; i < 10; i++)
        CHECK_OK(sem_wait(&detached_done));
    pthread_attr_destroy(&attr);
    section("detached");
}

static __thread int tls_zero;
static __thread long tls_value = 0x1122334455667788;
static __thread char tls_aligned[100] __attribute__((aligned(64)));
static pthread_barrier_t barrier;

static void *use_tls(void *arg) {
    long me = (long)arg;
    CHECK_EQ(tls_zero, 0);
    CHECK_EQ(tls_value, 0x1122334455667788);
    CHECK_EQ((uintptr_t)tls_aligned % 64, 0);
    tls_zero = (int)me;
    tls_value += me;
    memset(tls_aligned, (int)me, sizeof tls_aligned);
    errno = (int)me;
    pthread_barrier_wait(&barrier); /* all threads have written */
    CHECK_EQ(errno, me);
    CHECK_EQ(tls_zero, me);
    CHECK_EQ(tls_value, 0x1122334455667788 + me);
    CHECK_EQ(tls_aligned[99], me);
    return NULL;
}

static void test_thread_local_storage(void) {
    enum { N = 6 };
    pthread_t threads[N];
    pthread_barrier_init(&barrier, NULL, N);
    for (long i = 0; i < N; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use_tls, (void *)(i + 1)), 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(tls_zero, 0);
    section("thread-local storage");
}

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int n_destroyed, n_once;

static void destroy(void *value) { atomic_fetch_add(&n_destroyed, (int)(long)value); }
static void run_once(void) {
    n_once++;
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
}
static void *use_key(void *arg) {
    pthread_once(&once, run_once);
    CHECK(pthread_getspecific(key) == NULL);
    CHECK_EQ(pthread_setspecific(key, arg), 0);
    return NULL;
}

static void test_keys_and_once(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use_key, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(n_once, 1);
    CHECK_EQ(n_destroyed, 1 + 2 + 3 + 4);
    section("keys and once");
}

static void *deep(void *arg) {
    char *stack = arg;
    char here;
    CHECK(&here >= stack && &here < stack + 1024 * 1024);
    volatile char big[700 * 1024];
    for (size_t i = 0; i < sizeof big; i += 4096)
        big[i] = 1;
    return (void *)(long)(getpid() == gettid());
}

static void test_own_stack(void) {
    pthread_attr_t attr;
    pthread_t thread;
    void *stack = aligned_alloc(4096, 1024 * 1024), *value;
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstack(&attr, stack, 1024 * 1024), 0);
    CHECK_EQ(pthread_create(&thread, &attr, deep, stack), 0);
    CHECK_EQ(pthread_join(thread, &value), 0);
    CHECK_EQ((long)value, 0); /* its thread id is not the process id */
    CHECK_EQ(getpid(), gettid());
    free(stack);
    section("own stack");
}

static atomic_int n_cleanups, is_running;
static void cleanup(void *arg) { atomic_fetch_add(&n_cleanups, (int)(long)arg); }
static void *sleeps_forever(void *arg) {
    (void)arg;
    pthread_cleanup_push(cleanup, (void *)1L);
    pthread_cleanup_push(cleanup, (void *)10L);
    atomic_store(&is_running, 1);
    for (;;)
        sleep(1000); /* a cancellation point */
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}
static void *spins_forever(void *arg) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    atomic_store(&is_running, 1);
    for (;;)
        sched_yield();
    return arg;
}
static void *defers(void *arg) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    atomic_store(&is_running, 1);
    while (atomic_load((atomic_int *)arg) == 0)
        usleep(100);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    return NULL;
}

static void cancel_and_join(pthread_t thread, atomic_int *gate) {
    void *value = NULL;
    while (!atomic_load(&is_running))
        sched_yield();
    CHECK_EQ(pthread_cancel(thread), 0);
    if (gate)
        atomic_store(gate, 1);
    CHECK_EQ(pthread_join(thread, &value), 0);
    CHECK(value == PTHREAD_CANCELED);
    is_running = 0;
}

static void test_cancellation(void) {
    pthread_t thread;
    atomic_int gate = 0;
    CHECK_EQ(pthread_create(&thread, NULL, sleeps_forever, NULL), 0);
    cancel_and_join(thread, NULL);
    CHECK_EQ(n_cleanups, 11);
    CHECK_EQ(pthread_create(&thread, NULL, spins_forever, NULL), 0);
    cancel_and_join(thread, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, defers, &gate), 0);
    cancel_and_join(thread, &gate);
    section("cancellation");
}

static void *exits_process(void *arg) { exit((int)(long)arg); }
static void *exits_process_later(void *arg) {
    usleep(20000);
    return exits_process(arg);
}
static void *idle(void *arg) {
    for (;;)
        sleep(1000);
    return arg;
}

static void test_any_thread_ends_the_process(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, idle, NULL);
        pthread_create(&thread, NULL, exits_process, (void *)21L);
        idle(NULL);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 21 << 8);
    pid = fork();
    if (pid == 0) { /* the first thread may leave before the others */
        pthread_t thread;
        pthread_create(&thread, NULL, exits_process_later, (void *)22L);
        pthread_exit(NULL);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 22 << 8);
    section("exit from a thread");
}

static void *forks(void *arg) {
    int status;
    pid_t pid = fork();
    if (pid == 0) { /* only this thread exists here, and it leads */
        CHECK_EQ(gettid(), getpid());
        _exit(syscall(SYS_gettid) == getpid() ? 5 : 6);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return (void *)(long)(status >> 8 | (arg != NULL));
}

static void test_fork_from_a_thread(void) {
    pthread_t thread;
    void *value;
    CHECK_EQ(pthread_create(&thread, NULL, forks, NULL), 0);
    CHECK_EQ(pthread_join(thread, &value), 0);
    CHECK_EQ((long)value, 5);
    section("fork from a thread");
}

int main(void) {
    test_join_returns_the_value();
    test_many_short_lives();
    test_detached_threads();
    test_thread_local_storage();
    test_keys_and_once();
    test_own_stack();
    test_cancellation();
    test_any_thread_ends_the_process();
    test_fork_from_a_thread();
    CHECK_END;
}
