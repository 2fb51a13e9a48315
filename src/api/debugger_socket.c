// SPDX-License-Identifier: MIT
// A client of xcm/server.h: packets over a Unix socket, and records in a ring that it maps.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "api/debugger_internal.h"

enum { ANSWER_MS = 60000 };
static const uint64_t NS_PER_MS = 1000000;

static void keep_event(tl_debugger *monitor, const uint8_t *packet) {
    if (monitor->n_events == TL_DEBUGGER_EVENTS) // the oldest is lost
        memmove(monitor->events[0], monitor->events[1], sizeof monitor->events - sizeof monitor->events[0]);
    monitor->n_events -= monitor->n_events == TL_DEBUGGER_EVENTS;
    for (uint32_t i = 0; i < 3; i++)
        monitor->events[monitor->n_events][i] = xcm_element(packet, i);
    monitor->n_events += 1;
}

// The next packet, which is whole; false: none has come, or the connection broke.
static bool receive(tl_debugger *monitor, int limit_ms, uint8_t packet[XCM_PACKET_BYTES], xcm_packet *ret) {
    struct pollfd at = {.fd = monitor->fd, .events = POLLIN};
    if (monitor->fd < 0 || poll(&at, 1, limit_ms) <= 0)
        return false;
    const ssize_t n = recv(monitor->fd, packet, XCM_PACKET_BYTES, 0);
    return n > 0 && xcm_check_packet(packet, (uint32_t)n, XCM_REPLY, ret) == XCM_DONE;
}

void tl_debugger_ask(tl_debugger *monitor, xcm_function function, const uint64_t *args, uint32_t n) {
    uint8_t packet[XCM_PACKET_BYTES];
    xcm_packet header;
    monitor->reply.code = XCM_INTERNAL;
    monitor->reply.n_values = 0;
    if (n > XCM_ELEMENTS)
        return;
    for (uint32_t i = 0; i < n; i++)
        xcm_put_element(packet, i, args[i]);
    const uint32_t length = xcm_seal(packet, XCM_GET, xcm_op_code((uint8_t)function), 0, 0, n);
    if (send(monitor->fd, packet, length, MSG_NOSIGNAL) != (ssize_t)length)
        return;
    while (receive(monitor, ANSWER_MS, packet, &header)) {
        if (header.op == XCM_EVENT_OP && header.n_elements == 3) {
            keep_event(monitor, packet);
            continue;
        }
        monitor->reply.code = (xcm_code)header.code;
        monitor->reply.state = (xcm_state)header.state;
        monitor->reply.n_values = header.n_elements;
        for (uint32_t i = 0; i < header.n_elements; i++)
            monitor->reply.values[i] = xcm_element(packet, i);
        return;
    }
}

bool tl_debugger_hear(tl_debugger *monitor, uint64_t limit_ns, uint64_t ret[3]) {
    uint8_t packet[XCM_PACKET_BYTES];
    xcm_packet header;
    const uint64_t limit_ms = limit_ns / NS_PER_MS;
    while (monitor->n_events == 0)
        if (!receive(monitor, limit_ms > ANSWER_MS ? ANSWER_MS : (int)limit_ms, packet, &header))
            return false;
        else if (header.op == XCM_EVENT_OP && header.n_elements == 3)
            keep_event(monitor, packet);
    memcpy(ret, monitor->events[0], sizeof monitor->events[0]);
    monitor->n_events -= 1;
    memmove(monitor->events[0], monitor->events[1], monitor->n_events * sizeof monitor->events[0]);
    return true;
}

// The first packet of the server, with the ring.
static bool take_hello(tl_debugger *monitor) {
    uint8_t packet[XCM_HEADER_BYTES + 24];
    int ring = -1;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof ring)];
    } control = {0};
    struct iovec part = {packet, sizeof packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct pollfd at = {.fd = monitor->fd, .events = POLLIN};
    xcm_packet header;
    if (poll(&at, 1, ANSWER_MS) <= 0)
        return false;
    const ssize_t n = recvmsg(monitor->fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof ring))
        memcpy(&ring, CMSG_DATA(rights), sizeof ring);
    if (n <= 0 || xcm_check_packet(packet, (uint32_t)n, XCM_REPLY, &header) != XCM_DONE || header.op != XCM_EVENT_OP ||
        header.n_elements != 3 || xcm_element(packet, 0) != TL_XCM_HELLO || ring < 0) {
        if (ring >= 0)
            close(ring);
        return false;
    }
    monitor->ring_size = XCM_RING_HEADER_BYTES + (size_t)xcm_element(packet, 2);
    void *mapped = mmap(NULL, monitor->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
    close(ring);
    monitor->ring = mapped == MAP_FAILED ? NULL : mapped;
    return monitor->ring != NULL;
}

void tl_debugger_hang_up(tl_debugger *monitor) {
    if (monitor->ring)
        munmap(monitor->ring, monitor->ring_size);
    if (monitor->fd >= 0)
        close(monitor->fd);
}

TL_API tl_status tl_debugger_connect(const char *path, tl_debugger **ret_monitor, tl_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return tl_fail(err, TL_EINVAL, "%s: a socket's path has at most %zu bytes", path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    tl_debugger *monitor = calloc(1, sizeof *monitor);
    if (!monitor)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    monitor->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    // Tags are decoded as those of the Cortex-A53 with its largest usual caches.
    monitor->geometry = (xcm_geometry){.l1d_sets = 128, .l1d_ways = 4, .l1i_sets = 256, .l1i_ways = 2, .line_bytes = 64};
    if (monitor->fd < 0 || connect(monitor->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        const int why = errno;
        tl_debugger_free(monitor);
        return tl_fail(err, why == ENOENT || why == ECONNREFUSED ? TL_ENOENT : TL_EACCESS, "%s: %s", path,
                       why == ECONNREFUSED ? "nobody listens there; tally monitor --serve does" : strerror(why));
    }
    if (!take_hello(monitor)) {
        tl_debugger_free(monitor);
        return tl_fail(err, TL_EIO, "%s: the server is no monitor, or has too many clients", path);
    }
    *ret_monitor = monitor;
    return TL_OK;
}
