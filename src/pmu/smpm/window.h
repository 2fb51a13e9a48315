// SPDX-License-Identifier: MIT
// Request registers of one client, as guest/include/tally/smpm.h writes them: 64 bits each, mapped
// for that client alone. They reach the firmware and no register of the data path.
//
//   00 HANDLE   08 CMD (1 snapshot)   10 STATUS (0 done, 1 denied, 2 too soon, 3 busy)   18 NOW
#ifndef TL_PMU_SMPM_WINDOW_H
#define TL_PMU_SMPM_WINDOW_H

#include "pmu/smpm/mcu.h"

enum { TL_SMPM_WINDOW_BYTES = 32, TL_SMPM_WINDOW_SNAPSHOT = 1 };
typedef enum tl_smpm_window_status {
    TL_SMPM_WINDOW_DONE,
    TL_SMPM_WINDOW_DENIED,
    TL_SMPM_WINDOW_TOO_SOON,
    TL_SMPM_WINDOW_BUSY,
} tl_smpm_window_status;

typedef struct tl_smpm_window {
    tl_smpm_mcu *mcu;
    tl_smpm_identity client;
    uint64_t handle;
    tl_smpm_window_status status;
} tl_smpm_window;

// Any offset, size and value. False: a fault; a register takes accesses of 8 bytes only.
bool tl_smpm_window_read(const tl_smpm_window *window, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
bool tl_smpm_window_write(tl_smpm_window *window, uint64_t offset, uint32_t size_bytes, uint64_t value);

#endif
