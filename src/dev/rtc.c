// SPDX-License-Identifier: MIT
// Goldfish real-time clock (Android's goldfish virtual hardware documentation, as on QEMU's virt
// board): nanoseconds since 1970 in two halves, and an alarm. The time is a fixed date plus the
// time the machine has run, so that every run sees the same dates. Reading the low half latches the
// high one. Writing a half of the time sets the clock; writing the low half of the alarm arms it.
#include "dev/devices.h"

enum {
    TIME_LOW = 0x00,
    TIME_HIGH = 0x04,
    ALARM_LOW = 0x08,
    ALARM_HIGH = 0x0c,
    IRQ_ENABLED = 0x10,
    CLEAR_ALARM = 0x14,
    ALARM_STATUS = 0x18,
    CLEAR_INTERRUPT = 0x1c,
    WINDOW_BYTES = 0x1000,
};
static const uint64_t NS_PER_S = 1000000000;
__extension__ typedef unsigned __int128 uint128;

typedef struct rtc {
    tl_device device;
    uint64_t offset_ns, alarm_ns;
    uint32_t time_high; // latched
    bool is_armed, is_pending, is_irq_enabled, line;
} rtc;

static uint64_t run_ns(const rtc *r) {
    const tl_device_host *host = r->device.host;
    return (uint64_t)((uint128)host->now_cycles(host->ctx) * NS_PER_S / host->clock_hz);
}

static uint64_t now_ns(const rtc *r) { return r->offset_ns + run_ns(r); }

static void update_line(rtc *r) {
    bool line = r->is_pending && r->is_irq_enabled;
    if (line == r->line)
        return;
    r->line = line;
    r->device.host->set_irq(r->device.host->ctx, r->device.irq, line);
}

static uint64_t rtc_tick(tl_device *device) {
    rtc *r = (rtc *)device;
    if (!r->is_armed)
        return UINT64_MAX;
    uint64_t now = now_ns(r);
    if (now >= r->alarm_ns) {
        r->is_armed = false;
        r->is_pending = true;
        update_line(r);
        return UINT64_MAX;
    }
    uint128 cycle = ((uint128)run_ns(r) + (r->alarm_ns - now)) * device->host->clock_hz;
    cycle = (cycle + NS_PER_S - 1) / NS_PER_S;
    return cycle >= UINT64_MAX ? UINT64_MAX : (uint64_t)cycle;
}

static bool rtc_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    rtc *r = (rtc *)device;
    if (size_bytes != 4)
        return false;
    uint64_t value = 0;
    switch (offset) {
    case TIME_LOW:
        value = now_ns(r);
        r->time_high = (uint32_t)(value >> 32);
        break;
    case TIME_HIGH: value = r->time_high; break;
    case ALARM_LOW: value = r->alarm_ns; break;
    case ALARM_HIGH: value = r->alarm_ns >> 32; break;
    case IRQ_ENABLED: value = r->is_irq_enabled; break;
    case ALARM_STATUS: value = r->is_armed; break;
    default: break;
    }
    *ret_value = value & UINT32_MAX;
    return true;
}

static uint64_t with_low(uint64_t value, uint64_t low) { return (value & ~(uint64_t)UINT32_MAX) | (low & UINT32_MAX); }
static uint64_t with_high(uint64_t value, uint64_t high) { return (value & UINT32_MAX) | high << 32; }

static bool rtc_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    rtc *r = (rtc *)device;
    if (size_bytes != 4)
        return false;
    switch (offset) {
    case TIME_LOW: r->offset_ns = with_low(now_ns(r), value) - run_ns(r); break;
    case TIME_HIGH: r->offset_ns = with_high(now_ns(r), value) - run_ns(r); break;
    case ALARM_LOW:
        r->alarm_ns = with_low(r->alarm_ns, value);
        r->is_armed = true;
        break;
    case ALARM_HIGH: r->alarm_ns = with_high(r->alarm_ns, value); break;
    case IRQ_ENABLED: r->is_irq_enabled = value & 1; break;
    case CLEAR_ALARM: r->is_armed = false; break;
    case CLEAR_INTERRUPT: r->is_pending = false; break;
    default: break;
    }
    update_line(r);
    device->host->wake(device->host->ctx, device);
    return true;
}

static const tl_device_type rtc_type = {
    .name = "rtc", .title = "goldfish real-time clock", .read = rtc_read, .write = rtc_write, .tick = rtc_tick};

tl_status tl_rtc_new(const tl_device_place *place, uint64_t start_s, tl_device **ret_device, tl_error *err) {
    rtc *r = tl_device_new(place, &rtc_type, WINDOW_BYTES, sizeof *r, err);
    if (!r)
        return TL_ENOMEM;
    r->offset_ns = start_s * NS_PER_S;
    *ret_device = &r->device;
    return TL_OK;
}
