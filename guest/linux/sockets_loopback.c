/* SPDX-License-Identifier: MIT
 *
 * The internet's protocols over the loopback, which needs no network. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void wait_for(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void test_tcp_over_the_loopback(int family) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = (sa_family_t)family}, peer;
    socklen_t length = family == AF_INET ? sizeof address.v4 : sizeof address.v6, n = length;
    int server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, error = -1;
    char text[16] = "";
    CHECK_OK(server);
    if (family == AF_INET)
        address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address.v6.sin6_addr = in6addr_loopback;
    CHECK_OK(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    CHECK_OK(bind(server, &address.any, length));
    CHECK_OK(listen(server, SOMAXCONN));
    CHECK_OK(getsockname(server, &address.any, &n));
    CHECK_EQ(n, length);
    CHECK(address.v4.sin_port != 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = socket(family, SOCK_STREAM, 0);
        CHECK_OK(connect(fd, &address.any, length));
        CHECK_OK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
        n = length;
        CHECK_OK(getpeername(fd, &peer.any, &n));
        CHECK_EQ(peer.v4.sin_port, address.v4.sin_port);
        CHECK_EQ(write(fd, "over the wire", 13), 13);
        CHECK_OK(shutdown(fd, SHUT_WR));
        CHECK_EQ(read(fd, text, 16), 2);
        _exit(0);
    }
    n = length;
    int fd = accept(server, &peer.any, &n);
    CHECK_OK(fd);
    CHECK_EQ(peer.any.sa_family, family);
    CHECK(peer.v4.sin_port != address.v4.sin_port);
    CHECK_EQ(recv(fd, text, 16, MSG_WAITALL), 13);
    CHECK_EQ(write(fd, "ok", 2), 2);
    n = sizeof error;
    CHECK_OK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n));
    CHECK_EQ(error, 0);
    wait_for(pid);
    close(fd);
    close(server);
    fd = socket(family, SOCK_STREAM, 0);
    CHECK_FAILS(connect(fd, &address.any, length), ECONNREFUSED);
    close(fd);
    section(family == AF_INET ? "tcp" : "tcp, version 6");
}

static void test_udp_over_the_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
    socklen_t length = sizeof address;
    char text[16] = "";
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_OK(bind(a, (struct sockaddr *)&address, length));
    CHECK_OK(getsockname(a, (struct sockaddr *)&address, &length));
    CHECK_EQ(sendto(b, "ping", 4, 0, (struct sockaddr *)&address, length), 4);
    CHECK_EQ(recvfrom(a, text, 16, 0, (struct sockaddr *)&from, &length), 4);
    CHECK_EQ(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    CHECK_EQ(sendto(a, "pong!", 5, 0, (struct sockaddr *)&from, length), 5);
    CHECK_EQ(recv(b, text, 3, 0), 3); /* the rest is lost */
    CHECK_FAILS(recv(b, text, 16, MSG_DONTWAIT), EAGAIN);
    CHECK_FAILS(send(b, "x", 1, 0), EDESTADDRREQ);
    CHECK_OK(connect(b, (struct sockaddr *)&address, length));
    CHECK_EQ(send(b, "again", 5, 0), 5);
    CHECK_EQ(recv(a, text, 16, 0), 5);
    close(a);
    close(b);
    section("udp");
}

int main(void) {
    test_tcp_over_the_loopback(AF_INET);
    test_tcp_over_the_loopback(AF_INET6);
    test_udp_over_the_loopback();
    CHECK_END;
}
