// SPDX-License-Identifier: MIT
// A console of one port (virtio 1.2 sec. 5.3, no multiport, no size): queue 0 brings the host's
// bytes, queue 1 takes the guest's. The host is asked once per simulated millisecond while nothing
// waits for a buffer.
#include <string.h>

#include "dev/virtio.h"

enum { RECEIVE = 0, TRANSMIT = 1, POLLS_PER_S = 1000, AT_ONCE_BYTES = 256, TRANSMIT_MAX_BYTES = 1 << 20 };

typedef struct console {
    tl_virtio v;
    uint64_t next_poll;
    uint8_t waiting[AT_ONCE_BYTES]; // from the host, for the next buffer
    size_t n_waiting;
} console;

static void transmit(tl_virtio *v) {
    while (tl_virtio_next(v, TRANSMIT)) {
        uint64_t size = v->chain.readable_bytes < TRANSMIT_MAX_BYTES ? v->chain.readable_bytes : TRANSMIT_MAX_BYTES;
        for (uint64_t done = 0, n; done < size; done += n) {
            const uint8_t *piece = tl_virtio_piece(v, false, done, size - done, &n);
            if (!piece)
                return;
            v->device.host->put(v->device.host->ctx, piece, n);
        }
        tl_virtio_used(v, TRANSMIT, 0);
    }
}

static void deliver(console *c) {
    tl_virtio *v = &c->v;
    while (c->n_waiting > 0 && tl_virtio_next(v, RECEIVE)) {
        uint64_t n = v->chain.writable_bytes < c->n_waiting ? v->chain.writable_bytes : c->n_waiting;
        if (n == 0)
            tl_virtio_break(v);
        else if (tl_virtio_copy_to(v, 0, c->waiting, n))
            tl_virtio_used(v, RECEIVE, (uint32_t)n);
        else
            return;
        memmove(c->waiting, c->waiting + n, c->n_waiting - n);
        c->n_waiting -= n;
    }
}

static void console_notified(tl_virtio *v, uint32_t queue) {
    if (queue == TRANSMIT)
        transmit(v);
    else
        deliver((console *)v);
}

static uint64_t console_tick(tl_virtio *v) {
    console *c = (console *)v;
    const tl_device_host *host = v->device.host;
    uint64_t now = host->now_cycles(host->ctx);
    if (!tl_virtio_is_live(v) || !v->queues[RECEIVE].is_ready)
        return UINT64_MAX;
    if (c->n_waiting == 0 && now >= c->next_poll) {
        c->n_waiting = host->get(host->ctx, c->waiting, sizeof c->waiting);
        c->next_poll = now + host->clock_hz / POLLS_PER_S + 1;
        deliver(c);
    }
    // Otherwise the driver must offer a buffer first.
    return c->n_waiting == 0 && host->has_input(host->ctx) ? c->next_poll : UINT64_MAX;
}

static const tl_virtio_kind console_kind = {.device_id = 3, .n_queues = 2, .notified = console_notified, .tick = console_tick};
static const tl_device_type console_type = {.name = "virtio_console",
                                            .title = "virtio console of one port",
                                            .read = tl_virtio_mmio_read,
                                            .write = tl_virtio_mmio_write,
                                            .tick = tl_virtio_tick,
                                            .done = tl_virtio_done};

tl_status tl_virtio_console_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    console *c = tl_virtio_new(place, &console_type, &console_kind, 0, sizeof *c, err);
    if (!c)
        return TL_ENOMEM;
    *ret_device = &c->v.device;
    return TL_OK;
}
