// SPDX-License-Identifier: MIT
// Services of Linux's driver for the Pentium 4, in a shared object of its own. It opens
// events, counts them together, and reads them, as perf does on one processor.
#ifndef TL_TESTS_NETBURST_DRIVER_H
#define TL_TESTS_NETBURST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct p4_host { // the processor that the driver runs on
    void *ctx;
    int (*read_msr)(void *ctx, uint32_t msr, uint64_t *ret_value); // 0, or -EIO for a fault
    int (*write_msr)(void *ctx, uint32_t msr, uint64_t value);
    void (*unmask)(void *ctx); // the interrupt of the local vector table
    int cpu, n_siblings;
    unsigned model;
} p4_host;

typedef struct p4_driver {
    // Errors are negative numbers of errno.
    int (*start)(const p4_host *host);
    // An event in this place; types and configurations as perf_event_open takes them.
    int (*open)(uint32_t place, uint32_t type, uint64_t config, bool excludes_kernel, bool excludes_user, uint64_t period);
    int (*enable)(uint32_t n_places);
    void (*disable)(void);
    uint64_t (*read)(uint32_t place);
    uint32_t (*n_overflows)(uint32_t place);
    int (*counter)(uint32_t place);
    int (*interrupt)(void);
} p4_driver;
extern const p4_driver driver_of_linux;

#endif
