// SPDX-License-Identifier: MIT
// What it takes a user program to read n counters, the first time and again.
#ifndef TL_COMPARE_ACCESSES_H
#define TL_COMPARE_ACCESSES_H

#include "compare/stage.h"
#include "pmu/dhpc/dhpc.h"

TL_MUST_CHECK tl_status tl_compare_accesses(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);

typedef enum tl_hpc_method { TL_HPC_EMPTY_POLL, TL_HPC_TRIGGER_POLL, TL_HPC_BURST_READ, TL_HPC_N_METHODS } tl_hpc_method;
extern const char *const tl_hpc_method_names[TL_HPC_N_METHODS];
// A request for the bits of one manager and the reading of its values into registers from x8 on, in any mode; t0 to t2 are used.
void tl_hpc_write_read(tl_assembler *a, const tl_dhpc_config *config, tl_hpc_method method, uint32_t manager, uint64_t bitmap);

#endif
