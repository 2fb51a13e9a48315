/* SPDX-License-Identifier: MIT
 *
 * AF_UNIX sockets: by path, by abstract name and by none, in all three types. Servers and clients
 * are processes of this program. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

static socklen_t unix_name(struct sockaddr_un *address, const char *name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (name[0] == '@') {
        memcpy(address->sun_path + 1, name + 1, strlen(name) - 1);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    }
    strcpy(address->sun_path, name);
    return sizeof *address;
}

static int unix_server(const char *name, int type) {
    struct sockaddr_un address;
    socklen_t length = unix_name(&address, name);
    int fd = socket(AF_UNIX, type, 0);
    CHECK_OK(fd);
    CHECK_OK(bind(fd, (struct sockaddr *)&address, length));
    return fd;
}

static int unix_client(const char *name, int type) {
    struct sockaddr_un address;
    socklen_t length = unix_name(&address, name);
    int fd = socket(AF_UNIX, type, 0);
    CHECK_OK(fd);
    CHECK_OK(connect(fd, (struct sockaddr *)&address, length));
    return fd;
}

static void wait_for(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void talk_over(const char *name) {
    char text[16] = "";
    int server = unix_server(name, SOCK_STREAM);
    CHECK_OK(listen(server, 4));
    pid_t pid = fork();
    if (pid == 0) {
        close(server);
        int fd = unix_client(name, SOCK_STREAM);
        CHECK_EQ(write(fd, "question", 8), 8);
        CHECK_EQ(read(fd, text, sizeof text), 6);
        CHECK(strcmp(text, "answer") == 0);
        CHECK_EQ(read(fd, text, sizeof text), 0);
        _exit(0);
    }
    struct sockaddr_un peer;
    socklen_t length = sizeof peer;
    int fd = accept4(server, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
    CHECK_OK(fd);
    CHECK_EQ(length, sizeof(sa_family_t)); /* the client has no name */
    struct ucred who;
    socklen_t n = sizeof who;
    CHECK_OK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n));
    CHECK_EQ(who.pid, pid);
    CHECK_EQ(who.uid, getuid());
    CHECK_EQ(recv(fd, text, 8, MSG_WAITALL), 8);
    CHECK(memcmp(text, "question", 8) == 0);
    CHECK_EQ(send(fd, "answer", 6, 0), 6);
    close(fd);
    wait_for(pid);
    length = sizeof peer;
    CHECK_OK(getsockname(server, (struct sockaddr *)&peer, &length));
    CHECK_EQ(peer.sun_family, AF_UNIX);
    CHECK(strcmp(peer.sun_path + (name[0] == '@'), name + (name[0] == '@')) == 0);
    close(server);
}

static void test_unix_streams(void) {
    struct sockaddr_un address;
    struct stat st;
    talk_over("socket");
    CHECK_OK(stat("socket", &st));
    CHECK(S_ISSOCK(st.st_mode));
    socklen_t length = unix_name(&address, "socket");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_FAILS(bind(fd, (struct sockaddr *)&address, length), EADDRINUSE);      /* the name stays ... */
    CHECK_FAILS(connect(fd, (struct sockaddr *)&address, length), ECONNREFUSED); /* ... when its socket has gone */
    CHECK_FAILS(open("socket", O_RDWR), ENXIO);
    CHECK_OK(unlink("socket"));
    CHECK_FAILS(connect(fd, (struct sockaddr *)&address, length), ENOENT);
    CHECK_FAILS(listen(fd, 1), EINVAL); /* no name */
    CHECK_FAILS(write(fd, "x", 1), ENOTCONN);
    close(fd);
    talk_over("@tally-test-abstract");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_OK(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t))); /* the kernel chooses */
    length = sizeof address;
    CHECK_OK(getsockname(fd, (struct sockaddr *)&address, &length));
    CHECK_EQ(length, sizeof(sa_family_t) + 6);
    CHECK_EQ(address.sun_path[0], 0);
    close(fd);
    section("streams by name");
}

static void test_backlog_and_many_clients(void) {
    enum { N = 5 };
    pid_t pids[N];
    char byte;
    int seen = 0;
    int server = unix_server("@tally-test-many", SOCK_STREAM);
    CHECK_OK(listen(server, 1)); /* some clients must wait for room */
    for (int i = 0; i < N; i++)
        if ((pids[i] = fork()) == 0) {
            int fd = unix_client("@tally-test-many", SOCK_STREAM);
            byte = (char)(1 << i);
            CHECK_EQ(write(fd, &byte, 1), 1);
            CHECK_EQ(read(fd, &byte, 1), 0);
            _exit(0);
        }
    usleep(20000);
    for (int i = 0; i < N; i++) {
        int fd = accept(server, NULL, NULL);
        CHECK_OK(fd);
        CHECK_EQ(read(fd, &byte, 1), 1);
        seen |= byte;
        close(fd);
    }
    CHECK_EQ(seen, 31);
    for (int i = 0; i < N; i++)
        wait_for(pids[i]);
    CHECK_OK(fcntl(server, F_SETFL, O_NONBLOCK));
    CHECK_FAILS(accept(server, NULL, NULL), EAGAIN);
    close(server);
    section("backlog");
}

static void test_datagrams_and_packets(void) {
    char text[16] = "";
    struct sockaddr_un from, address;
    socklen_t length = sizeof from;
    int a = unix_server("a-dgram", SOCK_DGRAM), b = unix_server("b-dgram", SOCK_DGRAM);
    socklen_t n = unix_name(&address, "a-dgram");
    CHECK_EQ(sendto(b, "one", 3, 0, (struct sockaddr *)&address, n), 3);
    CHECK_EQ(sendto(b, "", 0, 0, (struct sockaddr *)&address, n), 0);
    CHECK_EQ(recvfrom(a, text, 16, 0, (struct sockaddr *)&from, &length), 3);
    CHECK(strcmp(from.sun_path, "b-dgram") == 0);
    CHECK_EQ(recv(a, text, 16, 0), 0); /* an empty message is a message */
    CHECK_FAILS(recv(a, text, 16, MSG_DONTWAIT), EAGAIN);
    CHECK_OK(connect(a, (struct sockaddr *)&from, length));
    CHECK_EQ(send(a, "12345", 5, 0), 5);
    CHECK_EQ(recv(b, text, 3, MSG_TRUNC), 5); /* the true length */
    CHECK_FAILS(send(b, "x", 1, 0), ENOTCONN);
    close(b);
    CHECK_FAILS(send(a, "x", 1, 0), ECONNREFUSED);
    close(a);
    CHECK_OK(unlink("a-dgram"));
    CHECK_OK(unlink("b-dgram"));

    int s[2];
    CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s));
    CHECK_EQ(send(s[0], "first", 5, 0), 5);
    CHECK_EQ(send(s[0], "second", 6, 0), 6);
    struct iovec io = {text, 4};
    struct msghdr header = {.msg_iov = &io, .msg_iovlen = 1};
    CHECK_EQ(recvmsg(s[1], &header, 0), 4);
    CHECK(header.msg_flags & MSG_TRUNC);
    CHECK_EQ(recv(s[1], text, 16, 0), 6);
    CHECK(memcmp(text, "second", 6) == 0);
    close(s[0]);
    CHECK_EQ(recv(s[1], text, 16, 0), 0);
    close(s[1]);
    section("datagrams and packets");
}

static void test_credentials_and_many_messages(void) {
    int s[2], on = 1;
    char text[2][8], out[2][8] = {"first", "second"};
    CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
    CHECK_OK(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    struct iovec in_io[2] = {{text[0], 8}, {text[1], 8}}, out_io[2] = {{out[0], 5}, {out[1], 6}};
    struct mmsghdr in[2] = {{{.msg_iov = &in_io[0], .msg_iovlen = 1}, 0}, {{.msg_iov = &in_io[1], .msg_iovlen = 1}, 0}};
    struct mmsghdr messages[2] = {{{.msg_iov = &out_io[0], .msg_iovlen = 1}, 0}, {{.msg_iov = &out_io[1], .msg_iovlen = 1}, 0}};
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    in[0].msg_hdr.msg_control = control.room;
    in[0].msg_hdr.msg_controllen = sizeof control.room;
    CHECK_EQ(sendmmsg(s[0], messages, 2, 0), 2);
    CHECK_EQ(messages[1].msg_len, 6);
    CHECK_EQ(recvmmsg(s[1], in, 2, 0, NULL), 2);
    CHECK_EQ(in[0].msg_len * 10 + in[1].msg_len, 56);
    struct cmsghdr *message = CMSG_FIRSTHDR(&in[0].msg_hdr);
    CHECK(message && message->cmsg_type == SCM_CREDENTIALS);
    struct ucred who;
    memcpy(&who, CMSG_DATA(message), sizeof who);
    CHECK_EQ(who.pid, getpid());
    CHECK(in[1].msg_hdr.msg_flags & MSG_CTRUNC); /* no room for them */
    close(s[0]);
    close(s[1]);
    section("credentials");
}

static void test_waiting(void) {
    int s[2], n;
    char byte, big[400000];
    struct timeval limit = {0, 20000};
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    CHECK_OK(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    CHECK_FAILS(recv(s[0], &byte, 1, 0), EAGAIN);
    memset(big, 'b', sizeof big);
    pid_t pid = fork();
    if (pid == 0) {
        close(s[0]);
        CHECK_EQ(write(s[1], big, sizeof big), (long)sizeof big); /* more than fits: sleeps on the way */
        _exit(0);
    }
    close(s[1]);
    limit.tv_sec = 10;
    CHECK_OK(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    CHECK_EQ(recv(s[0], &byte, 1, MSG_PEEK), 1);
    CHECK_OK(ioctl(s[0], FIONREAD, &n));
    CHECK(n > 1);
    CHECK_EQ(recv(s[0], big, sizeof big, MSG_WAITALL), (long)sizeof big);
    struct pollfd poll_fd = {s[0], POLLIN | POLLRDHUP, 0};
    CHECK_EQ(poll(&poll_fd, 1, -1), 1);
    CHECK(poll_fd.revents & POLLRDHUP);
    CHECK_EQ(read(s[0], &byte, 1), 0);
    wait_for(pid);
    signal(SIGPIPE, SIG_IGN);
    CHECK_FAILS(write(s[0], "x", 1), EPIPE);
    close(s[0]);
    section("waiting");
}

static void test_edges(void) {
    int s[2], instance = epoll_create1(EPOLL_CLOEXEC);
    char text[8];
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
    CHECK_OK(epoll_ctl(instance, EPOLL_CTL_ADD, s[0], &event));
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 1);
    CHECK_EQ(event.events, EPOLLOUT);
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 0);
    CHECK_EQ(write(s[1], "abc", 3), 3);
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 1);
    CHECK_EQ(event.events, EPOLLIN | EPOLLOUT);
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 0);
    CHECK_EQ(read(s[0], text, 8), 3);
    CHECK_OK(shutdown(s[1], SHUT_WR));
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 1);
    CHECK_EQ(event.events, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
    close(s[1]);
    CHECK_EQ(epoll_wait(instance, &event, 1, 0), 1);
    CHECK(event.events & EPOLLHUP);
    close(s[0]);
    close(instance);
    section("edges");
}

int main(void) {
    test_unix_streams();
    test_backlog_and_many_clients();
    test_datagrams_and_packets();
    test_credentials_and_many_messages();
    test_waiting();
    test_edges();
    CHECK_END;
}
