// SPDX-License-Identifier: MIT
// The transport to `tally monitor --serve`: packets over a Unix socket of type SOCK_SEQPACKET, byte
// for byte those of xcm.ko. The server's first packet has the ring as a descriptor.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "monitor/client/xcm_client.h"

enum { HELLO_MS = 60000, HELLO_ELEMENTS = 3, NO_TARGET = -1 };

typedef struct socket_ctx {
    int fd;
    uint8_t *ring;
    size_t ring_bytes;
} socket_ctx;

static void close_socket(void *ctx) {
    socket_ctx *s = ctx;
    if (s->ring)
        munmap(s->ring, s->ring_bytes);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

static int send_packet(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    const socket_ctx *s = ctx;
    return send(s->fd, packet, n_bytes, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int receive_packet(void *ctx, uint8_t *to, uint32_t capacity, int timeout_ms) {
    const socket_ctx *s = ctx;
    struct pollfd waits = {.fd = s->fd, .events = POLLIN};
    const int ready = poll(&waits, 1, timeout_ms);
    if (ready <= 0)
        return ready < 0 ? -errno : 0;
    const ssize_t n = recv(s->fd, to, capacity, MSG_TRUNC);
    if (n <= 0)
        return n < 0 ? -errno : -ECONNRESET;
    return (size_t)n > capacity ? -EPROTO : (int)n;
}

static uint8_t *ring_of(void *ctx, size_t *ret_bytes) {
    const socket_ctx *s = ctx;
    *ret_bytes = s->ring_bytes;
    return s->ring;
}

// The file is as long as the server says, so that no access of the mapping ends behind it.
static int map_ring(socket_ctx *s, int file, uint64_t data_bytes) {
    struct stat about;
    if (fstat(file, &about) < 0)
        return -errno;
    if (data_bytes > INT64_MAX - XCM_RING_HEADER_BYTES || about.st_size < (int64_t)(data_bytes + XCM_RING_HEADER_BYTES))
        return -EPROTO;
    void *at = mmap(NULL, data_bytes + XCM_RING_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        return -errno;
    s->ring = at;
    s->ring_bytes = data_bytes + XCM_RING_HEADER_BYTES;
    return 0;
}

static int take_hello(socket_ctx *s) {
    uint8_t packet[XCM_HEADER_BYTES + 8 * HELLO_ELEMENTS];
    int file = -1;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof file)];
    } control = {0};
    struct iovec part = {packet, sizeof packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct pollfd waits = {.fd = s->fd, .events = POLLIN};
    xcm_packet header;
    if (poll(&waits, 1, HELLO_MS) <= 0)
        return -EPROTO;
    const ssize_t n = recvmsg(s->fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof file))
        memcpy(&file, CMSG_DATA(rights), sizeof file);
    int error = -EPROTO;
    if (n > 0 && file >= 0 && xcm_check_packet(packet, (uint32_t)n, XCM_REPLY, &header) == XCM_DONE && header.op == XCM_EVENT_OP &&
        header.n_elements == HELLO_ELEMENTS && xcm_element(packet, 0) == XCM_EVENT_HELLO)
        error = map_ring(s, file, xcm_element(packet, 2));
    if (file >= 0)
        close(file);
    return error;
}

static int open_socket(socket_ctx *s, const char *path, char *why, size_t why_bytes) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path) {
        snprintf(why, why_bytes, "%s: a socket's path has 1 to %zu bytes", path, sizeof address.sun_path - 1);
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, strlen(path));
    s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || connect(s->fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        const int error = errno;
        snprintf(why, why_bytes, "%s: %s", path,
                 error == ECONNREFUSED ? "nobody listens there; tally monitor --serve does" : strerror(error));
        return -error;
    }
    const int error = take_hello(s);
    if (error < 0)
        snprintf(why, why_bytes, "%s: the server is no monitor, or has too many clients", path);
    return error;
}

int xcm_client_open_socket(const char *path, xcm_client **ret_client, char *why, size_t why_bytes) {
    socket_ctx *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, why_bytes, "no memory for the client");
        return -ENOMEM;
    }
    s->fd = -1;
    const int error = open_socket(s, path, why, why_bytes);
    if (error < 0) {
        close_socket(s);
        return error;
    }
    const xcm_transport transport = {s, NO_TARGET, send_packet, receive_packet, ring_of, NULL, close_socket};
    return xcm_client_open(&transport, ret_client, why, why_bytes);
}
