// SPDX-License-Identifier: MIT
// Registers of a NetBurst PMU, as instructions of thread 0 reach them without a fault.
#ifndef TL_TESTS_NETBURST_REGISTERS_H
#define TL_TESTS_NETBURST_REGISTERS_H

#include "base/testing.h"
#include "pmu/netburst/state.h"

static inline void wrmsr(tl_netburst *n, uint32_t msr, uint64_t value) { assert_int_equal(tl_netburst_wrmsr(n, 0, msr, value), TL_OK); }
static inline uint64_t rdmsr(tl_netburst *n, uint32_t msr) {
    uint64_t value = 0;
    assert_int_equal(tl_netburst_rdmsr(n, 0, msr, &value), TL_OK);
    return value;
}

#endif
