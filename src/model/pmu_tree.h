// SPDX-License-Identifier: MIT
// The description of a PMU of the harts in the device tree: the node `riscv,pmu`. Firmware reads
// there the selector of each standard event and the counters that can count it. The PMU fills the
// rows, and the board writes them. Counter masks have bit n for counter n; 0 and 2 are cycle and
// instret. Format: OpenSBI's docs/pmu_support.md.
#ifndef TL_MODEL_PMU_TREE_H
#define TL_MODEL_PMU_TREE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_pmu_tree_event { // riscv,event-to-mhpmevent
    uint32_t event;                // SBI event_idx: type in bits 19:16, code in 15:0
    uint64_t selector;             // what mhpmevent is given
} tl_pmu_tree_event;

typedef struct tl_pmu_tree_counters { // riscv,event-to-mhpmcounters
    uint32_t first_event, last_event; // SBI event_idx, both included
    uint32_t counters;
} tl_pmu_tree_counters;

typedef struct tl_pmu_tree_raw { // riscv,raw-event-to-mhpmcounters
    // A raw selector belongs here when selector & mask == match. Bits that vary are 0 in mask.
    uint64_t match, mask;
    uint32_t counters;
} tl_pmu_tree_raw;

typedef struct tl_pmu_tree {
    bool has_sscofpmf, has_smcntrpmf; // named in riscv,isa
    const tl_pmu_tree_event *events;
    const tl_pmu_tree_counters *counters;
    const tl_pmu_tree_raw *raw;
    uint32_t n_events, n_counters, n_raw;
} tl_pmu_tree;

#endif
