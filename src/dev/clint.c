// SPDX-License-Identifier: MIT
// Core-local interruptor: a software interrupt and a timer per hart, and the clock they share.
// Layout of SiFive's FU540 manual, ch. 9, as on QEMU's virt board: msip at 4 * hart, mtimecmp at
// 0x4000 + 8 * hart, mtime at 0xbff8. mtime is machine time plus an offset; a write to mtime
// changes the offset. A timer costs one event when it falls due, because no counter runs. The timer
// interrupt is a level: mtime >= mtimecmp, unsigned. Registers of harts that do not exist read 0.
#include "dev/devices.h"
#include "isa/rv/arch.h"
#include "model/config.h"
#include "model/hart.h"

enum { MSIP = 0, MTIMECMP = 0x4000, MTIME = 0xbff8, WINDOW_BYTES = 0x10000 };

typedef struct clint {
    tl_device device;
    uint32_t n_harts;
    uint64_t time_offset;
    uint64_t mtimecmp[TL_MAX_HARTS];
    bool msip[TL_MAX_HARTS], mtip[TL_MAX_HARTS];
} clint;

static uint64_t mtime_at(const clint *c, uint64_t cycle) {
    const tl_device_host *host = c->device.host;
    return host->time_of_cycle(host->ctx, cycle) + c->time_offset;
}

static uint64_t now_of(const clint *c) { return c->device.host->now_cycles(c->device.host->ctx); }

static void update_timer(clint *c, uint32_t hart, uint64_t cycle) {
    bool level = mtime_at(c, cycle) >= c->mtimecmp[hart];
    if (level == c->mtip[hart])
        return;
    c->mtip[hart] = level;
    c->device.host->set_hart_irq(c->device.host->ctx, hart, TL_IRQ_MTI, level);
}

// When the timer's level changes by itself: mtime comes to mtimecmp, or wraps below it.
static uint64_t next_change(const clint *c, uint32_t hart, uint64_t cycle) {
    const tl_device_host *host = c->device.host;
    uint64_t mtime = mtime_at(c, cycle), compare = c->mtimecmp[hart];
    if (compare == 0)
        return UINT64_MAX; // always due
    uint64_t ticks = mtime >= compare ? 0 - mtime : compare - mtime, time = host->time_of_cycle(host->ctx, cycle);
    return ticks > UINT64_MAX - time ? UINT64_MAX : host->cycle_of_time(host->ctx, time + ticks);
}

static uint64_t clint_tick(tl_device *device) {
    clint *c = (clint *)device;
    uint64_t now = now_of(c), next = UINT64_MAX;
    for (uint32_t i = 0; i < c->n_harts; i++) {
        update_timer(c, i, now);
        uint64_t change = next_change(c, i, now);
        next = change < next ? change : next;
    }
    return next;
}

// 4 or 8 aligned bytes of a 64-bit register.
static uint64_t part_of(uint64_t reg, uint64_t offset, uint32_t size_bytes) {
    return size_bytes == 8 ? reg : (reg >> (offset & 4) * 8) & UINT32_MAX;
}

static uint64_t with_part(uint64_t reg, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    if (size_bytes == 8)
        return value;
    unsigned shift = (unsigned)(offset & 4) * 8;
    return (reg & ~((uint64_t)UINT32_MAX << shift)) | (value & UINT32_MAX) << shift;
}

static bool clint_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const clint *c = (const clint *)device;
    if (size_bytes < 4 || (offset < MTIMECMP && size_bytes != 4))
        return false;
    uint64_t value = 0;
    if (offset < MTIMECMP)
        value = offset / 4 < c->n_harts ? c->msip[offset / 4] : 0;
    else if ((offset & ~UINT64_C(7)) == MTIME)
        value = part_of(mtime_at(c, now_of(c)), offset, size_bytes);
    else if ((offset - MTIMECMP) / 8 < c->n_harts)
        value = part_of(c->mtimecmp[(offset - MTIMECMP) / 8], offset, size_bytes);
    *ret_value = value;
    return true;
}

static bool clint_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    clint *c = (clint *)device;
    const tl_device_host *host = device->host;
    if (size_bytes < 4 || (offset < MTIMECMP && size_bytes != 4))
        return false;
    if (offset < MTIMECMP) {
        uint32_t hart = (uint32_t)(offset / 4);
        bool level = value & 1;
        if (hart < c->n_harts && level != c->msip[hart]) {
            c->msip[hart] = level;
            host->set_hart_irq(host->ctx, hart, TL_IRQ_MSI, level);
        }
        return true;
    }
    uint64_t now = now_of(c);
    if ((offset & ~UINT64_C(7)) == MTIME) {
        uint64_t mtime = with_part(mtime_at(c, now), offset, size_bytes, value);
        c->time_offset = mtime - host->time_of_cycle(host->ctx, now);
        host->set_time_offset(host->ctx, c->time_offset);
        for (uint32_t i = 0; i < c->n_harts; i++)
            update_timer(c, i, now);
    } else if ((offset - MTIMECMP) / 8 < c->n_harts) {
        uint32_t hart = (uint32_t)((offset - MTIMECMP) / 8);
        c->mtimecmp[hart] = with_part(c->mtimecmp[hart], offset, size_bytes, value);
        update_timer(c, hart, now);
    }
    host->wake(host->ctx, device);
    return true;
}

static const tl_device_type clint_type = {.name = "clint",
                                          .title = "core-local interruptor: software interrupts and timers",
                                          .read = clint_read,
                                          .write = clint_write,
                                          .tick = clint_tick};

tl_status tl_clint_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err) {
    clint *c = tl_device_new(place, &clint_type, WINDOW_BYTES, sizeof *c, err);
    if (!c)
        return TL_ENOMEM;
    c->n_harts = n_harts < TL_MAX_HARTS ? n_harts : TL_MAX_HARTS;
    for (uint32_t i = 0; i < c->n_harts; i++)
        // The manual does not define the value; this one raises no interrupt at power-on.
        c->mtimecmp[i] = UINT64_MAX;
    *ret_device = &c->device;
    return TL_OK;
}
