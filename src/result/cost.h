// SPDX-License-Identifier: MIT
// What distributed counters cost in hardware, part by part, and what other designs of the same reach would: a plain value for reports.
#ifndef TL_RESULT_COST_H
#define TL_RESULT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define TL_COST_SENTENCE "Counted are the bits that registers, FIFOs and control store, and the wires of events, links and ports."

typedef struct tl_cost_part { // of the distributed design on this machine
    const char *name;
    uint64_t each, n, sum; // bits or wires of one, how many there are, all of them
    bool is_wires;
} tl_cost_part;

// All counters of a chip, reached by all of its harts.
typedef struct tl_cost_design {
    const char *name;
    uint64_t state_bits, wires;
    uint64_t n_csrs;        // of each hart
    uint64_t address_bytes; // of the bus
    uint64_t n_at_once;     // events counted without loss
} tl_cost_design;
enum { TL_COST_DISTRIBUTED, TL_COST_IN_CORE, TL_COST_ON_BUS, TL_COST_N_DESIGNS }; // first three of a row

typedef struct tl_cost_size { // a chip of so many units with so many counters each
    uint32_t n_units, n_counters;
    tl_cost_design designs[TL_COST_N_DESIGNS];
} tl_cost_size;

typedef struct tl_cost {
    tl_arena arena;
    const char *machine, *hpc;                         // hpc: tl_header.pmu_settings
    uint32_t n_harts, n_managers, n_counters, n_wired; // n_wired: numbers of the directory, which count nothing
    tl_cost_part parts[16];
    uint32_t n_parts;
    tl_cost_design designs[8]; // the machine's own reach
    uint32_t n_designs;
    tl_cost_size *sizes;
    uint32_t n_sizes;
} tl_cost;

#endif
