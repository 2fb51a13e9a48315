// SPDX-License-Identifier: MIT
// The toy's addresses, for its readers and its test.
#ifndef TOY_H
#define TOY_H

#include "model/pmu.h"

enum { TOY_CSR = 0x7c0, TOY_WINDOW_PADDR = 0x2020000, TOY_WINDOW_COUNT = 8, TOY_RECORDS_BYTES = 1024 };
extern const tl_pmu_type tl_pmu_toy;

#endif
