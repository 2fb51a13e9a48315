/* SPDX-License-Identifier: MIT
 * Which thread or process a signal reaches: thread-directed and process-directed signals, masks of
 * each thread, a thread that only waits for signals, SIGCHLD with its cause, ping-pong between
 * processes, and deaths that take all threads. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static atomic_int n_calls, handler_tid, is_ready, must_stop;

static void on_signal(int number) {
    (void)number;
    handler_tid = gettid();
    n_calls++;
}

static void block(int number, int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static void *wait_with_signal_open(void *tid) {
    block(SIGUSR1, SIG_UNBLOCK);
    *(atomic_int *)tid = gettid();
    is_ready++;
    while (!must_stop)
        usleep(1000);
    return NULL;
}

static void test_process_signal_goes_to_an_open_thread(void) {
    atomic_int tid;
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    block(SIGUSR1, SIG_BLOCK);
    is_ready = n_calls = must_stop = 0;
    CHECK_EQ(pthread_create(&thread, NULL, wait_with_signal_open, &tid), 0);
    while (!is_ready)
        sched_yield();
    for (int i = 1; i <= 5; i++) {
        CHECK_OK(kill(getpid(), SIGUSR1)); /* this thread has it blocked, the other takes it */
        while (n_calls < i)
            sched_yield();
        CHECK_EQ(handler_tid, tid);
    }
    must_stop = 1;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    block(SIGUSR1, SIG_UNBLOCK);
    section("process-directed");
}

static void *idle(void *tid) {
    *(atomic_int *)tid = gettid();
    is_ready++;
    while (!must_stop)
        usleep(1000);
    return NULL;
}

static void test_thread_signal_goes_to_that_thread(void) {
    enum { N = 3 };
    atomic_int tids[N];
    pthread_t threads[N];
    is_ready = n_calls = must_stop = 0;
    for (int i = 0; i < N; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, idle, &tids[i]), 0);
    while (is_ready < N)
        sched_yield();
    for (int i = 0; i < 12; i++) {
        if (i % 2)
            CHECK_OK(syscall(SYS_tgkill, getpid(), (int)tids[i % N], SIGUSR1));
        else
            CHECK_EQ(pthread_kill(threads[i % N], SIGUSR1), 0);
        while (n_calls < i + 1)
            sched_yield();
        CHECK_EQ(handler_tid, tids[i % N]);
    }
    CHECK_FAILS(syscall(SYS_tgkill, getpid(), 0x3fffffff, SIGUSR1), ESRCH);
    CHECK_FAILS(syscall(SYS_tgkill, getpid() + 1, (int)tids[0], SIGUSR1), ESRCH);
    must_stop = 1;
    for (int i = 0; i < N; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    section("thread-directed");
}

static void *signal_loop(void *sum) {
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTERM);
    for (;;) {
        CHECK_EQ(sigwait(&set, &number), 0);
        if (number == SIGTERM)
            return NULL;
        *(atomic_int *)sum += number;
    }
}

static void test_dedicated_signal_thread(void) {
    pthread_t thread;
    atomic_int sum = 0;
    n_calls = 0;
    block(SIGUSR1, SIG_BLOCK);
    block(SIGUSR2, SIG_BLOCK);
    block(SIGTERM, SIG_BLOCK);
    CHECK_EQ(pthread_create(&thread, NULL, signal_loop, &sum), 0);
    for (int i = 0; i < 10; i++) {
        int before = sum, number = i % 2 ? SIGUSR1 : SIGUSR2;
        CHECK_OK(kill(getpid(), number));
        while (sum == before)
            sched_yield();
        CHECK_EQ(sum, before + number);
    }
    CHECK_OK(kill(getpid(), SIGTERM));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(n_calls, 0); /* no handler ran */
    block(SIGUSR1, SIG_UNBLOCK);
    block(SIGUSR2, SIG_UNBLOCK);
    block(SIGTERM, SIG_UNBLOCK);
    section("signal thread");
}

static volatile siginfo_t child_info;
static void on_child(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    child_info = *info;
    n_calls++;
}

static void test_sigchld_tells_the_cause(void) {
    struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGCHLD, &action, NULL));
    n_calls = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(33);
    while (n_calls < 1)
        usleep(1000);
    CHECK_EQ(child_info.si_pid, pid);
    CHECK_EQ(child_info.si_code, CLD_EXITED);
    CHECK_EQ(child_info.si_status, 33);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    CHECK_OK(kill(pid, SIGSTOP));
    while (n_calls < 2)
        usleep(1000);
    CHECK_EQ(child_info.si_code, CLD_STOPPED);
    CHECK_EQ(child_info.si_status, SIGSTOP);
    CHECK_OK(kill(pid, SIGCONT));
    while (n_calls < 3)
        usleep(1000);
    CHECK_EQ(child_info.si_code, CLD_CONTINUED);
    CHECK_OK(kill(pid, SIGKILL));
    while (n_calls < 4)
        usleep(1000);
    CHECK_EQ(child_info.si_code, CLD_KILLED);
    CHECK_EQ(child_info.si_status, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    signal(SIGCHLD, SIG_DFL);
    section("SIGCHLD");
}

static void test_ping_pong_between_processes(void) {
    sigset_t set;
    int number, status;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    block(SIGUSR1, SIG_BLOCK);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 100; i++) {
            sigwait(&set, &number);
            kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    for (int i = 0; i < 100; i++) {
        CHECK_OK(kill(pid, SIGUSR1));
        CHECK_EQ(sigwait(&set, &number), 0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    block(SIGUSR1, SIG_UNBLOCK);
    section("ping-pong");
}

static void *die(void *arg) {
    signal(SIGUSR2, SIG_DFL);
    syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
    return arg;
}

static void test_fatal_signal_takes_all_threads(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        atomic_int tid;
        pthread_t thread;
        must_stop = 0;
        pthread_create(&thread, NULL, idle, &tid);
        pthread_create(&thread, NULL, idle, &tid);
        pthread_create(&thread, NULL, die, NULL);
        for (;;)
            pause();
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGUSR2);
    section("fatal signal");
}

int main(void) {
    test_process_signal_goes_to_an_open_thread();
    test_thread_signal_goes_to_that_thread();
    test_dedicated_signal_thread();
    test_sigchld_tells_the_cause();
    test_ping_pong_between_processes();
    test_fatal_signal_takes_all_threads();
    CHECK_END;
}
