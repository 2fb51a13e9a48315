// SPDX-License-Identifier: MIT
// The common part of all device constructors; see devices.h.
#include "dev/devices.h"

void *tl_device_new(const tl_device_place *place, const tl_device_type *type, uint64_t window_bytes, size_t state_size, tl_error *err) {
    tl_device *device = tl_arena_alloc(place->arena, state_size);
    if (!device) {
        (void)tl_fail(err, TL_ENOMEM, "no memory for the device %s", type->name);
        return NULL;
    }
    *device =
        (tl_device){.type = type, .host = place->host, .base_paddr = place->base_paddr, .size_bytes = window_bytes, .irq = place->irq};
    return device;
}
