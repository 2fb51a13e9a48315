// SPDX-License-Identifier: MIT
// See server.h. One thread; clients that do not read lose what does not fit into their sockets.
#include "xcm/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CLIENTS = 16, BACKLOG = 16, TICKS_A_TURN = 512, PACKETS_A_TURN = 64, REST_MS = 1, HELLO_ELEMENTS = 3 };
static const uint64_t NS_PER_S = 1000000000, MOST_LAG_NS = 10000000;

typedef struct client {
    int fd; // -1: the place is free
    uint64_t owner;
    bool is_privileged;
} client;

struct tl_xcm_server {
    int fd;
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    client clients[MOST_CLIENTS];
    uint64_t n_owners, owner; // of the target; 0: nobody
    const client *current;    // sends a packet now
    uint64_t asking;          // whose request is under way
    tl_xcm_model *model;
    uint64_t host_ns, model_ns; // when the clocks were equal
};

static uint64_t host_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

tl_status tl_xcm_server_new(const char *path, tl_xcm_server **ret_server, tl_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0') // Linux would bind an abstract name, which has no file mode
        return tl_fail(err, TL_EINVAL, "a socket's path is empty; name a file that does not exist");
    if (strlen(path) >= sizeof address.sun_path)
        return tl_fail(err, TL_EINVAL, "%s: a socket's path has at most %zu bytes", path, sizeof address.sun_path - 1);
    tl_xcm_server *server = calloc(1, sizeof *server);
    if (!server)
        return tl_fail(err, TL_ENOMEM, "no memory for a server");
    memcpy(address.sun_path, path, strlen(path));
    for (uint32_t i = 0; i < MOST_CLIENTS; i++)
        server->clients[i].fd = -1;
    server->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t mask = umask(0177);
    const bool is_bound = server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, sizeof address) == 0;
    const int why = errno;
    umask(mask);
    if (!is_bound || listen(server->fd, BACKLOG) != 0) {
        if (is_bound)
            unlink(path);
        if (server->fd >= 0)
            close(server->fd);
        free(server);
        return tl_fail(err, why == EADDRINUSE ? TL_EINVAL : TL_EACCESS, "%s: %s", path,
                       why == EADDRINUSE ? "something is there already; remove it or name another path" : strerror(why));
    }
    memcpy(server->path, path, strlen(path) + 1);
    *ret_server = server;
    return TL_OK;
}

void tl_xcm_server_free(tl_xcm_server *server) {
    if (!server)
        return;
    for (uint32_t i = 0; i < MOST_CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            close(server->clients[i].fd);
    close(server->fd);
    unlink(server->path);
    free(server);
}

static void give(const client *to, const uint8_t *packet, uint32_t n_bytes) {
    if (to->fd >= 0)
        (void)!send(to->fd, packet, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void tl_xcm_server_packet(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    const tl_xcm_server *server = ctx;
    xcm_packet header;
    xcm_read_header(packet, &header);
    const bool is_event = header.op == XCM_EVENT_OP;
    if (server->current && !is_event) { // refused at once
        give(server->current, packet, n_bytes);
        return;
    }
    for (uint32_t i = 0; i < MOST_CLIENTS; i++)
        if (is_event || server->clients[i].owner == server->asking)
            give(&server->clients[i], packet, n_bytes);
}

// The ring travels with the first packet.
static void greet(const tl_xcm_server *server, const client *to) {
    uint8_t packet[XCM_HEADER_BYTES + 8 * HELLO_ELEMENTS];
    const xcm_state state = xcm_state_of(tl_xcm_monitor(server->model));
    const int ring = tl_xcm_ring_fd(server->model);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof ring)];
    } control = {0};
    xcm_put_element(packet, 0, XCM_EVENT_HELLO);
    xcm_put_element(packet, 1, state);
    xcm_put_element(packet, 2, tl_xcm_ring_bytes(server->model));
    struct iovec part = {packet, xcm_seal(packet, XCM_REPLY, XCM_EVENT_OP, XCM_DONE, (uint8_t)state, HELLO_ELEMENTS)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (ring >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof ring);
        memcpy(CMSG_DATA(rights), &ring, sizeof ring);
    }
    (void)!sendmsg(to->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void admit(tl_xcm_server *server) {
    const int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct ucred who = {0};
    socklen_t size = sizeof who;
    for (uint32_t i = 0; i < MOST_CLIENTS; i++) {
        client *to = &server->clients[i];
        if (to->fd >= 0)
            continue;
        const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
        *to = (client){fd, ++server->n_owners, is_known && (who.uid == 0 || who.uid == geteuid())};
        greet(server, to);
        return;
    }
    close(fd); // there are too many
}

static void part_with(tl_xcm_server *server, client *from) {
    close(from->fd);
    from->fd = -1;
    if (server->asking == from->owner)
        server->asking = 0;
    if (server->owner != from->owner)
        return;
    server->owner = 0;
    xcm_owner_died(tl_xcm_monitor(server->model));
}

static void hear(tl_xcm_server *server, client *from) {
    static const int flags = MSG_DONTWAIT | MSG_TRUNC;
    uint8_t packet[XCM_PACKET_BYTES + 8];
    for (uint32_t i = 0; i < PACKETS_A_TURN; i++) {
        const ssize_t n = recv(from->fd, packet, sizeof packet, flags);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            part_with(server, from);
            return;
        }
        xcm *monitor = tl_xcm_monitor(server->model);
        const bool was_busy = xcm_is_busy(monitor);
        server->current = from;
        xcm_submit(monitor, packet, (size_t)n > sizeof packet ? (uint32_t)sizeof packet : (uint32_t)n, from->owner, from->is_privileged);
        server->current = NULL;
        if (!was_busy && xcm_is_busy(monitor))
            server->owner = server->asking = from->owner;
    }
}

// Ticks up to the host's clock. A request under way goes on whatever the clock says. Time that the
// host could not simulate is lost. The board stands still while nobody listens.
static bool pass_time(tl_xcm_server *server) {
    xcm *monitor = tl_xcm_monitor(server->model);
    const xcm_state state = xcm_state_of(monitor);
    const bool stands_still = state != XCM_LISTENING && state != XCM_HALTED;
    if (stands_still && !xcm_is_busy(monitor))
        return false;
    const uint64_t host_ns = host_now_ns();
    uint64_t due_ns = server->model_ns + (host_ns - server->host_ns);
    const uint64_t now_ns = tl_xcm_now_ns(server->model);
    if (stands_still || due_ns > now_ns + MOST_LAG_NS || now_ns > due_ns + MOST_LAG_NS) {
        server->host_ns = host_ns;
        server->model_ns = due_ns = now_ns;
    }
    for (uint32_t i = 0; i < TICKS_A_TURN && (xcm_is_busy(monitor) || tl_xcm_now_ns(server->model) < due_ns); i++)
        tl_xcm_tick(server->model);
    return xcm_is_busy(monitor) || tl_xcm_now_ns(server->model) < due_ns;
}

static bool has_clients(const tl_xcm_server *server) {
    for (uint32_t i = 0; i < MOST_CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            return true;
    return false;
}

static bool is_over(const tl_xcm_server *server) {
    return xcm_state_of(tl_xcm_monitor(server->model)) == XCM_NONE || (tl_xcm_has_ended(server->model) && !has_clients(server));
}

void tl_xcm_serve(tl_xcm_server *server, tl_xcm_model *model, uint32_t seconds, bool (*wants_stop)(void *ctx), void *ctx) {
    const uint64_t until_ns = host_now_ns() + seconds * NS_PER_S;
    bool has_work = true;
    server->model = model;
    server->host_ns = host_now_ns();
    server->model_ns = tl_xcm_now_ns(model);
    while (!is_over(server) && host_now_ns() < until_ns && !(wants_stop && wants_stop(ctx))) {
        struct pollfd fds[MOST_CLIENTS + 1] = {{.fd = server->fd, .events = POLLIN}};
        for (uint32_t i = 0; i < MOST_CLIENTS; i++)
            fds[i + 1] = (struct pollfd){.fd = server->clients[i].fd, .events = POLLIN};
        if (poll(fds, MOST_CLIENTS + 1, has_work ? 0 : REST_MS) > 0) {
            for (uint32_t i = 0; i < MOST_CLIENTS; i++)
                if (fds[i + 1].revents != 0 && server->clients[i].fd >= 0)
                    hear(server, &server->clients[i]);
            if (fds[0].revents & POLLIN)
                admit(server);
        }
        has_work = pass_time(server);
    }
    xcm_owner_died(tl_xcm_monitor(model));
}
