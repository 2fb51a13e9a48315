// SPDX-License-Identifier: MIT
// A board for one device, for tests: time is what the test says, lines are bits, RAM is an array,
// the console two strings. After each access a device that asked for it is ticked, as the real
// board does, and tl_rig_advance goes on to every cycle a device asks for.
#ifndef TL_DEV_TEST_RIG_H
#define TL_DEV_TEST_RIG_H

#include <string.h>

#include "base/testing.h"
#include "dev/devices.h"
#include "model/config.h"
#include "model/hart.h"

// Ten cycles are one tick of machine time.
enum { TL_RIG_RAM_BYTES = 1 << 20, TL_RIG_CLOCK_HZ = 100000000 };

typedef struct tl_rig {
    tl_arena arena;
    tl_device_host host;
    tl_device *device;
    uint64_t now, next_tick;
    bool is_woken;
    uint64_t n_ticks;
    uint64_t time_offset;
    bool hart_line[TL_MAX_HARTS][16], line[TL_PLIC_SOURCES + 1];
    uint32_t n_edges[TL_PLIC_SOURCES + 1]; // rising
    int32_t finish_status;
    bool has_finished, has_reset;
    char output[4096];
    size_t n_output;
    const char *input; // the rest of the input
    bool is_input_over;
    uint64_t n_gets, n_dmas, n_waits;
    uint8_t ram[TL_RIG_RAM_BYTES];
} tl_rig;

static inline uint64_t tl_rig_now(void *ctx) { return ((tl_rig *)ctx)->now; }
static inline uint64_t tl_rig_time_of(void *ctx, uint64_t cycle) { return (void)ctx, cycle / (TL_RIG_CLOCK_HZ / TL_TIMEBASE_HZ); }
static inline uint64_t tl_rig_cycle_of(void *ctx, uint64_t time) {
    (void)ctx;
    const uint64_t ratio = TL_RIG_CLOCK_HZ / TL_TIMEBASE_HZ;
    return time > UINT64_MAX / ratio ? UINT64_MAX : time * ratio;
}
static inline void tl_rig_set_offset(void *ctx, uint64_t offset) { ((tl_rig *)ctx)->time_offset = offset; }
static inline void tl_rig_set_irq(void *ctx, uint32_t source, bool level) {
    tl_rig *rig = ctx;
    assert_in_range(source, 1, TL_PLIC_SOURCES);
    rig->n_edges[source] += level && !rig->line[source];
    rig->line[source] = level;
}
static inline void tl_rig_set_hart_irq(void *ctx, uint32_t hart, uint32_t irq, bool level) {
    assert_in_range(hart, 0, TL_MAX_HARTS - 1);
    assert_in_range(irq, 0, 15);
    ((tl_rig *)ctx)->hart_line[hart][irq] = level;
}
static inline uint8_t *tl_rig_dma(void *ctx, uint64_t paddr, uint64_t size_bytes, bool is_write) {
    tl_rig *rig = ctx;
    (void)is_write;
    uint64_t offset = paddr - TL_RAM_BASE_PADDR;
    rig->n_dmas++;
    return size_bytes > 0 && offset < TL_RIG_RAM_BYTES && size_bytes <= TL_RIG_RAM_BYTES - offset ? rig->ram + offset : NULL;
}
static inline void tl_rig_wait(void *ctx) { ((tl_rig *)ctx)->n_waits++; }
static inline void tl_rig_wake(void *ctx, tl_device *device) {
    tl_rig *rig = ctx;
    assert_ptr_equal(rig->device, device);
    rig->is_woken = true;
}
static inline void tl_rig_finish(void *ctx, int32_t status) {
    tl_rig *rig = ctx;
    rig->has_finished = true;
    rig->finish_status = status;
}
static inline void tl_rig_reset(void *ctx) { ((tl_rig *)ctx)->has_reset = true; }
static inline void tl_rig_put(void *ctx, const uint8_t *bytes, size_t n) {
    tl_rig *rig = ctx;
    for (size_t i = 0; i < n && rig->n_output < sizeof rig->output - 1; i++)
        rig->output[rig->n_output++] = (char)bytes[i];
}
static inline size_t tl_rig_get(void *ctx, uint8_t *bytes, size_t n) {
    tl_rig *rig = ctx;
    rig->n_gets++;
    size_t k = 0;
    while (k < n && rig->input && *rig->input)
        bytes[k++] = (uint8_t)*rig->input++;
    return k;
}
static inline bool tl_rig_has_input(void *ctx) { return !((tl_rig *)ctx)->is_input_over; }

static inline void tl_rig_start(tl_rig *rig) {
    memset(rig, 0, sizeof *rig);
    rig->host = (tl_device_host){.ctx = rig,
                                 .clock_hz = TL_RIG_CLOCK_HZ,
                                 .now_cycles = tl_rig_now,
                                 .time_of_cycle = tl_rig_time_of,
                                 .cycle_of_time = tl_rig_cycle_of,
                                 .set_time_offset = tl_rig_set_offset,
                                 .set_irq = tl_rig_set_irq,
                                 .set_hart_irq = tl_rig_set_hart_irq,
                                 .dma = tl_rig_dma,
                                 .wake = tl_rig_wake,
                                 .wait = tl_rig_wait,
                                 .finish = tl_rig_finish,
                                 .reset = tl_rig_reset,
                                 .put = tl_rig_put,
                                 .get = tl_rig_get,
                                 .has_input = tl_rig_has_input};
    rig->next_tick = UINT64_MAX;
}

static inline tl_device_place tl_rig_place(tl_rig *rig, uint64_t base_paddr, uint32_t irq) {
    return (tl_device_place){&rig->arena, &rig->host, base_paddr, irq, 0};
}

static inline void tl_rig_stop(tl_rig *rig) {
    if (rig->device && rig->device->type->done)
        rig->device->type->done(rig->device);
    tl_arena_done(&rig->arena);
}

static inline void tl_rig_tick(tl_rig *rig) {
    rig->is_woken = false;
    rig->n_ticks++;
    rig->next_tick = rig->device->type->tick ? rig->device->type->tick(rig->device) : UINT64_MAX;
}

// Time goes on to `cycle`, the device being asked whenever it wanted to be, at most once per cycle.
static inline void tl_rig_advance(tl_rig *rig, uint64_t cycle) {
    while (rig->next_tick <= cycle) {
        rig->now = rig->next_tick > rig->now ? rig->next_tick : rig->now + 1;
        tl_rig_tick(rig);
    }
    rig->now = cycle > rig->now ? cycle : rig->now;
}

static inline uint64_t tl_rig_read(tl_rig *rig, uint64_t offset, uint32_t size_bytes) {
    uint64_t value = 0;
    assert_true(rig->device->type->read(rig->device, offset, size_bytes, &value));
    if (rig->is_woken)
        tl_rig_tick(rig);
    return value;
}

static inline void tl_rig_write(tl_rig *rig, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    assert_true(rig->device->type->write(rig->device, offset, size_bytes, value));
    if (rig->is_woken)
        tl_rig_tick(rig);
}

static inline bool tl_rig_refuses(tl_rig *rig, uint64_t offset, uint32_t size_bytes) {
    uint64_t value;
    return !rig->device->type->read(rig->device, offset, size_bytes, &value) &&
           !rig->device->type->write(rig->device, offset, size_bytes, 0);
}

#endif
