// SPDX-License-Identifier: MIT
// The transport to xcm.ko: packets by generic netlink, the ring by /dev/xcmN. The open device makes
// the process the owner; its end gives the target back.
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "monitor/client/xcm_client.h"
#include "monitor/linux/netlink.h"

enum { MESSAGE_BYTES = NLMSG_SPACE(GENL_HDRLEN + NLA_HDRLEN + XCM_PACKET_BYTES), AT_RING_BYTES = 8 };

typedef struct link_ctx {
    int device, socket;
    uint16_t family;
    uint32_t events, seq;
    uint8_t *ring;
    size_t ring_bytes;
    uint8_t message[MESSAGE_BYTES];
} link_ctx;

static void close_link(void *ctx) {
    link_ctx *l = ctx;
    if (l->ring)
        munmap(l->ring, l->ring_bytes);
    if (l->socket >= 0)
        close(l->socket);
    if (l->device >= 0)
        close(l->device);
    free(l);
}

static int send_message(link_ctx *l, uint16_t type, uint8_t command, uint16_t attribute, const void *bytes, uint32_t n_bytes) {
    struct nlmsghdr *head = (struct nlmsghdr *)(void *)l->message;
    struct genlmsghdr *generic = NLMSG_DATA(head);
    struct nlattr *attr = (struct nlattr *)(void *)((uint8_t *)generic + GENL_HDRLEN);
    memset(l->message, 0, NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN);
    attr->nla_type = attribute;
    attr->nla_len = (uint16_t)(NLA_HDRLEN + n_bytes);
    memcpy((uint8_t *)attr + NLA_HDRLEN, bytes, n_bytes);
    generic->cmd = command;
    generic->version = 1;
    head->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(attr->nla_len);
    head->nlmsg_type = type;
    head->nlmsg_flags = NLM_F_REQUEST;
    head->nlmsg_seq = ++l->seq;
    return send(l->socket, l->message, head->nlmsg_len, 0) < 0 ? -errno : 0;
}

// The attributes of the next message. Returns their bytes, 0 when the time is over.
static int receive_message(link_ctx *l, int timeout_ms, const uint8_t **ret_attributes, uint32_t *ret_seq) {
    struct pollfd waits = {.fd = l->socket, .events = POLLIN};
    const int ready = poll(&waits, 1, timeout_ms);
    if (ready <= 0)
        return ready < 0 ? -errno : 0;
    const ssize_t n = recv(l->socket, l->message, sizeof l->message, 0);
    if (n < 0)
        return -errno;
    const struct nlmsghdr *head = (const struct nlmsghdr *)(const void *)l->message;
    if ((size_t)n < NLMSG_HDRLEN || head->nlmsg_len > (size_t)n)
        return -EPROTO;
    if (head->nlmsg_type == NLMSG_ERROR)
        return (size_t)n >= NLMSG_LENGTH(sizeof(struct nlmsgerr)) && ((const struct nlmsgerr *)NLMSG_DATA(head))->error < 0
                   ? ((const struct nlmsgerr *)NLMSG_DATA(head))->error
                   : -EPROTO;
    if (head->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
        return -EPROTO;
    *ret_attributes = (const uint8_t *)NLMSG_DATA(head) + GENL_HDRLEN;
    *ret_seq = head->nlmsg_seq;
    return (int)(head->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
}

// The payload of an attribute; NULL: it is not there.
static const uint8_t *attribute_of(const uint8_t *at, int n_bytes, uint16_t type, uint32_t *ret_bytes) {
    while (n_bytes >= NLA_HDRLEN) {
        struct nlattr attr;
        memcpy(&attr, at, sizeof attr);
        if (attr.nla_len < NLA_HDRLEN || attr.nla_len > n_bytes)
            return NULL;
        if ((attr.nla_type & NLA_TYPE_MASK) == type) {
            *ret_bytes = attr.nla_len - (uint32_t)NLA_HDRLEN;
            return at + NLA_HDRLEN;
        }
        at += NLA_ALIGN(attr.nla_len);
        n_bytes -= NLA_ALIGN(attr.nla_len);
    }
    return NULL;
}

static int find_family(link_ctx *l) {
    enum { ANSWER_MS = 5000 };
    const uint8_t *attributes = NULL, *groups = NULL, *group = NULL, *value = NULL;
    uint32_t bytes = 0, seq = 0, group_bytes = 0;
    int n = send_message(l, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, XCM_GENL_FAMILY, sizeof XCM_GENL_FAMILY);
    if (n < 0)
        return n;
    n = receive_message(l, ANSWER_MS, &attributes, &seq);
    if (n <= 0)
        return n == 0 ? -ETIMEDOUT : n;
    value = attribute_of(attributes, n, CTRL_ATTR_FAMILY_ID, &bytes);
    if (!value || bytes < sizeof l->family)
        return -EPROTO;
    memcpy(&l->family, value, sizeof l->family);
    groups = attribute_of(attributes, n, CTRL_ATTR_MCAST_GROUPS, &bytes);
    group = groups ? attribute_of(groups, (int)bytes, 1, &group_bytes) : NULL; // the family has one
    value = group ? attribute_of(group, (int)group_bytes, CTRL_ATTR_MCAST_GRP_ID, &bytes) : NULL;
    if (!value || bytes < sizeof l->events)
        return -EPROTO;
    memcpy(&l->events, value, sizeof l->events);
    return setsockopt(l->socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &l->events, sizeof l->events) < 0 ? -errno : 0;
}

// The data stand behind the header in memory as they do in the ring; they cannot be written.
static int map_ring(link_ctx *l) {
    uint64_t data_bytes = 0;
    void *header = mmap(NULL, XCM_RING_HEADER_BYTES, PROT_READ, MAP_SHARED, l->device, 0);
    if (header == MAP_FAILED)
        return -errno;
    memcpy(&data_bytes, (uint8_t *)header + AT_RING_BYTES, sizeof data_bytes);
    munmap(header, XCM_RING_HEADER_BYTES);
    l->ring_bytes = XCM_RING_HEADER_BYTES + data_bytes;
    void *whole = mmap(NULL, l->ring_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED)
        return -errno;
    l->ring = whole;
    if (mmap(whole, XCM_RING_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, l->device, 0) == MAP_FAILED ||
        mmap(l->ring + XCM_RING_HEADER_BYTES, data_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, l->device, XCM_RING_HEADER_BYTES) ==
            MAP_FAILED)
        return -errno;
    return 0;
}

static int send_packet(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    link_ctx *l = ctx;
    return n_bytes > XCM_PACKET_BYTES ? -EMSGSIZE : send_message(l, l->family, XCM_GENL_PACKET, XCM_GENL_BYTES, packet, n_bytes);
}

// A reply has the number of its request; an event has 0. Late replies to others are dropped.
static int receive_packet(void *ctx, uint8_t *to, uint32_t capacity, int timeout_ms) {
    link_ctx *l = ctx;
    const uint8_t *attributes = NULL;
    uint32_t bytes = 0, seq = 0;
    for (;;) {
        const int n = receive_message(l, timeout_ms, &attributes, &seq);
        if (n <= 0)
            return n;
        const uint8_t *packet = attribute_of(attributes, n, XCM_GENL_BYTES, &bytes);
        if (!packet || bytes > capacity)
            return -EPROTO;
        if (seq != 0 && seq != l->seq)
            continue;
        memcpy(to, packet, bytes);
        return (int)bytes;
    }
}

static uint8_t *ring_of(void *ctx, size_t *ret_bytes) {
    const link_ctx *l = ctx;
    *ret_bytes = l->ring_bytes;
    return l->ring;
}

static int copy_transcript(void *ctx, int to) {
    const link_ctx *l = ctx;
    uint8_t buffer[65536];
    ssize_t n = 0;
    if (lseek(l->device, 0, SEEK_SET) < 0)
        return -errno;
    while ((n = read(l->device, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0, written = 0; at < n; at += written)
            if ((written = write(to, buffer + at, (size_t)(n - at))) < 0)
                return -errno;
    return n < 0 ? -errno : 0;
}

static int open_link(link_ctx *l, unsigned target, char *why, size_t why_bytes) {
    char path[32];
    int error = 0;
    snprintf(path, sizeof path, "/dev/xcm%u", target);
    l->device = open(path, O_RDWR | O_CLOEXEC);
    if (l->device < 0) {
        error = errno;
        snprintf(why, why_bytes, "%s: %s", path,
                 error == ENOENT                     ? "not there; load xcm.ko for this target first"
                 : error == EBUSY                    ? "another process owns the target"
                 : error == EPERM || error == EACCES ? "needs CAP_SYS_ADMIN"
                                                     : strerror(error));
        return -error;
    }
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    l->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (l->socket < 0 || bind(l->socket, (const struct sockaddr *)&address, sizeof address) < 0) {
        error = -errno;
        snprintf(why, why_bytes, "netlink: %s", strerror(-error));
        return error;
    }
    error = find_family(l);
    if (error < 0) {
        snprintf(why, why_bytes, "netlink family %s: %s", XCM_GENL_FAMILY, strerror(-error));
        return error;
    }
    error = map_ring(l);
    if (error < 0)
        snprintf(why, why_bytes, "%s: the ring cannot be mapped: %s", path, strerror(-error));
    return error;
}

int xcm_client_open_netlink(unsigned target, xcm_client **ret_client, char *why, size_t why_bytes) {
    link_ctx *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(why, why_bytes, "no memory for the client");
        return -ENOMEM;
    }
    l->device = l->socket = -1;
    const int error = open_link(l, target, why, why_bytes);
    if (error < 0) {
        close_link(l);
        return error;
    }
    const xcm_transport transport = {l, (int)target, send_packet, receive_packet, ring_of, copy_transcript, close_link};
    return xcm_client_open(&transport, ret_client, why, why_bytes);
}
