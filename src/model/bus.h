// SPDX-License-Identifier: MIT
// Devices behind the uncached bus. mem/ asks the bus when an access leaves RAM. A device sees
// offsets within its own window and asks the board for time, interrupt lines and memory. Devices
// know nothing of harts, and nothing of each other.
#ifndef TL_MODEL_BUS_H
#define TL_MODEL_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/agent.h"

typedef struct tl_device tl_device;

typedef struct tl_requester {
    uint32_t hart;
    bool is_secure; // Arm: Secure state
} tl_requester;

// The board as a device sees it.
typedef struct tl_device_host {
    void *ctx;
    // Cycles a second.
    uint64_t clock_hz;
    // Cycle of the access or tick under way.
    uint64_t (*now_cycles)(void *ctx);
    // Machine time: ticks of TL_TIMEBASE_HZ since power-on.
    uint64_t (*time_of_cycle)(void *ctx, uint64_t cycle);
    // The first cycle that shows this time; UINT64_MAX: beyond all.
    uint64_t (*cycle_of_time)(void *ctx, uint64_t time);
    // CSR time shows machine time plus `offset`.
    void (*set_time_offset)(void *ctx, uint64_t offset);
    // Sets an input of the platform interrupt controller, 1 ..
    void (*set_irq)(void *ctx, uint32_t source, bool level);
    // Sets a tl_irq line of a hart, for timers and interrupt controllers.
    void (*set_hart_irq)(void *ctx, uint32_t hart, uint32_t irq, bool level);
    // RAM for a bus master, coherent with the caches and counted (unit dma). NULL: not all of it is
    // RAM. The bytes are for now only.
    uint8_t *(*dma)(void *ctx, uint64_t paddr, uint64_t size_bytes, bool is_write);
    // tick must be called again, because its last answer is no longer right.
    void (*wake)(void *ctx, tl_device *device);
    void (*finish)(void *ctx, int32_t status);              // the guest ends the run; 0 is success
    void (*reset)(void *ctx);                               // the guest asks for a restart
    void (*put)(void *ctx, const uint8_t *bytes, size_t n); // console output
    size_t (*get)(void *ctx, uint8_t *bytes, size_t n);     // console input that is there; 0: none
    bool (*has_input)(void *ctx);                           // false: get will never deliver again
    // The read under way cannot be answered yet; it returns false. The hart stops before it and
    // tries again.
    void (*wait)(void *ctx);
    // Names the hart of the access under way, and its security state. NULL: one hart.
    tl_requester (*requester)(void *ctx);
} tl_device_host;

typedef struct tl_device_type {
    const char *name, *title; // "uart", "16550A serial port"
    // Reads and writes are of 1, 2, 4 or 8 bytes, aligned, within the window. false: the device has
    // no such register: access fault.
    bool (*read)(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
    bool (*write)(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value);
    // Does what is due at host->now_cycles; returns the cycle at which it wants to be asked again,
    // UINT64_MAX: only when woken. May be NULL.
    uint64_t (*tick)(tl_device *device);
    void (*done)(tl_device *device); // may be NULL
} tl_device_type;

struct tl_device { // first member of every device's own struct
    const tl_device_type *type;
    const tl_device_host *host;
    uint64_t base_paddr, size_bytes;
    uint32_t irq; // its input of the interrupt controller, 0: none
};

// How mem/ reaches devices, in the name of who accesses them. false: nobody answers there, or not
// to that: access fault. Counting and time are mem's.
typedef struct tl_bus {
    void *ctx;
    bool (*read)(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value);
    bool (*write)(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value);
} tl_bus;

#endif
