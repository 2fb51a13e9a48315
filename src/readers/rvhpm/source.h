// SPDX-License-Identifier: MIT
// The driver of perf for the harts' counters: source.c.
#ifndef TL_READERS_RVHPM_SOURCE_H
#define TL_READERS_RVHPM_SOURCE_H

#include "session/perf.h"

extern const tl_perf_driver tl_rvhpm_perf;

#endif
