// SPDX-License-Identifier: MIT
// Code that reads a manager of the distributed counters: three ways to wait for its values, and how
// one of them is made safe. Every table and every watcher that reads the fabric is made of these
// pieces, with the numbers of the machine's registers.
#ifndef TL_READERS_DHPC_FABRIC_READER_H
#define TL_READERS_DHPC_FABRIC_READER_H

#include "compare/setup.h"
#include "isa/rv/assemble.h"
#include "pmu/dhpc/dhpc.h"

typedef enum tl_hpc_method { TL_HPC_EMPTY_POLL, TL_HPC_TRIGGER_POLL, TL_HPC_BURST_READ, TL_HPC_N_METHODS } tl_hpc_method;
extern const char *const tl_hpc_method_names[TL_HPC_N_METHODS + 1]; // NULL-terminated

enum { TL_HPC_FIRST_VALUE = TL_S0, TL_HPC_MAX_VALUES = 20 }; // of one request: registers x8 .. x27

// As many values as registers and the FIFO hold: a request for more would never leave the hart.
uint32_t tl_hpc_values_at_once(const tl_dhpc_config *config);
// Writes hpcm and hpcc. Uses t0 and t1. Returns the address of the write that starts the request.
uint64_t tl_hpc_write_start(tl_assembler *a, const tl_dhpc_config *config, uint32_t manager, uint64_t bitmap);
// Waits for n values and moves them into registers. Uses t0 and t1. BURST_READ may find the FIFO
// empty; readerror then becomes 1.
void tl_hpc_write_takes(tl_assembler *a, const tl_dhpc_config *config, tl_hpc_method method, uint32_t n_values);
// Loops while `bit` of hpcc is set. Uses t0 and t1.
void tl_hpc_write_wait(tl_assembler *a, const tl_dhpc_config *config, uint64_t bit);
// A complete read. If burst-read finds the FIFO empty, empty-poll repeats the request, as
// guest/include/tally/hpc.h does.
void tl_hpc_write_read(tl_assembler *a, const tl_dhpc_config *config, tl_hpc_method method, uint32_t manager, uint64_t bitmap);

// The error of a reader that takes too many steps: names the slowest part of the fabric and its
// key.
TL_MUST_CHECK tl_status tl_hpc_too_slow(const tl_compare_setup *setup, const char *what, tl_error *err);

#endif
