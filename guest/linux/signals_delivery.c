/* SPDX-License-Identifier: MIT
 * When and how a handler runs: arguments, queued values, masks, order of pending signals, one-shot
 * and nested handlers, the alternate stack, and what an interrupted system call returns, with and
 * without SA_RESTART. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t n_calls, last_signal, depth, max_depth;
static volatile siginfo_t last_info;
static volatile uintptr_t last_stack;

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
    CHECK_OK(sigaction(number, &action, NULL));
}

static void record(int number, siginfo_t *info, void *context) {
    (void)context;
    n_calls++;
    last_signal = number;
    last_info = *info;
    last_stack = (uintptr_t)__builtin_frame_address(0);
}

static sigset_t set_of(int first, int second) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    if (second)
        sigaddset(&set, second);
    return set;
}

static void test_handler_arguments(void) {
    install(SIGUSR1, record, 0);
    CHECK_OK(kill(getpid(), SIGUSR1));
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(last_signal, SIGUSR1);
    CHECK_EQ(last_info.si_signo, SIGUSR1);
    CHECK_EQ(last_info.si_code, SI_USER);
    CHECK_EQ(last_info.si_pid, getpid());
    CHECK_EQ(last_info.si_uid, getuid());
    raise(SIGUSR1);
    CHECK_EQ(last_info.si_code, SI_TKILL);
    union sigval value = {.sival_ptr = (void *)0x123456789abcdef0};
    CHECK_OK(sigqueue(getpid(), SIGUSR1, value));
    CHECK_EQ(n_calls, 3);
    CHECK_EQ(last_info.si_code, SI_QUEUE);
    CHECK(last_info.si_value.sival_ptr == value.sival_ptr);
    struct sigaction old;
    CHECK_OK(sigaction(SIGUSR1, NULL, &old));
    CHECK(old.sa_sigaction == record);
    CHECK_EQ(old.sa_flags & (SA_SIGINFO | SA_NODEFER), SA_SIGINFO);
    CHECK_FAILS(sigaction(SIGKILL, &old, NULL), EINVAL);
    CHECK_FAILS(sigaction(SIGSTOP, &old, NULL), EINVAL);
    CHECK_FAILS(kill(getpid(), 65), EINVAL);
    section("handler arguments");
}

static volatile int order[16];
static void record_order(int number, siginfo_t *info, void *context) {
    (void)context;
    order[n_calls++] = number * 100 + info->si_value.sival_int;
}

static void test_pending_signals_are_queued_in_order(void) {
    sigset_t set = set_of(SIGRTMIN + 2, SIGRTMIN + 1), old, pending;
    sigaddset(&set, SIGUSR2);
    n_calls = 0;
    install(SIGRTMIN + 1, record_order, SA_RESTART);
    install(SIGRTMIN + 2, record_order, SA_RESTART);
    install(SIGUSR2, record, 0);
    CHECK_OK(sigprocmask(SIG_BLOCK, &set, &old));
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = i}));
        CHECK_OK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
    }
    CHECK_OK(kill(getpid(), SIGUSR2));
    CHECK_OK(kill(getpid(), SIGUSR2)); /* a standard signal is pending only once */
    CHECK_EQ(n_calls, 0);
    CHECK_OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGUSR2) + sigismember(&pending, SIGRTMIN + 1) + sigismember(&pending, SIGRTMIN), 2);
    struct timespec none = {0, 0};
    siginfo_t info;
    sigset_t one = set_of(SIGUSR2, 0);
    CHECK_EQ(sigtimedwait(&one, &info, &none), SIGUSR2); /* takes it without a handler */
    CHECK_EQ(info.si_pid, getpid());
    CHECK_FAILS(sigtimedwait(&one, &info, &none), EAGAIN);
    one = set_of(SIGRTMIN + 1, SIGRTMIN + 2);
    CHECK_EQ(sigwaitinfo(&one, &info), SIGRTMIN + 1); /* lowest number first, then oldest */
    CHECK_EQ(info.si_value.sival_int, 1);
    CHECK_OK(sigprocmask(SIG_SETMASK, &old, NULL));
    CHECK_EQ(n_calls, 5);
    int sum = 0; /* handlers stack up, so the order within a number is the check: newest entry first by nesting */
    for (int i = 0; i < 5; i++)
        sum += order[i] % 100;
    CHECK_EQ(sum, 2 + 3 + 1 + 2 + 3);
    section("pending signals");
}

static void nest(int number, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    if (++depth > max_depth)
        max_depth = depth;
    if (n_calls++ < 3)
        raise(number);
    depth--;
}

static void test_masks_during_a_handler(void) {
    n_calls = depth = max_depth = 0;
    install(SIGUSR1, nest, 0);
    raise(SIGUSR1);
    CHECK_EQ(n_calls, 4);
    CHECK_EQ(max_depth, 1); /* its own signal waits until it returns */
    n_calls = max_depth = 0;
    install(SIGUSR1, nest, SA_NODEFER);
    raise(SIGUSR1);
    CHECK_EQ(n_calls, 4);
    CHECK_EQ(max_depth, 4);
    n_calls = 0;
    install(SIGUSR1, record, SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction now;
    CHECK_OK(sigaction(SIGUSR1, NULL, &now));
    CHECK(now.sa_handler == SIG_DFL);
    CHECK_EQ(n_calls, 1);
    sigset_t mask;
    CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &mask));
    CHECK_EQ(sigismember(&mask, SIGUSR1), 0); /* restored on return */
    sigset_t full;
    sigfillset(&full);
    CHECK_OK(sigprocmask(SIG_SETMASK, &full, NULL));
    CHECK_OK(sigprocmask(SIG_SETMASK, &mask, &full));
    CHECK_EQ(sigismember(&full, SIGKILL) + sigismember(&full, SIGSTOP), 0); /* cannot be blocked */
    section("masks");
}

static char alternate[32768];
static int is_on_alternate(void) { return last_stack >= (uintptr_t)alternate && last_stack < (uintptr_t)(alternate + sizeof alternate); }

static void test_alternate_stack(void) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, old;
    CHECK_OK(sigaltstack(&stack, &old));
    CHECK_EQ(old.ss_flags, SS_DISABLE);
    install(SIGUSR1, record, SA_ONSTACK);
    install(SIGUSR2, record, 0);
    raise(SIGUSR1);
    CHECK(is_on_alternate());
    raise(SIGUSR2);
    CHECK(!is_on_alternate());
    CHECK_OK(sigaltstack(NULL, &old));
    CHECK_EQ(old.ss_size, sizeof alternate);
    stack.ss_size = 100;
    CHECK_FAILS(sigaltstack(&stack, NULL), ENOMEM);
    stack.ss_flags = SS_DISABLE;
    CHECK_OK(sigaltstack(&stack, NULL));
    raise(SIGUSR1);
    CHECK(!is_on_alternate());
    section("alternate stack");
}

static pid_t kick_parent_after(int ms, int number, int fd) {
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        usleep((useconds_t)ms * 1000);
        kill(parent, number);
        usleep((useconds_t)ms * 1000);
        if (fd >= 0 && write(fd, "z", 1) != 1)
            _exit(1);
        _exit(0);
    }
    return pid;
}

static void test_interrupted_calls(void) {
    int fds[2];
    char byte = 0;
    CHECK_OK(pipe(fds));
    n_calls = 0;
    install(SIGUSR1, record, 0);
    pid_t pid = kick_parent_after(20, SIGUSR1, fds[1]);
    CHECK_FAILS(read(fds[0], &byte, 1), EINTR);
    CHECK_EQ(read(fds[0], &byte, 1), 1);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    install(SIGUSR1, record, SA_RESTART);
    pid = kick_parent_after(20, SIGUSR1, fds[1]);
    CHECK_EQ(read(fds[0], &byte, 1), 1); /* starts again by itself */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(n_calls, 2);
    pid = kick_parent_after(20, SIGUSR1, -1);
    CHECK_EQ(waitpid(pid, NULL, 0), pid); /* restarts too */
    pid = kick_parent_after(20, SIGUSR1, -1);
    struct pollfd poll_fd = {.fd = fds[0], .events = POLLIN};
    CHECK_FAILS(poll(&poll_fd, 1, -1), EINTR); /* never restarts */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    pid = kick_parent_after(20, SIGUSR1, -1);
    CHECK_FAILS(pause(), EINTR);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    pid = kick_parent_after(20, SIGUSR1, -1);
    struct timespec ask = {10, 0}, left = {0, 0};
    CHECK_FAILS(nanosleep(&ask, &left), EINTR);
    CHECK((left.tv_sec == 9 && left.tv_nsec > 0) || (left.tv_sec < 9 && left.tv_sec > 0)); /* what remains of ten seconds */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(n_calls, 6);
    section("interrupted calls");
}

static void test_sigsuspend_swaps_the_mask(void) {
    sigset_t block = set_of(SIGUSR1, 0), none, now;
    sigemptyset(&none);
    n_calls = 0;
    install(SIGUSR1, record, SA_RESTART);
    CHECK_OK(sigprocmask(SIG_BLOCK, &block, NULL));
    raise(SIGUSR1);
    CHECK_EQ(n_calls, 0);
    CHECK_FAILS(sigsuspend(&none), EINTR);
    CHECK_EQ(n_calls, 1);
    CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &now));
    CHECK_EQ(sigismember(&now, SIGUSR1), 1); /* the old mask is back */
    raise(SIGUSR1);
    struct timespec zero = {0, 0};
    CHECK_FAILS(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
    CHECK_EQ(n_calls, 2);
    CHECK_EQ(ppoll(NULL, 0, &zero, &none), 0);
    CHECK_OK(sigprocmask(SIG_UNBLOCK, &block, NULL));
    section("sigsuspend");
}

int main(void) {
    test_handler_arguments();
    test_pending_signals_are_queued_in_order();
    test_masks_during_a_handler();
    test_alternate_stack();
    test_interrupted_calls();
    test_sigsuspend_swaps_the_mask();
    CHECK_END;
}
