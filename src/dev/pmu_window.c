// SPDX-License-Identifier: MIT
// pmu_window is the bus device of a PMU with registers in an MMIO window.
#include "dev/devices.h"

typedef struct window {
    tl_device device;
    tl_pmu *pmu;
} window;

static bool window_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    return tl_pmu_load(((window *)device)->pmu, offset, size_bytes, ret_value);
}

static bool window_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    return tl_pmu_store(((window *)device)->pmu, offset, size_bytes, value);
}

static const tl_device_type window_type = {.name = "pmu", .title = "counters in a window", .read = window_read, .write = window_write};

tl_status tl_pmu_window_new(const tl_device_place *place, tl_pmu *pmu, tl_device **ret_device, tl_error *err) {
    window *w = tl_device_new(place, &window_type, pmu->type->window_bytes, sizeof *w, err);
    if (!w)
        return TL_ENOMEM;
    w->pmu = pmu;
    *ret_device = &w->device;
    return TL_OK;
}

const tl_pmu *tl_pmu_window_pmu(const tl_device *device) { return ((const window *)device)->pmu; }
