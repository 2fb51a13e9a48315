// SPDX-License-Identifier: MIT
// The driver of perf for the performance monitors of AArch64 harts: source.c.
#ifndef TL_READERS_PMUV3_SOURCE_H
#define TL_READERS_PMUV3_SOURCE_H

#include "session/perf.h"

extern const tl_perf_driver tl_pmuv3_perf;

#endif
