/* SPDX-License-Identifier: MIT
 *
 * Descriptors that are events: eventfd, timerfd, signalfd, pidfd; and socket pairs, stream and
 * datagram, with messages, passed descriptors, half close and time-outs. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t read_u64(int fd) {
    uint64_t value = 0;
    CHECK_EQ(read(fd, &value, sizeof value), sizeof value);
    return value;
}

static void write_u64(int fd, uint64_t value) { CHECK_EQ(write(fd, &value, sizeof value), sizeof value); }

static int is_ready(int fd, short events) {
    struct pollfd poll_fd = {fd, events, 0};
    CHECK_OK(poll(&poll_fd, 1, 0));
    return poll_fd.revents & events;
}

static void test_eventfd(void) {
    uint64_t value = 0;
    int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK_OK(fd);
    write_u64(fd, 4);
    CHECK_EQ(read_u64(fd), 7);
    CHECK_FAILS(read(fd, &value, 8), EAGAIN);
    CHECK_FAILS(read(fd, &value, 4), EINVAL);
    CHECK(!is_ready(fd, POLLIN) && is_ready(fd, POLLOUT));
    write_u64(fd, UINT64_MAX - 1);
    CHECK(!is_ready(fd, POLLOUT)); /* full */
    value = 1;
    CHECK_FAILS(write(fd, &value, 8), EAGAIN);
    CHECK_EQ(read_u64(fd), UINT64_MAX - 1);
    close(fd);
    fd = eventfd(2, EFD_SEMAPHORE);
    CHECK_EQ(read_u64(fd), 1);
    CHECK_EQ(read_u64(fd), 1);
    pid_t pid = fork();
    if (pid == 0) {
        usleep(10000);
        write_u64(fd, 1);
        _exit(0);
    }
    CHECK_EQ(read_u64(fd), 1); /* sleeps until the child writes */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    close(fd);
    section("eventfd");
}

static void test_timerfd(void) {
    uint64_t value;
    struct itimerspec when = {{0, 5000000}, {0, 10000000}}, left;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    CHECK_OK(fd);
    CHECK_FAILS(read(fd, &value, 8), EAGAIN);
    CHECK_OK(timerfd_settime(fd, 0, &when, NULL));
    CHECK(!is_ready(fd, POLLIN));
    struct pollfd poll_fd = {fd, POLLIN, 0};
    CHECK_EQ(poll(&poll_fd, 1, -1), 1);
    CHECK(read_u64(fd) >= 1);
    struct timespec nap = {0, 21000000};
    nanosleep(&nap, NULL);
    CHECK(read_u64(fd) >= 4); /* 5 ms each */
    CHECK_OK(timerfd_gettime(fd, &left));
    CHECK_EQ(left.it_interval.tv_nsec, 5000000);
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec <= 5000000);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    when = (struct itimerspec){{0, 0}, {now.tv_sec + (now.tv_nsec > 980000000), (now.tv_nsec + 20000000) % 1000000000}};
    CHECK_OK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL));
    CHECK_EQ(poll(&poll_fd, 1, -1), 1);
    CHECK_EQ(read_u64(fd), 1);
    when = (struct itimerspec){{0, 0}, {0, 0}};
    CHECK_OK(timerfd_settime(fd, 0, &when, NULL));
    CHECK_EQ(poll(&poll_fd, 1, 20), 0); /* disarmed */
    close(fd);
    section("timerfd");
}

static void test_signalfd(void) {
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    CHECK_OK(sigprocmask(SIG_BLOCK, &set, NULL));
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    CHECK_OK(fd);
    CHECK_FAILS(read(fd, &info, sizeof info), EAGAIN);
    CHECK_OK(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1234}));
    CHECK(is_ready(fd, POLLIN));
    CHECK_EQ(read(fd, &info, sizeof info), sizeof info);
    CHECK_EQ(info.ssi_signo, SIGUSR1);
    CHECK_EQ(info.ssi_pid, getpid());
    CHECK_EQ(info.ssi_int, 1234);
    pid_t pid = fork();
    if (pid == 0)
        _exit(5);
    struct pollfd poll_fd = {fd, POLLIN, 0};
    CHECK_EQ(poll(&poll_fd, 1, -1), 1);
    CHECK_EQ(read(fd, &info, sizeof info), sizeof info);
    CHECK_EQ(info.ssi_signo, SIGCHLD);
    CHECK_EQ(info.ssi_pid, pid);
    CHECK_EQ(info.ssi_status, 5);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
    close(fd);
    section("signalfd");
}

static void test_pidfd(void) {
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    CHECK_OK(fd);
    CHECK(!is_ready(fd, POLLIN));
    CHECK_OK(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
    struct pollfd poll_fd = {fd, POLLIN, 0};
    CHECK_EQ(poll(&poll_fd, 1, -1), 1); /* readable when it has ended */
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    CHECK_FAILS(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0), ESRCH);
    close(fd);
    section("pidfd");
}

static void test_stream_pair(void) {
    int s[2];
    char text[16] = "";
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    CHECK_EQ(send(s[0], "hello", 5, 0), 5);
    CHECK_EQ(send(s[0], "world", 5, 0), 5);
    CHECK_EQ(recv(s[1], text, 3, MSG_PEEK), 3);
    CHECK_EQ(recv(s[1], text, 10, 0), 10); /* no message borders */
    CHECK(memcmp(text, "helloworld", 10) == 0);
    CHECK_FAILS(recv(s[1], text, 1, MSG_DONTWAIT), EAGAIN);
    CHECK_EQ(write(s[1], "back", 4), 4);
    CHECK_EQ(read(s[0], text, 16), 4);
    int type = 0;
    socklen_t length = sizeof type;
    CHECK_OK(getsockopt(s[0], SOL_SOCKET, SO_TYPE, &type, &length));
    CHECK_EQ(type, SOCK_STREAM);
    CHECK_OK(shutdown(s[0], SHUT_WR));
    CHECK_EQ(read(s[1], text, 1), 0);
    CHECK_EQ(write(s[1], "x", 1), 1); /* the other direction still works */
    CHECK_EQ(read(s[0], text, 1), 1);
    close(s[1]);
    CHECK_FAILS(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    close(s[0]);
    section("stream pair");
}

static void test_datagram_pair(void) {
    int s[2];
    char text[16] = "", more[4];
    CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
    CHECK_EQ(send(s[0], "one", 3, 0), 3);
    CHECK_EQ(send(s[0], "three", 5, 0), 5);
    CHECK_EQ(recv(s[1], text, 16, 0), 3); /* messages keep their borders */
    CHECK_EQ(recv(s[1], text, 2, 0), 2);  /* and lose their rest */
    CHECK_FAILS(recv(s[1], text, 16, MSG_DONTWAIT), EAGAIN);
    struct iovec out[] = {{"ab", 2}, {"cde", 3}}, in[] = {{text, 4}, {more, 4}};
    struct msghdr send_header = {.msg_iov = out, .msg_iovlen = 2}, receive_header = {.msg_iov = in, .msg_iovlen = 2};
    CHECK_EQ(sendmsg(s[1], &send_header, 0), 5);
    CHECK_EQ(recvmsg(s[0], &receive_header, 0), 5);
    CHECK(memcmp(text, "abcd", 4) == 0 && more[0] == 'e');
    close(s[0]);
    close(s[1]);
    section("datagram pair");
}

static void test_passing_a_descriptor(void) {
    int s[2], p[2];
    char byte = 'd', text[8] = "";
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io = {&byte, 1};
    struct msghdr header = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    CHECK_OK(pipe(p));
    struct cmsghdr *message = CMSG_FIRSTHDR(&header);
    *message = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(message), &p[1], sizeof(int));
    CHECK_EQ(sendmsg(s[0], &header, 0), 1);
    close(p[1]);
    memset(&control, 0, sizeof control);
    header.msg_controllen = sizeof control.room;
    CHECK_EQ(recvmsg(s[1], &header, 0), 1);
    message = CMSG_FIRSTHDR(&header);
    CHECK(message && message->cmsg_type == SCM_RIGHTS);
    int received;
    memcpy(&received, CMSG_DATA(message), sizeof received);
    CHECK_EQ(write(received, "through", 7), 7);
    CHECK_EQ(read(p[0], text, 8), 7);
    close(received);
    CHECK_EQ(read(p[0], text, 8), 0); /* that was the last writer */
    close(p[0]);
    close(s[0]);
    close(s[1]);
    section("passed descriptor");
}

int main(void) {
    test_eventfd();
    test_timerfd();
    test_signalfd();
    test_pidfd();
    test_stream_pair();
    test_datagram_pair();
    test_passing_a_descriptor();
    CHECK_END;
}
