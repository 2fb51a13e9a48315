// SPDX-License-Identifier: MIT
// Sealed records of confidential VMs in a run: a copy engine and a session for each, whose records
// go to a stream. The controller's identity is new in each run, because nothing of a run is secret
// to its host otherwise. Cadence and size of records depend on the configuration only.
#ifndef TL_PMU_SMPM_SEALING_H
#define TL_PMU_SMPM_SEALING_H

#include <stdio.h>

#include "base/arena.h"
#include "pmu/smpm/copier.h"

typedef struct tl_smpm_sealing tl_smpm_sealing;

typedef struct tl_smpm_sealing_plan {
    tl_smpm_mcu *mcu;
    uint32_t n; // metrics of a block
    bool is_literal;
    uint32_t interval_cycles;
} tl_smpm_sealing_plan;

// All memory is of the arena. TL_ENOENT: the build lacks cryptography.
TL_MUST_CHECK tl_status tl_smpm_sealing_new(const tl_smpm_sealing_plan *plan, tl_arena *arena, tl_smpm_sealing **ret_sealing,
                                            tl_error *err);
// Begins a session of a VM. Its key goes to `key` at once, its records to `records`, the first one
// interval from now. Contexts of the VM are 0 to n_ctxs - 1. Errors of streams are the caller's to
// check.
TL_MUST_CHECK tl_status tl_smpm_sealing_add(tl_smpm_sealing *sealing, uint32_t vm, uint32_t n_ctxs, uint64_t now_cycles, FILE *records,
                                            FILE *key, tl_arena *arena, tl_error *err);
// Returns the cycle of the next record; UINT64_MAX: none comes. A record shows blocks of its cycle.
uint64_t tl_smpm_sealing_next(const tl_smpm_sealing *sealing);
// Writes records that are due.
void tl_smpm_sealing_tick(tl_smpm_sealing *sealing, uint64_t now_cycles);
// Returns the most cycles from now on in which each block is sent once.
uint64_t tl_smpm_sealing_round_cycles(const tl_smpm_sealing *sealing);

#endif
