// SPDX-License-Identifier: MIT
// The client library above its transports: requests, replies, events, code at addresses.
#include "monitor/client/xcm_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_EVENTS = 256, REPLY_MS = 60000 };

struct xcm_client {
    xcm_transport transport;
    uint8_t *ring;
    uint64_t ring_bytes; // of its data
    xcm_client_event events[MOST_EVENTS];
    uint32_t n_events;
    struct {
        uint64_t address;
        xcm_client_hit *fn;
        void *ctx;
    } hits[XCM_CLIENT_HITS];
    uint32_t n_hits;
    xcm_client_reply resumed;
    uint8_t out[XCM_PACKET_BYTES], in[XCM_PACKET_BYTES];
};

int xcm_client_open(const xcm_transport *transport, xcm_client **ret_client, char *why, size_t why_bytes) {
    xcm_client *client = calloc(1, sizeof *client);
    size_t ring_bytes = 0;
    if (!client) {
        transport->close(transport->ctx);
        snprintf(why, why_bytes, "no memory for the client");
        return -ENOMEM;
    }
    client->transport = *transport;
    client->ring = transport->ring ? transport->ring(transport->ctx, &ring_bytes) : NULL;
    client->ring_bytes = ring_bytes > XCM_RING_HEADER_BYTES ? ring_bytes - XCM_RING_HEADER_BYTES : 0;
    *ret_client = client;
    return 0;
}

void xcm_client_close(xcm_client *client) {
    if (!client)
        return;
    client->transport.close(client->transport.ctx);
    free(client);
}

static void keep_event(xcm_client *client, const xcm_packet *header) {
    if (header->n_elements < 3)
        return;
    if (client->n_events == MOST_EVENTS) { // the oldest is lost
        client->n_events -= 1;
        memmove(client->events, client->events + 1, client->n_events * sizeof client->events[0]);
    }
    client->events[client->n_events++] =
        (xcm_client_event){(xcm_event)xcm_element(client->in, 0), xcm_element(client->in, 1), xcm_element(client->in, 2)};
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// The next packet that is whole. Returns 1 for a reply, 2 for an event, which is kept, 0 when the
// time is over.
static int receive(xcm_client *client, int timeout_ms, xcm_packet *ret_header) {
    const int n = client->transport.receive(client->transport.ctx, client->in, sizeof client->in, timeout_ms);
    if (n <= 0)
        return n;
    if (xcm_check_packet(client->in, (uint32_t)n, XCM_REPLY, ret_header) != XCM_DONE)
        return -EPROTO;
    if (ret_header->op != XCM_EVENT_OP)
        return 1;
    keep_event(client, ret_header);
    return 2;
}

int xcm_client_send(xcm_client *client, const uint8_t *packet, uint32_t n_bytes, xcm_client_reply *ret_reply) {
    xcm_packet header;
    const int64_t until = now_ms() + REPLY_MS;
    int got = client->transport.send(client->transport.ctx, packet, n_bytes);
    if (got < 0)
        return got;
    do {
        const int64_t left = until - now_ms();
        got = left > 0 ? receive(client, (int)left, &header) : 0;
    } while (got == 2);
    if (got <= 0)
        return got == 0 ? -ETIMEDOUT : got;
    ret_reply->code = (xcm_code)header.code;
    ret_reply->state = (xcm_state)header.state;
    ret_reply->n_values = header.n_elements;
    for (uint32_t i = 0; i < header.n_elements; i++)
        ret_reply->values[i] = xcm_element(client->in, i);
    return 0;
}

int xcm_client_call(xcm_client *client, xcm_function function, const uint64_t *args, uint32_t n_args, xcm_client_reply *ret_reply) {
    if (n_args > XCM_ELEMENTS)
        return -E2BIG;
    for (uint32_t i = 0; i < n_args; i++)
        xcm_put_element(client->out, i, args[i]);
    return xcm_client_send(client, client->out, xcm_seal(client->out, XCM_GET, xcm_op_code((uint8_t)function), 0, 0, n_args), ret_reply);
}

int xcm_client_on_hit(xcm_client *client, uint64_t address, xcm_client_hit *fn, void *ctx) {
    uint32_t i = 0;
    while (i < client->n_hits && client->hits[i].address != address)
        i++;
    if (!fn) {
        if (i < client->n_hits)
            client->hits[i] = client->hits[--client->n_hits];
        return 0;
    }
    if (i == XCM_CLIENT_HITS)
        return -ENOSPC;
    client->n_hits += i == client->n_hits;
    client->hits[i].address = address;
    client->hits[i].fn = fn;
    client->hits[i].ctx = ctx;
    return 0;
}

// Whether the event was a hit with code of its own, which has run.
static int serve(xcm_client *client, const xcm_client_event *event) {
    if (event->kind != XCM_EVENT_HIT)
        return 0;
    for (uint32_t i = 0; i < client->n_hits; i++) {
        if (client->hits[i].address != event->pc)
            continue;
        client->hits[i].fn(client->hits[i].ctx, client, event->pc);
        const int error = xcm_client_call(client, XCM_RESUME, NULL, 0, &client->resumed);
        return error < 0 ? error : 1;
    }
    return 0;
}

int xcm_client_wait(xcm_client *client, int timeout_ms, xcm_client_event *ret_event) {
    const int64_t until = now_ms() + timeout_ms;
    xcm_packet header;
    for (;;) {
        while (client->n_events > 0) {
            *ret_event = client->events[0];
            client->n_events -= 1;
            memmove(client->events, client->events + 1, client->n_events * sizeof client->events[0]);
            const int served = serve(client, ret_event);
            if (served <= 0)
                return served < 0 ? served : 1;
        }
        const int64_t left = until - now_ms();
        const int got = receive(client, left > 0 ? (int)left : 0, &header);
        if (got < 0 || (got == 0 && left <= 0))
            return got;
    }
}

bool xcm_client_take(xcm_client *client, xcm_record *ret_record, uint8_t *to, uint32_t capacity) {
    return client->ring && xcm_ring_take(client->ring, client->ring_bytes, ret_record, to, capacity);
}

int xcm_client_transcript(xcm_client *client, int to) {
    return client->transport.transcript ? client->transport.transcript(client->transport.ctx, to) : -ENOSYS;
}

static bool is_offline(int core) {
    char path[64], text[8] = "1";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", core);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && text[0] == '0';
}

const char *xcm_client_explain(xcm_client *client, xcm_code code, char *to, size_t to_bytes) {
    const int core = client ? client->transport.target : -1;
    if (code == XCM_LOST && core >= 0 && is_offline(core))
        snprintf(to, to_bytes, "Core %d is offline; echo 1 > /sys/devices/system/cpu/cpu%d/online brings it back.", core, core);
    else
        snprintf(to, to_bytes, "%s", xcm_code_text((uint8_t)code));
    return to;
}
