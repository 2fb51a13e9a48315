/* SPDX-License-Identifier: MIT
 *
 * Robust mutexes: when an owner dies (thread or process) the kernel walks its robust list, marks the words and wakes a
 * waiter, who gets EOWNERDEAD. Also the list registration calls themselves. */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pthread_mutex_t *new_robust_mutex(void) {
    pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    CHECK_EQ(pthread_mutex_init(mutex, &attr), 0);
    return mutex;
}

static void *lock_and_leave(void *arg) {
    CHECK_EQ(pthread_mutex_lock(arg), 0);
    return NULL; /* still locked */
}

static void test_thread_dies_with_the_lock(void) {
    pthread_mutex_t *mutex = new_robust_mutex();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, lock_and_leave, mutex), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    section("dead thread");
}

static void test_abandoned_lock_is_lost(void) {
    pthread_mutex_t *mutex = new_robust_mutex();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, lock_and_leave, mutex), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0); /* not made consistent */
    CHECK_EQ(pthread_mutex_lock(mutex), ENOTRECOVERABLE);
    section("not recoverable");
}

static atomic_int is_waiting;
static void *wait_for_it(void *mutex) {
    is_waiting = 1;
    return (void *)(long)pthread_mutex_lock(mutex);
}

static void test_killed_process_wakes_a_waiter(void) {
    pthread_mutex_t *mutex = new_robust_mutex();
    int fds[2];
    CHECK_OK(pipe(fds));
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(pthread_mutex_lock(mutex), 0);
        CHECK_EQ(write(fds[1], "l", 1), 1);
        for (;;)
            pause();
    }
    char byte;
    CHECK_EQ(read(fds[0], &byte, 1), 1); /* it is locked now */
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_it, mutex), 0);
    while (!is_waiting)
        sched_yield();
    usleep(20000);
    CHECK_OK(kill(pid, SIGKILL));
    void *result;
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK_EQ((long)result, EOWNERDEAD);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    section("killed process");
}

static void test_list_registration(void) {
    struct robust_list_head *head = NULL, mine = {.list = {&mine.list}};
    size_t length = 0;
    CHECK_OK(syscall(SYS_get_robust_list, 0, &head, &length));
    CHECK(head != NULL); /* registered by the C library */
    CHECK_EQ(length, sizeof *head);
    CHECK_FAILS(syscall(SYS_set_robust_list, &mine, sizeof mine - 1), EINVAL);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_OK(syscall(SYS_set_robust_list, &mine, sizeof mine));
        CHECK_OK(syscall(SYS_get_robust_list, 0, &head, &length));
        CHECK(head == &mine);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    section("registration");
}

int main(void) {
    test_thread_dies_with_the_lock();
    test_abandoned_lock_is_lost();
    test_killed_process_wakes_a_waiter();
    test_list_registration();
    CHECK_END;
}
