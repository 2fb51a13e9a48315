// SPDX-License-Identifier: MIT
// PrimeCell real-time clock PL031 (DDI 0224): seconds since 1970, and an alarm.
#include "dev/devices.h"
#include "model/hart.h"

enum { DR = 0x00, MR = 0x04, LR = 0x08, CR = 0x0c, IMSC = 0x10, RIS = 0x14, MIS = 0x18, ICR = 0x1c, ID = 0xfe0, WINDOW_BYTES = 0x1000 };

typedef struct pl031 {
    tl_device device;
    uint32_t offset_s, match, load; // what the clock shows beyond the time since power-on
    bool is_masked_in, is_raised, line;
    uint64_t alarm_time; // machine time; UINT64_MAX: none
} pl031;

static uint64_t time_of(const pl031 *p) {
    const tl_device_host *host = p->device.host;
    return host->time_of_cycle(host->ctx, host->now_cycles(host->ctx));
}
static uint32_t seconds_of(const pl031 *p) { return (uint32_t)(time_of(p) / TL_TIMEBASE_HZ) + p->offset_s; }

static void update_line(pl031 *p) {
    const bool line = p->is_masked_in && p->is_raised;
    if (line != p->line)
        p->device.host->set_irq(p->device.host->ctx, p->device.irq, line);
    p->line = line;
}

// The alarm comes when the clock next shows the match value; a match that it shows now is at once.
static void set_alarm(pl031 *p) {
    const uint64_t second = time_of(p) / TL_TIMEBASE_HZ;
    p->alarm_time = (second + (uint32_t)(p->match - seconds_of(p))) * TL_TIMEBASE_HZ;
}

static uint64_t pl031_tick(tl_device *device) {
    pl031 *p = (pl031 *)device;
    if (p->alarm_time <= time_of(p)) {
        p->is_raised = true;
        p->alarm_time = UINT64_MAX;
    }
    update_line(p);
    return p->alarm_time == UINT64_MAX ? UINT64_MAX : device->host->cycle_of_time(device->host->ctx, p->alarm_time);
}

static bool pl031_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    static const uint8_t ids[] = {0x31, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1};
    const pl031 *p = (const pl031 *)device;
    if (size_bytes != 4)
        return false;
    switch (offset) {
    case DR: *ret_value = seconds_of(p); break;
    case MR: *ret_value = p->match; break;
    case LR: *ret_value = p->load; break;
    case CR: *ret_value = 1; break;
    case IMSC: *ret_value = p->is_masked_in; break;
    case RIS: *ret_value = p->is_raised; break;
    case MIS: *ret_value = p->is_masked_in && p->is_raised; break;
    default: *ret_value = offset >= ID ? ids[(offset - ID) / 4] : 0; break;
    }
    return true;
}

static bool pl031_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    pl031 *p = (pl031 *)device;
    if (size_bytes != 4)
        return false;
    switch (offset) {
    case MR:
        p->match = (uint32_t)value;
        set_alarm(p);
        break;
    case LR:
        p->load = (uint32_t)value;
        p->offset_s += p->load - seconds_of(p);
        set_alarm(p);
        break;
    case IMSC: p->is_masked_in = value & 1; break;
    case ICR: p->is_raised = p->is_raised && !(value & 1); break;
    default: break;
    }
    update_line(p);
    device->host->wake(device->host->ctx, device);
    return true;
}

static const tl_device_type pl031_type = {
    .name = "pl031", .title = "PL031 real-time clock", .read = pl031_read, .write = pl031_write, .tick = pl031_tick};

tl_status tl_pl031_new(const tl_device_place *place, uint64_t start_s, tl_device **ret_device, tl_error *err) {
    pl031 *p = tl_device_new(place, &pl031_type, WINDOW_BYTES, sizeof *p, err);
    if (!p)
        return TL_ENOMEM;
    p->offset_s = (uint32_t)start_s;
    p->alarm_time = UINT64_MAX;
    *ret_device = &p->device;
    return TL_OK;
}
