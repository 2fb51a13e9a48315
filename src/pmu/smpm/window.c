// SPDX-License-Identifier: MIT
// Request registers; see window.h.
#include "pmu/smpm/window.h"

enum { HANDLE = 0x00, CMD = 0x08, STATUS = 0x10, NOW = 0x18 };

bool tl_smpm_window_read(const tl_smpm_window *window, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    tl_smpm_counts counts = {0};
    if (size_bytes != 8)
        return false;
    switch (offset) {
    case HANDLE: *ret_value = window->handle; return true;
    case CMD: *ret_value = 0; return true;
    case STATUS: *ret_value = window->status; return true;
    case NOW:
        window->mcu->source->counts(window->mcu->source->device, &counts);
        *ret_value = counts.now_cycles;
        return true;
    default: return false;
    }
}

static tl_smpm_window_status snapshot(tl_smpm_window *window) {
    if (window->handle > UINT32_MAX) // a handle has 32 bits
        return TL_SMPM_WINDOW_DENIED;
    switch (tl_smpm_mcu_snapshot(window->mcu, &window->client, (uint32_t)window->handle)) {
    case TL_SMPM_REPLY_OK: return TL_SMPM_WINDOW_DONE;
    case TL_SMPM_REPLY_TOO_SOON: return TL_SMPM_WINDOW_TOO_SOON;
    case TL_SMPM_REPLY_BUSY: return TL_SMPM_WINDOW_BUSY;
    default: return TL_SMPM_WINDOW_DENIED;
    }
}

bool tl_smpm_window_write(tl_smpm_window *window, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    if (size_bytes != 8)
        return false;
    switch (offset) {
    case HANDLE: window->handle = value; return true;
    case CMD: window->status = value == TL_SMPM_WINDOW_SNAPSHOT ? snapshot(window) : TL_SMPM_WINDOW_DENIED; return true;
    case STATUS:
    case NOW: return true; // read-only
    default: return false;
    }
}
