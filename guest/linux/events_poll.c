/* SPDX-License-Identifier: MIT
 * Waiting for several descriptors: poll, ppoll, select, pselect and epoll in its three modes; what
 * is ready, what hangs up, time-outs, masks, wake-ups from another process or thread, and epoll
 * sets inside epoll sets. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void put(int fd, const char *text) { CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text)); }

static void test_poll(void) {
    int a[2], b[2];
    char byte;
    CHECK_OK(pipe(a));
    CHECK_OK(pipe(b));
    struct pollfd fds[] = {{a[0], POLLIN, 0}, {b[0], POLLIN, 0}, {a[1], POLLOUT, 0}, {-1, POLLIN, 77}, {999, POLLIN, 0}};
    CHECK_EQ(poll(fds, 2, 0), 0);
    long before = now_ns();
    CHECK_EQ(poll(fds, 2, 15), 0);
    CHECK(now_ns() - before >= 15000000);
    put(b[1], "x");
    CHECK_EQ(poll(fds, 5, -1), 3);
    CHECK_EQ(fds[0].revents, 0);
    CHECK_EQ(fds[1].revents, POLLIN);
    CHECK_EQ(fds[2].revents, POLLOUT);
    CHECK_EQ(fds[3].revents, 0); /* negative: ignored */
    CHECK_EQ(fds[4].revents, POLLNVAL);
    close(b[1]);
    CHECK_EQ(poll(fds, 2, 0), 1);
    CHECK_EQ(fds[1].revents, POLLIN | POLLHUP); /* data first, then the end */
    CHECK_EQ(read(b[0], &byte, 1), 1);
    CHECK_EQ(poll(fds, 2, 0), 1);
    CHECK_EQ(fds[1].revents, POLLHUP);
    close(a[0]);
    close(a[1]);
    close(b[0]);
    section("poll");
}

static void test_select(void) {
    int a[2];
    CHECK_OK(pipe(a));
    fd_set readable, writable;
    struct timeval none = {0, 0}, some = {0, 15000};
    FD_ZERO(&readable);
    FD_SET(a[0], &readable);
    CHECK_EQ(select(a[0] + 1, &readable, NULL, NULL, &none), 0);
    CHECK(!FD_ISSET(a[0], &readable));
    long before = now_ns();
    CHECK_EQ(select(0, NULL, NULL, NULL, &some), 0); /* just sleeps */
    CHECK(now_ns() - before >= 15000000);
    CHECK_EQ(some.tv_sec + some.tv_usec, 0); /* Linux counts it down */
    put(a[1], "x");
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(a[0], &readable);
    FD_SET(a[1], &writable);
    CHECK_EQ(select(a[1] + 1, &readable, &writable, NULL, NULL), 2);
    CHECK(FD_ISSET(a[0], &readable) && FD_ISSET(a[1], &writable));
    struct timespec wait = {0, 1000};
    sigset_t mask;
    sigemptyset(&mask);
    FD_ZERO(&writable);
    CHECK_EQ(pselect(a[0] + 1, &readable, &writable, NULL, &wait, &mask), 1);
    close(a[0]);
    FD_ZERO(&readable);
    FD_SET(a[0], &readable);
    CHECK_FAILS(select(a[0] + 1, &readable, NULL, NULL, &none), EBADF);
    close(a[1]);
    section("select");
}

static volatile int n_signals;
static void on_signal(int number) {
    (void)number;
    n_signals++;
}

static void test_ppoll_opens_the_mask(void) {
    sigset_t block, open_mask;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    CHECK_OK(sigprocmask(SIG_BLOCK, &block, &open_mask));
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    struct timespec second = {1, 0};
    CHECK_EQ(n_signals, 0);
    CHECK_FAILS(ppoll(NULL, 0, &second, &open_mask), EINTR);
    CHECK_EQ(n_signals, 1);
    CHECK_OK(sigprocmask(SIG_SETMASK, &open_mask, NULL));
    section("ppoll");
}

static int wait_events(int set, struct epoll_event *events, int timeout) { return epoll_wait(set, events, 8, timeout); }

static void add(int set, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

static void test_epoll_level_and_edge(void) {
    int a[2], b[2], set = epoll_create1(EPOLL_CLOEXEC);
    char bytes[8];
    struct epoll_event events[8];
    CHECK_OK(set);
    CHECK_OK(pipe(a));
    CHECK_OK(pipe(b));
    add(set, a[0], EPOLLIN, 0x1111222233334444);
    add(set, b[0], EPOLLIN | EPOLLET, 2);
    CHECK_EQ(wait_events(set, events, 0), 0);
    put(a[1], "xx");
    put(b[1], "yy");
    CHECK_EQ(wait_events(set, events, -1), 2);
    CHECK_EQ(wait_events(set, events, 0), 1); /* level tells again, edge does not */
    CHECK_EQ(events[0].data.u64, 0x1111222233334444);
    CHECK_EQ(events[0].events, EPOLLIN);
    CHECK_EQ(read(a[0], bytes, 2), 2);
    CHECK_EQ(wait_events(set, events, 0), 0);
    put(b[1], "z"); /* news: a new edge, though the old bytes are still there */
    CHECK_EQ(wait_events(set, events, 0), 1);
    CHECK_EQ(events[0].data.u64, 2);
    close(b[1]);
    CHECK_EQ(wait_events(set, events, 0), 1);
    CHECK_EQ(events[0].events, EPOLLIN | EPOLLHUP);
    close(b[0]); /* leaves the set by itself */
    CHECK_EQ(wait_events(set, events, 0), 0);
    close(a[0]);
    close(a[1]);
    close(set);
    section("epoll level and edge");
}

static void test_epoll_oneshot_and_changes(void) {
    int set = epoll_create1(0), fd = eventfd(1, EFD_NONBLOCK), outer = epoll_create1(0);
    struct epoll_event events[8], event = {.events = EPOLLIN, .data.u32 = 9};
    add(set, fd, EPOLLIN | EPOLLONESHOT, 7);
    CHECK_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), EEXIST);
    CHECK_EQ(wait_events(set, events, 0), 1);
    CHECK_EQ(events[0].data.u32, 7);
    CHECK_EQ(wait_events(set, events, 0), 0); /* disarmed */
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_MOD, fd, &event));
    CHECK_EQ(wait_events(set, events, 0), 1);
    CHECK_EQ(events[0].data.u32, 9);
    add(outer, set, EPOLLIN, 5); /* a set is ready when something in it is */
    CHECK_EQ(wait_events(outer, events, 0), 1);
    event.events = EPOLLOUT;
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_MOD, fd, &event));
    CHECK_EQ(wait_events(set, events, 0), 1);
    CHECK_EQ(events[0].events, EPOLLOUT);
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL));
    CHECK_FAILS(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), ENOENT);
    CHECK_EQ(wait_events(outer, events, 0), 0);
    int file = open("plain-file", O_RDWR | O_CREAT, 0600);
    CHECK_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), EPERM); /* plain files are always ready, never polled */
    CHECK_FAILS(epoll_ctl(set, EPOLL_CTL_ADD, set, &event), EINVAL);
    CHECK_FAILS(epoll_wait(file, events, 1, 0), EINVAL);
    CHECK_FAILS(epoll_wait(set, events, 0, 0), EINVAL);
    unlink("plain-file");
    close(file);
    close(outer);
    close(set);
    close(fd);
    section("epoll one-shot and changes");
}

static void *write_later(void *fd) {
    usleep(10000);
    put(*(int *)fd, "later");
    return NULL;
}

static void test_wake_up_from_elsewhere(void) {
    int a[2], set = epoll_create1(0);
    struct epoll_event events[8];
    char text[8];
    pthread_t thread;
    CHECK_OK(pipe(a));
    add(set, a[0], EPOLLIN, 1);
    CHECK_EQ(pthread_create(&thread, NULL, write_later, &a[1]), 0);
    CHECK_EQ(wait_events(set, events, -1), 1);
    CHECK_EQ(read(a[0], text, sizeof text), 5);
    pthread_join(thread, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        write_later(&a[1]);
        _exit(0);
    }
    close(a[1]);
    struct pollfd fd = {a[0], POLLIN, 0};
    CHECK_EQ(poll(&fd, 1, 10000), 1);
    CHECK_EQ(read(a[0], text, sizeof text), 5);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(poll(&fd, 1, -1), 1);
    CHECK_EQ(fd.revents, POLLHUP); /* the child's end went with it */
    long before = now_ns();
    close(a[0]);
    CHECK_EQ(wait_events(set, events, 15), 0);
    CHECK(now_ns() - before >= 15000000);
    sigset_t mask;
    sigemptyset(&mask);
    CHECK_EQ(epoll_pwait(set, events, 8, 1, &mask), 0);
    close(set);
    section("wake-ups");
}

int main(void) {
    test_poll();
    test_select();
    test_ppoll_opens_the_mask();
    test_epoll_level_and_edge();
    test_epoll_oneshot_and_changes();
    test_wake_up_from_elsewhere();
    CHECK_END;
}
