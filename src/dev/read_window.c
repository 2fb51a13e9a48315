// SPDX-License-Identifier: MIT
// read_window is a window of regions that somebody outside the board answers.
#include "dev/devices.h"

typedef struct window {
    tl_device device;
    tl_read_window what;
} window;

// Returns the region; *offset becomes the one in it.
static uint32_t region_at(const window *w, uint64_t *offset) {
    uint32_t region = 0;
    while (*offset >= w->what.regions[region].size_bytes)
        *offset -= w->what.regions[region++].size_bytes;
    return region;
}

static bool is_done(tl_device *device, tl_window_answer answer) {
    if (answer == TL_WINDOW_LATER)
        device->host->wait(device->host->ctx);
    return answer == TL_WINDOW_DONE;
}

static bool window_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const window *w = (const window *)device;
    const uint32_t region = region_at(w, &offset);
    uint64_t word = 0;
    if (!is_done(device, w->what.read(w->what.ctx, region, offset & ~UINT64_C(7), device->host->now_cycles(device->host->ctx), &word)))
        return false;
    const uint64_t mask = size_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size_bytes) - 1;
    *ret_value = word >> 8 * (offset & 7) & mask;
    return true;
}

static bool window_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const window *w = (const window *)device;
    const uint32_t region = region_at(w, &offset);
    return w->what.write && size_bytes == 8 &&
           is_done(device, w->what.write(w->what.ctx, region, offset, device->host->now_cycles(device->host->ctx), value));
}

static const tl_device_type window_type = {
    .name = "read_window", .title = "regions answered from outside", .read = window_read, .write = window_write};

tl_status tl_read_window_new(const tl_device_place *place, const tl_read_window *what, tl_device **ret_device, tl_error *err) {
    uint64_t n_bytes = 0;
    for (uint32_t i = 0; i < what->n_regions; i++)
        n_bytes += what->regions[i].size_bytes;
    window *w = tl_device_new(place, &window_type, n_bytes, sizeof *w, err);
    if (!w)
        return TL_ENOMEM;
    w->what = *what;
    *ret_device = &w->device;
    return TL_OK;
}

const tl_read_window *tl_read_window_of(const tl_device *device) { return &((const window *)device)->what; }
