// SPDX-License-Identifier: MIT
// The program of the experiment on sampling: a kernel that programs the counters and has handlers
// for both ways to sample, and the loop of loads in user mode. Places and shape of the loop are
// those of B. Sprunt's paper, as far as RISC-V permits.
#ifndef TL_READERS_NETBURST_L1MISS_PROGRAM_H
#define TL_READERS_NETBURST_L1MISS_PROGRAM_H

#include <tally/l1miss.h>

#include "machine/machine.h"

enum {
    L1MISS_LOADS = 128, // of a pass: one that misses, then hits
    L1MISS_RECORD_BYTES = 40,
    L1MISS_BUFFER_RECORDS = 64,
    L1MISS_THRESHOLD_RECORDS = 48,
    L1MISS_MAX_RECORDS = 4096, // that the handler keeps
    L1MISS_STRIDE = 8192,
};
static const uint64_t L1MISS_FIRST_CELL = 0x080503c0, L1MISS_FIRST_LOAD = 0x080484c4;

// Values of registers that stay as they are.
enum { L1MISS_HOT_VALUE = 0x44, L1MISS_STACK = 0x0805fff0, L1MISS_HOT_LINE = 0x08050400 };

typedef struct l1miss_program {
    tl_machine *machine;
    const tl_l1miss_options *options;
    uint64_t n_passes;
    uint64_t loop, loop_end; // the first instruction of a pass, and behind the last one
} l1miss_program;

// Calls of the kernel to the host: ECALL in supervisor mode.
enum { L1MISS_BEGINS, L1MISS_ENDS, L1MISS_CALLS };

// Puts all into RAM, and hart 0 at the first instruction. TL_EINVAL: the code does not fit.
TL_MUST_CHECK tl_status l1miss_load(l1miss_program *program, tl_error *err);
// The kernel's results, when it has ended. Records: those that it kept, as the PMU wrote them, or
// addresses of 8 bytes each.
uint64_t l1miss_count(const l1miss_program *program);
uint64_t l1miss_interrupts(const l1miss_program *program);
const uint8_t *l1miss_records(const l1miss_program *program, uint64_t *ret_n);
// In instructions behind the first load; TL_L1MISS_DISTANCES: not in the loop.
uint32_t l1miss_distance(const l1miss_program *program, uint64_t pc);

#endif
