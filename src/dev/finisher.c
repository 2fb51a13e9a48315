// SPDX-License-Identifier: MIT
// The test finisher of SiFive's boards and QEMU's virt: a word written to it ends the run. Low half
// 0x5555: passed; 0x3333: failed with the code in the high half, which is 1 when the guest gave
// none, since 0 would read as passed; 0x7777: restart. Anything else is ignored.
#include "dev/devices.h"

enum { PASS = 0x5555, FAIL = 0x3333, RESET = 0x7777, WINDOW_BYTES = 0x1000 };

static bool finisher_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    (void)device;
    (void)offset;
    (void)size_bytes;
    *ret_value = 0;
    return true;
}

static bool finisher_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const tl_device_host *host = device->host;
    uint32_t code = (uint32_t)value >> 16;
    if (offset != 0 || size_bytes < 2)
        return true;
    switch (value & 0xffff) {
    case PASS: host->finish(host->ctx, 0); break;
    case FAIL: host->finish(host->ctx, size_bytes > 2 && code != 0 ? (int32_t)code : 1); break;
    case RESET: host->reset(host->ctx); break;
    default: break;
    }
    return true;
}

static const tl_device_type finisher_type = {
    .name = "finisher", .title = "test finisher: ends the run", .read = finisher_read, .write = finisher_write};

tl_status tl_finisher_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    *ret_device = tl_device_new(place, &finisher_type, WINDOW_BYTES, sizeof(tl_device), err);
    return *ret_device ? TL_OK : TL_ENOMEM;
}
