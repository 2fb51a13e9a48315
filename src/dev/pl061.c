// SPDX-License-Identifier: MIT
// PrimeCell GPIO PL061 (DDI 0190) as the power control of QEMU's virt board: Secure software raises
// line 0 to switch the machine off and line 1 to restart it. Nothing drives the inputs, so no
// interrupt ever comes; its registers hold what is written.
#include "dev/devices.h"

enum {
    DATA_END = 0x400, // bits 9:2 of the address select the lines
    DIR = 0x400,
    AFSEL = 0x420,
    ID = 0xfe0,
    WINDOW_BYTES = 0x1000,
    LINE_POWER_OFF = 1 << 0,
    LINE_RESET = 1 << 1,
    N_HELD = (AFSEL - DIR) / 4 + 1,
};

typedef struct pl061 {
    tl_device device;
    uint8_t data, held[N_HELD]; // held[0]: DIR, 1 is an output
} pl061;

static bool pl061_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    static const uint8_t ids[] = {0x61, 0x10, 0x04, 0x00, 0x0d, 0xf0, 0x05, 0xb1};
    const pl061 *p = (const pl061 *)device;
    if (size_bytes == 8)
        return false;
    *ret_value = 0;
    if (offset < DATA_END)
        *ret_value = p->data & offset >> 2;
    else if (offset <= AFSEL)
        *ret_value = p->held[(offset - DIR) / 4];
    else if (offset >= ID)
        *ret_value = ids[(offset - ID) / 4];
    return true;
}

static bool pl061_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    enum { RIS = 5, MIS = 6, ICR = 7 }; // of held: read-only, read-only, write-only
    pl061 *p = (pl061 *)device;
    const uint64_t index = (offset - DIR) / 4;
    if (size_bytes == 8)
        return false;
    const uint8_t before = p->data & p->held[0];
    if (offset < DATA_END) {
        const uint8_t lines = (uint8_t)(offset >> 2) & p->held[0];
        p->data = (uint8_t)((p->data & ~lines) | (value & lines));
    } else if (offset <= AFSEL && index != RIS && index != MIS && index != ICR) {
        p->held[index] = (uint8_t)value;
    }
    const uint8_t raised = p->data & p->held[0] & (uint8_t)~before;
    if (raised & LINE_RESET)
        device->host->reset(device->host->ctx);
    else if (raised & LINE_POWER_OFF)
        device->host->finish(device->host->ctx, 0);
    return true;
}

static const tl_device_type pl061_type = {.name = "pl061", .title = "PL061 power control", .read = pl061_read, .write = pl061_write};

tl_status tl_pl061_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    pl061 *p = tl_device_new(place, &pl061_type, WINDOW_BYTES, sizeof *p, err);
    if (!p)
        return TL_ENOMEM;
    *ret_device = &p->device;
    return TL_OK;
}
