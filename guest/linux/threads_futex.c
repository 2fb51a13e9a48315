/* SPDX-License-Identifier: MIT
 * The futex system call by itself: value mismatch, time-outs relative and absolute, wake counts,
 * bit sets, requeue, WAKE_OP, interruption, private and shared words, and the kernel's own wake
 * when a thread's CLEARTID word is zeroed. */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout, void *word2, uint32_t value3) {
    return syscall(SYS_futex, word, op, value, timeout, word2, value3);
}

static _Atomic uint32_t word, word2;
static atomic_int n_asleep, n_woken;
static const struct timespec ten_ms = {0, 10000000};

static long now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void test_wait_returns_at_once_on_other_value(void) {
    word = 1;
    CHECK_FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0), EAGAIN);
    CHECK_FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 2, NULL, NULL, 1), EAGAIN);
    CHECK_EQ(futex(&word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0), 0);
    CHECK_FAILS(futex((_Atomic uint32_t *)((char *)&word + 1), FUTEX_WAIT, 1, NULL, NULL, 0), EINVAL);
    CHECK_FAILS(futex((_Atomic uint32_t *)8, FUTEX_WAIT, 1, NULL, NULL, 0), EFAULT);
    CHECK_FAILS(futex(&word, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0), EINVAL); /* no bit: never wakes */
    section("value mismatch");
}

static void test_time_outs(void) {
    long before = now_ns(CLOCK_MONOTONIC);
    CHECK_FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 1, &ten_ms, NULL, 0), ETIMEDOUT);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 10000000);
    long until = now_ns(CLOCK_MONOTONIC) + 10000000;
    struct timespec absolute = {until / 1000000000, until % 1000000000};
    CHECK_FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 1, &absolute, NULL, ~0u), ETIMEDOUT);
    CHECK(now_ns(CLOCK_MONOTONIC) >= until);
    until = now_ns(CLOCK_REALTIME) + 10000000;
    absolute = (struct timespec){until / 1000000000, until % 1000000000};
    CHECK_FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, &absolute, NULL, ~0u), ETIMEDOUT);
    CHECK(now_ns(CLOCK_REALTIME) >= until);
    struct timespec past = {1, 0}, invalid = {0, 1000000000};
    CHECK_FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 1, &past, NULL, ~0u), ETIMEDOUT);
    CHECK_FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 1, &invalid, NULL, 0), EINVAL);
    section("time-outs");
}

struct sleeper {
    _Atomic uint32_t *word;
    uint32_t bits;
};

static void *sleep_on(void *arg) {
    struct sleeper *sleeper = arg;
    uint32_t value = *sleeper->word;
    atomic_fetch_add(&n_asleep, 1);
    long result = futex(sleeper->word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, sleeper->bits);
    atomic_fetch_add(&n_woken, 1);
    return (void *)result;
}

/* Repeats the wake until it woke the wanted number, because sleepers may not sleep yet. */
static void wake_exactly(_Atomic uint32_t *at, int n, uint32_t bits) {
    int woken = 0;
    while (woken < n) {
        woken += (int)futex(at, FUTEX_WAKE_BITSET_PRIVATE, (uint32_t)(n - woken), NULL, NULL, bits);
        sched_yield();
    }
    CHECK_EQ(woken, n);
}

static void start_sleepers(pthread_t *threads, struct sleeper *sleepers, int n) {
    n_asleep = n_woken = 0;
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, sleep_on, &sleepers[i]), 0);
    while (n_asleep < n)
        sched_yield();
    usleep(20000); /* from "about to sleep" to asleep */
}

static void join_sleepers(pthread_t *threads, int n) {
    for (int i = 0; i < n; i++) {
        void *result;
        CHECK_EQ(pthread_join(threads[i], &result), 0);
        CHECK_EQ((long)result, 0);
    }
}

static void test_wake_counts_and_bit_sets(void) {
    pthread_t threads[4];
    struct sleeper sleepers[4] = {{&word, 1}, {&word, 2}, {&word, 4}, {&word, ~0u}};
    start_sleepers(threads, sleepers, 4);
    wake_exactly(&word, 1, 2); /* the second, or the one with all bits */
    wake_exactly(&word, 1, 2);
    CHECK_EQ(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, 2), 0);
    wake_exactly(&word, 1, 1);
    wake_exactly(&word, 1, ~0u);
    join_sleepers(threads, 4);
    CHECK_EQ(n_woken, 4);
    section("wake counts and bit sets");
}

static void test_requeue_moves_sleepers(void) {
    pthread_t threads[3];
    struct sleeper sleepers[3] = {{&word, ~0u}, {&word, ~0u}, {&word, ~0u}};
    word2 = 7;
    start_sleepers(threads, sleepers, 3);
    CHECK_FAILS(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &word2, 99), EAGAIN);
    /* Wakes one and moves two; only then does the second word have waiters. */
    CHECK_EQ(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &word2, word), 3);
    CHECK_EQ(futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0), 0);
    CHECK_EQ(futex(&word2, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0), 2);
    join_sleepers(threads, 3);
    section("requeue");
}

static void test_wake_op(void) {
    pthread_t threads[2];
    struct sleeper sleepers[2] = {{&word, ~0u}, {&word2, ~0u}};
    word2 = 7;
    start_sleepers(threads, sleepers, 2);
    /* word2 += 3; wake the first word's sleeper, and the second's since the old value was 7 */
    CHECK_EQ(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 7)), 2);
    CHECK_EQ(word2, 10);
    join_sleepers(threads, 2);
    section("wake and operate");
}

static void *wait_on_common(void *arg) {
    (void)arg;
    while (word == 1)
        futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    n_woken++;
    return NULL;
}

static void test_wake_after_store_is_never_lost(void) {
    for (int round = 0; round < 100; round++) {
        pthread_t threads[3];
        word = 1;
        n_woken = 0;
        for (int i = 0; i < 3; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, wait_on_common, NULL), 0);
        if (round % 2)
            sched_yield();
        word = 2;
        CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 3, NULL, NULL, 0) <= 3);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        CHECK_EQ(n_woken, 3);
    }
    section("no lost wakes");
}

static void test_shared_words_between_processes(void) {
    _Atomic uint32_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        while (*shared == 0)
            futex(shared, FUTEX_WAIT, 0, NULL, NULL, 0);
        *shared = 2;
        futex(shared, FUTEX_WAKE, 1, NULL, NULL, 0);
        _exit(0);
    }
    *shared = 1;
    futex(shared, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (*shared == 1)
        futex(shared, FUTEX_WAIT, 1, NULL, NULL, 0);
    CHECK_EQ(*shared, 2);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    section("between processes");
}

static void on_signal(int number) { (void)number; }

static void test_signal_interrupts(void) {
    struct sigaction action = {.sa_handler = on_signal};
    CHECK_OK(sigaction(SIGALRM, &action, NULL));
    word = 1;
    alarm(1);
    CHECK_FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), EINTR);
    section("interruption");
}

/* A raw clone: the kernel writes the child's id, zeroes it at the end and wakes its waiters. */
static int raw_thread(void *arg) {
    *(int *)arg = gettid();
    return 0;
}

static void test_clear_tid_wakes(void) {
    static char stack[65536] __attribute__((aligned(16)));
    static _Atomic uint32_t tid = 12345;
    static int seen, parent_tid;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID |
                CLONE_CHILD_SETTID | CLONE_PARENT_SETTID;
    int child = clone(raw_thread, stack + sizeof stack, flags, &seen, &parent_tid, NULL, &tid);
    CHECK(child > 0);
    CHECK_EQ(parent_tid, child);
    for (uint32_t value; (value = tid) != 0;)
        futex(&tid, FUTEX_WAIT, value, NULL, NULL, 0);
    CHECK_EQ(seen, child);
    while (syscall(SYS_tgkill, getpid(), child, 0) == 0) /* the word is cleared a little before the id is gone */
        sched_yield();
    CHECK_EQ(errno, ESRCH);
    section("cleartid");
}

int main(void) {
    test_wait_returns_at_once_on_other_value();
    test_time_outs();
    test_wake_counts_and_bit_sets();
    test_requeue_moves_sleepers();
    test_wake_op();
    test_wake_after_store_is_never_lost();
    test_shared_words_between_processes();
    test_signal_interrupts();
    test_clear_tid_wakes();
    CHECK_END;
}
