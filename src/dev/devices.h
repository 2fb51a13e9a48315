// SPDX-License-Identifier: MIT
// Constructors of all devices. The caller's arena holds the device. The caller calls `done` of the
// device's type, if it has one, at the end.
#ifndef TL_DEV_DEVICES_H
#define TL_DEV_DEVICES_H

#include "model/bus.h"
#include "model/pmu.h"

typedef struct tl_device_place {
    tl_arena *arena;
    const tl_device_host *host; // borrowed for the life of the device
    uint64_t base_paddr;
    uint32_t irq;            // 0: none
    uint32_t virtio_version; // the version register of a virtio transport: 1 (legacy), else 2
    uint64_t virtio_bytes;   // its window; 0: 4 KiB
} tl_device_place;

// The part that all constructors share: state_size zeroed bytes that begin with a tl_device. NULL:
// no memory, err says so.
void *tl_device_new(const tl_device_place *place, const tl_device_type *type, uint64_t window_bytes, size_t state_size, tl_error *err);

// The most that a machine has. The interrupt controller has two contexts per hart and the sources
// 1 .. TL_PLIC_SOURCES.
enum { TL_PLIC_SOURCES = 95 };

TL_MUST_CHECK tl_status tl_clint_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err);
TL_MUST_CHECK tl_status tl_plic_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err);
// The level of an input; sources that do not exist are ignored.
void tl_plic_set_source(tl_device *plic, uint32_t source, bool level);
TL_MUST_CHECK tl_status tl_uart_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);
TL_MUST_CHECK tl_status tl_finisher_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);
// start_s: the time at power-on, in seconds since 1970.
TL_MUST_CHECK tl_status tl_rtc_new(const tl_device_place *place, uint64_t start_s, tl_device **ret_device, tl_error *err);

// GICv2: the distributor at base_paddr, the interface of the accessing hart 64 KiB behind. Inputs
// by interrupt number: shared ones from 32 on, private ones of a hart 16 to 31. Others are ignored.
enum { TL_GIC_SPIS = 256 };
TL_MUST_CHECK tl_status tl_gic_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err);
void tl_gic_set_shared(tl_device *gic, uint32_t intid, bool level);
void tl_gic_set_private(tl_device *gic, uint32_t hart, uint32_t intid, bool level);
TL_MUST_CHECK tl_status tl_pl011_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);
TL_MUST_CHECK tl_status tl_pl031_new(const tl_device_place *place, uint64_t start_s, tl_device **ret_device, tl_error *err);
// A PL061, as QEMU's virt uses it for power control.
TL_MUST_CHECK tl_status tl_pl061_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);

// A cross-trigger interface of Armv8. The core behind it:
typedef struct tl_cti_core {
    void *ctx;
    // An output trigger changes. TL_CTI_RESTART is a pulse, and its level always true.
    void (*output)(void *ctx, uint32_t core, uint32_t trigger, bool level);
    uint32_t (*authentication)(void *ctx, uint32_t core); // DBGAUTHSTATUS_EL1
    uint64_t (*affinity)(void *ctx, uint32_t core);       // MPIDR_EL1
} tl_cti_core;
enum { TL_CTI_HALT, TL_CTI_RESTART, TL_CTI_INTERRUPT }; // output triggers
enum { TL_CTI_CROSS_HALT, TL_CTI_PMU_OVERFLOW };        // input triggers
// `neighbor` is any interface of the matrix that the new one joins; NULL: it begins one. `core` is
// borrowed.
TL_MUST_CHECK tl_status tl_cti_new(const tl_device_place *place, const tl_cti_core *core, uint32_t index, tl_device *neighbor,
                                   tl_device **ret_device, tl_error *err);
void tl_cti_set_input(tl_device *cti, uint32_t trigger, bool level);

typedef enum tl_disk_mode {
    // The guest may write; the file stays as it is, what was written is forgotten at the end.
    TL_DISK_COPY,
    TL_DISK_WRITABLE, // writes go to the file
    TL_DISK_READ_ONLY // the disk reports itself as read-only to the guest
} tl_disk_mode;
// TL_ENOENT, TL_EIO, ...: the file cannot be used, and why.
TL_MUST_CHECK tl_status tl_virtio_block_new(const tl_device_place *place, const char *path, tl_disk_mode mode, tl_device **ret_device,
                                            tl_error *err);
TL_MUST_CHECK tl_status tl_virtio_console_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);
// A transport with nothing behind it: device id 0, which drivers skip (virtio 1.2 sec. 4.2.2).
TL_MUST_CHECK tl_status tl_virtio_empty_new(const tl_device_place *place, tl_device **ret_device, tl_error *err);

// The registers of a PMU that has a window; the PMU is borrowed.
TL_MUST_CHECK tl_status tl_pmu_window_new(const tl_device_place *place, tl_pmu *pmu, tl_device **ret_device, tl_error *err);
const tl_pmu *tl_pmu_window_pmu(const tl_device *device); // of such a device

// Regions, one behind the other, that somebody outside the board answers. Sizes are multiples of a
// page. A refused access is an access fault.
typedef enum tl_window_answer {
    TL_WINDOW_LATER, // nobody knows yet, and the hart tries again
    TL_WINDOW_DONE,
    TL_WINDOW_REFUSED,
} tl_window_answer;
typedef struct tl_read_region {
    const char *name; // in the device tree
    uint64_t size_bytes;
} tl_read_region;
typedef struct tl_read_window {
    const char *compatible; // in the device tree
    const tl_read_region *regions;
    uint32_t n_regions;
    void *ctx;
    // The word at `offset` of a region, a multiple of 8, as it is in `cycle`.
    tl_window_answer (*read)(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t *ret_word);
    // A store of 8 bytes in `cycle`. NULL: all are refused.
    tl_window_answer (*write)(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t word);
} tl_read_window;
// regions and ctx are borrowed.
TL_MUST_CHECK tl_status tl_read_window_new(const tl_device_place *place, const tl_read_window *what, tl_device **ret_device, tl_error *err);
const tl_read_window *tl_read_window_of(const tl_device *device); // of such a device

#endif
